"""Stages of a model in several processes: ``PipelineStage``, and the schedules of its microbatches.

In: the parts of a model, one or several for each process, or a model that ``pipeline`` takes apart.  Out: the losses and gradients of the whole model.  Read ``stage.py`` first.
"""

from __future__ import annotations

from ...core.missing import absents
from .pipe import Pipe, SplitPoint, build_stage, pipe_split, pipeline
from .schedules import Schedule1F1B, ScheduleGPipe, ScheduleInterleaved1F1B, ScheduleLoopedBFS
from .stage import PipelineStage

absents(
    globals(),
    "run a PipelineStage by ScheduleGPipe, Schedule1F1B, ScheduleInterleaved1F1B or ScheduleLoopedBFS",
    classes="ScheduleInterleavedZeroBubble ScheduleZBVZeroBubble ScheduleDualPipeV",
)
