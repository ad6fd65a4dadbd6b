"""Entry points: the functions that users call, each compiled for the signature of its op on the first call.

Two kinds of calls have a fast path: pointwise ops whose kernel is a ufunc and whose operands have one dtype, and ops on a single
tensor; both only for tensors on the CPU (or on the one accelerator there is) while no mode is on.  All other calls, and all calls that fail, go to :func:`dispatch`,
which also words the errors.
"""

from __future__ import annotations

import warnings
from types import FunctionType
from typing import Any

import numpy as np

from . import generated_code, recording
from .argument_checks import NUMBERS, argument_error, check_arguments
from .base import Storage, TensorBase, View, make, runtime
from .declare import MISSING, Op, Parameter, Plain, set_entry_builder, table
from .devices import sole_accelerator
from .dispatch import attach, dispatch, dispatch_general, dispatch_in_place, dispatch_on_accelerator, settle, wrap, write_out
from .dtypes import BY_NUMPY, LOW_PRECISION, PYTHON_TYPES
from .errors import ArgumentError
from .facets import Facet
from .interception import OTHER_SPELLING, SPELLINGS
from .kernel_providers import UFUNCS, faster_product, faster_ufunc
from .node import refresh
from .overrides import ask_operator
from .parallel import LARGE
from .sparse import asks_first, holds_sparse
from .state import flags, state

_UNARY = """
    try:
        a = input._array
        if {plain}not flags.special and a.__class__ is ndarray{dtype_test} and a.size < LARGE:
            r = ufunc(a)
            if r.__class__ is not ndarray:
                r = settle(r)
            t = new(Tensor)
            t._array = r
            t._requires_grad = False
            t._grad_fn = None
            t._output_index = 0
            t._storage = None
            if input._requires_grad or input._storage is not None:
                if input._storage is not None and input._view is not None:
                    refresh(input)
                if input._requires_grad and state.grad_enabled:
                    attach(op, ({names},), t)
            return t
        if a.__class__ is sole_accelerator.array_type and {plain}not flags.special:
            if name in singles:
                if input._storage is not None and input._view is not None:
                    refresh(input)
                r = singles[name](a)
                if r is not NotImplemented:
                    t = new(Tensor)
                    t._array = r
                    t._requires_grad = False
                    t._grad_fn = None
                    t._output_index = 0
                    t._storage = None
                    if input._requires_grad and state.grad_enabled:
                        attach(op, ({names},), t)
                    return t
            t = dispatch_on_accelerator(op, ({names},))
            if t is not NotImplemented:
                return t
    except (AttributeError, TypeError, ValueError):
        pass  # the general path handles it, or reports what is wrong
"""

_PLAIN_RESULT = """t = new(Tensor)
                t._array = r
                t._requires_grad = False
                t._grad_fn = None
                t._output_index = 0
                t._storage = None"""

_SINGLE = """
    if {plain}not flags.special:
        try:
            if input._storage is not None and input._view is not None:
                refresh(input)
            array = input._array
            {test}
                r = {run}
                if r.__class__ is not {kind}:
                    r = settle(r)
                {wrap}
                if input._requires_grad and state.grad_enabled:
                    if op.record is None or r.dtype.kind not in 'fc':
                        attach(op, ({names},), t)
                    else:
                        t._grad_fn = op.record(({names},), t)
                        t._requires_grad = True
                return t
{elsewhere}        except Exception:
            pass  # the general path reports what is wrong
"""

# `wrap`, inlined for views of tensors that are not inference tensors.
_VIEW_RESULT = """if input._inference:
                    return dispatch(op, ({names},))
                storage = input._storage
                if storage is None:
                    storage = input._storage = Storage(array)
                t = new(Tensor)
                t._array = r
                t._requires_grad = False
                t._grad_fn = None
                t._output_index = 0
                t._storage = storage"""

_VIEW_OF = """
                v, parent = new(View), input._view
                v.version = storage.version
                if parent is None:
                    v.base, v.chain, v.creation = input, ((this_op, {arguments}, None),), "default" if state.grad_enabled else "no_grad"
                else:
                    v.base, v.chain = parent.base, (*parent.chain, (this_op, {arguments}, None))
                    v.creation = parent.creation if state.grad_enabled else "no_grad"
                t._view = v"""

