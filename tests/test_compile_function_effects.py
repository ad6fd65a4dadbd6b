"""Side effects of custom Functions in compiled programs: each happens as often as in eager mode, though a capture runs a backward for its graph alone."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch

LOG: list[Any] = []
TOTAL = torch.zeros(1)
once = torch.autograd.function.once_differentiable


def logged(ctx: Any, g: Any) -> Any:
    LOG.append(tuple(g.shape))
    return g * 2


def written_then_logged(ctx: Any, g: Any) -> Any:
    h = g.clone()
    h[0] = 0
    LOG.append(ctx.needs_input_grad)
    return h


def added_outside(ctx: Any, g: Any) -> Any:
    TOTAL.add_(g.sum())
    return g * 2


def added_outside_then_logged(ctx: Any, g: Any) -> Any:
    TOTAL.add_(1)
    LOG.append(1)
    return g * 2


def saved_is_written(ctx: Any, g: Any) -> Any:
    (x,) = ctx.saved_tensors
    x.detach().mul_(2)
    return g * x


def counted_in_the_context(ctx: Any, g: Any) -> Any:
    ctx.calls = getattr(ctx, "calls", 0) + 1
    return g * ctx.calls


def logged_below_native_code(ctx: Any, g: Any) -> Any:
    (found,) = map(functools.partial(logged, ctx), [g])
    return max([found, g], key=order)


def order(tensor: Any) -> int:
    LOG.append("order")
    return 1


def called_with(forward: Callable[..., Any], backward: Callable[..., Any]) -> Any:
    """A Function of these two."""

    class Made(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return forward(x)

    Made.backward = staticmethod(backward)  # type: ignore[assignment]
    return Made


def steps(function: Any, run: Callable[..., Any]) -> list[Any]:
    """What three calls leave behind before and after their backward passes."""
    LOG.clear()
    TOTAL.zero_()
    found = []
    call = run(lambda x: function.apply(x).sum())
    for _ in range(3):
        x = torch.ones(2, requires_grad=True)
        loss = call(x)
        before = (list(LOG), TOTAL.item())
        loss.backward()
        found.append((loss.item(), before, list(LOG), TOTAL.item(), x.grad.tolist(), x.tolist()))  # type: ignore[union-attr]
    return found


def doubled(x: Any) -> Any:
    return x * 2


def counted(x: Any) -> Any:
    TOTAL.add_(1)
    return x * 2


def counted_and_logged(x: Any) -> Any:
    TOTAL.add_(1)
    LOG.append("forward")
    return x * 2


@pytest.mark.parametrize("forward", [doubled, counted, counted_and_logged])
@pytest.mark.parametrize(
    "backward",
    [
        logged,
        written_then_logged,
        added_outside,
        added_outside_then_logged,
        saved_is_written,
        counted_in_the_context,
        logged_below_native_code,
    ],
)
@pytest.mark.parametrize("decorator", [lambda f: f, once], ids=["plain", "once"])
def test_effects_happen_once(forward: Any, backward: Any, decorator: Any) -> None:
    function = called_with(forward, decorator(backward))
    wanted = steps(function, lambda f: f)
    assert steps(function, functools.partial(torch.compile, backend="eager")) == wanted
    assert steps(function, functools.partial(torch.compile, backend="aot_eager")) == wanted


class Mixed(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu")
    def forward(ctx: Any, x: Any) -> Any:
        LOG.append("forward")
        return x * 2

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx: Any, g: Any) -> Any:
        LOG.append("backward")
        return g * 2


def test_effects_under_the_decorators_of_autocast() -> None:
    assert steps(Mixed, functools.partial(torch.compile, backend="eager")) == steps(Mixed, lambda f: f)


class Shaped(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any) -> Any:
        y = x.reshape(-1).view(x.shape).clone()
        y[..., 0] = 1
        return y

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None: ...

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2


def test_a_graph_is_differentiated_at_a_graph_break() -> None:
    """A second backward graph of a program (for other outputs) is made where ``backward`` is called, between two graphs: a Function in it is not compiled
    on its own there."""
    weight = torch.ones(4, 4, requires_grad=True)

    def step(x: Any) -> Any:
        h = x @ weight
        out, other = Shaped.apply(h), h.sin()
        h.register_hook(lambda g: g * 2)
        LOG.append(1)
        out.sum().backward()
        return out.detach(), other.detach()

    compiled = torch.compile(step)
    for n in (3, 2, 5, 4):
        weight.grad = None
        compiled(torch.ones(n, 4))
        assert weight.grad.tolist() == [[4.0 * n] * 4] * 4  # type: ignore[attr-defined]


def test_a_function_that_writes_under_vmap() -> None:
    def run(x: Any) -> Any:
        return torch.func.vmap(lambda row: Shaped.apply(row) * 3)(x)

    x = torch.arange(6.0).reshape(2, 3)
    assert torch.compile(run, backend="eager")(x).tolist() == run(x).tolist() == [[3.0, 3.0, 6.0], [3.0, 12.0, 15.0]]


class LeavesModes(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            LOG.append(1)
            return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        with torch.enable_grad(), torch.autocast("cpu", dtype=torch.bfloat16), torch.inference_mode():
            LOG.append(2)
            return g * 3


def in_a_checkpoint(x: Any) -> Any:
    def inner(x: Any) -> Any:
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            LOG.append(3)
            y = x * 2
        return x + y

    return torch.utils.checkpoint.checkpoint(inner, x, use_reentrant=False)


@pytest.mark.parametrize("function", [LeavesModes.apply, in_a_checkpoint])
def test_modes_are_left_where_a_body_is_abandoned(function: Any) -> None:
    """A graph break inside of ``no_grad`` or ``autocast`` in a body left the mode on, for all that came after it."""
    compiled = torch.compile(lambda x: function(x).sum(), backend="eager")
    for _ in range(2):
        x = torch.ones(2, requires_grad=True)
        compiled(x).backward()
        assert x.grad is not None
        assert torch.is_grad_enabled() and not torch.is_autocast_enabled("cpu") and not torch.is_inference_mode_enabled()
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.float32


class Filled(torch.autograd.Function):
    """Makes tensors of plain values in both directions."""

    @staticmethod
    def forward(ctx: Any, x: Any, mask: Any) -> Any:
        factor = torch.tensor([2.0])
        factor += 1
        weights = torch.softmax(x.masked_fill(mask, torch.tensor(torch.finfo(x.dtype).min)), -1)
        ctx.save_for_backward(weights)
        return weights * factor

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (weights,) = ctx.saved_tensors
        factor = torch.tensor([1.5])
        factor *= 2
        return weights * (g - (g * weights).sum(-1, keepdim=True)) * factor, None


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
def test_tensors_of_plain_values_in_functions(backend: str) -> None:
    """They are constants of the whole graph, of which each body has its own."""

    def program(x: Any, mask: Any) -> Any:
        return Filled.apply(x + 1, mask) * torch.tensor(2.0) + Filled.apply(x, ~mask)

    compiled = torch.compile(program, backend=backend, fullgraph=True)
    mask = torch.tensor([[True, False, False], [False, True, False]])
    for step in range(3):
        x = torch.arange(6.0).reshape(2, 3).sub(step).requires_grad_()
        results = [run(x, mask) for run in (program, compiled)]
        gradients = [torch.autograd.grad((each * torch.arange(6.0).reshape(2, 3)).sum(), x)[0] for each in results]
        assert torch.allclose(*results) and torch.allclose(*gradients)
        assert torch.allclose(program(x.detach(), mask), compiled(x.detach(), mask))


def test_a_function_before_a_graph_that_takes_no_gradient_of_it_has_no_backward() -> None:
    asked: list[str] = []

    class Noted(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            asked.append("forward")  # which ends the graph
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            asked.append("backward")
            return grad * 2

    def program(x: Any, y: Any) -> Any:
        z = Noted.apply(x)
        with torch.no_grad():
            z = z * 3
        return z + y.sum(), x * y

    for options in ({}, {"dynamic": True}, {"backend": "aot_eager"}):
        compiled = torch.compile(program, **options)
        for size in (2, 2, 2, 3, 3):
            asked.clear()
            x, y = (torch.ones(size, requires_grad=True) for _ in range(2))
            first, second = compiled(x, y)
            first.sum().backward(retain_graph=True)
            assert (asked, x.grad, y.grad.tolist()) == (["forward"], None, [size] * size)
            second.sum().backward()
            assert x.grad.tolist() == [1.0] * size
