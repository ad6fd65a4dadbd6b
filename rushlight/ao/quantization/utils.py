"""Questions about QConfigs, ranges and schemes that code around quantization asks."""

from __future__ import annotations

import functools
import warnings
from typing import Any

from ...core import dtypes
from ...nn.utils.parametrize import is_parametrized
from ...tensor.construct import tensor
from .granularity import QuantType
from .observer import (
    PlaceholderObserver,
    calculate_qmin_qmax,
    float_qparams,
    per_channel_affine,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    suitable_qparams,
    validate_qmin_qmax,
)

__all__ = [
    "activation_dtype", "activation_is_dynamically_quantized", "activation_is_int32_quantized", "activation_is_int8_quantized",
    "activation_is_statically_quantized", "calculate_qmin_qmax", "check_min_max_valid", "determine_qparams", "get_combined_dict",
    "get_qconfig_dtypes", "get_qparam_dict", "get_quant_type", "get_swapped_custom_module_class", "getattr_from_fqn",
    "has_no_children_ignoring_parametrizations", "is_per_channel", "is_per_tensor", "op_is_int8_dynamically_quantized",
    "to_underlying_dtype", "validate_qmin_qmax", "weight_dtype", "weight_is_quantized", "weight_is_statically_quantized",
]  # fmt: skip

# An observer's scheme, and that of the tensors quantized by it, which know no symmetric ones.
_TENSOR_SCHEMES = {
    per_tensor_affine: per_tensor_affine, per_tensor_symmetric: per_tensor_affine, per_channel_affine: per_channel_affine,
    per_channel_symmetric: per_channel_affine, float_qparams: float_qparams,
}  # fmt: skip
# Dtypes of quantized tensors, and of the numbers that they store.
_QUINT4X2, _QUINT2X4 = map(dtypes.by_name, ("quint4x2", "quint2x4"))
_STORED = {
    dtypes.quint8: dtypes.uint8, dtypes.qint8: dtypes.int8, dtypes.qint32: dtypes.int32, _QUINT4X2: dtypes.uint8, _QUINT2X4: dtypes.uint8,
}  # fmt: skip
_UNSIGNED, _SIGNED = {dtypes.quint8, dtypes.uint8}, {dtypes.qint8, dtypes.int8}
_BYTES, _WORDS = _UNSIGNED | _SIGNED, {dtypes.qint32, dtypes.int32}
_EIGHT_BIT_FLOATS = {dtypes.float8_e5m2, dtypes.float8_e4m3fn}
_NARROW = _BYTES | _EIGHT_BIT_FLOATS | {dtypes.int16, dtypes.int32}


def get_combined_dict(default_dict: dict[Any, Any], additional_dict: dict[Any, Any]) -> dict[Any, Any]:
    """The entries of both; the second's where a key is in both."""
    return {**default_dict, **additional_dict}


def is_per_tensor(qscheme: Any) -> bool:
    """Whether a scheme has one scale for a tensor."""
    return _TENSOR_SCHEMES.get(qscheme) is per_tensor_affine


def is_per_channel(qscheme: Any) -> bool:
    """Whether a scheme has a scale for each channel."""
    return _TENSOR_SCHEMES.get(qscheme) in (per_channel_affine, float_qparams)


def getattr_from_fqn(obj: Any, fqn: str) -> Any:
    """The attribute with a dotted name."""
    return functools.reduce(getattr, fqn.split("."), obj)


def to_underlying_dtype(qdtype: Any) -> Any:
    """The dtype of the numbers that a quantized tensor stores."""
    if qdtype not in {*_STORED, *_NARROW, dtypes.uint16}:
        raise AssertionError(f"Unsupported dtype: {qdtype}")
    return _STORED.get(qdtype, qdtype)


def get_qparam_dict(observer_or_fake_quant: Any) -> dict[str, Any]:
    """What an observer says of quantization: scheme, dtype, and where it has seen values scale, zero point, axis and range."""
    observer, scheme = observer_or_fake_quant, getattr(observer_or_fake_quant, "qscheme", None)
    if scheme is None or isinstance(observer, PlaceholderObserver):
        return dict(qscheme=None, dtype=observer.dtype)
    if scheme not in _TENSOR_SCHEMES:
        raise RuntimeError(f"Unrecognized qscheme: {scheme}")
    known = dict(zip(("scale", "zero_point"), observer.calculate_qparams()), qscheme=_TENSOR_SCHEMES[scheme], dtype=observer.dtype)
    if is_per_channel(scheme):
        known["axis"] = observer.ch_axis
    limits = {"quant_min", "quant_max"} & {*dir(observer)}
    return known | {limit: getattr(observer, limit) for limit in limits}


def _made(qconfig: Any, part: str, purpose: str) -> Any:
    """The observer of a QConfig's activations or weights."""
    if qconfig is None:
        raise AssertionError(f"qconfig must be provided to {purpose}")
    return getattr(qconfig, part)()


