"""Small functions on which the bytecode interpreter is compared with Python itself.

`@program(args, args, ...)` enters a function with the arguments to call it with.  What a function does in passing it
notes in `LOG` (`note(x)` gives x back), so that the order of side effects is compared too.
"""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from typing import Any

LOG: list[Any] = []
PROGRAMS: list[tuple[Any, tuple]] = []


def note(value: Any = None) -> Any:
    """Notes that something was done."""
    LOG.append(repr(value))
    return value


def program(*argument_lists: tuple):
    """Enters a function, to be called once with each tuple of arguments."""

    def enter(function):
        for args in argument_lists or ((),):
            PROGRAMS.append((function, args))
        return function

    return enter


# What the functions work with.


class Manager:
    """A context manager that notes what happens."""

    def __init__(self, name, swallow=False, fail=None):
        self.name, self.swallow, self.fail = name, swallow, fail

    def __enter__(self):
        note(("enter", self.name))
        if self.fail == "enter":
            raise KeyError(self.name)
        return self.name

    def __exit__(self, kind, error, trace):
        note(("exit", self.name, kind, str(error), trace is not None))
        if self.fail == "exit":
            raise LookupError(self.name)
        return self.swallow


class Noisy:
    """A value that notes what is done with it."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"Noisy({self.name!r})"

    def __bool__(self):
        note(("bool", self.name))
        return bool(self.name)

    def __eq__(self, other):
        note(("eq", self.name, other))
        return self.name == getattr(other, "name", other)

    def __hash__(self):
        note(("hash", self.name))
        return hash(self.name)

    def __lt__(self, other):
        note(("lt", self.name))
        return Noisy(self.name < other.name)

    def __add__(self, other):
        note(("add", self.name))
        return Noisy(self.name + getattr(other, "name", other))

    def __radd__(self, other):
        note(("radd", self.name))
        return Noisy(other + self.name)

    def __iadd__(self, other):
        note(("iadd", self.name))
        self.name += other
        return self

    def __getitem__(self, key):
        note(("getitem", key))
        return key

    def __setitem__(self, key, value):
        note(("setitem", key, value))

    def __delitem__(self, key):
        note(("delitem", key))

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        note(("getattr", name))
        return name

    def __contains__(self, item):
        note(("contains", item))
        return item == self.name

    def __format__(self, spec):
        return f"<{self.name}:{spec}>"

    def __len__(self):
        return 3


class Countdown:
    """An iterator written in Python."""

    def __init__(self, start):
        self.left = start

    def __iter__(self):
        note("iter")
        return self

    def __next__(self):
        if self.left == 0:
            raise StopIteration
        self.left -= 1
        return note(self.left)


class Unhelpful:
    def __bool__(self):
        raise ArithmeticError("no truth")

    def __iter__(self):
        yield 1
        raise ArithmeticError("no more")

    @property
    def value(self):
        raise LookupError("no value")


class Base:
    kind = "base"

    def __init__(self, value=1):
        self.value = value

    def twice(self):
        return self.value * 2

    @classmethod
    def make(cls, value):
        return cls(value)

    @staticmethod
    def plain(value):
        return value + 1

    @property
    def half(self):
        return self.value / 2

    @half.setter
    def half(self, new):
        note("set half")
        self.value = new * 2

    @half.deleter
    def half(self):
        note("delete half")
        self.value = None


class Derived(Base):
    kind = "derived"

    def __init__(self, value):
        super().__init__(value + 1)

    def twice(self):
        return super().twice() + super(Derived, self).value_of()  # noqa: UP008 - both forms are wanted

    def value_of(self):
        return self.value

    def captured(self):
        def inner():
            return self.value

        return super().kind, inner()

    @classmethod
    def make(cls, value):
        return super().make(value * 10)


Base.value_of = lambda self: 100


class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y


@dataclass
class Pair:
    left: Any
    right: Any = 0


Named = namedtuple("Named", "a b")
