"""``DataParallel``: a module on the accelerator, whose inputs are brought there; where there is none, the module itself, as in PyTorch."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from ...core.devices import accelerator, as_device, device
from ...core.errors import NotSupported, OperationError
from ..modules.module import Module
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter_kwargs


def _index(place: Any) -> int:
    """The number of a device that is given by its number or its name."""
    return place if isinstance(place, int) else as_device(place).index or 0


def _indices(device_ids: Sequence[Any] | None) -> list[int]:
    """The devices that a batch is spread over: one, since copies of a model in one process are not there."""
    found = [0] if device_ids is None else [_index(each) for each in device_ids]
    if not found:
        raise OperationError("no available devices were found")
    if len(found) > 1:
        raise NotSupported(
            f"DataParallel over the devices {found}: start a process for each device, and use DistributedDataParallel (rushlight launch)"
        )
    return found


class DataParallel(Module):
    """A module whose inputs are brought to its device: the first accelerator, or the one of ``device_ids``."""

    def __init__(self, module: Any, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[int] = []
        kind = accelerator()
        if kind is None:
            return
        self.device_ids = _indices(device_ids)
        self.dim = dim
        self.output_device = self.device_ids[0] if output_device is None else _index(output_device)
        self.src_device_obj = device(kind.name, self.device_ids[0])
        module.to(self.src_device_obj)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's result."""
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        for tensor in itertools.chain(self.module.parameters(), self.module.buffers()):
            if tensor.device != self.src_device_obj:
                raise OperationError(
                    f"module must have its parameters and buffers on device {self.src_device_obj} (device_ids[0]) but found one of them on "
                    f"device: {tensor.device}"
                )
        parts, named = self.scatter(inputs, kwargs, self.device_ids)
        return self.module(*(parts[0] if parts else ()), **(named[0] if named else {}))

    def scatter(self, inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, device_ids: Sequence[int]) -> Any:
        """Positional and keyword arguments in parts, on the devices that they are for."""
        return scatter_kwargs(inputs, kwargs, [device(self.src_device_obj.type, each) for each in device_ids], dim=self.dim)

    def replicate(self, module: Any, device_ids: Sequence[int]) -> Any:
        """Copies of the module on several devices."""
        return replicate(module, device_ids)

    def parallel_apply(self, replicas: Sequence[Any], inputs: Sequence[Any], kwargs: Any) -> list[Any]:
        """The results of copies of the module, each for its own part of the inputs."""
        return parallel_apply(replicas, inputs, kwargs, self.device_ids[: len(replicas)])

    def gather(self, outputs: Any, output_device: Any) -> Any:
        """Results of several devices on one of them."""
        return gather(outputs, output_device, dim=self.dim)


def data_parallel(
    module: Any, inputs: Any, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0, module_kwargs: Any = None
) -> Any:
    """The module's result on inputs, as ``DataParallel`` would compute it."""
    given = inputs if isinstance(inputs, tuple) else (inputs,) if inputs is not None else ()
    return DataParallel(module, device_ids, output_device, dim)(*given, **(module_kwargs or {}))
