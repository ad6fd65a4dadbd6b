"""RaggedSize: the size of the dimension in which the parts of a jagged tensor differ, a symbol that stands for no number."""

from __future__ import annotations

import itertools
import weakref
from typing import Any, NoReturn

from ..core.process_safety import removal_callback
from ..core.symbolic.integers import SymbolicInt

_numbers = itertools.count(1)
_NO_SIZE = -(1 << 62)  # what C code sees that reads the number, so that it refuses it as a size


def _at_least(left: Any, right: Any) -> bool:
    """Whether a size is not below another one: a ragged one counts as at least 2, and is comparable with its own multiples."""
    if isinstance(left, RaggedSize) and isinstance(right, RaggedSize) and left.number == right.number:
        return left.factor >= right.factor
    if isinstance(left, RaggedSize) and not isinstance(right, RaggedSize) and right <= 2:
        return True
    if isinstance(right, RaggedSize) and not isinstance(left, RaggedSize) and left < 2:
        return False
    raise ValueError("ge: relation is indeterminate")


class RaggedSize(SymbolicInt):
    """A size that differs from part to part, or a multiple of one; equal to itself alone."""

    number: int
    factor: int

    def __new__(cls, number: int | None = None, factor: int = 1) -> RaggedSize:
        made = int.__new__(cls, _NO_SIZE)
        made.number = next(_numbers) if number is None else number
        made.factor = factor
        return made

    def __repr__(self) -> str:
        return f"j{self.number}" if self.factor == 1 else f"{self.factor}*j{self.number}"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RaggedSize) and (self.number, self.factor) == (other.number, other.factor)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.number, self.factor))

    def __ge__(self, other: Any) -> bool:
        return _at_least(self, other)

    def __le__(self, other: Any) -> bool:
        return _at_least(other, self)

    def __gt__(self, other: Any) -> bool:
        return not _at_least(other, self)

    def __lt__(self, other: Any) -> bool:
        return not _at_least(self, other)

    def __bool__(self) -> bool:
        return True

    def __mul__(self, other: Any) -> Any:
        return (
            RaggedSize(self.number, self.factor * other) if isinstance(other, int) and not isinstance(other, RaggedSize) else self._refuse()
        )

    __rmul__ = __mul__

    def _refuse(self, *_: Any) -> NoReturn:
        raise TypeError(
            f"{self!r} is the size of a dimension in which the parts of a nested tensor differ: it is no number to compute with"
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __neg__ = _refuse  # type: ignore[assignment]
    __truediv__ = __rtruediv__ = __int__ = __index__ = __float__ = _refuse  # type: ignore[assignment]

    # PyTorch's names, on the node of a symbolic size.

    @property
    def node(self) -> RaggedSize:
        """What PyTorch keeps the symbol in."""
        return self

    def is_nested_int(self) -> bool:
        """True."""
        return True

    def nested_int(self) -> int:
        """The number of the symbol."""
        return self.number

    def nested_int_coeff(self) -> int:
        """What the symbol is multiplied by."""
        return self.factor

    def __reduce__(self) -> tuple[Any, ...]:
        return (RaggedSize, (self.number, self.factor))


_known: dict[int, tuple[Any, RaggedSize]] = {}  # by the identity of a tensor of offsets or lengths, for as long as there is one


def ragged_size_of(lengths_or_offsets: Any) -> RaggedSize:
    """The size that belongs to a tensor of offsets (or lengths): tensors that are nested by the same one are nested alike."""
    key = id(lengths_or_offsets)
    found = _known.get(key)
    if found is None or found[0]() is not lengths_or_offsets:
        found = _known[key] = (weakref.ref(lengths_or_offsets, removal_callback(_known, key)), RaggedSize())
    return found[1]
