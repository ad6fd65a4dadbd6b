"""The dtypes of ``out=``: which ones an op writes to, what it says to others, and which ops compute in the dtype of theirs."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

from .base import TensorBase
from .declare import Op
from .dtypes import BY_NUMPY, can_cast, legacy_name
from .errors import DtypeError, RushlightError
from .facets import Facet


class OutRule(NamedTuple):
    """What an op says to an ``out=`` of another dtype than its result's, and the dtypes that it takes nonetheless."""

    text: str
    also: tuple[str, ...] = ()
    cast: bool = False  # only one that the result can't be cast to is refused
    alone: bool = False  # only where the op has a single tensor, and that is not complex: otherwise types are promoted
    computes: bool = False  # without a ``dtype`` the op computes in that of ``out``
    error: type[RushlightError] = DtypeError


STRUCTURED = "Expected out tensor to have dtype {wanted_c}, but got {found_c} instead"
exact_out: Facet[OutRule] = Facet("out of one type", "writes only to an out= of the dtype of its result", source="rushlight.ops.out_types")
_C_NAMES = {
    "float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "int64": "long int", "int32": "int",
    "int16": "short int", "int8": "signed char", "uint8": "unsigned char", "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip


def check_out_type(op: Op, args: tuple[Any, ...], number: int, wanted: Any, found: Any) -> None:
    """Refuse an ``out=`` of another dtype than that of the op's result (the one of this number) where the op writes to no other."""
    rule = exact_out.of(op)
    if rule is None or rule.computes or BY_NUMPY[found].name in rule.also or (rule.cast and can_cast(BY_NUMPY[wanted], BY_NUMPY[found])):
        return
    if rule.alone and (any(isinstance(each, TensorBase) for each in args[1:]) or args[0]._array.dtype.kind == "c"):
        return
    raise rule.error(_worded(op, rule.text, wanted, found, number))


def _worded(op: Op, text: str, wanted: Any, found: Any, number: int = 0) -> str:
    """A text about an ``out=`` of a dtype that an op does not write to, with the names that it asks for."""
    names = {
        "wanted": legacy_name(wanted), "found": legacy_name(found), "name": op.public_name, "narrow": BY_NUMPY[wanted].name == "int32",
        "field": op.returns[number] if op.returns else "result",
    }  # fmt: skip
    kinds = {key: _C_NAMES.get(BY_NUMPY[each].name, BY_NUMPY[each].name) for key, each in (("wanted_c", wanted), ("found_c", found))}
    return text.format(**names, **kinds)


def with_type_of_out(op: Op, args: tuple[Any, ...], out: Any) -> tuple[Any, ...]:
    """The arguments of an op that computes in the dtype of ``out=`` where it is given none."""
    rule = exact_out.of(op)
    if rule is None or not rule.computes or not isinstance(out, TensorBase):
        return args
    found = BY_NUMPY[out._array.dtype]
    if found.name in rule.also or BY_NUMPY[args[0]._array.dtype].name in rule.also:
        return args
    return tuple(found if parameter.name == "dtype" and value is None else value for parameter, value in zip(op.parameters, args))


def check_dtype_argument(op: Op, wanted: Any, out: Any) -> None:
    """Refuse a ``dtype`` that is not that of ``out=``."""
    if BY_NUMPY[out._array.dtype] is not wanted:
        rule = exact_out.of(op)
        text = rule.text if rule is not None and rule.computes else STRUCTURED
        raise DtypeError(_worded(op, text, wanted.numpy, out._array.dtype))


def warn_resized(found: Any, wanted: Any) -> None:
    """Warn of an ``out=`` with elements whose size changes."""
    warnings.warn(
        f"An output with one or more elements was resized since it had shape {list(found)}, which does not match the required output shape "
        f"{list(wanted)}. This behavior is deprecated, and in a future PyTorch release outputs will not be resized unless they have zero elements. "
        "You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0).", UserWarning, stacklevel=5,
    )  # fmt: skip
