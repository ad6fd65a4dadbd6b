"""Graphs of scripts as serialized TorchScript: one line for each node, branches and loops as blocks."""

from __future__ import annotations

import enum
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

from ....core.base import TensorBase
from ....core.declare import Op
from ....core.devices import device
from ....core.dtypes import BY_NAME, dtype
from ....core.errors import CaptureError
from ....core.schema import SchemaType
from ....graph import Graph, Node
from ....graph.control import UNSET, branch, loop, within
from ....ops.overloads import OpOverload, OpOverloadPacket
from ....tensor.layout import layout, memory_format
from ...graph_data import python_call
from ..frontend.types import (
    ANY,
    FLOAT,
    INT,
    NEVER,
    NONE,
    NUMBER,
    STR,
    TENSOR,
    ClassType,
    DictType,
    ListType,
    OptionalType,
    TupleType,
    Type,
    UnionType,
    parse_type,
    type_of,
    union,
)
from ..ir import graph_functions, type_numbers
from ..lower.compiler import Signature
from ..script_class import Blank, ScriptClass
from ..script_function import ScriptFunction
from .aten_text import op_call, overload_call
from .schema_calls import overloads_of
from .statement_text import StatementText
from .text_parts import given_always, is_open, is_open_list, names_type, number, quoted, uses

_INFIX: dict[Any, str] = {
    operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.truediv: "div", operator.floordiv: "floordiv", operator.mod: "remainder",
    operator.pow: "pow", graph_functions.power: "pow", operator.matmul: "matmul", operator.and_: "__and__", operator.or_: "__or__", operator.xor: "__xor__", operator.lshift: "__lshift__",
    operator.rshift: "__rshift__", operator.eq: "eq", operator.ne: "ne", operator.lt: "lt", operator.le: "le", operator.gt: "gt", operator.ge: "ge",
    operator.is_: "__is__", operator.is_not: "__isnot__", operator.iadd: "add_", operator.isub: "sub_", operator.imul: "mul_", operator.itruediv: "div_",
    operator.iand: "__iand__", operator.ior: "__ior__", operator.ixor: "__ixor__", operator.ilshift: "__ilshift__", operator.irshift: "__irshift__",
    operator.ifloordiv: "floor_divide_", operator.imod: "remainder_", operator.ipow: "pow_",
    operator.neg: "neg", operator.not_: "__not__",
}  # fmt: skip
_ALIASES = frozenset((graph_functions.shown, *type_numbers.FUNCTIONS.values()))  # what PyTorch does by itself, or has numbers for
_CALLED = frozenset(
    (len, int, float, bool, str, print, min, max, abs, sum, round, sorted, ord, chr, any, all, divmod, pow, hex, oct, bin, list, hash)
)
_CASTS = {
    "long": "int64", "int": "int32", "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool", "float": "float32", "double": "float64",
    "half": "float16", "bfloat16": "bfloat16", "cfloat": "complex64", "cdouble": "complex128",
}  # fmt: skip
_PUT = ("append", "insert", "remove", "index", "count", operator.contains)  # whose last argument is of the type of a list's elements
_OTHER = frozenset(("element_size", "cpu", "cuda", "unpack"))  # methods of tensors that are operators of TorchScript alone


