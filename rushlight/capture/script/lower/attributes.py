"""Lowering of attributes of values, tensors and Modules."""

from __future__ import annotations

import ast
import enum
import functools
import inspect
import typing
from typing import Any

from ....core.base import TensorBase, runtime
from ....core.declare import PACKAGE
from ....core.missing import home_module, is_own
from ....nn.modules.module import Module
from ...graph_module import GraphModule
from ..frontend.annotations import mark_of
from ..frontend.errors import NotSupportedError, ScriptError
from ..frontend.source import MISSING
from ..frontend.type_checks import checker
from ..frontend.types import (
    ANY,
    BOOL,
    CLASS_MAKERS,
    INT,
    NONE,
    OBJECT,
    STR,
    TENSOR,
    ClassType,
    DictType,
    EnumType,
    InterfaceType,
    ListType,
    OptionalType,
    TupleType,
    Type,
    UnknownAnnotation,
    assignable,
    class_type,
    from_annotation,
    type_of,
)
from .iteration import parts_of
from .objects import ObjectLowering
from .result_types import LIST_METHODS, STR_METHODS, attribute_type, traced_type
from .scope import Bound, ModuleValue, ScriptValue, Static, Unrolled

_DICT_METHODS = frozenset("keys values items get pop setdefault update clear copy popitem".split())
_PLAIN_ATTRIBUTES: dict[tuple[str, str], Type] = {
    ("Device", "type"): STR, ("Device", "index"): OptionalType(INT), ("dtype", "is_floating_point"): BOOL, ("dtype", "is_complex"): BOOL,
    ("dtype", "itemsize"): INT,
}  # fmt: skip
_NUMBERS: dict[str, type] = {"int": int, "float": float, "bool": bool, "complex": complex}


