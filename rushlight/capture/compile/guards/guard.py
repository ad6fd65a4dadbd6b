"""Guards as data: what must hold of a value, where the value is found, and which line of the program relied on it.

A guard has three evaluators, which all read the same record: :mod:`.python_guards` generates Python, the native virtual machine takes what
:mod:`rushlight.runtime.call.guard_compiler` translates, and :func:`describe` and :func:`failure` say in words what is checked and why it failed.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Any, NamedTuple

from ....core.base import TensorBase
from ....core.symbolic import Expression
from .sources import Source


class Kind(Enum):
    """What a guard checks.  The comment says what its ``expected`` is."""

    # The state of the thread and of the process; these have no source.
    GRAD_MODE = auto()  # bool
    MODES = auto()  # what `ambient()` gives, or None: no interceptor and no inference mode
    DEFAULT_DTYPE = auto()  # dtype
    CLASS_METHOD = auto()  # (class, name, function): what a class has by that name

    # Values.  Objects that must not be kept alive are expected as weak references.
    EQUAL = auto()  # a constant, of the same type
    IDENTITY = auto()  # the object
    NOT_NONE = auto()
    TYPE = auto()  # the class
    NUMBER = auto()  # int or float: a number whose value is symbolic
    FINITE = auto()
    CODE = auto()  # the code object of a function
    METHOD = auto()  # (name, function): what a bound method calls
    INHERITED = auto()  # (name, class): a Module of that class has no attribute of its own by a name
    ATTRIBUTE = auto()  # (name, whether it is called, result)
    ABSENT = auto()  # the name of an attribute, which `hasattr` does not find
    LACKS = auto()  # the name of an attribute, which is not there without asking `__getattr__`
    FIELDS = auto()  # the names in `__dict__`, in order
    NO_FIELD = auto()  # a name that is not in `__dict__`
    NO_HOOKS = auto()  # of a Module
    ALL_EMPTY = auto()  # None; the containers are the other sources
    ARRAY = auto()  # a copy of a NumPy array
    PREDICATE = auto()  # a function of the value
    OPTIONS = auto()  # an object with the `last` accepted values of an options dict and the position of its `params`

    # Containers.
    LENGTH = auto()  # number of elements
    KEYS = auto()  # the keys of a dict, in order
    EMPTY = auto()  # bool: whether the container is
    CONTAINS = auto()  # (key, bool)

    # Several values.
    SAME_OBJECT = auto()  # bool: whether the first other source is the same object
    DISTINCT = auto()  # None; no two of the other sources are the same object

    # Tensors.
    TENSOR = auto()  # TensorType
    DEVICE = auto()  # of a tensor that is not on the CPU
    SHAPE = auto()  # all sizes
    RANK = auto()  # all sizes, of which the number matters
    SIZE = auto()  # (dimension, all sizes)
    STRIDES = auto()
    CONTIGUOUS = auto()
    STRIDE_ORDER = auto()  # what `stride_order` gives
    LEAF = auto()

    RELATION = auto()  # Relation between symbolic numbers


class Guard(NamedTuple):
    """One condition under which a captured program holds."""

    kind: Kind
    source: Source | None
    expected: Any = None
    others: tuple[Source, ...] = ()
    message: str | Callable[[], str] | None = None  # replaces the words that follow from the kind
    place: tuple[Any, Any, int] | None = None  # code, bytecode and index of the instruction in the user's program that relies on it

    @property
    def line(self) -> tuple[str, int] | None:
        """File and line of the user's program that relies on it."""
        if self.place is None:
            return None
        code, bytecode, index = self.place
        return code.co_filename, bytecode.instructions[index].position.line or code.co_firstlineno

    def __repr__(self) -> str:
        return f"<guard: {describe(self)}>"


class TensorProperties(NamedTuple):
    """What a tensor must be, beside its sizes."""

    kind: type
    array_kind: type  # the class of its array, which the CPU has for itself
    element: Any  # NumPy's dtype
    requires_grad: bool
    dtype: Any
    device: Any


class Read(NamedTuple):
    """A step of a guard program: a variable gets the value of a source, which is read along a path that may be shorter."""

    variable: str
    source: Source
    path: Source