_ELSEWHERE = """\
            if array.__class__ is sole_accelerator.array_type:
                t = dispatch_on_accelerator(op, ({names},))
                if t is not NotImplemented:
                    return t
"""

_BINARY = """
    try:
        a = input._array
        if {plain}not flags.special and a.__class__ is ndarray:
            kind = other.__class__
            if {numbers}:
                if a.dtype.char not in 'fd':
                    return dispatch(op, ({names},){out})
                r = ufunc(a, other) if a.size < MANY else many(ufunc, a, other)
                requires = input._requires_grad
                if input._storage is not None and input._view is not None:
                    refresh(input)
                    requires = input._requires_grad
            else:
                b = other._array
                if a.dtype is not b.dtype or b.__class__ is not ndarray{dtype_test}:
                    return dispatch(op, ({names},){out})
                r = ufunc(a, b) if a.size < MANY else many(ufunc, a, b)
                if (input._storage is not None and input._view is not None
                        or other._storage is not None and other._view is not None):
                    refresh(input)
                    refresh(other)
                requires = input._requires_grad or other._requires_grad
            if r.__class__ is not ndarray:
                r = settle(r)
            t = new(Tensor)
            t._array = r
            t._requires_grad = False
            t._grad_fn = None
            t._output_index = 0
            t._storage = None
            if requires and state.grad_enabled{differentiable}:
                t._grad_fn = record(({names},), t)
                t._requires_grad = True
            return t
        if a.__class__ is sole_accelerator.array_type and {plain}not flags.special:
            kind = other.__class__
            if name in pairs and (kind is float or kind is int or kind is Tensor):
                if input._storage is not None and input._view is not None:
                    refresh(input)
                if kind is Tensor and other._storage is not None and other._view is not None:
                    refresh(other)
                r = pairs[name](a, other._array if kind is Tensor else other)
                if r is not NotImplemented:
                    t = new(Tensor)
                    t._array = r
                    t._requires_grad = False
                    t._grad_fn = None
                    t._output_index = 0
                    t._storage = None
                    if (input._requires_grad or kind is Tensor and other._requires_grad) and state.grad_enabled{differentiable}:
                        t._grad_fn = record(({names},), t)
                        t._requires_grad = True
                    return t
            t = dispatch_on_accelerator(op, ({names},))
            if t is not NotImplemented:
                return t
    except (AttributeError, TypeError, ValueError, OverflowError):
        pass  # the general path handles it, or reports what is wrong
"""

# What an op's most frequent calls amount to: the source of a condition on the arguments as they are given, another op, and its further arguments.
forwards: Facet[tuple[str, str, str]] = Facet("forwards", "calls of a composite that are calls of another op")

# The classes of operands that a composite takes without a further look.
PLAIN = {int, float, bool, complex, type(None)}

# Products: the dtypes that BLAS has, and operands of one rank.
_BLAS = " or a.dtype.char not in 'fdFD' or a.ndim != b.ndim"


# Operators that ask as the method does: ``a + b`` and ``2 + a`` as ``Tensor.add``.  Others ask under their own name.
_OPERATORS_OF_METHODS = frozenset(
    "__add__ __radd__ __sub__ __mul__ __rmul__ __truediv__ __mod__ __matmul__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ "
    "__rand__ __ror__ __rxor__".split()
)


# Reflected operators with a number, by the fast paths of others that give the same elements (and the same node, where there is one).
_NUMBER = "    if (other.__class__ is float or other.__class__ is int) and not flags.special"
_REFLECTED = {
    "__radd__": [f"{_NUMBER}:", "        return Tensor.__add__(input, other)"],
    "__rmul__": [f"{_NUMBER}:", "        return Tensor.__mul__(input, other)"],
    "__rsub__": [
        f"{_NUMBER} and not input._requires_grad and input._array.dtype.kind == 'f' and input._array.size < MANY:",
        "        return Tensor.__add__(Tensor.neg(input), other)",
    ],
}


def build_entry(op: Op, function: Any, form: str) -> Any:
    """Compile the entry point of an op; its code replaces that of the stub."""
    namespace = function.__globals__
    source = _entry_source(op, namespace, form)
    exec(generated_code.compiled(source, f"<call of {op.name}>"), namespace)
    compiled: FunctionType = namespace.pop("entry")
    function.__code__ = compiled.__code__.replace(co_name=function.__name__, co_qualname=function.__name__)
    function.__defaults__ = compiled.__defaults__
    function.__kwdefaults__ = compiled.__kwdefaults__
    return function


