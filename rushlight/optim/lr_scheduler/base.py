"""LRScheduler: what all schedules of learning rates share."""

from __future__ import annotations

import contextlib
import functools
import types
import warnings
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

from ...core.base import TensorBase
from ..optimizer import Optimizer

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. With an epoch the closed form of the schedule is used, where there is one."
)


def check_optimizer(optimizer: Any) -> None:
    """Schedules work on optimizers alone."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def copied(value: Any) -> Any:
    """A rate that later changes leave alone, where it is a tensor."""
    return value.detach().clone() if isinstance(value, TensorBase) else value  # type: ignore[attr-defined]


def assign(group: dict[str, Any], name: str, value: Any) -> None:
    """Set an option; one that is a tensor keeps its identity and is filled."""
    if isinstance(group[name], TensorBase):
        group[name].fill_(value.detach() if isinstance(value, TensorBase) else value)  # type: ignore[attr-defined]
    else:
        group[name] = value


def for_each_group(name: str, value: Any, optimizer: Optimizer) -> list[Any]:
    """One value for every group, from one for all or a list; tensors are copied, so that later changes leave the schedule alone."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [copied(value) for _ in range(count)]
    if len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, param_groups has {count}."
        )
    return [copied(each) for each in value]


@contextlib.contextmanager
def _enable_get_lr_call(scheduler: Any) -> Iterator[Any]:
    """Within the block ``get_lr`` is called by a step of the scheduler, and doesn't warn."""
    scheduler._get_lr_called_within_step = True
    try:
        yield scheduler
    finally:
        scheduler._get_lr_called_within_step = False


class LRScheduler:
    """Base class of schedules: a subclass defines ``get_lr``, which finds the rates for ``last_epoch``.

    A schedule of the chainable form finds the next rates from the present ones; ``_get_closed_form_lr``, where there is one,
    finds them from the number of the epoch alone.
    """

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler with last_epoch >= 0: "
                    "load the optimizer's state first, or leave last_epoch out to start from the beginning"
                )
        self.base_lrs: list[Any] = [copied(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        _watch_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a ``state_dict``; load the optimizer's as well, which holds the present rates."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The rates that the last step set, one for each group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The rates for ``last_epoch``; to be called by ``step``."""
        raise NotImplementedError(f"{type(self).__name__} defines no get_lr()")

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next rates; call it after the optimizer's step."""
        if self._step_count == 1:
            _check_order(self.optimizer)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        with _enable_get_lr_call(self):
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                rates = self._get_closed_form_lr() if hasattr(self, "_get_closed_form_lr") else self.get_lr()
        self._set_rates(rates)

    def _set_rates(self, rates: Sequence[Any]) -> None:
        for group, lr in zip(self.optimizer.param_groups, rates):
            assign(group, "lr", lr)
        self._last_lr = [copied(group["lr"]) for group in self.optimizer.param_groups]

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.", UserWarning, stacklevel=3)

    def _present(self, factor: Any = 1) -> list[Any]:
        """The groups' present rates, times a factor."""
        return [group["lr"] * factor for group in self.optimizer.param_groups]


_LRScheduler = LRScheduler


def _watch_steps(optimizer: Optimizer) -> None:
    """Let the optimizer remember that its ``step`` was called, to warn where the schedule steps first."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    function: Any = optimizer.step.__func__ if isinstance(optimizer.step, types.MethodType) else optimizer.step
    takes_self = isinstance(optimizer.step, types.MethodType)
    reference = weakref.ref(optimizer)  # the optimizer holds the wrapper: no cycle

    @functools.wraps(function)
    def step(*args: Any, **kwargs: Any) -> Any:
        owner: Any = reference()
        owner._opt_called = True
        return function(owner, *args, **kwargs) if takes_self else function(*args, **kwargs)

    step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = step  # type: ignore[method-assign]


def _check_order(optimizer: Any) -> None:
    if not hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        warnings.warn(
            "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, make sure to "
            "call `optimizer.step()` before `lr_scheduler.step()`.",
            UserWarning,
            stacklevel=3,
        )
    elif not getattr(optimizer, "_opt_called", False):
        warnings.warn(
            "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call them in the opposite "
            "order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping the first value of the "
            "learning rate schedule. See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate",
            UserWarning,
            stacklevel=3,
        )
