"""Functions of sparse tensors as functions of dense ones, for ``gradcheck``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.base import TensorBase, make
from ..core.declare import table
from ..core.sparse import SPARSE, Coordinates
from ..ops.sparse.formats import coalesced
from ..ops.sparse.values import to_dense, to_layout, with_values


def is_sparse(value: Any) -> bool:
    """Whether a value is a sparse tensor."""
    return isinstance(value, TensorBase) and value._array.__class__ in SPARSE


def opened(func: Callable[..., Any], inputs: tuple[Any, ...], masked: bool) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function of dense tensors that stand for the sparse ones among the inputs, and these tensors.

    With ``masked`` they are the values that are kept; else all elements, of which those that are not zero are kept.
    """
    leaves: list[Any] = []
    rebuild: list[Callable[[Any], Any]] = []
    for each in inputs:
        if is_sparse(each) and each._requires_grad:
            leaf, made = _leaf(each._array, masked)
            leaf._requires_grad = True
            leaves.append(leaf)
            rebuild.append(made)
        else:
            leaves.append(each)
            rebuild.append(lambda value: value)

    def dense(*arguments: Any) -> Any:
        found = func(*[made(value) for made, value in zip(rebuild, arguments)])
        if isinstance(found, (tuple, list)):
            return tuple(to_dense(each, masked) if is_sparse(each) else each for each in found)
        return to_dense(found, masked) if is_sparse(found) else found

    return dense, tuple(leaves)


def _leaf(array: Any, masked: bool) -> tuple[Any, Callable[[Any], Any]]:
    structure = coalesced(array) if array.__class__ is Coordinates else array
    if masked:
        return make(structure.values.copy()), lambda value: with_values(structure, table["clone"].call(value))
    return to_dense(make(array.copy())), lambda value: to_layout(value, structure)
