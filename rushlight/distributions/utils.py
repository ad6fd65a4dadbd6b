"""Parts that several families share: broadcasting of parameters, probabilities and logits, attributes made on first use."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import rushlight
from rushlight import Tensor

from ..core.size import Size
from ..core.state import state

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060
_Number = (int, float, bool)
Instance = TypeVar("Instance")
Value = TypeVar("Value")


def is_tensor_like(value: Any) -> bool:
    """Whether a value is a tensor, or an object that takes part in calls of ops by ``__torch_function__``."""
    return isinstance(value, Tensor) or hasattr(type(value), "__torch_function__")


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """The values as tensors of one shape.  Numbers take the dtype and the device of the first tensor, or the default ones.

    >>> [each.tolist() for each in broadcast_all(1, rushlight.tensor([2.0, 3.0]))]
    [[1.0, 1.0], [2.0, 3.0]]
    """
    if not all(is_tensor_like(value) or isinstance(value, _Number) for value in values):
        raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__.")
    if not all(is_tensor_like(value) for value in values):
        first = next((value for value in values if isinstance(value, Tensor)), None)
        like: dict[str, Any] = {"dtype": rushlight.get_default_dtype()} if first is None else {"dtype": first.dtype, "device": first.device}
        values = tuple(value if is_tensor_like(value) else rushlight.tensor(value, **like) for value in values)
    return tuple(rushlight.broadcast_tensors(*values))


def _standard_normal(shape: Sequence[int], dtype: Any, device: Any) -> Tensor:
    if state.capture is not None:  # a graph has no memory to fill
        return rushlight.normal(rushlight.zeros(shape, dtype=dtype, device=device), rushlight.ones(shape, dtype=dtype, device=device))
    return rushlight.empty(shape, dtype=dtype, device=device).normal_()


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sums over the last ``dim`` dimensions together."""
    if dim == 0:
        return value
    return value.reshape(value.shape[:-dim] + (-1,)).sum(-1)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities for log-odds (``is_binary``), or for the logarithms of probabilities up to a constant."""
    return rushlight.sigmoid(logits) if is_binary else rushlight.softmax(logits, dim=-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities kept away from 0 and 1 by the precision of their dtype."""
    eps = rushlight.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log-odds of probabilities (``is_binary``), or their logarithms.  Those of 0 and 1 are finite."""
    clamped = clamp_probs(probs)
    return rushlight.log(clamped) - rushlight.log1p(-clamped) if is_binary else rushlight.log(clamped)


class lazy_property(Generic[Instance, Value]):
    """An attribute that is computed when it is first read, with gradients recorded, and then kept in the instance."""

    def __init__(self, wrapped: Callable[[Instance], Value]) -> None:
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, obj_type: Any = None) -> Any:
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with rushlight.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property[Instance, Value], property):  # type: ignore[misc]
    """What the class answers for a lazy attribute: a property for those who look for documentation, and still a lazy one."""

    def __init__(self, wrapped: Callable[[Instance], Value]) -> None:
        property.__init__(self, wrapped)


def _triangle(size: int, diag: int, like: Tensor) -> Tensor:
    """Where a square matrix has elements of its lower triangle, up to the diagonal ``diag``."""
    steps = rushlight.arange(size, device=like.device)
    return steps < steps.view(size, 1) + (diag + 1)


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Lower triangular matrices whose elements, row by row, are the last dimension of ``vec``.

    >>> vec_to_tril_matrix(rushlight.tensor([1.0, 2.0, 3.0])).tolist()
    [[1.0, 0.0], [2.0, 3.0]]
    """
    count, shift = vec.shape[-1], 1 + 2 * diag
    size = (-shift + math.sqrt(shift**2 + 8 * count + 4 * abs(diag) * (diag + 1))) / 2
    if state.capture is None and round(size) - size > rushlight.finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as the lower triangular part of a square D x D matrix."
        )
    whole = round(size) if isinstance(size, float) else size
    matrix = vec.new_zeros(vec.shape[:-1] + (whole, whole))
    matrix[..., _triangle(whole, diag, vec)] = vec
    return matrix


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements of lower triangles, row by row, as the last dimension.

    >>> tril_matrix_to_vec(rushlight.tensor([[1.0, 0.0], [2.0, 3.0]])).tolist()
    [1.0, 2.0, 3.0]
    """
    size = mat.shape[-1]
    if state.capture is None and not -size <= diag < size:
        raise ValueError(f"diag ({diag}) provided is outside [{-size}, {size - 1}].")
    return mat[..., _triangle(size, diag, mat)]


class ProbsOrLogits:
    """What distributions of ``probs`` or ``logits`` share: one of both is the parameter, the other is computed from it."""

    _param: Tensor

    @staticmethod
    def _require_one(probs: Any, logits: Any) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """This distribution with its batch dimensions expanded to a shape, without a copy."""
        new = super().expand(batch_shape, _instance)  # type: ignore[misc]  # a distribution comes after this class
        new._param = new.__dict__["probs" if "probs" in self.__dict__ else "logits"]
        return new

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.size()


class OddsParameters(ProbsOrLogits):
    """Probabilities or log-odds of trials with two outcomes."""

    def _set_parameter(self, probs: Any, logits: Any, *others: Any) -> tuple[Tensor, ...]:
        """Keep the parameter that is given; returns other parameters, broadcast together with it."""
        self._require_one(probs, logits)
        *broadcast, self._param = broadcast_all(*others, logits if probs is None else probs)
        setattr(self, "logits" if probs is None else "probs", self._param)
        return tuple(broadcast)

    def _batch_shape_of(self, probs: Any, logits: Any) -> Size:
        return Size() if isinstance(logits if probs is None else probs, _Number) else self._param.size()

    @lazy_property
    def logits(self) -> Tensor:
        """Log-odds of success."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities of success."""
        return logits_to_probs(self.logits, is_binary=True)
