"""Exported programs whose sizes and numbers depend on data: with dynamic sizes, and where Python takes such a number as a plain one."""

from __future__ import annotations

import io
import math
import warnings

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.capture.tracer.tracer import TracerWarning
from rushlight.export.errors import GuardOnDataDependentSymNode


class Program(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def exported(function, *args, dynamic=None):
    return torch.export.export(Program(function), args, dynamic_shapes=None if dynamic is None else (dynamic,))


PICKS = {
    "mask": lambda x: x[x > 0] * 2,
    "rows": lambda x: x[x[:, 0] > 0],
    "nonzero": lambda x: x.nonzero(),
    "where": lambda x: torch.where(x > 0)[1],
    "masked_select": lambda x: torch.masked_select(x, x > 0),
    "unique": lambda x: torch.unique(x.round()),
    "unique_consecutive": lambda x: torch.unique_consecutive(x.round(), return_inverse=True)[1],
    "unique rows": lambda x: torch.unique(x.round(), dim=0),
    "bincount": lambda x: torch.bincount(x.long().abs().flatten()),
    "repeat_interleave": lambda x: torch.repeat_interleave(x, (x[:, 0] > 0).long() + 1, 0),
    "experts": lambda x: torch.zeros_like(x).index_add(0, torch.where(x[:, 0] > 0)[0], x[torch.where(x[:, 0] > 0)[0]]),
}


@pytest.mark.parametrize("name", PICKS)
def test_what_depends_on_data_in_programs_of_dynamic_sizes(name):
    program = exported(PICKS[name], torch.randn(6, 8), dynamic=({0: torch.export.Dim.DYNAMIC},))
    for rows in (6, 2, 9):
        x = torch.randn(rows, 8)
        assert torch.equal(program.module()(x), PICKS[name](x))
    file = io.BytesIO()
    torch.export.save(program, file)
    loaded = torch.export.load(io.BytesIO(file.getvalue()))
    assert torch.equal(loaded.module()(x), PICKS[name](x))


def test_three_sizes_that_must_be_equal():
    def program(x, y, z):
        return torch.cat([x, y, z], 1)

    dynamic = torch.export.Dim.DYNAMIC
    made = exported(
        program, torch.ones(2, 3), torch.ones(2, 2), torch.ones(2, 2), dynamic=({0: dynamic}, {0: dynamic, 1: dynamic}, {0: dynamic})
    )
    args = torch.randn(5, 3), torch.randn(5, 4), torch.randn(5, 2)
    assert torch.equal(made.module()(*args), program(*args))
    assert len(made.range_constraints) == 2


def count(x):
    return (x > 0).sum().item()


PLAIN = {
    "int": lambda x: torch.zeros(int(count(x))),
    "len": lambda x: x / len(x[x > 0]),
    "int of a size": lambda x: torch.zeros(int(x[x > 0].shape[0])),
    "float of a size": lambda x: torch.full((2,), float(x[x > 0].shape[0])),
    "range": lambda x: sum(x[each] for each in range(count(x))),
    "floor": lambda x: x * math.floor(x.sum().item()),
    "round": lambda x: x * round(x.sum().item()),
    "ceil": lambda x: x * math.ceil(x.sum().item()),
    "float": lambda x: x * float(x.sum().item()),
    "abs": lambda x: x * abs(x.sum().item()),
    "repetition": lambda x: torch.zeros([1] * count(x)),
    "index of a list": lambda x: x + [1.0, 2.0, 3.0, 4.0][count(x)],
    "root": lambda x: x * math.sqrt(count(x)),
}


@pytest.mark.parametrize("name", PLAIN)
def test_numbers_that_depend_on_data_are_no_plain_numbers(name):
    with pytest.raises(GuardOnDataDependentSymNode, match="data-dependent expression"):
        exported(PLAIN[name], torch.tensor([1.0, -1, 2, 3]))


FORMULAS = {
    "division": lambda x: x * (x.sum().item() // 2),
    "remainder": lambda x: x * (x.sum().item() % 2),
    "slice": lambda x: x[: count(x)],
    "full": lambda x: torch.full((2,), x.max().item()),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_of_numbers_that_depend_on_data(name):
    program = exported(FORMULAS[name], torch.tensor([1.0, -1, 2, 3])).module()
    x = torch.tensor([1.0, -1, -2, -3])
    assert torch.equal(program(x), FORMULAS[name](x))


def test_equalities_of_numbers_that_depend_on_data_are_checked_in_each_run():
    def three(x):
        return x[x > 0] + 1 if x[x > 0].shape[0] == 3 else x[x > 0] - 1

    def both(x):
        rows = x[x > 0]
        if rows.shape[0] != count(x):
            raise ValueError("there are others")
        return rows

    x, other = torch.tensor([1.0, -1, 2, 3]), torch.tensor([1.0, -1, -2, -3])
    program = exported(three, x).module()
    assert torch.equal(program(x), three(x))
    with pytest.raises(RuntimeError, match="Runtime assertion failed for expression u[0-9]+ == 3"):
        program(other)
    assert torch.equal(exported(both, x).module()(other), both(other))


def test_a_trace_warns_of_a_comparison_of_a_size_that_depends_on_data(tmp_path):
    def program(x):
        rows = x[x > 0]
        return rows + 1 if rows.shape[0] > 2 else rows - 1

    with pytest.warns(TracerWarning, match="depends on data"):
        torch.onnx.export(program, (torch.tensor([1.0, -1, 2, 3]),), tmp_path / "file.onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.onnx.export(lambda x: x + 1 if x.shape[0] > 2 else x, (torch.ones(3),), tmp_path / "file.onnx")
