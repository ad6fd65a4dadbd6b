"""Communication hooks of ``DistributedDataParallel``: how a bucket of gradients is reduced.

In: a bucket.  Out: a future of its reduced gradients.  Read ``default_hooks.py`` first.
"""

from __future__ import annotations

from enum import Enum, member
from functools import partial
from typing import Any

from ....core.missing import missing
from . import debugging_hooks, default_hooks, powerSGD_hook, quantization_hooks

__getattr__ = missing(__name__, lazy=("post_localSGD_hook",))


def _register(hook: Any, model: Any, state: Any) -> None:
    model.register_comm_hook(state, hook)


def _register_power(hook: Any, rank: int, model: Any, state: Any) -> None:
    model.register_comm_hook(powerSGD_hook.PowerSGDState(state, matrix_approximation_rank=rank), hook)


class DDPCommHookType(Enum):
    """The hooks by name; each value registers its hook with a model, for a process group."""

    ALLREDUCE = member(partial(_register, default_hooks.allreduce_hook))
    FP16_COMPRESS = member(partial(_register, default_hooks.fp16_compress_hook))
    BF16_COMPRESS = member(partial(_register, default_hooks.bf16_compress_hook))
    QUANTIZE_PER_TENSOR = member(partial(_register, quantization_hooks.quantization_pertensor_hook))
    QUANTIZE_PER_CHANNEL = member(partial(_register, quantization_hooks.quantization_perchannel_hook))
    POWER_SGD = member(partial(_register_power, powerSGD_hook.powerSGD_hook, 1))
    POWER_SGD_RANK2 = member(partial(_register_power, powerSGD_hook.powerSGD_hook, 2))
    BATCHED_POWER_SGD = member(partial(_register_power, powerSGD_hook.batched_powerSGD_hook, 1))
    BATCHED_POWER_SGD_RANK2 = member(partial(_register_power, powerSGD_hook.batched_powerSGD_hook, 2))
    NOOP = member(partial(_register, debugging_hooks.noop_hook))


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    """Register a hook by its name; the state is a process group."""
    comm_hook_type.value(model=model, state=state)
