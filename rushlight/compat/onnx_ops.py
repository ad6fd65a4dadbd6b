"""`torch.onnx.ops`: nodes of ONNX as operators of a program: any node by its name and attributes, rotary embedding, attention.

``symbolic`` gives zeros of the type and shape that its node is said to have; the others compute what ONNX says.  In a file each is one node, which for
rotary embedding and attention takes opset 23; before it they are written in simpler nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import ops
from ..core.base import TensorBase
from ..core.declare import table
from ..core.dtypes import BY_NUMPY, dtype
from ..library import Library
from ..onnx.exporter import FIRST_OPSET
from ..onnx.ir import OnnxValue
from ..onnx.load.operators import OnnxOperator
from ..onnx.opset_builder import OpsetBuilder
from ..onnx.registration import registry
from ..onnx.types import NUMPY_TYPES, ONNX_NUMBERS
from ..ops.overloads import OpOverload

__all__ = ["aten_decompositions", "attention", "rotary_embedding", "symbolic", "symbolic_multi_out"]

_SINCE = 23  # the opset that has RotaryEmbedding and Attention
_LETTERS = {int: "i", bool: "i", float: "f", str: "s"}
_TAIL = (
    "str[] attr_keys, str[] attr_types, int[][] attr_pos, int[] attr_ints, float[] attr_floats, str[] attr_strs, str[] metadata_props_keys, "
    "str[] metadata_props_values, str domain='', int? version=None"
)

# -- any node ------------------------------------------------------------------------------------------------------


def symbolic(
    domain_op: str, /, inputs: Sequence[Any], attrs: Mapping[str, Any] | None = None, *, dtype: dtype | int, shape: Sequence[int],
    version: int | None = None, metadata_props: Mapping[str, str] | None = None,
) -> TensorBase:  # fmt: skip
    """A node of ONNX in a program, ``"domain::Name"`` or ``"Name"``: in eager mode zeros of the result's type and shape.

    >>> y = symbolic("my.domain::Scale", (x,), {"factor": 2.0}, dtype=x.dtype, shape=x.shape, version=1)
    """
    domain, name, options = _node(domain_op, attrs, version, metadata_props)
    return _symbolic(list(inputs), name, _number(dtype), shape=list(shape), domain=domain, **options)  # type: ignore[no-any-return]


def symbolic_multi_out(
    domain_op: str, /, inputs: Sequence[Any], attrs: Mapping[str, Any] | None = None, *, dtypes: Sequence[dtype | int],
    shapes: Sequence[Sequence[int]], version: int | None = None, metadata_props: Mapping[str, str] | None = None,
) -> Sequence[TensorBase]:  # fmt: skip
    """A node of ONNX with several results: see :func:`symbolic`."""
    if len(shapes) != len(dtypes):
        raise RuntimeError(f"Number of shapes ({len(shapes)}) must match number of dtypes ({len(dtypes)})")
    domain, name, options = _node(domain_op, attrs, version, metadata_props)
    numbers = [_number(each) for each in dtypes]
    return _symbolic_multi_out(list(inputs), name, numbers, shapes=[list(each) for each in shapes], domain=domain, **options)  # type: ignore[no-any-return]


def _number(kind: dtype | int) -> int:
    """ONNX's number for an element type."""
    if isinstance(kind, dtype) and kind.name in ONNX_NUMBERS:
        return ONNX_NUMBERS[kind.name]
    if isinstance(kind, int) and not isinstance(kind, bool) and kind in NUMPY_TYPES:
        return kind
    raise RuntimeError(f"Unsupported dtype: {kind}")


