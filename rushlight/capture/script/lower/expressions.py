"""Lowering of expressions to steps."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from typing import Any

from ..frontend.errors import NotSupportedError, ScriptError
from ..frontend.name_usage import names_in, renamed
from ..frontend.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    NONE,
    SLICE,
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
    common,
    type_of,
    unify,
    union,
)  # fmt: skip
from ..ir import c_math, graph_functions
from ..ir.steps import ScriptStep
from .conditions import Conditions
from .core import number_type
from .scope import Bound, ModuleValue, ScriptValue, Static, Unrolled, is_size

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
UNARY: dict[type, Any] = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert, ast.Not: operator.not_}
_HINTS = {
    ast.Lambda: "write a function with def and call it",
    ast.SetComp: "scripts have no sets: use a dict or a list",
    ast.Set: "scripts have no sets: use a dict or a list",
    ast.Await: "scripts do not wait",
    ast.Yield: "collect the values in a list and return it",
    ast.YieldFrom: "collect the values in a list and return it",
}
_COMMON = frozenset((TENSOR, INT, FLOAT))  # what most operators are applied to
_REAL = frozenset((INT, BOOL, FLOAT))


class Expressions(Conditions):
    """Compiles expressions."""

    comprehensions = 0
    following: tuple[list[ast.stmt], int, set[str]] = ([], 0, set())  # statements, which of them comes next, and what is read after them

    @property
    def live(self) -> set[str]:
        """The names that are read after the statement that is being compiled."""
        statements, at, live = self.following
        return live | names_in(statements[at:])[0]

    def expression(self, node: ast.expr) -> Any:
        """What an expression stands for: a value, or something that exists only while the program is compiled."""
        kind = node.__class__
        if kind is ast.Name:
            known = self.block.find(node.id)  # type: ignore[attr-defined]
            return known if known.__class__ is ScriptValue else self.read(node)  # type: ignore[arg-type]
        method = _EXPRESSIONS.get(kind)
        if method is None:
            hint = _HINTS.get(type(node), "write it with what scripts have")
            raise NotSupportedError(f"{type(node).__name__} aren't supported:\n{hint}", self.source, node)
        before, self.here = self.here, node
        result = method(self, node)
        self.here = before
        return result

    def value(self, node: ast.expr) -> ScriptValue:
        """The value of an expression; a list literal is not made yet."""
        result = self.expression(node)
        return result if result.__class__ is ScriptValue else self.plain(result, node)

    def result_value(self, node: ast.expr) -> ScriptValue:
        """The value of an expression that is returned, which may be a Module."""
        return self.plain(self.with_modules(self.expression(node)), node)

    # -- names and constants -------------------------------------------------------------------------------------

    def on_Constant(self, node: ast.Constant) -> ScriptValue:
        """A literal."""
        if node.value.__class__ is int and node.value >= 1 << 63:
            raise ScriptError("the number is out of range (out of bounds): Expected one that fits into 64 bits", self.source, node)
        if isinstance(node.value, bytes):
            raise NotSupportedError("bytes are not supported in scripts: use a str or a tensor", self.source, node)
        return ScriptValue(type_of(node.value), node.value)

    def on_Attribute(self, node: ast.Attribute) -> Any:
        """``value.name``."""
        return self.attribute(self.expression(node.value), node.attr, node)

    def on_NamedExpr(self, node: ast.NamedExpr) -> Any:
        """``(name := value)``."""
        value = self.expression(node.value)
        self.block.set(node.target.id, self.materialized(value) if isinstance(value, ScriptValue) else value)
        return value

    # -- containers ----------------------------------------------------------------------------------------------

    def on_Tuple(self, node: ast.Tuple) -> Any:
        """``a, b``."""
        parts = self.elements(node.elts)
        if all(isinstance(each, ScriptValue) for each in parts):
            return ScriptValue(TupleType(tuple(each.type for each in parts)), tuple(each.arg for each in parts))
        return Unrolled(parts)

    def elements(self, nodes: list[ast.expr]) -> list[Any]:
        """The items of a list or tuple literal, ``*items`` among them."""
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
        wanted = getattr(node, "wanted", None)
        if isinstance(wanted, ListType) and all(assignable(each.type, wanted.element) for each in values):
            return ScriptValue(ListType(wanted.element), [each.arg for each in values])
        if isinstance(wanted, ListType) and values:
            raise ScriptError(
                f"List type annotation `{wanted}` did not match the types of the given list elements, which are "
                f"{', '.join(dict.fromkeys(repr(each.type) for each in values))}",
                self.source,
                node,
            )
        found = ListType(self.common_type(values, node))
        options = getattr(node, "options", ())
        if options and found not in options:
            raise ScriptError(
                f"Union type annotation has the inner types {', '.join(map(repr, options))}, and none of those types match the types of the given list "
                f"elements, which are {found.element}",
                self.source,
                node,
            )
        return ScriptValue(found, [each.arg for each in values])

    def hinted(self, node: Any, wanted: Type) -> Any:
        """A literal or comprehension that makes a container of a type which the program says."""
        kind = ListType if isinstance(node, (ast.List, ast.ListComp)) else DictType
        wanted = self.checked_hint(wanted, node)
        options = [wanted, *getattr(wanted, "options", ())] if not isinstance(wanted, OptionalType) else [wanted.inner]
        found = [each for each in options if isinstance(each, kind)]
        node.wanted = found[0] if len(found) == 1 else None
        node.options = found
        return node

    def checked_hint(self, wanted: Type, node: Any) -> Type:
        """The type that the program says a literal has, which must be one of its kind."""
        inner = wanted.inner if isinstance(wanted, OptionalType) else wanted
        kind, name = (ListType, "List") if isinstance(node, (ast.List, ast.ListComp)) else (DictType, "Dict")
        if isinstance(inner, UnionType):
            found = [each for each in inner.options if isinstance(each, kind)]
            if not found and ANY not in inner.options:
                raise ScriptError(f"Expected an Union type annotation with an inner {name} type, but got {wanted}", self.source, node)
            if len(found) > 1 and not getattr(node, "elts", getattr(node, "keys", True)):
                raise ScriptError(
                    f"Cannot assign an empty {name.lower()} to a variable annotated to be type {wanted}, because there are multiple possible {name} type "
                    "candidates in the Union annotation",
                    self.source,
                    node,
                )
        elif not isinstance(inner, (kind, InterfaceType)) and inner != ANY:
            raise ScriptError(f"Expected an annotation of type {name} but got {wanted}", self.source, node)
        return wanted

    def on_Dict(self, node: ast.Dict) -> ScriptValue:
        """``{key: value}``."""
        if any(key is None for key in node.keys):
            raise NotSupportedError("Dict expansion (e.g. `{**dict}`) is not supported in scripts: use update()", self.source, node)
        keys = [self.plain(self.expression(each), node) for each in node.keys if each is not None]
        values = [self.plain(self.expression(each), node) for each in node.values]
        wanted = getattr(node, "wanted", None)
        if isinstance(wanted, DictType):
            if all(assignable(each.type, wanted.key) for each in keys) and all(assignable(each.type, wanted.value) for each in values):
                return self.emit(dict, ([(one.arg, two.arg) for one, two in zip(keys, values)],), DictType(wanted.key, wanted.value))
        key, value = common([each.type for each in keys]), common([each.type for each in values])
        if key is not None and value is None:
            value = union([each.type for each in values])
        if key is None or value is None:
            raise ScriptError("Dict entries must contain only a single type of keys and of values", self.source, node)
        pairs = [(first.arg, second.arg) for first, second in zip(keys, values)]
        return self.emit(dict, (pairs,), DictType(key, value))

    def on_ListComp(self, node: ast.ListComp) -> ScriptValue:
        """A list comprehension: a loop that appends."""
        return self.comprehension(
            node, node.generators, lambda name, place: self.append_statement(name, node.elt, place), ast.List([], ast.Load())
        )

    def on_GeneratorExp(self, node: ast.GeneratorExp) -> ScriptValue:
        """A generator: a list in scripts."""
        return self.on_ListComp(ast.copy_location(ast.ListComp(node.elt, node.generators), node))

    def on_DictComp(self, node: ast.DictComp) -> ScriptValue:
        """A dict comprehension: a loop that sets items."""

        def put(name: str, place: ast.AST) -> ast.stmt:
            target = ast.Subscript(ast.Name(name, ast.Load()), node.key, ast.Store())
            return ast.Assign([target], node.value, lineno=node.lineno)

        return self.comprehension(node, node.generators, put, ast.Dict([], []))

    def append_statement(self, name: str, element: ast.expr, place: ast.AST) -> ast.stmt:
        """``name.append(element)``."""
        return ast.Expr(ast.Call(ast.Attribute(ast.Name(name, ast.Load()), "append", ast.Load()), [element], []))

    def comprehension(
        self, node: Any, generators: list[ast.comprehension], put: Callable[[str, ast.AST], ast.stmt], empty: ast.expr
    ) -> ScriptValue:
        """A comprehension as the loop that it is short for."""
        self.comprehensions += 1
        name = f"$_made{self.comprehensions}"
        body: list[ast.stmt] = [put(name, node)]
        for each in reversed(generators):
            for test in reversed(each.ifs):
                body = [ast.If(test, body, [])]
            body = [ast.For(each.target, each.iter, body, [], lineno=node.lineno)]
        names = {found: f"$_{found}{self.comprehensions}" for found in names_in([each.target for each in generators])[1]}
        loop = renamed(body[0], names)
        for inner in ast.walk(loop):
            if isinstance(inner, (ast.expr, ast.stmt)) and not hasattr(inner, "lineno"):
                ast.copy_location(inner, node)
        ast.copy_location(loop, node)
        ast.fix_missing_locations(loop)
        empty.wanted = getattr(node, "wanted", None)  # type: ignore[attr-defined]
        start = self.materialized(self.expression(ast.copy_location(empty, node)))
        self.block.set(name, start)
        following = self.following
        self.statements([loop], self.live | {name})
        self.following = following
        return self.block.find(name)  # type: ignore[no-any-return]

    # -- arithmetic ----------------------------------------------------------------------------------------------

    def on_BinOp(self, node: ast.BinOp) -> Any:
        """``a + b``."""
        return self.binary(OPERATORS[node.op.__class__], self.value(node.left), self.value(node.right), node)

    def binary(self, function: Any, left: ScriptValue, right: ScriptValue, node: ast.AST) -> ScriptValue:
        """An operator on two values; what is known of both is computed now."""
        if function is operator.mod and left.type == STR:
            right = self.formatted_parts(left, right)
        first_type, second_type = left.type, right.type
        if function is operator.pow and first_type in _REAL and second_type in _REAL:  # of ints, too, a float
            if left.constant and right.constant:
                return self.folded(graph_functions.power, [left.arg, right.arg], {}, FLOAT)
            return self.emit(graph_functions.power, (left.arg, right.arg), FLOAT)
        if first_type in _COMMON and second_type in _COMMON and (left.arg.__class__ is ScriptStep or right.arg.__class__ is ScriptStep):
            kind = TENSOR if first_type is TENSOR or second_type is TENSOR else self.binary_type(function, first_type, second_type, node)
            return self.emit(function, (left.arg, right.arg), kind)
        if left.constant and right.constant and not isinstance(left.type, EnumType):
            try:
                made = function(left.arg, right.arg)
            except Exception:
                pass
            else:
                return ScriptValue(type_of(made), c_math.wrapped(made) if made.__class__ is int else made)
        if function is operator.add and isinstance(left.type, TupleType) and isinstance(right.type, TupleType):
            first = [self.item(left, at) for at in range(len(left.type.elements))]
            second = [self.item(right, at) for at in range(len(right.type.elements))]
            return ScriptValue(TupleType((*left.type.elements, *right.type.elements)), tuple(each.arg for each in (*first, *second)))
        if function is operator.add:  # a tuple that is added to a list, such as sizes, counts as one
            left, right = self.as_list(self.listed_beside(left, right.type)), self.as_list(self.listed_beside(right, left.type))
        if isinstance(left.type, ClassType):
            return self.operated(f"__{function.__name__.strip('_')}__", left, [right], node)  # type: ignore[return-value]
        if isinstance(right.type, ClassType):
            return self.operated(f"__r{function.__name__.strip('_')}__", right, [left], node)  # type: ignore[return-value]
        kind = self.binary_type(function, left.type, right.type, node)
        return self.emit(function, (left.arg, right.arg), kind)

    def as_list(self, value: ScriptValue) -> ScriptValue:
        """Sizes, which are a tuple when the program runs, as the list that scripts have; all else as it is."""
        return self.emit(list, (value.arg,), value.type) if is_size(value) else value

    def listed_beside(self, value: ScriptValue, other: Type) -> ScriptValue:
        """A tuple as the list that it is beside a list of its elements' type; all else as it is."""
        if not isinstance(other, ListType) or not isinstance(value.type, TupleType):
            return value
        if not all(assignable(each, other.element) for each in value.type.elements):
            return value
        return ScriptValue(ListType(other.element), [self.item(value, at).arg for at in range(len(value.type.elements))])

    def formatted_parts(self, text: ScriptValue, value: ScriptValue) -> ScriptValue:
        """The right side of ``text % value``; what stands for %s is written as scripts write it."""
        if not isinstance(text.arg, str):
            return value
        letters = re.findall(r"%[^a-zA-Z%]*([a-zA-Z%])", text.arg)
        places = [each for each in letters if each != "%"]
        if not isinstance(value.type, TupleType):
            return self.shown(value) if places == ["s"] else value
        if len(places) != len(value.type.elements):
            return value
        items = [self.item(value, at) for at in range(len(places))]
        parts = [self.shown(each) if letter == "s" else each for letter, each in zip(places, items)]
        return ScriptValue(TupleType(tuple(each.type for each in parts)), tuple(each.arg for each in parts))

    def binary_type(self, function: Any, left: Type, right: Type, node: ast.AST) -> Type:
        """The type of an operator's result; an error where it has no meaning."""
        if left is right and (left is INT or left is FLOAT):
            return FLOAT if function is operator.truediv else left
        if isinstance(left, OptionalType) or isinstance(right, OptionalType) or left is NONE or right is NONE:
            raise ScriptError(
                f"Arguments for call are not valid: an operator on values of types {left} and {right}: one may be None; test 'is not None' (or assert it) before",
                self.source,
                node,
            )
        if left is TENSOR or right is TENSOR:
            if isinstance(left, DictType) or isinstance(right, DictType):
                raise ScriptError(f"Arguments for call are not valid: an operator on values of types {left} and {right}", self.source, node)
            return TENSOR
        if ANY in (left, right) or isinstance(left, UnionType) or isinstance(right, UnionType):
            return ANY
        repeats = function is operator.mul and {left, right} & {INT, BOOL}
        if STR in (left, right):
            if not (repeats or left == right or (left == STR and function is operator.mod)):
                raise ScriptError(
                    f"Arguments for call are not valid: an operator on values of types {left} and {right}: convert one with str() or int()",
                    self.source,
                    node,
                )
            return STR
        if isinstance(left, ListType) != isinstance(right, ListType) and not repeats:
            raise ScriptError(
                f"Arguments for call are not valid: an operator on values of types {left} and {right}: a list can be added to a list, and repeated by an int",
                self.source,
                node,
            )
        if isinstance(left, ListType):
            return left if function is operator.mul else (unify(left, right) or left)
        if isinstance(right, ListType):
            return right
        if isinstance(left, TupleType) or isinstance(right, TupleType):
            if left.__class__ is not right.__class__ and not repeats:
                raise ScriptError(f"Arguments for call are not valid: an operator on values of types {left} and {right}", self.source, node)
            return ANY
        if function is operator.truediv and {left, right} <= {INT, BOOL, FLOAT}:
            return FLOAT
        if function in (operator.and_, operator.or_, operator.xor) and left == right == BOOL:
            return BOOL
        if {left, right} <= {INT, BOOL, FLOAT}:
            return number_type(left, right)
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
                return ScriptValue(type_of(made), made)
        found = self.operated(f"__{function.__name__}__", value, [], node)
        return found or self.emit(function, (value.arg,), INT if value.type == BOOL else value.type)

    def on_JoinedStr(self, node: ast.JoinedStr) -> ScriptValue:
        """An f-string."""
        parts: list[Any] = []
        for each in node.values:
            if isinstance(each, ast.FormattedValue):
                conversion = chr(each.conversion) if each.conversion > 0 else ""
                specification = self.value(each.format_spec).arg if each.format_spec is not None else ""
                value = self.plain(self.expression(each.value), each)
                value = value if specification or conversion else self.shown(value)
                parts.append(self.emit(graph_functions.formatted, (value.arg, conversion, specification), STR).arg)
            else:
                parts.append(self.value(each).arg)
        if all(isinstance(each, str) for each in parts):
            return ScriptValue(STR, "".join(parts))
        return self.emit(graph_functions.joined, tuple(parts), STR)

    # -- items ---------------------------------------------------------------------------------------------------

    def on_Subscript(self, node: ast.Subscript) -> Any:
        """``value[index]``."""
        base = self.expression(node.value)
        if isinstance(base, (ModuleValue, Unrolled)):
            return self.known_item(base, node)
        if isinstance(base, Static):
            raise ScriptError("only values, ModuleLists and ModuleDicts have items in scripts", self.source, node)
        if isinstance(base, Bound):  # an attribute of a value of no known type
            base = self.plain(base, node)
        if isinstance(base.type, TupleType):
            return self.tuple_item(base, node)
        base = self.materialized(base)
        if isinstance(base.type, ClassType):
            return self.operated("__getitem__", base, [self.value(node.slice)], node)
        if base.type in (INT, FLOAT, BOOL, NONE) or isinstance(base.type, EnumType):
            raise ScriptError(f"'{base.type}' object is not subscriptable", self.source, node)
        self.check_index(base.type, node.slice, node)
        known = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if (isinstance(base.type, ListType) or base.type == STR) and isinstance(known, (str, float)):
            raise ScriptError(f"the items of a {base.type} are numbered: {known!r} is no number of an item", self.source, node.slice)
        return self.emit(operator.getitem, (base.arg, self.index(node.slice)), self.item_type(base.type, node.slice))

    def check_index(self, kind: Type, index: ast.expr, whole: ast.AST | None = None) -> None:
        """Refuse what can't stand in the brackets of a value, as far as that is seen without computing it."""
        parts = [each for each in (index.lower, index.upper, index.step) if each] if isinstance(index, ast.Slice) else [index]
        for each in parts:
            found = self.block.find(each.id) if isinstance(each, ast.Name) else None
            given = found.type if isinstance(found, ScriptValue) else type_of(each.value) if isinstance(each, ast.Constant) else ANY
            if isinstance(kind, DictType):
                if not assignable(given, kind.key):
                    raise ScriptError(
                        f"Expected a value of type '{kind.key}' for argument 'key' but instead found type '{given}'",
                        self.source,
                        whole if whole is not None else index,
                    )
            elif kind == TENSOR and given in (FLOAT, STR):
                raise ScriptError(f"Unsupported operation: indexing tensor with unsupported index type '{given}'", self.source, index)

    def known_item(self, base: Any, node: ast.Subscript) -> Any:
        """An item of a ModuleList, a ModuleDict or a tuple of Modules: its index must be known."""
        index = self.constant_index(node.slice)
        wanted = getattr(node, "wanted", None)
        if index is None and isinstance(wanted, InterfaceType) and isinstance(base, ModuleValue):
            if not base.path:  # of the Module itself
                return self.emit(base.below("__getitem__"), (self.value(node.slice).arg,), wanted, op="call_module")
            container = self.emit(base.path, (), ANY, op="get_attr")
            return self.emit(operator.getitem, (container.arg, self.value(node.slice).arg), wanted)
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

    def tuple_item(self, base: ScriptValue, node: ast.Subscript) -> Any:
        """An item, or a part, of a tuple."""
        assert isinstance(base.type, TupleType)
        index = self.constant_index(node.slice)
        count = len(base.type.elements)
        if isinstance(index, slice):
            items = [self.item(base, at) for at in range(*index.indices(count))]
            return ScriptValue(TupleType(tuple(each.type for each in items)), tuple(each.arg for each in items))
        if isinstance(index, int):
            if not -count <= index < count:
                raise ScriptError(f"Tuple index out of range: the tuple has {count} items, and none of number {index}", self.source, node)
            return self.item(base, index % count)
        return self.emit(operator.getitem, (base.arg, self.index(node.slice)), common(list(base.type.elements)) or ANY)

    def index(self, node: ast.expr) -> Any:
        """What stands in brackets, as an argument of a node."""
        if isinstance(node, ast.Slice):
            return slice(
                *(None if each is None else self.plain(self.expression(each), each).arg for each in (node.lower, node.upper, node.step))
            )
        if isinstance(node, ast.Tuple):
            return tuple(self.index(each) for each in node.elts)
        value = self.value(node)
        return value.arg if isinstance(value.arg, list) else self.plain(value, node).arg

    def item_type(self, kind: Type, index: ast.expr) -> Type:
        """The type of an item of a container."""
        if isinstance(index, ast.Slice) or kind in (TENSOR, STR) or self.is_slice(index):
            return kind
        if isinstance(kind, ListType):
            return kind.element
        if isinstance(kind, DictType):
            return kind.value
        if isinstance(kind, OptionalType):
            raise ScriptError(f"a value of type {kind} has no items: test 'is not None' before", self.source, index)
        return ANY

    def is_slice(self, index: ast.expr) -> bool:
        """Whether this is a slice object."""
        found = self.block.find(index.id) if isinstance(index, ast.Name) else None
        if isinstance(index, ast.Call) and isinstance(index.func, ast.Name) and index.func.id == "slice":
            return True
        return isinstance(found, ScriptValue) and found.type == SLICE

    def on_Call(self, node: ast.Call) -> Any:
        """``function(...)``."""
        return self.call(node)

    def on_Starred(self, node: ast.Starred) -> Any:
        """``*items`` where it can't stand."""
        raise NotSupportedError("'*' can stand only in calls and in lists", self.source, node)


_EXPRESSIONS: dict[type, Callable[[Any, Any], Any]] = {
    getattr(ast, name[3:]): getattr(Expressions, name) for name in dir(Expressions) if name.startswith("on_")
}
