"""`torch.onnx.symbolic_opset9` to `20`: symbolic functions that libraries call in their own."""

from __future__ import annotations

from typing import Any

from ..core.errors import NotSupported
from ..core.missing import missing
from ..onnx import symbolic_helper

__getattr__ = missing("rushlight.onnx.symbolic_opset")


def unsqueeze(g: Any, self: Any, dim: int) -> Any:
    """A dimension of size 1."""
    return symbolic_helper._unsqueeze_helper(g, self, [dim])


def squeeze(g: Any, self: Any, dim: int) -> Any:
    """Without a dimension of size 1."""
    return symbolic_helper._squeeze_helper(g, self, [dim])


def select(g: Any, self: Any, dim: int, index: Any) -> Any:
    """The elements at an index."""
    return g.op("Gather", self, index, axis_i=dim)


def masked_fill(g: Any, self: Any, mask: Any, value: Any) -> Any:
    """A value where a mask is true."""
    return g.op("Where", g.op("Cast", mask, to_i=9), value, self)


def softmax(g: Any, input: Any, dim: int, dtype: Any = None) -> Any:
    """The softmax along a dimension."""
    return g.op("Softmax", input, axis_i=dim)


def dropout(g: Any, input: Any, p: float, train: bool) -> Any:
    """The input itself: exported programs are those of evaluation."""
    if train:
        raise NotSupported("dropout in training mode is not exported by symbolic_opset.dropout")
    return input


def gelu(g: Any, self: Any, approximate: str = "none") -> Any:
    """The GELU, as one operator from opset 20 on."""
    return g.op("Gelu", self, approximate_s=approximate)