class AttributeLowering(ObjectLowering):
    """Compiles attributes."""

    def attribute(self, base: Any, name: str, node: ast.AST) -> Any:
        """``base.name``."""
        if isinstance(base, Static):
            found = base.object
            value = self.source.attribute(found, name, MISSING)
            if value is MISSING:
                is_enum = isinstance(found, type) and issubclass(found, enum.Enum)
                words = f"has no attribute '{name}'" if is_enum else f"object has no attribute {name}"
                raise ScriptError(f"{getattr(found, '__name__', found)!r} {words}", self.source, node)
            return self.wrap(value, node)
        if isinstance(base, ModuleValue):
            return self.module_attribute(base, name, node)
        if isinstance(base, (ScriptValue, Bound)):
            return self.value_attribute(self.plain(base, node) if isinstance(base, Bound) else base, name, node)
        raise ScriptError(f"a {self.type_name(base)} has no attribute '{name}' in scripts", self.source, node)

    def value_attribute(self, base: ScriptValue, name: str, node: ast.AST) -> Any:
        """An attribute, or a method, of a value."""
        kind = base.type
        if isinstance(kind, ClassType):
            return self.object_attribute(base, name, node)
        if isinstance(kind, InterfaceType):
            if name not in kind.methods:
                raise ScriptError(f"'{kind}' object has no attribute or method '{name}'", self.source, node)
            return Bound(base, name)
        if isinstance(kind, TupleType) and kind.kind is not None and name in kind.kind._fields:
            return self.item(base, kind.kind._fields.index(name))
        if isinstance(kind, EnumType) and name in ("value", "name"):
            if base.constant:
                return self.wrap(getattr(base.arg, name), node)
            return self.emit(getattr, (base.arg, name), type_of(getattr(next(iter(kind.kind), base), name, None)))
        if isinstance(kind, OptionalType) or kind == NONE:
            raise ScriptError(
                f"'{kind}' object has no attribute or method '{name}'.\nIt may be None: test 'is not None' before", self.source, node
            )
        if kind == TENSOR:
            return self.tensor_attribute(base, name, node)
        if (repr(kind), name) in _PLAIN_ATTRIBUTES and not base.constant:
            return self.emit(getattr, (base.arg, name), _PLAIN_ATTRIBUTES[repr(kind), name])
        known = (
            STR_METHODS
            if kind == STR
            else LIST_METHODS
            if isinstance(kind, ListType)
            else _DICT_METHODS
            if isinstance(kind, DictType)
            else dir(kind.kind or tuple)
            if isinstance(kind, TupleType)
            else None
        )
        if known is not None and name not in known:
            if not (isinstance(kind, ListType) and name in ("numel", "count")):
                raise ScriptError(f"'{kind}' object has no attribute or method '{name}'", self.source, node)
        if known is not None:
            return Bound(self.materialized(base), name)
        if base.constant and hasattr(base.arg, name) and not callable(getattr(base.arg, name)):
            return self.wrap(getattr(base.arg, name), node)
        if (base.constant and not hasattr(base.arg, name)) or (repr(kind) in _NUMBERS and not hasattr(_NUMBERS[repr(kind)], name)):
            raise ScriptError(f"'{kind}' object has no attribute or method '{name}'", self.source, node)
        return Bound(base, name)

    def tensor_attribute(self, base: ScriptValue, name: str, node: ast.AST) -> Any:
        """An attribute of a tensor: read at once, unless it is a method."""
        found = tensor_member(name)
        if found is None:
            if name in ("values", "indices"):  # of what may be several results
                return self.emit(getattr, (base.arg, name), TENSOR)
            raise ScriptError(f"'Tensor' object has no attribute or method '{name}'", self.source, node)
        if isinstance(found, property) or not callable(found):
            return self.emit(getattr, (base.arg, name), attribute_type(name))
        return Bound(base, name)

    def module_attribute(self, base: ModuleValue, name: str, node: ast.AST) -> Any:
        """An attribute of ``self`` or of a Module below it."""
        module = base.module
        if base.children:
            return Bound(base, name)
        if name == "_modules":
            return ModuleValue(module, base.path, True)
        for table in (module._parameters, module._buffers):
            if name in table:
                if table[name] is None:
                    return ScriptValue(NONE, None)
                return self.emit(base.below(name), (), TENSOR, op="get_attr")
        if name in module._modules:
            found = self.child(base, name, node)
            hint = declared(module)[0].get(name)
            if isinstance(found, ModuleValue):
                found.interface = interface_in(hint)
            return found
        if name in module.__dict__ and not name.startswith("_script"):
            return self.data_attribute(base, name, module.__dict__[name], node)
        owner = getattr(module, "_script_class", type(module))
        found = inspect.getattr_static(owner, name, None)
        if isinstance(found, property):
            if not hasattr(module, "_script_method"):
                return self.emit(base.below(name), (), ANY, op="get_attr")
            return self.call_method(base, name, [], {}, node)
        if isinstance(found, staticmethod):
            return Static(found.__func__)
        if isinstance(found, classmethod):
            raise NotSupportedError("class methods are not supported in scripts: use a static method", self.source, node)
        if callable(found):
            if base.interface is not None and name not in base.interface.methods:
                raise ScriptError(f"'{base.interface}' object has no attribute or method '{name}'", self.source, node)
            return Bound(base, name)
        if found is not None:
            return self.wrap(found, node)
        ignored = getattr(owner, "__jit_ignored_attributes__", ())
        more = " (This attribute exists on the Python module, but the attribute was ignored during compilation)"
        raise ScriptError(f"Module '{owner.__name__}' has no attribute '{name}'{more if name in ignored else ''}", self.source, node)

    def call_method(self, base: ModuleValue, name: str, arguments: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """A call of a method of a Module."""
        raise NotImplementedError  # in Calls

    def data_attribute(self, base: ModuleValue, name: str, found: Any, node: ast.AST) -> Any:
        """An attribute that is no tensor and no Module: read when the program runs, unless it is declared as constant."""
        hints, constants = declared(base.module)
        hint = hints.get(name)
        if callable(found) and not isinstance(found, (Module, TensorBase, enum.Enum)) and not self.is_scripted_object(found, hint):
            if getattr(found, "owner", getattr(found, "__self__", None)) is base.module:
                return Bound(base, name)
            return Static(found)
        if isinstance(found, (list, tuple)) and any(isinstance(each, Module) for each in found):
            raise ScriptError(
                f"Could not infer type of list element: Cannot infer concrete type of torch.nn.Module: '{name}' is a list of Modules, make it a ModuleList",
                self.source,
                node,
            )
        if name in constants or typing.get_origin(hint) is typing.Final or hint is typing.Final:
            return self.wrap(found, node)
        if hint is not None:
            try:
                kind = from_annotation(hint, self.source.evaluate)
            except (UnknownAnnotation, NameError):
                kind = type_of(found)
        else:
            kind = type_of(found)
            if kind == NONE:
                return ScriptValue(NONE, None)
            if kind == OBJECT and is_plain_class(type(found)):
                try:
                    kind = CLASS_MAKERS[0](type(found), self.frames)
                except ScriptError as error:
                    raise self.not_converted(base, name, found, node) from error
            if kind == OBJECT and not is_own(type(found)):
                raise self.not_converted(base, name, found, node)
        if isinstance(kind, EnumType):
            return ScriptValue(kind, found)
        if isinstance(kind, ClassType):
            self.check_object(found, kind, node)
        return self.emit(base.below(name), (), kind, op="get_attr")

    def is_scripted_object(self, found: Any, hint: Any) -> bool:
        """Whether what can be called is an object of a scripted class: by its annotation, or by its own class, which is scripted if it can be."""
        if (
            isinstance(found, type)
            or not inspect.isfunction(method := inspect.getattr_static(type(found), "__call__", None))
            or is_own(type(found))
        ):
            return False
        if class_type(type(found)) is not None or (isinstance(hint, type) and isinstance(found, hint) and is_plain_class(hint)):
            return True
        if hint is not None or mark_of(method) is not None or not is_plain_class(type(found)):
            return False
        try:
            CLASS_MAKERS[0](type(found), self.frames)
        except ScriptError:
            return False  # a call of it says why
        return True

    def not_converted(self, base: ModuleValue, name: str, found: Any, node: ast.AST) -> ScriptError:
        """The error for an attribute that scripts have no type for."""
        return ScriptError(
            f"Module '{getattr(base.module, '_script_class', type(base.module)).__name__}' has no attribute '{name}' (This attribute exists on the "
            f"Python module, but we failed to convert Python type: '{type(found).__name__}' to a TorchScript type.)",
            self.source,
            node,
        )

    def check_object(self, found: Any, kind: ClassType, node: ast.AST) -> None:
        """Refuse an object that a Module has, whose attributes are of other types than those of its class."""
        for name, wanted in kind.described.attributes.items():
            check = checker(wanted)
            if not hasattr(found, name) or (check is not None and not check(getattr(found, name))):
                given = type_of(getattr(found, name)) if hasattr(found, name) else None
                what = "it is missing" if given is None else f"it is of type {given}"
                raise ScriptError(
                    f"Could not cast attribute '{name}' to type {wanted}: {what} in an object of the class '{kind}'", self.source, node
                )

    def set_attribute(self, owner: ModuleValue, target: ast.Attribute, value: ScriptValue) -> None:
        """``self.name = value``."""
        module, name = owner.module, target.attr
        tables = (module._parameters, module._buffers)
        if any(name in table for table in tables):
            wanted: Type = TENSOR if any(table.get(name) is not None for table in tables) else OptionalType(TENSOR)
        elif name in module._modules:
            wanted = interface_in(declared(module)[0].get(name)) or self.module_kind(module._modules[name])
        elif name in module.__dict__:
            hint = declared(module)[0].get(name)
            wanted = from_annotation(hint, self.source.evaluate) if hint is not None else type_of(module.__dict__[name])
        else:
            found = inspect.getattr_static(getattr(module, "_script_class", type(module)), name, None)
            if isinstance(found, property) and found.fset is not None and hasattr(module, "_script_method"):
                self.call_method(owner, f"_set_{name}", [value], {}, target)
                return
            raise ScriptError(
                f"Tried to set nonexistent attribute: {name}. Did you forget to initialize it in __init__()?", self.source, target
            )
        if name in declared(module)[1] or typing.get_origin(declared(module)[0].get(name)) is typing.Final:
            raise ScriptError(f"Cannot re-assign '{name}': it is declared as a constant", self.source, target)
        if wanted != NONE and not assignable(value.type, wanted):
            raise ScriptError(
                f"Wrong type for attribute assignment. Expected {wanted} but got {value.type} for the attribute '{name}'",
                self.source,
                target,
            )
        self.emit(owner.below("__setattr__"), (name, value.arg), NONE, op="call_module", impure=True)

    def child(self, base: ModuleValue, key: Any, node: ast.AST) -> Any:
        """A Module below another: by name, or by its place in a container."""
        table = parts_of(base.module)
        if isinstance(key, slice):
            return Unrolled([self.child(base, name, node) for name in list(table)[key]])
        if isinstance(key, int) and not isinstance(key, bool):
            if not -len(table) <= key < len(table):
                raise ScriptError(f"Index {key} out of range: there are {len(table)} Modules", self.source, node)
            key = list(table)[key]
        if key not in table:
            raise ScriptError(f"Key Error, {key}: there is no Module of that name", self.source, node)
        found = table[key]
        if found is None:
            return ScriptValue(NONE, None)
        return ModuleValue(found, base.below(key)) if isinstance(found, Module) else self.emit(base.below(key), (), TENSOR, op="get_attr")


def interface_in(hint: Any) -> InterfaceType | None:
    """The interface that an annotation is; None of others."""
    if isinstance(hint, InterfaceType):
        return hint
    return vars(hint).get("_script_interface") if isinstance(hint, type) else None


def is_plain_class(kind: type) -> bool:
    """Whether a class is a user's, without bases: its objects can be those of a scripted class."""
    return len(kind.__mro__) == 2 and home_module(kind).partition(".")[0] not in (PACKAGE, "builtins", "typing", "collections", "types")


@functools.cache
def tensor_member(name: str) -> Any:
    """What the class of tensors has under a name, or None."""
    getattr(runtime.tensor_type, name, None)  # a method that was not loaded yet is now
    return inspect.getattr_static(runtime.tensor_type, name, None)


def declared(module: Any) -> tuple[dict[str, Any], set[str]]:
    """The annotations of a Module's class, and its attributes that are constants."""
    hints: dict[str, Any] = {}
    constants: set[str] = set()
    for base in reversed(getattr(module, "_script_class", type(module)).__mro__):
        hints.update(base.__dict__.get("__annotations__", {}))
        constants |= set(base.__dict__.get("__constants__", ()))
    hints.update(module.__dict__.get("_script_types", {}))
    for name in [name for name, hint in hints.items() if hint.__class__ is str and "Final" in hint]:
        if hints.pop(name).partition("[")[0].rpartition(".")[2] == "Final":
            constants.add(name)
    return hints, constants


_SEVERAL = frozenset("RNN LSTM GRU RNNBase LSTMCell MultiheadAttention AdaptiveLogSoftmaxWithLoss".split())


def module_type(module: Any) -> Type:
    """The type of what a Module of the package, or a traced one, returns."""
    if isinstance(module, GraphModule):
        return traced_type(module.graph.output_node().args[0])
    own = home_module(type(module)).startswith(PACKAGE + ".nn.")
    return ANY if not own or type(module).__name__ in _SEVERAL or getattr(module, "return_indices", False) else TENSOR
