"""What quantized modules have in common, and those that quantize and dequantize."""

from __future__ import annotations

from typing import Any

from ....core.dtypes import int64, qint8, quint8
from ....core.quantized import SCHEMES
from ....nn.modules.module import Module
from ....ops.quantized.quantize import dequantize, quantize_per_channel, quantize_per_tensor
from ....tensor.construct import tensor


class Quantize(Module):
    """Quantizes a tensor with a fixed scale and zero point."""

    scale: Any
    zero_point: Any

    def __init__(self, scale: Any, zero_point: Any, dtype: Any, factory_kwargs: Any = None) -> None:
        super().__init__()
        self.register_buffer("scale", tensor([float(scale)]))
        self.register_buffer("zero_point", tensor([int(zero_point)], dtype=int64))
        self.dtype = dtype

    def forward(self, X: Any) -> Any:
        """The quantized tensor."""
        return quantize_per_tensor(X, float(self.scale._array[0]), int(self.zero_point._array[0]), self.dtype)

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Quantize:
        """What a QuantStub has observed, put to use."""
        if not hasattr(mod, "activation_post_process"):
            raise AssertionError("the QuantStub has no observer: prepare() the model first")
        scale, zero_point = mod.activation_post_process.calculate_qparams()
        return Quantize(scale.item(), zero_point.item(), mod.activation_post_process.dtype)

    def extra_repr(self) -> str:
        """Scale, zero point and type."""
        return f"scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}"


class DeQuantize(Module):
    """Gives the real numbers of a quantized tensor."""

    def forward(self, Xq: Any) -> Any:
        """The tensor of real numbers."""
        return dequantize(Xq)

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> DeQuantize:
        """In the place of a DeQuantStub."""
        return DeQuantize()


def quantize_weight(weight: Any, observer: Any) -> Any:
    """A weight quantized as its observer says."""
    scale, zero_point = observer.calculate_qparams()
    weight = weight.detach()
    if observer.qscheme in (SCHEMES["per_tensor_symmetric"], SCHEMES["per_tensor_affine"]):
        return quantize_per_tensor(weight, float(scale.item()), int(zero_point.item()), observer.dtype)
    if observer.qscheme is SCHEMES["per_channel_affine_float_qparams"]:
        return quantize_per_channel(weight, scale, zero_point, observer.ch_axis, observer.dtype)
    return quantize_per_channel(weight, scale.double(), zero_point.long(), observer.ch_axis, observer.dtype)


def observed_output(mod: Any) -> tuple[float, int]:
    """The scale and zero point that a module's output was observed to need."""
    if not hasattr(mod, "activation_post_process"):
        raise AssertionError(f"{type(mod).__name__} must have an observer attached: prepare() the model first")
    process = mod.activation_post_process
    if process.dtype not in (quint8, qint8):
        raise AssertionError(f"activations of {process.dtype} are not supported: they are quint8 or qint8")
    scale, zero_point = process.calculate_qparams()
    return float(scale.item()), int(zero_point.item())


class QuantizedModule(Module):
    """A module with a quantized weight, which is in its state as a whole, and with the scale and zero point of its output."""

    scale: float = 1.0
    zero_point: int = 0
    _version = 3

    def _get_name(self) -> str:
        return "Quantized" + type(self).__name__

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"  # without the packed parameters

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name, value in self._packed_state().items():
            destination[prefix + name] = value
        destination[prefix + "scale"] = tensor(self.scale)
        destination[prefix + "zero_point"] = tensor(self.zero_point)

    def _packed_state(self) -> dict[str, Any]:
        """The parts of the state that are no parameters."""
        return {}

    def _load_packed_state(self, state: dict[str, Any]) -> None:
        """Take these parts back."""

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: Any, unexpected_keys: Any, error_msgs: Any
    ) -> None:
        found = {}
        for name in (*self._packed_state(), "scale", "zero_point"):
            if prefix + name in state_dict:
                found[name] = state_dict.pop(prefix + name)
            elif strict:
                missing_keys.append(prefix + name)
        if "scale" in found:
            self.scale = float(found.pop("scale"))
        if "zero_point" in found:
            self.zero_point = int(found.pop("zero_point"))
        self._load_packed_state(found)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs)


__all__ = ["DeQuantize", "Quantize"]