def get_qconfig_dtypes(qconfig: Any) -> tuple[Any, Any, bool]:
    """The dtypes of activations and of weights, and whether activations are quantized as they come."""
    activation, weight = (_made(qconfig, part, "extract dtypes") for part in ("activation", "weight"))
    return activation.dtype, weight.dtype, getattr(activation, "is_dynamic", False)


def get_quant_type(qconfig: Any) -> QuantType:
    """The kind of quantization that a QConfig stands for."""
    if qconfig is None:
        raise AssertionError("qconfig must be provided to determine quant type")
    activation, weight, dynamic = get_qconfig_dtypes(qconfig)
    integers = _NARROW | _WORDS | {_QUINT4X2}
    family = next((each for each in (integers, {dtypes.float16}) if weight in each), set())
    if family and dynamic:
        return QuantType.DYNAMIC
    if activation in family:
        return QuantType.STATIC
    if family is integers:
        return QuantType.WEIGHT_ONLY
    raise Exception(f"Unrecognized dtype combination in get_quant_type: activation({activation}),weight({weight})")


def get_swapped_custom_module_class(custom_module: Any, custom_module_class_mapping: dict[Any, dict[Any, Any]], qconfig: Any) -> Any:
    """The class that takes the place of a Module's class, by the kind of quantization."""
    mapping = custom_module_class_mapping.get(get_quant_type(qconfig), {})
    kind = type(custom_module)
    if kind not in mapping:
        raise AssertionError(f"did not find corresponding observed module class for {kind} in mapping: {mapping}")
    return mapping[kind]


def activation_dtype(qconfig: Any) -> Any:
    """The dtype of activations."""
    return _made(qconfig, "activation", "determine activation dtype").dtype


def weight_dtype(qconfig: Any) -> Any:
    """The dtype of weights."""
    return _made(qconfig, "weight", "determine weight dtype").dtype


def activation_is_statically_quantized(qconfig: Any) -> bool:
    """Whether activations are quantized, or narrow, with a scale found beforehand."""
    narrow = activation_dtype(qconfig) in _NARROW | _WORDS | {dtypes.float16}
    return narrow and not activation_is_dynamically_quantized(qconfig)


def activation_is_dynamically_quantized(qconfig: Any) -> bool:
    """Whether activations are quantized as they come."""
    return get_qconfig_dtypes(qconfig)[2]


def activation_is_int8_quantized(qconfig: Any) -> bool:
    """Whether activations have eight bits."""
    return activation_dtype(qconfig) in _BYTES


def activation_is_int32_quantized(qconfig: Any) -> bool:
    """Whether activations have 32 bits."""
    return activation_dtype(qconfig) in _WORDS


def weight_is_quantized(qconfig: Any) -> bool:
    """Whether weights are quantized or narrow, in whichever way."""
    return weight_dtype(qconfig) in _NARROW | {_QUINT4X2, dtypes.float16}


def weight_is_statically_quantized(qconfig: Any) -> bool:
    """Whether weights have eight bits."""
    return weight_dtype(qconfig) in _BYTES


def op_is_int8_dynamically_quantized(qconfig: Any) -> bool:
    """Whether unsigned activations are quantized as they come, for signed weights of eight bits."""
    activation, weight, dynamic = get_qconfig_dtypes(qconfig)
    return activation in _UNSIGNED and weight in _SIGNED and dynamic


def check_min_max_valid(min_val: Any, max_val: Any) -> bool:
    """Whether extremes were seen; an error where the smallest is larger than the largest."""
    scalars = not min_val.dim() or not max_val.dim()
    if not min_val.numel() or not max_val.numel() or scalars and min_val == float("inf") and max_val == float("-inf"):
        warnings.warn("must run observer before calling calculate_qparams. Returning default values.", stacklevel=2)
        return False
    if (min_val > max_val).any():
        raise AssertionError(f"min {min_val} should be less than max {max_val}")
    return True


def determine_qparams(
    min_val: Any, max_val: Any, quant_min: int, quant_max: int, dtype: Any, eps: Any, has_customized_qrange: bool,
    qscheme: Any = per_tensor_affine,
) -> tuple[Any, Any]:  # fmt: skip
    """Scale and zero point, as tensors, that suit values between two extremes, or between those of each channel."""
    if not check_min_max_valid(min_val, max_val):
        return tensor([1.0]), tensor([0])
    scale, zero_point = suitable_qparams(min_val, max_val, quant_min, quant_max, dtype, eps, has_customized_qrange, qscheme)
    return scale.to(dtypes.float64), zero_point.to(dtypes.int64)


def has_no_children_ignoring_parametrizations(module: Any) -> bool:
    """Whether a Module holds no others, but for parametrizations of its own parameters."""
    return set(module._modules) <= ({"parametrizations"} if is_parametrized(module) else set())
