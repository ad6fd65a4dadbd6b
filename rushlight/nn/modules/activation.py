"""Activations."""

from __future__ import annotations

import warnings
from typing import Any

from .. import functional as F
from .. import init
from .module import Module
from .multihead_attention import MultiheadAttention
from .utils import new_parameter


def _flag(inplace: bool) -> str:
    """How layers show that they overwrite their input, after other things."""
    return ", inplace=True" if inplace else ""


class _InPlace(Module):
    """An activation whose one option is to overwrite its input."""

    __constants__ = ["inplace"]
    inplace: bool

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        """Whether the input is overwritten."""
        return "inplace=True" if self.inplace else ""


class Threshold(Module):
    """The input where it is above a threshold, a value elsewhere."""

    __constants__ = ["threshold", "value", "inplace"]

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        """The activation."""
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        """Threshold and value."""
        return f"threshold={self.threshold}, value={self.value}{_flag(self.inplace)}"


class RReLU(Module):
    """A rectifier whose slope below 0 is random in training, and the mean of its bounds otherwise."""

    __constants__ = ["lower", "upper", "inplace"]

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        """The activation."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        """The bounds of the slope."""
        return f"lower={self.lower}, upper={self.upper}{_flag(self.inplace)}"


class Hardtanh(Module):
    """The input held between two bounds."""

    __constants__ = ["min_val", "max_val", "inplace"]

    def __init__(
        self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False, min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        for old, value in (("min", min_value), ("max", max_value)):
            if value is not None:
                message = f"keyword argument `{old}_value` is deprecated and renamed to `{old}_val`"
                warnings.warn(message, FutureWarning, stacklevel=2)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input: Any) -> Any:
        """The activation."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        """The bounds."""
        return f"min_val={self.min_val}, max_val={self.max_val}{_flag(self.inplace)}"


class ReLU6(Hardtanh):
    """``min(max(x, 0), 6)``."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """Whether the input is overwritten."""
        return "inplace=True" if self.inplace else ""


class ReLU(_InPlace):
    """``max(x, 0)``."""

    def forward(self, input: Any) -> Any:
        """The activation."""
        return F.relu(input, self.inplace)


class SiLU(_InPlace):
    """``x * sigmoid(x)``."""

    def forward(self, input: Any) -> Any:
        """The activation."""
        return F.silu(input, self.inplace)


class Mish(_InPlace):
    """``x * tanh(softplus(x))``."""

    def forward(self, input: Any) -> Any:
        """The activation."""
        return F.mish(input, self.inplace)


class SELU(_InPlace):
    """The self-normalising exponential linear unit."""

    def forward(self, input: Any) -> Any:
        """The activation."""
        return F.selu(input, self.inplace)


class Hardsigmoid(_InPlace):
    """A sigmoid of three straight pieces."""

    def forward(self, input: Any) -> Any:
        """The activation."""
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        """Nothing, as in PyTorch."""
        return ""


class Hardswish(_InPlace):
    """``x * hardsigmoid(x)``."""

    def forward(self, input: Any) -> Any:
        """The activation."""
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        """Nothing, as in PyTorch."""
        return ""


class Sigmoid(Module):
    """``1 / (1 + exp(-x))``."""

    def forward(self, input: Any) -> Any:
        """The activation."""
        return F.sigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input: Any) -> Any:
        """The activation."""
        return F.tanh(input)


class LogSigmoid(Module):
    """The logarithm of the sigmoid."""

    def forward(self, input: Any) -> Any:
        """The activation."""
        return F.logsigmoid(input)


class Softsign(Module):
    """``x / (1 + |x|)``."""

    def forward(self, input: Any) -> Any:
        """The activation."""
        return F.softsign(input)


class Tanhshrink(Module):
    """``x - tanh(x)``."""

    def forward(self, input: Any) -> Any:
        """The activation."""
        return F.tanhshrink(input)


class ELU(Module):
    """``x`` above 0, ``alpha * (exp(x) - 1)`` below."""

    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        """The activation."""
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """``alpha``."""
        return f"alpha={self.alpha}{_flag(self.inplace)}"


class CELU(Module):
    """``x`` above 0, ``alpha * (exp(x / alpha) - 1)`` below."""

    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        """The activation."""
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """``alpha``."""
        return f"alpha={self.alpha}{_flag(self.inplace)}"


class LeakyReLU(Module):
    """``x`` above 0, a fraction of it below."""

    __constants__ = ["inplace", "negative_slope"]

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        """The activation."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        """The slope."""
        return f"negative_slope={self.negative_slope}{_flag(self.inplace)}"


class GLU(Module):
    """The first half of a dimension times the sigmoid of the second."""

    __constants__ = ["dim"]

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Any) -> Any:
        """The activation."""
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        """The dimension."""
        return f"dim={self.dim}"


class GELU(Module):
    """``x`` times the probability that a normal number is below it."""

    __constants__ = ["approximate"]

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Any) -> Any:
        """The activation."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """The form."""
        return f"approximate={self.approximate!r}"


class Hardshrink(Module):
    """The input, but 0 within ``lambd`` of 0."""

    __constants__ = ["lambd"]

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Any) -> Any:
        """The activation."""
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """``lambd``."""
        return f"{self.lambd}"


class Softshrink(Module):
    """The input moved by ``lambd`` towards 0, and 0 within that."""

    __constants__ = ["lambd"]

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Any) -> Any:
        """The activation."""
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """``lambd``."""
        return f"{self.lambd}"


class Softplus(Module):
    """``log(1 + exp(beta * x)) / beta``, and ``x`` itself above a threshold."""

    __constants__ = ["beta", "threshold"]

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Any) -> Any:
        """The activation."""
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """``beta`` and the threshold."""
        return f"beta={self.beta}, threshold={self.threshold}"


class PReLU(Module):
    """``x`` above 0, a learned fraction of it below: one for all, or one for each channel."""

    __constants__ = ["num_parameters"]
    weight: Any

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = new_parameter((num_parameters,), device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start with the initial slope."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Any) -> Any:
        """The activation."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """The number of slopes."""
        return f"num_parameters={self.num_parameters}"


class _AlongDim(Module):
    """An activation over one dimension."""

    __constants__ = ["dim"]
    dim: int | None

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("dim", None)

    def extra_repr(self) -> str:
        """The dimension."""
        return f"dim={self.dim}"


class Softmin(_AlongDim):
    """``softmax(-x)``."""

    def forward(self, input: Any) -> Any:
        """The activation."""
        return F.softmin(input, self.dim, _stacklevel=5)


class Softmax(_AlongDim):
    """``exp(x)``, scaled to a sum of 1 along a dimension."""

    def forward(self, input: Any) -> Any:
        """The activation."""
        return F.softmax(input, self.dim, _stacklevel=5)


class LogSoftmax(_AlongDim):
    """The logarithm of ``softmax``."""

    def forward(self, input: Any) -> Any:
        """The activation."""
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """``softmax`` over the channels of images."""

    def forward(self, input: Any) -> Any:
        """The activation."""
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)


__all__ = [
    "CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU", "LogSigmoid", "LogSoftmax",
    "Mish", "MultiheadAttention", "PReLU", "RReLU", "ReLU", "ReLU6", "SELU", "SiLU", "Sigmoid", "Softmax", "Softmax2d", "Softmin",
    "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold",
]  # fmt: skip
