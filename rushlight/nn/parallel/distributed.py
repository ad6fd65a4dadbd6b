"""``DistributedDataParallel``: a module whose gradients are averaged over processes; with one process, the module itself."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from ...core.process_group import default_group
from ..modules.module import Module

__all__ = ["DistributedDataParallel"]


class GradBucket:
    """The gradients that a hook on their exchange gets: those of one parameter."""

    def __init__(self, parameter: Any, gradient: Any, index: int, last: bool) -> None:
        self._parameter, self._gradient, self._index, self._last = parameter, gradient, index, last

    def buffer(self) -> Any:
        """The gradients, flat."""
        return self._gradient.reshape(-1)

    def set_buffer(self, buffer: Any) -> None:
        """Put other gradients in their place."""
        self._gradient = buffer.reshape(self._gradient.shape)

    def gradients(self) -> list[Any]:
        """The gradients of each parameter."""
        return [self._gradient]

    def parameters(self) -> list[Any]:
        """The parameters."""
        return [self._parameter]

    def index(self) -> int:
        """The number of the bucket."""
        return self._index

    def is_last(self) -> bool:
        """Whether it is the last one of a backward pass."""
        return self._last


class DistributedDataParallel(Module):
    """A module whose gradients are averaged over the processes of a group, which has one process: they are its own.

    Names of parameters begin with ``module.``, as in PyTorch.  Hooks on the exchange get each parameter's gradient as a bucket.
    """

    def __init__(
        self, module: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0, broadcast_buffers: bool = True,
        init_sync: bool = True, process_group: Any = None, bucket_cap_mb: float | None = None, find_unused_parameters: bool = False,
        check_reduction: bool = False, gradient_as_bucket_view: bool = False, static_graph: bool = False, delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None, mixed_precision: Any = None, device_mesh: Any = None, skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if process_group is not None and device_mesh is not None:
            raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
        if device_mesh is not None:
            self.process_group = device_mesh.get_group(mesh_dim=0)
        else:
            self.process_group = default_group() if process_group is None else process_group
        ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self._own = [each for name, each in module.named_parameters() if each.requires_grad and name not in ignored]
        if not self._own:
            raise RuntimeError("DistributedDataParallel is not needed when a module doesn't have any parameters that require a gradient.")
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError("device_ids can only be None or contain a single element.")
        if device_ids or output_device is not None:
            places = {each.device for each in module.parameters()}
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with single-device/multiple-device GPU modules or "
                f"CPU modules, but got device_ids {device_ids}, output_device {output_device}, and module parameters {places}."
            )
        self.module = module
        self.device = next(iter(module.parameters())).device
        self.device_type = self.device.type
        self.device_ids: Any = None
        self.output_device: Any = None
        self.dim, self.broadcast_buffers = dim, broadcast_buffers
        self.find_unused_parameters, self.gradient_as_bucket_view = find_unused_parameters, gradient_as_bucket_view
        self.static_graph, self.mixed_precision = static_graph, mixed_precision
        self.parameters_to_ignore = ignored
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self._comm_hook: tuple[Any, Callable[[Any, Any], Any]] | None = None

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's result."""
        return self.module(*inputs, **kwargs)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """A context in which gradients are not exchanged."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    @contextlib.contextmanager
    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Iterator[None]:
        """A context for uneven inputs: those of one process are even."""
        yield

    def register_comm_hook(self, state: Any, hook: Callable[[Any, Any], Any]) -> None:
        """Call ``hook(state, bucket)`` for gradients; the value of the future that it returns takes their place."""
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self._comm_hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self._comm_hook = (state, hook)
        for at, parameter in enumerate(self._own):
            parameter.register_hook(self._exchange(parameter, at))

    def _exchange(self, parameter: Any, at: int) -> Callable[[Any], Any]:
        def exchange(gradient: Any) -> Any:
            if self._comm_hook is None or not self.require_backward_grad_sync:
                return gradient
            state, hook = self._comm_hook
            found = hook(state, GradBucket(parameter, gradient, at, at == 0)).wait()
            return (found[0] if isinstance(found, (list, tuple)) else found).reshape(gradient.shape)

        return exchange

    def _set_static_graph(self) -> None:
        """Say that every iteration uses the same parameters: nothing depends on it here."""
        self.static_graph = True

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        """Facts about this object."""
        return {"world_size": 1, "rank": 0, "module_name": type(self.module).__name__, "backend_name": self.process_group.name()}

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module: Any, params_and_buffers_to_ignore: Any) -> None:
        """Name the parameters whose gradients are not exchanged."""
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore
