"""Private names of `torch.masked`: masks of arguments and results, and the identities of reductions."""

from __future__ import annotations

import inspect
from typing import Any

import rushlight

from ..masked.reductions import _dims as _canonical_dim
from ..masked.reductions import _highest, _lowest

__all__ = ["_canonical_dim", "_combine_input_and_mask", "_input_mask", "_output_mask", "_reduction_identity"]


def _reduction_identity(op_name: str, input: Any, *args: Any) -> Any:
    """What a reduction gives for no elements, in the type of the input; None where there is no such number."""
    name = op_name.rsplit(".", 1)[-1]
    kind = input.dtype
    value: float
    if name in ("sum", "cumsum"):
        value = 0
    elif name in ("prod", "cumprod"):
        value = 1
    elif name in ("amax", "argmax", "logaddexp", "logsumexp", "softmax", "log_softmax"):
        value = _lowest(kind)
    elif name in ("amin", "argmin", "softmin"):
        value = _highest(kind)
    elif name == "norm":
        value = float("inf") if args and args[0] == float("-inf") else 0
    elif name == "median":
        kind = kind if kind.is_floating_point else rushlight.float32
        value = float("nan")
    elif name in ("mean", "var", "std"):
        return None
    else:
        raise NotImplementedError(f"identity of {op_name} on {input.dtype} input")
    return rushlight.tensor(value, dtype=kind, device=input.device)


def _input_mask(input: Any, *args: Any, mask: Any = None, **kwargs: Any) -> Any:
    """A mask in the shape and the layout of the input."""
    if mask is None:
        raise ValueError("_input_mask requires explicit mask")
    if mask.dim() > input.dim():
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    dense = (mask if mask.layout == rushlight.strided else mask.to_dense()).bool().broadcast_to(input.shape)
    if input.layout == rushlight.strided:
        return dense
    return dense.to_sparse() if input.layout == rushlight.sparse_coo else dense.to_sparse_csr()


def _output_mask(op: Any, input: Any, *args: Any, dim: Any = None, keepdim: bool = False, **kwargs: Any) -> Any:
    """Where the result of a masked operation has a value."""
    parameters = list(inspect.signature(op).parameters)
    if "dim" not in parameters:
        raise ValueError(f"_output_mask expected masked operation (got callable {op.__module__}.{op.__name__})")
    kept = _input_mask(input, *args, **kwargs)
    if "keepdim" not in parameters:
        return kept  # the result has the shape of the input
    place = parameters.index("dim") - 1
    for each in reversed(_canonical_dim(args[place] if dim is None and len(args) > place else dim, input.dim())):
        kept = (kept if kept.layout == rushlight.strided else kept.to_dense()).any(each, keepdim)
    return kept


def _combine_input_and_mask(op: Any, input: Any, mask: Any, *args: Any) -> Any:
    """The input with the identity of an operation where the mask leaves elements out."""
    if mask is None:
        return input
    return rushlight.where(_input_mask(input, mask=mask), input, _reduction_identity(op.__name__, input, *args))
