"""Sparse tensors: the elements that are kept, and where they stand.

A sparse tensor's array is a :class:`Coordinates` (COO) or a :class:`Compressed` (CSR, CSC, BSR, BSC).  It is no NumPy array and has no
arithmetic, so that nothing computes with the kept elements by accident: the fast paths of op calls fall back to the general one, and
that asks the op's ``sparse`` facet.  An op without one refuses.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from .base import Spec, TensorBase, make, storage_of
from .declare import Op, table
from .devices import CPU, device_of, register_array_type
from .dtypes import BY_NUMPY
from .errors import NotSupported, OperationError, ShapeError
from .facets import Facet
from .in_place import check_in_place
from .node import rebase
from .state import state

rules: Facet[Any] = Facet("sparse", "how the op runs on sparse tensors", source="rushlight.ops.sparse.rules")

_FLAGS = SimpleNamespace(c_contiguous=False, f_contiguous=False, forc=False, writeable=True)


class SparseArray:
    """What takes the array's place in a sparse tensor, and answers to the names of its properties."""

    __slots__ = ("shape", "values")

    __array_ufunc__ = None  # a ufunc on it raises, so that the fast paths leave it to the general dispatcher
    flags = _FLAGS
    layout: str
    shape: tuple[int, ...]
    values: Any

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return int(self.values.dtype.itemsize)

    @property
    def strides(self) -> tuple[int, ...]:
        return (0,) * len(self.shape)

    def become(self, other: Any) -> None:
        """Take over the contents of another one: an in-place write, which every tensor over this array sees."""
        for name in self.parts():
            setattr(self, name, getattr(other, name))

    def copy(self) -> Any:
        """One with memory of its own."""
        made = type(self).__new__(type(self))
        for name in self.parts():
            value = getattr(self, name)
            setattr(made, name, value.copy() if isinstance(value, np.ndarray) else value)
        return made

    @classmethod
    def parts(cls) -> list[str]:
        """The names of what it is made of."""
        return [name for kind in cls.__mro__ for name in kind.__dict__.get("__slots__", ())]


class Coordinates(SparseArray):
    """COO: ``indices`` has a column for each of the ``values``; leading dimensions are sparse, the rest are those of the values.

    ``coalesced`` says that the columns are sorted and that none comes twice; otherwise the values of equal columns add up.
    """

    __slots__ = ("coalesced", "indices")

    layout = "sparse_coo"

    def __init__(self, indices: Any, values: Any, shape: Any, coalesced: bool = False) -> None:
        self.indices = indices
        self.values = values
        self.shape = tuple(shape)
        self.coalesced = coalesced or indices.shape[1] < 2

    @property
    def nnz(self) -> int:
        return int(self.indices.shape[1])

    @property
    def sparse_dim(self) -> int:
        return int(self.indices.shape[0])

    def __repr__(self) -> str:
        return f"Coordinates({self.shape}, {self.dtype}, nnz={self.nnz})"


class Compressed(SparseArray):
    """CSR, CSC, BSR or BSC: ``compressed`` says where each row (or column) begins in ``plain``, which holds the other index.

    Batch dimensions lead all three; the values of BSR and BSC are blocks.  Further dimensions of the values are dense.
    """

    __slots__ = ("compressed", "layout", "plain")

    layout: str

    def __init__(self, layout: str, compressed: Any, plain: Any, values: Any, shape: Any) -> None:
        self.layout = layout
        self.compressed = compressed
        self.plain = plain
        self.values = values
        self.shape = tuple(shape)

    @property
    def nnz(self) -> int:
        return int(self.plain.shape[-1])

    @property
    def batch_dim(self) -> int:
        return int(self.compressed.ndim) - 1

    @property
    def by_rows(self) -> bool:
        return self.layout in ("sparse_csr", "sparse_bsr")

    @property
    def blocked(self) -> bool:
        return self.layout in ("sparse_bsr", "sparse_bsc")

    @property
    def blocksize(self) -> tuple[int, int]:
        start = self.batch_dim + 1
        return tuple(self.values.shape[start : start + 2]) if self.blocked else (1, 1)  # type: ignore[return-value]

    @property
    def dense_dim(self) -> int:
        return len(self.shape) - self.batch_dim - 2

    def __repr__(self) -> str:
        return f"Compressed({self.layout}, {self.shape}, {self.dtype}, nnz={self.nnz})"


register_array_type(Coordinates, "cpu")
register_array_type(Compressed, "cpu")

SPARSE: frozenset[Any] = frozenset((Coordinates, Compressed))  # the classes of arrays that are sparse

asks_first: Facet[bool] = Facet(
    "sparse before body", "a composite whose sparse form is asked for before its body runs", source="rushlight.ops.sparse.composites"
)


