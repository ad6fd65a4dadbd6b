"""Passes over fx graphs that programs import by name."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight.fx.annotate import annotate
from rushlight.fx.experimental.proxy_tensor import make_fx
from rushlight.fx.passes.dialect.common.cse_pass import CSEPass, get_CSE_banned_ops
from rushlight.fx.tensor_type import Dyn, TensorType, is_consistent, is_more_precise


def nodes_left(function, banned=None) -> tuple[int, int]:  # type: ignore[no-untyped-def]
    """The counts of a graph's nodes before and after common subexpressions are eliminated; the results stay equal."""
    x = torch.arange(4.0).reshape(2, 2)
    traced = make_fx(function)(x)
    result = CSEPass(banned_ops=banned)(traced)
    before, after = (len(list(each.graph.nodes)) for each in (traced, result.graph_module))
    assert result.modified == (after < before)
    torch.testing.assert_close(result.graph_module(x), traced(x))
    return before, after


def test_repeated_calls_are_made_once() -> None:
    before, after = nodes_left(lambda x: (x.cos() + x.cos()) * (x.cos() + x.cos()))
    assert before - after == 4


def test_calls_with_other_arguments_stay() -> None:
    before, after = nodes_left(lambda x: x.sum(0) + x.sum(1) + x.sum([0]))
    assert before - after == 1
    assert nodes_left(lambda x: torch.add(x, 1) + torch.add(x, 1.0) + x.sum()) != (0, 0)


def test_writes_and_banned_operators_stay() -> None:
    def writes(x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        y.add_(1)
        y.add_(1)
        return y

    before, after = nodes_left(writes)
    assert before == after
    before, after = nodes_left(lambda x: x.cos() + x.cos(), [torch.ops.aten.cos])
    assert before == after
    assert torch.ops.aten.rand in get_CSE_banned_ops() and torch.ops.aten.cos not in get_CSE_banned_ops()


class Two(torch.nn.Module):
    """Two layers, one of which a test replaces."""

    def __init__(self, first: str) -> None:
        super().__init__()
        setattr(self, first.lower(), getattr(torch.nn, first)())
        self.last = torch.nn.ReLU()
        self.first = first.lower()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(getattr(self, self.first)(x))


def test_a_replacement_brings_its_submodules() -> None:
    traced = torch.fx.symbolic_trace(Two("Sigmoid"))
    assert len(torch.fx.replace_pattern(traced, Two("Sigmoid"), Two("Tanh"))) == 1
    x = torch.linspace(-1, 1, 5)
    torch.testing.assert_close(traced(x), x.tanh().relu())
    assert isinstance(traced.get_submodule("tanh"), torch.nn.Tanh)
    assert not hasattr(traced, "sigmoid")


def test_patterns_match_operators_whose_arguments_are_given_in_another_form() -> None:
    def pools(x: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.max_pool2d_with_indices.default(x, [2, 2], stride=[2, 2])

    def pattern(x: torch.Tensor, kernel_size: list[int], stride: list[int]) -> torch.Tensor:
        return torch.ops.aten.max_pool2d_with_indices.default(x, kernel_size, stride, padding=[0, 0])

    assert len(torch.fx.replace_pattern(torch.fx.symbolic_trace(pools), pattern, pattern)) == 1


def test_values_are_annotated_once():
    traced = torch.fx.symbolic_trace(lambda x: annotate(x + 1, int) * 2)
    assert [node.type for node in traced.graph.nodes] == [None, int, None, None]
    assert annotate(3, int) == 3
    with pytest.raises(RuntimeError, match="already had a type"):
        torch.fx.symbolic_trace(lambda x: annotate(annotate(x + 1, int), int))


def test_types_of_tensors():
    known, open_ = TensorType[1, 2], TensorType((1, Dyn))
    assert repr(open_) == "TensorType[(1, Dyn)]" and TensorType[3].dims == (3,) and known == TensorType([1, 2])
    assert is_consistent(known, open_) and is_consistent(open_, known) and not is_consistent(known, TensorType[1, 3])
    assert is_more_precise(known, open_) and not is_more_precise(open_, known) and is_more_precise(known, Dyn)
    assert not is_more_precise(known, TensorType[1, 2, 3]) and is_consistent(int, Dyn) and not is_consistent(int, known)
