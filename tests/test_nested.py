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
    with pytest.raises(RuntimeError, match="keeps its first dimensions"):
        nested.view(1, 6)
    assert torch.nested.as_nested_tensor(nested, layout=torch.jagged) is nested
    with pytest.raises(RuntimeError, match="Converting between nested tensor layouts is not supported"):
        torch.nested.as_nested_tensor(nested, layout=torch.strided)
