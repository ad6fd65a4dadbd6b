"""Faults that kernels report: an index out of range is written to pinned host memory, and the next launch raises the error.

Nothing synchronizes, and the context is not lost.  With ``CUDA_LAUNCH_BLOCKING=1`` the error comes from the call itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.errors import DimensionError

_texts: list[str] = [""]
_numbers: dict[str, int] = {}
found: Any = None  # one int in pinned host memory, which kernels write to


def watched(cupy: Any, text: str) -> tuple[int, int]:
    """The fault code that a kernel writes for an error text, and the address that it writes to."""
    global found
    if found is None:
        memory = cupy.cuda.alloc_pinned_memory(64)
        found = np.frombuffer(memory, np.int32, 1)
        found[0] = 0
    number = _numbers.get(text)
    if number is None:
        number = _numbers[text] = len(_texts)
        _texts.append(text)
    return number, address()


def address() -> int:
    """The address of the fault word; 0 before any kernel uses it."""
    return 0 if found is None else int(found.__array_interface__["data"][0])


def raise_found() -> None:
    """Raise the fault that a kernel has reported since the last call, if any."""
    if found is not None and found[0]:
        text, found[0] = _texts[int(found[0])], 0
        raise DimensionError(f"{text} (found by a kernel that was launched before this call; CUDA_LAUNCH_BLOCKING=1 makes the line exact)")
