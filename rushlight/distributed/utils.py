"""Helpers of data-parallel modules."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Container
from typing import Any

from ..core.missing import missing
from ..core.process_group import world
from ..nn.parallel.reducer import broadcast_coalesced
from ..tensor import Tensor
from .groups import member

__getattr__ = missing(__name__)


def _verify_param_shape_across_processes(process_group: Any, tensors: Any, logger: Any = None) -> None:
    """Raise on all processes where one has other shapes than the first."""
    group = member(process_group)
    shapes = [tuple(each.shape) for each in tensors]
    found: list[Any] = [None] * group.size()
    world.collectives.all_gather_object(found, shapes, group=group)
    for rank, other in enumerate(found):
        if other != found[0]:
            raise RuntimeError(f"[{group.rank()}]: params of process {rank} appear not to match sizes of the same params in process 0.")


def _sync_module_states(
    module: Any,
    process_group: Any,
    broadcast_bucket_size: int,
    src: int,
    params_and_buffers_to_ignore: Container[str],
    broadcast_buffers: bool = True,
) -> None:
    """Give all processes the parameters and buffers of one."""
    named = [*module.named_parameters(), *(module.named_buffers() if broadcast_buffers else ())]
    group = member(process_group)
    states = [each.detach() for name, each in named if name not in params_and_buffers_to_ignore]
    broadcast_coalesced(states, group, world.collectives.get_group_rank(group, src))


def _apply_to_tensors(fn: Callable[[Any], Any], container: Any) -> Any:
    """A container with a function applied to its tensors."""
    if isinstance(container, Tensor):
        return fn(container)
    if hasattr(container, "__dataclass_fields__"):
        for name in container.__dataclass_fields__:
            setattr(container, name, _apply_to_tensors(fn, getattr(container, name)))
        return container
    if isinstance(container, dict):
        return type(container)((key, _apply_to_tensors(fn, value)) for key, value in container.items())
    if isinstance(container, tuple) and hasattr(container, "_fields"):
        return type(container)(*(_apply_to_tensors(fn, each) for each in container))
    if isinstance(container, (list, tuple, set)):
        return type(container)(_apply_to_tensors(fn, each) for each in container)
    return container


def _recursive_to(inputs: Any, target_device: Any, use_side_stream_for_tensor_copies: bool) -> list[Any]:
    """Inputs on a device, in a list of one: there is one device a process."""
    return [_apply_to_tensors(lambda each: each.to(target_device), inputs)]


def _to_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_device: Any, use_side_stream_for_tensor_copies: bool
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """Positional and keyword inputs on a device, each in a tuple of one."""
    moved = _recursive_to(inputs, target_device, use_side_stream_for_tensor_copies) if inputs else [()]
    named = _recursive_to(kwargs, target_device, use_side_stream_for_tensor_copies) if kwargs else [{}]
    return tuple(moved), tuple(named)


def _p_assert(cond: Any, s: str, raise_assertion_error: bool = True) -> None:
    """Print where a condition does not hold, and raise: in backward an error alone may not be seen."""
    if not cond:
        print(s)
        traceback.print_stack()
        if raise_assertion_error:
            raise AssertionError(s)


def _replace_by_prefix(state_dict: dict[str, Any], old_prefix: str, new_prefix: str) -> None:
    """Replace the beginning of names of a state."""
    if old_prefix == new_prefix:
        raise ValueError("old_prefix and new_prefix must be distinct")
    for name in list(state_dict):
        if name.startswith(old_prefix):
            state_dict[new_prefix + name.removeprefix(old_prefix)] = state_dict.pop(name)
