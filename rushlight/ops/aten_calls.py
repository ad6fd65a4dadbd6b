"""``torch.ops.aten``: the overloads of PyTorch's operators, as calls of the ops of the table.

The schemas are recorded (``aten_schemas.txt``).  A call binds its arguments by the schema and goes on to the public function, the method or
the op of the same name; ``SPECIAL`` has the operators whose arguments or results differ from it.  Captures record the ops that run.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from ..core.base import TensorBase, runtime
from ..core.declare import Op, exports, methods, table
from ..core.dtypes import BY_NUMPY, result_dtype
from ..core.errors import NotSupported
from ..core.schema import Argument, FunctionSchema, parse_schema
from .aten_gradients import GRADIENTS
from .aten_internals import INTERNAL
from .embedding_bags import embedding_bag
from .overloads import OpOverload, OpOverloadPacket

REDUCTIONS = ("none", "mean", "sum")
_DROPPED = frozenset(("pin_memory", "layout", "non_blocking"))  # accepted where they say nothing
_ARITHMETIC = frozenset(("add", "copy", "div", "divide", "floor_divide", "mul", "multiply", "sub", "subtract", "true_divide"))
_IGNORED = frozenset(("cudnn_enable", "cudnn_enabled", "implicit", "half_to_float", "allow_tf32", "deterministic", "benchmark"))


@cache
def _lines() -> dict[str, list[str]]:
    """The recorded schemas by the names of operators."""
    found: dict[str, list[str]] = {}
    for line in Path(__file__).with_name("aten_schemas.txt").read_text(encoding="utf8").splitlines():
        found.setdefault(line.partition("(")[0].partition(".")[0], []).append(line)
    return found


@cache
def function_of(name: str) -> Callable[..., Any] | None:
    """What is called for an operator: a special form, a public function, an op, or a method."""
    if name in SPECIAL:
        return SPECIAL[name]
    if name.startswith("_foreach_"):  # loops over lists, far from here
        return getattr(importlib.import_module("..compat.foreach", __package__), name, None)
    for place in ("linalg", "fft", "special"):
        if name.startswith(place + "_") and (place, name[len(place) + 1 :]) in exports:
            return exports[place, name[len(place) + 1 :]]
    if name in OPS:
        return table[OPS[name]].call
    for place in ("", "nn.functional"):
        if (place, name) in exports:
            return exports[place, name]
    if name in table:
        return table[name].call
    if name in methods:
        return methods[name]
    found = getattr(runtime.tensor_type, name, None)
    return found if callable(found) else None


@cache
def packet(namespace: str, name: str) -> OpOverloadPacket | None:
    """The packet of an operator, or None where PyTorch has none.  One that nothing here computes says so when it is called: libraries use
    overloads as keys of tables, too."""
    lines = _lines().get(name) if namespace == "aten" else None
    if lines is None:
        return None
    base = name[:-1] if name.endswith("_") and not name.endswith("__") else name
    made = OpOverloadPacket(namespace, name)
    for line in lines:
        schema = parse_schema(f"aten::{line}")
        schema.numbers_as_tensors = base in _ARITHMETIC
        overload = OpOverload(made, schema, _Call(name, base, schema))
        made._overloads[overload._overloadname] = overload
    return made


def names(namespace: str) -> set[str]:
    """The operators that can be called."""
    return {name for name in _lines() if _known(name) or (name.endswith("_") and _known(name[:-1]))} if namespace == "aten" else set()


def _known(name: str) -> bool:
    """Whether something here can be called for an operator; nothing is loaded to say so."""
    if name.startswith("_foreach_"):
        return function_of(name) is not None
    if name in SPECIAL or name in table or name in methods or ("", name) in exports or ("nn.functional", name) in exports:
        return True
    place, _, rest = name.partition("_")
    return (place, rest) in exports or callable(getattr(runtime.tensor_type, name, None))


class _Call:
    """The call of one overload."""

    def __init__(self, name: str, base: str, schema: FunctionSchema) -> None:
        self.schema = schema
        self.base = base
        self.outs = [each for each in schema.arguments if each.kwarg_only and each.is_write]
        self.listed = len(schema.returns) == 1 and schema.returns[0].type.listed
        self.in_place = base != name
        self.function = function_of(name)
        self.copies = self.function is None  # the in-place form of a function that has none
        if self.copies:
            self.function = function_of(base)
        in_place = getattr(runtime.tensor_type, f"{name}_", None) if self.function is None and not self.in_place else None
        if in_place is not None:  # the functional form of a method that writes: draws of random numbers
            self.function, self.copies = _on_copy(in_place), False

    def __call__(self, values: list[Any]) -> Any:
        function = self.function
        if function is None:
            raise NotSupported(f"torch.ops.aten.{self.schema.qualified_name.removeprefix('aten::')} is not in rushlight yet")
        arguments = self.schema.arguments
        given = {each.name: value for each, value in zip(arguments, values)}
        outs = [given.pop(each.name) for each in self.outs]
        positional, keywords = call_form(function, [each for each in arguments if each.name in given], given)
        if not outs:
            result = function(*positional, **keywords)
            if self.copies:
                return values[0].copy_(result)
            if self.listed and isinstance(result, tuple):
                return list(result)
            return None if not self.schema.returns else result
        op = getattr(function, "op", None)
        if (isinstance(op, Op) and op.has_out) or self.base in _ARITHMETIC:
            function(*positional, **keywords, out=outs[0] if len(outs) == 1 else tuple(outs))
        else:
            result = function(*positional, **keywords)
            for target, source in zip(outs, result if isinstance(result, (tuple, list)) else (result,)):
                target.resize_(source.shape).copy_(source)
        return outs[0] if len(outs) == 1 else tuple(outs)


def _on_copy(method: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a copy, of a method that writes."""
    return lambda self, *args, **keywords: method(self.clone(), *args, **keywords)


