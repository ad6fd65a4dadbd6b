"""What the modules of accelerators that are not here (``cuda``, ``xpu``, ``mtia``) answer: what a PyTorch for the CPU alone answers.

Questions are answered ("0 devices", "not available"), what is harmless without a device is accepted, and what needs one raises.  Classes are
classes, so that annotations and isinstance work.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from .core.errors import DeviceError
from .streams import AcceleratorError, OutOfMemoryError, StreamContext

_NEED_A_DEVICE = """
    current_device get_device_name get_device_properties get_device_capability mem_get_info current_stream default_stream get_rng_state
    initial_seed cudart current_blas_handle ipc_collect get_sync_debug_mode set_sync_debug_mode can_device_access_peer synchronize
    get_per_process_memory_fraction set_per_process_memory_fraction get_stream_from_external init make_graphed_callables
    graph_pool_handle caching_allocator_alloc caching_allocator_delete change_current_allocator use_mem_pool
    utilization temperature power_draw clock_rate memory_usage list_gpu_processes memory_snapshot memory_summary device_memory_used
    get_allocator_backend
"""
_ACCEPTED = "empty_cache seed seed_all reset_peak_memory_stats reset_accumulated_memory_stats set_stream caching_allocator_enable"
_ZERO = "device_count memory_allocated max_memory_allocated memory_reserved max_memory_reserved"
_FALSE = "is_available is_initialized is_bf16_supported is_tf32_supported is_current_stream_capturing"


class NoDeviceError(DeviceError, AssertionError):
    """Something that needs an accelerator, which is not here."""

    code = "RL111"


def fill(namespace: dict[str, Any], label: str) -> None:
    """Put the names into a module; ``label`` is the accelerator as PyTorch writes it, "CUDA"."""
    module_name = namespace["__name__"]

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NoDeviceError(f"Torch not compiled with {label} enabled: rushlight has no {label} device here, use device='cpu'")

    def function(name: str, answer: Any, doc: str) -> Any:
        def answering(*args: Any, **kwargs: Any) -> Any:
            return answer() if callable(answer) else answer

        found = refuse_named(name) if answer is refuse else answering
        found.__name__ = found.__qualname__ = name
        found.__module__, found.__doc__ = module_name, doc
        return found

    def refuse_named(name: str) -> Any:
        def refusing(*args: Any, **kwargs: Any) -> Any:
            return refuse()

        return refusing

    def absent_class(name: str) -> type:
        def refuse_new(cls: type, *args: Any, **kwargs: Any) -> Any:
            raise DeviceError(f"torch.{label.lower()}.{name} requires {label} support: rushlight has no {label} device here")

        return type(name, (), {"__new__": refuse_new, "__module__": module_name, "__doc__": f"Not here: it needs a {label} device."})

    for names, answer, doc in (
        (_NEED_A_DEVICE, refuse, f"Raise: there is no {label} device."), (_ACCEPTED, None, "Accepted: there is no device."),
        (_ZERO, 0, "0."), (_FALSE, False, "False."), ("memory_stats", OrderedDict, "Nothing."),
        ("memory_stats_as_nested_dict", dict, "Nothing."), ("get_rng_state_all get_arch_list", list, "Nothing."), ("get_gencode_flags", "", "Nothing."),
    ):  # fmt: skip
        namespace.update({name: function(name, answer, doc) for name in names.split()})
    namespace.update(
        {
            name: absent_class(name)
            for name in ("Stream", "Event", "ExternalStream", "MemPool", f"{label}Graph", "graph", f"{label}PluggableAllocator")
        }
    )

    class Device:
        """A context in which another device is the current one; an index that is None or negative changes nothing."""

        def __init__(self, device: Any) -> None:
            self.idx = getattr(device, "index", device)
            self.prev_idx = -1

        def __enter__(self) -> None:
            if self.idx is not None and (not isinstance(self.idx, int) or self.idx >= 0):
                refuse()

        def __exit__(self, *exception: Any) -> None:
            """Nothing was changed."""

    Device.__name__ = Device.__qualname__ = "device"
    Device.__module__ = module_name

    def set_device(device: Any) -> None:
        """Raise: there is no device; a negative index changes nothing."""
        if not isinstance(device, int) or device >= 0:
            refuse()

    def manual_seed(seed: int) -> None:
        """Accepted: there is no device to seed."""

    def set_rng_state_all(new_states: Any) -> None:
        """Set the states of all devices, of which there are none."""
        if list(new_states):
            refuse()

    def stream(stream: Any) -> StreamContext:
        """A context in which work goes to a stream; None changes nothing."""
        return StreamContext(stream) if stream is None else refuse()

    @contextlib.contextmanager
    def caching_allocator_disabled() -> Iterator[None]:
        """There is no allocator."""
        yield

    namespace.update(
        device=Device, device_of=Device, set_device=set_device, manual_seed=manual_seed, manual_seed_all=manual_seed, set_rng_state_all=set_rng_state_all,
        set_rng_state=function("set_rng_state", refuse, f"Raise: there is no {label} device."), stream=stream, StreamContext=StreamContext,
        default_generators=(), OutOfMemoryError=OutOfMemoryError, AcceleratorError=AcceleratorError, caching_allocator_disabled=caching_allocator_disabled,
    )  # fmt: skip
