"""Operators of serialized code that are Python's own: on numbers, texts, lists and dicts, and those of ``prim``."""

from __future__ import annotations

import ast
import copy
import math
import operator
import sys
import warnings
from collections.abc import Callable
from typing import Any

from ....amp.autocast_mode import is_autocast_enabled
from ....autograd import grad_mode
from ....core.declare import PACKAGE
from ....core.devices import device
from ....core.dtypes import BY_NAME
from ..frontend.errors import ScriptError
from ..frontend.types import (
    ANY,
    BOOL,
    DEVICE,
    FLOAT,
    INT,
    NONE,
    NUMBER,
    STR,
    TENSOR,
    DictType,
    ListType,
    OptionalType,
    TupleType,
    Type,
    without_none,
)  # fmt: skip
from ..ir import graph_functions, type_numbers
from ..lower.conditions import COMPARISONS
from ..lower.scope import Bound, ScriptValue
from .schema_calls import NUMBERS, SchemaCalls
from .upgraders import upgraded

Values = list[ScriptValue]
_COMPARED = {
    "eq": ast.Eq,
    "ne": ast.NotEq,
    "lt": ast.Lt,
    "le": ast.LtE,
    "gt": ast.Gt,
    "ge": ast.GtE,
    "__is__": ast.Is,
    "__isnot__": ast.IsNot,
}
_RENAMED = {"_argmax": "argmax", "_argmin": "argmin"}  # operators that PyTorch 1.0 had under other names
_BINARY: dict[str, Any] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "floordiv": operator.floordiv,
    "remainder": operator.mod, "pow": operator.pow, "__and__": operator.and_, "__or__": operator.or_, "__xor__": operator.xor,
    "__lshift__": operator.lshift, "__rshift__": operator.rshift, "and": operator.and_, "or": operator.or_, "xor": operator.xor,
}  # fmt: skip
_IN_PLACE: dict[str, Any] = {"add_": operator.iadd, "mul_": operator.imul}
_MATH = frozenset(
    "sqrt exp expm1 log log1p log10 log2 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc gamma lgamma degrees radians fabs "
    "floor ceil trunc isnan isinf isfinite factorial gcd fmod copysign atan2 ldexp frexp modf hypot".split()
)
_LIST = frozenset("append extend insert pop remove clear sort reverse copy index count".split())
_DICT = frozenset("keys values items get pop setdefault update clear copy popitem".split())
_TEXT = frozenset(each for each in dir(str) if not each.startswith("_"))
_MADE: dict[str, Any] = {"Int": int, "Float": float, "Bool": bool, "Complex": complex, "str": str, "IntImplicit": int, "FloatImplicit": float, "ComplexImplicit": complex, "ScalarImplicit": None}  # fmt: skip
_TENSOR_FACTS: dict[str, Type] = {
    "is_cuda": BOOL, "is_cpu": BOOL, "is_sparse": BOOL, "is_quantized": BOOL, "is_meta": BOOL, "requires_grad": BOOL, "data": TENSOR, "shape": ListType(INT),
    "device": DEVICE, "ndim": INT, "itemsize": INT, "nbytes": INT, "T": TENSOR, "mT": TENSOR, "H": TENSOR, "mH": TENSOR, "real": TENSOR, "imag": TENSOR, "is_leaf": BOOL,
    "retains_grad": BOOL, "grad": OptionalType(TENSOR), "output_nr": INT, "is_sparse_csr": BOOL,
}  # fmt: skip
_ABSENT = frozenset(
    "is_mkldnn is_xla is_xpu is_ipu is_hpu is_ort is_mps is_maia is_vulkan is_mtia is_nested".split()
)  # kinds of tensors that there are none of


