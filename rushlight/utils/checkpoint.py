"""Activation checkpointing: parts of the forward are recomputed during backward, to save memory."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from ..amp.autocast_mode import autocast, get_autocast_dtype, is_autocast_cache_enabled, is_autocast_enabled
from ..autograd import Function, backward, enable_grad
from ..autograd.graph import saved_tensors_hooks
from ..core.base import TensorBase
from ..core.errors import GradientError
from ..core.random import default_generator
from ..core.state import state
from .selective_checkpoint import (  # noqa: F401  (names of this module)
    CheckpointPolicy,
    DefaultDeviceType,
    GraphExecGroup,
    SelectiveCheckpointContext,
    check_backward_validity,
    create_selective_checkpoint_contexts,
    get_device_states,
    noop_context_fn,
    set_checkpoint_debug_enabled,
    set_device_states,
)


class CheckpointError(GradientError):
    """The second run of a checkpointed function saved other tensors than the first."""

    code = "RL206"


class _StopRecomputation(Exception):
    """Raised by the hook that has got the last tensor it waits for: the rest of the function has nothing to add."""


_early_stop: list[bool] = []  # what contexts say, which counts for more than the argument of a call


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Whether checkpoints entered in this context stop recomputing once they have every tensor that backward needs."""
    _early_stop.append(bool(enable))
    try:
        yield
    finally:
        _early_stop.pop()


def _autocasts() -> list[Callable[[], Any]]:
    """Makers of contexts that set autocast as it is now, for the kinds of devices that it knows."""
    return [
        functools.partial(
            autocast, kind, enabled=is_autocast_enabled(kind), dtype=get_autocast_dtype(kind), cache_enabled=is_autocast_cache_enabled()
        )
        for kind in ("cpu", "cuda")
        if is_autocast_enabled(kind)
    ]


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Inputs as new leaves that require grad where the originals do."""
    return tuple(each.detach().requires_grad_(each.requires_grad) if isinstance(each, TensorBase) else each for each in inputs)


class CheckpointFunction(Function):
    """The reentrant form: forward without recording; backward runs it again, recorded, and differentiates that."""

    @staticmethod
    def forward(ctx: Any, run_function: Any, preserve_rng_state: bool, *args: Any) -> Any:
        ctx.run_function = run_function
        ctx.random_state = default_generator.get_state() if preserve_rng_state else None
        ctx.autocasts = _autocasts()
        ctx.positions = [i for i, each in enumerate(args) if isinstance(each, TensorBase)]
        ctx.others = [None if isinstance(each, TensorBase) else each for each in args]
        ctx.save_for_backward(*(args[i] for i in ctx.positions))
        return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        if state.backward_pass.targets is not None:
            raise GradientError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to .backward(). To "
                "resolve this error, you can either set use_reentrant=False, or call .backward() without passing the `inputs` argument."
            )
        inputs = list(ctx.others)
        for position, tensor in zip(ctx.positions, ctx.saved_tensors):
            inputs[position] = tensor
        leaves = detach_variable(tuple(inputs))
        with contextlib.ExitStack() as stack:
            for make in (lambda: _random_state(ctx.random_state), enable_grad, *ctx.autocasts):
                stack.enter_context(make())
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

    def __init__(self, run: Callable[[], Any], random_state: Any, context: Any, check: bool, early_stop: bool) -> None:
        self.run = run
        self.random_state = random_state
        self.context, self.check = context, check
        self.autocasts = _autocasts()
        self.early_stop = _early_stop[-1] if _early_stop else early_stop
        self.shapes: list[Any] = []
        self.recomputed: list[Any] | None = None

    def pack(self, tensor: Any) -> int:
        self.shapes.append((tuple(tensor._array.shape), tensor._array.dtype))
        return len(self.shapes) - 1

    pack.recomputes = True  # type: ignore[attr-defined]

    def unpack(self, index: int) -> Any:
        if self.recomputed is None:
            saved: list[Any] = []

            def keep(tensor: Any) -> int:
                if len(saved) == len(self.shapes):
                    raise CheckpointError(
                        "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original forward pass."
                    )
                saved.append(tensor.detach())
                if self.early_stop and len(saved) == len(self.shapes):
                    raise _StopRecomputation
                return len(saved) - 1

            keep.recomputes = True  # type: ignore[attr-defined]
            with contextlib.suppress(_StopRecomputation), contextlib.ExitStack() as stack:
                for make in (lambda: _random_state(self.random_state), enable_grad, *self.autocasts):
                    stack.enter_context(make())
                if self.context is not None:
                    stack.enter_context(self.context)
                stack.enter_context(saved_tensors_hooks(keep, saved.__getitem__))
                self.run()
            if len(saved) != len(self.shapes):
                raise CheckpointError(
                    "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
                    f"Number of tensors saved during forward: {len(self.shapes)}\n"
                    f"Number of tensors saved during recomputation: {len(saved)}"
                )
            for position, (tensor, (shape, dtype)) in enumerate(zip(saved, self.shapes)):
                if self.check and (tuple(tensor._array.shape) != shape or tensor._array.dtype != dtype):
                    raise CheckpointError(
                        "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during "
                        f"the forward pass.\ntensor at position {position}: {shape} {dtype} against {tensor._array.shape} "
                        f"{tensor._array.dtype}"
                    )
            self.recomputed = saved
        return self.recomputed[index]


def is_recording() -> bool:
    """Whether a checkpointed function runs, or runs again: both runs have to save the same tensors."""
    return bool(state.saved_hooks) and getattr(state.saved_hooks[-1][0], "recomputes", False)


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Any = None,
    determinism_check: str = "default",
    debug: bool = False,
    preserve_rng_state: bool = True,
    early_stop: bool = True,
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
        if context_fn is not None or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if not state.grad_enabled:
        return function(*args, **kwargs)
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    first, second = (contextlib.nullcontext(), None) if context_fn is None else context_fn()
    random_state = default_generator.get_state() if preserve_rng_state else None
    frame = _Frame(lambda: function(*args, **kwargs), random_state, second, determinism_check == "default", early_stop)
    with saved_tensors_hooks(frame.pack, frame.unpack), first:
        return function(*args, **kwargs)
    raise GradientError("torch.utils.checkpoint: context_fn suppressed an exception of the forward pass")


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
