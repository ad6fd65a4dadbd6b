"""``torch.masked`` against what PyTorch prints (recorded: tests/record/masked.py)."""

from __future__ import annotations

import json
import pathlib

import pytest
from masked_expressions import everything
from support.processes import run_python

import rushlight as torch

RECORDED = json.loads((pathlib.Path(__file__).parent / "data" / "masked.json").read_text(encoding="utf8"))


def test_functions_and_masked_tensors_print_what_pytorch_prints() -> None:
    wrong = {name: (RECORDED[name], found) for name, found in everything(torch).items() if found != RECORDED[name]}
    assert not wrong


@pytest.mark.parametrize("name", ["sum", "mean", "amax", "prod", "softmax", "logsumexp", "std"])
def test_gradients(name: str) -> None:
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    mask = torch.arange(12).reshape(3, 4) % 3 != 0
    function = getattr(torch.masked, name)
    assert torch.autograd.gradcheck(lambda each: function(each, 1, mask=mask), (x,))
    (function(x, 1, mask=mask) ** 2).sum().backward()
    assert x.grad[~mask].abs().sum() == 0


def test_the_module_alone_does_not_slow_other_tensors_down() -> None:
    assert run_python("import rushlight; rushlight.masked.sum; print(rushlight.core.state.flags.special)").strip() == "0"
