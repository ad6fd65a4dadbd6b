"""MaskedTensor: a tensor with a mask beside it, which says of each element whether it counts."""

from __future__ import annotations

import warnings
from typing import Any

import rushlight

from ..core.base import TensorBase
from ..core.declare import table
from ..core.errors import ArgumentError, OperationError, ValueRangeError
from ..core.facets import Facet
from ..tensor import Tensor
from ..tensor.methods import OPERATORS, UNARY
from . import reductions

masking: Facet[str] = Facet("masked", "how the op runs on masked tensors: what becomes of the mask")
# Functions of every element: the mask stays as it is.
masking.set("stays", *(
    "abs acos acosh angle asin asinh atan atanh bitwise_not ceil clamp conj_physical cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 floor frac "
    "lgamma log log10 log1p log2 logit i0 isnan nan_to_num neg positive rad2deg reciprocal relu round rsqrt sigmoid sign sgn signbit sin sinc sinh sqrt "
    "square tan tanh trunc clone detach contiguous ones_like zeros_like empty_like full_like rand_like cast"
).split())  # fmt: skip
# Functions of two, whose masks have to be the same.
masking.set("common", *(
    "add atan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift div floor_divide fmod logaddexp logaddexp2 mul nextafter remainder "
    "sub true_divide eq ne le ge gt lt maximum minimum fmax fmin pow rsub"
).split())  # fmt: skip
# Functions that move elements: the mask goes the same way.
masking.set("moves", *(
    "t transpose permute view reshape flatten unflatten squeeze unsqueeze expand expand_as select narrow split chunk unbind movedim swapaxes index_select "
    "flip roll repeat view_as cat stack numpy_T mT as_strided diagonal tile ravel slice unfold nn_functional_unfold nn_functional_fold"
).split())  # fmt: skip
masking.set("reduces", "sum", "mean", "amax", "amin", "argmax", "argmin", "prod", "all", "any", "var", "std", "norm")
masking.set("normalizes", "softmax", "log_softmax")
masking.set("chooses", "where")
# Methods that are no ops of the table.
METHODS = {
    "to": "stays",
    "detach": "stays",
    "double": "stays",
    "float": "stays",
    "half": "stays",
    "requires_grad_": "stays",
    "__getitem__": "moves",
}


def _kind_of(func: Any, name: str) -> tuple[str | None, str]:
    """What becomes of the mask in a call, and the name of the op."""
    op = getattr(func, "op", None)
    if op is None:
        word = name.strip("_")
        reflected = word[1:] if word.startswith("r") and word[1:] in OPERATORS else word
        found = {**OPERATORS, **UNARY}.get(reflected)
        op = None if found is None or not name.startswith("__") else table[found]
    if op is None:
        return METHODS.get(name), name
    op = op.functional or op
    return masking.of(op), op.public_name


