"""QConfig: how the activations and the weights of a module are to be observed."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...core.dtypes import float16, float32, qint8
from ...nn.modules.linear import Identity
from .fake_quantize import (
    FakeQuantize,
    FusedMovingAvgObsFakeQuantize,
    default_dynamic_fake_quant,
    default_embedding_fake_quant,
    default_fake_quant,
    default_fused_act_fake_quant,
    default_fused_per_channel_wt_fake_quant,
    default_fused_wt_fake_quant,
    default_per_channel_weight_fake_quant,
    default_weight_fake_quant,
    fused_per_channel_wt_fake_quant_range_neg_127_to_127,
    fused_wt_fake_quant_range_neg_127_to_127,
)
from .histogram import HistogramObserver
from .observer import (
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    NoopObserver,
    PlaceholderObserver,
    _PartialWrapper,
    default_debug_observer,
    default_dynamic_quant_observer,
    default_float_qparams_observer,
    default_observer,
    default_per_channel_weight_observer,
    default_placeholder_observer,
    default_reuse_input_observer,
    default_weight_observer,
    per_channel_weight_observer_range_neg_127_to_127,
    weight_observer_range_neg_127_to_127,
)


class QConfig(NamedTuple("_QConfig", [("activation", Any), ("weight", Any)])):
    """Makers of the observers for activations and for weights: classes, or ``Observer.with_args(...)``."""

    __slots__ = ()

    def __new__(cls, activation: Any, weight: Any) -> QConfig:
        for maker in (activation, weight):
            if callable(getattr(maker, "forward", None)) and not isinstance(maker, type):
                raise ValueError(
                    "QConfig received observer instance, please pass observer class instead: use MyObserver.with_args(x=1) "
                    "to override arguments to constructor if needed"
                )
        return super().__new__(cls, activation, weight)

    def __repr__(self) -> str:
        return f"QConfig(activation={self.activation!r}, weight={self.weight!r})"


class QConfigDynamic(QConfig):
    """The older name of a QConfig for dynamic quantization."""

    def __new__(cls, activation: Any = Identity, weight: Any = Identity) -> QConfigDynamic:
        return super().__new__(cls, activation, weight)  # type: ignore[return-value]


QConfigAny = QConfig | None
_EPS = 2**-12

default_qconfig = QConfig(activation=default_observer, weight=default_weight_observer)
default_debug_qconfig = QConfig(weight=default_weight_observer, activation=default_debug_observer)
default_per_channel_qconfig = QConfig(activation=default_observer, weight=default_per_channel_weight_observer)
default_dynamic_qconfig = QConfig(activation=default_dynamic_quant_observer, weight=default_weight_observer)
float16_dynamic_qconfig = QConfig(
    activation=PlaceholderObserver.with_args(dtype=float16, is_dynamic=True), weight=PlaceholderObserver.with_args(dtype=float16)
)
float16_static_qconfig = QConfig(
    activation=PlaceholderObserver.with_args(dtype=float16), weight=PlaceholderObserver.with_args(dtype=float16)
)
per_channel_dynamic_qconfig = QConfig(activation=default_dynamic_quant_observer, weight=default_per_channel_weight_observer)
float_qparams_weight_only_qconfig = QConfig(activation=default_placeholder_observer, weight=default_float_qparams_observer)
default_qat_qconfig = QConfig(activation=default_fake_quant, weight=default_weight_fake_quant)
default_dynamic_qat_qconfig = QConfig(activation=default_dynamic_fake_quant, weight=default_weight_fake_quant)
default_weight_only_qconfig = QConfig(activation=Identity, weight=default_weight_fake_quant)
default_activation_only_qconfig = QConfig(activation=default_fake_quant, weight=Identity)
default_qat_qconfig_v2 = QConfig(activation=default_fused_act_fake_quant, weight=default_fused_wt_fake_quant)
default_reuse_input_qconfig = QConfig(activation=default_reuse_input_observer, weight=NoopObserver)
default_embedding_qat_qconfig = QConfig(activation=NoopObserver.with_args(dtype=float32), weight=default_embedding_fake_quant)
default_quint8_weight_qconfig = QConfig(activation=HistogramObserver, weight=MinMaxObserver)
default_symmetric_qnnpack_qconfig = QConfig(
    activation=HistogramObserver.with_args(dtype=qint8, reduce_range=False, eps=_EPS), weight=weight_observer_range_neg_127_to_127
)
default_per_channel_symmetric_qnnpack_qconfig = QConfig(
    activation=HistogramObserver.with_args(dtype=qint8, reduce_range=False, eps=_EPS),
    weight=per_channel_weight_observer_range_neg_127_to_127,
)
_QNNPACK_ACTIVATION = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=-128, quant_max=127, dtype=qint8, reduce_range=False, eps=_EPS
)
default_symmetric_qnnpack_qat_qconfig = QConfig(activation=_QNNPACK_ACTIVATION, weight=fused_wt_fake_quant_range_neg_127_to_127)
default_per_channel_symmetric_qnnpack_qat_qconfig = QConfig(
    activation=_QNNPACK_ACTIVATION, weight=fused_per_channel_wt_fake_quant_range_neg_127_to_127
)

# Engine -> whether its kernels want activations of one bit less, and whether weights are quantized by channel.
_ENGINES = {"fbgemm": (True, True), "x86": (True, True), "onednn": (False, True), "qnnpack": (False, False)}


def _engine(backend: str, version: int, versions: tuple[int, ...]) -> tuple[bool, bool]:
    if version not in versions:
        raise AssertionError(f"Version number: {version} in get_default_qconfig is not supported. Version number must be one of {versions}")
    if backend not in _ENGINES:
        raise AssertionError(f"backend: {backend} not supported. backend must be one of {list(_ENGINES)}")
    return _ENGINES[backend]


def get_default_qconfig(backend: str = "x86", version: int = 0) -> QConfig:
    """How to observe for a back-end's kernels."""
    reduce_range, by_channel = _engine(backend, version, (0,))
    return QConfig(
        activation=HistogramObserver.with_args(reduce_range=reduce_range),
        weight=default_per_channel_weight_observer if by_channel else default_weight_observer,
    )


def get_default_qat_qconfig(backend: str = "x86", version: int | None = 1) -> QConfig:
    """How to train for a back-end's kernels."""
    version = 1 if version is None else version
    reduce_range, by_channel = _engine(backend, version, (0, 1))
    options: dict[str, Any] = {"observer": MovingAverageMinMaxObserver, "quant_min": 0, "quant_max": 255, "reduce_range": reduce_range}
    if backend == "onednn":
        del options["reduce_range"]
    if version == 0:
        weight = default_per_channel_weight_fake_quant if by_channel else default_weight_fake_quant
        return QConfig(activation=FakeQuantize.with_args(**options), weight=weight)
    weight = default_fused_per_channel_wt_fake_quant if by_channel else default_fused_wt_fake_quant
    return QConfig(activation=FusedMovingAvgObsFakeQuantize.with_args(**options), weight=weight)


def qconfig_equals(q1: Any, q2: Any) -> bool:
    """Whether two QConfigs make the same observers."""

    def parts(maker: Any) -> Any:
        if isinstance(maker, _PartialWrapper):
            return (maker.p.func, maker.p.args, maker.p.keywords) if hasattr(maker.p, "func") else maker.p
        return maker

    if q1 is None or q2 is None:
        return q1 is q2
    return parts(q1.activation) == parts(q2.activation) and parts(q1.weight) == parts(q2.weight)
