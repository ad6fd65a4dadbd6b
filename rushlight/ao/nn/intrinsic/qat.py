"""Fused modules that train with fake-quantized weights; a batch normalisation's part of the weight is rounded too."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....nn import functional as F
from ....nn.utils.fusion import fuse_linear_bn_weights
from .. import intrinsic as nni
from .. import qat as nnqat
from ..qat import options_of


class LinearReLU(nnqat.Linear):
    """A linear layer whose weight is fake-quantized, and a ReLU."""

    _FLOAT_MODULE: Any = nni.LinearReLU

    def forward(self, input: Any) -> Any:
        """The layer with its weight rounded, and the ReLU."""
        return F.relu(super().forward(input))


class _ConvReLU(nnqat._ConvNd):
    def forward(self, input: Any) -> Any:
        """The convolution with its weight rounded, and the ReLU."""
        return F.relu(super().forward(input))


class ConvReLU1d(_ConvReLU, nn.Conv1d):
    """A convolution whose weight is fake-quantized, and a ReLU."""

    _FLOAT_MODULE = nni.ConvReLU1d


class ConvReLU2d(_ConvReLU, nn.Conv2d):
    """A convolution whose weight is fake-quantized, and a ReLU."""

    _FLOAT_MODULE = nni.ConvReLU2d


class ConvReLU3d(_ConvReLU, nn.Conv3d):
    """A convolution whose weight is fake-quantized, and a ReLU."""

    _FLOAT_MODULE = nni.ConvReLU3d


class _WithBatchNorm:
    """The part of a layer with a batch normalisation behind it that trains: its scale goes into the weight before rounding."""

    _batch_norm: Any
    _rectify = False

    def _scaled_weight(self) -> tuple[Any, Any]:
        """The fake-quantized weight with the normalisation's scale in it, and that scale."""
        me: Any = self
        scale = me.bn.weight / (me.bn.running_var + me.bn.eps).sqrt()
        shape = (-1, *[1] * (me.weight.dim() - 1))
        return me.weight_fake_quant(me.weight * scale.reshape(shape)), scale

    def _normalised(self, result: Any, scale: Any) -> Any:
        """The normalisation of a result whose scale is taken out again."""
        me: Any = self
        shape = (1, -1, *[1] * (result.dim() - 2))
        result = result / scale.reshape(shape)
        if me.bias is not None:
            result = result + me.bias.reshape(shape)
        result = me.bn(result)
        return F.relu(result) if self._rectify else result

    def update_bn_stats(self) -> Any:
        """Let the normalisation's statistics follow the batches."""
        me: Any = self
        me.freeze_bn, me.bn.training = False, True
        return self

    def freeze_bn_stats(self) -> Any:
        """Keep the normalisation's statistics as they are."""
        me: Any = self
        me.freeze_bn, me.bn.training = True, False
        return self

    def train(self, mode: bool = True) -> Any:
        """Training mode, in which frozen statistics stay frozen."""
        me: Any = self
        me.training = mode
        if not me.freeze_bn:
            for module in me.children():
                module.train(mode)
        return self

    def _adopt(self, source: Any, bn: Any) -> Any:
        me: Any = self
        me.weight, me.bias = source.weight, source.bias
        me.bn.weight, me.bn.bias = bn.weight, bn.bias
        me.bn.running_mean, me.bn.running_var = bn.running_mean, bn.running_var
        me.bn.num_batches_tracked = bn.num_batches_tracked
        return self


