"""Record the steps that PyTorch's optimizers take in the runs of tests/optim_programs.py.

python tests/record/optim.py     # in an environment with torch 2.13
"""

from __future__ import annotations

import json
import pathlib
import sys
import warnings

import numpy as np
import torch

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))
from optim_programs import CASES, shown, trained_parameters  # noqa: E402

TARGET = TESTS / "data" / "optim.npz"
KEPT = (0, 1, 4, 7)  # steps
torch.set_num_threads(1)
warnings.simplefilter("ignore")
notes, values = [], []
for case in CASES:
    rows, state = trained_parameters(case, torch)
    found = {"rows": np.stack([rows[step] for step in KEPT]), **state}
    assert all(np.isfinite(value).all() for value in found.values()), shown(case)
    notes.append([shown(case), {name: [list(value.shape), str(value.dtype)] for name, value in found.items()}])
    values += [np.ascontiguousarray(value).reshape(-1).view(np.float64) for value in found.values()]
np.savez_compressed(
    TARGET,
    values=np.concatenate(values),
    notes=np.frombuffer(json.dumps(notes).encode(), np.uint8),
    steps=np.array(KEPT),
)
print(len(CASES), "runs,", TARGET.stat().st_size, "bytes")
