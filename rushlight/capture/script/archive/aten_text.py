"""Calls of ops as serialized TorchScript writes them: by the operators of aten, with the arguments of their schemas."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ....core.declare import Op
from ....core.errors import CaptureError
from ....core.schema import Argument, SchemaType
from ....graph.calls import in_one_list
from ....ops.aten_calls import _SPELLINGS as SPELLINGS
from ....ops.overloads import OpOverload
from .schema_calls import overloads_of

Render = Callable[[Any, "SchemaType | None"], str]  # a value as text, as an argument of a type
_RENAMED = {
    "cross_entropy": "cross_entropy_loss", "nll_loss": "nll_loss_nd", "logsigmoid": "log_sigmoid", "nn_functional_unfold": "im2col",
    "nn_functional_fold": "col2im", "cast": "to", "max_all": "max", "min_all": "min", "median_all": "median", "max_dim": "max", "min_dim": "min",
    "nn_functional_embedding": "embedding", **{f"nn_functional_dropout{dims}d": "feature_dropout" for dims in (1, 2, 3)}, "std_correction": "std", "var_correction": "var", "view_shape": "reshape", "where_elements": "where",
    "gelu_exact": "gelu", "real_part": "real", "where_method": "where", "polygamma_method": "polygamma",
    **{f"{name}_fill{end}": f"{name}{end}" for name in ("uniform", "normal", "bernoulli", "exponential", "geometric", "cauchy", "log_normal", "random") for end in ("", "_")},
}  # fmt: skip
_FILLED: dict[str, Any] = {"cudnn_enabled": True, "cudnn_enable": True, "padding_idx": -1, "sparse": False, "scale_grad_by_freq": False}
_NAMES: dict[str, tuple[str, ...]] = {  # what an argument of a schema may be called by an op, beside what the table of spellings says
    "indices": ("indices", "input", "indices_or_sections"), "training": ("training", "train"), "train": ("training", "train"), "self": ("self", "input", "tensor", "tensors", "A"), "x": ("x", "input"), "high": ("high", "low"),
    "split_size": ("split_size", "split_size_or_sections"), "split_sizes": ("split_sizes", "split_size_or_sections"), "tensors": ("tensors", "tensor"),
    "sections": ("sections", "indices_or_sections"), "dim": ("dim", "dims", "axis"), "mat2": ("mat2", "other"), "vec": ("vec", "other"), "batch1": ("batch1", "input"), "batch2": ("batch2",),
    "source": ("source", "src"), "approximate": ("approximate",), "repeats": ("repeats", "sizes"), "dims": ("dims", "dim", "sizes"), "p": ("p", "ord"), "exponent": ("exponent", "other"),
    "equation": ("equation",), "from": ("from_",), "condition": ("condition", "input"), "negative_slope": ("negative_slope",),
}  # fmt: skip
_NONE = frozenset(
    ("_stacklevel", "size_average", "reduce", "inplace", "out", "layout", "pin_memory", "requires_grad", "generator", "memory_format")
)


def spellings(name: str) -> tuple[str, ...]:
    """What an op may call an argument of a schema."""
    return (*_NAMES.get(name, ()), *SPELLINGS.get(name, ()), name)


def bound(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call of an op by name, without those that have their defaults."""
    found: dict[str, Any] = {}
    left = list(in_one_list(op, args))
    for parameter in op.parameters:
        if parameter.variadic:
            values = left[0] if len(left) == 1 and isinstance(left[0], (list, tuple)) else list(left)
            if left or parameter.name not in kwargs:  # without any it is an empty list, as in x.reshape()
                found[parameter.name] = values if len(left) != 1 or isinstance(left[0], (list, tuple)) else left[0]
            left = []
        elif left and not parameter.keyword_only:
            found[parameter.name] = left.pop(0)
        elif parameter.name in kwargs:
            found[parameter.name] = kwargs[parameter.name]
            continue
        else:
            continue
    unknown = [name for name in kwargs if name not in {each.name for each in op.parameters}]
    if left or unknown:
        raise CaptureError(f"a call of '{op.name}' has arguments that its schema does not have: {unknown or len(left)}")
    found.update({name: value for name, value in kwargs.items() if name not in found})
    defaults = {each.name: each.default for each in op.parameters}
    return {name: value for name, value in found.items() if not _is_default(value, defaults.get(name, ...))}


