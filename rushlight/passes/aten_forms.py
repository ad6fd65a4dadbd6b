"""Ops of the table as calls of PyTorch's operators: the overload, with its arguments as PyTorch's functions pass them.

An exported graph holds the operators that PyTorch's Python functions call, composites among them (``linear``, ``layer_norm``).  Most ops have
the name and the arguments of their operator, and the overload follows from the schemas; ``operator_forms.py`` has those that have not.  What is no
operator at all is a composite here, whose body is recorded; the facet ``rewrites`` has bodies that are PyTorch's rather than ours.
"""

from __future__ import annotations

from typing import Any

from ..core.base import Spec, TensorBase
from ..core.declare import MISSING, Op
from ..core.devices import device as Device
from ..core.dtypes import dtype as Dtype
from ..core.schema import Argument, SchemaType
from ..graph.calls import same_value
from ..graph.node import Node
from ..ops.aten_calls import REDUCTIONS, packet
from ..ops.overloads import OpOverload
from .operator_forms import forms, known

Call = tuple[OpOverload, tuple[Any, ...], dict[str, Any]]

_PREFIXES = {"linalg": "linalg_", "fft": "fft_", "special": "special_"}
_SPELLINGS = {
    "self": ("input", "tensor"), "input": ("self",), "mat2": ("other",), "vec": ("vec2", "other"), "size": ("shape", "sizes"), "shape": ("size",),
    "dim": ("dims",), "dims": ("dim",), "end": ("stop",), "src": ("source",), "source": ("src",), "value": ("fill_value",), "train": ("training",),
    "indices": ("input", "index"), "vec2": ("other",), "normalized_shape": ("shape",), "lambd": ("lambda_",), "exponent": ("other",), "target": ("other",), "tensors": ("arrays",),
}  # fmt: skip


def call_of(op: Op, args: tuple[Any, ...]) -> Call | None:
    """The overload of ``aten`` that a call of an op is (of complete arguments, with nodes, tensors or specs for tensors); None where it is none."""
    base = op.functional or op
    given: Any = {parameter.name: list(value) if parameter.variadic else value for parameter, value in zip(op.parameters, args)}
    form = forms.of(base)
    name = _PREFIXES.get(base.namespace or "", "") + base.public_name
    wanted: str | None = None
    soft: set[str] = set()  # arguments that are defaults of the op: an overload need not have them
    if form is not None:
        found = form(**given)
        if found is None:
            return None
        name, given = found
        name, _, label = name.partition(".")
        wanted = label or None
    else:
        soft = {each.name for each in op.parameters if _is_default(each.name, given[each.name], each.default)}
        if given.pop("inplace", False):
            name += "_"
    if op.functional is not None and not name.endswith("_"):
        name += "_"
    operator = packet("aten", name) or (packet("aten", base.name) if form is None and op.functional is None else None)
    if operator is None:
        return None
    for strict in (True, False):  # first without values for what the overload demands and the call does not give
        for label, overload in operator._overloads.items():
            if wanted is not None and label != wanted:
                continue
            made = _bound(overload, given, soft, form is not None, strict)
            if made is not None:
                return overload, *made
    return None


