"""``torch.ops`` as objects: namespaces of op packets, each with its overloads and their schemas.

``torch.ops.mylib.scale`` is an :class:`OpOverloadPacket`, ``torch.ops.mylib.scale.default`` an :class:`OpOverload`.  Ops that programs
register (:mod:`rushlight.library`) are put in by :func:`add_overload`; those of ``aten`` come from ``aten_calls.py``, when one is first asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from ..core.base import TensorBase
from ..core.declare import Op
from ..core.errors import OperationError
from ..core.schema import FunctionSchema

_packets: dict[str, dict[str, OpOverloadPacket]] = {}  # by namespace and name: what programs have registered
_namespaces: dict[str, _OpNamespace] = {}
# Namespaces whose ops a module makes when one is first asked for; those of operators which take functions and of collectives are far from here.
_SOURCES = {
    "aten": ".aten_calls",
    "prim": ".prim_calls",
    "prims": ".prims_calls",
    "higher_order": "..export.higher_order",
    "profiler": "..autograd.profiler",
} | dict.fromkeys(("c10d", "c10d_functional", "_c10d_functional"), "..distributed.c10d_ops")
_OPERATORS = frozenset(
    ("__and__", "__or__", "__xor__", "__lshift__", "__rshift__", "__iand__", "__ior__", "__ixor__", "__ilshift__", "__irshift__")
)


class OpOverload:
    """One overload of an op: called, it binds its arguments by the schema and runs."""

    op: Op  # the op that graphs know it by; overloads of aten have none: their functions are ops of the table

    def __init__(self, packet: OpOverloadPacket, schema: FunctionSchema, run: Callable[[list[Any]], Any]) -> None:
        self._schema = schema
        self._run = run
        self._overloadpacket = packet
        self._overloadname = schema.overload_name or "default"
        self._name = schema.qualified_name
        self.namespace = packet.namespace
        self.__name__ = f"{packet.__name__}.{self._overloadname}"
        self.__qualname__ = self._name
        self.__module__ = packet.__module__
        self.tags: list[Any] = []
        self._defined_in_python = packet.namespace not in _SOURCES

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        try:
            values = self._schema.bind(args, kwargs)
        except OperationError:
            handled = _overridden(self, args, kwargs)
            if handled is NotImplemented:
                raise
            return handled
        return self._run(values)

    @property
    def overloadpacket(self) -> OpOverloadPacket:
        """The packet that it is an overload of."""
        return self._overloadpacket

    @property
    def is_view(self) -> bool:
        """Whether the result shares the memory of an argument that is not written to."""
        written = [each.alias_info for each in self._schema.arguments if each.alias_info is not None]
        return bool(written) and not any(each.is_write for each in written)

    def name(self) -> str:
        """``aten::add.Tensor``."""
        return self._name

    def has_kernel_for_dispatch_key(self, key: Any) -> bool:
        """Whether an implementation is registered for a dispatch key (those of aten have one for the CPU)."""
        owner: Any = getattr(self._run, "__self__", None)
        return str(key).rpartition(".")[2] in owner.kernels if hasattr(owner, "kernels") else str(key).endswith("CPU")

    def decompose(self, *args: Any, **kwargs: Any) -> Any:
        """What its decomposition computes: there is none apart from the op itself."""
        return NotImplemented

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.namespace}.{self._overloadpacket.__name__}', overload='{self._overloadname}')>"

    def __str__(self) -> str:
        return f"{self.namespace}.{self._overloadpacket.__name__}.{self._overloadname}"

    def __deepcopy__(self, memo: Any = None) -> OpOverload:
        return self

    def __copy__(self) -> OpOverload:
        return self

    def __reduce__(self) -> Any:
        return (find_overload, (self.namespace, self._overloadpacket.__name__, self._overloadname))


class OpOverloadPacket:
    """All overloads of one op: called, the first whose schema fits runs."""

    def __init__(self, namespace: str, name: str) -> None:
        self.namespace = namespace
        self.__name__ = name
        self.__qualname__ = name
        self.__module__ = f"{__name__.partition('.')[0]}.ops.{namespace}"
        self._qualified_op_name = f"{namespace}::{name}"
        self._overloads: dict[str, OpOverload] = {}

    def __getattr__(self, name: str) -> Any:
        if name == "op":  # of a packet with one overload: the op that graphs know
            overloads = [each for key, each in self._overloads.items() if key != FUNCTIONAL]
            if len(overloads) == 1:
                return overloads[0].op
        if name == FUNCTIONAL or not name.startswith("_"):
            found = self.__dict__.get("_overloads", {}).get(name)
            if found is not None:
                return found
        if name.startswith("__"):
            raise AttributeError(
                f"'{type(self)}' can't have an overload name beginning with '__' and the underlying op has no attribute {name}"
            )
        raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")

    def overloads(self) -> list[str]:
        """The names of the overloads."""
        return [name for name in self._overloads if name != FUNCTIONAL]

    @property
    def _schemas(self) -> dict[str, FunctionSchema]:
        return {each._schema.overload_name: each._schema for name, each in self._overloads.items() if name != FUNCTIONAL}

    def __iter__(self) -> Iterator[str]:
        return iter(self.overloads())

    def __dir__(self) -> list[str]:
        return self.overloads()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        candidates = [each for name, each in self._overloads.items() if name != FUNCTIONAL]
        if len(candidates) == 1:
            try:
                values = candidates[0]._schema.bind(args, kwargs)
            except OperationError:
                handled = _overridden(self, args, kwargs)
                if handled is NotImplemented:
                    raise
                return handled
            return candidates[0]._run(values)
        mistakes = ""
        for each in candidates:
            try:
                values = each._schema.bind(args, kwargs)
            except OperationError as error:
                mistakes += f"{error}\n\n"
                continue
            return each._run(values)
        handled = _overridden(self, args, kwargs)
        if handled is not NotImplemented:
            return handled
        raise OperationError(f"Overloaded torch operator invoked from Python failed to match any schema:\n{mistakes}")

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self.namespace}.{self.__name__}')>"

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __deepcopy__(self, memo: Any = None) -> OpOverloadPacket:
        return self

    def __reduce__(self) -> Any:
        return (find_packet, (self.namespace, self.__name__))


def _overridden(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What an argument of another class makes of the call, by its ``__torch_function__``; NotImplemented where none has one."""
    flat = [each for value in (*args, *kwargs.values()) for each in (value if isinstance(value, (list, tuple)) else (value,))]
    found = [type(each) for each in flat if hasattr(type(each), "__torch_function__") and not isinstance(each, TensorBase)]
    for kind in dict.fromkeys(found):
        result = kind.__torch_function__(function, tuple(dict.fromkeys(found)), args, kwargs)
        if result is not NotImplemented:
            return result
    return NotImplemented


