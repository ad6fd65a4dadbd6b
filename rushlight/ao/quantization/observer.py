"""Observers: modules that watch values pass and say which scale and zero point suit them."""

from __future__ import annotations

import importlib
import warnings
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...core import dtypes
from ...core.dtypes import float32, int32, qint8, qint32, quint8
from ...core.errors import ArgumentError
from ...core.quantized import SCHEMES
from ...nn.modules.module import Module
from ...tensor.construct import tensor

per_tensor_affine, per_tensor_symmetric = SCHEMES["per_tensor_affine"], SCHEMES["per_tensor_symmetric"]
per_channel_affine, per_channel_symmetric = SCHEMES["per_channel_affine"], SCHEMES["per_channel_symmetric"]
float_qparams = SCHEMES["per_channel_affine_float_qparams"]
EPSILON = float(np.finfo(np.float32).eps)
_RANGES: dict[Any, tuple[int, int]] = {
    kind: (int(limits.min), int(limits.max))
    for kind in (quint8, qint8, qint32, dtypes.int8, dtypes.uint8, dtypes.int16, dtypes.int32, dtypes.uint16)
    for limits in (np.iinfo(kind.integer if kind.integer is not None else kind.numpy),)
}


class _PartialWrapper:
    """A function with some arguments given, which takes more of them: what a QConfig holds."""

    def __init__(self, p: Any) -> None:
        self.p = p
        self.callable_args: dict[str, Any] = {}

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        for name, function in self.callable_args.items():
            keywords.setdefault(name, function())
        return self.p(*args, **keywords)

    def __repr__(self) -> str:
        return repr(self.p) + repr(self.callable_args)

    def with_args(self, **kwargs: Any) -> _PartialWrapper:
        """The same with further arguments."""
        made = _PartialWrapper(partial(self.p, **kwargs))
        made.callable_args = dict(self.callable_args)
        return made

    def with_callable_args(self, **kwargs: Any) -> _PartialWrapper:
        """The same with arguments that are computed at the call."""
        made = _PartialWrapper(self.p)
        made.callable_args = {**self.callable_args, **kwargs}
        return made


class _WithArguments(Module):
    """Gives a class ``with_args``, by which a QConfig says how to make it."""

    @classmethod
    def with_args(cls, **kwargs: Any) -> _PartialWrapper:
        """A function that makes an instance with these arguments."""
        return _PartialWrapper(partial(cls, **kwargs))

    @classmethod
    def with_callable_args(cls, **kwargs: Any) -> _PartialWrapper:
        """The same with arguments that are computed when an instance is made."""
        return _PartialWrapper(cls).with_callable_args(**kwargs)


