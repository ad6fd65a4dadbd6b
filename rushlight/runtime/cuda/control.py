"""What ``torch.cuda`` answers on a machine with GPUs: devices, memory, random states, profiler ranges.

Each function here has the name and the arguments of the one in ``torch.cuda`` that calls it.  Streams, events and graphs are in
``streams.py`` and ``graphs.py``.
"""

from __future__ import annotations

import functools
import importlib
import uuid
from collections import OrderedDict
from contextlib import AbstractContextManager
from sys import getrefcount
from types import SimpleNamespace
from typing import Any, NamedTuple

from ...core.base import make
from ...core.devices import as_device, available, device_types
from ...core.errors import NotSupported, ValueRangeError
from . import faults
from .captured_work import release_unused
from .device import CudaDevice, no_such_device, sized
from .launch import CudaKernel


def kind() -> CudaDevice:
    """The registered device type."""
    available("cuda")
    return device_types["cuda"]  # type: ignore[return-value]


def index_of(device: Any = None, optional: bool = True) -> int:
    """The index of a device as programs name it: None (the current one), a number, a string, a device."""
    if device is None and optional:
        return current_device()
    if isinstance(device, int) and not isinstance(device, bool):
        index: int | None = device
    else:
        named = as_device(device)
        if named.type != "cuda":
            raise ValueRangeError(f"Expected a cuda device, but got: {named}")
        index = named.index
    if index is None:
        return current_device()
    if not 0 <= index < kind().count:
        raise no_such_device(index, kind().count)
    return index


def device_count() -> int:
    """How many GPUs this process sees."""
    return kind().count


def current_device() -> int:
    """The index of the device that new tensors go to."""
    return kind().cupy.cuda.runtime.getDevice()  # type: ignore[no-any-return]


def set_device(device: Any) -> None:
    """Make a device the current one; a negative index changes nothing."""
    if isinstance(device, int) and device < 0:
        return
    kind().cupy.cuda.runtime.setDevice(index_of(device))


def synchronize(device: Any = None) -> None:
    """Wait until everything queued on a device is done."""
    with kind().cupy.cuda.Device(index_of(device)) as place:
        place.synchronize()
    faults.raise_found()


_SPIN = """
extern "C" __global__ void spin(long long cycles) {
    long long begun = clock64();
    while (clock64() - begun < cycles) {}
}
"""


@functools.cache
def _spinning() -> CudaKernel:
    return CudaKernel(kind().cupy, _SPIN, "spin", "q")


def spin(cycles: int) -> None:
    """Keep the current stream busy for so many cycles of the GPU's clock."""
    _spinning()(1, 1, cycles)


class DeviceProperties:
    """What a GPU is: name, multiprocessors, memory, compute capability."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.name = found["name"].decode()
        self.major, self.minor = found["major"], found["minor"]
        self.total_memory = found["totalGlobalMem"]
        self.multi_processor_count = found["multiProcessorCount"]
        self.max_threads_per_multi_processor = found["maxThreadsPerMultiProcessor"]
        self.max_threads_per_block = found["maxThreadsPerBlock"]
        self.regs_per_multiprocessor = found["regsPerMultiprocessor"]
        self.shared_memory_per_block = found["sharedMemPerBlock"]
        self.shared_memory_per_block_optin = found["sharedMemPerBlockOptin"]
        self.shared_memory_per_multiprocessor = found["sharedMemPerMultiprocessor"]
        self.warp_size = found["warpSize"]
        self.L2_cache_size = found["l2CacheSize"]
        self.is_integrated = found["integrated"]
        self.is_multi_gpu_board = found["isMultiGpuBoard"]
        self.pci_bus_id, self.pci_device_id, self.pci_domain_id = found["pciBusID"], found["pciDeviceID"], found["pciDomainID"]
        self.gcnArchName = self.name
        raw = bytes(found.get("uuid", b""))
        self.uuid = uuid.UUID(bytes=raw) if len(raw) == 16 else raw.hex()

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, total_memory={self.total_memory >> 20}MB, "
            f"multi_processor_count={self.multi_processor_count}, L2_cache_size={self.L2_cache_size >> 20}MB)"
        )


@functools.cache
def _properties(index: int) -> DeviceProperties:
    return DeviceProperties(kind().cupy.cuda.runtime.getDeviceProperties(index))


def get_device_properties(device: Any = None) -> DeviceProperties:
    """What a GPU is."""
    index = device if isinstance(device, int) else getattr(as_device(device), "index", None) if device is not None else None
    if index is not None and not 0 <= index < kind().count:
        raise AssertionError("Invalid device id")
    return _properties(index_of(device))


def get_device_name(device: Any = None) -> str:
    """The name of a GPU."""
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability of a GPU."""
    found = get_device_properties(device)
    return found.major, found.minor


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether one GPU reads the memory of another directly."""
    return bool(kind().cupy.cuda.runtime.deviceCanAccessPeer(index_of(device), index_of(peer_device)))


def get_arch_list() -> list[str]:
    """The architectures that kernels are compiled for: those of the GPUs here, since all are compiled when they are first used."""
    return sorted({f"sm_{major}{minor}" for major, minor in map(get_device_capability, range(device_count()))})


def get_gencode_flags() -> str:
    """The compiler flags of these architectures."""
    return " ".join(f"-gencode compute={each.replace('sm', 'compute')},code={each}" for each in get_arch_list())


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the current GPU computes in bfloat16."""
    return including_emulation or get_device_capability()[0] >= 8