def __getattr__(name: str) -> Any:
    if name == "ops":  # ``torch._ops.ops``
        return importlib.import_module(__package__ or "")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)


FUNCTIONAL = "_functional"  # the overload by which graphs write an op that writes to its arguments


class _OpNamespace(ModuleType):
    """``torch.ops.mylib``: the ops of one namespace."""

    def __init__(self, name: str) -> None:
        super().__init__(f"torch.ops.{name}")
        self.__file__ = "torch.ops"
        self.__dict__["name"] = name

    def __getattr__(self, op_name: str) -> OpOverloadPacket:
        namespace = self.__dict__["name"]
        found = registered(namespace).get(op_name)
        if found is None and namespace in _SOURCES and (not op_name.startswith("__") or op_name in _OPERATORS):
            found = importlib.import_module(_SOURCES[namespace], __package__).packet(namespace, op_name)
        if found is None:
            raise AttributeError(f"'_OpNamespace' '{namespace}' object has no attribute '{op_name}'")
        return found

    def __dir__(self) -> list[str]:
        namespace = self.__dict__["name"]
        names = set(registered(namespace))
        if namespace in _SOURCES:
            names |= importlib.import_module(_SOURCES[namespace], __package__).names(namespace)
        return sorted(names)

    def __iter__(self) -> Iterator[str]:
        return iter(dir(self))

    def __repr__(self) -> str:
        return f"<module 'torch.ops.{self.__dict__['name']}' from 'torch.ops'>"


def namespace(name: str) -> _OpNamespace:
    """The namespace of a name; any name is one, with or without ops."""
    found = _namespaces.get(name)
    if found is None:
        found = _namespaces[name] = _OpNamespace(name)
    return found


def registered(name: str) -> dict[str, OpOverloadPacket]:
    """The packets in a namespace that were registered."""
    return _packets.get(name, {})


def namespaces() -> list[str]:
    """The namespaces that programs have registered ops in."""
    return [name for name, packets in _packets.items() if packets]


def packet_of(place: str, name: str) -> OpOverloadPacket:
    """The packet of a registered op, made where there is none."""
    return _packets.setdefault(place, {}).setdefault(name, OpOverloadPacket(place, name))


def add_overload(schema: FunctionSchema, run: Callable[[list[Any]], Any]) -> OpOverload:
    """Register an overload of the op that a schema names (``mylib::scale.Tensor``)."""
    place, _, name = schema.name.partition("::")
    packet = packet_of(place, name)
    made = OpOverload(packet, schema, run)
    packet._overloads[made._overloadname] = made
    return made


def remove_overload(overload: OpOverload) -> None:
    """Take an overload away, and its packet where it was the last."""
    packet = overload._overloadpacket
    if packet._overloads.get(overload._overloadname) is overload:
        del packet._overloads[overload._overloadname]
        packet._overloads.pop(FUNCTIONAL, None)
    if not packet._overloads:
        _packets.get(packet.namespace, {}).pop(packet.__name__, None)


def find_packet(place: str, name: str) -> OpOverloadPacket:
    """The packet of a name: what a pickled one becomes."""
    return getattr(namespace(place), name)  # type: ignore[no-any-return]


def find_overload(place: str, name: str, overload: str) -> OpOverload:
    """The overload of a name: what a pickled one becomes."""
    return getattr(find_packet(place, name), overload)  # type: ignore[no-any-return]