@cache
def _parameters(function: Any) -> tuple[str, ...] | None:
    """The names of a function's parameters; None where it takes any number."""
    op = getattr(function, "op", None)
    if isinstance(op, Op):
        return None if any(each.variadic for each in op.parameters) else tuple(each.name for each in op.parameters)
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return None if any(each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in found) else tuple(each.name for each in found)


def call_form(function: Any, arguments: list[Argument], given: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of an overload as its function takes them: by name where it has all names, else in their order."""
    parameters = _parameters(function)
    wanted = [each for each in arguments if not (each.has_default and _same(given[each.name], each.default_value)) or not each.has_default]
    known = parameters or ()
    wanted = [
        each
        for each in wanted
        if (each.name not in _IGNORED or each.name in known) and not (each.name in _DROPPED and not given[each.name])
    ]
    last = max((at for at, each in enumerate(arguments) if each in wanted and not each.kwarg_only), default=-1)
    values = {name: _converted(name, value, function) for name, value in given.items()}
    # An overload of stft that has no such argument is given a signal that is padded already.
    more = {"center": False} if "center" in known and "center" not in given else {}
    if parameters is not None:
        renamed = {each.name: _renamed(each.name, parameters) for each in wanted}
        if all(renamed.values()) and len(set(renamed.values())) == len(renamed):
            return [], {str(renamed[each.name]): values[each.name] for each in wanted} | more
    leading = [values[each.name] for each in arguments[: last + 1] if not each.kwarg_only]
    return leading, {each.name: values[each.name] for each in wanted if each.kwarg_only} | more


_SPELLINGS = {
    "self": ("self", "input", "tensor"), "tensors": ("tensors",), "dim": ("dim", "dims"), "dims": ("dims", "dim"), "p": ("p",), "train": ("training",),
    "size": ("size", "shape", "sizes"), "shape": ("shape", "size"), "end": ("end", "stop"), "input": ("input", "self"), "src": ("src", "source"),
    "mat2": ("mat2", "other"), "vec": ("vec", "vec2"), "source": ("source", "src"), "other": ("other", "value"), "value": ("value", "fill_value"),
}  # fmt: skip


def _renamed(name: str, parameters: tuple[str, ...]) -> str | None:
    """What a function calls an argument of the schema."""
    return next((each for each in _SPELLINGS.get(name, (name,)) if each in parameters), name if name in parameters else None)


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, TensorBase) or isinstance(default, TensorBase):
        return False
    if isinstance(value, (list, tuple)) and isinstance(default, list):
        return list(value) == default
    return value is default or (type(value) is type(default) and bool(value == default))


def _arithmetic(name: str) -> Callable[..., Any]:
    """An operator on two tensors, of which the first may be a number."""

    def run(self: Any, other: Any, **keywords: Any) -> Any:
        if not isinstance(self, TensorBase):  # a number takes part in the type as numbers do, and is a tensor then
            dtype = BY_NUMPY[result_dtype([self, other._array if isinstance(other, TensorBase) else other])]
            self = _call("scalar_tensor", self, dtype=dtype)
        return exports["", name](self, other, **keywords)

    return run


def _converted(name: str, value: Any, function: Any) -> Any:
    """A value as functions take it: a reduction by its name."""
    if name == "reduction" and isinstance(value, int):
        return REDUCTIONS[value]
    return value


# -- operators whose form differs --------------------------------------------------------------------------------------


def _call(name: str, *args: Any, **keywords: Any) -> Any:
    return (exports.get(("nn.functional", name)) or exports.get(("", name)) or table[name].call)(*args, **keywords)


def _convolution(
    input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any, groups: int
) -> Any:
    dims = input.dim() - 2
    if transposed:
        return _call(f"conv_transpose{dims}d", input, weight, bias, stride, padding, output_padding, groups, dilation)
    return _call(f"conv{dims}d", input, weight, bias, stride, padding, dilation, groups)


def _native_layer_norm(input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    dims = list(range(input.dim() - len(normalized_shape), input.dim()))
    wide = input.float() if input.element_size() < 4 else input
    variance, mean = wide.var(dims, correction=0, keepdim=True), wide.mean(dims, True)
    statistics = (each.detach().to(input.dtype) for each in (mean, (variance + eps).rsqrt()))  # through which no gradient flows
    return (_call("layer_norm", input, list(normalized_shape), weight, bias, eps), *statistics)


def _native_group_norm(input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float) -> Any:
    grouped = input.reshape(N, group, C * HxW // group)
    variance, mean = grouped.var(-1, correction=0), grouped.mean(-1)
    return _call("group_norm", input, group, weight, bias, eps), mean, (variance + eps).rsqrt()


def _native_batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float, eps: float
) -> Any:
    result = _call("batch_norm", input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        return result, input.new_empty(0), input.new_empty(0)
    dims = [each for each in range(input.dim()) if each != 1]
    values = input.detach()
    return result, values.mean(dims), (values.var(dims, correction=0) + eps).rsqrt()


_NORMS = {0: "backward", 1: "ortho", 2: "forward"}  # how a transform is scaled: not, by the root of the count, by the count
_INVERSE_NORMS = {0: "forward", 1: "ortho", 2: "backward"}


def _batch_norm_legit(
    input: Any, weight: Any, bias: Any, *rest: Any, running_mean: Any = None, running_var: Any = None, **named: Any
) -> Any:
    """Batch norm with running statistics, or without any (five positional arguments less two)."""
    if len(rest) == 5:
        running_mean, running_var, *rest = rest  # type: ignore[assignment]
    training, momentum, eps = (*rest, *(named[each] for each in ("training", "momentum", "eps") if each in named))
    return _native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


def _functional_batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float, eps: float
) -> Any:
    mean, variance = running_mean.clone(), running_var.clone()
    return (*_native_batch_norm(input, weight, bias, mean, variance, training, momentum, eps), mean, variance)


def _trilinear(i1: Any, i2: Any, i3: Any, expand1: Any, expand2: Any, expand3: Any, sumdim: Any, unroll_dim: int = 1) -> Any:
    factors = []
    for each, dims in ((i1, expand1), (i2, expand2), (i3, expand3)):
        for dim in sorted(dims):
            each = each.unsqueeze(dim)
        factors.append(each)
    product = factors[0] * factors[1] * factors[2]
    return product.sum(list(sumdim)) if sumdim else product


def _embedding_bag(
    weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool = False, mode: int = 0, sparse: bool = False, per_sample_weights: Any = None,
    include_last_offset: bool = False, padding_idx: int | None = None,
) -> Any:  # fmt: skip
    padding = None if padding_idx == -1 else padding_idx
    return embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding)


def _native_dropout(input: Any, p: float, train: bool | None) -> Any:
    if not train:
        return input.clone(), _call("ones_like", input).bool()
    mask = _call("empty_like", input).bernoulli_(1 - p).bool()
    return input * mask * (1 / (1 - p) if p < 1 else 0.0), mask


def _adaptive_max_pool(name: str) -> Callable[..., Any]:
    return lambda self, output_size: tuple(_call(name, self, list(output_size), True))


def _assert_scalar(self: Any, assert_msg: str = "Expected Tensor with single nonzero value, but got zero") -> None:
    if not self:
        raise RuntimeError(assert_msg)


def _assert_tensor_metadata(
    a: Any, size: Any = None, stride: Any = None, dtype: Any = None, device: Any = None, layout: Any = None
) -> None:
    wanted = ("sizes", size, a.shape), ("strides", stride, a.stride), ("dtype", dtype, a.dtype), ("layout", layout, a.layout)
    for name, expected, found in wanted:
        if expected is not None:
            found = found() if callable(found) else found
            if (list(found) if isinstance(expected, (list, tuple)) else found) != (
                list(expected) if isinstance(expected, (list, tuple)) else expected
            ):
                raise RuntimeError(f"Tensor {name} mismatch!\nExpected: {expected}\nGot: {found}")


def _to_copy(self: Any, *, dtype: Any = None, device: Any = None, memory_format: Any = None, layout: Any = None, pin_memory: Any = None, non_blocking: bool = False) -> Any:  # fmt: skip
    keywords = {} if memory_format is None else {"memory_format": memory_format}
    return self.to(
        device=device if device is not None else self.device, dtype=dtype if dtype is not None else self.dtype, copy=True, **keywords
    )


def _native_multi_head_attention(
    query: Any, key: Any, value: Any, embed_dim: int, num_head: int, qkv_weight: Any, qkv_bias: Any, proj_weight: Any, proj_bias: Any, mask: Any = None,
    need_weights: bool = True, average_attn_weights: bool = True, mask_type: int | None = None,
) -> Any:  # fmt: skip
    """Attention with one matrix for the three projections; a mask is true where nothing is attended to."""
    weights, biases = qkv_weight.chunk(3), qkv_bias.chunk(3)
    batch = query.size(0)

    def heads(source: Any, at: int) -> Any:
        return _call("linear", source, weights[at], biases[at]).reshape(batch, -1, num_head, embed_dim // num_head).transpose(1, 2)

    scores = heads(query, 0) @ heads(key, 1).transpose(-2, -1) * (embed_dim // num_head) ** -0.5
    if mask is not None:
        shaped = mask[:, None, None, :] if mask_type == 1 and mask.dim() == 2 else mask
        scores = scores.masked_fill(shaped, float("-inf")) if str(mask.dtype).endswith("bool") else scores + shaped
    attention = scores.softmax(-1)
    mixed = (attention @ heads(value, 2)).transpose(1, 2).reshape(batch, -1, embed_dim)
    shown = attention.mean(1) if average_attn_weights else attention
    return _call("linear", mixed, proj_weight, proj_bias), shown if need_weights else query.new_empty(0)


def _encoder_layer(
    src: Any, embed_dim: int, num_heads: int, qkv_weight: Any, qkv_bias: Any, proj_weight: Any, proj_bias: Any, use_gelu: bool, norm_first: bool, eps: float,
    norm_weight_1: Any, norm_bias_1: Any, norm_weight_2: Any, norm_bias_2: Any, ffn_weight_1: Any, ffn_bias_1: Any, ffn_weight_2: Any, ffn_bias_2: Any,
    mask: Any = None, mask_type: int | None = None,
) -> Any:  # fmt: skip
    """A layer of a transformer's encoder in one operator."""

    def attend(values: Any) -> Any:
        return _native_multi_head_attention(
            values, values, values, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, False, True, mask_type
        )[0]

    def feed(values: Any) -> Any:
        inner = _call("linear", values, ffn_weight_1, ffn_bias_1)
        return _call("linear", _call("gelu" if use_gelu else "relu", inner), ffn_weight_2, ffn_bias_2)

    first = lambda values: _call("layer_norm", values, [embed_dim], norm_weight_1, norm_bias_1, eps)  # noqa: E731
    second = lambda values: _call("layer_norm", values, [embed_dim], norm_weight_2, norm_bias_2, eps)  # noqa: E731
    if norm_first:
        src = src + attend(first(src))
        return src + feed(second(src))
    src = first(src + attend(src))
    return second(src + feed(src))


def _with_indices(name: str) -> Callable[..., Any]:
    return lambda self, output_size: _call(name, self, output_size, True)


def _pad(mode: str) -> Callable[..., Any]:
    return lambda self, padding: _call("pad", self, list(padding), mode)


def _upsample(mode: str, kind: str, aligned: bool = True, antialias: bool = False) -> Callable[..., Any]:
    """A resizing operator: to sizes (positions by factors, where those are given too), or by a list of factors."""
    given = {"antialias": True} if antialias else {}

    def run(self: Any, output_size: Any = None, *rest: Any, **named: Any) -> Any:
        corners = (rest[0] if rest else named.pop("align_corners", None)) if aligned else None
        scales = [*rest[1 if aligned else 0 :], *named.values()]
        if output_size is None:
            return _call("interpolate", self, scale_factor=list(scales[0]), mode=mode, align_corners=corners, **given)
        if not any(type(each) in (int, float) for each in scales):
            return _call("interpolate", self, size=list(output_size), mode=mode, align_corners=corners, **given)
        factors = tuple(None if each is None else float(each) for each in scales)
        return table["resample"].call(self, tuple(output_size), kind, bool(corners), factors, antialias)

    return run


def _fill_diagonal(self: Any, fill_value: Any, wrap: bool = False) -> Any:
    if wrap and self.dim() == 2 and self.shape[0] > self.shape[1] + 1:
        flat = self.reshape(-1)
        flat[:: self.shape[1] + 1] = fill_value
        return self.copy_(flat.view(self.shape))
    view = self.diagonal()
    for _ in range(self.dim() - 2):
        view = view.diagonal(0, -2, -1)
    view.fill_(fill_value)
    return self


def _unique(self: Any, *args: Any, **keywords: Any) -> Any:
    """``unique_consecutive`` and its like: values, inverse indices and counts, each empty where it is not asked for."""
    made = _call(keywords.pop("name", "unique_consecutive"), self, *args, **keywords)
    wanted = [True, bool(keywords.get("return_inverse")), bool(keywords.get("return_counts"))]
    given = iter(made if isinstance(made, tuple) else (made,))
    empty = lambda: self.new_empty(0, dtype=_call("argsort", self.reshape(-1)[:0]).dtype)  # noqa: E731
    return tuple(next(given) if each else empty() for each in wanted)


def _fractional_pooling(dims: int) -> Callable[..., Any]:
    """Fractional max pooling as the operator has it: always with the indices."""

    def run(self: Any, kernel_size: Any, output_size: Any, random_samples: Any) -> Any:
        pool = exports["nn.functional", f"fractional_max_pool{dims}d"]
        return pool(self, list(kernel_size), list(output_size), return_indices=True, _random_samples=random_samples)

    return run


SPECIAL: dict[str, Callable[..., Any]] = {
    **INTERNAL,
    **GRADIENTS,
    "_conj": lambda self: self.conj(),
    "_is_all_true": lambda self: self.all(),
    "_is_any_true": lambda self: self.any(),
    **{name: _arithmetic(name) for name in sorted(_ARITHMETIC - {"copy"})},
    "_softmax": lambda self, dim: _call("softmax", self, dim),
    "_log_softmax": lambda self, dim: _call("log_softmax", self, dim),
    "_to_copy": _to_copy, "to": lambda self, *args, **keywords: self.to(*args, **{k: v for k, v in keywords.items() if v is not None and k != "layout"}),
    "_unsafe_view": lambda self, size: self.reshape(list(size)),
    "_reshape_alias": lambda self, size, stride: self.reshape(list(size)),
    "_local_scalar_dense": lambda self: self.item(), "item": lambda self: self.item(),
    "_unsafe_index": lambda self, indices: table["index"].call(self, list(indices)),
    "index": lambda self, indices: self[tuple(slice(None) if each is None else each for each in indices)],
    "_index_put_impl_": lambda self, indices, values, accumulate=False, unsafe=False: self.index_put_(tuple(indices), values, accumulate),
    "alias": lambda self: self.view(self.shape), "lift_fresh": lambda self: self, "lift": lambda self: self, "lift_fresh_copy": lambda self: self.clone(),
    "convolution": _convolution, "_convolution": _convolution,
    "native_layer_norm": _native_layer_norm, "native_group_norm": _native_group_norm, "native_batch_norm": _native_batch_norm,
    "_native_batch_norm_legit": _batch_norm_legit, "_native_batch_norm_legit_functional": _functional_batch_norm, "_trilinear": _trilinear,
    "_adaptive_avg_pool2d": lambda self, output_size: _call("adaptive_avg_pool2d", self, list(output_size)),
    "_adaptive_avg_pool3d": lambda self, output_size: _call("adaptive_avg_pool3d", self, list(output_size)),
    "_cdist_forward": lambda x1, x2, p, compute_mode=None: _call("cdist", x1, x2, p), "_pdist_forward": lambda self, p=2: _call("pdist", self, p),
    "fractional_max_pool2d": _fractional_pooling(2), "fractional_max_pool3d": _fractional_pooling(3),
    "max_unpool2d": lambda self, indices, output_size: table["max_unpool"].call(self, indices, tuple(output_size)),
    "max_unpool3d": lambda self, indices, output_size, stride, padding: table["max_unpool"].call(self, indices, tuple(output_size)),
    "_embedding_bag": _embedding_bag,
    "embedding_bag": _embedding_bag,
    "_fft_r2c": lambda self, dim, normalization, onesided: exports["fft", "rfftn" if onesided else "fftn"](
        self, dim=list(dim), norm=_NORMS[normalization]),
    "_fft_c2r": lambda self, dim, normalization, last_dim_size: exports["fft", "irfftn"](
        self, s=[*(self.shape[each] for each in dim[:-1]), last_dim_size], dim=list(dim), norm=_INVERSE_NORMS[normalization]),
    "_fft_c2c": lambda self, dim, normalization, forward: exports["fft", "fftn" if forward else "ifftn"](
        self, dim=list(dim), norm=(_NORMS if forward else _INVERSE_NORMS)[normalization]),
    "_native_batch_norm_legit_no_training": lambda input, weight, bias, running_mean, running_var, momentum, eps: _native_batch_norm(
        input, weight, bias, running_mean, running_var, False, momentum, eps),
    "native_dropout": _native_dropout, "_native_multi_head_attention": _native_multi_head_attention, "_transformer_encoder_layer_fwd": _encoder_layer,
    "batch_norm": lambda input, weight, bias, running_mean, running_var, training, momentum, eps: _call(
        "batch_norm", input, running_mean, running_var, weight, bias, training, momentum, eps),
    "instance_norm": lambda input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps: _call(
        "instance_norm", input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps),
    **{f"adaptive_max_pool{dims}d": _adaptive_max_pool(f"adaptive_max_pool{dims}d") for dims in (1, 2, 3)},
    "_assert_scalar": _assert_scalar, "_assert_tensor_metadata": _assert_tensor_metadata, "_assert_async": _assert_scalar,
    "embedding": lambda weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False: _call(
        "embedding", indices, weight, None if padding_idx < 0 else padding_idx, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse),
    "cross_entropy_loss": lambda self, target, weight=None, reduction="mean", ignore_index=-100, label_smoothing=0.0: _call(
        "cross_entropy", self, target, weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing),
    "nll_loss_nd": lambda self, target, weight=None, reduction="mean", ignore_index=-100: _call(
        "nll_loss", self, target, weight, ignore_index=ignore_index, reduction=reduction),
    "nll_loss_forward": lambda self, target, weight, reduction, ignore_index: tuple(
        table["nll_forward"].call(self, target, weight, reduction, ignore_index)),
    "nll_loss": lambda self, target, weight=None, reduction="mean", ignore_index=-100: _call(
        "nll_loss", self, target, weight, ignore_index=ignore_index, reduction=reduction),
    "reflection_pad1d": _pad("reflect"), "reflection_pad2d": _pad("reflect"), "reflection_pad3d": _pad("reflect"),
    "replication_pad1d": _pad("replicate"), "replication_pad2d": _pad("replicate"), "replication_pad3d": _pad("replicate"),
    "pad": lambda self, pad, mode="constant", value=None: _call("pad", self, list(pad), mode, value),
    "upsample_bilinear2d": _upsample("bilinear", "linear"), "upsample_bicubic2d": _upsample("bicubic", "cubic"),
    "upsample_linear1d": _upsample("linear", "linear"), "upsample_trilinear3d": _upsample("trilinear", "linear"),
    "_upsample_bilinear2d_aa": _upsample("bilinear", "linear", antialias=True), "_upsample_bicubic2d_aa": _upsample("bicubic", "cubic", antialias=True),
    **{f"upsample_nearest{dims}d": _upsample("nearest", "nearest", False) for dims in (1, 2, 3)},
    **{f"_upsample_nearest_exact{dims}d": _upsample("nearest-exact", "nearest-exact", False) for dims in (1, 2, 3)},
    **{f"adaptive_max_pool{dims}d": _with_indices(f"adaptive_max_pool{dims}d") for dims in (1, 2, 3)},
    "max_pool2d_with_indices": lambda self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False: _call(
        "max_pool2d", self, kernel_size, stride or None, padding, dilation, ceil_mode, True),
    "max_pool3d_with_indices": lambda self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False: _call(
        "max_pool3d", self, kernel_size, stride or None, padding, dilation, ceil_mode, True),
    "sym_size": lambda self, dim=None: self.shape if dim is None else self.shape[dim], "size": lambda self, dim=None: self.shape if dim is None else self.shape[dim],
    "sym_stride": lambda self, dim=None: self.stride() if dim is None else self.stride(dim), "stride": lambda self, dim=None: self.stride() if dim is None else self.stride(dim),
    "sym_numel": lambda self: self.numel(), "numel": lambda self: self.numel(), "dim": lambda self: self.dim(),
    "sym_storage_offset": lambda self: self.storage_offset(), "storage_offset": lambda self: self.storage_offset(),
    "is_same_size": lambda self, other: self.shape == other.shape, "fill_diagonal_": _fill_diagonal,
    "repeat_interleave": lambda self=None, repeats=None, dim=None, *, output_size=None: (
        _call("repeat_interleave", repeats, output_size=output_size) if self is None else _call("repeat_interleave", self, repeats, dim, output_size=output_size)),
    "im2col": lambda self, kernel_size, dilation, padding, stride: _call("unfold", self, kernel_size, dilation, padding, stride),
    "col2im": lambda self, output_size, kernel_size, dilation, padding, stride: _call(
        "fold", self, output_size, kernel_size, dilation, padding, stride),
    "log_sigmoid": lambda self: _call("logsigmoid", self), "log_sigmoid_forward": lambda self: (_call("logsigmoid", self), self.new_empty(0)),
    "_log_sigmoid": lambda self: _call("logsigmoid", self),
    "type_as": lambda self, other: self.type_as(other), "pin_memory": lambda self, device=None: self.pin_memory(),
    "is_pinned": lambda self, device=None: self.is_pinned(), "slice": lambda self, dim=0, start=None, end=None, step=1: self[
        (slice(None),) * (dim % max(self.dim(), 1)) + (slice(start, end, step),)],
    "split_with_sizes": lambda self, split_sizes, dim=0: self.split(list(split_sizes), dim),
    "unfold": lambda self, dimension, size, step: self.unfold(dimension, size, step),
    "tensordot": lambda self, other, dims_self, dims_other: _call("tensordot", self, other, (list(dims_self), list(dims_other))),
    "unique_consecutive": lambda self, return_inverse=False, return_counts=False, dim=None: _unique(
        self, return_inverse=return_inverse, return_counts=return_counts, dim=dim),
    "unique_dim_consecutive": lambda self, dim, return_inverse=False, return_counts=False: _unique(
        self, return_inverse=True, return_counts=True, dim=dim),
    "unique_dim": lambda self, dim, sorted=True, return_inverse=False, return_counts=False: _unique(
        self, name="unique", return_inverse=True, return_counts=True, dim=dim),
    "_unique2": lambda self, sorted=True, return_inverse=False, return_counts=False: _unique(
        self, name="unique", return_inverse=return_inverse, return_counts=return_counts),
    "histogram": lambda self, bins=100, *, range=None, weight=None, density=False: _call(
        "histogram", self, bins, **({} if range is None else {"range": tuple(range)}), weight=weight, density=density),
    "frobenius_norm": lambda self, dim, keepdim=False: exports["linalg", "vector_norm"](self, 2, list(dim), keepdim),
    "is_leaf": lambda self: self.is_leaf, "retains_grad": lambda self: self.retains_grad, "output_nr": lambda self: self.output_nr,
    "is_distributed": lambda self: False, "is_set_to": lambda self, tensor: self.is_set_to(tensor),
    "nonzero_numpy": lambda self: list(_call("nonzero", self, as_tuple=True)),
    "mse_loss": lambda self, target, reduction="mean": _call("mse_loss", self, target, reduction=reduction),
    "_pin_memory": lambda self, device=None: self.pin_memory(),
    "_sparse_mm": lambda sparse, dense: table["sparse_mm"].call(sparse, dense),
    "_sparse_sparse_matmul": lambda self, other: table["sparse_mm"].call(self, other),
    "_sparse_mm_reduce_impl": lambda self, other, reduce: (table["sparse_mm"].call(self, other, reduce), None),
    "_sparse_addmm": lambda self, mat1, mat2, *, beta=1, alpha=1: table["sparse_addmm"].call(self, mat1, mat2, beta=beta, alpha=alpha),
    "_sparse_softmax": lambda self, dim, dtype=None: table["sparse_softmax"].call(self, dim, dtype=dtype or None),
    "_sparse_log_softmax": lambda self, dim, dtype=None: table["sparse_log_softmax"].call(self, dim, dtype=dtype or None),
    "_sparse_sum": lambda self, dim=None, *, dtype=None: table["sparse_sum"].call(self, dim, dtype),
    "_sparse_coo_tensor_unsafe": lambda indices, values, size, *, is_coalesced=None, **options: table["sparse_coo_tensor"].call(
        indices, values, size, is_coalesced=is_coalesced),
    "_to_dense": lambda self, dtype=None, masked_grad=None: table["to_dense"].call(self, dtype, masked_grad=masked_grad),
    "_coalesce": lambda self: table["coalesce"].call(self),
}  # fmt: skip
OPS = {"elu": "elu"}  # operators that are called by the op of the table, whose public function takes other arguments
