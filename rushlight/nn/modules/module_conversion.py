"""How a Module's parameters take what a conversion (`to`, `double`, `cuda`) made of them: in place, swapped, or as new objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ops.create.factories import empty
from ...tensor.swapping import swap_tensors
from ..parameter import Parameter, is_lazy


class ConversionSettings:
    """The settings of ``rushlight.__future__``."""

    def __init__(self) -> None:
        self.overwrite = False  # whether a conversion puts new Parameters in the place of the old ones
        self.swap = False  # whether conversions and `load_state_dict` swap tensors, so that every holder of one has the other


settings = ConversionSettings()


def convert_lazy(tensor: Any, fn: Callable[[Any], Any]) -> None:
    """Give a tensor without a shape the device and type that a function would give one with."""
    found = fn(empty(0, dtype=tensor.dtype, device=tensor.device))
    tensor.convert(found.device, found.dtype)


def convert_parameter(module: Any, name: str, fn: Callable[[Any], Any]) -> None:
    """Replace the data of a parameter, and of its gradient, by what a function makes of them."""
    parameter = module._parameters[name]
    if is_lazy(parameter):
        convert_lazy(parameter, fn)
        return
    changed, gradient = fn(parameter), parameter._grad
    if settings.swap:
        parameter._grad = None  # else the swap would carry it along
        try:
            _swapped(parameter, Parameter(changed, parameter.requires_grad), f"{module._get_name()}.{name}")
        except RuntimeError:
            parameter._grad = gradient
            raise
    elif settings.overwrite:
        parameter = module._parameters[name] = Parameter(changed, parameter.requires_grad)
    elif changed is not parameter:
        parameter.data = changed.data
    if gradient is None:
        return
    changed = fn(gradient).requires_grad_(gradient.requires_grad)
    if settings.swap:
        _swapped(gradient, changed, f"{module._get_name()}.{name}.grad")
        changed = gradient
    parameter._grad = changed


def _swapped(tensor: Any, other: Any, name: str) -> None:
    try:
        swap_tensors(tensor, other)
    except RuntimeError as error:
        raise RuntimeError(f"_apply(): Couldn't swap {name}") from error


def load_by_swap(tensor: Any, source: Any, assign: bool) -> Any:
    """Load a value into a parameter or buffer as its own ``module_load`` says, and swap it in; what is swapped out is returned."""
    loaded = tensor.module_load(source, assign=assign)
    if loaded is source or loaded is tensor:
        raise RuntimeError(
            "module_load returned one of self or other, please .detach() the result if returning one of the inputs in module_load"
        )
    if isinstance(tensor, Parameter):
        if isinstance(loaded, Parameter):
            loaded.requires_grad_(tensor.requires_grad)
        else:
            loaded = Parameter(loaded, tensor.requires_grad)
    swap_tensors(tensor, loaded)
    return loaded
