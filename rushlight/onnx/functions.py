"""The names that PyTorch's own graphs have for ops."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from ..core.declare import Op

_PREFIXES = {"linalg": "linalg_", "fft": "fft_", "special": "special_"}


def aten_name(op: Op) -> str:
    """The name of an op in PyTorch's operator set: ``linalg_qr``, ``clamp``."""
    name = op.public_name if op.public_name else op.name
    return (
        _PREFIXES.get(op.namespace or "", "") + name.rstrip("_")
        if op.functional is not None
        else _PREFIXES.get(op.namespace or "", "") + name
    )


@cache
def _overloads() -> dict[str, Any]:
    path = Path(__file__).with_name("overloads.json")
    return json.loads(path.read_text(encoding="utf8"))  # type: ignore[no-any-return]


def overload_name(name: str) -> str:
    """The overload that takes tensors, by PyTorch's name for it: of ``fmod``, ``Tensor``; of most, the empty one."""
    return "Tensor" if name in _overloads()["Tensor"] else ""
