"""Shapes as tensors: what a model writes where a shape is to be computed at run time."""

from __future__ import annotations

from typing import Any

from ..core.dtypes import int64
from ..core.state import state
from ..ops.create.factories import scalar_tensor
from ..ops.shape.concat import stack
from ..ops.shape.reshape import reshape
from ..tensor.construct import tensor


def shape_as_tensor(x: Any) -> Any:
    """The shape of a tensor as a one-dimensional int64 tensor; in an export, one that is computed from the input."""
    if state.capture is None or not x.ndim:
        return tensor(list(x.shape), dtype=int64)
    return stack([scalar_tensor(size, dtype=int64) for size in x.shape])


def reshape_from_tensor_shape(x: Any, shape: Any) -> Any:
    """A tensor in the shape that another tensor holds."""
    if state.capture is None:
        return reshape(x, shape.tolist())
    return reshape(x, [state.capture.size_from(each) for each in shape.unbind(0)])
