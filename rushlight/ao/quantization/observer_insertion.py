"""Inserting observers into a model, and converting observed modules to quantized ones."""

from __future__ import annotations

from typing import Any

from ... import nn
from ..nn import quantized as nnq
from ..nn.intrinsic import _FusedModule
from ..nn.intrinsic.qat import _WithBatchNorm
from .quantization_mappings import no_observer_set
from .stubs import DeQuantStub

_WHOLE = (_FusedModule, _WithBatchNorm)  # modules that are quantized as one, whatever they hold


def _observe_output(module: Any, args: Any, output: Any) -> Any:
    """The hook by which a module's output goes through its observer."""
    return module.activation_post_process(output)


# -- QConfigs ----------------------------------------------------------------------------------------------------


def propagate_qconfig_(module: Any, qconfig_dict: Any = None, prepare_custom_config_dict: Any = None) -> None:
    """Give every part of a model its QConfig: by its class or its path in the dict, its own, or that of the module it is in."""
    _propagate(module, qconfig_dict or {}, None, "", (prepare_custom_config_dict or {}).get("non_traceable_module_name", []))


def _propagate(module: Any, by_name: dict[Any, Any], inherited: Any, path: str, left_out: Any) -> None:
    found = by_name.get(type(module), inherited)
    found = by_name.get(path, found)
    found = getattr(module, "qconfig", found)
    module.qconfig = found
    for name, child in module.named_children():
        full = f"{path}.{name}" if path else name
        if full not in left_out:
            _propagate(child, by_name, found, full, left_out)


def wants_observer(module: Any) -> bool:
    """Whether a module has a QConfig."""
    return getattr(module, "qconfig", None) is not None


def _attach(module: Any) -> None:
    """Observe a module's output."""
    if wants_observer(module) and not isinstance(module, DeQuantStub):
        module.add_module("activation_post_process", module.qconfig.activation())
        module.register_forward_hook(_observe_output, prepend=True)


def add_observers(module: Any, observed: Any, whole: Any, custom: Any) -> None:
    """Put observers into a model: at the modules that are quantized, and at those to be treated as a whole.

    ``custom`` gives the classes of modules that are rewritten before they are observed.
    """
    for name, child in list(module.named_children()):
        if type(child) in no_observer_set():
            continue
        if isinstance(child, (nnq.FloatFunctional, nnq.QFunctional)):
            if wants_observer(child):
                child.activation_post_process = child.qconfig.activation()
        elif isinstance(child, _WHOLE) or type(child) in whole:
            _attach(child)
        elif wants_observer(child) and type(child) in custom:
            module._modules[name] = custom[type(child)].from_float(child)
        else:
            add_observers(child, observed, whole, custom)
    if not list(module.children()) and not isinstance(module, nn.Sequential) and type(module) in observed:
        _attach(module)


# -- converting --------------------------------------------------------------------------------------------------


def convert_children(module: Any, mapping: Any, custom: Any, use_precomputed_fake_quant: bool = False) -> None:
    """Replace the observed modules below a module with quantized ones."""
    swapped: dict[int, Any] = {}  # a module that stands in several places stays one
    for name, child in list(module.named_children()):
        if not isinstance(child, _WHOLE) and type(child) not in custom:
            convert_children(child, mapping, custom, use_precomputed_fake_quant)
        if id(child) not in swapped:
            swapped[id(child)] = swap_module(child, mapping, custom, use_precomputed_fake_quant)
        module._modules[name] = swapped[id(child)]


def swap_module(mod: Any, mapping: Any, custom_module_class_mapping: Any, use_precomputed_fake_quant: bool = False) -> Any:
    """The module that takes another's place, with its hooks; itself where the mapping has none."""
    custom = custom_module_class_mapping or {}
    if getattr(mod, "qconfig", None) is None or (type(mod) not in mapping and type(mod) not in custom):
        return mod
    if type(mod) in custom:
        made = custom[type(mod)].from_observed(mod)
    else:
        made = mapping[type(mod)].from_float(mod, use_precomputed_fake_quant=use_precomputed_fake_quant)
    for hook in mod._forward_pre_hooks.values():
        made.register_forward_pre_hook(hook)
    for hook in mod._forward_hooks.values():
        if hook is not _observe_output:
            made.register_forward_hook(hook)
    if made.training != mod.training:
        made.training = mod.training
    return made


def remove_qconfig(module: Any) -> None:
    """Take QConfigs, and observers that nothing uses any more, out of a model."""
    for each in module.modules():
        each.__dict__.pop("qconfig", None)
        for key, hook in list(each._forward_hooks.items()):
            if hook is _observe_output:
                del each._forward_hooks[key]
                del each.activation_post_process
