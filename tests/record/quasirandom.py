"""Record what PyTorch gives for tests/quasirandom_programs.py into tests/data/quasirandom.json."""

from __future__ import annotations

import json
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from quasirandom_programs import PROGRAMS, outcome

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "quasirandom.json"
DATA.write_text(json.dumps({name: outcome(torch, name) for name in PROGRAMS}, indent=1) + "\n", encoding="utf-8")
