"""Compiled programs and numbers and texts of users' classes, which have attributes of their own beside their value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch
from rushlight.testing.compiling import CompileCounter


class Count(int):
    name: str
    log: list[Any]
    tensor: Any

    def label(self) -> str:
        return self.name


class Text(str):
    name: str


class Unequal(int):
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("guards compare without this")

    __hash__ = int.__hash__


def named(kind: Any, value: Any, name: str) -> Any:
    made = kind(value)
    made.name = name
    return made


@pytest.mark.parametrize("kind, value", [(Count, 5), (Text, "five")])
@pytest.mark.parametrize(
    "program",
    [lambda x, n: (x + 1, n.name), lambda x, n: (x + 1, [n][0].name), lambda x, n: (x + len(str(n)), getattr(n, "name"))],  # noqa: B009
)
def test_attributes_are_guarded(program: Callable[..., Any], kind: Any, value: Any) -> None:
    """A call with an equal number whose attribute differs sees its own."""
    compiled = torch.compile(program, backend="eager", fullgraph=True)
    for name in "abba":
        assert repr(compiled(torch.ones(1), named(kind, value, name))) == repr(program(torch.ones(1), named(kind, value, name)))


def test_methods_and_several_arguments() -> None:
    compiled = torch.compile(lambda x, a, b: (x, a.label(), b.label()), backend="eager", fullgraph=True)
    one = named(Count, 5, "one")
    assert compiled(torch.ones(1), one, one)[1:] == ("one", "one")
    assert compiled(torch.ones(1), one, named(Count, 5, "two"))[1:] == ("one", "two")


def test_writes_are_effects_of_each_call() -> None:
    def program(x: Any, n: Any) -> Any:
        n.total += 1
        n.name = "seen"
        return x + n.total, n

    compiled = torch.compile(program, backend="eager", fullgraph=True)
    counter: Any = named(Count, 5, "new")
    counter.total = 0
    for turn in range(1, 4):
        counter.name = "new"
        result, same = compiled(torch.ones(1), counter)
        assert result.item() == 1 + turn and same is counter and counter.total == turn and counter.name == "seen"


def test_numbers_that_a_program_makes() -> None:
    """Each call makes its own, with the tensors of that call."""

    def program(x: Any, kind: Any, value: Any) -> Any:
        made = named(kind, value, "made")
        made.tensor = x * 2
        return made

    for kind, value in ((Count, 5), (Text, "five"), (type("Real", (float,), {}), 2.5), (type("Both", (complex,), {}), 1 + 2j)):
        compiled = torch.compile(program, backend="eager", fullgraph=True)
        results = [compiled(torch.tensor(float(turn)), kind, value) for turn in range(3)]
        assert [each.tensor.item() for each in results] == [0.0, 2.0, 4.0] and len(set(map(id, results))) == 3
        assert all(type(each) is kind and each == value and each.name == "made" for each in results)


def test_guards_do_not_call_equality_of_the_class() -> None:
    counter = CompileCounter()
    compiled = torch.compile(lambda x, n: x + n, backend=counter, dynamic=False)
    assert [compiled(torch.zeros(1), Unequal(each)).item() for each in (5, 10, 5)] == [5.0, 10.0, 5.0]
    assert counter.frame_count == 2


class Silent(float):
    """A number that no guard may compare."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("compared")

    __hash__ = float.__hash__


def test_guards_of_numbers_do_not_compare_by_their_class() -> None:
    counter = CompileCounter()
    program = torch.compile(lambda x, k: x + k, backend=counter)
    for each, count in ((0.0, 1), (-0.0, 2), (2.5, 3), (float("nan"), 4), (float("nan"), 4), (2.5, 4), (0.0, 4)):
        assert str(program(torch.ones(1), Silent(each))) == str(torch.ones(1) + each)
        assert counter.frame_count == count
