"""Expressions of archive texts as nodes in PyTorch's form: operators with the defaults of their schemas, items, calls."""

from __future__ import annotations

import ast
import enum
import re
import weakref
from collections.abc import Iterator
from typing import Any

from ....core.base import TensorBase
from ....core.dtypes import float64
from ....core.errors import CaptureError
from ....graph import Graph, Node
from ....nn import LSTMCell, MultiheadAttention, RNNBase
from ....nn.modules.module import Module
from ....tensor.construct import tensor
from ..archive.graph_text import GraphText
from ..archive.schema_calls import fits, overloads_of, result_type
from ..archive.writer import ProgramWriter
from ..frontend.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    NONE,
    NUMBER,
    STR,
    TENSOR,
    DictType,
    EnumType,
    ListType,
    OptionalType,
    TupleType,
    Type,
    parse_type,
    type_of,
)  # fmt: skip
from ..lower.compiler import Signature
from .ir import AtenBlock, AtenGraph, AtenNode, AtenValue
from .printing import TupleOf, Words, qualified
from .tensor_type import Sized, sized

_RESULTS = {
    "len": INT, "str": STR, "format": STR, "percentFormat": STR, "Int": INT, "Float": FLOAT, "Bool": BOOL, "eq": BOOL, "ne": BOOL, "lt": BOOL, "le": BOOL,
    "gt": BOOL, "ge": BOOL, "__is__": BOOL, "__isnot__": BOOL, "__not__": BOOL, "__contains__": BOOL, "__and__": BOOL, "__or__": BOOL, "ord": INT,
    "hash": INT, "floordiv": INT, "__range_length": INT, "isinstance": BOOL, "shape": ListType(INT), "ScalarImplicit": NUMBER, "div": FLOAT,
}  # fmt: skip
_BUILTINS = {"int": "aten::Int", "float": "aten::Float", "bool": "aten::Bool", "str": "aten::str", "len": "aten::len", "print": "prim::Print",
             "isinstance": "prim::isinstance", "min": "prim::min", "max": "prim::max", "abs": "prim::abs", "ord": "aten::ord", "chr": "aten::chr",
             "sorted": "aten::sorted", "list": "aten::list", "dict": "aten::dict", "sum": "aten::sum", "round": "aten::round", "divmod": "aten::divmod",
             "pow": "aten::pow", "hex": "aten::hex", "oct": "aten::oct", "bin": "aten::bin", "any": "aten::any", "all": "aten::all", "hash": "aten::hash",
             "wait": "aten::wait", "uninitialized": "prim::Uninitialized", "unchecked_cast": "prim::unchecked_cast"}  # fmt: skip


class ModuleName:
    """The type of a Module in a graph."""

    def __init__(self, module: Any) -> None:
        self._module = weakref.ref(module)
        self._text = self._named()

    def kind(self) -> str:
        """What kind of type it is."""
        return "ClassType"

    @property
    def module(self) -> Any:
        """The Module, while it is there."""
        return self._module()

    def annotation(self) -> str:
        """Its name."""
        return self._text

    def _named(self) -> str:
        kind = getattr(self.module, "_script_class", None) or type(self.module)
        name = getattr(self.module, "original_name", None)
        text = qualified(kind).replace("__torch__.rushlight.", "__torch__.torch.")
        return f"{text.rpartition('.')[0]}.{name}" if name else text

    annotation_str = property(annotation)
    qualified_name = name = annotation
    __str__ = __repr__ = annotation


