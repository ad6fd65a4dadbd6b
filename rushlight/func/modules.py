"""Modules as functions of their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.errors import OperationError, ValueRangeError
from ..nn.modules.batchnorm import _BatchNorm
from ..nn.utils.stateless import _functional_call
from ..ops.shape.concat import stack


def functional_call(
    module: Any, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: dict[str, Any] | None = None, *,
    tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """Call a module with other tensors in the place of its parameters and buffers; those that are not named stay.

    ``parameter_and_buffer_dicts`` is a dictionary of names and tensors, or several with no name in common.

    >>> import rushlight as torch
    >>> from rushlight.nn.modules.linear import Linear
    >>> layer = Linear(2, 1)
    >>> torch.func.functional_call(layer, {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}, torch.ones(2))
    tensor([2.])
    """
    if isinstance(parameter_and_buffer_dicts, dict):
        given = parameter_and_buffer_dicts
    elif isinstance(parameter_and_buffer_dicts, Sequence):
        if not all(isinstance(each, dict) for each in parameter_and_buffer_dicts):
            raise ValueRangeError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        names = [name for each in parameter_and_buffer_dicts for name in each]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueRangeError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        given = {name: value for each in parameter_and_buffer_dicts for name, value in each.items()}
    else:
        raise ValueRangeError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(parameter_and_buffer_dicts)}"
        )
    return _functional_call(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(models: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters and buffers of several models of one class, each stacked: for ``vmap`` over the models.

    >>> import rushlight as torch
    >>> from rushlight.nn.modules.linear import Linear
    >>> parameters, buffers = torch.func.stack_module_state([Linear(3, 2), Linear(3, 2)])
    >>> parameters["weight"].shape
    torch.Size([2, 2, 3])
    """
    models = list(models)
    if not models:
        raise OperationError("stack_module_state: Expected at least one model, got 0.")
    if not (all(model.training for model in models) or not any(model.training for model in models)):
        raise OperationError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(model) is not type(models[0]) for model in models):
        raise OperationError("stack_module_state: Expected all models to be of the same class.")
    return (_stacked([dict(model.named_parameters()) for model in models]), _stacked([dict(model.named_buffers()) for model in models]))


def _stacked(states: list[dict[str, Any]]) -> dict[str, Any]:
    found = {}
    for name, first in states[0].items():
        tensors = [each[name] for each in states]
        if any(each.requires_grad != first.requires_grad for each in tensors):
            raise OperationError(f"Expected {name} from each model to have the same .requires_grad")
        found[name] = stack([each.detach() for each in tensors]).requires_grad_(first.requires_grad)
    return found


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Make every batch normalisation in a module forget its running statistics, which ``vmap`` can't write to."""
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def debug_unwrap(tensor: Any, *, recurse: bool = True) -> Any:
    """The whole batch behind a tensor inside of ``vmap``, for looking at; other tensors as they are."""
    value = tensor._value
    return tensor if value is None else value


__all__ = ["debug_unwrap", "functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]
