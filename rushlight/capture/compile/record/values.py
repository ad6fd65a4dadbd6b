"""The recorder's semantics of operators, attributes and names: each operation is guarded or recorded before it is performed."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import operator
import sys
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ....core.base import TensorBase
from ....core.state import flags
from ....core.symbolic import SymbolicFloat, SymbolicInt, is_symbolic, plain
from ....nn.modules.module import Module
from ..decode import NULL
from ..guards.guard import Kind
from ..guards.guards import CONTAINERS, PRIMITIVES, by_identity
from ..guards.sources import Source
from ..vm import operator_forms
from ..vm.frame import Inline
from ..vm.generator import InterpretedGenerator
from .base import SideEffect, is_method, size_is_known
from .callables import PACKAGE, asks_python, class_attribute, is_users, python_method, python_methods, shadows_getter
from .graph_breaks import Break
from .names import NameRecorder
from .super_attributes import super_attribute
from .symbolic_numbers import binary as number_binary
from .symbolic_numbers import equal_sequences, formula_of
from .symbolic_numbers import unary as number_unary
from .tensor_attributes import tensor_attribute

_NAMES = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "@": "matmul", "**": "pow", "&": "and", "|": "or",
    "^": "xor", "<<": "lshift", ">>": "rshift",
}  # fmt: skip
_COMPARE = {
    "<": ("__lt__", "__gt__"),
    "<=": ("__le__", "__ge__"),
    ">": ("__gt__", "__lt__"),
    ">=": ("__ge__", "__le__"),
    "==": ("__eq__", "__eq__"),
    "!=": ("__ne__", "__ne__"),
}
_UNARY = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}
_PLAIN = frozenset((int, float, bool, str, complex, type(None), bytes))
_CONSTANT_MODULES = frozenset((PACKAGE, "torch", *sys.stdlib_module_names))


class ValueRecorder(NameRecorder):
    """Records operations on values; calls are recorded by :class:`Recorder`."""

    # -- operators -------------------------------------------------------------------------------------------------

    def truth(self, value: Any) -> Any:
        if type(value) in _PLAIN:
            return bool(value)
        if isinstance(value, TensorBase):
            if self.tracer.is_traced(value) or id(value) in self.sources:
                raise Break("truth")
            return bool(value)
        if isinstance(value, (SymbolicInt, SymbolicFloat)):
            self.compare("!=", value, 0)
            return bool(value)
        source = self.sources.get(id(value))
        if type(value) in (list, dict, tuple, set, collections.OrderedDict) and source is not None:
            if id(value) in self.snapshots:
                self.guard_elements(value)
            elif id(value) not in self.expanded:
                self.guards.add(Kind.EMPTY, source, not value)
            return bool(value)
        hidden = python_methods(type(value)) & {"__bool__", "__len__"}
        if hidden:
            if source is not None:
                self.guards.value(source, value)
            return Inline(operator_forms.truth_of, (self.special(value, min(hidden)), value, min(hidden)), {})
        if source is not None:
            self.guards.value(source, value)
            if isinstance(value, CONTAINERS):
                self.guard_elements(value)
            elif isinstance(value, functools.partial) or not hasattr(type(value), "__len__") and not hasattr(type(value), "__bool__"):
                pass
            elif not by_identity(value) or isinstance(value, Module):
                raise Break("hidden", name=f"{type(value).__name__}.__bool__")
        return bool(value)

    def unary(self, op: str, a: Any) -> Any:
        if is_symbolic(a):
            return number_unary(self, op, a)
        method = self.special(a, _UNARY[op])
        return super().unary(op, a) if method is None else Inline(method, (a,), {})

    def binary(self, op: str, a: Any, b: Any) -> Any:
        if type(a) in _PLAIN and type(b) in _PLAIN:
            return super().binary(op, a, b)
        if (is_symbolic(a) or is_symbolic(b)) and all(isinstance(each, (int, float)) and not is_users(type(each)) for each in (a, b)):
            return number_binary(self, op.removesuffix("="), a, b)
        symbol = op[:-1] if op.endswith("=") else op
        in_place = symbol is not op and op != symbol
        name = _NAMES[symbol]
        asked: list[tuple[Any, bool]] = []
        names = [(f"__i{name}__", a, False)] if in_place else []
        names += [(f"__{name}__", a, False), (f"__r{name}__", b, True)]
        if type(b) is not type(a) and isinstance(b, type(a)):
            names[-2:] = names[-1:] + names[-2:-1]
        mine = False
        for special, value, swapped in names:
            method = self.special(value, special)
            mine = mine or method is not None
            if method is None:
                method = getattr(type(value), special, None)
            if method is not None:
                asked.append((method, swapped))
        if mine:
            return Inline(operator_forms.binary, (tuple(asked), op, a, b), {})
        if in_place and isinstance(a, (list, dict, set, collections.deque)) and self.is_side_effect(a, op):
            return self.change(a, _in_place(op), settled(b))
        if in_place and id(a) in self.sources and not isinstance(a, (TensorBase, tuple, frozenset, *PRIMITIVES)):
            raise Break("native", name=f"{op} of a {type(a).__name__}")
        if not isinstance(a, TensorBase) and not isinstance(b, TensorBase):
            self.guard_contents(a, b, text=symbol == "%" and isinstance(a, str))
            if symbol != "+" or not isinstance(a, (list, tuple)) or not isinstance(b, (list, tuple)):
                self.specialize(*[each for each in (a, b) if symbol != "*" or not isinstance(each, (list, tuple))])
        return super().binary(op, a, b)

    def change(self, container: Any, function: Any, *arguments: Any, key: Any = NULL) -> Any:
        """Change a pre-existing container."""
        self.snapshot(container, key)
        result = function(container, *arguments)
        self.effects.append(SideEffect(function, container, *arguments))
        return result

    def compare(self, op: str, a: Any, b: Any) -> Any:
        if type(a) in _PLAIN and type(b) in _PLAIN:
            return super().compare(op, a, b)
        if isinstance(a, TensorBase) or isinstance(b, TensorBase):
            return super().compare(op, a, b)
        if is_symbolic(a) or is_symbolic(b):
            return self.compare_sizes(op, a, b)
        ours, theirs = _COMPARE[op]
        asked: list[tuple[Any, bool, bool]] = []
        mine = False
        order = [(a, ours, False), (b, theirs, True)]
        if type(b) is not type(a) and isinstance(b, type(a)):
            order.reverse()
        for value, special, swapped in order:
            method, inverted = self.special(value, special), False
            if method is None and op == "!=":
                method, inverted = self.special(value, "__eq__"), True
            mine = mine or method is not None
            if method is not None:
                asked.append((method, swapped, inverted))
        if mine:
            return Inline(operator_forms.compare, (tuple(asked), op, a, b), {})
        if op in ("==", "!=") and _compares_by_identity(a) and _compares_by_identity(b):
            return self.is_same(a, b) is (op == "==")
        self.guard_contents(a, b)
        if self.tracer.symbols or self.numbers:
            plain_numbers = all(
                isinstance(each, (int, float, tuple, list)) for part in (a, b) if isinstance(part, (tuple, list)) for each in part
            )
            if (
                op in ("==", "!=")
                and plain_numbers
                and (isinstance(a, tuple) and isinstance(b, tuple) or isinstance(a, list) and isinstance(b, list))
            ):
                return equal_sequences(self, a, b) is (op == "==")
            self.specialize(a, b)
        return super().compare(op, a, b)

    def compare_sizes(self, op: str, a: Any, b: Any) -> Any:
        """A comparison of symbolic sizes: its outcome is guarded."""
        left, right = formula_of(a), formula_of(b)
        if isinstance(a, SymbolicInt) and isinstance(b, SymbolicInt) and a.expression == b.expression:
            return super().compare(op, a, b)  # whatever the size is
        if left is None or right is None:
            self.specialize(a, b)
            return super().compare(op, a, b)
        for size in (a, b):
            if isinstance(size, SymbolicInt) and not size_is_known(self, size):
                raise Break("value", name="a size that depends on the values of a tensor")
        result = super().compare(op, a, b)
        if result is (op == "==") and op in ("==", "!="):
            for one, other in ((a, b), (b, a)):
                if isinstance(one, SymbolicInt) and not is_symbolic(other):
                    self.note_specialized(one)
        if not left[1] | right[1] <= set(self.symbol_sources):
            raise Break("value", name="a number that depends on the values of a tensor")
        symbols = {name: self.symbol_sources[name] for name in left[1] | right[1]}
        self.guards.relation(op, left[0], right[0], result, symbols)
        return result

    def contains(self, container: Any, item: Any) -> Any:
        if isinstance(container, TensorBase):
            if self.tracer.is_traced(container) or id(container) in self.sources:
                raise Break("value", name="in")
            return super().contains(container, item)
        methods = python_methods(type(container))
        if "__contains__" in methods:
            return Inline(operator_forms.contained, (self.special(container, "__contains__"), container, item), {})
        if not isinstance(container, CONTAINERS) and not hasattr(type(container), "__contains__") and methods & {"__iter__", "__getitem__"}:
            return Inline(operator_forms.found_in, (container, item), {})
        self.specialize(item)
        if isinstance(container, dict) and is_plain_key(item) and id(container) in self.sources and id(container) not in self.snapshots:
            if type(container).__module__ in ("builtins", "collections"):
                source = self.sources[id(container)]
                self.guards.type(source, container)
                found = item in container
                self.guards.add(Kind.CONTAINS, source, (item, found), key=(type(item), item))
                return found
        listed = isinstance(container, (list, tuple))
        if isinstance(item, TensorBase) or any(isinstance(each, TensorBase) for each in (container if listed else ())):
            return Inline(operator_forms.found_in if listed else operator_forms.found_among, (container, item), {})
        if isinstance(container, dict):  # its keys are compared, and nothing else
            self.guard_elements(container)
            self.guard_contents(item, *dict.keys(container))
            return super().contains(container, item)
        self.guard_contents(container, item)
        self.specialize(container)
        return super().contains(container, item)

    def is_same(self, a: Any, b: Any) -> bool:
        first, second = self.sources.get(id(a)), self.sources.get(id(b))
        if first is not None and second is not None and first is not second:
            self.guards.related(first, second, a is b)
            return a is b
        for value, source, other in ((a, first, b), (b, second, a)):
            if source is None:
                continue
            if isinstance(value, TensorBase):
                self.tracer.node_of(value)
            elif isinstance(value, FunctionType) or by_identity(other) and not isinstance(other, PRIMITIVES):
                self.guards.identity(source, value)
            else:
                self.guards.value(source, value)
        return a is b

    # -- attributes ------------------------------------------------------------------------------------------------

    def load_attr(self, value: Any, name: str) -> Any:
        if isinstance(value, TensorBase):
            return tensor_attribute(self, value, name)
        if is_symbolic(value) and (name == "__class__" or not hasattr(value, name)):  # the error names the type that the program knows
            return getattr(plain(value), name)
        kind = type(value)
        if is_users(kind):
            methods = python_methods(kind)
            if "__getattribute__" in methods:
                self.special(value, "__getattribute__")
                self.special(value, "__getattr__")  # which Python asks where the first raises an AttributeError
                return Inline(operator_forms.attribute_by, (kind.__getattribute__, getattr(kind, "__getattr__", None), value, name), {})
            inlined = self.descriptor(value, kind, name)
            if inlined is not None:
                return inlined
            if "__getattr__" in methods:
                self.special(value, "__getattr__")
                return self.load_plain(value, name, kind.__getattr__)
        elif isinstance(value, Module) or isinstance(value, type) and is_users(value) and is_users(kind):
            inlined = self.descriptor(value, kind, name)
            if inlined is not None:
                return inlined
        elif kind is super:
            return super_attribute(self, value, name)
        elif kind is functools.cached_property or kind is dataclasses.Field or value is flags:  # a capture is always something special
            return getattr(value, name)
        elif kind is CodeType:  # which is as it is
            source = self.sources.get(id(value))
            if source is not None:
                self.guards.identity(source, value)
            return self.track_fresh(getattr(value, name))
        return self.load_plain(value, name)

    def descriptor(self, value: Any, kind: type, name: str) -> Any:
        """A property or other descriptor of the user's: a call of the function that computes the attribute, or None."""
        found = class_attribute(kind, name)
        if found is None or isinstance(found, (FunctionType, staticmethod, classmethod, *PRIMITIVES)):
            return None
        source = self.sources.get(id(value))
        if isinstance(found, property):
            if not isinstance(found.fget, FunctionType) or not self.should_inline(found.fget):
                return None
            self.guard_class_attribute(kind, name, found)
            if source is not None:
                self.guards.value(source, value)
            return Inline(found.fget, (value,), {})
        stored = not isinstance(value, type) and name in getattr(value, "__dict__", ())
        if isinstance(found, functools.cached_property) and not stored:
            if source is not None:
                self.guards.value(source, value)
                self.missing_field(source, name)
            return Inline(operator_forms.cached_property, (found.func, found.attrname, value), {})
        getter = self.special(found, "__get__")
        if getter is not None and not (stored and not hasattr(type(found), "__set__")):
            self.guard_class_attribute(kind, name, found)
            if source is not None:
                self.guards.value(source, value)
            return Inline(getter, (found, value, kind), {})
        return None

    def missing_field(self, source: Source, name: str) -> None:
        """An instance has no attribute of its own under a name."""
        self.guards.add(Kind.NO_FIELD, source, name, key=name)

    def special(self, value: Any, name: str) -> Any:
        """A special method of a user's class that is written in Python, and stays what it is; None where there is none."""
        found = python_method(value, name)
        if found is not None:
            self.guard_class_attribute(type(value), name, found)
        return found

    def load_special(self, value: Any, name: str) -> Any:
        self.special(value, name)
        return super().load_special(value, name)

    def guard_class_attribute(self, kind: type, name: str, found: Any) -> None:
        """Guard that an attribute of a user's class stays the same."""
        owner = next((each for each in kind.__mro__ if name in each.__dict__), None)
        if owner is not None and is_users(owner) and ("attribute", id(owner), name) not in self.written:
            place = self.new_source.item(self.new_source.attribute(self.new_source.known(owner), "__dict__"), name)
            if isinstance(found, FunctionType):
                self.guard_value(place, found)
            else:
                self.guards.identity(place, found)

    def load_plain(self, value: Any, name: str, missing: Any = None) -> Any:
        """An attribute that is there, or not; ``missing`` is the class's own ``__getattr__``."""
        if is_symbolic(value):
            self.specialize(value)
        source = self.sources.get(id(value))
        try:
            result = getattr(value, name) if missing is None and not asks_python(value) else _lookup(value, name)
        except AttributeError:
            if source is not None and ("attribute", id(value), name) not in self.written and not is_constant_module(value):
                self.guards.value(source, value)
                self.guards.add(Kind.LACKS if missing is not None or asks_python(value) else Kind.ABSENT, source, name, key=name)
            if missing is not None:
                return Inline(missing, (value, name), {})
            raise
        if name == "__dict__" and source is not None:
            self.guards.value(source, value)
            self.dict_owners[id(result)] = value
            self.register(result, self.new_source.attribute(source, name))
            return result
        if source is None:
            return self.part_of(value, name, result)
        if ("attribute", id(value), name) in self.written:
            self.refuse_mutated(name)
            return result
        self.guards.value(source, value)
        if is_method(result):
            return self.bound_method(value, source, name, result)
        if is_constant_module(value):
            self.register(result, self.new_source.attribute(source, name))
            return result
        if missing is not None:
            place = self.new_source.field(source, name)
        elif isinstance(value, Module):
            part = self.module_part(value, source, name)
            if not isinstance(part, Source):  # the program has changed the table: what it holds now may be a value of this capture
                return self.get_item(part, name)
            place = part
        elif asks_python(value) or shadows_getter(value, name):
            place = self.own_field(value, source, name)
        else:
            place = self.new_source.attribute(source, name)
        return self.read_value(place, result)

    def own_field(self, value: Any, source: Source, name: str) -> Source:
        """The source of an attribute that a class with a ``__getattribute__`` of its own got without it, or that shadows a ``__get__`` of the class: guards must not call these."""
        fields = _lookup(value, "__dict__") if hasattr(type(value), "__dict__") and type(value).__dictoffset__ else {}
        if name in fields and not hasattr(type(class_attribute(type(value), name)), "__set__"):
            return self.new_source.item(self.new_source.field(source, "__dict__"), name)
        return self.new_source.field(source, name)

    def module_part(self, module: Any, source: Source, name: str) -> Source | dict[str, Any]:
        """The source of an attribute of a Module: its table, which is read faster than by ``__getattr__``; of a table that has changed, itself."""
        fields = module.__dict__
        for table in ("_parameters", "_modules", "_buffers"):
            if name in fields[table] if table in fields else False:
                if ("attribute", id(module), table) in self.written or id(fields[table]) in self.snapshots:
                    return fields[table]  # type: ignore[no-any-return]
                return self.new_source.item(self.new_source.attribute(source, table), name)
        return self.new_source.attribute(source, name)

    def bound_method(self, value: Any, source: Source, name: str, result: Any) -> Any:
        """A method that was looked up on a pre-existing object."""
        own = getattr(value, "__dict__", None)
        if own is not None and not isinstance(value, type) and name in own:
            return self.guard_value(self.new_source.attribute(source, name), result)
        function = getattr(result, "__func__", None)
        if isinstance(function, FunctionType) and (name == "forward" or is_users(type(value)) or isinstance(value, type)):
            self.guards.method(source, value, name, function)
            self.register(function, self.new_source.attribute(self.new_source.attribute(source, name), "__func__"))
        return result

    def part_of(self, value: Any, name: str, result: Any) -> Any:
        """An attribute of an object without a source: a fresh object, or one that is constant."""
        made = id(value) in self.fresh or isinstance(value, np.ndarray)  # an array's `flat` and `T` are views of it
        if made or not (by_identity(value) or isinstance(value, FunctionType)):
            if is_users(type(value)):
                self.guard_class_part(value, name, result)
            return result
        if isinstance(value, enum.Enum) or is_method(result):
            return result
        if (
            isinstance(value, (FunctionType, type))
            and not isinstance(result, (TensorBase, *PRIMITIVES, *CONTAINERS))
            and not is_users(type(result))
        ):
            if isinstance(value, type) and is_users(value) and isinstance(result, FunctionType):
                self.guard_class_attribute(value, name, result)
            return result
        if name.startswith("__") and isinstance(value, (type, FunctionType, ModuleType)):
            return result
        return self.guard_value(self.new_source.attribute(self.new_source.known(value), name), result)

    def guard_class_part(self, value: Any, name: str, result: Any) -> None:
        """An attribute that an object of a user's class may have from its class."""
        kind = type(value)
        if is_method(result):
            found = class_attribute(kind, name)
            if isinstance(found, FunctionType) and self.should_inline(found):
                self.guard_class_attribute(kind, name, found)
        if is_method(result) or isinstance(value, type) or name in getattr(value, "__dict__", ()):
            return
        owner = next((each for each in kind.__mro__ if name in each.__dict__), None)
        if owner is not None and is_users(owner) and ("attribute", id(owner), name) not in self.written:
            found = owner.__dict__[name]
            if found is result:
                self.guard_value(self.new_source.attribute(self.new_source.known(owner), name), result)

    def store_attr(self, value: Any, name: str, new: Any) -> Any:
        if isinstance(value, TensorBase):
            if name == "grad" and (new is None or isinstance(new, TensorBase)):
                return self.set_gradient(value, new)
            if id(value) in self.sources or self.tracer.is_traced(value) or isinstance(new, TensorBase):
                raise Break("attribute", name=name)
            return setattr(value, name, new)
        kind = type(value)
        if is_users(kind) or isinstance(value, Module):
            setter = kind.__setattr__
            if isinstance(setter, FunctionType) and self.should_inline(setter):
                self.special(value, "__setattr__")
                return Inline(setter, (value, name, new), {})
        return self.store_plain(value, name, new)

    def store_plain(self, value: Any, name: str, new: Any) -> Any:
        """Set an attribute without asking the class's ``__setattr__``."""
        found = class_attribute(type(value), name)
        if isinstance(found, property) and isinstance(found.fset, FunctionType) and self.should_inline(found.fset):
            return Inline(found.fset, (value, new), {})
        setter = self.special(found, "__set__")
        if setter is not None:
            return Inline(setter, (found, value, new), {})
        old = self.is_side_effect(value, name)
        plain = setattr if not isinstance(type(value).__setattr__, FunctionType) else object.__setattr__
        if old:
            self.before_change(value, name)
        plain(value, name, new)
        if old:
            self.effects.append(SideEffect(plain, value, name, new))
        return None

    def before_change(self, value: Any, name: str) -> None:
        """An attribute of a pre-existing object is about to be changed."""
        source = self.sources[id(value)]
        self.guards.value(source, value)
        self.written.add(("attribute", id(value), name))
        self.mutated[id(value)] = value
        fields = getattr(value, "__dict__", None)
        if isinstance(fields, dict):
            self.dict_owners[id(fields)] = value
            self.register(fields, self.new_source.attribute(source, "__dict__"))
            self.snapshot(fields, name)
        if isinstance(value, type):  # instances have it too
            self.written.update(("attribute", id(each), name) for each in self.held if isinstance(each, value))

    def delete_attr(self, value: Any, name: str) -> Any:
        if isinstance(value, TensorBase):
            raise Break("attribute", name=name)
        deleter = type(value).__delattr__
        if isinstance(deleter, FunctionType) and self.should_inline(deleter):
            self.special(value, "__delattr__")
            return Inline(deleter, (value, name), {})
        return self.delete_plain(value, name)

    def delete_plain(self, value: Any, name: str) -> Any:
        """Delete an attribute without asking the class's ``__delattr__``."""
        found = class_attribute(type(value), name)
        if isinstance(found, property) or python_method(found, "__delete__") is not None:
            raise Break("hidden", name=f"{type(value).__name__}.{name}")
        old = self.is_side_effect(value, name)
        plain = delattr if not isinstance(type(value).__delattr__, FunctionType) else object.__delattr__
        if old:
            if ("attribute", id(value), name) not in self.written:
                self.load_plain(value, name)
            self.before_change(value, name)
        plain(value, name)
        if old:
            self.effects.append(SideEffect(plain, value, name))
        return None


