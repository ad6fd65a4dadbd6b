"""The average of parameters over a group."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ....autograd import no_grad
from ....core.process_group import default_group, world
from ....ops.shape.concat import cat

__all__ = ["average_parameters", "average_parameters_or_parameter_groups", "get_params_to_average"]


def average_parameters(params: Iterable[Any], process_group: Any) -> None:
    """Average parameters over a group, those of one dtype together; a process outside of the group does nothing."""
    group = process_group if process_group is not None else default_group()
    if world.collectives.get_rank(group) < 0:
        return
    kinds: dict[Any, list[Any]] = {}
    for each in params:
        kinds.setdefault((each.dtype, each.device), []).append(each.detach())
    with no_grad():
        for members in kinds.values():
            flat = cat([each.reshape(-1) for each in members]) / world.collectives.get_world_size(group)
            world.collectives.all_reduce(flat, group=group)
            start = 0
            for each in members:
                each.copy_(flat[start : start + each.numel()].view(each.shape))
                start += each.numel()


def get_params_to_average(params: Iterable[Any]) -> list[Any]:
    """The parameters with a gradient, of parameters or of groups of parameters."""
    found: list[Any] = []
    for each in params:
        if isinstance(each, dict):
            found += [param for param in each["params"] if param.grad is not None]
        elif hasattr(each, "grad"):
            found += [each] if each.grad is not None else []
        else:
            raise NotImplementedError(f"Parameter input of type {type(each)} is not supported")
    return found


def average_parameters_or_parameter_groups(params: Iterable[Any], process_group: Any) -> None:
    """Average the parameters that have a gradient."""
    average_parameters(iter(get_params_to_average(params)), process_group)
