"""What the pickle of a checkpoint calls to make tensors again, under the names that PyTorch's files give these functions.

Arguments come out of a file and are not trusted: each function checks what it is given, and none allocates more than the
file itself holds.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd.grad_mode import no_grad
from ..core.base import Spec, Storage, make
from ..core.declare import table
from ..core.devices import device
from ..core.dtypes import BY_NAME, dtype
from ..core.errors import ArgumentError, NotSupported
from ..core.lazy_views import marked
from ..core.quantized import SCHEMES, Quantizer, per_tensor_affine, qscheme
from ..core.size import Size
from ..nn.parameter import Buffer, Parameter
from ..tensor import Tensor
from ..tensor.interop import restore_tensor
from ..tensor.layout import LAYOUTS, layout
from ..tensor.legacy import TENSOR_TYPES
from ..tensor.storage import STORAGE_TYPES, TypedStorage, UntypedStorage
from .keys import check_key

# A tensor's own fields: no file may set them.
_FIELDS = frozenset(
    ("_array", "_grad_fn", "_output_index", "_requires_grad", "_storage", "_view", "_grad", "_backward_hooks",
     "_post_accumulate_hooks", "_inference", "_accumulator")
)  # fmt: skip


def _sizes(value: Any, what: str) -> tuple[int, ...]:
    if not isinstance(value, (tuple, list)) or not all(type(each) is int for each in value):
        raise ArgumentError(f"the {what} of a tensor in this file is not a tuple of ints")
    return tuple(value)


def _rebuild(storage: Storage, kind: dtype, offset: Any, size: Any, stride: Any, requires_grad: Any) -> Any:
    size, stride = _sizes(size, "size"), _sizes(stride, "stride")
    if type(offset) is not int or len(size) != len(stride) or any(each < 0 for each in size):
        raise ArgumentError("a tensor in this file has an offset, a size or strides that make no sense")
    result = restore_tensor(Tensor, storage, offset, size, stride, kind, False)
    return result.requires_grad_(True) if requires_grad else result


def _marked(tensor: Any, metadata: Any) -> Any:
    """The tensor as the conjugate or negative view that its file says it is."""
    marks = [name for name, wanted in metadata.items() if wanted] if isinstance(metadata, dict) else []
    if not set(marks) <= {"conj", "neg"}:
        raise NotSupported(f"a tensor in this file has the marks {marks}, which rushlight does not know")
    if "conj" in marks and tensor._array.dtype.kind != "c":
        raise ArgumentError("a tensor in this file is the conjugate of real numbers")
    tensor._array = marked(tensor._array, "conj" in marks, "neg" in marks)
    return tensor


def rebuild_tensor(storage: Any, storage_offset: Any, size: Any, stride: Any) -> Any:
    """A tensor over a typed storage."""
    return rebuild_tensor_v2(storage, storage_offset, size, stride, False, None)


def rebuild_tensor_v2(
    storage: Any, storage_offset: Any, size: Any, stride: Any, requires_grad: Any, backward_hooks: Any, metadata: Any = None
) -> Any:
    """A tensor over a typed storage, whose type is the tensor's."""
    if not isinstance(storage, TypedStorage):
        raise ArgumentError(f"a tensor in this file has a {type(storage).__name__} in place of a storage of elements")
    untyped = storage.untyped()
    tensor = _rebuild(untyped._storage, storage.dtype, storage_offset, size, stride, requires_grad)
    return _marked(tensor, metadata)


def rebuild_tensor_v3(
    storage: Any, storage_offset: Any, size: Any, stride: Any, requires_grad: Any, backward_hooks: Any, kind: Any,
    metadata: Any = None,
) -> Any:  # fmt: skip
    """A tensor of a given type over a storage of bytes."""
    if not isinstance(storage, UntypedStorage) or not isinstance(kind, dtype):
        raise ArgumentError("a tensor in this file has no storage of bytes, or no dtype")
    if storage.foreign_order and kind.itemsize > 1:
        raise NotSupported(f"a tensor of {kind} from a machine of the other byte order can't be read")
    return _marked(_rebuild(storage._storage, kind, storage_offset, size, stride, requires_grad), metadata)


