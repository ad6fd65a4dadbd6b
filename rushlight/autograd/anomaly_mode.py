"""Anomaly detection: find the forward operation whose gradient failed or came out as NaN."""

from __future__ import annotations

import warnings
from typing import Any

from ..core.state import flags, state


class set_detect_anomaly:
    """Switch anomaly detection on or off: at once, and back again when used as a context."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.previous = state.anomaly, state.anomaly_check_nan
        _switch(mode, check_nan)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exception: Any) -> None:
        _switch(*self.previous)


class detect_anomaly(set_detect_anomaly):
    """While it is on, every recorded operation remembers where it was called, and backward checks for NaN.

    An error in backward, or a NaN made by it, is reported with the user's line of the forward operation.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self.previous = state.anomaly, state.anomaly_check_nan
        _switch(True, self.check_nan)


def _switch(mode: bool, check_nan: bool) -> None:
    if bool(mode) != state.anomaly:
        (flags.enter if mode else flags.leave)()
    state.anomaly = bool(mode)
    state.anomaly_check_nan = check_nan


def is_anomaly_enabled() -> bool:
    """Whether anomaly detection is on."""
    return state.anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly detection looks for NaN."""
    return state.anomaly_check_nan
