"""Record what PyTorch's layers give: initial values, outputs, gradients, and how they print.

    python tests/record/nn_modules.py       # in an environment with torch 2.13

Writes tests/data/nn_modules.npz: all numbers in one array, and an index of what they are.
"""

from __future__ import annotations

import json
import pathlib
import sys
import warnings

import numpy as np
import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from nn_module_cases import CASES, INITIALISERS, draw, run_case  # noqa: E402
from nn_module_expressions import ERRORS, REPRS, evaluate  # noqa: E402


def main() -> None:
    warnings.simplefilter("ignore")
    index: dict = {"cases": {}, "initialisers": {}, "reprs": {}, "errors": {}}
    parts: list[np.ndarray] = []

    def keep(array: np.ndarray) -> list:
        parts.append(array.astype(np.float64).reshape(-1))
        return [list(array.shape), str(array.dtype)]

    for case in CASES:
        found, text = run_case(torch, case)
        assert case.name not in index["cases"], case.name
        index["cases"][case.name] = {"repr": text, "arrays": {name: keep(array) for name, array in found.items()}}
    for expression in INITIALISERS:
        index["initialisers"][expression] = [keep(array) for array in draw(torch, expression)]
    for expression in REPRS:
        index["reprs"][expression] = repr(evaluate(torch, expression))
    for expression in ERRORS:
        try:
            result = evaluate(torch, expression)
        except Exception as error:
            index["errors"][expression] = [type(error).__name__, str(error)]
        else:
            raise SystemExit(f"{expression} raises nothing in PyTorch: it gives {result}")
    values = np.concatenate(parts).astype(np.float32)
    text = np.frombuffer(json.dumps(index).encode(), np.uint8)
    target = HERE.parent / "data" / "nn_modules.npz"
    np.savez_compressed(target, values=values, index=text)
    print(f"{len(CASES)} cases, {len(REPRS)} reprs, {len(ERRORS)} errors, {values.size} numbers, {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
