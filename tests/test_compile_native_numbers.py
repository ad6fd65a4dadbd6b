"""Symbolic numbers that reach native code, which knows no formulas: their values are guarded, and the code sees plain numbers."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import fractions
import itertools
import math
import operator
import re
import statistics
import string
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rushlight as rl


class Level(enum.IntEnum):
    LOW = 1


class Shifted(int):
    def __add__(self, other: int) -> int:
        return int(self) - other


def _sorted_by(n: int) -> list[int]:
    items = [3, 2, 1]
    items.sort(key=lambda each: each * n)
    return items


def _inserted(n: int) -> list[int]:
    items = list(range(9))
    items.insert(n, 99)
    items.pop(n + 1)
    return items


def _rotated(n: int) -> Any:
    items = collections.deque([1, 2, 3])
    items.rotate(n)
    return items


def _with_slice(n: int) -> list[int]:
    items = [1, 2, 3, 4, 5]
    items.__setitem__(slice(0, n), [9])
    return items


PROGRAMS: dict[str, Callable[[int, float], Any]] = {
    "count": lambda n, h: list(itertools.islice(itertools.count(n), 3)),
    "repeat": lambda n, h: list(itertools.repeat(h, n)),
    "compress": lambda n, h: list(itertools.compress([1, 2], [n - 3, h])),
    "Fraction": lambda n, h: fractions.Fraction(n, 4),
    "Decimal": lambda n, h: decimal.Decimal(n) + 1,
    "timedelta": lambda n, h: datetime.timedelta(days=n),
    "method of a date": lambda n, h: datetime.date(2020, 1, 5).replace(day=n),
    "Template": lambda n, h: string.Template("$a").substitute(a=n),
    "round": lambda n, h: round(number=h, ndigits=n - 2),
    "pow": lambda n, h: pow(base=2, exp=n, mod=7),
    "int of a text": lambda n, h: int("11", base=n),
    "str": lambda n, h: str(object=n),
    "bytes": lambda n, h: bytes(n),
    "slice": lambda n, h: slice(0, n).indices(4),
    "class of an int": lambda n, h: (n.__class__, h.__class__),
    "itemgetter": lambda n, h: operator.itemgetter(n)(range(9)),
    "isclose": lambda n, h: math.isclose(1.5, 2.5, abs_tol=h),
    "format": lambda n, h: "{a}".format(a=n),  # noqa: UP032
    "split": lambda n, h: "a.b.c.d.e.f".split(".", maxsplit=n),
    "sorted backwards": lambda n, h: sorted([3, 1, 2], reverse=n - 3),  # type: ignore[call-overload]
    "key of sort": lambda n, h: _sorted_by(n - 3),
    "key of max": lambda n, h: max([3, 1], key=lambda each: each * (n - 3)),
    "filter": lambda n, h: list(filter(lambda each: n - each, [2, 3, 4])),
    "insert": lambda n, h: _inserted(n),
    "rotate": lambda n, h: _rotated(n),
    "__setitem__": lambda n, h: _with_slice(n),
    "enum": lambda n, h: Level.LOW + n,
    "truth value": lambda n, h: True + n,
    "an int's own sum": lambda n, h: Shifted(10) + n,
    "sub": lambda n, h: re.sub("a", "b", "aaaaaa", count=n),
    "group": lambda n, h: re.match("(a)(b)(c)(d)(e)", "abcde").group(n),  # type: ignore[union-attr]
    "mean": lambda n, h: statistics.mean([n, h]),
    "NumPy number": lambda n, h: np.float32(h),
    "NumPy keyword": lambda n, h: np.linspace(0, 1, num=n).tolist(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_native_code_sees_the_numbers_of_each_call(name: str) -> None:
    value = PROGRAMS[name]

    def program(x: rl.Tensor, n: int, h: float) -> Any:
        return x + 1, value(n, h)

    compiled = rl.compile(program, backend="eager")
    for n, h in ((2, 1.5), (3, 2.5), (4, 0.25), (5, 0.75), (3, 1.25), (4, 0.25), (2, 1.5)):
        found, expected = compiled(rl.ones(2), n, h)[1], value(n, h)
        assert (type(found), found) == (type(expected), expected)


def test_ops_that_specialize_a_number_keep_their_dtype() -> None:
    compiled = rl.compile(lambda x, n, h: (x.norm(n), x.norm(p=h), n**x), backend="eager")
    for n, h in ((2, 1.5), (3, 2.5), (4, 3.5)):
        x = rl.arange(3.0)
        for found, expected in zip(compiled(x, n, h), (x.norm(n), x.norm(p=h), n**x)):
            assert found.dtype is rl.float32 and rl.allclose(found, expected)
