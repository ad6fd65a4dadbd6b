"""Expressions of scripts, as nodes of a graph."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from ...graph.control import branch
from . import builtins
from .blocks import Block, ModuleValue, Static, Unrolled, Value
from .calls import Calls
from .core import number_type
from .errors import NotSupportedError, ScriptError
from .marks import is_instance
from .names import Renamed, assigned
from .types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    NEVER,
    NONE,
    OBJECT,
    STR,
    TENSOR,
    DictType,
    EnumType,
    ListType,
    OptionalType,
    TupleType,
    Type,
    UnionType,
    common,
    type_of,
    unify,
    without_none,
)  # fmt: skip

OPERATORS: dict[type, Any] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Pow: operator.pow, ast.MatMult: operator.matmul, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
}  # fmt: skip
INPLACE: dict[Any, Any] = {
    operator.add: operator.iadd, operator.sub: operator.isub, operator.mul: operator.imul, operator.truediv: operator.itruediv,
    operator.floordiv: operator.ifloordiv, operator.mod: operator.imod, operator.pow: operator.ipow, operator.matmul: operator.imatmul,
    operator.and_: operator.iand, operator.or_: operator.ior, operator.xor: operator.ixor, operator.lshift: operator.ilshift,
    operator.rshift: operator.irshift,
}  # fmt: skip
COMPARISONS: dict[type, Any] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip
UNARY: dict[type, Any] = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert, ast.Not: operator.not_}
_KINDS = {"Tensor": TENSOR, "int": INT, "float": FLOAT, "bool": BOOL, "str": STR, "NoneType": NONE}
_HINTS = {
    ast.Lambda: "write a function with def and call it",
    ast.GeneratorExp: "write a list comprehension",
    ast.SetComp: "scripts have no sets: use a dict or a list",
    ast.Set: "scripts have no sets: use a dict or a list",
    ast.Await: "scripts do not wait",
    ast.Yield: "collect the values in a list and return it",
    ast.YieldFrom: "collect the values in a list and return it",
}
Refined = dict[str, Type]


class Expressions(Calls):
    """Compiles expressions."""

    comprehensions = 0
    live: set[str]

    def expression(self, node: ast.expr) -> Any:
        """What an expression stands for: a value, or something that exists only while the program is compiled."""
        method = getattr(self, f"on_{type(node).__name__}", None)
        if method is None:
            hint = _HINTS.get(type(node), "write it with what scripts have")
            raise NotSupportedError(f"'{type(node).__name__}' expressions are not supported in scripts: {hint}", self.source, node)
        before, self.here = self.here, node if hasattr(node, "lineno") else self.here
        result = method(node)
        self.here = before
        return result

    def value(self, node: ast.expr) -> Value:
        """The value of an expression; a list that is written down there is not made yet."""
        result = self.expression(node)
        return result if isinstance(result, Value) else self.plain(result, node)

    # -- names and constants -------------------------------------------------------------------------------------

    def on_Name(self, node: ast.Name) -> Any:
        """A variable, or a name from outside."""
        return self.read(node)

    def on_Constant(self, node: ast.Constant) -> Value:
        """A literal."""
        if isinstance(node.value, bytes):
            raise NotSupportedError("bytes are not supported in scripts: use a str or a tensor", self.source, node)
        return Value(type_of(node.value), node.value)

    def on_Attribute(self, node: ast.Attribute) -> Any:
        """``value.name``."""
        return self.attribute(self.expression(node.value), node.attr, node)

    def on_NamedExpr(self, node: ast.NamedExpr) -> Any:
        """``(name := value)``."""
        value = self.expression(node.value)
        self.block.set(node.target.id, self.materialized(value) if isinstance(value, Value) else value)
        return value

    # -- containers ----------------------------------------------------------------------------------------------

    def on_Tuple(self, node: ast.Tuple) -> Any:
        """``a, b``."""
        parts = self.elements(node.elts)
        if all(isinstance(each, Value) for each in parts):
            return Value(TupleType(tuple(each.type for each in parts)), tuple(each.arg for each in parts))
        return Unrolled(parts)

    def elements(self, nodes: list[ast.expr]) -> list[Any]:
        """The items of a list or tuple that is written down, ``*items`` among them."""
        parts: list[Any] = []
        for each in nodes:
            if isinstance(each, ast.Starred):
                parts += self.spread(self.expression(each.value), each)
            else:
                parts.append(self.expression(each))
        return parts

    def on_List(self, node: ast.List) -> Any:
        """``[a, b]``."""
        parts = self.elements(node.elts)
        if any(isinstance(each, ModuleValue) for each in parts):
            return Unrolled(parts)
        values = [self.plain(each, node) for each in parts]
        return Value(ListType(self.common_type(values, node)), [each.arg for each in values])

    def on_Dict(self, node: ast.Dict) -> Value:
        """``{key: value}``."""
        if any(key is None for key in node.keys):
            raise NotSupportedError("'**' in a dict is not supported in scripts: use update()", self.source, node)
        keys = [self.plain(self.expression(each), node) for each in node.keys if each is not None]
        values = [self.plain(self.expression(each), node) for each in node.values]
        key, value = common([each.type for each in keys]), common([each.type for each in values])
        if key is None or value is None:
            raise ScriptError("Dict entries must contain only a single type of keys and of values", self.source, node)
        pairs = [(first.arg, second.arg) for first, second in zip(keys, values)]
        return self.emit(dict, (pairs,), DictType(key, value))

    def on_ListComp(self, node: ast.ListComp) -> Value:
        """A list comprehension: a loop that appends."""
        return self.comprehension(node, node.generators, lambda name, place: self.append_statement(name, node.elt, place), ast.List([], ast.Load()))

    def on_DictComp(self, node: ast.DictComp) -> Value:
        """A dict comprehension: a loop that sets items."""

        def put(name: str, place: ast.AST) -> ast.stmt:
            target = ast.Subscript(ast.Name(name, ast.Load()), node.key, ast.Store())
            return ast.Assign([target], node.value, lineno=node.lineno)

        return self.comprehension(node, node.generators, put, ast.Dict([], []))

    def append_statement(self, name: str, element: ast.expr, place: ast.AST) -> ast.stmt:
        """``name.append(element)``."""
        return ast.Expr(ast.Call(ast.Attribute(ast.Name(name, ast.Load()), "append", ast.Load()), [element], []))

    def comprehension(self, node: Any, generators: list[ast.comprehension], put: Callable[[str, ast.AST], ast.stmt], empty: ast.expr) -> Value:
        """A comprehension as the loop that it is short for."""
        self.comprehensions += 1
        name = f"$made{self.comprehensions}"
        body: list[ast.stmt] = [put(name, node)]
        for each in reversed(generators):
            for test in reversed(each.ifs):
                body = [ast.If(test, body, [])]
            body = [ast.For(each.target, each.iter, body, [], lineno=node.lineno)]
        names = {found: f"${found}{self.comprehensions}" for found in assigned([each.target for each in generators])}
        loop: Any = Renamed(names).visit(body[0])
        for inner in ast.walk(loop):
            if isinstance(inner, (ast.expr, ast.stmt)) and not hasattr(inner, "lineno"):
                ast.copy_location(inner, node)
        ast.copy_location(loop, node)
        ast.fix_missing_locations(loop)
        start = self.materialized(self.expression(ast.copy_location(empty, node)))
        self.block.set(name, start)
        live = self.live
        self.statements([loop], live | {name})
        self.live = live
        return self.block.find(name)  # type: ignore[no-any-return]

    # -- arithmetic ----------------------------------------------------------------------------------------------

    def on_BinOp(self, node: ast.BinOp) -> Any:
        """``a + b``."""
        function = OPERATORS[type(node.op)]
        left, right = self.value(node.left), self.value(node.right)
        return self.binary(function, left, right, node)

    def binary(self, function: Any, left: Value, right: Value, node: ast.AST) -> Value:
        """An operator on two values; what is known of both is computed now."""
        if left.constant and right.constant and not isinstance(left.type, EnumType):
            try:
                made = function(left.arg, right.arg)
            except Exception:
                pass
            else:
                return Value(type_of(made), made)
        if function is operator.add and isinstance(left.type, TupleType) and isinstance(right.type, TupleType):
            first = [self.item(left, at) for at in range(len(left.type.elements))]
            second = [self.item(right, at) for at in range(len(right.type.elements))]
            return Value(TupleType((*left.type.elements, *right.type.elements)), tuple(each.arg for each in (*first, *second)))
        kind = self.binary_type(function, left.type, right.type, node)
        return self.emit(function, (left.arg, right.arg), kind)

    def binary_type(self, function: Any, left: Type, right: Type, node: ast.AST) -> Type:
        """The type of an operator's result; an error where it has no meaning."""
        for kind in (left, right):
            if isinstance(kind, OptionalType) or kind == NONE:
                raise ScriptError(
                    f"an operator on values of types {left} and {right}: one may be None; test 'is not None' (or assert it) before", self.source, node
                )
        if TENSOR in (left, right):
            return TENSOR
        if ANY in (left, right) or isinstance(left, UnionType) or isinstance(right, UnionType):
            return ANY
        if left == STR:
            return STR
        if isinstance(left, ListType):
            return left if function is operator.mul else (unify(left, right) or left)
        if isinstance(right, ListType):
            return right
        if isinstance(left, TupleType):
            return ANY
        if function is operator.truediv and {left, right} <= {INT, BOOL, FLOAT}:
            return FLOAT
        if function in (operator.and_, operator.or_, operator.xor) and left == right == BOOL:
            return BOOL
        if {left, right} <= {INT, BOOL, FLOAT}:
            return number_type(left, right)
        if STR in (left, right):
            raise ScriptError(f"an operator on values of types {left} and {right}", self.source, node)
        return ANY

    def on_UnaryOp(self, node: ast.UnaryOp) -> Any:
        """``-a``, ``not a``."""
        if isinstance(node.op, ast.Not):
            return self.condition(node)[0]
        function = UNARY[type(node.op)]
        value = self.value(node.operand)
        if value.constant:
            try:
                made = function(value.arg)
            except TypeError:
                pass
            else:
                return Value(type_of(made), made)
        return self.emit(function, (value.arg,), INT if value.type == BOOL else value.type)

    def on_JoinedStr(self, node: ast.JoinedStr) -> Value:
        """An f-string."""
        parts: list[Any] = []
        for each in node.values:
            if isinstance(each, ast.FormattedValue):
                conversion = chr(each.conversion) if each.conversion > 0 else ""
                specification = self.value(each.format_spec).arg if each.format_spec is not None else ""
                value = self.plain(self.expression(each.value), each)
                parts.append(self.emit(builtins.formatted, (value.arg, conversion, specification), STR).arg)
            else:
                parts.append(self.value(each).arg)
        if all(isinstance(each, str) for each in parts):
            return Value(STR, "".join(parts))
        return self.emit(builtins.joined, tuple(parts), STR)

    # -- conditions ----------------------------------------------------------------------------------------------

    def on_Compare(self, node: ast.Compare) -> Any:
        """``a < b``."""
        return self.condition(node)[0] if len(node.ops) == 1 else self.chain(node)

    def chain(self, node: ast.Compare) -> Value:
        """``a < b < c``: each of them, as long as they hold."""
        values = [node.left, *node.comparators]
        parts: list[ast.expr] = [
            ast.copy_location(ast.Compare(values[at], [op], [values[at + 1]]), node) for at, op in enumerate(node.ops)
        ]
        return self.expression(ast.copy_location(ast.BoolOp(ast.And(), parts), node))  # type: ignore[no-any-return]

    def compare(self, node: ast.Compare) -> tuple[Value, Refined, Refined]:
        """A comparison, and what is known of a name where it holds and where it does not."""
        op, left, right = node.ops[0], self.expression(node.left), self.expression(node.comparators[0])
        if isinstance(op, (ast.In, ast.NotIn)):
            return self.contains(left, right, isinstance(op, ast.NotIn), node), {}, {}
        if isinstance(left, (Static, ModuleValue)) or isinstance(right, (Static, ModuleValue)):
            same = _identity(left) is _identity(right)
            return Value(BOOL, same if isinstance(op, (ast.Is, ast.Eq)) else not same), {}, {}
        first, second = self.plain(left, node), self.plain(right, node)
        function = COMPARISONS[type(op)]
        if isinstance(op, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)) and NONE in (first.type, second.type):
            return self.against_none(node.left if second.type == NONE else node.comparators[0], first if second.type == NONE else second, op)
        if first.constant and second.constant:
            try:
                return Value(BOOL, function(first.arg, second.arg)), {}, {}
            except TypeError:
                pass
        kind = TENSOR if TENSOR in (first.type, second.type) and function not in (operator.is_, operator.is_not) else BOOL
        if kind == BOOL and ANY in (first.type, second.type):
            kind = ANY
        for each in (first.type, second.type):
            if isinstance(each, OptionalType) and function not in (operator.is_, operator.is_not, operator.eq, operator.ne):
                raise ScriptError(f"a value of type {each} can't be compared: test 'is not None' before", self.source, node)
        return self.emit(function, (first.arg, second.arg), kind), {}, {}

    def against_none(self, node: ast.expr, value: Value, op: ast.cmpop) -> tuple[Value, Refined, Refined]:
        """``value is None``."""
        equal = isinstance(op, (ast.Is, ast.Eq))
        if value.type == NONE:
            return Value(BOOL, equal), {}, {}
        if not isinstance(value.type, OptionalType) and value.type not in (ANY, NEVER, OBJECT):
            return Value(BOOL, not equal), {}, {}
        made = self.emit(operator.is_ if equal else operator.is_not, (value.arg, None), BOOL)
        if not isinstance(node, ast.Name) or value.type == ANY:
            return made, {}, {}
        none, rest = {node.id: NONE}, {node.id: without_none(value.type)}
        return (made, none, rest) if equal else (made, rest, none)  # type: ignore[return-value]

    def contains(self, left: Any, right: Any, negative: bool, node: ast.AST) -> Value:
        """``item in container``."""
        if isinstance(right, ModuleValue):  # a ModuleDict
            key = self.plain(left, node)
            return Value(BOOL, (key.arg in right.module._modules) is not negative)
        item, container = self.plain(left, node), self.value_of(right, node)
        if item.constant and container.constant:
            return Value(BOOL, (item.arg in container.arg) is not negative)
        found = self.emit(operator.contains, (container.arg, item.arg), BOOL)
        return self.emit(operator.not_, (found.arg,), BOOL) if negative else found

    def value_of(self, result: Any, node: ast.AST) -> Value:
        return self.plain(result, node)

    def truth(self, value: Value, node: ast.AST) -> Value:
        """A value as a condition."""
        if value.constant:
            return Value(BOOL, bool(value.arg))
        if isinstance(value.type, TupleType):
            return Value(BOOL, bool(value.type.elements))
        return value if value.type == BOOL else self.emit(bool, (value.arg,), BOOL)

    def condition(self, node: ast.expr) -> tuple[Value, Refined, Refined]:
        """A condition: its value, and what is known of names where it holds and where it does not."""
        before, self.here = self.here, node
        try:
            if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
                value, holds, fails = self.condition(node.operand)
                if value.constant:
                    return Value(BOOL, not value.arg), fails, holds
                return self.emit(operator.not_, (value.arg,), BOOL), fails, holds
            if isinstance(node, ast.Compare) and len(node.ops) == 1:
                value, holds, fails = self.compare(node)
                return (value if value.type == TENSOR else value), holds, fails
            if isinstance(node, ast.BoolOp):
                return self.connected(node.op, node.values)
            if isinstance(node, ast.Call) and len(node.args) == 2 and self.asks_type(node.func):
                return self.is_instance(node)
            return self.truth(self.value(node), node), {}, {}
        finally:
            self.here = before

    def asks_type(self, function: ast.expr) -> bool:
        """Whether a function is ``isinstance``, or that of jit."""
        if not isinstance(function, (ast.Name, ast.Attribute)) or (isinstance(function, ast.Attribute) and function.attr != "isinstance"):
            return False
        try:
            return self.source.evaluate(function) in (isinstance, is_instance)
        except (NameError, AttributeError, TypeError):
            return False

    def connected(self, op: ast.boolop, values: list[ast.expr]) -> tuple[Value, Refined, Refined]:
        """``a and b and c`` as a condition: later ones are looked at only where earlier ones leave it open."""
        is_and = isinstance(op, ast.And)
        first, holds, fails = self.condition(values[0])
        first = self.truth(first, values[0])
        if len(values) == 1:
            return first, holds, fails
        if first.constant:
            if bool(first.arg) is not is_and:
                return first, holds, fails
            self.refine(holds if is_and else fails)
            return self.connected(op, values[1:])
        known: list[Refined] = []

        def rest() -> Value:
            self.refine(holds if is_and else fails)
            value, later_holds, later_fails = self.connected(op, values[1:])
            known.append(later_holds if is_and else later_fails)
            return value

        def short() -> Value:
            return Value(BOOL, not is_and)

        made = self.choose(first, rest, short, values[0]) if is_and else self.choose(first, short, rest, values[0])
        together = {**(holds if is_and else fails), **(known[0] if known else {})}
        return (made, together, {}) if is_and else (made, {}, together)

    def both(self, first: Value, test: ast.expr) -> Value:
        """Whether a condition that is computed already holds, and then another."""
        if first.constant:
            return self.truth(self.condition(test)[0], test) if first.arg else first
        return self.choose(first, lambda: self.truth(self.condition(test)[0], test), lambda: Value(BOOL, False), test)

    def on_BoolOp(self, node: ast.BoolOp) -> Any:
        """``a and b`` as a value: one of them, as Python has it."""
        is_and = isinstance(node.op, ast.And)
        first = node.values[0]
        rest: Any = node.values[1] if len(node.values) == 2 else ast.copy_location(ast.BoolOp(node.op, node.values[1:]), node)
        value, holds, fails = self.condition(first) if not isinstance(first, (ast.Name, ast.Call)) else (self.value(first), {}, {})
        truth = self.truth(value, first)
        if truth.constant:
            if bool(truth.arg) is not is_and:
                return value
            self.refine(holds if is_and else fails)
            return self.expression(rest)

        def later() -> Value:
            self.refine(holds if is_and else fails)
            return self.plain(self.expression(rest), rest)

        def itself() -> Value:
            return Value(BOOL, not is_and) if value.type == BOOL else self.block.bring(value)

        return self.choose(truth, later, itself, node) if is_and else self.choose(truth, itself, later, node)

    def on_IfExp(self, node: ast.IfExp) -> Any:
        """``a if condition else b``."""
        condition, holds, fails = self.condition(node.test)
        condition = self.truth(condition, node.test)
        if condition.constant:
            self.refine(holds if condition.arg else fails)
            return self.expression(node.body if condition.arg else node.orelse)

        def side(expression: ast.expr, refined: Refined) -> Callable[[], Value]:
            def compute() -> Value:
                self.refine(refined)
                return self.plain(self.expression(expression), expression)

            return compute

        return self.choose(condition, side(node.body, holds), side(node.orelse, fails), node)

    def choose(self, condition: Value, then: Callable[[], Value], otherwise: Callable[[], Value], node: ast.AST) -> Value:
        """A value that is computed in one of two ways."""
        outer, here = self.block, self.here
        blocks, values = [], []
        for compute in (then, otherwise):
            self.block = Block(outer)
            values.append(self.materialized(compute()))
            blocks.append(self.block)
        self.block, self.here = outer, here
        first, second = values
        kind = unify(first.type, second.type)
        if kind is None:
            raise ScriptError(f"the two sides are of different types: {first.type} and {second.type}", self.source, node)
        for each in blocks:
            for name in each.assigned:  # by `:=`: not for sure
                outer.env.pop(name, None)
        made = self.branch_node(condition, (blocks[0], blocks[1]), ([first.arg], [second.arg]), node)
        return Value(NONE, None) if kind == NONE else self.emit(operator.getitem, (made, 0), kind)

    def is_instance(self, node: ast.Call) -> tuple[Value, Refined, Refined]:
        """``isinstance(value, type)``: known, or looked at when the program runs; then the name is of that type."""
        found = self.expression(node.args[0])
        names = self.class_names(node.args[1])
        if not isinstance(found, Value):
            return Value(BOOL, False), {}, {}
        kind = found.type
        if isinstance(kind, (OptionalType, UnionType)) or kind in (ANY, OBJECT):
            made = self.emit(builtins.is_kind, (found.arg, names), BOOL)
            if not isinstance(node.args[0], ast.Name):
                return made, {}, {}
            options = _options(kind)
            yes = [each for each in options if _kind_name(each) in names]
            no = [each for each in options if _kind_name(each) not in names]
            holds = {node.args[0].id: _joined(yes)} if yes else ({node.args[0].id: _KINDS[names[0]]} if len(names) == 1 and names[0] in _KINDS else {})
            return made, holds, {node.args[0].id: _joined(no)} if no else {}
        name = _kind_name(kind)
        return Value(BOOL, name in names or (name == "bool" and "int" in names)), {}, {}

    def class_names(self, node: ast.expr) -> tuple[str, ...]:
        """The classes of an ``isinstance``, by the names that scripts have for them."""
        if isinstance(node, ast.Tuple):
            return tuple(name for each in node.elts for name in self.class_names(each))
        kind = repr(self.type_from(node)) if not (isinstance(node, ast.Name) and node.id in ("list", "tuple", "dict")) else node.id
        found = {"List": "list", "Dict": "dict", "Tuple": "tuple"}.get(kind.partition("[")[0], kind)
        if found not in builtins.KINDS:
            raise NotSupportedError(f"isinstance() with '{ast.unparse(node)}' is not supported in scripts", self.source, node)
        return (found,)

    def type_from(self, annotation: Any, node: ast.AST | None = None) -> Type:
        raise NotImplementedError  # in Statements

    def statements(self, statements: list[ast.stmt], live: set[str]) -> None:
        raise NotImplementedError  # in Statements

    def branch_node(self, condition: Value, blocks: Any, outputs: Any, node: ast.AST) -> Any:
        raise NotImplementedError  # in Statements

    # -- items ---------------------------------------------------------------------------------------------------

    def on_Subscript(self, node: ast.Subscript) -> Any:
        """``value[index]``."""
        base = self.expression(node.value)
        if isinstance(base, (ModuleValue, Unrolled)):
            return self.known_item(base, node)
        if isinstance(base, Static):
            raise ScriptError("only values, ModuleLists and ModuleDicts have items in scripts", self.source, node)
        if isinstance(base.type, TupleType):
            return self.tuple_item(base, node)
        base = self.materialized(base)
        return self.emit(operator.getitem, (base.arg, self.index(node.slice)), self.item_type(base.type, node.slice))

    def known_item(self, base: Any, node: ast.Subscript) -> Any:
        """An item of a ModuleList, a ModuleDict or a tuple of Modules: its index must be known."""
        index = self.constant_index(node.slice)
        if index is None:
            raise ScriptError("the index must be a constant here: which Module is called must be known", self.source, node.slice)
        if isinstance(base, Unrolled):
            return Unrolled(base.items[index]) if isinstance(index, slice) else base.items[index]
        return self.child(base, index, node)

    def constant_index(self, node: ast.expr) -> Any:
        """An index that is known now, or None."""
        if isinstance(node, ast.Slice):
            bounds = [None if each is None else self.value(each) for each in (node.lower, node.upper, node.step)]
            if all(each is None or each.constant for each in bounds):
                return slice(*(None if each is None else each.arg for each in bounds))
            return None
        value = self.value(node)
        return value.arg if value.constant else None

    def tuple_item(self, base: Value, node: ast.Subscript) -> Any:
        """An item, or a part, of a tuple."""
        assert isinstance(base.type, TupleType)
        index = self.constant_index(node.slice)
        count = len(base.type.elements)
        if isinstance(index, slice):
            items = [self.item(base, at) for at in range(*index.indices(count))]
            return Value(TupleType(tuple(each.type for each in items)), tuple(each.arg for each in items))
        if isinstance(index, int):
            if not -count <= index < count:
                raise ScriptError(f"the tuple has {count} items, and none of number {index}", self.source, node)
            return self.item(base, index % count)
        return self.emit(operator.getitem, (base.arg, self.index(node.slice)), common(list(base.type.elements)) or ANY)

    def index(self, node: ast.expr) -> Any:
        """What stands in brackets, as an argument of a node."""
        if isinstance(node, ast.Slice):
            return slice(*(None if each is None else self.plain(self.expression(each), each).arg for each in (node.lower, node.upper, node.step)))
        if isinstance(node, ast.Tuple):
            return tuple(self.index(each) for each in node.elts)
        value = self.value(node)
        return value.arg if isinstance(value.arg, list) else self.plain(value, node).arg

    def item_type(self, kind: Type, index: ast.expr) -> Type:
        """The type of an item of a container."""
        if isinstance(index, ast.Slice) or kind in (TENSOR, STR):
            return kind
        if isinstance(kind, ListType):
            return kind.element
        if isinstance(kind, DictType):
            return kind.value
        if isinstance(kind, OptionalType):
            raise ScriptError(f"a value of type {kind} has no items: test 'is not None' before", self.source, index)
        return ANY

    def on_Call(self, node: ast.Call) -> Any:
        """``function(...)``."""
        return self.call(node)

    def on_Starred(self, node: ast.Starred) -> Any:
        """``*items`` where it can't stand."""
        raise NotSupportedError("'*' can stand only in calls and in lists", self.source, node)


def _identity(result: Any) -> Any:
    return getattr(result, "object", getattr(result, "module", result))


def _options(kind: Type) -> list[Type]:
    if isinstance(kind, OptionalType):
        return [*_options(kind.inner), NONE]
    return list(kind.options) if isinstance(kind, UnionType) else [kind]


def _kind_name(kind: Type) -> str:
    if isinstance(kind, ListType):
        return "list"
    if isinstance(kind, DictType):
        return "dict"
    return "tuple" if isinstance(kind, TupleType) else kind.name


def _joined(options: list[Type]) -> Type:
    rest = [each for each in options if each != NONE]
    if not rest:
        return NONE
    inner = rest[0] if len(rest) == 1 else UnionType(tuple(rest))
    return OptionalType(inner) if len(rest) < len(options) else inner


__all__ = ["COMPARISONS", "INPLACE", "OPERATORS", "Expressions", "branch"]
