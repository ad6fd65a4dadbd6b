"""The modes of the thread and the process that decide what ops do, beside their arguments."""

from __future__ import annotations

from typing import Any

from ....amp import autocast_mode
from ....core.state import flags, state
from ..annotations import break_errors, set_break_errors


def ambient() -> tuple[Any, ...]:
    """The modes that are on: who intercepts ops, inference mode, and how autocast is set."""
    settings = autocast_mode._settings
    return (
        tuple([type(each) for each in state.interceptors]), state.inference, settings.enabled.get("cpu"), settings.dtypes["cpu"],
        settings.cache_enabled,
    )  # fmt: skip


class LeftModes:
    """Grad, inference and autocast modes, and whether graph breaks are errors: what is abandoned never leaves the contexts that it has entered."""

    def __init__(self) -> None:
        self.grad_enabled, self.inference = state.grad_enabled, state.inference
        self.entered, self.break_errors = autocast_mode.entered(), break_errors.on

    def restore(self) -> None:
        """Leave what was entered since."""
        for each in reversed(autocast_mode.entered()[len(self.entered) :]):
            each.__exit__()
        if state.inference is not self.inference:
            state.inference = self.inference
            (flags.enter if self.inference else flags.leave)()
        state.grad_enabled = self.grad_enabled
        set_break_errors(self.break_errors)
