"""How a value is reached from the state in which a captured segment begins: what guards check, and graphs take as inputs."""

from __future__ import annotations

import weakref
from types import FunctionType
from typing import Any

from ..vm.frame import Frame

_PACKAGE = __name__.partition(".")[0] + "."


class Source:
    """A way to a value.  ``expression`` writes it in Python, given the expression of what it starts from."""

    __slots__ = ()
    base: Source | None = None
    beside: tuple[Source, ...] = ()  # others that it takes; `expression` is given theirs too

    def expression(self, base: str, names: Names, *beside: str) -> str:
        raise NotImplementedError

    def describe(self) -> str:
        """For people: ``x``, ``self.weight``."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{self.describe()}>"


class Names:
    """Objects that generated code refers to, by the names it has for them."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self._by_id: dict[int, str] = {}
        self.references: list[Any] = []  # weak references to what is compared by identity
        self.entry = False  # whether the program begins with the arguments of a call, and not with frames

    def of(self, value: Any, prefix: str = "c") -> str:
        """The name of an object."""
        found = self._by_id.get(id(value))
        if found is None:
            found = self._by_id[id(value)] = f"{prefix}{len(self.values)}"
            self.values[found] = value
        return found

    def weak(self, value: Any) -> str:
        """An expression for an object that the program refers to without keeping it (classes and functions of the package stay anyway)."""
        if isinstance(value, (type, FunctionType)) and str(value.__module__).startswith(_PACKAGE):
            return self.of(value)
        found = self._by_id.get(-id(value))
        if found is None:
            try:
                reference = weakref.ref(value)
            except TypeError:
                return self.of(value)
            found = self._by_id[-id(value)] = f"r{len(self.values)}"
            self.values[found] = reference
            self.references.append(reference)
        return f"{found}()"


class Slot(Source):
    """A local variable of a frame (or the cell that holds it)."""

    __slots__ = ("depth", "name", "slot")

    def __init__(self, depth: int, slot: int, name: str) -> None:
        self.depth, self.slot, self.name = depth, slot, name

    def expression(self, base: str, names: Names, *beside: str) -> str:
        return f"slots[{self.slot}]" if names.entry else f"frames[{self.depth}].slots[{self.slot}]"

    def describe(self) -> str:
        return self.name


class Stacked(Source):
    """A value on the stack of a frame."""

    __slots__ = ("depth", "place")

    def __init__(self, depth: int, place: int) -> None:
        self.depth, self.place = depth, place

    def expression(self, base: str, names: Names, *beside: str) -> str:
        return f"frames[{self.depth}].stack[{self.place}]"

    def describe(self) -> str:
        return f"value {self.place} in hand"


class Contents(Source):
    """What is in a cell."""

    __slots__ = ("base", "name")

    def __init__(self, base: Source, name: str) -> None:
        self.base, self.name = base, name

    def expression(self, base: str, names: Names, *beside: str) -> str:
        return f"{base}.cell_contents"

    def describe(self) -> str:
        return self.name


class Global(Source):
    """A global name; ``names`` of a module's dict."""

    __slots__ = ("name", "scope")

    def __init__(self, scope: dict[str, Any], name: str) -> None:
        self.scope, self.name = scope, name

    def expression(self, base: str, names: Names, *beside: str) -> str:
        return f"{names.of(self.scope, 'g')}[{self.name!r}]"

    def describe(self) -> str:
        return f"global {self.name}"


class Known(Source):
    """An object that is the same in every call, since something that leads to it is guarded by identity."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def expression(self, base: str, names: Names, *beside: str) -> str:
        return names.of(self.value)

    def describe(self) -> str:
        return getattr(self.value, "__qualname__", None) or type(self.value).__name__


class Attribute(Source):
    """An attribute."""

    __slots__ = ("base", "name")

    def __init__(self, base: Source, name: str) -> None:
        self.base, self.name = base, name

    def expression(self, base: str, names: Names, *beside: str) -> str:
        return f"{base}.{self.name}" if self.name.isidentifier() else f"getattr({base}, {self.name!r})"

    def describe(self) -> str:
        assert self.base is not None
        return f"{self.base.describe()}.{self.name}"


class Field(Source):
    """An attribute of an object whose class computes missing ones: looked up without asking the class."""

    __slots__ = ("base", "name")

    def __init__(self, base: Source, name: str) -> None:
        self.base, self.name = base, name

    def expression(self, base: str, names: Names, *beside: str) -> str:
        return f"{names.of(object.__getattribute__)}({base}, {self.name!r})"

    def describe(self) -> str:
        assert self.base is not None
        return f"{self.base.describe()}.{self.name}"


class Item(Source):
    """An element of a list, tuple or dict."""

    __slots__ = ("base", "key")

    def __init__(self, base: Source, key: Any) -> None:
        self.base, self.key = base, key

    def expression(self, base: str, names: Names, *beside: str) -> str:
        return f"{base}[{self.key!r}]" if type(self.key) in (int, str) else f"{base}[{names.of(self.key)}]"

    def describe(self) -> str:
        assert self.base is not None
        return f"{self.base.describe()}[{self.key!r}]"


class Converted(Source):
    """A number that was read, as ``int()`` makes it a whole one."""

    __slots__ = ("base", "kind")

    def __init__(self, base: Source, kind: str) -> None:
        self.base, self.kind = base, kind

    def expression(self, base: str, names: Names, *beside: str) -> str:
        return f"{self.kind}({base})"

    def describe(self) -> str:
        assert self.base is not None
        return f"{self.kind}({self.base.describe()})"


class Sources:
    """Makes sources, each once: what is read twice from the same place is one source."""

    def __init__(self) -> None:
        self.made: dict[Any, Source] = {}
        self.held: list[Any] = []

    def _once(self, kind: Any, owner: Any, name: Any) -> Source:
        key = (kind, id(owner), name, type(name))
        found = self.made.get(key)
        if found is None:
            self.held.append(owner)
            found = self.made[key] = kind(owner, name)
        return found

    def attribute(self, base: Source, name: str) -> Source:
        """An attribute of what a source leads to."""
        return self._once(Attribute, base, name)

    def field(self, base: Source, name: str) -> Source:
        """The same, where the class has a say in how attributes are looked up."""
        return self._once(Field, base, name)

    def item(self, base: Source, key: Any) -> Source:
        """An element."""
        return self._once(Item, base, key)

    def contents(self, base: Source, name: str) -> Source:
        """What is in a cell."""
        return self._once(Contents, base, name)

    def converted(self, base: Source, kind: str) -> Source:
        """A number made a whole one."""
        return self._once(Converted, base, kind)

    def name(self, scope: dict[str, Any], name: str) -> Source:
        """A global."""
        return self._once(Global, scope, name)

    def known(self, value: Any) -> Source:
        """An object that is the same in all calls."""
        key = (Known, id(value))
        if key not in self.made:
            self.held.append(value)
            self.made[key] = Known(value)
        return self.made[key]


def root_of(source: Source) -> Source:
    """Where a way begins: a variable, a global, or an object that is always the same."""
    while source.base is not None:
        source = source.base
    return source


def chain_of(frame: Frame) -> list[Frame]:
    """A frame and all that called it, the outermost first."""
    found = [frame]
    while found[-1].caller is not None:
        found.append(found[-1].caller)
    return found[::-1]