class MaskedTensor(Tensor):
    """A tensor of which some elements do not count; made by :func:`masked_tensor`."""

    _masked_data: Any
    _masked_mask: Any

    def __new__(cls, data: Any, mask: Any, requires_grad: bool = False) -> Any:
        if isinstance(data, MaskedTensor) or not isinstance(data, Tensor):
            raise ArgumentError("data must be a Tensor")
        if isinstance(mask, MaskedTensor) or not isinstance(mask, Tensor):
            raise ArgumentError("mask must be a Tensor")
        if mask.dtype is not rushlight.bool:
            raise ArgumentError("mask must have dtype bool.")
        if data.layout is not mask.layout:
            raise ArgumentError("data and mask must have the same layout.")
        if data.layout is rushlight.sparse_coo:
            data, mask = data.coalesce(), mask.coalesce()
            if data._nnz() != mask._nnz():
                data = data.to_dense().sparse_mask(mask)
        if data.layout in _COMPRESSED and not _same_places(data, mask):
            raise ValueRangeError("data and mask must both be sparse tensors with the same elements specified")
        if data.dim() != mask.dim():
            raise ValueRangeError("data.dim() must equal mask.dim()")
        if data.shape != mask.shape:
            raise ValueRangeError(f"data.size() must equal mask.size(), got {list(data.shape)} and {list(mask.shape)}")
        if requires_grad and not (data.is_floating_point() or data.is_complex()):
            raise OperationError("Only Tensors of floating point and complex dtype can require gradients")
        data = Tensor.detach(data).requires_grad_() if requires_grad else data
        made: Any = object.__new__(cls)
        for slot in ("_array", "_grad_fn", "_output_index", "_requires_grad", "_storage"):
            setattr(made, slot, getattr(data, slot))
        made._masked_data, made._masked_mask = data, mask
        return made

    def __init__(self, data: Any, mask: Any, requires_grad: bool = False) -> None:
        pass

    def get_data(self) -> Any:
        """All elements, those that do not count too."""
        return self._masked_data

    def get_mask(self) -> Any:
        """True where an element counts."""
        return self._masked_mask

    def to_tensor(self, value: Any) -> Any:
        """The elements that count, and a value for the others."""
        return self._masked_data.masked_fill(~self._masked_mask, value)

    @property  # type: ignore[misc]
    def grad(self) -> Any:
        """The gradient, under the same mask."""
        found = self._masked_data.grad
        return None if found is None else MaskedTensor(found, self._masked_mask)

    @property  # type: ignore[misc]
    def requires_grad(self) -> bool:
        """Whether operations on it are recorded."""
        return bool(self._masked_data.requires_grad)

    def backward(self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None) -> None:
        """Compute gradients of this tensor with respect to the leaves and add them to ``.grad``."""
        given = gradient._masked_data if isinstance(gradient, MaskedTensor) else gradient
        self._masked_data.backward(given, retain_graph, create_graph, inputs)

    def item(self) -> Any:
        """The one element as a Python number."""
        return self._masked_data.item()

    def tolist(self) -> Any:
        """The elements as nested lists, None for those that do not count."""
        return _listed(self._masked_data.tolist(), self._masked_mask.tolist())

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        data, mask = self._masked_data.detach().to_dense(), self._masked_mask.to_dense()
        if not data.dim():
            return f"MaskedTensor({_element(data.item())}, {mask.item()})"
        text = "\n".join("  " + line for line in _text(data.tolist(), mask.tolist(), data.dim()).split("\n"))
        return f"MaskedTensor(\n{text}\n)"

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name == "__get__":
            name = getattr(getattr(func, "__self__", None), "__name__", "") or getattr(
                getattr(getattr(func, "__self__", None), "fget", None), "__name__", ""
            )
            if name not in ("T", "mT", "H", "mH"):
                return func(args[0]._masked_data)
            return MaskedTensor(func(args[0]._masked_data), func(args[0]._masked_mask))
        if name in ("to_sparse", "to_sparse_coo", "to_sparse_csr", "to_dense"):
            return _in_layout(args[0], name)
        kind, base = _kind_of(func, name)
        if kind == "reduces":
            return _reduced(base, *args, **kwargs)
        if kind == "normalizes":
            return getattr(reductions, base)(*args, **{key: value for key, value in kwargs.items() if not key.startswith("_")})
        if kind == "chooses":
            return _chosen(*args, **kwargs)
        if kind in ("stays", "common"):
            mask = _common_mask(args) if kind == "common" else args[0]._masked_mask
            found = func(*[_data(each) for each in args], **{key: _data(value) for key, value in kwargs.items()})
            if name.endswith("_") and not name.endswith("__"):
                return args[0]
            return MaskedTensor(found, mask) if isinstance(found, TensorBase) else found
        if kind == "moves":
            data = func(*[_data(each) for each in args], **kwargs)
            mask = func(*[_masks(each) for each in args], **kwargs)
            if isinstance(data, (tuple, list)):
                return type(data)(MaskedTensor(*pair) for pair in zip(data, mask))
            return MaskedTensor(data, mask)
        if name in ("size", "dim", "ndimension", "numel", "nelement", "stride", "is_contiguous", "element_size", "is_floating_point", "is_complex",
                    "__len__", "storage_offset", "get_device", "is_same_size", "dense_dim", "sparse_dim", "__hash__", "__format__", "__bool__"):  # fmt: skip
            return func(*[_data(each) for each in args], **kwargs)
        raise TypeError(f"no implementation found for '{name}' on types that implement __torch_function__: [MaskedTensor]")


_COMPRESSED = frozenset((rushlight.sparse_csr,))


def _same_places(data: Any, mask: Any) -> bool:
    """Whether two compressed tensors have elements in the same places."""
    return data._nnz() == mask._nnz() and bool(
        (data.crow_indices() == mask.crow_indices()).all() and (data.col_indices() == mask.col_indices()).all()
    )


