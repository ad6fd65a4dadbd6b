"""The process-wide and per-thread state that every call of an op reads.

All state that outlives a call is in one of these places; each has one purpose and one module that writes to it.

Here
    ``flags.special``      process-wide: counts what keeps calls off the fast paths (captures, function modes, hooks on saved tensors,
                           anomaly mode, subclasses with ``__torch_function__``).  While it is 0, a call reads nothing else of this.
    ``state``              per thread: grad mode, inference mode, anomaly mode, the active capture, the interceptors, hooks on saved tensors,
                           whether factory functions make fake tensors.
In ``core``
    ``declare.table``, ``exports``, ``methods``, ``quantized_rules``    ops by name, and the names under which users find them
    ``devices.device_types``, ``devices.default``                       kinds of devices by name and by class of array; the default device
    ``dtypes.default``, ``dtypes.BY_NUMPY``                             the default floating-point dtype; dtypes by NumPy dtype
    ``base.runtime``                                                    the public tensor class and ``autograd.grad``, set by later packages
    ``node.accumulate``                                                 how a gradient is added to a leaf, set by the engine
    ``symbolic.escape``    per thread: who is told when a symbolic size becomes a plain number, or is compared
    ``random.default_generator``                                        the generator of random ops, set by ``tensor.generator``
    ``parallel.pool``                                                   the worker threads
    ``kernel_providers``                                                faster kernels for large arrays, found on first use
    ``missing.stand_ins``                                               modules that provide PyTorch's private names
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Flags:
    """``special`` counts what keeps calls of ops off their fast paths, in any thread."""

    __slots__ = ("special", "_lock")

    def __init__(self) -> None:
        self.special = 0
        self._lock = threading.Lock()

    def enter(self) -> None:
        """One more reason to leave the fast paths."""
        with self._lock:
            self.special += 1

    def leave(self) -> None:
        """One reason less."""
        with self._lock:
            self.special -= 1


class State(threading.local):
    """The modes of the current thread."""

    grad_enabled: bool = True
    inference: bool = False
    anomaly: bool = False
    anomaly_check_nan: bool = True
    capture: Any = None  # the active capture, if any
    run_forward: Any = None  # runs the forward of custom Functions, for a compiled program between two graphs
    transforms: int = 0  # how many functions are being differentiated or mapped by `func`
    fake: bool = False  # whether factory functions make tensors without elements

    def __init__(self) -> None:
        self.interceptors: list[Any] = []  # captures and function modes, innermost last
        self.saved_hooks: list[Any] = []  # (pack, unpack) pairs
        self.saved_hooks_disabled: str | None = None


flags = Flags()
state = State()


@contextmanager
def fake_mode() -> Iterator[None]:
    """Have factory functions make fake tensors, on the device they name: a program runs on these without computing anything."""
    before, state.fake = state.fake, True
    try:
        yield
    finally:
        state.fake = before
