"""Averages of a model's weights over training."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

from ..autograd import no_grad
from ..nn.modules.batchnorm import _BatchNorm
from ..nn.modules.module import Module
from ..tensor.construct import tensor
from .lr_scheduler.base import LRScheduler, check_optimizer, for_each_group
from .optimizer import Optimizer


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Any]:
    """An exponential moving average, for ``avg_fn``."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Any, current_param: Any, num_averaged: Any) -> Any:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable[..., Any]:
    """The mean of all, for ``avg_fn``."""

    @no_grad()
    def swa_update(averaged_param: Any, current_param: Any, num_averaged: Any) -> Any:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def _for_all(average: Callable[..., Any]) -> Callable[..., Any]:
    """An ``avg_fn`` on lists of tensors, which it updates in place."""

    @no_grad()
    def update(averaged_params: Iterable[Any], current_params: Iterable[Any], num_averaged: Any) -> None:
        for averaged, current in zip(averaged_params, current_params):
            averaged.copy_(average(averaged, current, num_averaged))

    return update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., Any]:
    """An exponential moving average of all parameters at once, for ``multi_avg_fn``."""
    return _for_all(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> Callable[..., Any]:
    """The mean of all parameters at once, for ``multi_avg_fn``."""
    return _for_all(get_swa_avg_fn())


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of what the model's were at each ``update_parameters``.

    ``avg_fn(averaged, current, count)`` returns a new average; ``multi_avg_fn`` updates a list of them in place. Without either
    the average is the mean. ``use_buffers=True`` averages buffers too; otherwise they are copied.
    """

    n_averaged: Any

    def __init__(
        self, model: Any, device: Any = None, avg_fn: Callable[..., Any] | None = None,
        multi_avg_fn: Callable[..., Any] | None = None, use_buffers: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model computes."""
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model: Any) -> None:
        """Take the model's present parameters into the average."""
        own, current = self._averaged_of(self.module), self._averaged_of(model)
        if self.n_averaged == 0:
            for average, value in zip(own, current):
                average.copy_(value)
        else:
            update = self.multi_avg_fn or _for_all(self.avg_fn or get_swa_avg_fn())
            update(own, [each.to(average.device) for average, each in zip(own, current)], self.n_averaged)
        if not self.use_buffers:
            for buffer, value in zip(self.module.buffers(), model.buffers()):
                buffer.copy_(value)
        self.n_averaged += 1

    def _averaged_of(self, model: Any) -> list[Any]:
        found = chain(model.parameters(), model.buffers()) if self.use_buffers else model.parameters()
        return [each.detach() for each in found]


@no_grad()
def update_bn(loader: Iterable[Any], model: Any, device: Any = None) -> None:
    """Recompute the statistics of all batch norms by running the model on all batches of a loader."""
    momenta = {}
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    training = model.training
    model.train()
    for module in momenta:
        module.momentum = None  # a plain mean over all batches
    for batch in loader:
        inputs = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(inputs if device is None else inputs.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(training)


class SWALR(LRScheduler):
    """The rate goes to ``swa_lr`` in ``anneal_epochs`` epochs, on a cosine or a straight line, and stays there."""

    def __init__(
        self, optimizer: Optimizer, swa_lr: Any, anneal_epochs: int = 10, anneal_strategy: str = "cos", last_epoch: int = -1
    ) -> None:
        check_optimizer(optimizer)
        for lr, group in zip(for_each_group("swa_lr", swa_lr, optimizer), optimizer.param_groups):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, epoch: float) -> float:
        """How much of ``swa_lr`` is in the rate of an epoch."""
        done = max(0.0, min(1.0, epoch / max(1, self.anneal_epochs)))
        return done if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * done)) / 2

    def get_lr(self) -> list[Any]:
        """The rates for this step, found from the present ones."""
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            lr, goal = group["lr"], group["swa_lr"]
            start = goal if before == 1 else (lr - before * goal) / (1 - before)
            rates.append(goal * now + start * (1 - now))
        return rates


__all__ = [
    "AveragedModel", "SWALR", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn", "update_bn",
]  # fmt: skip
