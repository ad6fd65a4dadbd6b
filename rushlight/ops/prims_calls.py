"""``torch.ops.prims``: PyTorch's primitive operators, as calls of the ops of the table.

Decompositions of PyTorch's and passes of libraries over graphs name them.  They neither broadcast nor promote dtypes: operands of an
element-wise primitive have one shape and one dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from ..core.base import TensorBase
from ..core.dtypes import bool_, finfo, iinfo
from ..core.errors import OperationError
from ..core.schema import parse_schema
from .aten_calls import function_of
from .overloads import OpOverload, OpOverloadPacket

_UNARY = frozenset(
    "abs acos acosh asin asinh atan atanh bitwise_not ceil cos cosh digamma erf erfc exp exp2 expm1 floor isfinite lgamma log log10 log1p log2 neg "
    "reciprocal round rsqrt sign signbit sin sinh sqrt tan tanh trunc conj_physical".split()
)
_BINARY = frozenset(
    "add atan2 bitwise_and bitwise_or bitwise_xor eq fmax fmin fmod gcd ge gt hypot igamma igammac le lt maximum minimum mul ne nextafter pow remainder "
    "sub zeta".split()
)
_REDUCTIONS = frozenset(("amax", "amin", "prod", "sum"))
# Primitives that go by another name than the function which computes them.
_NAMES = {
    "bessel_i0": "special_i0",
    "bessel_i0e": "special_i0e",
    "bessel_i1": "special_i1",
    "bessel_i1e": "special_i1e",
    "bessel_j0": "special_bessel_j0",
    "bessel_j1": "special_bessel_j1",
    "erf_inv": "erfinv",
    "erfcx": "special_erfcx",
    "ndtri": "special_ndtri",
    "shift_left": "bitwise_left_shift",
    "shift_right_arithmetic": "bitwise_right_shift",
    "spherical_bessel_j0": "special_spherical_bessel_j0",
    "zeta": "special_zeta",
}
_SHIFTS = ("shift_left", "shift_right_arithmetic")


def _function(name: str) -> Callable[..., Any]:
    found = function_of(_NAMES.get(name, name))
    if found is None:
        raise OperationError(f"prims::{name}: no function computes it")
    return found


def _checked(*tensors: Any) -> None:
    """Refuse operands whose shapes or dtypes differ: numbers and tensors that stand for them aside."""
    given = [each for each in tensors if isinstance(each, TensorBase)]
    for each in given[1:]:
        if each.dtype != given[0].dtype:
            raise OperationError(f"Tensor with dtype {each.dtype} is not the expected dtype of {given[0].dtype}!")
        if each.shape != given[0].shape:
            raise OperationError(f"Shape {each.shape} is not the expected shape {given[0].shape}!")


def _binary(name: str) -> Callable[..., Any]:
    def run(self: Any, other: Any) -> Any:
        _checked(self, other)
        return _function(name)(self, other)

    return run


def _div(self: Any, other: Any) -> Any:
    _checked(self, other)
    whole = not self.dtype.is_floating_point and not self.dtype.is_complex
    return _function("div")(self, other, rounding_mode="trunc" if whole else None)


def _where(pred: Any, a: Any, b: Any) -> Any:
    _checked(a, b)
    return _function("where")(pred, a, b)


def _reduction(name: str) -> Callable[..., Any]:
    def run(inp: Any, dims: Any) -> Any:
        if name != "prod":
            return _function(name)(inp, tuple(dims))
        for dim in sorted((dim % inp.dim() for dim in dims), reverse=True):
            inp = inp.prod(dim)
        return inp

    return run


def _convert_element_type(a: Any, dtype: Any) -> Any:
    return a.to(dtype=dtype, copy=True)


def _broadcast_in_dim(a: Any, shape: Any, broadcast_dimensions: Any) -> Any:
    sizes = [1] * len(shape)
    for dim, size in zip(broadcast_dimensions, a.shape):
        sizes[dim] = size
    for dim in range(len(shape)):
        if dim not in broadcast_dimensions:
            a = a.unsqueeze(dim)
    if list(a.shape) != sizes:
        raise OperationError(f"broadcast_in_dim: dimensions {list(broadcast_dimensions)} must ascend, one for each of the tensor's")
    return a.expand(*shape)


def _collapsed(a: Any, start: int, end: int) -> list[int]:
    shape = list(a.shape)
    return [*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]]


def _split_dim(a: Any, dim: int, outer_length: int) -> Any:
    inner, rest = divmod(a.shape[dim], outer_length)
    if rest:
        raise ValueError(
            f"Attempting to split dimension of length {a.shape[dim]}, but outer length of {outer_length} divides it with a remainder!"
        )
    return a.view([*a.shape[:dim], outer_length, inner, *a.shape[dim + 1 :]])


def _extreme(largest: bool) -> Callable[[Any], Any]:
    def run(dtype: Any) -> Any:
        if dtype is bool_:
            return largest
        limits = finfo(dtype) if dtype.is_floating_point or dtype.is_complex else iinfo(dtype)
        return limits.max if largest else limits.min

    return run


def _created(name: str) -> Callable[..., Any]:
    def run(shape: Any, *rest: Any, dtype: Any, device: Any, requires_grad: bool) -> Any:
        return _function(name)(shape, *rest, dtype=dtype, device=device, requires_grad=requires_grad)

    return run


def _iota(length: int, *, start: int, step: int, dtype: Any, device: Any, requires_grad: bool) -> Any:
    return _function("arange")(start, start + length * step, step, dtype=dtype, device=device, requires_grad=requires_grad)


def _var(inp: Any, dims: Any, correction: float | None = 1) -> Any:
    return _function("var")(inp, tuple(dims), correction=correction)


_CREATED = "ScalarType dtype, Device device, bool requires_grad"
# Schema without its name, and what computes it.
_OTHERS: dict[str, tuple[str, Callable[..., Any]]] = {
    "broadcast_in_dim": ("(Tensor(a) a, SymInt[] shape, int[] broadcast_dimensions) -> Tensor(a)", _broadcast_in_dim),
    "cat": ("(Tensor[] tensors, int dim) -> Tensor", lambda tensors, dim: _function("cat")(tensors, dim)),
    "clone": ("(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", lambda self, **keywords: self.clone(**{k: v for k, v in keywords.items() if v is not None})),
    "collapse": ("(Tensor a, int start, int end) -> Tensor", lambda a, start, end: a.reshape(_collapsed(a, start, end)).clone()),
    "collapse_view": ("(Tensor(a) a, int start, int end) -> Tensor(a)", lambda a, start, end: a.view(_collapsed(a, start, end))),
    "conj": ("(Tensor(a) a) -> Tensor(a)", lambda a: a.conj()),
    "convert_element_type": ("(Tensor a, ScalarType dtype) -> Tensor", _convert_element_type),
    "copy_to": ("(Tensor(a!) a, Tensor b) -> Tensor(a!)", lambda a, b: a.copy_(b)),
    "device_put": ("(Tensor a, Device device, bool non_blocking=False) -> Tensor", lambda a, device, non_blocking=False: a.to(device)),
    "div": ("(Tensor self, Tensor other) -> Tensor", _div),
    "empty": (f"(SymInt[] shape, *, {_CREATED}) -> Tensor", _created("empty")),
    "fill": ("(Tensor self, Scalar value) -> Tensor", lambda self, value: _function("full_like")(self, value)),
    "frexp": ("(Tensor self) -> (Tensor mantissa, Tensor exponent)", lambda self: tuple(_function("frexp")(self))),
    "full": (f"(SymInt[] shape, Scalar fill_value, *, {_CREATED}) -> Tensor", _created("full")),
    "full_like": (f"(Tensor a, Scalar fill_value, *, {_CREATED}) -> Tensor", _created("full_like")),
    "imag": ("(Tensor(a) self) -> Tensor(a)", lambda self: self.imag),
    "iota": (f"(SymInt length, *, SymInt start, SymInt step, {_CREATED}) -> Tensor", _iota),
    "item": ("(Tensor a) -> Scalar", lambda a: a.item()),
    "maximum_value": ("(ScalarType dtype) -> Scalar", _extreme(True)),
    "minimum_value": ("(ScalarType dtype) -> Scalar", _extreme(False)),
    "real": ("(Tensor(a) self) -> Tensor(a)", lambda self: self.real),
    "reshape": ("(Tensor a, SymInt[] shape) -> Tensor", lambda a, shape: a.reshape(shape).clone()),
    "rev": ("(Tensor a, int[] dims) -> Tensor", lambda a, dims: a.flip(dims)),
    "scalar_tensor": ("(Scalar s, *, ScalarType? dtype=None, Device? device=None) -> Tensor", lambda s, dtype=None, device=None: _function("scalar_tensor")(s, dtype=dtype, device=device)),
    "split_dim": ("(Tensor(a) a, int dim, SymInt outer_length) -> Tensor(a)", _split_dim),
    "squeeze": ("(Tensor(a) a, int[] dimensions) -> Tensor(a)", lambda a, dimensions: a.squeeze(tuple(dimensions))),
    "transpose": ("(Tensor(a) a, int[] permutation) -> Tensor(a)", lambda a, permutation: a.permute(permutation)),
    "var": ("(Tensor inp, int[]? dims, float? correction=1, *, ScalarType? output_dtype=None) -> Tensor", _var),
    "view_of": ("(Tensor(a) a) -> Tensor(a)", lambda a: a.view(a.shape)),
    "where": ("(Tensor pred, Tensor a, Tensor b) -> Tensor", _where),
}  # fmt: skip


def _found(name: str) -> tuple[str, Callable[..., Any]] | None:
    if name in _OTHERS:
        return _OTHERS[name]
    if name in _BINARY or name in _SHIFTS:
        return "(Tensor self, Tensor other) -> Tensor", _binary(name)
    if name in _REDUCTIONS:
        return "(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor", _reduction(name)
    if name in _UNARY or name in _NAMES:
        return "(Tensor self) -> Tensor", _function(name)
    return None


@cache
def packet(namespace: str, name: str) -> OpOverloadPacket | None:
    """The packet of a primitive, or None where there is none of its name."""
    found = _found(name)
    if found is None:
        return None
    text, function = found
    schema = parse_schema(f"prims::{name}{text}")
    schema.numbers_as_tensors = True
    keywords = [each.name for each in schema.arguments if each.kwarg_only]
    plain = len(schema.arguments) - len(keywords)

    def run(values: list[Any]) -> Any:
        rest = dict(zip(keywords, values[plain:]))
        if "output_dtype" in rest and rest.pop("output_dtype") is not None:
            raise OperationError(f"prims::{name}: output_dtype is not supported: convert its result")
        return function(*values[:plain], **rest)

    made = OpOverloadPacket(namespace, name)
    made._overloads["default"] = OpOverload(made, schema, run)
    return made


def names(namespace: str) -> set[str]:
    """The primitives that can be called."""
    return {*_UNARY, *_BINARY, *_REDUCTIONS, *_NAMES, *_SHIFTS, *_OTHERS}
