"""Namespaces of `torch._C` with the compiled functions behind `torch`, `torch.linalg`, `torch.fft` and `torch.special`: here, these themselves."""

from __future__ import annotations

import operator
from types import ModuleType
from typing import Any

from ... import fft, linalg, special
from ...core.missing import missing
from .. import vf

_OPERATORS = frozenset("__and__ __or__ __xor__ __lshift__ __rshift__".split())


class _Prefixed(ModuleType):
    """The functions of a public module by their names there behind a prefix: ``_linalg.linalg_svd``."""

    def __init__(self, name: str, prefix: str, module: ModuleType) -> None:
        super().__init__(f"rushlight._C.{name}", module.__doc__)
        self._prefix, self._module, self._absent = prefix, module, missing(f"rushlight._C.{name}")

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name.removeprefix(self._prefix), None) if name.startswith(self._prefix) else None
        return self._absent(name) if found is None else found


class _Functions(ModuleType):
    """The functions of `torch`, and the operators of Python that have no other name there."""

    def __getattr__(self, name: str) -> Any:
        return getattr(operator, name) if name in _OPERATORS else getattr(vf, name)


_linalg, _fft, _special = (
    _Prefixed("_linalg", "linalg_", linalg),
    _Prefixed("_fft", "fft_", fft),
    _Prefixed("_special", "special_", special),
)
_VariableFunctions = _Functions("rushlight._C._VariableFunctions")
