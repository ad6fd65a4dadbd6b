"""Operations as modules, so that their results can be observed: ``self.skip_add = FloatFunctional()``."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....core.declare import table
from ....ops.quantized.functions import (
    quantized_add,
    quantized_add_relu,
    quantized_add_scalar,
    quantized_cat,
    quantized_matmul,
    quantized_mul,
    quantized_mul_scalar,
)
from ....tensor.construct import tensor
from .quantize import observed_output


class FloatFunctional(nn.Module):
    """Operations on float tensors, whose results are observed."""

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process = nn.Identity()

    def forward(self, x: Any) -> Any:
        """Raise: call one of the operations."""
        raise RuntimeError("FloatFunctional is not intended to use the 'forward'. Please use the underlying operation")

    def add(self, x: Any, y: Any) -> Any:
        """The sum of two tensors."""
        return self.activation_post_process(x + y)

    def add_scalar(self, x: Any, y: float) -> Any:
        """The sum of a tensor and a number: its scale follows from the input's, and needs no observing."""
        return x + y

    def mul(self, x: Any, y: Any) -> Any:
        """The product of two tensors."""
        return self.activation_post_process(x * y)

    def mul_scalar(self, x: Any, y: float) -> Any:
        """The product of a tensor and a number."""
        return x * y

    def cat(self, x: Any, dim: int = 0) -> Any:
        """Tensors one after the other."""
        return self.activation_post_process(table["cat"].call(x, dim))

    def add_relu(self, x: Any, y: Any) -> Any:
        """The sum of two tensors, not below zero."""
        return self.activation_post_process((x + y).relu())

    def matmul(self, x: Any, y: Any) -> Any:
        """The matrix product of two tensors."""
        return self.activation_post_process(table["matmul"].call(x, y))


class FXFloatFunctional(nn.Module):
    """Operations on float tensors."""

    forward = FloatFunctional.forward
    add_scalar, mul_scalar = FloatFunctional.add_scalar, FloatFunctional.mul_scalar

    def add(self, x: Any, y: Any) -> Any:
        """The sum of two tensors."""
        return x + y

    def mul(self, x: Any, y: Any) -> Any:
        """The product of two tensors."""
        return x * y

    def cat(self, x: Any, dim: int = 0) -> Any:
        """Tensors one after the other."""
        return table["cat"].call(x, dim)

    def add_relu(self, x: Any, y: Any) -> Any:
        """The sum of two tensors, not below zero."""
        return (x + y).relu()

    def matmul(self, x: Any, y: Any) -> Any:
        """The matrix product of two tensors."""
        return table["matmul"].call(x, y)


class QFunctional(nn.Module):
    """Operations on quantized tensors, in the scale and zero point that were observed."""

    def __init__(self) -> None:
        super().__init__()
        self.scale, self.zero_point = 1.0, 0
        self.activation_post_process = nn.Identity()

    def _get_name(self) -> str:
        return "QFunctional"

    def extra_repr(self) -> str:
        """Scale and zero point."""
        return f"scale={self.scale}, zero_point={self.zero_point}"

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"], destination[prefix + "zero_point"] = tensor(self.scale), tensor(self.zero_point)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        self.scale = float(state_dict.pop(prefix + "scale"))
        self.zero_point = int(state_dict.pop(prefix + "zero_point"))
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def forward(self, x: Any) -> Any:
        """Raise: call one of the operations."""
        raise RuntimeError("Functional is not intended to use the 'forward'. Please use the underlying operation")

    def add(self, x: Any, y: Any) -> Any:
        """The sum of two tensors."""
        return self.activation_post_process(quantized_add(x, y, self.scale, self.zero_point))

    def add_scalar(self, x: Any, y: float) -> Any:
        """The sum of a tensor and a number."""
        return quantized_add_scalar(x, y)

    def mul(self, x: Any, y: Any) -> Any:
        """The product of two tensors."""
        return self.activation_post_process(quantized_mul(x, y, self.scale, self.zero_point))

    def mul_scalar(self, x: Any, y: float) -> Any:
        """The product of a tensor and a number."""
        return quantized_mul_scalar(x, y)

    def cat(self, x: Any, dim: int = 0) -> Any:
        """Tensors one after the other."""
        return self.activation_post_process(quantized_cat(list(x), dim, self.scale, self.zero_point))

    def add_relu(self, x: Any, y: Any) -> Any:
        """The sum of two tensors, not below zero."""
        return self.activation_post_process(quantized_add_relu(x, y, self.scale, self.zero_point))

    def matmul(self, x: Any, y: Any) -> Any:
        """The matrix product of two tensors."""
        return self.activation_post_process(quantized_matmul(x, y, self.scale, self.zero_point))

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> QFunctional:
        """From operations that were observed."""
        made = cls()
        made.scale, made.zero_point = observed_output(mod)
        return made