def _entry_source(op: Op, namespace: dict[str, Any], form: str) -> str:
    namespace.update(
        flags=flags, state=state, dispatch=dispatch, dispatch_in_place=dispatch_in_place, MISSING=MISSING, settle=settle,
        ndarray=np.ndarray, new=object.__new__, Tensor=runtime.tensor_type, TensorBase=TensorBase, refresh=refresh,
        attach=attach, body=op.body, write_out=write_out, argument_error=argument_error, spread_variadic=spread_variadic,
        LARGE=LARGE, MANY=UFUNCS, many=faster_ufunc, only_tensors=only_tensors, PLAIN=PLAIN, ask_operator=ask_operator,
        holds_sparse=holds_sparse, with_numbers_between=with_numbers_between, refuse_switch=refuse_switch,
        check_arguments=check_arguments, sole_accelerator=sole_accelerator, dispatch_on_accelerator=dispatch_on_accelerator, dispatch_general=dispatch_general,
    )  # fmt: skip
    PLAIN.add(runtime.tensor_type)
    if form != "function":
        return _operator_source(op, namespace, form)
    signature, prologue = _signature(op, namespace)
    names = ", ".join(p.name for p in op.parameters)
    out = ", out" if op.has_out else ""
    lines = [f"def entry({signature}):", *("    " + line for line in prologue)]
    if op.functional is not None:
        lines.append(f"    return dispatch_in_place(op, ({names},))")
    elif op.kernel is None:
        others = "".join(map(_is_other, op.parameters))
        plain = forwards.of(op)
        if plain is not None:
            condition, target, passed = plain
            namespace["forwarded"] = table[target].call
            lines.insert(1, f"    if {condition} and not flags.special and {op.parameters[0].name}.__class__ is Tensor:")
            lines[2:2] = ["        try:", f"            return forwarded({op.parameters[0].name}, {passed})", "        except Exception:"]
            lines[5:5] = ["            pass  # the body reports what is wrong"]
        sparse = f" or holds_sparse(({names},))" if asks_first.of(op) else ""
        lines.append(f"    if flags.special{' or out is not None' if op.has_out else ''}{others}{sparse}:")
        lines.append(f"        return dispatch(op, ({names},){out})")
        lines += ["    try:", f"        return body({_passed(op)})", "    except Exception:"]
        lines += [f"        check_arguments(op, ({names},))", "        raise"]
    else:
        single = op.tensor_positions == ((0, "tensor"),) and op.returns is None and not op.factory
        if flags.special and (op.fast or single):
            lines += _deferred(f"{_passed(op)}{', out=out' if op.has_out else ''}")
        elif op.fast:
            lines += _fast_source(op, namespace, names, out)
        elif single:
            lines += _single_source(op, namespace, names)
        elif op.tensor_positions and not op.factory:
            lines += [
                "    if not flags.special:",
                f"        if sole_accelerator.kind is not None{' and out is None' if op.has_out else ''}:",
            ]
            lines += [
                f"            t = op.accelerator_call({names}) if op.accelerator_call is not None else dispatch_on_accelerator(op, ({names},))"
            ]
            lines += [
                "            if t is not NotImplemented:",
                "                return t",
                f"        return dispatch_general(op, ({names},){out})",
            ]
        lines.append(f"    return dispatch(op, ({names},){out})")
    return "\n".join(lines)


def _is_other(parameter: Parameter) -> str:
    """The source of a test whether an argument of a composite is no tensor: it may be of a class with ``__torch_function__``."""
    name = parameter.name
    if parameter.kind == "tensors" or (parameter.variadic and parameter.kind != "value"):
        return f" or not only_tensors({name})"
    return {
        "tensor": f" or not isinstance({name}, TensorBase)",
        "tensor?": f" or {name} is not None and not isinstance({name}, TensorBase)",
        "operand": f" or {name}.__class__ not in PLAIN",
        "operand?": f" or {name}.__class__ not in PLAIN",
    }.get(parameter.kind, "")


