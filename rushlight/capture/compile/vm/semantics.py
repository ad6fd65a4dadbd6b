"""The semantics of operations on values: `Semantics` is Python's own; a capture overrides its methods."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CellType, FunctionType, MethodType
from typing import Any

from ....core.errors import NotSupported
from ..decode import NULL, decode
from . import pattern_matching
from .frame import Frame, Inline, Resume
from .frame_builtins import FRAME_BUILTINS
from .generator import InterpretedGenerator

_COMPILE = __name__.removesuffix(".vm.semantics")  # the package of interpreter and recorder
UNARY: dict[str, Callable[[Any], Any]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "@": operator.matmul,
    "**": operator.pow,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "+=": operator.iadd,
    "-=": operator.isub,
    "*=": operator.imul,
    "/=": operator.itruediv,
    "//=": operator.ifloordiv,
    "%=": operator.imod,
    "@=": operator.imatmul,
    "**=": operator.ipow,
    "<<=": operator.ilshift,
    ">>=": operator.irshift,
    "&=": operator.iand,
    "|=": operator.ior,
    "^=": operator.ixor,
}
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
}
CONVERT: dict[str, Callable[[Any], str]] = {"str": str, "repr": repr, "ascii": ascii}


class Semantics:
    """Performs each operation on values that an interpreted function needs; a subclass overrides them one by one.

    Where the result is that of a Python function, a method may return `Inline(function, args, kwargs)`, and the
    interpreter runs that function, in a frame on top of the present one.  `truth`, `unary`, `binary`, `compare`, `contains`, `load_attr`,
    `store_attr`, `delete_attr`, `get_item`, `set_item`, `delete_item`, `get_iter`, `next`, `send`, `convert_value`, `format_value` and
    `call` may do so.  A method may also raise `Stop`, to stop before the instruction.
    """

    # Operators.

    def truth(self, value: Any) -> Any:
        """Which way a condition goes: a bool."""
        return bool(value)

    def asserted(self, value: Any) -> Any:
        """The truth of what an ``assert`` asserts."""
        return self.truth(value)

    def unary(self, op: str, a: Any) -> Any:
        """-a, +a, ~a."""
        return UNARY[op](a)

    def binary(self, op: str, a: Any, b: Any) -> Any:
        """a + b, ..., and a += b, ..., which gives the new a."""
        return BINARY[op](a, b)

    def compare(self, op: str, a: Any, b: Any) -> Any:
        """a < b, ..."""
        return COMPARE[op](a, b)

    def contains(self, container: Any, item: Any) -> Any:
        """item in container: a bool."""
        return operator.contains(container, item)

    def is_same(self, a: Any, b: Any) -> bool:
        """a is b."""
        return a is b

    # Attributes and items.

    def load_attr(self, value: Any, name: str) -> Any:
        """value.name."""
        return getattr(value, name)

    def store_attr(self, value: Any, name: str, new: Any) -> Any:
        """value.name = new."""
        setattr(value, name, new)

    def delete_attr(self, value: Any, name: str) -> Any:
        """del value.name."""
        delattr(value, name)

    def load_special(self, value: Any, name: str) -> Any:
        """A method that is looked up in the class alone; None where there is none."""
        for kind in type(value).__mro__:
            if name in vars(kind):
                found = vars(kind)[name]
                get = getattr(type(found), "__get__", None)
                return found if get is None else get(found, value, type(value))
        return None

    def get_item(self, container: Any, key: Any) -> Any:
        """container[key]."""
        return container[key]

    def set_item(self, container: Any, key: Any, value: Any) -> Any:
        """container[key] = value."""
        container[key] = value

    def delete_item(self, container: Any, key: Any) -> Any:
        """del container[key]."""
        del container[key]

    # Names.

    def load_global(self, frame: Frame, name: str) -> Any:
        """The value of a global or builtin name."""
        try:
            return frame.globals[name]
        except KeyError:
            found = frame.builtins.get(name, frame)  # no builtin is a frame
        if found is frame:
            raise NameError(f"name {name!r} is not defined", name=name)
        return found

    def store_global(self, frame: Frame, name: str, value: Any) -> None:
        """global name; name = value."""
        frame.globals[name] = value

    def load_cell(self, cell: CellType, value: Any) -> Any:
        """A variable that functions share is read, and holds a number."""
        return value

    def store_cell(self, cell: CellType, value: Any) -> None:
        """A variable that functions share is set."""
        cell.cell_contents = value

    def delete_cell(self, cell: CellType) -> None:
        """The same for del."""
        del cell.cell_contents

    def delete_global(self, frame: Frame, name: str) -> None:
        """global name; del name."""
        if name not in frame.globals:
            raise NameError(f"name {name!r} is not defined", name=name)
        del frame.globals[name]

    # Building and taking apart.

    def build_tuple(self, values: list[Any]) -> Any:
        """(a, b, ...)."""
        return tuple(values)

    def build_list(self, values: list[Any]) -> Any:
        """[a, b, ...]."""
        return values

    def build_set(self, values: list[Any]) -> Any:
        """{a, b, ...}."""
        return set(values)

    def build_map(self, keys: Sequence[Any], values: Sequence[Any]) -> Any:
        """{a: b, ...}."""
        return dict(zip(keys, values))

    def build_string(self, parts: list[Any]) -> Any:
        """f"{a}{b}..."."""
        return "".join(parts)

    def build_slice(self, parts: list[Any]) -> Any:
        """a:b or a:b:c."""
        return slice(*parts)

    def list_append(self, items: Any, value: Any) -> None:
        """One more value for a list that is being built."""
        items.append(value)

    def set_add(self, items: Any, value: Any) -> None:
        """One more value for a set that is being built."""
        items.add(value)

    def map_add(self, items: Any, key: Any, value: Any) -> None:
        """One more pair for a dict that is being built."""
        items[key] = value

    def list_extend(self, items: Any, more: Any) -> None:
        """[..., *more]."""
        if not _is_iterable(more):
            raise TypeError(f"Value after * must be an iterable, not {type(more).__name__}")
        items.extend(more)

    def set_update(self, items: Any, more: Any) -> None:
        """{..., *more}."""
        items.update(more)

    def dict_update(self, items: Any, more: Any) -> None:
        """{..., **more}."""
        if not hasattr(more, "keys"):
            raise TypeError(f"{type(more).__name__!r} object is not a mapping")
        items.update(more)

    def dict_merge(self, function: Any, keywords: Any, more: Any) -> None:
        """function(..., **more), where some keywords are there already."""
        if not hasattr(more, "keys"):
            raise TypeError(f"{_name(function)} argument after ** must be a mapping, not {type(more).__name__}")
        for key in more.keys():  # noqa: SIM118 - a mapping need have no more than this
            if key in keywords:
                raise TypeError(f"{_name(function)} got multiple values for keyword argument {key!r}")
            keywords[key] = more[key]

    def list_to_tuple(self, items: Any) -> Any:
        """(*a, *b) is built as a list."""
        return tuple(items)

    def convert_value(self, kind: str, value: Any) -> Any:
        """What !s, !r and !a do in an f-string."""
        return CONVERT[kind](value)

    def format_value(self, value: Any, spec: Any) -> Any:
        """f"{value:spec}"."""
        return format(value, spec)

    def unpack_sequence(self, value: Any, count: int) -> list[Any]:
        """a, b = value."""
        values, iterator = self._take(value, count, str(count))
        if next(iterator, NULL) is not NULL:
            raise ValueError(f"too many values to unpack (expected {count})")
        return values

    def unpack_ex(self, value: Any, before: int, after: int) -> list[Any]:
        """a, *b, c = value."""
        expected = f"at least {before + after}"
        values, iterator = self._take(value, before, expected)
        rest = list(iterator)
        if len(rest) < after:
            raise ValueError(f"not enough values to unpack (expected {expected}, got {before + len(rest)})")
        split = len(rest) - after
        return [*values, rest[:split], *rest[split:]]

    def _take(self, value: Any, count: int, expected: str) -> tuple[list[Any], Iterator[Any]]:
        """The first values, and the iterator over the others."""
        if not _is_iterable(value):
            raise TypeError(f"cannot unpack non-iterable {type(value).__name__} object")
        iterator = iter(value)
        values: list[Any] = []
        for _ in range(count):
            values.append(next(iterator, NULL))
            if values[-1] is NULL:
                raise ValueError(f"not enough values to unpack (expected {expected}, got {len(values) - 1})")
        return values, iterator

    # Iterators.

    def get_iter(self, value: Any) -> Any:
        """iter(value)."""
        return iter(value)

    def next(self, iterator: Any) -> Any:
        """next(iterator); StopIteration ends the loop."""
        if type(iterator) is InterpretedGenerator:
            return Resume(iterator, None)
        return next(iterator)

    def send(self, receiver: Any, value: Any) -> Any:
        """What a generator that is yielded from yields next; StopIteration has its result."""
        if type(receiver) is InterpretedGenerator:
            return Resume(receiver, value)
        return next(receiver) if value is None and isinstance(receiver, Iterator) else receiver.send(value)

    def release_generator(self, generator: Any) -> None:
        """A suspended generator is dropped: a loop over it is left."""

    # Calls.

    def call(self, frame: Frame, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """function(*args, **kwargs)."""
        if type(function) is MethodType and type(function.__func__) is FunctionType:
            args, function = (function.__self__, *args), function.__func__
        if type(function) is FunctionType and is_interpretable(function) and self.should_inline(function):
            return Inline(function, args, kwargs)
        replacement = FRAME_BUILTINS.get(id(function))
        return function(*args, **kwargs) if replacement is None else replacement(frame, *args, **kwargs)

    def should_inline(self, function: FunctionType) -> bool:
        """Whether a function that is called shall be interpreted too.

        Those of the standard library are not: some look at the frames of their callers.
        """
        return str(function.__module__).partition(".")[0] not in sys.stdlib_module_names

    def call_arguments(self, function: Any, args: Any) -> tuple[Any, ...]:
        """function(*args)."""
        if not _is_iterable(args):
            raise TypeError(f"{_name(function)} argument after * must be an iterable, not {type(args).__name__}")
        return tuple(args)

    def make_function(self, frame: Frame, code: Any, parts: Mapping[str, Any]) -> Any:
        """def, lambda and comprehensions: a real function, which shares its cells with the frame."""
        function = FunctionType(code, frame.globals, None, parts.get("defaults"), parts.get("closure"))
        if "kwdefaults" in parts:
            function.__kwdefaults__ = parts["kwdefaults"]
        if "annotations" in parts:
            annotations = parts["annotations"]
            function.__annotations__ = dict(zip(annotations[::2], annotations[1::2]))
        return function

    # Exceptions.

    def raise_exception(self, exception: Any) -> None:
        """raise exception."""
        raise exception

    def raise_from(self, exception: Any, cause: Any) -> None:
        """raise exception from cause."""
        raise exception from cause

    def exception_matches(self, exception: BaseException, kinds: Any) -> bool:
        """Whether `except kinds` takes an exception."""
        kinds = kinds if isinstance(kinds, tuple) else (kinds,)
        for kind in kinds:
            if not (isinstance(kind, type) and BaseException in kind.__mro__):
                raise TypeError("catching classes that do not inherit from BaseException is not allowed")
        return any(kind in type(exception).__mro__ for kind in kinds)

    # Imports.

    def import_name(self, frame: Frame, name: str, names: Any, level: int) -> Any:
        """import name, from name import names."""
        function = frame.builtins.get("__import__")
        if function is None:
            raise ImportError("__import__ not found")
        return function(name, frame.globals, frame.namespace, names, level)

    def import_from(self, module: Any, name: str) -> Any:
        """from module import name, for one of the names."""
        try:
            return getattr(module, name)
        except AttributeError:
            package = getattr(module, "__name__", None)
        if isinstance(package, str) and f"{package}.{name}" in sys.modules:
            return sys.modules[f"{package}.{name}"]
        package = package if isinstance(package, str) else "<unknown module name>"
        path = getattr(module, "__file__", None)
        place = path if isinstance(path, str) else "unknown location"
        raise ImportError(f"cannot import name {name!r} from {package!r} ({place})", name=package, path=path)

    def import_star(self, frame: Frame, module: Any) -> None:
        """from module import *."""
        assert frame.namespace is not None  # the compiler allows it in modules only
        names = getattr(module, "__all__", None)
        if names is None:
            names = [name for name in vars(module) if not name.startswith("_")]
        for name in names:
            frame.namespace[name] = getattr(module, name)

    # Patterns.

    def get_len(self, subject: Any) -> Any:
        """len(subject)."""
        return len(subject)

    def match_sequence(self, subject: Any) -> bool:
        """Whether `case [...]` may take a subject."""
        return bool(type(subject).__flags__ & pattern_matching.SEQUENCE)

    def match_mapping(self, subject: Any) -> bool:
        """Whether `case {...}` may take a subject."""
        return bool(type(subject).__flags__ & pattern_matching.MAPPING)

    def match_keys(self, subject: Any, keys: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The values for the keys in `case {...}`, or None."""
        return pattern_matching.match_keys(subject, keys)

    def match_class(self, subject: Any, kind: Any, positional: int, names: tuple[str, ...]) -> tuple[Any, ...] | None:
        """The attributes for the patterns in `case Class(...)`, or None."""
        return pattern_matching.match_class(subject, kind, positional, names)


def is_interpretable(function: FunctionType) -> bool:
    """Whether nothing in a function is refused, and it is no part of the interpreter itself."""
    if str(function.__globals__.get("__name__")).startswith(_COMPILE):
        return False
    try:
        decode(function.__code__)
    except NotSupported:
        return False
    return True


def _is_iterable(value: Any) -> bool:
    """Whether iter() may succeed: where not, statements have messages of their own."""
    kind = type(value)
    return hasattr(kind, "__iter__") or hasattr(kind, "__getitem__")


def _name(function: Any) -> str:
    """How CPython names a callable in messages about its arguments."""
    name = getattr(function, "__qualname__", None)
    if name is None:
        return str(function)
    module = getattr(function, "__module__", None)
    return f"{name}()" if module is None or module == "builtins" else f"{module}.{name}()"
