"""Ordering: dimensions in another order, all as views."""

from __future__ import annotations

import warnings
from typing import Any

from ...core.base import Spec, make
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive
from ...core.devices import sole_accelerator
from ...core.errors import ArgumentError, OperationError, ShapeError
from ...core.families import normalize_dim
from ...core.fast_paths import gradient_array
from .memory import element_strides
from .views import alias


def _permutation(dims: Any, ndim: int) -> tuple[int, ...]:
    if len(dims) != ndim:
        raise ShapeError(
            f"permute(): number of dimensions in the tensor input does not match the length of the desired ordering of "
            f"dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(dims)}"
        )
    found = tuple(normalize_dim(dim, ndim) for dim in dims)
    if len(set(found)) != ndim:
        raise ShapeError("permute(): duplicate dims are not allowed.")
    return found


def _permute_meta(input: Any, dims: Any) -> Spec:
    order = _permutation(dims, input.ndim)
    strides = element_strides(input)
    return Spec(tuple(input.shape[i] for i in order), input.dtype, tuple(strides[i] for i in order))


def inverse_permutation(dims: Any) -> list[int]:
    """The order that undoes a permutation."""
    order = [dim % len(dims) for dim in dims]
    return [order.index(i) for i in range(len(order))]


@primitive(
    meta=_permute_meta,
    kernel=lambda xp, input, dims: input.transpose(_permutation(dims, input.ndim)),
    vjp={"input": lambda g, dims: g.permute(inverse_permutation(dims)) if dims else g},
    view=True,
    onnx={9: lambda g, input, dims: g.transpose(input, [dim % input.rank for dim in dims])},
)
def permute(input: Tensor, *dims: int) -> Tensor:
    """The dimensions in another order."""


def _transpose_meta(input: Any, dim0: int, dim1: int) -> Spec:
    a, b = normalize_dim(dim0, input.ndim), normalize_dim(dim1, input.ndim)
    order = list(range(input.ndim))
    if input.ndim:
        order[a], order[b] = order[b], order[a]
    return _permute_meta(input, order)


def _transpose_kernel(xp: Any, input: Any, dim0: int, dim1: int) -> Any:
    if not input.ndim:
        normalize_dim(dim0, 0), normalize_dim(dim1, 0)
        return input[...]
    return input.swapaxes(normalize_dim(dim0, input.ndim), normalize_dim(dim1, input.ndim))


def _transpose_gradient(g: Any, dim0: int, dim1: int) -> Any:
    array = None if sole_accelerator.array_type is None else gradient_array(g)
    return g.transpose(dim0, dim1) if array is None or not array.ndim else make(array.swapaxes(dim0, dim1))


@primitive(
    meta=_transpose_meta,
    kernel=_transpose_kernel,
    vjp={"input": _transpose_gradient},
    view=True,
    aliases=("swapdims",),
    onnx={9: lambda g, input, dim0, dim1: g.swap(input, dim0, dim1) if input.rank else input},
)
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged."""


def _t_meta(input: Any) -> Spec:
    if input.ndim > 2:
        raise ShapeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return _permute_meta(input, range(input.ndim)[::-1])


def _t_kernel(xp: Any, input: Any) -> Any:
    if input.ndim > 2:
        _t_meta(input)
    return input.T


@primitive(
    meta=_t_meta,
    kernel=_t_kernel,
    vjp={"input": lambda g: g.t()},
    view=True,
    onnx={9: lambda g, input: g.swap(input) if input.rank == 2 else input},
)
def t(input: Tensor) -> Tensor:
    """A matrix transposed; vectors and numbers pass as they are."""


@composite()
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Two dimensions exchanged."""
    return transpose(input, axis0, axis1)


def _as_dims(given: Any) -> tuple[int, ...]:
    return tuple(given) if isinstance(given, (tuple, list)) else (given,)


@composite(
    aliases=("moveaxis",),
)
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Dimensions moved to other places; the others keep their order."""
    ndim = input._array.ndim
    if isinstance(source, (tuple, list)) != isinstance(destination, (tuple, list)):
        raise ArgumentError("movedim(): source and destination must both be int or both be tuples of ints")
    olds, news = _as_dims(source), _as_dims(destination)
    if len(olds) != len(news):
        raise ShapeError(
            f"movedim: Invalid source or destination dims: source ({list(olds)} dims) should contain the same number "
            "of dims as "
            f"destination ({list(news)} dims)"
        )
    olds, news = tuple(normalize_dim(each, ndim) for each in olds), tuple(normalize_dim(each, ndim) for each in news)
    for name, dims in (("source", olds), ("destination", news)):
        if len(set(dims)) != len(dims):
            raise ShapeError(f"movedim: repeated dim in `{name}` ({list(dims)})")
    if not ndim:
        return alias(input)
    rest = iter(dim for dim in range(ndim) if dim not in olds)
    return permute(input, [olds[news.index(place)] if place in news else next(rest) for place in range(ndim)])


def _matrices(input: Any, name: str) -> bool:
    """Whether there are two dimensions to exchange; PyTorch lets 0-dim tensors pass."""
    ndim = input._array.ndim
    if ndim == 1:
        raise OperationError(f"tensor.{name} is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return bool(ndim)


def _conjugated(input: Tensor) -> Tensor:
    return input.conj() if input._array.dtype.kind == "c" else input


@composite()
def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions exchanged, of complex tensors conjugated too."""
    return _conjugated(transpose(input, -2, -1)) if _matrices(input, "adjoint()") else _conjugated(input)


@composite(namespace=None, method=False)
def numpy_T(input: Tensor) -> Tensor:
    """The dimensions in reverse order: what ``x.T`` calls."""
    if input._array.ndim != 2:
        warnings.warn(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an error in a "
            "future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to "
            "reverse the dimensions of a tensor.", UserWarning, stacklevel=4,
        )  # fmt: skip
    return permute(input, tuple(range(input._array.ndim))[::-1])


@composite(namespace=None, method=False)
def mT(input: Tensor) -> Tensor:
    """The last two dimensions exchanged: what ``x.mT`` calls."""
    return transpose(input, -2, -1) if _matrices(input, "mT") else input


@composite(namespace=None, method=False)
def mH(input: Tensor) -> Tensor:
    """The last two dimensions exchanged and conjugated: what ``x.mH`` calls."""
    return _conjugated(transpose(input, -2, -1)) if _matrices(input, "mH") else _conjugated(input)


@composite(namespace=None, method=False)
def matrix_H(input: Tensor) -> Tensor:
    """The conjugate transpose of a matrix: what ``x.H`` calls."""
    ndim = input._array.ndim
    if ndim not in (0, 2):
        hint = " For batches of matrices, consider using tensor.mH" if ndim > 2 else ""
        raise OperationError(f"tensor.H is only supported on matrices (2-D tensors). Got {ndim}-D tensor.{hint}")
    return _conjugated(transpose(input, 0, 1)) if ndim else _conjugated(input)