class _ConvBn(_WithBatchNorm, nnqat._ConvNd):
    def __init__(
        self, *args: Any, eps: float = 1e-5, momentum: float = 0.1, freeze_bn: bool = False, qconfig: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, qconfig=qconfig, **kwargs)
        me: Any = self
        me.freeze_bn = freeze_bn
        quantize = me._modules.pop("weight_fake_quant")
        me.bn = self._batch_norm(me.out_channels, eps, momentum, True, True)
        me.weight_fake_quant = quantize  # in the order of PyTorch's state
        if freeze_bn:
            self.freeze_bn_stats()

    def forward(self, input: Any) -> Any:
        """The convolution with the rounded weight, then the normalisation."""
        me: Any = self
        weight, scale = self._scaled_weight()
        return self._normalised(me._conv_forward(input, weight, None), scale)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The same modules, made ready for training."""
        if type(mod) is not cls._FLOAT_MODULE:
            raise AssertionError(f"qat.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE.__name__}")
        if not getattr(mod, "qconfig", None):
            raise AssertionError("Input float module must have a valid qconfig")
        conv, bn = mod[0], mod[1]
        made = cls(**options_of(conv), eps=bn.eps, momentum=bn.momentum, qconfig=mod.qconfig)
        return made._adopt(conv, bn)


class ConvBn1d(_ConvBn, nn.Conv1d):
    """A convolution whose weight is fake-quantized together with the batch normalisation behind it."""

    _FLOAT_MODULE, _batch_norm = nni.ConvBn1d, nn.BatchNorm1d


class ConvBn2d(_ConvBn, nn.Conv2d):
    """A convolution whose weight is fake-quantized together with the batch normalisation behind it."""

    _FLOAT_MODULE, _batch_norm = nni.ConvBn2d, nn.BatchNorm2d


class ConvBn3d(_ConvBn, nn.Conv3d):
    """A convolution whose weight is fake-quantized together with the batch normalisation behind it."""

    _FLOAT_MODULE, _batch_norm = nni.ConvBn3d, nn.BatchNorm3d


class ConvBnReLU1d(ConvBn1d):
    """The same with a ReLU."""

    _FLOAT_MODULE, _rectify = nni.ConvBnReLU1d, True


class ConvBnReLU2d(ConvBn2d):
    """The same with a ReLU."""

    _FLOAT_MODULE, _rectify = nni.ConvBnReLU2d, True


class ConvBnReLU3d(ConvBn3d):
    """The same with a ReLU."""

    _FLOAT_MODULE, _rectify = nni.ConvBnReLU3d, True


class LinearBn1d(_WithBatchNorm, nn.Linear):
    """A linear layer whose weight is fake-quantized together with the batch normalisation behind it."""

    _FLOAT_MODULE, _batch_norm = nni.LinearBn1d, nn.BatchNorm1d

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, eps: float = 1e-5, momentum: float = 0.1, freeze_bn: bool = False,
        qconfig: Any = None,
    ) -> None:  # fmt: skip
        nn.Linear.__init__(self, in_features, out_features, bias)
        self.qconfig = nnqat._require(qconfig)
        self.freeze_bn = freeze_bn
        self.bn = self._batch_norm(out_features, eps, momentum, True, True)
        self.weight_fake_quant = qconfig.weight()
        if freeze_bn:
            self.freeze_bn_stats()

    def forward(self, input: Any) -> Any:
        """The layer with the rounded weight, then the normalisation."""
        weight, scale = self._scaled_weight()
        return self._normalised(F.linear(input, weight), scale)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The same modules, made ready for training."""
        linear, bn = mod[0], mod[1]
        made = cls(linear.in_features, linear.out_features, linear.bias is not None, bn.eps, bn.momentum, qconfig=mod.qconfig)
        return made._adopt(linear, bn)

    def to_float(self) -> Any:
        """One linear layer, with the normalisation in its weight."""
        made = nn.Linear(self.in_features, self.out_features)
        made.weight, made.bias = fuse_linear_bn_weights(
            self.weight, self.bias, self.bn.running_mean, self.bn.running_var, self.bn.eps, self.bn.weight, self.bn.bias
        )
        return made


def update_bn_stats(mod: Any) -> None:
    """For ``model.apply``: let normalisations' statistics follow the batches."""
    if isinstance(mod, _WithBatchNorm):
        mod.update_bn_stats()


def freeze_bn_stats(mod: Any) -> None:
    """For ``model.apply``: keep normalisations' statistics as they are."""
    if isinstance(mod, _WithBatchNorm):
        mod.freeze_bn_stats()


__all__ = [
    "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d", "ConvBnReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d",
    "LinearBn1d", "LinearReLU", "freeze_bn_stats", "update_bn_stats",
]  # fmt: skip
