"""Averages of models over processes, for training in which gradients are not averaged in every step."""

from __future__ import annotations

from ....core.missing import missing
from . import averagers, hierarchical_model_averager, utils

__getattr__ = missing(__name__)
