"""Families of ops: how shapes and dtypes of results follow from those of the arguments, and how operands are prepared.

A family object is the ``meta`` of a declaration.  Called with the op and its unwrapped values (arrays, specs, numbers) it
gives the result's Spec or raises the error a user can act on; ``execute`` runs the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from .base import Spec, TensorBase
from .declare import Op
from .dtypes import BOOL, BY_NUMPY, COMPLEX, FLOATING, INTEGRAL, LOW_PRECISION, default, promote_numpy, result_dtype
from .errors import ArgumentError, DtypeError, OperationError, ShapeError, UnsupportedDtype, dimension_error
from .kernel_providers import MANY, faster_loop, repeated_loop
from .layout import converted
from .parallel import LARGE, in_blocks
from .quantized import rule_of
from .symbolic import is_symbolic
from .upcast import COMPLEX32, narrowed

_FLOAT32 = np.dtype(np.float32)
_BOOL = np.dtype(np.bool_)
_INT64 = np.dtype(np.int64)


def broadcast_shapes(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that several shapes broadcast to."""
    result: tuple[int, ...] = shapes[0] if shapes else ()
    for shape in shapes[1:]:
        if len(shape) == len(result) and shape == result:
            continue
        first = (1,) * (len(shape) - len(result)) + tuple(result)
        second = (1,) * (len(result) - len(shape)) + tuple(shape)
        merged, mismatch = [], None
        for dim, (a, b) in enumerate(zip(first, second)):
            if a != b and a != 1 and b != 1:
                mismatch = a, b, dim
            merged.append(a if b.__class__ is int and b == 1 else b if a == 1 else a)  # a symbolic size of 1 is not lost to a plain one
        if mismatch:  # of several, PyTorch names the last: it aligns shapes from their ends
            a, b, dim = mismatch
            raise ShapeError(f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {dim}")
        result = tuple(merged)
    return tuple(result)


def broadcasts_to(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether a shape broadcasts to another."""
    if any(map(is_symbolic, (*shape, *wanted))):  # looking them up would compare them, and a comparison is a guard
        return _broadcasts_to.__wrapped__(shape, wanted)
    return _broadcasts_to(shape, wanted)


@lru_cache(4096)
def _broadcasts_to(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    try:
        return broadcast_shapes([shape, wanted]) == wanted
    except RuntimeError:
        return False


def normalize_dim(dim: Any, ndim: int) -> int:
    """A dimension counted from the front; a 0-dim tensor is treated as having one."""
    if dim.__class__ is int and -ndim <= dim < ndim:
        return dim if dim >= 0 else dim + ndim  # type: ignore[no-any-return]
    if isinstance(dim, bool) or not hasattr(dim, "__index__"):
        raise ArgumentError(f"argument 'dim' must be int, not {type(dim).__name__}")
    dim = dim.__index__()
    bound = max(ndim, 1)
    if not -bound <= dim < bound:
        raise dimension_error(dim, ndim)
    return dim + bound if dim < 0 else dim


def normalize_dims(dim: Any, ndim: int, *, empty_is_all: bool = True) -> tuple[int, ...]:
    """Several dimensions counted from the front, each once; None (and, by default, an empty list) means all."""
    if dim is None or (empty_is_all and isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(ndim))
    dims = tuple(normalize_dim(each, ndim) for each in (dim if isinstance(dim, (tuple, list)) else (dim,)))
    if len(set(dims)) != len(dims):
        repeated = next(each for each in dims if dims.count(each) > 1)
        raise ShapeError(f"dim {repeated} appears multiple times in the list of dims")
    return dims if ndim else ()


class Elementwise:
    """Ops that work element by element on broadcast operands.

    ``promote`` says what the operands become and what the result is: ``"default"`` (PyTorch's result type),
    ``"int_to_float"`` (integers become the default float), ``"bool"`` (operands promote, the result is bool),
    ``"real"`` (complex gives its real type), ``"real_float"`` (both).  ``fast`` describes the fast path: how many operands
    there are, and for which dtypes a plain call of the ufunc gives the right result.  A number among tensors of a narrow dtype is
    rounded to that dtype first, as in PyTorch, unless ``wide_numbers`` is set; so is the argument at the position ``factor``.  A kernel with a parameter ``out`` writes large
    results block by block.
    """

    __slots__ = ("factor", "fast", "promote", "refuse", "wide_numbers")
    in_place = True

    def __init__(self, promote: str, fast: tuple[int, str] | None, refuse: str, wide_numbers: bool = False, factor: int = 0) -> None:
        self.promote = promote
        self.fast = fast
        self.refuse = refuse
        self.wide_numbers = wide_numbers
        self.factor = factor

    def operands(self, op: Op, values: Sequence[Any]) -> list[Any]:
        return [values[i] for i, _ in op.tensor_positions if values[i] is not None]

    def dtypes(self, op: Op, operands: list[Any]) -> tuple[Any, Any]:
        """The dtype to compute in (before widening) and the dtype of the result."""
        common: Any = getattr(operands[0], "dtype", None) if operands else None
        for each in operands:
            if common is None or getattr(each, "dtype", None) is not common or not each.shape:  # numbers and 0-dim arrays count less
                common = result_dtype(operands)
                break
        category = BY_NUMPY[common].category
        if self.refuse and (
            (category == BOOL and "bool" in self.refuse) or (category == INTEGRAL and "int" in self.refuse)
            or (category == COMPLEX and "complex" in self.refuse) or (category >= FLOATING and "float" in self.refuse)
        ):  # fmt: skip
            name = BY_NUMPY[common].name.capitalize()
            if BY_NUMPY[common].integer is not None and rule_of(op) is not None:
                return common, common  # a quantized tensor without data
            raise UnsupportedDtype(f"{op.public_name}(): not implemented for '{name}' (torch.{BY_NUMPY[common].name})")
        if self.promote in ("int_to_float", "real_float") and category < FLOATING:
            common = default.numpy
        if self.promote == "bool":
            return common, _BOOL
        if self.promote in ("real", "real_float"):
            return common, BY_NUMPY[common].to_real().numpy
        return common, common

    def __call__(self, op: Op, values: Sequence[Any]) -> Any:
        operands = self.operands(op, values)
        _, dtype = self.dtypes(op, operands)
        return Spec(broadcast_shapes([each.shape for each in operands if hasattr(each, "shape")]), dtype)

    def execute(self, op: Op, xp: Any, values: Sequence[Any]) -> Any:
        operands = self.operands(op, values)
        common, dtype = self.dtypes(op, operands)
        compute = _FLOAT32 if common in LOW_PRECISION and not op.exact else common
        prepared = list(values)
        if compute is not common and self.factor and isinstance(values[self.factor], float):
            prepared[self.factor] = float(common.type(values[self.factor]))
        positions = []
        size = 0
        for position, _ in op.tensor_positions:
            value = values[position]
            if value is None:
                continue
            positions.append(position)
            if hasattr(value, "dtype") and not isinstance(value, np.generic):
                size = max(size, value.size)
            else:
                if compute is not common and not self.wide_numbers:
                    value = as_scalar(value, common)
                prepared[position] = as_scalar(value, compute)
        kernel = getattr(xp, op.kernel) if op.kernel.__class__ is str else partial(op.kernel, xp)

        def run(*pieces: Any, **out: Any) -> Any:
            arguments = list(prepared)
            for position, piece in zip(positions, pieces):
                cast = piece.dtype is not compute and not isinstance(piece, np.generic)
                arguments[position] = converted(piece, compute) if cast else piece
            return kernel(*arguments, **out)

        given = [prepared[position] for position in positions]
        if size >= MANY and xp is np and op.kernel.__class__ is not str and size < LARGE:  # several passes over what one could do
            result = repeated_loop(op, prepared, positions, compute, dtype)
            if result is not None:
                return result
        if size >= LARGE and xp is np:
            result = faster_loop(op, prepared, positions, compute, dtype)
            if result is not None:
                return result
            result = in_blocks(run, given, dtype, writes=dtype is compute and takes_out(op.kernel))
            if result is not None:
                return result
        result = run(*given)
        return result if result.dtype is dtype else result.astype(dtype)


def takes_out(kernel: Any) -> bool:
    """Whether a kernel has a parameter ``out``, as NumPy's functions (given by name) do."""
    code = getattr(kernel, "__code__", None)
    return kernel.__class__ is str if code is None else "out" in code.co_varnames[: code.co_argcount]


def plain_number(value: Any) -> Any:
    """A tensor without dimensions or a NumPy scalar as a number of Python, whose type does not count; anything else as it is."""
    return value.item() if isinstance(value, np.generic) or (isinstance(value, TensorBase) and not value._array.ndim) else value  # type: ignore[attr-defined]


def factor_of(value: Any, dtype: np.dtype[Any]) -> Any:
    """A factor such as ``alpha`` as a NumPy scalar of a dtype: a negative one wraps in an unsigned type, one that is too large is refused."""
    value = plain_number(value)
    if dtype.kind in "iu":
        bits = dtype.itemsize * 8 - (dtype.kind == "i")
        if not -(1 << bits) <= value < 1 << bits:
            raise OperationError(f"value cannot be converted to type {dtype.name}_t without overflow")
    return as_scalar(value, dtype)


def as_scalar(value: Any, dtype: np.dtype[Any]) -> Any:
    """A Python number as a NumPy scalar of a dtype; integers wrap around as they do in tensors."""
    if dtype.kind in "iu" and isinstance(value, (int, np.integer)):
        bits = dtype.itemsize * 8
        value = int(value) & ((1 << bits) - 1)
        if dtype.kind == "i" and value >> (bits - 1):
            value -= 1 << bits
    return dtype.type(value) if dtype != COMPLEX32 else narrowed(value)[()]


def elementwise(
    promote: str = "default", *, fast: tuple[int, str] | None = None, refuse: str = "", wide_numbers: bool = False, factor: int = 0
) -> Elementwise:
    """The family of pointwise ops; see :class:`Elementwise`.  ``refuse`` lists categories that raise: "bool int float complex"."""
    return Elementwise(promote, fast, refuse, wide_numbers, factor)


_ALL_AXES = tuple([tuple(range(ndim)) for ndim in range(65)])  # NumPy's arrays have at most 64 dimensions


class Reduction:
    """Ops that reduce dimensions.  The kernel is called ``kernel(xp, array, axes, keepdim, **others)``.

    ``result`` names the dtype of the result: ``"same"``, ``"int64"`` (integers and bool are summed in int64), ``"float"``
    (only floating and complex types are taken), ``"bool"``, ``"real"`` (of complex, the real type), ``"index"``.
    """

    __slots__ = ("empty_is_all", "layout", "result")
    in_place = False

    def __init__(self, result: str, empty_is_all: bool) -> None:
        self.result = result
        self.empty_is_all = empty_is_all
        self.layout: Any = None

    def set_layout(self, op: Op) -> None:
        """Find the positions of the arguments ``dim``, ``keepdim`` and ``dtype``, and the names and positions of all others."""
        positions = {p.name: at for at, p in enumerate(op.parameters)}
        del positions["input"]
        known = tuple(positions.pop(name, None) for name in ("dim", "keepdim", "dtype"))
        self.layout = op.parameters, *known, tuple(positions.items())

    def resolve(self, op: Op, values: Sequence[Any]) -> tuple[Any, tuple[int, ...], bool, dict[str, Any], Any, Any]:
        """Input, axes, keepdim, the op's other arguments, the dtype to compute in, and that of the result."""
        if self.layout is None or self.layout[0] is not op.parameters:
            self.set_layout(op)
        _, dim_at, keepdim_at, dtype_at, rest = self.layout
        array = values[0]
        dim = None if dim_at is None else values[dim_at]
        keepdim = keepdim_at is not None and bool(values[keepdim_at])
        wanted = None if dtype_at is None else values[dtype_at]
        others = {name: values[at] for name, at in rest} if rest else {}
        ndim = len(array.shape)
        axes = _ALL_AXES[ndim] if dim is None else normalize_dims(dim, ndim, empty_is_all=self.empty_is_all)
        compute = array.dtype
        if wanted is None and (self.result == "same" or (compute is _FLOAT32 and self.result in ("int64", "float"))):
            return array, axes, keepdim, others, compute, compute
        category = BY_NUMPY[compute].category
        if wanted is not None:
            compute = wanted.numpy
            category = wanted.category
        elif self.result == "int64" and category < FLOATING:
            compute = _INT64
        if self.result in ("float", "real_float") and category < FLOATING:
            raise DtypeError(
                f"{op.public_name}(): could not infer output dtype. Input dtype must be either a floating point or complex "
                f"dtype. Got: torch.{BY_NUMPY[array.dtype].name}"
            )
        dtype = compute
        if self.result in ("real", "real_float"):
            dtype = BY_NUMPY[compute].to_real().numpy
        elif self.result == "bool":
            dtype = np.dtype(np.uint8) if compute == np.uint8 else _BOOL
        elif self.result == "index":
            dtype = _INT64
        return array, axes, keepdim, others, compute, dtype

    def __call__(self, op: Op, values: Sequence[Any]) -> Any:
        array, axes, keepdim, _, _, dtype = self.resolve(op, values)
        return Spec(reduced_shape(array.shape, axes, keepdim), dtype)

    def execute(self, op: Op, xp: Any, values: Sequence[Any]) -> Any:
        array, axes, keepdim, others, compute, dtype = self.resolve(op, values)
        if compute is not _FLOAT32 and compute in LOW_PRECISION:
            compute = _FLOAT32
        if array.dtype is not compute and self.result != "index":
            array = converted(array, compute)
        result = op.kernel(xp, array, axes, keepdim, **others)
        return result if result.dtype is dtype else result.astype(dtype)


def reduced_shape(shape: tuple[int, ...], axes: tuple[int, ...], keepdim: bool) -> tuple[int, ...]:
    """A shape after a reduction over some of its dimensions."""
    if keepdim:
        return tuple(1 if i in axes else size for i, size in enumerate(shape))
    return tuple(size for i, size in enumerate(shape) if i not in axes)


def reduction(result: str = "same", *, empty_is_all: bool = True) -> Reduction:
    """The family of reductions; see :class:`Reduction`."""
    return Reduction(result, empty_is_all)


def same(*values: Any) -> Spec:
    """A meta rule: shape and dtype of the first argument."""
    return Spec(values[0].shape, values[0].dtype)


def promoted(arrays: Sequence[Any]) -> np.dtype[Any]:
    """The common dtype of several arrays, whatever their ranks."""
    dtype = arrays[0].dtype
    for array in arrays[1:]:
        dtype = promote_numpy(dtype, array.dtype)
    return dtype
