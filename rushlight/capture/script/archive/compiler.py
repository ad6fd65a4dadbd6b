"""The compiler of archives: methods and functions that are text, with the names that serialized code has."""

from __future__ import annotations

import ast
import builtins
import math
import operator
from typing import Any

from ....autograd import grad_mode, profiler
from ....core.base import TensorBase
from ....core.devices import device
from ....ops import provide
from ....ops.overloads import namespaces
from ....ops.quantized.rnn import quantized_gru, quantized_lstm
from ....tensor.construct import tensor
from ...trace.fork import fork, wait
from ..frontend.annotations import annotate
from ..frontend.errors import ScriptError
from ..frontend.types import (
    ANY,
    NEVER,
    NONE,
    NUMBER,
    STR,
    TENSOR,
    ClassType,
    EnumType,
    InterfaceType,
    ModuleKind,
    TupleType,
    Type,
    assignable,
)  # fmt: skip
from ..ir import graph_functions
from ..ir.type_numbers import dtype_of
from ..lower.core import IMPLICIT
from ..lower.scope import Bound, ModuleValue, ScriptBlock, ScriptValue, Static, Undefined
from ..script_class import Blank
from ..script_module import ScriptMethod
from .code_text import ROOT, CodeFile, CustomType, DeviceName, ModuleClass, TextSource, decoded, dotted
from .operators import Operators

_PYTHON = "range len int float bool str complex getattr hasattr isinstance print list tuple dict min max abs sum sorted ord chr divmod round pow any all hex oct bin hash zip enumerate reversed".split()
NAMES: dict[str, Any] = {
    **{name: getattr(builtins, name) for name in _PYTHON}, "annotate": annotate, "fork": fork, "wait": wait, "inf": float("inf"), "nan": float("nan"),
    "infj": complex(0, float("inf")), "nanj": complex(0, float("nan")), **graph_functions.EXCEPTIONS,
}  # fmt: skip


_MODES = {
    f"{ROOT}.torch.autograd.grad_mode.{name}": getattr(grad_mode, name)
    for name in ("no_grad", "enable_grad", "set_grad_enabled", "inference_mode")
} | {f"{ROOT}.torch.autograd.profiler.record_function": profiler.record_function}


_RECURRENT = {"quantized_lstm": quantized_lstm, "quantized_gru": quantized_gru}


_GROWING = frozenset((operator.mul, operator.pow, operator.lshift, operator.mod))


def _is_small(value: Any) -> bool:
    """Whether nothing long comes of a few operations on a value."""
    return (
        isinstance(value, (float, complex, type(None)))
        or (isinstance(value, int) and abs(value) < 64)
        or (isinstance(value, str) and len(value) < 64)
    )


MOST_INLINED = 10_000  # calls of methods that take Modules: each is a copy of the method's code


class Unmade:
    """An object whose class is known and whose ``__init__`` comes next."""

    __slots__ = ("described",)

    def __init__(self, described: Any) -> None:
        self.described = described


