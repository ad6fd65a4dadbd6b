"""``torch.func`` in the modes of its surroundings: inference mode, and gradients that are asked for in another mode than the function ran in."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight import func

W = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)


def test_transforms_in_inference_mode() -> None:
    """They record what they need; tensors of inference mode that a function captures may be kept, and results are ordinary tensors."""
    x = torch.tensor([1.0, 2.0, 3.0])
    with torch.inference_mode():
        y = x * 2
        results = [
            func.jacrev(func.grad(lambda a: (a**3).sum()))(x).diagonal(),
            func.hessian(lambda a: (a**3 * y).sum())(x).diagonal(),
            func.jvp(lambda a: a**2, (x,), (torch.ones(3),))[1],
            func.vmap(func.grad(lambda a: a**3))(y),
            func.vjp(lambda a: a * W, x)[1](torch.ones(3))[0],
        ]
        assert torch.is_inference_mode_enabled() and y.is_inference()
    assert [each.tolist() for each in results] == [
        [6.0, 12.0, 18.0],
        [12.0, 48.0, 108.0],
        [2.0, 4.0, 6.0],
        [12.0, 48.0, 108.0],
        [1.0, 2.0, 3.0],
    ]
    assert not any(each.is_inference() or each.requires_grad for each in results)


def test_vjp_is_recorded_in_the_mode_of_its_call() -> None:
    """The value is of the mode in which the function ran, gradients are of the one in which they are asked for."""
    with torch.no_grad():
        value, pull = func.vjp(lambda a: a**2, W)
    (gradient,) = pull(torch.ones(3))
    assert not value.requires_grad and gradient.requires_grad
    assert torch.autograd.grad(gradient.sum(), W)[0].tolist() == [2.0, 2.0, 2.0]
    value, pull = func.vjp(lambda a: a**2, W)
    with torch.no_grad():
        assert value.requires_grad and not pull(torch.ones(3))[0].requires_grad


def test_jacobians_of_complex_outputs_are_refused() -> None:
    for name in ("jacrev", "jacfwd"):
        with pytest.raises(RuntimeError, match=f"{name}: Expected all outputs to be real"):
            getattr(func, name)(lambda x: x * 1j)(torch.ones(2))


def test_jacrev_row_by_row() -> None:
    """With ``chunk_size=1`` nothing is mapped, so that a backward may do what ``vmap`` can't."""

    class Looks(torch.autograd.Function):
        @staticmethod
        def forward(x: torch.Tensor) -> torch.Tensor:
            return x * 2

        @staticmethod
        def setup_context(ctx: object, inputs: object, output: object) -> None:
            pass

        @staticmethod
        def backward(ctx: object, g: torch.Tensor) -> torch.Tensor:
            return g * 2 * len(g.nonzero())

    x = torch.tensor([1.0, 2.0])
    assert func.jacrev(Looks.apply, chunk_size=1)(x).tolist() == [[2.0, 0.0], [0.0, 2.0]]
    both = func.jacrev(lambda a: {"squares": a**2, "sum": a.sum()}, chunk_size=1)(x)
    assert both["squares"].tolist() == [[2.0, 0.0], [0.0, 4.0]] and both["sum"].tolist() == [1.0, 1.0]
