"""Schedules that go up and down: cycles, one cycle, and a cosine with restarts."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, _enable_get_lr_call, assign, check_optimizer, copied, for_each_group


def _uses_beta1(optimizer: Optimizer) -> bool:
    """Whether the momentum that a cycle changes is ``betas[0]``."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
    return "betas" in optimizer.defaults


def _set_momentum(group: dict[str, Any], value: Any, use_beta1: bool) -> None:
    if use_beta1:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


class CyclicLR(LRScheduler):
    """The rate goes between two bounds, up in ``step_size_up`` steps and down in ``step_size_down``, again and again.

    ``mode`` says how cycles shrink: ``"triangular"`` not at all, ``"triangular2"`` by half each, ``"exp_range"`` by ``gamma`` each
    step. Momentum, if it is cycled, goes the other way.
    """

    def __init__(
        self, optimizer: Optimizer, base_lr: Any, max_lr: Any, step_size_up: int = 2000, step_size_down: int | None = None,
        mode: str = "triangular", gamma: float = 1.0, scale_fn: Callable[[float], float] | None = None, scale_mode: str = "cycle",
        cycle_momentum: bool = True, base_momentum: Any = 0.8, max_momentum: Any = 0.9, last_epoch: int = -1,
    ) -> None:  # fmt: skip
        check_optimizer(optimizer)
        for lr, group in zip(for_each_group("base_lr", base_lr, optimizer), optimizer.param_groups):
            if last_epoch == -1:
                assign(group, "lr", lr)
        self.max_lrs = for_each_group("max_lr", max_lr, optimizer)
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None or mode != "exp_range" else "iterations"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _uses_beta1(optimizer)
            self.base_momentums = for_each_group("base_momentum", base_momentum, optimizer)
            self.max_momentums = for_each_group("max_momentum", max_momentum, optimizer)
            if last_epoch == -1:
                for low, high, group in zip(self.base_momentums, self.max_momentums, optimizer.param_groups):
                    _set_momentum(group, copied(high), self.use_beta1)
                    group["max_momentum"] = high
                    group["base_momentum"] = low
        super().__init__(optimizer, last_epoch)
        self.base_lrs = for_each_group("base_lr", base_lr, optimizer)

    def scale_fn(self, x: float) -> float:
        """How large a cycle is: by its number, or by that of the step, as ``scale_mode`` says."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return 1 / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma**x

    def get_lr(self) -> list[Any]:
        """The rates for ``last_epoch``; sets the momentum too."""
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        done = 1.0 + self.last_epoch / self.total_size - cycle
        height = done / self.step_ratio if done <= self.step_ratio else (done - 1) / (self.step_ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for low, high, group in zip(self.base_momentums, self.max_momentums, self.optimizer.param_groups):
                _set_momentum(group, high - (high - low) * height, self.use_beta1)
        return [low + (high - low) * height for low, high in zip(self.base_lrs, self.max_lrs)]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer; of a scale function of the user's, only the fields of one that is an object."""
        state = super().state_dict()
        function = state.pop("_scale_fn_custom")
        plain = function is None or isinstance(function, types.FunctionType)
        state["_scale_fn_custom"] = None if plain else function.__dict__.copy()
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a ``state_dict``; the scale function stays."""
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "_scale_fn_custom"})
        fields = state_dict.get("_scale_fn_custom")
        if fields is not None:
            self._scale_fn_custom.__dict__.update(fields)


class CosineAnnealingWarmRestarts(LRScheduler):
    """The rate falls to ``eta_min`` on a cosine and starts again: after ``T_0`` epochs, then after ``T_mult`` times as many."""

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates for ``T_cur`` epochs after the last restart."""
        self._warn_outside_step()
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go on by one epoch, or to an epoch that may be a fraction: ``step(epoch + batch / batches)``."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            if epoch < self.T_0:
                self.T_i, self.T_cur = self.T_0, epoch
            elif self.T_mult == 1:
                self.T_i, self.T_cur = self.T_0, epoch % self.T_0
            else:
                restarts = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
                self.T_cur = epoch - self.T_0 * (self.T_mult**restarts - 1) / (self.T_mult - 1)
                self.T_i = self.T_0 * self.T_mult**restarts
        self.last_epoch = math.floor(epoch)
        with _enable_get_lr_call(self):
            rates = self.get_lr()
        self._set_rates(rates)