def rebuild_meta_tensor(kind: Any, size: Any, stride: Any, requires_grad: Any) -> Any:
    """A tensor without data."""
    if not isinstance(kind, dtype):
        raise ArgumentError("a tensor in this file has no type")
    result = make(Spec(_sizes(size, "size"), kind.numpy, _sizes(stride, "stride")))
    return result.requires_grad_(True) if requires_grad else result


def rebuild_sparse_tensor(kind: Any, data: Any) -> Any:
    """A sparse tensor of its indices and values, which are checked."""
    if not isinstance(kind, layout) or not isinstance(data, tuple):
        raise ArgumentError("a sparse tensor in this file has no layout, or no parts")
    coordinates = kind.name == "sparse_coo"
    if kind.name == "strided" or kind.name == "jagged" or len(data) not in ((3, 4) if coordinates else (4,)):
        raise ArgumentError(f"a sparse tensor in this file is of layout {kind!r} and has {len(data)} parts")
    parts = data[: 2 if coordinates else 3]
    if not all(isinstance(each, Tensor) and each._array.__class__ is np.ndarray for each in parts):
        raise ArgumentError("a sparse tensor in this file has indices or values that are no tensors")
    if any(each._array.dtype.kind not in "iu" for each in parts[:-1]):
        raise ArgumentError("a sparse tensor in this file has indices that are no integers")
    size = _sizes(tuple(data[len(parts)]) if isinstance(data[len(parts)], (tuple, list)) else data[len(parts)], "size")
    if coordinates:
        result = table["sparse_coo_tensor"].call(*parts, size, check_invariants=True)
        return result._coalesced_(bool(data[3])) if len(data) == 4 and data[3] is not None else result
    return table["sparse_compressed_tensor"].call(*parts, size, layout=kind, check_invariants=True)


def rebuild_parameter(data: Any, requires_grad: Any, backward_hooks: Any) -> Any:
    """A parameter over a tensor."""
    if not isinstance(data, Tensor):
        raise ArgumentError(f"a parameter in this file is made of {type(data).__name__}, not of a tensor")
    return Parameter(data, bool(requires_grad))


def rebuild_parameter_with_state(data: Any, requires_grad: Any, backward_hooks: Any, state: Any) -> Any:
    """A parameter with attributes that the user has set."""
    return set_attributes(rebuild_parameter(data, requires_grad, backward_hooks), state)


def rebuild_from_type_v2(function: Any, kind: Any, arguments: Any, state: Any) -> Any:
    """A tensor of a subclass, or with attributes that the user has set."""
    if not any(function is each for each in TENSOR_FUNCTIONS) or not isinstance(kind, type) or not issubclass(kind, Tensor):
        raise ArgumentError("a tensor in this file is to be made by something that makes no tensors")
    result = function(*arguments)
    if kind is Tensor and isinstance(state, dict) and state.get("_is_buffer"):
        kind, state = Buffer, {name: value for name, value in state.items() if name != "_is_buffer"}
    if type(result) is not kind:
        with no_grad():  # what was a leaf stays one
            result = result.as_subclass(kind)
    if hasattr(kind, "__setstate__") and kind.__setstate__ is not getattr(Tensor, "__setstate__", None):
        result.__setstate__(state)
        return result
    return set_attributes(result, state)


def set_attributes(tensor: Any, state: Any) -> Any:
    """Give a tensor the attributes that a file holds for it: a dict, and behind it perhaps one for slots."""
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    for group in (attributes, slots):
        if group is not None and not isinstance(group, dict):
            raise ArgumentError(f"the attributes of a tensor in this file are {type(group).__name__}, not a dict")
    for name, value in (attributes or {}).items():
        if not isinstance(name, str) or name in _FIELDS or name.startswith("__"):
            raise ArgumentError(f"a tensor in this file has an attribute {name!r}, which can't be set")
        tensor.__dict__[name] = value
    for name, value in (slots or {}).items():
        if name in _FIELDS or not name.isidentifier() or name.startswith("__"):
            raise ArgumentError(f"a tensor in this file has an attribute {name!r}, which can't be set")
        setattr(tensor, name, value)
    return tensor


