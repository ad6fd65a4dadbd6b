"""The modes of the thread and the process that decide what ops do, beside their arguments."""

from __future__ import annotations

from typing import Any

from ....amp import autocast_mode
from ....core.state import flags, state


def ambient() -> tuple[Any, ...]:
    """The modes that are on: who intercepts ops, inference mode, and how autocast is set."""
    settings = autocast_mode._settings
    return (
        tuple([type(each) for each in state.interceptors]), state.inference, settings.enabled.get("cpu"), settings.dtypes["cpu"],
        settings.cache_enabled,
    )  # fmt: skip


class LeftModes:
    """Grad, inference and autocast modes as they are: a body that a graph break abandons never leaves the contexts that it has entered."""

    def __init__(self) -> None:
        self.grad_enabled, self.inference = state.grad_enabled, state.inference
        self.entered = autocast_mode.entered()

    def restore(self) -> None:
        """Leave what was entered since."""
        for each in reversed(autocast_mode.entered()[len(self.entered) :]):
            each.__exit__()
        if state.inference is not self.inference:
            state.inference = self.inference
            (flags.enter if self.inference else flags.leave)()
        state.grad_enabled = self.grad_enabled
