"""Stepping an optimizer on other parameters and another state than its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .optimizer import Optimizer


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, Any], swapin_optim_state: dict[str, Any]
) -> Iterator[None]:
    """For the time of a ``with`` block, let an optimizer work on the tensors of a dict and the state of a ``state_dict``.

    The tensors stand for the optimizer's parameters in their order. What a step writes to tensors in place is seen in what was
    passed; all else is forgotten at the end, and the optimizer is as it was.
    """
    if not optimizer.state:
        raise RuntimeError("swap_in_optimizer_params_and_state requires initialized optimizer state.")
    groups, saved = optimizer.param_groups, swapin_optim_state["param_groups"]
    parameters = list(swapin_parameters.values())
    if len(parameters) != sum(len(group["params"]) for group in groups):
        raise RuntimeError(
            "swap_in_optimizer_params_and_state requires the explicit parameter state to match optimizer.param_groups ordering."
        )
    if len(saved) != len(groups):
        raise RuntimeError("swapin_optim_state has a different number of parameter groups than the live optimizer.")
    numbered: dict[Any, Any] = {}
    swapped = []
    remaining = iter(parameters)
    for number, (own, group) in enumerate(zip(groups, saved)):
        if len(own["params"]) != len(group["params"]):
            raise RuntimeError(
                f"swapin_optim_state param group {number} has a different number of params than the live optimizer param group."
            )
        params = [next(remaining) for _ in own["params"]]
        numbered.update(zip(group["params"], params))
        swapped.append({"params": params, **{name: value for name, value in group.items() if name != "params"}})
    state: defaultdict[Any, Any] = defaultdict(dict)
    for key, entries in swapin_optim_state["state"].items():
        state[numbered.get(key, key)] = dict(entries) if isinstance(entries, dict) else entries
    own_state = optimizer.state
    optimizer.param_groups, optimizer.state = swapped, state
    try:
        yield
    finally:
        optimizer.param_groups, optimizer.state = groups, own_state


__all__ = ["swap_in_optimizer_params_and_state"]
