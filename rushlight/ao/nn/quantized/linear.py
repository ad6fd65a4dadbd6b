"""Linear layers on quantized tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import nn
from ....core.dtypes import float16, qint8
from ....core.errors import NotSupported
from ....nn.modules.module import Module
from ....nn.utils.fusion import fuse_linear_bn_weights
from ....ops.quantized.layers import quantized_linear
from ....ops.quantized.quantize import _make_per_tensor_quantized_tensor
from ....tensor.construct import tensor
from .. import intrinsic as nni
from ..intrinsic import qat as nniqat
from .quantize import QuantizedModule, observed_output, quantize_weight


class LinearPackedParams(Module):
    """The quantized weight and the bias of a linear layer; of ``float16``, a weight of numbers that have that precision."""

    _version = 3

    def __init__(self, dtype: Any = qint8) -> None:
        super().__init__()
        if dtype not in (qint8, float16):
            raise NotSupported(f"Unsupported dtype specified for quantized Linear: weights of {dtype}; they are qint8 or float16")
        self.dtype = dtype
        self.weight: Any = self.zeros(1, 1)
        self.bias: Any = None

    def zeros(self, rows: int, columns: int) -> Any:
        """A weight before one is given."""
        if self.dtype is float16:
            return tensor(np.zeros((rows, columns), np.float32))
        return _make_per_tensor_quantized_tensor(tensor(np.zeros((rows, columns), np.int8)), 1.0, 0)

    def set_weight_bias(self, weight: Any, bias: Any) -> None:
        """Take a quantized weight and a bias."""
        self.weight, self.bias = weight, (None if bias is None else bias.detach())

    def _weight_bias(self) -> tuple[Any, Any]:
        return self.weight, self.bias

    @property
    def _packed_params(self) -> tuple[Any, Any]:
        return self.weight, self.bias

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"] = self.dtype
        destination[prefix + "_packed_params"] = self._weight_bias()

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: Any, unexpected_keys: Any, error_msgs: Any
    ) -> None:
        for name in ("dtype", "_packed_params"):
            if prefix + name not in state_dict:
                missing_keys.append(prefix + name)
            elif name == "dtype":
                self.dtype = state_dict.pop(prefix + name)
            else:
                self.set_weight_bias(*state_dict.pop(prefix + name))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs)

    def __repr__(self) -> str:
        return repr(self._weight_bias())


class Linear(QuantizedModule):
    """``input @ weight.T + bias`` of quantized tensors, in the scale and zero point that were observed."""

    _relu = False

    def __init__(self, in_features: int, out_features: int, bias_: bool = True, dtype: Any = qint8) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.scale, self.zero_point = 1.0, 0
        self._packed_params = LinearPackedParams(dtype)
        weight = self._packed_params.zeros(out_features, in_features)
        self._packed_params.set_weight_bias(weight, tensor(np.zeros(out_features, np.float32)) if bias_ else None)

    def forward(self, x: Any) -> Any:
        """The quantized result."""
        weight, bias = self._packed_params._weight_bias()
        return quantized_linear(x, weight, bias, self.scale, self.zero_point, self._relu)

    def weight(self) -> Any:
        """The quantized weight."""
        return self._packed_params.weight

    def bias(self) -> Any:
        """The bias."""
        return self._packed_params.bias

    def _weight_bias(self) -> tuple[Any, Any]:
        return self._packed_params._weight_bias()

    def set_weight_bias(self, w: Any, b: Any) -> None:
        """Take a quantized weight and a bias."""
        self._packed_params.set_weight_bias(w, b)

    def extra_repr(self) -> str:
        """Sizes, scale, zero point, and the weight's scheme."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, scale={self.scale}, zero_point={self.zero_point}, "
            f"qscheme={self.weight().qscheme()}"
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """A quantized layer from one that was observed, or trained with fake quantization."""
        scale, zero_point = observed_output(mod)
        observer = getattr(mod, "weight_fake_quant", None)
        source = mod
        if type(mod) is nniqat.LinearBn1d:
            bn = mod.bn
            source = nn.Linear(mod.in_features, mod.out_features)
            source.weight, source.bias = fuse_linear_bn_weights(
                mod.weight, mod.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
            )
        elif isinstance(mod, nni._FusedModule):
            source = mod[0]
        if observer is None:
            observer = mod.qconfig.weight()
        if not use_precomputed_fake_quant:
            observer(source.weight)
        made = cls(source.in_features, source.out_features, dtype=observer.dtype)
        made.set_weight_bias(quantize_weight(source.weight.float(), observer), source.bias)
        made.scale, made.zero_point = scale, zero_point
        return made


class LinearReLU(Linear):
    """The same, not below zero."""

    _relu = True