def is_tf32_supported() -> bool:
    """Whether the current GPU multiplies matrices in TF32."""
    return get_device_capability()[0] >= 8


# -- memory ------------------------------------------------------------------------------------------------------


def _pool() -> Any:
    return kind().cupy.get_default_memory_pool()


def on_device(device: Any) -> AbstractContextManager[Any]:
    """A context in which a device is the current one."""
    return kind().cupy.cuda.Device(index_of(device))  # type: ignore[no-any-return]


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """The free and the total memory of a GPU in bytes."""
    with on_device(device):
        return kind().cupy.cuda.runtime.memGetInfo()  # type: ignore[no-any-return]


def memory_allocated(device: Any = None) -> int:
    """The bytes that tensors hold."""
    with on_device(device):
        return _pool().used_bytes()  # type: ignore[no-any-return]


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that tensors have held at once since the start, or since :func:`reset_peak_memory_stats`."""
    return kind().usage.of(index_of(device)).peak


def memory_reserved(device: Any = None) -> int:
    """The bytes that the caching pool holds, in use or not."""
    with on_device(device):
        return _pool().total_bytes()  # type: ignore[no-any-return]


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that the caching pool has held at once."""
    index, reserved = index_of(device), memory_reserved(device)
    usage = kind().usage.of(index)
    usage.peak_reserved = max(usage.peak_reserved, reserved, usage.peak)
    return usage.peak_reserved


def reset_peak_memory_stats(device: Any = None) -> None:
    """Reset the peak counts."""
    usage = kind().usage.of(index_of(device))
    usage.peak, usage.peak_reserved = usage.current, memory_reserved(device)


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Reset the allocation counts."""
    usage = kind().usage.of(index_of(device))
    usage.allocations = usage.allocated = 0


def empty_cache() -> None:
    """Free the pool's unused memory to the driver."""
    cupy = kind().cupy
    for index in range(device_count()):
        with cupy.cuda.Device(index):
            cupy.get_default_memory_pool().free_all_blocks()
    release_unused()
    cupy.get_default_pinned_memory_pool().free_all_blocks()


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """Counts of the caching pool by PyTorch's names."""
    usage = kind().usage.of(index_of(device))
    found = OrderedDict()
    for kind_of in ("all", "large_pool", "small_pool"):
        whole = kind_of == "all"
        found[f"allocated_bytes.{kind_of}.current"] = usage.current if whole else 0
        found[f"allocated_bytes.{kind_of}.peak"] = usage.peak if whole else 0
        found[f"allocated_bytes.{kind_of}.allocated"] = usage.allocated if whole else 0
        found[f"allocated_bytes.{kind_of}.freed"] = usage.allocated - usage.current if whole else 0
        found[f"reserved_bytes.{kind_of}.current"] = memory_reserved(device) if whole else 0
        found[f"reserved_bytes.{kind_of}.peak"] = max_memory_reserved(device) if whole else 0
    found["allocation.all.allocated"] = usage.allocations
    found["num_alloc_retries"] = found["num_ooms"] = 0
    return OrderedDict(sorted(found.items()))


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """Counts of the caching pool as nested dicts."""
    found: dict[str, Any] = {}
    for name, value in memory_stats(device).items():
        *path, last = name.split(".")
        place = found
        for each in path:
            place = place.setdefault(each, {})
        place[last] = value
    return found


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The counts of the caching pool as a table."""
    found, index = memory_stats(device), index_of(device)
    rows = [("Allocated memory", "allocated_bytes.all"), ("GPU reserved memory", "reserved_bytes.all")]
    line = "|" + "=" * 75 + "|"
    text = [
        line,
        f"|{f'CUDA memory summary, device {index}':^75}|",
        line,
        f"| {'Metric':<24}| {'Cur Usage':>14} | {'Peak Usage':>14} | {'Tot Alloc':>13} |",
        line,
    ]
    for title, name in rows:
        total = found.get(f"{name}.allocated", found[f"{name}.peak"])
        text.append(f"| {title:<24}| {sized(found[f'{name}.current']):>14} | {sized(found[f'{name}.peak']):>14} | {sized(total):>13} |")
    return "\n".join([*text, line]) + "\n"


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Refuse allocations beyond a part of the GPU's memory."""
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueRangeError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    with on_device(device):
        _pool().set_limit(fraction=fraction)


def get_per_process_memory_fraction(device: Any = None) -> float:
    """The part of the GPU's memory that may be allocated."""
    with on_device(device):
        limit = _pool().get_limit()
        return limit / mem_get_info(device)[1] if limit else 1.0  # type: ignore[no-any-return]


