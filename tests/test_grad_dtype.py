"""``Tensor.grad_dtype``: gradients of another type than their leaf's."""

from __future__ import annotations

import pytest

import rushlight as torch


def leaf(kind: torch.dtype | None) -> torch.Tensor:
    made = torch.ones(3, 2).t().requires_grad_()
    made.grad_dtype = kind
    return made


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float64])
def test_gradients_arrive_in_the_type_that_was_set(kind: torch.dtype) -> None:
    x, seen = leaf(kind), []
    x.register_hook(lambda gradient: seen.append(gradient.dtype))
    (x * 2).sum().backward()
    assert (x.grad.dtype, x.grad.stride()) == (kind, (1, 2))
    (x * 2 + x).sum().backward()
    assert x.grad.dtype is kind and x.grad.flatten().tolist() == [5.0] * 6 and seen == [kind, kind]
    assert torch.autograd.grad((x * 2).sum(), x)[0].dtype is kind
    with pytest.raises(RuntimeError, match="already a gradient"):
        x.grad_dtype = torch.float16
    with pytest.raises(RuntimeError, match="attempting to assign a gradient with dtype 'Float'"):
        x.grad = torch.ones(2, 3)
    assert x.detach().grad_dtype is torch.float32


def test_none_lets_gradients_keep_their_type() -> None:
    x = leaf(None)
    x.grad = torch.ones(2, 3, dtype=torch.float64)
    assert x.grad_dtype is None and x.grad.dtype is torch.float64


def test_only_leaves_have_a_type_of_gradients() -> None:
    x = leaf(torch.float32)
    y = x * 2
    with pytest.raises(RuntimeError, match="can only be set on leaf"):
        y.grad_dtype = torch.float64
    with pytest.raises(RuntimeError, match="can only be accessed on leaf"):
        _ = y.grad_dtype
    with pytest.raises(RuntimeError, match="got str"):
        x.grad_dtype = "float32"
