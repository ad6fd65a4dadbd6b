"""A program's archive text as a graph in PyTorch's form.

The text has one operator a line, with names that are assigned once or carried by a loop, so that a line is a node, and ``if`` and loops are nodes
with blocks.  Types and lines of the user's program come from the graph of which the text was written.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from ....core.errors import CaptureError
from ....graph import Graph, Node
from ..archive.graph_text import GraphText
from ..archive.writer import ProgramWriter, traced_program
from ..frontend.types import (
    ANY,
    DEVICE,
    INT,
    NONE,
    TENSOR,
    TupleType,
    Type,
)  # fmt: skip
from ..lower.compiler import Signature
from .expressions import ExpressionBuilder, dedented
from .ir import AtenGraph, AtenValue

_LONGEST = 9223372036854775807  # the count of a loop that only its condition ends


class GraphBuilder(ExpressionBuilder):
    """Makes one graph."""

    def build(self) -> AtenGraph:
        """The graph."""
        definition: Any = self.code
        for each in definition.args.args[0 if self.bound_to else 1 :] if self.owner is not None else definition.args.args:
            value = self.made._param.addOutput(self.input_type(each.arg))
            used = self.loaded.get(each.arg) and each.arg != "self" and not self.traced
            value.setDebugName(each.arg)
            if used:
                value.setDebugName(f"{each.arg}.1")
            self.scope[each.arg] = value
        self.statements(definition.body)
        used = {value for node in self.made.all_nodes() for value in node._inputs}
        self.made._nodes[:0] = [each for each in self.pooled if each.output() in used]
        for each in self.made._nodes:
            each._block = self.made
        return self.made

    # -- statements ------------------------------------------------------------------------------------------------------------

    def statements(self, body: list[ast.stmt]) -> None:
        """Statements in order."""
        for each in body:
            self.find_source(each)
            getattr(self, f"do_{type(each).__name__}")(each)

    def find_source(self, statement: ast.stmt) -> None:
        """The line of the user's program that a statement comes from."""
        target = getattr(statement, "targets", [None])[0]
        node = self.nodes.get(target.id) if isinstance(target, ast.Name) else None
        found = node.meta.get("source") if node is not None else None
        self.source = f"{found[0]}:{found[1]}:0" if found else ""

    def do_Pass(self, statement: ast.Pass) -> None:
        """Nothing."""

    def do_Expr(self, statement: ast.Expr) -> None:
        """A call whose result nobody has."""
        self.expression(statement.value, nothing=True)

    def do_Return(self, statement: ast.Return) -> None:
        """What the program gives."""
        value = self.constant(None) if statement.value is None else self.expression(statement.value, self.hint_of_result())
        self.block._return._inputs = [value]

    def hint_of_result(self) -> Any:
        """The type of what is returned, where it is known."""
        return None if self.signature.result == ANY else self.signature.result

    def do_Assign(self, statement: ast.Assign) -> None:
        """Names, items, attributes."""
        (target,) = statement.targets
        if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
            values = [self.expression(each) for each in statement.value.elts]
            for each, value in zip(target.elts, values):
                self.assign(each, value)
            return
        self.assign(target, self.expression(statement.value, self.hint(target)))

    def do_AnnAssign(self, statement: ast.AnnAssign) -> None:
        """A name that has a declared type."""
        assert statement.value is not None
        self.assign(statement.target, self.expression(statement.value, self.hint(statement.target)))

    def hint(self, target: ast.expr) -> Any:
        """The type of the node that a name stands for."""
        node = self.nodes.get(target.id) if isinstance(target, ast.Name) else None
        if node is None:
            return None
        kind = self.text.type_of(node)
        return self.known_type(node, None if kind == ANY else kind)

    def assign(self, target: ast.expr, value: AtenValue) -> None:
        """Bind a name, or write to an item or attribute."""
        if isinstance(target, ast.Name):
            self.scope[target.id] = self.named(value, target.id)
        elif isinstance(target, ast.Tuple):
            kind = value._type
            parts = kind.elements if isinstance(kind, TupleType) else [getattr(kind, "element", ANY)] * len(target.elts)
            made = self.emit("prim::TupleUnpack" if isinstance(kind, TupleType) else "prim::ListUnpack", [value], *parts)
            for each, part in zip(target.elts, made._outputs):
                self.assign(each, part)
        elif isinstance(target, ast.Attribute):
            self.emit("prim::SetAttr", [self.expression(target.value), value], name=target.attr)
        elif isinstance(target, ast.Subscript):
            base = self.expression(target.value)
            if base._type == TENSOR or not isinstance(base._type, Type):
                place = self.tensor_item(base, target.slice)
                if value._type != TENSOR:
                    facts = [self.value("prim::dtype", [place], INT), self.value("prim::device", [place], DEVICE)]
                    value = self.value("aten::tensor", [value, *facts, self.constant(False)], TENSOR)
                self.value("aten::copy_", [place, value, self.constant(False)], TENSOR)
            else:
                self.value("aten::_set_item", [base, self.expression(target.slice), value], base._type)
        else:
            raise CaptureError(f"an assignment to {ast.unparse(target)} has no form in a graph")

    def named(self, value: AtenValue, name: str) -> AtenValue:
        """A value under the name of the user's variable that it is: ``%z.2`` is the second one of ``z``."""
        variable = self.text.variables.get(name)
        if variable is not None and value._name is None and value._node.kind() != "prim::Constant":
            while True:
                self.counts[variable] = self.counts.get(variable, 0) + 1
                if f"{variable}.{self.counts[variable]}" not in self.made._names:
                    break
            value.setDebugName(f"{variable}.{self.counts[variable]}")
        return value

    def do_If(self, statement: ast.If) -> None:
        """A branch: what it assigns and is used after it are its results."""
        node = self.emit("prim::If", [self.expression(statement.test)])
        outside = self.names_loaded(statement)
        sides = []
        for body in (statement.body, statement.orelse):
            before, scope = self.block, dict(self.scope)
            self.block = node.addBlock()
            self.statements(body)
            sides.append((self.block, self.scope))
            self.block, self.scope = before, scope
        names = dict.fromkeys(name for _, scope in sides for name in scope if scope[name] is not self.scope.get(name))
        for name in names:
            if self.loaded.get(name, 0) <= outside.get(name, 0) or not all(name in scope for _, scope in sides):
                continue
            values = [scope[name] for _, scope in sides]
            known = self.nodes.get(name)
            kind = self.hint(ast.Name(name)) if known is not None else None
            self.scope[name] = self.named(node.addOutput(kind if kind is not None else values[0]._type), name)
            for (block, _), value in zip(sides, values):
                block.registerOutput(value)

    def names_loaded(self, statement: ast.stmt) -> dict[str, int]:
        """How often names are read in a statement."""
        found: dict[str, int] = {}
        for each in ast.walk(statement):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
                found[each.id] = found.get(each.id, 0) + 1
        return found

    def do_For(self, statement: ast.For) -> None:
        """A loop with a count."""
        call: Any = statement.iter
        (count,) = call.args
        self.loop(statement.body, self.expression(count), self.constant(True), statement.target, None)

    def do_While(self, statement: ast.While) -> None:
        """A loop with a condition, which is a name."""
        going: Any = statement.test
        body, last = statement.body, statement.body[-1]
        if isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Tuple) and isinstance(last.value, ast.Tuple):
            index = last.targets[0].elts[-2]
            if isinstance(index, ast.Name) and self.loaded.get(index.id) == 1:  # only by the sum that counts: nobody asks for it
                kept = ast.Assign(
                    [ast.Tuple([each for each in last.targets[0].elts if each is not index], ast.Store())],
                    ast.Tuple([*last.value.elts[:-2], last.value.elts[-1]], ast.Load()),
                )
                body = [*body[:-2], kept]
                self.scope.pop(index.id, None)
        self.loop(body, self.constant(_LONGEST), self.scope[going.id], None, going.id)

    def loop(self, body: list[ast.stmt], count: AtenValue, start: AtenValue, index: Any, going: str | None) -> None:
        """A loop: names that it assigns and that were there before are carried."""
        stored = {each.id for part in body for each in ast.walk(part) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
        carried = [name for name in self.scope if name in stored and name != going]
        node = self.emit("prim::Loop", [count, start, *(self.scope[name] for name in carried)])
        before, scope = self.block, dict(self.scope)
        self.block = node.addBlock()
        number = self.block._param.addOutput(INT)
        if index is not None:
            self.scope[index.id] = self.named(number, index.id)
        for name in carried:
            self.scope[name] = self.named(self.block._param.addOutput(scope[name]._type), name)
        self.statements(body)
        self.block._return._inputs = [self.constant(True) if going is None else self.scope[going], *(self.scope[name] for name in carried)]
        self.block, self.scope = before, scope
        for name in carried:
            self.scope[name] = self.named(node.addOutput(scope[name]._type), name)

    def do_With(self, statement: ast.With) -> None:
        """A block between ``__enter__`` and ``__exit__``."""
        held = [self.expression(each.context_expr) for each in statement.items]
        for each, value in zip(statement.items, held):
            entered = self.value("prim::Enter", [value], ANY)
            if each.optional_vars is not None:
                self.assign(each.optional_vars, entered)
        self.statements(statement.body)
        for value in reversed(held):
            self.value("prim::Exit", [value], NONE)


def build(graph: Graph, owner: Any, signature: Signature | None, name: str, traced: bool, is_method: bool) -> AtenGraph | None:
    """A program's graph in PyTorch's form; None where a step of it has none."""
    try:
        return GraphBuilder(graph, signature or traced_program(graph, name).signature, owner, name, traced, is_method).build()
    except CaptureError:
        return None


def code(graph: Graph, owner: Any, signature: Signature | None, name: str, traced: bool, is_method: bool) -> tuple[str | None, list[Any]]:
    """A program as TorchScript (None where a step of it has no such form), and the tensors in it."""
    writer = ProgramWriter(owner)
    if owner is not None:
        writer.current.append(owner)
    try:
        signature = signature or traced_program(graph, name).signature
        text = dedented(GraphText(writer, None if owner is None else "").function(graph, signature, name))
    except CaptureError:
        return None, []
    text = re.sub(r"self\.(_tensor_constant\d+)", lambda found: writer.constant(getattr(owner, found[1])), text)
    head, _, body = text.partition("\n")
    heading: Any = ast.parse(head + " pass").body[0]
    parameters = [f"{each.arg}: {ast.unparse(each.annotation)}" if each.annotation is not None else each.arg for each in heading.args.args]
    for at, default in enumerate(reversed(heading.args.defaults), 1):
        parameters[-at] += f"={ast.unparse(default)}"
    if owner is not None and not is_method:
        parameters = parameters[1:]
    result = f" -> {ast.unparse(heading.returns)}" if heading.returns is not None else " -> Tensor" if not traced_tuple(graph) else ""
    shown = f"def {name}({f',{chr(10)}    '.join(parameters)}){result}:\n{body}\n"
    return shown, writer.constants


def traced_tuple(graph: Graph) -> bool:
    """Whether a graph gives other than one value."""
    return not isinstance(graph.output_node().args[0], Node)
