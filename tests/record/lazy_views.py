"""Records what PyTorch makes of conjugate and negative views: run with a Python that has PyTorch, from the repository's root."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from lazy_view_programs import PROGRAMS, outcome

warnings.simplefilter("ignore")
found = {program: outcome(torch, program) for program in PROGRAMS}
(Path(__file__).resolve().parent.parent / "data" / "lazy_views.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf8")
print(len(found), "programs")
