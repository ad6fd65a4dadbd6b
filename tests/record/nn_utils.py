"""Record what PyTorch computes in the programs of tests/nn_utils_programs.py.

python tests/record/nn_utils.py     # in an environment with torch 2.13
"""

from __future__ import annotations

import pathlib
import sys

import numpy as np
import torch
import torch.nn.utils.prune

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))
from nn_utils_programs import PROGRAMS, run_program  # noqa: E402

TARGET = TESTS / "data" / "nn_utils.npz"
torch.set_num_threads(1)
arrays = {}
for name in PROGRAMS:
    found = run_program(name, torch)
    arrays[name] = np.concatenate([each.reshape(-1) for each in found])
    arrays[name + " sizes"] = np.array([each.size for each in found], np.int32)
np.savez_compressed(TARGET, **arrays)
print(len(arrays) // 2, "programs,", TARGET.stat().st_size, "bytes")
