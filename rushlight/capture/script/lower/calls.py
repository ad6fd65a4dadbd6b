"""Lowering of calls: functions of the library and of Python, special forms, and methods of values."""

from __future__ import annotations

import ast
import enum
import inspect
import math
import operator
import typing
import warnings
from collections import OrderedDict
from types import BuiltinFunctionType, FunctionType
from typing import Any

from ....autograd.function import Function
from ....core.base import runtime
from ....core.declare import PACKAGE, Op, lookup
from ....core.dtypes import BY_NAME
from ....core.missing import is_own
from ....core.size import Size
from ....nn.modules.module import Module
from ....nn.modules.utils import _pair, _quadruple, _single, _triple
from ....ops.create.factories import full
from ....ops.pointwise.where_clamp import where
from ....tensor.construct import as_tensor, tensor
from ....tensor.legacy import tensortype
from ...trace.fork import fork, wait
from ...trace.traced import TracedFunction, TracedModule
from ..frontend.annotations import IGNORED, UNUSED, _unwrap_optional, annotate, is_instance, is_scripting, mark_of
from ..frontend.errors import NotSupportedError, ScriptError
from ..frontend.source import MISSING
from ..frontend.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    NONE,
    STR,
    TENSOR,
    ClassType,
    DictType,
    InterfaceType,
    ListType,
    OptionalType,
    TupleType,
    Type,
    assignable,
    type_of,
    without_none,
)  # fmt: skip
from ..ir import c_math, graph_functions
from .attributes import tensor_member
from .core import tuple_like
from .iteration import parts_of
from .program_calls import ProgramCalls
from .result_types import MUTATORS, builtin_type, function_type, method_type, traced_type
from .scope import Bound, ModuleValue, ScriptValue, Static, Unrolled

_PYTHON = frozenset(
    (
        len, min, max, abs, sum, round, int, float, bool, str, complex, print, list, tuple, dict, sorted, any, all, ord, chr, divmod, pow, hex, oct, bin, repr, format, hash,
    )
)  # fmt: skip


_REPEATED: dict[Any, int] = {_single: 1, _pair: 2, _triple: 3, _quadruple: 4}
_OF_LISTS = (math.fsum, math.prod, math.dist, getattr(math, "sumprod", None))  # the last since Python 3.12
_NO_NUMBERS = (ListType, DictType, TupleType, OptionalType)
# Functions of math that are ops where they are given tensors, and of how many arguments.
_OF_TENSORS: dict[Any, int] = {
    **dict.fromkeys((
        math.ceil, math.floor, math.trunc, math.sqrt, math.exp, math.expm1, math.log, math.log2, math.log10, math.log1p, math.sin, math.cos, math.tan,
        math.asin, math.acos, math.atan, math.sinh, math.cosh, math.tanh, math.asinh, math.acosh, math.atanh, math.erf, math.erfc, math.lgamma,
        math.isnan, math.isinf, math.isfinite, math.frexp,
    ), 1),
    **dict.fromkeys((math.copysign, math.fmod, math.pow), 2),
}  # fmt: skip
_COUNTING, _COUNTED = (full, where), ("fill_value", "input", "other")
_ELEMENTS = {INT: BY_NAME["int64"], BOOL: BY_NAME["bool"]}
_STAND_INS: dict[Any, Any] = {Size: list, OrderedDict: dict}  # in a script sizes are lists of numbers, and every dict is ordered


