"""Stages of a model in several processes."""

from __future__ import annotations

from ...core.missing import absents

absents(
    globals(),
    "it spreads work over several processes, and there is one",
    classes="ScheduleGPipe Schedule1F1B ScheduleInterleaved1F1B ScheduleLoopedBFS PipelineStage Pipe SplitPoint pipe_split",
    functions="pipeline build_stage",
)
