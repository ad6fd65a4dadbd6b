"""Every op of the table, on its samples: values against recorded PyTorch results, meta rules against kernels, gradients."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np
import pytest
from op_samples import convert, family, flatten, same_layout
from samples import makers, samples_of

import rushlight
from rushlight.autograd.gradcheck import gradcheck, gradgradcheck
from rushlight.core.base import Spec, TensorBase, make
from rushlight.core.declare import table
from rushlight.core.dtypes import BY_NUMPY, FLOATING

DATA = pathlib.Path(__file__).resolve().parent / "data" / "ops"
OPS = [op for op in table.values() if op.functional is None and op in makers]
CASES = [(op, number) for op in OPS for number in range(len(samples_of(op)))]
SAMPLES = {op.name: samples_of(op) for op in OPS}
# How far a result may be from PyTorch's: relative and absolute.
TOLERANCE = {
    "float16": (2e-3, 2e-3), "bfloat16": (1.6e-2, 1e-2), "float32": (1e-5, 2e-6), "complex64": (1e-5, 2e-6),
    "float64": (1e-9, 1e-10), "complex128": (1e-9, 1e-10), "float8_e4m3fn": (0.13, 0.1), "float8_e5m2": (0.26, 0.1),
}  # fmt: skip


def name_of(case: Any) -> str:
    op, number = case
    return f"{family(op)}-{op.name}-{number}"


def to_tensor(array: np.ndarray) -> Any:
    return make(same_layout(array))


def call(op: Any, sample: Any, tensor: Any = to_tensor) -> Any:
    args = convert(sample.args, tensor, BY_NUMPY.__getitem__)
    return op.call(*args, **{k: convert(v, tensor, BY_NUMPY.__getitem__) for k, v in sample.kwargs.items()})


_recorded: dict[str, Any] = {}


def recorded(name: str) -> Any:
    if name not in _recorded:
        path = DATA / f"{name}.npz"
        if not path.exists():
            return None
        arrays = dict(np.load(path))
        _recorded[name] = arrays, json.loads(arrays.pop("notes").tobytes())
    return _recorded[name]


def wide(array: Any) -> np.ndarray:
    array = np.asarray(array)
    return array.astype(np.float32) if array.dtype.kind == "V" else array


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_values_against_pytorch(case: Any) -> None:
    op, number = case
    sample = SAMPLES[op.name][number]
    data = recorded(family(op))
    if data is None:
        pytest.fail(f"nothing recorded for family {family(op)}: run tests/record/ops.py {family(op)}")
    arrays, notes = data
    key = f"{op.name}/{number}"
    if not sample.compare or key not in notes:
        call(op, sample)
        if sample.compare and any(k.startswith(op.name + "/") for k in notes):
            pytest.fail(f"sample {number} of {op.name} is not recorded: run tests/record/ops.py {family(op)}")
        return
    note = notes[key]
    if "error" in note:
        with pytest.raises(Exception) as raised:
            call(op, sample)
        expected = note["error"].lstrip("_")  # PyTorch's LinAlgError is a private class under a public name
        names = [kind.__name__ for kind in type(raised.value).__mro__]
        assert expected in names or {expected, *names} >= {"RuntimeError", "NotImplementedError"}, (
            expected,
            raised.value,
        )
        return
    results = flatten(call(op, sample))
    assert len(results) == len(note["dtypes"])
    for index, (result, dtype) in enumerate(zip(results, note["dtypes"])):
        if dtype is None:
            assert result == notes[f"{key}/{index}"] or repr(result) == notes[f"{key}/{index}"]
            continue
        want = arrays[f"{key}/{index}"]
        assert isinstance(result, TensorBase)
        assert BY_NUMPY[result._array.dtype].name == dtype
        assert tuple(result._array.shape) == want.shape
        relative, absolute = TOLERANCE.get(dtype, (0, 0))
        np.testing.assert_allclose(wide(result._array), wide(want), rtol=relative, atol=absolute, equal_nan=True)


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_meta_against_kernel(case: Any) -> None:
    op, number = case
    sample = SAMPLES[op.name][number]
    if "data-dependent" in op.notes:
        pytest.skip("the shape of the result depends on the data")
    try:
        results = flatten(call(op, sample))
    except Exception:
        return  # refused samples are checked above, and so is that no other sample is refused
    has_tensor = any(isinstance(v, np.ndarray) for v in flatten(list(sample.args)) + list(sample.kwargs.values()))
    if not has_tensor:
        return

    def to_meta(array: np.ndarray) -> Any:
        return make(Spec(array.shape, array.dtype, tuple(s // array.itemsize for s in array.strides)))

    for real, meta in zip(results, flatten(call(op, sample, to_meta)), strict=True):
        if isinstance(real, TensorBase):
            assert isinstance(meta._array, Spec)
            assert tuple(meta._array.shape) == real._array.shape
            assert meta._array.dtype == real._array.dtype
            if op.view:
                assert meta.stride() == real.stride() or 1 in real._array.shape or not real._array.size


GRADIENT_CASES = [
    (op, n) for op, n in CASES
    if SAMPLES[op.name][n].gradient and (op.vjp or (op.body is not None and op.vjp is None and op.kernel is None))
]  # fmt: skip


def as_double(array: np.ndarray) -> Any:
    """Differentiable samples are checked in double precision."""
    if BY_NUMPY[array.dtype].category < FLOATING:
        return make(same_layout(array))
    return make(same_layout(array).astype(np.complex128 if array.dtype.kind == "c" else np.float64, order="K"))


def gradient_call(case: Any) -> tuple[Any, tuple[Any, ...]] | None:
    op, number = case
    sample = SAMPLES[op.name][number]
    leaves: list[Any] = []

    def collect(array: np.ndarray) -> Any:
        tensor = as_double(array)
        if BY_NUMPY[array.dtype].category >= FLOATING:
            tensor._requires_grad = True
            leaves.append(tensor)
        return tensor

    def argument(key: Any, value: Any) -> Any:
        return convert(value, as_double if key in sample.constants else collect, BY_NUMPY.__getitem__)

    args = tuple(argument(i, value) for i, value in enumerate(sample.args))
    kwargs = {k: argument(k, v) for k, v in sample.kwargs.items()}
    if not leaves:
        return None

    def function(*given: Any) -> Any:
        queue = iter(given)
        swap = lambda value: (
            next(queue) if any(value is leaf for leaf in leaves) else
            type(value)(swap(v) for v in value) if isinstance(value, (list, tuple)) else value
        )  # fmt: skip
        results = op.call(*[swap(a) for a in args], **{k: swap(v) for k, v in kwargs.items()})
        return tuple(r for r in flatten(results) if isinstance(r, TensorBase) and BY_NUMPY[r._array.dtype].category >= FLOATING)

    return function, tuple(leaves)


@pytest.mark.parametrize("case", GRADIENT_CASES, ids=name_of)
def test_gradient(case: Any) -> None:
    prepared = gradient_call(case)
    if prepared is None:
        return
    function, leaves = prepared
    if not any(r.requires_grad for r in function(*leaves)):
        assert case[0].vjp == {} or not function(*leaves), f"{case[0].name} lost the gradient"
        return
    assert gradcheck(function, leaves)


@pytest.mark.parametrize("case", GRADIENT_CASES, ids=name_of)
def test_gradient_of_gradient(case: Any) -> None:
    prepared = gradient_call(case)
    if prepared is None or "once differentiable" in case[0].notes:
        return
    function, leaves = prepared
    if not any(r.requires_grad for r in function(*leaves)):
        return
    assert gradgradcheck(function, leaves)


def test_the_table_is_consistent() -> None:
    """An op without samples, or without a gradient, is listed, never silently untested."""
    assert rushlight.Tensor is not None
    for op in table.values():
        assert op.kernel is not None or op.body is not None
        assert op.doc, f"{op.name} has no docstring"
