"""Gradients and powers at NaN, at kinks and at the ends of domains, as PyTorch has them."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight.nn import functional as F

KINKED = [
    torch.relu, F.hardtanh, F.relu6, F.elu, F.selu, F.celu, F.hardshrink, F.softshrink, lambda x: F.threshold(x, 0.1, 2.0), F.leaky_relu,
]  # fmt: skip


@pytest.mark.parametrize("function", KINKED, ids=lambda function: function.__name__)
def test_the_gradient_at_nan_is_that_of_the_branch_that_no_comparison_rules_out(function):
    x = torch.tensor([float("nan"), 3.0 if function is not F.hardtanh else 0.5], requires_grad=True)
    function(x).sum().backward()
    expected = 0.01 if function is F.leaky_relu else 1.0507010221481323 if function is F.selu else 1.0
    assert x.grad[0].item() == pytest.approx(expected)


def test_a_gradient_of_inf_stays_away_from_where_the_function_is_flat():
    x = torch.tensor([-1.0, 1.0], requires_grad=True)
    torch.relu(x).backward(torch.tensor([float("inf"), 2.0]))
    assert x.grad.tolist() == [0.0, 2.0]


def test_the_gradient_of_binary_cross_entropy_is_finite_at_0_and_1():
    x = torch.tensor([0.0, 1.0, 0.5], requires_grad=True)
    F.binary_cross_entropy(x, torch.tensor([1.0, 1.0, 0.0])).backward()
    assert x.grad.tolist() == pytest.approx([-333333331968.0, 0.0, 0.6666666865348816])


def test_hinge_embedding_loss_of_other_targets():
    loss = F.hinge_embedding_loss(torch.tensor([[-0.1]]), torch.tensor([[1.0], [-1.0], [-0.0]]), 0.53)
    assert loss.item() == pytest.approx(0.3533333241939545)


def test_integers_to_negative_powers():
    base, exponent = torch.tensor([1, 0, 1, 2, -1, -1, 3]), torch.tensor([0, -1, 0, -2, -3, -2, 2])
    assert (base**exponent).tolist() == [1, 0, 1, 0, -1, 1, 9]
    assert (torch.tensor([0, 1, 2, -1]) ** torch.tensor(-1)).tolist() == [0, 1, 0, -1]
    with pytest.raises(RuntimeError, match="Integers to negative integer powers are not allowed"):
        torch.tensor([2]) ** -1


def test_orders_may_be_tensors_of_one_element():
    """As PyTorch's parser reads a number out of a tensor without dimensions."""
    x = torch.tensor([0.5, 1.5])
    assert torch.polygamma(torch.tensor(1), x).tolist() == pytest.approx([4.934802, 0.934802], rel=1e-5)
    for wrong in (torch.tensor([1, 2]), torch.tensor([2]), torch.tensor(1.0), 1.0):
        with pytest.raises(TypeError, match="argument 'n'"):
            torch.polygamma(wrong, x)
    assert torch.linalg.vector_norm(x, torch.tensor(1)).item() == 2.0
    assert torch.norm(x, torch.tensor(3.0)).item() == pytest.approx(1.518294)
