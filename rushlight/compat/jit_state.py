"""`torch.jit._state`: the switch by which programs turn scripting and tracing off, to look for a mistake in plain Python."""

from __future__ import annotations

from ..capture.trace.traced import ENABLED as _enabled
from ..capture.trace.traced import EnabledProxy


def disable() -> None:
    """Let scripts and traces be the Python that they are made of."""
    _enabled.enabled = False


def enable() -> None:
    """Script and trace again."""
    _enabled.enabled = True


def _clear_class_state() -> None:
    """Nothing to forget: a scripted class lives as long as the class."""


__all__ = ["EnabledProxy", "_clear_class_state", "_enabled", "disable", "enable"]
