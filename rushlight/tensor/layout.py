"""Memory formats and layouts: names that PyTorch programs pass around."""

from __future__ import annotations

from typing import Any

from ..core.base import contiguous_strides


class memory_format:
    """The order of a tensor's elements in memory."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")


class layout:
    """How a tensor's elements are stored: all of them by strides, or in a sparse format only some."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc = layout("sparse_csc")
sparse_bsr = layout("sparse_bsr")
sparse_bsc = layout("sparse_bsc")
jagged = layout("jagged")
LAYOUTS = (strided, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc, jagged)


def channels_last_order(ndim: int) -> tuple[int, ...]:
    """Dimensions from the slowest to the fastest under ``channels_last``."""
    return (0, *range(2, ndim), 1)


def is_channels_last(shape: Any, strides: Any, wanted: memory_format) -> bool:
    """Whether strides are those of ``channels_last`` (4 dimensions) or ``channels_last_3d`` (5)."""
    if len(shape) != (4 if wanted is channels_last else 5):
        return False
    step = 1
    for dim in reversed(channels_last_order(len(shape))):
        if shape[dim] != 1:
            if strides[dim] != step:
                return False
            step *= shape[dim]
    return True


def tidy_strides(array: Any) -> tuple[int, ...]:
    """PyTorch's strides for dimensions of size 1 or 0, where NumPy's are arbitrary."""
    size = array.itemsize
    if array.size == 0 or array.flags.c_contiguous:
        return contiguous_strides(array.shape)
    return tuple(step // size for step in array.strides)