def empty_sparse(shape: tuple[int, ...], layout: str, kind: Any) -> SparseArray:
    """A sparse array in which no element is kept."""
    if layout == "sparse_coo":
        return Coordinates(np.empty((len(shape), 0), np.int64), np.empty(0, kind), shape, True)
    if layout not in ("sparse_csr", "sparse_csc"):
        raise NotSupported(f"an empty tensor of layout torch.{layout} needs a size of blocks: use sparse_compressed_tensor()")
    if len(shape) < 2:
        raise OperationError(f"torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size {list(shape)}")
    begin = np.zeros((*shape[:-2], 1 + (shape[-2] if layout == "sparse_csr" else shape[-1])), np.int64)
    return Compressed(layout, begin, np.zeros((*shape[:-2], 0), np.int64), np.zeros((*shape[:-2], 0), kind), shape)


def is_sparse(value: Any) -> bool:
    """Whether an argument is, or holds, a sparse array."""
    return value.__class__ in SPARSE or (isinstance(value, (list, tuple)) and any(each.__class__ in SPARSE for each in value))


def holds_sparse(args: Any) -> bool:
    """Whether there is a sparse tensor among arguments."""
    for value in args:
        if isinstance(value, TensorBase):
            if value._array.__class__ in SPARSE:
                return True
        elif isinstance(value, (list, tuple)) and holds_sparse(value):
            return True
    return False


def run_sparse(op: Op, args: tuple[Any, ...]) -> Any:
    """Run an op on arguments some of which are sparse tensors, as its ``sparse`` facet says; the rule records gradients, too."""
    rule = rules.of(op)
    if rule is None:
        raise unsupported(op, args)
    return rule(op, args)


def write_sparse(op: Op, args: tuple[Any, ...], requires: bool, check_result_type: Callable[[Any, Any], None]) -> Any:
    """The in-place form of an op with a sparse target or sparse operands: its result takes the target's place."""
    target: Any = args[0]
    functional = op.functional
    assert functional is not None
    if requires and state.grad_enabled:
        check_in_place(target)
        old = make(target._array.copy())
        old._grad_fn, old._output_index, old._requires_grad = target._grad_fn, target._output_index, target._requires_grad
        args = (old, *args[1:])
    result = run_sparse(functional, args)
    if result._array.shape != target._array.shape:
        raise ShapeError(f"output with shape {list(target._array.shape)} doesn't match the broadcast shape {list(result._array.shape)}")
    check_result_type(result._array.dtype, target._array.dtype)
    if target._array.__class__ is np.ndarray and result._array.__class__ in SPARSE:
        result = table["to_dense"].call(result)
    if target._array.__class__ is not result._array.__class__:
        raise OperationError(f"{op.public_name}(): the result is {result.layout} and can't be written to a tensor of {target.layout}")
    if result._array.dtype is not target._array.dtype:
        result = table["cast"].call(result, BY_NUMPY[target._array.dtype])
    if target._array.__class__ in SPARSE:
        target._array.become(result._array)
    else:
        target._array[...] = result._array
    storage_of(target).version += 1
    if result._requires_grad:
        rebase(target, result._grad_fn, table)
    return target


def backend_of(array: Any) -> str:
    """The name that PyTorch's messages have for what computes with an array."""
    return {Coordinates: "SparseCPU", Compressed: "SparseCsrCPU"}.get(array.__class__, "CPU")


def unsupported(op: Op, args: tuple[Any, ...]) -> NotSupported:
    """The error of an op that is not defined for sparse tensors, as PyTorch words its beginning."""
    name = op.public_name if op.functional is None else op.functional.public_name + "_"
    found = next(each for each in _tensors(args) if each._array.__class__ in SPARSE)
    return NotSupported(
        f"Could not run 'aten::{name}' with arguments from the '{backend_of(found._array)}' backend: the operator is not defined for "
        f"tensors of layout torch.{found._array.layout}. Call to_dense() first"
    )


def _tensors(args: Any) -> list[Any]:
    found: list[Any] = []
    for value in args:
        if isinstance(value, TensorBase):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += _tensors(value)
    return found


def check_device(name: str, place: Any) -> None:
    """Refuse a sparse tensor, that a function is to make, anywhere but on the CPU."""
    if place is not None and place != CPU:
        raise NotSupported(f"{name}(): sparse tensors are on the CPU here, not on '{place}'")


def check_devices(name: str, *tensors: Any) -> None:
    """Refuse to make a sparse tensor of dense ones that are elsewhere."""
    for each in tensors:
        if isinstance(each, TensorBase) and not isinstance(each._array, (np.ndarray, SparseArray, Spec)):
            check_device(name, device_of(each._array))
