"""Composites that PyTorch computes in one kernel: of bfloat16 and float16 in float32, rounded once. Expected values are PyTorch 2.13's."""

from __future__ import annotations

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