class Operators(SchemaCalls):
    """Compiles calls of ``torch.name`` and ``ops.namespace.name``."""

    version: int  # of the archive's format
    counted: dict[Any, ScriptValue]  # numbers that traces made tensors of, by the steps that did

    def number_in(self, value: ScriptValue) -> ScriptValue | None:
        """The number that a tensor was made of, where the code did that: a size stays a size."""
        return self.counted.get(value.arg) if value.type == TENSOR else None

    def operator_call(self, place: str, name: str, node: ast.Call) -> Any:
        """A call of an operator."""
        name = _RENAMED.get(name, name) if place == "aten" else name
        if place in ("aten", "prim") and name in _COMPARED and len(node.args) == 2:
            return self.compare(self.comparison(name, node))[0]
        arguments: list[Any] = []
        for each in node.args:
            if isinstance(each, ast.Starred):
                arguments += self.spread(self.expression(each.value), each)
            else:
                arguments.append(self.expression(each))
        given = [each if isinstance(each, ScriptValue) else self.plain(each, node) for each in arguments]
        keywords: dict[str, ScriptValue] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise ScriptError("'**' in a call is not supported in archives", self.source, node)
            keywords[keyword.arg] = self.value(keyword.value)
        if place in ("aten", "prim"):
            older = upgraded(name, self.version, given, keywords)
            if older is not None:
                return self.upgraded_call(*older, node)
            found = self.python_operator(name, given, keywords, node)
            if found is None and place == "prim":
                found = self.primitive(name, given, keywords, node)
            if found is not None:
                return found
        return self.other_call(place, name, given, keywords, node)

    def other_call(self, place: str, name: str, given: Values, keywords: dict[str, ScriptValue], node: ast.Call) -> Any:
        """A call of an operator that is none of Python's."""
        return self.schema_call("aten" if place == "prim" else place, name, given, keywords, node)

    def upgraded_call(self, expression: ast.expr, values: dict[str, ScriptValue], node: ast.Call) -> Any:
        """A call of an operator that meant something else when the archive was written."""
        expression = copy.deepcopy(expression)
        for each in ast.walk(expression):
            ast.copy_location(each, node)
        version, self.version = self.version, sys.maxsize
        self.block.env.update(values)
        made = self.expression(expression)
        for name in values:
            del self.block.env[name]
        self.version = version
        return made

    def comparison(self, name: str, node: ast.Call) -> ast.Compare:
        """A comparison as Python writes it."""
        return ast.copy_location(ast.Compare(node.args[0], [_COMPARED[name]()], [node.args[1]]), node)

    def condition(self, node: ast.expr) -> Any:
        """A condition; those of serialized code are calls."""
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "torch"
        ):
            if node.func.attr in _COMPARED and len(node.args) == 2:
                return super().condition(self.comparison(node.func.attr, node))
            if node.func.attr == "__not__" and len(node.args) == 1:
                return super().condition(ast.copy_location(ast.UnaryOp(ast.Not(), node.args[0]), node))
        return super().condition(node)

    def compare(self, node: ast.Compare) -> Any:
        """A comparison; of numbers that may be None, too, as the code says that they are not."""
        if node.ops[0].__class__ in (ast.Is, ast.IsNot):
            return super().compare(node)
        left, right = self.value(node.left), self.value(node.comparators[0])
        if isinstance(left.type, OptionalType) or isinstance(right.type, OptionalType):
            kind = TENSOR if TENSOR in (without_none(left.type), without_none(right.type)) else BOOL
            return self.emit(COMPARISONS[node.ops[0].__class__], (self.plain(left, node).arg, self.plain(right, node).arg), kind), {}, {}
        return super().compare(ast.copy_location(ast.Compare(self.placed(left), node.ops, [self.placed(right)]), node))

    def placed(self, value: ScriptValue) -> ast.expr:
        """A value that is computed already, as an expression."""
        name = f"$value{len(self.block.env)}"
        self.block.env[name] = value
        return ast.copy_location(ast.Name(name, ast.Load()), self.here)  # type: ignore[type-var]

    def placed_device(self, *given: Any) -> Any:
        """A device that the code names, where ``map_location`` puts it."""
        raise NotImplementedError  # in ArchiveCompiler

    def dtype_argument(self, value: ScriptValue) -> Any:
        """A number of a dtype as the dtype."""
        raise NotImplementedError  # in ArchiveCompiler

    def made_tensor(self, given: Values, keywords: dict[str, ScriptValue], node: ast.Call) -> Any:
        """``torch.tensor(...)``."""
        raise NotImplementedError  # in ArchiveCompiler

    # -- Python's operators ----------------------------------------------------------------------------------------------

    def python_operator(self, name: str, given: Values, keywords: dict[str, ScriptValue], node: ast.Call) -> Any:
        """An operator on values that are no tensors, or one that all values have; None of those on tensors alone."""
        first = given[0] if given else None
        form = _FORMS.get(name)
        if form is not None:
            return form(self, given, keywords, node)
        if first is None:
            return None
        kind = first.type
        if len(given) == 2 and not keywords and name in _BINARY and self.is_python(name, given):
            return self.binary(_BINARY[name], first, given[1], node)
        if len(given) == 2 and name in _IN_PLACE and isinstance(kind, ListType):
            return self.emit(_IN_PLACE[name], (self.plain(first, node).arg, self.plain(given[1], node).arg), kind, impure=True)
        if name == "neg" and kind in NUMBERS:
            return self.unary(operator.neg, first)
        if name in _MATH and kind in NUMBERS and (hasattr(math, name)):
            return self.mathematics(name, given, node)
        if name in ("abs", "round") and kind in NUMBERS:
            return self.call_builtin(abs if name == "abs" else round, [first], {}, node)
        if (
            (name in _LIST and isinstance(kind, ListType))
            or (name in _DICT and isinstance(kind, DictType))
            or (name in _TEXT and kind == STR)
        ):
            return self.method(name, given, keywords, node)
        if name == "slice" and (isinstance(kind, ListType) or kind == STR):
            start, stop, step = [*[self.plain(each, node).arg for each in given[1:4]], None, None, None][:3]
            return self.emit(operator.getitem, (self.plain(first, node).arg, slice(start, stop, step)), kind)
        if name == "select" and isinstance(kind, ListType) and len(given) == 2:  # before 1.2
            return _item(self, given, keywords, node)
        if name == "sum" and isinstance(kind, ListType):
            return self.call_builtin(sum, [self.materialized(first)], {}, node)
        if name in _TENSOR_FACTS and kind in (TENSOR, ANY) and len(given) == 1:
            return self.emit(getattr, (first.arg, name), _TENSOR_FACTS[name])
        if name in _ABSENT and len(given) == 1:
            return ScriptValue(BOOL, False)
        if name in ("dtype", "layout") and kind in (TENSOR, ANY) and len(given) == 1:
            return self.emit(type_numbers.number_of, (self.emit(getattr, (first.arg, name), ANY).arg,), INT)
        return None

    def is_python(self, name: str, given: Values) -> bool:
        """Whether a binary operator is that of Python: on two tensors, too, where it is the same as the function."""
        kinds = [each.type for each in given]
        if TENSOR in kinds:
            return (kinds[0] == TENSOR and kinds[1] in (TENSOR, INT, FLOAT) and name in ("add", "sub", "mul", "div")) or name.startswith(
                "__"
            )
        return not any(isinstance(each, OptionalType) for each in kinds)

    def unary(self, function: Any, value: ScriptValue) -> ScriptValue:
        """A number, changed."""
        return ScriptValue(value.type, function(value.arg)) if value.constant else self.emit(function, (value.arg,), value.type)

    def mathematics(self, name: str, given: Values, node: ast.AST) -> ScriptValue:
        """A function of ``math``."""
        kinds: dict[str, Type] = {**dict.fromkeys(("floor", "ceil", "trunc", "factorial", "gcd"), INT), **dict.fromkeys(("isnan", "isinf", "isfinite"), BOOL), "frexp": TupleType((FLOAT, INT)), "modf": TupleType((FLOAT, FLOAT))}  # fmt: skip
        values = [self.plain(each, node) for each in given]
        kind = kinds.get(name, FLOAT)
        if all(each.constant for each in values):
            return self.folded(getattr(math, name), [each.arg for each in values], {}, kind)
        return self.emit(getattr(math, name), tuple(each.arg for each in values), kind)

    def method(self, name: str, given: Values, keywords: dict[str, ScriptValue], node: ast.Call) -> Any:
        """A method of a list, a dict or a text."""
        base = self.materialized(given[0])
        rest: list[Any] = list(given[1:])
        kind = base.type
        if kind == STR and name in ("split", "rsplit", "strip", "lstrip", "rstrip") and rest and rest[0].type == NONE:
            rest[0] = ScriptValue(NONE, None)
        if kind == STR and name == "splitlines":
            rest = rest[:1]
        if isinstance(kind, ListType) and name == "sort":
            return self.call_bound(Bound(base, "sort"), [], {"reverse": rest[0]} if rest else {}, node)
        if isinstance(kind, DictType) and name == "get" and len(rest) == 1:
            made = self.call_bound(Bound(base, name), rest, {}, node)
            return ScriptValue(OptionalType(kind.value), made.arg)
        if isinstance(kind, DictType) and name == "get":
            made = self.call_bound(Bound(base, name), rest, {}, node)
            return ScriptValue(kind.value, made.arg)
        if isinstance(kind, DictType) and name == "clear":
            return self.emit("clear", (base.arg,), NONE, op="call_method", impure=True)
        if isinstance(kind, ListType) and name == "pop" and rest and rest[0].constant and rest[0].arg == -1:
            rest = []
        made = self.call_bound(Bound(base, name), rest, keywords, node)
        return base if name in ("append", "extend") and isinstance(kind, ListType) else made

    # -- prim ------------------------------------------------------------------------------------------------------------

    def primitive(self, name: str, given: Values, keywords: dict[str, ScriptValue], node: ast.Call) -> Any:
        """An operator of ``prim``."""
        first = given[0] if given else None
        if name == "RaiseException":
            return self.raised(given, node)
        if name == "Print":
            return self.call_builtin(print, list(given), {}, node)
        if first is None:
            return None
        if name in ("min", "max"):
            return self.call_builtin(min if name == "min" else max, list(given), {}, node)
        if name == "unchecked_unwrap_optional":
            return ScriptValue(without_none(first.type), first.arg)
        if name in ("EnumName", "EnumValue"):
            return self.value_attribute(first, "name" if name == "EnumName" else "value", node)
        if name in ("type", "index") and first.type == DEVICE:
            kind: Type = STR if name == "type" else OptionalType(INT)
            return self.wrap(getattr(first.arg, name), node) if first.constant else self.emit(getattr, (first.arg, name), kind)
        if name == "NumToTensor":
            made = self.schema_call("aten", "scalar_tensor", [first], {}, node) if first.type != INT else self.emit_tensor(first, node)
            self.counted[made.arg] = first
            return made
        if name == "tolist":
            return self.emit("tolist", (first.arg,), ANY, op="call_method")
        if name == "rangelist":
            return self.emit(list, (self.emit(range, (first.arg,), ANY).arg,), ListType(INT))
        if name in ("TupleUnpack", "TupleConstruct"):
            return (
                first
                if name == "TupleUnpack"
                else ScriptValue(TupleType(tuple(each.type for each in given)), tuple(each.arg for each in given))
            )
        if name == "TupleIndex" and isinstance(first.type, TupleType) and given[1].constant:
            return self.item(first, given[1].arg)
        if name == "isinstance":
            return ScriptValue(BOOL, True)
        return None

    def emit_tensor(self, value: ScriptValue, node: ast.AST) -> ScriptValue:
        """A number as a tensor of its kind."""
        return self.schema_call("aten", "scalar_tensor", [value], {"dtype": ScriptValue(INT, 4)}, node)

    def raised(self, given: Values, node: ast.AST) -> ScriptValue:
        """``raise``: what follows is never reached."""
        kind, message = "Exception", given[0] if given else ScriptValue(STR, "")
        if len(given) > 1 and given[1].constant and isinstance(given[1].arg, str):
            kind = given[1].arg.rpartition(".")[2]
        elif message.constant and isinstance(message.arg, str) and message.arg.startswith("AssertionError: "):
            kind, message = "AssertionError", ScriptValue(STR, message.arg.removeprefix("AssertionError: "))
        arguments = () if message.arg == "" else (self.plain(message, node).arg,)
        self.emit(graph_functions.raise_error, (kind if kind in graph_functions.EXCEPTIONS else "Exception", *arguments), ANY, impure=True)
        self.block.dead = True
        return ScriptValue(NONE, None)


