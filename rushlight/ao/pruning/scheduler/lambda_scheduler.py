"""Sparsity by a function of the step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .base_scheduler import BaseScheduler

__all__ = ["LambdaSL"]


class LambdaSL(BaseScheduler):
    """Sets each group's level to its own times a function of the step, one for all groups or a list with one for each."""

    def __init__(
        self, sparsifier: Any, sl_lambda: Callable[[int], float] | list[Callable[[int], float]], last_epoch: int = -1, verbose: bool = False
    ) -> None:
        count = len(sparsifier.groups)
        functions = list(sl_lambda) if isinstance(sl_lambda, (list, tuple)) else [sl_lambda] * count
        if len(functions) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(functions)}")
        self.sl_lambdas = functions
        super().__init__(sparsifier, last_epoch, verbose)

    def get_sl(self) -> list[float]:
        """The levels of the present step."""
        self._warn_outside_of_step()
        return [level * function(self.last_epoch) for function, level in zip(self.sl_lambdas, self.base_sl)]
