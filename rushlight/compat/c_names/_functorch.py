"""`torch._C._functorch`: what tensors are to the transforms of `torch.func`."""

from __future__ import annotations

from typing import Any

from ...core.missing import missing
from ...core.state import state
from ...func.batched import BatchedTensor

__getattr__ = missing("rushlight._C._functorch")


def is_batchedtensor(tensor: Any) -> bool:
    """Whether a tensor is an example of a batch that ``vmap`` runs over."""
    return isinstance(tensor, BatchedTensor)


is_functorch_wrapped_tensor = is_batchedtensor


def is_legacy_batchedtensor(tensor: Any) -> bool:
    """False: PyTorch's first ``vmap`` is not here."""
    return False


is_gradtrackingtensor = is_functionaltensor = is_legacy_batchedtensor


def get_unwrapped(tensor: Any) -> Any:
    """The tensor with the whole batch."""
    return tensor._value if isinstance(tensor, BatchedTensor) else tensor


def maybe_get_bdim(tensor: Any) -> int:
    """Where the dimension of the batch is: it is always the first."""
    return 0 if isinstance(tensor, BatchedTensor) else -1


def maybe_get_level(tensor: Any) -> int:
    """How many transforms are around the innermost that a tensor belongs to, or -1."""
    return len(tensor._levels) if isinstance(tensor, BatchedTensor) else -1


def maybe_current_level() -> int | None:
    """How many transforms run, or None."""
    return state.transforms or None


def peek_interpreter_stack() -> Any:
    """The innermost transform that runs, or None."""
    return state.interceptors[-1] if state.transforms and state.interceptors else None
