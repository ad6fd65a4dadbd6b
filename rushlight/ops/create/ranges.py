"""Ranges: numbers at equal steps, on a line or as exponents, and the indices of triangles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import primitive, table
from ...core.dtypes import BOOL, BY_NUMPY, COMPLEX, FLOAT8, FLOATING, INTEGRAL, LOW_PRECISION, default, legacy_name, scalar_category
from ...core.errors import ArgumentError, DtypeError, NotSupported, OperationError, ShapeError, ValueRangeError
from ...core.rounding import fused_multiply_add
from ...core.symbolic import is_symbolic
from .factories import fitting, new_spec, number, numpy_dtype, whole_number

Number = int | float | complex | bool
_FLOAT64, _INT64 = np.dtype(np.float64), np.dtype(np.int64)
_UNSIGNED = frozenset(np.dtype(each) for each in (np.uint16, np.uint32, np.uint64))
_RANGE_TYPES = tuple(map(np.dtype, ("float32", "float64", "int16", "int32", "int64")))  # of ONNX's Range
_OPTIONS: dict[str, Any] = {"vjp": {}, "factory": True, "exact": True, "out": "fills"}


def _check_type(numpy_type: Any, kernel: str, *, complex: bool = False) -> None:
    kind = BY_NUMPY[numpy_type]
    if kind.category == BOOL or (kind.is_complex and not complex) or numpy_type in FLOAT8 or numpy_type in _UNSIGNED:
        raise NotSupported(f"\"{kernel}\" not implemented for '{legacy_name(kind)}'")


# -- arange ------------------------------------------------------------------------------------------------------


def _bounds(start: Any, end: Any, step: Any) -> tuple[Any, Any, Any]:
    """``arange(5)`` gives its one bound as ``start``."""
    if end is None:
        start, end = 0, start
    if end is None:
        raise ArgumentError("arange() missing 1 required positional argument: 'end'")
    bounds = [number(0 if start is None else start, "start"), number(end, "end"), number(step, "step")]
    for each in bounds:
        if scalar_category(each) == COMPLEX:
            raise OperationError("value cannot be converted to type double without overflow")
    return tuple(int(each) if isinstance(each, bool) else each for each in bounds)  # type: ignore[return-value]


def _check_bounds(start: Any, end: Any, step: Any) -> None:
    if not step:
        raise OperationError("step must be nonzero")
    if not all(isinstance(each, int) or math.isfinite(each) for each in (start, end)):
        raise OperationError(f"unsupported range: {start:g} -> {end:g}")
    if end != start and (end > start) != (step > 0):
        raise OperationError("upper bound and lower bound inconsistent with step sign")


def _arange(start: Any, end: Any, step: Any, dtype: Any, *rest: Any) -> tuple[Spec, Any, Any]:
    """What to make, its first number, and the step."""
    start, end, step = _bounds(start, end, step)
    floating = any(isinstance(each, float) for each in (start, end, step))
    numpy_type = numpy_dtype(dtype, default.numpy if floating else _INT64)
    _check_type(numpy_type, "arange_cpu")
    _check_bounds(start, end, step)
    whole = BY_NUMPY[numpy_type].category == INTEGRAL
    if numpy_type == _INT64:
        start, end, step = (each if isinstance(each, int) else int(each) for each in (start, end, step))
        if not step:
            raise ValueRangeError("step must be nonzero")
        count = max((end - start + step - (step > 0) + (step < 0)) // step, 0)
    else:
        count = math.ceil((end - start) / step)
        start, step = (int(start), int(step)) if whole else (start, step)
    if not 0 <= count < 2**63:
        raise OperationError("invalid size, possible overflow?")
    return new_spec((count,), BY_NUMPY[numpy_type], *rest), start, step


def _steps(xp: Any, spec: Spec, start: Any, step: Any) -> Any:
    """Numbers at equal steps: integers wrap, floats are computed in double precision and rounded once."""
    count = xp.arange(spec.size, dtype=_INT64)
    if BY_NUMPY[spec.dtype].category == INTEGRAL:
        if (start, step) != (0, 1):
            count = count * np.int64(step) + np.int64(start)
        return count.astype(spec.dtype, copy=False)
    numbers = start + count * float(step)
    return (numbers.astype(np.float32) if spec.dtype in LOW_PRECISION else numbers).astype(spec.dtype, copy=False)


def _fixed(name: str) -> Any:
    def form(g: Any, *values: Any) -> Any:
        if any(map(is_symbolic, values)):
            raise g.unsupported(f"{name}() whose arguments depend on a size that is not fixed")
        return g.constant(np.asarray(table[name].kernel(np, *values)))  # type: ignore[operator]

    return form


def _arange_onnx(g: Any, start: Any, end: Any, step: Any, *rest: Any) -> Any:
    kind = g.outputs[0].dtype
    bounds: tuple[Any, ...] = (0, start, step) if end is None else (0 if start is None else start, end, step)
    values = [each for each in bounds if not isinstance(each, (int, float))]  # tensors without dimensions
    if not values and not any(map(is_symbolic, bounds)):
        return _fixed("arange")(g, start, end, step, *rest)
    if kind.kind in "iu" and any(isinstance(each, float) or getattr(each, "dtype", kind).kind == "f" for each in bounds):
        bounds = tuple([math.trunc(each) if type(each) is float else each for each in bounds])  # as PyTorch: each is truncated
    compute = kind if kind in _RANGE_TYPES else _INT64 if kind.kind in "iu" else np.dtype(np.float32)
    return g.range(*bounds, compute)


@primitive(
    meta=lambda *values: _arange(*values)[0], kernel=lambda xp, *values: _steps(xp, *_arange(*values)), **_OPTIONS, onnx={9: _arange_onnx}
)
def arange(
    start: Number | None = None, end: Number | None = None, step: Number = 1, *, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Numbers from ``start`` (0) up to, but not including, ``end``; int64 where all arguments are integers."""


