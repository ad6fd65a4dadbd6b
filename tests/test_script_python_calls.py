"""Calls of Python functions from scripts (``jit.ignore``): their arguments, and their results as the types that they say."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight import nn

T = torch.tensor


def returned(annotation: Any, value: Any) -> Any:
    """What a script gets from a Python function that returns a value and says that it is of a type."""

    def function() -> Any:
        return value

    function.__annotations__ = {"return": annotation}
    python = torch.jit.ignore(function)

    def outer():
        return python()

    return torch.jit.script(outer)()


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        (int, True, 1), (int, T(2.5), 2), (int, T([3]), 3), (float, 2, 2.0), (float, T(2), 2.0), (bool, 1, True), (bool, 0.0, False), (bool, None, False),
        (complex, 2, 2 + 0j), (complex, T(1.5), 1.5 + 0j), (torch.Tensor, None, None), (list[int], (1, 2), [1, 2]), (list[int], [T(1), True], [1, 1]),
        (list[float], [1, 2], [1.0, 2.0]), (list[str], "ab", ["a", "b"]), (list[int], range(2), [0, 1]), (list[int | None], [1, None], [1, None]),
        (tuple[int, float], [1, 2], (1, 2.0)), (tuple[int, int], T([1, 2]), (1, 2)), (dict[str, float], {"a": 1}, {"a": 1.0}), (dict[str, int], [("a", 1)], {"a": 1}),
        (float | None, 1, 1.0), (int | None, None, None), (int | str, "a", "a"), (torch.device, "cpu", torch.device("cpu")), (Any, 3, 3),
    ],
)  # fmt: skip
def test_results_are_converted(annotation: Any, value: Any, expected: Any) -> None:
    found = returned(annotation, value)
    assert found == expected and type(found) is type(expected)
    if isinstance(expected, (list, tuple)):
        assert [type(each) for each in found] == [type(each) for each in expected]


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (int, 1.5), (int, None), (int, "1"), (int, T([1, 2])), (float, "1"), (bool, "a"), (bool, [1]), (str, 1), (torch.Tensor, 1), (torch.Tensor, [1]), (None, 3),
        (list[int], [1, 2.5]), (list[int], T([1, 2])), (list[torch.Tensor], [1]), (tuple[int, int], (1, 2, 3)), (dict[str, int], {"a": "b"}), (dict[str, int], [1]),
        (int | None, "a"), (int | str, 2.5), (int | str, True), (torch.device, 1),
    ],
)  # fmt: skip
def test_results_of_other_types_are_refused(annotation: Any, value: Any) -> None:
    with pytest.raises(RuntimeError, match="but instead got value of type"):
        returned(annotation, value)


def test_the_type_decides_the_arithmetic() -> None:
    @torch.jit.ignore
    def half() -> float:
        return 3  # an int: 3 // 2 and 3 / 2 are of the type that is promised

    @torch.jit.script
    def f() -> tuple[float, float]:
        return half() // 2, half() / 2

    assert str(f()) == "(1.0, 1.5)"


class Counts(nn.Module):
    @torch.jit.ignore
    def pair(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, int]:
        return x + y, x.sum()  # type: ignore[return-value]  # as its caller gets it


class Right(Counts):
    def forward(self, x: torch.Tensor) -> int:
        return self.pair(x, y=x)[1] + 1


class TooMany(Counts):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pair(x, x, x)[0]


class TooFew(Counts):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pair(x)[0]


def test_methods_that_stay_python() -> None:
    assert torch.jit.script(Right())(torch.ones(2)) == 3
    with pytest.raises(RuntimeError, match="positional arguments"):
        torch.jit.script(TooMany())
    with pytest.raises(RuntimeError, match="Argument y not provided"):
        torch.jit.script(TooFew())