def _node(domain_op: str, attrs: Mapping[str, Any] | None, version: int | None, metadata: Mapping[str, str] | None) -> Any:
    """The domain and name of a node, and its attributes as lists that a schema has types for."""
    domain, _, name = domain_op.rpartition("::")
    kinds: list[str] = []
    places: list[list[int]] = []
    stored: dict[str, list[Any]] = {"i": [], "f": [], "s": []}
    for key, value in (attrs or {}).items():
        several = isinstance(value, Sequence) and not isinstance(value, str)
        items = list(value) if several else [value]
        if not items:
            raise ValueError(f"Empty sequence for attribute {key}")
        letters = {_LETTERS.get(type(each)) for each in items}
        letter = letters.pop() if len(letters) == 1 else "f" if letters == {"i", "f"} else None
        if letter is None:
            raise ValueError(f"Unsupported attribute type for {key}: {type(value)}")
        held = stored[letter]
        kinds.append(letter + "s" * several)
        places.append([len(held), len(held) + len(items)])
        held += [{"i": int, "f": float, "s": str}[letter](each) for each in items]
    metadata = metadata or {}
    options = {
        "attr_keys": list(attrs or {}), "attr_types": kinds, "attr_pos": places, "attr_ints": stored["i"], "attr_floats": stored["f"],
        "attr_strs": stored["s"], "metadata_props_keys": list(metadata), "metadata_props_values": list(metadata.values()), "version": version,
    }  # fmt: skip
    return domain, name, options


def _zeros(inputs: Any, op_type: str, onnx_dtype: int, *, shape: Sequence[int], **options: Any) -> TensorBase:
    return table["zeros"].call(tuple(shape), dtype=BY_NUMPY[NUMPY_TYPES[onnx_dtype]])  # type: ignore[no-any-return]


def _several_zeros(
    inputs: Any, op_type: str, onnx_dtypes: Sequence[int], *, shapes: Sequence[Sequence[int]], **options: Any
) -> list[TensorBase]:
    return [_zeros(inputs, op_type, kind, shape=shape) for kind, shape in zip(onnx_dtypes, shapes)]


def _one_node(g: OpsetBuilder, inputs: Any, op_type: Any, kinds: Any, shapes: Any, *options: Any) -> Any:
    """The node of `symbolic` and `symbolic_multi_out` in a file."""
    keys, letters, places, ints, floats, texts, meta_keys, meta_values, domain, version = (each.python for each in options)
    stored = {"i": ints, "f": floats, "s": texts}
    attributes = {}
    for key, letter, (first, last) in zip(keys, letters, places):
        value = list(stored[letter[0]][first:last])
        attributes[f"{key}_{letter}"] = value if len(letter) > 1 else value[0]
    types = kinds.python if isinstance(kinds.python, (list, tuple)) else [kinds.python]
    given = inputs.python if isinstance(inputs, OnnxValue) else inputs
    kind = f"{domain}::{op_type.python}" if domain not in ("", "ai.onnx") else op_type.python
    made = g.op(kind, *given, outputs=len(types), **attributes)
    results = made if isinstance(made, tuple) else (made,)
    for result, number in zip(results, types):
        result.dtype = NUMPY_TYPES[number]
    node = results[0].node()
    node.metadata.update(zip(meta_keys, meta_values))
    if version is not None and node.domain:
        g.versions[node.domain] = max(version, g.versions.get(node.domain, version))
    return list(results) if isinstance(kinds.python, (list, tuple)) else made


# -- rotary embedding and attention --------------------------------------------------------------------------------


def rotary_embedding(
    X: TensorBase, cos_cache: TensorBase, sin_cache: TensorBase, position_ids: TensorBase | None = None, *, interleaved: bool = False,
    num_heads: int = 0, rotary_embedding_dim: int = 0,
) -> TensorBase:  # fmt: skip
    """ONNX's RotaryEmbedding: positions as rotations of pairs of features, of ``X`` of shape (batch, heads, sequence, size) or packed heads."""
    return _rotary(  # type: ignore[no-any-return]
        X, cos_cache, sin_cache, position_ids, interleaved=interleaved, num_heads=num_heads, rotary_embedding_dim=rotary_embedding_dim
    )


def attention(
    Q: TensorBase, K: TensorBase, V: TensorBase, attn_mask: TensorBase | None = None, past_key: TensorBase | None = None,
    past_value: TensorBase | None = None, *, is_causal: bool = False, kv_num_heads: int = 0, q_num_heads: int = 0, qk_matmul_output_mode: int = 0,
    scale: float | None = None, softcap: float = 0.0, softmax_precision: int | None = None,
) -> tuple[TensorBase, TensorBase, TensorBase, TensorBase]:  # fmt: skip
    """ONNX's Attention: the result, the keys and values with those of the past, and the scores at the stage that is asked for."""
    return _attention(  # type: ignore[no-any-return]
        Q, K, V, attn_mask, past_key, past_value, is_causal=is_causal, kv_num_heads=kv_num_heads, q_num_heads=q_num_heads,
        qk_matmul_output_mode=qk_matmul_output_mode, scale=scale, softcap=softcap, softmax_precision=softmax_precision,
    )  # fmt: skip


