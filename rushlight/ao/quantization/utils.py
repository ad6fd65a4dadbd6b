"""Questions about QConfigs, ranges and schemes that code around quantization asks."""

from __future__ import annotations

import functools
import warnings
from typing import Any

from ...core import dtypes
from ...nn.utils.parametrize import is_parametrized
from .observer import (
    PlaceholderObserver,
    float_qparams,
    per_channel_affine,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    validate_qmin_qmax,
)

__all__ = [
    "activation_dtype", "activation_is_dynamically_quantized", "activation_is_int32_quantized", "activation_is_int8_quantized",
    "check_min_max_valid", "get_combined_dict", "get_qconfig_dtypes", "get_qparam_dict", "getattr_from_fqn",
    "has_no_children_ignoring_parametrizations", "is_per_channel", "is_per_tensor", "op_is_int8_dynamically_quantized",
    "validate_qmin_qmax", "weight_dtype", "weight_is_statically_quantized",
]  # fmt: skip

_UNSIGNED = (dtypes.quint8, dtypes.uint8)
_SIGNED = (dtypes.qint8, dtypes.int8)


def get_combined_dict(default_dict: dict[Any, Any], additional_dict: dict[Any, Any]) -> dict[Any, Any]:
    """The entries of both; the second's where a key is in both."""
    return {**default_dict, **additional_dict}


def is_per_tensor(qscheme: Any) -> bool:
    """Whether a scheme has one scale for a tensor."""
    return qscheme in (per_tensor_affine, per_tensor_symmetric)


def is_per_channel(qscheme: Any) -> bool:
    """Whether a scheme has a scale for each channel."""
    return qscheme in (per_channel_affine, per_channel_symmetric, float_qparams)


def getattr_from_fqn(obj: Any, fqn: str) -> Any:
    """The attribute with a dotted name."""
    return functools.reduce(getattr, fqn.split("."), obj)


def get_qparam_dict(observer_or_fake_quant: Any) -> dict[str, Any]:
    """What an observer says of quantization: scheme, dtype, and where it has seen values scale, zero point, axis and range."""
    observer = observer_or_fake_quant
    scheme = getattr(observer, "qscheme", None)
    if not scheme or isinstance(observer, PlaceholderObserver):
        return {"qscheme": None, "dtype": observer.dtype}
    found = {"qscheme": scheme, "dtype": observer.dtype}
    if is_per_tensor(scheme):
        found["qscheme"] = per_tensor_affine  # quantized tensors have no symmetric schemes
    elif is_per_channel(scheme):
        found["qscheme"] = per_channel_affine if scheme == per_channel_symmetric else scheme
        found["axis"] = observer.ch_axis
    else:
        raise RuntimeError(f"Unrecognized qscheme: {scheme}")
    found["scale"], found["zero_point"] = observer.calculate_qparams()
    return found | {name: getattr(observer, name) for name in ("quant_min", "quant_max") if hasattr(observer, name)}


def get_qconfig_dtypes(qconfig: Any) -> tuple[Any, Any, bool]:
    """The dtypes of activations and of weights, and whether activations are quantized as they come."""
    if qconfig is None:
        raise AssertionError("qconfig must be provided to extract dtypes")
    activation = qconfig.activation()
    return activation.dtype, qconfig.weight().dtype, getattr(activation, "is_dynamic", False)


def activation_dtype(qconfig: Any) -> Any:
    """The dtype of activations."""
    if qconfig is None:
        raise AssertionError("qconfig must be provided to determine activation dtype")
    return qconfig.activation().dtype


def weight_dtype(qconfig: Any) -> Any:
    """The dtype of weights."""
    if qconfig is None:
        raise AssertionError("qconfig must be provided to determine weight dtype")
    return qconfig.weight().dtype


def activation_is_dynamically_quantized(qconfig: Any) -> bool:
    """Whether activations are quantized as they come."""
    return get_qconfig_dtypes(qconfig)[2]


def activation_is_int8_quantized(qconfig: Any) -> bool:
    """Whether activations have eight bits."""
    return activation_dtype(qconfig) in _UNSIGNED + _SIGNED


def activation_is_int32_quantized(qconfig: Any) -> bool:
    """Whether activations have 32 bits."""
    return activation_dtype(qconfig) in (dtypes.qint32, dtypes.int32)


def weight_is_statically_quantized(qconfig: Any) -> bool:
    """Whether weights have eight bits."""
    return weight_dtype(qconfig) in _UNSIGNED + _SIGNED


def op_is_int8_dynamically_quantized(qconfig: Any) -> bool:
    """Whether unsigned activations are quantized as they come, for signed weights of eight bits."""
    activation, weight, dynamic = get_qconfig_dtypes(qconfig)
    return activation in _UNSIGNED and weight in _SIGNED and dynamic


def check_min_max_valid(min_val: Any, max_val: Any) -> bool:
    """Whether extremes were seen; an error where the smallest is larger than the largest."""
    scalars = min_val.dim() == 0 or max_val.dim() == 0
    if not min_val.numel() or not max_val.numel() or scalars and min_val == float("inf") and max_val == float("-inf"):
        warnings.warn("must run observer before calling calculate_qparams. Returning default values.", stacklevel=2)
        return False
    if (min_val > max_val).any():
        raise AssertionError(f"min {min_val} should be less than max {max_val}")
    return True


def has_no_children_ignoring_parametrizations(module: Any) -> bool:
    """Whether a Module holds no others, but for parametrizations of its own parameters."""
    return not module._modules or is_parametrized(module) and list(module._modules) == ["parametrizations"]
