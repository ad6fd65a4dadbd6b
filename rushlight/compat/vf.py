"""`torch._VF`: the operators of `torch` by their plain signatures, as layers call them."""

from __future__ import annotations

from typing import Any

import rushlight


def __getattr__(name: str) -> Any:
    return getattr(rushlight, name)
