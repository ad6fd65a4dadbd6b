"""``torch._nested_…``: strided nested tensors of padded and of flat tensors, and the parts of jagged ones."""

from __future__ import annotations

from typing import Any

from ...core.errors import OperationError
from ...nested.functions import as_nested_tensor
from ...nested.jagged import of_parts, of_values


def _nested_tensor_from_mask_left_aligned(t: Any, mask: Any) -> bool:
    """Whether the true places of each row of a mask come first."""
    return bool((mask[:, 1:] <= mask[:, :-1]).all())


def _nested_tensor_from_mask(t: Any, mask: Any, mask_check: bool = True) -> Any:
    """A strided nested tensor of the beginnings of the rows of a tensor, as long as a mask says."""
    if t.dim() != 3 or mask.dim() != 2 or tuple(t.shape[:2]) != tuple(mask.shape):
        raise OperationError("Input dim should be 3 and mask dim 2, and the first two sizes of both equal")
    if mask_check and not _nested_tensor_from_mask_left_aligned(t, mask):
        raise OperationError("Mask must be left-aligned without gaps")
    return as_nested_tensor([row[:length] for row, length in zip(t.unbind(), mask.sum(1).tolist())])


def _nested_from_padded(padded: Any, cpu_nested_shape_example: Any, fuse_transform_0213: bool = False) -> Any:
    """A strided nested tensor of the beginnings of the entries of a padded one; with the heads of attention put behind the places."""
    if fuse_transform_0213:
        padded = padded.permute(0, 2, 1, 3).flatten(2)
    return of_parts([row[tuple(map(slice, sizes))] for row, sizes in zip(padded.unbind(), cpu_nested_shape_example.tolist())])


def _nested_from_padded_and_nested_example(padded: Any, nt_example: Any) -> Any:
    """A strided nested tensor of a padded one, with the sizes of another."""
    return _nested_from_padded(padded, nt_example._nested_tensor_size())


def _nested_view_from_buffer(self: Any, nested_size: Any, nested_strides: Any, offsets: Any) -> Any:
    """A strided nested tensor of views of a buffer."""
    rows = zip(nested_size.tolist(), nested_strides.tolist(), offsets.tolist())
    return of_parts([self.as_strided(sizes, strides, self.storage_offset() + start) for sizes, strides, start in rows])


def _nested_view_from_jagged(
    self: Any, offsets: Any, dummy: Any, lengths: Any = None, ragged_idx: int = 1, min_seqlen: Any = None, max_seqlen: Any = None
) -> Any:
    """A jagged tensor that is a view of its values."""
    cache = {name: each for name, each in (("min_seqlen", min_seqlen), ("max_seqlen", max_seqlen)) if each is not None}
    return of_values(self, offsets, lengths, ragged_idx, cache, self._base if self._is_view() else self)


def _nested_get_values(self: Any) -> Any:
    """The values of a jagged tensor."""
    return self.values()


def _nested_get_offsets(self: Any) -> Any:
    """The offsets of a jagged tensor."""
    return self.offsets()


def _nested_get_lengths(self: Any) -> Any:
    """The lengths of the parts of a jagged tensor with gaps."""
    return self.lengths()


def _nested_get_ragged_idx(self: Any) -> int:
    """The dimension in which the parts of a jagged tensor differ."""
    return int(self._ragged_idx)
