"""Record the learning rates that PyTorch's schedules give in the runs of tests/scheduler_programs.py.

python tests/record/lr_scheduler.py     # in an environment with torch 2.13
"""

from __future__ import annotations

import json
import pathlib
import sys

import numpy as np
import torch

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))
from scheduler_programs import CASES, scheduled_rates  # noqa: E402

TARGET = TESTS / "data" / "lr_scheduler.npz"
rows = np.array([scheduled_rates(case, torch) for case in CASES])
np.savez_compressed(TARGET, rows=rows, cases=np.frombuffer(json.dumps(CASES).encode(), np.uint8))
print(rows.shape, TARGET.stat().st_size, "bytes")
