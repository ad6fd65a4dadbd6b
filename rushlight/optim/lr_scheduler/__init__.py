"""Schedules of learning rates.  Read ``base.py`` first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.missing import missing
from .base import EPOCH_DEPRECATION_WARNING, LRScheduler, _enable_get_lr_call, _LRScheduler
from .composed import ChainedScheduler, SequentialLR
from .cyclic import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from .plateau import ReduceLROnPlateau
from .simple import ConstantLR, CosineAnnealingLR, ExponentialLR, LambdaLR, LinearLR, MultiplicativeLR, MultiStepLR, PolynomialLR, StepLR

if not TYPE_CHECKING:
    __getattr__ = missing(__name__)
__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR", "LRScheduler",
    "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR",
    "StepLR",
]  # fmt: skip
