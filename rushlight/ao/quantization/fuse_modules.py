"""Fusing modules that follow each other: one takes the place of the first, the others become Identity."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ...nn.modules.linear import Identity
from .fuser_method_mappings import get_fuser_method


def fuse_known_modules(mod_list: list[Any], is_qat: bool, additional_fuser_method_mapping: Any = None) -> list[Any]:
    """A fused module and as many Identities as it takes to be as long as the list."""
    fused = get_fuser_method(tuple(type(each) for each in mod_list), additional_fuser_method_mapping)(is_qat, *mod_list)
    # Hooks before the first and behind the last module stay where they were.
    for hook in mod_list[0]._forward_pre_hooks.values():
        fused.register_forward_pre_hook(hook)
    mod_list[0]._forward_pre_hooks.clear()
    for hook in mod_list[-1]._forward_hooks.values():
        fused.register_forward_hook(hook)
    mod_list[-1]._forward_hooks.clear()
    rest = []
    for _ in mod_list[1:]:
        identity = Identity()
        identity.training = mod_list[0].training
        rest.append(identity)
    return [fused, *rest]


def _fuse(model: Any, modules_to_fuse: Any, is_qat: bool, inplace: bool, fuser_func: Callable[..., Any], config: Any) -> Any:
    if not inplace:
        model = copy.deepcopy(model)
    additional = (config or {}).get("additional_fuser_method_mapping", {})
    groups = [modules_to_fuse] if all(isinstance(each, str) for each in modules_to_fuse) else modules_to_fuse
    for names in groups:
        fused = fuser_func([model.get_submodule(name) for name in names], is_qat, additional)
        for name, module in zip(names, fused):
            path, _, last = name.rpartition(".")
            setattr(model.get_submodule(path), last, module)
    return model


def fuse_modules(
    model: Any, modules_to_fuse: Any, inplace: bool = False, fuser_func: Callable[..., Any] = fuse_known_modules,
    fuse_custom_config_dict: Any = None,
) -> Any:  # fmt: skip
    """Fuse modules, given by lists of their names, of a model that is evaluated."""
    return _fuse(model, modules_to_fuse, False, inplace, fuser_func, fuse_custom_config_dict)


def fuse_modules_qat(
    model: Any, modules_to_fuse: Any, inplace: bool = False, fuser_func: Callable[..., Any] = fuse_known_modules,
    fuse_custom_config_dict: Any = None,
) -> Any:  # fmt: skip
    """Fuse modules of a model that is trained: batch normalisations go on learning."""
    return _fuse(model, modules_to_fuse, True, inplace, fuser_func, fuse_custom_config_dict)
