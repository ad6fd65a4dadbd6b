"""Record what PyTorch draws in the programs of tests/random_programs.py.

python tests/record/random_programs.py     # in an environment with torch 2.13
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
from random_programs import drawn_tensors, kept, programs  # noqa: E402

TARGET = TESTS / "data" / "random_programs.npz"
torch.set_num_threads(1)
warnings.simplefilter("ignore")
arrays: dict[str, np.ndarray] = {}
notes = []
for number, program in enumerate(programs()):
    described = []
    for step, result in enumerate(drawn_tensors(program, torch, torch.nn.functional)):
        plain = result.float() if result.dtype == torch.bfloat16 else result
        described.append([str(result.dtype), list(result.shape), [s for s, n in zip(result.stride(), result.shape) if n > 1]])
        arrays[f"{number}/{step}"] = kept(plain.contiguous().numpy())
    notes.append([program, described])
arrays["notes"] = np.frombuffer(json.dumps(notes).encode(), np.uint8)
np.savez_compressed(TARGET, **arrays)
print(len(notes), "programs,", TARGET.stat().st_size, "bytes")
