"""`torch.utils.data._utils.pin_memory`: batches in page-locked memory."""

from __future__ import annotations

import queue
import threading
from typing import Any

from ...core.devices import accelerator
from ...utils.data.pinning import pinned
from ..utils_internal import ExceptionWrapper

_WAIT_SECONDS = 5.0


def pin_memory(data: Any, device: Any = None) -> Any:
    """The data with their tensors pinned."""
    return pinned(data)


def _pin_memory_loop(in_queue: Any, out_queue: queue.Queue[Any], device_id: Any, done_event: threading.Event, device: Any = None) -> None:
    """The life of a thread that pins the batches of a queue, until the event is set."""
    pins = accelerator() is not None
    while not done_event.is_set():
        try:
            number, data = in_queue.get(timeout=_WAIT_SECONDS)
        except queue.Empty:
            continue
        if pins and not isinstance(data, ExceptionWrapper):
            try:
                data = pinned(data)
            except Exception:
                data = ExceptionWrapper(where=f"in pin memory thread for device {device_id}")
        while not done_event.is_set():
            try:
                out_queue.put((number, data), timeout=_WAIT_SECONDS)
                break
            except queue.Full:
                continue
