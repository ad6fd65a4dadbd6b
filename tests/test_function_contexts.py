"""The context of a custom Function, which in PyTorch is the node of its call."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch


def test_a_context_has_what_its_node_has() -> None:
    seen: list[Any] = []

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x)
            ctx._device, ctx._node = "mine", 3  # names of the user's
            seen.append((type(ctx).__name__, ctx.name(), ctx._forward_cls is Cube, ctx.requires_grad, len(ctx.to_save), ctx.dirty_tensors))
            with pytest.warns(FutureWarning, match="mark_shared_storage is deprecated"):
                ctx.mark_shared_storage((x, y))
            return x * x * x, y * 1

        @staticmethod
        def backward(ctx, g, h):
            (x,) = ctx.saved_tensors
            seen.append((ctx.name(), [n and n.name() for n, _ in ctx.next_functions], ctx._device, ctx._node, h.tolist()))
            return 3 * x * x * g, None

    x = torch.ones(2, requires_grad=True)
    out, _ = Cube.apply(x, torch.ones(2))
    out.sum().backward()
    assert seen == [
        ("CubeBackward", "CubeBackward", True, True, 1, None),
        ("CubeBackward", ["torch::autograd::AccumulateGrad", None], "mine", 3, [0.0, 0.0]),
    ]
    assert x.grad.tolist() == [3.0, 3.0] and out.grad_fn.requires_grad


def test_a_context_is_marked_by_assignment() -> None:
    """What the methods of a context do, as old code writes it."""

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            whole = x.long()
            ctx.to_save, ctx.non_differentiable, ctx.materialize_grads = (x,), (whole,), False
            return x * 2, whole

        @staticmethod
        def backward(ctx, g, h):
            assert h is None and ctx.saved_tensors[0].tolist() == [1.0]
            return g * 2

    x = torch.ones(1, requires_grad=True)
    Twice.apply(x)[0].backward()
    assert x.grad.tolist() == [2.0]


def test_a_backward_may_be_compiled_by_itself() -> None:
    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            result = x + x
            ctx.save_for_backward(result)
            return result

        @staticmethod
        @torch.compile(backend="eager", fullgraph=True)
        def backward(ctx: Any, gradient: Any) -> Any:
            (result,) = ctx.saved_tensors
            return gradient * result.sin() if ctx.needs_input_grad[0] else None

    for _ in range(2):
        x = torch.ones(3, requires_grad=True)
        Sine.apply(x).sum().backward()
        torch.testing.assert_close(x.grad, torch.full((3,), 2.0).sin())
