"""Stages of a model in several processes: ``PipelineStage``, and the schedules of its microbatches.

In: the parts of a model, one or several for each process.  Out: the losses and gradients of the whole model.  A model is taken apart by its author; splitting one
by tracing (``pipeline``, ``pipe_split``) is not here.  Read ``stage.py`` first.
"""

from __future__ import annotations

from enum import Enum

from ...core.missing import absents
from .schedules import Schedule1F1B, ScheduleGPipe, ScheduleInterleaved1F1B, ScheduleLoopedBFS
from .stage import PipelineStage


class SplitPoint(Enum):
    """Where a model is taken apart: before or after a submodule."""

    BEGINNING = 1
    END = 2


absents(
    globals(),
    "a model is taken apart by hand: give each process its part in a PipelineStage, and run it by ScheduleGPipe, Schedule1F1B, ScheduleInterleaved1F1B or ScheduleLoopedBFS",
    classes="ScheduleInterleavedZeroBubble ScheduleZBVZeroBubble ScheduleDualPipeV Pipe pipe_split",
    functions="pipeline build_stage",
)
