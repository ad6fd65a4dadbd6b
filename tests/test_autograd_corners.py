"""Corners of autograd that test files of others have found."""

from __future__ import annotations

import pytest

import rushlight as rl
from rushlight.autograd import Function, functional, gradcheck


def test_a_hook_hears_of_outputs_that_nothing_was_computed_from():
    x = rl.ones(3, requires_grad=True)
    parts = x.unbind()
    heard = []
    parts[0].register_hook(heard.append)
    parts[1].backward()
    assert heard == [None] and x.grad.tolist() == [0.0, 1.0, 0.0]
    parts = x.unbind()
    parts[0].register_hook(lambda gradient: rl.ones(()))
    with pytest.raises(TypeError, match="can't replace a None gradient"):
        parts[1].backward()


def test_a_backward_that_differs_from_run_to_run_is_refused():
    class Trembling(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            return gradient * (1 + rl.rand_like(gradient) * 1e-6)

    x = rl.randn(2, dtype=rl.float64, requires_grad=True)
    for fast in (True, False):
        with pytest.raises(RuntimeError, match="Backward is not reentrant"):
            gradcheck(Trembling.apply, x, fast_mode=fast)
        assert gradcheck(Trembling.apply, x, fast_mode=fast, nondet_tol=1e-4)


def test_outputs_whose_shape_depends_on_values_are_refused():
    x = rl.ones(1, dtype=rl.float64, requires_grad=True)
    with pytest.raises(AssertionError, match="same shape when inputs are perturbed"):
        gradcheck(lambda x: rl.cat([x, x]) if bool((x >= 1).all()) else x * 1, (x,))


def test_nodes_take_as_many_gradients_as_they_have_outputs():
    x = rl.ones(1, requires_grad=True)
    y = x**2
    for given in ((), (x, x)):
        with pytest.raises(TypeError, match="expected 1 arguments, got . instead"):
            y.grad_fn(*given)


def test_views_of_inference_mode_say_so():
    for write in (lambda view, base: view.add_(1), lambda view, base: (base.add_(1), view.grad_fn)):
        base = rl.ones(2, requires_grad=True).clone()
        with rl.inference_mode():
            view = base.view(-1)
        with pytest.raises(RuntimeError, match="A view was created in inference mode and"):
            write(view, base)


def test_vectors_that_may_be_left_out():
    x = rl.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="the user-provided function returns a single Tensor"):
        functional.vjp(lambda x: x * 2, x)
    with pytest.raises(RuntimeError, match="the input to the user-provided function is a single Tensor"):
        functional.jvp(lambda x: x.sum(), x)
    with pytest.raises(RuntimeError, match="The jacobian of the user-provided function is independent of input 0"):
        functional.vjp(lambda x: x.clone(), x, rl.ones(2), create_graph=True, strict=True)


class Wrapper(rl.Tensor):
    """A tensor in another, which it keeps in a slot."""

    __slots__ = ("inner",)

    @staticmethod
    def __new__(cls, inner, requires_grad=False):
        made = rl.Tensor._make_wrapper_subclass(cls, inner.size(), dtype=inner.dtype, device=inner.device, requires_grad=requires_grad)
        made.inner = inner.detach()
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def opened(value):
            return (
                value.inner if isinstance(value, cls) else [opened(each) for each in value] if isinstance(value, (list, tuple)) else value
            )

        made = func(*[opened(each) for each in args], **{name: opened(each) for name, each in (kwargs or {}).items()})
        return cls(made) if isinstance(made, rl.Tensor) else made


def test_backward_of_a_wrapper_meets_ops_that_are_no_operators_of_aten():
    x = Wrapper(rl.tensor([[1.0, 2.0], [3.0, 4.0]]), requires_grad=True)
    loss = (x[0].exp() * x[:, 1:].sum()).sum() + rl.nn.functional.softmax(x, 1).select(0, 1).sum()
    (first,) = rl.autograd.grad(loss, x, create_graph=True)
    (second,) = rl.autograd.grad(first.sum(), x)
    plain = rl.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    loss = (plain[0].exp() * plain[:, 1:].sum()).sum() + rl.nn.functional.softmax(plain, 1).select(0, 1).sum()
    (wanted,) = rl.autograd.grad(loss, plain, create_graph=True)
    (wanted_second,) = rl.autograd.grad(wanted.sum(), plain)
    assert isinstance(first, Wrapper) and isinstance(second, Wrapper)
    assert rl.allclose(first.inner, wanted.detach(), atol=1e-5) and rl.allclose(second.inner, wanted_second, atol=1e-4)