def given_to(overload: OpOverload, args: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
    """All arguments of a call of an overload, in the order of its schema: defaults, too."""

    def default(each: Argument) -> Any:
        value, size = each.default_value if each.has_default else None, each.type.size
        return [value] * size if size is not None and type(value) is int else value

    arguments = overload._schema.arguments
    return [args[at] if at < len(args) else named.get(each.name, default(each)) for at, each in enumerate(arguments)]


def as_traced(name: str, given: list[Any]) -> tuple[str, list[Any]]:
    """An operator and its arguments as PyTorch's traces have it: one operator stands for all convolutions."""
    if not name.startswith("conv") or name.rstrip("_")[-1:] != "d":
        return name, given
    transposed = "transpose" in name
    if transposed:
        x, weight, bias, stride, padding, output_padding, groups, dilation = given
    else:
        (x, weight, bias, stride, padding, dilation, groups), output_padding = given, None
    kernel = known(weight).shape[2:]

    def spread(value: Any) -> list[int]:
        dims = len(kernel)
        return list(value) * (dims if len(value) == 1 else 1) if isinstance(value, (list, tuple)) else [value] * dims

    stride, dilation = spread(stride), spread(dilation)
    if isinstance(padding, str):
        padding = 0 if padding == "valid" else [step * (size - 1) // 2 for step, size in zip(dilation, kernel)]
    return "_convolution", [
        x, weight, bias, stride, spread(padding), dilation, transposed, spread(0 if output_padding is None else output_padding), groups,
        False, False, True, True,
    ]  # fmt: skip


def _is_default(name: str, value: Any, default: Any) -> bool:
    if name == "requires_grad" and not value:
        return True
    return default is not MISSING and same_value(value, default)


def _bound(overload: OpOverload, given: Any, soft: set[str], exact: bool, strict: bool) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments as the overload takes them, without defaults at the end; None where they do not fit."""
    arguments = overload._schema.arguments
    if any(each.is_out for each in arguments):
        return None
    if isinstance(given, list):  # in the order of the schema
        if len(given) > len(arguments):
            return None
        given = {each.name: value for each, value in zip(arguments, given)}
    rest = dict(given)
    pairs: list[tuple[Argument, Any]] = []
    numbers = overload._schema.numbers_as_tensors
    for each in arguments:
        key = (
            each.name
            if each.name in rest or exact
            else next((other for other in _SPELLINGS.get(each.name, ()) if other in rest), each.name)
        )
        if key not in rest:
            if not each.has_default:
                return None
            pairs.append((each, each.default_value))
            continue
        if strict and key in soft and not each.has_default:
            return None
        value = rest.pop(key)
        if each.name == "reduction" and isinstance(value, str):
            if value not in REDUCTIONS:
                return None
            value = REDUCTIONS.index(value)
        if value is None and each.has_default and not each.type.optional:
            value = each.default_value
        fitted = _fitted(value, each.type, numbers)
        if fitted is _NO:
            return None
        pairs.append((each, fitted))
    if any(value is not None for name, value in rest.items() if name not in soft):
        return None
    positional = [(each, value) for each, value in pairs if not each.kwarg_only]
    while positional and positional[-1][0].has_default and _same(positional[-1][1], positional[-1][0]):
        positional.pop()
    named = {each.name: value for each, value in pairs if each.kwarg_only and not _same(value, each)}
    return tuple(value for _, value in positional), named


def _same(value: Any, argument: Argument) -> bool:
    """Whether a value is the default of its argument."""
    default = argument.default_value
    if isinstance(value, Node) or isinstance(default, TensorBase):
        return False
    if isinstance(value, list) and isinstance(default, int) and argument.type.size is not None:
        return value == [default] * argument.type.size
    if isinstance(value, (list, tuple)) and isinstance(default, (list, tuple)):
        return list(value) == list(default)
    return type(value) is type(default) and bool(value == default)


_NO: Any = object()


def _fitted(value: Any, kind: SchemaType, numbers: bool) -> Any:
    """A value as an argument of a type has it; ``_NO`` where it does not fit."""
    if kind.optional:
        return None if value is None else _fitted(value, kind.getElementType(), numbers)
    if kind.kind_name == "List":
        inner = kind.getElementType()
        if isinstance(value, (list, tuple)) and not (isinstance(value, tuple) and hasattr(value, "_fields")):
            parts = [_fitted(each, inner, False) for each in value]
            if any(each is _NO for each in parts):
                return _NO
            return parts * kind.size if kind.size is not None and len(parts) == 1 and kind.size > 1 and inner.base == "int" else parts
        if kind.size is not None and not isinstance(value, (bool, str)) and inner.base in ("int", "SymInt", "float"):
            part = _fitted(value, inner, False)
            return _NO if part is _NO else [part] * kind.size
        return _NO
    found = known(value)
    tensor = isinstance(found, (Spec, TensorBase))
    base = kind.kind_name
    if base == "Tensor":
        return value if tensor or (numbers and isinstance(found, (int, float, complex))) else _NO
    if tensor:
        return _NO
    if base in ("int", "SymInt"):
        return value if isinstance(found, int) and not isinstance(found, bool) else _NO
    if base == "float":
        return float(value) if type(value) is int else value if isinstance(found, (int, float)) and not isinstance(found, bool) else _NO
    if base == "bool":
        return value if isinstance(found, bool) else bool(value) if type(found) is int and found in (0, 1) else _NO
    if base == "Scalar":
        return value if isinstance(found, (int, float, complex)) else _NO
    if base == "str":
        return value if isinstance(found, str) else _NO
    if base == "ScalarType":
        return value if isinstance(value, Dtype) else _NO
    if base == "Device":
        return (
            value if isinstance(value, Device) else Device(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else _NO
        )
    return value
