"""Compiled programs: what becomes a text, a number, a hash, a copy or keywords by methods in Python of its class; and classes of programs from strings."""

from __future__ import annotations

import collections
import copy
import functools
import math
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, NamedTuple

import pytest

import rushlight as torch
from rushlight.compat import checks

LOG: list[Any] = []


class Number:
    """An object with a method for each conversion."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __str__(self) -> str:
        LOG.append("str")
        return f"Number({self.value})"

    def __int__(self) -> int:
        LOG.append("int")
        return self.value

    def __float__(self) -> float:
        return self.value * 1.5

    def __hash__(self) -> int:
        return self.value + 10

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and self.value == other.value

    def __abs__(self) -> Number:
        return Number(abs(self.value))

    def __round__(self, digits: int | None = None) -> tuple[int, int | None]:
        return self.value, digits

    def __floor__(self) -> int:
        return self.value - 1

    def __copy__(self) -> Number:
        LOG.append("copy")
        return Number(self.value + 1)


class Shown:
    def __repr__(self) -> str:
        LOG.append("repr")
        return "shown"


class Formatted:
    def __format__(self, spec: str) -> str:
        return f"<{spec}>"


class Index:
    def __index__(self) -> int:
        return 3


class Tensors(MutableMapping[str, Any]):
    """A mapping of the user's."""

    def __init__(self, **values: Any) -> None:
        self.values_ = values

    def __getitem__(self, key: str) -> Any:
        LOG.append(key)
        return self.values_[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.values_[key] = value

    def __delitem__(self, key: str) -> None:
        del self.values_[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_)

    def __len__(self) -> int:
        return len(self.values_)


class Doubling(dict[str, str]):
    def __missing__(self, key: str) -> str:
        LOG.append(key)
        return key * 2


class Named(NamedTuple):
    a: Any
    b: Any


class Pair(Named):
    def __new__(cls, a: Any, b: Any) -> Pair:
        return super().__new__(cls, a, b)

    def __add__(self, other: Any) -> Pair:
        return Pair(self.a + other.a, self.b + other.b)


class Three(tuple[int, ...]):
    def __new__(cls, *args: Any) -> Three:
        return super().__new__(cls, [1, 2, 3])


def numbers(x: Any, n: Any) -> Any:
    return x + int(n) + float(n), hash(n), abs(n).value, round(n), round(n, 1), math.floor(n), copy.copy(n).value


def texts(x: Any, n: Any) -> Any:
    shown, formatted = Shown(), Formatted()
    made = [
        str(n),
        f"{n}",
        format(n),
        str(shown),
        repr(shown),
        f"{shown!r}",
        f"{shown!r:>7}",
        f"{shown!s}",
        f"{formatted:abc}",
        format(formatted, "q"),
    ]
    return x + 1, made


def indices(x: Any, n: Any) -> Any:
    return x + int(Index()) + float(Index())


def tuples(x: Any, n: Any) -> Any:
    return Pair(x, x) + Pair(x + 1, x), Three(), Named(1, "a") == Named(1, "a")


def scaled(x: Any, a: Any = 1) -> Any:
    return x * a


TENSORS = Tensors(a=torch.ones(3) * 2)


def mappings(x: Any, n: Any) -> Any:
    return scaled(x, **TENSORS), {**TENSORS}["a"] + x, dict(TENSORS)["a"]


COUNTED: dict[str, int] = collections.defaultdict(lambda: 5)


def missing(x: Any, n: Any) -> Any:
    COUNTED["q"] += 1
    plain: dict[int, Any] = collections.defaultdict()
    try:
        plain[1] += 1
    except KeyError as error:
        plain[1] = error.args
    return x + COUNTED["q"] + COUNTED["z"], plain, Doubling(a="b")["zz"]


@functools.lru_cache
def reduced(x: Any) -> Any:
    return x - 1


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(*args: Any) -> Any:
        return function(*args)

    return inner


def wraps(x: Any, n: Any) -> Any:
    return wrapped(wrapped(reduced))(x)


@torch.jit.script_if_tracing
def chosen(x: Any, factor: int = 3) -> Any:
    return x * factor


def decorated(x: Any, n: Any) -> Any:
    return x if torch.onnx.is_in_onnx_export() else chosen(x)


SOURCE = """
class Texts:
    def __init__(self, value):
        self.value = value

    def __str__(self):
        LOG.append("from a string")
        return str(self.value)

    def __eq__(self, other):
        LOG.append("equal")
        return True


def from_string(x, n):
    return x + 1, str(Texts(n.value)), Texts(1) == Texts(2)
"""
NAMES: dict[str, Any] = {"LOG": LOG, "__name__": "program"}
exec(SOURCE, NAMES)


@pytest.mark.parametrize("program", [numbers, texts, indices, tuples, mappings, missing, wraps, decorated, NAMES["from_string"]])
def test_conversions_run_methods_of_classes(program: Callable[..., Any]) -> None:
    """One graph, the results of eager mode, and each effect of a method once in every call."""
    outcomes = []
    for run in (program, torch.compile(program, backend="eager", fullgraph=True)):
        COUNTED.clear()
        LOG.clear()
        results = [repr(run(torch.arange(3.0), Number(-4))) for _ in range(3)]
        outcomes.append((results, list(LOG), dict(COUNTED)))
    assert outcomes[0] == outcomes[1]


class Wrong:
    def __str__(self) -> Any:
        return 3

    def __int__(self) -> Any:
        return "x"

    def __hash__(self) -> Any:
        return "x"


@pytest.mark.parametrize("convert", [str, int, hash])
def test_conversions_refuse_what_methods_give(convert: Callable[..., Any]) -> None:
    """The error of a method that gives another type is Python's."""
    with pytest.raises(TypeError) as expected:
        convert(Wrong())
    with pytest.raises(TypeError) as given:
        torch.compile(lambda x: (x + 1, convert(Wrong())), backend="eager", fullgraph=True)(torch.ones(1))
    assert str(given.value) == str(expected.value)


class Tagged(type):
    """A metaclass by which instances are told by their tag."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Plain) and instance.tag == "child"


class Plain:
    def __init__(self, tag: str = "default") -> None:
        self.tag = tag


class Made(Plain, metaclass=Tagged):
    def __new__(cls) -> Any:
        return Plain(tag="child")


def test_init_is_called_of_instances_alone() -> None:
    """What ``__new__`` gives is initialized if its class derives from this one, whatever the metaclass says of it."""
    assert torch.compile(lambda x: (x, Made().tag), backend="eager", fullgraph=True)(torch.ones(1))[1] == "child"


def test_checks_with_messages() -> None:
    """``torch._check`` and its like are looked into: messages are made where a check fails, in any call."""
    made = []

    def message(x: Any) -> Callable[[], str]:
        return lambda: made.append(1) or f"{x.shape[0]} is too small"  # type: ignore[func-returns-value]

    def program(x: Any) -> Any:
        checks._check(x.shape[0] > 3, message(x))
        try:
            checks._check_with(IndexError, x.shape[0] > 100, lambda: "expected")
        except IndexError as error:
            return x + len(str(error))

    compiled = torch.compile(program, backend="eager", fullgraph=True)
    assert compiled(torch.ones(4)).tolist() == [9.0] * 4 and compiled(torch.ones(5)).tolist() == [9.0] * 5 and not made
    with pytest.raises(RuntimeError, match="3 is too small"):
        compiled(torch.ones(3))
    assert made == [1]
