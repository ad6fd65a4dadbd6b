"""Selective checkpointing: a policy says which results the recomputation is handed, and which it computes again."""

from __future__ import annotations

import functools

import pytest

import rushlight as torch
from rushlight.compat.python_dispatch import TorchDispatchMode
from rushlight.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

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
