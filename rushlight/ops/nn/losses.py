"""Loss functions and the distances they are made of."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ...core.argument_checks import refuse_gradient
from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive, table
from ...core.dtypes import BY_NUMPY, bfloat16, float16, legacy_name, result_dtype
from ...core.errors import DimensionError, DtypeError, OperationError, ShapeError, UnsupportedDtype, ValueRangeError
from ...core.families import broadcast_shapes, elementwise
from ...core.upcast import computed_in_single, in_single
from . import losses_onnx as onnx_forms

Number = int | float
REDUCTIONS = ("none", "mean", "sum")
_CLASSES = (np.dtype(np.int64), np.dtype(np.uint8))  # the types that numbers of classes may have


def reduced(loss: Tensor, reduction: str) -> Tensor:
    """A loss for every element, or their mean or sum."""
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueRangeError(f"{reduction} is not a valid value for reduction")


def old_reduction(reduction: str, size_average: bool | None, reduce: bool | None) -> str:
    """The reduction that the two switches of long ago stand for."""
    if size_average is None and reduce is None:
        return reduction
    warnings.warn("size_average and reduce args will be deprecated, please use reduction instead.", stacklevel=3)
    if reduce is not None and not reduce:
        return "none"
    return "mean" if size_average is None or size_average else "sum"


def matched(input: Tensor, target: Tensor, what: str) -> tuple[Tensor, Tensor]:
    """Two tensors broadcast to one shape, with a warning where they differ."""
    if input._array.dtype != target._array.dtype and "b" in (input._array.dtype.kind, target._array.dtype.kind):
        common = BY_NUMPY[result_dtype([input._array, target._array])]
        input, target = input.to(common), target.to(common)
    first, second = tuple(input._array.shape), tuple(target._array.shape)
    if first == second:
        return input, target
    warnings.warn(
        f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely lead to incorrect "
        "results due to broadcasting. Please ensure they have the same size.", stacklevel=3,
    )  # fmt: skip
    shape = broadcast_shapes([first, second])
    return input.expand(shape), target.expand(shape)


@composite(namespace="nn.functional", name="l1_loss")
def l1_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", weight: Any = None
) -> Tensor:
    """The absolute difference."""
    input, target = matched(input, target, "l1_loss")
    loss = (input - target).abs()
    return _weighted(loss, weight, old_reduction(reduction, size_average, reduce))


@composite(namespace="nn.functional", name="mse_loss")
def mse_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", weight: Any = None
) -> Tensor:
    """The squared difference."""
    input, target = matched(input, target, "mse_loss")
    difference = input - target
    return _weighted(difference * difference, weight, old_reduction(reduction, size_average, reduce))


def _weighted(loss: Tensor, weight: Any, reduction: str) -> Tensor:
    if weight is None:
        return reduced(loss, reduction)
    loss = loss * weight
    return loss.sum() / weight.expand(loss.shape).sum() if reduction == "mean" else reduced(loss, reduction)


@composite(namespace="nn.functional", name="smooth_l1_loss")
def smooth_l1_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """The squared difference where it is below ``beta`` (halved, scaled), the absolute difference elsewhere."""
    reduction = old_reduction(reduction, size_average, reduce)
    if beta < 0:
        raise OperationError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    input, target = matched(input, target, "smooth_l1_loss")
    if input._array.dtype == target._array.dtype == float16.numpy:
        beta = float(float16.numpy.type(beta))

    def smooth(input: Any, target: Any) -> Any:
        distance = (input - target).abs()
        far = distance >= beta
        near = table["where"].call(far, 0, distance)  # of what is far away, and may be infinite, no square is taken
        return table["where"].call(far, distance - 0.5 * beta, near * near / (2 * beta))

    once = input._array.dtype == target._array.dtype == bfloat16.numpy and computed_in_single(input)  # not so float16, in PyTorch
    return reduced(in_single(smooth, input, target) if once else smooth(input, target), reduction)


@composite(namespace="nn.functional", name="huber_loss")
def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Any = None) -> Tensor:
    """Half the squared difference where it is below ``delta``, a straight line elsewhere."""
    if delta <= 0:
        raise OperationError("huber_loss does not support non-positive values for delta.")
    kind = input.dtype
    input, target = matched(input, target, "huber_loss")
    if input._array.dtype == target._array.dtype == bfloat16.numpy:
        delta = float(bfloat16.numpy.type(delta))

    def straight_or_squared(input: Any, target: Any) -> Any:
        distance = (input - target).abs()
        far = distance > delta
        near = table["where"].call(far, 0, distance)
        return table["where"].call(far, (distance - 0.5 * delta) * delta, near * near * 0.5)

    once = input._array.dtype == target._array.dtype == float16.numpy and computed_in_single(input)  # not so bfloat16, in PyTorch
    loss = in_single(straight_or_squared, input, target) if once else straight_or_squared(input, target)
    if loss.dtype != kind and kind.is_floating_point:  # PyTorch computes it in a tensor like the input
        loss = loss.to(kind)
    return _weighted(loss, weight, reduction)


@composite(namespace="nn.functional", name="soft_margin_loss")
def soft_margin_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Tensor:
    """``log(1 + exp(-target * input))`` for targets of 1 and -1."""
    refuse_gradient("soft_margin_loss", target=target)
    target = target.to(input.dtype) if input.is_floating_point() and target._array.dtype.kind != "c" else target
    return reduced((-target * input).exp().log1p(), old_reduction(reduction, size_average, reduce))


# -- classification ----------------------------------------------------------------------------------------------


def _nll_meta(input: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> list[Spec]:
    shape = tuple(input.shape)
    if not len(shape) > 0:
        raise ShapeError("input tensor should be 1D or 2D or more")
    classes = shape[1] if len(shape) > 1 else shape[0]
    wanted = (shape[0], *shape[2:]) if len(shape) > 1 else ()
    if tuple(target.shape) != wanted:
        if len(shape) > 1 and target.shape[:1] != shape[:1]:
            batch = target.shape[0] if target.ndim else 1
            raise ValueRangeError(f"Expected input batch_size ({shape[0]}) to match target batch_size ({batch}).")
        raise ShapeError(f"Expected target size {list(wanted)}, got {list(target.shape)}")
    if target.dtype not in _CLASSES:
        raise OperationError(f"expected target dtype to be Long or Byte, but got {legacy_name(target.dtype)}")
    if weight is not None and tuple(weight.shape) != (classes,):
        raise ShapeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of shape: {list(weight.shape)}"
        )
    return [Spec(wanted if reduction == "none" else (), input.dtype), Spec((), input.dtype)]


def _spread_classes(xp: Any, input: Any, target: Any, weight: Any, ignore_index: int) -> tuple[Any, Any, Any]:
    """The class axis, the targets with ignored ones at 0, and the weight of every target (0 where ignored)."""
    axis = 1 if input.ndim > 1 else 0
    classes = input.shape[axis]
    counted = target != ignore_index
    safe = xp.where(counted, target, 0)
    if safe.size and (safe.min() < 0 or safe.max() >= classes):
        bad = safe[(safe < 0) | (safe >= classes)].reshape(-1)[0] if safe.ndim else safe
        raise DimensionError(f"Target {bad} is out of bounds.")
    weights = counted.astype(input.dtype) if weight is None else xp.where(counted, weight[safe], weight.dtype.type(0))
    return axis, safe, weights


def _nll_kernel(xp: Any, input: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> list[Any]:
    _nll_meta(input, target, weight, reduction, ignore_index)
    axis, safe, weights = _spread_classes(xp, input, target, weight, ignore_index)
    picked = xp.take_along_axis(input, xp.expand_dims(safe, axis), axis).squeeze(axis)
    loss = xp.where(target == ignore_index, input.dtype.type(0), -picked * weights)  # what is ignored may be NaN
    total = xp.asarray(weights.sum(dtype=input.dtype))
    if reduction == "none":
        return [loss, total]
    loss = loss.sum(dtype=input.dtype)
    return [loss / total if reduction == "mean" else loss, total]


@primitive(
    meta=_nll_meta,
    kernel=_nll_kernel,
    vjp={
        "input": lambda g, input_shape, target, weight, reduction, ignore_index, total: nll_gradient(
            g, input_shape, target, weight, reduction, ignore_index, total
        )
    },
    returns=("loss", "total"),
    nondifferentiable=("total",),
    namespace=None,
    method=False,
    out=False,
    node_name="NllLossBackward0",
    onnx={9: onnx_forms.nll_forward},
)
def nll_forward(input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, ignore_index: int) -> Tensor:
    """The negative of the input at each target's class, weighted; and the sum of the weights."""


