"""Intel's oneDNN, which is not here.  All settings are accepted and have no effect."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Any

from ..core.missing import missing
from .flags import FlagGroup, FlagModule, change, changed

enabled = True
deterministic = False
allow_tf32: bool | None = None
fp32_precision = "none"
matmul = FlagGroup(fp32_precision="none")
conv = FlagGroup(fp32_precision="none")
rnn = FlagGroup(fp32_precision="none")


def is_available() -> bool:
    """False: there is no oneDNN."""
    return False


def is_acl_available() -> bool:
    """False: nor is Arm's library."""
    return False


def set_flags(
    _enabled: bool | None = None, _deterministic: bool | None = None, _allow_tf32: bool | None = None, _fp32_precision: str = "none"
) -> tuple[Any, ...]:
    """Set several settings at once, and return what they were."""
    return change(
        sys.modules[__name__],
        {"enabled": _enabled, "deterministic": _deterministic, "allow_tf32": _allow_tf32, "fp32_precision": _fp32_precision},
    )


def flags(
    enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True, fp32_precision: str = "none"
) -> AbstractContextManager[None]:
    """Settings that hold within a ``with`` block."""
    return changed(
        sys.modules[__name__],
        {"enabled": enabled, "deterministic": deterministic, "allow_tf32": allow_tf32, "fp32_precision": fp32_precision},
    )


sys.modules[__name__].__class__ = FlagModule
__getattr__ = missing(__name__)
