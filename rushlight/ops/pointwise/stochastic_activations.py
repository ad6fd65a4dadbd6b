"""Activations that draw random numbers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive, table
from ...core.dtypes import bfloat16, legacy_name
from ...core.errors import NotSupported, OperationError
from ..random.sampling import exponential_fill, stream_of
from .activations import leaky_relu_plain

# -- a rectifier of random slope ---------------------------------------------------------------------------------


def _slopes_meta(input: Any, lower: float, upper: float, generator: Any) -> Spec:
    if input.dtype not in (np.float32, np.float64, bfloat16.numpy):
        raise NotSupported(f"\"rrelu_with_noise_out_cpu\" not implemented for '{legacy_name(input.dtype)}'")
    return Spec(input.shape, input.dtype)


def _slopes_kernel(xp: Any, input: Any, lower: float, upper: float, generator: Any) -> Any:
    _slopes_meta(input, lower, upper, generator)
    slopes = xp.ones(input.shape, input.dtype)
    below = input <= 0  # only these take a number, in the order of the elements
    slopes[below] = stream_of(generator, xp).uniform(int(below.sum()), np.float64, lower, upper)
    return slopes


def _slopes_onnx(g: Any, input: Any, lower: float, upper: float, generator: Any) -> Any:
    slopes = g.RandomUniformLike(input, low=float(lower), high=float(upper))
    return g.where(g.Greater(input, 0.0), g.constant(1, input.dtype), slopes)


@primitive(
    meta=_slopes_meta,
    kernel=_slopes_kernel,
    vjp={},
    exact=True,
    namespace=None,
    method=False,
    out=False,
    onnx={9: _slopes_onnx},
)
def rrelu_slopes(input: Tensor, lower: float, upper: float, generator: Any = None) -> Tensor:
    """Uniform numbers between two bounds where the input is 0 or less, elsewhere 1."""


def _rrelu(input: Any, lower: float, upper: float, training: bool, generator: Any, in_place: bool) -> Any:
    if lower > upper:
        raise OperationError("Lower bound should be less than or equal to the upper bound")
    if not training:
        slope = (lower + upper) / 2
        return table["leaky_relu_"].call(input, slope) if in_place else leaky_relu_plain(input, slope)
    slopes = rrelu_slopes(input.detach(), lower, upper, generator)
    return input.mul_(slopes) if in_place else input * slopes


@composite(method=False)
def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, generator: Any = None) -> Tensor:
    """The input where it is positive; elsewhere a fraction of it, random in training and else the mean of the bounds."""
    return _rrelu(input, lower, upper, training, generator, False)


@composite(method=False, also=("nn.functional.rrelu_",))
def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, generator: Any = None) -> Tensor:
    """:func:`rrelu` in place."""
    return _rrelu(input, lower, upper, training, generator, True)


@composite(namespace="nn.functional", name="nn_functional_rrelu")
def functional_rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """The input where it is positive; elsewhere a fraction of it, random in training and else the mean of the bounds."""
    return _rrelu(input, lower, upper, training, None, inplace)


# -- samples of categories ---------------------------------------------------------------------------------------


@composite(namespace="nn.functional", name="gumbel_softmax", random=True)
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A random sample of categories whose gradient is that of ``softmax``; with ``hard=True`` exactly one of them is 1."""
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=3)
    noise = -exponential_fill(logits.detach().contiguous()).log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    chosen = table["zeros_like"].call(soft.detach()).scatter_(dim, soft.detach().argmax(dim, True), 1.0)
    return chosen - soft.detach() + soft