def _nll_gradient_kernel(xp: Any, grad: Any, shape: Any, target: Any, weight: Any, reduction: str, ignore_index: int, total: Any) -> Any:
    result = xp.zeros(shape, grad.dtype)
    axis, safe, weights = _spread_classes(xp, result, target, weight, ignore_index)
    values = -weights * (grad / total if reduction == "mean" else grad)
    xp.put_along_axis(result, xp.expand_dims(safe, axis), xp.expand_dims(values.astype(grad.dtype), axis), axis)
    return result


def _nll_pick(g: Any, target: Any, weight: Any, reduction: str, ignore_index: int, total: Any) -> Any:
    return nll_forward(g, target, weight, reduction, ignore_index)[0]


@primitive(
    meta=lambda grad, shape, target, weight, reduction, ignore_index, total: Spec(shape, grad.dtype),
    kernel=_nll_gradient_kernel,
    vjp={"grad": _nll_pick},
    namespace=None,
    method=False,
    out=False,
    onnx={9: onnx_forms.nll_gradient},
)
def nll_gradient(
    grad: Tensor, shape: Any, target: Tensor, weight: Tensor | None, reduction: str, ignore_index: int, total: Tensor
) -> Tensor:
    """The gradient of ``nll_forward``: the incoming gradient at each target's class, 0 elsewhere."""


