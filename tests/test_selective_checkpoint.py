"""Selective checkpointing: a policy says which results the recomputation is handed, and which it computes again."""

from __future__ import annotations

import contextlib
import functools

import pytest

import rushlight as torch
from rushlight.compat.python_dispatch import TorchDispatchMode
from rushlight.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts, set_checkpoint_early_stop

MM = torch.ops.aten.mm.default


class Count(TorchDispatchMode):
    """Counts the operators that really run."""

    def __init__(self) -> None:
        super().__init__()
        self.ran: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.ran.append(str(func))
        return func(*args, **(kwargs or {}))


def program(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.sin(x @ w).cos().sum()


def leaves() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return torch.randn(3, 4, requires_grad=True), torch.randn(4, 5, requires_grad=True)


def test_a_policy_is_asked_once_about_every_operator_and_gradients_are_the_same() -> None:
    asked: list[tuple[bool, str]] = []

    def policy(ctx, op, *args, **kwargs):
        asked.append((ctx.is_recompute, str(op)))
        return CheckpointPolicy.MUST_SAVE if op is MM else CheckpointPolicy.PREFER_RECOMPUTE

    x, w = leaves()
    wanted = torch.autograd.grad(program(x, w), (x, w))
    made = checkpoint(program, x, w, use_reentrant=False, context_fn=functools.partial(create_selective_checkpoint_contexts, policy))
    found = torch.autograd.grad(made, (x, w))
    assert all(torch.equal(a, b) for a, b in zip(found, wanted))
    assert asked == [(False, f"aten.{name}.default") for name in ("mm", "sin", "cos", "sum")]


@pytest.mark.parametrize(("kept", "products"), [([MM], 3), ([], 4)])
def test_what_is_kept_is_not_computed_again(kept: list, products: int) -> None:
    x, w = leaves()
    contexts = functools.partial(create_selective_checkpoint_contexts, kept)
    with Count() as count:
        checkpoint(program, x, w, use_reentrant=False, context_fn=contexts).backward()
    assert count.ran.count("aten.mm.default") == products  # one forward, two of the gradient, and one again where it is not kept


def test_a_kept_result_that_was_written_to_is_refused() -> None:
    x, w = leaves()

    def writes(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        made = x @ w
        made.add_(1)
        return made.sin().sum()

    contexts = functools.partial(create_selective_checkpoint_contexts, [MM])
    with pytest.raises(RuntimeError, match="has been mutated"):
        checkpoint(writes, x, w, use_reentrant=False, context_fn=contexts).backward()


def test_lists_are_of_overloads() -> None:
    with pytest.raises(ValueError, match="OpOverloadPacket to a specific OpOverload"):
        create_selective_checkpoint_contexts([torch.ops.aten.mm])
    with pytest.raises(TypeError, match="either a function or a list of ops"):
        create_selective_checkpoint_contexts(3)


def test_early_stop_is_an_argument_that_a_context_overrules():
    runs = []

    def function(x):
        y = x.exp().sin()
        runs.append(len(runs))
        return y

    for argument, context, expected in ((True, None, 1), (False, None, 2), (False, True, 1), (True, False, 2)):
        runs.clear()
        x = torch.ones(2, requires_grad=True)
        with contextlib.nullcontext() if context is None else set_checkpoint_early_stop(context):
            y = checkpoint(function, x, use_reentrant=False, early_stop=argument)
        y.sum().backward()
        assert len(runs) == expected, (argument, context)


def test_a_reentrant_checkpoint_refuses_a_backward_with_inputs():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"torch.utils.checkpoint is incompatible with .grad\(\)"):
        torch.autograd.grad(checkpoint(torch.exp, x, use_reentrant=True).sum(), x)
    checkpoint(torch.exp, x, use_reentrant=True).sum().backward()
    assert x.grad is not None


def test_a_second_run_that_saves_more_is_refused():
    calls = []

    def function(x):
        calls.append(None)
        return x.exp().sin() if len(calls) == 1 else x.exp().sin().cos()

    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="trying to save more tensors during recomputation"):
        checkpoint(function, x, use_reentrant=False, early_stop=False).sum().backward()


def test_a_context_that_suppresses_an_error_of_the_forward_is_refused():
    def fail(x):
        raise ValueError("forward failed")

    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="context_fn suppressed"):
        checkpoint(fail, x, use_reentrant=False, context_fn=lambda: (contextlib.suppress(ValueError), contextlib.nullcontext()))


def test_policies_have_pytorchs_numbers() -> None:
    assert [(each.name, each.value) for each in CheckpointPolicy][-2:] == [("MUST_CPU_OFFLOAD", 4), ("PREFER_CPU_OFFLOAD", 5)]
