"""Masks as parametrizations, and the names of modules and tensors."""

from __future__ import annotations

from typing import Any

from ....nn import Module
from ....nn.utils.parametrize import is_parametrized, type_before_parametrizations

__all__ = ["FakeSparsity", "fqn_to_module", "get_arg_info_from_tensor_fqn", "module_contains_param", "module_to_fqn", "swap_module"]


class FakeSparsity(Module):
    """A parametrization that multiplies a tensor with a mask; the mask is not part of a model's state."""

    mask: Any

    def __init__(self, mask: Any) -> None:
        super().__init__()
        self.register_buffer("mask", mask)

    def forward(self, x: Any) -> Any:
        """The tensor with zeros where the mask has them."""
        if self.mask.shape != x.shape:
            raise AssertionError(f"mask shape ({self.mask.shape}) must match x shape ({x.shape})")
        return self.mask * x

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Nothing: the sparsifier's state has the mask."""
        return {}


def module_contains_param(module: Module, parametrization: type[Module]) -> bool:
    """Whether a tensor of a module has a parametrization of a class."""
    if not is_parametrized(module):
        return False
    lists: Any = module.parametrizations
    return any(isinstance(each, parametrization) for chain in lists.values() for each in chain)


def swap_module(mod: Module, mapping: dict[type[Module], type[Module]]) -> Module:
    """The module that ``from_dense`` of the class in ``mapping`` makes, with the hooks of the old one; without such a class, the module itself."""
    kind: Any = mapping.get(type_before_parametrizations(mod))
    if kind is None:
        return mod
    made: Module = kind.from_dense(mod)
    for before in mod._forward_pre_hooks.values():
        made.register_forward_pre_hook(before)
    for after in mod._forward_hooks.values():
        made.register_forward_hook(after)
    devices = {each.device for each in (*mod.parameters(), *mod.buffers())}
    if len(devices) > 1:
        raise AssertionError(f"swap_module only works with cpu or single-device CUDA modules, but got devices {devices}")
    return made.to(devices.pop()) if devices else made


def module_to_fqn(model: Module, module: Module, prefix: str = "") -> str | None:
    """The dotted path from a model to a module in it, or None."""
    if module is model:
        return ""
    return next((prefix + name for name, each in model.named_modules(remove_duplicate=False) if each is module), None)


def fqn_to_module(model: Any, path: str) -> Any:
    """The module or tensor at a dotted path, or None."""
    for name in path.split(".") if path else ():
        model = getattr(model, name, None)
    return model


def get_arg_info_from_tensor_fqn(model: Module, tensor_fqn: str) -> dict[str, Any]:
    """The parts of a tensor's path: its module, by path and itself, and its name there."""
    module_fqn, _, tensor_name = tensor_fqn.rpartition(".")
    return {"module_fqn": module_fqn, "module": fqn_to_module(model, module_fqn), "tensor_name": tensor_name, "tensor_fqn": tensor_fqn}
