"""The schema of an op from the annotations of its Python function."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

from ..core.devices import device
from ..core.dtypes import dtype
from ..tensor import Tensor

Number = int | float | bool
_SCALAR = frozenset((int, float, bool))
_PARAMETERS: dict[Any, str] = {Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", Number: "Scalar", dtype: "ScalarType", device: "Device"}  # fmt: skip
SUPPORTED_RETURN_TYPES: dict[Any, str] = {
    Tensor: "Tensor",
    list[Tensor]: "Tensor[]",
    int: "SymInt",
    float: "float",
    bool: "bool",
    Number: "Scalar",
}


def infer_schema(prototype_function: Callable[..., Any], /, *, mutates_args: str | Iterable[str], op_name: str | None = None) -> str:
    """The schema of a function whose parameters and result are annotated: ``(Tensor x, float y=2.) -> Tensor``.

    ``mutates_args`` names the parameters that it writes to, or is ``"unknown"``: then all tensors may be written to.
    """
    signature = inspect.signature(prototype_function)

    def refuse(what: str) -> typing.NoReturn:
        raise ValueError(f"infer_schema(func): {what} Got func with signature {signature})")

    kinds = _resolved(prototype_function, signature)
    parameters: list[str] = []
    only = False
    if mutates_args != "unknown" and isinstance(mutates_args, str):
        raise ValueError('mutates_args must either be a sequence of the names of the arguments that are mutated or the string "unknown". ')
    for position, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            refuse("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.kind is parameter.KEYWORD_ONLY and not only:
            parameters.append("*")
            only = True
        if parameter.annotation is inspect.Parameter.empty:
            refuse(f"Parameter {name} must have a type annotation.")
        annotation = kinds.get(name, parameter.annotation)
        kind = _parameter_type(annotation)
        if kind is None:
            listed = typing.get_origin(annotation) is tuple
            hint = (
                f" We do not support Tuple inputs in schema. As a workaround, please try to use List instead. For example, "
                f"{tuple_to_list(annotation)}.\n\n" if listed else " "
            )  # fmt: skip
            refuse(f"Parameter {name} has unsupported type {annotation}.{hint}The valid types are: {_valid()}.")
        if mutates_args == "unknown" or name in mutates_args:
            if kind.startswith("Tensor"):
                kind = f"Tensor(a{position}!){kind.removeprefix('Tensor')}"
            elif mutates_args != "unknown":
                refuse(f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated")
        if parameter.default is inspect.Parameter.empty:
            parameters.append(f"{kind} {name}")
        else:
            parameters.append(f"{kind} {name}={_default(parameter.default, name, refuse)}")
    if mutates_args != "unknown":
        unknown = set(mutates_args) - signature.parameters.keys()
        if unknown:
            refuse(
                f"{unknown} in mutates_args were not found in the custom op's signature. mutates_args should contain the names of all args "
                "that the custom op mutates, or just the string 'unknown' if you don't know."
            )
    if signature.return_annotation is inspect.Signature.empty:
        refuse("No return type annotation was provided. Please add one.")
    result = _result_type(kinds.get("return", signature.return_annotation), refuse)
    return f"{op_name or ''}({', '.join(parameters)}) -> {result}"


def _resolved(function: Callable[..., Any], signature: inspect.Signature) -> dict[str, Any]:
    """The annotations of a function by name, if some of them are strings, as all are under ``from __future__ import annotations``."""
    found = [*(each.annotation for each in signature.parameters.values()), signature.return_annotation]
    if not any(map(_has_text, found)):
        return {}
    try:
        return typing.get_type_hints(function, include_extras=False)
    except NameError:
        text = next(each for each in found if _has_text(each))
        raise ValueError(f"Unsupported type annotation {text}. It is not a type.") from None


def _has_text(annotation: Any) -> bool:
    """Whether an annotation is, or holds, a string."""
    return isinstance(annotation, str) or any(map(_has_text, typing.get_args(annotation)))


def _parts(annotation: Any) -> tuple[Any, ...]:
    """The members of a union; anything else alone."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return typing.get_args(annotation)
    return (annotation,)


def _parameter_type(annotation: Any) -> str | None:
    """The schema's word for an annotation, or None."""
    members = _parts(annotation)
    inner = tuple(each for each in members if each is not type(None))
    optional = "?" if len(inner) < len(members) else ""
    if frozenset(inner) == _SCALAR:
        return f"Scalar{optional}"
    if len(inner) != 1:
        return None
    kind = inner[0]
    if kind in _PARAMETERS:
        return _PARAMETERS[kind] + optional
    if typing.get_origin(kind) in (list, collections.abc.Sequence) and len(typing.get_args(kind)) == 1:
        element = typing.get_args(kind)[0]
        word = _parameter_type(element)
        if word is None or "[" in word:
            return None
        if word.endswith("?") and word != "Tensor?" or (word.startswith("Tensor") and optional):
            return None
        return f"{word}[]{optional}"
    return None


def _valid() -> str:
    return (
        "Tensor, int, float, bool, str, int | float | bool, torch.dtype, torch.device; each of them or None; and lists or sequences of them"
    )


def tuple_to_list(tuple_type: Any) -> Any:
    """The list that an annotation of a tuple is to be written as: ``list[int]`` for ``tuple[int, int]``."""
    inside = tuple(dict.fromkeys(each for each in typing.get_args(tuple_type) if each is not ...))
    if not inside:
        return list
    return list[inside[0] if len(inside) == 1 else typing.Union[inside]]  # type: ignore[misc]  # noqa: UP007


def _default(value: Any, name: str, refuse: Callable[[str], typing.NoReturn]) -> str:
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value) if not isinstance(value, float) else f"{value}"
    if isinstance(value, (str, device)):
        return f'"{value}"'
    if isinstance(value, dtype):
        return value.name
    refuse(
        f"Parameter {name} has an unsupported default value type {type(value)}. Please file an issue on GitHub so we can prioritize this."
    )


def _result_type(annotation: Any, refuse: Callable[[str], typing.NoReturn]) -> str:
    if annotation is None or annotation is type(None):
        return "()"
    if typing.get_origin(annotation) is tuple:
        parts = [_one_result(each, refuse) for each in typing.get_args(annotation)]
        return f"({', '.join(parts)})" if len(parts) != 1 else f"(({parts[0]}))"
    return _one_result(annotation, refuse)


def _one_result(annotation: Any, refuse: Callable[[str], typing.NoReturn]) -> str:
    if frozenset(_parts(annotation)) == _SCALAR:
        return "Scalar"
    if typing.get_origin(annotation) is list:
        annotation = list[typing.get_args(annotation)[0]]  # type: ignore[misc]
    found = SUPPORTED_RETURN_TYPES.get(annotation)
    if found is None:
        refuse(f"Return has unsupported type {annotation}. The valid types are: {SUPPORTED_RETURN_TYPES}.")
    return found
