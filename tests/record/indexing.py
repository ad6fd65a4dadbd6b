"""Record what PyTorch gives for index expressions, read and written.

    PYTHONPATH=tests python tests/record/indexing.py     # in an environment with torch 2.13

Writes tests/data/indexing.json.  Expressions see ``x`` (2 × 3 × 4, counting up from 0), ``v`` (a vector of 4), ``s`` (0-dim),
``i`` (six int64), ``b`` (six uint8), ``T`` (a tensor out of nested lists; its dtype may be named), ``np``, and ``m`` (a
2 × 3 mask).
"""

from __future__ import annotations

import json
import pathlib
import warnings
from typing import Any

import numpy as np
import torch
from index_expressions import GET, SET, namespace

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"


def tensor(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(array.copy())


def read(expression: str, requires_grad: bool) -> dict[str, Any]:
    names = namespace(tensor)
    names["x"].requires_grad_(requires_grad)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = eval(expression, names)
    except Exception as error:
        return {"error": type(error).__name__, "message": str(error).split("\n")[0]}
    names = [kind.__name__ for kind in type(result.grad_fn).__mro__[:1]] if result.grad_fn is not None else [None]
    return {
        "shape": list(result.shape), "values": result.detach().reshape(-1).tolist(), "view": result._is_view(),
        "node": names[0], "warns": any("non-tuple" in str(each.message) for each in caught),
    }  # fmt: skip


def written(statement: str) -> dict[str, Any]:
    names = namespace(tensor)
    target = statement[0]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(statement, names)
    except Exception as error:
        return {"error": type(error).__name__, "message": str(error).split("\n")[0]}
    result = names[target]
    return {"values": result.detach().reshape(-1).tolist(), "version": result._version}


if __name__ == "__main__":
    data = {"get": {each: read(each, True) for each in GET}, "set": {each: written(each) for each in SET}}
    (DATA / "indexing.json").write_text(json.dumps(data, indent=0) + "\n")
    print(f"{len(GET)} expressions read, {len(SET)} written")
