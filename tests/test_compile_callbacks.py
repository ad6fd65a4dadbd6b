"""Compiled programs and what builtin functions call: keys, comparisons, ``__index__`` and ``_missing_`` have their effects in every call."""

from __future__ import annotations

import enum
import functools
import itertools
import operator
import re
from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch

LOG: list[Any] = []
FACTOR = 1


class Place:
    """A number by its ``__index__``."""

    def __init__(self, at: int) -> None:
        self.at = at

    def __index__(self) -> int:
        LOG.append(self.at)
        return self.at


class Kind(enum.Enum):
    FIRST = 1

    @classmethod
    def _missing_(cls, value: object) -> Kind:
        LOG.append(value)
        return cls.FIRST


def logged(value: Any) -> Any:
    LOG.append(value)
    return value * FACTOR


def compared(a: Any, b: Any) -> Any:
    LOG.append((a, b))
    return (a - b) * FACTOR


def changed(items: list[int]) -> list[int]:
    items[Place(0)] = 7
    items[Place(1) : Place(2)] = [8, 9]
    del items[Place(2)]
    return items


PROGRAMS: dict[str, Callable[[], Any]] = {
    "groupby": lambda: [(key, list(group)) for key, group in itertools.groupby([1, 1, 2], logged)],
    "groupby by name": lambda: [(key, list(group)) for key, group in itertools.groupby([1, 1, 2], key=logged)],
    "accumulate": lambda: list(itertools.accumulate([1, 2, 3], lambda a, b: a + logged(b))),
    "accumulate by name": lambda: list(itertools.accumulate([1, 2, 3], func=lambda a, b: a + logged(b), initial=4)),
    "cmp_to_key": lambda: sorted([3, 1, 2], key=functools.cmp_to_key(compared)),
    "re.sub": lambda: re.sub("a", lambda match: logged("b"), "aa"),
    "an enum": lambda: Kind(FACTOR + 4),
    "an index": lambda: [1, 2, 3][Place(FACTOR)],
    "a slice": lambda: (1, 2, 3)[Place(0) : Place(FACTOR)],
    "writes": lambda: changed([1, 2, 3]),
    "operator": lambda: operator.getitem("abc", Place(FACTOR)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_a_builtin_calls_has_its_effects_in_every_call(name: str) -> None:
    def program(x: Any) -> Any:
        return x + 1, PROGRAMS[name]()

    compiled = torch.compile(program)
    try:
        for factor in (1, 1, 2, 1):
            globals()["FACTOR"] = factor
            LOG.clear()
            expected, effects = program(torch.ones(1)), list(LOG)
            LOG.clear()
            assert (compiled(torch.ones(1)), LOG) == (expected, effects)
    finally:
        globals()["FACTOR"] = 1


def test_indices_of_tensors_are_asked_in_every_call() -> None:
    def program(x: Any, bound: Any) -> Any:
        y = x[bound:, Place(0)]
        z = x.clone()
        z[:bound] = 0
        return y, z

    compiled = torch.compile(program, fullgraph=True)
    for at in (1, 1, 2, 0):
        x = torch.arange(6.0).view(3, 2)
        LOG.clear()
        expected, effects = program(x, Place(at)), list(LOG)
        LOG.clear()
        found = compiled(x, Place(at))
        assert [each.tolist() for each in found] == [each.tolist() for each in expected]
        assert sorted(LOG) == sorted(effects)  # eager mode reads numbers before slices


def test_a_sequence_is_indexed_by_objects_in_one_graph() -> None:
    compiled = torch.compile(lambda x, at: x * [1.0, 2.0, 4.0][at] + range(5)[at], fullgraph=True)
    assert [compiled(torch.ones(1), Place(each)).item() for each in (1, 1, 2)] == [3, 3, 6]


def test_an_index_that_is_no_number_raises_as_in_eager_mode() -> None:
    class Wrong:
        def __index__(self) -> Any:
            return "1"

    with pytest.raises(TypeError, match=r"__index__ returned non-int \(type str\)"):
        torch.compile(lambda x: x + [1, 2][Wrong()])(torch.ones(1))  # type: ignore[call-overload]


def test_a_comparing_key_is_a_result() -> None:
    compiled = torch.compile(lambda x: (x + 1, functools.cmp_to_key(compared)))
    for _ in range(2):
        assert sorted([2, 1], key=compiled(torch.ones(1))[1]) == [1, 2]