def _is_default(value: Any, default: Any) -> bool:
    plain = (int, float, bool, str, type(None))
    return isinstance(value, plain) and isinstance(default, plain) and type(value) is type(default) and value == default


def op_call(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], render: Render) -> str:
    """A call of an op as text."""
    given = bound(op, args, kwargs)
    name = _RENAMED.get(op.name, op.name.removeprefix("nn_functional_"))
    if given.get("return_indices") is True and overloads_of("aten", f"{name}_with_indices") is not None:
        name += "_with_indices"
        del given["return_indices"]
    if given.get("inplace") is True:
        name += "_"
    given = {
        key: value for key, value in given.items() if key not in _NONE or (value is not None and key not in ("inplace", "_stacklevel"))
    }
    special = _SPECIAL.get(op.name)
    if special is not None:
        return special(given, render)
    known = overloads_of("aten", name)
    if (
        isinstance(given.get("dim"), bool)
        and known is not None
        and any(each.name == "unbiased" for one in known[1] for each in one._schema.arguments)
    ):
        given["unbiased"] = given.pop("dim")  # std(x, False)
    if known is not None and any(isinstance(each, bool) for each in given.values()):
        given, render = _with_flags(given, render, known[1])
    if any(each.variadic and each.name == "args" for each in op.parameters):  # it takes what its operator takes
        return f"torch.{name}({', '.join(render(each, None) for each in args)})"
    defaults = {each.name: each.default for each in op.parameters}
    for overload in () if known is None else known[1]:
        text = overload_call(overload, given, render, defaults)
        if text is not None:
            return text
    what = "" if known is None else f" with {', '.join(given)}"
    raise CaptureError(f"the op '{op.name}'{what} has no operator of TorchScript that a file can name")


class Written:
    """An argument as the text that it is written as."""

    def __init__(self, text: str) -> None:
        self.text = text


def _with_flags(given: dict[str, Any], render: Render, overloads: Any) -> tuple[dict[str, Any], Render]:
    """True and False where a number or a tensor may be: as tensors, since PyTorch's interpreter takes them for ints among numbers."""
    kinds: dict[str, set[str]] = {}
    for overload in overloads:
        for each in overload._schema.arguments:
            for name in spellings(each.name):
                kinds.setdefault(name, set()).add(each.type.base)
    changed = {
        name: Written(f"torch.tensor({each})") if isinstance(each, bool) and {"Scalar", "Tensor"} <= kinds.get(name, set()) else each
        for name, each in given.items()
    }
    return changed, lambda value, kind: value.text if isinstance(value, Written) else render(value, kind)


def overload_call(overload: OpOverload, given: dict[str, Any], render: Render, defaults: dict[str, Any] | None = None) -> str | None:
    """A call of one overload; None where it does not take what is given."""
    arguments = overload._schema.arguments
    if defaults is not None and any(each.kwarg_only and each.is_write for each in arguments):
        return None
    values: dict[str, Any] = {}
    used: set[str] = set()
    for each in arguments:
        known = next((name for name in spellings(each.name) if name in given and name not in used), None)
        if known is not None and fits(each, given[known]):
            used.add(known)
            values[each.name] = given[known]
        elif not each.has_default and _filling(each, defaults or {}) is not ...:
            values[each.name] = _filling(each, defaults or {})
        elif not each.has_default and each.type.optional:
            values[each.name] = None
        elif not each.has_default and each.name in _FILLED:
            values[each.name] = _FILLED[each.name]
        elif not each.has_default:
            return None
    if used != set(given):
        return None
    last = max((at for at, each in enumerate(arguments) if each.name in values and not each.kwarg_only), default=-1)
    parts = [render(values.get(each.name, each.default_value), each.type) for each in arguments[: last + 1] if not each.kwarg_only]
    parts += [f"{each.name}={render(values[each.name], each.type)}" for each in arguments if each.kwarg_only and each.name in values]
    name = overload._overloadpacket.__name__
    return f"torch.{name}({', '.join(parts)})"