class ExpressionBuilder:
    """Makes the nodes of expressions."""

    def __init__(self, graph: Graph, signature: Signature, owner: Any, name: str, traced: bool, is_method: bool = True) -> None:
        self.owner, self.traced, self.bound_to = owner, traced, is_method
        self.writer = ProgramWriter(owner)
        if owner is not None:
            self.writer.current.append(owner)
        self.text = GraphText(self.writer, None if owner is None else "", nested=False)
        code = self.text.function(graph, signature, name)
        self.code = ast.parse(dedented(code)).body[0]
        self.nodes: dict[str, Node] = {}
        for node, known_as in self.text.names.items():
            if isinstance(node, Node):
                self.nodes.setdefault(known_as, node)
        self.made = AtenGraph()
        self.block: AtenBlock = self.made
        self.pool: dict[Any, AtenValue] = {}
        self.pooled: list[AtenNode] = []
        self.scope: dict[str, AtenValue] = {}
        self.counts: dict[str, int] = {}  # of values that are named after a variable
        self.source = ""
        self.loaded: dict[str, int] = {}
        for each in ast.walk(self.code):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
                self.loaded[each.id] = self.loaded.get(each.id, 0) + 1
        self.signature, self.graph = signature, graph
        self.enum_members: dict[str, enum.Enum] | None = None

    def input_type(self, name: str) -> Any:
        """The type of a parameter."""
        if name == "self":
            return ModuleName(self.owner)
        found = next((each.type for each in self.signature.parameters if each.name == name), TENSOR)
        node = next((each for each in self.graph.find_nodes(op="placeholder") if str(each.target).lstrip("*") == name), None)
        return self.known_type(node, found)

    def known_type(self, node: Node | None, kind: Any) -> Any:
        """A type, of tensors in traces with sizes."""
        if node is None or not self.traced:
            return kind
        spec = node.meta.get("val")
        return kind if not hasattr(spec, "dtype") else sized(spec)

    # -- nodes -----------------------------------------------------------------------------------------------------------------

    def emit(self, kind: str, inputs: list[AtenValue], *kinds: Any, **attributes: Any) -> AtenNode:
        """A node at the end of the block."""
        made = AtenNode(self.made, kind, inputs, self.source)
        made._attributes.update(attributes)
        for each in kinds:
            made.addOutput(each)
        return self.block.append(made)

    def value(self, kind: str, inputs: list[AtenValue], result: Any, **attributes: Any) -> AtenValue:
        """A node with one result."""
        return self.emit(kind, inputs, result, **attributes).output()

    def constant(self, value: Any, kind: Any = None) -> AtenValue:
        """A constant: in scripts one for each value, before everything; in traces where it is used."""
        made = self.made.constant(value, kind)
        made._source = self.source if value is not None else ""
        if self.traced:
            return self.block.append(made).output()
        key = (str(made.output()._type), repr(value)) if not isinstance(value, TensorBase) else id(value)
        if key not in self.pool:
            self.pool[key] = made.output()
            self.pooled.append(made)
        return self.pool[key]

    # -- expressions -----------------------------------------------------------------------------------------------------------

    def expression(self, node: ast.expr, hint: Any = None, nothing: bool = False) -> AtenValue:
        """A value."""
        if isinstance(node, ast.Name) and node.id in self.scope:
            return self.scope[node.id]
        literal = literal_of(node)
        if literal is not ...:
            return self.constant(literal)
        if isinstance(node, (ast.List, ast.Tuple)):
            parts = [self.expression(each) for each in node.elts]
            if isinstance(node, ast.List):
                element = parts[0]._type if parts else TENSOR
                return self.value("prim::ListConstruct", parts, hint if isinstance(hint, ListType) else ListType(_plain(element)))
            kind = hint if isinstance(hint, TupleType) and len(hint.elements) == len(parts) else None
            return self.value("prim::TupleConstruct", parts, kind or TupleOf([each._type for each in parts]))
        if isinstance(node, ast.Dict):
            pairs = [self.expression(each) for pair in zip(node.keys, node.values) for each in pair if each is not None]
            kinds = (_plain(pairs[0]._type), _plain(pairs[1]._type)) if pairs else (STR, TENSOR)
            return self.value("prim::DictConstruct", pairs, hint if isinstance(hint, DictType) else DictType(*kinds))
        if isinstance(node, ast.Attribute):
            return self.attribute(node, hint)
        if isinstance(node, ast.Subscript):
            return self.item(node, hint)
        if isinstance(node, ast.Call):
            return self.call(node, hint, nothing)
        if isinstance(node, ast.IfExp):
            return self.choice(node, hint)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
            return self.value("aten::bitwise_not", [self.expression(node.operand)], hint or INT)
        raise CaptureError(f"{ast.unparse(node)} has no form in a graph")

    def choice(self, node: ast.IfExp, hint: Any) -> AtenValue:
        """One of two values."""
        made = self.emit("prim::If", [self.expression(node.test)])
        for side in (node.body, node.orelse):
            before, self.block = self.block, made.addBlock()
            self.block.registerOutput(self.expression(side, hint))
            self.block = before
        return made.addOutput(hint or made._blocks[0]._return._inputs[0]._type)

    def attribute(self, node: ast.Attribute, hint: Any) -> AtenValue:
        """An attribute of a Module, an object or a named tuple; or a constant of the table."""
        if isinstance(node.value, ast.Name) and node.value.id == "CONSTANTS":
            held = self.writer.constants[int(node.attr[1:])]
            return self.constant(held, sized(held) if isinstance(held, TensorBase) else None)
        path = _path(node)
        if path[:1] == ["self"] and (
            len(path) == 2 and is_constant(path[1]) or "self" not in self.scope
        ):  # a tensor that a trace closed over
            held = self.owner
            for part in path[1:]:
                held = getattr(held, part)
            return self.constant(held, sized(held) if isinstance(held, TensorBase) else None)
        if path and path[0] not in self.scope:  # a member of an enumeration
            member = self.members().get(".".join(path))
            return self.constant(".".join(path), hint) if member is None else self.constant(member, type_of(member))
        base = self.expression(node.value)
        kind = base._type
        if isinstance(kind, TupleType) and kind.kind is not None:
            at = kind.kind._fields.index(node.attr)
            return self.value("prim::TupleIndex", [base, self.constant(at)], kind.elements[at])
        if isinstance(kind, EnumType) and node.attr in ("name", "value"):
            name, result = ("EnumName", STR) if node.attr == "name" else ("EnumValue", type_of(next(iter(kind.kind)).value))
            return self.value(f"prim::{name}", [base], result)
        found = self.held(kind, node.attr)
        return self.value("prim::GetAttr", [base], found if found is not None else hint or ANY, name=node.attr)

    def members(self) -> dict[str, enum.Enum]:
        """The members of enumerations that the program names, by the names that archives have for them."""
        if self.enum_members is None:
            self.enum_members = {f"{qualified(type(each))}.{each.name}": each for each in _enum_members(self.graph)}
        return self.enum_members

    def held(self, kind: Any, name: str) -> Any:
        """The type of what a Module has under a name."""
        if not isinstance(kind, ModuleName):
            return None
        value = getattr(kind.module, name, None)
        if isinstance(value, Module):
            return ModuleName(value)
        return TENSOR if isinstance(value, TensorBase) else type_of(value) if value is not None else None

    def item(self, node: ast.Subscript, hint: Any) -> AtenValue:
        """An item of a tuple, list, dict or tensor."""
        base = self.expression(node.value)
        kind = base._type
        if kind == TENSOR or isinstance(kind, Sized):
            return self.tensor_item(base, node.slice)
        if isinstance(node.slice, ast.Slice):
            bounds = [self.constant(None) if each is None else self.expression(each) for each in (node.slice.lower, node.slice.upper)] + [
                self.constant(1) if node.slice.step is None else self.expression(node.slice.step)
            ]
            return self.value("prim::TupleSlice" if isinstance(kind, TupleType) else "aten::slice", [base, *bounds], hint or kind)
        index = self.expression(node.slice)
        if isinstance(kind, (TupleType, TupleOf)):
            at = index.toIValue()
            return self.value("prim::TupleIndex", [base, index], kind.elements[at] if isinstance(at, int) else hint or ANY)
        element = kind.element if isinstance(kind, ListType) else kind.value if isinstance(kind, DictType) else hint or ANY
        return self.value("prim::ModuleContainerIndex" if isinstance(kind, ModuleName) else "aten::__getitem__", [base, index], element)

    def tensor_item(self, base: AtenValue, index: ast.expr) -> AtenValue:
        """``tensor[...]`` as views, and the rest as one lookup."""
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        gathered: list[AtenValue] = []
        dim, made = 0, base
        for part in parts:
            if isinstance(part, ast.Slice):
                if part.lower is not None or part.upper is not None or part.step is not None:
                    bounds = [self.constant(None) if each is None else self.expression(each) for each in (part.lower, part.upper)]
                    step = self.constant(1) if part.step is None else self.expression(part.step)
                    made = self.value("aten::slice", [made, self.constant(dim), *bounds, step], TENSOR)
                dim += 1
                continue
            literal = literal_of(part)
            if literal is None:
                made = self.value("aten::unsqueeze", [made, self.constant(dim)], TENSOR)
                dim += 1
            elif literal is Ellipsis:
                dim = dim - len(parts) + 1 + sum(literal_of(each) is None for each in parts)
                dim = dim if dim < 0 else 0
            else:
                value = self.expression(part)
                if value._type == INT:
                    made = self.value("aten::select", [made, self.constant(dim), value], TENSOR)
                else:
                    gathered += [self.constant(None)] * (dim - len(gathered)) + [value]
                    dim += 1
        if gathered:
            listed = self.value("prim::ListConstruct", gathered, ListType(OptionalType(TENSOR)))
            made = self.value("aten::index", [made, listed], TENSOR)
        return made

    # -- calls -----------------------------------------------------------------------------------------------------------------

    def call(self, node: ast.Call, hint: Any, nothing: bool) -> AtenValue:
        """A call of an operator, a function, a method, or one of the words of archives."""
        path = _path(node.func)
        name = path[-1] if path else ""
        if len(path) == 1:
            if name == "annotate":
                return self.expression(node.args[1], hint if hint is not None else parse_type(ast.unparse(node.args[0])))
            if name in ("uninitialized", "unchecked_cast"):
                inputs = [self.expression(each) for each in node.args[1:]]
                return self.value(_BUILTINS[name], inputs, hint or parse_type(ast.unparse(node.args[0])))
            if name == "isinstance":
                return self.value("prim::isinstance", [self.expression(node.args[0])], BOOL, types=Words(ast.unparse(node.args[1])))
            if name == "getattr":
                return self.attribute(ast.Attribute(node.args[0], literal_of(node.args[1]), ast.Load()), hint)
            if name == "print":
                self.emit("prim::Print", [self.expression(each) for each in node.args])
                return self.constant(None)
            if name == "fork":
                return self.value("prim::forkClosure", [self.expression(each) for each in node.args[1:]], hint or ANY)
            if name in _BUILTINS:
                given = [self.expression(each) for each in node.args]
                kind = hint or _RESULTS.get(_BUILTINS[name].partition("::")[2], given[0]._type if given else ANY)
                return self.value(_BUILTINS[name], given, kind)
        if path[:1] == ["torch"] and len(path) == 2:
            return self.operator("aten", name, node, hint, nothing)
        if path[:1] == ["ops"] and len(path) == 3:
            return self.operator(path[1], name, node, hint, nothing)
        if path[:1] == ["__torch__"] or (path and path[0] not in self.scope and len(path) > 1):
            return self.defined(path, node, hint)
        assert isinstance(node.func, ast.Attribute)
        base = self.expression(node.func.value)
        given = [self.expression(each) for each in (*node.args, *(each.value for each in node.keywords))]
        return self.value("prim::CallMethod", [base, *given], hint or self.result_of(base, node.func.attr), name=node.func.attr)

    def result_of(self, base: AtenValue, method: str) -> Any:
        """The type of what a method of a Module gives."""
        module = base._type.module if isinstance(base._type, ModuleName) else None
        program = getattr(module, "_script_programs", {}).get(method)
        if program is not None and program.signature.result != ANY:
            return program.signature.result
        several = getattr(module, "return_indices", False) or isinstance(module, (RNNBase, LSTMCell, MultiheadAttention))
        return ANY if several else TENSOR  # layers of the package give one tensor, but for these

    def defined(self, path: list[str], node: ast.Call, hint: Any) -> AtenValue:
        """A call of a scripted function, or an object of a scripted class."""
        given = [self.expression(each) for each in (*node.args, *(each.value for each in node.keywords))] if path[-1] != "__new__" else []
        names = {qualified: each for each, qualified in self.writer.functions.items()}
        found = names.get(".".join(path[:-1] if path[-1] == "__new__" else path))
        kind: Any = hint if hint is not None else ANY
        if hasattr(found, "kind") or isinstance(found, type):
            if isinstance(found, type) and issubclass(found, tuple):
                return self.value("prim::TupleConstruct", given, kind)
            made = self.value("prim::CreateObject", [], kind)
            if path[-1] != "__new__":
                self.value("prim::CallMethod", [made, *given], NONE, name="__init__")
            return made
        signature = getattr(found, "_script_signature", None)
        kind = hint or (signature.result if signature is not None and signature.result != ANY else TENSOR)
        function = AtenNode(self.made, "prim::Constant")
        function._attributes["name"] = path[-1]
        function.addOutput(Words("Function"))
        if self.traced:
            self.block.append(function)
        else:
            self.pooled.append(function)
        return self.value("prim::CallFunction", [function.output(), *given], kind)

    def operator(self, place: str, name: str, node: ast.Call, hint: Any, nothing: bool) -> AtenValue:
        """A call of an operator, with the defaults of its schema."""
        if place == "prim" and name == "RaiseException":
            self.emit(
                "prim::RaiseException", [*(self.expression(each) for each in node.args), *([self.constant(None)] * (2 - len(node.args)))]
            )
            return self.constant(None)
        if place == "aten" and name == "warn":
            self.emit("aten::warn", [self.expression(each) for each in node.args])
            return self.constant(None)
        if (place, name) == ("prim", "shape"):
            place, name = "aten", "size"
        given = [self.expression(each) for each in node.args]
        named = {each.arg: self.expression(each.value) for each in node.keywords}
        if self.traced and place == "aten" and name in ("add", "sub", "mul", "div", "rsub") and len(given) > 1:
            given = [self.as_tensor(each) if at else each for at, each in enumerate(given)]
        if given and given[0]._type == INT and _takes_sizes(place, name):
            count = next((at for at, each in enumerate(given) if each._type != INT), len(given))
            given = [self.value("prim::ListConstruct", given[:count], ListType(INT)), *given[count:]]
        known = overloads_of(place, name) if self.is_tensors(given, named) else None
        kind = hint
        for convert in (False, True) if known is not None else ():
            for overload in known[1] if known is not None else ():
                bound = self.bound(overload._schema.arguments, given, named, convert)
                if bound is not None:
                    result = result_type(overload)
                    if self.traced and re.fullmatch(r"conv(_transpose)?\dd", name):
                        name, bound = "_convolution", self.convolution(name, bound)
                    if isinstance(result, TupleType) and len(overload._schema.returns) > 1:
                        made = self.emit(f"{place}::{name}", bound, *result.elements)
                        return self.value("prim::TupleConstruct", list(made._outputs), hint if isinstance(hint, TupleType) else result)
                    return self.value(f"{place}::{name}", bound, kind if kind is not None and result != NONE else result)
        if kind is None:
            numbers = [each._type for each in given]
            kind = _RESULTS.get(name) or (
                FLOAT if FLOAT in numbers else INT if INT in numbers else numbers[0] if numbers and isinstance(numbers[0], Type) else TENSOR
            )
        return self.value(f"{place}::{name}", [*given, *named.values()], kind)

    def convolution(self, name: str, bound: list[AtenValue]) -> list[AtenValue]:
        """The arguments of a convolution as those of the one operator that traces have for all."""
        transposed = "transpose" in name
        if transposed:
            x, weight, bias, stride, padding, output_padding, groups, dilation = bound
        else:
            x, weight, bias, stride, padding, dilation, groups = bound
            output_padding = self.value("prim::ListConstruct", [self.constant(0) for _ in range(int(name[-2]))], ListType(INT))
        flags = [self.constant(each) for each in (False, False, True, True)]
        return [x, weight, bias, stride, padding, dilation, self.constant(transposed), output_padding, groups, *flags]

    def as_tensor(self, value: AtenValue) -> AtenValue:
        """A number of a trace as the tensor that traces have in its place."""
        node = value.node()
        number = value.toIValue()
        if node._kind != "prim::Constant" or isinstance(number, (str, TensorBase, type(None))):
            return value
        held = tensor(number, dtype=float64 if isinstance(number, float) else None)  # traces have numbers of Python in double precision
        node._attributes["value"] = held
        value.setType(sized(held))
        return value

    def is_tensors(self, given: list[AtenValue], named: dict[Any, AtenValue]) -> bool:
        """Whether a call is one of tensors: operators of numbers have no further arguments."""
        kinds = [each._type for each in (*given, *named.values())]
        return (
            not kinds or any(_has_tensor(each) for each in kinds) or not any(each in (INT, FLOAT, BOOL, NUMBER, STR) for each in kinds[:1])
        )

    def bound(self, arguments: list[Any], given: list[AtenValue], named: dict[Any, AtenValue], convert: bool) -> list[AtenValue] | None:
        """The arguments of an overload with its defaults; None where the values do not fit."""
        if len(given) > len([each for each in arguments if not each.kwarg_only]) or not set(named) <= {each.name for each in arguments}:
            return None
        found: list[Any] = []
        for at, argument in enumerate(arguments):
            value = given[at] if at < len(given) and not argument.kwarg_only else named.get(argument.name)
            if value is None:
                if not argument.has_default:
                    return None
                found.append(argument)
            elif not fits(argument.type, _plain(value._type), value.toIValue(), convert):
                return None
            else:
                found.append(value)
        return [self.spread(argument, self.default(each) if each is argument else each) for argument, each in zip(arguments, found)]

    def spread(self, argument: Any, value: AtenValue) -> AtenValue:
        """A number where a list of a known length is asked for, as that list."""
        if argument.N is None or value._type not in (INT, FLOAT, BOOL):
            return value
        return self.value("prim::ListConstruct", [value] * argument.N, ListType(value._type))

    def default(self, argument: Any) -> AtenValue:
        """A default of a schema as a value."""
        value = argument.default_value
        if isinstance(value, (list, tuple)):
            parts = [self.constant(each) for each in value]
            return self.value("prim::ListConstruct", parts, ListType(_plain(parts[0]._type) if parts else INT))
        return self.constant(value)


