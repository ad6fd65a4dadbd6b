"""How the pickle of a checkpoint refers to a storage, which is stored in a record of its own."""

from __future__ import annotations

from pickle import UnpicklingError
from typing import Any

from ..core.dtypes import dtype
from ..tensor.storage import TypedStorage, UntypedStorage


def check_identity(identity: Any, length: int) -> tuple[dtype | None, str, str, int]:
    """The type, key, place and number of elements of a storage, as the pickle names it."""
    if not isinstance(identity, tuple) or len(identity) < length or identity[0] not in ("storage", b"storage"):
        raise UnpicklingError("the pickle refers to something outside it that is no storage")
    name, key, location, count = identity[1:5]
    key = key.decode() if isinstance(key, bytes) else key
    location = location.decode() if isinstance(location, bytes) else location
    kind = None if name is UntypedStorage else getattr(name, "dtype", None)
    if not (name is UntypedStorage or isinstance(kind, dtype)):
        raise UnpicklingError(f"the pickle has a storage of an unknown type: {name!r}")
    if not isinstance(key, str) or not isinstance(location, str) or type(count) is not int or count < 0:
        raise UnpicklingError("the pickle has a storage whose key, place or size makes no sense")
    return kind, key, location, count


def typed(untyped: UntypedStorage, kind: dtype | None) -> Any:
    """A storage as elements of a type, where it has one."""
    return untyped if kind is None else TypedStorage(dtype=kind, wrap_storage=untyped)
