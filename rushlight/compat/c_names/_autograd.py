"""`torch._C._autograd`, and other names of the engine that PyTorch keeps in its compiled part."""

from __future__ import annotations

import weakref
from typing import Any

from ...autograd.gradcheck import UndefinedGrad as _UndefinedGrad
from ...core.missing import missing
from ...core.node import AccumulateGrad as AccumulateGrad_
from ...core.node import RawSaved as SavedTensor
from ...core.state import state

__getattr__ = missing("rushlight._C._autograd")
AccumulateGrad = AccumulateGrad_


def _saved_tensors_hooks_is_enabled() -> bool:
    """Whether ``saved_tensors_hooks`` may be entered."""
    return state.saved_hooks_disabled is None


def _saved_tensors_hooks_disable(error_message: str, fail_if_non_empty: bool = True) -> None:
    """Make entering ``saved_tensors_hooks`` an error."""
    state.saved_hooks_disabled = error_message


def _saved_tensors_hooks_enable() -> None:
    """Allow ``saved_tensors_hooks`` again."""
    state.saved_hooks_disabled = None


class UndefinedGrad:
    """Views of tensors through which no gradient goes."""

    def __call__(self, *inputs: Any) -> Any:
        found = tuple(_UndefinedGrad.apply(each) for each in inputs)
        return found[0] if len(found) == 1 else found


class WeakTensorRef:
    """A tensor that may have ended: ``torch._C._WeakTensorRef``."""

    def __init__(self, tensor: Any) -> None:
        self._reference = weakref.ref(tensor)

    def expired(self) -> bool:
        """Whether the tensor has ended."""
        return self._reference() is None


__all__ = ["AccumulateGrad", "SavedTensor", "UndefinedGrad", "WeakTensorRef"]
