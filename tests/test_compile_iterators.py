"""Compiled programs and users' iterators: when they are made and advanced, and what is no iterator."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch


class Counted:
    """An iterator that is its own iterable, and says what is asked of it."""

    def __init__(self, log: list[str]) -> None:
        self.log, self.at = log, 0

    def __iter__(self) -> Counted:
        self.log.append("iter")
        return self

    def __next__(self) -> int:
        self.log.append("next")
        self.at += 1
        if self.at > 3:
            raise StopIteration
        return self.at


class Held:
    """An iterable whose iterator is another object."""

    def __init__(self, log: list[str]) -> None:
        self.log = log

    def __iter__(self) -> Counted:
        self.log.append("held")
        return Counted(self.log)


class NextOnly:
    def __next__(self) -> int:
        return 1


class NoIterator:
    def __iter__(self) -> Any:
        return object()


MAKERS: dict[str, Callable[[Any], Any]] = {
    "iter": iter,
    "enumerate": enumerate,
    "map": lambda held: map(lambda each: each + 1, held),  # noqa: C417
    "zip": lambda held: zip(held, held),
    "chain": itertools.chain,
    "islice": lambda held: itertools.islice(held, 2),
}


@pytest.mark.parametrize("name", MAKERS)
def test_an_iterator_is_made_when_a_builtin_is_called_with_its_iterable(name: str) -> None:
    def program(x: Any, log: list[str]) -> Any:
        made = MAKERS[name](Held(log))
        log.append("made")
        return x + 1, list(made)

    wanted: list[str] = []
    expected = program(torch.ones(1), wanted)
    compiled = torch.compile(program, fullgraph=True)
    for _ in range(2):
        log: list[str] = []
        assert compiled(torch.ones(1), log) == expected
        assert log == wanted


def test_iter_gives_the_iterator_of_the_class() -> None:
    def program(x: Any, log: list[str]) -> Any:
        own = Counted(log)
        other = iter(Held(log))
        return x * next(other) * next(other), other, iter(own) is own, other.at

    compiled = torch.compile(program, fullgraph=True)
    for _ in range(2):
        log: list[str] = []
        found, other, same, at = compiled(torch.ones(1), log)
        assert (found.item(), type(other), same, at, next(other)) == (2, Counted, True, 2, 3)
        assert log == ["held", "next", "next", "iter", "next"]


@pytest.mark.parametrize("kind", [NextOnly, NoIterator])
@pytest.mark.parametrize(
    "function", [list, tuple, set, sum, iter, enumerate, zip, dict.fromkeys, lambda v: [*v], lambda v: [each + 0 for each in v]]
)
def test_what_is_no_iterable_raises_as_in_eager_mode(function: Any, kind: Any) -> None:
    def program(x: Any) -> Any:
        try:
            function(kind())
        except TypeError as error:
            return x + 1, str(error)
        return x, ""

    assert torch.compile(program)(torch.ones(1))[1] == program(torch.ones(1))[1] != ""
