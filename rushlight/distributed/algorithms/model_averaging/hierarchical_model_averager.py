"""An averager with groups inside of groups: near processes average more often than all do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....core.process_group import default_group, world
from . import utils
from .averagers import ModelAverager, check_warmup

__all__ = ["HierarchicalModelAverager"]


class HierarchicalModelAverager(ModelAverager):
    """Averages over groups of the sizes of ``{period: size}``, each in its period; the last one holds all processes."""

    def __init__(self, period_group_size_dict: Mapping[int, int] | None = None, warmup_steps: int = 0, process_group: Any = None) -> None:
        super().__init__(process_group)
        if not period_group_size_dict:
            raise ValueError("Arg ``period_group_size_dict`` must not be empty.")
        self._periods = list(period_group_size_dict)
        if self._periods[0] <= 0:
            raise ValueError("The minimum period in arg ``period_group_size_dict`` must be a positive value.")
        if self._periods[-1] == 1:
            raise ValueError("When the maximum period in arg ``period_group_size_dict`` is 1, no need to use model averaging.")
        sizes = list(period_group_size_dict.values())
        if any(one >= other for one, other in zip(self._periods, self._periods[1:])) or any(
            one >= other for one, other in zip(sizes, sizes[1:])
        ):
            raise ValueError("Periods and group sizes in arg ``period_group_size_dict`` must be in ascending order.")
        overall = default_group() if process_group is None else process_group
        total = world.collectives.get_world_size(overall)
        if sizes[-1] != total:
            raise ValueError(
                f"The last value in arg ``period_process_group_dict`` {sizes[-1]} must be equal to the size of arg ``process_group`` {total}."
            )
        self.period_process_group_dict = {
            period: overall if size == total else world.collectives.new_subgroups(group_size=size, group=process_group)[0]
            for period, size in period_group_size_dict.items()
        }
        self.warmup_steps = check_warmup(warmup_steps)

    def _find_process_group(self) -> Any:
        """The largest group whose period it is; None where it is no group's."""
        for period in reversed(self._periods):
            if (self.step - self.warmup_steps) % period == 0:
                return self.period_process_group_dict[period]
        return None

    def average_parameters(self, params: Any) -> None:
        """Average the parameters that have a gradient over the group whose turn it is; count the step."""
        if self.step >= self.warmup_steps:
            group = self._find_process_group()
            if group is not None:
                utils.average_parameters_or_parameter_groups(params, group)
        self.step += 1