def _filling(argument: Argument, defaults: dict[str, Any]) -> Any:
    """The default that an op has for an argument which its schema has none for; ``...`` where it has none."""
    for name in spellings(argument.name):
        if isinstance(defaults.get(name, ...), (bool, int, float, str, tuple, type(None))):
            return defaults[name] if defaults[name] is not None or argument.type.optional else ...
    return ...


def fits(wanted: Argument, value: Any) -> bool:
    """Whether a constant may be an argument; of what is computed nothing is known here."""
    kind = wanted.type
    if value is None:
        return kind.optional or wanted.has_default
    if isinstance(value, bool):
        return kind.base in ("bool", "Scalar", "SymBool")
    if isinstance(value, (int, float)):
        return kind.base in ("int", "SymInt", "float", "Scalar", "Tensor", "bool") and not (
            isinstance(value, float) and kind.base in ("int", "SymInt")
        )
    if isinstance(value, str):
        return kind.base in ("str", "Device", "int")
    if isinstance(value, (list, tuple)):
        return kind.listed
    return True


# -- ops whose form differs ------------------------------------------------------------------------------------------------


def _text(form: str) -> Callable[[dict[str, Any], Render], str]:
    """A form of text with the names of arguments in it."""

    def write(given: dict[str, Any], render: Render) -> str:
        return form.format(**{name: render(value, None) for name, value in given.items()})

    return write


def _normalized(given: dict[str, Any], render: Render) -> str:
    x, dim, p, eps = (render(given.get(name, usual), None) for name, usual in (("input", None), ("dim", 1), ("p", 2.0), ("eps", 1e-12)))
    return f"torch.div({x}, torch.expand_as(torch.clamp_min(torch.norm({x}, {p}, [{dim}], True), {eps}), {x}))"


def _norm(given: dict[str, Any], render: Render) -> str:
    """A norm, whose order may be one of the names of norms of matrices."""
    x, p, dim, keepdim = render(given["input"], None), given.get("p", "fro"), given.get("dim"), render(given.get("keepdim", False), None)
    dims = "annotate(List[int], [])" if dim is None else f"[{render(dim, None)}]" if isinstance(dim, int) else render(dim, None)
    if p == "nuc":
        return f"torch.nuclear_norm({x}, {dims}, {keepdim})" if dim is not None else f"torch.nuclear_norm({x}, {keepdim})"
    order = render(2 if p in ("fro", None) else p, None)
    ending = f", dtype={render(given['dtype'], None)}" if given.get("dtype") is not None else ""
    return f"torch.norm({x}, {order}, {dims}, {keepdim}{ending})"


def _divergence(given: dict[str, Any], render: Render) -> str:
    """The Kullback-Leibler divergence: its operator knows no mean over the batch."""
    x, target, reduction = render(given["input"], None), render(given["target"], None), given.get("reduction", "mean")
    log_target = render(given.get("log_target", False), None)
    if reduction == "batchmean":
        return f"torch.div(torch.kl_div({x}, {target}, 2, log_target={log_target}), torch.size({x}, 0))"
    if reduction not in ("none", "mean", "sum"):
        raise CaptureError("kl_div() whose reduction is computed is not written to archives")
    return f"torch.kl_div({x}, {target}, {('none', 'mean', 'sum').index(reduction)}, log_target={log_target})"


def _stft(given: dict[str, Any], render: Render) -> str:
    """The short-time Fourier transform, by the overload that centers frames: the other one never does."""
    usual = {"center": True, "pad_mode": "reflect", "normalized": False}
    names = "input n_fft hop_length win_length window center pad_mode normalized onesided return_complex align_to_window".split()
    return f"torch.stft({', '.join(render(given.get(name, usual.get(name)), None) for name in names)})"


