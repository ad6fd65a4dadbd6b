"""Record in which types PyTorch computes under autocast on the CPU, and how its GradScaler behaves there.

    PYTHONPATH=. python tests/record/amp.py     # in an environment with torch 2.13 and ml_dtypes

Writes tests/data/amp.json: for each op of the table, the types of its results for inputs of several types; the steps of a
GradScaler with gradients that are finite or not.
"""

from __future__ import annotations

import json
import pathlib
import sys
import warnings
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from amp_cases import KINDS, calls, scaler_story
from op_samples import flatten
from ops import resolve
from samples import makers

import rushlight  # noqa: F401  (fills the table)
from rushlight.core.declare import table

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "amp.json"


def to_torch(array: np.ndarray, dtype: str | None) -> torch.Tensor:
    tensor = torch.from_numpy(np.ascontiguousarray(array)).reshape(array.shape)
    return tensor if dtype is None else tensor.to(getattr(torch, dtype))


def record_types() -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = {}
    for op in table.values():
        function = resolve(op) if op.functional is None and op in makers else None
        if function is None:
            continue
        for kind in KINDS:
            call = calls(op, kind, to_torch, lambda d: getattr(torch, str(np.dtype(d))))
            if call is None:
                continue
            args, kwargs = call
            try:
                with torch.autocast("cpu", dtype=getattr(torch, kind.target)):
                    results = [r for r in flatten(function(*args, **kwargs)) if isinstance(r, torch.Tensor)]
            except Exception as error:
                found.setdefault(op.name, {})[kind.name] = [type(error).__name__]
                continue
            found.setdefault(op.name, {})[kind.name] = [str(r.dtype).removeprefix("torch.") for r in results]
    return found


def main() -> None:
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    data: dict[str, Any] = {"types": record_types(), "scaler": scaler_story(torch)}
    DATA.write_text(json.dumps(data, separators=(",", ":"), sort_keys=True))
    print(f"{len(data['types'])} ops, {DATA.stat().st_size} bytes")


if __name__ == "__main__":
    main()
