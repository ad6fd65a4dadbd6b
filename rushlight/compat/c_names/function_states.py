"""Names of `torch._C` that say who is asked for ``__torch_function__`` in this thread."""

from __future__ import annotations

from enum import IntEnum

from ...core.overrides import DISABLED, ENABLED, NO_SUBCLASSES
from ...core.state import state


class _TorchFunctionState(IntEnum):
    """Modes and subclasses are asked, modes alone, or neither."""

    ENABLED = ENABLED
    SUBCLASSES_DISABLED = NO_SUBCLASSES
    ALL_DISABLED = DISABLED


def _get_torch_function_state() -> _TorchFunctionState:
    """Who is asked at the moment."""
    return _TorchFunctionState(state.overrides)


def _set_torch_function_state(arg0: _TorchFunctionState) -> None:
    """Set who is asked from now on."""
    state.overrides = int(_TorchFunctionState(arg0))
