"""Record the orders and seeds of PyTorch's data loading; tests/data_programs.py says which.

python tests/record/data_loader.py     # in an environment with torch 2.13
"""

from __future__ import annotations

import json
import pathlib
import sys

import torch
import torch.utils.data

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))
from data_programs import programs  # noqa: E402

TARGET = TESTS / "data" / "data_loader.json"
TARGET.write_text(json.dumps(programs(torch, torch.utils.data), indent=0), encoding="utf8")
print(TARGET.stat().st_size, "bytes")