def only_tensors(values: Any) -> bool:
    """Whether a sequence is one of tensors; anything else is left to the general path."""
    for each in values if isinstance(values, (tuple, list)) else (values,):  # noqa: SIM110 - a loop is faster than a generator
        if not isinstance(each, TensorBase):
            return False
    return True


def _passed(op: Op) -> str:
    """The source of a call that passes on all parameters of an op."""
    return ", ".join(f"{p.name}={p.name}" if p.keyword_only else ("*" * p.variadic + p.name) for p in op.parameters)


def _deferred(passed: str) -> list[str]:
    """In place of a fast path that can't be taken now, since a mode is on: the first call that can take it compiles it."""
    return ["    if not flags.special:", f"        return build_entry(op, this, form)({passed})"]


def _operator_source(op: Op, namespace: dict[str, Any], form: str) -> str:
    """The entry point of ``a + b``: like the function's, but returns NotImplemented for operands that are no tensors or numbers."""
    namespace["OPERANDS"] = (TensorBase, *NUMBERS)
    for parameter in op.parameters[2:]:
        namespace[f"default_{parameter.name}"] = parameter.default
    rest = "".join(f", default_{p.name}" for p in op.parameters[2:])
    body = ""
    if form == "reflected":
        lines = ["def entry(input, other):"]
        call = f"other, input{rest}"
        if namespace["this"].__name__ == "__rtruediv__":  # as PyTorch, which rounds twice: elements of its files and traces are such
            namespace["TAKEN"] = (*NUMBERS, np.ndarray)
            lines += ["    if isinstance(other, TAKEN) and not flags.special:", "        return input.reciprocal() * other"]
            body = "input.reciprocal() * other"
        lines += _REFLECTED.get(namespace["this"].__name__, [])
    else:
        lines = ["def entry(input, other):"]
        call = f"input, other{rest}"
        if op.fast:
            lines += _deferred("input, other") if flags.special else _fast_source(op, namespace, call, "", operator=True)
    if op.kernel in ("equal", "not_equal"):  # where both operands return NotImplemented, Python compares identities
        namespace.update(known_types=BY_NUMPY, make=make, copy_array=np.array)
        lines.append("    if other.__class__ is ndarray and other.dtype in known_types:")
        lines.append("        return op.call(input, make(copy_array(other)))")
    named = "op.call" if namespace["this"].__name__ in _OPERATORS_OF_METHODS else "this"
    lines.append("    if not isinstance(other, OPERANDS):")
    lines.append(f"        return ask_operator({named}, input, other)")
    lines.append("    if flags.special and (flags.overrides or state.function_modes):")
    lines.append(f"        handled = ask_operator({named}, input, other)")
    lines.append("        if handled is not NotImplemented:")
    lines.append("            return handled")
    lines.append(f"    return {body or (f'dispatch(op, ({call},))' if op.kernel is not None else f'op.call({call})')}")
    return "\n".join(lines)


def _fast_source(op: Op, namespace: dict[str, Any], names: str, out: str, operator: bool = False) -> list[str]:
    """The fast path of pointwise ops whose kernel is a ufunc and whose operands have one dtype."""
    operands, dtypes = op.fast
    plain = "out is None and " if op.has_out and not operator else ""
    for parameter in () if operator else op.parameters[operands:]:
        namespace[f"plain_{parameter.name}"] = parameter.default
        plain += f"{parameter.name} is plain_{parameter.name} and "
    namespace.update(
        ufunc=getattr(np, op.ufunc) if isinstance(op.ufunc, str) else op.ufunc,
        pairs=sole_accelerator.pairs,
        singles=sole_accelerator.singles,
        name=op.name,
    )
    if dtypes == "blas":  # a product is not pointwise, so it can't be split into blocks; BLAS has threads of its own
        namespace.update(MANY=1 << 11, many=faster_product)
    if operands == 2 and op.vjp:
        recording.build(op)
        namespace["record"] = op.record
    fits, fails = {
        "any": ("", ""), "float": (" and a.dtype.kind == 'f'", " or a.dtype.kind != 'f'"),
        "real": (" and a.dtype.kind != 'c'", " or a.dtype.kind == 'c'"), "blas": (_BLAS, _BLAS),
    }[dtypes]  # fmt: skip
    if operands == 1:
        text = _UNARY.format(plain=plain, names=names, dtype_test=fits)
    else:
        text = _BINARY.format(
            plain=plain, names=names, out=out, dtype_test=fails,
            numbers="kind is float or kind is int" if op.parameters[1].kind.startswith("operand") else "False",
            differentiable="" if op.vjp else " and False",
        )  # fmt: skip
    return text.strip("\n").split("\n")