def is_plain_key(value: Any) -> bool:
    """Whether a dict looks for something without running Python: a number, a string, or a class, which is found by its identity."""
    return (
        isinstance(value, (int, str))
        or isinstance(value, type)
        and type(value).__hash__ is type.__hash__
        and type(value).__eq__ is type.__eq__
    )


def is_constant_module(value: Any) -> bool:
    """Whether something is a module of the package or of the standard library, whose names are constant."""
    return isinstance(value, ModuleType) and value.__name__.partition(".")[0] in _CONSTANT_MODULES


def _lookup(value: Any, name: str) -> Any:
    return object.__getattribute__(value, name)


def _compares_by_identity(value: Any) -> bool:
    return type(value).__eq__ is object.__eq__ and not isinstance(value, type)


def _in_place(op: str) -> Any:
    return {"+=": operator.iadd, "*=": operator.imul, "|=": operator.ior, "&=": operator.iand, "-=": operator.isub, "^=": operator.ixor}[op]


def settled(value: Any) -> Any:
    """A copy of the argument of a mutation: a list that is changed afterwards, or an iterator, would differ when the side effect is repeated."""
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return frozenset(value)
    if isinstance(value, (list, collections.deque)) or type(value) is InterpretedGenerator or hasattr(type(value), "__next__"):
        return list(value)
    return value
