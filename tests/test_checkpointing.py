"""Checkpoints that are not reentrant: what is recomputed when, what is kept, and which uses are refused."""

from __future__ import annotations

import gc
import weakref

import pytest

import rushlight as torch
from rushlight.utils.checkpoint import CheckpointError, GraphExecGroup, checkpoint, checkpoint_sequential, set_checkpoint_early_stop


def counted(function):
    """The function, and a list that has one item for each call of it."""
    calls = []

    def run(*args):
        calls.append(None)
        return function(*args)

    return run, calls


@pytest.mark.parametrize("early_stop", [True, False])
def test_checkpoint_in_a_checkpoint_recomputes_its_inputs_too(early_stop):
    inner, inner_calls = counted(lambda x: x.sin().exp().sin())
    outer, outer_calls = counted(lambda x: checkpoint(inner, x.cos(), use_reentrant=False).sin())
    x = torch.tensor(0.5, requires_grad=True)
    with set_checkpoint_early_stop(early_stop):
        checkpoint(outer, x, use_reentrant=False).backward()
    mine, x.grad = x.grad, None
    x.cos().sin().exp().sin().sin().backward()
    assert torch.equal(mine, x.grad)
    assert len(outer_calls) == 2
    assert len(inner_calls) == 3


def test_inner_checkpoint_holds_no_input_of_its_own():
    seen = []

    def inner(x):
        return x.exp()

    def outer(x):
        middle = x.sin()
        seen.append(weakref.ref(middle))
        return checkpoint(inner, middle, use_reentrant=False).cos()

    out = checkpoint(outer, torch.ones(4, requires_grad=True), use_reentrant=False)
    gc.collect()
    assert seen[0]() is None
    out.sum().backward()


@pytest.mark.parametrize("early_stop", [True, False])
def test_gradients_inside_of_a_checkpoint(early_stop):
    def function(x):
        (inside,) = torch.autograd.grad(checkpoint(lambda y: y.sin().exp(), x, use_reentrant=False), x, create_graph=True)
        return inside.sin()

    def plain(x):
        (inside,) = torch.autograd.grad(x.sin().exp(), x, create_graph=True)
        return inside.sin()

    x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    with set_checkpoint_early_stop(early_stop):
        (mine,) = torch.autograd.grad(checkpoint(function, x, use_reentrant=False), x)
    (theirs,) = torch.autograd.grad(plain(x), x)
    assert torch.allclose(mine, theirs)


def test_each_backward_pass_recomputes_once():
    function, calls = counted(lambda x: x.sin().exp().sin())
    x = torch.ones(3, requires_grad=True)
    out = checkpoint(function, x, use_reentrant=False)
    out.sum().backward(retain_graph=True)
    out.sum().backward(retain_graph=True)
    assert len(calls) == 3
    out.grad_fn._saved_self  # outside of a backward pass nothing is kept
    out.grad_fn._saved_self
    assert len(calls) == 5


def test_write_to_an_input_after_the_forward_pass_is_refused():
    x = torch.ones(3, requires_grad=True).clone()
    out = checkpoint(lambda y: y.exp(), x, use_reentrant=False)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_recomputed_tensor_is_handed_out_once_in_a_pass():
    errors = []

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            ctx.saved_tensors
            try:
                ctx.saved_tensors
            except CheckpointError as error:
                errors.append(str(error))
            return grad * 2

    x = torch.ones(3, requires_grad=True)
    checkpoint(lambda y: Twice.apply(y * 3), x, use_reentrant=False).sum().backward()
    assert len(errors) == 1 and "already unpacked once" in errors[0]


def test_backward_passes_of_a_group_share_a_recomputation():
    def halves(x):
        middle = x.sin().cos()
        return middle, middle.sin().cos()

    for group, times in ((GraphExecGroup(), 2), (None, 3)):
        function, calls = counted(halves)
        x = torch.randn(3, requires_grad=True)
        middle, out = checkpoint(function, x, use_reentrant=False)
        if group is None:
            (first,) = torch.autograd.grad(out.sum(), middle)
            torch.autograd.grad(middle, x, first)
        else:
            with group:
                (first,) = torch.autograd.grad(out.sum(), middle)
                torch.autograd.grad(middle, x, first)
        assert len(calls) == times


def test_overlapping_backward_passes_of_a_group_are_refused():
    x = torch.randn(3, requires_grad=True)
    out = checkpoint(lambda y: y.sin().cos(), x, use_reentrant=False)
    with GraphExecGroup():
        out.sum().backward(retain_graph=True)
        with pytest.raises(RuntimeError, match="Performing two backward calls that overlap"):
            out.sum().backward()
        with pytest.raises(RuntimeError, match="cannot be nested"), GraphExecGroup():
            pass


def test_more_saved_tensors_in_the_second_run_are_refused():
    state = {"first": True}

    def function(x):
        first, state["first"] = state["first"], False
        return x.sin().exp() if first else x.sin().exp().sin()

    x = torch.ones(2, requires_grad=True)
    with set_checkpoint_early_stop(False):
        out = checkpoint(function, x, use_reentrant=False)
        with pytest.raises(CheckpointError, match="trying to save more tensors"):
            out.sum().backward()


def test_sequence_without_use_reentrant_warns():
    layers = [torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)]
    with pytest.warns(UserWarning, match="checkpoint_sequential: the use_reentrant parameter"):
        checkpoint_sequential(layers, 2, torch.ones(1, 2, requires_grad=True))
