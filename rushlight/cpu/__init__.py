"""The CPU, under the names that other devices have."""

from __future__ import annotations

import os
import platform
from typing import Any

from .. import streams
from ..core.missing import missing
from ..streams import StreamContext
from . import amp

__all__ = ["Event", "Stream", "StreamContext", "amp", "current_device", "current_stream", "device_count", "get_capabilities", "is_available",
           "is_initialized", "set_device", "stream", "synchronize"]  # fmt: skip


class Stream(streams.Stream):
    """The stream of the CPU."""


class Event(streams.Event):
    """A moment on the stream of the CPU."""


def is_available() -> bool:
    """True."""
    return True


def is_initialized() -> bool:
    """True."""
    return True


def device_count() -> int:
    """1."""
    return 1


def current_device() -> str:
    """``"cpu"``."""
    return "cpu"


def set_device(device: Any) -> None:
    """Accepted: there is one CPU."""


def synchronize(device: Any = None) -> None:
    """Accepted: there is nothing to wait for."""


def current_stream(device: Any = None) -> Stream:
    """The stream of the CPU."""
    return Stream()


def stream(stream: Any) -> StreamContext:
    """A context in which work goes to a stream: there is one."""
    return StreamContext(stream)


_EXTENSIONS = {  # by PyTorch's name: Linux's, where it is another
    "avx_ne_convert": "", "avx_vnni": "", "avx_vnni_int16": "", "avx_vnni_int8": "", "amx_bf16": "", "amx_fp16": "", "amx_int8": "", "amx_tile": "",
    "avx": "", "avx2": "", "avx512_4fmaps": "", "avx512_4vnniw": "", "avx512_bf16": "", "avx512_bitalg": "", "avx512_bw": "avx512bw",
    "avx512_cd": "avx512cd", "avx512_dq": "avx512dq", "avx512_f": "avx512f", "avx512_fp16": "", "avx512_ifma": "avx512ifma",
    "avx512_vbmi": "avx512vbmi", "avx512_vbmi2": "", "avx512_vl": "avx512vl", "avx512_vnni": "", "avx512_vp2intersect": "", "avx512_vpopcntdq": "",
    "aes": "", "bmi": "bmi1", "bmi2": "", "clflush": "", "clflushopt": "", "clwb": "", "f16c": "", "fma3": "fma", "fma4": "", "lzcnt": "abm",
    "popcnt": "", "sha": "sha_ni", "sse": "", "sse2": "", "sse3": "pni", "sse4_1": "", "sse4_2": "", "sse4a": "", "ssse3": "",
}  # fmt: skip
_ON_ARM = {
    "neon": "asimd",
    "neon_dot": "asimddp",
    "fp16_arith": "fphp",
    "bf16": "",
    "i8mm": "",
    "sve": "",
    "sve2": "",
    "sve_bf16": "svebf16",
}


def get_capabilities() -> dict[str, Any]:
    """What is known of the processor: its architecture and cores, and on Linux its name and which instruction sets it has."""
    machine = platform.machine()
    arm = machine in ("arm64", "aarch64")
    found: dict[str, Any] = {"architecture": machine, "num_logical_cores": os.cpu_count()}
    lines: dict[str, str] = {}
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                name, _, value = line.partition(":")
                lines.setdefault(name.strip(), value.strip())
    except OSError:  # not Linux: the instruction sets are not known, and not listed
        return found
    if "model name" in lines:
        found["cpu_name"] = lines["model name"]
    flags = set(lines.get("flags", lines.get("Features", "")).split())
    found.update({name: (theirs or name) in flags for name, theirs in (_ON_ARM if arm else _EXTENSIONS).items()})
    return found


__getattr__ = missing(__name__)
