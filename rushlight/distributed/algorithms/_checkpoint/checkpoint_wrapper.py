"""Modules whose activations are recomputed in the backward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum, auto
from functools import partial
from typing import Any

from ....autograd.graph import save_on_cpu
from ....nn.modules.module import Module
from ....utils.checkpoint import checkpoint
from ...fsdp.wrap import chosen_by

__all__ = ["ActivationWrapper", "CheckpointImpl", "CheckpointWrapper", "OffloadWrapper", "apply_activation_checkpointing", "checkpoint_wrapper",
           "offload_wrapper"]  # fmt: skip

_PREFIX = "_checkpoint_wrapped_module"


class CheckpointImpl(Enum):
    """Which of the two ways to recompute activations is used."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


class ActivationWrapper(Module):
    """A module around another one, whose name does not appear in names of parameters."""

    def __init__(self, mod: Any) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self.register_state_dict_post_hook(self._remove_prefix)
        self.register_load_state_dict_pre_hook(self._add_prefix)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._checkpoint_wrapped_module, name)

    def __getitem__(self, key: int) -> Any:
        return self._checkpoint_wrapped_module[key]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """Parameters by their names without the wrapper."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(f"{_PREFIX}.", ""), parameter

    @staticmethod
    def _remove_prefix(module: Any, state: dict[str, Any], prefix: str, metadata: Any) -> None:
        for key in [each for each in state if each.startswith(f"{prefix}{_PREFIX}.")]:
            state[prefix + key.removeprefix(f"{prefix}{_PREFIX}.")] = state.pop(key)

    @staticmethod
    def _add_prefix(module: Any, state: dict[str, Any], prefix: str, *args: Any) -> None:
        for key in [each for each in state if each.startswith(prefix) and not each.startswith(f"{prefix}{_PREFIX}.")]:
            state[f"{prefix}{_PREFIX}.{key.removeprefix(prefix)}"] = state.pop(key)


class OffloadWrapper(ActivationWrapper):
    """A module whose activations are kept in the memory of the CPU."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's result."""
        with save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """A module whose activations are computed again in the backward pass."""

    def __init__(
        self, mod: Any, checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT, checkpoint_fn: Any = None, **options: Any
    ) -> None:
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        again = checkpoint_impl is CheckpointImpl.REENTRANT
        self.checkpoint_fn = (
            partial(checkpoint, use_reentrant=again, **options) if checkpoint_fn is None else partial(checkpoint_fn, **options)
        )

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's result."""
        if kwargs and self.checkpoint_impl is CheckpointImpl.REENTRANT:
            return self.checkpoint_fn(lambda *given: self._checkpoint_wrapped_module(*given, **kwargs), *args)
        return self.checkpoint_fn(self._checkpoint_wrapped_module, *args, **kwargs)


def offload_wrapper(module: Any) -> Any:
    """A module whose activations are kept in the memory of the CPU."""
    return OffloadWrapper(module)


def checkpoint_wrapper(
    module: Any, checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT, checkpoint_fn: Any = None, **options: Any
) -> Any:
    """A module whose activations are computed again in the backward pass."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **options)


def apply_activation_checkpointing(
    model: Any, checkpoint_wrapper_fn: Callable[[Any], Any] = checkpoint_wrapper, check_fn: Callable[[Any], bool] = lambda _: True,
    auto_wrap_policy: Any = None,
) -> None:  # fmt: skip
    """Put a wrapper around every submodule for which a function returns True, or that a policy chooses."""
    chosen = None if auto_wrap_policy is None else {child for _, _, child, _ in chosen_by(auto_wrap_policy, model)}

    def visit(module: Any) -> None:
        for name, child in list(module.named_children()):
            visit(child)
            if check_fn(child) if chosen is None else child in chosen:
                setattr(module, name, checkpoint_wrapper_fn(child))

    visit(model)
