"""Losses with margins, of embeddings, and over alignments (CTC)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.argument_checks import refuse_gradient
from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, primitive, table
from ...core.dtypes import bool_, legacy_name
from ...core.errors import ArgumentError, DtypeError, NotSupported, OperationError, ShapeError, ValueRangeError
from .losses import old_reduction, reduced
from .normalization import pairwise_distance


@composite(
    namespace="nn.functional",
)
def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """The input where the target is 1, ``max(0, margin - input)`` where it is -1."""
    if input._array.dtype.kind in "biu":  # the margin takes the input's dtype
        margin = int(margin)
    hinge = (margin - input).clamp(min=0)
    loss = input.masked_fill(target == -1, 0) + hinge.masked_fill(target == 1, 0)
    return reduced(loss, old_reduction(reduction, size_average, reduce))


@composite(
    namespace="nn.functional",
)
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``max(0, -target * (input1 - input2) + margin)``."""
    if not input1._array.ndim == input2._array.ndim == target._array.ndim:
        raise ShapeError(
            f"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: {input1.shape}, "
            f"input2: {input2.shape}, target: {target.shape} "
        )
    return reduced((-target * (input1 - input2) + float(margin)).clamp(min=0), old_reduction(reduction, size_average, reduce))


@composite(namespace="nn.functional")
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1."""
    dim, sizes = target._array.ndim, [list(each._array.shape) for each in (input1, input2)]
    if dim > 1:
        raise ShapeError("0D or 1D target tensor expected, multi-target not supported")
    if any(len(each) != dim + 1 for each in sizes):
        raise ShapeError(f"{dim}D target tensor expects {dim + 1}D input tensors, but found inputs with sizes {sizes[0]} and {sizes[1]}.")
    first, second = (input1 * input1).sum(dim) + 1e-12, (input2 * input2).sum(dim) + 1e-12
    cosine = (input1 * input2).sum(dim) / (first * second).sqrt()
    zero = table["zeros_like"].call(cosine)
    apart = (cosine - margin).clamp(min=0)
    loss = table["where"].call(target == 1, 1 - cosine, zero) + table["where"].call(target == -1, apart, zero)
    return reduced(loss, old_reduction(reduction, size_average, reduce))


@composite(namespace="nn.functional")
def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-6, swap: bool = False,
    size_average: Any = None, reduce: Any = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``max(0, |anchor - positive| - |anchor - negative| + margin)``."""
    if margin <= 0:
        raise ValueRangeError(f"margin must be greater than 0, got {margin}")
    return triplet_margin_with_distance_loss(
        anchor, positive, negative, distance_function=lambda a, b: pairwise_distance(a, b, p, eps), margin=margin, swap=swap,
        reduction=old_reduction(reduction, size_average, reduce),
    )  # fmt: skip


@composite(
    namespace="nn.functional",
)
def triplet_margin_with_distance_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Any = None, margin: float = 1.0, swap: bool = False,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The triplet loss for a distance of the user's."""
    if margin <= 0:
        raise ValueRangeError(f"margin must be greater than 0, got {margin}")
    ranks = [each._array.ndim for each in (anchor, positive, negative)]
    if len(set(ranks)) > 1:
        raise ShapeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor {}D, positive "
            "{}D, and negative {}D inputs".format(*ranks)
        )
    distance = distance_function or pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = table["minimum"].call(far, distance(positive, negative))
    return reduced((margin + near - far).clamp(min=0), reduction)


@composite(namespace="nn.functional")
def multi_margin_loss(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, size_average: Any = None,
    reduce: Any = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """For every class but the target's: ``max(0, margin - input[target] + input[class]) ** p``, summed and divided by classes."""
    reduction = old_reduction(reduction, size_average, reduce)
    refuse_gradient("multi_margin_loss", weight=weight)
    if p not in (1, 2):
        raise ValueRangeError("only p == 1 and p == 2 supported")
    if input._array.ndim > 2 or (input._array.ndim == 2 and not input._array.shape[1]):
        raise ShapeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input._array.shape)}")
    single = input._array.ndim <= 1
    if input._array.ndim < 2 and target._array.size != 1 or target._array.ndim > 1:
        raise ShapeError(f"inconsistent target size, expected 1 but got {list(target._array.shape)}")
    rows, labels = (input.reshape(1, -1), target.reshape(1)) if single else (input, target)
    single = single and not target._array.ndim
    labels = labels.reshape(1) if not labels._array.ndim and rows._array.shape[0] == 1 else labels
    if not labels._array.ndim or rows._array.shape[0] != labels._array.shape[0]:
        raise ShapeError(f"inconsistent target size, expected {rows._array.shape[0]} but got {list(target._array.shape)}")
    classes = rows._array.shape[1]
    picked = rows.gather(1, labels.unsqueeze(1))
    loss = margin - picked + rows
    loss = loss.masked_fill(~(loss > 0), 0) ** p  # NaN is not above the margin
    if weight is not None:
        loss = loss * weight[labels].unsqueeze(1)
    loss = loss.masked_fill(table["one_hot"].call(labels, classes).to(bool_), 0).sum(1) / classes
    return reduced(loss[0] if single and reduction == "none" else loss, reduction)


