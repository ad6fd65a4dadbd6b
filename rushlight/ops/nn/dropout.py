"""Dropout: elements, or whole channels, that are zeroed at random while a model trains."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ...core.base import Spec, make
from ...core.base import TensorBase as Tensor
from ...core.declare import composite
from ...core.devices import device_type_of, device_types
from ...core.dtypes import BY_NUMPY, legacy_name
from ...core.errors import DtypeError, OperationError, ShapeError, ValueRangeError
from ..create.factories import empty, zeros
from ..random.sampling import bernoulli_fill

# Where a self-normalising network's activation goes for very negative inputs; alpha dropout sets elements to it.
_SATURATION = -1.7580993408473766


def _check(p: Any, error: type[Exception]) -> None:
    if not 0 <= p <= 1:
        raise error(f"dropout probability has to be between 0 and 1, but got {p}")


def _kept(input: Any, p: float, whole_channels: bool, alpha: bool) -> Any:
    """Ones where an element (or a channel) is kept and zeros where it is dropped, in the input's type and layout."""
    array = input._array
    kind = BY_NUMPY[array.dtype]
    if not (kind.is_floating_point or kind.is_complex):
        raise DtypeError(f"result type Float can't be cast to the desired output type {legacy_name(kind)}")
    if not whole_channels:
        place = array.device if isinstance(array, Spec) else None
        stream = device_types[place.type].dropout_stream() if place is not None and place.type in device_types and not alpha else None
        return bernoulli_fill(input.detach(), 1 - p, generator=stream)
    if array.ndim < 2:
        raise ShapeError("Feature dropout requires at least 2 dimensions in the input")
    shape = (*array.shape[:2], *(1,) * (array.ndim - 2))
    return bernoulli_fill(empty(shape, dtype=kind, device=input.device), 1 - p)


def _drop(input: Any, p: float, train: bool, in_place: bool, *, whole_channels: bool = False, alpha: bool = False) -> Any:
    if p == 0 or not train or not input._array.size:
        return input
    multiply = input.mul_ if in_place else input.mul
    if p == 1:
        return multiply(zeros((), dtype=BY_NUMPY[input._array.dtype], device=input.device))
    array = input._array
    if not isinstance(array, (np.ndarray, Spec)) and not whole_channels and not alpha:
        factors = device_type_of(array).dropout_factors(array, 1 - p)
        if factors is not None:
            return multiply(make(factors))
    kept = _kept(input, p, whole_channels, alpha)
    if not alpha:
        return multiply(kept.div_(1 - p))
    # Scaled and shifted so that mean and variance stay those of the input.
    scale = 1 / math.sqrt((_SATURATION * _SATURATION * p + 1) * (1 - p))
    shift = (kept - 1).mul_(-_SATURATION * scale).add_(-_SATURATION * scale * p)
    scaled = multiply(kept.mul_(scale))
    return scaled.add_(shift) if in_place else scaled.add(shift)


def _onnx_dropout(g: Any, input: Any, p: float, train: bool) -> Any:
    """One node in training; it can't drop everything."""
    if p == 0 or not train:
        return input
    return g.Dropout(input, g.constant(p, np.float32), g.constant(True)) if p < 1 else NotImplemented


def _onnx_feature_dropout(g: Any, input: Any, p: float, train: bool) -> Any:
    """Ones for each channel, some of them dropped, as factors."""
    if p == 0 or not train:
        return input
    if p == 1 or input.rank < 2:
        return NotImplemented
    ones = g.full((*input.shape[:2], *[1] * (input.rank - 2)), 1, input.dtype)
    return g.Mul(input, _onnx_dropout(g, ones, p, True))


# -- torch.* -----------------------------------------------------------------------------------------------------


@composite(method=False, onnx={12: _onnx_dropout})
def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Elements zeroed with probability ``p``, the others scaled by ``1 / (1 - p)``."""
    _check(p, OperationError)
    return _drop(input, p, train, False)


@composite(method=False)
def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """:func:`dropout` in place."""
    _check(p, OperationError)
    return _drop(input, p, train, True)


@composite(method=False, onnx={12: _onnx_feature_dropout})
def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Channels zeroed with probability ``p``, the others scaled by ``1 / (1 - p)``."""
    _check(p, OperationError)
    return _drop(input, p, train, False, whole_channels=True)


