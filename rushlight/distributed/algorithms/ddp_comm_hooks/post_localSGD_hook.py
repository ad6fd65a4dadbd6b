"""Local SGD: gradients are averaged over all processes at first, then over groups of near ones, while an averager of models does the rest."""

from __future__ import annotations

from typing import Any

from ....core.futures import Future, completed
from ....core.process_group import default_group, world
from . import default_hooks

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]


class PostLocalSGDState:
    """Which groups average gradients, and from which iteration on that is the subgroup (by default the processes of a machine)."""

    def __init__(self, process_group: Any, subgroup: Any, start_localSGD_iter: int, post_local_gradient_allreduce: bool = True) -> None:
        self.process_group, self.subgroup, self.start_localSGD_iter = process_group, subgroup, start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0

    def maybe_increase_iter(self, bucket: Any) -> None:
        """Count iterations by their last buckets."""
        if bucket.is_last():
            self.iter += 1


def post_localSGD_hook(state: PostLocalSGDState, bucket: Any) -> Future[Any]:
    """The average over all processes before local SGD begins, over the subgroup (or none) from then on."""
    if state.iter < state.start_localSGD_iter:
        state.maybe_increase_iter(bucket)
        return default_hooks.allreduce_hook(state.process_group if state.process_group is not None else default_group(), bucket)
    if not state.post_local_gradient_allreduce:
        return completed(bucket.buffer())
    if state.subgroup is None:
        state.subgroup = world.collectives.new_subgroups()[0]
    return default_hooks.allreduce_hook(state.subgroup, bucket)
