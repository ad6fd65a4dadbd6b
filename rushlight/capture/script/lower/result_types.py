"""Result types of functions and methods of Python and of the package."""

from __future__ import annotations

import math
import typing
from typing import Any

from ....core.declare import Op
from ....graph import Node
from ....ops.overloads import OpOverload, OpOverloadPacket
from ..frontend.types import (
    ANY,
    BOOL,
    DEVICE,
    DTYPE,
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
    UnknownAnnotation,
    common,
    from_annotation,
    union,
)  # fmt: skip

_TENSOR_ATTRIBUTES: dict[str, Type] = {
    "shape": ListType(INT), "dtype": DTYPE, "device": DEVICE, "ndim": INT, "itemsize": INT, "nbytes": INT, "requires_grad": BOOL, "is_leaf": BOOL,
    "is_cuda": BOOL, "is_cpu": BOOL, "is_meta": BOOL, "is_sparse": BOOL, "is_quantized": BOOL, "output_nr": INT, "T": TENSOR, "mT": TENSOR,
    "H": TENSOR, "mH": TENSOR, "real": TENSOR, "imag": TENSOR, "data": TENSOR, "layout": ANY, "grad": ANY, "grad_fn": ANY,
}  # fmt: skip
_TENSOR_METHODS: dict[str, Type] = {
    "dim": INT, "ndimension": INT, "numel": INT, "nelement": INT, "element_size": INT, "is_floating_point": BOOL, "is_complex": BOOL,
    "is_contiguous": BOOL, "is_signed": BOOL, "is_same_size": BOOL, "item": NUMBER, "tolist": ANY, "storage_offset": INT, "get_device": INT,
    "is_pinned": BOOL, "is_shared": BOOL, "is_inference": BOOL, "backward": NONE, "numpy": ANY, "data_ptr": INT, "type": ANY, "equal": BOOL,
    "allclose": BOOL, "is_nonzero": BOOL, "__len__": INT,
}  # fmt: skip
_FUNCTIONS: dict[str, Type] = {
    "equal": BOOL, "allclose": BOOL, "is_nonzero": BOOL, "is_floating_point": BOOL, "is_complex": BOOL, "is_tensor": BOOL, "numel": INT,
    "is_same_size": BOOL, "is_grad_enabled": BOOL, "can_cast": BOOL, "result_type": DTYPE, "promote_types": DTYPE, "get_default_dtype": DTYPE,
    "tensor": TENSOR, "as_tensor": TENSOR, "is_tracing": BOOL, "is_in_onnx_export": BOOL, "is_signed": BOOL,
    "multi_head_attention_forward": TupleType((TENSOR, OptionalType(TENSOR))),
}  # fmt: skip
_SOMETIMES_SEVERAL = frozenset(
    "max min median nanmedian mode sort topk kthvalue cummax cummin unique unique_consecutive where std_mean var_mean".split()
)
_WITH_INDICES = {f"max_pool{dims}d": 6 for dims in (1, 2, 3)}  # functions that give indices, too, and the place of the flag
_WITH_INDICES.update({f"adaptive_max_pool{dims}d": 2 for dims in (1, 2, 3)})
_WITH_INDICES.update({f"fractional_max_pool{dims}d": 4 for dims in (2, 3)})
_LISTS = frozenset(
    "split chunk tensor_split hsplit vsplit dsplit unbind broadcast_tensors meshgrid atleast_1d atleast_2d atleast_3d split_with_sizes align_tensors".split()
)
_MATH: dict[Any, Type] = dict.fromkeys((math.floor, math.ceil, math.trunc, math.gcd, math.factorial, math.comb, math.perm, math.isqrt), INT)
_MATH.update(dict.fromkeys((math.isnan, math.isinf, math.isfinite, math.isclose), BOOL))
_MATH.update({math.modf: TupleType((FLOAT, FLOAT)), math.frexp: TupleType((FLOAT, INT))})
STR_METHODS = frozenset(name for name in dir(str) if not name.startswith("_"))
LIST_METHODS = frozenset("append extend insert pop remove clear sort reverse copy index count".split())
MUTATORS = frozenset("append extend insert pop remove clear sort reverse update setdefault popitem".split())


def attribute_type(name: str) -> Type:
    """The type of an attribute of a tensor."""
    return _TENSOR_ATTRIBUTES.get(name, ANY)


def function_type(function: Any, kinds: list[Type], keywords: dict[str, Any]) -> Type:
    """The type of what a function of the package (or of math) returns."""
    name = getattr(function, "__name__", "")
    if isinstance(function, (OpOverload, OpOverloadPacket)):
        return schema_type(function)
    if getattr(math, name, None) is function:
        return _MATH.get(function, FLOAT)
    op = getattr(function, "op", None)
    if name in _FUNCTIONS:
        return _FUNCTIONS[name]
    if name in _WITH_INDICES:
        return with_indices(_WITH_INDICES[name], len(kinds), keywords)
    if name in _SOMETIMES_SEVERAL:
        if name == "where":
            return ANY if len(kinds) + len(keywords) < 3 else TENSOR
        if name.startswith("unique"):
            flags = 2 if name == "unique" else 1  # the places before those of return_inverse and return_counts
            return TENSOR if len(kinds) <= flags and not any(each.startswith("return_") for each in keywords) else ANY
        single = (
            name in ("max", "min", "median", "nanmedian")
            and (len(kinds) == 1 or (len(kinds) == 2 and kinds[1] == TENSOR))
            and "dim" not in keywords
        )
        return TENSOR if single else ANY
    if name in _LISTS:
        return TENSOR if name.startswith("atleast") and kinds == [TENSOR] else ListType(TENSOR)
    if isinstance(op, Op):
        if op.returns is None:
            return TENSOR
        return ListType(TENSOR) if op.returns == "list" else ANY
    hint = getattr(function, "__annotations__", {}).get("return")
    if hint == "Tensor":
        return TENSOR
    try:
        return (
            ANY
            if hint is None
            else from_annotation(hint, lambda text: {"None": None, "bool": bool, "int": int, "float": float}.get(text, typing.Any))
        )
    except UnknownAnnotation:
        return ANY


