"""Calls that PyTorch's own database of operators makes, with PyTorch's results and gradients."""

from __future__ import annotations

import gzip
import json
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from operator_calls import array_of, call

import rushlight as torch

CALLS: dict[str, list[Any]] = defaultdict(list)
for _entry in json.loads(gzip.decompress((Path(__file__).parent / "data" / "operator_database.json.gz").read_bytes())):
    CALLS[_entry[0]].append(_entry[1:])

# Eigenvectors are defined up to a factor; equal elements may come in any order.
VALUES_MAY_DIFFER = {"linalg.eig", "linalg.eigh", "topk", "kthvalue", "logcumsumexp"}
# docs/differences.md: the gradient of PyTorch's is that of the part which is not used
GRADIENTS_DIFFER = {"as_strided_scatter"}


def same(found: Any, expected: Any) -> bool:
    if not (isinstance(expected, dict) and "tensor" in expected):
        return True if isinstance(expected, dict) else found == expected or bool(np.isclose(found, expected))
    wanted = array_of(expected)
    assert isinstance(found, torch.Tensor)
    assert str(found.dtype) == f"torch.{expected['tensor']}"
    assert found.shape == wanted.shape
    values = found.detach().resolve_conj().numpy()
    rtol, atol = (1e-6, 1e-6) if wanted.dtype.itemsize >= 8 else (1e-5, 1e-4)  # PyTorch's Bessel functions are good to seven digits
    return bool(np.allclose(values, wanted, rtol=rtol, atol=atol, equal_nan=True))


@pytest.mark.parametrize("name", CALLS)
def test_operator(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for args, kwargs, results, gradients in CALLS[name]:
            found, derived = call(torch, name, args, kwargs, bool(gradients["list"]))
            assert len(found) == len(results["list"])
            for each, expected in zip(found, results["list"]):
                assert same(each, expected) or name in VALUES_MAY_DIFFER, (args, kwargs)
            if name in GRADIENTS_DIFFER or name in VALUES_MAY_DIFFER:
                continue
            for each, expected in zip(derived, gradients["list"]):
                if each is None or expected is None:  # one that nothing depends on may be zeros
                    assert expected is None or not np.any(array_of(expected)), (args, kwargs)
                else:
                    assert same(each, expected), (args, kwargs)
