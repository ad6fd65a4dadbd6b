"""Dispatch keys: PyTorch's names for the ways a call can take.  Of what can be left out by them, autocast is here."""

from __future__ import annotations

from enum import Enum
from typing import Any

from ...amp.autocast_mode import autocast

DispatchKey = Enum(  # type: ignore[misc]
    "DispatchKey",
    "Undefined CPU CUDA XPU MPS Meta Sparse SparseCPU SparseCUDA QuantizedCPU Autograd AutogradCPU AutogradCUDA AutogradMeta AutogradOther "
    "AutocastCPU AutocastCUDA AutocastXPU AutocastMPS BackendSelect Python PythonTLSSnapshot Functionalize FuncTorchBatched Batched "
    "ADInplaceOrView Conjugate Negative ZeroTensor CompositeImplicitAutograd CompositeExplicitAutograd PreDispatch PrivateUse1",
)


class DispatchKeySet:
    """Several dispatch keys."""

    def __init__(self, *keys: Any) -> None:
        self._keys: frozenset[Any] = frozenset(
            key for each in keys for key in (each._keys if isinstance(each, DispatchKeySet) else (each,))
        )

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys, *other._keys)

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*(self._keys - other._keys))

    def has(self, key: Any) -> bool:
        """Whether a key is among them."""
        return key in self._keys

    def add(self, key: Any) -> DispatchKeySet:
        """With a further key."""
        return DispatchKeySet(*self._keys, key)

    def remove(self, key: Any) -> DispatchKeySet:
        """Without a key."""
        return DispatchKeySet(*(self._keys - {key}))


class _ExcludeDispatchKeyGuard:
    """A context in which calls do not take some ways: with a key of autocast among them, autocast is off."""

    def __init__(self, keys: DispatchKeySet) -> None:
        devices = [name for name in ("CPU", "CUDA", "XPU") if keys.has(DispatchKey[f"Autocast{name}"])]
        self._contexts = [autocast(name.lower(), enabled=False) for name in devices]

    def __enter__(self) -> None:
        for each in self._contexts:
            each.__enter__()

    def __exit__(self, *exception: Any) -> None:
        for each in reversed(self._contexts):
            each.__exit__(*exception)
