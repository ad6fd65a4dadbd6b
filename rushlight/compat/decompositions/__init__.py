"""`torch._decomp`: operators in terms of others.  The decompositions are those of ``torch.export``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.missing import missing
from ...export.decomposition import default_decompositions

__getattr__ = missing("rushlight._decomp")
global_decomposition_table: dict[str, dict[Any, Callable[..., Any]]] = {"post_autograd": {}, "pre_autograd": {}, "meta": {}}
decomposition_table = global_decomposition_table["post_autograd"]


def core_aten_decompositions() -> Any:
    """The decompositions that leave the core operators."""
    return default_decompositions()


def get_decompositions(aten_ops: Sequence[Any], type: str = "post_autograd") -> dict[Any, Callable[..., Any]]:
    """The decompositions of some operators, or of all overloads of their packets; those that have none are left out."""
    known = {**default_decompositions(), **global_decomposition_table[type]}
    found: dict[Any, Callable[..., Any]] = {}
    for each in aten_ops:
        for overload in [getattr(each, name) for name in each.overloads()] if hasattr(each, "overloads") else [each]:
            if overload in known:
                found[overload] = known[overload]
    return found


def register_decomposition(
    aten_op: Any, registry: dict[Any, Any] | None = None, *, type: str = "post_autograd", unsafe: bool = False
) -> Any:
    """A decorator: a function is the decomposition of operators, for those who ask for it by ``get_decompositions``."""

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        target = global_decomposition_table[type] if registry is None else registry
        for each in aten_op if isinstance(aten_op, (list, tuple)) else [aten_op]:
            for overload in [getattr(each, name) for name in each.overloads()] if hasattr(each, "overloads") else [each]:
                target[overload] = fn
        return fn

    return register


def remove_decompositions(decompositions: dict[Any, Any], aten_ops: Sequence[Any]) -> None:
    """Take the decompositions of some operators out of a table."""
    for each in aten_ops:
        for overload in [getattr(each, name) for name in each.overloads()] if hasattr(each, "overloads") else [each]:
            decompositions.pop(overload, None)