class Computed(NamedTuple):
    """A number that follows from symbolic ones by a function; ``sign`` is that of a binary operator."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    sign: str | None = None


class Relation(NamedTuple):
    """The outcome of a comparison of numbers: formulas of sizes (`Expression`), `Source`, `Computed`, or constants."""

    op: str
    left: Any
    right: Any
    outcome: bool
    symbols: Mapping[str, tuple[Source, int | None]]  # where symbols of formulas come from: a number, or a dimension of a tensor


def sources_in(value: Any) -> list[Source]:
    """The sources that a number of a relation is computed from, beside the symbols of formulas."""
    if isinstance(value, Computed):
        return [source for each in value.arguments for source in sources_in(each)]
    return [value] if isinstance(value, Source) else []


def referent(expected: Any) -> Any:
    """An expected object, which may be held by a weak reference."""
    return expected() if type(expected) is weakref.ref else expected


# -- formulas as text ------------------------------------------------------------------------------------------------------------------


class _Text(str):
    """Text of a formula that needs parentheses as an operand."""


def _operand(text: Any) -> str:
    return f"({text})" if isinstance(text, _Text) else str(text)


def _binary(sign: str) -> Callable[[Any, Any], str]:
    return lambda a, b: _Text(f"{_operand(a)} {sign} {_operand(b)}")


_OPERATIONS: Mapping[str, Callable[..., Any]] = {
    **{sign: _binary(sign) for sign in ("*", "//", "%")},
    "+": lambda a, b: _Text(f"{a} + {b}"),
    "max": lambda a, b: f"max({a}, {b})",
    "min": lambda a, b: f"min({a}, {b})",
}


def formula_text(value: Any, symbols: Mapping[str, str], read: Callable[[Source], str], constant: Callable[[Any], str]) -> str:
    """A number of a relation as Python, given the text of symbols, of sources and of constants that have no literal."""
    if isinstance(value, Expression):
        found = value.evaluate(symbols, _OPERATIONS)
        return found if isinstance(found, str) else str(found)
    if isinstance(value, Source):
        return read(value)
    if isinstance(value, Computed):
        parts = [formula_text(each, symbols, read, constant) for each in value.arguments]
        return f"{constant(value.function)}({parts[0]})" if value.sign is None else _binary(value.sign)(*parts)
    return constant(value)


def relation_text(relation: Relation, symbols: Mapping[str, str], read: Callable[[Source], str], constant: Callable[[Any], str]) -> str:
    """A comparison as Python."""
    left, right = (_operand(formula_text(each, symbols, read, constant)) for each in (relation.left, relation.right))
    return f"{left} {relation.op} {right}"


# -- words -----------------------------------------------------------------------------------------------------------------------------


def short(value: Any) -> str:
    """A value on one line of limited length."""
    text = repr(value).replace("\n", " ")
    return text if len(text) < 80 else text[:77] + "..."


def _relation_words(guard: Guard) -> str:
    relation: Relation = guard.expected
    symbols = {
        name: source.describe() if dim is None else f"{source.describe()}.shape[{dim}]" for name, (source, dim) in relation.symbols.items()
    }
    text = relation_text(relation, symbols, lambda source: source.describe(), lambda value: getattr(value, "__name__", None) or repr(value))
    return text if relation.outcome else f"not {text}"


def _type_name(expected: Any) -> str:
    kind = referent(expected)
    return "a class that is gone" if kind is None else str(kind.__name__)


_WORDS: Mapping[Kind, Callable[[Any, str], str]] = {
    Kind.GRAD_MODE: lambda g, s: "grad mode",
    Kind.MODES: lambda g, s: "autocast and inference mode",
    Kind.DEFAULT_DTYPE: lambda g, s: "default dtype",
    Kind.CLASS_METHOD: lambda g, s: f"{_type_name(g.expected[0])}.{g.expected[1]} is the same function",
    Kind.EQUAL: lambda g, s: (
        f"{s} is {g.expected}"
        if g.expected is None or g.expected is Ellipsis or isinstance(g.expected, bool)
        else f"{s} == {short(g.expected)}"
    ),
    Kind.IDENTITY: lambda g, s: f"{s} is the same {type(referent(g.expected)).__name__}",
    Kind.NOT_NONE: lambda g, s: f"{s} is there",
    Kind.TYPE: lambda g, s: f"type of {s} is {_type_name(g.expected)}",
    Kind.NUMBER: lambda g, s: f"{s} is {'an integer' if g.expected is int else 'a float'}",
    Kind.FINITE: lambda g, s: f"{s} is finite",
    Kind.CODE: lambda g, s: f"{s} is the function {g.expected.co_qualname}",
    Kind.METHOD: lambda g, s: f"{s}.{g.expected[0]} is the same method",
    Kind.INHERITED: lambda g, s: f"{s}.{g.expected[0]} is the same method",
    Kind.ATTRIBUTE: lambda g, s: f"{s}.{g.expected[0]}",
    Kind.ABSENT: lambda g, s: f"{s} has no {g.expected}",
    Kind.LACKS: lambda g, s: f"{s} has no {g.expected}",
    Kind.FIELDS: lambda g, s: f"attributes of {s}",
    Kind.NO_FIELD: lambda g, s: f"{s} has no {g.expected} of its own",
    Kind.NO_HOOKS: lambda g, s: f"{s} has no hooks",
    Kind.ALL_EMPTY: lambda g, s: f"{', '.join(each.describe() for each in g.others)} are empty",
    Kind.ARRAY: lambda g, s: f"elements of {s}",
    Kind.PREDICATE: lambda g, s: f"{g.expected.__name__} of {s}",
    Kind.OPTIONS: lambda g, s: f"which options of {s} are on",
    Kind.LENGTH: lambda g, s: f"length of {s} is {g.expected}",
    Kind.KEYS: lambda g, s: f"keys of {s}",
    Kind.EMPTY: lambda g, s: f"{s} is {'' if g.expected else 'not '}empty",
    Kind.CONTAINS: lambda g, s: f"{g.expected[0]!r} is {'' if g.expected[1] else 'not '}in {s}",
    Kind.SAME_OBJECT: lambda g, s: f"{s} {'is' if g.expected else 'is not'} {g.others[0].describe()}",
    Kind.DISTINCT: lambda g, s: f"{', '.join(each.describe() for each in g.others)} are different objects",
    Kind.TENSOR: lambda g, s: f"tensor {s}: type, device, dtype, requires_grad",
    Kind.DEVICE: lambda g, s: f"tensor {s}: device {g.expected}",
    Kind.SHAPE: lambda g, s: f"tensor {s}: sizes {g.expected}",
    Kind.RANK: lambda g, s: f"tensor {s}: {len(g.expected)} dimensions",
    Kind.SIZE: lambda g, s: f"tensor {s}: size {g.expected[0]} is {g.expected[1][g.expected[0]]}",
    Kind.STRIDES: lambda g, s: f"strides of {s}",
    Kind.CONTIGUOUS: lambda g, s: f"{s} is contiguous",
    Kind.STRIDE_ORDER: lambda g, s: f"order of the strides of {s}",
    Kind.LEAF: lambda g, s: f"{s} is a leaf without hooks",
    Kind.RELATION: lambda g, s: _relation_words(g),
}


def describe(guard: Guard) -> str:
    """What a guard checks, in words."""
    if guard.message is not None:
        return guard.message() if callable(guard.message) else guard.message
    return _WORDS[guard.kind](guard, "" if guard.source is None else guard.source.describe())


def failure(guard: Guard, now: Any) -> str:
    """Why a guard on a tensor failed, given the present value; for other kinds that the guard does not hold."""
    name = f"argument `{guard.source.describe()}`" if guard.source is not None else ""
    if guard.kind is Kind.TENSOR:
        expected: TensorProperties = guard.expected
        if not isinstance(now, TensorBase):
            return f"{name}: it was a tensor, and is a {type(now).__name__} now"
        if now.dtype != expected.dtype:  # type: ignore[attr-defined]
            return f"{name}: its dtype was {expected.dtype}, and is {now.dtype} now"  # type: ignore[attr-defined]
        if now.device != expected.device:  # type: ignore[attr-defined]
            return f"{name}: it was on {expected.device}, and is on {now.device} now"  # type: ignore[attr-defined]
        if now._requires_grad is not expected.requires_grad:
            return f"{name}: requires_grad was {expected.requires_grad}, and is {now._requires_grad} now"
        return f"{name}: its class is {type(now).__name__} now"
    if guard.kind in (Kind.SHAPE, Kind.RANK, Kind.SIZE):
        sizes = guard.expected[1] if guard.kind is Kind.SIZE else guard.expected
        found = now._array.shape
        if len(found) != len(sizes):
            return f"{name}: it had {len(sizes)} dimensions, and has {len(found)} now"
        parts = [f"size {dim} was {was}, now {is_now}" for dim, (was, is_now) in enumerate(zip(sizes, found)) if was != is_now]
        return f"{name}: {', '.join(parts)}; mark it dynamic or let it generalise"
    if guard.kind is Kind.DEVICE:
        return f"{name}: it was on {guard.expected}, and is on {now.device} now"
    return f"this no longer holds: {describe(guard)}"