def _in_layout(masked: Any, name: str) -> Any:
    """A masked tensor whose data and mask are sparse (or dense): what does not count is not kept."""
    if name == "to_dense":
        return MaskedTensor(masked._masked_data.to_dense(), masked._masked_mask.to_dense())
    mask = masked._masked_mask.to_dense()
    mask = mask.to_sparse_csr() if name == "to_sparse_csr" else mask.to_sparse()
    data = masked._masked_data.to_dense()
    if name == "to_sparse_csr":
        rows = rushlight.repeat_interleave(rushlight.arange(data.shape[0]), mask.crow_indices().diff())
        kept = data[rows, mask.col_indices()]
        return MaskedTensor(rushlight.sparse_csr_tensor(mask.crow_indices(), mask.col_indices(), kept, data.shape), mask)
    return MaskedTensor(data.sparse_mask(mask), mask)


def _data(value: Any) -> Any:
    if isinstance(value, (list, tuple)) and any(isinstance(each, MaskedTensor) for each in value):
        return type(value)(_data(each) for each in value)
    return value._masked_data if isinstance(value, MaskedTensor) else value


def _masks(value: Any) -> Any:
    if isinstance(value, (list, tuple)) and any(isinstance(each, MaskedTensor) for each in value):
        return type(value)(_masks(each) for each in value)
    return value._masked_mask if isinstance(value, MaskedTensor) else value


def _common_mask(args: Any) -> Any:
    """The one mask of several operands."""
    masks = [each._masked_mask for each in args if isinstance(each, MaskedTensor)]
    if any(each.shape != masks[0].shape or not bool((each == masks[0]).all()) for each in masks[1:]):
        raise ValueRangeError("Input masks must match. If you need support for this, please open an issue on Github.")
    return masks[0]


def _reduced(name: str, input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, **others: Any) -> Any:
    if name in ("all", "any"):
        if dim is not None:
            raise TypeError(f"{name}() of a MaskedTensor reduces all dimensions")
        found = getattr(input.to_tensor(name == "all"), name)()
        return MaskedTensor(found, input._masked_mask.any())
    return getattr(reductions, name)(input, dim, keepdim=keepdim, dtype=dtype, **others)


def _chosen(condition: Any, input: Any, other: Any) -> Any:
    """Elements of two masked tensors by a condition."""
    if not isinstance(input, MaskedTensor) or not isinstance(other, MaskedTensor):
        raise ValueRangeError("where() of masked tensors needs two of them")
    choose = rushlight.where
    return MaskedTensor(
        choose(condition, input._masked_data, other._masked_data), choose(condition, input._masked_mask, other._masked_mask)
    )


def _listed(values: Any, mask: Any) -> Any:
    return [_listed(*pair) for pair in zip(values, mask)] if isinstance(values, list) else values if mask else None


def _element(value: Any) -> str:
    return f"{value:8.4f}" if isinstance(value, float) else str(value)


def _text(values: Any, mask: Any, dims: int) -> str:
    if dims == 1:
        texts = [_element(each) for each in values]
        width = max((8 if not keep else len(text) for text, keep in zip(texts, mask)), default=0)
        return "[" + ", ".join(text if keep else "--".rjust(width) for text, keep in zip(texts, mask)) + "]"
    parts = [_text(*pair, dims - 1) for pair in zip(values, mask)]
    return "[\n" + ",\n".join("\n".join("  " + line for line in part.split("\n")) for part in parts) + "\n]"


def _warn_of_history(data: Any) -> None:
    if data.requires_grad:
        warnings.warn(
            "It is not recommended to create a MaskedTensor with a tensor that requires_grad. To avoid this, you can use data.detach().clone()",
            UserWarning,
            stacklevel=3,
        )


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
    """A copy of a tensor with a mask, as a leaf of its own."""
    for name, each in (("data", data), ("mask", mask)):
        if not isinstance(each, Tensor):
            raise ArgumentError(f"{name} must be a Tensor")
    _warn_of_history(data)
    return MaskedTensor(data.detach().clone(), mask.detach().clone(), requires_grad)  # type: ignore[no-any-return]


def as_masked_tensor(data: Any, mask: Any) -> MaskedTensor:
    """A tensor with a mask; gradients flow to the tensor."""
    if isinstance(data, Tensor):
        _warn_of_history(data)
    return MaskedTensor(data, mask)  # type: ignore[no-any-return]


def is_masked_tensor(obj: Any) -> bool:
    """Whether an object is a MaskedTensor."""
    return isinstance(obj, MaskedTensor)
