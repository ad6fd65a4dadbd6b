"""Selective checkpointing: which results a checkpointed function keeps, and the states of devices around it.

What is kept and what is computed again changes memory and time, and no result.  Here all of it is computed again: a policy is asked by nobody.
"""

from __future__ import annotations

import contextlib
import enum
import warnings
from collections.abc import Iterator
from typing import Any

from ..core.base import TensorBase

__all__ = ["CheckpointPolicy", "DefaultDeviceType", "GraphExecGroup", "SelectiveCheckpointContext", "check_backward_validity",
           "create_selective_checkpoint_contexts", "get_device_states", "noop_context_fn", "set_checkpoint_debug_enabled", "set_device_states"]  # fmt: skip


class CheckpointPolicy(enum.Enum):
    """What is to become of an op's result."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4


class SelectiveCheckpointContext:
    """What a policy learns of a call."""

    def __init__(self, *, is_recompute: bool) -> None:
        self.is_recompute = is_recompute


class DefaultDeviceType:
    """The kind of device whose random state a checkpoint keeps, where its inputs are on none."""

    _kind = "cuda"

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Set it."""
        DefaultDeviceType._kind = device

    @staticmethod
    def get_device_type() -> str:
        """What was set."""
        return DefaultDeviceType._kind


class GraphExecGroup:
    """Backward passes that use one recomputation: each backward pass recomputes once here, within the context or not."""

    def __enter__(self) -> GraphExecGroup:
        return self

    def __exit__(self, *exception: Any) -> None:
        """Nothing was changed."""


def noop_context_fn() -> tuple[Any, Any]:
    """Contexts of the forward pass and of the recomputation that change nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def create_selective_checkpoint_contexts(policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False) -> tuple[Any, Any]:
    """Contexts for ``checkpoint(context_fn=...)`` by a policy or a list of ops to keep; everything is computed again, which gives the same results."""
    if not callable(policy_fn_or_list) and not isinstance(policy_fn_or_list, list):
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    return noop_context_fn()


def check_backward_validity(inputs: Any) -> None:
    """Warn where no input needs a gradient: the reentrant checkpoint then gives none."""
    if not any(isinstance(each, TensorBase) and each.requires_grad for each in inputs):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """The random states of the accelerators that tensors are on: there are none."""
    return [], []


def set_device_states(devices: Any, states: Any, *, device_type: str | None = None) -> None:
    """Set the random states of accelerators, of which there are none."""
    if list(devices):
        raise RuntimeError("there are no accelerators whose random state could be set")


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """A context that asks for more words in errors of checkpoints: they always say which tensor differs."""
    yield
