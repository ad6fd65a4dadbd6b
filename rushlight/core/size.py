"""``Size``: a shape, which is a tuple that knows how many elements it spans."""

from __future__ import annotations

import math
from typing import Any

_new = tuple.__new__


class Size(tuple):
    """The shape of a tensor."""

    __slots__ = ()

    def __new__(cls, sizes: Any = ()) -> Size:
        """A shape out of integers; a tensor of one integer counts as one."""
        if sizes.__class__ is tuple or sizes.__class__ is list:
            for each in sizes:
                if each.__class__ is not int:
                    break
            else:
                return tuple.__new__(cls, sizes)
        return tuple.__new__(cls, [_size(each, index) for index, each in enumerate(sizes)])

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    __str__ = __repr__

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return _new(Size, found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, tuple):
            if hasattr(type(other), "__radd__"):
                return NotImplemented
            raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to torch.Size")
        return _new(Size, tuple.__add__(self, other))

    def __radd__(self, other: Any) -> Any:
        if not isinstance(other, tuple):
            return NotImplemented
        return _new(Size, tuple(other) + tuple(self))

    def __mul__(self, times: Any) -> Any:
        return _new(Size, tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[Any, ...]:
        return (Size, (tuple(self),))


def _size(value: Any, index: int) -> Any:
    """One size: an int, or what stands for one."""
    if isinstance(value, int):
        return value
    if hasattr(value, "__index__") and not isinstance(value, float):
        try:
            return value.__index__()
        except TypeError:
            pass
    raise TypeError(f"torch.Size() takes an iterable of 'int' (item {index} is '{type(value).__name__}')")