def aten_decompositions() -> dict[OpOverload, Callable[..., Any]]:
    """What the operators of ONNX in ``torch.ops.onnx`` are in simpler ones."""
    return {_rotary: _rotated, _attention: _attended}


def _computed(kind: str, outputs: int) -> Callable[..., Any]:
    """What a node of ONNX computes, as its importer has it."""

    def run(*inputs: Any, **attributes: Any) -> Any:
        found: dict[str, Any] = {
            name: int(each) if isinstance(each, bool) else each for name, each in attributes.items() if each is not None
        }
        return OnnxOperator("", kind, _SINCE)(*inputs, node=(kind, outputs, ()), **found)

    return run


def _own_node(kind: str, outputs: int, names: str, computed: Callable[..., Any]) -> Callable[..., Any]:
    """The symbolic function of an operator that is a node from some opset on."""
    letters = dict(each.split(":") for each in names.split())

    def write(g: OpsetBuilder, *args: Any) -> Any:
        count = len(args) - len(letters)
        attributes = {
            f"{name}_{letter}": value.python for (name, letter), value in zip(letters.items(), args[count:]) if value.python is not None
        }
        if g.opset >= _SINCE:
            return g.op(kind, *args[:count], outputs=outputs, **attributes)
        given = [None if each.python is None else each for each in args[:count]]
        plain = {key.rpartition("_")[0]: value for key, value in attributes.items()}
        return g.follow(lambda *values: computed(*values, **plain), *given)

    return write


_rotated, _attended = _computed("RotaryEmbedding", 1), _computed("Attention", 4)
_libraries = [Library("onnx_symbolic", "DEF"), Library("onnx", "DEF")]
_symbolics, _operators = _libraries
_symbolics.define(f"_symbolic(Tensor?[] inputs, str op_type, int onnx_dtype, *, SymInt[] shape, {_TAIL}) -> Tensor")
_symbolics.define(f"_symbolic_multi_out(Tensor?[] inputs, str op_type, int[] onnx_dtypes, *, SymInt[][] shapes, {_TAIL}) -> Tensor[]")
_operators.define(
    "RotaryEmbedding.opset23(Tensor x, Tensor cos_cache, Tensor sin_cache, Tensor? position_ids=None, *, bool interleaved=False, SymInt num_heads=0, "
    "SymInt rotary_embedding_dim=0) -> Tensor"
)
_operators.define(
    "Attention.opset23(Tensor Q, Tensor K, Tensor V, Tensor? attn_mask=None, Tensor? past_key=None, Tensor? past_value=None, *, bool is_causal=False, "
    "SymInt kv_num_heads=0, SymInt q_num_heads=0, SymInt qk_matmul_output_mode=0, float? scale=None, float softcap=0., SymInt? softmax_precision=None) "
    "-> (Tensor, Tensor, Tensor, Tensor)"
)
for _key in ("CompositeExplicitAutograd", "Meta"):
    _symbolics.impl("_symbolic", _zeros, _key)
    _symbolics.impl("_symbolic_multi_out", _several_zeros, _key)
_operators.impl("RotaryEmbedding.opset23", _rotated, "CompositeImplicitAutograd")
_operators.impl("Attention.opset23", _attended, "CompositeImplicitAutograd")
_symbolic: OpOverload = ops.onnx_symbolic._symbolic.default
_symbolic_multi_out: OpOverload = ops.onnx_symbolic._symbolic_multi_out.default
_rotary: OpOverload = ops.onnx.RotaryEmbedding.opset23
_attention: OpOverload = ops.onnx.Attention.opset23
for _operator, _form in {
    _symbolic: _one_node,
    _symbolic_multi_out: _one_node,
    _rotary: _own_node("RotaryEmbedding", 1, "interleaved:i num_heads:i rotary_embedding_dim:i", _rotated),
    _attention: _own_node(
        "Attention", 4,
        "is_causal:i kv_num_heads:i q_num_heads:i qk_matmul_output_mode:i scale:f softcap:f softmax_precision:i", _attended,
    ),
}.items():  # fmt: skip
    registry.register(_operator.op.name, FIRST_OPSET, _form)
