"""`torch._C._profiler`: kinds of events, and settings that nothing here reads."""

from __future__ import annotations

from enum import Enum
from typing import Any

from ...core.missing import absent, missing

__getattr__ = missing("rushlight._C._profiler")
_EventType = Enum("_EventType", "TorchOp Backend Allocation OutOfMemory PyCall PyCCall Kineto")  # type: ignore[misc]
_WHY = "events are recorded in Python, as functions of profiler.events()"
_ProfilerEvent = absent("_ProfilerEvent", "rushlight._C._profiler", _WHY)
_TensorMetadata = absent("_TensorMetadata", "rushlight._C._profiler", _WHY)


class _ExperimentalConfig:
    """Settings of PyTorch's tracer of GPUs: kept, and without effect."""

    def __init__(self, **settings: Any) -> None:
        self.__dict__.update(settings)
