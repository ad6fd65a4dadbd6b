"""Autocast on CUDA: types of results against those of PyTorch, recorded on a GPU."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np
import pytest
from amp_cases import KINDS, calls
from op_samples import flatten

import rushlight as torch
from rushlight.core.base import TensorBase
from rushlight.core.declare import table
from rushlight.core.dtypes import BY_NUMPY

_FILE = pathlib.Path(__file__).resolve().parent.parent / "data" / "amp_cuda.json"
TYPES: dict[str, dict[str, list[str]]] = json.loads(_FILE.read_text())["types"]
# Where our types differ, and why.
DIFFERENT = {
    "attention": "an op of our own: autocast casts before it, in scaled_dot_product_attention",
    "layer_standardize": "an op of our own: autocast casts before it, in layer_norm",
    "linalg_pinv": "PyTorch's last step is a product, in a narrow type; ours is one op, in float32",
    "pinverse": "as linalg_pinv",
}


def tensor(array: np.ndarray, dtype: str | None) -> Any:
    made = torch.from_numpy(np.ascontiguousarray(array)).reshape(array.shape).cuda()
    return made if dtype is None else made.to(getattr(torch, dtype))


def types_of(name: str, kind: Any) -> list[str]:
    """The types of an op's results under autocast."""
    call = calls(table[name], kind, tensor, BY_NUMPY.__getitem__)
    assert call is not None
    args, kwargs = call
    with torch.autocast("cuda", dtype=getattr(torch, kind.target)):
        results = flatten(table[name].call(*args, **kwargs))
    return [each.dtype.name for each in results if isinstance(each, TensorBase)]


@pytest.mark.parametrize("name", sorted(set(TYPES) & set(table)))
@pytest.mark.filterwarnings("ignore")
def test_types_against_pytorch(name: str) -> None:
    if name in DIFFERENT:
        pytest.skip(DIFFERENT[name])
    for kind in KINDS:
        wanted = TYPES[name].get(kind.name)
        if wanted is None or wanted[:1] and wanted[0].endswith("Error"):  # refused samples are the business of the op tests
            continue
        assert types_of(name, kind) == wanted, kind.name
