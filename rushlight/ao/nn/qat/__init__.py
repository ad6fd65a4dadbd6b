"""Modules that train with fake-quantized weights."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....nn import functional as F


def _require(qconfig: Any) -> Any:
    if not qconfig:
        raise AssertionError("qconfig must be provided for QAT module")
    return qconfig


class Linear(nn.Linear):
    """A linear layer whose weight is fake-quantized."""

    _FLOAT_MODULE: Any = nn.Linear

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, qconfig: Any = None, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(in_features, out_features, bias, device=device, dtype=dtype)
        self.qconfig = _require(qconfig)
        self.weight_fake_quant = qconfig.weight()

    def forward(self, input: Any) -> Any:
        """The layer with its weight rounded."""
        return F.linear(input, self.weight_fake_quant(self.weight), self.bias)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The same layer, made ready for training."""
        if type(mod) is not cls._FLOAT_MODULE:
            raise AssertionError(f"qat.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE.__name__}")
        if not getattr(mod, "qconfig", None):
            raise AssertionError("Input float module must have a valid qconfig")
        source = mod[0] if isinstance(mod, nn.Sequential) else mod
        made = cls(source.in_features, source.out_features, source.bias is not None, qconfig=mod.qconfig)
        made.weight, made.bias = source.weight, source.bias
        return made

    def to_float(self) -> Any:
        """The layer without fake quantization."""
        made = nn.Linear(self.in_features, self.out_features, self.bias is not None)
        made.weight, made.bias = self.weight, self.bias
        made.train(self.training)
        return made


class _FakeQuantizedWeight:
    """Mix-in of layers with fake-quantized weights, for a subclass that also derives from a layer of ``nn``."""

    def __init__(self, *args: Any, qconfig: Any = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.qconfig = _require(qconfig)
        self.weight_fake_quant = qconfig.weight()


class _ConvNd(_FakeQuantizedWeight):
    """Mix-in of convolutions with fake-quantized weights."""

    _FLOAT_MODULE: Any = None

    def forward(self, input: Any) -> Any:
        """The convolution with its weight rounded."""
        me: Any = self
        return me._conv_forward(input, me.weight_fake_quant(me.weight), me.bias)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The same convolution, made ready for training."""
        if type(mod) is not cls._FLOAT_MODULE:
            raise AssertionError(f"qat.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE.__name__}")
        if not getattr(mod, "qconfig", None):
            raise AssertionError("Input float module must have a valid qconfig")
        conv = mod[0] if isinstance(mod, nn.Sequential) else mod
        made: Any = cls(**options_of(conv), qconfig=mod.qconfig)
        made.weight, made.bias = conv.weight, conv.bias
        return made


def options_of(conv: Any) -> dict[str, Any]:
    """The arguments that make a convolution like another."""
    return {
        "in_channels": conv.in_channels, "out_channels": conv.out_channels, "kernel_size": conv.kernel_size, "stride": conv.stride,
        "padding": conv.padding, "dilation": conv.dilation, "groups": conv.groups, "bias": conv.bias is not None,
        "padding_mode": conv.padding_mode,
    }  # fmt: skip


class Conv1d(_ConvNd, nn.Conv1d):
    """A convolution whose weight is fake-quantized."""

    _FLOAT_MODULE = nn.Conv1d


class Conv2d(_ConvNd, nn.Conv2d):
    """A convolution whose weight is fake-quantized."""

    _FLOAT_MODULE = nn.Conv2d


class Conv3d(_ConvNd, nn.Conv3d):
    """A convolution whose weight is fake-quantized."""

    _FLOAT_MODULE = nn.Conv3d


class Embedding(_FakeQuantizedWeight, nn.Embedding):
    """A table of vectors that is fake-quantized."""

    def forward(self, input: Any) -> Any:
        """Rows of the table, rounded."""
        return F.embedding(
            input,
            self.weight_fake_quant(self.weight),
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The same table, made ready for training."""
        if type(mod) is not nn.Embedding:
            raise AssertionError("qat.Embedding.from_float only works for Embedding")
        made = cls(
            mod.num_embeddings, mod.embedding_dim, mod.padding_idx, mod.max_norm, mod.norm_type, mod.scale_grad_by_freq, mod.sparse,
            mod.weight, qconfig=mod.qconfig,
        )  # fmt: skip
        made.weight = mod.weight
        return made


class EmbeddingBag(_FakeQuantizedWeight, nn.EmbeddingBag):
    """A table of vectors that is fake-quantized, of which bags of rows are added up."""

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        """Sums of rows of the table, rounded."""
        return F.embedding_bag(
            input, self.weight_fake_quant(self.weight), offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse,
            per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The same table, made ready for training."""
        if type(mod) is not nn.EmbeddingBag:
            raise AssertionError("qat.EmbeddingBag.from_float only works for EmbeddingBag")
        made = cls(
            mod.num_embeddings, mod.embedding_dim, mod.max_norm, mod.norm_type, mod.scale_grad_by_freq, mod.mode, mod.sparse, mod.weight,
            mod.include_last_offset, mod.padding_idx, qconfig=mod.qconfig,
        )  # fmt: skip
        made.weight = mod.weight
        return made


__all__ = ["Conv1d", "Conv2d", "Conv3d", "Embedding", "EmbeddingBag", "Linear"]
