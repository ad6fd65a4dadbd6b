"""Activation checkpointing: parts of the forward are recomputed during backward, to save memory."""

from __future__ import annotations

import contextlib
import functools
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from ..amp.autocast_mode import autocast, get_autocast_dtype, is_autocast_cache_enabled, is_autocast_enabled
from ..autograd import Function, backward, enable_grad
from ..autograd.graph import saved_tensors_hooks
from ..core.base import TensorBase
from ..core.errors import GradientError
from ..core.node import packed, save, unpack
from ..core.random import default_generator
from ..core.state import state
from .selective_checkpoint import (  # noqa: F401  (names of this module)
    CheckpointPolicy,
    DefaultDeviceType,
    GraphExecGroup,
    SelectiveCheckpointContext,
    check_backward_validity,
    create_selective_checkpoint_contexts,
    current_group,
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


class _Place:
    """What a node holds in place of a tensor that it saved: which one it was of those that the function saves."""

    __slots__ = ("__weakref__", "index")

    def __init__(self, index: int) -> None:
        self.index = index


class _Frame:
    """What one checkpointed call keeps: how to run it again, and, for each backward pass, the tensors that the second run saved.

    Tensors among the arguments are saved as a node saves them: hooks that are on, such as those of a checkpoint around this one, pack them, and a
    write to them after the forward pass is an error in backward.
    """

    def __init__(self, function: Callable[..., Any], args: Any, kwargs: Any, random_state: Any, check: bool, early_stop: bool) -> None:
        self.function, self.args, self.kwargs = function, [save(each) for each in args], kwargs
        if state.saved_hooks:
            self.args = [packed(each, state.saved_hooks[-1]) for each in self.args]
        self.random_state = random_state
        self.context: Any = None
        self.check = check
        self.autocasts = _autocasts()
        self.early_stop = _early_stop[-1] if _early_stop else early_stop
        self.complete = False  # whether the forward pass has ended
        self.mismatch_expected = False
        self.shapes: list[Any] = []
        self.places: list[weakref.ref[_Place]] = []
        self.recomputed: weakref.WeakKeyDictionary[Any, dict[int, Any]] = weakref.WeakKeyDictionary()

    def name(self) -> str:
        """What errors call it that concern the saved arguments."""
        return "torch.utils.checkpoint"

    def pack(self, tensor: Any) -> _Place:
        """The place of a tensor that is not kept."""
        place = _Place(len(self.places))
        self.places.append(weakref.ref(place))
        self.shapes.append((tuple(tensor._array.shape), tensor._array.dtype))
        return place

    pack.recomputes = True  # type: ignore[attr-defined]

    def unpack(self, place: _Place) -> Any:
        """The tensor of a place, once in each backward pass: it is computed for that pass alone, and handed out for good."""
        group = current_group()
        running = group or state.backward_pass or _Place(-1)
        if running not in self.recomputed:
            self.recomputed[running] = self.recompute()
        found = self.recomputed[running].pop(place.index, None)
        if found is not None:
            return found
        if group is not None:
            raise CheckpointError(
                "Performing two backward calls that overlap (i.e. require the same saved activations) in order to compute gradients is not supported "
                "while under the context of torch.utils.checkpoint.GraphExecGroup. If you need two backward calls that overlap, please move them "
                "outside of the context of GraphExecGroup."
            )
        raise CheckpointError(
            "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once in this backward pass. A backward that "
            "calls ctx.saved_tensors may do so only once: keep what it gives in a variable."
        )

    def recompute(self) -> dict[int, Any]:
        """Run the function again, and give the tensors that it saves, by place; without those that no node holds a place of any more."""
        kept: dict[int, Any] = {}
        count = 0

        def keep(tensor: Any) -> Any:
            nonlocal count
            detached, index = tensor.detach(), count
            count += 1
            if index >= len(self.places):
                if not self.complete:  # a gradient inside of the function: what comes behind it has not been saved yet
                    self.mismatch_expected = True
                    return detached
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original forward pass."
                )
            if self.places[index]() is not None:
                self._compare(index, detached)
                kept[index] = detached
            if self.early_stop and count == len(self.places):
                raise _StopRecomputation
            return detached

        keep.recomputes = True  # type: ignore[attr-defined]
        args = [unpack(each, self) for each in self.args]  # type: ignore[arg-type]  # it names itself, as a node does
        with contextlib.suppress(_StopRecomputation), contextlib.ExitStack() as stack:
            for make in (lambda: _random_state(self.random_state), enable_grad, *self.autocasts):
                stack.enter_context(make())
            if self.context is not None:
                stack.enter_context(self.context)
            stack.enter_context(saved_tensors_hooks(keep, lambda tensor: tensor))
            self.function(*args, **self.kwargs)
        if count != len(self.places) and not self.mismatch_expected:
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
                f"Number of tensors saved during forward: {len(self.places)}\n"
                f"Number of tensors saved during recomputation: {count}"
            )
        return kept

    def _compare(self, index: int, tensor: Any) -> None:
        """Raise where a recomputed tensor is of another shape or type than the first time."""
        shape, dtype = self.shapes[index]
        if self.check and (tuple(tensor._array.shape) != shape or tensor._array.dtype != dtype):
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during "
                f"the forward pass.\ntensor at position {index}: {shape} {dtype} against {tensor._array.shape} {tensor._array.dtype}"
            )


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
    random_state = default_generator.get_state() if preserve_rng_state else None
    frame = _Frame(function, args, kwargs, random_state, determinism_check == "default", early_stop)
    first, frame.context = (contextlib.nullcontext(), None) if context_fn is None else context_fn()
    with saved_tensors_hooks(frame.pack, frame.unpack), first:
        result = function(*args, **kwargs)
        frame.complete = True
        return result
    raise GradientError("torch.utils.checkpoint: context_fn suppressed an exception of the forward pass")


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, preserve_rng_state: bool = True, **kwargs: Any
) -> Any:
    """Checkpoint a sequence of functions in ``segments`` segments; the last one is not checkpointed."""
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. Defaulting to use_reentrant=True.",
            stacklevel=2,
        )
        use_reentrant = True
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
            segment(start, end), input, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state
        )  # fmt: skip
    return segment(end, len(functions))(input)