# -- operators that have a form of their own -----------------------------------------------------------------------------

Form = Callable[[Operators, Values, dict[str, ScriptValue], ast.Call], Any]


def _contains(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
    if given[0].type == TENSOR:
        return None
    return compiler.contains(given[1], given[0], False, node)


def _negated(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
    value = given[0]
    return ScriptValue(BOOL, not value.arg) if value.constant else compiler.emit(operator.not_, (value.arg,), BOOL)


def _item(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
    base = compiler.materialized(given[0])
    if isinstance(base.type, TupleType) and given[1].constant:
        return compiler.item(base, given[1].arg)
    kind = base.type.element if isinstance(base.type, ListType) else base.type.value if isinstance(base.type, DictType) else base.type
    return compiler.emit(operator.getitem, (base.arg, compiler.plain(given[1], node).arg), kind)


def _set_item(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
    base = compiler.materialized(given[0])
    compiler.check_item(base, given[2], node)
    compiler.emit(operator.setitem, (base.arg, *[compiler.plain(each, node).arg for each in given[1:]]), ANY, impure=True)
    return base


def _delete(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
    return compiler.emit(graph_functions.delete_item, (given[0].arg, compiler.plain(given[1], node).arg), NONE, impure=True)


def _length(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
    return compiler.call_builtin(len, [compiler.materialized(given[0])], {}, node)


def _format(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
    return compiler.call_bound(Bound(given[0], "format"), list(given[1:]), {}, node)


def _percent(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
    values = given[1:]
    if len(values) == 1 and isinstance(values[0].type, TupleType):
        return compiler.binary(operator.mod, given[0], values[0], node)
    right = ScriptValue(TupleType(tuple(each.type for each in values)), tuple(compiler.plain(each, node).arg for each in values))
    return compiler.binary(operator.mod, given[0], right, node)


def _sizes(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
    if given[0].type not in (TENSOR, ANY):
        return None
    made = compiler.emit("size", tuple(each.arg for each in given), ListType(INT) if len(given) == 1 else INT, op="call_method")
    return made if len(given) > 1 else compiler.emit(list, (made.arg,), ListType(INT))  # which is equal to other lists


def _stride(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
    return compiler.emit("stride", tuple(each.arg for each in given), ListType(INT) if len(given) == 1 else INT, op="call_method")


def _converted(function: Any) -> Form:
    def run(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
        known = compiler.number_in(given[0])
        if known is not None and (function in (None, int) or known.type == FLOAT):
            return known
        if function is None:
            return compiler.emit("item", (given[0].arg,), NUMBER, op="call_method")
        return compiler.call_builtin(function, list(given), {}, node)

    return run


def _warn(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
    return compiler.emit(warnings.warn, (compiler.plain(given[0], node).arg,), NONE, impure=True)


def _list(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
    return compiler.call_builtin(list, list(given), {}, node)


def _dict(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
    return compiler.call_builtin(dict, list(given), {}, node)


def _sorted(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
    return compiler.call_builtin(sorted, list(given[:1]), {"reverse": given[1]} if len(given) > 1 else {}, node)


def _device(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
    if given[0].type == TENSOR:
        return compiler.emit(getattr, (given[0].arg, "device"), DEVICE)
    if all(each.constant for each in given):
        return ScriptValue(DEVICE, compiler.placed_device(*[each.arg for each in given]))
    return compiler.emit(device, tuple(each.arg for each in given), DEVICE)


def _range_length(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
    return compiler.emit(graph_functions.range_length, tuple(each.arg for each in given), INT)


def _derived(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
    scaled = compiler.binary(operator.mul, given[0], given[2], node)
    return compiler.binary(operator.add, given[1], scaled, node)


def _built(function: Any) -> Form:
    def run(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
        return None if given and given[0].type == TENSOR else compiler.call_builtin(function, list(given), {}, node)

    return run


def _divmod(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
    kind = INT if all(each.type == INT for each in given) else FLOAT
    return compiler.emit(divmod, tuple(each.arg for each in given), TupleType((kind, kind)))


def _present(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
    return compiler.emit(graph_functions.present, (compiler.plain(given[0], node).arg,), without_none(given[0].type), impure=True)


def _grad_enabled(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
    return compiler.emit(grad_mode.is_grad_enabled, (), BOOL, impure=True)


def _set_grad_enabled(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
    return compiler.emit(grad_mode.set_grad_enabled, (compiler.plain(given[0], node).arg,), ANY, impure=True)


def _autocast(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
    return compiler.emit(is_autocast_enabled, ("cpu",), BOOL, impure=True)


def _seeded(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
    return compiler.emit(sys.modules[PACKAGE].manual_seed, (compiler.plain(given[0], node).arg,), ANY, impure=True)


def _scripting(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
    return ScriptValue(BOOL, True)


def _waited(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
    """What was forked has run already."""
    return given[0]


def _with_default(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
    """A list of sizes with the last of the others where it has none; lists of ints have all."""
    return given[0]


def _tensor(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
    return compiler.made_tensor(given, keywords, node)


def _to(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
    """The forms of ``to`` that the table of schemas does not have: with a dtype or a device that may be None."""
    kinds = [each.type for each in given]
    rest = {key: each for key, each in keywords.items() if key in ("dtype", "device")}
    if (
        len(given) > 1
        and (kinds[1] == DEVICE or isinstance(kinds[1], OptionalType) and kinds[1].inner == DEVICE)
        and (len(given) == 2 or kinds[2] in (NONE, INT) or isinstance(kinds[2], OptionalType))
    ):
        rest["device"] = given[1]
        if len(given) > 2:
            rest["dtype"] = given[2]
    elif len(given) > 1 and (kinds[1] == NONE or isinstance(kinds[1], OptionalType)):
        rest["dtype"] = given[1]
    else:
        return None
    named = {
        key: compiler.dtype_argument(each) if key == "dtype" else compiler.plain(each, node).arg
        for key, each in rest.items()
        if each.type != NONE
    }
    return compiler.emit("to", (compiler.plain(given[0], node).arg,), TENSOR, named, op="call_method")


def _moved(name: str) -> Form:
    def run(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
        return compiler.emit("to", (compiler.plain(given[0], node).arg, compiler.placed_device(name)), TENSOR, op="call_method")

    return run


def _cast(name: str) -> Form:
    def run(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
        return compiler.emit("to", (compiler.plain(given[0], node).arg, BY_NAME[name]), TENSOR, op="call_method")

    return run


def _asked(name: str, kind: Type) -> Form:
    def run(compiler: Operators, given: Values, keywords: Any, node: ast.Call) -> Any:
        return compiler.emit(name, (compiler.plain(given[0], node).arg,), kind, op="call_method")

    return run


_CASTS = {
    "Byte": "uint8",
    "Char": "int8",
    "Double": "float64",
    "Float": "float32",
    "Half": "float16",
    "Int": "int32",
    "Long": "int64",
    "Short": "int16",
}
_FORMS: dict[str, Form] = {
    "to": _to, "cpu": _moved("cpu"), "cuda": _moved("cuda"), "element_size": _asked("element_size", INT),
    **{f"_cast_{name}": _cast(kind) for name, kind in _CASTS.items()},
    "__contains__": _contains, "__not__": _negated, "__getitem__": _item, "_set_item": _set_item, "Delete": _delete, "__delitem__": _delete, "len": _length,
    "format": _format, "percentFormat": _percent, "size": _sizes, "stride": _stride, "warn": _warn, "list": _list, "dict": _dict, "sorted": _sorted, "device": _device,
    "__range_length": _range_length, "__derive_index": _derived, "divmod": _divmod, "_unwrap_optional": _present, "is_grad_enabled": _grad_enabled, "set_grad_enabled": _set_grad_enabled, "manual_seed": _seeded, "is_autocast_enabled": _autocast, "is_autocast_cpu_enabled": _autocast,
    "tensor": _tensor, "as_tensor": _tensor, "is_scripting": _scripting, "list_with_default": _with_default, "wait": _waited,
    **{name: _converted(function) for name, function in _MADE.items()},
    **{each.__name__: _built(each) for each in (ord, chr, hex, oct, bin, any, all, hash)},
}  # fmt: skip
