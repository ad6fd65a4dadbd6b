"""`torch.testing._utils`: calls with a seed of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.missing import missing
from ..random import manual_seed
from ..testing.helpers import random_state_kept as freeze_rng_state

__getattr__ = missing("rushlight.testing._utils")


def wrapper_set_seed(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function with the random stream at a fixed seed, and leave the stream as it was."""
    with freeze_rng_state():
        manual_seed(42)
        return op(*args, **kwargs)
