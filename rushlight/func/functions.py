"""Custom Functions under ``vmap``: by the user's ``vmap`` method, or by running forward and backward on batched tensors."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, NamedTuple

from ..autograd.function import Function
from ..core.base import TensorBase
from ..core.errors import FunctionError
from ..core.families import normalize_dim
from ..ops.shape.permute import permute
from ..utils import trees
from .batched import levels_of, over, wrap
from .level import Level


class VmapInfo(NamedTuple):
    """What a custom Function's ``vmap`` method is told about the call."""

    batch_size: int
    randomness: str


def _has_method(cls: Any) -> bool:
    return getattr(cls, "vmap", None) is not None


def apply_batched(level: Level, cls: Any, args: tuple[Any, ...]) -> Any:
    """Apply a custom Function of which an argument is batched at this level."""
    if cls.setup_context is Function.setup_context:
        raise FunctionError(
            "In order to use an autograd.Function with function transforms (vmap, grad, jvp, jacrev, ...), it must override the "
            f"setup_context staticmethod ({cls.__name__})."
        )
    if cls.generate_vmap_rule:
        if _has_method(cls):
            raise FunctionError(
                f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap "
                "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid ambiguity."
            )
        return _generated(level, cls, args)
    if not _has_method(cls):
        raise FunctionError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement the vmap "
            "staticmethod or set generate_vmap_rule=True."
        )
    info = VmapInfo(level.size, level.randomness)
    in_dims = tuple(0 if level.holds(each) else None for each in args)
    found = cls.vmap(info, in_dims, *(level.peel(each) for each in args))
    if not isinstance(found, tuple) or len(found) != 2:
        raise FunctionError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible with the "
            f"output. Got a {type(found)} instead"
        )
    return batched_results(level, *found)


def batched_results(level: Level, output: Any, out_dims: Any) -> Any:
    """What a rule for a whole batch returned, as results for one example."""
    leaves, structure = trees.flatten(output)
    dims = trees.spread(out_dims, structure)
    if dims is None:
        raise FunctionError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
            f"out_dims={out_dims} to be compatible with the structure of `output`. out_dims has structure "
            f"{trees.flatten(out_dims)[1]} but output has structure {structure}."
        )
    return structure.unflatten([_placed(level, leaf, dim) for leaf, dim in zip(leaves, dims)])


def _placed(level: Level, leaf: Any, dim: Any) -> Any:
    if dim is None or not isinstance(leaf, TensorBase):
        return leaf
    ndim = leaf._array.ndim
    dim = normalize_dim(dim, ndim)
    return level.wrap(permute(leaf, [dim, *(each for each in range(ndim) if each != dim)]) if dim else leaf)


# -- a rule made of forward and backward -------------------------------------------------------------------------


class _Frame:
    """Levels that are entered again, for forward, backward or jvp: new ones each time, inside whatever is running then."""

    def __init__(self, levels: tuple[Level, ...]) -> None:
        self.kinds = [(level.size, level.randomness) for level in levels]

    def run(self, function: Callable[[list[Level]], Any]) -> Any:
        with ExitStack() as stack:
            return function([stack.enter_context(Level(size, randomness)) for size, randomness in self.kinds])


Held = tuple[int, ...]  # the levels of a frame, by number, that a tensor is batched at


def _batched(levels: list[Level], value: Any, held: Held) -> Any:
    for number in held:
        value = wrap(value, levels[number])
    return value


class _Kept:
    """A tensor that was batched at levels of a frame, kept as its value until they are entered again."""

    __slots__ = ("held", "value")

    def __init__(self, value: Any, held: Held) -> None:
        self.value, self.held = value, held


def _taken(levels: list[Level], value: Any) -> _Kept:
    """A tensor's value under the levels of a frame, and at which of them it is batched."""
    have = levels_of(value) if isinstance(value, TensorBase) else ()
    held = tuple(number for number, level in enumerate(levels) if level in have)
    return _Kept(over(value._value, have[: len(have) - len(held)]) if held else value, held)


def _generated(level: Level, cls: Any, args: tuple[Any, ...]) -> Any:
    """Apply a Function as one on the values, whose forward and backward run the user's on batched tensors."""
    levels = [each for each in _all_levels(args) if each is not level] + [level]
    kept = [_taken(levels, each) for each in args]
    found = _Generated.apply(cls, _Frame(tuple(levels)), [each.held for each in kept], *(each.value for each in kept))
    *outputs, description = found if isinstance(found, tuple) else (found,)
    helds, structure = description
    return structure.unflatten([_batched(levels, each, held) for each, held in zip(outputs, helds)])


