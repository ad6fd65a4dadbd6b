"""The base of the lowering: emits steps, and turns constants into values."""

from __future__ import annotations

import ast
import enum
import operator
import warnings
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from ....core.base import TensorBase
from ....core.devices import device
from ....core.dtypes import dtype
from ....tensor.layout import layout, memory_format
from ..frontend.errors import ScriptError
from ..frontend.source import FunctionSource
from ..frontend.types import (
    ANY,
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    INT,
    NONE,
    STR,
    TENSOR,
    DictType,
    ListType,
    ModuleKind,
    TupleType,
    Type,
    common,
    type_of,
    union,
    without_none,
)
from ..ir import c_math
from ..ir.steps import FLAT, NOWHERE, ScriptStep, StepBlock
from .scope import Bound, ModuleValue, ScriptBlock, ScriptValue, Static, Undefined, Unrolled

_CONSTANTS = (int, float, complex, str, bool, type(None), dtype, device, layout, memory_format, enum.Enum, type(...))
_NEVER_CONSTANT = frozenset((FunctionType, BuiltinFunctionType, ModuleType, type))


IMPLICIT: dict[Type, Any] = {INT: int, FLOAT: float, COMPLEX: complex}  # what a tensor of one element may stand for, and what makes it that


class Core:
    """Makes steps in the block that is being written."""

    source: FunctionSource
    frames: tuple[Any, ...]  # of those who call
    owner: Any  # the Module that `self` is, or None
    block: ScriptBlock
    here: ast.AST
    return_type: Type | None
    result_type: Type
    output: Any  # what is returned

    # -- steps ---------------------------------------------------------------------------------------------------

    def emit(
        self, target: Any, args: tuple[Any, ...], type: Type, kwargs: dict[str, Any] | None = None, *, op: str = "call_function",
        impure: bool = False,
    ) -> ScriptValue:  # fmt: skip
        """A step, and the value that it gives."""
        direct = len(args) if op == "call_function" and not kwargs and c_math.of_numbers(target, type) is target else 0
        if target is warnings.warn:  # as the line that it is in
            direct = 0
        for each in args:
            if each.__class__ not in FLAT:
                direct = 0
        step = ScriptStep(op, target, args, kwargs, type, None, self.here.lineno, direct)  # type: ignore[attr-defined]
        self.block.steps.append(step)
        if impure:
            step.meta = {"impure": True}
        return ScriptValue(type, step)

    def control(self, target: Any, args: tuple[Any, ...], bodies: dict[str, StepBlock]) -> ScriptStep:
        """A step that runs blocks."""
        made = ScriptStep("call_function", target, args, None, ANY, None, self.here.lineno, 0)  # type: ignore[attr-defined]
        made.bodies, made.results = bodies, []
        self.block.steps.append(made)
        return made

    def result(self, step: ScriptStep, type: Type, name: str | None) -> ScriptValue:
        """The next result of a step that runs blocks, under the name of the variable that it is."""
        if type is NONE:
            step.results.append(NOWHERE)
            return ScriptValue(NONE, None)
        made = ScriptStep("result", "", (), None, type, name.strip("$") if name is not None else None, 0, 0)
        if name is not None and name[0] != "$":
            made.meta = {"variable": name}
        step.results.append(made)
        return ScriptValue(type, made)

    # -- values --------------------------------------------------------------------------------------------------

    def materialized(self, value: ScriptValue) -> ScriptValue:
        """A value that can be kept: a list literal becomes a list of its own."""
        kind = value.arg.__class__
        if kind is ScriptStep:
            return value
        if kind is list:
            return self.emit(list, (value.arg,), value.type)
        if isinstance(value.arg, tuple) and isinstance(value.type, TupleType) and any(isinstance(each, list) for each in value.arg):
            parts = [self.materialized(ScriptValue(kind, arg)) for kind, arg in zip(value.type.elements, value.arg)]
            return ScriptValue(value.type, tuple_like(value.arg, [each.arg for each in parts]))
        return value

    def converted(self, value: ScriptValue, wanted: Type) -> ScriptValue:
        """A value where a type is asked for: tensors of one element and truth values become numbers, tuples of one type lists."""
        given = value.type
        if given == TENSOR or given == BOOL and wanted != COMPLEX:
            return self.emit(IMPLICIT[wanted], (value.arg,), wanted) if wanted in IMPLICIT else value
        if given == STR and wanted == DEVICE:
            return self.emit(device, (value.arg,), DEVICE)
        if given.__class__ is TupleType and given.elements:
            inner = without_none(wanted)
            if isinstance(inner, ListType) and all(each == inner.element for each in given.elements):
                return self.emit(list, ([*value.arg] if isinstance(value.arg, tuple) else value.arg,), ListType(inner.element))
        return value

    def plain(self, result: Any, node: ast.AST) -> ScriptValue:
        """What can be computed with: a value, or an error that says what stands here instead."""
        if isinstance(result, ScriptValue):
            return self.materialized(result)
        if isinstance(result, Unrolled):
            parts = [self.plain(each, node) for each in result.items]
            return ScriptValue(TupleType(tuple(each.type for each in parts)), tuple(each.arg for each in parts))
        if isinstance(result, Bound) and isinstance(result.receiver, ScriptValue) and result.receiver.type == ANY:
            return self.emit(getattr, (result.receiver.arg, result.name), ANY)
        if isinstance(result, ModuleValue):
            what = f"the Module {type(result.module).__name__}" if result.path else "self"
        elif isinstance(result, Bound):
            what = f"the method '{result.name}'"
        else:
            what = f"{getattr(result.object, '__name__', result.object)!r}"
            if isinstance(result.object, TensorBase):
                raise ScriptError(
                    "python value of type 'Tensor' cannot be used as a value. Perhaps it is a closed over global variable? If so, please consider passing it "
                    "in as an argument or use a local variable instead.\nA Module may keep it as a buffer",
                    self.source,
                    node,
                )
        reason = (
            "builtin cannot be used as a value"
            if isinstance(result, Bound) and isinstance(result.receiver, ScriptValue)
            else f"python value of type '{type(result.object).__name__}' cannot be used as a value"
            if isinstance(result, Static)
            else "this cannot be used as a value"
        )
        raise ScriptError(f"{reason}: {what} in a script can be called, or write what it stands for", self.source, node)

    def with_modules(self, result: Any) -> Any:
        """What may be a Module, or a tuple with some in it, where these are values: returned, assigned to attributes, given to functions."""
        if isinstance(result, ModuleValue) and result.path and not result.children:
            kind = result.interface or self.module_kind(result.module)
            return self.emit(result.path, (), kind, op="get_attr")
        if isinstance(result, Unrolled):
            parts = [self.with_modules(each) for each in result.items]
            if all(isinstance(each, ScriptValue) for each in parts):
                return ScriptValue(TupleType(tuple(each.type for each in parts)), tuple(each.arg for each in parts))
        return result

    def module_kind(self, module: Any) -> Type:
        """The type of a Module as a value."""

        def signature_of(name: str) -> Any:
            method = module._script_method(name) if hasattr(module, "_script_method") else None
            return getattr(method, "_script_signature", None)

        kind = getattr(module, "_script_class", type(module))
        return ModuleKind(f"{kind.__module__}.{kind.__name__}", kind, signature_of)

    def wrap(self, found: Any, node: ast.AST) -> Any:
        """A Python object from outside as something the program can use."""
        if found.__class__ in _NEVER_CONSTANT:
            return Static(found)
        if isinstance(found, _CONSTANTS):
            return ScriptValue(type_of(found), found)
        if isinstance(found, tuple) and all(isinstance(each, (*_CONSTANTS, tuple)) for each in found):
            return ScriptValue(type_of(found), found)
        if isinstance(found, list) and all(isinstance(each, _CONSTANTS) for each in found):
            return ScriptValue(ListType(self.common_type([self.wrap(each, node) for each in found], node)), list(found))
        return Static(found)

    def common_type(self, values: list[Any], node: ast.AST) -> Type:
        """The type of the elements of a list."""
        kinds = [each.type if isinstance(each, ScriptValue) else ANY for each in values]
        found = common(kinds)
        return union(kinds) if found is None else found

    def item(self, value: ScriptValue, at: int) -> ScriptValue:
        """An item of a tuple whose length is known."""
        assert isinstance(value.type, TupleType)
        kind = value.type.elements[at]
        if isinstance(value.arg, tuple):
            return ScriptValue(kind, value.arg[at])
        return self.emit(operator.getitem, (value.arg, at % len(value.type.elements)), kind)

    def element_type(self, kind: Type) -> Type:
        """The type of what is in a container."""
        if isinstance(kind, ListType):
            return kind.element
        if isinstance(kind, DictType):
            return kind.key
        if isinstance(kind, TupleType):
            return common(list(kind.elements)) or ANY
        return kind if kind in (TENSOR, STR) else ANY

    def type_name(self, result: Any) -> str:
        """The type of anything, for messages."""
        if isinstance(result, ScriptValue):
            return repr(result.type)
        if isinstance(result, ModuleValue):
            return type(result.module).__name__
        return {Unrolled: "tuple", Bound: "method"}.get(type(result), "Python object")

    def refine(self, types: dict[str, Type]) -> None:
        """From here on in this block names are known to be of more special types."""
        for name, kind in types.items():
            found = self.block.find(name)
            if isinstance(found, ScriptValue):
                self.block.env[name] = ScriptValue(kind, None if kind == NONE else found.arg)

    def read(self, node: ast.Name) -> Any:
        """What a name stands for."""
        found = self.block.find(node.id)
        if found is None:
            try:
                return self.wrap(self.source.lookup(node.id), node)
            except KeyError:
                raise ScriptError(f"undefined value {node.id}", self.source, node) from None
        if isinstance(found, Undefined):
            raise ScriptError(found.reason, self.source, node)
        return found


def tuple_like(value: tuple[Any, ...], items: list[Any]) -> tuple[Any, ...]:
    """A tuple of the class of another."""
    return tuple.__new__(type(value), items) if hasattr(value, "_fields") else tuple(items)


def number_type(first: Type, second: Type) -> Type:
    """The type of arithmetic on two numbers."""
    if ANY in (first, second):
        return ANY
    if FLOAT in (first, second):
        return FLOAT
    return INT if {first, second} <= {INT, BOOL} else ANY
