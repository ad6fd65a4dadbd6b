"""Shuffling of channels."""

from __future__ import annotations

from typing import Any

from .. import functional as F
from .module import Module


class ChannelShuffle(Module):
    """Divide the channels into groups and interleave those."""

    __constants__ = ["groups"]

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Any) -> Any:
        """The input with its channels in another order."""
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        """The number of groups."""
        return f"groups={self.groups}"


__all__ = ["ChannelShuffle"]
