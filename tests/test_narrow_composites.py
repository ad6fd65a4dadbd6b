"""Composites that PyTorch computes in one kernel: of bfloat16 and float16 in float32, rounded once. Expected values are PyTorch 2.13's."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
import rushlight.nn.functional as F

VALUES = [-3.0, -0.7, 0.3, 2.2, -1.1, 5.0]
MISH = {
    torch.bfloat16: (
        [-0.1455078125, -0.267578125, 0.208984375, 2.15625, -0.30859375, 5.0],
        [-0.09326171875, 0.1845703125, 0.78515625, 1.0546875, 0.0260009765625, 1.0],
    ),
    torch.float16: (
        [-0.1456298828125, -0.267822265625, 0.2086181640625, 2.16015625, -0.3076171875, 5.0],
        [-0.0933837890625, 0.184814453125, 0.783203125, 1.0576171875, 0.025970458984375, 1.0009765625],
    ),
}
GLU = {torch.bfloat16: [-2.703125, -0.1748046875, 0.298828125], torch.float16: [-2.701171875, -0.1744384765625, 0.298828125]}


def narrow(dtype: torch.dtype) -> torch.Tensor:
    return torch.tensor(VALUES).to(torch.bfloat16).to(dtype).requires_grad_()


@pytest.mark.parametrize("dtype", list(MISH), ids=str)
def test_mish_is_rounded_once_forwards_and_backwards(dtype: torch.dtype) -> None:
    x = narrow(dtype)
    y = F.mish(x)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert (y.dtype, gradient.dtype) == (dtype, dtype)
    assert (y.tolist(), gradient.tolist()) == MISH[dtype]
    assert F.mish(x.detach().clone(), inplace=True).tolist() == MISH[dtype][0]


@pytest.mark.parametrize("dtype", list(GLU), ids=str)
def test_glu_is_rounded_once(dtype: torch.dtype) -> None:
    assert F.glu(narrow(dtype)).tolist() == GLU[dtype]


def test_rrelu_draws_slopes_for_bfloat16() -> None:
    torch.manual_seed(0)
    made = F.rrelu(torch.tensor([-0.5, 0.7, -2.0]).bfloat16(), 0.1, 0.3, training=True)
    assert made.tolist() == [-0.1474609375, 0.69921875, -0.482421875]
    with pytest.raises(NotImplementedError, match="Half"):
        F.rrelu(torch.ones(2).half(), training=True)


def test_the_gradient_of_acosh_vanishes_at_complex_infinity() -> None:
    z = torch.tensor([complex(float("inf"), 1), complex(-2, 0.5)], dtype=torch.complex128, requires_grad=True)
    (gradient,) = torch.autograd.grad(torch.acosh(z), z, torch.ones(2, dtype=torch.complex128))
    assert gradient[0].item() == 0
    root = (z.detach()[1] - 1).sqrt() * (z.detach()[1] + 1).sqrt()
    torch.testing.assert_close(gradient[1], (1 / root).conj())


def _grid(*shape: int) -> torch.Tensor:
    """Numbers between -3 and 5 without a pattern."""
    count = torch.tensor(shape).prod().item()
    return ((torch.arange(count, dtype=torch.float32) * 37) % 101).reshape(shape) * 0.08 - 3


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("kind", ["group", "instance", "batch", "running"])
def test_normalisation_is_rounded_once_forwards_and_backwards(kind: str, dtype: torch.dtype) -> None:
    def normalised(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        if kind == "group":
            return F.group_norm(x, 2, weight, bias)
        if kind == "instance":
            return F.instance_norm(x, None, None, weight, bias)
        if kind == "batch":
            return F.batch_norm(x, None, None, weight, bias, True)
        return F.batch_norm(x, bias.detach(), weight.detach().abs() + 0.5, weight, bias, False)

    narrow = [each.to(dtype).requires_grad_() for each in (_grid(3, 4, 5, 2), _grid(4) + 1.3, _grid(4) * 0.7)]
    wide = [each.detach().float().requires_grad_() for each in narrow]
    if kind == "running":  # the sum for the variance is rounded before the call
        wide = [each.detach().float().requires_grad_() for each in narrow]
        statistics = narrow[2].detach(), narrow[1].detach().abs() + 0.5
        made = F.batch_norm(narrow[0], *statistics, narrow[1], narrow[2], False)
        expected = F.batch_norm(wide[0], *[each.float() for each in statistics], wide[1], wide[2], False)
    else:
        made, expected = normalised(*narrow), normalised(*wide)
    assert made.dtype == dtype
    assert torch.equal(made, expected.to(dtype))
    grad = (_grid(3, 4, 5, 2) * 0.3).to(dtype)
    for one, other in zip(torch.autograd.grad(made, narrow, grad), torch.autograd.grad(expected, wide, grad.float())):
        assert torch.equal(one, other.to(dtype))


def test_running_statistics_of_half_precision_are_rounded_once() -> None:
    norm = torch.nn.BatchNorm1d(2).half()
    norm(torch.tensor([[0.3, 4.0], [1.7, -2.0], [0.9, 2.2]]).half())
    assert norm.running_mean.tolist() == [0.0966796875, 0.1400146484375]
    assert norm.running_var.tolist() == [0.94921875, 1.84765625]


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [(torch.bfloat16, [-2.34375, -1.03125, 1.8046875]), (torch.float16, [-2.33984375, -1.0302734375, 1.80078125])],
    ids=str,
)
def test_alpha_is_rounded_to_half_precision(dtype: torch.dtype, expected: list[float]) -> None:
    x, y = (
        torch.tensor(each).repeat(64).to(dtype) for each in (VALUES[:3], VALUES[3:])
    )  # PyTorch has another rule for the last few elements
    assert torch.add(x, y, alpha=0.3).tolist() == expected * 64
    assert x.clone().sub_(y, alpha=-0.3).tolist() == expected * 64


@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("function", [torch.softmax, torch.log_softmax])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_softmax_is_rounded_once(dtype: torch.dtype, function: Any, dim: int) -> None:
    """In eager mode and in compiled code alike."""
    x = narrow(dtype).detach().reshape(2, 3)
    expected = function(x.float(), dim).to(dtype)
    assert function(x, dim).tolist() == torch.compile(function)(x, dim).tolist() == expected.tolist()
    assert function(x.float() + 0.001, dim, dtype=dtype).tolist() == function((x.float() + 0.001).to(dtype), dim).tolist()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.int64, torch.bool], ids=str)
def test_results_of_expanded_operands_that_are_converted_are_row_major(dtype: torch.dtype) -> None:
    x = torch.ones(3, dtype=dtype).expand(4, 5, 3)
    assert (x * 2.5).stride() == (x / 2).stride() == x.exp().stride() == x.sigmoid().stride() == (15, 3, 1)


def test_small_probabilities_keep_their_gradient_in_the_cross_entropy_of_logits() -> None:
    x = torch.tensor([-20.0, -30.0, 0.5, 20.0, -9.0], requires_grad=True)
    target = torch.tensor([0.0, 0.0, 1.0, 1.0, 0.3])
    (gradient,) = torch.autograd.grad(F.binary_cross_entropy_with_logits(x, target, reduction="sum"), x)
    torch.testing.assert_close(gradient, torch.tensor([2.0611537e-09, 9.3576e-14, -0.37754068, 0.0, -0.29987660]), rtol=1e-5, atol=0)
    (gradient,) = torch.autograd.grad(F.binary_cross_entropy_with_logits(x, target, reduction="sum", pos_weight=torch.tensor(3.0)), x)
    torch.testing.assert_close(gradient, torch.tensor([2.0611537e-09, 9.3576e-14, -1.132622, 0.0, -0.8998025]), rtol=1e-5, atol=0)
