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


@pytest.mark.parametrize("backend", ["eager", None])
@pytest.mark.parametrize("dynamic", [False, True])
def test_parameters_of_inputs_are_made_before_the_graph(backend: Any, dynamic: bool) -> None:
    def program(x: rl.Tensor, scale: rl.Tensor) -> Any:
        first, second = nn.Parameter(x), nn.Parameter(x, requires_grad=False)
        return first, second, first * scale + second

    compiled = rl.compile(program, fullgraph=True, dynamic=dynamic, **({} if backend is None else {"backend": backend}))
    known: list[Any] = []
    for size in (2, 3, 3, 4, 5, 5, 5, 5, 5, 5, 5):
        x, scale = rl.arange(float(size)), rl.ones(size, requires_grad=True)
        first, second, result = compiled(x, scale)
        assert type(first) is type(second) is nn.Parameter and (first.requires_grad, second.requires_grad) == (True, False)
        assert first.data_ptr() == second.data_ptr() == x.data_ptr() and first is not second
        assert all(each is not first and each is not second for each in known)
        known += [first, second]
        result.sum().backward()
        assert first.grad.tolist() == [1.0] * size and second.grad is None and rl.equal(scale.grad, x)
        assert rl.equal(result, x * 2)


def test_writes_to_parameters_of_inputs() -> None:
    def program(x: rl.Tensor) -> Any:
        made = nn.init.constant_(nn.Parameter(x), 3.0)
        return made, x + 1

    compiled = rl.compile(program, fullgraph=True)
    for _ in range(9):
        x = rl.zeros(2)
        made, more = compiled(x)
        assert made.tolist() == x.tolist() == [3, 3] and more.tolist() == [4, 4]


def test_parameters_of_inputs_that_can_have_no_gradient() -> None:
    compiled = rl.compile(lambda x: nn.Parameter(x), fullgraph=True)
    for _ in range(2):
        assert compiled(rl.ones(2)).requires_grad
        with pytest.raises(RuntimeError, match="gradient"):
            compiled(rl.ones(2, dtype=rl.int64))


def test_modules_of_a_user_with_a_parameter_of_an_input() -> None:
    class Scaled(nn.Module):
        def __init__(self, scale: rl.Tensor) -> None:
            super().__init__()
            self.scale = nn.Parameter(scale)
            self.norm = nn.BatchNorm1d(2, affine=False)

        def forward(self, x: rl.Tensor) -> rl.Tensor:
            return self.norm(x) * self.scale

    def program(x: rl.Tensor, scale: rl.Tensor) -> Any:
        module = Scaled(scale)
        return module(x), module

    compiled = rl.compile(program, fullgraph=True, backend="eager")
    for n in (1.0, 2.0):
        x, scale = rl.tensor([[0.0, n], [1.0, 5.0]]), rl.full((2,), n)
        found, module = compiled(x, scale)
        expected, other = program(x, scale)
        assert rl.equal(found, expected) and rl.equal(module.norm.running_mean, other.norm.running_mean)
        assert type(module.scale) is nn.Parameter and module.scale.data_ptr() == scale.data_ptr()
        assert module.norm.num_batches_tracked.item() == 1 and [*dict(module.named_buffers())] == [*dict(other.named_buffers())]


def test_tensors_without_a_history() -> None:
    def program(x: rl.Tensor) -> Any:
        return (x.grad_fn is None, (x * 2).detach().grad_fn is None, x + 1)

    compiled = rl.compile(program, fullgraph=True, backend="eager")
    assert compiled(rl.ones(2))[:2] == (True, True)
    assert compiled(rl.ones(2, requires_grad=True))[:2] == (True, True)
    assert rl.compile(program, backend="eager")(rl.ones(2, requires_grad=True) * 2)[:2] == (False, True)


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
