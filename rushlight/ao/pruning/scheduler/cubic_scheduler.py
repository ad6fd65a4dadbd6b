"""Sparsity that rises as a cubic polynomial."""

from __future__ import annotations

from typing import Any

from .base_scheduler import BaseScheduler

__all__ = ["CubicSL"]


class CubicSL(BaseScheduler):
    """Raises the level from ``init_sl`` to that of the group, fast at first, over ``total_t`` prunings ``delta_t`` steps apart."""

    def __init__(
        self, sparsifier: Any, init_sl: Any = 0.0, init_t: Any = 0, delta_t: Any = 10, total_t: Any = 100, initially_zero: Any = False, last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:  # fmt: skip
        self.sparsifier = sparsifier
        self.init_sl, self.init_t, self.delta_t = (self._make_sure_a_list(each) for each in (init_sl, init_t, delta_t))
        self.total_t, self.initially_zero = self._make_sure_a_list(total_t), self._make_sure_a_list(initially_zero)
        super().__init__(sparsifier, last_epoch, verbose)

    @staticmethod
    def sparsity_compute_fn(s_0: float, s_f: float, t: int, t_0: int, dt: int, n: int, initially_zero: bool = False) -> float:
        """The level at the step ``t``, between ``s_0`` and ``s_f``."""
        if initially_zero and t < t_0:
            return 0
        level = s_f + (s_0 - s_f) * (1.0 - (t - t_0) / (dt * n)) ** 3
        return max(s_0, min(s_f, level))

    def get_sl(self) -> list[float]:
        """The levels of the present step."""
        self._warn_outside_of_step()
        settings = zip(self.init_sl, self.base_sl, self.init_t, self.delta_t, self.total_t, self.initially_zero)
        return [
            self.sparsity_compute_fn(low, high, self.last_epoch, first, every, count, zero)
            for low, high, first, every, count, zero in settings
        ]
