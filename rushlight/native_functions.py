"""Functions of PyTorch's lowest level that it has directly under ``torch``: reductions are numbers there, and norms return their statistics.

>>> import rushlight as torch
>>> torch.kl_div(torch.zeros(2), torch.ones(2), 2)
tensor(0.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .core.base import TensorBase as Tensor
from .core.base import make
from .core.declare import exports, table
from .core.dtypes import default
from .core.errors import DtypeError, OperationError
from .ops.aten_calls import SPECIAL
from .ops.embedding_bags import embedding_bag as embedding_bag

native_layer_norm = SPECIAL["native_layer_norm"]
native_group_norm = SPECIAL["native_group_norm"]
native_batch_norm = SPECIAL["native_batch_norm"]
native_dropout = SPECIAL["native_dropout"]


def _functional(name: str) -> Any:
    return exports["nn.functional", name]


def _reduction(number: int) -> str:
    found = {0: "none", 1: "mean", 2: "sum"}.get(number)
    if found is None:
        raise OperationError(f"{number} is not a valid value for reduction: 0 is none, 1 the mean, 2 the sum")
    return found


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: int = 0
) -> Tensor:
    """:func:`nn.functional.binary_cross_entropy_with_logits`, with the reduction as a number."""
    call = _functional("binary_cross_entropy_with_logits")
    return call(input, target, weight, reduction=_reduction(reduction), pos_weight=pos_weight)  # type: ignore[no-any-return]


def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0) -> Tensor:
    """:func:`nn.functional.cosine_embedding_loss`, with the reduction as a number."""
    return _functional("cosine_embedding_loss")(input1, input2, target, margin, reduction=_reduction(reduction))  # type: ignore[no-any-return]


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0) -> Tensor:
    """:func:`nn.functional.hinge_embedding_loss`, with the reduction as a number."""
    return _functional("hinge_embedding_loss")(input, target, margin, reduction=_reduction(reduction))  # type: ignore[no-any-return]


def kl_div(input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False) -> Tensor:
    """:func:`nn.functional.kl_div`, with the reduction as a number."""
    return _functional("kl_div")(input, target, reduction=_reduction(reduction), log_target=log_target)  # type: ignore[no-any-return]


def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0) -> Tensor:
    """:func:`nn.functional.margin_ranking_loss`, with the reduction as a number."""
    return _functional("margin_ranking_loss")(input1, input2, target, margin, reduction=_reduction(reduction))  # type: ignore[no-any-return]


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """:func:`nn.functional.poisson_nll_loss`, with the reduction as a number."""
    return _functional("poisson_nll_loss")(input, target, log_input, full, eps=eps, reduction=_reduction(reduction))  # type: ignore[no-any-return]


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False,
    reduction: int = 0,
) -> Tensor:  # fmt: skip
    """:func:`nn.functional.triplet_margin_loss`, with the reduction as a number."""
    call = _functional("triplet_margin_loss")
    return call(anchor, positive, negative, margin, p, eps, swap, reduction=_reduction(reduction))  # type: ignore[no-any-return]


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """:func:`nn.functional.ctc_loss`, with the reduction as a number."""
    call = _functional("ctc_loss")
    return call(log_probs, targets, input_lengths, target_lengths, blank, _reduction(reduction), zero_infinity)  # type: ignore[no-any-return]


def instance_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
    use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool,
) -> Tensor:  # fmt: skip
    """:func:`nn.functional.instance_norm`, with its arguments in another order."""
    call = _functional("instance_norm")
    return call(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)  # type: ignore[no-any-return]


def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Shrink, in place, the rows that are named to a largest norm."""
    _functional("embedding")(indices, input, max_norm=max_norm, norm_type=norm_type)
    return input


def frobenius_norm(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """The root of the sum of squares over dimensions (one or two)."""
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) > 2:
        raise OperationError(f"Expected at most 2 dimensions, but got {len(dims)} dimensions instead.")
    return table["linalg_vector_norm"].call(input, 2, list(dims) or None, keepdim)  # type: ignore[no-any-return]


def view_as_real_copy(input: Tensor) -> Tensor:
    """A copy of a complex tensor as real and imaginary parts in a new last dimension."""
    return table["view_as_real"].call(input).clone()  # type: ignore[no-any-return]


def view_as_complex_copy(input: Tensor) -> Tensor:
    """A copy of pairs of real numbers as complex ones."""
    return table["view_as_complex"].call(input).clone()  # type: ignore[no-any-return]


def detach_(input: Any) -> Any:
    """Take a tensor out of the gradient graph, in place."""
    return input.detach_()


def get_device(input: Any) -> int:
    """The index of the device of a tensor; -1 for the CPU."""
    return input.get_device()  # type: ignore[no-any-return]


def is_distributed(input: Any) -> bool:
    """False: no tensor is spread over processes."""
    return False


def hash_tensor(input: Any, dim: Any = None, *, keepdim: bool = False, mode: int = 0) -> Any:
    """The exclusive or of the bits of all elements, or along dimensions: floats as float64, integers as int64."""
    if mode:
        raise OperationError(f"hash_tensor: mode 0 (exclusive or) is the only one, got {mode}")
    array = input.detach().numpy()
    if array.dtype.kind == "c":
        raise DtypeError("hash_tensor is not implemented for complex tensors")
    wide = array.astype(np.float64 if array.dtype.kind in "fV" else np.int64).view(np.uint64)
    axis = None if dim is None or not array.ndim else tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
    return make(np.asarray(np.bitwise_xor.reduce(wide, axis=axis or None, keepdims=keepdim), np.uint64))  # type: ignore[call-overload]


def from_file(
    filename: str, shared: bool | None = None, size: int | None = 0, *, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False,
) -> Any:  # fmt: skip
    """A tensor over a file; with ``shared``, writes go to the file, which is made as large as it has to be."""
    kind = (dtype or default.floating).numpy
    if not shared:
        return make(np.array(np.memmap(filename, kind, "r", shape=(size or 0,)), copy=True))
    with open(filename, "ab") as file:
        file.truncate(max(file.tell(), (size or 0) * kind.itemsize))
    return make(np.asarray(np.memmap(filename, kind, "r+", shape=(size or 0,))))
