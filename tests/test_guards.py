"""Guards as records: every kind has words and Python, and both name what changed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import rushlight as torch
from rushlight.capture.compile.guards import guard, python_guards
from rushlight.capture.compile.guards.guard import Guard, Kind, describe
from rushlight.capture.compile.guards.sources import Slot


@pytest.mark.parametrize("kind", Kind, ids=lambda kind: kind.name)
def test_every_kind_has_words_and_python(kind: Kind) -> None:
    assert kind in guard._WORDS and kind in python_guards._PRINTERS


def test_a_message_replaces_the_words() -> None:
    made = Guard(Kind.LENGTH, Slot(0, 0, "x"), 3)
    assert describe(made) == "length of x is 3" and describe(made._replace(message=lambda: "three of them")) == "three of them"


def test_guards_name_the_line_that_relies_on_them() -> None:
    settings = SimpleNamespace(scale=3)

    def program(x: Any) -> Any:
        return x * settings.scale

    compiled = torch.compile(program, backend="eager")
    compiled(torch.ones(2))
    (entry,) = compiled._compiled.cache.all()
    (found,) = [each for each in entry.guards.conditions if describe(each) == "settings.scale == 3"]
    assert found.line == (__file__, program.__code__.co_firstlineno + 1)
    assert f"# settings.scale == 3 (test_guards.py:{found.line[1]})" in entry.guards.source


CHANGES: dict[str, tuple[Any, list[Any], str]] = {
    "dtype": (
        lambda x: x + 1,
        [torch.ones(2), torch.ones(2, dtype=torch.float64)],
        "its dtype was torch.float32, and is torch.float64 now",
    ),
    "rank": (lambda x: x + 1, [torch.ones(2), torch.ones(2, 2)], "it had 1 dimensions, and has 2 now"),
    "requires_grad": (lambda x: x + 1, [torch.ones(2), torch.ones(2, requires_grad=True)], "requires_grad was False, and is True now"),
    "no tensor": (lambda x: x + 1, [torch.ones(2), 3.0], "it was a tensor, and is a float now"),
    "a number": (lambda n: torch.ones(2) * n, [2, 2.5], "this no longer holds: n == 2"),
    "a length": (lambda values: torch.ones(2) * len(values), [[1, 2], [1, 2, 3]], "this no longer holds: length of values is 2"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_recompilation_says_why(name: str) -> None:
    function, (before, after), words = CHANGES[name]
    compiled = torch.compile(function, backend="eager")
    compiled(before)
    compiled(after)
    (why,) = compiled._compiled.failures
    assert words in why


def test_a_relation_of_sizes_in_words() -> None:
    compiled = torch.compile(lambda x: x * 2 if x.shape[0] * 2 > x.shape[1] + 1 else x, backend="eager", dynamic=True)
    compiled(torch.ones(5, 3))
    compiled(torch.ones(2, 7))
    assert compiled._compiled.failures == ["this no longer holds: (x.shape[0] * 2) > (x.shape[1] + 1)"]
