"""Powers of sizes: a formula where there is one, and no constant of the example otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch


class Powers(torch.nn.Module):
    def __init__(self, function: Callable[[int], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.function(x.shape[0])


@pytest.mark.parametrize("function", [lambda n: n**2, lambda n: n**9, lambda n: n**0, lambda n: n**0.5, lambda n: n**-1])
def test_powers_of_sizes_are_exported(function: Callable[[int], Any]) -> None:
    x, more = torch.ones(3, dtype=torch.float64), torch.ones(5, dtype=torch.float64)
    program = torch.export.export(Powers(function), (x,), dynamic_shapes=({0: torch.export.Dim("n")},))
    assert torch.equal(program.module()(more), Powers(function)(more))


@pytest.mark.parametrize("function", [lambda n: 2**n, lambda n: pow(n, 40), lambda n: pow(n, 20, 7), lambda n: pow(2, n, 5)])
def test_powers_without_a_formula_are_refused(function: Callable[[int], Any]) -> None:
    with pytest.raises(torch.export.errors.UserError, match="specialized it to be a constant"):
        torch.export.export(Powers(function), (torch.ones(3),), dynamic_shapes=({0: torch.export.Dim("n")},))


@pytest.mark.parametrize("function", [lambda n: 2**n, lambda n: pow(n, 40), lambda n: pow(n, 20, 7), lambda n: n**9])
def test_powers_in_compiled_programs(function: Callable[[int], Any]) -> None:
    compiled = torch.compile(Powers(function), dynamic=True)
    for n in (2, 3, 5):
        x = torch.ones(n, dtype=torch.float64)
        assert torch.equal(compiled(x), Powers(function)(x))