@composite(namespace="nn.functional")
def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Tensor:
    """For every target class and every other class: ``max(0, 1 - (input[target] - input[other]))``, divided by classes."""
    reduction = old_reduction(reduction, size_average, reduce)
    if tuple(target._array.shape) != tuple(input._array.shape):
        raise ShapeError(f"inconsistent target size: {list(target._array.shape)} for input of size: {list(input._array.shape)}")
    if input._array.ndim > 2 or (input._array.ndim and not input._array.shape[-1]):
        raise ShapeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input._array.shape)}")
    if target.is_complex():
        raise NotSupported("multilabel_margin_loss is not implemented for targets of complex numbers")
    if target._array.dtype != np.int64:
        raise DtypeError(f"expected scalar type Long but found {legacy_name(target._array.dtype)}")
    single = input._array.ndim <= 1
    rows, labels = (input.reshape(1, -1), target.reshape(1, -1)) if single else (input, target)
    classes = rows._array.shape[1]
    if labels._array.__class__ is np.ndarray and labels._array.size and not -1 <= labels._array.min() <= labels._array.max() < classes:
        raise OperationError("argument #2 'target' is out of range")
    used = (labels < 0).cumsum(1) == 0  # labels count up to the first -1
    safe = labels.masked_fill(~used, 0)
    is_target = table["zeros_like"].call(rows.detach()).scatter_add(1, safe, used.to(rows.dtype)) > 0
    difference = 1 - rows.gather(1, safe).unsqueeze(2) + rows.unsqueeze(1)
    counted = used.unsqueeze(2) & ~is_target.unsqueeze(1)
    loss = difference.masked_fill(~(counted & (difference > 0)), 0).sum((1, 2)) / classes  # NaN is not above the margin
    return reduced(loss[0] if single and reduction == "none" else loss, reduction)


@composite(namespace="nn.functional")
def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """The mean over classes of the binary cross entropy of logits."""
    logs = table["logsigmoid"].call
    loss = -(target * logs(input) + (1 - target) * logs(-input))
    if weight is not None:
        loss = loss * weight
    return reduced(loss.sum(-1) / input._array.shape[-1], old_reduction(reduction, size_average, reduce))


# -- CTC ---------------------------------------------------------------------------------------------------------


def _ctc_paths(xp: Any, labels: Any, blank: int) -> tuple[Any, Any]:
    """Labels with blanks between them, and where a path may jump over a blank."""
    path = xp.full(2 * len(labels) + 1, blank, np.int64)
    path[1::2] = labels
    skip = xp.zeros(len(path), bool)
    skip[3::2] = labels[1:] != labels[:-1]
    return path, skip


def _ctc_forward(xp: Any, logs: Any, path: Any, skip: Any) -> Any:
    """Log-probabilities of all beginnings of alignments: a row for each time."""
    times, width = logs.shape[0], len(path)
    alpha = xp.full((times, width), -np.inf, logs.dtype)
    if not times:
        return alpha
    picked = logs[:, path]
    alpha[0, : min(2, width)] = picked[0, : min(2, width)]
    for t in range(1, times):
        total = alpha[t - 1].copy()
        total[1:] = xp.logaddexp(total[1:], alpha[t - 1, :-1])
        total[2:] = xp.where(skip[2:], xp.logaddexp(total[2:], alpha[t - 1, :-2]), total[2:])
        alpha[t] = total + picked[t]
    return alpha