def _range(start: Any, end: Any, step: Any, dtype: Any, *rest: Any) -> tuple[Spec, Any, Any]:
    start, end, step = _bounds(start, end, step)
    numpy_type = numpy_dtype(dtype)
    _check_type(numpy_type, "range_cpu")
    _check_bounds(start, end, step)
    if BY_NUMPY[numpy_type].category == INTEGRAL:
        start, end, step = int(start), int(end), int(step)
    count = math.floor((end - start) / step) + 1
    return new_spec((count,), BY_NUMPY[numpy_type], *rest), start, step


@primitive(
    meta=lambda *values: _range(*values)[0],
    kernel=lambda xp, *values: _steps(xp, *_range(*values)),
    name="range",
    **_OPTIONS,
    onnx={9: _fixed("range")},
)
def range_(
    start: Number, end: Number, step: Number = 1, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Numbers from ``start`` up to and including ``end``.  PyTorch advises ``arange`` in its place."""


# -- linspace and logspace ---------------------------------------------------------------------------------------


def _space(name: str, start: Any, end: Any, steps: Any, dtype: Any, *rest: Any) -> tuple[Spec, Any, Any]:
    for tensor in (start, end):
        if isinstance(tensor, Tensor) and tensor._array.ndim:
            raise OperationError(f"{name} only supports 0-dimensional start and end tensors")
    start, end = number(start, "start"), number(end, "end")
    count = whole_number(steps, "steps")
    if count < 0:
        raise ShapeError("number of steps must be non-negative")
    complex_ends = isinstance(start, complex) or isinstance(end, complex)
    numpy_type = numpy_dtype(dtype, default.complex if complex_ends else None)
    if complex_ends and not BY_NUMPY[numpy_type].is_complex:
        raise DtypeError(f"torch.{name}(): inferred dtype complex can't be safely cast to passed dtype {legacy_name(numpy_type)}")
    _check_type(numpy_type, f"{name}_cpu", complex=True)
    if BY_NUMPY[numpy_type].category == INTEGRAL and not all(-(2**63) <= each < 2**63 for each in (start, end)):
        raise OperationError("value cannot be converted to type int64_t without overflow")
    return new_spec((count,), BY_NUMPY[numpy_type], *rest), start, end


def _from_both_ends(xp: Any, count: int, start: Any, end: Any, step: Any) -> Any:
    """``count`` numbers: the first half counted up from the start, the other half down from the end."""
    half = count // 2
    dtype = np.result_type(type(step), type(start))
    result = np.empty(count, dtype)
    if count == 1:
        result[:] = start
        return xp.asarray(result)
    up, down = np.arange(half, dtype=_FLOAT64), np.arange(count - half - 1, -1, -1, dtype=_FLOAT64)
    if dtype.kind == "c":
        result[:half], result[half:] = start + up * step, end - down * step
    else:  # PyTorch multiplies and adds with a single rounding
        result[:half] = fused_multiply_add(up.astype(dtype), step, start)
        result[half:] = fused_multiply_add(down.astype(dtype), -step, end)
    return xp.asarray(result)


def _linspace(xp: Any, spec: Spec, start: Any, end: Any) -> Any:
    kind = BY_NUMPY[spec.dtype]
    if kind.category == INTEGRAL:
        first, last = int(fitting(start, spec.dtype)), int(fitting(end, spec.dtype))
        numbers = _from_both_ends(xp, spec.size, float(first), float(last), (last - first) / max(spec.size - 1, 1))
        return xp.trunc(numbers).astype(spec.dtype)
    low, high = fitting(start, spec.dtype), fitting(end, spec.dtype)
    if spec.dtype in LOW_PRECISION:
        low, high = np.float32(low), np.float32(high)
    step = (high - low) / type(low)(max(spec.size - 1, 1))
    return _from_both_ends(xp, spec.size, low, high, step).astype(spec.dtype, copy=False)


def _linspace_onnx(g: Any, start: Any, end: Any, steps: Any, *rest: Any) -> Any:
    kind = g.outputs[0].dtype
    followed = [each for each in (start, end, steps) if is_symbolic(each) or not isinstance(each, (int, float))]
    if not followed or kind.kind not in "f":
        return _fixed("linspace")(g, start, end, steps, *rest)
    first, count = g.number(start, kind), g.number(steps, kind)
    places = g.cast(g.range(0, steps), kind)
    last = g.maximum(g.Sub(count, g.number(1, kind)), g.number(1, kind))
    return g.Add(g.Mul(places, g.Div(g.Sub(g.number(end, kind), first), last)), first)


@primitive(
    meta=lambda *values: _space("linspace", *values)[0],
    kernel=lambda xp, *values: _linspace(xp, *_space("linspace", *values)),
    **_OPTIONS,
    onnx={9: _linspace_onnx},
)
def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """``steps`` numbers from ``start`` to ``end``, both included, at equal steps."""


def _logspace(xp: Any, base: Any, spec: Spec, start: Any, end: Any) -> Any:
    kind = BY_NUMPY[spec.dtype]
    compute = np.dtype(np.complex128 if kind.is_complex else np.float64).type
    if kind.category < FLOATING:
        start, end = int(start), int(end)
    first, last = compute(start), compute(end)
    step = (last - first) / max(spec.size - 1, 1)
    base = number(base, "base")
    powers = xp.power(complex(base) if kind.is_complex else float(base), _from_both_ends(xp, spec.size, first, last, step))
    if kind.category < FLOATING:
        # A power a rounding below an integer is that integer.
        nearest = xp.rint(powers)
        return xp.where(abs(powers - nearest) < 1e-9 * abs(nearest), nearest, xp.trunc(powers)).astype(spec.dtype)
    return powers.astype(spec.dtype)


def _logspace_values(start: Any, end: Any, steps: Any, base: Any, *rest: Any) -> tuple[Spec, Any, Any]:
    return _space("logspace", start, end, steps, *rest)


@primitive(
    meta=lambda *values: _logspace_values(*values)[0],
    kernel=lambda xp, *values: _logspace(xp, values[3], *_logspace_values(*values)),
    **_OPTIONS,
    onnx={9: _fixed("logspace")},
)
def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Powers of ``base`` whose exponents are ``steps`` numbers from ``start`` to ``end`` at equal steps."""


# -- triangles ---------------------------------------------------------------------------------------------------


def _triangle(row: Any, col: Any, offset: Any) -> tuple[int, int, int]:
    row, col = whole_number(row, "row"), whole_number(col, "col")
    for name, size in (("row", row), ("col", col)):
        if size < 0:
            raise ShapeError(f"{name} must be non-negative, got{size}")
    return row, col, whole_number(offset, "offset")


def _below_diagonal(row: int, col: int, offset: int) -> int:
    """The number of elements of a matrix on a diagonal or below it."""

    def staircase(steps: int) -> int:  # 1 + 2 + ... + steps
        return steps * (steps + 1) // 2 if steps > 0 else 0

    # Rows grow by one place each; what sticks out on the right does not count.
    return staircase(offset + row) - staircase(offset) - staircase(offset + row - col) + staircase(offset - col)


def _lower_spec(row: Any, col: Any, offset: Any, dtype: Any, *rest: Any) -> Spec:
    return new_spec((2, _below_diagonal(*_triangle(row, col, offset))), BY_NUMPY[numpy_dtype(dtype, _INT64)], *rest)


def _upper_spec(row: Any, col: Any, offset: Any, dtype: Any, *rest: Any) -> Spec:
    row, col, offset = _triangle(row, col, offset)
    count = row * col - _below_diagonal(row, col, offset - 1)
    return new_spec((2, count), BY_NUMPY[numpy_dtype(dtype, _INT64)], *rest)


def _places(xp: Any, mask: Any, spec: Spec) -> Any:
    return xp.stack(xp.nonzero(mask)).astype(spec.dtype, copy=False)


@primitive(
    meta=_lower_spec,
    kernel=lambda xp, row, col, offset, *rest: _places(xp, xp.tri(row, col, offset, dtype=bool), _lower_spec(row, col, offset, *rest)),
    **{**_OPTIONS, "out": False},
    onnx={9: _fixed("tril_indices")},
)
def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Rows and columns of the places on a diagonal of a matrix and below it."""


@primitive(
    meta=_upper_spec,
    kernel=lambda xp, row, col, offset, *rest: _places(xp, ~xp.tri(row, col, offset - 1, dtype=bool), _upper_spec(row, col, offset, *rest)),
    **{**_OPTIONS, "out": False},
    onnx={9: _fixed("triu_indices")},
)
def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Rows and columns of the places on a diagonal of a matrix and above it."""
