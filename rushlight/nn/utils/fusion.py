"""Folding a batch norm into the layer before it, for evaluation."""

from __future__ import annotations

import copy
from typing import Any

from ...ops.create.factories import ones_like, zeros_like
from ..parameter import Parameter


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of a convolution that does what it and the batch norm after it do in evaluation mode."""
    if conv.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    fused = copy.deepcopy(conv)
    _check_statistics(bn)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Any, conv_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any, transpose: bool = False
) -> tuple[Any, Any]:
    """Weight and bias of a convolution with a batch norm folded into it."""
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    return _fold(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of a linear layer that does what it and the batch norm after it do in evaluation mode."""
    if linear.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    fused = copy.deepcopy(linear)
    _check_statistics(bn)
    fused.weight, fused.bias = fuse_linear_bn_weights(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
    return fused


def fuse_linear_bn_weights(linear_w: Any, linear_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any) -> tuple[Any, Any]:
    """Weight and bias of a linear layer with a batch norm folded into it."""
    return _fold(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _check_statistics(bn: Any) -> None:
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("Expected bn.running_mean and bn.running_var to be tensors: the batch norm keeps no statistics")


def _fold(weight: Any, bias: Any, mean: Any, variance: Any, eps: float, scale: Any, shift: Any, shape: list[int]) -> Any:
    scale = ones_like(mean) if scale is None else scale
    shift = zeros_like(mean) if shift is None else shift
    moved = -mean if bias is None else bias - mean
    factor = scale * (variance + eps).rsqrt()
    new_weight = (weight * factor.reshape(shape)).to(weight.dtype)
    new_bias = (moved * factor + shift).to(weight.dtype if bias is None else bias.dtype)
    bias_requires_grad = weight.requires_grad if bias is None else bias.requires_grad
    return Parameter(new_weight.detach(), weight.requires_grad), Parameter(new_bias.detach(), bias_requires_grad)


__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]
