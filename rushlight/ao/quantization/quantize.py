"""Eager quantization: put observers into a model, run it on data, and put quantized modules in the place of observed ones."""

from __future__ import annotations

import copy
import warnings
from typing import Any

from ... import nn
from ...core.dtypes import float16, qint8, quint8
from ..nn import quantized as nnq
from ..nn.intrinsic import _FusedModule
from ..nn.intrinsic.qat import _WithBatchNorm
from .qconfig import default_dynamic_qconfig, float16_dynamic_qconfig, float_qparams_weight_only_qconfig
from .quantization_mappings import (
    get_default_dynamic_quant_module_mappings,
    get_default_qat_module_mappings,
    get_default_qconfig_propagation_list,
    get_default_static_quant_module_mappings,
    no_observer_set,
)
from .stubs import DeQuantStub, QuantWrapper

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


def _wants_observer(module: Any) -> bool:
    return getattr(module, "qconfig", None) is not None


def _attach(module: Any) -> None:
    """Observe a module's output."""
    if _wants_observer(module) and not isinstance(module, DeQuantStub):
        module.add_module("activation_post_process", module.qconfig.activation())
        module.register_forward_hook(_observe_output, prepend=True)


def _add_observer_(module: Any, observed: Any, whole: Any) -> None:
    """Put observers into a model: at the modules that are quantized, and at those to be treated as a whole."""
    for child in list(module.children()):
        if type(child) in no_observer_set():
            continue
        if isinstance(child, (nnq.FloatFunctional, nnq.QFunctional)):
            if _wants_observer(child):
                child.activation_post_process = child.qconfig.activation()
        elif isinstance(child, _WHOLE) or type(child) in whole:
            _attach(child)
        else:
            _add_observer_(child, observed, whole)
    if not list(module.children()) and not isinstance(module, nn.Sequential) and type(module) in observed:
        _attach(module)


# -- observing ---------------------------------------------------------------------------------------------------


def prepare(
    model: Any, inplace: bool = False, allow_list: Any = None, observer_non_leaf_module_list: Any = None,
    prepare_custom_config_dict: Any = None,
) -> Any:  # fmt: skip
    """A copy of a model (or, ``inplace``, itself) with observers, to be run on typical data before :func:`convert`."""
    if not inplace:
        model = copy.deepcopy(model)
    observed = get_default_qconfig_propagation_list() if allow_list is None else allow_list
    propagate_qconfig_(model, None, prepare_custom_config_dict)
    if not any(_wants_observer(module) for module in model.modules()):
        warnings.warn(
            "None of the submodule got qconfig applied. Make sure you passed correct configuration through `qconfig_dict` or by "
            "assigning the `.qconfig` attribute directly on submodules",
            stacklevel=2,
        )
    _add_observer_(model, observed, set(observer_non_leaf_module_list or ()))
    return model


def prepare_qat(model: Any, mapping: Any = None, inplace: bool = False) -> Any:
    """A copy of a model (or, ``inplace``, itself) that trains with fake quantization."""
    if not model.training:
        raise AssertionError("prepare_qat only works on models in training mode")
    mapping = get_default_qat_module_mappings() if mapping is None else mapping
    if not inplace:
        model = copy.deepcopy(model)
    propagate_qconfig_(model)
    convert(model, mapping, inplace=True, remove_qconfig=False)
    return prepare(model, inplace=True, observer_non_leaf_module_list=set(mapping.values()))


# -- converting --------------------------------------------------------------------------------------------------


def convert(
    module: Any, mapping: Any = None, inplace: bool = False, remove_qconfig: bool = True, is_reference: bool = False,
    convert_custom_config_dict: Any = None, use_precomputed_fake_quant: bool = False,
) -> Any:  # fmt: skip
    """A copy of an observed model (or, ``inplace``, itself) with quantized modules."""
    if is_reference:
        raise NotImplementedError("convert(is_reference=True): there are no reference modules here")
    if not inplace:
        module = copy.deepcopy(module)
    mapping = get_default_static_quant_module_mappings() if mapping is None else mapping
    _convert(module, mapping, use_precomputed_fake_quant)
    if remove_qconfig:
        _remove_qconfig(module)
    return module


