"""What a backward pass does behind a custom Function that gives None for an input that requires a gradient: nodes run, and Functions get zeros, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch

LOG: list[Any] = []


def recorded(*gradients: Any) -> list[Any]:
    return [None if each is None else each.tolist() for each in gradients]


class Blocked(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return None


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        LOG.append(("doubled", *recorded(g)))
        return g * 2


class Bare(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        LOG.append(("bare", *recorded(g)))
        return None if g is None else g * 2


class Pair(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2, x * 3

    @staticmethod
    def backward(ctx: Any, a: Any, b: Any) -> Any:
        LOG.append(("pair", *recorded(a, b)))
        return a + b


ZERO = [0.0, 0.0]
DOUBLED = ("doubled", ZERO)


def hooked(w: Any) -> Any:
    h = w.sin()
    h.register_hook(lambda g: LOG.append(("hook", g)))
    return Blocked.apply(h)


def checkpointed(w: Any) -> Any:
    return Blocked.apply(torch.utils.checkpoint.checkpoint(lambda x: Doubled.apply(x).sin(), w, use_reentrant=False))


@pytest.mark.parametrize(
    ("function", "log", "gradient"),
    [
        (lambda w: Blocked.apply(w), [], None),
        (lambda w: Blocked.apply(w.sin()), [], None),
        (lambda w: Blocked.apply(Doubled.apply(w)), [DOUBLED], ZERO),
        (lambda w: Blocked.apply(Doubled.apply(w).sin().reshape(1, 2)), [DOUBLED], ZERO),
        (lambda w: Blocked.apply(Bare.apply(w)), [("bare", None)], None),
        (lambda w: Blocked.apply(Bare.apply(Doubled.apply(w))), [("bare", None), DOUBLED], ZERO),
        (lambda w: Blocked.apply(Doubled.apply(w)) + w * 3, [DOUBLED], [3.0, 3.0]),
        (lambda w: (lambda d: Blocked.apply(d) + d)(Doubled.apply(w)), [("doubled", [1.0, 1.0])], [2.0, 2.0]),
        (lambda w: Blocked.apply(Pair.apply(w)[0]), [("pair", ZERO, ZERO)], ZERO),
        (lambda w: (lambda p: Blocked.apply(p[0]) + p[1])(Pair.apply(w)), [("pair", ZERO, [1.0, 1.0])], [1.0, 1.0]),
        (lambda w: Blocked.apply(torch.stack([Doubled.apply(w), w])), [DOUBLED], ZERO),
        (checkpointed, [DOUBLED], ZERO),
        (hooked, [("hook", None)], None),
    ],
)
def test_what_runs_behind_none(function: Callable[[Any], Any], log: list[Any], gradient: Any) -> None:
    for run in (function, torch.compile(function, backend="eager")):
        LOG.clear()
        w = torch.ones(2, requires_grad=True)
        run(w).sum().backward()
        assert log == LOG
        assert (None if w.grad is None else w.grad.tolist()) == gradient
        LOG.clear()
        w = torch.ones(2, requires_grad=True)
        (found,) = torch.autograd.grad(run(w).sum(), w, allow_unused=True)
        assert log == LOG and (None if found is None else found.tolist()) == gradient


def test_an_optimizer_steps_where_the_gradient_is_zero() -> None:
    """Weight decay is applied to a parameter whose gradient is zero, and not to one that has none."""
    for run in (lambda f: f, torch.compile):
        w, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        optimizer = torch.optim.SGD([w, v], lr=0.5, weight_decay=0.5)
        run(lambda w, v: Blocked.apply(Quiet.apply(w) + v))(w, v).sum().backward()
        optimizer.step()
        assert w.tolist() == [0.75, 0.75] and v.tolist() == [1.0, 1.0]


class Quiet(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2
