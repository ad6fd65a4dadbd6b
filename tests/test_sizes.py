"""Sizes with formulas: arithmetic agrees with plain numbers, and the formula with the value."""

from __future__ import annotations

import copy
import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import rushlight as torch
from rushlight.core.symbolic import Expression, SymbolicFloat, SymbolicInt, is_symbolic


def size(name: str, value: int) -> SymbolicInt:
    return SymbolicInt(value, Expression.symbol(name))


@st.composite
def programs(draw: st.DrawFn) -> list[tuple[str, int, int | None]]:
    """Steps of arithmetic: (operation, operand by number, or a plain number)."""
    steps = st.tuples(st.sampled_from("+-*/%"), st.integers(0, 1), st.one_of(st.none(), st.integers(1, 5)))
    return draw(st.lists(steps, max_size=6))


@given(programs(), st.integers(1, 9), st.integers(1, 9), st.integers(1, 9), st.integers(1, 9))
def test_formula_and_value_agree(program, a, b, other_a, other_b):
    def run(first, second):
        result = first
        for operation, which, number in program:
            operand = number if number is not None else (first, second)[which]
            if operation == "+":
                result = result + operand
            elif operation == "-":
                result = result - operand
            elif operation == "*":
                result = result * operand
            elif operand != 0 and operation == "/":
                result = result // operand
            elif operand != 0:
                result = result % operand
        return result

    symbolic = run(size("a", a), size("b", b))
    assert int(symbolic) == run(a, b)
    if isinstance(symbolic, SymbolicInt):
        assert symbolic.expression.evaluate({"a": a, "b": b}) == run(a, b)
        assert symbolic.expression.evaluate({"a": other_a, "b": other_b}) == run(other_a, other_b)
        again = eval(str(symbolic.expression), {"a": other_a, "b": other_b, "max": max, "min": min})
        assert again == run(other_a, other_b)


def test_even_divisions_come_out():
    batch = size("B", 10)
    assert (batch * 128) // (batch * 2) == 64
    assert not is_symbolic((batch * 128) // (batch * 2))
    assert not is_symbolic((batch * 6) % 3)
    assert str((batch * 6 // 3).expression) == "2*B"


def test_numpy_and_python_take_it_for_an_int():
    batch = size("B", 3)
    assert np.zeros((batch, 2)).shape == (3, 2)
    assert list(range(batch)) == [0, 1, 2]
    assert [10, 20, 30, 40][batch] == 40
    assert isinstance(batch / 2, SymbolicFloat) and batch / 2 == 1.5
    assert type(int(batch)) is int
    assert pickle.loads(pickle.dumps(batch)) == 3
    assert copy.deepcopy(batch).expression == batch.expression


def test_methods_whose_only_argument_is_a_list_of_numbers_take_the_numbers():
    x = torch.arange(24.0).view(1, 2, 3, 4)
    assert x.broadcast_to(2, 2, 3, 4).shape == x.broadcast_to([2, 2, 3, 4]).shape == (2, 2, 3, 4)
    assert torch.tensor(1.0).broadcast_to(5).tolist() == [1.0] * 5
    assert x.count_nonzero(1, 2).tolist() == [[5, 6, 6, 6]] and x.count_nonzero().item() == 23
    assert [each.shape[0] for each in x.vsplit(1, 2)] == [1, 0, 0]
    assert [each.shape[1] for each in x.hsplit(1, 2)] == [1, 1, 0] and [each.shape[3] for each in x.dsplit(1, 2)] == [4, 4, 4]

    def wide(t):
        return t.broadcast_to(2, 2, 3, 4).sum()

    assert torch.jit.script(wide)(x).item() == torch.jit.trace(wide, x)(x).item() == torch.compile(wide)(x).item() == 552.0
