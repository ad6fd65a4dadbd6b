"""Losses of a linear layer's scores."""

from __future__ import annotations

import warnings
from typing import Any

from ...core.base import TensorBase as Tensor
from ...core.declare import composite, table
from ...core.errors import ArgumentError, OperationError
from .losses import cross_entropy


@composite(namespace="nn.functional", name="linear_cross_entropy")
def linear_cross_entropy(
    input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None, weight: Tensor | None = None,
    reduction: str = "mean", ignore_index: int | None = None, label_smoothing: float = 0.0, options: Any = None,
) -> Tensor:  # fmt: skip
    """``cross_entropy(linear(input, linear_weight, linear_bias), target)``.

    PyTorch's ``options`` choose how the scores are computed in parts to save memory; here they are computed whole.
    """
    if options is not None:
        if not hasattr(options, "chunking_method"):
            raise ArgumentError(f"options must be LinearCrossEntropyOptions or None, not {type(options).__name__}")
        warnings.warn("linear_cross_entropy: options have no effect, the scores are computed whole", stacklevel=3)
    ndim, shape = input._array.ndim, tuple(linear_weight._array.shape)
    if ndim not in (1, 2):
        raise OperationError(f"expected input with dimensionality 1 or 2, got {ndim}")
    if len(shape) < 2:
        raise OperationError(f"expected linear_weight with dimensionality at least 2, got {len(shape)}")
    width = input._array.shape[-1]
    if width != shape[-1]:
        raise OperationError(
            f"expected equal input and linear_weight last dimensions (in_features), got {width} and {shape[-1]}, respectively"
        )
    if len(shape) > 2 and ndim == 1:
        raise OperationError(
            f"K-dimensional loss defined by linear_weight shape {shape} requires batched input, (N, {width}), got unbatched input "
            f"with shape {tuple(input._array.shape)}"
        )
    if linear_bias is not None and tuple(linear_bias._array.shape) != shape[:-1]:
        raise OperationError(f"expected linear_bias shape {shape[:-1]}, got {tuple(linear_bias._array.shape)}")
    if target.is_floating_point():
        if ignore_index is not None:
            raise OperationError("ignore_index cannot be specified when target contains probabilities")
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    scores = table["linear"].call(input, linear_weight.flatten(0, -2), bias)
    if len(shape) > 2:
        scores = scores.reshape(-1, *shape[:-1])
    return cross_entropy(
        scores, target, weight, ignore_index=-100 if ignore_index is None else ignore_index, reduction=reduction,
        label_smoothing=label_smoothing,
    )  # fmt: skip