def _sampled(given: dict[str, Any], render: Render) -> str:
    """Sampling at the points of a grid: modes are numbers."""
    mode, padding = given.get("mode", "bilinear"), given.get("padding_mode", "zeros")
    modes, paddings = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    if mode not in modes or padding not in paddings:
        raise CaptureError("grid_sample() whose mode is computed is not written to archives")
    corners = render(given.get("align_corners") or False, None)
    return f"torch.grid_sampler({render(given['input'], None)}, {render(given['grid'], None)}, {modes.index(mode)}, {paddings.index(padding)}, {corners})"


def _affine_grid(given: dict[str, Any], render: Render) -> str:
    size = given["size"]
    sizes = f"[{', '.join(render(each, None) for each in size)}]" if isinstance(size, (list, tuple)) else render(size, None)
    return f"torch.affine_grid_generator({render(given['theta'], None)}, {sizes}, {render(given.get('align_corners') or False, None)})"


def _softmin(given: dict[str, Any], render: Render) -> str:
    if given.get("dim") is None:
        raise CaptureError("softmin() without a dimension is not written to archives")
    return f"torch.softmax(torch.neg({render(given['input'], None)}), {render(given['dim'], None)}, {render(given.get('dtype'), None)})"


def _tensordot(given: dict[str, Any], render: Render) -> str:
    """A contraction over some dimensions, or over the last of one tensor and as many of the first of the other."""
    dims = given.get("dims", 2)
    if isinstance(dims, int):
        dims = (list(range(-dims, 0)), list(range(dims)))
    if not (isinstance(dims, (list, tuple)) and len(dims) == 2 and all(isinstance(each, (list, tuple)) for each in dims)):
        raise CaptureError("tensordot() whose dimensions are computed is not written to archives")
    parts = [f"[{', '.join(map(str, each))}]" if each else "annotate(List[int], [])" for each in dims]
    return f"torch.tensordot({render(given['a'], None)}, {render(given['b'], None)}, {', '.join(parts)})"


def _gelu(given: dict[str, Any], render: Render) -> str:
    return f"torch.gelu({render(given['input'], None)}, approximate={render(given.get('approximate', 'none'), None)})"


def _adaptive(kind: str, dims: int, indices: bool = False) -> Callable[[dict[str, Any], Render], str]:
    """Pooling to a size; None in it stands for the size that there is."""

    def write(given: dict[str, Any], render: Render) -> str:
        x, size = render(given["input"], None), given["output_size"]
        parts = [size] * dims if isinstance(size, int) or size is None else size
        if not isinstance(parts, (list, tuple)):
            shown = render(parts, None)
        else:
            shown = (
                f"[{', '.join(f'torch.size({x}, {at - dims})' if each is None else render(each, None) for at, each in enumerate(parts))}]"
            )
        call = f"torch.adaptive_{kind}_pool{dims}d({x}, {shown})"
        return call if kind == "avg" or indices or given.get("return_indices") else f"({call})[0]"

    return write


def _window(value: Any, dims: int) -> list[int] | None:
    """The sizes of a window, of which one number may stand for all; None where they are computed."""
    found = [value] * dims if isinstance(value, int) else list(value) if isinstance(value, (list, tuple)) else []
    return found if len(found) == dims and all(type(each) is int for each in found) else None


