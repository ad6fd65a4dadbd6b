"""The type of a tensor in a graph of PyTorch's form: as much of its elements, sizes, strides and place as is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....core.base import TensorBase
from ....core.devices import device as device_of
from ....core.dtypes import ALL, BY_NUMPY, dtype, legacy_name
from ..frontend.types import TENSOR

Text = str  # the type has a method of the name ``str``
SCALAR_TYPES = {legacy_name(each): each for each in ALL}


class Sized:
    """What is known of a tensor: each fact may be None, and so may each size and stride."""

    def __init__(
        self, of: dtype | None = None, shape: Sequence[Any] | None = None, strides: Sequence[Any] | None = None, grad: bool | None = None, place: Any = None
    ) -> None:  # fmt: skip
        self._dtype, self._shape, self._grad, self._place = of, None if shape is None else tuple(shape), grad, place
        self._strides = None if strides is None else tuple(strides)

    @classmethod
    def get(cls) -> Sized:
        """The type of a tensor of which nothing is known."""
        return cls()

    @classmethod
    def create_from_tensor(cls, tensor: Any) -> Sized:
        """The type of a tensor, with all that is known of it."""
        return sized(tensor)

    def kind(self) -> Text:
        """What kind of type it is."""
        return "TensorType"

    def sizes(self) -> list[int] | None:
        """The sizes, where all are known."""
        return [int(each) for each in self._shape] if self._shape is not None and all(map(_is_known, self._shape)) else None

    def varyingSizes(self) -> list[int | None] | None:
        """The sizes, with None for those that are not known."""
        return None if self._shape is None else [int(each) if _is_known(each) else None for each in self._shape]

    def symbolic_sizes(self) -> list[int] | None:
        """The sizes, with a negative number for those that are not known: the same number for the same size."""
        return None if self._shape is None else [int(each) if each is not None else -1 for each in self._shape]

    def strides(self) -> list[int] | None:
        """The steps from element to element, where they are known."""
        if self._strides is None or not all(map(_is_known, self._strides)):
            return None
        return [int(each) for each in self._strides]

    def dim(self) -> int | None:
        """The number of dimensions."""
        return None if self._shape is None else len(self._shape)

    def scalarType(self) -> Text | None:
        """The type of elements by its old name."""
        return None if self._dtype is None else legacy_name(self._dtype)

    def dtype(self) -> Any:
        """The type of elements."""
        return self._dtype

    def device(self) -> Any:
        """Where it is."""
        return None if self._place is None else device_of(str(self._place))

    def requires_grad(self) -> bool:
        """Whether it is known to want a gradient."""
        return bool(self._grad)

    requiresGrad = requires_grad

    def undefined(self) -> bool:
        """Whether there may be no tensor: never."""
        return False

    def changed(self, **facts: Any) -> Sized:
        """The same type with other facts."""
        known = {"of": self._dtype, "shape": self._shape, "strides": self._strides, "grad": self._grad, "place": self._place}
        return Sized(**{**known, **facts})

    def with_sizes(self, sizes: Any) -> Sized:
        """The same type with other sizes."""
        return self.changed(shape=None if sizes is None else tuple(sizes), strides=None)

    def with_dtype(self, kind: Any) -> Sized:
        """The same type with other elements."""
        return self.changed(of=kind)

    def with_device(self, place: Any) -> Sized:
        """The same type elsewhere."""
        return self.changed(place=place)

    def with_requires_grad(self, grad: bool) -> Sized:
        """The same type, with or without a gradient."""
        return self.changed(grad=grad)

    def contiguous(self) -> Sized:
        """The same type with the strides of a contiguous tensor."""
        return self.changed(strides=contiguous_strides(self._shape))

    def dimensionedOnly(self) -> Sized:
        """The same type without its sizes: their number stays."""
        return self.changed(shape=None if self._shape is None else [None] * len(self._shape), strides=None)

    def isSubtypeOf(self, other: Any) -> bool:
        """Whether a tensor of this type may stand where the other is asked for."""
        if not isinstance(other, Sized):
            return other is TENSOR or repr(other) in ("Any", "Optional[Tensor]")
        pairs = [(self._dtype, other._dtype), (self._grad, other._grad), (self.device(), other.device())]
        if other._shape is not None:
            if self._shape is None or len(self._shape) != len(other._shape):
                return False
            pairs += zip(self._shape, other._shape)
        return all(theirs is None or mine == theirs for mine, theirs in pairs)

    annotation_str = "Tensor"

    def str(self) -> Text:
        """The type with all that is known of the tensor, as graphs show it."""
        shown = [*("*" if each is None or not _is_known(each) else Text(each) for each in self._shape or ())]
        strides = self.strides()
        if strides and self._shape:
            shown.append(f"strides={strides}")
        if self._grad is not None:
            shown.append(f"requires_grad={int(self._grad)}")
        if self._place is not None:
            shown.append(f"device={self._place}")
        name = self.scalarType() or ("Tensor" if self._shape is not None else "")
        if self._shape is None:
            name += "Tensor"
        return f"{name}({', '.join(shown)})" if shown or self._shape is not None else name

    def __eq__(self, other: object) -> bool:
        return self.str() == (other.str() if isinstance(other, Sized) else Text(other))

    def __hash__(self) -> int:
        return hash(self.str())

    def __repr__(self) -> Text:
        return self.annotation_str


def _is_known(size: Any) -> bool:
    """Whether a size is a number: negative ones stand for sizes that are not known."""
    return size is not None and not (isinstance(size, int) and size < 0)


def contiguous_strides(shape: Sequence[Any] | None) -> list[int] | None:
    """The strides of a contiguous tensor, where its sizes are known."""
    if shape is None or not all(map(_is_known, shape)):
        return None
    found, step = [], 1
    for each in reversed(shape):
        found.append(step)
        step *= max(int(each), 1)
    return found[::-1]


def sized(value: Any) -> Sized:
    """The type of a tensor, or of what is known of one."""
    kind = value.dtype if isinstance(value.dtype, dtype) else BY_NUMPY.get(value.dtype)
    strides = value.stride() if isinstance(value, TensorBase) else contiguous_strides(value.shape)  # type: ignore[attr-defined]
    return Sized(kind, tuple(value.shape), strides, bool(getattr(value, "requires_grad", False)), getattr(value, "device", None) or "cpu")