@composite(namespace="nn.functional", name="nll_loss", onnx={12: onnx_forms.nll_loss})
def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, ignore_index: int = -100,
    reduce: Any = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The negative log-likelihood loss: minus the input (log-probabilities) at each target's class."""
    reduction = old_reduction(reduction, size_average, reduce)
    if reduction not in REDUCTIONS:
        raise ValueRangeError(f"{reduction} is not a valid value for reduction")
    refuse_gradient("nll_loss2d_forward" if input._array.ndim == 4 else "nll_loss_forward", weight=weight)
    if not input._array.ndim:
        raise ValueRangeError("Expected 1 or more dimensions (got 0)")
    if input._array.ndim == 1 == target._array.ndim:
        if target._array.shape[0] != 1:
            raise ValueRangeError(f"For 1D input, 1D target must have size 1, but got target size: {target._array.shape[0]}")
        target = target.reshape(())
    return nll_forward(input, target, weight, reduction, ignore_index)[0]


@composite(namespace="nn.functional", name="cross_entropy", onnx={12: onnx_forms.cross_entropy})
def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, ignore_index: int = -100,
    reduce: Any = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """The cross entropy between logits and targets, given as classes or as probabilities."""
    reduction = old_reduction(reduction, size_average, reduce)
    if not 0.0 <= label_smoothing <= 1.0:
        raise OperationError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    axis = 1 if input._array.ndim > 1 else 0
    logs = input.log_softmax(axis)
    if tuple(target._array.shape) == tuple(input._array.shape) and target._array.dtype.kind not in "iub":
        if target.is_complex():
            raise DtypeError(f"Expected floating point type for target with class probabilities, got {legacy_name(target._array.dtype)}")
        return _soft_cross_entropy(logs, target, weight, reduction, label_smoothing, axis)
    loss = nll_loss(logs, target, weight, None, ignore_index, None, reduction)
    if label_smoothing == 0:
        return loss
    classes = input._array.shape[axis]
    shape = [classes if i == axis else 1 for i in range(input._array.ndim)]
    smooth = -(logs if weight is None else logs * weight.reshape(shape)).sum(axis)
    counted: Any = target != ignore_index
    smooth = smooth.masked_fill(~counted, 0)
    if reduction == "mean":
        total = counted.sum() if weight is None else (weight[target.masked_fill(~counted, 0)] * counted).sum()
        smooth = smooth.sum() / total
    else:
        smooth = reduced(smooth, reduction)
    return loss * (1 - label_smoothing) + smooth * (label_smoothing / classes)


