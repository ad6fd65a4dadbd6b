"""Record in which types PyTorch computes under autocast, and how its GradScaler behaves on the CPU.

    PYTHONPATH=. python tests/record/amp.py                # in an environment with torch 2.13 and ml_dtypes
    PYTHONPATH=. python tests/record/amp.py --device cuda  # on a machine with a GPU, where PyTorch may be another version

Writes tests/data/amp.json: for each op of the table, the types of its results for inputs of several types; the steps of a
GradScaler with gradients that are finite or not.  For CUDA tests/data/amp_cuda.json: the types alone, and PyTorch's version.
"""

from __future__ import annotations

import argparse
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

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"


def record_types(device: str) -> dict[str, dict[str, list[str]]]:
    """By op and kind of inputs: the types of the results, or the error's class."""
    found: dict[str, dict[str, list[str]]] = {}

    def to_torch(array: np.ndarray, dtype: str | None) -> torch.Tensor:
        tensor = torch.from_numpy(np.ascontiguousarray(array)).reshape(array.shape).to(device)
        return tensor if dtype is None else tensor.to(getattr(torch, dtype))

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
                with torch.autocast(device, dtype=getattr(torch, kind.target)):
                    results = [r for r in flatten(function(*args, **kwargs)) if isinstance(r, torch.Tensor)]
            except Exception as error:
                found.setdefault(op.name, {})[kind.name] = [type(error).__name__]
                continue
            found.setdefault(op.name, {})[kind.name] = [str(r.dtype).removeprefix("torch.") for r in results]
    return found


def main() -> None:
    """Record, and write the file of the device."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    device = parser.parse_args().device
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    data: dict[str, Any] = {"types": record_types(device)}
    if device == "cpu":
        data["scaler"] = scaler_story(torch)
    else:
        data["version"] = torch.__version__
    file = DATA / ("amp.json" if device == "cpu" else "amp_cuda.json")
    file.write_text(json.dumps(data, separators=(",", ":"), sort_keys=True))
    print(f"{len(data['types'])} ops, {file.stat().st_size} bytes")


if __name__ == "__main__":
    main()
