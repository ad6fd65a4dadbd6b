"""Old names of `torch.autograd`: the module `variable`, and what asks for the profiler."""

from __future__ import annotations

from ..autograd import Variable
from ..core.errors import NotSupported
from ..core.state import state
from ..profiler import kineto_available

__all__ = ["Variable", "kineto_available"]


def _profiler_enabled() -> bool:
    """Whether a profiler records."""
    return state.profiler is not None


def _disable_profiler() -> None:
    """End the recording of PyTorch's old profiler by hand: refused."""
    raise NotSupported("torch.autograd._disable_profiler() is not in rushlight: leave the `with` block of the profiler, or call its stop()")


def _is_checkpoint_valid() -> bool:
    """Whether checkpointed segments may be computed again in this backward: always."""
    return True