def gives_tensors(function: Any) -> bool:
    """Whether a function gives tensors alone where it gives several results."""
    return isinstance(getattr(function, "op", None), Op) and getattr(function, "__name__", "") in _SOMETIMES_SEVERAL


def with_indices(at: int, count: int, keywords: dict[str, Any]) -> Type:
    """The type of what a max-pooling function returns: with indices only where its flag is a constant that says so."""
    flag = keywords.get("return_indices")
    if flag is None:
        return TENSOR if count <= at else ANY
    given = getattr(flag, "arg", None)
    return TupleType((TENSOR, TENSOR)) if given is True else TENSOR if given is False else ANY


def traced_type(result: Any) -> Type:
    """The type of what a traced program returns, by the structure of its graph's output."""
    if isinstance(result, tuple):
        return TupleType(tuple(map(traced_type, result)))
    if isinstance(result, list):
        return ListType(common(list(map(traced_type, result))) or ANY)
    return TENSOR if isinstance(result, Node) and hasattr(result.meta.get("val"), "dtype") else ANY


def schema_type(function: Any) -> Type:
    """The type of what an op of ``torch.ops`` returns, if all its overloads return the same."""
    schemas = [function._schema] if isinstance(function, OpOverload) else list(function._schemas.values())
    found = {str([str(each) for each in schema.returns]) for schema in schemas if "out" not in schema.overload_name}
    if len(found) != 1 or len(schemas[0].returns) != 1:
        return ANY
    text = str(schemas[0].returns[0]).partition("(")[0].split(" ")[0]
    return {"Tensor": TENSOR, "Tensor[]": ListType(TENSOR), "int": INT, "bool": BOOL, "float": FLOAT, "int[]": ListType(INT)}.get(text, ANY)


def method_type(kind: Type, name: str, kinds: list[Type]) -> Type:
    """The type of what a method returns that is no op."""
    if kind == TENSOR:
        if name in ("size", "stride"):
            return INT if kinds else ListType(INT)
        return _TENSOR_METHODS.get(name, TENSOR)
    if kind == STR:
        if name in ("split", "rsplit", "splitlines"):
            return ListType(STR)
        if name in ("find", "rfind", "index", "rindex", "count"):
            return INT
        if name in ("partition", "rpartition"):
            return TupleType((STR, STR, STR))
        if name.startswith("is") or name in ("startswith", "endswith"):
            return BOOL
        return STR if name != "encode" else ANY
    if isinstance(kind, ListType):
        if name == "pop":
            return kind.element
        return INT if name in ("index", "count") else (kind if name == "copy" else NONE)
    if isinstance(kind, DictType):
        if name in ("pop", "setdefault"):
            return kind.value
        if name == "get":  # without another value, None where the key is not there
            return kind.value if len(kinds) > 1 or kind.value == ANY else union([kind.value, NONE])
        if name in ("keys", "values"):
            return ListType(kind.key if name == "keys" else kind.value)
        if name == "items":
            return ListType(TupleType((kind.key, kind.value)))
        return kind if name == "copy" else (NONE if name != "popitem" else TupleType((kind.key, kind.value)))
    if isinstance(kind, TupleType):
        return INT
    return ANY


def builtin_type(function: Any, kinds: list[Type]) -> Type:
    """The type of what one of Python's own functions returns."""
    first: Type = kinds[0] if kinds else ANY
    if function in (len, ord, hash):
        return INT
    if function in (int, float, bool, str):
        return {int: INT, float: FLOAT, bool: BOOL, str: STR}[function]
    if function in (any, all):
        return BOOL
    if function in (chr, hex, oct, bin, repr, format):
        return STR
    if function is print:
        return NONE
    if function in (abs, round, pow):
        if function is pow:
            return TENSOR if TENSOR in kinds else FLOAT if set(kinds) <= {INT, FLOAT, BOOL} else ANY
        if function is round and len(kinds) == 1 and first in (INT, BOOL):
            return FLOAT
        return INT if first == BOOL else first
    if function in (min, max):
        if len(kinds) == 1:
            return first.element if isinstance(first, ListType) else (TENSOR if first == TENSOR else ANY)
        return common(kinds) or (FLOAT if set(kinds) == {INT, FLOAT} else ANY)
    if function is sum:
        return first.element if isinstance(first, ListType) and first.element in (INT, FLOAT) else ANY
    if function in (list, sorted):
        if not kinds:
            return ListType(ANY)
        if isinstance(first, DictType):
            return ListType(first.key)
        return first if isinstance(first, ListType) else ListType(first if first in (STR, TENSOR) else ANY)
    if function is dict:
        pair = first.element if isinstance(first, ListType) else ANY
        if isinstance(pair, TupleType) and len(pair.elements) == 2:
            return DictType(*pair.elements)
        return first if isinstance(first, DictType) else DictType(ANY, ANY)
    return ANY
