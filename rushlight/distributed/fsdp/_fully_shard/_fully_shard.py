"""``fully_shard``: a module whose parameters, gradients and optimizer states are sharded over the processes of a mesh.

Before a module's forward its parameters are all-gathered, and those of the next module are prefetched; afterwards they are resharded.
Backward runs in reverse, and each module's gradients are reduce-scattered while the next computes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....autograd.engine import queue_callback
from ....core.base import TensorBase
from ....core.errors import NotSupported
from ....core.state import state
from ....nn.modules.container import ModuleDict, ModuleList
from ... import _composable_state
from ...device_mesh import DeviceMesh, init_device_mesh
from ...groups import get_world_size
from ...tensor.placement_types import Shard
from ..api import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy
from ._group import ParameterGroup, ShardedParameter

__all__ = ["FSDPModule", "UnshardHandle", "fully_shard", "register_fsdp_forward_method"]


class _Order:
    """The modules under one root in the order of their forward, learned in the first iteration."""

    def __init__(self) -> None:
        self.states: list[_State] = []  # as they were learned
        self.now: list[_State] = []  # those of the running forward
        self.queued = False
        self.active: _State | None = None

    def after(self, one: _State, step: int) -> _State | None:
        """The module that comes next, or (-1) came before."""
        if one not in self.states:
            return None
        at = self.states.index(one) + step
        return self.states[at] if 0 <= at < len(self.states) else None


class _State(_composable_state._State):
    """What ``fully_shard`` keeps for a module."""

    def __init__(self, modules: list[Any], group: ParameterGroup, policy: Any) -> None:
        self.modules, self.group, self.policy = modules, group, policy
        self.order: _Order | None = None
        self.is_root = False
        self.forward_prefetch: list[_State] | None = None
        self.backward_prefetch: list[_State] | None = None
        self.waiting = 0  # modules of this group whose forward has not ended
        self.backward_started = False

    # -- forward ---------------------------------------------------------------------------------------------------

    def find_root(self) -> None:
        """The module whose forward is called first is the root of those inside of it."""
        if self.order is not None:
            return
        self.is_root, self.order = True, _Order()
        for root in self.modules:
            for each in root.modules():
                found = each.__dict__.get("_fsdp_state")
                if found is not None and found is not self:
                    found.order, found.is_root = self.order, False
        if self.group.reshard_after_forward is None:
            self.group.reshard_after_forward = False
        for state_of in {id(s): s for root in self.modules for m in root.modules() if (s := m.__dict__.get("_fsdp_state"))}.values():
            if state_of.group.reshard_after_forward is None:
                state_of.group.reshard_after_forward = True

    def before_forward(self, module: Any, args: Any, kwargs: Any) -> Any:
        """Gather the parameters, and prefetch those of the next module."""
        self.find_root()
        order = self.order
        assert order is not None
        again = state.backward_pass is not None  # recomputed activations: backward gathers, and reshards
        if not again and self.is_root and order.active is None:
            order.active, order.now = self, []
        self.group.unshard()
        if not again:
            if self not in order.now:
                order.now.append(self)
            following = self.forward_prefetch
            if following is None:
                one = order.after(self, 1)
                following = [one] if one is not None else []
            for each in following:
                each.group.start()
        if self.policy.cast_forward_inputs and self.policy.param_dtype is not None:
            args, kwargs = _cast(args, self.policy.param_dtype), _cast(kwargs, self.policy.param_dtype)
        return args, kwargs

    def after_forward(self, module: Any, args: Any, output: Any) -> Any:
        """Reshard, unless the parameters are kept for backward; gradients of the output will gather them again."""
        order = self.order
        assert order is not None
        if state.backward_pass is None:
            if self.group.reshard_after_forward:
                self.group.reshard()
            if self.is_root and order.active is self:
                order.active = None
                order.states = list(order.now)
        if self.policy.output_dtype is not None:
            output = _cast(output, self.policy.output_dtype)
        if state.grad_enabled:
            for each in _tensors(output):
                if each.requires_grad:
                    each.register_hook(self._before_backward)
        return output

    # -- backward --------------------------------------------------------------------------------------------------

    def _before_backward(self, gradient: Any) -> None:
        order = self.order
        assert order is not None
        if not order.queued:
            order.queued = True
            queue_callback(self._after_all)
        if self.backward_started:
            return
        self.backward_started = True
        self.group.unshard()
        previous = self.backward_prefetch
        if previous is None:
            one = order.after(self, -1)
            previous = [one] if one is not None and not one.backward_started else []
        for each in previous:
            each.group.start()

    def _after_all(self) -> None:
        """The end of backward: gradients that have not been reduced are, and all reductions end."""
        order = self.order
        assert order is not None
        order.queued = False
        everyone = list(dict.fromkeys([*order.states, *order.now]))
        for each in reversed(everyone):
            each.group.after_backward()
            each.backward_started = False
        for each in reversed(everyone):
            each.group.finish()
            if each.group.reshards_after_backward:
                each.group.reshard()


def _cast(value: Any, dtype: Any) -> Any:
    if isinstance(value, TensorBase):
        return value.to(dtype) if value.is_floating_point() else value  # type: ignore[attr-defined]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_cast(each, dtype) for each in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(each, dtype) for each in value)
    if isinstance(value, dict):
        return {name: _cast(each, dtype) for name, each in value.items()}
    return value


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, TensorBase):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [each for one in value for each in _tensors(one)]
    fields = getattr(value, "__dataclass_fields__", None)
    return [each for name in fields for each in _tensors(getattr(value, name))] if fields else []


class UnshardHandle:
    """A gathering that was started: ``wait`` ends it."""

    def __init__(self, group: ParameterGroup | None) -> None:
        self._group = group

    def wait(self) -> None:
        """Have the whole parameters."""
        if self._group is not None:
            self._group.unshard()
            self._group = None


class FSDPModule:
    """The mixin class of a module to which ``fully_shard`` was applied."""

    _fsdp_state: _State

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """An instance of the plain class: a sharded module is made by ``fully_shard``."""
        plain = cls.__mro__[2]
        made = plain.__new__(plain, *args, **kwargs)
        made.__init__(*args, **kwargs)
        return made

    def _get_fsdp_state(self) -> _State:
        return self._fsdp_state

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gather the parameters."""
        group = self._fsdp_state.group
        if async_op:
            group.start()
            return UnshardHandle(group)
        group.unshard()
        return None

    def reshard(self) -> None:
        """Keep this process's parts only."""
        self._fsdp_state.group.reshard()

    def _groups(self, recurse: bool) -> list[ParameterGroup]:
        modules = self.modules() if recurse else [self]  # type: ignore[attr-defined]
        found = [each.__dict__["_fsdp_state"].group for each in modules if "_fsdp_state" in each.__dict__]
        return list(dict.fromkeys(found))

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Whether backward reduces gradients, or accumulates them locally."""
        for each in self._groups(recurse):
            each.reduces = each.all_reduces = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Whether backward reduces over replicas, on a mesh of two dimensions."""
        for each in self._groups(recurse):
            each.all_reduces = requires_all_reduce

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Whether parameters are resharded between forward and backward."""
        for each in self._groups(recurse):
            each.reshard_after_forward = reshard_after_forward

    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        """Whether parameters are resharded after backward."""
        for each in self._groups(recurse):
            each.reshards_after_backward = reshard_after_backward

    def set_modules_to_forward_prefetch(self, modules: list[Any]) -> None:
        """Set the modules that are prefetched in this one's forward."""
        self._fsdp_state.forward_prefetch = [each._fsdp_state for each in modules]

    def set_modules_to_backward_prefetch(self, modules: list[Any]) -> None:
        """Set the modules that are prefetched in this one's backward."""
        self._fsdp_state.backward_prefetch = [each._fsdp_state for each in modules]

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Set the divisor of gradients, instead of the number of processes."""
        for each in self._groups(True):
            each.divisor = factor

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Whether no other backward follows before the step: every one reduces what it has here."""

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Whether backward gathers parameters that nothing asks for: they are gathered when gradients reach the module."""


def parameters_of(modules: list[Any], ignored: set[int]) -> list[tuple[Any, list[tuple[Any, str]]]]:
    """The parameters that no other ``fully_shard`` has taken, each with the places where it is."""
    found: dict[int, tuple[Any, list[tuple[Any, str]]]] = {}
    seen: set[int] = set()

    def visit(module: Any) -> None:
        if id(module) in seen or "_fsdp_state" in module.__dict__:
            return
        seen.add(id(module))
        for name, each in module._parameters.items():
            if each is not None and id(each) not in ignored:
                if hasattr(each, "_in_backward_optimizers"):
                    raise NotSupported("sharding of parameters whose optimizers step inside of backward: apply these to what is sharded")
                found.setdefault(id(each), (each, []))[1].append((module, name))
        for child in module.children():
            visit(child)

    for each in modules:
        visit(each)
    return list(found.values())


def fully_shard(
    module: Any, *, mesh: DeviceMesh | None = None, reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[[Any], Any] | None = None, mp_policy: MixedPrecisionPolicy | None = None,
    offload_policy: OffloadPolicy | None = None, ignored_params: set[Any] | None = None, dp_mesh_dims: Any = None,
) -> Any:  # fmt: skip
    """Shard the parameters of a module over a mesh, in place; apply it to submodules first, then to the whole.

    Each call makes a group that is gathered and reduced together: parameters that no call before has taken.  On a mesh of two
    dimensions parameters are split along the second and replicated along the first.
    """
    if isinstance(module, (ModuleList, ModuleDict)):
        raise ValueError(f"fully_shard does not support containers that do not implement forward: {module}")
    modules = list(module) if isinstance(module, (list, tuple)) else [module]
    if any("_fsdp_state" in each.__dict__ for each in modules):
        raise AssertionError("fully_shard has been applied to this module before: each module is sharded once")
    mesh = mesh if mesh is not None else init_device_mesh("cpu", (get_world_size(),))
    if mesh.ndim not in (1, 2):
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
    policy = mp_policy or MixedPrecisionPolicy()
    ignored = {id(each) for each in ignored_params or ()}
    taken = parameters_of(modules, ignored)
    for each, _ in taken:
        if not each.dim():
            name = next(name for root in modules for name, one in root.named_parameters() if one is each)
            raise ValueError(f"fully_shard doesn't support scalar parameters. Change {name} to a 1D tensor with numel equal to 1.")
    if isinstance(offload_policy, CPUOffloadPolicy) and any(each.device.type != "cpu" for each, _ in taken):
        raise NotSupported(
            "fully_shard(offload_policy=CPUOffloadPolicy()) of parameters that are not on the CPU: move the module there first"
        )
    placements = [(shard_placement_fn(each) if shard_placement_fn is not None else None) or Shard(0) for each, _ in taken]
    if any(not isinstance(each, Shard) for each in placements):
        raise NotSupported(f"fully_shard(shard_placement_fn=...) that returns other values than Shard or None: {placements}")
    attach(modules, taken, placements, mesh, policy, reshard_after_forward)
    for each in modules:
        plain = type(each)
        each.__class__ = _classes.setdefault(plain, type(f"FSDP{plain.__name__}", (FSDPModule, plain), {"__module__": plain.__module__}))
    return module


def attach(modules: list[Any], taken: Any, placements: list[Any], mesh: DeviceMesh, policy: Any, reshard_after_forward: Any) -> None:
    """Make one group of parameters, and have the forward of modules gather it."""
    sharded = [ShardedParameter(each, places, mesh, policy.param_dtype, placed) for (each, places), placed in zip(taken, placements)]
    replicated = any(each.is_replicate() for each in placements)
    held = _State(modules, ParameterGroup(sharded, mesh, policy, reshard_after_forward, replicated), policy)
    for each in modules:
        each._fsdp_state = held
        each.register_forward_pre_hook(held.before_forward, prepend=True, with_kwargs=True)
        each.register_forward_hook(held.after_forward)


_classes: dict[type, type] = {}


def register_fsdp_forward_method(module: Any, method_name: str) -> None:
    """Make another method than ``forward`` gather the parameters."""
    if not isinstance(module, FSDPModule):
        return
    plain = getattr(module, method_name)
    held = module._fsdp_state

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = held.before_forward(module, args, kwargs)
        return held.after_forward(module, args, plain(*args, **kwargs))

    object.__setattr__(module, method_name, wrapped)
