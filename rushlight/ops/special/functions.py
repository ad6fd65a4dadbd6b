"""Special functions: the error function, the gamma function, and what belongs to them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.base import TensorBase as Tensor
from ...core.declare import composite, methods, primitive, table
from ...core.errors import ArgumentError, NotSupported, OperationError
from ...core.families import elementwise
from ...core.recording import recomputed
from ..pointwise.arithmetic import sub
from ..pointwise.binary import as_tensor
from ..pointwise.unary import exp, log, log1p, sgn
from ..pointwise.where_clamp import where
from . import bessel_kernels as bessel
from . import kernels as numerics

Number = int | float | complex | bool

# -- the error function ------------------------------------------------------------------------------------------


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=numerics.erf,
    vjp={"input": lambda g, input: g * (2 / math.sqrt(math.pi) * exp(-input * input))},
    onnx={9: lambda g, input: g.Erf(input)},
)
def erf(input: Tensor) -> Tensor:
    """The error function of every element."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=numerics.erfc,
    vjp={"input": lambda g, input: g * (-2 / math.sqrt(math.pi) * exp(-input * input))},
)
def erfc(input: Tensor) -> Tensor:
    """``1 - erf(input)``, exact where ``erf`` is near 1."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=numerics.erfcx,
    vjp={"input": lambda g, input, result: g * (2 * input * result - 2 / math.sqrt(math.pi))},
    in_place=False,
)
def special_erfcx(input: Tensor) -> Tensor:
    """``exp(input ** 2) * erfc(input)``."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=numerics.erfinv,
    vjp={"input": lambda g, input, result: g * (0.5 * math.sqrt(math.pi) * exp(result * result))},
)
def erfinv(input: Tensor) -> Tensor:
    """The number whose error function each element is."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=lambda xp, input: 0.5 * numerics.erfc(xp, input * -math.sqrt(0.5)),
    vjp={"input": lambda g, input: g * (exp(-0.5 * (input * input)) / math.sqrt(2 * math.pi))},
    in_place=False,
)
def special_ndtr(input: Tensor) -> Tensor:
    """The area under the normal distribution to the left of each element."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=numerics.ndtri,
    vjp={"input": lambda g, result: g * (math.sqrt(2 * math.pi) * exp(0.5 * (result * result)))},
    in_place=False,
)
def special_ndtri(input: Tensor) -> Tensor:
    """Where the area under the normal distribution to the left is each element."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=numerics.log_ndtr,
    vjp={"input": lambda g, input: g * (math.sqrt(2 / math.pi) / special_erfcx(input * -math.sqrt(0.5)))},
    in_place=False,
)
def special_log_ndtr(input: Tensor) -> Tensor:
    """The logarithm of the area under the normal distribution to the left of each element."""


def _entropy(xp: Any, input: Any) -> Any:
    return xp.where(input > 0, -input * xp.log(input), xp.where(input == 0, input * 0, xp.where(input < 0, -np.inf, input)))


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=_entropy,
    vjp={"input": lambda g, input: g * (-1 - log(input))},
    in_place=False,
)
def special_entr(input: Tensor) -> Tensor:
    """``-input * log(input)``; 0 for 0 and -inf for what is negative."""


# -- the gamma function ------------------------------------------------------------------------------------------


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=numerics.lgamma,
    vjp={"input": lambda g, input: g * digamma(input)},
)
def lgamma(input: Tensor) -> Tensor:
    """The logarithm of the size of the gamma function of each element."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"), kernel=numerics.digamma, vjp={"input": lambda g, input: g * polygamma(1, input)}
)
def digamma(input: Tensor) -> Tensor:
    """The derivative of the logarithm of the gamma function."""


def _polygamma(xp: Any, n: int, input: Any) -> Any:
    if isinstance(n, bool) or not hasattr(n, "__index__") or (isinstance(n, Tensor) and (n.ndim or n.is_floating_point())):
        raise ArgumentError(f"polygamma(): argument 'n' (position 1) must be int, not {type(n).__name__}")
    n = n.__index__()
    if n < 0:
        raise OperationError("polygamma(n, x) does not support negative n.")
    return numerics.polygamma(xp, n, input)


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=_polygamma,
    vjp={"input": lambda g, n, input: g * polygamma(n + 1, input)},
    in_place=False,
)
def polygamma(n: int, input: Tensor) -> Tensor:
    """The ``n``-th derivative of :func:`digamma`."""