def get_layout(name: Any) -> Any:
    """A layout by its name, such as ``torch.strided``."""
    if not isinstance(name, str) or name not in layout_names:
        raise ArgumentError(f"a tensor in this file has the layout {str(name)[:40]!r}, which is not known")
    return layout_names[name]


layout_names = {repr(each): each for each in LAYOUTS}


def _absent(what: str) -> Callable[..., Any]:
    def refuse(*arguments: Any, **named: Any) -> Any:
        raise NotSupported(f"this file holds {what}, which rushlight does not have")

    return refuse


# -- plain Python values -----------------------------------------------------------------------------------------


def make_set(items: Any = ()) -> set[Any]:
    """A set of values that can be hashed at a bounded cost."""
    for each in items:
        check_key(each)
    return set(items)


def make_ordered(pairs: Any = ()) -> OrderedDict[Any, Any]:
    """An OrderedDict, perhaps of key and value pairs, as old pickles have them."""
    result: OrderedDict[Any, Any] = OrderedDict()
    for key, value in pairs.items() if isinstance(pairs, dict) else pairs:
        check_key(key)
        result[key] = value
    return result


def make_counter(counts: Any = ()) -> Counter[Any]:
    """A Counter from a dict."""
    if not isinstance(counts, dict) and counts != ():
        raise ArgumentError("a Counter in this file is not made of a dict")
    return Counter(counts)


def make_bytes(text: Any, encoding: Any = "latin1") -> bytes:
    """Bytes from a string: protocol 2 writes them so."""
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1", "ascii", "utf-8"):
        raise ArgumentError(f"a string in this file is to be encoded as {encoding!r}")
    return text.encode(encoding)


def make_bytearray(data: Any = b"", encoding: Any = None) -> bytearray:
    """A bytearray of given bytes; a number would ask for as many bytes and is refused."""
    if isinstance(data, str):
        return bytearray(make_bytes(data, encoding or "latin1"))
    if isinstance(data, (bytes, list)):
        return bytearray(data)
    raise ArgumentError(f"a bytearray in this file is made of {type(data).__name__}")


def make_plain_bytes(data: Any = b"") -> bytes:
    """Bytes; protocol 2 writes empty ones so."""
    return bytes(make_bytearray(data))


def make_size(sizes: Any = ()) -> Size:
    """A shape."""
    return Size(_sizes(sizes, "shape"))


def make_device(kind: Any, index: Any = None) -> device:
    """A device; none is touched."""
    return device(kind) if index is None else device(kind, index)


def make_complex(real: Any, imaginary: Any = 0.0) -> complex:
    """A complex number from two numbers."""
    if not isinstance(real, (int, float)) or not isinstance(imaginary, (int, float)):
        raise ArgumentError("a complex number in this file is not made of two numbers")
    return complex(real, imaginary)


def rebuild_qtensor(
    storage: Any, storage_offset: Any, size: Any, stride: Any, quantizer: Any, requires_grad: Any, backward_hooks: Any
) -> Any:
    """A quantized tensor over a typed storage."""
    if not isinstance(storage, TypedStorage) or storage.dtype.integer is None or not isinstance(quantizer, tuple) or not quantizer:
        raise ArgumentError("a quantized tensor in this file has no storage of quantized elements, or no quantizer")
    scheme, *parameters = quantizer
    if scheme is per_tensor_affine and len(parameters) == 2 and all(type(each) in (int, float) for each in parameters):
        made = Quantizer(storage.dtype, *parameters)
    elif isinstance(scheme, qscheme) and scheme.per_channel and len(parameters) == 3:
        scales, zero_points, axis = (each._array if isinstance(each, Tensor) else each for each in parameters)
        if isinstance(scales, list) and isinstance(zero_points, list):  # as PyTorch 1.3 and 1.4 wrote them into archives
            if all(type(each) in (int, float) for each in (*scales, *zero_points)):
                scales, zero_points = np.array(scales, np.float64), np.array(zero_points, np.int64)
        if not isinstance(scales, np.ndarray) or not isinstance(zero_points, np.ndarray) or type(axis) is not int:
            raise ArgumentError("a quantized tensor in this file has scales, zero points or an axis that make no sense")
        made = Quantizer(storage.dtype, scales, zero_points, axis)
    else:
        raise ArgumentError("a quantized tensor in this file has a scheme that is not known")
    size, stride = _sizes(size, "size"), _sizes(stride, "stride")
    if type(storage_offset) is not int or len(size) != len(stride) or any(each < 0 for each in size):
        raise ArgumentError("a tensor in this file has an offset, a size or strides that make no sense")
    if made.axis is not None and not (0 <= made.axis < len(size) and made.scale.shape == made.zero_point.shape == (size[made.axis],)):
        raise ArgumentError("a quantized tensor in this file does not have a scale and zero point for each channel")
    return restore_tensor(Tensor, storage.untyped()._storage, storage_offset, size, stride, storage.dtype, False, made)


