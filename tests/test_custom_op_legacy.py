"""``torch._custom_ops``, the deprecated API by which an op is defined first and given its parts one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import rushlight as torch
from rushlight.compat import c_names, custom_ops
from rushlight.compat.custom_op import impl

NAME = "testlegacy::scaled"


@pytest.fixture
def op() -> Iterator[Any]:
    """An op with an implementation for the CPU, and without a gradient."""
    custom_ops.custom_op(NAME, "(Tensor x, float by) -> Tensor")
    custom_ops.impl(NAME, device_types="cpu", func=lambda x, by: x.sin() * by)
    yield impl.get_op(NAME)
    custom_ops._destroy(NAME)


def test_an_op_runs_and_refuses_gradients_until_it_has_them(op: Any) -> None:
    x = torch.randn(3)
    assert torch.equal(op(x, 2.0), x.sin() * 2)
    x.requires_grad_()
    with pytest.raises(RuntimeError, match="Autograd has not been implemented for operator"):
        op(x, 2.0)
    with torch.no_grad():
        assert not op(x, 2.0).requires_grad
    custom_ops.impl_save_for_backward(NAME, func=lambda inputs, output: {"x": inputs.x, "by": inputs.by})
    with pytest.raises(RuntimeError, match="unable to find a 'backward' registration"):
        op(x, 2.0)
    custom_ops.impl_backward(NAME, func=lambda ctx, saved, grad: {"x": grad * saved["x"].cos() * saved["by"]})
    op(x, 2.0).sum().backward()
    assert torch.allclose(x.grad, x.detach().cos() * 2)


def test_gradients_that_do_not_fit_are_refused(op: Any) -> None:
    made: list[Any] = [None]
    custom_ops.impl_save_for_backward(NAME, func=lambda inputs, output: None)
    custom_ops.impl_backward(NAME, func=lambda ctx, saved, grad: made[0])
    x = torch.ones(2, requires_grad=True)
    for value, message in (
        (x, "to be a dict"),
        ({}, "to have keys"),
        ({"x": x, "by": None}, "to have keys"),
        ({"x": 1.0}, "either None or a Tensor"),
    ):
        made[0] = value
        with pytest.raises(RuntimeError, match=message):
            op(x, 2.0).sum().backward()


def test_fakes_and_calls_without_an_implementation(op: Any) -> None:
    with pytest.raises(NotImplementedError, match="no fake impl or Meta kernel"):
        op(torch.ones(2, device="meta"), 2.0)
    custom_ops.impl_abstract(NAME, func=lambda x, by: torch.empty_like(x))
    assert op(torch.ones(2, device="meta"), 2.0).shape == (2,)
    custom_ops.custom_op("testlegacy::bare", "(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match="no cpu impl registered"):
        torch.ops.testlegacy.bare(torch.ones(2))
    custom_ops._destroy("testlegacy::bare")
    assert not hasattr(torch.ops.testlegacy, "bare")


def test_registrations_are_checked(op: Any) -> None:
    with pytest.raises(RuntimeError, match="already has a cpu impl registered from Python at .*test_custom_op_legacy.py"):
        custom_ops.impl(NAME, device_types="cpu", func=lambda x, by: x)
    with pytest.raises(ValueError, match="reserved namespace"):
        custom_ops.custom_op("aten::foo", "(Tensor x) -> Tensor")
    with pytest.raises(ValueError, match="do not handle overloads"):
        custom_ops.custom_op("testlegacy::foo.Tensor", "(Tensor x) -> Tensor")
    with pytest.raises(ValueError, match="only supports functional"):
        custom_ops.custom_op("testlegacy::write", "(Tensor(a!) x) -> ()")
    with pytest.raises(ValueError, match="Could not find the operator"):
        impl.get_op("testlegacy::nothing")


def test_a_kernel_of_the_autograd_key_calls_the_op_below_it() -> None:
    class Tripled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            with c_names._AutoDispatchBelowAutograd():
                return torch.ops.testlegacy.tripled(x)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 3

    with torch.library._scoped_library("testlegacy", "FRAGMENT") as library:
        library.define("tripled(Tensor x) -> Tensor")
        library.impl("tripled", lambda x: x * 3, "CPU")
        library.impl("tripled", Tripled.apply, "Autograd")
        x = torch.ones(2, requires_grad=True)
        result = torch.ops.testlegacy.tripled(x)
        result.sum().backward()
        assert torch.equal(result, torch.full((2,), 3.0))
        assert torch.equal(x.grad, torch.full((2,), 3.0))