def _soft_cross_entropy(logs: Any, target: Any, weight: Any, reduction: str, smoothing: float, axis: int) -> Any:
    classes = logs._array.shape[axis]
    if smoothing > 0:
        target = target * (1 - smoothing) + smoothing / classes
    if weight is not None:
        logs = logs * weight.reshape([classes if i == axis else 1 for i in range(logs._array.ndim)])
    loss = -(logs * target).sum(axis)
    if reduction == "mean":
        return loss.sum() / (logs._array.size // classes if classes else 0.0 * loss.sum())
    return reduced(loss, reduction)


@primitive(
    meta=elementwise(refuse="bool int complex"),
    kernel=lambda xp, input, target: (
        (target - 1) * xp.maximum(xp.log1p(-input), input.dtype.type(-100)) - target * xp.maximum(xp.log(input), input.dtype.type(-100))
    ),
    vjp={
        "input": lambda g, input, target: g * (input - target) / ((1 - input) * input).clamp(min=1e-12),
        "target": lambda g, input: g * ((-input).log1p() - input.log()),
    },
    namespace=None,
    method=False,
    out=False,
    in_place=False,
    name="_binary_cross_entropy",
)
def probability_entropy(input: Tensor, target: Tensor) -> Tensor:
    """The cross entropy of each probability with its target; the gradient stays finite at 0 and 1."""


@composite(namespace="nn.functional", name="binary_cross_entropy")
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """The cross entropy of probabilities and targets between 0 and 1; logarithms are held at -100."""
    reduction = old_reduction(reduction, size_average, reduce)
    if reduction not in REDUCTIONS:
        raise ValueRangeError(f"{reduction} is not a valid value for reduction")
    if tuple(input._array.shape) != tuple(target._array.shape):
        raise ValueRangeError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. Please ensure they "
            "have the same size."
        )
    values = input._array
    if values.__class__ is np.ndarray and values.size and not ((values >= 0) & (values <= 1)).all():
        raise OperationError("all elements of input should be between 0 and 1")
    for each in (target, weight):
        if each is not None and each._array.dtype != values.dtype:
            raise DtypeError(f"Found dtype {legacy_name(each._array.dtype)} but expected {legacy_name(values.dtype)}")
    wanted = target._array
    if wanted.__class__ is np.ndarray and wanted.size and not ((wanted >= 0) & (wanted <= 1)).all():
        raise OperationError("all elements of target should be between 0 and 1")
    refuse_gradient("binary_cross_entropy", weight=weight)
    loss = probability_entropy(input, target)
    if weight is not None:
        loss = loss * weight
    return reduced(loss, old_reduction(reduction, size_average, reduce))


def _logit_entropy_kernel(xp: Any, input: Any, target: Any, pos_weight: Any) -> Any:
    logs = xp.minimum(input, input.dtype.type(0)) - xp.log1p(xp.exp(-xp.abs(input)))
    if pos_weight is not None:
        logs = ((pos_weight - 1) * target + 1) * logs
    return (1 - target) * input - logs


def _logit_gradient(g: Any, input: Any, target: Any, pos_weight: Any) -> Any:
    """A difference of the probability and the target: summed up from the terms of the loss, small probabilities would cancel out."""
    if pos_weight is None:
        return g * (input.sigmoid() - target)
    positive = pos_weight * target
    return g * ((positive + 1 - target) * input.sigmoid() - positive)


def _logit_target_gradient(g: Any, input: Any, pos_weight: Any) -> Any:
    return -g * (input if pos_weight is None else input + (pos_weight - 1) * table["logsigmoid"].call(input))


