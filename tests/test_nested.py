"""``torch.nested`` against what PyTorch prints (recorded: tests/record/nested.py)."""

from __future__ import annotations

import json
import pathlib

import pytest
from nested_expressions import everything

import rushlight as torch

RECORDED = json.loads((pathlib.Path(__file__).parent / "data" / "nested.json").read_text(encoding="utf8"))


def test_nested_tensors_print_what_pytorch_prints() -> None:
    wrong = {name: (RECORDED[name], found) for name, found in everything(torch).items() if found != RECORDED[name]}
    assert not wrong


def test_a_jagged_tensor_names_its_ragged_size() -> None:
    nested = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged)
    assert repr(nested) == f"NestedTensor(size=(2, {nested.size(1)}, 3), offsets=tensor([0, 2, 6]), contiguous=True)"
    assert repr(nested.size(1)).startswith("j") and (nested * 2).size(1) is nested.size(1)


def test_what_is_not_defined_says_so() -> None:
    nested = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged)
    with pytest.raises(TypeError, match="no implementation found for 'sort'"):
        torch.sort(nested)


def test_extrema_truths_chunks_and_shapes_of_jagged_tensors():
    nested = torch.nested.nested_tensor([torch.tensor([[1.0, 5.0], [3.0, 2.0]]), torch.tensor([[0.0, 4.0]])], layout=torch.jagged)
    assert (nested._values.shape, nested._offsets.tolist(), nested._lengths, nested._ragged_idx) == ((3, 2), [0, 2, 3], None, 1)
    assert nested.min().item() == 0 and nested.max().item() == 5 and not nested.all() and nested.any()
    largest = nested.max(dim=2)
    assert largest.values.values().tolist() == [5, 3, 4] and largest.indices.values().tolist() == [1, 0, 1]
    assert nested.min(dim=1).values.tolist() == [[1, 2], [0, 4]]
    left, right = nested.chunk(2, dim=-1)
    assert left.values().tolist() == [[1], [3], [0]] and right.values().tolist() == [[5], [2], [4]]
    assert nested.view(2, -1, 2, 1).values().shape == nested.reshape(2, -1, 2, 1).values().shape == (3, 2, 1)
    assert nested.unsqueeze(-1).expand(2, -1, 2, 4).values().shape == (3, 2, 4)
    with pytest.raises(RuntimeError, match="cannot view shape"):
        nested.view(1, 6)
    assert torch.nested.as_nested_tensor(nested, layout=torch.jagged) is nested
    with pytest.raises(RuntimeError, match="Converting between nested tensor layouts is not supported"):
        torch.nested.as_nested_tensor(nested, layout=torch.strided)


def test_custom_functions_on_nested_tensors_are_differentiated():
    class Power(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.save_for_backward(x)
            ctx.factor = factor
            return x * x, x + 1

        @staticmethod
        def backward(ctx, of_square, of_sum):
            (x,) = ctx.saved_tensors
            return of_square * 2 * x * ctx.factor + of_sum, None

    nested = torch.nested.nested_tensor([torch.ones(2, 3), torch.full((1, 3), 2.0)], layout=torch.jagged, requires_grad=True)
    square, unused = Power.apply(nested, 3.0)
    assert square.is_nested and square.grad_fn.name() == "PowerBackward" and unused.requires_grad
    square.backward(torch.ones_like(square))
    assert nested.grad.values().tolist() == [[6.0] * 3, [6.0] * 3, [12.0] * 3]


def test_compiled_functions_take_and_give_nested_tensors():
    nested = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(3, 3)], layout=torch.jagged)
    doubled = torch.compile(lambda x: (x * 2).sum(1))
    made = torch.compile(lambda values, offsets: torch.nested.nested_tensor_from_jagged(values * 2, offsets))
    for _ in range(3):
        assert doubled(nested).tolist() == [[4.0] * 3, [6.0] * 3]
        assert made(torch.ones(5, 3), torch.tensor([0, 2, 5])).values().sum().item() == 30


def test_a_composite_op_sees_the_dimensions_of_a_nested_tensor():
    nested = torch.nested.nested_tensor([torch.arange(6.0).reshape(2, 3), torch.arange(3.0).reshape(1, 3)], layout=torch.jagged)
    assert nested.movedim(1, 2)._ragged_idx == 2 and nested.mT.shape[2] is nested.shape[1]
    with pytest.raises(RuntimeError, match="not supported for NestedTensor on ragged dim"):
        nested.flatten(1, 2)  # and not the flattened values
    assert nested.narrow(2, 1, 2).values().tolist() == [[1, 2], [4, 5], [1, 2]]


def test_embedding_of_a_strided_nested_tensor():
    weight = torch.arange(8.0).reshape(4, 2)
    found = torch.nn.functional.embedding(torch.nested.nested_tensor([torch.tensor([1, 2]), torch.tensor([3])]), weight)
    assert [each.tolist() for each in found.unbind()] == [[[2, 3], [4, 5]], [[6, 7]]]


def test_the_parts_of_a_strided_nested_tensor_are_contiguous_copies():
    part = torch.arange(6.0).reshape(2, 3).t()
    assert torch.nested.nested_tensor([part, part]).is_contiguous()
