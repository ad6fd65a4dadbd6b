"""Parameters and Modules that a compiled program makes, items set by functions of `operator`, and objects of extension modules between two graphs."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn


@pytest.mark.parametrize("requires", [True, False])
def test_parameters_that_a_program_makes(requires: bool) -> None:
    compiled = rl.compile(lambda x: nn.Parameter(x * 2, requires), backend="eager")
    for _ in range(3):
        made = compiled(rl.ones(2))
        assert type(made) is nn.Parameter and made.requires_grad is requires and made.is_leaf
        assert made.tolist() == [2, 2]


def test_modules_that_a_program_makes() -> None:
    def program(x: rl.Tensor) -> rl.Tensor:
        return nn.Softmax(dim=-1)(nn.Linear(2, 2)(x))

    compiled = rl.compile(program, backend="eager")
    for seed in range(3):
        rl.manual_seed(seed)
        expected = program(rl.ones(2))
        rl.manual_seed(seed)
        found = compiled(rl.ones(2))
        assert found.requires_grad and rl.equal(found, expected)


def test_modules_without_tensors_are_made_inside_of_a_graph() -> None:
    compiled = rl.compile(lambda x: nn.Softmax(dim=-1)(nn.ReLU()(x)), fullgraph=True, backend="eager")
    for _ in range(2):
        assert compiled(rl.zeros(2)).tolist() == [0.5, 0.5]


def test_items_set_by_functions() -> None:
    def program(x: rl.Tensor, items: list[int], table: dict[str, int], n: int) -> rl.Tensor:
        operator.setitem(items, 0, n)
        operator.setitem(table, str(n), n)
        operator.delitem(table, "a")
        return x + operator.getitem(items, 0)

    compiled = rl.compile(program, backend="eager", fullgraph=True)
    for n in (2, 3, 4, 2, 3):
        items, table = [0, 1], {"a": 1}
        assert compiled(rl.zeros(1), items, table, n).item() == n
        assert items == [n, 1] and table == {str(n): n}


def test_methods_of_extension_classes_between_two_graphs() -> None:
    def program(x: rl.Tensor, random: Any) -> Any:
        y = x + 1
        return y, random.rand(), y * 2, random.rand()

    compiled = rl.compile(program, backend="eager")
    ours, theirs = np.random.RandomState(0), np.random.RandomState(0)
    for _ in range(4):
        assert compiled(rl.ones(1), ours)[1::2] == program(rl.ones(1), theirs)[1::2]