@composite(method=False)
def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """:func:`feature_dropout` in place."""
    _check(p, OperationError)
    return _drop(input, p, train, True, whole_channels=True)


@composite(method=False)
def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Elements set to a self-normalising network's saturation with probability ``p``; mean and variance are kept."""
    _check(p, OperationError)
    return _drop(input, p, train, False, alpha=True)


@composite(method=False)
def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """:func:`alpha_dropout` in place."""
    _check(p, OperationError)
    return _drop(input, p, train, True, alpha=True)


@composite(method=False)
def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """:func:`alpha_dropout` of whole channels."""
    _check(p, OperationError)
    return _drop(input, p, train, False, alpha=True, whole_channels=True)


@composite(method=False)
def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """:func:`feature_alpha_dropout` in place."""
    _check(p, OperationError)
    return _drop(input, p, train, True, alpha=True, whole_channels=True)


# -- torch.nn.functional.* ---------------------------------------------------------------------------------------


@composite(namespace="nn.functional")
def nn_functional_dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Elements zeroed with probability ``p`` in training, the others scaled by ``1 / (1 - p)``."""
    _check(p, ValueRangeError)
    return dropout_(input, p, training) if inplace else dropout(input, p, training)


@composite(namespace="nn.functional")
def nn_functional_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout for self-normalising networks: mean and variance of the input are kept."""
    _check(p, ValueRangeError)
    return alpha_dropout_(input, p, training) if inplace else alpha_dropout(input, p, training)


@composite(namespace="nn.functional")
def nn_functional_feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout of whole channels for self-normalising networks."""
    _check(p, ValueRangeError)
    return feature_alpha_dropout_(input, p, training) if inplace else feature_alpha_dropout(input, p, training)


def _with_batch(input: Any, p: float, training: bool, inplace: bool) -> Any:
    """Feature dropout of an input without a batch dimension."""
    if inplace:
        feature_dropout_(input.unsqueeze(0), p, training)
        return input
    return feature_dropout(input.unsqueeze(0), p, training).squeeze(0)


def _warn_of_rank(name: str, ndim: int, spatial: int) -> None:
    warnings.warn(
        f"{name}: Received a {ndim}-D input to {name}, which is deprecated and will result in an error in a future "
        f"release. To retain the behavior and silence this warning, please use dropout instead: {name} is for inputs "
        f"with {spatial} spatial dimensions, a channel dimension, and an optional batch dimension.",
        stacklevel=4,
    )


@composite(
    namespace="nn.functional",
)
def nn_functional_dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels of a (batch of) signals zeroed with probability ``p`` in training."""
    _check(p, ValueRangeError)
    ndim = input._array.ndim
    if ndim not in (2, 3):
        raise ShapeError(
            f"dropout1d: Expected 2D or 3D input, but received a {ndim}D input: it drops channels of inputs with 1 "
            "spatial dimension, a channel dimension, and an optional batch dimension."
        )
    if ndim == 2:
        return _with_batch(input, p, training, inplace)
    return feature_dropout_(input, p, training) if inplace else feature_dropout(input, p, training)


@composite(namespace="nn.functional")
def nn_functional_dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels of a batch of images zeroed with probability ``p`` in training."""
    _check(p, ValueRangeError)
    ndim = input._array.ndim
    if ndim == 3:
        warnings.warn(
            "dropout2d: Received a 3D input and assuming that channel-wise 1D dropout is wanted: it is taken as of "
            "shape (N, C, L). A future release will take it as one without a batch dimension, of shape (C, H, W). "
            "Please switch to dropout1d.",
            stacklevel=3,
        )
    elif ndim != 4:
        _warn_of_rank("dropout2d", ndim, 2)
    return feature_dropout_(input, p, training) if inplace else feature_dropout(input, p, training)


@composite(namespace="nn.functional")
def nn_functional_dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels of a (batch of) volumes zeroed with probability ``p`` in training."""
    _check(p, ValueRangeError)
    ndim = input._array.ndim
    if ndim not in (4, 5):
        _warn_of_rank("dropout3d", ndim, 3)
    if ndim != 5:
        return _with_batch(input, p, training, inplace)
    return feature_dropout_(input, p, training) if inplace else feature_dropout(input, p, training)
