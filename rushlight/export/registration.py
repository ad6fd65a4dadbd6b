"""``torch.export.register_dataclass``: data classes as inputs and outputs of exported programs."""

from __future__ import annotations

import dataclasses
from typing import Any

from ..compat import pytree

registered_classes: list[type[Any]] = []  # of which example inputs in files may be made


def register_dataclass(cls: type[Any], *, serialized_type_name: str | None = None) -> None:
    """Make a data class a container of its fields, in inputs and outputs; the name is for saved programs."""
    if not dataclasses.is_dataclass(cls):
        raise AssertionError(f"Only dataclasses can be registered with this function: {cls}")
    pytree.register_dataclass(cls, serialized_type_name=serialized_type_name)
    registered_classes.append(cls)
