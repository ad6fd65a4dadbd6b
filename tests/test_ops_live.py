"""Every op against PyTorch itself, on fresh random values, where PyTorch is installed beside rushlight (it never has to be)."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
from op_samples import convert, flatten, same_layout
from samples import makers, samples_of

import rushlight  # noqa: F401  (fills the table)
from rushlight.core.base import TensorBase, make
from rushlight.core.declare import table
from rushlight.core.dtypes import BY_NUMPY

if importlib.util.find_spec("torch") is None:
    pytest.skip("PyTorch is not installed", allow_module_level=True)
import torch
from record.ops import resolve, to_torch
from test_ops import TOLERANCE, wide

# Where fresh values leave the ground on which the two can agree.
EXCEPT = {
    "igamma": "PyTorch loses NaN beside 0 and inf",
    "igammac": "PyTorch loses NaN beside 0 and inf",
    "cholesky_inverse": "shuffled values are no factor of a matrix",
}
OPS = [op for op in table.values() if op.functional is None and op in makers and resolve(op) is not None and op.name not in EXCEPT]


def shaken(array: np.ndarray, stream: np.random.Generator) -> np.ndarray:
    """The same layout with the elements in another order, so that values stay where the op is defined."""
    result = same_layout(array)
    result[...] = stream.permutation(array.reshape(-1)).reshape(array.shape)
    return result


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
@pytest.mark.filterwarnings("ignore")
def test_against_live_pytorch(op: Any) -> None:
    function = resolve(op)
    stream = np.random.default_rng(0)
    for sample in samples_of(op):
        if not sample.compare:
            continue
        arguments = [convert(value, lambda a: shaken(a, stream), lambda d: d) for value in sample.args]
        theirs = [convert(value, to_torch, lambda d: getattr(torch, BY_NUMPY[d].name)) for value in arguments]
        ours = [convert(value, lambda a: make(same_layout(a)), BY_NUMPY.__getitem__) for value in arguments]
        options = {
            name: [
                convert(value, to_torch, lambda d: getattr(torch, BY_NUMPY[d].name)),
                convert(value, lambda a: make(same_layout(a)), BY_NUMPY.__getitem__),
            ]
            for name, value in sample.kwargs.items()
        }
        try:
            expected = flatten(function(*theirs, **{name: pair[0] for name, pair in options.items()}))
        except Exception:
            with pytest.raises(Exception):  # noqa: B017  (its type is compared in test_ops)
                op.call(*ours, **{name: pair[1] for name, pair in options.items()})
            continue
        found = flatten(op.call(*ours, **{name: pair[1] for name, pair in options.items()}))
        assert len(found) == len(expected)
        for result, want in zip(found, expected):
            if not isinstance(result, TensorBase):
                continue
            dtype = str(want.dtype).removeprefix("torch.")
            assert BY_NUMPY[result._array.dtype].name == dtype
            want = want.detach().resolve_conj().resolve_neg()
            want = (want.float() if dtype.startswith(("bfloat", "float8")) else want).numpy()
            relative, absolute = TOLERANCE.get(dtype, (0, 0))
            np.testing.assert_allclose(wide(result._array), want, rtol=10 * relative, atol=10 * absolute, equal_nan=True)
