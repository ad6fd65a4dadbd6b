"""Sources: the path from the state in which a captured segment begins to a value that guards check or the graph takes as an input."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from ....core.missing import is_own
from ..vm.frame import Frame


class Source:
    """A path to a value.  ``expression`` gives it as Python, from the expression of the value that it starts at."""

    __slots__ = ()
    base: Source | None = None
    cached: tuple[list[Any], Any, str] | None = None  # (value, object), owner and attribute: the value while the attribute is that object
    beside: tuple[Source, ...] = ()  # further sources that it reads; `expression` is given theirs too

    @property
    def is_attribute(self) -> bool:
        """Whether the path leads through an attribute of an object, as that to a buffer does."""
        return self.base is not None and self.base.is_attribute

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
        self.references: dict[int, Any] = {}  # weak references to objects that are compared by identity
        self.entry = False  # whether the program begins with the arguments of a call, and not with frames

    def of(self, value: Any, prefix: str = "c") -> str:
        """The name of an object."""
        found = self._by_id.get(id(value))
        if found is None:
            found = self._by_id[id(value)] = f"{prefix}{len(self.values)}"
            self.values[found] = value
        return found

    def weak(self, value: Any) -> Any:
        """A weak reference to an object that guards must not keep alive; objects that can't go or can't be referred to so are given as they are."""
        if isinstance(value, (type, FunctionType)) and is_own(value):
            return value
        try:
            reference = weakref.ref(value)
        except TypeError:
            return value
        self.references[id(reference)] = reference
        return reference

    def expected(self, value: Any, prefix: str = "c") -> str:
        """The expression of an object that may be held by a weak reference."""
        return f"{self.of(value, 'r')}()" if type(value) is weakref.ref else self.of(value, prefix)


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
        return f"stack slot {self.place}"


class Contents(Source):
    """The contents of a closure cell."""

    __slots__ = ("base", "name")

    def __init__(self, base: Source, name: str) -> None:
        self.base, self.name = base, name

    def expression(self, base: str, names: Names, *beside: str) -> str:
        return f"{base}.cell_contents"

    def describe(self) -> str:
        return self.name


class Global(Source):
    """A global variable of a module."""

    __slots__ = ("name", "scope")

    def __init__(self, scope: dict[str, Any], name: str) -> None:
        self.scope, self.name = scope, name

    def expression(self, base: str, names: Names, *beside: str) -> str:
        return f"{names.of(self.scope, 'g')}[{self.name!r}]"

    def describe(self) -> str:
        return f"global {self.name}"


class Known(Source):
    """An object that is the same in every call, because a value on the path to it is guarded by identity."""

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
    is_attribute = True

    def __init__(self, base: Source, name: str) -> None:
        self.base, self.name = base, name

    def expression(self, base: str, names: Names, *beside: str) -> str:
        return f"{base}.{self.name}" if self.name.isidentifier() else f"getattr({base}, {self.name!r})"

    def describe(self) -> str:
        assert self.base is not None
        return f"{self.base.describe()}.{self.name}"


class Field(Source):
    """An attribute that is looked up without the ``__getattr__`` of the class."""

    __slots__ = ("base", "name")
    is_attribute = True

    def __init__(self, base: Source, name: str) -> None:
        self.base, self.name = base, name

    def expression(self, base: str, names: Names, *beside: str) -> str:
        return f"{names.of(object.__getattribute__)}({base}, {self.name!r})"

    def describe(self) -> str:
        assert self.base is not None
        return f"{self.base.describe()}.{self.name}"


class OwnDict(Source):
    """The dict of an object's own attributes."""

    __slots__ = ("base",)
    is_attribute = True

    def __init__(self, base: Source) -> None:
        self.base = base

    def expression(self, base: str, names: Names, *beside: str) -> str:
        return f"{base}.__dict__"

    def describe(self) -> str:
        assert self.base is not None
        return f"{self.base.describe()}.__dict__"


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


class StoredItem(Source):
    """What a dict holds under a key, whatever the ``__getitem__`` or ``__missing__`` of its class would give or do."""

    __slots__ = ("base", "key")

    def __init__(self, base: Source, key: Any) -> None:
        self.base, self.key = base, key

    def expression(self, base: str, names: Names, *beside: str) -> str:
        return f"{names.of(_stored)}({base}, {repr(self.key) if type(self.key) in (int, str) else names.of(self.key)})"

    def describe(self) -> str:
        assert self.base is not None
        return f"{self.base.describe()}[{self.key!r}]"


def _stored(container: dict[Any, Any], key: Any) -> Any:
    """What a dict holds under a key; ``dict.__getitem__`` would call ``__missing__`` where there is nothing."""
    if not dict.__contains__(container, key):
        raise KeyError(key)
    return dict.__getitem__(container, key)


class Converted(Source):
    """A number that was read, converted by ``int()``."""

    __slots__ = ("base", "kind")

    def __init__(self, base: Source, kind: str) -> None:
        self.base, self.kind = base, kind

    def expression(self, base: str, names: Names, *beside: str) -> str:
        return f"{self.kind}({base})"

    def describe(self) -> str:
        assert self.base is not None
        return f"{self.kind}({self.base.describe()})"


class Made(Source):
    """What a function makes of a value before the graph runs: an object of its own each time."""

    __slots__ = ("arguments", "base", "function")

    def __init__(self, base: Source, function: Callable[..., Any], *arguments: Any) -> None:
        self.base, self.function, self.arguments = base, function, arguments

    def expression(self, base: str, names: Names, *beside: str) -> str:
        return f"{names.of(self.function)}({base}{''.join(f', {each!r}' for each in self.arguments)})"

    def describe(self) -> str:
        assert self.base is not None
        return f"{self.function.__name__}({self.base.describe()})"


class Sources:
    """Makes sources, each once: two reads of one place give the same source."""

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
        """An attribute of the value of a source."""
        return self._once(Attribute, base, name)

    def field(self, base: Source, name: str) -> Source:
        """An attribute, without the ``__getattr__`` of the class."""
        return self._once(Field, base, name)

    def item(self, base: Source, key: Any, owner: Any = None) -> Source:
        """An element (of ``owner``, where that may be a dict whose class looks elements up in a way of its own)."""
        looked_up = isinstance(owner, dict) and type(owner) not in (dict, OrderedDict)
        return self._once(StoredItem if looked_up else Item, base, key)

    def contents(self, base: Source, name: str) -> Source:
        """The contents of a closure cell."""
        return self._once(Contents, base, name)

    def converted(self, base: Source, kind: str) -> Source:
        """A number converted to an integer."""
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


def path_expression(source: Source, names: Names, variables: Mapping[Source, str], used: set[str]) -> str:
    """The expression that reads a source from the variables of the sources it depends on, which are added to those that are ``used``."""
    base = "" if source.base is None else variables[source.base]
    beside = [variables[each] for each in source.beside]
    used.update((base, *beside))
    return source.expression(base, names, *beside)


def root_of(source: Source) -> Source:
    """The source at the start of a path: a variable, a global, or an object that is always the same."""
    while source.base is not None:
        source = source.base
    return source


def chain_of(frame: Frame) -> list[Frame]:
    """A frame and all that called it, the outermost first."""
    found = [frame]
    while found[-1].caller is not None:
        found.append(found[-1].caller)
    return found[::-1]
