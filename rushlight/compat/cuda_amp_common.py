"""`torch.cuda.amp.common`: whether mixed precision may be used."""

from __future__ import annotations

from ..cuda import is_available


def amp_definitely_not_available() -> bool:
    """Whether there is no GPU."""
    return not is_available()
