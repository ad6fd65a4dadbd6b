"""What the processor and NumPy's build for it offer."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.missing import missing

# NumPy's names of instruction sets -> PyTorch's, the best first.
_CAPABILITIES = (
    ({"AVX512_SKX", "X86_V4"}, "AVX512"), ({"AVX2", "X86_V3"}, "AVX2"), ({"VSX"}, "VSX"), ({"VX"}, "Z VECTOR"),
    ({"SVE"}, "SVE256"),
)  # fmt: skip


def _build() -> dict[str, Any]:
    found: dict[str, Any] = np.show_config(mode="dicts")  # type: ignore[assignment]
    return found


def get_cpu_capability() -> str:
    """The widest vector instructions that NumPy uses here, by PyTorch's name: "AVX512", "AVX2", ..., or "DEFAULT"."""
    sets = _build().get("SIMD Extensions", {})
    present = {*sets.get("baseline", ()), *sets.get("found", ())}
    return next((name for known, name in _CAPABILITIES if known & present), "DEFAULT")


def blas() -> tuple[str, str]:
    """Name and version of the library by which NumPy multiplies matrices."""
    found = _build().get("Build Dependencies", {}).get("blas", {})
    return str(found.get("name", "unknown")), str(found.get("version", ""))


__getattr__ = missing(__name__)
