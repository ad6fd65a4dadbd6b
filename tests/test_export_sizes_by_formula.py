"""Sizes of exported programs: rounded quotients, shifts, sizes that depend on data beside dynamic ones, and several that are one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch
from rushlight.export import Dim, export

AUTO = Dim.AUTO


class Applied(torch.nn.Module):
    """A function as a Module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


FORMULAS: dict[str, Callable[[int], Any]] = {
    "ceil": lambda n: math.ceil(n / 3),
    "floor": lambda n: math.floor(n / 3),
    "floor of a sum": lambda n: math.floor((n + 5) * 0.25 / 3),
    "trunc": lambda n: math.trunc(n / 4),
    "round": lambda n: round(n / 2),
    "round to thirds": lambda n: round(n / 3),
    "round of a product": lambda n: round(n * 0.75),
    "ceil of a size": lambda n: math.ceil(n) + round(n, 1) - math.floor(n),
    "shifts": lambda n: (n >> 1) + (n << 2),
    "inverse": lambda n: -~n,
    "absolute": lambda n: abs(6 - n),
}


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("form", ["export", "trace"])
def test_rounded_sizes_follow_the_input(name: str, form: str) -> None:
    """They are formulas, and no numbers of the example."""
    formula = FORMULAS[name]

    def program(x: Any) -> Any:
        return x.new_ones(formula(x.shape[0]))

    if form == "export":
        made = export(Applied(program), (torch.ones(8),), dynamic_shapes=(({0: Dim("n", min=4, max=40)},),)).module()
    else:
        made = torch.jit.trace(program, torch.ones(8))
    for size in range(4, 30):
        assert made(torch.ones(size)).shape[0] == formula(size), size


@pytest.mark.parametrize(
    "formula", [lambda n: n & 3, lambda n: n ^ 1, lambda n: 1 << n // 4, lambda n: int((n / 2) % 3), lambda n: int(n / 2 // 2)]
)
def test_sizes_without_a_formula_are_refused(formula: Callable[[int], Any]) -> None:
    with pytest.raises((torch.export.errors.UserError, torch.export.errors.GuardOnDataDependentSymNode)):
        export(Applied(lambda x: x.new_ones(formula(x.shape[0]))), (torch.ones(8),), dynamic_shapes=(({0: Dim("n", min=4, max=40)},),))


@pytest.mark.parametrize(
    "function", [torch.nonzero, lambda x: x[x > 0], lambda x: torch.masked_select(x, x > 0), lambda x: torch.nonzero(x, as_tuple=True)[1]]
)
def test_results_whose_size_depends_on_data(function: Callable[[Any], Any]) -> None:
    """Inputs may have dynamic sizes, too."""
    program = export(Applied(function), (torch.arange(-5.0, 7.0).reshape(3, 2, 2),), dynamic_shapes=(({0: Dim("a"), 1: Dim("b", max=9)},),))
    for shape in ((5, 3, 2), (2, 9, 2), (4, 2, 2)):
        x = torch.arange(-7.0, math.prod(shape) - 7).reshape(shape)
        assert torch.equal(program.module()(x), function(x))


def test_counts_that_are_given_by_a_tensor() -> None:
    def repeated(x: Any, counts: Any) -> Any:
        return torch.repeat_interleave(torch.arange(x.shape[0]), counts)

    d = Dim("d")
    program = export(Applied(repeated), (torch.ones(3, 3), torch.tensor([1, 0, 2])), dynamic_shapes=(({0: d}, {0: d}),))
    assert program.module()(torch.ones(4, 3), torch.tensor([2, 1, 0, 1])).tolist() == [0, 0, 1, 3]


@pytest.mark.parametrize("shape", [(6, 3), (4, 4)])
def test_more_than_two_sizes_that_are_one(shape: tuple[int, int]) -> None:
    program = export(Applied(lambda x, y, z: x + y + z), (torch.ones(shape),) * 3, dynamic_shapes=(((AUTO, AUTO),) * 3,))
    assert len(program.range_constraints) == 2
    for other in ((4, 4), (1, 1), (0, 9), (3, 7)):
        assert program.module()(*(torch.ones(other),) * 3).shape == other
    with pytest.raises(AssertionError, match="Guard failed"):
        program.module()(torch.ones(4, 4), torch.ones(4, 4), torch.ones(4, 3))


def test_a_dimension_of_one_or_two() -> None:
    program = export(Applied(lambda x: x * 2), (torch.ones(2, 2),), dynamic_shapes=(({0: Dim("d", min=1, max=2)},),)).module()
    assert program(torch.ones(1, 2)).shape == (1, 2) and program(torch.ones(2, 2)).shape == (2, 2)
    with pytest.raises(AssertionError, match="Guard failed"):
        program(torch.ones(3, 2))


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (lambda x: x.new_ones(max(x.shape[0], x.shape[1])), "torch.sym_max(sym_size_int_2, sym_size_int_3)"),
        (lambda x: x.new_ones(min(*x.shape, 6)), "torch.sym_min("),
        (lambda x: x.new_ones(torch.sym_max(x.shape[0], 4)), "torch.sym_max(sym_size_int_1, 4)"),
        (lambda x: x * torch.sym_float(x.shape[0]), ""),
    ],
)
def test_the_larger_of_sizes_and_sizes_as_floats(program: Callable[[Any], Any], text: str) -> None:
    exported = export(Applied(program), (torch.ones(3, 5),), dynamic_shapes=(({0: AUTO, 1: AUTO},),))
    assert text in exported.graph_module.code
    for shape in ((3, 5), (7, 2), (4, 4)):
        assert torch.equal(exported.module()(torch.ones(shape)), program(torch.ones(shape)))
