"""Quantization in eager mode: observers, fake quantization, QConfigs, and turning models into quantized ones.

In: a float module with a ``qconfig``.  Out: after ``prepare`` a module with observers, after ``convert`` one with quantized layers.  Read ``quantize.py`` first, then
``qconfig.py`` and ``observer.py``.

>>> import rushlight
>>> from rushlight.ao import quantization
>>> model = quantization.QuantWrapper(rushlight.nn.Linear(2, 2)).eval()
>>> model.qconfig = quantization.default_qconfig
>>> prepared = quantization.prepare(model)
>>> _ = prepared(rushlight.ones(1, 2))
>>> type(quantization.convert(prepared).module).__name__
'Linear'
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

# Which module defines each name; a module is imported on first use.
_PARTS: dict[str, str] = {
    "fake_quantize": (
        "FakeQuantize FakeQuantizeBase FixedQParamsFakeQuantize FusedMovingAvgObsFakeQuantize default_affine_fixed_qparams_fake_quant "
        "default_dynamic_fake_quant default_embedding_fake_quant default_fake_quant default_fixed_qparams_range_0to1_fake_quant "
        "default_fixed_qparams_range_neg1to1_fake_quant default_fused_act_fake_quant default_fused_per_channel_wt_fake_quant "
        "default_fused_wt_fake_quant default_histogram_fake_quant default_per_channel_weight_fake_quant "
        "default_symmetric_fixed_qparams_fake_quant default_weight_fake_quant disable_fake_quant disable_observer enable_fake_quant "
        "enable_observer fused_per_channel_wt_fake_quant_range_neg_127_to_127 fused_wt_fake_quant_range_neg_127_to_127"
    ),
    "fuse_modules": "fuse_known_modules fuse_modules fuse_modules_qat",
    "fuser_method_mappings": "fuse_conv_bn fuse_conv_bn_relu fuse_convtranspose_bn fuse_linear_bn get_fuser_method",
    "histogram": "HistogramObserver default_histogram_observer",
    "observer": (
        "FixedQParamsObserver MinMaxObserver MovingAverageMinMaxObserver MovingAveragePerChannelMinMaxObserver NoopObserver ObserverBase "
        "PerChannelMinMaxObserver PlaceholderObserver RecordingObserver ReuseInputObserver UniformQuantizationObserverBase "
        "default_affine_fixed_qparams_observer default_debug_observer default_dynamic_quant_observer "
        "default_fixed_qparams_range_0to1_observer default_fixed_qparams_range_neg1to1_observer default_float_qparams_observer "
        "default_observer default_per_channel_weight_observer default_placeholder_observer default_reuse_input_observer "
        "default_symmetric_fixed_qparams_observer default_weight_observer get_observer_state_dict load_observer_state_dict "
        "per_channel_weight_observer_range_neg_127_to_127 weight_observer_range_neg_127_to_127"
    ),
    "qconfig": (
        "QConfig QConfigAny QConfigDynamic default_activation_only_qconfig default_debug_qconfig default_dynamic_qat_qconfig "
        "default_dynamic_qconfig default_embedding_qat_qconfig default_per_channel_qconfig default_per_channel_symmetric_qnnpack_qat_qconfig "
        "default_per_channel_symmetric_qnnpack_qconfig default_qat_qconfig default_qat_qconfig_v2 default_qconfig "
        "default_quint8_weight_qconfig default_reuse_input_qconfig default_symmetric_qnnpack_qat_qconfig "
        "default_symmetric_qnnpack_qconfig default_weight_only_qconfig float16_dynamic_qconfig float16_static_qconfig "
        "float_qparams_weight_only_qconfig get_default_qat_qconfig get_default_qconfig per_channel_dynamic_qconfig qconfig_equals"
    ),
    "observer_insertion": "",
    "qconfig_mapping": "QConfigMapping get_default_qat_qconfig_mapping get_default_qconfig_mapping",
    "quantization_mappings": (
        "DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS DEFAULT_QAT_MODULE_MAPPINGS DEFAULT_STATIC_QUANT_MODULE_MAPPINGS "
        "get_default_dynamic_quant_module_mappings get_default_qat_module_mappings get_default_qconfig_propagation_list "
        "get_default_static_quant_module_mappings get_dynamic_quant_module_class get_embedding_qat_module_mappings "
        "get_embedding_static_quant_module_mappings get_static_quant_module_class no_observer_set"
    ),
    "quantize": (
        "add_quant_dequant convert default_eval_fn get_default_custom_config_dict prepare prepare_qat propagate_qconfig_ quantize quantize_dynamic quantize_qat swap_module"
    ),
    "granularity": (
        "AffineQuantizedObserverBase Granularity MappingType ObserverOrFakeQuantize PerAxis PerBlock PerGroup PerRow PerTensor PerToken QuantType TorchAODType "
        "ZeroPointDomain convert_dynamic_jit convert_jit default_embedding_fake_quant_4bit default_float_qparams_observer_4bit fuse_conv_bn_jit get_block_size "
        "get_default_compare_output_module_list get_default_dynamic_sparse_quant_module_mappings get_default_float_to_quantized_operator_mappings "
        "get_default_qat_qconfig_dict get_default_qconfig_dict get_default_static_quant_reference_module_mappings "
        "get_default_static_sparse_quant_module_mappings get_fuser_method_new get_quantized_operator prepare_dynamic_jit prepare_jit quantize_dynamic_jit quantize_jit "
        "script_qconfig script_qconfig_dict"
    ),
    "utils": "",
    "stubs": "DeQuantStub QuantStub QuantWrapper",
}
_HOME = {name: part for part, names in _PARTS.items() for name in names.split()}
__all__ = sorted(_HOME)


class _Package(ModuleType):
    """Keeps ``quantize`` and ``fuse_modules`` functions, although modules of these names are loaded."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    if name in _PARTS:
        return importlib.import_module(f"{__name__}.{name}")
    if name == "quantize_fx":  # it is written over traced graphs, a later room
        return importlib.import_module(f"{__name__.partition('.')[0]}.fx.quantization")
    if "fx" in name or "pt2e" in name:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}: quantization of exported graphs is not in rushlight; use eager mode (prepare and convert) or quantize_fx (prepare_fx and convert_fx)",
            name=name,
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}: it is not in rushlight yet", name=name)


def __dir__() -> list[str]:
    return [*__all__, *_PARTS]
