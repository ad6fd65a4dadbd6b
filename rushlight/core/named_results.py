"""Results with names: the tuples that ops with several outputs return."""

from __future__ import annotations

from typing import Any

from .declare import Op

_NAMED: dict[str, Any] = {}


def named_result(op: Op) -> Any:
    """The named tuple of an op with several outputs: ``return_types.sort(values=..., indices=...)``."""
    name = op.public_name if op.namespace is None else op.name  # an overload has the name of the function that calls it
    found = _NAMED.get(name)
    if found is None:
        found = _NAMED[name] = make_named(name, op.returns)
    return found


def make_named(name: str, fields: tuple[str, ...]) -> Any:
    """A tuple class with named fields that prints as PyTorch's ``torch.return_types`` do."""

    def new(cls: type, *values: Any) -> Any:
        return tuple.__new__(cls, values[0] if len(values) == 1 and len(fields) > 1 else values)

    def show(self: Any) -> str:
        return f"torch.return_types.{name}(\n" + ",\n".join(f"{f}={v!r}" for f, v in zip(fields, self)) + ")"

    def getter(index: int) -> property:
        return property(lambda self: tuple.__getitem__(self, index))

    body: dict[str, Any] = {field: getter(index) for index, field in enumerate(fields)}
    body.update(__new__=new, __repr__=show, _fields=fields, __slots__=(), __module__="torch.return_types")
    body["__reduce__"] = lambda self: (tuple, (tuple(self),))
    return type(name, (tuple,), body)