class ObserverBase(ABC, _WithArguments):
    """What all observers have in common: the type that they observe for."""

    def __init__(self, dtype: Any, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype = dtype
        self.is_dynamic = is_dynamic

    @abstractmethod
    def forward(self, x: Any) -> Any:
        """Take note of a tensor, and return it."""

    @abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """The scale and the zero point that suit what was seen."""


def validate_qmin_qmax(quant_min: int, quant_max: int) -> None:
    """Refuse a range that is empty or leaves out zero."""
    if not quant_min <= 0 <= quant_max:
        raise AssertionError("Used-specified quantization range must include 0.")
    if not quant_min < quant_max:
        raise AssertionError("qmin must be strictly less than qmax for user-specified quantization range.")


def calculate_qmin_qmax(quant_min: Any, quant_max: Any, has_customized_qrange: bool, dtype: Any, reduce_range: bool) -> tuple[int, int]:
    """The integers to use: those that were asked for, or all of a dtype; half as many where the range is to be reduced."""
    least, most = _RANGES.get(dtype, (0, 15))
    numbers = most - least + 1
    if has_customized_qrange:
        if least < 0 and dtype is not dtypes.int16 and not 0 < quant_max - quant_min + 1 <= numbers:
            raise AssertionError(f"quantization range should be positive and not exceed the maximum bit range (={numbers}).")
        least, most = quant_min, quant_max
    return (least // 2, most // 2) if reduce_range and (has_customized_qrange or numbers == 256) else (least, most)


def suitable_qparams(
    min_val: Any, max_val: Any, quant_min: int, quant_max: int, dtype: Any, eps: Any, has_customized_qrange: bool, qscheme: Any
) -> tuple[Any, Any]:
    """Scale and zero point (each a tensor) from the smallest and the largest values."""
    least, most = np.asarray(min_val.detach()._array, np.float32), np.asarray(max_val.detach()._array, np.float32)
    if not least.size or np.any(np.isinf(least)) or np.any(np.isinf(most)):
        warnings.warn("must run observer before calling calculate_qparams. Returning default values.", stacklevel=4)
        return tensor([1.0]), tensor([0])
    if np.any(least > most):
        raise AssertionError(f"min {min_val} should be less than max {max_val}")
    low, high = np.minimum(least, 0), np.maximum(most, 0)
    span = np.float32(quant_max - quant_min)
    floor = eps._array.astype(np.float32)
    kind = min_val._array.dtype if min_val.dtype in (dtypes.float16, dtypes.bfloat16) else np.float32  # what scales are rounded to

    def rounded(values: Any) -> Any:
        return np.asarray(values).astype(kind).astype(np.float32)

    if qscheme in (per_tensor_symmetric, per_channel_symmetric):
        scale = np.maximum(rounded(np.maximum(-low, high) / (span / np.float32(2))), floor)
        middle = 0
        if dtype in (quint8, dtypes.uint8):
            middle = (quant_min + quant_max) // 2 if has_customized_qrange else 128
        zero_point: Any = np.full(scale.shape, middle, np.int64)
    elif qscheme is float_qparams:
        scale = rounded(rounded(most - least) / span)
        scale = np.where(scale > floor, scale, np.float32(1))
        zero_point = -least / scale
    else:
        scale = np.maximum(rounded(rounded(high - low) / span), floor)
        steps = np.rint(low / scale).astype(np.int64)
        zero_point = np.clip(quant_min - steps, quant_min, quant_max).astype(np.int32)
    return tensor(np.atleast_1d(scale).astype(np.float32)), tensor(np.atleast_1d(zero_point))


class UniformQuantizationObserverBase(ObserverBase):
    """Observers that find the smallest and the largest value, and spread the integers evenly between them."""

    def __init__(
        self, dtype: Any = quint8, qscheme: Any = per_tensor_affine, reduce_range: bool = False, quant_min: Any = None,
        quant_max: Any = None, factory_kwargs: Any = None, eps: float = EPSILON, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        self.qscheme = qscheme
        if reduce_range:
            warnings.warn(
                "Please use quant_min and quant_max to specify the range for observers: reduce_range will be deprecated.", stacklevel=2
            )
        self.reduce_range = reduce_range
        self.register_buffer("eps", tensor([eps]))
        if qscheme not in (per_tensor_affine, per_tensor_symmetric, per_channel_affine, per_channel_symmetric, float_qparams):
            raise AssertionError("Default Observer only works for per tensor and per channel schemes")
        if dtype not in _RANGES:
            raise AssertionError(f"Default Observer only works for {tuple(_RANGES)} data type, not {dtype}")
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        if self.has_customized_qrange:
            self._validate_qmin_qmax(quant_min, quant_max)
        self.quant_min, self.quant_max = calculate_qmin_qmax(quant_min, quant_max, self.has_customized_qrange, dtype, reduce_range)

    def _validate_qmin_qmax(self, quant_min: int, quant_max: int) -> None:
        validate_qmin_qmax(quant_min, quant_max)

    def _calculate_qparams(self, min_val: Any, max_val: Any) -> tuple[Any, Any]:
        """Scale and zero point (each a tensor) from the smallest and the largest values."""
        limits = self.quant_min, self.quant_max
        return suitable_qparams(min_val, max_val, *limits, self.dtype, self.eps, self.has_customized_qrange, self.qscheme)

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        raise NotImplementedError("Cannot reset min/max values in the given observer.")


class MinMaxObserver(UniformQuantizationObserverBase):
    """The smallest and the largest value of all tensors seen."""

    def __init__(
        self, dtype: Any = quint8, qscheme: Any = per_tensor_affine, reduce_range: bool = False, quant_min: Any = None,
        quant_max: Any = None, factory_kwargs: Any = None, eps: float = EPSILON, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if qscheme.per_channel:
            raise NotImplementedError(
                f"{type(self).__name__}'s qscheme only support torch.per_tensor_symmetric and torch.per_tensor_affine."
            )
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        self.register_buffer("min_val", tensor(float("inf")))
        self.register_buffer("max_val", tensor(float("-inf")))

    def forward(self, x_orig: Any) -> Any:
        """Take note of the extremes of a tensor, and return it."""
        if x_orig.numel() == 0:
            return x_orig
        low, high = _extremes(x_orig)
        self._see(np.minimum(low, self.min_val._array), np.maximum(high, self.max_val._array))
        return x_orig

    def _see(self, low: Any, high: Any) -> None:
        self.min_val.copy_(tensor(np.asarray(low, np.float32)))
        self.max_val.copy_(tensor(np.asarray(high, np.float32)))

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        """The scale and the zero point, as tensors."""
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        """What was seen."""
        return (
            f"min_val={self.min_val}, max_val={self.max_val}"
            if self.min_val.numel() != 1
            else (f"min_val={self.min_val.item()}, max_val={self.max_val.item()}")
        )

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        self._see(np.inf, -np.inf)


def _extremes(x: Any, axis: int | None = None) -> tuple[Any, Any]:
    """The smallest and the largest value of a tensor, or of each of its channels, in float32."""
    array = np.asarray(x.detach()._array).astype(np.float32)
    dims = None if axis is None else tuple(dim for dim in range(array.ndim) if dim != axis % array.ndim)
    return np.min(array, axis=dims), np.max(array, axis=dims)


class MovingAverageMinMaxObserver(MinMaxObserver):
    """A moving average of the smallest and the largest value."""

    def __init__(
        self, averaging_constant: float = 0.01, dtype: Any = quint8, qscheme: Any = per_tensor_affine, reduce_range: bool = False,
        quant_min: Any = None, quant_max: Any = None, eps: float = EPSILON, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if qscheme.per_channel:
            raise NotImplementedError(
                f"MovingAverageMinMaxObserver's qscheme only support torch.per_tensor_symmetric and torch.per_tensor_affine, not {qscheme}"
            )
        self.averaging_constant = averaging_constant
        if is_dynamic and averaging_constant != 1:
            raise NotImplementedError("MovingAverageMinMaxObserver doesn't support dynamic quantization for averaging constant != 1")
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, None, eps, is_dynamic, **kwargs)
        self.averaging_constant = averaging_constant

    def forward(self, x_orig: Any) -> Any:
        """Take note of the extremes of a tensor, and return it."""
        if x_orig.numel() == 0:
            return x_orig
        self._see(*_moved(_extremes(x_orig), (self.min_val._array, self.max_val._array), self.averaging_constant))
        return x_orig


def _moved(seen: tuple[Any, Any], running: tuple[Any, Any], constant: float) -> tuple[Any, Any]:
    """Running extremes that move a little towards those just seen; the first ones are taken as they are."""
    if np.any(np.isinf(running[0])) and np.any(np.isinf(running[1])):
        return seen
    return tuple(old + np.float32(constant) * (new - old) for new, old in zip(seen, running))  # type: ignore[return-value]


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """The smallest and the largest value of each channel."""

    min_val: Any
    max_val: Any

    def __init__(
        self, ch_axis: int = 0, dtype: Any = quint8, qscheme: Any = per_channel_affine, reduce_range: bool = False,
        quant_min: Any = None, quant_max: Any = None, factory_kwargs: Any = None, eps: float = EPSILON, is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        if not qscheme.per_channel:
            raise NotImplementedError(
                "PerChannelMinMaxObserver's qscheme only support torch.per_channel_symmetric, torch.per_channel_affine and "
                "torch.per_channel_affine_float_qparams."
            )
        if is_dynamic:
            raise NotImplementedError("PerChannelMinMaxObserver doesn't support dynamic quantization")
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        self.ch_axis = ch_axis
        self.register_buffer("min_val", tensor([]))
        self.register_buffer("max_val", tensor([]))

    def forward(self, x_orig: Any) -> Any:
        """Take note of the extremes of a tensor's channels, and return it."""
        if x_orig.numel() == 0:
            return x_orig
        low, high = _extremes(x_orig, self.ch_axis)
        if self.min_val.numel():
            low, high = self._combined(low, high)
        self.min_val, self.max_val = tensor(np.asarray(low, np.float32)), tensor(np.asarray(high, np.float32))
        return x_orig

    def _combined(self, low: Any, high: Any) -> tuple[Any, Any]:
        return np.minimum(low, self.min_val._array), np.maximum(high, self.max_val._array)

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        """The scales and the zero points, as tensors."""
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        """What was seen."""
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        # How many channels there are is known from what was saved.
        for name in ("min_val", "max_val"):
            if prefix + name in state_dict:
                setattr(self, name, state_dict[prefix + name].clone())
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        self.min_val, self.max_val = tensor([]), tensor([])


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """A moving average of the smallest and the largest value of each channel."""

    def __init__(
        self, averaging_constant: float = 0.01, ch_axis: int = 0, dtype: Any = quint8, qscheme: Any = per_channel_affine,
        reduce_range: bool = False, quant_min: Any = None, quant_max: Any = None, eps: float = EPSILON, is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(ch_axis, dtype, qscheme, reduce_range, quant_min, quant_max, None, eps, is_dynamic, **kwargs)
        self.averaging_constant = averaging_constant

    def _combined(self, low: Any, high: Any) -> tuple[Any, Any]:
        return _moved((low, high), (self.min_val._array, self.max_val._array), self.averaging_constant)


class FixedQParamsObserver(ObserverBase):
    """A scale and a zero point that are known beforehand."""

    def __init__(
        self, scale: float, zero_point: int, dtype: Any = quint8, qscheme: Any = per_tensor_affine, quant_min: int = 0,
        quant_max: int = 255, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if is_dynamic:
            raise NotImplementedError("FixedQParamsObserver doesn't support dynamic quantization")
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        self.quant_min, self.quant_max = quant_min, quant_max
        self.register_buffer("scale", tensor([scale], dtype=float32))
        self.register_buffer("zero_point", tensor([zero_point], dtype=int32))
        self.qscheme = qscheme

    def forward(self, X: Any) -> Any:
        """The tensor as it is."""
        return X

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        """What was given."""
        return self.scale, self.zero_point


class PlaceholderObserver(ObserverBase):
    """Observes nothing: says which type is wanted where that is all there is to know."""

    def __init__(
        self, dtype: Any = float32, custom_op_name: str = "", compute_dtype: Any = None, quant_min: Any = None, quant_max: Any = None,
        qscheme: Any = None, eps: Any = None, is_dynamic: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(dtype=dtype, is_dynamic=is_dynamic)
        self.qscheme = per_tensor_affine if qscheme is None else qscheme
        self.quant_min, self.quant_max, self.eps = quant_min, quant_max, eps
        self.custom_op = custom_op_name
        if compute_dtype:
            self.is_dynamic = True

    def forward(self, x: Any) -> Any:
        """The tensor as it is."""
        return x

    def extra_repr(self) -> str:
        """The type that is wanted."""
        return f"dtype={self.dtype}, is_dynamic={self.is_dynamic}"

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        """Raise: nothing is observed."""
        raise NotImplementedError("calculate_qparams should not be called for PlaceholderObserver")


class RecordingObserver(ObserverBase):
    """Keeps copies of all tensors seen."""

    def __init__(self, dtype: Any = quint8) -> None:
        super().__init__(dtype=dtype, is_dynamic=False)
        self.tensor_val: list[Any] = []

    def forward(self, x: Any) -> Any:
        """Keep a copy of a tensor, and return it."""
        self.tensor_val.append(x.clone())
        return x

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        """Raise: tensors are kept, not measured."""
        raise NotImplementedError("calculate_qparams should not be called for RecordingObserver")

    def get_tensor_value(self) -> list[Any]:
        """The tensors seen."""
        return self.tensor_val


class NoopObserver(ObserverBase):
    """Observes nothing."""

    def __init__(self, dtype: Any = dtypes.float16, custom_op_name: str = "") -> None:
        super().__init__(dtype=dtype, is_dynamic=False)
        self.custom_op = custom_op_name

    def forward(self, x: Any) -> Any:
        """The tensor as it is."""
        return x

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        """Raise: nothing is observed."""
        raise NotImplementedError("calculate_qparams should not be called for NoopObserver")


class ReuseInputObserver(ObserverBase):
    """Says that a result has the scale and zero point of the input."""

    def __init__(self) -> None:
        super().__init__(quint8, is_dynamic=False)

    def forward(self, x: Any) -> Any:
        """The tensor as it is."""
        return x

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        """Raise: nothing is observed."""
        raise NotImplementedError("calculate_qparams should not be called for ReuseInputObserver")


def _is_activation_post_process(module: Any) -> bool:
    """Whether a module is an observer or a fake quantization."""
    return isinstance(module, ObserverBase) or hasattr(type(module), "_is_fake_quantize")


def get_observer_state_dict(mod: Any) -> OrderedDict[str, Any]:
    """The part of a model's state that observers hold."""
    return OrderedDict((name, value) for name, value in mod.state_dict().items() if "activation_post_process" in name)


def load_observer_state_dict(mod: Any, obs_dict: Any) -> None:
    """Give the observers of a model a state that was saved."""
    known = mod.state_dict()
    wrong = [name for name in obs_dict if name not in known]
    absent = [name for name in known if "activation_post_process" in name and name not in obs_dict]
    if wrong or absent:
        raise ArgumentError(f"the observers' state does not fit the model: not in the model {wrong}, not in the state {absent}")
    mod.load_state_dict({**known, **obs_dict})


Maker = Callable[..., Any]
default_observer: Maker = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_placeholder_observer: Maker = PlaceholderObserver
default_debug_observer: Maker = RecordingObserver
default_weight_observer: Maker = MinMaxObserver.with_args(dtype=qint8, qscheme=per_tensor_symmetric)
weight_observer_range_neg_127_to_127: Maker = MinMaxObserver.with_args(
    dtype=qint8, qscheme=per_tensor_symmetric, quant_min=-127, quant_max=127, eps=2**-12
)
default_per_channel_weight_observer: Maker = PerChannelMinMaxObserver.with_args(dtype=qint8, qscheme=per_channel_symmetric)
per_channel_weight_observer_range_neg_127_to_127: Maker = PerChannelMinMaxObserver.with_args(
    dtype=qint8, qscheme=per_channel_symmetric, quant_min=-127, quant_max=127, eps=2**-12
)
default_dynamic_quant_observer: Maker = PlaceholderObserver.with_args(dtype=quint8, quant_min=0, quant_max=255, is_dynamic=True)
default_float_qparams_observer: Maker = PerChannelMinMaxObserver.with_args(dtype=quint8, qscheme=float_qparams, ch_axis=0)
default_fixed_qparams_range_neg1to1_observer: Maker = FixedQParamsObserver.with_args(
    scale=2.0 / 256.0, zero_point=128, dtype=quint8, quant_min=0, quant_max=255
)
default_fixed_qparams_range_0to1_observer: Maker = FixedQParamsObserver.with_args(
    scale=1.0 / 256.0, zero_point=0, dtype=quint8, quant_min=0, quant_max=255
)
default_symmetric_fixed_qparams_observer = default_fixed_qparams_range_neg1to1_observer
default_affine_fixed_qparams_observer = default_fixed_qparams_range_0to1_observer
default_reuse_input_observer: Maker = ReuseInputObserver


def __getattr__(name: str) -> Any:
    if name in ("HistogramObserver", "default_histogram_observer"):  # PyTorch has them here; their file builds on this one
        return getattr(importlib.import_module(f"{__package__}.histogram"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}: it is not in rushlight yet", name=name)
