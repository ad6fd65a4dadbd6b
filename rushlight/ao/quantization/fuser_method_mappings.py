"""Which sequences of modules are fused into one, and how."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import nn
from ...nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval
from ..nn import intrinsic as nni

_FUSED_BN: dict[type, type] = {nn.Conv1d: nni.ConvBn1d, nn.Conv2d: nni.ConvBn2d, nn.Conv3d: nni.ConvBn3d}
_FUSED_BN_RELU: dict[type, type] = {nn.Conv1d: nni.ConvBnReLU1d, nn.Conv2d: nni.ConvBnReLU2d, nn.Conv3d: nni.ConvBnReLU3d}
_FUSED_RELU: dict[type, type] = {nn.Conv1d: nni.ConvReLU1d, nn.Conv2d: nni.ConvReLU2d, nn.Conv3d: nni.ConvReLU3d}


def _check(first: Any, bn: Any, is_qat: bool, features: int) -> None:
    if first.training != bn.training:
        raise AssertionError("Conv and BN both must be in the same mode (train or eval).")
    if is_qat:
        if bn.num_features != features:
            raise AssertionError("Output channel of Conv2d must match num_features of BatchNorm2d")
        if not bn.affine or not bn.track_running_stats:
            raise AssertionError("Only support fusing BatchNorm2d with affine and tracking_running_stats set to True")


def fuse_conv_bn(is_qat: bool, conv: Any, bn: Any) -> Any:
    """A convolution and a batch normalisation: folded into one convolution, or kept as two modules for training."""
    _check(conv, bn, is_qat, conv.out_channels)
    return _FUSED_BN[type(conv)](conv, bn) if is_qat else fuse_conv_bn_eval(conv, bn)


def fuse_conv_bn_relu(is_qat: bool, conv: Any, bn: Any, relu: Any) -> Any:
    """The same with a ReLU behind."""
    _check(conv, bn, is_qat, conv.out_channels)
    if is_qat:
        return _FUSED_BN_RELU[type(conv)](conv, bn, relu)
    return _FUSED_RELU[type(conv)](fuse_conv_bn_eval(conv, bn), relu)


def fuse_linear_bn(is_qat: bool, linear: Any, bn: Any) -> Any:
    """A linear layer and a batch normalisation."""
    _check(linear, bn, is_qat, linear.out_features)
    return nni.LinearBn1d(linear, bn) if is_qat else fuse_linear_bn_eval(linear, bn)


def fuse_convtranspose_bn(is_qat: bool, convt: Any, bn: Any) -> Any:
    """A transposed convolution and a batch normalisation."""
    _check(convt, bn, False, convt.out_channels)
    if is_qat:
        raise AssertionError("Fusing ConvTranspose+BatchNorm not yet supported in QAT.")
    return fuse_conv_bn_eval(convt, bn, transpose=True)


def _side_by_side(kind: type) -> Callable[..., Any]:
    return lambda is_qat, *modules: kind(*modules)


_DEFAULT_OP_LIST_TO_FUSER_METHOD: dict[tuple[type, ...], Callable[..., Any]] = {
    **dict.fromkeys(zip(_FUSED_BN, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)), fuse_conv_bn),
    **{(conv, bn, nn.ReLU): fuse_conv_bn_relu for conv, bn in zip(_FUSED_BN, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d))},
    **{(conv, nn.ReLU): _side_by_side(kind) for conv, kind in _FUSED_RELU.items()},
    (nn.Linear, nn.BatchNorm1d): fuse_linear_bn,
    (nn.Linear, nn.ReLU): _side_by_side(nni.LinearReLU),
    (nn.BatchNorm2d, nn.ReLU): _side_by_side(nni.BNReLU2d),
    (nn.BatchNorm3d, nn.ReLU): _side_by_side(nni.BNReLU3d),
    (nn.ConvTranspose1d, nn.BatchNorm1d): fuse_convtranspose_bn,
    (nn.ConvTranspose2d, nn.BatchNorm2d): fuse_convtranspose_bn,
    (nn.ConvTranspose3d, nn.BatchNorm3d): fuse_convtranspose_bn,
}


def get_fuser_method(op_list: tuple[type, ...], additional_fuser_method_mapping: Any = None) -> Callable[..., Any]:
    """The function that fuses modules of these types."""
    found = {**_DEFAULT_OP_LIST_TO_FUSER_METHOD, **(additional_fuser_method_mapping or {})}.get(tuple(op_list))
    if found is None:
        raise AssertionError(f"did not find fuser method for: {tuple(op_list)} ")
    return found  # type: ignore[no-any-return]
