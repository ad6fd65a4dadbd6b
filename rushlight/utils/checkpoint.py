"""Activation checkpointing: parts of the forward are recomputed during backward, to save memory."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

from ..autograd import Function, backward, enable_grad
from ..autograd.graph import saved_tensors_hooks
from ..core.base import TensorBase
from ..core.errors import GradientError
from ..core.random import default_generator
from ..core.state import state


class CheckpointError(GradientError):
    """The second run of a checkpointed function saved other tensors than the first."""

    code = "RL206"


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Inputs as new leaves that require grad where the originals do."""
    return tuple(each.detach().requires_grad_(each.requires_grad) if isinstance(each, TensorBase) else each for each in inputs)


class CheckpointFunction(Function):
    """The reentrant form: forward without recording; backward runs it again, recorded, and differentiates that."""

    @staticmethod
    def forward(ctx: Any, run_function: Any, preserve_rng_state: bool, *args: Any) -> Any:
        ctx.run_function = run_function
        ctx.random_state = default_generator.get_state() if preserve_rng_state else None
        ctx.positions = [i for i, each in enumerate(args) if isinstance(each, TensorBase)]
        ctx.others = [None if isinstance(each, TensorBase) else each for each in args]
        ctx.save_for_backward(*(args[i] for i in ctx.positions))
        return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        inputs = list(ctx.others)
        for position, tensor in zip(ctx.positions, ctx.saved_tensors):
            inputs[position] = tensor
        leaves = detach_variable(tuple(inputs))
        with _random_state(ctx.random_state), enable_grad():
            outputs = ctx.run_function(*leaves)
        outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
        pairs = [(o, g) for o, g in zip(outputs, gradients) if isinstance(o, TensorBase) and o.requires_grad]
        if not pairs:
            raise GradientError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *(each.grad if isinstance(each, TensorBase) else None for each in leaves))


@contextlib.contextmanager
def _random_state(saved: Any) -> Any:
    """The random stream as it was, and afterwards as it is."""
    if saved is None:
        yield
        return
    present = default_generator.get_state()
    default_generator.set_state(saved)
    try:
        yield
    finally:
        default_generator.set_state(present)


class _Frame:
    """What one checkpointed call keeps: how to run it again, and the tensors that the second run saves."""

    def __init__(self, run: Callable[[], Any], random_state: Any) -> None:
        self.run = run
        self.random_state = random_state
        self.shapes: list[Any] = []
        self.recomputed: list[Any] | None = None

    def pack(self, tensor: Any) -> int:
        self.shapes.append((tuple(tensor._array.shape), tensor._array.dtype))
        return len(self.shapes) - 1

    def unpack(self, index: int) -> Any:
        if self.recomputed is None:
            saved: list[Any] = []
            with (
                _random_state(self.random_state),
                enable_grad(),
                saved_tensors_hooks(
                    lambda tensor: saved.append(tensor.detach()) or len(saved) - 1,  # type: ignore[func-returns-value]
                    lambda position: saved[position],
                ),
            ):
                self.run()
            if len(saved) != len(self.shapes):
                raise CheckpointError(
                    "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
                    f"Number of tensors saved during forward: {len(self.shapes)}\n"
                    f"Number of tensors saved during recomputation: {len(saved)}"
                )
            for position, (tensor, (shape, dtype)) in enumerate(zip(saved, self.shapes)):
                if tuple(tensor._array.shape) != shape or tensor._array.dtype != dtype:
                    raise CheckpointError(
                        "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during "
                        f"the forward pass.\ntensor at position {position}: {shape} {dtype} against {tensor._array.shape} "
                        f"{tensor._array.dtype}"
                    )
            self.recomputed = saved
        return self.recomputed[index]


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Any = None,
    determinism_check: str = "default",
    debug: bool = False,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Call a function without keeping what its backward needs; backward computes it again."""
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Defaulting to use_reentrant=True.",
            stacklevel=2,
        )
        use_reentrant = True
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if not state.grad_enabled:
        return function(*args, **kwargs)
    frame = _Frame(lambda: function(*args, **kwargs), default_generator.get_state() if preserve_rng_state else None)
    with saved_tensors_hooks(frame.pack, frame.unpack):
        return function(*args, **kwargs)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, preserve_rng_state: bool = True, **kwargs: Any
) -> Any:
    """Checkpoint a sequence of functions in ``segments`` segments; the last one is not checkpointed."""
    functions = list(functions.children()) if hasattr(functions, "children") else list(functions)

    def segment(start: int, end: int) -> Callable[[Any], Any]:
        def run(value: Any) -> Any:
            for function in functions[start:end]:
                value = function(value)
            return value

        return run

    size = len(functions) // segments
    end = 0
    for start in range(0, size * (segments - 1), size):
        end = start + size
        input = checkpoint(
            segment(start, end), input, use_reentrant=True if use_reentrant is None else use_reentrant,
            preserve_rng_state=preserve_rng_state,
        )  # fmt: skip
    return segment(end, len(functions))(input)