class GraphText(StatementText):
    """The text of one function or method."""

    def __init__(self, writer: Any, owner: str | None, nested: bool = True) -> None:
        super().__init__(nested)
        self.writer = writer  # which knows names of classes and functions, and keeps constants
        self.owner = owner
        self.inner = owner is not None  # whether it is in a class
        self.types: dict[Node, Type] = {}

    # -- functions -------------------------------------------------------------------------------------------------------

    def function(self, graph: Graph, signature: Signature, name: str) -> str:
        """A whole definition."""
        parameters = []
        nodes = [node for node in graph.nodes if node.op == "placeholder"]
        by_name = {str(node.target).lstrip("*"): node for node in nodes}
        required = given_always(signature)
        for each in signature.parameters:
            node = by_name.get(each.name)
            kind = (
                OptionalType(TENSOR)
                if each.type == ANY and self.writer.library and (each.default is None or "mask" in each.name)
                else each.type
            )
            text = f"{each.name}: {self.writer.type_text(kind, each.name)}"
            if each.default is not ... and each not in required:
                text += f"={self.writer.constant(each.default) if isinstance(each.default, TensorBase) else self.value(each.default)}"
            parameters.append(text)
            if node is not None:
                self.names[node] = each.name
                self.types[node] = kind
            self.taken.add(each.name)
        if self.owner is not None:
            parameters.insert(0, "self")
        self.block(graph, 2 if self.inner else 1, signature.result)
        result = (
            "" if is_open(signature.result) or self.writer.library else f" -> {self.writer.type_text(signature.result, 'what is returned')}"
        )
        indent = "  " if self.inner else ""
        return f"{indent}def {name}({', '.join(parameters)}){result}:\n" + "\n".join(self.lines) + "\n"

    def block(self, graph: Graph, depth: int, result: Type | None = None) -> Any:
        """The lines of a graph; what it gives, where it is no whole function."""
        for node in graph.nodes:
            if node.op == "output":
                given = node.args[0]
                if result is None:
                    return given
                if given is None and result not in (NONE, ANY) and not isinstance(result, (OptionalType, UnionType)):  # it has raised
                    self.put(depth, f"return uninitialized({self.writer.type_text(result, 'what is returned')})", True)
                else:
                    self.put(depth, f"return {self.used(given, result if result != ANY else None)}", True)
            elif node.op != "placeholder":
                self.node(node, depth)
        return ()

    # -- nodes -------------------------------------------------------------------------------------------------------------

    def node(self, node: Node, depth: int) -> None:
        """The lines of one node."""
        target = node.target
        if node.op == "get_attr":
            self.assign(node, self.path(str(target)), depth)
        elif node.op == "call_module":
            self.module_call(node, depth)
        elif node.op == "call_method":
            self.method_call(node, depth)
        elif target in (branch, loop, within):
            if target is not branch:
                self.settle()
            {branch: self.branch, loop: self.loop, within: self.within}[target](node, depth)
        elif target is operator.getitem and isinstance(node.args[0], Node) and node.args[0].target in (branch, loop, within):
            self.names[node] = self.names.get((node.args[0], node.args[1]), "None")  # type: ignore[call-overload]
        else:
            self.function_call(node, depth)
        self.settle_name(node)

    def path(self, target: str) -> str:
        """An attribute of ``self``, or of a Module below it."""
        text = "self"
        for part in target.split("."):
            text = f"{text}.{part}" if part.isidentifier() else f"getattr({text}, {quoted(part)})"
        return text

    def module_call(self, node: Node, depth: int) -> None:
        """A call of a Module or of one of its methods, or an attribute that is set."""
        *way, last = str(node.target).split(".")
        if last == "__setattr__":
            owner = self.path(".".join(way)) if way else "self"
            self.put(depth, f"{owner}.{node.args[0]} = {self.value(node.args[1])}")
            self.names[node] = "None"
            return
        path, method, signature = self.writer.called(str(node.target))
        named = [self.type_of(each) for each in node.args if isinstance(each, Node)]
        if signature is None and any(isinstance(each, TupleType) and each.kind is not None for each in named):
            raise CaptureError(
                f"the layer '{node.target}' is called with a packed sequence, or another named tuple: archives are not written with that"
            )
        owner = self.path(path) if path else "self"
        self.assign(node, f"({owner}).{method}({self.arguments(node, signature)})", depth)

    def arguments(self, node: Node, signature: Signature | None) -> str:
        """The arguments of a call of something scripted."""
        parts = []
        parameters = signature.parameters if signature is not None else []
        for at, each in enumerate(node.args):
            parts.append(self.used(each, parameters[at].type if at < len(parameters) else None, signature is None))
        for each in given_always(signature)[len(node.args) :] if signature is not None else ():
            if each.default is not ... and each.name not in node.kwargs:
                parts.append(f"{each.name}={self.value(each.default)}")
        for key, each in node.kwargs.items():
            kind = next((parameter.type for parameter in parameters if parameter.name == key), None)
            parts.append(f"{key}={self.used(each, kind, signature is None)}")
        return "".join(f"{each}, " for each in parts)

    def method_call(self, node: Node, depth: int) -> None:
        """A call of a method of a tensor, a list, a dict or a text."""
        name, (base, *rest) = str(node.target), node.args
        if name == "tolist":
            users = [each for each in node.users if each.target is graph_functions.listed]
            if not users:
                raise CaptureError("tolist() without a declared type can't be written to an archive: annotate the variable")
            for each in users:
                self.assign(each, f"annotate({self.writer.type_text(each.type, 'tolist')}, ({self.used(base)}).tolist())", depth)
            self.names[node] = "None"
            return
        if name == "sort" and isinstance(base, Node) and isinstance(base.type, ListType):
            self.put(depth, f"torch.sort({self.value(base)}, {self.value(node.kwargs.get('reverse', False))})")
            self.names[node] = "None"
            return
        if (
            name in ("view", "reshape", "expand", "repeat", "permute")
            and not node.kwargs
            and not (len(rest) == 1 and not isinstance(rest[0], int))
        ):
            self.assign(node, f"torch.{name}({self.used(base)}, [{', '.join(self.value(each) for each in rest)}])", depth)
            return
        kind = self.type_of(base) if isinstance(base, Node) else ANY
        element = kind.element if isinstance(kind, ListType) and name in ("append", "insert", "remove", "index", "count") else ANY
        wanted = [kind.key] if isinstance(kind, DictType) else [element] * len(rest)  # of a dict the key comes first
        parts = [
            self.used(each, want) if want != ANY else self.value(each)
            for each, want in itertools.zip_longest(rest, wanted[: len(rest)], fillvalue=ANY)
        ]
        parts += [f"{key}={self.value(each)}" for key, each in node.kwargs.items()]
        if kind == TENSOR and name in _CASTS and not rest:
            self.assign(node, f"torch.to({self.used(base)}, {type_numbers.number_of(BY_NAME[_CASTS[name]])})", depth)
        elif kind == TENSOR and overloads_of("aten", name) is None and name not in _OTHER:
            raise CaptureError(f"the method '{name}' of tensors is no operator of TorchScript, and can't be written to an archive")
        elif name == "unpack":  # of packed parameters
            self.assign(node, f"({self.used(base)}).unpack()", depth)
        else:
            self.assign(node, f"torch.{name}({', '.join([self.used(base), *parts])})", depth)

    def function_call(self, node: Node, depth: int) -> None:
        """A call of a function."""
        target, args = node.target, node.args
        special = FORMS.get(target)
        if special is not None:
            special(self, node, depth)
        elif target in _ALIASES:
            self.names[node] = self.value(args[0])
        elif (
            target in _INFIX
            and any(isinstance(each, Node) and isinstance(self.type_of(each), ClassType) for each in args)
            and "is" not in target.__name__
        ):
            raise CaptureError(
                f"'{target.__name__}' of objects of a scripted class, which Python has made, can't be written to an archive: write the method"
            )
        elif target is operator.not_ and isinstance(args[0], Node) and self.type_of(args[0]) == TENSOR:
            self.assign(node, f"torch.__not__(bool({self.value(args[0])}))", depth)
        elif target is operator.truediv and self.is_number(args[0]) and self.type_of(args[1]) == TENSOR:  # as PyTorch divides a number
            self.assign(node, f"torch.mul(torch.reciprocal({self.used(args[1])}), {self.used(args[0])})", depth)
        elif target in _INFIX:
            self.assign(
                node,
                f"torch.{_INFIX[target]}({', '.join(self.used(each, optional=target in (operator.is_, operator.is_not)) for each in args)})",
                depth,
            )
        elif isinstance(target, ScriptFunction):
            self.assign(node, f"{self.writer.function_name(target)}({self.arguments(node, target._script_signature)})", depth)
        elif isinstance(target, ScriptClass):
            self.assign(node, f"{self.writer.class_name(target)}({self.arguments(node, target._script_signature)})", depth)
        elif isinstance(target, Blank):
            name = self.writer.class_name(target.described)
            self.assign(node, f"{name}.__new__({name})", depth)
        elif isinstance(target, graph_functions.DefaultTensor):
            self.assign(node, self.writer.constant(target.value), depth)
        elif isinstance(target, OpOverload):
            text = overload_call(target, self.by_schema(target, node), self.argument)
            if text is None:
                raise CaptureError(f"a call of {target} can't be written to an archive")
            self.assign(node, text.replace("torch.", f"ops.{target.namespace}.", 1) if target.namespace != "aten" else text, depth)
        elif isinstance(target, OpOverloadPacket):
            parts = [self.value(each) for each in args] + [f"{key}={self.value(each)}" for key, each in node.kwargs.items()]
            self.assign(node, f"ops.{target.namespace}.{target.__name__}({', '.join(parts)})", depth)
        elif isinstance(getattr(target, "op", None), Op) and target.op.namespace == "ops.quantized":
            parts = [self.value(each) for each in (*args, *node.kwargs.values())]
            self.assign(node, f"ops.quantized.{target.op.public_name.rpartition('.')[2]}({', '.join(parts)})", depth)
        elif getattr(target, "__name__", "") == "canonical_mask":  # layers that take it know masks of both kinds
            self.names[node] = self.value(node.kwargs.get("mask", args[0] if args else None))
        elif getattr(target, "__name__", "") == "manual_seed":
            self.assign(node, f"torch.manual_seed({self.value(args[0])})", depth)
        elif isinstance(getattr(target, "op", None), Op):
            self.assign(node, op_call(target.op, node.args, dict(node.kwargs), self.argument), depth)
        elif target in _CALLED:
            parts = [self.used(each) for each in args] + [f"{key}={self.value(each)}" for key, each in node.kwargs.items()]
            self.assign(node, f"{target.__name__}({', '.join(parts)})", depth)
        elif getattr(math, getattr(target, "__name__", ""), None) is target:
            self.assign(node, f"torch.{getattr(target, '__name__', '')}({', '.join(self.used(each) for each in args)})", depth)
        elif (getattr(target, "__module__", "") or "").endswith(".ops.quantized") or getattr(target, "__name__", "").startswith(
            "quantized_"
        ):
            place = "ops.quantized" if (target.__module__ or "").endswith(".ops.quantized") else "torch"
            parts = [self.used(each, optional="pack" in target.__name__ or "embedding" in target.__name__) for each in args] + [
                f"{key}={self.value(each)}" for key, each in node.kwargs.items()
            ]
            self.assign(node, f"{place}.{target.__name__}({', '.join(parts)})", depth)
        else:
            name = getattr(target, "__name__", str(target))
            if "python" in node.meta:
                raise python_call(name)
            raise CaptureError(f"a call of '{name}' can't be written to an archive of TorchScript, which has no such function")

    def is_number(self, value: Any) -> bool:
        """Whether a value is a number."""
        return isinstance(value, (int, float, complex)) or (isinstance(value, Node) and self.type_of(value) in (INT, FLOAT, NUMBER))

    def by_schema(self, overload: OpOverload, node: Node) -> dict[str, Any]:
        """The arguments of a call of an overload by name, without defaults."""
        names = [each.name for each in overload._schema.arguments]
        given = {**dict(zip(names, node.args)), **dict(node.kwargs)}
        defaults = {each.name: each.default_value for each in overload._schema.arguments if each.has_default}
        return {name: value for name, value in given.items() if not (name in defaults and value is None and defaults[name] is None)}

    # -- blocks ------------------------------------------------------------------------------------------------------------

    def enter(self, node: Node, body: Graph, outer: tuple[Any, ...]) -> None:
        """The inputs of a body are what the node gives it."""
        for inner, given in zip([each for each in body.nodes if each.op == "placeholder"], outer):
            self.names[inner] = given if isinstance(given, str) else self.value(given)
            if isinstance(given, Node):
                self.types[inner] = self.type_of(given)

    def results(self, node: Node) -> dict[int, Node]:
        """The nodes that take the results of a node with bodies, by number."""
        return {each.args[1]: each for each in node.users if each.target is operator.getitem}

    def side(
        self, node: Node, body: Graph, depth: int, wanted: dict[int, tuple[str, Type]], outer: tuple[Any, ...], narrowed: dict[Node, Type]
    ) -> None:
        """One branch: its lines, and its results as variables."""
        self.enter(node, body, outer)
        before = len(self.lines)
        for inner, given in zip([each for each in body.nodes if each.op == "placeholder"], outer):
            kind = narrowed.get(given) if isinstance(given, Node) else None
            if kind is not None:
                name = self.fresh()
                self.put(depth, f"{name} = unchecked_cast({self.writer.type_text(kind, 'a value')}, {self.value(given)})")
                self.names[inner], self.types[inner] = name, kind
        given = self.block(body, depth)
        for at, (name, kind) in wanted.items():
            kinds = {
                repr(self.type_of(each) if isinstance(each, Node) else type_of(each)) for each in self.sides(node, at) if each is not UNSET
            }
            if kind == ANY and len(kinds - {"Any"}) > 1:  # of another type after each branch
                self.put(depth, f"{name} = unchecked_cast(Any, {self.used(given[at])})")
                continue
            declared = f" : {self.writer.type_text(kind, 'a variable')}" if isinstance(kind, (OptionalType, UnionType)) else ""
            self.put(depth, f"{name}{declared} = {self.kept(given[at], kind)}", True)
        self.settle()
        if len(self.lines) == before:
            self.put(depth, "pass")

    def kept(self, value: Any, kind: Type) -> str:
        """A value of a variable that has a type of its own."""
        if value is UNSET or (isinstance(value, Node) and self.type_of(value) == NEVER):
            return f"uninitialized({self.writer.type_text(kind, 'a variable')})"
        if (
            isinstance(value, Node)
            and value.target in (list, dict)
            and value.args in ((), ([],))
            and is_open(self.type_of(value))
            and not is_open(kind)
        ):
            return f"annotate({self.writer.type_text(kind, 'a variable')}, {'[]' if value.target is list else '{}'})"  # what it is empty of is known here
        text = self.used(value, kind if kind != ANY else None)
        if isinstance(kind, (OptionalType, UnionType, ListType, DictType)) and not (
            isinstance(value, Node) and self.type_of(value) == kind
        ):
            return f"annotate({self.writer.type_text(kind, 'a variable')}, {text})"
        return text

    def branch(self, node: Node, depth: int) -> None:
        """``if``."""
        wanted = {at: (self.fresh(each.meta.get("variable", "")), each.type) for at, each in sorted(self.results(node).items())}
        for at, (name, _) in wanted.items():
            self.names[node, at] = name  # type: ignore[index]
        known = self.known(node.args[0])
        if known is not None:  # the other side may be of values that are None, which no operator takes
            self.settle()
            self.side(node, node.bodies["then" if known else "otherwise"], depth, wanted, node.args[1:], {})
            return
        self.put(depth, f"if {self.used(node.args[0])}:")
        holds, fails = self.narrowing(node.args[0])
        self.side(node, node.bodies["then"], depth + 1, wanted, node.args[1:], holds)
        self.put(depth, "else:")
        self.side(node, node.bodies["otherwise"], depth + 1, wanted, node.args[1:], fails)

    def known(self, condition: Any) -> bool | None:
        """Whether a condition holds, where it asks of a constant whether it is None."""
        found = isinstance(condition, Node) and condition.target in (operator.is_, operator.is_not)
        if not found or any(isinstance(each, Node) for each in condition.args):
            return None
        return bool(condition.target(*condition.args))

    def sides(self, node: Node, at: int) -> list[Any]:
        """What the two branches give as one result."""
        outputs = [[each for each in body.nodes if each.op == "output"][0].args[0] for body in node.bodies.values()]
        return [each[at] for each in outputs]

    def narrowing(self, condition: Any) -> tuple[dict[Node, Type], dict[Node, Type]]:
        """What is known of the types of values where a condition holds, and where it does not."""
        if not isinstance(condition, Node):
            return {}, {}
        if condition.target is operator.not_:
            return self.narrowing(condition.args[0])[::-1]
        if condition.target is not graph_functions.is_kind or not isinstance(condition.args[0], Node):
            return {}, {}
        value, names = condition.args
        kind = self.type_of(value)
        options = (
            [*kind.inner.options, NONE]
            if isinstance(kind, OptionalType) and isinstance(kind.inner, UnionType)
            else list(getattr(kind, "options", ()))
        )
        yes = [parse_type(name) for name in names] if kind == ANY else [each for each in options if names_type(names, each)]
        no = [each for each in options if each not in yes]
        found = [{} if not each or ANY in each or each == [NONE] else {value: union(each)} for each in (yes, no)]
        return found[0], found[1]

    def loop(self, node: Node, depth: int) -> None:
        """``for`` and ``while``."""
        count, start, carried, outer = (*node.args, ())[:4]
        body = node.bodies["body"]
        inputs = [each for each in body.nodes if each.op == "placeholder"]
        index, *variables = [self.fresh(each.meta.get("variable", "")) for each in inputs[: len(carried) + 1]]
        for name, initial, inner in zip(variables, carried, inputs[1:]):
            self.put(depth, f"{name} = {self.kept(initial, inner.type)}")
        given = [each for each in body.nodes if each.op == "output"][0].args[0]
        counted = count is not None and given[0] is True and start is True
        going = self.fresh()
        if counted:
            self.put(depth, f"for {index} in range({self.used(count)}):")
        else:
            self.put(depth, f"{index} = 0")
            first = self.used(start) if count is None else f"torch.__and__({self.used(start)}, torch.lt(0, {self.used(count)}))"
            self.put(depth, f"{going} = {first}")
            self.put(depth, f"while {going}:")
        self.enter(node, body, (index, *variables, *outer))
        given = self.block(body, depth + 1)
        ends = [self.kept(each, inner.type) for each, inner in zip(given[1:], inputs[1:])]
        names = list(variables)
        if not counted:
            further = self.fresh()
            self.put(depth + 1, f"{further} = torch.add({index}, 1)")
            again = (
                self.used(given[0]) if count is None else f"torch.__and__({self.used(given[0])}, torch.lt({further}, {self.used(count)}))"
            )
            names, ends = [*names, index, going], [*ends, further, again]
        if names:
            self.put(depth + 1, f"{', '.join(names)} = {', '.join(ends)}", True)
        else:
            self.put(depth + 1, "pass")
        for at, name in enumerate(variables):
            self.names[node, at] = name  # type: ignore[index]

    def within(self, node: Node, depth: int) -> None:
        """``with``: modes of gradients, ranges of the profiler and objects of scripted classes have a form in archives."""
        context = node.args[0]
        mode = getattr(context.target, "__name__", "") if isinstance(context, Node) else ""
        wanted = {at: (self.fresh(each.meta.get("variable", "")), each.type) for at, each in sorted(self.results(node).items())}
        for at, (name, _) in wanted.items():
            self.names[node, at] = name  # type: ignore[index]
        if mode not in ("no_grad", "enable_grad", "exiting", "record_function"):
            raise CaptureError(f"a with statement over '{mode or context}' can't be written to an archive")
        before = self.fresh()
        if mode == "record_function":
            self.put(depth, f"{before} = ops.profiler._record_function_enter_new({self.value(context.args[0])})")
        elif mode != "exiting":
            self.put(depth, f"{before} = torch.is_grad_enabled()")
            self.put(depth, f"torch.set_grad_enabled({mode == 'enable_grad'})")
        self.enter(node, node.bodies["body"], node.args[1:])
        given = self.block(node.bodies["body"], depth)
        for at, (name, kind) in wanted.items():
            self.put(depth, f"{name} = {self.kept(given[at], kind)}", True)
        if mode == "exiting":
            self.put(depth, f"{before} = ({self.value(context.args[0])}).__exit__(None, None, None, )")
        elif mode == "record_function":
            self.put(depth, f"ops.profiler._record_function_exit({before})")
        else:
            self.put(depth, f"torch.set_grad_enabled({before})")

    # -- values ------------------------------------------------------------------------------------------------------------

    def type_of(self, node: Any) -> Type:
        """The type that a value has in the text."""
        found = self.types.get(node, node.type) if isinstance(node, Node) else type_of(node)
        return found if isinstance(found, Type) else ANY

    def settled_type(self, node: Node) -> Type:
        """The type of a list or dict that is made here; of what an empty one is a container, what is put into it says."""
        kind = self.type_of(node)
        if not is_open(kind):
            return kind
        for user, alias in uses(node):
            given = [self.type_of(each) if isinstance(each, Node) else type_of(each) for each in user.args]
            if user.target is operator.setitem and user.args[0] is alias and isinstance(kind, DictType):
                found: Type = DictType(given[1], given[2])
            elif user.target in _PUT and user.args[0] is alias and isinstance(kind, ListType):
                found = ListType(given[-1])
            else:
                continue
            if not is_open(found):
                self.types[node] = found
                return found
        return kind

    def used(self, value: Any, wanted: Type | None = None, optional: bool = False) -> str:
        """A value where one of a type is needed: of one that may be None the program has made sure that it is not."""
        if isinstance(value, tuple) and isinstance(wanted, TupleType) and len(value) == len(wanted.elements):
            parts = [self.used(each, kind) for each, kind in zip(value, wanted.elements)]
            if wanted.kind is not None or hasattr(value, "_fields"):
                return f"{self.writer.tuple_name(wanted.kind or type(value))}({', '.join(parts)})"
            return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
        if isinstance(value, list) and value and isinstance(wanted, ListType):
            return f"[{', '.join(self.used(each, wanted.element) for each in value)}]"
        text = self.value(value)
        if optional or not isinstance(value, Node):
            if isinstance(value, list) and not value and wanted is not None:
                return f"annotate({self.writer.type_text(wanted, 'a list')}, [])"
            return text
        kind = self.type_of(value)
        if isinstance(kind, OptionalType) and not isinstance(wanted, (OptionalType, UnionType)) and wanted not in (NONE, ANY):
            return f"unchecked_cast({self.writer.type_text(kind.inner, 'a value')}, {text})"
        if isinstance(kind, UnionType) and wanted is not None and not isinstance(wanted, (UnionType, OptionalType)) and wanted != ANY:
            return f"unchecked_cast({self.writer.type_text(wanted, 'a value')}, {text})"
        return text

    def argument(self, value: Any, wanted: SchemaType | None) -> str:
        """An argument of an operator."""
        if wanted is None:
            return self.used(value)
        if isinstance(value, Node):
            kind = self.type_of(value)
            if wanted.base == "int" and kind == STR:  # a reduction by its name
                return f'({{"none": 0, "mean": 1, "sum": 2}})[{self.value(value)}]'
            if wanted.listed and isinstance(kind, TupleType):
                return f"[{', '.join(f'({self.value(value)})[{at}]' for at in range(len(kind.elements)))}]"
            if kind == INT and is_open_list(wanted):
                return f"[{self.value(value)}]"
            return self.value(value) if wanted.optional else self.used(value)
        if wanted.listed and isinstance(value, (list, tuple)):
            element = wanted.element.element if wanted.optional and wanted.element is not None else wanted.element
            if not value:
                return f"annotate(List[{ {'SymInt': 'int'}.get(wanted.base, wanted.base) }], [])"
            return f"[{', '.join(self.element(each, element) for each in value)}]"
        if type(value) is int and is_open_list(wanted):
            return f"[{value}]"
        if wanted.base == "float" and type(value) is int:
            return number(float(value))
        if wanted.base == "int" and isinstance(value, str) and value in ("none", "mean", "sum"):
            return str(("none", "mean", "sum").index(value))
        if wanted.base == "Device" and isinstance(value, str):
            return f"torch.device({quoted(value)})"
        return self.value(value)

    def element(self, value: Any, wanted: SchemaType | None) -> str:
        """An element of a list of numbers: a tensor is converted here, since PyTorch converts arguments and no elements of theirs."""
        text = self.argument(value, wanted)
        if wanted is None or not isinstance(value, Node) or self.type_of(value) != TENSOR:
            return text
        kind = {"int": "int", "SymInt": "int", "float": "float", "bool": "bool"}.get(wanted.base)
        return text if kind is None else f"{kind}({text})"

    def value(self, value: Any) -> str:
        """A value as text."""
        if isinstance(value, Node):
            return self.names[value]
        if value is None or isinstance(value, bool):
            return str(value)
        if isinstance(value, enum.Enum):
            return f"{self.writer.enum_name(type(value))}.{value.name}"
        if isinstance(value, int):
            return str(int(value))
        if isinstance(value, float):
            return number(float(value))
        if isinstance(value, complex):
            return f"torch.Complex({number(value.real)}, {number(value.imag)})"
        if isinstance(value, str):
            return quoted(value)
        if isinstance(value, (dtype, layout, memory_format)):
            return str(type_numbers.number_of(value))
        if isinstance(value, device):
            return f"torch.device({quoted(str(value))})"
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return f"{self.writer.tuple_name(type(value))}({', '.join(map(self.value, value))})"
        if isinstance(value, tuple):
            return f"({', '.join(map(self.value, value))}{',' if len(value) == 1 else ''})"
        if isinstance(value, list):
            return f"[{', '.join(map(self.value, value))}]"
        if isinstance(value, slice):
            parts = [self.bound(each) for each in (value.start, value.stop)]
            return ":".join(parts) + ("" if value.step is None else f":{self.value(value.step)}")
        if value is Ellipsis:
            return "..."
        raise CaptureError(f"a constant of type {type(value).__name__} can't be written to an archive")

    def bound(self, value: Any) -> str:
        """A bound of a slice."""
        return "" if value is None else self.value(value)


FORMS: dict[Any, Callable[[GraphText, Node, int], None]] = {}  # functions that have a form of their own: see node_forms.py
