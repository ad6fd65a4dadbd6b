"""``DistributedDataParallel``: a module on each process of a group, whose gradients are averaged while backward runs.

``reducer.py`` has the buckets and their reduction; ``join.py`` uneven inputs.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from ...autograd import no_grad
from ...core.base import TensorBase
from ...core.dtypes import BY_NAME
from ...core.errors import NotSupported
from ...core.futures import Future
from ...core.process_group import default_group, world
from ...core.state import state
from ...tensor.construct import tensor
from ..modules.batchnorm import SyncBatchNorm
from ..modules.module import Module
from ..parameter import UninitializedParameter
from .buckets import GradBucket
from .join import Join, Joinable, JoinHook
from .reducer import FIRST_BUCKET_BYTES, Reducer, broadcast_coalesced

__all__ = ["DistributedDataParallel"]

_DEFAULT_CAP_MB = 25
# Names in logging data.
_SCALAR_TYPES = {"float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16",
                 "complex64": "c10::complex<float>", "complex128": "c10::complex<double>"}  # fmt: skip


class _BufferCommHookLocation(Enum):
    """When a hook for buffers runs."""

    PRE_FORWARD = auto()
    POST_FORWARD = auto()


@dataclass
class _BufferCommHook:
    """A hook that exchanges buffers, its state, and when it runs."""

    buffer_comm_hook: Callable[[Any, dict[str, Any]], Any]
    buffer_comm_hook_state: Any
    buffer_comm_hook_location: _BufferCommHookLocation


def _tensors_in(value: Any) -> Iterator[Any]:
    """The tensors in a container."""
    if isinstance(value, TensorBase):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _tensors_in(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _tensors_in(each)
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            yield from _tensors_in(getattr(value, name))


def _moved(value: Any, device: Any) -> Any:
    """A container with its tensors on a device."""
    if isinstance(value, TensorBase):
        return value.to(device)  # type: ignore[attr-defined]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_moved(each, device) for each in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_moved(each, device) for each in value)
    if isinstance(value, dict):
        return {name: _moved(each, device) for name, each in value.items()}
    return value


class _DDPJoinHook(JoinHook):
    """The join hook of ``DistributedDataParallel``: shadows its collectives for a process without inputs."""

    def __init__(self, ddp: DistributedDataParallel, divide_by_initial_world_size: bool) -> None:
        self.ddp = ddp
        ddp._divide_by_initial_world_size = ddp.reducer.divide_by_all = divide_by_initial_world_size

    def main_hook(self) -> None:
        """One iteration with gradients of zero."""
        ddp = self.ddp
        ddp.reducer.rebuild()
        ddp._sync_buffers_if_needed(joined=True)
        synchronized = ddp._any_synchronizes(joined=True)
        ddp.require_forward_param_sync = synchronized
        if synchronized:
            ddp.reducer.shadow()

    def post_hook(self, is_last_joiner: bool) -> None:
        """Receive the model of the process that ended last."""
        ddp = self.ddp
        source = ddp._common_rank(is_last_joiner)
        broadcast_coalesced([*ddp._module_states()], ddp.process_group, source)


class DistributedDataParallel(Module, Joinable):
    """A module that is trained by several processes, each with a part of every batch: gradients are averaged over the group.

    Parameters and buffers of the first process are broadcast on construction, buffers again before every forward.  Gradients are put in buckets,
    which are reduced as soon as their gradients are ready, overlapped with backward.
    """

    def __init__(
        self, module: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0, broadcast_buffers: bool | None = None,
        init_sync: bool = True, process_group: Any = None, bucket_cap_mb: float | None = None, find_unused_parameters: bool = False,
        check_reduction: bool = False, gradient_as_bucket_view: bool = False, static_graph: bool = False, delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None, mixed_precision: Any = None, device_mesh: Any = None, skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: list[int] | None = None, batched_grad_copy: bool = False, forward_sync_buffers: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        Joinable.__init__(self)
        if process_group is not None and device_mesh is not None:
            raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
        for name, value in (("mixed_precision", mixed_precision), ("delay_all_reduce_named_params", delay_all_reduce_named_params),
                            ("param_to_hook_all_reduce", param_to_hook_all_reduce)):  # fmt: skip
            if value is not None:
                raise NotSupported(f"DistributedDataParallel({name}=...): use torch.autocast for mixed precision, and hooks for the rest")
        if device_mesh is not None:
            if device_mesh.ndim != 1:
                raise RuntimeError(f"Only 1D device mesh is supported, but got {device_mesh}.")
            self.process_group = device_mesh.get_group(mesh_dim=0)
        else:
            self.process_group = default_group() if process_group is None else process_group
        self.device_mesh = device_mesh
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        named = [(name, each) for name, each in module.named_parameters() if each.requires_grad and name not in self.parameters_to_ignore]
        if not named:
            raise RuntimeError("DistributedDataParallel is not needed when a module doesn't have any parameters that require a gradient.")
        if any(hasattr(each, "_in_backward_optimizers") for _, each in named):
            raise NotSupported(
                "DistributedDataParallel of parameters whose optimizers step inside of backward: that would be before the exchange"
            )
        if any(isinstance(each, UninitializedParameter) for _, each in named):
            raise RuntimeError(
                "Modules with uninitialized parameters can't be used with `DistributedDataParallel`. Run a dummy forward pass to correctly "
                "initialize the modules"
            )
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError("device_ids can only be None or contain a single element.")
        places = {each.device for _, each in named}
        self.is_multi_device_module = len(places) > 1
        kinds = {each.type for each in places}
        if len(kinds) != 1:
            raise ValueError(
                "DistributedDataParallel's input module must be on the same type of devices, but input module parameters locate in "
                f"{kinds}."
            )
        self.device = next(iter(places))
        self.device_type = self.device.type
        if not device_ids or self.device_type == "cpu" or self.is_multi_device_module:
            if device_ids or output_device is not None:
                raise ValueError(
                    "DistributedDataParallel device_ids and output_device arguments only work with single-device/multiple-device GPU modules or "
                    f"CPU modules, but got device_ids {device_ids}, output_device {output_device}, and module parameters {places}."
                )
            self.device_ids: Any = None
            self.output_device: Any = None
        else:
            self.device_ids = list(device_ids)
            self.output_device = self.device_ids[0] if output_device is None else output_device
        self.module = module
        self.dim = dim
        self.broadcast_buffers = next((each for each in (broadcast_buffers, forward_sync_buffers) if each is not None), True)
        self.find_unused_parameters, self.gradient_as_bucket_view = find_unused_parameters, gradient_as_bucket_view
        self.static_graph, self.mixed_precision = static_graph, mixed_precision
        self.skip_all_reduce_unused_params = skip_all_reduce_unused_params
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self.bucket_cap_mb_list = bucket_cap_mb_list
        self.bucket_bytes_cap_default = bucket_cap_mb is None
        self.bucket_bytes_cap = int((_DEFAULT_CAP_MB if bucket_cap_mb is None else bucket_cap_mb) * 1024 * 1024)
        self._divide_by_initial_world_size = True
        self._comm_hooks: list[tuple[Callable[..., Any], Any]] = []
        self.buffer_hook: _BufferCommHook | None = None
        self._forward_time, self._forward_total = 0, 0
        self._make_reducer()
        if init_sync:
            _verify_same_model(self.reducer)
            broadcast_coalesced([*self._module_states()], self.process_group)

    def _make_reducer(self) -> None:
        named = [
            (name, each) for name, each in self.module.named_parameters() if each.requires_grad and name not in self.parameters_to_ignore
        ]
        sparse_ids = {
            id(each)
            for module in self.module.modules()
            if getattr(module, "sparse", False) is True and hasattr(module, "embedding_dim")
            for each in module.parameters(recurse=False)
        }
        limits = [FIRST_BUCKET_BYTES, self.bucket_bytes_cap] if self.bucket_bytes_cap_default else [self.bucket_bytes_cap]
        if self.bucket_cap_mb_list:
            limits = [int(each * 1024 * 1024) for each in self.bucket_cap_mb_list]
        self._module_parameters = [each for _, each in named]
        # Not attributes of the module as PyTorch registers them: a reducer is no state.
        self.reducer = Reducer(
            self._module_parameters, [name for name, _ in named], self.process_group, limits=limits,
            find_unused=self.find_unused_parameters, views=self.gradient_as_bucket_view, static_graph=self.static_graph,
            sparse=[id(each) in sparse_ids for _, each in named], skip_unused=self.skip_all_reduce_unused_params,
        )  # fmt: skip
        self._find_buffers()

    def _find_buffers(self) -> None:
        """The buffers that are synchronized: a program may have put others in their place."""
        self.named_module_buffers = {name: each for name, each in self.module.named_buffers() if name not in self.parameters_to_ignore}
        self.modules_buffers = list(self.named_module_buffers.values())

    def _module_states(self) -> Iterator[Any]:
        """Parameters and buffers that are the same on all processes."""
        for name, each in (*self.module.named_parameters(), *self.module.named_buffers()):
            if name not in self.parameters_to_ignore:
                yield each

    # -- forward -----------------------------------------------------------------------------------------------------

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's result; backward from it averages gradients."""
        inputs, kwargs = self._pre_forward(inputs, kwargs)
        return self._post_forward(self.module(*inputs, **kwargs))

    def _pre_forward(self, inputs: Any, kwargs: Any) -> tuple[Any, Any]:
        self._forward_start = time.time_ns()
        work = Join.notify_join_context(self)
        reducer = self.reducer
        reducer.join_work = None if work is None else (work, self._joined_count, self._divide_by_initial_world_size)
        if state.grad_enabled and self.require_backward_grad_sync:
            reducer.rebuild()
        if self._buffer_location is _BufferCommHookLocation.PRE_FORWARD:
            self._sync_buffers_if_needed()
        if self._join_config.enable:
            self._any_synchronizes(joined=False)
        if self.device_ids:
            inputs, kwargs = _moved(inputs, self.device), _moved(kwargs, self.device)
        return inputs, kwargs

    @property
    def _buffer_location(self) -> _BufferCommHookLocation:
        """When buffers are exchanged: before forward, unless a hook wants it later."""
        return _BufferCommHookLocation.PRE_FORWARD if self.buffer_hook is None else self.buffer_hook.buffer_comm_hook_location

    def _post_forward(self, output: Any) -> Any:
        if self._buffer_location is _BufferCommHookLocation.POST_FORWARD:
            self._sync_buffers_if_needed()
        if state.grad_enabled and self.require_backward_grad_sync:
            self.require_forward_param_sync = True
            self.reducer.prepare(_tensors_in(output) if self.find_unused_parameters and not self.static_graph else None)
            self._forward_time = time.time_ns() - self._forward_start
            self._forward_total += self._forward_time
        else:
            self.require_forward_param_sync = False
        return output

    def _sync_buffers_if_needed(self, joined: bool = False) -> None:
        """Broadcast the buffers of the first process (of one that has inputs left, when processes join)."""
        if not (self.require_forward_param_sync and self.broadcast_buffers and self.modules_buffers):
            return
        source = self._common_rank(not joined) if self._join_config.enable else 0
        self._find_buffers()
        if self.buffer_hook is not None:
            hook = self.buffer_hook
            with no_grad():
                self.reducer.awaited_by_backward += hook.buffer_comm_hook(hook.buffer_comm_hook_state, self.named_module_buffers) or ()
        elif self.reducer.size > 1:
            broadcast_coalesced(self.modules_buffers, self.process_group, source)

    def _any_synchronizes(self, joined: bool) -> bool:
        """Whether processes with inputs exchange gradients in this iteration."""
        flag = tensor([float(not joined and self.require_backward_grad_sync)], device=self.device)
        world.collectives.all_reduce(flag, group=self.process_group)
        return bool(flag.item() != 0)

    def _common_rank(self, candidate: bool) -> int:
        """The highest rank of the group among the processes that are candidates."""
        rank = tensor([self.reducer.rank if candidate else -1], dtype=BY_NAME["int64"], device=self.device)
        world.collectives.all_reduce(rank, op=world.collectives.ReduceOp.MAX, group=self.process_group)
        found = int(rank.item())
        if found == -1:
            raise ValueError(
                "BUG! Expected rank_cond to be true for at least one process. This indicates a bug in PyTorch, please report an issue."
            )
        return found

    # -- contexts ----------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """A context in which gradients accumulate locally; the next iteration outside of it reduces the sums."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def join(self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False) -> Join:
        """A context for uneven inputs: a process without inputs shadows the others' collectives until all have ended."""
        return Join([self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size)

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a process without inputs does."""
        return _DDPJoinHook(self, kwargs.get("divide_by_initial_world_size", True))

    @property
    def join_device(self) -> Any:
        """The device it communicates from."""
        return self.device

    @property
    def join_process_group(self) -> Any:
        """Its group."""
        return self.process_group

    # -- communication hooks -----------------------------------------------------------------------------------------

    def register_comm_hook(self, state: Any, hook: Callable[[Any, Any], Any]) -> None:
        """Register ``hook(state, bucket)`` to reduce gradients; the value of the future that it returns replaces them."""
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        signature = inspect.signature(hook)
        given = signature.parameters["bucket"].annotation if "bucket" in signature.parameters else inspect.Parameter.empty
        if isinstance(given, type) and given not in (inspect.Parameter.empty, GradBucket, object):
            raise ValueError("Communication hook: bucket annotation should be dist.GradBucket.")
        if isinstance(signature.return_annotation, type) and signature.return_annotation not in (inspect.Signature.empty, Future):
            raise ValueError(f"Communication hook: return annotation should be torch.futures.Future, not {signature.return_annotation}.")
        if self.reducer.hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self.reducer.hook = (state, hook)
        self._comm_hooks.append((hook, state))

    def _register_buffer_comm_hook(
        self, state: Any, hook: Callable[[Any, dict[str, Any]], Any], comm_hook_location: Any = _BufferCommHookLocation.POST_FORWARD
    ) -> None:
        """Register ``hook(state, named_buffers)`` to exchange buffers; futures that it returns have ended when backward ends."""
        if not callable(hook):
            raise AssertionError(f"hook must be callable, got {type(hook).__name__}")
        self.buffer_hook = _BufferCommHook(hook, state, comm_hook_location)

    def _register_builtin_comm_hook(self, comm_hook_type: Any) -> None:
        """A hook by its number: averaged as they are, or in half precision."""
        hooks = sys.modules[world.collectives.__name__ + ".algorithms.ddp_comm_hooks.default_hooks"]
        self.register_comm_hook(
            self.process_group, hooks.allreduce_hook if comm_hook_type.name == "ALLREDUCE" else hooks.fp16_compress_hook
        )

    def _set_static_graph(self) -> None:
        """Declare that every iteration uses the same parameters, equally often, in the same way."""
        if self.reducer.iterations:
            raise RuntimeError(
                "set_static_graph() should be called before training loop starts and after DistributedDataParallel is constructed."
            )
        self.static_graph = self.reducer.static_graph = True

    # -- facts -------------------------------------------------------------------------------------------------------

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        """Logging data: the configuration, and the times of its parts (in nanoseconds)."""
        reducer, times, count = self.reducer, self.reducer.times, max(1, self.reducer.iterations)
        sizes = ", ".join(str(each.nbytes) for each in reducer.buckets)
        result = {
            "world_size": reducer.size, "rank": reducer.rank, "module_name": type(self.module).__name__,
            "backend_name": self.process_group.name(), "iteration": reducer.iterations, "device_ids": "", "output_device": -1,
            "find_unused_parameters": int(self.find_unused_parameters), "gradient_as_bucket_view": int(self.gradient_as_bucket_view),
            "static_graph": int(self.static_graph), "broadcast_buffers": int(self.broadcast_buffers),
            "is_multi_device_module": int(self.is_multi_device_module), "bucket_cap_bytes": self.bucket_bytes_cap,
            "has_sync_bn": int(any(isinstance(each, SyncBatchNorm) for each in self.modules())),
            "num_parameter_tensors": len(self._module_parameters),
            "total_parameter_size_bytes": sum(each.numel() * each.element_size() for each in self._module_parameters),
            "dtypes": ", ".join(dict.fromkeys(_SCALAR_TYPES.get(name := str(each.dtype).partition(".")[2], name) for each in self._module_parameters)),
            "bucket_sizes": sizes, "has_rebuilt_buckets": int(reducer.rebuilt), "num_buckets_reduced": len(reducer.buckets),
            "master_addr": os.environ.get("MASTER_ADDR", "N/A"), "master_port": os.environ.get("MASTER_PORT", "N/A"),
            "torch_distributed_debug": os.environ.get("TORCH_DISTRIBUTED_DEBUG", "N/A"),
            "forward_compute_time": self._forward_time, "avg_forward_compute_time": self._forward_total // count,
            "unused_parameter_size": sum(self._module_parameters[at].numel() * self._module_parameters[at].element_size()
                                         for at in reducer.unused),
        }  # fmt: skip
        if reducer.rebuilt:
            result["rebuilt_bucket_sizes"] = sizes
        if self._comm_hooks:
            result["comm_hook"] = getattr(self._comm_hooks[0][0], "__name__", repr(self._comm_hooks[0][0]))
        for name, total in reducer.totals.items():
            result[name], result[f"avg_{name}"] = times[name], total // count
        return result

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module: Any, params_and_buffers_to_ignore: Any) -> None:
        """Set the parameters and buffers that are not synchronized."""
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore

    def _get_data_parallel_params(self, module: Any = None, named_params: bool = False) -> Iterator[Any]:
        """The parameters that take part."""
        for name, each in (self if module is None else module).named_parameters():
            if name.removeprefix("module.") not in self.parameters_to_ignore:
                yield (name, each) if named_params else each

    def __getstate__(self) -> dict[str, Any]:
        if self.process_group is not default_group():
            raise RuntimeError("DDP Pickling/Unpickling are only supported when using DDP with the default process group.")
        attributes = dict(self.__dict__)
        del attributes["process_group"], attributes["reducer"]
        return attributes

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.process_group = default_group()
        super().__setstate__(state)
        self._make_reducer()


def _verify_same_model(reducer: Reducer) -> None:
    """Raise on every process if one has other parameters than the first."""
    if reducer.size == 1:
        return
    shapes = [tuple(each.shape) for each in reducer.parameters]
    found: list[Any] = [None] * reducer.size
    world.collectives.all_gather_object(found, shapes, group=reducer.group)
    for rank, other in enumerate(found):
        if len(other) != len(found[0]):
            raise RuntimeError(
                f"DDP expects same model across all ranks, but Rank {rank} has {len(other)} params, while rank 0 has inconsistent "
                f"{len(found[0])} params."
            )
    for index, (own, first) in enumerate(zip(shapes, found[0])):
        if own != first:
            raise RuntimeError(
                f"[{reducer.rank}]: params[{index}] in this process with sizes {list(own)} appears not to match sizes of the same param in "
                "process 0."
            )
    for rank, other in enumerate(found):
        if other != found[0]:
            raise RuntimeError(f"[{reducer.rank}]: params of process {rank} appear not to match sizes of those in process 0.")