@composite(namespace=None, method=("polygamma",), in_place=True)
def polygamma_method(input: Tensor, n: int) -> Tensor:
    """The ``n``-th derivative of :func:`digamma`."""
    return polygamma(n, input)


methods["polygamma_"] = table["polygamma_method_"].call


@composite(in_place=True, out=True)
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension ``p``."""
    if p < 1:
        raise OperationError("p has to be greater than or equal to 1")
    result = lgamma(input)
    for j in range(1, p):
        result = result + lgamma(sub(input, 0.5 * j))
    return result + 0.25 * p * (p - 1) * math.log(math.pi)


def _not_derivable(name: str) -> Any:
    def rule(g: Any) -> Any:
        raise NotSupported(f"the derivative for '{name}' is not implemented.")

    return rule


def _density(input: Any, other: Any) -> Any:
    return exp((input - 1) * log(other) - other - lgamma(input))


@primitive(
    meta=elementwise(refuse="bool int complex"),
    kernel=numerics.igamma,
    vjp={"input": _not_derivable("igamma: input"), "other": lambda g, input, other: g * _density(input, other)},
    onnx="its series ends where the values say so",
)
def igamma(input: Tensor, other: Tensor) -> Tensor:
    """The regularised lower incomplete gamma function ``P(input, other)``."""


@primitive(
    meta=elementwise(refuse="bool int complex"),
    kernel=numerics.igammac,
    vjp={"input": _not_derivable("igammac: input"), "other": lambda g, input, other: -g * _density(input, other)},
    onnx="its series ends where the values say so",
)
def igammac(input: Tensor, other: Tensor) -> Tensor:
    """The regularised upper incomplete gamma function ``Q(input, other)``."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=numerics.zeta,
    vjp={
        "input": _not_derivable("zeta"),
        "other": lambda g, input, other: g * (-input * special_zeta(input + 1, other)),
    },
    in_place=False,
)
def special_zeta(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Hurwitz' zeta function: the sum of ``(other + k) ** -input`` over all whole numbers k from 0."""


def _xlog1py(xp: Any, input: Any, other: Any) -> Any:
    return xp.where(xp.isnan(other), other, xp.where(input == 0, input * 0, input * xp.log1p(other)))


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=_xlog1py,
    vjp={
        "input": lambda g, input, other: (
            g * log1p(as_tensor(other, g)).masked_fill((as_tensor(input, g) == 0) & (as_tensor(other, g) <= -1), 0)
        ),
        "other": lambda g, input, other: g * (input / (other + 1)),
    },
    in_place=False,
    node_name="SpecialXlog1PyBackward0",
)
def special_xlog1py(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """``input * log1p(other)``, and 0 where ``input`` is 0."""


# -- modified Bessel functions of the first kind -----------------------------------------------------------------


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=bessel.i0,
    vjp={"input": lambda g, input: g * special_i1(input)},
)
def i0(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=bessel.i0e,
    vjp={"input": lambda g, input, result: g * (special_i1e(input) - sgn(input) * result)},
    in_place=False,
    node_name="SpecialI0EBackward0",
)
def special_i0e(input: Tensor) -> Tensor:
    """``exp(-|input|) * i0(input)``."""


def _i1_gradient(g: Any, input: Any, result: Any) -> Any:
    zero = input == 0
    safe = where(zero, 1, input)
    return g * where(zero, 0.5, i0(safe) - result / safe)


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=bessel.i1,
    vjp={"input": _i1_gradient},
    in_place=False,
)
def special_i1(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind of order 1."""


def _i1e_gradient(g: Any, input: Any, result: Any) -> Any:
    zero = input == 0
    safe = where(zero, 1, input)
    return g * where(zero, 0.5, special_i0e(safe) - result * (sgn(safe) + 1 / safe))


@primitive(
    meta=elementwise("int_to_float", refuse="complex"),
    kernel=bessel.i1e,
    vjp={"input": _i1e_gradient},
    in_place=False,
    node_name="SpecialI1EBackward0",
)
def special_i1e(input: Tensor) -> Tensor:
    """``exp(-|input|) * i1(input)``."""


# PyTorch keeps no result of these: programs write to them in place.
recomputed.set(True, "erfinv", "special_erfcx")
