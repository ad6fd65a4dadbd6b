"""Sliding windows: how far they are padded, and how many there are.  Convolutions and pools share this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..registry import NodeContext


@dataclass
class Windows:
    """The windows over the spatial dimensions of a value, axis by axis."""

    kernel: list[int]
    strides: list[int]
    dilations: list[int]
    before: list[int]
    behind: list[int]

    @property
    def symmetric(self) -> bool:
        """Whether as much is padded before as behind."""
        return self.before == self.behind

    @property
    def extents(self) -> list[int]:
        """How many elements a window spans."""
        return [(size - 1) * dilation + 1 for size, dilation in zip(self.kernel, self.dilations)]

    def counts(self, sizes: Any, ceil: bool = False) -> list[int]:
        """How many windows there are; with ``ceil`` a last one may go over the end, but not begin behind it."""
        result = []
        for size, extent, stride, before, behind in zip(sizes, self.extents, self.strides, self.before, self.behind):
            room = size + before + behind - extent
            count = (-(-room // stride) if ceil else room // stride) + 1
            if ceil and (count - 1) * stride >= size + before:
                count -= 1
            result.append(count)
        return result

    def pairs(self) -> list[tuple[int, int]]:
        """The padding of all dimensions of a value: of batch and channels none."""
        return [(0, 0), (0, 0), *zip(self.before, self.behind)]


def windows(node: NodeContext, sizes: Any, kernel: Any) -> Windows:
    """The windows of a node over spatial dimensions of some sizes."""
    rank = len(sizes)
    strides = list(node.get("strides") or [1] * rank)
    dilations = list(node.get("dilations") or [1] * rank)
    pads = list(node.get("pads") or [0] * (2 * rank))
    found = Windows(list(kernel), strides, dilations, pads[:rank], pads[rank:])
    mode = node.get("auto_pad", "NOTSET")
    if mode in ("NOTSET", ""):
        return found
    found.before = found.behind = [0] * rank
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        totals = [max((-(-size // stride) - 1) * stride + extent - size, 0) for size, stride, extent in zip(sizes, strides, found.extents)]
        less, more = [total // 2 for total in totals], [total - total // 2 for total in totals]
        found.before, found.behind = (less, more) if mode == "SAME_UPPER" else (more, less)
    elif mode != "VALID":
        raise node.error(f"auto_pad is {mode!r}")
    return found