def _unpooled(dims: int) -> Callable[[dict[str, Any], Render], str]:
    """The inverse of max pooling: its operators are given the size of the result; in one dimension it is that of two."""

    def write(given: dict[str, Any], render: Render) -> str:
        x, indices, size = render(given["input"], None), render(given["indices"], None), given.get("output_size")
        kernel, padding = _window(given["kernel_size"], dims), _window(given.get("padding", 0), dims)
        stride = kernel if given.get("stride") is None else _window(given["stride"], dims)
        if kernel is None or stride is None or padding is None or not (size is None or isinstance(size, (list, tuple))):
            raise CaptureError(f"max_unpool{dims}d() whose window or size is computed is not written to archives")
        if size is not None:
            sizes = [render(each, None) for each in size[-dims:]]
        else:
            sizes = [
                f"torch.add(torch.mul(torch.sub(torch.size({x}, {at - dims}), 1), {stride[at]}), {kernel[at] - 2 * padding[at]})"
                for at in range(dims)
            ]
        if dims == 1:
            return f"torch.squeeze(torch.max_unpool2d(torch.unsqueeze({x}, -1), torch.unsqueeze({indices}, -1), [{sizes[0]}, 1]), -1)"
        return f"torch.max_unpool{dims}d({x}, {indices}, [{', '.join(sizes)}]{f', {stride}, {padding}' if dims == 3 else ''})"

    return write


def _fractional(dims: int, indices: bool) -> Callable[[dict[str, Any], Render], str]:
    """Fractional max pooling by given random numbers: its operators always give the indices, too."""

    def write(given: dict[str, Any], render: Render) -> str:
        kernel, size = _window(given["kernel_size"], dims), _window(given.get("output_size"), dims)
        if kernel is None or size is None or given.get("_random_samples") is None:
            raise CaptureError(f"fractional_max_pool{dims}d() without a size of the result and random numbers is not written to archives")
        call = (
            f"torch.fractional_max_pool{dims}d({render(given['input'], None)}, {kernel}, {size}, {render(given['_random_samples'], None)})"
        )
        return call if indices or given.get("return_indices") else f"({call})[0]"

    return write


def _power_pooled(dims: int) -> Callable[[dict[str, Any], Render], str]:
    """Pooling by a norm: a root of the sum of powers, as PyTorch computes it from a mean."""

    def write(given: dict[str, Any], render: Render) -> str:
        kernel, p = _window(given["kernel_size"], dims), given["norm_type"]
        if kernel is None or not isinstance(p, (int, float)):
            raise CaptureError(f"lp_pool{dims}d() whose window or norm is computed is not written to archives")
        stride = kernel if given.get("stride") is None else _window(given["stride"], dims)
        mean = f"torch.avg_pool{dims}d(torch.pow({render(given['input'], None)}, {p}), {kernel}, {stride}, {[0] * dims}, {bool(given.get('ceil_mode'))})"
        return f"torch.pow(torch.mul(torch.mul(torch.sign({mean}), torch.relu(torch.abs({mean}))), {math.prod(kernel)}), {1 / p!r})"

    return write


def _local_response(given: dict[str, Any], render: Render) -> str:
    """Normalization over neighbouring channels: a mean of squares along them, with all other dimensions as one."""
    x, size = render(given["input"], None), given["size"]
    if type(size) is not int:
        raise CaptureError("local_response_norm() whose size is computed is not written to archives")
    squares = f"torch.reshape(torch.mul({x}, {x}), [torch.size({x}, 0), 1, torch.size({x}, 1), -1])"
    padded = f"torch.constant_pad_nd({squares}, [0, 0, {size // 2}, {(size - 1) // 2}], 0.)"
    mean = f"torch.reshape(torch.avg_pool2d({padded}, [{size}, 1], [1, 1]), torch.size({x}))"
    alpha, beta, k = (render(given.get(name, usual), None) for name, usual in (("alpha", 1e-4), ("beta", 0.75), ("k", 1.0)))
    return f"torch.div({x}, torch.pow(torch.add(torch.mul({mean}, {alpha}), {k}), {beta}))"


def _ranged(given: dict[str, Any], render: Render) -> str:
    parts = [render(given[name], None) for name in ("start", "end", "step") if name in given]
    parts += [f"{name}={render(given[name], None)}" for name in ("dtype", "device") if given.get(name) is not None]
    return f"torch.arange({', '.join(parts)})"


