"""Initial values of parameters, drawn in the same order from the same random stream as PyTorch's.

>>> import rushlight as torch
>>> torch.nn.init.constant_(torch.empty(2), 0.5)
tensor([0.5000, 0.5000])
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from ..autograd import no_grad
from ..core.declare import table
from ..core.overrides import overridable

_UNIT_GAIN = {
    "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid",
}  # fmt: skip


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """The factor by which the standard deviation of weights is scaled for what follows them."""
    if nonlinearity in _UNIT_GAIN:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if param is None:
            param = 0.01
        elif isinstance(param, bool) or not isinstance(param, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + param**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


# -- plain distributions -----------------------------------------------------------------------------------------


@overridable
def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Any:
    """Fill with uniform numbers in [a, b)."""
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


@overridable
def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    """Fill with normal numbers."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None) -> Any:
    """Fill with normal numbers, of which only those in [a, b] are taken."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect.", stacklevel=2
        )
    likely = _normal_probability((b - mean) / std) - _normal_probability((a - mean) / std) > 0.3
    nearest = (min(max(mean, a), b) - mean) / std

    def draw() -> tuple[Any, Any]:
        """Candidates for all elements, and which of them are taken."""
        if likely:
            found = tensor.detach().clone().normal_(mean, std, generator=generator)
            return found, (found >= a) & (found <= b)
        found = tensor.detach().clone().uniform_(a, b, generator=generator)
        chance = (0.5 * (nearest**2 - ((found - mean) / std) ** 2)).exp()
        return found, tensor.detach().clone().uniform_(0, 1, generator=generator) <= chance

    with no_grad():
        found, taken = draw()
        while not tensor.is_meta and not taken.all():
            more, fits = draw()
            found, taken = table["where"].call(taken, found, more), taken | fits
        return tensor.copy_(found)


def _normal_probability(x: float) -> float:
    """How likely a normal number is below ``x``."""
    return 0.5 * (1 + math.erf(x / math.sqrt(2.0)))


@overridable
def constant_(tensor: Any, val: float) -> Any:
    """Fill with one value."""
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Any) -> Any:
    """Fill with ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Any) -> Any:
    """Fill with zeros."""
    with no_grad():
        return tensor.zero_()


def eye_(tensor: Any) -> Any:
    """Make a matrix the identity, or as much of it as there is."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        tensor.zero_().diagonal().fill_(1)
    return tensor


def dirac_(tensor: Any, groups: int = 1) -> Any:
    """Make the weight of a convolution one that passes its input through, in each group as many channels as it can."""
    dimensions = tensor.ndimension()
    if dimensions not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tensor.size()
    if sizes[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    in_each = sizes[0] // groups
    centre = tuple(size // 2 for size in sizes[2:])
    with no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(in_each, sizes[1])):
                tensor[(group * in_each + channel, channel, *centre)] = 1
    return tensor


# -- by the number of connections --------------------------------------------------------------------------------


def _calculate_fan_in_and_fan_out(tensor: Any) -> tuple[int, int]:
    """How many values go into one output, and how many outputs one input goes to."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _calculate_correct_fan(tensor: Any, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Uniform numbers that keep the variance of values forward and of gradients backward (Glorot and Bengio)."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = math.sqrt(3.0) * (gain * math.sqrt(2.0 / float(fan_in + fan_out)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Normal numbers that keep the variance of values forward and of gradients backward (Glorot and Bengio)."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


def _has_elements(tensor: Any) -> bool:
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return False
    return True


@overridable
def kaiming_uniform_(tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None) -> Any:
    """Uniform numbers that keep the variance through rectifiers (He and others)."""
    if not _has_elements(tensor):
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None) -> Any:
    """Normal numbers that keep the variance through rectifiers (He and others)."""
    if not _has_elements(tensor):
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return normal_(tensor, 0, std, generator)


# -- matrices of a kind ------------------------------------------------------------------------------------------


def orthogonal_(tensor: Any, gain: float = 1, generator: Any = None) -> Any:
    """An orthogonal matrix (or part of one); further dimensions count as columns."""
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    with no_grad():
        random = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
        q, r = table["linalg_qr"].call(random.t() if rows < columns else random)
        q *= r.diagonal().sign()  # of all decompositions the one that is uniform over orthogonal matrices
        tensor.view_as(q.t() if rows < columns else q).copy_(q.t() if rows < columns else q)
        return tensor.mul_(gain)


def sparse_(tensor: Any, sparsity: float, std: float = 0.01, generator: Any = None) -> Any:
    """Normal numbers, of which a share in each column is zero."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[table["randperm"].call(rows)[:zeros], column] = 0
    return tensor


def _no_grad_uniform_(tensor: Any, a: float, b: float, generator: Any = None) -> Any:
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def _no_grad_normal_(tensor: Any, mean: float, std: float, generator: Any = None) -> Any:
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def _no_grad_fill_(tensor: Any, val: float) -> Any:
    with no_grad():
        return tensor.fill_(val)


def _no_grad_zero_(tensor: Any) -> Any:
    return _no_grad_fill_(tensor, 0)


def _no_grad_trunc_normal_(tensor: Any, mean: float, std: float, a: float, b: float, generator: Any = None) -> Any:
    return trunc_normal_(tensor, mean, std, a, b, generator)


# -- old names ---------------------------------------------------------------------------------------------------


def _deprecated(function: Callable[..., Any]) -> Callable[..., Any]:
    """The name without the underscore, which PyTorch keeps with a warning."""
    new_name = function.__name__
    old_name = new_name[:-1]

    def old(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(f"`nn.init.{old_name}` is now deprecated in favor of `nn.init.{new_name}`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    old.__name__ = old.__qualname__ = old_name
    old.__doc__ = f"The old name of ``{new_name}``."
    return old


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)

__all__ = [
    "calculate_gain", "constant", "constant_", "dirac", "dirac_", "eye", "eye_", "kaiming_normal", "kaiming_normal_",
    "kaiming_uniform", "kaiming_uniform_", "normal", "normal_", "ones_", "orthogonal", "orthogonal_", "sparse", "sparse_",
    "trunc_normal_", "uniform", "uniform_", "xavier_normal", "xavier_normal_", "xavier_uniform", "xavier_uniform_", "zeros_",
]  # fmt: skip