class MethodOf:
    """A method of the Modules of a class, as a function of the Module and the rest: a hook."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class ArchiveCompiler(Operators):
    """Compiles one method or function of an archive."""

    def __init__(self, reader: Any, definition: ast.FunctionDef, file: CodeFile, owner: Any = None, self_type: Type | None = None) -> None:
        self.reader = reader
        self.version = reader.version
        self.code_file = file
        self.source = TextSource(definition, file, NAMES, reader.constants)
        self.frames = ()
        self.kind = None
        self.owner = owner
        self.block = ScriptBlock()
        self.return_type = None
        self.result_type = NONE
        self.output = None
        self.examples = {}
        self.declared = None
        self.self_type = self_type
        self.counted = {}
        self.inlining: list[ast.FunctionDef] = []
        self.ranges: list[ScriptValue] = []  # of the profiler, whose __init__ is written out

    # -- types -----------------------------------------------------------------------------------------------------------

    def hint(self, annotation: Any, node: ast.AST) -> Type:
        """The type of an annotation."""
        return self.type_from(annotation, node)

    def type_from(self, annotation: Any, node: ast.AST | None = None) -> Type:
        """The type of an annotation."""
        if isinstance(annotation, Type):
            return annotation
        found: Type = self.reader.code.type_of(annotation, self.code_file)
        return found

    def type_comment(self, definition: ast.FunctionDef) -> None:
        """Serialized code has none."""
        return None

    def default_value(self, default: Any, parameter: ast.arg, kind: Type) -> Any:
        """A parameter's default; serialized code may have lists."""
        if isinstance(default, DeviceName):
            return device(str(default))
        return float(default) if repr(kind) == "float" and default.__class__ is int else default

    # -- names -----------------------------------------------------------------------------------------------------------

    def on_constant(self, node: ast.Constant) -> ScriptValue:
        """A literal; texts are written byte by byte."""
        if isinstance(node.value, str) and not node.value.isascii():
            return ScriptValue(STR, decoded(node.value))
        return self.on_Constant(node)

    def expression(self, node: ast.expr) -> Any:
        """What an expression stands for."""
        kind = node.__class__
        if kind is ast.Constant:
            return self.on_constant(node)  # type: ignore[arg-type]
        if kind is ast.Attribute:
            path = dotted(node)
            if path is not None and not self.block.has(path.partition(".")[0]):
                found = self.outer(path, node)
                if found is not None:
                    return found
        return super().expression(node)

    def outer(self, path: str, node: ast.AST) -> Any:
        """What a dotted name stands for that is no attribute of a value: a constant, a function, a member of an enumeration."""
        root, _, rest = path.partition(".")
        if root == "CONSTANTS":
            return self.constant(rest, node)
        if root == ROOT:
            return self.defined(path, node)
        return None

    def constant(self, name: str, node: ast.AST) -> ScriptValue:
        """A constant of the archive's table."""
        table = self.reader.constants
        number = int(name[1:]) if name[:1] == "c" and name[1:].isdigit() else -1
        if not 0 <= number < len(table):
            raise ScriptError(f"the archive has {len(table)} constants, and none called '{name}'", self.source, node)
        found = table[number]
        if isinstance(found, TensorBase):
            return self.emit(self.reader.constant(number), (), TENSOR)
        made = self.wrap(found, node)
        return made if isinstance(made, ScriptValue) else self.emit(self.reader.constant(number), (), ANY)

    def defined(self, qualified: str, node: ast.AST) -> Any:
        """A function, a class or a member of an enumeration of the archive."""
        owner, _, name = qualified.rpartition(".")
        described = self.reader.code.find_class(owner)
        if described is not None and described.is_module and name in described.methods:
            return MethodOf(name)
        function = self.reader.function(qualified, self, node)
        if function is not None:
            return Static(function)
        if described is not None and described.base == "Enum":
            kind = self.reader.code.named_type(owner, self.code_file, node)
            if name in kind.kind.__members__:
                return ScriptValue(kind, kind.kind[name])
        if described is not None and name in described.methods:
            kind = self.reader.code.named_type(owner, self.code_file, node)
            if isinstance(kind, ClassType):
                return Static(kind.described.method(name))
        raise ScriptError(f"the archive names '{qualified}', which it does not define", self.source, node)

    # -- calls -----------------------------------------------------------------------------------------------------------

    def call(self, node: ast.Call) -> Any:
        """A call: of an operator, a class or function of the archive, or what stands in a variable."""
        path = dotted(node.func)
        if path is not None and not self.block.has(path.partition(".")[0]):
            root, _, rest = path.partition(".")
            if root == "torch":
                return self.operator_call("aten", rest.rpartition(".")[2], node)
            if root == "ops" and rest.count(".") >= 1:
                place, name = rest.split(".")[:2]
                return self.operator_call(place, name, node)
            if root == ROOT:
                return self.call_defined(path, node)
            if path in ("unchecked_cast", "annotate", "uninitialized", "_0cast") and node.args:
                return self.typed(path, node)
            if path == "fork" and node.args:
                return self.call(ast.copy_location(ast.Call(node.args[0], node.args[1:], node.keywords), node))
            if path in ("float", "int", "bool", "str") and len(node.args) == 1:
                return self.number(path, node)
        elif isinstance(node.func, ast.Name) and isinstance(self.block.find(node.func.id), MethodOf):
            module, *arguments = [self.expression(each) for each in node.args]
            if not isinstance(module, ModuleValue):
                raise ScriptError("a method of a Module is called with something else", self.source, node)
            return self.call_method(module, self.block.find(node.func.id).name, arguments, {}, node)
        elif isinstance(node.func, ast.Attribute):
            base = self.expression(node.func.value)
            if isinstance(base, Unmade):
                return self.initialized(base, node)
            if isinstance(base, ScriptValue) and isinstance(base.type, CustomType) and node.func.attr == "unpack":
                arguments = [self.plain(self.expression(each), node).arg for each in node.args]
                return self.emit(node.func.attr, (base.arg, *arguments), ANY, op="call_method", impure=True)
        return super().call(node)

    def number(self, name: str, node: ast.Call) -> Any:
        """``int(x)`` and the like."""
        value = self.value(node.args[0])
        known = self.number_in(value)
        if known is not None and name == "int":
            return known
        return self.call_builtin(NAMES[name], [value], {}, node)

    def typed(self, name: str, node: ast.Call) -> Any:
        """A value of a type that the code says."""
        kind = self.type_from(node.args[0])
        if name == "uninitialized":
            return ScriptValue(NEVER, graph_functions.UNSET) if not isinstance(kind, ModuleClass) else Undefined("it has no value")
        value = self.expression(self.hinted(node.args[1], kind) if isinstance(node.args[1], (ast.List, ast.Dict)) else node.args[1])
        if isinstance(value, (ModuleValue, Static)):
            return value
        value = value if isinstance(value, ScriptValue) else self.plain(value, node)
        step = value.arg
        if getattr(step, "target", None) == "tolist":
            return self.emit(graph_functions.listed, (step, repr(kind)), kind)
        known = self.number_in(value)
        if known is not None and kind in (known.type, NUMBER):
            return known
        if value.type == TENSOR and kind == NUMBER:
            return self.emit("item", (step,), NUMBER, op="call_method")
        if value.type == TENSOR and kind in IMPLICIT:
            return self.emit(IMPLICIT[kind], (step,), kind)
        if name == "annotate" and not assignable(value.type, kind):
            raise ScriptError(f"expected a value of type {kind}, and found type {value.type}", self.source, node)
        return ScriptValue(kind, value.arg)

    def call_defined(self, path: str, node: ast.Call) -> Any:
        """A call of a function of the archive, or of a class."""
        owner, _, name = path.rpartition(".")
        if name == "__new__" and owner in _MODES:
            return Unmade(_MODES[owner])
        if name == "__new__":
            kind = self.reader.code.named_type(owner, self.code_file, node)
            if not isinstance(kind, ClassType):
                raise ScriptError(f"an object of '{owner}' can't be made by a script", self.source, node)
            return Unmade(kind.described)
        described = self.reader.code.find_class(path)
        if described is not None:
            kind = self.reader.code.named_type(path, self.code_file, node)
            arguments = [self.expression(each) for each in node.args]
            keywords = {str(each.arg): self.expression(each.value) for each in node.keywords}
            if isinstance(kind, TupleType):
                return self.named_tuple(kind, arguments, keywords, node)
            if isinstance(kind, ClassType):
                return self.call_scripted(kind.described, kind.described, arguments, keywords, node)
        return super().call(node)

    def named_tuple(self, kind: TupleType, arguments: list[Any], keywords: dict[str, Any], node: ast.AST) -> ScriptValue:
        """A named tuple of its fields."""
        fields = kind.kind._fields
        values = {
            **{name: self.plain(each, node) for name, each in zip(fields, arguments)},
            **{name: self.plain(each, node) for name, each in keywords.items()},
        }
        for name, default in kind.kind._field_defaults.items():
            values.setdefault(name, self.plain(self.wrap(default, node), node))
        if set(values) != set(fields) or len(arguments) > len(fields):
            raise ScriptError(f"{kind.kind.__name__} takes {', '.join(fields)}", self.source, node)
        return ScriptValue(kind, tuple.__new__(kind.kind, [values[name].arg for name in fields]))

    def assign(self, target: ast.expr, value: Any) -> None:
        """Give a target a value; the first attribute of an object makes it, where the code has its ``__init__`` written out."""
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            made = self.block.find(target.value.id) if self.block.has(target.value.id) else None
            if isinstance(made, Unmade) and made.described is profiler.record_function and target.attr == "name":
                range_of = self.call_library(made.described, [value], {}, target)
                self.ranges.append(range_of)
                self.renamed(made, range_of)
                return
            if any(made is each for each in self.ranges):  # what else its __init__, written out here, sets
                return
            if isinstance(made, Unmade) and not isinstance(made.described, type):
                self.renamed(made, self.emit(Blank(made.described), (), made.described.type, impure=True))
        super().assign(target, value)

    def initialized(self, made: Unmade, node: ast.Call) -> ScriptValue:
        """``(object).__init__(...)``: now the object is there, under all names that it has."""
        assert isinstance(node.func, ast.Attribute)
        if node.func.attr != "__init__":
            raise ScriptError("an object is used before its __init__", self.source, node)
        arguments = [self.expression(each) for each in node.args]
        if isinstance(made.described, type):
            value = self.call_library(made.described, arguments, {}, node)
        else:
            value = self.call_scripted(made.described, made.described, arguments, {}, node)
        self.renamed(made, value)
        return ScriptValue(NONE, None)

    def renamed(self, made: Unmade, value: ScriptValue) -> None:
        """Give all names of an object that was not made yet the object."""
        block: ScriptBlock | None = self.block
        while block is not None:
            for name, found in list(block.env.items()):
                if found is made:
                    block.set(name, value)
            block = block.parent

    def other_call(self, place: str, name: str, given: Any, keywords: Any, node: ast.Call) -> Any:
        """An operator of another namespace."""
        if place == "aten" and name in _RECURRENT:
            arguments = tuple(self.plain(each, node).arg for each in given)
            kinds = TupleType((TENSOR,) * (3 if name == "quantized_lstm" else 2))
            named = {key: self.dtype_argument(each) if key == "dtype" else self.plain(each, node).arg for key, each in keywords.items()}
            return self.emit(_RECURRENT[name], arguments, kinds, named)
        if place == "prim" or place == "aten":
            return super().other_call(place, name, given, keywords, node)
        found = self.reader.library(place, name)
        if (
            place == "quantized" and name.removesuffix("_relu") in ("conv2d", "conv3d") and len(given) == 8
        ):  # before 1.5, with what the packed parameters say, too
            given = [*given[:2], *given[6:]]
        if found is not None:
            arguments = tuple(self.plain(each, node).arg for each in given)
            return self.emit(
                found, arguments, self.reader.library_type(place, name), {key: self.plain(each, node).arg for key, each in keywords.items()}
            )
        provide(place)
        if place in namespaces():
            return super().other_call(place, name, given, keywords, node)
        why = (
            "which rushlight does not compute yet"
            if place == "quantized"
            else "which is not known here: register it with torch.library before the file is read"
        )
        made = self.missing(f"{place}::{name}", why, node, [*given, *keywords.values()])
        return ScriptValue(self.reader.library_type(place, name) if place == "quantized" else ANY, made.arg)

    def made_tensor(self, given: Any, keywords: Any, node: ast.Call) -> ScriptValue:
        """``torch.tensor(...)``."""
        known = {key: each for key, each in keywords.items() if key in ("dtype", "device", "requires_grad")}
        names = ("dtype", "device", "requires_grad")
        known.update(zip(names, given[1:]))
        converted = {}
        for key, each in known.items():
            if each.type == NONE or (key == "requires_grad" and each.arg is False):
                continue
            converted[key] = self.dtype_argument(each) if key == "dtype" else self.plain(each, node).arg
        return self.emit(tensor, (self.plain(given[0], node).arg,), TENSOR, converted)

    def dtype_argument(self, value: ScriptValue) -> Any:
        """A number of a dtype as the dtype."""
        return dtype_of(value.arg) if value.constant else self.emit(dtype_of, (value.arg,), ANY).arg

    def placed_device(self, *given: Any) -> Any:
        """A device that the code names, where ``map_location`` puts it."""
        return self.reader.placed(device(*given))

    # -- what a file could do harm with ------------------------------------------------------------------------------------

    def value_attribute(self, base: ScriptValue, name: str, node: ast.AST) -> Any:
        """An attribute of a value: serialized code has those of objects of its own classes alone, and no other is looked for."""
        kind = base.type
        if kind in (TENSOR, ANY) and name == "tolist":
            return Bound(ScriptValue(TENSOR, base.arg), name)
        known = isinstance(kind, (ClassType, InterfaceType, EnumType)) or (
            isinstance(kind, TupleType) and name in getattr(kind.kind, "_fields", ())
        )
        methods = kind.described.code.methods if isinstance(kind, ClassType) else ()
        if not known or (name.startswith("__") and name not in methods):
            raise ScriptError(
                f"the archive's code reads '{name}' of a value of type {kind}, which has no such attribute", self.source, node
            )
        return super().value_attribute(base, name, node)

    def binary(self, function: Any, left: ScriptValue, right: ScriptValue, node: ast.AST) -> ScriptValue:
        """An operator on two values; what could become long is not computed while the file is read."""
        if (
            left.constant
            and right.constant
            and function in _GROWING
            and not (_is_small(left.arg) and _is_small(right.arg) and STR not in (left.type, right.type))
        ):
            return self.emit(function, (left.arg, right.arg), self.binary_type(function, left.type, right.type, node))
        return super().binary(function, left, right, node)

    def folded(self, found: Any, args: list[Any], kwargs: dict[str, Any], kind: Type) -> ScriptValue:
        """A call on values that are known; only what is quick is computed while the file is read."""
        if isinstance(getattr(found, "__self__", None), str):
            return self.emit(found.__name__, (found.__self__, *args), STR if kind == ANY else kind, kwargs, op="call_method")
        if all(map(_is_small, args)) and found is not math.factorial:
            return super().folded(found, args, kwargs, kind)
        return self.emit(found, tuple(args), kind, kwargs)

    # -- Modules -----------------------------------------------------------------------------------------------------------

    def module_attribute(self, base: ModuleValue, name: str, node: ast.AST) -> Any:
        """An attribute of a Module, by the types that its class says."""
        described = self.reader.class_of(base.module)
        if described is None:
            return super().module_attribute(base, name, node)
        kind = self.reader.attribute_type(described, name)
        if name in described.values and kind is not None:
            return self.wrap(self.reader.constant_attribute(described, name), node)
        if isinstance(kind, (ModuleClass, InterfaceType)) and name in base.module._modules:
            return (
                ModuleValue(base.module._modules[name], base.below(name))
                if base.module._modules[name] is not None
                else ScriptValue(NONE, None)
            )
        if kind is not None:
            if isinstance(kind, EnumType) and not isinstance(base.module.__dict__.get(name), kind.kind):
                kind = ANY
            return self.emit(base.below(name), (), kind, op="get_attr") if kind != NONE else ScriptValue(NONE, None)
        if name in described.methods:
            return Bound(base, name)
        raise ScriptError(f"Module '{described.name}' has no attribute '{name}'", self.source, node)

    def reflected(self, function: Any, node: ast.Call) -> Any:
        """``getattr`` with a name that is known."""
        base, name = self.expression(node.args[0]), node.args[1]
        if isinstance(base, ModuleValue) and isinstance(name, ast.Constant) and isinstance(name.value, str):
            return self.attribute(base, name.value, node)
        return super().reflected(function, node)

    def module_kind(self, module: Any) -> Type:
        """The type of a Module as a value."""
        described = self.reader.class_of(module)
        if described is None:
            return super().module_kind(module)

        def signature_of(name: str) -> Any:
            program = self.reader.method(module, name, self, described.definition)
            return None if program is None else program.signature

        return ModuleKind(described.qualified, described, signature_of)

    def set_attribute(self, owner: ModuleValue, target: ast.Attribute, value: ScriptValue) -> None:
        """``self.name = value``."""
        described = self.reader.class_of(owner.module)
        kind = None if described is None else self.reader.attribute_type(described, target.attr)
        same = isinstance(kind, ModuleClass) and isinstance(value.type, ModuleKind) and value.type.kind is kind.described
        if kind is None or not (same or assignable(value.type, kind)):
            raise ScriptError(
                f"the attribute '{target.attr}' is of type {kind}, and is set to a value of type {value.type}", self.source, target
            )
        self.emit(owner.below("__setattr__"), (target.attr, value.arg), NONE, op="call_module", impure=True)

    def call_method(self, base: ModuleValue, name: str, arguments: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """A call of a method of a Module."""
        if any(isinstance(each, ModuleValue) for each in (*arguments, *keywords.values())):
            return self.inlined(base, name, arguments, keywords, node)
        program = self.reader.method(base.module, name, self, node)
        if program is None:
            raise ScriptError(f"Module '{type(base.module).__name__}' has no method '{name}'", self.source, node)
        target = base.path if name == "forward" and base.path and not self.reader.has_hooks(base.module) else base.below(name)
        return self.call_scripted(target, ScriptMethod(base.module, program, name), arguments, keywords, node, "call_module")

    def inlined(self, base: ModuleValue, name: str, arguments: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """A call of a method that takes Modules, as traces have it of Modules that are used outside of their owners: its statements, here.

        Which Module is meant is known where the method is called, and its path begins at the Module whose code that is.
        """
        described = self.reader.class_of(base.module)
        definition = None if described is None else described.methods.get(name)
        if definition is None:
            raise ScriptError(f"Module '{type(base.module).__name__}' has no method '{name}'", self.source, node)
        self.reader.inlined += 1
        if self.reader.inlined > MOST_INLINED:
            raise ScriptError(f"the archive calls methods that take Modules more than {MOST_INLINED} times", self.source, node)
        *body, last = definition.body
        if (
            definition in self.inlining
            or not isinstance(last, ast.Return)
            or any(isinstance(each, ast.Return) for one in body for each in ast.walk(one))
        ):
            why = "calls itself" if definition in self.inlining else "returns before its end"
            raise ScriptError(f"the archive's method '{described.qualified}.{name}', which takes Modules, {why}", self.source, node)
        names = [each.arg for each in definition.args.args]
        values = {**dict(zip(names, [base, *arguments])), **keywords}
        if len(arguments) + 1 > len(names) or set(values) != set(names):
            raise ScriptError(f"the archive's method '{described.qualified}.{name}' takes {', '.join(names[1:])}", self.source, node)
        block, before = self.block, (self.block.env, self.block.assigned, self.source, self.code_file)
        block.env, block.assigned = values, set()
        self.source, self.code_file = TextSource(definition, described.file, NAMES, self.reader.constants), described.file
        self.inlining.append(definition)
        try:
            self.statements(body, {each.id for each in ast.walk(last) if isinstance(each, ast.Name)})
            return None if last.value is None else self.expression(last.value)
        finally:
            self.inlining.pop()
            block.env, block.assigned, self.source, self.code_file = before