def _embedding_bag(given: dict[str, Any], render: Render) -> str:
    """Bags by offsets, or as the rows of a matrix of indices."""
    if given.get("max_norm") is not None:
        raise CaptureError("embedding_bag() with max_norm is not written to archives")
    x, weight = render(given["input"], None), render(given["weight"], None)
    offsets, samples = given.get("offsets"), given.get("per_sample_weights")
    start = render(offsets, None) if offsets is not None else f"torch.arange(0, torch.numel({x}), torch.size({x}, 1))"
    flat = f"torch.reshape({x}, [-1])" if offsets is None else x
    weights = "None" if samples is None else f"torch.reshape({render(samples, None)}, [-1])"
    mode = {"sum": 0, "mean": 1, "max": 2}[given.get("mode", "mean")]
    how = [bool(given.get("scale_grad_by_freq")), mode, bool(given.get("sparse")), weights, bool(given.get("include_last_offset"))]
    return f"(torch.embedding_bag({weight}, {flat}, {start}, {', '.join(map(str, how))}, {given.get('padding_idx')}))[0]"


def _unique(given: dict[str, Any], render: Render) -> str:
    """Unique elements: the operators always give inverse indices and counts, too."""
    flags = [given.get(name, False) for name in ("return_inverse", "return_counts")]
    if any(flag not in (True, False) for flag in flags):
        raise CaptureError("unique() whose return_inverse or return_counts is computed is not written to archives")
    x, dim, shown = render(given["input"], None), given.get("dim"), f"{bool(flags[0])}, {bool(flags[1])}"
    how = render(given.get("sorted", True), None)
    call = f"torch._unique2({x}, {how}, {shown})" if dim is None else f"torch.unique_dim({x}, {render(dim, None)}, {how}, {shown})"
    return _asked_parts(call, flags)


def _unique_consecutive(given: dict[str, Any], render: Render) -> str:
    flags = [given.get(name, False) for name in ("return_inverse", "return_counts")]
    if any(flag not in (True, False) for flag in flags):
        raise CaptureError("unique_consecutive() whose return_inverse or return_counts is computed is not written to archives")
    call = f"torch.unique_consecutive({render(given['input'], None)}, {bool(flags[0])}, {bool(flags[1])}, {render(given.get('dim'), None)})"
    return _asked_parts(call, flags)


def _asked_parts(call: str, flags: list[Any]) -> str:
    """Of unique elements, inverse indices and counts what the flags ask for."""
    return f"({call})" + {(False, False): "[0]", (True, False): "[0:2]", (False, True): "[0:3:2]", (True, True): ""}[flags[0], flags[1]]


_SPECIAL: dict[str, Callable[[dict[str, Any], Render], str]] = {
    **{f"max_unpool{dims}d": _unpooled(dims) for dims in (1, 2, 3)}, **{f"lp_pool{dims}d": _power_pooled(dims) for dims in (1, 2, 3)}, "local_response_norm": _local_response,
    **{f"fractional_max_pool{dims}d{end}": _fractional(dims, bool(end)) for dims in (2, 3) for end in ("", "_with_indices")},
    **{f"adaptive_max_pool{dims}d_with_indices": _adaptive("max", dims, True) for dims in (1, 2, 3)},
    "softsign": _text("torch.div({input}, torch.add(torch.abs({input}), 1))"),
    "tanhshrink": _text("torch.sub({input}, torch.tanh({input}))"),
    **{f"adaptive_{kind}_pool{dims}d": _adaptive(kind, dims) for kind in ("avg", "max") for dims in (1, 2, 3)},
    "norm": _norm, "kl_div": _divergence, "stft": _stft, "grid_sample": _sampled, "affine_grid": _affine_grid, "nn_functional_softmin": _softmin, "tensordot": _tensordot,
    "unique": _unique, "unique_consecutive": _unique_consecutive, "embedding_bag": _embedding_bag, "normalize": _normalized, "arange": _ranged, "gelu": _gelu, "gelu_tanh": _text('torch.gelu({input}, approximate="tanh")'),
}  # fmt: skip
