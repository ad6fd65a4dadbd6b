"""What ONNX's own schemas say: since when an operation exists, and which element types it takes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ..core.dtypes import BY_NAME, BY_NUMPY
from .errors import UnsupportedOperatorError

_NAMES = {"float32": "float", "float64": "double"}  # where ONNX calls a type otherwise
# In which types values of a type can be computed where an operation does not take them: the first that it takes is used.
_SMALL = ("int32", "int64", "float32")
_WIDER = {
    "bool": _SMALL, "uint8": _SMALL, "int8": _SMALL, "uint16": _SMALL, "int16": _SMALL, "int32": ("int64", "float64"),
    "uint32": ("int64", "float64"), "int64": ("float64",), "float16": ("float32",), "bfloat16": ("float32",),
}  # fmt: skip


# Types that an operation takes by its schema, and for which ONNX Runtime has no kernel on a CPU.
_WITHOUT_KERNEL = {
    name: frozenset(f"tensor({each})" for each in types.split())
    for name, types in {
        "Where": "bool int8 int16 uint16 uint32", "Trilu": "uint8 int8 int16 uint16 uint32", "Pow": "uint8 int8 int16 uint16 uint32",
        "Max": "int16 uint16", "Min": "int16 uint16", "Clip": "int16 uint16", "Pad": "int16 uint16",
        "Unique": "bool uint8 int16 uint16 int32 uint32",
    }.items()
}  # fmt: skip


@cache
def _since() -> dict[str, int]:
    import onnx.defs

    first: dict[str, int] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "" and not schema.deprecated:
            first[schema.name] = min(schema.since_version, first.get(schema.name, schema.since_version))
    return first


def first_opset(name: str) -> int | None:
    """The first opset that has an operation; None for one that ONNX does not have."""
    return _since().get(name)


@cache
def _types(name: str, opset: int) -> tuple[list[str], list[str], dict[str, frozenset[str]]]:
    """The type variables of an operation's inputs and outputs (of a variadic one, the last is that of all others), and what they may be."""
    import onnx.defs

    schema = onnx.defs.get_schema(name, opset, "")
    variables = {each.type_param_str: frozenset(each.allowed_type_strs) for each in schema.type_constraints}
    mixed = [each.type_str for each in (*schema.inputs, *schema.outputs) if not each.is_homogeneous]
    lacking = _WITHOUT_KERNEL.get(name, frozenset())
    allowed = {key: types - lacking for key, types in variables.items() if key not in mixed}
    return [each.type_str for each in schema.inputs], [each.type_str for each in schema.outputs], allowed


def spelled(dtype: np.dtype[Any]) -> str:
    """A tensor type as schemas write it."""
    name = BY_NUMPY[dtype].name
    return f"tensor({_NAMES.get(name, name)})"


def widened(name: str, opset: int, dtypes: Sequence[np.dtype[Any] | None]) -> tuple[dict[int, Any], dict[int, Any]]:
    """The other types that inputs need for an operation that does not take theirs, and the types its outputs go back to, by place."""
    variables, results, allowed = _types(name, opset)
    changed: dict[str, tuple[Any, Any]] = {}
    inputs: dict[int, Any] = {}
    for at, dtype in enumerate(dtypes):
        variable = variables[min(at, len(variables) - 1)] if variables else ""
        types = allowed.get(variable)
        if dtype is None or types is None or spelled(dtype) in types:
            continue
        if dtype.kind == "c":
            raise UnsupportedOperatorError(name, opset, None, "ONNX has no complex arithmetic")
        wider = [np.dtype(each) for each in _WIDER.get(BY_NUMPY[dtype].name, ()) if spelled(np.dtype(each)) in types]
        if wider:
            changed.setdefault(variable, (dtype, wider[0]))
            inputs[at] = changed[variable][1]
    return inputs, {at: changed[each][0] for at, each in enumerate(results) if each in changed}


def typed_results(name: str, opset: int, dtypes: Sequence[np.dtype[Any] | None], count: int) -> list[np.dtype[Any] | None]:
    """The types of an operation's outputs by its schema: one that it names, or that of the inputs which share the variable; else that of the first input."""
    known = [each for each in dtypes if each is not None]
    first = known[0] if known else None
    if not name or first_opset(name) is None:
        return [first] * count
    variables, results, allowed = _types(name, opset)
    taken = {variables[min(at, len(variables) - 1)]: each for at, each in reversed([*enumerate(dtypes)]) if each is not None and variables}
    found = []
    for at in range(count):
        text = results[min(at, len(results) - 1)] if results else ""
        types = allowed.get(text, frozenset((text,)))
        only = _named(next(iter(types))) if len(types) == 1 else None
        found.append(only or taken.get(text, first))
    return found


def _named(text: str) -> np.dtype[Any] | None:
    """A tensor type by a schema's spelling; None for a variable, a sequence, or a type of ONNX's alone."""
    name = text.removeprefix("tensor(").removesuffix(")")
    return BY_NAME[name].numpy if text != name and name in BY_NAME else None
