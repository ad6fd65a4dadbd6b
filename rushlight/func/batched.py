"""Batched tensors: what a function sees under ``vmap`` in the place of a tensor with a batch of examples.

A batched tensor has the shape of one example.  Behind it stands an ordinary tensor, its ``_value``, with one dimension in
front for each level of ``vmap`` that it is batched at, the outermost first.  Gradients are recorded on the values alone,
so that differentiation knows nothing of batches.
"""

from __future__ import annotations

from typing import Any

from ..core.base import Spec, TensorBase, contiguous_strides
from ..core.devices import device_of
from ..core.errors import GradientError, NotSupported, OperationError
from ..core.overrides import disabled
from ..ops.shape.memory import element_strides, lies_as
from ..ops.shape.permute import permute
from ..ops.shape.views import expand, unsqueeze, view_shape
from ..tensor import Tensor

_new = object.__new__
_NO_DATA = "Cannot access data pointer of Tensor that doesn't have storage: it is being vmapped over"
_NO_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, please "
    "try to rewrite what you're doing with other operations."
)
_NO_BRANCH = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that: "
    "every example of the batch would take its own way. Use torch.where or the like."
)


class _Layout:
    """The flags of an array that does not exist: those of one example."""

    __slots__ = ("c_contiguous", "f_contiguous", "forc", "writeable")

    def __init__(self, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
        self.c_contiguous = lies_as(shape, strides, contiguous_strides(shape))
        self.f_contiguous = lies_as(shape[::-1], strides[::-1], contiguous_strides(shape[::-1]))
        self.forc = self.c_contiguous or self.f_contiguous
        self.writeable = True


class PerExample(Spec):
    """Stands where other tensors have their array: shape, type and strides of one example."""

    __slots__ = ()
    outside = (
        "a tensor that was batched by vmap is used where that vmap is not running: either it may have escaped from inside a "
        "function being vmapped, which is an error in the program, or it was given to code that bypasses the op table"
    )

    @property
    def flags(self) -> _Layout:
        return _Layout(self.shape, self.element_strides)


class BatchedTensor(Tensor):
    """A tensor that is one example to the program and a whole batch to the machine."""

    __slots__ = ("_levels", "_value")
    __torch_function__ = disabled

    _levels: tuple[Any, ...]
    _value: Any

    @property
    def device(self) -> Any:
        """Where the elements are."""
        return self._value.device

    @property
    def is_meta(self) -> bool:
        """Whether it has a shape and a type but no data."""
        return bool(self._value.is_meta)

    @property
    def is_cpu(self) -> bool:
        """Whether the elements are in the memory of the CPU."""
        return bool(self._value.is_cpu)

    @property
    def data(self) -> Any:
        """Raise: under vmap, detach() is the way."""
        raise OperationError("accessing `data` under vmap transform is not allowed")

    @data.setter
    def data(self, value: Any) -> None:
        raise OperationError("mutating directly with `.data` under vmap transform is not allowed.")

    def backward(self, *args: Any, **kwargs: Any) -> None:
        """Raise: ``func.grad`` and ``func.vjp`` work inside of transforms."""
        raise GradientError(
            "backward() called inside a function transformed by vmap. This is not supported, please use torch.func.grad or "
            "torch.func.vjp instead or call backward() outside of the transform."
        )

    def _item(self, how: str) -> Any:
        """Raise: there is a number for every example."""
        raise OperationError(_NO_ITEM)

    def tolist(self) -> Any:
        """Raise: there are numbers for every example."""
        raise OperationError(_NO_DATA)

    def numpy(self, *, force: bool = False) -> Any:
        """Raise: there is an array for every example."""
        raise OperationError(_NO_DATA)

    def data_ptr(self) -> int:
        """Raise: it has no memory of its own."""
        raise OperationError(_NO_DATA)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise OperationError(_NO_DATA)

    def __bool__(self) -> bool:
        raise OperationError(_NO_BRANCH)

    def __index__(self) -> int:
        raise OperationError(_NO_ITEM)

    def __copy__(self) -> Any:
        return over(self._value, self._levels)

    def __deepcopy__(self, memo: Any) -> Any:
        raise NotSupported("Cannot access storage of a tensor that is being vmapped over: use clone()")

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        inner = "\n".join("    " + line for line in repr(self._value).split("\n"))
        return f"BatchedTensor(lvl={self._levels[-1].depth}, bdim=0, value=\n{inner}\n)"


def wrap(value: Any, level: Any) -> Any:
    """A tensor whose first dimension is the batch of a level, as one example of it."""
    levels = (level,)
    if value.__class__ is BatchedTensor:
        levels = (*value._levels, level)
        value = value._value
    return over(value, levels)


def over(value: Any, levels: tuple[Any, ...]) -> Any:
    """An ordinary tensor, batched at several levels by its first dimensions."""
    if not levels:
        return value
    result = _new(BatchedTensor)
    array, count = value._array, len(levels)
    result._array = PerExample(array.shape[count:], array.dtype, element_strides(array)[count:], device_of(array))
    result._requires_grad = False
    result._grad_fn = None
    result._output_index = 0
    result._storage = None
    result._value = value
    result._levels = levels
    return result


def levels_of(tensor: Any) -> tuple[Any, ...]:
    """The levels that a tensor is batched at, the outermost first."""
    return tensor._levels if tensor.__class__ is BatchedTensor else ()


def explicit(tensor: Any, levels: tuple[Any, ...]) -> Any:
    """The batches of the given levels as ordinary dimensions in front; what else it is batched at, it stays batched at.

    A tensor that is not batched at one of them is repeated (without copying).
    """
    if not levels or not isinstance(tensor, TensorBase):
        return tensor
    have = levels_of(tensor)
    value = tensor._value if have else tensor
    rest = tuple(level for level in have if level not in levels)
    wanted = (*rest, *levels)
    if have != wanted:
        missing = [level for level in levels if level not in have]
        for _ in missing:
            value = unsqueeze(value, 0)
        order = [*missing, *have]
        value = permute(value, [*(order.index(level) for level in wanted), *range(len(order), value._array.ndim)])
        if missing:
            sizes = [level.size for level in wanted]
            value = expand(value, (*sizes, *value._array.shape[len(sizes) :]))
    return over(value, rest)


def implicit(tensor: Any, levels: tuple[Any, ...]) -> Any:
    """The inverse of :func:`explicit`: the first dimensions become the batches of the given levels."""
    if not levels or not isinstance(tensor, TensorBase):
        return tensor
    inner = levels_of(tensor)
    value = tensor._value if inner else tensor
    if inner:
        count, more = len(inner), len(levels)
        value = permute(value, [*range(count, count + more), *range(count), *range(count + more, value._array.ndim)])
    return over(value, (*levels, *inner))


def padded(value: Any, extra: int) -> Any:
    """A batch whose examples get further dimensions of size 1 in front."""
    if not extra:
        return value
    shape = value._array.shape
    return view_shape(value, (shape[0], *(1,) * extra, *shape[1:]))


__all__ = ["BatchedTensor", "PerExample", "explicit", "implicit", "levels_of", "over", "padded", "wrap"]
