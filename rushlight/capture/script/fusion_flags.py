"""PyTorch's switches for fusing scripted code.  They are kept and given back; scripts run op by op here, and nothing is fused."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

_FUSERS = ("fuser0", "fuser1", "fuser2", "fuser3", "none")


class FusionFlags:
    """What the switches say."""

    strategy: list[tuple[str, int]] = [("STATIC", 2), ("DYNAMIC", 10)]
    onednn = False
    fuser = "fuser1"
    optimized = True


def set_fusion_strategy(strategy: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Say how often code is compiled for fixed and for varying shapes; returns the previous strategy.

    >>> before = set_fusion_strategy([("STATIC", 2), ("DYNAMIC", 2)])
    >>> set_fusion_strategy(before)
    [('STATIC', 2), ('DYNAMIC', 2)]
    """
    kinds = isinstance(strategy, Sequence) and all(isinstance(each, (tuple, list)) and len(each) == 2 for each in strategy)
    if not kinds or not all(isinstance(name, str) and isinstance(depth, int) for name, depth in strategy):
        raise TypeError(f"set_fusion_strategy() takes a list of pairs such as ('STATIC', 2), not {strategy!r}")
    for name, _ in strategy:
        if name not in ("STATIC", "DYNAMIC"):
            raise ValueError(f"FusionBehavior only supported 'STATIC' or 'DYNAMIC', got: {name}")
    before, FusionFlags.strategy = FusionFlags.strategy, [(name, depth) for name, depth in strategy]
    return before


def enable_onednn_fusion(enabled: bool) -> None:
    """Switch oneDNN's fusion on or off."""
    if isinstance(enabled, str):
        raise TypeError(f"enable_onednn_fusion() takes a bool, not {enabled!r}")
    FusionFlags.onednn = bool(enabled)


def onednn_fusion_enabled() -> bool:
    """Whether oneDNN's fusion is on."""
    return FusionFlags.onednn


@contextmanager
def fuser(name: str) -> Iterator[None]:
    """A context in which one of PyTorch's fusers is chosen: "fuser0" to "fuser3", or "none"."""
    if name not in _FUSERS:
        raise Exception(f"unrecognized fuser option (name: {name})")
    before, FusionFlags.fuser = FusionFlags.fuser, name
    try:
        yield
    finally:
        FusionFlags.fuser = before


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """A context in which PyTorch's executor rewrites graphs, or does not; results are the same."""
    before, FusionFlags.optimized = FusionFlags.optimized, bool(should_optimize)
    try:
        yield
    finally:
        FusionFlags.optimized = before


class strict_fusion:
    """A context for scripts in which everything must be fused; outside of scripts it says that it does nothing."""

    def __init__(self) -> None:
        warnings.warn("Only works in script mode", stacklevel=2)

    def __enter__(self) -> None:
        """Nothing happens in eager mode."""

    def __exit__(self, *exception: Any) -> None:
        """Nothing happens in eager mode."""
