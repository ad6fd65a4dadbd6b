"""`torch._guards`: what runs while a program is captured."""

from __future__ import annotations

from typing import Any

from ..core.state import state
from .subclasses.fake_tensor import FakeTensorMode


def active_fake_mode() -> Any:
    """A mode of fake tensors where one is on, or None."""
    return FakeTensorMode() if state.fake else None


def detect_fake_mode(inputs: Any = None) -> Any:
    """The mode of fake tensors that is on, or None."""
    return active_fake_mode()


class TracingContext:
    """The capture that runs."""

    @staticmethod
    def try_get() -> Any:
        """It, or None."""
        return state.capture

    @staticmethod
    def get() -> Any:
        """It; an error where no program is captured."""
        if state.capture is None:
            raise RuntimeError("TracingContext.get() must be called within an ongoing trace.")
        return state.capture


class CompileContext:
    """The compilation that runs."""

    @staticmethod
    def current_compile_id() -> None:
        """None: compilations have no numbers."""