@primitive(
    meta=elementwise(refuse="bool int complex"),
    kernel=_logit_entropy_kernel,
    vjp={"input": _logit_gradient, "target": _logit_target_gradient},
    namespace=None,
    method=False,
    out=False,
    in_place=False,
    name="_logit_cross_entropy",
    node_name="BinaryCrossEntropyWithLogitsBackward0",
)
def logit_entropy(input: Tensor, target: Tensor, pos_weight: Tensor | None) -> Tensor:
    """The cross entropy of each logit with its target, without overflow."""


@composite(namespace="nn.functional", name="binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean", pos_weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The cross entropy of logits and targets between 0 and 1, without overflow."""
    if tuple(input._array.shape) != tuple(target._array.shape):
        raise ValueRangeError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    refuse_gradient("binary_cross_entropy_with_logits", weight=weight, pos_weight=pos_weight)
    kind = target._array.dtype
    if not (target.is_floating_point() or target.is_complex()) and input.is_floating_point():
        raise DtypeError(f"result type {legacy_name(input._array.dtype)} can't be cast to the desired output type {legacy_name(kind)}")
    if not input.is_floating_point():
        raise UnsupportedDtype(f"binary_cross_entropy_with_logits(): not implemented for {legacy_name(input._array.dtype)}")
    loss = logit_entropy(input, target, pos_weight)
    if loss._array.dtype != kind:  # PyTorch computes it in the place of the targets
        loss = loss.to(target.dtype)
    if weight is not None:
        loss = (loss * weight).to(target.dtype)
    return reduced(loss, old_reduction(reduction, size_average, reduce))


@composite(namespace="nn.functional", name="kl_div")
def kl_div(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """The Kullback-Leibler divergence of targets from log-probabilities."""
    reduction = old_reduction(reduction, size_average, reduce)
    kinds = {input._array.dtype.kind, target._array.dtype.kind}
    if "c" in kinds:
        raise DtypeError("kl_div: Complex inputs not supported.")
    if not kinds <= set("fV"):
        raise DtypeError("kl_div: Integral inputs not supported.")
    loss = target.exp() * (target - input) if log_target else table["xlogy"].call(target, target) - target * input
    if reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size. 'batchmean' divides only by the batch size, as "
            "the definition of the KL divergence does.", stacklevel=4,
        )  # fmt: skip
    if reduction == "batchmean":
        return loss.sum() / input._array.shape[0] if input._array.ndim else loss.sum()
    return reduced(loss, reduction)


@composite(namespace="nn.functional", name="poisson_nll_loss")
def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: Any = None, eps: float = 1e-8,
    reduce: Any = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The negative log-likelihood of counts under a Poisson distribution."""
    reduction = old_reduction(reduction, size_average, reduce)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduced(loss, reduction)


@composite(namespace="nn.functional", name="gaussian_nll_loss")
def gaussian_nll_loss(input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> Tensor:
    """The negative log-likelihood of targets under normal distributions with given means and variances."""
    if isinstance(var, Tensor):
        shape, of_var = tuple(input._array.shape), tuple(var._array.shape)
        if of_var != shape:
            if of_var == shape[:-1]:
                var = var.unsqueeze(-1)
            elif len(of_var) != len(shape) or [own for own, other in zip(of_var, shape) if own != other] != [1]:  # one dimension of size 1
                raise ValueRangeError("var is of incorrect size")
        if var._array.__class__ is np.ndarray and (var._array < 0).any():
            raise ValueRangeError("var has negative entry/entries")
        fixed = var.detach()
        var = var + table["where"].call(fixed < eps, eps - fixed, 0.0)  # the gradient is that of the variance as it was given
        loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    else:
        if var < 0:
            raise ValueRangeError("var has negative entry/entries")
        var = max(var, eps)
        loss = 0.5 * (math.log(var) + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    if reduction not in REDUCTIONS:
        raise ValueRangeError(reduction + " is not valid")
    return reduced(loss, reduction)
