"""Complex numbers: their parts and angles, and the views that read them as pairs of real numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive
from ...core.dtypes import BY_NUMPY, FLOATING, legacy_name
from ...core.errors import DtypeError, ShapeError
from ...core.families import broadcast_shapes, elementwise
from ...core.lazy_views import LazyArray, marked
from ...core.sparse import SPARSE
from ...core.state import state
from ..create.factories import zeros_like
from ..shape.views import element_strides
from . import complex_onnx as forms
from .arithmetic import conj_physical


def _part_meta(input: Any) -> Spec:
    if not BY_NUMPY[input.dtype].is_complex:
        raise DtypeError("imag is not implemented for tensors with non-complex dtypes.")
    strides = tuple(2 * stride for stride in element_strides(input))
    return Spec(input.shape, BY_NUMPY[input.dtype].to_real().numpy, strides)


@primitive(
    meta=_part_meta,
    kernel=lambda xp, input: input.real if input.dtype.kind == "c" else input["real"],
    vjp={"input": lambda g: g},  # the engine makes it complex
    view=True,
    namespace=None,
    method=False,
    node_name="SelectBackward0",
    onnx={9: forms.real_part_form},
)
def real_part(input: Tensor) -> Tensor:
    """The real parts of complex numbers, as a view of their memory."""


@composite(
    method=False,
)
def real(input: Tensor) -> Tensor:
    """The real part: a view of a complex tensor, a real tensor itself."""
    return real_part(input) if BY_NUMPY[input._array.dtype].is_complex else input


def _imaginary(xp: Any, input: Any) -> Any:
    _part_meta(input)  # NumPy gives zeros for real arrays
    return input.imag if input.dtype.kind == "c" else input["imag"]


@primitive(
    meta=_part_meta,
    kernel=_imaginary,
    vjp={"input": lambda g: complex(zeros_like(g), g)},
    view=True,
    method=False,
    node_name="SelectBackward0",
    onnx={9: forms.imag_form},
)
def imag(input: Tensor) -> Tensor:
    """The imaginary part of a complex tensor, as a view of its memory."""


def _pair_meta(first: Any, second: Any) -> Spec:
    """Two real floating tensors of one type that make a complex one."""
    names = [legacy_name(each.dtype) for each in (first, second)]
    if any(name not in ("Half", "Float", "Double") for name in names):
        raise DtypeError(f"Expected both inputs to be Half, Float or Double tensors but got {names[0]} and {names[1]}")
    if first.dtype != second.dtype:
        raise DtypeError(f"Expected object of scalar type {names[0]} but got scalar type {names[1]} for second argument")
    return Spec(broadcast_shapes([first.shape, second.shape]), BY_NUMPY[first.dtype].to_complex().numpy)


def _join(xp: Any, real: Any, imag: Any) -> Any:
    spec = _pair_meta(real, imag)
    result = xp.empty(spec.shape, spec.dtype)
    if spec.dtype.kind == "V":
        result["real"], result["imag"] = real, imag
        return result
    result.real = real
    result.imag = imag
    return result


@primitive(
    meta=_pair_meta,
    kernel=_join,
    vjp={"real": lambda g: real(g), "imag": lambda g: imag(g)},
    exact=True,
    onnx={9: forms.complex_form},
)
def complex(real: Tensor, imag: Tensor) -> Tensor:
    """Complex numbers from their real and imaginary parts."""


def _from_angles(xp: Any, abs: Any, angle: Any) -> Any:
    _pair_meta(abs, angle)
    return _join(xp, abs * xp.cos(angle), abs * xp.sin(angle))


@primitive(
    meta=_pair_meta,
    kernel=_from_angles,
    vjp={
        "abs": lambda g, result: real(conj_physical(g) * result.sgn()),
        "angle": lambda g, result: real(conj_physical(g) * (result * 1j)),
    },
    onnx={9: forms.polar_form},
)
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """Complex numbers from their absolute values and angles."""


def _angle(xp: Any, input: Any) -> Any:
    if input.dtype.kind == "c":
        return xp.arctan2(input.imag, input.real)
    half_turn, none = input.dtype.type(np.pi), input.dtype.type(0)
    return xp.where(xp.isnan(input), input, xp.where(input < 0, half_turn, none))


def _angle_gradient(g: Any, input: Any) -> Any:
    if input._array.dtype.kind != "c":
        return zeros_like(g)
    square = real(input * conj_physical(input))
    return g * (input * 1j / square).masked_fill(square == 0, 0)


@primitive(
    meta=elementwise("real_float"),
    kernel=_angle,
    vjp={"input": _angle_gradient},
    in_place=False,
    onnx={9: forms.angle_form},
)
def angle(input: Tensor) -> Tensor:
    """The angle of a complex number with the positive real axis; of a real number 0 or pi."""


def _view_as_real_meta(input: Any) -> Spec:
    if not BY_NUMPY[input.dtype].is_complex:
        raise DtypeError("view_as_real is only supported for complex tensors")
    strides = (*(2 * stride for stride in element_strides(input)), 1)
    return Spec((*input.shape, 2), BY_NUMPY[input.dtype].to_real().numpy, strides)


def _view_as_real(xp: Any, input: Any) -> Any:
    spec = _view_as_real_meta(input)
    return input[..., None].view(spec.dtype)


@primitive(
    meta=_view_as_real_meta,
    kernel=_view_as_real,
    vjp={"input": lambda g: view_as_complex(g.contiguous())},
    view=True,
    method=False,
    onnx={9: forms.view_as_real_form},
)
def view_as_real(input: Tensor) -> Tensor:
    """Complex numbers as pairs of real ones in a last dimension of size 2, in the same memory."""


def _view_as_complex_meta(input: Any) -> Spec:
    name = legacy_name(input.dtype)
    if name not in ("Float", "Double", "Half"):
        raise DtypeError(f"view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: {name}")
    if not input.ndim:
        raise ShapeError("Input tensor must have one or more dimensions")
    strides = element_strides(input)
    if input.shape[-1] != 2:
        raise ShapeError("Tensor must have a last dimension of size 2")
    if strides[-1] != 1 and 0 not in input.shape:
        raise ShapeError("Tensor must have a last dimension with stride 1")
    if any(stride % 2 and size > 1 for stride, size in zip(strides[:-1], input.shape)):
        raise ShapeError("Tensor must have a stride divisible by 2 for all but last dimension")
    return Spec(input.shape[:-1], BY_NUMPY[input.dtype].to_complex().numpy, tuple(stride // 2 for stride in strides[:-1]))


def _view_as_complex(xp: Any, input: Any) -> Any:
    spec = _view_as_complex_meta(input)
    return input.view(spec.dtype)[..., 0]


@primitive(
    meta=_view_as_complex_meta,
    kernel=_view_as_complex,
    vjp={"input": lambda g: view_as_real(g.resolve_conj())},
    view=True,
    method=False,
    onnx={9: forms.view_as_complex_form},
)
def view_as_complex(input: Tensor) -> Tensor:
    """Pairs of real numbers in a last dimension of size 2 as complex ones, in the same memory."""


def _same_memory(input: Any) -> Spec:
    return Spec(input.shape, input.dtype, element_strides(input))


@primitive(
    meta=_same_memory,
    kernel=lambda xp, input: marked(input, True, False),
    vjp={"input": lambda g: conj(g)},
    view=True,
    namespace=None,
    method=False,
    node_name="ConjBackward0",
)
def conj_view(input: Tensor) -> Tensor:
    """The memory of a complex tensor, read conjugated."""


@primitive(
    meta=_same_memory,
    kernel=lambda xp, input: marked(input, False, True),
    vjp={"input": lambda g: -g},
    view=True,
    namespace=None,
    method=False,
)
def neg_view(input: Tensor) -> Tensor:
    """The memory of a tensor, read negated."""


@composite()
def conj(input: Tensor) -> Tensor:
    """The complex conjugate, as a view that shares the memory; a real tensor is returned itself.

    Captured programs compute it at once.
    """
    if not BY_NUMPY[input._array.dtype].is_complex:
        return input
    computed = (
        input._array.dtype.kind != "c" or state.capture is not None or isinstance(input._array, Spec) or input._array.__class__ in SPARSE
    )
    return conj_physical(input) if computed else conj_view(input)


@composite()
def resolve_conj(input: Tensor) -> Tensor:
    """A conjugate view's values in memory of their own; any other tensor itself."""
    return input.clone() if is_conj(input) else input


@composite()
def resolve_neg(input: Tensor) -> Tensor:
    """A negative view's values in memory of their own; any other tensor itself."""
    return input.clone() if is_neg(input) else input


@composite()
def is_conj(input: Tensor) -> bool:
    """Whether the memory is read conjugated."""
    return input._array.__class__ is LazyArray and input._array.conjugated


@composite()
def is_neg(input: Tensor) -> bool:
    """Whether the memory is read negated."""
    return input._array.__class__ is LazyArray and input._array.negated


@composite(method=False)
def is_complex(input: Tensor) -> bool:
    """Whether the elements are complex numbers."""
    return BY_NUMPY[input._array.dtype].is_complex


@composite(method=False)
def is_floating_point(input: Tensor) -> bool:
    """Whether the elements are (real) floating-point numbers."""
    return BY_NUMPY[input._array.dtype].category == FLOATING


@composite(method=False)
def is_signed(input: Tensor) -> bool:
    """Whether the type has negative numbers."""
    return BY_NUMPY[input._array.dtype].is_signed
