"""Record what PyTorch gives for the programs of tests/distribution_programs.py.

    PYTHONPATH=. python tests/record/distributions.py     # in an environment with torch 2.13

Writes tests/data/distributions.npz: all numbers one after another, and their places with the texts as JSON.
"""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from distribution_programs import everything

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "distributions.npz"


def main() -> None:
    kept: list[np.ndarray] = []

    def written(value: Any) -> Any:
        if isinstance(value, str):
            return value
        if value is None:
            return None
        if isinstance(value, (list, tuple)):
            return {"list": [written(each) for each in value]}
        array = value.detach().numpy()
        kept.append(array.astype(np.float64).reshape(-1))
        return {"dtype": str(array.dtype), "shape": list(array.shape)}

    text = {name: {key: written(value) for key, value in values.items()} for name, values in everything(torch).items()}
    np.savez_compressed(DATA, numbers=np.concatenate(kept), text=np.frombuffer(json.dumps(text).encode(), np.uint8))
    print(f"{len(text)} programs, {len(kept)} arrays, {DATA.stat().st_size} bytes")


if __name__ == "__main__":
    main()
