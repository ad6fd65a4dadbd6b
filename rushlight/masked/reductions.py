"""Reductions and normalizations of the elements that a mask keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight

from ..core.dtypes import iinfo
from ..core.errors import OperationError, ValueRangeError
from ..core.families import normalize_dim


def _mask_of(input: Any, mask: Any) -> Any:
    """A mask in the shape of the input."""
    if mask is None:
        return rushlight.ones(input.shape, dtype=rushlight.bool, device=input.device)
    if mask.dim() > input.dim():
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    return mask.bool().expand(input.shape)


def _filled(input: Any, mask: Any, value: Any) -> Any:
    """The input with a value where the mask leaves elements out."""
    return input if mask is None else rushlight.where(_mask_of(input, mask), input, rushlight.tensor(value, dtype=input.dtype))


def _dims(dim: Any, count: int) -> tuple[int, ...]:
    """Dimensions as PyTorch counts them here: those of a tensor without any are one of size 1."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(max(count, 1) if dim is not None else count))
    found: list[int] = []
    for each in dim if isinstance(dim, (tuple, list)) else (dim,):
        place = normalize_dim(each, max(count, 1))
        if place in found:
            raise OperationError(f"dim={each} appears multiple times in the list of dims")
        found.append(place)
    return tuple(sorted(found))


def _lowest(dtype: Any) -> Any:
    return float("-inf") if dtype.is_floating_point else False if dtype is rushlight.bool else iinfo(dtype).min


def _highest(dtype: Any) -> Any:
    return float("inf") if dtype.is_floating_point else True if dtype is rushlight.bool else iinfo(dtype).max


_ANY, _ROWS, _NONE = ("sparse_coo", "sparse_csr"), ("sparse_csr",), ()  # the sparse layouts that a function takes


def _opened(input: Any, mask: Any, name: str, known: tuple[str, ...] = _NONE) -> tuple[Any, Any]:
    """The elements of a sparse or masked tensor, and its mask where no other is given.

    A sparse tensor is reduced as the dense one that it stands for; :func:`_again` gives the result its layout.
    """
    data = getattr(input, "_masked_data", None)
    if data is not None:
        return data, input._masked_mask if mask is None else mask
    if mask is not None and mask.layout != rushlight.strided:
        mask = mask.to_dense()
    if input.layout == rushlight.strided:
        return input, mask
    layout = str(input.layout).removeprefix("torch.")
    if layout not in known:
        expected = f"strided{', ' if len(known) > 1 else ' or ' if known else ''}{' or '.join(known)}"
        raise ValueRangeError(f"masked {name} expects {expected} tensor (got {input.layout} tensor)")
    if mask is None and name != "sum":
        raise ValueRangeError(f"masked {name} expects explicit mask for {layout} tensor input")
    return input.to_dense(), mask


