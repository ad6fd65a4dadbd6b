"""``torch.backends.mha``: whether ``nn.MultiheadAttention`` may take a path of its own in inference, which here has the numbers of the other one."""

from __future__ import annotations

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]

_enabled = True


def get_fastpath_enabled() -> bool:
    """What was last set; no result depends on it."""
    return _enabled


def set_fastpath_enabled(value: bool) -> None:
    """Allow the path, or not."""
    global _enabled
    _enabled = value