def is_constant(name: str) -> bool:
    """Whether an attribute of a trace is a tensor that is no parameter or buffer of the program."""
    return re.fullmatch(r"_tensor_constant\d+", name) is not None


def _takes_sizes(place: str, name: str) -> bool:
    """Whether the first argument of an operator is a list of sizes, which programs may write one by one."""
    known = overloads_of(place, name)
    first = known[1][0]._schema.arguments[:1] if known is not None and known[1] else []
    return bool(first) and first[0].name == "size" and first[0].type.kind_name == "List"


def _has_tensor(kind: Any) -> bool:
    return kind == TENSOR or isinstance(kind, Sized) or (isinstance(kind, ListType) and kind.element == TENSOR)


def _enum_members(held: Any) -> Iterator[enum.Enum]:
    """The members of enumerations in a graph, its bodies, or the arguments of a node."""
    if isinstance(held, enum.Enum):
        yield held
    elif isinstance(held, Graph):
        for node in held.nodes:
            yield from _enum_members([node.args, node.kwargs, node.bodies])
    elif isinstance(held, (list, tuple, dict)):
        for each in held.values() if isinstance(held, dict) else held:
            yield from _enum_members(each)


def _plain(kind: Any) -> Type:
    """A type without sizes."""
    return kind if isinstance(kind, Type) else TENSOR if isinstance(kind, Sized) else ANY


def literal_of(node: ast.expr) -> Any:
    """A constant; ``...`` (the one of types) of what is none."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        return -node.operand.value  # type: ignore[operator]
    if isinstance(node, ast.Name) and node.id in ("inf", "nan"):
        return float(node.id)
    return ...


def _path(node: ast.expr) -> list[str]:
    """A dotted name in parts; nothing of other expressions."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        inner = _path(node.value)
        return [*inner, node.attr] if inner else []
    return []


def dedented(code: str) -> str:
    indent = len(code) - len(code.lstrip())
    return "\n".join(line[indent:] for line in code.splitlines())