def _all_levels(args: tuple[Any, ...]) -> list[Level]:
    found: list[Level] = []
    for each in args:
        for level in levels_of(each) if isinstance(each, TensorBase) else ():
            if level not in found:
                found.append(level)
    return sorted(found, key=lambda level: level.number)


class _Generated(Function):
    """A custom Function on batches: forward, backward and jvp of the user's, run on batched tensors."""

    @staticmethod
    def forward(ctx: Any, cls: Any, frame: _Frame, helds: list[Held], *values: Any) -> Any:
        inner = cls._context_type()
        inner.needs_input_grad = ctx.needs_input_grad[3:]
        ctx.cls, ctx.frame, ctx.inner, ctx.helds = cls, frame, inner, helds

        def run(levels: list[Level]) -> Any:
            args = tuple(_batched(levels, value, held) for value, held in zip(values, helds))
            output = cls.forward(*args)
            cls.setup_context(inner, args, output)
            leaves, structure = trees.flatten(output)
            kept = [_taken(levels, leaf) for leaf in leaves]
            ctx.outputs_held = [each.held for each in kept]
            _keep_context(ctx, inner, levels, leaves, kept)
            return (*(each.value for each in kept), (ctx.outputs_held, structure))

        return frame.run(run)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        def run(levels: list[Level]) -> Any:
            inner = _restored(ctx.inner, levels)
            inner._to_save = tuple(_batched(levels, value, held) for value, held in zip(ctx.saved_tensors, ctx.saved_held))
            batched = [_batched(levels, g, held) for g, held in zip(gradients, ctx.outputs_held)]
            found = ctx.cls._user_backward()(inner, *batched)
            found = found if isinstance(found, tuple) else (found,)
            return [_reduced(levels, each, held) for each, held in zip(found, ctx.helds)]

        return (None, None, None, *ctx.frame.run(run))

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        if ctx.cls.jvp is Function.jvp:
            raise NotImplementedError(
                f"{ctx.cls.__name__}: You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
            )

        def run(levels: list[Level]) -> Any:
            inner = _restored(ctx.inner, levels)
            inner._to_save = getattr(inner, "saved_for_forward", ())
            batched = [None if t is None else _batched(levels, t, held) for t, held in zip(tangents[3:], ctx.helds)]
            found = ctx.cls.jvp(inner, *batched)
            found = found if isinstance(found, tuple) else (found,)
            return tuple(_whole(levels, each, held) for each, held in zip(found, ctx.outputs_held))

        return (*ctx.frame.run(run), None)


def _keep_context(ctx: Any, inner: Any, levels: list[Level], leaves: list[Any], kept: list[_Kept]) -> None:
    """Keep what the user's context holds: tensors saved for backward in ours, others without their levels."""
    values = {id(leaf): each.value for leaf, each in zip(leaves, kept)}
    saved = [_taken(levels, each) for each in inner._to_save]
    # an output that is saved must be the very tensor that is returned
    ctx.save_for_backward(*(values.get(id(old), each.value) for old, each in zip(inner._to_save, saved)))
    ctx.saved_held = [each.held for each in saved]
    ctx.set_materialize_grads(inner._materialize)
    ctx.mark_non_differentiable(*(values[id(each)] for each in inner._non_differentiable))
    ctx.mark_dirty(*(values[id(each)] for each in inner._dirty))
    inner._to_save = inner._non_differentiable = inner._dirty = ()
    for name, value in list(inner.__dict__.items()):
        inner.__dict__[name] = trees.transform(lambda leaf: _taken(levels, leaf), value)


def _restored(inner: Any, levels: list[Level]) -> Any:
    """The user's context as it was, its tensors batched again."""
    fresh = type(inner)()
    for name, value in inner.__dict__.items():
        fresh.__dict__[name] = trees.transform(lambda kept: _batched(levels, kept.value, kept.held), value)
    return fresh


def _whole(levels: list[Level], tensor: Any, held: Held) -> Any:
    """A tensor with the batches of some levels in front, the outermost first."""
    if tensor is None:
        return None
    for number in reversed(range(len(levels))):
        if number in held:
            tensor = levels[number].lift(tensor)
    return tensor


def _reduced(levels: list[Level], gradient: Any, held: Held) -> Any:
    """The gradient of an input, summed over the levels that it is not batched at."""
    if gradient is None:
        return None
    for number in reversed(range(len(levels))):
        level = levels[number]
        if number in held:
            gradient = level.lift(gradient)
        elif level.holds(gradient):
            gradient = level.peel(gradient).sum(0)
    return gradient


Level.custom_function = apply_batched
__all__ = ["VmapInfo", "apply_batched", "batched_results"]