class Calls(ProgramCalls):
    """Compiles calls."""

    def call(self, node: ast.Call) -> Any:
        """A call of anything."""
        special = self.special_form(node)
        if special is not None and special.__class__ is not Static:
            return special
        called = self.expression(node.func) if special is None else special
        if isinstance(called, Static) and called.object in (super,):
            raise ScriptError("super() is not supported in scripts: call the method of the base class by another name", self.source, node)
        arguments: list[Any] = []
        for each in node.args:
            if isinstance(each, ast.Starred):
                arguments += self.spread(self.expression(each.value), each)
            else:
                arguments.append(self.expression(each))
        keywords: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise NotSupportedError("keyword-arg expansion is not supported: write the keywords in place of '**'", self.source, node)
            keywords[keyword.arg] = self.expression(keyword.value)
        if isinstance(called, Bound):
            return self.call_bound(called, arguments, keywords, node)
        if isinstance(called, ModuleValue):
            return self.call_module(called, arguments, keywords, node)
        if isinstance(called, Static):
            return self.call_object(called.object, arguments, keywords, node)
        found = self.operated("__call__", called, arguments, node)
        if found is not None:
            return found
        raise ScriptError(f"cannot call a value of type '{self.type_name(called)}'", self.source, node)

    def spread(self, found: Any, node: ast.AST) -> list[Any]:
        """The items of ``*items``."""
        if isinstance(found, Unrolled):
            return list(found.items)
        if isinstance(found, ScriptValue) and isinstance(found.type, TupleType):
            return [self.item(found, at) for at in range(len(found.type.elements))]
        if isinstance(found, ScriptValue) and isinstance(found.arg, list):
            assert isinstance(found.type, ListType)
            return [ScriptValue(found.type.element, each) for each in found.arg]
        raise NotSupportedError(
            f"'*' needs a sequence whose length is known, as that of a tuple is; this is a {self.type_name(found)}", self.source, node
        )

    def special_form(self, node: ast.Call) -> Any:
        """Calls whose arguments are no values: isinstance, hasattr, annotate, ...; of a plain function, what is called."""
        first = node.func
        while isinstance(first, ast.Attribute):
            first = first.value
        if not isinstance(first, ast.Name) or self.block.has(first.id):
            return None
        found = self.source.named(node.func)
        if found is None or found.__hash__ is None:
            return None
        if found in _PYTHON or getattr(found, "op", None).__class__ is Op:
            return Static(found)
        if found in (isinstance, is_instance) and len(node.args) == 2:
            return self.condition(node)[0]  # type: ignore[attr-defined]
        if found in (hasattr, getattr) and len(node.args) >= 2:
            return self.reflected(found, node)
        if found is annotate or found is typing.cast:
            kind = self.type_from(node.args[0])  # type: ignore[attr-defined]
            literal = isinstance(node.args[1], (ast.List, ast.ListComp, ast.Dict, ast.DictComp))
            value = self.expression(self.hinted(node.args[1], kind) if literal else node.args[1])  # type: ignore[attr-defined]
            if isinstance(value, ScriptValue) and value.type == TENSOR and found is annotate:
                value = self.converted(value, kind)
            if not isinstance(value, ScriptValue) or not (assignable(value.type, kind) or found is typing.cast):
                raise ScriptError(f"expected a value of type {kind}, and found type {self.type_name(value)}", self.source, node)
            return ScriptValue(kind, value.arg)
        if found is is_scripting:
            return ScriptValue(BOOL, True)
        if getattr(found, "__name__", "") in ("is_tracing", "_get_tracing_state") and is_own(found):  # a script is not, whoever calls it
            return ScriptValue(BOOL, False)
        if (
            len(node.args) == 2 and getattr(found, "__name__", "") == "_assert" and found.__module__ == PACKAGE
        ):  # an assert, which a file can hold
            self.do_Assert(ast.copy_location(ast.Assert(*node.args), node))  # type: ignore[attr-defined]
            return ScriptValue(NONE, None)
        if found is _unwrap_optional and len(node.args) == 1:
            inner = self.value(node.args[0])
            if inner.type == NONE:
                raise ScriptError("the type could not be inferred from actual type None, which has no value", self.source, node)
            return self.emit(graph_functions.present, (inner.arg,), without_none(inner.type), impure=True)
        if found in _REPEATED and len(node.args) == 1:
            given = self.value(node.args[0])
            if not isinstance(given.type, (ListType, TupleType)):
                return ScriptValue(ListType(given.type), [given.arg] * _REPEATED[found])
            return given if isinstance(given.type, ListType) else self.listed_beside(given, ListType(given.type.elements[0]))  # type: ignore[attr-defined]
        if found is wait and len(node.args) == 1:  # what was forked has run
            return self.expression(node.args[0])
        if found is fork and node.args:
            return self.call(ast.copy_location(ast.Call(node.args[0], node.args[1:], node.keywords), node))
        if found in (range, enumerate, zip, reversed):
            return self.listed(node)
        if found is type:
            raise NotSupportedError("type() is not supported in scripts: use isinstance()", self.source, node)
        return None

    def reflected(self, function: Any, node: ast.Call) -> Any:
        """``hasattr`` and ``getattr`` with a name that is known."""
        base, name = self.expression(node.args[0]), self.value(node.args[1])
        if not name.constant or not isinstance(name.arg, str):
            raise ScriptError("the name of the attribute must be a constant", self.source, node.args[1])
        if isinstance(base, ModuleValue):
            there = hasattr(base.module, name.arg)
        elif isinstance(base, Static):
            there = self.source.attribute(base.object, name.arg, MISSING) is not MISSING
        else:
            kind = base.type if isinstance(base, ScriptValue) else ANY
            there = (
                hasattr(runtime.tensor_type, name.arg)
                if kind == TENSOR
                else isinstance(kind, TupleType) and name.arg in getattr(kind.kind, "_fields", ())
            )
        if function is hasattr:
            return ScriptValue(BOOL, there)
        if not there and len(node.args) == 3:
            return self.expression(node.args[2])
        return self.attribute(base, name.arg, node)

    def call_object(self, found: Any, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        """A call of a function or class from outside."""
        found = _STAND_INS.get(found, found) if found.__class__ is type else found
        if mark_of(found) == IGNORED and isinstance(found, type):
            raise NotSupportedError(f"Cannot instantiate class '{found.__name__}' in a script function", self.source, node)
        if found.__class__ in (type, BuiltinFunctionType) and found in _PYTHON:
            return self.call_builtin(found, arguments, keywords, node)
        if mark_of(found) == UNUSED:
            return self.emit(graph_functions.unused_call, (getattr(found, "__name__", str(found)),), self.python_type(found), impure=True)
        if mark_of(found) == IGNORED:
            return self.call_python(found, arguments, keywords, node)
        if hasattr(found, "_script_signature"):  # a scripted function
            return self.call_scripted(found, found, arguments, keywords, node)
        if isinstance(found, TracedFunction):
            result = traced_type(found.graph.output_node().args[0])
            count = len(found.graph.find_nodes(op="placeholder"))
            if len(arguments) > count:
                raise ScriptError(f"Expected at most {count} arguments but found {len(arguments)} positional arguments", self.source, node)
            return self.emit(found, tuple(self.values_of(arguments, node, False)), result, impure=True)
        op = getattr(found, "op", None)
        if isinstance(op, Op) or self.is_library(found):
            return self.call_library(found, arguments, keywords, node)
        if inspect.ismethod(found) and isinstance(found.__self__, type) and issubclass(found.__self__, Function):
            made = self.emit(
                found, tuple(self.values_of(arguments, node)), ANY, dict(zip(keywords, self.values_of(list(keywords.values()), node)))
            )
            made.arg.meta = {"python": found.__self__.__name__}
            return made
        if inspect.ismethod(found) and isinstance(found.__self__, type):
            scripted = self.script_function(found, node)
            return self.call_scripted(scripted, scripted, arguments, keywords, node)
        if found is slice:
            return self.sliced(arguments, node)
        if isinstance(found, tensortype):
            return self.legacy(found, arguments, keywords, node)
        if isinstance(found, type):
            return self.construct(found, arguments, keywords, node)
        if mark_of(inspect.getattr_static(type(found), "__call__", None)) == IGNORED or (
            isinstance(found, Module) and not isinstance(found, TracedModule) and not hasattr(found, "_script_programs")
        ):
            return self.call_python(found, arguments, keywords, node)
        if isinstance(found, Module):
            raise ScriptError(
                "Cannot call a ScriptModule that is not a submodule of the caller: make it an attribute of the Module that is scripted",
                self.source,
                node,
            )
        if isinstance(found, FunctionType):
            if hasattr(found, "__script_if_tracing_wrapper"):
                found = vars(found)["__original_fn"]  # an attribute would be mangled
            scripted = self.overloaded(found, arguments, keywords, node) or self.script_function(found, node)
            return self.call_scripted(scripted, scripted, arguments, keywords, node)
        name = getattr(found, "__name__", str(found))
        raise ScriptError(
            f"Python function '{name}' can't be called in a script: mark it with jit.ignore to call it as Python", self.source, node
        )

    def binary(self, function: Any, left: ScriptValue, right: ScriptValue, node: ast.AST) -> ScriptValue:
        raise NotImplementedError  # in Expressions

    def script_function(self, found: Any, node: ast.AST) -> Any:
        """A user's function, scripted too."""
        raise NotImplementedError  # in RecursiveCompiler

    def overloaded(self, found: Any, arguments: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """A user's function that has several signatures, scripted for the one that fits."""
        raise NotImplementedError  # in RecursiveCompiler

    def is_library(self, found: Any) -> bool:
        """Whether this is a function of the package, of math, or another that scripts know."""
        if found is warnings.warn:
            return True
        if isinstance(found, BuiltinFunctionType):
            return getattr(found, "__module__", None) in ("math", "cmath", "_operator") or getattr(math, found.__name__, None) is found
        if not is_own(found) or isinstance(found, Module) or not callable(found):
            return False
        return not (isinstance(found, type) and (issubclass(found, (tuple, enum.Enum, Module, Function, BaseException))))

    def call_library(self, found: Any, arguments: list[Any], keywords: dict[str, Any], node: ast.AST) -> ScriptValue:
        """A call of a function of the package: it runs as it does in eager code.  Of ``math``, on a tensor: that of the same name."""
        if getattr(found, "__module__", "") == "math":
            kinds = [each.type if isinstance(each, ScriptValue) else ANY for each in arguments]
            if len(kinds) == _OF_TENSORS.get(found) and (kinds[0] == TENSOR or (found is math.pow and TENSOR in kinds)):
                return self.call_library(lookup(found.__name__).call, arguments, keywords, node)
        self.check_arguments(found, len(arguments), keywords, node)
        if found in _COUNTING:
            arguments = [self.counted_truth(each) for each in arguments]
            keywords = {name: self.counted_truth(each) if name in _COUNTED else each for name, each in keywords.items()}
        args = self.values_of(arguments, node)
        kwargs = dict(zip(keywords, self.values_of(list(keywords.values()), node)))
        kinds = [each.type if isinstance(each, ScriptValue) else ANY for each in arguments]
        if found is operator.index and kinds == [INT]:
            return arguments[0]  # type: ignore[no-any-return]
        kind = function_type(found, kinds, keywords)
        if isinstance(getattr(found, "op", None), Op):
            self.check_operands(found.op, kinds, node)
        elif getattr(found, "__module__", "") == "math" and (
            wrong := [each for each in kinds if each == STR or (isinstance(each, _NO_NUMBERS) and found not in _OF_LISTS)]
        ):
            raise ScriptError(
                f"Arguments for call are not valid: {found.__name__}() takes numbers, and this is a {wrong[0]}", self.source, node
            )
        constant = not isinstance(getattr(found, "op", None), Op) and all(
            isinstance(each, ScriptValue) and each.constant for each in (*arguments, *keywords.values())
        )
        if constant and isinstance(found, BuiltinFunctionType) and found is not warnings.warn:
            return self.folded(found, args, kwargs, kind)
        if (
            found in (tensor, as_tensor) and len(args) == 1 and "dtype" not in keywords
        ):  # of an empty list, too, of the type of its elements
            leaf = kinds[0]
            while isinstance(leaf, ListType):
                leaf = leaf.element
            if leaf is not kinds[0] and leaf in _ELEMENTS and not isinstance(args[0], list):
                kwargs["dtype"] = _ELEMENTS[leaf]
        impure = found is warnings.warn or getattr(found, "__name__", "") == "manual_seed"
        return self.emit(found, tuple(args), kind, kwargs, impure=impure)

    def counted_truth(self, value: Any) -> Any:
        """A truth value as the number that scripts pass to an operator that takes numbers, which says the type of the result."""
        if not isinstance(value, ScriptValue) or value.type != BOOL:
            return value
        return ScriptValue(INT, int(value.arg)) if value.constant else self.emit(int, (value.arg,), INT)

    def check_operands(self, op: Any, kinds: list[Type], node: ast.AST) -> None:
        """Refuse texts and lists where an op takes a tensor."""
        for parameter, kind in zip(op.parameters, kinds):
            if parameter.variadic:
                break
            if parameter.kind in ("tensor", "operand") and (kind == STR or isinstance(kind, (ListType, DictType))):
                raise ScriptError(
                    f"Arguments for call are not valid: {op.name}() Expected a value of type 'Tensor' for argument '{parameter.name}' but instead found "
                    f"type '{kind}'",
                    self.source,
                    node,
                )

    def folded(self, found: Any, args: list[Any], kwargs: dict[str, Any], kind: Type) -> ScriptValue:
        """A call on values that are known, computed now; an error in it stays for when the program runs."""
        try:
            made = c_math.FUNCTIONS.get(found, found)(*args, **kwargs)
        except Exception:
            return self.emit(found, tuple(args), kind, kwargs)
        if made == [] and isinstance(kind, ListType):  # of which the type of the elements is known here alone
            return self.emit(list, ([],), kind)
        return ScriptValue(type_of(made), made)

    def call_builtin(self, found: Any, arguments: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """A call of one of Python's own functions."""
        self.check_arguments(found, len(arguments), keywords, node)
        if found is len and len(arguments) == 1:
            only = arguments[0]
            if isinstance(only, Unrolled):
                return ScriptValue(INT, len(only.items))
            if isinstance(only, ModuleValue):
                owner = getattr(only.module, "_script_class", type(only.module))
                if not getattr(owner, "__len__", parts_of).__module__.startswith(PACKAGE + "."):  # the user's own
                    return self.call_method(only, "__len__", [], {}, node)
                return ScriptValue(INT, len(parts_of(only.module)))
            if isinstance(only, ScriptValue) and isinstance(only.type, TupleType):
                return ScriptValue(INT, len(only.type.elements))
        values = [self.plain(each, node) for each in arguments]
        if len(values) == 1 and isinstance(values[0].type, ClassType) and found is not print:
            return self.operated(f"__{found.__name__}__", values[0], [], node)
        if found is tuple and len(values) == 1 and isinstance(values[0].type, TupleType):
            return values[0]
        if found is list and len(values) == 1 and isinstance(values[0].type, TupleType):
            items = [self.item(values[0], at) for at in range(len(values[0].type.elements))]
            return ScriptValue(ListType(self.common_type(items, node)), [each.arg for each in items])
        self.check_builtin(found, [each.type for each in values], node)
        if found is pow and len(values) == 2 and not keywords:
            return self.binary(operator.pow, values[0], values[1], node)
        if found is print and keywords:
            raise ScriptError("print doesn't accept any keyword arguments", self.source, node)
        if found in (str, print):
            values = [self.shown(each) for each in values]
        kwargs = {name: self.plain(each, node) for name, each in keywords.items()}
        kind = builtin_type(found, [each.type for each in values])
        foldable = found not in (print, list, dict) and all(each.constant for each in (*values, *kwargs.values()))
        plain = {name: each.arg for name, each in kwargs.items()}
        if foldable:
            made = self.folded(found, [each.arg for each in values], plain, kind)
            return ScriptValue(FLOAT, float(made.arg)) if kind == FLOAT and made.constant else made
        made = self.emit(found, tuple(each.arg for each in values), kind, plain, impure=found is print)
        if kind == FLOAT and (found in (round, sum) or (found in (min, max) and INT in {each.type for each in values})):
            return self.emit(float, (made.arg,), FLOAT)  # Python's may be an int
        return made

    def check_builtin(self, found: Any, kinds: list[Type], node: ast.AST) -> None:
        """Refuse arguments that one of Python's functions can't take, whatever their values are."""
        first = kinds[0] if kinds else ANY
        bad = (found in (abs, round) and (first in (STR, NONE) or isinstance(first, (ListType, DictType, TupleType, OptionalType)))) or (
            (found is sum and isinstance(first, ListType) and first.element == STR)
            or (found in (min, max) and len(kinds) > 1 and STR in kinds and set(kinds) != {STR})
            or (found is len and first in (INT, FLOAT, BOOL, NONE))
        )
        if bad:
            raise ScriptError(f"Arguments for call are not valid: {found.__name__}() of {', '.join(map(repr, kinds))}", self.source, node)

    def shown(self, value: ScriptValue) -> ScriptValue:
        """A value that is made a text: floats and containers have another form than in Python."""
        if value.type == FLOAT or isinstance(value.type, (ListType, TupleType, DictType)):
            if value.constant and value.type == FLOAT:
                return ScriptValue(STR, graph_functions.shown(value.arg))
            return self.emit(graph_functions.shown, (value.arg,), STR)
        return value

    # -- methods -------------------------------------------------------------------------------------------------

    def call_bound(self, called: Bound, arguments: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """A call of a method."""
        base, name = called.receiver, called.name
        if isinstance(base, ModuleValue):
            return self.call_method(base, name, arguments, keywords, node)
        kind = base.type
        if isinstance(kind, ClassType):
            return self.call_object_method(base, name, arguments, keywords, node)
        if isinstance(kind, InterfaceType):
            signature = kind.methods[name]
            bound = signature.bind(self, arguments, keywords, node)
            return self.emit(graph_functions.call_interface, (base.arg, name, *bound), signature.result, impure=True)
        base = self.as_list(base)  # type: ignore[attr-defined]
        if isinstance(kind, ListType) and name == "sort" and len(arguments) == 1:
            self.check_sorted(arguments[0], node)
            arguments, keywords = [], {"reverse": arguments[0], **keywords}
        args = self.values_of(arguments, node)
        kwargs = dict(zip(keywords, self.values_of(list(keywords.values()), node)))
        kinds = [each.type if isinstance(each, ScriptValue) else ANY for each in arguments]
        owner = str if kind == STR else list if isinstance(kind, ListType) else dict if isinstance(kind, DictType) else None
        if hasattr(owner, name):
            self.check_arguments(getattr(owner, name), len(arguments) + 1, keywords, node)
        if kind == STR and name == "format":
            arguments = [base, *(self.shown(self.plain(each, node)) for each in arguments)]
            args = self.values_of(arguments, node)
            if all(each.constant for each in arguments):
                return self.folded(graph_functions.format_text, args, {}, STR)
            return self.emit(graph_functions.format_text, tuple(args), STR)
        if (
            base.constant
            and kind == STR
            and all(isinstance(each, ScriptValue) and each.constant for each in (*arguments, *keywords.values()))
        ):
            return self.folded(getattr(base.arg, name), args, kwargs, method_type(STR, name, kinds))
        if kind == TENSOR:
            function: Any = tensor_member(name)
            self.check_arguments(function, len(arguments) + 1, keywords, node)
            op = getattr(function, "op", None)
            if isinstance(op, Op) and op.call is function:
                return self.emit(function, (base.arg, *args), function_type(function, [TENSOR, *kinds], keywords), kwargs)
            result = method_type(TENSOR, name, kinds)
            return self.emit(name, (base.arg, *args), result, kwargs, op="call_method", impure=name.endswith("_"))
        if isinstance(kind, ListType) and name in ("append", "insert", "extend"):
            self.grow(kind, name, arguments, node)
        if isinstance(kind, DictType) and name in ("setdefault", "update") and ANY in (kind.key, kind.value):
            self.settle(kind, name, kinds)
        if isinstance(kind, TupleType) and kind.kind is not None and name == "_replace":
            parts = {field: self.item(base, at).arg for at, field in enumerate(kind.kind._fields)}
            return ScriptValue(kind, tuple_like(kind.kind(*[None] * len(parts)), list({**parts, **kwargs}.values())))
        args = self.values_of(arguments, node, False)
        result = method_type(kind, name, kinds)
        made = self.emit(name, (base.arg, *args), result, kwargs, op="call_method", impure=kind == ANY or name in MUTATORS)
        if isinstance(kind, DictType) and name in ("keys", "values", "items"):  # a list in scripts
            return self.emit(list, (made.arg,), result)
        return made

    def check_sorted(self, given: Any, node: ast.AST) -> None:
        """Refuse what does not say whether the order is reversed, which may be said by position, too."""
        kind = self.plain(given, node).type
        if kind not in (BOOL, ANY):
            raise ScriptError(
                f"Arguments for call are not valid: sort() Expected a value of type 'bool' for argument 'reverse' but instead found type '{kind}'",
                self.source,
                node,
            )

    def settle(self, kind: DictType, name: str, kinds: list[Type]) -> None:
        """Something is put into an empty dict by a method, which says what it is a dict of."""
        given = kinds[0] if name == "update" and kinds else DictType(*kinds) if len(kinds) == 2 else ANY
        if isinstance(given, DictType):
            kind.key, kind.value = given.key, given.value

    def grow(self, kind: ListType, name: str, arguments: list[Any], node: ast.AST) -> None:
        """Something is put into a list: the first one settles what an empty list is a list of."""
        item = self.plain(arguments[-1], node).type if arguments else ANY
        if name == "extend":
            item = self.element_type(item)
        if kind.element == ANY:
            kind.element = item
        elif not assignable(item, kind.element):
            raise ScriptError(
                f"Could not match type {item} to {kind.element}: a value of type {item} can't be put into a {kind}, which has elements of one type",
                self.source,
                node,
            )
