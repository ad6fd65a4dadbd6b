"""``torch.export`` of scripted programs: loops by counts are written out, what depends on values becomes ``cond`` and ``while_loop``."""

from __future__ import annotations

import io

import pytest

import rushlight as torch


@torch.jit.script
def choose(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:
        y = x * 2
        shift = 3
    else:
        y = x - 1
        shift = 5
    return y + shift


@torch.jit.script
def count(x: torch.Tensor) -> torch.Tensor:
    rows = []
    for i in range(x.shape[0]):
        rows.append(x[i] * i)
    return torch.stack(rows)


@torch.jit.script
def grow(x: torch.Tensor) -> torch.Tensor:
    turns = 0
    while bool(x.sum() < 10) and turns < 20:
        x = x + 1
        turns += 1
    return x * turns


@torch.jit.script
def leave(x: torch.Tensor) -> torch.Tensor:
    i = 0
    while i < 9 and bool(x.sum() < 100):
        i += 1
        if i == 2:
            continue
        if i > 7:
            break
        for j in range(i):
            if j % 2 == 0:
                x = x + j
            else:
                x = x - 0.5 * j
    return x * i


class Calls(torch.nn.Module):
    def __init__(self, function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize("function", [choose, count, grow, leave], ids=lambda each: each.name)
def test_scripted_control_flow(function) -> None:
    """The program gives what the script gives, on values that take other ways, and after it was saved and loaded."""
    torch.manual_seed(0)
    x = torch.randn(3, 4)
    program = torch.export.export(Calls(function), (x,), strict=False)
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    for made in (program, torch.export.load(file)):
        for given in (x, x - 3, x + 5, x * 20):
            assert torch.allclose(made.module()(given), function(given))


def test_numbers_computed_around_a_branch() -> None:
    """What a branch within a branch reads of numbers and conditions around it is passed to it, and not the value of this run."""

    @torch.jit.script
    def program(x: torch.Tensor) -> torch.Tensor:
        n = int(x[0].item())
        large = bool(x.sum() > 10)
        if x.sum() > 0:
            if large:
                x = x * n
            else:
                x = x + n
        return x

    made = torch.export.export(Calls(program), (torch.tensor([2.0, 3.0]),), strict=False).module()
    for values in ([2.0, 3.0], [7.0, 8.0], [-3.0, 1.0], [4.0, 1.0]):
        assert torch.equal(made(torch.tensor(values)), program(torch.tensor(values)))
