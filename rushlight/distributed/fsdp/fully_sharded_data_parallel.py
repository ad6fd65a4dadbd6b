"""``FullyShardedDataParallel``: a wrapper around a module to which ``fully_shard`` is applied, with PyTorch's first interface to sharding."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from ...autograd import no_grad
from ...core.errors import NotSupported
from ...core.missing import missing
from ...nn.modules.module import Module
from ...nn.parallel.reducer import broadcast_coalesced
from ...nn.utils.clip_grad import get_total_norm
from ..device_mesh import DeviceMesh, init_device_mesh
from ..groups import get_rank, get_world_size
from ..tensor._api import DTensor
from ..tensor.placement_types import Replicate, Shard
from ._common_utils import _FSDPState
from ._fully_shard._fully_shard import attach, parameters_of
from ._optim_state import FSDP_WRAPPED_MODULE, OptimStateMethods, part_of, plain_name
from .api import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalOptimStateDictConfig,
    LocalStateDictConfig,
    MixedPrecision,
    MixedPrecisionPolicy,
    OptimStateDictConfig,
    OptimStateKeyType,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from .wrap import chosen_by

__all__ = ["BackwardPrefetch", "CPUOffload", "FullOptimStateDictConfig", "FullStateDictConfig", "FullyShardedDataParallel",
           "LocalOptimStateDictConfig", "LocalStateDictConfig", "MixedPrecision", "OptimStateDictConfig", "OptimStateKeyType",
           "ShardedOptimStateDictConfig", "ShardedStateDictConfig", "ShardingStrategy", "StateDictConfig", "StateDictSettings",
           "StateDictType"]  # fmt: skip
__getattr__ = missing(__name__)

_CONFIGS: dict[StateDictType, tuple[type, type]] = {
    StateDictType.FULL_STATE_DICT: (FullStateDictConfig, FullOptimStateDictConfig),
    StateDictType.SHARDED_STATE_DICT: (ShardedStateDictConfig, ShardedOptimStateDictConfig),
    StateDictType.LOCAL_STATE_DICT: (LocalStateDictConfig, LocalOptimStateDictConfig),
}


class FullyShardedDataParallel(OptimStateMethods, Module, _FSDPState):
    """A module whose parameters are DTensors of which each process keeps a part; ``auto_wrap_policy`` says which submodules are groups of their own.

    Parameters keep their names and shapes (``use_orig_params=True``, whatever is given).
    """

    def __init__(
        self, module: Any, process_group: Any = None, sharding_strategy: ShardingStrategy | None = None, cpu_offload: CPUOffload | None = None,
        auto_wrap_policy: Any = None, backward_prefetch: Any = BackwardPrefetch.BACKWARD_PRE, mixed_precision: MixedPrecision | None = None,
        ignored_modules: Any = None, param_init_fn: Callable[[Any], None] | None = None, device_id: Any = None,
        sync_module_states: bool = False, forward_prefetch: bool = False, limit_all_gathers: bool = True, use_orig_params: bool = False,
        ignored_states: Any = None, device_mesh: DeviceMesh | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        if cpu_offload is not None and cpu_offload.offload_params and any(each.device.type != "cpu" for each in module.parameters()):
            raise NotSupported(
                "FullyShardedDataParallel(cpu_offload=...) of parameters that are not on the CPU: move the module there first"
            )
        if param_init_fn is not None:
            for each in module.modules():
                if any(one.is_meta for one in (*each.parameters(recurse=False), *each.buffers(recurse=False))):
                    param_init_fn(each)
        mesh = device_mesh or _mesh_of(process_group)
        if strategy is ShardingStrategy.NO_SHARD and mesh.ndim > 1:
            raise NotSupported("ShardingStrategy.NO_SHARD on a mesh of two dimensions: give one of one dimension, which is flattened")
        ignored: set[Any] = set()
        for each in (*(ignored_modules or ()), *(ignored_states or ())):
            ignored |= set(each.parameters()) if isinstance(each, Module) else {each}
        if sync_module_states:
            states = [each for each in (*module.parameters(), *module.buffers()) if not isinstance(each, DTensor)]
            broadcast_coalesced(states, mesh.get_group(0) if mesh.ndim == 1 else None)
        self._buffer_dtypes: dict[str, Any] = {}  # of buffers that are computed with in another one
        policy = MixedPrecisionPolicy()
        if mixed_precision is not None:
            policy = MixedPrecisionPolicy(
                mixed_precision.param_dtype, mixed_precision.reduce_dtype or mixed_precision.param_dtype, None,
                mixed_precision.cast_forward_inputs or mixed_precision.cast_root_forward_inputs,
            )  # fmt: skip
            if mixed_precision.buffer_dtype is not None:
                for name, each in module.named_buffers():
                    if each.is_floating_point():
                        self._buffer_dtypes[plain_name(name)] = each.dtype
                        each.data = each.data.to(mixed_precision.buffer_dtype)
        self.process_group, self.sharding_strategy, self.mixed_precision = mesh.get_group(mesh.ndim - 1), strategy, mixed_precision
        self._use_orig_params, self._summoned = use_orig_params, False
        self.rank, self.world_size = self.process_group.rank(), self.process_group.size()
        self._settings = StateDictSettings(StateDictType.FULL_STATE_DICT, FullStateDictConfig(), FullOptimStateDictConfig())
        if auto_wrap_policy is not None:
            own = {"device_mesh": mesh, "sharding_strategy": strategy, "mixed_precision": mixed_precision, "ignored_states": ignored,
                   "use_orig_params": use_orig_params}  # fmt: skip
            for parent, name, child, given in chosen_by(auto_wrap_policy, module, ignored_modules or ()):
                if not isinstance(child, FullyShardedDataParallel):
                    setattr(parent, name, FullyShardedDataParallel(child, **{**own, **given}))
        taken = parameters_of([module], {id(each) for each in ignored})
        placement = Replicate() if strategy is ShardingStrategy.NO_SHARD else Shard(0)
        reshard = strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.HYBRID_SHARD)
        attach([module], taken, [placement] * len(taken), mesh, policy, reshard)
        self._fsdp_wrapped_module = module

    @property
    def module(self) -> Any:
        """The module inside."""
        return self._fsdp_wrapped_module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's result."""
        return self._fsdp_wrapped_module(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__(FSDP_WRAPPED_MODULE), name)

    def __getitem__(self, key: Any) -> Any:
        return self._fsdp_wrapped_module[key]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """Parameters by their names; without the names of wrappers inside of ``summon_full_params``."""
        for name, each in super().named_parameters(*args, **kwargs):
            yield plain_name(name) if self._summoned else name, each

    def named_buffers(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """Buffers by their names; without the names of wrappers inside of ``summon_full_params``."""
        for name, each in super().named_buffers(*args, **kwargs):
            yield plain_name(name) if self._summoned else name, each

    # -- contexts --------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """A context in which gradients are added up on this process."""
        groups = _groups_of(self, True)
        for each in groups:
            each.reduces = each.all_reduces = False
        try:
            yield
        finally:
            for each in groups:
                each.reduces = each.all_reduces = True

    @staticmethod
    @contextlib.contextmanager
    def summon_full_params(
        module: Any, recurse: bool = True, writeback: bool = True, rank0_only: bool = False, offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:  # fmt: skip
        """A context with whole parameters in the modules, and with their gradients if wanted; what is written to them is kept, unless ``writeback`` is False.

        With ``rank0_only`` the first process alone has whole parameters.
        """
        wrappers = [each for each in (module.modules() if recurse else [module]) if isinstance(each, FullyShardedDataParallel)]
        if with_grads and (offload_to_cpu or not all(each._use_orig_params for each in wrappers)):
            raise NotImplementedError(
                f"with_grads={with_grads}, use_orig_params={all(each._use_orig_params for each in wrappers)}, offload_to_cpu={offload_to_cpu} is not supported yet"
            )
        if writeback and rank0_only:
            raise NotImplementedError("writeback=True and rank0_only=True is not supported yet")
        groups = [each for each in _groups_of(module, recurse) if not each.is_whole]
        for each in groups:
            each.unshard()
            if with_grads:
                each.gather_gradients()
            if rank0_only and get_rank() != 0:
                each.reshard()
        before = [each._summoned for each in wrappers]
        for each in wrappers:
            each._summoned = True
        try:
            yield
        finally:
            for each, held in zip(wrappers, before):
                each._summoned = held
            for each in groups:
                if writeback:
                    each.write_back(with_grads)
                each.reshard()
                if with_grads:
                    each.drop_gradients()

    @staticmethod
    def fsdp_modules(module: Any, root_only: bool = False) -> list[Any]:
        """The wrappers in a module."""
        found = [each for each in module.modules() if isinstance(each, FullyShardedDataParallel)]
        return found[:1] if root_only else found

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Any:
        """Scale all gradients so that their common norm is at most a number; the norm before."""
        gradients = [each.grad for each in self.parameters() if each.grad is not None]
        if not gradients:
            return 0.0
        with no_grad():
            norm = get_total_norm(gradients, norm_type)
            norm = norm.full_tensor() if isinstance(norm, DTensor) else norm
            scale = (max_norm / (norm + 1e-6)).clamp(max=1.0)
            for each in gradients:
                (each._local_tensor if isinstance(each, DTensor) else each).mul_(scale)
        return norm

    # -- states ----------------------------------------------------------------------------------------------------

    @staticmethod
    def set_state_dict_type(
        module: Any, state_dict_type: StateDictType, state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> StateDictSettings:  # fmt: skip
        """Say what ``state_dict`` of the wrappers in a module returns; the settings before."""
        plain, of_optimizer = _CONFIGS[state_dict_type]
        wrappers = FullyShardedDataParallel.fsdp_modules(module)
        before = wrappers[0]._settings
        for each in wrappers:
            each._settings = StateDictSettings(state_dict_type, state_dict_config or plain(), optim_state_dict_config or of_optimizer())
        return before  # type: ignore[no-any-return]

    @staticmethod
    def get_state_dict_type(module: Any) -> StateDictSettings:
        """The settings."""
        return FullyShardedDataParallel.fsdp_modules(module)[0]._settings  # type: ignore[no-any-return]

    @staticmethod
    @contextlib.contextmanager
    def state_dict_type(
        module: Any, state_dict_type: StateDictType, state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> Iterator[None]:  # fmt: skip
        """A context with other settings."""
        before = FullyShardedDataParallel.set_state_dict_type(module, state_dict_type, state_dict_config, optim_state_dict_config)
        try:
            yield
        finally:
            for each in FullyShardedDataParallel.fsdp_modules(module):
                each._settings = before

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """The state: whole tensors, DTensors or this process's parts, as the settings say."""
        found = super().state_dict(*args, **kwargs)
        prefix = kwargs.get("prefix", args[1] if len(args) > 1 else "")
        held = list(found.items())
        for key, _ in held:
            del found[key]
        for key, value in held:
            found[plain_name(key) if key.startswith(prefix) else key] = value
        settings = self._settings
        for key in list(found):
            value = found[key]
            if not isinstance(value, DTensor):
                continue
            if settings.state_dict_type is StateDictType.FULL_STATE_DICT:
                with no_grad():
                    found[key] = value.detach().full_tensor()
            elif settings.state_dict_type is StateDictType.LOCAL_STATE_DICT:
                found[key] = value._local_tensor.detach()
        for name, kind in self._buffer_dtypes.items():
            if prefix + name in found:
                found[prefix + name] = found[prefix + name].to(kind)
        if getattr(settings.state_dict_config, "rank0_only", False) and get_rank() != 0:
            found.clear()
        return found

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        """Take a state of any of the three kinds: of whole tensors each process keeps its part."""
        return load_parts(self, state_dict, strict)


def _mesh_of(process_group: Any) -> DeviceMesh:
    if process_group is None:
        return init_device_mesh("cpu", (get_world_size(),))
    if isinstance(process_group, (tuple, list)):
        raise NotSupported("FullyShardedDataParallel(process_group=(a, b)): give a device_mesh of two dimensions")
    return DeviceMesh.from_group(process_group, "cpu")


def _groups_of(module: Any, recurse: bool) -> list[Any]:
    modules = module.modules() if recurse else [module, getattr(module, FSDP_WRAPPED_MODULE, module)]
    held = [each.__dict__["_fsdp_state"].group for each in modules if "_fsdp_state" in each.__dict__]
    return list(dict.fromkeys(held))


def _held(module: Any) -> list[tuple[str, Any]]:
    """What a module itself has in its state, by names."""
    buffers = [(name, each) for name, each in module._buffers.items() if name not in module._non_persistent_buffers_set]
    return [(name, each) for name, each in (*module._parameters.items(), *buffers) if each is not None]


def load_parts(module: Any, state_dict: Any, strict: bool = True) -> Any:
    """Load whole tensors, DTensors or parts into a module with DTensors."""
    targets = {f"{path}.{name}" if path else name: value for path, each in module.named_modules() for name, value in _held(each)}
    own = {plain_name(name): name for name in targets}
    made = {}
    with no_grad():
        for name, value in state_dict.items():
            key = own.get(name, name)
            target = targets.get(key)
            if isinstance(target, DTensor) and not isinstance(value, DTensor):
                if tuple(value.shape) == tuple(target.shape):
                    value = part_of(value, target)
                elif tuple(value.shape) == tuple(target._local_tensor.shape):
                    value = DTensor(value.detach(), target._spec, requires_grad=False)
            made[key] = value
    return Module.load_state_dict(module, made, strict)