TENSOR_FUNCTIONS: tuple[Callable[..., Any], ...] = (
    rebuild_tensor, rebuild_tensor_v2, rebuild_tensor_v3, rebuild_meta_tensor, rebuild_parameter,
    rebuild_parameter_with_state, rebuild_qtensor, rebuild_sparse_tensor,
)  # fmt: skip

# What a file may call without being trusted, by its name there.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "torch._utils._rebuild_tensor": rebuild_tensor,
    "torch._utils._rebuild_tensor_v2": rebuild_tensor_v2,
    "torch._utils._rebuild_tensor_v3": rebuild_tensor_v3,
    "torch._utils._rebuild_meta_tensor_no_storage": rebuild_meta_tensor,
    "torch._utils._rebuild_parameter": rebuild_parameter,
    "torch._utils._rebuild_parameter_with_state": rebuild_parameter_with_state,
    "torch._tensor._rebuild_from_type_v2": rebuild_from_type_v2,
    "torch._utils._rebuild_sparse_tensor": rebuild_sparse_tensor,
    "torch._utils._rebuild_qtensor": rebuild_qtensor,
    "torch._utils._rebuild_nested_tensor": _absent("a nested tensor"),
    "torch._utils._rebuild_wrapper_subclass": _absent("a tensor subclass without memory of its own"),
    "torch._utils._rebuild_device_tensor_from_numpy": _absent("a tensor of a device without storages"),
    "torch._utils._rebuild_device_tensor_from_cpu_tensor": _absent("a tensor of a device without storages"),
    "torch.serialization._get_layout": get_layout,
    "torch.Size": make_size,
    "torch.device": make_device,
    "collections.OrderedDict": make_ordered,
    "collections.Counter": make_counter,
    "builtins.set": make_set,
    "builtins.bytearray": make_bytearray,
    "builtins.bytes": make_plain_bytes,
    "builtins.complex": make_complex,
    "_codecs.encode": make_bytes,
}

# What a file may name without being trusted, and not call.
VALUES: dict[str, Any] = {
    "torch.Tensor": Tensor,
    "torch.nn.parameter.Parameter": Parameter,
    "torch.storage.UntypedStorage": UntypedStorage,
    "torch.storage.TypedStorage": TypedStorage,
    **{f"torch.{name}": each for name, each in STORAGE_TYPES.items()},
    **{f"torch.cuda.{name}": each for name, each in STORAGE_TYPES.items()},
    **{f"torch.{name}": each for name, each in TENSOR_TYPES.items()},
    **{f"torch.{name}": each for name, each in BY_NAME.items()},
    **{f"torch.{name}": each for name, each in SCHEMES.items()},
}

# Types that PyTorch has and rushlight has not: files that name them are not dangerous, but can't be read.
ABSENT_TYPES = frozenset(
    [f"torch.{name}" for name in (
        "complex32 quint8 qint8 qint32 quint4x2 quint2x4 bits1x8 bits2x4 bits4x2 bits8 bits16 float4_e2m1fn_x2 "
        "float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu int1 int2 int3 int4 int5 int6 int7 "
        "uint1 uint2 uint3 uint4 uint5 uint6 uint7 QInt32Storage QInt8Storage QUInt8Storage QUInt4x2Storage QUInt2x4Storage "
        "per_channel_affine per_channel_affine_float_qparams per_channel_symmetric per_tensor_affine per_tensor_symmetric"
    ).split()]
) - VALUES.keys()  # fmt: skip


def array_storage(array: np.ndarray) -> UntypedStorage:
    """A storage over an array of bytes."""
    return UntypedStorage(Storage(array))
