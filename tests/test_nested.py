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