def _single_source(op: Op, namespace: dict[str, Any], names: str) -> list[str]:
    """The fast path of ops on one tensor: a direct call of the kernel."""
    namespace.update(
        wrap=wrap,
        make=make,
        Storage=Storage,
        View=View,
        this_op=op.call,
        execute=op.family.execute,
        kernel=op.kernel,
        LOW_PRECISION=LOW_PRECISION,
        numpy=np,
    )
    rest = "".join(f", {p.name}" for p in op.parameters[1:])
    plain = isinstance(op.family, Plain)
    given = names.replace(op.parameters[0].name, "input", 1)
    xp, kind, test = "numpy", "ndarray", "if array.__class__ is ndarray{narrow}:"
    if op.view and not op.layout and "other devices" not in op.notes:  # a view costs no more on an accelerator, where there is but one
        xp, kind, test = (
            "xp",
            "kind",
            "kind = array.__class__\n            xp = numpy if kind is ndarray else sole_accelerator.arrays if kind is sole_accelerator.array_type else None\n            if xp is not None{narrow}:",
        )
    text = _SINGLE.format(
        plain="out is None and " if op.has_out else "", names=given,
        wrap=_view_result(op, given, rest) if op.view else _PLAIN_RESULT,
        test=test.format(
            narrow=(" and array.dtype not in LOW_PRECISION" if op.widen else "") + (" and array.flags.c_contiguous" if op.layout else "")
        ),
        elsewhere="" if op.view else _ELSEWHERE.format(names=given),
        run=f"kernel({xp}, array{rest})" if plain else f"execute(op, {xp}, (array{rest},))", kind=kind,
    )  # fmt: skip
    if op.parameters[0].name != "input":
        text = text.replace("input", op.parameters[0].name)
    return text.strip("\n").split("\n")


def _view_result(op: Op, given: str, rest: str) -> str:
    """The source that wraps a view; where no gradient flows (detach), memory and version are shared, history is not."""
    text = _VIEW_RESULT.format(names=given)
    if not op.vjp:
        return text
    arguments = op.parameters[-1].name if op.parameters[-1].variadic else f"({rest[2:]},)" if rest else "()"
    return text + _VIEW_OF.format(arguments=arguments)


def spread_variadic(op: Op, values: tuple[Any, ...], keyword: Any) -> tuple[Any, ...]:
    """``f(2, 3)``, ``f((2, 3))``, ``f([2, 3])`` and ``f(size=(2, 3))`` mean the same."""
    if keyword is not MISSING:
        if values:
            raise ArgumentError(f"{op.public_name}() got multiple values for its sizes")
        return tuple(keyword) if isinstance(keyword, (tuple, list)) else (keyword,)
    if len(values) == 1 and isinstance(values[0], (tuple, list)):
        return tuple(values[0])
    if not values and op.needs_variadic:
        raise TypeError(f'{op.public_name}() missing 1 required positional arguments: "{op.parameters[-1].name}"')
    return values


# Switches that PyTorch's own Python code reads as a condition, so that any value will do; all others have to be True or False.
_CONDITIONS = frozenset(
    "inplace return_indices hard sym full swap center need_weights average_attn_weights use_separate_proj_weight add_zero_attn".split()
)


def refuse_switch(op: Op, name: str, value: Any) -> None:
    """Refuse a number or a text for True or False: ``x.sum(0, 1)`` does not mean ``x.sum(0, keepdim=True)``."""
    if isinstance(value, (int, float, str, np.bool_)) and not isinstance(value, bool):
        raise argument_error(op, next(at for at, each in enumerate(op.parameters) if each.name == name), value, "bool")


_FACTORS = frozenset(("alpha", "beta", "value"))  # numbers that old programs pass between the tensors


