"""Settings of the process: threads, determinism, precision."""

from __future__ import annotations

from typing import Any

from .core.argument_checks import demand
from .core.kernel_providers import switching
from .core.parallel import pool
from .core.precision import precision as wanted


class _Settings:
    """What the functions below set."""

    def __init__(self) -> None:
        self.interop_threads = pool.threads
        self.warn_always = False


_settings = _Settings()


def get_num_threads() -> int:
    """How many threads an operation may use."""
    return pool.threads


def _check_threads(number: Any, function: str) -> None:
    if not isinstance(number, int) or isinstance(number, bool):
        raise TypeError(f"{function} expects an int, but got {type(number).__name__}")
    if number <= 0:
        raise RuntimeError(f"{function} expects a positive integer")
    if number >= 2**63:
        raise ValueError("Overflow when unpacking long long")


def set_num_threads(number: int) -> None:
    """Set how many threads an operation may use.  NumPy's BLAS reads its own limit when it is loaded."""
    _check_threads(number, "set_num_threads")
    pool.threads = number


def get_num_interop_threads() -> int:
    """The number of threads that may run operations in parallel."""
    return _settings.interop_threads


def set_num_interop_threads(number: int) -> None:
    """Set the number of threads that may run operations in parallel."""
    _check_threads(number, "set_num_interop_threads")
    _settings.interop_threads = number


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Have equal calls give equal results to the last digit, however often they come.

    Algorithms here are deterministic in any case.  Without this, eager mode on the CPU changes from NumPy's loops to code compiled for the
    shapes when they have come many times (always at the same call), which changes last digits once.
    """
    for name, value in (("mode", mode), ("warn_only", warn_only)):
        if not isinstance(value, bool):
            where = "'mode' (position 1)" if name == "mode" else "'warn_only'"
            raise TypeError(f"_set_deterministic_algorithms(): argument {where} must be bool, not {type(value).__name__}")
    demand.made, demand.warn_only = mode, warn_only
    switching.allowed = not mode


def are_deterministic_algorithms_enabled() -> bool:
    """What ``use_deterministic_algorithms`` was last called with."""
    return demand.made


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """The ``warn_only`` that ``use_deterministic_algorithms`` was last called with."""
    return demand.warn_only


def set_deterministic_debug_mode(debug_mode: Any) -> None:
    """0 or "default", 1 or "warn", 2 or "error"."""
    levels = {"default": 0, "warn": 1, "error": 2}
    level = levels.get(debug_mode, debug_mode)
    if level not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected `default`, `warn` or `error` or 0, 1, 2, but got {debug_mode}")
    use_deterministic_algorithms(level > 0, warn_only=level == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 (warn) or 2 (error): what ``set_deterministic_debug_mode`` or ``use_deterministic_algorithms`` has set."""
    return (1 if demand.warn_only else 2) if demand.made else 0


def get_float32_matmul_precision() -> str:
    """The precision that float32 matrix products need not exceed; they are always computed in full."""
    return wanted.matmul


def set_float32_matmul_precision(precision: str) -> None:
    """Accepted for PyTorch's sake: products are always computed in full precision."""
    wanted.set_matmul(precision)


def set_flush_denormal(mode: bool) -> bool:
    """Whether small numbers can be flushed to zero: they can't be here, so False."""
    return False


def set_warn_always(b: bool) -> None:
    """Say whether warnings that PyTorch gives once come every time: here Python's filters decide, and this is remembered for who asks."""
    if not isinstance(b, bool):
        raise TypeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    _settings.warn_always = b


def is_warn_always_enabled() -> bool:
    """What ``set_warn_always`` has set."""
    return _settings.warn_always
