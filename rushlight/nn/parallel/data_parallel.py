"""``DataParallel``: a batch over several GPUs."""

from __future__ import annotations

from typing import Any

from ...core.errors import NotSupported
from ..modules.module import Module


def _refuse(device_ids: Any) -> None:
    if device_ids:
        raise NotSupported(
            f"DataParallel over the devices {list(device_ids)}: there are no GPUs here; omit device_ids to run the module itself"
        )


class DataParallel(Module):
    """A module whose batches would be spread over GPUs; where there are none, the module itself, as in PyTorch."""

    def __init__(self, module: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        _refuse(device_ids)
        self.module = module
        self.device_ids: list[int] = []
        self.output_device = output_device
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's result."""
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Any, inputs: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0, module_kwargs: Any = None
) -> Any:
    """The module's result on inputs, as ``DataParallel`` would compute it."""
    _refuse(device_ids)
    return module(*(inputs if isinstance(inputs, tuple) else (inputs,)), **(module_kwargs or {}))
