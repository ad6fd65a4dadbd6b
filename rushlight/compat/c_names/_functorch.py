"""`torch._C._functorch`: what tensors are to the transforms of `torch.func`."""

from __future__ import annotations

from typing import Any

from ...core.missing import missing
from ...core.state import state
from ...func.batched import BatchedTensor, explicit, wrap
from ...func.level import active_levels

__getattr__ = missing("rushlight._C._functorch")


def is_batchedtensor(tensor: Any) -> bool:
    """Whether a tensor is an example of a batch that ``vmap`` runs over."""
    return isinstance(tensor, BatchedTensor)


is_functorch_wrapped_tensor = is_batchedtensor


def is_legacy_batchedtensor(tensor: Any) -> bool:
    """False: PyTorch's first ``vmap`` is not here."""
    return False


is_gradtrackingtensor = is_functionaltensor = is_legacy_batchedtensor


_fallback = [True]


def _is_vmap_fallback_enabled() -> bool:
    """Whether ops without a rule for batches may run example by example, as it was set."""
    return _fallback[0]


def _set_vmap_fallback_enabled(enabled: bool) -> None:
    """Remember whether ops without a rule for batches may run example by example: each has a rule, or is made of such."""
    _fallback[0] = bool(enabled)


_is_vmap_fallback_warning_enabled, _set_vmap_fallback_warning_enabled = _is_vmap_fallback_enabled, _set_vmap_fallback_enabled


def get_unwrapped(tensor: Any) -> Any:
    """The tensor with the whole batch."""
    return tensor._value if isinstance(tensor, BatchedTensor) else tensor


def maybe_get_bdim(tensor: Any) -> int:
    """Where the dimension of the batch is: it is always the first."""
    return 0 if isinstance(tensor, BatchedTensor) else -1


def _add_batch_dim(tensor: Any, batch_dim: int, level: int) -> Any:
    """A tensor as an example of the innermost ``vmap`` that runs, which has the batch in this dimension."""
    return wrap(tensor.movedim(batch_dim, 0), active_levels()[-1])


def _remove_batch_dim(tensor: Any, level: int, batch_size: int, out_dim: int) -> Any:
    """The whole batch of an example, in this dimension."""
    if not isinstance(tensor, BatchedTensor):
        return tensor.unsqueeze(out_dim).expand(*tensor.shape[:out_dim], batch_size, *tensor.shape[out_dim:])
    return explicit(tensor, (active_levels()[-1],)).movedim(0, out_dim)


def maybe_get_level(tensor: Any) -> int:
    """How many transforms are around the innermost that a tensor belongs to, or -1."""
    return len(tensor._levels) if isinstance(tensor, BatchedTensor) else -1


def maybe_current_level() -> int | None:
    """How many transforms run, or None."""
    return state.transforms or None


def peek_interpreter_stack() -> Any:
    """The innermost transform that runs, or None."""
    return state.interceptors[-1] if state.transforms and state.interceptors else None


class DisableFuncTorch:
    """A guard under which the transforms of `torch.func` are out of sight: it may only be made where none runs."""

    def __init__(self) -> None:
        if state.transforms:
            raise RuntimeError("the transforms of torch.func that run can't be left: call the function outside of them")

    def __enter__(self) -> DisableFuncTorch:
        return self

    def __exit__(self, *error: Any) -> None:
        pass
