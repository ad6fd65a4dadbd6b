"""Activations, normalisations and embeddings on quantized tensors."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....core.declare import table
from ....core.dtypes import quint8
from ....ops.quantized import functions as ops
from ....ops.quantized.layers import quantized_embedding
from ....ops.quantized.quantize import quantize_per_channel, quantize_per_tensor
from ....tensor.construct import tensor
from .quantize import QuantizedModule, observed_output, quantize_weight


class ReLU6(nn.ReLU):
    """Limits quantized tensors to 0 and 6."""

    def forward(self, input: Any) -> Any:
        """The limited tensor."""
        return ops.quantized_relu6(input, self.inplace)

    def _get_name(self) -> str:
        return "QuantizedReLU6"

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> ReLU6:
        """In the place of the float module."""
        return ReLU6(mod.inplace)


class _Rounding:
    """Modules whose output has a scale and zero point that were observed, kept as buffers."""

    _float: tuple[str, ...] = ()  # attributes that the float module's constructor takes

    def _output(self, scale: Any, zero_point: Any) -> None:
        me: Any = self
        me.register_buffer("scale", tensor(float(scale)))
        me.register_buffer("zero_point", tensor(int(zero_point)))

    @property
    def _rounding(self) -> tuple[float, int]:
        me: Any = self
        return float(me.scale._array), int(me.zero_point._array)

    def _get_name(self) -> str:
        return "Quantized" + type(self).__name__

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """In the place of a float module that was observed."""
        source = mod[0] if isinstance(mod, nn.Sequential) else mod
        make: Any = cls
        made = make(*observed_output(mod), *[getattr(source, name) for name in cls._float])
        made._adopt(source)
        return made

    def _adopt(self, source: Any) -> None:
        """Take over parameters and statistics."""


class Hardswish(_Rounding, nn.Hardswish):
    """``x * relu6(x + 3) / 6`` of quantized tensors."""

    def __init__(self, scale: Any, zero_point: Any) -> None:
        super().__init__()
        self._output(scale, zero_point)

    def forward(self, input: Any) -> Any:
        """The quantized result."""
        return ops.quantized_hardswish(input, *self._rounding)


class ELU(_Rounding, nn.ELU):
    """Exponential linear units on quantized tensors."""

    _float = ("alpha",)

    def __init__(self, scale: Any, zero_point: Any, alpha: float = 1.0) -> None:
        super().__init__(alpha)
        self._output(scale, zero_point)

    def forward(self, input: Any) -> Any:
        """The quantized result."""
        return ops.quantized_elu(input, *self._rounding, self.alpha)


class LeakyReLU(_Rounding, nn.LeakyReLU):
    """Leaky rectified linear units on quantized tensors."""

    _float = ("negative_slope", "inplace")

    def __init__(self, scale: Any, zero_point: Any, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__(negative_slope, inplace)
        self._output(scale, zero_point)

    def forward(self, input: Any) -> Any:
        """The quantized result."""
        return ops.quantized_leaky_relu(input, self.negative_slope, self.inplace, *self._rounding)


class Sigmoid(_Rounding, nn.Sigmoid):
    """The logistic function on quantized tensors."""

    def __init__(self, output_scale: Any, output_zero_point: Any) -> None:
        super().__init__()
        self._output(output_scale, output_zero_point)

    def forward(self, input: Any) -> Any:
        """The quantized result."""
        return ops.quantized_sigmoid(input, *self._rounding)


class Softmax(_Rounding, nn.Softmax):
    """Softmax on quantized tensors."""

    def __init__(self, dim: int | None = None, scale: float = 1.0, zero_point: int = 0) -> None:
        super().__init__(dim)
        self._output(scale, zero_point)

    def forward(self, input: Any) -> Any:
        """The quantized result."""
        dim = -1 if self.dim is None else self.dim
        return ops.quantized_softmax(input, dim, *self._rounding)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """In the place of a float module that was observed."""
        return cls(mod.dim, *observed_output(mod))


class PReLU(_Rounding, nn.Module):
    """Rectified linear units with a slope that was learnt, on quantized tensors."""

    def __init__(self, output_scale: float, output_zero_point: int, num_parameters: int = 1) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self._output(output_scale, output_zero_point)
        self.set_weight(tensor([0.25] * num_parameters))

    def set_weight(self, w: Any) -> None:
        """Take the slopes, as real numbers."""
        most = float(w.abs().max()) or 1.0
        self.weight = quantize_per_tensor(w.detach(), most / 127, 128, quint8)

    def _adopt(self, source: Any) -> None:
        observer = source.qconfig.weight()
        observer(source.weight)
        scale, zero_point = observer.calculate_qparams()
        self.weight = quantize_per_tensor(source.weight.detach().float(), float(scale.item()), int(zero_point.item()), observer.dtype)
        self.num_parameters = source.num_parameters

    def forward(self, input: Any) -> Any:
        """The quantized result."""
        return ops.quantized_prelu(input, self.weight, *self._rounding)


class Dropout(nn.Dropout):
    """Does nothing to quantized tensors: they are not trained."""

    def forward(self, input: Any) -> Any:
        """The input as it is."""
        return input

    def _get_name(self) -> str:
        return "QuantizedDropout"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Dropout:
        """In the place of the float module."""
        return cls(mod.p, mod.inplace)


# -- normalisation -----------------------------------------------------------------------------------------------


class _BatchNorm(_Rounding):
    _relu = False

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, device: Any = None, dtype: Any = None) -> None:
        super().__init__(num_features, eps, momentum)  # type: ignore[call-arg]
        self._output(1.0, 0)

    def forward(self, input: Any) -> Any:
        """The quantized result."""
        me: Any = self
        function = ops.quantized_batch_norm_relu if self._relu else ops.quantized_batch_norm
        return function(input, me.weight, me.bias, me.running_mean, me.running_var, me.eps, *self._rounding)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """In the place of a float module that was observed."""
        source = mod[0] if isinstance(mod, nn.Sequential) else mod
        made: Any = cls(source.num_features, source.eps)
        made.weight, made.bias = source.weight, source.bias
        made.running_mean, made.running_var = source.running_mean, source.running_var
        made._output(*observed_output(mod))
        return made


class BatchNorm2d(_BatchNorm, nn.BatchNorm2d):
    """Batch normalisation of quantized images."""


class BatchNorm3d(_BatchNorm, nn.BatchNorm3d):
    """Batch normalisation of quantized volumes."""


class BNReLU2d(BatchNorm2d):
    """The same, not below zero."""

    _relu = True


class BNReLU3d(BatchNorm3d):
    """The same, not below zero."""

    _relu = True


class LayerNorm(_Rounding, nn.LayerNorm):
    """Layer normalisation of quantized tensors."""

    def __init__(self, normalized_shape: Any, weight: Any, bias: Any, scale: Any, zero_point: Any, eps: float = 1e-5) -> None:
        super().__init__(normalized_shape, eps, weight is not None)
        self.weight, self.bias = weight, bias
        self._output(scale, zero_point)

    def forward(self, input: Any) -> Any:
        """The quantized result."""
        return ops.quantized_layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps, *self._rounding)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """In the place of a float module that was observed."""
        return cls(mod.normalized_shape, mod.weight, mod.bias, *observed_output(mod), mod.eps)


class GroupNorm(_Rounding, nn.GroupNorm):
    """Group normalisation of quantized tensors."""

    def __init__(
        self, num_groups: int, num_channels: int, weight: Any, bias: Any, scale: Any, zero_point: Any, eps: float = 1e-5,
        affine: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_groups, num_channels, eps, affine)
        self.weight, self.bias = weight, bias
        self._output(scale, zero_point)

    def forward(self, input: Any) -> Any:
        """The quantized result."""
        return ops.quantized_group_norm(input, self.num_groups, self.weight, self.bias, self.eps, *self._rounding)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """In the place of a float module that was observed."""
        return cls(mod.num_groups, mod.num_channels, mod.weight, mod.bias, *observed_output(mod), mod.eps, mod.affine)


class _InstanceNorm(_Rounding):
    def __init__(
        self, num_features: int, weight: Any, bias: Any, scale: Any, zero_point: Any, eps: float = 1e-5, momentum: float = 0.1,
        affine: bool = False, track_running_stats: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats)  # type: ignore[call-arg]
        me: Any = self
        me.weight, me.bias = weight, bias
        self._output(scale, zero_point)

    def forward(self, input: Any) -> Any:
        """The quantized result."""
        me: Any = self
        return ops.quantized_instance_norm(input, me.weight, me.bias, me.eps, *self._rounding)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """In the place of a float module that was observed."""
        return cls(mod.num_features, mod.weight, mod.bias, *observed_output(mod), mod.eps, affine=mod.affine)


class InstanceNorm1d(_InstanceNorm, nn.InstanceNorm1d):
    """Instance normalisation of quantized signals."""


class InstanceNorm2d(_InstanceNorm, nn.InstanceNorm2d):
    """Instance normalisation of quantized images."""


class InstanceNorm3d(_InstanceNorm, nn.InstanceNorm3d):
    """Instance normalisation of quantized volumes."""


# -- tables ------------------------------------------------------------------------------------------------------


class Embedding(QuantizedModule):
    """Rows of a quantized table, in real numbers."""

    def __init__(self, num_embeddings: int, embedding_dim: int, _weight: Any = None, dtype: Any = quint8) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.dtype = num_embeddings, embedding_dim, dtype
        if _weight is None:
            ones = tensor([1.0] * num_embeddings)
            _weight = quantize_per_channel(tensor([[0.0] * embedding_dim] * num_embeddings), ones, ones * 0, 0, quint8)
        self._weight = _weight

    def forward(self, indices: Any) -> Any:
        """The rows."""
        return quantized_embedding(indices, self._weight)

    def weight(self) -> Any:
        """The quantized table."""
        return self._weight

    def set_weight(self, w: Any) -> None:
        """Take a quantized table."""
        self._weight = w

    def _packed_state(self) -> dict[str, Any]:
        return {"_packed_params.dtype": self.dtype, "_packed_params._packed_weight": self._weight}

    def _load_packed_state(self, state: dict[str, Any]) -> None:
        self._weight = state.get("_packed_params._packed_weight", self._weight)

    def extra_repr(self) -> str:
        """Sizes, type and scheme."""
        return (
            f"num_embeddings={self.num_embeddings}, embedding_dim={self.embedding_dim}, dtype={self.dtype}, "
            f"qscheme={self._weight.qscheme()}"
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Embedding:
        """In the place of a float table."""
        observer = getattr(mod, "weight_fake_quant", None)
        if observer is None:
            if getattr(mod, "qconfig", None) is None:
                raise AssertionError(f"the {cls.__name__} has no qconfig: use float_qparams_weight_only_qconfig")
            observer = mod.qconfig.weight()
        if observer.dtype is not quint8:
            raise AssertionError(f"The only supported dtype for nnq.{cls.__name__} is torch.quint8, got {observer.dtype}")
        observer(mod.weight)
        return cls._made_of(mod, quantize_weight(mod.weight.float(), observer))

    @classmethod
    def _made_of(cls, mod: Any, weight: Any) -> Any:
        return cls(mod.num_embeddings, mod.embedding_dim, weight)


class EmbeddingBag(Embedding):
    """Sums of rows of a quantized table, in real numbers."""

    def __init__(
        self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
        mode: str = "sum", sparse: bool = False, _weight: Any = None, include_last_offset: bool = False, dtype: Any = quint8,
    ) -> None:  # fmt: skip
        if mode != "sum":
            raise NotImplementedError(f"a quantized EmbeddingBag sums rows: mode={mode!r} is not there")
        if dtype is not quint8:
            raise NotImplementedError(f"a quantized EmbeddingBag has a table of torch.quint8, not {dtype}")
        super().__init__(num_embeddings, embedding_dim, _weight, dtype)
        self.mode, self.sparse, self.include_last_offset, self.pruned_weights = mode, sparse, include_last_offset, False

    def forward(self, indices: Any, offsets: Any = None, per_sample_weights: Any = None, compressed_indices_mapping: Any = None) -> Any:
        """The sum of the rows of each bag."""
        rows = quantized_embedding(indices.reshape(-1), self._weight)
        places = table["arange"].call(rows.shape[0]).reshape(indices.shape)
        return nn.functional.embedding_bag(
            places, rows, offsets, mode="sum", per_sample_weights=per_sample_weights, include_last_offset=self.include_last_offset
        )

    @classmethod
    def _made_of(cls, mod: Any, weight: Any) -> Any:
        return cls(
            mod.num_embeddings,
            mod.embedding_dim,
            mode=mod.mode,
            sparse=mod.sparse,
            include_last_offset=mod.include_last_offset,
            _weight=weight,
        )
