"""``ZeroRedundancyOptimizer``: the state of an optimizer, sharded over the processes of a group.

Every parameter belongs to one process, which keeps its state and updates it; then its new value is broadcast.  Memory for state is
divided by the number of processes.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ...autograd import no_grad
from ...core.declare import exports
from ...core.errors import NotSupported
from ...core.process_group import default_group, world
from ...nn.parallel.join import Join, Joinable, JoinHook
from ...optim.optimizer import Optimizer

__all__ = ["ZeroRedundancyOptimizer"]


class _ZeROJoinHook(JoinHook):
    """A process without inputs goes on to send and receive parameters."""

    def __init__(self, zero: ZeroRedundancyOptimizer) -> None:
        self.zero = zero

    def main_hook(self) -> None:
        """One step."""
        self.zero.step()


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer of any class whose state is sharded over the processes of a group."""

    def __init__(
        self, params: Any, optimizer_class: type[Optimizer], process_group: Any = None, parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False, **defaults: Any,
    ) -> None:  # fmt: skip
        if overlap_with_ddp:
            raise NotSupported("ZeroRedundancyOptimizer(overlap_with_ddp=True): steps are not taken inside of backward; call step()")
        params = list(params)
        Joinable.__init__(self)
        self.process_group = default_group() if process_group is None else process_group
        self.world_size, self.rank = self.process_group.size(), self.process_group.rank()
        self.parameters_as_bucket_view = parameters_as_bucket_view
        self._optim_constructor, self._optim_defaults = optimizer_class, defaults
        self._owner: dict[Any, int] = {}
        self._loads = [0] * self.world_size
        self._all_state_dicts: list[Any] = []
        self._ready = False
        Optimizer.__init__(self, params, defaults)
        self._ready = True
        self._make_optimizer()

    # -- parts -----------------------------------------------------------------------------------------------------

    def _assign(self, parameters: list[Any]) -> None:
        """Give each parameter to the process that has least so far, large ones first."""
        for each in sorted(parameters, key=lambda one: one.numel(), reverse=True):
            rank = min(range(self.world_size), key=lambda at: self._loads[at])
            self._owner[each] = rank
            self._loads[rank] += each.numel()

    def _groups_of(self, rank: int) -> list[dict[str, Any]]:
        """The parameter groups with what belongs to a process; a group may be empty."""
        return [{**group, "params": [each for each in group["params"] if self._owner[each] == rank]} for group in self.param_groups]

    def _make_optimizer(self) -> None:
        groups = self._groups_of(self.rank)
        if all(not group["params"] for group in groups):  # more processes than parameters: one without elements stands in
            groups[0]["params"] = [exports["", "zeros"](0, requires_grad=True)]
        self.optim = self._optim_constructor(groups, **self._optim_defaults)
        for ours, theirs in zip(self.param_groups, self.optim.param_groups):
            for name, value in theirs.items():
                ours.setdefault(name, value)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with options of their own, and give them to processes."""
        super().add_param_group(param_group)
        self._assign(self.param_groups[-1]["params"])
        if self._ready:
            self.optim.add_param_group(self._groups_of(self.rank)[-1])

    # -- stepping --------------------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Update the parameters of this process, and exchange what all have updated."""
        Join.notify_join_context(self)
        for ours, theirs in zip(self.param_groups, self.optim.param_groups):  # a scheduler writes to ours
            theirs.update({name: value for name, value in ours.items() if name != "params"})
        loss = self.optim.step(**kwargs) if closure is None else self.optim.step(closure=closure, **kwargs)
        self._sync_params()
        return loss

    def _sync_params(self) -> None:
        """Send each process's parameters to the others, all at once."""
        if self.world_size == 1:
            return
        started = []
        with no_grad():
            for rank in range(self.world_size):
                kinds: dict[Any, list[Any]] = {}
                for group in self.param_groups:
                    for each in group["params"]:
                        if self._owner[each] == rank and each.requires_grad:
                            kinds.setdefault((each.dtype, each.device), []).append(each)
                for members in kinds.values():
                    flat = exports["", "cat"]([each.detach().reshape(-1) for each in members])
                    started.append(
                        (rank, members, flat, world.collectives.broadcast(flat, group=self.process_group, group_src=rank, async_op=True))
                    )
            for rank, members, flat, work in started:
                work.wait()
                if rank == self.rank:
                    continue
                start = 0
                for each in members:
                    each.copy_(flat[start : start + each.numel()].view(each.shape))
                    start += each.numel()

    # -- state -----------------------------------------------------------------------------------------------------

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Gather the states of all processes on one (a number in the default group); every process calls it."""
        target = world.collectives.get_group_rank(self.process_group, to)
        gathered: list[Any] | None = [None] * self.world_size if self.rank == target else None
        world.collectives.gather_object(self.optim.state_dict(), gathered, group=self.process_group, group_dst=target)
        self._all_state_dicts = gathered or []

    def state_dict(self) -> dict[str, Any]:
        """The whole state, on the process that ``consolidate_state_dict`` has gathered it on."""
        if not self._all_state_dicts:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call `consolidate_state_dict(to="
                f"{self.rank})` on all ranks beforehand if you meant to save the global state."
            )
        result = super().state_dict()
        numbers = self._numbers()
        for rank, part in enumerate(self._all_state_dicts):
            for ours, theirs in zip(self._groups_of(rank), part["param_groups"]):
                for parameter, number in zip(ours["params"], theirs["params"]):
                    if number in part["state"]:
                        result["state"][numbers[parameter]] = part["state"][number]
        result["state"] = dict(sorted(result["state"].items()))
        return result

    def _numbers(self) -> dict[Any, int]:
        return {each: at for at, each in enumerate(one for group in self.param_groups for one in group["params"])}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the whole state: each process keeps its part."""
        groups = copy.deepcopy([{name: value for name, value in group.items() if name != "params"} for group in state_dict["param_groups"]])
        numbers = self._numbers()
        state, at, own = {}, 0, []
        for ours, saved in zip(self.param_groups, groups):
            ours.update(saved)
        for group in self._groups_of(self.rank):
            places = []
            for each in group["params"]:
                if numbers[each] in state_dict["state"]:
                    state[at] = state_dict["state"][numbers[each]]
                places.append(at)
                at += 1
            own.append({**{name: value for name, value in group.items() if name != "params"}, "params": places})
        if at == 0:
            own[0]["params"] = [0]
        self.optim.load_state_dict({"state": state, "param_groups": own})
        self._all_state_dicts = []

    # -- joining ---------------------------------------------------------------------------------------------------

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a process without inputs does."""
        return _ZeROJoinHook(self)

    @property
    def join_device(self) -> Any:
        """The device it communicates from."""
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self) -> Any:
        """Its group."""
        return self.process_group