def sum(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The sum of the elements that the mask keeps, 0 where there are none."""
    data, mask = _opened(input, mask, "sum", _ANY)
    return _again(input, mask, dim, keepdim, _filled(data, mask, 0).sum(_dims(dim, data.dim()), keepdim, dtype=dtype))


def prod(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The product of the elements that the mask keeps, 1 where there are none."""
    data, mask = _opened(input, mask, "prod", _ANY)
    found = _filled(data, mask, 1)
    if dtype is not None:
        found = found.to(dtype)
    for each in sorted(_dims(dim, data.dim()), reverse=True):
        found = found.prod(each, keepdim)
    return _again(input, mask, dim, keepdim, found)


def amax(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The largest element that the mask keeps; the smallest number of the type where there are none."""
    data, mask = _opened(input, mask, "amax", _ANY)
    found = _filled(data, mask, _lowest(data.dtype)).amax(_dims(dim, data.dim()), keepdim)
    return _again(input, mask, dim, keepdim, found if dtype is None else found.to(dtype))


def amin(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The smallest element that the mask keeps; the largest number of the type where there are none."""
    data, mask = _opened(input, mask, "amin", _ANY)
    found = _filled(data, mask, _highest(data.dtype)).amin(_dims(dim, data.dim()), keepdim)
    return _again(input, mask, dim, keepdim, found if dtype is None else found.to(dtype))


def _arg(name: str, fill: Callable[[Any], Any]) -> Callable[..., Any]:
    def function(input: Any, dim: int | None = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
        data, mask = _opened(input, mask, name)
        dtype = data.dtype if dtype is None else dtype  # PyTorch gives the index in the type of the elements
        found = getattr(_filled(data, mask, fill(data.dtype)), name)(dim, keepdim).to(dtype)
        return _again(input, mask, dim, keepdim, found)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"The index of the {'largest' if name == 'argmax' else 'smallest'} element that the mask keeps, in the type of the elements."
    )
    return function


argmax, argmin = _arg("argmax", _lowest), _arg("argmin", _highest)


def _count(data: Any, mask: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    return _mask_of(data, mask).sum(_dims(dim, data.dim()), keepdim).to(dtype)


def mean(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The mean of the elements that the mask keeps, NaN where there are none."""
    data, mask = _opened(input, mask, "mean", _ROWS)
    kind = data.dtype if dtype is None else dtype
    if not (kind.is_floating_point or kind.is_complex):
        raise ValueRangeError(
            f"mean(): Could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: {kind}"
        )
    total = _filled(data, mask, 0).sum(_dims(dim, data.dim()), keepdim, dtype=kind)
    return _again(input, mask, dim, keepdim, total / _count(data, mask, dim, keepdim, kind))


def median(input: Any, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The median of the elements that the mask keeps."""
    data, mask = _opened(input, mask, "median")
    kind = data.dtype if dtype is None else dtype
    kept = _mask_of(data, mask)
    if not kind.is_floating_point and not bool(kept.any(dim).all()):
        raise ValueRangeError("masked median expects no fully masked out rows if dtype is not floating point")
    found = _filled(data.to(kind) if kind.is_floating_point else data.double(), mask, float("nan")).nanmedian(dim, keepdim).values
    return _again(input, mask, dim, keepdim, found.to(kind))


def logsumexp(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The logarithm of the sum of exponentials of the elements that the mask keeps."""
    data, mask = _opened(input, mask, "logsumexp")
    kind = data.dtype if dtype is None else dtype
    data = data.to(kind) if kind.is_floating_point or kind.is_complex else data.to(rushlight.get_default_dtype())
    found = _filled(data, mask, float("-inf")).logsumexp(_dims(dim, data.dim()), keepdim)
    return _again(input, mask, dim, keepdim, found.to(kind))  # PyTorch gives it in the type of the elements


def _variance(
    input: Any, mask: Any, dim: Any, unbiased: bool | None, correction: Any, keepdim: bool, dtype: Any, root: bool
) -> Any:  # fmt: skip
    if unbiased is not None and correction is not None:
        raise TypeError("Only one of unbiased and correction may be given")
    correction = (1 if unbiased is None else int(unbiased)) if correction is None else correction
    data, mask = _opened(input, mask, "std" if root else "var")
    kind = data.dtype if dtype is None else dtype
    if not (kind.is_floating_point or kind.is_complex):
        kind = rushlight.float32
    data = data.to(kind)
    dims = _dims(dim, data.dim())
    real = kind.to_real()
    count = _count(data, mask, dim, True, real)
    middle = _filled(data, mask, 0).sum(dims, True) / count
    away = _filled(data - middle, mask, 0)
    total = (away * away.conj()).sum(dims, keepdim)
    count = count if keepdim else _count(data, mask, dim, False, real)
    if correction:
        count = count - correction
        count = rushlight.maximum(count, rushlight.zeros_like(count))
    found = total / count
    return _again(input, mask, dim, keepdim, found.sqrt() if root else found)


def var(
    input: Any, dim: Any = None, unbiased: bool | None = None, *, correction: Any = None, keepdim: bool = False, dtype: Any = None,
    mask: Any = None,
) -> Any:  # fmt: skip
    """The variance of the elements that the mask keeps."""
    return _variance(input, mask, dim, unbiased, correction, keepdim, dtype, False)


def std(
    input: Any, dim: Any = None, unbiased: bool | None = None, *, correction: Any = None, keepdim: bool = False, dtype: Any = None,
    mask: Any = None,
) -> Any:  # fmt: skip
    """The standard deviation of the elements that the mask keeps."""
    return _variance(input, mask, dim, unbiased, correction, keepdim, dtype, True)


def norm(input: Any, ord: float | None = 2.0, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The norm of the elements that the mask keeps."""
    data, mask = _opened(input, mask, "norm")
    ord = 2.0 if ord is None else ord
    filled = _filled(data if dtype is None else data.to(dtype), mask, float("inf") if ord == float("-inf") else 0)
    return _again(input, mask, dim, keepdim, rushlight.linalg.vector_norm(filled, ord, _dims(dim, data.dim()), keepdim))


# -- of the input's shape ----------------------------------------------------------------------------------------


def _scan(name: str, identity: Any, doc: str, negative: bool = False) -> Callable[..., Any]:
    def function(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
        data, mask = _opened(input, mask, name)
        data = data if dtype is None else data.to(dtype)
        kind = data.dtype
        found = getattr(-_filled(data, mask, -identity) if negative else _filled(data, mask, identity), name.replace("softmin", "softmax"))(
            dim
        )
        return _same(input, mask, found.to(kind))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


cumsum = _scan("cumsum", 0, "Sums of all elements so far that the mask keeps.")
cumprod = _scan("cumprod", 1, "Products of all elements so far that the mask keeps.")
softmax = _scan("softmax", float("-inf"), "Softmax over the elements that the mask keeps.")
log_softmax = _scan("log_softmax", float("-inf"), "Logarithm of the softmax over the elements that the mask keeps.")
softmin = _scan("softmin", float("-inf"), "Softmax of the negatives of the elements that the mask keeps.", True)


def normalize(input: Any, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Any = None) -> Any:
    """The elements that the mask keeps over their norm; 0 for the others."""
    data, mask = _opened(input, mask, "normalize")
    data = data if dtype is None else data.to(dtype)
    length = norm(data, ord, dim, keepdim=True, mask=mask)
    return _same(input, mask, _filled(data, mask, 0) / rushlight.maximum(length, rushlight.tensor(eps, dtype=length.dtype)))


def logaddexp(input: Any, other: Any, *, dtype: Any = None, input_mask: Any = None, other_mask: Any = None) -> Any:
    """The logarithm of the sum of two exponentials; what a mask leaves out counts as minus infinity."""
    pair = [
        _filled(each if dtype is None else each.to(dtype), mask, float("-inf")) for each, mask in ((input, input_mask), (other, other_mask))
    ]
    return rushlight.logaddexp(*pair)


def _again(input: Any, mask: Any, dim: Any, keepdim: bool, found: Any) -> Any:
    """The result for a masked tensor: it is one, of the places where an element was kept.  For a sparse one it is sparse, too."""
    if getattr(input, "_masked_data", None) is None:
        if input.layout == rushlight.strided:
            return found
        return found.to_sparse() if input.layout == rushlight.sparse_coo else found.to_sparse_csr()
    kept = mask
    for each in sorted(_dims(dim, mask.dim()), reverse=True):
        kept = kept.any(each, keepdim)
    return type(input)(found, kept)


def _same(input: Any, mask: Any, found: Any) -> Any:
    return found if getattr(input, "_masked_data", None) is None else type(input)(found, mask)
