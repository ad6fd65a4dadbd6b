"""`functorch.make_functional`: the old way to call a Module with parameters that are given."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from ..core.declare import exports
from ..func import functional_call
from ..nn.modules.module import Module


class FunctionalModuleWithBuffers(Module):
    """A Module without tensors of its own: parameters and buffers are given with each call."""

    def __init__(self, stateless_model: Any, param_names: Sequence[str], buffer_names: Sequence[str] = ()) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.buffer_names = tuple(param_names), tuple(buffer_names)

    @staticmethod
    def _create_from(model: Any, disable_autograd_tracking: bool = False) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
        params, buffers = dict(model.named_parameters()), dict(model.named_buffers())
        given = tuple(
            each.detach().clone().requires_grad_(each.requires_grad and not disable_autograd_tracking) for each in params.values()
        )
        kept = tuple(each.detach().clone() for each in buffers.values())
        return FunctionalModuleWithBuffers(copy.deepcopy(model).to("meta"), tuple(params), tuple(buffers)), given, kept

    def forward(self, params: Any, buffers: Any, *args: Any, **kwargs: Any) -> Any:
        """Call the Module with these tensors."""
        tensors = dict(zip((*self.param_names, *self.buffer_names), (*params, *buffers)))
        return functional_call(self.stateless_model, tensors, args, kwargs)


class FunctionalModule(Module):
    """A Module without parameters of its own: they are given with each call."""

    def __init__(self, stateless_model: Any, param_names: Sequence[str]) -> None:
        super().__init__()
        self.stateless_model, self.param_names = stateless_model, tuple(param_names)

    @staticmethod
    def _create_from(model: Any, disable_autograd_tracking: bool = False) -> tuple[Any, tuple[Any, ...]]:
        made, given, _ = FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking)
        return FunctionalModule(made.stateless_model, made.param_names), given

    def forward(self, params: Any, *args: Any, **kwargs: Any) -> Any:
        """Call the Module with these parameters."""
        return functional_call(self.stateless_model, dict(zip(self.param_names, params)), args, kwargs)


def make_functional(model: Any, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, tuple[Any, ...]]:
    """A function of parameters and inputs, and the parameters."""
    if list(model.buffers()):
        raise RuntimeError("make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead.")
    return FunctionalModule._create_from(model, disable_autograd_tracking)


def make_functional_with_buffers(model: Any, disable_autograd_tracking: bool = False) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """A function of parameters, buffers and inputs; the parameters; the buffers."""
    return FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking)


def combine_state_for_ensemble(models: Sequence[Any]) -> tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]:
    """The tensors of several Modules of one kind stacked, with the function to map over them."""
    if not models:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if len({type(each) for each in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    parts = [make_functional_with_buffers(each) for each in models]

    def stacked(place: int) -> tuple[Any, ...]:
        return tuple(
            exports["", "stack"](list(each)).detach().requires_grad_(each[0].requires_grad) for each in zip(*(p[place] for p in parts))
        )

    return parts[0][0], stacked(1), stacked(2)
