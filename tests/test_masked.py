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


def test_masked_tensors_of_sparse_layouts():
    data, mask = torch.arange(6.0).reshape(2, 3), torch.tensor([[True, False, True], [False, True, True]])
    masked = torch.masked.masked_tensor(data, mask)
    for name, layout in (("to_sparse", torch.sparse_coo), ("to_sparse_csr", torch.sparse_csr)):
        sparse = getattr(masked, name)()
        assert sparse.get_data().layout is sparse.get_mask().layout is layout and sparse.get_data()._nnz() == 4
        assert repr(sparse) == repr(masked) == repr(sparse.to_dense())
    assert masked.unfold(1, 2, 1).get_mask().tolist() == mask.unfold(1, 2, 1).tolist()


def test_what_makes_no_masked_tensor_is_refused():
    data, mask = torch.arange(6.0).reshape(2, 3), torch.ones(2, 3, dtype=torch.bool)
    with pytest.raises(TypeError, match="data must be a Tensor"):
        torch.masked.masked_tensor(1, mask)
    with pytest.raises(TypeError, match="must have the same layout"):
        torch.masked.masked_tensor(data.to_sparse(), mask)
    with pytest.raises(RuntimeError, match="Only Tensors of floating point"):
        torch.masked.masked_tensor(data.long(), mask, requires_grad=True)
    with pytest.warns(UserWarning, match="not recommended to create a MaskedTensor"):
        torch.masked.masked_tensor(data.clone().requires_grad_(), mask)
