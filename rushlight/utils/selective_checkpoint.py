"""Selective checkpointing: which results a checkpointed function keeps, and the states of devices around it.

A policy is asked about every operator that the function runs: what it wants kept is kept in the forward pass, and handed out in the recomputation
in place of a second run.  What is kept and what is computed again changes memory and time, and no result.
"""

from __future__ import annotations

import contextlib
import enum
import threading
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from ..core.base import TensorBase
from ..core.overrides import pop_dispatch_mode, push_dispatch_mode
from ..core.state import state
from ..ops.overloads import find_overload
from . import trees

__all__ = ["CheckpointPolicy", "DefaultDeviceType", "GraphExecGroup", "SelectiveCheckpointContext", "check_backward_validity", "current_group",
           "create_selective_checkpoint_contexts", "get_device_states", "noop_context_fn", "set_checkpoint_debug_enabled", "set_device_states"]  # fmt: skip


class CheckpointPolicy(enum.Enum):
    """What is to become of an op's result."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


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
    """A context of backward passes that use one recomputation between them; none of them may need what another has used."""

    def __enter__(self) -> GraphExecGroup:
        if current_group() is not None:
            raise RuntimeError("GraphExecGroup contexts cannot be nested.")
        _group.current = self
        return self

    def __exit__(self, *exception: Any) -> None:
        _group.current = None


_group = threading.local()


def current_group() -> GraphExecGroup | None:
    """The group that backward passes of this thread belong to, or None."""
    return getattr(_group, "current", None)


def noop_context_fn() -> tuple[Any, Any]:
    """Contexts of the forward pass and of the recomputation that change nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


_AGAIN: Any = object()  # in place of a result that is not kept
_SAVED = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
SAC_IGNORED_OPS: set[Any] = set()  # operators that no policy is asked about; libraries add to it


class _Kept:
    """A result that was kept, and the version that it had."""

    def __init__(self, value: Any, is_view: bool) -> None:
        self.value = value
        if isinstance(value, TensorBase):
            self.value = value if is_view and not value.requires_grad else value.detach()  # type: ignore[attr-defined]
            self.version = value._version  # type: ignore[attr-defined]

    def given(self, allow_mutation: bool) -> Any:
        """The result; refused where it was written to since."""
        if isinstance(self.value, TensorBase) and not allow_mutation and self.value._version != self.version:  # type: ignore[attr-defined]
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return self.value


def _policy_of(policy: Callable[..., Any], func: Any, args: Any, kwargs: Any) -> CheckpointPolicy:
    found = policy(SelectiveCheckpointContext(is_recompute=False), func, *args, **kwargs)
    if isinstance(found, bool):
        return CheckpointPolicy.MUST_SAVE if found else CheckpointPolicy.PREFER_RECOMPUTE
    return found  # type: ignore[no-any-return]


class _Mode:
    """A context that sees the operators of a checkpointed function."""

    def __init__(self, policy: Callable[..., Any], kept: dict[Any, list[Any]], allow_mutation: bool) -> None:
        self.policy, self.kept, self.allow_mutation = policy, kept, allow_mutation

    def __enter__(self) -> _Mode:
        push_dispatch_mode(self)
        return self

    def __exit__(self, *exception: Any) -> None:
        pop_dispatch_mode()


class _Keeping(_Mode):
    """The forward pass: results are kept as the policy says."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in SAC_IGNORED_OPS:
            return func(*args, **kwargs)
        policy = _policy_of(self.policy, func, args, kwargs)
        out = func(*args, **kwargs)
        schema = getattr(func, "_schema", None)
        is_view = schema is not None and any(each.alias_info is not None for each in schema.returns)
        self.kept[func].append(trees.transform(lambda each: _Kept(each, is_view), out) if policy in _SAVED else _AGAIN)
        return out


class _Giving(_Mode):
    """The recomputation: what was kept is not computed again."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in SAC_IGNORED_OPS:
            return func(*args, **kwargs)
        if func not in self.kept:
            raise RuntimeError(f"{func} encountered during backward, but not found in storage")
        if not self.kept[func]:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under selective activation checkpoint."
            )
        kept = self.kept[func].pop(0)
        return func(*args, **kwargs) if kept is _AGAIN else trees.transform(lambda each: each.given(self.allow_mutation), kept)


def create_selective_checkpoint_contexts(policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False) -> tuple[Any, Any]:
    """Contexts for ``checkpoint(context_fn=...)``: of the forward pass, and of the recomputation.

    A policy is called with a context, the operator and its arguments, and gives a :class:`CheckpointPolicy` or a bool; a list names the
    operators (such as ``torch.ops.aten.mm.default``) whose results are kept.
    """
    if isinstance(policy_fn_or_list, list):
        for each in policy_fn_or_list:
            if not hasattr(each, "_schema"):
                raise ValueError(
                    f"Expected op in `op_list` to be an OpOverload but got: {each} of type {type(each)}."
                    + (
                        " Please update the OpOverloadPacket to a specific OpOverload. For example, if you have `torch.ops.aten.mm`, change it to `torch.ops.aten.mm.default`."
                        if hasattr(each, "overloads")
                        else ""
                    )
                )
        listed = list(policy_fn_or_list)

        def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
            return CheckpointPolicy.MUST_SAVE if op in listed else CheckpointPolicy.PREFER_RECOMPUTE

    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    if state.capture is not None:
        return noop_context_fn()  # a compiled program decides for itself what it keeps
    SAC_IGNORED_OPS.add(find_overload("aten", "detach", "default"))  # what a checkpoint itself calls
    kept: dict[Any, list[Any]] = defaultdict(list)
    return _Keeping(policy, kept, allow_cache_entry_mutation), _Giving(policy, kept, allow_cache_entry_mutation)


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