def _ctc_kernel(xp: Any, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int) -> list[Any]:
    loss = xp.empty(log_probs.shape[1], log_probs.dtype)
    slope = xp.zeros(log_probs.shape, log_probs.dtype)
    starts = np.concatenate([[0], np.cumsum(target_lengths)[:-1]]).astype(int) if targets.ndim == 1 else None
    for n, (length, count) in enumerate(zip(input_lengths, target_lengths)):
        labels = targets[starts[n] : starts[n] + count] if starts is not None else targets[n, :count]
        logs = log_probs[:length, n]
        path, skip = _ctc_paths(xp, labels, blank)
        alpha = _ctc_forward(xp, logs, path, skip)
        if not length:
            loss[n] = 0 if not count else np.inf
            continue
        total = xp.logaddexp(alpha[-1, -1], alpha[-1, -2]) if len(path) > 1 else alpha[-1, -1]
        loss[n] = -total
        # endings are beginnings read backwards
        back_path, back_skip = _ctc_paths(xp, labels[::-1], blank)
        beta = _ctc_forward(xp, logs[::-1], back_path, back_skip)[::-1, ::-1]
        share = alpha + beta - logs[:, path] - total
        weights = xp.where(np.isnan(share), 0, xp.exp(share))
        # The derivative by log-probabilities that stay normalized: PyTorch subtracts the posterior from the probability.  Behind a log_softmax
        # it makes no difference whether that is done here or there.
        slope[:length, n] = xp.exp(logs)
        for s in range(len(path)):
            slope[:length, n, path[s]] -= weights[:, s]
        if not np.isfinite(total):
            slope[:length, n] = np.nan
    return [loss, slope]


@primitive(
    meta=lambda log_probs, targets, input_lengths, target_lengths, blank: [
        Spec((log_probs.shape[1],), log_probs.dtype), Spec(log_probs.shape, log_probs.dtype),
    ],
    kernel=_ctc_kernel,
    vjp={"log_probs": lambda g, slope: (g.reshape(1, -1, 1) * slope).masked_fill((g == 0).reshape(1, -1, 1), 0)},
    returns=("loss", "slope"),
    nondifferentiable=("slope",),
    namespace=None,
    method=False,
    out=False,
    notes="once differentiable",
    onnx="its sums over alignments run back and forth over time, and ONNX has no node for them",
)  # fmt: skip
def ctc_alignments(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int) -> Tensor:
    """Minus the log-probability of all alignments of each target, and its derivative by log-probabilities that stay normalized."""


def _ctc_lengths(lengths: Any, name: str) -> list[int]:
    """Lengths as a list of ints, none of them negative."""
    if not isinstance(lengths, (Tensor, list, tuple)):
        raise ArgumentError(f"ctc_loss(): argument '{name}' must be Tensor or tuple of ints, not {type(lengths).__name__}")
    if isinstance(lengths, Tensor) and lengths._array.dtype.kind not in "iu":
        raise DtypeError(f"{name} must be integral")
    found = lengths.reshape(-1).tolist() if isinstance(lengths, Tensor) else list(lengths)
    if any(each < 0 for each in found):
        raise OperationError(f"Expected {name} to have value at least 0, but got value {min(found)}")
    return found


@composite(namespace="nn.functional", notes="once differentiable")
def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """The connectionist temporal classification loss: minus the log-probability that outputs spell the targets."""
    single = log_probs._array.ndim == 2
    lengths, counts = (_ctc_lengths(each, name) for each, name in ((input_lengths, "input_lengths"), (target_lengths, "target_lengths")))
    if single:
        log_probs = log_probs.unsqueeze(1)
        targets = targets.reshape(1, -1)
    if not 0 <= blank < log_probs._array.shape[2]:
        raise OperationError("blank must be in label range")
    if len(lengths) != log_probs._array.shape[1] or len(counts) != log_probs._array.shape[1]:
        raise OperationError("input_lengths must be of size batch_size")
    if max(lengths, default=0) > log_probs._array.shape[0]:
        raise OperationError(f"Expected input_lengths to have value at most {log_probs._array.shape[0]}, but got value {max(lengths)}")
    if targets._array.ndim == 1:
        if sum(counts) != targets._array.shape[0]:
            raise OperationError(f"Expected tensor to have size {sum(counts)} at dimension 0, but got size {targets._array.shape[0]}")
    elif max(counts, default=0) > targets._array.shape[1]:
        raise OperationError(
            f"Expected tensor to have size at least {max(counts)} at dimension 1, but got size {list(targets._array.shape)}"
        )
    targets = targets.to(log_probs.device)  # cuDNN takes them on the CPU, and so does PyTorch
    loss = ctc_alignments(log_probs, targets, lengths, counts, blank)[0]
    if zero_infinity:
        loss = loss.masked_fill(loss == float("inf"), 0)
    if reduction == "mean":
        divisor = loss.new_tensor([max(count, 1) for count in counts])
        return (loss / divisor).mean()
    return reduced(loss[0] if single and reduction == "none" else loss, reduction)
