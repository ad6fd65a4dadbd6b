"""Properties of sparse tensors (dimensions, number of elements, layout), how they print, and how they are pickled and copied."""

from __future__ import annotations

import copy
from typing import Any

from ..core.base import make
from ..core.dtypes import BY_NUMPY, default
from ..core.errors import NotSupported, OperationError
from ..core.sparse import SPARSE, Compressed, Coordinates
from . import layout as layouts
from .printing import append_parts, format_tensor

LAYOUTS = {each.name: each for each in layouts.LAYOUTS}


def is_sparse(self: Any) -> bool:
    """Whether it is in coordinate format (COO)."""
    return self._array.__class__ is Coordinates


def is_sparse_csr(self: Any) -> bool:
    """Whether it is in the format of compressed rows (CSR)."""
    return self._array.__class__ is Compressed and self._array.layout == "sparse_csr"


def _coordinates(tensor: Any, what: str) -> Coordinates:
    if tensor._array.__class__ is not Coordinates:
        raise OperationError(f"{what} expected sparse coordinate tensor layout but got {LAYOUT_NAMES[tensor.layout.name]}")
    return tensor._array  # type: ignore[no-any-return]


LAYOUT_NAMES = {
    "strided": "Strided", "sparse_coo": "Sparse", "sparse_csr": "SparseCsr", "sparse_csc": "SparseCsc", "sparse_bsr": "SparseBsr",
    "sparse_bsc": "SparseBsc", "jagged": "Jagged",
}  # fmt: skip


def is_coalesced(self: Any) -> bool:
    """Whether indices are sorted and none comes twice."""
    return _coordinates(self, "is_coalesced").coalesced


def _coalesced_(self: Any, coalesced: bool) -> Any:
    """Say that indices are sorted and none comes twice, without a check."""
    _coordinates(self, "_coalesced_").coalesced = bool(coalesced)
    return self


def sparse_dim(self: Any) -> int:
    """The number of sparse dimensions; of a dense tensor 0."""
    array = self._array
    return array.sparse_dim if array.__class__ is Coordinates else 2 if array.__class__ is Compressed else 0


def dense_dim(self: Any) -> int:
    """The number of dense dimensions."""
    array = self._array
    return array.dense_dim if array.__class__ is Compressed else len(array.shape) - sparse_dim(self)


def _nnz(self: Any) -> int:
    """The number of elements that are kept."""
    array = self._array
    if array.__class__ not in SPARSE:
        raise NotSupported(
            "Could not run 'aten::_nnz' with arguments from the 'CPU' backend: only sparse tensors have a number of kept elements"
        )
    return int(array.nnz)


# -- printing ----------------------------------------------------------------------------------------------------


def format_sparse(tensor: Any, requires_grad: bool, grad_fn_name: str | None) -> str:
    """The text of a sparse tensor, as PyTorch prints it."""
    array = tensor._array
    if array.__class__ is Coordinates:
        parts = {"indices": array.indices, "values": array.values}
    else:
        names = ("crow_indices", "col_indices") if array.by_rows else ("ccol_indices", "row_indices")
        parts = {names[0]: array.compressed, names[1]: array.plain, "values": array.values}
    texts = []
    for name, each in parts.items():
        text = format_tensor(each, default_dtype=each.dtype, indent=len("tensor(") + len(name) + 1)
        if not each.size and each.ndim == 1:
            text = text.replace("tensor([]", f"tensor([], size=({each.shape[0]},)", 1)
        texts.append(f"{name}={text}")
    shape = array.shape
    suffixes = [f"size=({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})", f"nnz={array.nnz}"]
    if array.dtype not in (default.numpy, "int64", "bool", _complex_default()):
        suffixes.append(f"dtype={BY_NUMPY[array.dtype]!r}")
    suffixes.append(f"layout=torch.{array.layout}")
    if grad_fn_name is not None:
        suffixes.append(f"grad_fn=<{grad_fn_name}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    joined = "tensor(" + ",\n       ".join(texts)
    if array.__class__ is Coordinates:  # the properties begin a line of their own
        return append_parts(joined + ",\n       " + suffixes[0], suffixes[1:], 7) + ")"
    return append_parts(joined, suffixes, 7) + ")"


def _complex_default() -> str:
    return "complex128" if default.numpy == "float64" else "complex64"


# -- pickle and copy ---------------------------------------------------------------------------------------------


def restore_sparse(cls: type, name: str, parts: tuple[Any, ...], shape: Any, coalesced: bool, requires_grad: bool) -> Any:
    """A sparse tensor of its parts: what unpickling calls."""
    *places, values = [each._array for each in parts]
    array: Any = (
        Coordinates(places[0], values, shape, coalesced) if name == "sparse_coo" else Compressed(name, places[0], places[1], values, shape)
    )
    result: Any = make(array)
    result._requires_grad = requires_grad
    return result if type(result) is cls else result.as_subclass(cls)


def parts_of(array: Any) -> tuple[Any, ...]:
    """The tensors that a sparse array is made of: indices and values."""
    held = (array.indices, array.values) if array.__class__ is Coordinates else (array.compressed, array.plain, array.values)
    return tuple(make(each) for each in held)


def reduce_sparse(self: Any) -> tuple[Any, ...]:
    """How a sparse tensor is pickled."""
    array = self._array
    coalesced = array.__class__ is Coordinates and array.coalesced
    return restore_sparse, (type(self), array.layout, parts_of(array), tuple(array.shape), coalesced, self.requires_grad)


def copied_sparse(self: Any, memo: dict[int, Any]) -> Any:
    """A copy with memory of its own."""
    result = make(self._array.copy())
    result._requires_grad = self._requires_grad
    if type(self) is not type(result):
        result = result.as_subclass(type(self))
    memo[id(self)] = result
    if self._grad is not None:
        result._grad = copy.deepcopy(self._grad, memo)
    return result


FUNCTIONS = (is_coalesced, _coalesced_, sparse_dim, dense_dim, _nnz)


def install(tensor_class: Any) -> None:
    """Hang the methods of this module on the tensor class."""
    tensor_class.is_sparse = property(is_sparse)
    tensor_class.is_sparse_csr = property(is_sparse_csr)
    for function in FUNCTIONS:
        setattr(tensor_class, function.__name__, function)
    tensor_class._dimI, tensor_class._dimV = sparse_dim, dense_dim
