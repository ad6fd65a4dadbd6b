"""`torch._prims_common`: helpers of PyTorch's reference implementations that libraries call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from functools import reduce
from typing import Any, TypeAlias

from ..core import dtypes
from ..core.argument_checks import alert_not_deterministic as alert_not_deterministic
from ..core.devices import as_device
from ..core.families import broadcast_shapes
from ..core.missing import missing
from ..tensor import Tensor
from ..tensor.layout import channels_last, channels_last_3d, contiguous_format

__getattr__ = missing("rushlight._prims_common")
ShapeType: TypeAlias = Sequence[int]
StrideType: TypeAlias = Sequence[int]
DimsType: TypeAlias = int | Sequence[int]
DimsSequenceType: TypeAlias = Sequence[int]
DeviceLikeType: TypeAlias = Any
NumberType: TypeAlias = bool | int | float | complex
TensorLikeType: TypeAlias = Tensor
TensorLike = Tensor
Number = (bool, int, float, complex)
_HALVES = {"float16": "float32", "bfloat16": "float32", "complex32": "complex64"}


class ELEMENTWISE_TYPE_PROMOTION_KIND(Enum):
    """Which type an elementwise function computes in, and which its result has."""

    DEFAULT = (0,)
    NO_OPMATH = (1,)
    INT_TO_FLOAT = (2,)
    ALWAYS_BOOL = (3,)
    COMPLEX_TO_FLOAT = (4,)
    BOOL_TO_LONG = (5,)


def check(b: bool, s: Callable[[], str], exc_type: type[Exception] = RuntimeError) -> None:
    """Raise an error with a message where a condition does not hold."""
    if not b:
        raise exc_type(s())


def is_contiguous_or_false(a: Any, memory_format: Any = None) -> bool:
    """Whether a tensor is contiguous."""
    return bool(a.is_contiguous())


is_contiguous = is_contiguous_or_false


def is_contiguous_for_memory_format(a: Any, *, memory_format: Any) -> bool:
    """Whether a tensor is contiguous in a memory format."""
    return bool(a.is_contiguous(memory_format=memory_format))


def is_channels_last_contiguous(a: Any) -> bool:
    """Whether a batch of images, or of volumes, is in channels-last order."""
    return (a.dim() == 4 and bool(a.is_contiguous(memory_format=channels_last))) or (
        a.dim() == 5 and bool(a.is_contiguous(memory_format=channels_last_3d))
    )


def suggest_memory_format(x: Any) -> Any:
    """The memory format of a tensor's strides."""
    if x.dim() == 4 and x.is_contiguous(memory_format=channels_last) and not x.is_contiguous():
        return channels_last
    if x.dim() == 5 and x.is_contiguous(memory_format=channels_last_3d) and not x.is_contiguous():
        return channels_last_3d
    return contiguous_format


def is_boolean_dtype(dtype: Any) -> bool:
    """Whether elements are bools."""
    return dtype is dtypes.BY_NAME["bool"]


def is_float_dtype(dtype: Any) -> bool:
    """Whether elements are real floating-point numbers."""
    return bool(dtype.is_floating_point)


def is_complex_dtype(dtype: Any) -> bool:
    """Whether elements are complex."""
    return bool(dtype.is_complex)


def is_integer_dtype(dtype: Any) -> bool:
    """Whether elements are integers or bools."""
    return not (dtype.is_floating_point or dtype.is_complex)


def is_low_precision_dtype(dtype: Any) -> bool:
    """Whether elements are numbers of half precision."""
    return str(dtype).rpartition(".")[2] in _HALVES


def get_computation_dtype(dtype: Any) -> Any:
    """The type that numbers of half precision are computed in; other types are their own."""
    return dtypes.BY_NAME.get(_HALVES.get(str(dtype).rpartition(".")[2], ""), dtype)


def corresponding_real_dtype(dtype: Any) -> Any:
    """The type of the parts of complex numbers."""
    return dtype.to_real()


def corresponding_complex_dtype(dtype: Any) -> Any:
    """The type of complex numbers with parts of a type."""
    return dtype.to_complex()


def dtype_to_type(dtype: Any) -> type:
    """The class of Python's numbers for a type."""
    return bool if is_boolean_dtype(dtype) else complex if dtype.is_complex else float if dtype.is_floating_point else int


def type_to_dtype(typ: type) -> Any:
    """The type of elements for a class of Python's numbers."""
    names = {bool: "bool", int: "int64", float: str(dtypes.get_default_dtype()).rpartition(".")[2]}
    return dtypes.get_default_dtype().to_complex() if typ is complex else dtypes.BY_NAME[names[typ]]


def canonicalize_dim(rank: int, idx: int, wrap_scalar: bool = True) -> int:
    """A dimension counted from the front."""
    if rank < 0:
        raise IndexError(f"Rank cannot be negative but got {rank}")
    size = rank or (1 if wrap_scalar else 0)
    if rank == 0 and not wrap_scalar:
        raise IndexError(f"Dimension specified as {idx} but tensor has no dimensions")
    if not -size <= idx < size:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got {idx})")
    return idx % size


def canonicalize_dims(rank: int, indices: Any, wrap_scalar: bool = True) -> Any:
    """Dimensions counted from the front."""
    if isinstance(indices, int):
        return canonicalize_dim(rank, indices, wrap_scalar)
    return tuple(canonicalize_dim(rank, each, wrap_scalar) for each in indices)


def canonicalize_device(device: Any) -> Any:
    """A device from what may stand for one."""
    return as_device(device)


def reduction_dims(shape: Any, dims: Sequence[int] | None) -> tuple[int, ...]:
    """The dimensions that a reduction goes over, counted from the front: all, where none are named."""
    if dims is None:
        return tuple(range(len(shape)))
    found = tuple(canonicalize_dim(len(shape), each) for each in dims)
    if len(set(found)) != len(found):
        raise RuntimeError("duplicate value in the list of dims")
    return found


def infer_size(shape: Any, numel: int) -> tuple[int, ...]:
    """Sizes with the one that is -1 filled in."""
    known = reduce(lambda a, b: a * b, (each for each in shape if each != -1), 1)
    if sum(each == -1 for each in shape) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if -1 in shape:
        if known == 0:
            raise RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 can be any value and is ambiguous"
            )
        if numel % known:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    elif known != numel:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    return tuple(numel // known if each == -1 else each for each in shape)


def make_contiguous_strides_for(shape: Any, row_major: bool = True) -> tuple[int, ...]:
    """The strides of a contiguous tensor; not ``row_major``, of a batch of matrices by columns."""
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    found = tuple(reversed(strides))
    if row_major or len(shape) < 2:
        return found
    return (*found[:-2], 1, max(shape[-2], 1))


def compute_required_storage_length(shape: Any, strides: Any, storage_offset: int) -> int:
    """How many elements a tensor of such sizes and strides needs in its storage."""
    if any(size == 0 for size in shape):
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(shape, strides)) + storage_offset


def is_same_shape(a: Any, b: Any) -> bool:
    """Whether two shapes are equal."""
    return tuple(a) == tuple(b)


def is_expandable_to(shape: Any, desired: Any) -> bool:
    """Whether a tensor of one shape can be expanded to another."""
    if len(shape) > len(desired):
        return False
    return all(size in (1, wanted) for size, wanted in zip(reversed(shape), reversed(desired)))


def _broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that shapes broadcast to; None among them counts for nothing."""
    return tuple(broadcast_shapes([tuple(each) for each in shapes if each is not None]))
