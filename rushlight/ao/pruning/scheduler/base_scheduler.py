"""What schedulers of sparsity have in common."""

from __future__ import annotations

import functools
import warnings
import weakref
from typing import Any

from ..sparsifier.base_sparsifier import BaseSparsifier

__all__ = ["BaseScheduler"]


class BaseScheduler:
    """Sets the ``sparsity_level`` of a sparsifier's groups at each step; a subclass computes the levels in ``get_sl``."""

    def __init__(self, sparsifier: Any, last_epoch: int = -1, verbose: bool = False) -> None:
        self.sparsifier: Any = sparsifier
        if not isinstance(sparsifier, BaseSparsifier):
            raise TypeError(f"{type(sparsifier).__name__} is not an instance of torch.ao.pruning.BaseSparsifier")
        self.base_sl = [group["sparsity_level"] for group in sparsifier.groups]
        self.last_epoch = last_epoch
        _count_steps(self.sparsifier)
        self._step_count = 0
        self.verbose = verbose
        self._get_sl_called_within_step = False
        self.step()

    def state_dict(self) -> dict[str, Any]:
        """All of its variables but the sparsifier."""
        return {key: value for key, value in self.__dict__.items() if key != "sparsifier"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the variables of another scheduler."""
        self.__dict__.update(state_dict)

    def get_last_sl(self) -> list[float]:
        """The levels that the last step has set."""
        return self._last_sl

    def get_sl(self) -> list[float]:
        """The levels of the present step, computed by a subclass."""
        self._warn_outside_of_step()
        raise NotImplementedError

    def _warn_outside_of_step(self) -> None:
        if not self._get_sl_called_within_step:
            warnings.warn("To get the last sparsity level computed by the scheduler, please use `get_last_sl()`.", stacklevel=3)

    def print_sl(self, is_verbose: bool, group: Any, sl: float, epoch: int | None = None) -> None:
        """Print the level of a group."""
        if is_verbose:
            print(
                f"Adjusting sparsity level of group {group} to {sl:.4e}."
                if epoch is None
                else f"Epoch {epoch:5d}: adjusting sparsity level of group {group} to {sl:.4e}."
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__} (\nSparsifier {self.sparsifier}\n    base_sl: {self.base_sl}\n)"

    def step(self, epoch: int | None = None) -> None:
        """Set the levels of the next step; the sparsifier's step comes before it."""
        if self._step_count == 1:
            if not hasattr(self.sparsifier.step, "_with_counter"):
                warnings.warn(
                    "Seems like `sparsifier.step()` has been overridden after sparsity scheduler initialization. Please, make sure to call "
                    "`sparsifier.step()` before `scheduler.step()`.",
                    UserWarning,
                    stacklevel=2,
                )
            elif self.sparsifier._step_count < 1:
                warnings.warn(
                    "Detected call of `scheduler.step()` before `sparsifier.step()`. You have to make sure you run the sparsifier.step() BEFORE any "
                    "calls to the scheduler.step().",
                    UserWarning,
                    stacklevel=2,
                )
        self._step_count += 1
        self._get_sl_called_within_step = True
        try:
            self.last_epoch += 1
            levels = self.get_sl()
        finally:
            self._get_sl_called_within_step = False
        for number, (group, level) in enumerate(zip(self.sparsifier.groups, levels)):
            group["sparsity_level"] = level
            self.print_sl(self.verbose, number, level, epoch)
        self._last_sl = [group["sparsity_level"] for group in self.sparsifier.groups]
        self.sparsifier.enable_mask_update = True

    def _make_sure_a_list(self, var: Any) -> list[Any]:
        count = len(self.sparsifier.groups)
        if not isinstance(var, (list, tuple)):
            return [var] * count
        if len(var) != count:
            raise ValueError(f"Expected variable of length {count}, but got {len(var)}")
        return list(var)


def _count_steps(sparsifier: Any) -> None:
    """Have a sparsifier count its steps, from zero; what counts holds the sparsifier weakly."""
    sparsifier._step_count = 0
    if getattr(sparsifier.step, "_with_counter", False):
        return
    reference, function = weakref.ref(sparsifier), type(sparsifier).step

    @functools.wraps(function)
    def step(*args: Any, **kwargs: Any) -> Any:
        owner = reference()
        assert owner is not None
        owner._step_count += 1
        return function(owner, *args, **kwargs)

    step._with_counter = True  # type: ignore[attr-defined]
    sparsifier.step = step