def _convert(module: Any, mapping: Any, use_precomputed_fake_quant: bool) -> None:
    swapped: dict[int, Any] = {}  # a module that stands in several places stays one
    for name, child in list(module.named_children()):
        if not isinstance(child, _WHOLE):
            _convert(child, mapping, use_precomputed_fake_quant)
        if id(child) not in swapped:
            swapped[id(child)] = swap_module(child, mapping, {}, use_precomputed_fake_quant)
        module._modules[name] = swapped[id(child)]


def swap_module(mod: Any, mapping: Any, custom_module_class_mapping: Any, use_precomputed_fake_quant: bool = False) -> Any:
    """The module that takes another's place, with its hooks; itself where the mapping has none."""
    if getattr(mod, "qconfig", None) is None or type(mod) not in mapping:
        return mod
    made = mapping[type(mod)].from_float(mod, use_precomputed_fake_quant=use_precomputed_fake_quant)
    for hook in mod._forward_pre_hooks.values():
        made.register_forward_pre_hook(hook)
    for hook in mod._forward_hooks.values():
        if hook is not _observe_output:
            made.register_forward_hook(hook)
    if made.training != mod.training:
        made.training = mod.training
    return made


def _remove_qconfig(module: Any) -> None:
    """Take QConfigs, and observers that nothing uses any more, out of a model."""
    for each in module.modules():
        each.__dict__.pop("qconfig", None)
        for key, hook in list(each._forward_hooks.items()):
            if hook is _observe_output:
                del each._forward_hooks[key]
                del each.activation_post_process


def add_quant_dequant(module: Any) -> Any:
    """A model in which every module with a QConfig of its own stands between a QuantStub and a DeQuantStub."""
    if not list(module.children()) and getattr(module, "qconfig", None):
        return QuantWrapper(module)
    for name, child in list(module.named_children()):
        module._modules[name] = add_quant_dequant(child)
    return module


# -- all in one --------------------------------------------------------------------------------------------------


def quantize(model: Any, run_fn: Any, run_args: Any, mapping: Any = None, inplace: bool = False) -> Any:
    """Prepare a model, run it on data by a function of yours, and convert it."""
    mapping = get_default_static_quant_module_mappings() if mapping is None else mapping
    if not inplace:
        model = copy.deepcopy(model)
    model.eval()
    prepare(model, inplace=True)
    run_fn(model, *run_args)
    return convert(model, mapping, inplace=True)


def quantize_qat(model: Any, run_fn: Any, run_args: Any, inplace: bool = False) -> Any:
    """Prepare a model, train it by a function of yours, and convert it."""
    if not inplace:
        model = copy.deepcopy(model)
    model.train()
    prepare_qat(model, inplace=True)
    run_fn(model, *run_args)
    return convert(model, inplace=True)


def quantize_dynamic(
    model: Any, qconfig_spec: Any = None, dtype: Any = qint8, mapping: Any = None, inplace: bool = False
) -> Any:
    """A model with quantized weights, whose activations are quantized on the way: no data is needed beforehand."""
    recurrent = (nn.LSTM, nn.GRU, nn.LSTMCell, nn.RNNCell, nn.GRUCell)
    default = {qint8: default_dynamic_qconfig, float16: float16_dynamic_qconfig, quint8: float_qparams_weight_only_qconfig}.get(dtype)
    if default is None:
        raise ValueError(f"Don't know how to quantize with default settings for {dtype}. Provide full qconfig please")
    if qconfig_spec is None:
        kinds = (nn.EmbeddingBag, nn.Embedding) if dtype is quint8 else (nn.Linear, *recurrent)
        qconfig_spec = dict.fromkeys(kinds, default)
    elif isinstance(qconfig_spec, set):
        qconfig_spec = dict.fromkeys(qconfig_spec, default)
    mapping = get_default_dynamic_quant_module_mappings() if mapping is None else mapping
    if not inplace:
        model = copy.deepcopy(model)
    model.eval()
    propagate_qconfig_(model, qconfig_spec)
    return convert(model, mapping, inplace=True)


def default_eval_fn(model: Any, calib_data: Any) -> None:
    """Run a model on data of (input, target) pairs."""
    for data, _ in calib_data:
        model(data)
