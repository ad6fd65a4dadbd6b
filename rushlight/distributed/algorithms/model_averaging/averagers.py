"""Averagers: objects that average a model over processes every so many steps."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any

from ....core.process_group import default_group
from . import utils

__all__ = ["ModelAverager", "PeriodicModelAverager"]


class ModelAverager(ABC):
    """What averages a model over a group, and counts steps."""

    def __init__(self, process_group: Any = None) -> None:
        self.process_group = process_group if process_group is not None else default_group()
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Any) -> None:
        """Average parameters, if it is time."""
        raise NotImplementedError


def check_warmup(steps: int) -> int:
    """The number of steps before averages begin."""
    if steps < 0:
        raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
    return steps


class PeriodicModelAverager(ModelAverager):
    """Averages the model every ``period`` steps, after ``warmup_steps``."""

    def __init__(self, period: int, warmup_steps: int = 0, process_group: Any = None) -> None:
        super().__init__(process_group)
        self.warmup_steps = check_warmup(warmup_steps)
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        if period == 1:
            warnings.warn(
                "When period is 1, no need to use model averaging because the communication cost of all-reducing parameters will be no less "
                "than the cost of all-reducing gradients by DistributedDataParallel in the backward pass. Therefore, only "
                "DistributedDataParallel should be used for this case.",
                stacklevel=2,
            )
        self.period = period

    def average_parameters(self, params: Any) -> None:
        """Average the parameters that have a gradient, if it is time; count the step."""
        if self.step >= self.warmup_steps and (self.step - self.warmup_steps) % self.period == 0:
            utils.average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1
