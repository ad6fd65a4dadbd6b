"""``torch.profiler``: which ops ran, how long, inside which others; recorded by a schedule over the steps of a training loop.

What comes in: a program that runs inside of ``profile``.  What goes out: events, tables, Chrome traces.  The recording is in
:mod:`rushlight.autograd.profiler`, tables and traces in :mod:`rushlight.autograd.profiler_util`; read ``profiler.py`` for the schedule.

>>> import rushlight as torch
>>> with torch.profiler.profile() as prof:
...     with torch.profiler.record_function("mine"):
...         y = torch.ones(3).exp()
>>> [event.name for event in prof.events()]
['mine', 'aten::ones', 'aten::exp']
"""

from __future__ import annotations

from ..autograd.profiler import KinetoStepTracker, record_function
from ..autograd.profiler_util import DeviceType
from ..core.missing import missing
from .profiler import (
    ExecutionTraceObserver,
    ProfilerAction,
    ProfilerActivity,
    _KinetoProfile,
    kineto_available,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

__getattr__ = missing(__name__, lazy=("itt", "profiler"))

__all__ = [
    "DeviceType",
    "ExecutionTraceObserver",
    "KinetoStepTracker",
    "ProfilerAction",
    "ProfilerActivity",
    "_KinetoProfile",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]
