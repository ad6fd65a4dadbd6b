"""How samples of the gamma and Dirichlet distributions move with their concentration (implicit reparameterisation).

Of a sample x with distribution function F and density f that depend on a parameter a, the derivative is ``-(dF/da) / f``
(Figurnov, Mohamed and Mnih, 2018).  For both distributions ``dF/da`` is the integral, up to x, of the density times
``log t - E[log t]``.  That factor changes its sign once, and the whole integral is 0; so of the parts to the left and to the
right of x the one is taken in which the sign does not change, and nothing cancels.  In the variable y = log t (gamma) or
logit t (beta) the logarithm of the density is concave, which bounds the part that counts.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import primitive
from ...core.dtypes import legacy_name
from ...core.errors import DtypeError, UnsupportedDtype
from ...core.families import broadcast_shapes
from ..pointwise.binary import underivable
from ..special.kernels import digamma

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_BLOCK = 1 << 13  # elements at a time: each is integrated at a few hundred points
_SMALLEST = -45.0  # exp of this is nothing beside 1
_NODES = 24
# The integrand changes over a length of about 1 near y = 0, and near the end where the density vanishes; elsewhere slowly.
_FROM_ZERO = np.array([-40.0, -15.0, -6.0, -2.0, 2.0, 6.0, 15.0, 40.0])
_FROM_END = np.array([1.0, 3.0, 7.0, 18.0])


@functools.cache
def _gauss() -> tuple[Any, Any]:
    """Points and weights of Gauss's quadrature over 0 to 1."""
    points, weights = np.polynomial.legendre.leggauss(_NODES)
    return (points + 1) / 2, weights / 2


def _one_sided(start: Any, upward: Any, log_density: Callable[[Any], Any], factor: Callable[[Any], Any]) -> Any:
    """The integral of ``|factor| exp(log_density)`` from ``start`` up or down, where the density at the start is 1."""
    sign = np.where(upward, 1.0, -1.0)
    low, high = np.full(start.shape, -45.0), np.full(start.shape, 45.0)  # of the distance to the end, as a power of 2
    for _ in range(9):
        middle = (low + high) / 2
        inside = log_density((start + sign * np.exp2(middle))[:, None])[:, 0] > _SMALLEST
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    end = start + sign * np.exp2(high)
    edges = np.concatenate(
        [
            start[:, None],
            np.broadcast_to(_FROM_ZERO, (start.size, len(_FROM_ZERO))),
            end[:, None] - sign[:, None] * _FROM_END,
            end[:, None],
        ],
        axis=1,
    )
    edges = np.sort(np.clip(edges, np.minimum(start, end)[:, None], np.maximum(start, end)[:, None]), axis=1)
    points, weights = _gauss()
    total = np.zeros(start.shape)
    for panel in range(edges.shape[1] - 1):
        left, width = edges[:, panel, None], edges[:, panel + 1 : panel + 2] - edges[:, panel, None]
        y = left + width * points
        total += (np.abs(factor(y)) * np.exp(log_density(y))) @ weights * width[:, 0]
    return total


def _blockwise(formula: Callable[..., Any]) -> Callable[..., Any]:
    """Apply a formula of flat arrays of doubles to operands that broadcast, a block at a time."""

    @functools.wraps(formula)
    def run(*operands: Any) -> Any:
        operands = tuple(np.broadcast_arrays(*operands))
        flat = [np.ascontiguousarray(each, np.float64).reshape(-1) for each in operands]
        result = np.empty(flat[0].size)
        with np.errstate(all="ignore"):
            for start in range(0, result.size, _BLOCK):
                result[start : start + _BLOCK] = formula(*(each[start : start + _BLOCK] for each in flat))
        return result.reshape(operands[0].shape).astype(operands[0].dtype)

    return run


@_blockwise
def gamma_slope(concentration: Any, sample: Any) -> Any:
    """The derivative of a gamma number by its concentration."""
    a, x = concentration[:, None], sample[:, None]
    start, mean = np.log(sample), digamma(np, concentration)

    def log_density(y: Any) -> Any:
        return a * (y - start[:, None]) - x * np.expm1(y - start[:, None])

    found = _one_sided(start, start >= mean, log_density, lambda y: y - mean[:, None])
    return np.where(sample == 0, 0.0, np.where(concentration > 0, found * sample, np.nan))


@_blockwise
def dirichlet_slope(sample: Any, concentration: Any, total: Any) -> Any:
    """The derivative of a beta number by its first concentration, over 1 less the number; ``total`` is of both."""
    a, b = concentration[:, None], (total - concentration)[:, None]
    log_x, log_rest = np.log(sample), np.log1p(-sample)
    start, mean = log_x - log_rest, digamma(np, concentration) - digamma(np, total)

    def log_density(y: Any) -> Any:
        # log t is y - log(1 + exp(y)), log(1 - t) is -log(1 + exp(y)); each term is small where its factor may be large
        return a * (-np.logaddexp(0, -y) - log_x[:, None]) + b * (-np.logaddexp(0, y) - log_rest[:, None])

    found = _one_sided(start, log_x >= mean, log_density, lambda y: -np.logaddexp(0, -y) - mean[:, None])
    found = np.where(sample == 1, -mean / b[:, 0], found * sample)  # at 1 the limit
    return np.where(sample == 0, 0.0, np.where((concentration > 0) & (total > concentration), found, np.nan))


def _spec(name: str, *operands: Any) -> Spec:
    for operand in operands[1:]:
        if operand.dtype != operands[0].dtype:
            raise DtypeError(f"Found dtype {legacy_name(operand.dtype)} but expected {legacy_name(operands[0].dtype)}")
    if operands[0].dtype not in _FLOATS:
        raise UnsupportedDtype(f'"{name}" not implemented for {legacy_name(operands[0].dtype)!r}')
    return Spec(broadcast_shapes([each.shape for each in operands]), operands[0].dtype)


def _declared(name: str, parameters: tuple[str, ...], formula: Callable[..., Any]) -> Callable[[Any], Any]:
    def kernel(xp: Any, *operands: Any) -> Any:
        _spec(name, *operands)
        return formula(*operands)

    rules = dict.fromkeys(parameters, underivable(name))
    return primitive(
        meta=functools.partial(_spec, name),
        kernel=kernel,
        vjp=rules,
        exact=True,
        method=False,
        out=False,
    )


# PyTorch's values come from fits that are good to three or four digits: tests/test_implicit_gradients.py compares them.
@_declared("_standard_gamma_grad", ("input", "output"), gamma_slope)
def _standard_gamma_grad(input: Tensor, output: Tensor) -> Tensor:
    """The derivative of gamma numbers by their concentration: how ``_standard_gamma`` passes gradients on."""


@_declared("_dirichlet_grad", ("x", "alpha", "total"), dirichlet_slope)
def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """The derivative of Dirichlet probabilities by their concentrations, each over 1 less the probability."""
