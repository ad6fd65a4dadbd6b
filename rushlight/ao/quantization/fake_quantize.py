"""Fake quantization as modules: they observe, and round as quantization will, so that training gets used to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from ...core.dtypes import float32, int32, int64, qint8, quint8, uint8
from ...ops.quantized.learned_fake_quantize import follow
from ...ops.quantized.quantize import fake_quantize_per_channel_affine, fake_quantize_per_tensor_affine
from ...tensor.construct import tensor
from .histogram import HistogramObserver
from .observer import (
    Maker,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    _WithArguments,
    default_fixed_qparams_range_0to1_observer,
    default_fixed_qparams_range_neg1to1_observer,
    float_qparams,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
)


class FakeQuantizeBase(ABC, _WithArguments):
    """What fake quantizations have in common: two switches."""

    _is_fake_quantize = True
    fake_quant_enabled: Any
    observer_enabled: Any

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("fake_quant_enabled", tensor([1], dtype=uint8))
        self.register_buffer("observer_enabled", tensor([1], dtype=uint8))

    @abstractmethod
    def forward(self, x: Any) -> Any:
        """Observe a tensor, and return it rounded."""

    @abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """The scale and the zero point that suit what was seen."""

    def enable_fake_quant(self, enabled: bool = True) -> None:
        """Round from now on, or not."""
        self.fake_quant_enabled[0] = 1 if enabled else 0

    def disable_fake_quant(self) -> None:
        """Do not round from now on."""
        self.enable_fake_quant(False)

    def enable_observer(self, enabled: bool = True) -> None:
        """Observe from now on, or not."""
        self.observer_enabled[0] = 1 if enabled else 0

    def disable_observer(self) -> None:
        """Do not observe from now on."""
        self.enable_observer(False)

    def _is_on(self, switch: Any) -> bool:
        return bool(switch._array[0])


class FakeQuantize(FakeQuantizeBase):
    """Fake quantization with the scale and zero point that an observer finds."""

    scale: Any
    zero_point: Any

    def __init__(
        self, observer: Any = MovingAverageMinMaxObserver, quant_min: Any = None, quant_max: Any = None, is_dynamic: bool = False,
        **observer_kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        if quant_min is not None and quant_max is not None:
            if quant_min > quant_max:
                raise AssertionError("quant_min must be less than or equal to quant_max")
            observer_kwargs.update(quant_min=quant_min, quant_max=quant_max)
        observer_kwargs["is_dynamic"] = is_dynamic
        self.activation_post_process = observer(**observer_kwargs)
        self.quant_min, self.quant_max = self.activation_post_process.quant_min, self.activation_post_process.quant_max
        self.is_dynamic = self.activation_post_process.is_dynamic
        self.dtype, self.qscheme = self.activation_post_process.dtype, self.activation_post_process.qscheme
        self.ch_axis = getattr(self.activation_post_process, "ch_axis", -1)
        self.is_per_channel = self.qscheme.per_channel
        self.register_buffer("scale", tensor([1.0]))
        self.register_buffer("zero_point", tensor([0], dtype=float32 if self.qscheme is float_qparams else int32))

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        """The scale and the zero point that suit what was seen."""
        return self.activation_post_process.calculate_qparams()

    def forward(self, X: Any) -> Any:
        """Observe a tensor, and return it rounded."""
        if self._is_on(self.observer_enabled):
            self.activation_post_process(X.detach())
            scale, zero_point = self.calculate_qparams()
            self.scale = scale.to(float32)
            self.zero_point = zero_point.to(self.zero_point.dtype)
        if not self._is_on(self.fake_quant_enabled):
            return X
        if self.is_per_channel:
            return fake_quantize_per_channel_affine(X, self.scale, self.zero_point, self.ch_axis, self.quant_min, self.quant_max)
        return fake_quantize_per_tensor_affine(X, self.scale, self.zero_point, self.quant_min, self.quant_max)

    def extra_repr(self) -> str:
        """Switches, type, range, scale and zero point."""
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, quant_min={self.quant_min}, "
            f"quant_max={self.quant_max}, dtype={self.dtype}, qscheme={self.qscheme}, ch_axis={self.ch_axis}, scale={self.scale}, "
            f"zero_point={self.zero_point}"
        )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        # How many channels there are is known from what was saved.
        for name in ("scale", "zero_point"):
            if prefix + name in state_dict:
                setattr(self, name, state_dict[prefix + name].clone())
        super()._load_from_state_dict(state_dict, prefix, *rest)


class FixedQParamsFakeQuantize(FakeQuantize):
    """Fake quantization with a scale and zero point that are known beforehand."""

    def __init__(self, observer: Any) -> None:
        super().__init__(observer=lambda **ignored: observer())
        if not hasattr(self.activation_post_process, "scale"):
            raise AssertionError("FixedQParamsFakeQuantize must be used with a FixedQParamsObserver")
        self.scale, self.zero_point = self.activation_post_process.scale, self.activation_post_process.zero_point
        if self.qscheme.per_channel:
            raise AssertionError("Only per tensor quantization is supported FixedQParamsFakeQuantize module")

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        """What was given."""
        return self.scale, self.zero_point


class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    """Observation by a moving average and fake quantization in one."""

    def __init__(
        self, observer: Any = MovingAverageMinMaxObserver, quant_min: int = 0, quant_max: int = 255, **observer_kwargs: Any
    ) -> None:
        super().__init__(observer, quant_min, quant_max, **observer_kwargs)
        if not isinstance(self.activation_post_process, (MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver)):
            raise AssertionError("Fused observer+fake_quant module only works with MovingAverageMinMaxObserver")
        self.register_buffer("fake_quant_enabled", tensor([1], dtype=int64))
        self.register_buffer("observer_enabled", tensor([1], dtype=int64))
        self.is_symmetric_quant = self.qscheme in (per_tensor_symmetric, per_channel_symmetric)

    def forward(self, X: Any) -> Any:
        """Observe a tensor, and return it rounded."""
        observer = self.activation_post_process
        if self._is_on(self.observer_enabled):
            follow(
                X, observer.min_val, observer.max_val, self.scale, self.zero_point, observer.averaging_constant, self.quant_min,
                self.quant_max, self.ch_axis if self.is_per_channel else None, self.is_symmetric_quant,
            )  # fmt: skip
        if not self._is_on(self.fake_quant_enabled):
            return X
        scale, zero_point = self.scale.clone(), self.zero_point.clone()  # the next call writes to the buffers, and gradients need these
        if self.is_per_channel:
            return fake_quantize_per_channel_affine(X, scale, zero_point, self.ch_axis, self.quant_min, self.quant_max)
        return fake_quantize_per_tensor_affine(X, scale, zero_point, self.quant_min, self.quant_max)

    def extra_repr(self) -> str:
        """Switches, scale and zero point, type and range."""
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, scale={self.scale}, "
            f"zero_point={self.zero_point}, dtype={self.dtype}, quant_min={self.activation_post_process.quant_min}, "
            f"quant_max={self.activation_post_process.quant_max}, qscheme={self.qscheme}, reduce_range={self.activation_post_process.reduce_range}"
        )


def disable_fake_quant(mod: Any) -> None:
    """For ``model.apply``: do not round."""
    if isinstance(mod, FakeQuantizeBase):
        mod.disable_fake_quant()


def enable_fake_quant(mod: Any) -> None:
    """For ``model.apply``: round."""
    if isinstance(mod, FakeQuantizeBase):
        mod.enable_fake_quant()


def disable_observer(mod: Any) -> None:
    """For ``model.apply``: do not observe."""
    if isinstance(mod, FakeQuantizeBase):
        mod.disable_observer()


def enable_observer(mod: Any) -> None:
    """For ``model.apply``: observe."""
    if isinstance(mod, FakeQuantizeBase):
        mod.enable_observer()


_ACTIVATION: dict[str, Any] = {"observer": MovingAverageMinMaxObserver, "quant_min": 0, "quant_max": 255, "dtype": quint8}
_WEIGHT: dict[str, Any] = {"quant_min": -128, "quant_max": 127, "dtype": qint8}
_NARROW: dict[str, Any] = {"quant_min": -127, "quant_max": 127, "dtype": qint8, "eps": 2**-12}
_CHANNELS: Any = MovingAveragePerChannelMinMaxObserver

default_fake_quant: Maker = FakeQuantize.with_args(**_ACTIVATION, qscheme=per_tensor_affine, reduce_range=True)
default_weight_fake_quant: Maker = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, **_WEIGHT, qscheme=per_tensor_symmetric, reduce_range=False
)
default_dynamic_fake_quant: Maker = FakeQuantize.with_args(**_ACTIVATION, is_dynamic=True, averaging_constant=1)
default_fixed_qparams_range_neg1to1_fake_quant: Maker = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_neg1to1_observer
)
default_fixed_qparams_range_0to1_fake_quant: Maker = FixedQParamsFakeQuantize.with_args(observer=default_fixed_qparams_range_0to1_observer)
default_symmetric_fixed_qparams_fake_quant = default_fixed_qparams_range_neg1to1_fake_quant
default_affine_fixed_qparams_fake_quant = default_fixed_qparams_range_0to1_fake_quant
default_per_channel_weight_fake_quant: Maker = FakeQuantize.with_args(
    observer=_CHANNELS, **_WEIGHT, qscheme=per_channel_symmetric, reduce_range=False, ch_axis=0
)
default_embedding_fake_quant: Maker = FakeQuantize.with_args(
    observer=_CHANNELS, qscheme=float_qparams, dtype=quint8, quant_min=0, quant_max=255, ch_axis=0, averaging_constant=1
)
default_histogram_fake_quant: Maker = FakeQuantize.with_args(
    observer=HistogramObserver, quant_min=0, quant_max=255, dtype=quint8, qscheme=per_tensor_affine, reduce_range=True
)
default_fused_act_fake_quant: Maker = FusedMovingAvgObsFakeQuantize.with_args(**_ACTIVATION)
default_fused_wt_fake_quant: Maker = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, **_WEIGHT, qscheme=per_tensor_symmetric
)
default_fused_per_channel_wt_fake_quant: Maker = FusedMovingAvgObsFakeQuantize.with_args(
    observer=_CHANNELS, **_WEIGHT, qscheme=per_channel_symmetric
)
fused_wt_fake_quant_range_neg_127_to_127: Maker = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, **_NARROW, qscheme=per_tensor_symmetric
)
fused_per_channel_wt_fake_quant_range_neg_127_to_127: Maker = FusedMovingAvgObsFakeQuantize.with_args(
    observer=_CHANNELS, **_NARROW, qscheme=per_channel_symmetric
)
