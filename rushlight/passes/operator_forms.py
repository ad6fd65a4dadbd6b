"""A facet of ops: the operator of PyTorch's that a call of an op is, where it has another name or other arguments than the op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.base import Spec, TensorBase
from ..core.devices import device as Device
from ..core.facets import Facet
from ..graph.node import Node
from ..ops.aten_calls import REDUCTIONS

# The operator (with ".overload" where that is not found by the arguments), and its arguments by name or in their order.
Form = tuple[str, Any]
forms: Facet[Callable[..., Form | None]] = Facet(
    "aten form", "the operator of PyTorch's that an op is exported as, from its arguments; None where its body is exported"
)
END = 2**63 - 1  # where a slice without an end ends


def known(value: Any) -> Any:
    """What is known of an argument: of a node, the spec or the number that it has recorded."""
    return value.meta.get("val") if isinstance(value, Node) else value


def rank(value: Any) -> int:
    """The number of dimensions of a tensor."""
    return len(known(value).shape)


def is_tensor(value: Any) -> bool:
    """Whether an argument is a tensor."""
    return isinstance(known(value), (Spec, TensorBase))


# -- ops whose operator has another name or other arguments ------------------------------------------------------------


def _as(name: str, **renamed: str) -> Callable[..., Form]:
    """The operator of another name, with some arguments renamed."""
    return lambda **given: (name, {renamed.get(key, key): value for key, value in given.items()})


def _factory(name: str) -> Callable[..., Form]:
    def form(**given: Any) -> Form:
        made = {key: value for key, value in given.items() if value is not None and key != "requires_grad"}
        made.setdefault("device", Device("cpu"))
        made.setdefault("pin_memory", False)
        if "shape" in made:
            made["size"] = made.pop("shape")
        return name, made

    return form


def _like(name: str) -> Callable[..., Form]:
    def form(**given: Any) -> Form:
        made = {key: value for key, value in given.items() if value is not None and key != "requires_grad"}
        if "input" in made:
            made["self"] = made.pop("input")
        if "shape" in made:
            made["size"] = made.pop("shape")
        made.setdefault("pin_memory", False)
        return name, made

    return form


def _arange(start: Any = 0, end: Any = None, step: Any = 1, **options: Any) -> Form:
    made = _factory("arange")(**options)[1]
    if end is None or start is None:
        return "arange.default", {"end": end if start is None else start, **made}
    if type(step) is int and step == 1:
        return "arange.start", {"start": start, "end": end, **made}
    return "arange.start_step", {"start": start, "end": end, "step": step, **made}


def _softmax(name: str) -> Callable[..., Form | None]:
    def form(input: Any, dim: Any = None, dtype: Any = None, **rest: Any) -> Form | None:
        if dim is None:
            return None
        return f"{name}.int", {"self": input, "dim": dim, "dtype": dtype}

    return form


def _slice(input: Any, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1) -> Form:
    return "slice.Tensor", {
        "self": input,
        "dim": dim,
        "start": 0 if start is None and not isinstance(end, Node) else start,
        "end": END if end is None else end,
        "step": step,
    }


def _batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: Any = 0.1,
    eps: float = 1e-5,
) -> Form:
    return "batch_norm", {
        "input": input, "weight": weight, "bias": bias, "running_mean": running_mean, "running_var": running_var, "training": training,
        "momentum": 0.0 if momentum is None else momentum, "eps": eps, "cudnn_enabled": False,
    }  # fmt: skip


def _instance_norm(
    input: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None, use_input_stats: bool = True, momentum: float = 0.1,
    eps: float = 1e-5,
) -> Form:  # fmt: skip
    return "instance_norm", {
        "input": input, "weight": weight, "bias": bias, "running_mean": running_mean, "running_var": running_var, "use_input_stats": use_input_stats,
        "momentum": momentum, "eps": eps, "cudnn_enabled": False,
    }  # fmt: skip


def _norm(name: str, flag: str) -> Callable[..., Form]:
    return lambda **given: (name, {"weight": None, "bias": None, "eps": 1e-5, **given, flag: False})


def _embedding(input: Any, weight: Any, padding_idx: Any = None, max_norm: Any = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Form | None:  # fmt: skip
    if max_norm is not None:
        return None
    at = -1 if padding_idx is None else padding_idx
    if at < -1 or (padding_idx is not None and at < 0):
        at = known(weight).shape[0] + at
    return "embedding", {"weight": weight, "indices": input, "padding_idx": at, "scale_grad_by_freq": scale_grad_by_freq, "sparse": sparse}


def _max_pool(name: str, dims: int) -> Callable[..., Form]:
    def form(input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False, return_indices: bool = False) -> Form:  # fmt: skip
        place = f"{name}_with_indices" if return_indices else name
        return place, {
            "self": input, "kernel_size": kernel_size, "stride": [] if stride is None else stride, "padding": padding, "dilation": dilation, "ceil_mode": ceil_mode
        }  # fmt: skip

    return form


def _adaptive(name: str) -> Callable[..., Form | None]:
    def form(input: Any, output_size: Any, return_indices: bool = False) -> Form | None:
        sizes = output_size if isinstance(output_size, (list, tuple)) else None
        if sizes is not None and any(each is None for each in sizes):
            shape = known(input).shape[-len(sizes) :]
            output_size = [own if each is None else each for own, each in zip(shape, sizes)]
        return name, {"self": input, "output_size": output_size}

    return form


def _interpolate(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: Any = None,
    recompute_scale_factor: Any = None,
    antialias: bool = False,
) -> Form | None:
    dims = rank(input) - 2
    kind = {
        "nearest": f"nearest{dims}d",
        "linear": "linear1d",
        "bilinear": "bilinear2d",
        "bicubic": "bicubic2d",
        "trilinear": "trilinear3d",
    }.get(mode)
    if kind is None or antialias or recompute_scale_factor or (mode == "nearest" and not 1 <= dims <= 3):
        return None
    sizes = [size] * dims if size is not None and not isinstance(size, (list, tuple)) else None if size is None else list(size)
    scales = None
    if scale_factor is not None:
        scales = [float(each) for each in scale_factor] if isinstance(scale_factor, (list, tuple)) else [float(scale_factor)] * dims
    named: dict[str, Any] = {"input": input, "output_size": sizes, "scale_factors": scales}
    if mode != "nearest":
        named["align_corners"] = bool(align_corners)
    return f"upsample_{kind}.vec", named


def _pad(input: Any, pad: Any, mode: str = "constant", value: Any = None) -> Form:
    return "pad", {"self": input, "pad": list(pad), "mode": mode, "value": float(value) if type(value) is int else value}


def _grid_sample(input: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: Any = None) -> Form:
    modes, edges = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    return "grid_sampler", {
        "input": input, "grid": grid, "interpolation_mode": modes.index(mode), "padding_mode": edges.index(padding_mode), "align_corners": bool(align_corners)
    }  # fmt: skip


def _loss(name: str, *keys: str) -> Callable[..., Form | None]:
    """A loss: arguments of other days are left out, its reduction is a number."""

    def form(input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean", **rest: Any) -> Form | None:
        if size_average is not None or reduce is not None or reduction not in REDUCTIONS:
            return None
        return name, {"self": input, "target": target, **{key: rest[key] for key in keys}, "reduction": REDUCTIONS.index(reduction)}

    return form


def _variance(name: str) -> Callable[..., Form | None]:
    def form(
        input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None, **rest: Any
    ) -> Form | None:
        dims = None if dim is None else list(dim) if isinstance(dim, (list, tuple)) else [dim]
        if isinstance(dim, bool):
            return f"{name}.default", {"self": input, "unbiased": dim}
        if correction is not None or dims is None:
            if unbiased is not None:
                return f"{name}.default", {"self": input, "unbiased": unbiased}
            return f"{name}.correction", {"self": input, "dim": dims, "correction": correction, "keepdim": keepdim}
        return f"{name}.dim", {"self": input, "dim": dims, "unbiased": True if unbiased is None else unbiased, "keepdim": keepdim}

    return form


def _subtraction(input: Any, other: Any, *, alpha: Any = 1, **rest: Any) -> Form:
    if is_tensor(input):
        return "sub.Tensor", {"self": input, "other": other, "alpha": alpha}
    return "rsub.Scalar", {"self": other, "other": input, "alpha": alpha}


def _commuted(name: str) -> Callable[..., Form]:
    def form(input: Any, other: Any, **rest: Any) -> Form:
        first, second = (input, other) if is_tensor(input) else (other, input)
        return f"{name}.Tensor", {"self": first, "other": second, **rest}

    return form


def _comparison(name: str, mirrored: str) -> Callable[..., Form]:
    def form(input: Any, other: Any, **rest: Any) -> Form:
        if is_tensor(input):
            return name, {"self": input, "other": other}
        return mirrored, {"self": other, "other": input}

    return form


def _division(input: Any, other: Any, *, rounding_mode: Any = None, **rest: Any) -> Form | None:
    if not is_tensor(input):
        return None
    if rounding_mode is None:
        return "div.Tensor", {"self": input, "other": other}
    return "div.Tensor_mode", {"self": input, "other": other, "rounding_mode": rounding_mode}


def _to(input: Any, dtype: Any, *rest: Any, **more: Any) -> Form:
    return "to.dtype", {"self": input, "dtype": dtype}


def _bitwise(name: str, word: str) -> Callable[..., Form]:
    def form(input: Any, other: Any) -> Form:
        return (f"__{word}__.Tensor" if is_tensor(other) else f"__{word}__.Scalar", {"self": input, "other": other}) if is_tensor(input) else (name, {"self": input, "other": other})  # fmt: skip

    return form


def _where(condition: Any, input: Any = None, other: Any = None) -> Form:
    label = {(True, True): "self", (False, True): "ScalarSelf", (True, False): "ScalarOther", (False, False): "Scalar"}
    return f"where.{label[is_tensor(input), is_tensor(other)]}", {"condition": condition, "self": input, "other": other}


def _recurrent(name: str) -> Callable[..., Form]:
    def form(args: list[Any]) -> Form:
        packed = len(args) > 3 and isinstance(args[3], (list, tuple))
        return f"{name}.{'data' if packed else 'input'}", [list(each) if isinstance(each, tuple) else each for each in args]

    return form


def _einsum(args: list[Any]) -> Form | None:
    if not isinstance(args[0], str):
        return None
    operands = args[1] if len(args) == 2 and isinstance(args[1], (list, tuple)) else args[1:]
    return "einsum", {"equation": args[0], "tensors": list(operands)}


def _item_index(input: Any, indices: Any) -> Form:
    return "index.Tensor", {"self": input, "indices": list(indices)}


def _split(tensor: Any, split_size_or_sections: Any = None, dim: int = 0, split_size: Any = None) -> Form:
    if split_size_or_sections is None:
        split_size_or_sections = split_size
    if isinstance(split_size_or_sections, (list, tuple)):
        return "split_with_sizes", {"self": tensor, "split_sizes": list(split_size_or_sections), "dim": dim}
    return "split.Tensor", {"self": tensor, "split_size": split_size_or_sections, "dim": dim}


def _vector_norm(input: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Form:
    tensor = input
    dims = None if dim is None else list(dim) if isinstance(dim, (list, tuple)) else [dim]
    return "linalg_vector_norm", {"self": tensor, "ord": ord, "dim": dims, "keepdim": keepdim, "dtype": dtype}


def _index_put(name: str) -> Callable[..., Form]:
    return lambda input, indices, values, accumulate=False: (
        name,
        {"self": input, "indices": list(indices), "values": values, "accumulate": accumulate},
    )


def _window(name: str) -> Callable[..., Form]:
    def form(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1, output_size: Any = None) -> Form:
        given = {"self": input, "kernel_size": kernel_size, "dilation": dilation, "padding": padding, "stride": stride}
        return name, given if output_size is None else {**given, "output_size": output_size}

    return form


def _softplus(input: Any, beta: Any = 1, threshold: Any = 20) -> Form:
    whole = [int(each) if isinstance(each, float) and each.is_integer() else each for each in (beta, threshold)]
    return "softplus", {"self": input, "beta": whole[0], "threshold": whole[1]}


def _functional_softmax(name: str) -> Callable[..., Form | None]:
    return lambda input, dim=None, _stacklevel=3, dtype=None: (
        None if dim is None else (f"{name}.int", {"self": input, "dim": dim, "dtype": dtype})
    )


def _avg_pool(name: str) -> Callable[..., Form]:
    def form(input: Any, kernel_size: Any, stride: Any = None, **rest: Any) -> Form:
        return name, {"self": input, "kernel_size": kernel_size, "stride": [] if stride is None or stride == () else stride, **rest}

    return form


def _dropout(name: str) -> Callable[..., Form]:
    def form(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Form:
        return name + "_" * inplace, {"input" if not inplace else "self": input, "p": p, "train": training}

    return form


def _extremum(name: str) -> Callable[..., Form]:
    def form(input: Any, dim: Any = None, keepdim: bool = False, other: Any = None) -> Form:
        if is_tensor(dim) or other is not None:
            return f"{name}.other", {"self": input, "other": dim if other is None else other}
        return (f"{name}.default", {"self": input}) if dim is None else (f"{name}.dim", {"self": input, "dim": dim, "keepdim": keepdim})

    return form


def _scatter(input: Any, dim: int, index: Any, src: Any = None, value: Any = None, reduce: Any = None) -> Form:
    source = value if src is None else src
    key, label = ("src", "src") if is_tensor(source) else ("value", "value")
    if reduce is not None:
        return ("scatter.reduce" if key == "src" else "scatter.value_reduce"), {
            "self": input,
            "dim": dim,
            "index": index,
            key: source,
            "reduce": reduce,
        }
    return f"scatter.{label}", {"self": input, "dim": dim, "index": index, key: source}


def _repeat_interleave(input: Any, repeats: Any = None, dim: Any = None, output_size: Any = None) -> Form:
    if repeats is None:
        return "repeat_interleave.Tensor", {"repeats": input, "output_size": output_size}
    label = "self_Tensor" if is_tensor(repeats) else "self_int"
    return f"repeat_interleave.{label}", {"self": input, "repeats": repeats, "dim": dim, "output_size": output_size}


def _unique_consecutive(input: Any, return_inverse: bool = False, return_counts: bool = False, dim: Any = None) -> Form | None:
    if not return_inverse or not return_counts:
        return None  # the operator gives all three
    return "unique_consecutive", {"self": input, "return_inverse": True, "return_counts": True, "dim": dim}


def _unique(input: Any, dim: Any, return_inverse: bool, return_counts: bool) -> Form:
    given = {"self": input, "sorted": True, "return_inverse": return_inverse, "return_counts": return_counts}
    return ("_unique2", given) if dim is None else ("unique_dim", {**given, "dim": dim})


def _no_form(**given: Any) -> None:
    """Of an op whose body is recorded."""


def _windows(input: Any, center: bool, pad_mode: str, **given: Any) -> Form:
    """The operator pads nothing: the function has done that before."""
    return "stft.center" if center else "stft.default", {
        "self": input,
        **given,
        **({"center": center, "pad_mode": pad_mode} if center else {}),
    }


_FORMS: dict[str, Callable[..., Form | None]] = {
    "add": _commuted("add"), "mul": _commuted("mul"), "sub": _subtraction, "div": _division, "gt": _comparison("gt", "lt"), "lt": _comparison("lt", "gt"), "ge": _comparison("ge", "le"), "le": _comparison("le", "ge"), "eq": _comparison("eq", "eq"), "ne": _comparison("ne", "ne"),
    "bitwise_and": _bitwise("bitwise_and", "and"), "bitwise_or": _bitwise("bitwise_or", "or"), "bitwise_xor": _bitwise("bitwise_xor", "xor"),
    "cast": _to, "where": _where, "softmax": _softmax("softmax"), "log_softmax": _softmax("log_softmax"), "slice": _slice,
    "nn_functional_batch_norm": _batch_norm, "instance_norm": _instance_norm, "layer_norm": _norm("layer_norm", "cudnn_enable"), "group_norm": _norm("group_norm", "cudnn_enabled"),
    "nn_functional_embedding": _embedding, "index": _item_index, "einsum": _einsum, "split": _split, "pad": _pad, "interpolate": _interpolate, "grid_sample": _grid_sample,
    **{f"nn_functional_max_pool{dims}d": _max_pool(f"max_pool{dims}d", dims) for dims in (1, 2, 3)}, **{f"avg_pool{dims}d": _avg_pool(f"avg_pool{dims}d") for dims in (1, 2, 3)},
    **{f"nn_functional_dropout{dims}d": _dropout("feature_dropout") for dims in (1, 2, 3)},
    "nn_functional_unfold": _window("im2col"), "nn_functional_fold": _window("col2im"), "softplus": _softplus, "max": _extremum("max"), "min": _extremum("min"),
    "nn_functional_softmax": _functional_softmax("softmax"), "nn_functional_log_softmax": _functional_softmax("log_softmax"), "scatter": _scatter,
    "repeat_interleave": _repeat_interleave, "unique_consecutive": _unique_consecutive, "unique_slices": _unique, "nonzero_columns": lambda input: ("nonzero_numpy", {"self": input}),
    "consecutive_slices": lambda input, dim: ("unique_consecutive", {"self": input, "return_inverse": True, "return_counts": True, "dim": dim}),
    **{f"adaptive_{kind}_pool{dims}d": _adaptive(f"adaptive_{kind}_pool{dims}d") for dims in (1, 2, 3) for kind in ("avg", "max")},
    "mse_loss": _loss("mse_loss"), "l1_loss": _loss("l1_loss"), "smooth_l1_loss": _loss("smooth_l1_loss", "beta"), "huber_loss": _loss("huber_loss", "delta"),
    "cross_entropy": _loss("cross_entropy_loss", "weight", "ignore_index", "label_smoothing"), "nll_loss": _loss("nll_loss_nd", "weight", "ignore_index"),
    "binary_cross_entropy": _loss("binary_cross_entropy", "weight"), "binary_cross_entropy_with_logits": _loss("binary_cross_entropy_with_logits", "weight", "pos_weight"),
    "kl_div": _loss("kl_div", "log_target"), "soft_margin_loss": _loss("soft_margin_loss"),
    "logsigmoid": lambda input: ("log_sigmoid", {"self": input}),
    "var": _variance("var"), "std": _variance("std"), "norm": _no_form, "vector_norm": _vector_norm, "stft": _windows,
    "lstm": _recurrent("lstm"), "gru": _recurrent("gru"), "rnn_tanh": _recurrent("rnn_tanh"), "rnn_relu": _recurrent("rnn_relu"),
    "arange": _arange, "empty": _factory("empty.memory_format"),
    "index_put": _index_put("index_put"), "view_shape": lambda input, size: ("view.default", {"self": input, "size": list(size)}),
    "multi_head_attention_forward": _no_form, "normalize": _no_form, "softsign": _no_form,
}  # fmt: skip
for _name, _form in _FORMS.items():
    forms.set(_form, _name)


def _by_name(form: Callable[[str], Callable[..., Form]], *names: str) -> None:
    """Register a form of ops whose operator has the op's name."""
    for name in names:
        forms.set(form(name.removeprefix("nn_functional_")), name)


_by_name(_dropout, "nn_functional_dropout", "nn_functional_alpha_dropout", "nn_functional_feature_alpha_dropout")
_by_name(_factory, "zeros", "ones", "full", "eye", "linspace", "logspace", "scalar_tensor", "rand", "randn", "randint", "randperm")
_by_name(
    _like, "zeros_like", "ones_like", "full_like", "empty_like", "rand_like", "randn_like", "new_zeros", "new_ones", "new_full", "new_empty"
)  # fmt: skip
