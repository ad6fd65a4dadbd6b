"""Operators inside of PyTorch's functions that files hold: traces record ``_convolution_mode``, decomposed programs ``_linalg_svd``.

Each is written by ops of the table, with the arguments of its schema.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.declare import exports, table
from ..core.errors import LinAlgError
from ..core.state import state


def _call(name: str, *args: Any, **keywords: Any) -> Any:
    return table[name].call(*args, **keywords)


def _convolution_by_name(input: Any, weight: Any, bias: Any, stride: Any, padding: str, dilation: Any, groups: int) -> Any:
    return exports["nn.functional", f"conv{weight.dim() - 2}d"](input, weight, bias, list(stride), padding, list(dilation), groups)


def _depthwise(self: Any, weight: Any, kernel_size: Any, bias: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    return _plain_convolution(self, weight, kernel_size, bias, stride, padding, dilation, self.shape[1])


def _plain_convolution(
    self: Any, weight: Any, kernel_size: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    return exports["nn.functional", f"conv{weight.dim() - 2}d"](self, weight, bias, stride, padding, dilation, groups)


def _safe_softmax(self: Any, dim: int, dtype: Any = None) -> Any:
    """A softmax that is zero where all scores are minus infinity."""
    scores = self if dtype is None else self.to(dtype)
    hidden = (scores == float("-inf")).all(dim, keepdim=True)
    return scores.masked_fill(hidden, 0.0).softmax(dim).masked_fill(hidden, 0.0)  # without scores there is no NaN in the gradient either


def _turned(A: Any) -> Any:
    """The matrix that PyTorch factorizes: the transposed one, where that needs no copy."""
    return A.mT if A.is_contiguous() and not A.is_complex() else A


def _factorized(function: str) -> Callable[..., Any]:
    """A function of a square matrix, with its factorization."""

    def run(A: Any) -> Any:
        factors = exports["linalg", "lu_factor"](_turned(A))
        result = exports["linalg", function](A)
        return (*(result if isinstance(result, tuple) else (result,)), *factors)

    return run


def _solve(A: Any, B: Any, left: bool = True, check_errors: bool = False) -> Any:
    factors, pivots, info = exports["linalg", "lu_factor_ex"](_turned(A))
    return exports["linalg", "solve_ex"](A, B, left=left, check_errors=check_errors)[0], factors, pivots, info


def _eigh(A: Any, UPLO: str = "L", compute_v: bool = True) -> Any:
    if compute_v:
        return tuple(exports["linalg", "eigh"](A, UPLO))
    return exports["linalg", "eigvalsh"](A, UPLO), A.new_empty(0)


def _svd(A: Any, full_matrices: bool = False, compute_uv: bool = True, driver: Any = None) -> Any:
    if compute_uv:
        return tuple(exports["linalg", "svd"](A, full_matrices))
    return A.new_empty(0), exports["linalg", "svdvals"](A), A.new_empty(0)


def _attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False, dropout_mask: Any = None,
    scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """Attention, and its weights."""
    if enable_gqa:
        key, value = (each.repeat_interleave(query.shape[-3] // each.shape[-3], -3) for each in (key, value))
    scores = query @ key.transpose(-2, -1) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        hidden = _call("ones", scores.shape[-2:], dtype=_call("eq", scores, 0).dtype, device=scores.device).tril().logical_not()
        scores = scores.masked_fill(hidden, float("-inf"))
    if attn_mask is not None:
        scores = scores + attn_mask
    weights = _safe_softmax(scores, -1)
    if dropout_mask is not None:
        weights = weights.masked_fill(dropout_mask.logical_not(), 0.0) / (1 - dropout_p)
    elif dropout_p > 0:
        weights = _call("dropout", weights, dropout_p, True)
    return weights @ value, weights


def _check_errors(info: Any, api_name: str, *, is_matrix: bool) -> None:
    """Raise where a factorization has failed; a capture, which knows no values, does not ask."""
    if state.capture is None and isinstance(info._array, np.ndarray) and info._array.any():
        batch = "" if is_matrix else f"(Batch element {int(np.argmax(info._array.reshape(-1) != 0))}): "
        raise LinAlgError(
            f"{api_name}: {batch}The algorithm failed to converge or the matrix is singular (error code: {int(info._array.max())})."
        )


def _pad_sequence(sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right") -> Any:
    longest = max(each.shape[0] for each in sequences)
    rows = []
    for each in sequences:
        missing = longest - each.shape[0]
        rows.append(
            _call(
                "pad",
                each,
                [0, 0] * (each.dim() - 1) + ([missing, 0] if padding_side == "left" else [0, missing]),
                "constant",
                padding_value,
            )
        )
    return _call("stack", rows, 0 if batch_first else 1)


INTERNAL: dict[str, Callable[..., Any]] = {
    "_weight_norm": lambda v, g, dim=0: v * (g / _call("norm_except_dim", v, 2, dim)),
    "_convolution_mode": _convolution_by_name,
    "_conv_depthwise2d": _depthwise, "conv_depthwise3d": _depthwise,
    "thnn_conv2d": _plain_convolution, "slow_conv3d": _plain_convolution, "slow_conv_dilated2d": _plain_convolution, "slow_conv_dilated3d": _plain_convolution,
    "_safe_softmax": _safe_softmax,
    "_scaled_dot_product_attention_math": _attention,
    "_linalg_det": _factorized("det"), "_linalg_slogdet": _factorized("slogdet"), "_linalg_solve_ex": _solve, "_linalg_eigh": _eigh, "_linalg_svd": _svd,
    "_linalg_check_errors": _check_errors,
    "_prelu_kernel": lambda self, weight: self.where(self > 0, self * weight),
    "_unsafe_index_put": lambda self, indices, values, accumulate=False: self.index_put(tuple(indices), values, accumulate),
    "_unsafe_masked_index": lambda self, mask, indices, fill: self[tuple(slice(None) if each is None else each.clamp(0, size - 1) for each, size in zip(indices, self.shape))].masked_fill(mask.logical_not(), fill),
    "_euclidean_dist": lambda x1, x2: _call("cdist", x1, x2, 2.0),
    "_shape_as_tensor": lambda self: _call("stack", [_call("scalar_tensor", each).long() for each in self.shape]),
    "_reshape_from_tensor": lambda self, shape: self.reshape(shape.tolist()),
    "_dim_arange": lambda like, dim: _call("arange", like.shape[dim]),
    "_reshape_copy": lambda self, size: self.reshape(list(size)).clone(),
    "pad_sequence": _pad_sequence,
}  # fmt: skip
