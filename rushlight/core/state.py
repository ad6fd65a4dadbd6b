"""The state an op call looks at: one process-wide flag that says "nothing special", and the thread's modes."""

from __future__ import annotations

import threading
from typing import Any


class Flags:
    """``special`` counts what keeps op calls off their fast path: captures, hooks, anomaly mode, subclasses."""

    __slots__ = ("special", "_lock")

    def __init__(self) -> None:
        self.special = 0
        self._lock = threading.Lock()

    def enter(self) -> None:
        with self._lock:
            self.special += 1

    def leave(self) -> None:
        with self._lock:
            self.special -= 1


class State(threading.local):
    """Modes of the current thread."""

    grad_enabled: bool = True
    inference: bool = False
    anomaly: bool = False
    anomaly_check_nan: bool = True
    capture: Any = None  # the capture that watches this thread, if any
    run_forward: Any = None  # runs the forward of custom Functions, for a compiled program between two graphs
    transforms: int = 0  # how many functions are being differentiated or mapped by `func`

    def __init__(self) -> None:
        self.interceptors: list[Any] = []  # captures and function modes, innermost last
        self.saved_hooks: list[Any] = []  # (pack, unpack) pairs
        self.saved_hooks_disabled: str | None = None


flags = Flags()
state = State()