class OneCycleLR(LRScheduler):
    """One cycle over the whole training: the rate goes up to ``max_lr``, down, and on down to almost nothing.

    ``step`` is called after every batch; momentum goes the other way.
    """

    def __init__(
        self, optimizer: Optimizer, max_lr: Any, total_steps: int | None = None, epochs: int | None = None,
        steps_per_epoch: int | None = None, pct_start: float = 0.3, anneal_strategy: str = "cos", cycle_momentum: bool = True,
        base_momentum: Any = 0.85, max_momentum: Any = 0.95, div_factor: float = 25.0, final_div_factor: float = 1e4,
        three_phase: bool = False, last_epoch: int = -1,
    ) -> None:  # fmt: skip
        check_optimizer(optimizer)
        if total_steps is not None:
            _check_positive("total_steps", total_steps)
            self.total_steps = total_steps
        elif epochs is not None and steps_per_epoch is not None:
            _check_positive("epochs", epochs)
            _check_positive("steps_per_epoch", steps_per_epoch)
            self.total_steps = epochs * steps_per_epoch
        else:
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        peak = float(pct_start * self.total_steps) - 1
        last = self.total_steps - 1
        if three_phase:
            turns = [(peak, "max_lr", "base_momentum"), (2 * peak, "initial_lr", "max_momentum"), (last, "min_lr", "max_momentum")]
        else:
            turns = [(peak, "max_lr", "base_momentum"), (last, "min_lr", "max_momentum")]
        self._schedule_phases: list[dict[str, Any]] = []
        lr, momentum = "initial_lr", "max_momentum"
        for end, next_lr, next_momentum in turns:
            self._schedule_phases.append({
                "end_step": end, "start_lr": lr, "end_lr": next_lr, "start_momentum": momentum, "end_momentum": next_momentum,
            })  # fmt: skip
            lr, momentum = next_lr, next_momentum
        self._anneal_func_type = anneal_strategy
        if last_epoch == -1:
            for largest, group in zip(for_each_group("max_lr", max_lr, optimizer), optimizer.param_groups):
                group["initial_lr"] = largest / div_factor
                group["max_lr"] = largest
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _uses_beta1(optimizer)
            if last_epoch == -1:
                lows = for_each_group("base_momentum", base_momentum, optimizer)
                highs = for_each_group("max_momentum", max_momentum, optimizer)
                for low, high, group in zip(lows, highs, optimizer.param_groups):
                    _set_momentum(group, copied(high), self.use_beta1)
                    group["max_momentum"] = high
                    group["base_momentum"] = low
        super().__init__(optimizer, last_epoch)

    def _anneal(self, start: Any, end: Any, done: float) -> Any:
        if self._anneal_func_type == "linear":
            return (end - start) * done + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * done) + 1)

    def get_lr(self) -> list[Any]:
        """The rates for step number ``last_epoch``; sets the momentum too."""
        self._warn_outside_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        start = 0.0
        for phase in self._schedule_phases:
            if step <= phase["end_step"]:
                break
            if phase is not self._schedule_phases[-1]:
                start = phase["end_step"]
        done = (step - start) / (phase["end_step"] - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._anneal(group[phase["start_lr"]], group[phase["end_lr"]], done))
            if self.cycle_momentum:
                momentum = self._anneal(group[phase["start_momentum"]], group[phase["end_momentum"]], done)
                _set_momentum(group, momentum, self.use_beta1)
        return rates


def _check_positive(name: str, value: Any) -> None:
    if value <= 0 or not isinstance(value, int):
        raise ValueError(f"Expected positive integer {name}, but got {value}")