# -- random states -----------------------------------------------------------------------------------------------


def get_rng_state(device: Any = "cuda") -> Any:
    """The state of a device's stream of random numbers, as a tensor of bytes on the CPU."""
    return kind().generators[index_of(device)].get_state()


def get_rng_state_all() -> list[Any]:
    """The states of all devices."""
    return [each.get_state() for each in kind().generators]


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Continue the stream of a device from a state."""
    kind().generators[index_of(device)].set_state(make(new_state._array.copy()))


def set_rng_state_all(new_states: Any) -> None:
    """Continue the streams of all devices from their states."""
    for index, each in enumerate(new_states):
        set_rng_state(each, index)


def manual_seed(seed: int) -> None:
    """Seed the stream of the current device."""
    kind().generators[current_device()].manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seed the streams of all devices."""
    kind().manual_seed_all(int(seed))


def seed() -> None:
    """Seed the current device's stream from the operating system's entropy."""
    kind().generators[current_device()].seed()


def seed_all() -> None:
    """Seed the streams of all devices with one seed from the operating system's entropy."""
    first, *others = kind().generators
    chosen = first.seed()
    for each in others:
        each.manual_seed(chosen)


def initial_seed() -> int:
    """The seed that the current device's stream began with."""
    return kind().generators[current_device()].initial_seed()


# -- what libraries ask besides ----------------------------------------------------------------------------------------


def ipc_collect() -> None:
    """Nothing: memory is not shared with other processes here."""


def get_sync_debug_mode() -> int:
    """0: calls that wait for the GPU are not reported."""
    return 0


def set_sync_debug_mode(debug_mode: Any) -> None:
    """Accept the mode in which calls that wait for the GPU are not reported; others are not here."""
    if debug_mode not in (0, "default"):
        raise NotSupported(f"torch.cuda.set_sync_debug_mode({debug_mode!r}): calls that wait for the GPU are not reported here")


def get_allocator_backend() -> str:
    """``"native"``: a caching pool (CuPy's)."""
    return "native"


def current_blas_handle() -> int:
    """The handle of cuBLAS for the current device, as a number."""
    return int(kind().cupy.cuda.device.get_cublas_handle())


def device_memory_used(device: Any = None) -> int:
    """The bytes that all processes hold on a device."""
    free, total = mem_get_info(device)
    return int(total - free)


def cudart() -> Any:
    """Functions of the CUDA runtime: free memory, and start and stop of profiling."""
    runtime = kind().cupy.cuda.runtime
    return SimpleNamespace(
        cudaMemGetInfo=mem_get_info, cudaProfilerStart=runtime.profilerStart, cudaProfilerStop=runtime.profilerStop,
        cudaDeviceSynchronize=runtime.deviceSynchronize,
    )  # fmt: skip


def _asked_nvml(question: Any, device: Any) -> Any:
    """What NVIDIA's management library says of a device."""
    try:
        pynvml = importlib.import_module("pynvml")
    except ImportError as error:
        raise ModuleNotFoundError("pynvml does not seem to be installed or it can't be imported.") from error
    pynvml.nvmlInit()
    return question(pynvml, pynvml.nvmlDeviceGetHandleByPciBusId(kind().cupy.cuda.runtime.deviceGetPCIBusId(index_of(device))))


def utilization(device: Any = None) -> int:
    """The percentage of the last second in which a kernel ran."""
    return int(_asked_nvml(lambda nvml, handle: nvml.nvmlDeviceGetUtilizationRates(handle).gpu, device))


def memory_usage(device: Any = None) -> int:
    """The percentage of the last second in which memory was read or written."""
    return int(_asked_nvml(lambda nvml, handle: nvml.nvmlDeviceGetUtilizationRates(handle).memory, device))


def temperature(device: Any = None) -> int:
    """The temperature in degrees Celsius."""
    return int(_asked_nvml(lambda nvml, handle: nvml.nvmlDeviceGetTemperature(handle, 0), device))


def power_draw(device: Any = None) -> int:
    """The power in milliwatts."""
    return int(_asked_nvml(lambda nvml, handle: nvml.nvmlDeviceGetPowerUsage(handle), device))


def clock_rate(device: Any = None) -> int:
    """The SM clock rate in MHz."""
    return int(_asked_nvml(lambda nvml, handle: nvml.nvmlDeviceGetClockInfo(handle, 1), device))


class _UsedByStream(NamedTuple):
    """Memory used by another stream than the one it was allocated on."""

    memory: Any
    stream: Any
    done: list[Any]  # an event after the last use, once nothing else refers to the memory


_used: list[_UsedByStream] = []
_MINE = 2  # reference count of memory with no other owner: the record, and getrefcount's argument


def record_stream(array: Any, stream: Any) -> None:
    """Return memory to the pool only after a stream has finished what it had queued when the last tensor died."""
    for each in _used:
        if not each.done and getrefcount(each.memory) <= _MINE:
            each.done.append(each.stream.record_event())
    _used[:] = [*(each for each in _used if not each.done or not each.done[0].query()), _UsedByStream(array.data.mem, stream, [])]
