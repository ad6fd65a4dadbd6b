"""``torch.nested._internal.nested_tensor``: jagged tensors made of their values."""

from __future__ import annotations

from typing import Any

from ...nested.functions import as_nested_tensor, from_padded, narrow, view_of_values
from ...nested.jagged import NestedTensor, of_values
from ...nested.ragged_size import ragged_size_of
from ...tensor.sparse import LAYOUTS


def get_tensor_symint(tensor: Any, *, coeff: int = 1) -> Any:
    """The size that belongs to a tensor of offsets or lengths."""
    return ragged_size_of(tensor) * coeff if coeff != 1 else ragged_size_of(tensor)


def jagged_from_list(tensors: list[Any], offsets: Any, dtype: Any = None, device: Any = None) -> tuple[Any, Any]:
    """A jagged tensor of the tensors of a list, nested by offsets where they are given, and its offsets."""
    made = as_nested_tensor(list(tensors), dtype, device, LAYOUTS["jagged"])
    if offsets is not None:
        made = of_values(made.values(), offsets, None, made._ragged_idx, made._metadata_cache)
    return made, made.offsets()


def jagged_from_tensor_and_lengths(tensor: Any, starts: Any, lengths: Any) -> tuple[Any, Any, Any]:
    """A jagged tensor of a range of each row, its offsets, and its lengths where there are gaps."""
    made = narrow(tensor, 1, starts, lengths, LAYOUTS["jagged"])
    return made, made.offsets(), made.lengths()


def nested_view_from_values_offsets(values: Any, offsets: Any, ragged_idx: int = 1, min_seqlen: Any = None, max_seqlen: Any = None) -> Any:
    """A jagged tensor that is a view of its values."""
    return view_of_values(values, offsets, None, ragged_idx, min_seqlen, max_seqlen)


def nested_view_from_values_offsets_lengths(
    values: Any, offsets: Any, lengths: Any, ragged_idx: int = 1, min_seqlen: Any = None, max_seqlen: Any = None
) -> Any:
    """A jagged tensor that is a view of its values, with gaps between its parts."""
    return view_of_values(values, offsets, lengths, ragged_idx, min_seqlen, max_seqlen)


def nested_from_padded(
    padded: Any, offsets: Any, ragged_idx: int = 1, min_seqlen: Any = None, max_seqlen: Any = None, sum_S: Any = None
) -> Any:
    """A jagged tensor of the beginnings of the rows of a padded one."""
    return from_padded(padded, offsets, ragged_idx, min_seqlen, max_seqlen)


def buffer_from_jagged(jagged: Any) -> Any:
    """The values of a jagged tensor."""
    return jagged.values()


__all__ = [
    "NestedTensor",
    "buffer_from_jagged",
    "get_tensor_symint",
    "jagged_from_list",
    "jagged_from_tensor_and_lengths",
    "nested_from_padded",
    "nested_view_from_values_offsets",
    "nested_view_from_values_offsets_lengths",
]