def with_numbers_between(op: Op, values: tuple[Any, ...]) -> Any:
    """The call of an old form, such as ``add(input, alpha, other)`` or ``addmm(beta, input, alpha, mat1, mat2)``."""
    count = sum(not parameter.keyword_only for parameter in op.parameters)
    surplus = sum(isinstance(each, TensorBase) for each in values) - count
    for index, each in enumerate(values):  # a tensor without dimensions stands for a number
        if surplus > 0 and index and isinstance(each, TensorBase) and not each._array.ndim:
            values, surplus = (*values[:index], each.item(), *values[index + 1 :]), surplus - 1
    tensors = [each for each in values if isinstance(each, TensorBase)]
    numbers = [each for each in values if not isinstance(each, TensorBase)]
    names = [each for each in ("beta", "alpha", "value") if any(parameter.name == each for parameter in op.parameters)]
    if len(tensors) != count or len(numbers) > len(names) or not all(isinstance(each, NUMBERS) for each in numbers):
        raise TypeError(f"{op.public_name}() takes {count} positional arguments but {len(values)} were given")
    warnings.warn(
        f"This overload of {op.public_name} is deprecated: pass {' and '.join(names)} by name, after the tensors", UserWarning, stacklevel=3
    )  # fmt: skip
    return op.call(*tensors, **dict(zip(names, numbers)))


def _signature(op: Op, namespace: dict[str, Any]) -> tuple[str, list[str]]:
    """The source of the signature, and of the lines that handle NumPy's spellings of parameters before the call."""
    parts: list[str] = []
    prologue: list[str] = []
    star = False
    for parameter in op.parameters:
        name = parameter.name
        if parameter.keyword_only and not star:
            between = _FACTORS.issuperset(each.name for each in op.parameters if each.keyword_only)
            parts.append("*numbers" if between else "*")
            star = True
            if between:
                first = ", ".join(each.name for each in op.parameters if not each.keyword_only)
                prologue += ["if numbers:", f"    return with_numbers_between(op, ({first}, *numbers))"]
        if parameter.variadic:
            parts.append(f"*{name}_given")
            star = True
            continue
        alternative = OTHER_SPELLING.get(name)
        if parameter.default is not MISSING or alternative:
            namespace[f"default_{name}"] = parameter.default
            parts.append(f"{name}=default_{name}")
        elif any("=" in part for part in parts) and not star:
            parts.append(f"{name}=MISSING")  # after a parameter with another spelling, which has to have a default
        else:
            parts.append(name)
        if name == "dtype":  # Python's own types are taken for dtypes
            namespace["PYTHON_TYPES"] = PYTHON_TYPES
            prologue += ["if dtype.__class__ is type:", "    dtype = PYTHON_TYPES.get(dtype, dtype)"]
        if parameter.annotation == "bool" and name not in _CONDITIONS and isinstance(parameter.default, bool):
            prologue += [
                f"if {name} is not {parameter.default} and {name} is not {not parameter.default}:",
                f"    refuse_switch(op, {name!r}, {name})",
            ]
        if parameter.default is MISSING and "=" in parts[-1]:
            prologue.append(f"if {name} is MISSING{f' and {alternative} is MISSING' if alternative else ''}:")
            prologue.append(f"    raise TypeError(\"{op.public_name}() missing 1 required positional argument: '{name}'\")")
    if op.more_dims:
        parts.append("*more")
        last = op.parameters[-1].name
        prologue += ["if more:", f"    {last} = ({last}, *more)"]
        star = True
    extra = [OTHER_SPELLING[p.name] for p in op.parameters if p.name in OTHER_SPELLING]
    extra = [name for name in extra if name not in [p.name for p in op.parameters]]
    variadic = next((p.name for p in op.parameters if p.variadic), None)
    if (extra or op.has_out or variadic) and not star:
        parts.append("*")
    for name in extra:
        parts.append(f"{name}=MISSING")
        prologue = [f"if {name} is not MISSING:", f"    {SPELLINGS[name]} = {name}", *prologue]
    if variadic:
        parts.append(f"{variadic}=MISSING")
        plain = f"{variadic}_given if {variadic} is MISSING and len({variadic}_given) > 1"  # as in f(2, 3)
        prologue.append(f"{variadic} = {plain} else spread_variadic(op, {variadic}_given, {variadic})")
    if op.has_out:
        parts.append("out=None")
    return ", ".join(parts), prologue


set_entry_builder(build_entry)
