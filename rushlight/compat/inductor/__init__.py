"""`torch._inductor`: PyTorch's own compiler is not here; its settings can be set, and mean nothing."""

from __future__ import annotations

from typing import Any

from ...compiler import cudagraph_mark_step_begin
from ...core.missing import missing
from . import config

__getattr__ = missing("rushlight._inductor")


def list_mode_options(mode: str | None = None, dynamic: bool | None = None) -> dict[str, Any]:
    """The options of each mode of ``compile``: modes have no options of their own here."""
    modes: dict[str, Any] = {"default": {}, "reduce-overhead": {}, "max-autotune-no-cudagraphs": {}, "max-autotune": {}}
    return modes[mode] if mode else modes  # type: ignore[no-any-return]


def list_options() -> list[str]:
    """No options."""
    return []
