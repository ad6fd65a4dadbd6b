"""What a file may name when only weights are to be loaded, and the reader that lets through nothing else."""

from __future__ import annotations

import contextlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from pickle import UnpicklingError
from typing import Any

from ..core.errors import NotSupported
from .names import modern, path_of
from .rebuild import ABSENT_TYPES, FUNCTIONS, VALUES
from .unpickler import PlainUnpickler

_allowed: list[Any] = []  # objects, or pairs of an object and the name that files know it by


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allow files to name these functions and classes when only weights are loaded: they are called as files ask.

    Each is an object, or a pair of an object and the full name under which files know it.
    """
    for each in list(safe_globals):
        _names_of(each)
        if each not in _allowed:
            _allowed.append(each)


def get_safe_globals() -> list[Any]:
    """What was allowed by :func:`add_safe_globals`."""
    return list(_allowed)


def clear_safe_globals() -> None:
    """Allow nothing but tensors and plain values again."""
    _allowed.clear()


class safe_globals:
    """A context in which files may name these functions and classes."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self.added = list(safe_globals)

    def __enter__(self) -> None:
        self.before = get_safe_globals()
        add_safe_globals(self.added)

    def __exit__(self, *exception: Any) -> None:
        _allowed[:] = self.before


def _names_of(entry: Any) -> tuple[Any, set[str]]:
    """An allowed object and the names that files may call it by."""
    if isinstance(entry, tuple):
        if len(entry) != 2 or not isinstance(entry[1], str):
            raise TypeError(f"a pair of an object and its full name as a string is needed, not {entry!r}")
        return entry[0], {".".join(modern(*entry[1].rpartition(".")[::2]))}
    name = getattr(entry, "__qualname__", None) or getattr(entry, "__name__", None)
    if name is None or getattr(entry, "__module__", None) is None:
        raise TypeError(f"{entry!r} has no name of its own: pass a pair of it and its full name, (object, 'module.name')")
    names = {".".join(modern(entry.__module__, name))}
    path = path_of(entry)
    if path is not None:
        names.add(".".join(path))
    return entry, names


class Refusal(UnpicklingError):
    """A name that is not allowed."""


class WeightsUnpickler(PlainUnpickler):
    """Reads tensors and plain values, and what the user has allowed."""

    def __init__(self, data: Any, position: int, load_storage: Callable[[Any], Any], encoding: str = "utf-8") -> None:
        super().__init__(data, position, encoding)
        self.load_storage = load_storage
        self.granted = {name: found for found, names in map(_names_of, _allowed) for name in names}
        self.granted_types = tuple(found for found in self.granted.values() if isinstance(found, type))
        self.callable = {id(each) for names in (self.granted, FUNCTIONS) for each in names.values()}

    def find(self, module: str, name: str) -> Any:
        full = ".".join(modern(module, name))
        for names in (self.granted, FUNCTIONS, VALUES):
            if full in names:
                return names[full]
        if full in ABSENT_TYPES:
            raise NotSupported(f"this file holds {full}, which rushlight does not have")
        raise Refusal(full)

    def call(self, function: Any, arguments: Any) -> Any:
        if id(function) not in self.callable:
            raise UnpicklingError(f"the pickle calls {function!r}, which is not allowed")
        return function(*arguments)

    def create(self, kind: Any, arguments: Any, named: Any) -> Any:
        if kind is FUNCTIONS["collections.OrderedDict"] or kind is FUNCTIONS["collections.Counter"]:
            return kind(*arguments)
        if not isinstance(kind, type) or not any(kind is each for each in self.granted.values()):
            raise UnpicklingError(f"the pickle makes an object of {kind!r}, which is not allowed")
        return kind.__new__(kind, *arguments, **named)

    def build(self, target: Any, state: Any) -> None:
        if type(target) is OrderedDict or type(target) is Counter:
            if not isinstance(state, dict) or not all(isinstance(name, str) and not name.startswith("__") for name in state):
                raise UnpicklingError("the attributes of a dict in this file have no plain names")
            target.__dict__.update(state)
        elif type(target) in self.granted_types:
            set_state(target, state)
        else:
            raise UnpicklingError(f"the pickle sets the state of {type(target).__name__}, which is not allowed")

    def takes_items(self, target: Any) -> bool:
        return super().takes_items(target) or type(target) in self.granted_types

    def extends(self, target: Any) -> bool:
        return super().extends(target) or type(target) in self.granted_types

    def persistent(self, identity: Any) -> Any:
        return self.load_storage(identity)


def set_state(target: Any, state: Any) -> None:
    """What pickle does with an object and its state."""
    setter = getattr(target, "__setstate__", None)
    if setter is not None:
        setter(state)
        return
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    if attributes:
        target.__dict__.update(attributes)
    for name, value in (slots or {}).items():
        setattr(target, name, value)


class _Anything:
    """Stands for an object that is not made."""

    def __setitem__(self, key: Any, value: Any) -> None:
        """Items are of no interest here."""

    def extend(self, values: Any) -> None:
        """Nor are members."""


class Survey(PlainUnpickler):
    """Collects the names in a pickle; finds and calls nothing."""

    def __init__(self, data: Any, position: int = 0, encoding: str = "utf-8") -> None:
        super().__init__(data, position, encoding)
        self.names: dict[str, None] = {}

    def find(self, module: str, name: str) -> Any:
        self.names[".".join(modern(module, name))] = None
        return _Anything()

    def call(self, function: Any, arguments: Any) -> Any:
        return _Anything()

    def create(self, kind: Any, arguments: Any, named: Any) -> Any:
        return _Anything()

    def build(self, target: Any, state: Any) -> None:
        """The state of an object is of no interest here."""

    def persistent(self, identity: Any) -> Any:
        return _Anything()

    def takes_items(self, target: Any) -> bool:
        return type(target) is _Anything or super().takes_items(target)

    def extends(self, target: Any) -> bool:
        return type(target) is _Anything or super().extends(target)


def refused_names(data: Any, position: int = 0, encoding: str = "utf-8") -> list[str]:
    """The names in a pickle that are not allowed, as far as it can be read."""
    survey = Survey(data, position, encoding)
    with contextlib.suppress(UnpicklingError):  # of a damaged pickle, the names before the damage are the answer
        survey.load()
    granted = {name for each in _allowed for name in _names_of(each)[1]}
    known: Iterable[str] = granted | FUNCTIONS.keys() | VALUES.keys() | ABSENT_TYPES
    return [name for name in survey.names if name not in known]


def refusal_message(names: list[str]) -> str:
    """What to tell the user about names that were refused."""
    shown = ", ".join(name.removeprefix("builtins.") for name in names)
    them = "it" if len(names) == 1 else "them"
    return (
        f"Weights only load failed: the file names what is not a tensor or a plain value: {shown}. If you trust {them}, allow "
        f"{them} with `torch.serialization.add_safe_globals([{shown}])`, or for a while with the context manager "
        f"`torch.serialization.safe_globals([{shown}])`. If you trust the whole file, load it with `weights_only=False`: that "
        "executes whatever the file says.\n"
        + "\n".join(f"WeightsUnpickler error: Unsupported global: GLOBAL {name} was not an allowed global by default." for name in names)
    )
