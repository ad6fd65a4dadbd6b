"""Conditions of scripts: comparisons, what is known of names where they hold, and values that are chosen by them."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from ....graph.control import branch
from ..frontend.annotations import is_instance
from ..frontend.errors import ScriptError
from ..frontend.types import (
    ANY,
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    INT,
    NEVER,
    NONE,
    NUMBER,
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
    UnionType,
    assignable,
    from_annotation,
    unify,
    without_none,
)  # fmt: skip
from ..ir import graph_functions
from ..ir.steps import ScriptStep, StepBlock
from .calls import Calls
from .iteration import parts_of
from .scope import ModuleValue, ScriptBlock, ScriptValue, Static, Undefined

COMPARISONS: dict[type, Any] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip
_NUMBERS = (INT, FLOAT, BOOL)
_COMMON = frozenset((TENSOR, INT, FLOAT, BOOL))  # what most comparisons are of
_ORDERS = frozenset((ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE))
Refined = dict[str, Type]


class Conditions(Calls):
    """Compiles conditions."""

    def on_Compare(self, node: ast.Compare) -> Any:
        """``a < b``."""
        return self.condition(node)[0] if len(node.ops) == 1 else self.chain(node)

    def chain(self, node: ast.Compare) -> ScriptValue:
        """``a < b < c``: each of them, as long as they hold."""
        values = [node.left, *node.comparators]
        parts: list[ast.expr] = [ast.copy_location(ast.Compare(values[at], [op], [values[at + 1]]), node) for at, op in enumerate(node.ops)]
        return self.expression(ast.copy_location(ast.BoolOp(ast.And(), parts), node))  # type: ignore[no-any-return]

    def compare(self, node: ast.Compare) -> tuple[ScriptValue, Refined, Refined]:
        """A comparison, and what is known of a name where it holds and where it does not."""
        op, left, right = node.ops[0], self.expression(node.left), self.expression(node.comparators[0])
        if op.__class__ in _ORDERS and left.__class__ is right.__class__ is ScriptValue and left.type in _COMMON and right.type in _COMMON:
            if left.arg.__class__ is ScriptStep or right.arg.__class__ is ScriptStep:
                kind = TENSOR if left.type is TENSOR or right.type is TENSOR else BOOL
                return self.emit(COMPARISONS[op.__class__], (left.arg, right.arg), kind), {}, {}
        if isinstance(op, (ast.In, ast.NotIn)):
            return self.contains(left, right, isinstance(op, ast.NotIn), node), {}, {}
        if isinstance(left, (Static, ModuleValue)) or isinstance(right, (Static, ModuleValue)):
            same = _identity(left) is _identity(right)
            return ScriptValue(BOOL, same if isinstance(op, (ast.Is, ast.Eq)) else not same), {}, {}
        first, second = self.plain(left, node), self.plain(right, node)
        function = COMPARISONS[type(op)]
        if isinstance(first.type, EnumType) and isinstance(op, (ast.Is, ast.IsNot)):  # of one read from a file, only the name is the same
            function = operator.eq if isinstance(op, ast.Is) else operator.ne
        if isinstance(op, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)) and NONE in (first.type, second.type):
            return self.against_none(
                node.left if second.type == NONE else node.comparators[0], first if second.type == NONE else second, op
            )
        if isinstance(first.type, ClassType) and function not in (operator.is_, operator.is_not):
            return self.operated(f"__{function.__name__}__", first, [second], node), {}, {}  # type: ignore[return-value]
        if first.constant and second.constant:
            if function in (operator.is_, operator.is_not) and first.arg.__class__ is second.arg.__class__ in (int, float, bool, str):
                return ScriptValue(BOOL, (first.arg == second.arg) is (function is operator.is_)), {}, {}  # one constant, as in Python
            try:
                return ScriptValue(BOOL, function(first.arg, second.arg)), {}, {}
            except TypeError:
                pass
        if function not in (operator.is_, operator.is_not) and {first.type, second.type} in ({STR, INT}, {STR, FLOAT}, {STR, BOOL}):
            raise ScriptError(f"Arguments for call are not valid: {first.type} and {second.type} can't be compared", self.source, node)
        kind = TENSOR if TENSOR in (first.type, second.type) and function not in (operator.is_, operator.is_not) else BOOL
        if kind == BOOL and ANY in (first.type, second.type):
            kind = ANY
        for each in (first.type, second.type):
            if isinstance(each, OptionalType) and function not in (operator.is_, operator.is_not, operator.eq, operator.ne):
                raise ScriptError(f"a value of type {each} can't be compared: test 'is not None' before", self.source, node)
        return self.emit(function, (first.arg, second.arg), kind), {}, {}

    def against_none(self, node: ast.expr, value: ScriptValue, op: ast.cmpop) -> tuple[ScriptValue, Refined, Refined]:
        """``value is None``."""
        equal = isinstance(op, (ast.Is, ast.Eq))
        if value.type == NONE:
            return ScriptValue(BOOL, equal), {}, {}
        if not isinstance(value.type, OptionalType) and value.type not in (ANY, NEVER, OBJECT):
            return ScriptValue(BOOL, not equal), {}, {}
        made = self.emit(operator.is_ if equal else operator.is_not, (value.arg, None), BOOL)
        if not isinstance(node, ast.Name) or value.type == ANY:
            return made, {}, {}
        none, rest = {node.id: NONE}, {node.id: without_none(value.type)}
        return (made, none, rest) if equal else (made, rest, none)  # type: ignore[return-value]

    def contains(self, left: Any, right: Any, negative: bool, node: ast.AST) -> ScriptValue:
        """``item in container``."""
        if isinstance(right, ModuleValue):  # a ModuleDict
            key = self.plain(left, node)
            return ScriptValue(BOOL, (key.arg in parts_of(right.module)) is not negative)
        item, container = self.plain(left, node), self.value_of(right, node)
        if isinstance(container.type, ClassType):
            found = self.operated("__contains__", container, [item], node)
            assert found is not None
            return self.emit(operator.not_, (found.arg,), BOOL) if negative else found
        if item.constant and container.constant:
            return ScriptValue(BOOL, (item.arg in container.arg) is not negative)
        found = self.emit(operator.contains, (container.arg, item.arg), BOOL)
        return self.emit(operator.not_, (found.arg,), BOOL) if negative else found

    def value_of(self, result: Any, node: ast.AST) -> ScriptValue:
        return self.plain(result, node)

    def truth(self, value: ScriptValue, node: ast.AST) -> ScriptValue:
        """A value as a condition."""
        if value.type is BOOL and value.arg.__class__ is ScriptStep:
            return value
        if value.constant:
            return ScriptValue(BOOL, bool(value.arg))
        if isinstance(value.type, TupleType):
            raise ScriptError(f"Could not cast value of type {value.type} to bool", self.source, node)
        if isinstance(value.type, ClassType):
            named = [each for each in ("__bool__", "__len__") if value.type.described.member(each) is not None]
            if not named:
                return ScriptValue(BOOL, True)
            found: Any = self.operated(named[0], value, [], node)
            if found.type not in (BOOL, INT, TENSOR, ANY):
                raise ScriptError(f"expected a bool expression for condition but found {found.type}", self.source, node)
            return self.truth(found, node)
        if isinstance(value.type, OptionalType) or value.type == DEVICE:
            raise ScriptError(f"Could not cast value of type {value.type} to bool: test 'is not None'", self.source, node)
        return value if value.type == BOOL else self.emit(bool, (value.arg,), BOOL)

    def condition(self, node: ast.expr) -> tuple[ScriptValue, Refined, Refined]:
        """A condition: its value, and what is known of names where it holds and where it does not."""
        before, self.here = self.here, node
        try:
            if node.__class__ is ast.Compare and len(node.ops) == 1:  # type: ignore[attr-defined]
                return self.compare(node)  # type: ignore[arg-type]
            if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
                value, holds, fails = self.condition(node.operand)
                if value.constant:
                    return ScriptValue(BOOL, not value.arg), fails, holds
                return self.emit(operator.not_, (value.arg,), BOOL), fails, holds
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
        found = self.source.named(function)
        return found is isinstance or found is is_instance

    def connected(self, op: ast.boolop, values: list[ast.expr]) -> tuple[ScriptValue, Refined, Refined]:
        """``a and b and c`` as a condition: later ones are evaluated only where earlier ones do not decide it."""
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
        if all(map(self.is_harmless, values[1:])):
            for each in values[1:]:
                first = self.emit(
                    operator.and_ if is_and else operator.or_, (first.arg, self.truth(self.condition(each)[0], each).arg), BOOL
                )
            return (first, holds, {}) if is_and else (first, {}, fails)
        known: list[Refined] = []
        decided: list[bool] = []

        def rest() -> ScriptValue:
            self.refine(holds if is_and else fails)
            value, later_holds, later_fails = self.connected(op, values[1:])
            known.append(later_holds if is_and else later_fails)
            decided.append(value.constant and bool(value.arg) is not is_and)
            return value

        def short() -> ScriptValue:
            return ScriptValue(BOOL, not is_and)

        made = self.choose(first, rest, short, values[0]) if is_and else self.choose(first, short, rest, values[0])
        if decided == [True]:  # whatever the first is: what ``is_scripting()`` rules out is not compiled
            return ScriptValue(BOOL, not is_and), {}, {}
        together = {**(holds if is_and else fails), **(known[0] if known else {})}
        return (made, together, {}) if is_and else (made, {}, together)

    def is_harmless(self, node: ast.expr) -> bool:
        """Whether a condition is on numbers alone, so that it may be computed though its value is not needed."""
        if isinstance(node, ast.Compare):
            return (
                len(node.ops) == 1
                and node.ops[0].__class__ in _ORDERS
                and self.is_harmless(node.left)
                and self.is_harmless(node.comparators[0])
            )
        if isinstance(node, ast.Name):
            found = self.block.find(node.id)
            return isinstance(found, ScriptValue) and found.type in _NUMBERS
        return isinstance(node, ast.Constant) and isinstance(node.value, (int, float))

    def both(self, first: ScriptValue, test: ast.expr) -> ScriptValue:
        """Whether a condition that is computed already holds, and then another."""
        if first.constant:
            return self.truth(self.condition(test)[0], test) if first.arg else first
        if self.is_harmless(test):
            return self.emit(operator.and_, (first.arg, self.truth(self.condition(test)[0], test).arg), BOOL)
        return self.choose(first, lambda: self.truth(self.condition(test)[0], test), lambda: ScriptValue(BOOL, False), test)

    def on_BoolOp(self, node: ast.BoolOp) -> Any:
        """``a and b`` as a value: one of them, as Python has it; a bool where they are tensors or of different types."""
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

        def later() -> ScriptValue:
            self.refine(holds if is_and else fails)
            return self.plain(self.expression(rest), rest)

        def itself() -> ScriptValue:
            return ScriptValue(BOOL, not is_and) if value.type == BOOL else value

        return self.choose(truth, later, itself, node) if is_and else self.choose(truth, itself, later, node)

    def on_IfExp(self, node: ast.IfExp) -> Any:
        """``a if condition else b``."""
        condition, holds, fails = self.condition(node.test)
        condition = self.truth(condition, node.test)
        if condition.constant:
            self.refine(holds if condition.arg else fails)
            return self.expression(node.body if condition.arg else node.orelse)

        def side(expression: ast.expr, refined: Refined) -> Callable[[], ScriptValue]:
            def compute() -> ScriptValue:
                self.refine(refined)
                return self.plain(self.expression(expression), expression)

            return compute

        return self.choose(condition, side(node.body, holds), side(node.orelse, fails), node)

    def choose(
        self, condition: ScriptValue, then: Callable[[], ScriptValue], otherwise: Callable[[], ScriptValue], node: ast.AST
    ) -> ScriptValue:
        """A value that is computed in one of two ways."""
        outer, here = self.block, self.here
        blocks, values = [], []
        for compute in (then, otherwise):
            self.block = ScriptBlock(outer)
            values.append(self.materialized(compute()))
            blocks.append(self.block)
        self.block, self.here = outer, here
        first, second = values
        kind = unify(first.type, second.type)
        if isinstance(node, ast.BoolOp) and (kind is None or kind == TENSOR):
            for at, each in enumerate(blocks):
                self.block = each
                values[at] = self.truth(values[at], node)
            self.block, kind = outer, BOOL
            first, second = values
        if kind is None and getattr(node, "wanted", None) == ANY:
            kind = ANY
        if kind is None:
            raise ScriptError(f"the two sides are of different types: {first.type} and {second.type}", self.source, node)
        for each in blocks:
            for name in each.assigned:  # by `:=`
                outer.set(name, Undefined(f"'{name}' is set on one way through an expression alone: give it a value before"))
        made = self.branch_step(condition, (blocks[0], blocks[1]), ([first.arg], [second.arg]))
        return self.result(made, kind, None)

    def is_instance(self, node: ast.Call) -> tuple[ScriptValue, Refined, Refined]:
        """``isinstance(value, type)``: known, or tested when the program runs; then the name is of that type."""
        found = self.expression(node.args[0])
        wanted = self.asked_types(node.args[1])
        if not isinstance(found, ScriptValue):
            return ScriptValue(BOOL, False), {}, {}
        kind = found.type
        options = _options(kind)
        yes: list[Type]
        no: list[Type] = []
        if kind == NUMBER and NUMBER not in wanted:  # which one it is the value says
            yes = wanted if len(wanted) == 1 and wanted[0] in _OF_NUMBER else []
        elif kind in (ANY, OBJECT) or any(map(_is_open, options)):
            yes = [each for each in wanted if each.__class__ is not Bare]
        else:
            yes = [each for each in options if any(_fits(each, one) for one in wanted)]
            no = [each for each in options if each not in yes]
            if not yes or not no:
                return ScriptValue(BOOL, bool(yes)), {}, {}
        made = self.emit(graph_functions.is_kind, (found.arg, tuple(map(repr, wanted))), BOOL)
        if not isinstance(node.args[0], ast.Name):
            return made, {}, {}
        name = node.args[0].id
        return made, {name: _joined(yes)} if yes else {}, {name: _joined(no)} if no else {}

    def asked_types(self, node: ast.expr) -> list[Type]:
        """The types of an ``isinstance``; those of a Union one by one."""
        if isinstance(node, ast.Tuple):
            return [kind for each in node.elts for kind in self.asked_types(each)]
        bare = (
            self.source.named(node) if isinstance(node, (ast.Name, ast.Attribute)) and not self.block.has(getattr(node, "id", "")) else None
        )
        if isinstance(bare, type) and bare in BARE:
            return [BARE[bare]]
        if isinstance(bare, tuple):
            return [from_annotation(each) for each in bare]
        return _options(self.type_from(node))

    def type_from(self, annotation: Any, node: ast.AST | None = None) -> Type:
        raise NotImplementedError  # in Statements

    def statements(self, statements: list[ast.stmt], live: set[str]) -> None:
        raise NotImplementedError  # in Statements

    def branch_step(
        self, condition: ScriptValue, blocks: tuple[ScriptBlock, ScriptBlock], outputs: tuple[list[Any], list[Any]]
    ) -> ScriptStep:
        """A step for two branches that were written."""
        then, otherwise = StepBlock([], blocks[0].steps, tuple(outputs[0])), StepBlock([], blocks[1].steps, tuple(outputs[1]))
        return self.control(branch, (condition.arg,), {"then": then, "otherwise": otherwise})


def _identity(result: Any) -> Any:
    return getattr(result, "object", getattr(result, "module", result))


def _options(kind: Type) -> list[Type]:
    if isinstance(kind, OptionalType):
        return [*_options(kind.inner), NONE]
    return list(kind.options) if isinstance(kind, UnionType) else [kind]


_OF_NUMBER = frozenset((INT, FLOAT, COMPLEX, BOOL))


class Bare(Type):
    """A list, tuple or dict of whatever elements, as ``isinstance`` asks for it."""

    __slots__ = ()


BARE: dict[type, Bare] = {each: Bare(each.__name__) for each in (list, tuple, dict)}
_BARE_OF: dict[type, str] = {ListType: "list", TupleType: "tuple", DictType: "dict"}


def _fits(kind: Type, wanted: Type) -> bool:
    """Whether a value of a known type is of a type that is asked for."""
    if wanted.__class__ is Bare:
        return _BARE_OF.get(kind.__class__) == wanted.name
    return kind == wanted or (isinstance(wanted, InterfaceType) and assignable(kind, wanted))


def _is_open(kind: Type) -> bool:
    """Whether there is something in a type that is known only when the program runs."""
    if kind in (ANY, OBJECT):
        return True
    if isinstance(kind, ListType):
        return _is_open(kind.element)
    if isinstance(kind, DictType):
        return _is_open(kind.key) or _is_open(kind.value)
    if isinstance(kind, TupleType):
        return any(map(_is_open, kind.elements))
    return isinstance(kind, OptionalType) and _is_open(kind.inner)


def _joined(options: list[Type]) -> Type:
    rest = [each for each in options if each != NONE]
    if not rest:
        return NONE
    inner = rest[0] if len(rest) == 1 else UnionType(tuple(rest))
    return OptionalType(inner) if len(rest) < len(options) else inner
