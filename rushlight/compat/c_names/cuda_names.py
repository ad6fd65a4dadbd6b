"""Names of `torch._C` about GPUs: current devices and streams by their handles."""

from __future__ import annotations

from typing import Any

from ... import accelerator, cuda
from ...core.devices import device, device_types
from ...cuda.streams import current_stream, default_stream, set_stream_by_id

__all__ = [
    "_accelerator_isAllocatorInitialized",
    "_cuda_emptyCache",
    "_cuda_getCurrentRawStream",
    "_cuda_getDefaultStream",
    "_cuda_getDevice",
    "_cuda_getDeviceCount",
    "_cuda_isCurrentStreamCapturing",
    "_cuda_isInBadFork",
    "_cuda_setDevice",
    "_cuda_setStream",
    "_cuda_synchronize",
    "_get_accelerator",
]


def _get_accelerator(check: bool | None = None) -> device:
    """The accelerator; the CPU where there is none."""
    return accelerator.current_accelerator() or device("cpu")


def _accelerator_isAllocatorInitialized() -> bool:
    """Whether memory of the accelerator can be allocated."""
    return "cuda" in device_types


def _cuda_isInBadFork() -> bool:
    """Whether this process was forked from one that had loaded CUDA, where it can't be used."""
    return cuda._is_in_bad_fork()


def _cuda_getDevice() -> int:
    """The index of the current GPU."""
    return int(cuda.current_device())


def _cuda_setDevice(device: int) -> None:
    """Make a GPU the current one."""
    cuda.set_device(device)


def _cuda_getDeviceCount() -> int:
    """How many GPUs there are."""
    return int(cuda.device_count())


def _cuda_synchronize() -> None:
    """Wait until everything queued on the current GPU is done."""
    cuda.synchronize()


def _cuda_emptyCache() -> None:
    """Give memory that no tensor holds back to the driver."""
    cuda.empty_cache()


def _cuda_setStream(stream_id: int, device_index: int, device_type: int) -> None:
    """Let work of a GPU go to the stream of a handle."""
    set_stream_by_id(stream_id, device_index, device_type)


def _cuda_getCurrentRawStream(device: int) -> int:
    """The handle of the stream that work goes to."""
    return current_stream(device).cuda_stream


def _cuda_getDefaultStream(device: int) -> tuple[Any, ...]:
    """The default stream of a GPU: its handle, and the index and the type of the device."""
    found = default_stream(device)
    return found.stream_id, found.device_index, found.device_type


def _cuda_isCurrentStreamCapturing() -> bool:
    """Whether the current stream's work is captured into a graph."""
    return cuda.is_current_stream_capturing()
