"""Record what PyTorch gives for the programs of tests/func_programs.py, and which exceptions it raises for the bad calls.

    PYTHONPATH=. python tests/record/func.py     # in an environment with torch 2.13

Writes tests/data/func.npz.
"""

from __future__ import annotations

import json
import pathlib
import sys
import warnings
from typing import Any

import numpy as np
import torch
import torch.autograd.forward_ad

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from func_programs import BAD_CALLS, PROGRAMS

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "func.npz"


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    return [leaf for each in value for leaf in leaves(each)] if isinstance(value, (list, tuple)) else [value]


def main() -> None:
    warnings.simplefilter("ignore")
    arrays: dict[str, np.ndarray] = {}
    for name, program in PROGRAMS.items():
        for index, leaf in enumerate(leaves(program(torch))):
            arrays[f"{name}/{index}"] = leaf.detach().numpy()
    errors = {}
    for name, call in BAD_CALLS.items():
        try:
            call(torch)
            print("not refused:", name)
        except Exception as error:
            errors[name] = type(error).__name__
    arrays["errors"] = np.frombuffer(json.dumps(errors).encode(), np.uint8)
    np.savez_compressed(DATA, **arrays)
    print(f"{len(arrays) - 1} arrays, {len(errors)} errors, {DATA.stat().st_size} bytes")


if __name__ == "__main__":
    main()
