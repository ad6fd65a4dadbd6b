"""Eager quantization: insert observers into a model, calibrate it on data, and replace observed modules with quantized ones."""

from __future__ import annotations

import copy
import warnings
from typing import Any

from ... import nn
from ...core.dtypes import float16, qint8, quint8
from ..nn import quantizable
from .observer_insertion import add_observers, convert_children, propagate_qconfig_, swap_module, wants_observer
from .observer_insertion import remove_qconfig as take_qconfig_out
from .qconfig import default_dynamic_qconfig, float16_dynamic_qconfig, float_qparams_weight_only_qconfig
from .quantization_mappings import (
    get_default_dynamic_quant_module_mappings,
    get_default_qat_module_mappings,
    get_default_qconfig_propagation_list,
    get_default_static_quant_module_mappings,
)
from .stubs import QuantWrapper

OBSERVED_CLASSES = {nn.LSTM: quantizable.LSTM, nn.MultiheadAttention: quantizable.MultiheadAttention}
QUANTIZED_CLASSES = {quantizable.LSTM: quantizable.QuantizedLSTM, quantizable.MultiheadAttention: quantizable.QuantizedMultiheadAttention}


def get_default_custom_config_dict() -> dict[str, Any]:
    """The modules that are rewritten before they are observed, and what is made of them then."""
    return {
        "float_to_observed_custom_module_class": dict(OBSERVED_CLASSES), "observed_to_quantized_custom_module_class": dict(QUANTIZED_CLASSES)
    }  # fmt: skip


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
    if not any(wants_observer(module) for module in model.modules()):
        warnings.warn(
            "None of the submodule got qconfig applied. Make sure you passed correct configuration through `qconfig_dict` or by "
            "assigning the `.qconfig` attribute directly on submodules",
            stacklevel=2,
        )
    custom = (prepare_custom_config_dict or get_default_custom_config_dict()).get("float_to_observed_custom_module_class", {})
    add_observers(model, observed, set(observer_non_leaf_module_list or ()), custom)
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
    custom = (convert_custom_config_dict or get_default_custom_config_dict()).get("observed_to_quantized_custom_module_class", {})
    convert_children(module, mapping, custom, use_precomputed_fake_quant)
    if remove_qconfig:
        take_qconfig_out(module)
    return module


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


def quantize_dynamic(model: Any, qconfig_spec: Any = None, dtype: Any = qint8, mapping: Any = None, inplace: bool = False) -> Any:
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


__all__ = [
    "OBSERVED_CLASSES", "QUANTIZED_CLASSES", "add_quant_dequant", "convert", "default_eval_fn", "get_default_custom_config_dict", "prepare", "prepare_qat",
    "propagate_qconfig_", "quantize", "quantize_dynamic", "quantize_qat", "swap_module",
]  # fmt: skip
