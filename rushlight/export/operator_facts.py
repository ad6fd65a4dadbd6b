"""Facets of ops for export: those that PyTorch's functions write in other operators, and how operators differ from ops beside their form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.base import TensorBase
from ..core.declare import table
from ..core.facets import Facet
from .attention_form import attention

broadcasts: Facet[bool] = Facet("aten broadcasts", "losses whose functions call ``broadcast_tensors`` first")
rewrites: Facet[Callable[..., Any]] = Facet("aten rewrite", "what PyTorch's function of the same name runs, in the place of an op")
whole: Facet[bool] = Facet("aten whole", "composites that draw random numbers, and stay one operator when others are decomposed")
picks: Facet[bool] = Facet("aten picks", "ops whose number of rows depends on data")
reshapes: Facet[bool] = Facet("aten reshapes", "views that are reshapes where values have no strides")
typed: Facet[bool] = Facet("aten typed", "ops that may compute in another type, which decomposed programs convert to before")

whole.set(True, "dropout", "alpha_dropout", "nn_functional_dropout", "nn_functional_alpha_dropout", "nn_functional_feature_alpha_dropout")
broadcasts.set(True, "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
picks.set(True, "nonzero", "argwhere", "masked_select")
reshapes.set(True, "view", "view_shape")
typed.set(True, "softmax", "log_softmax")


# -- ops that PyTorch's functions write in other operators -------------------------------------------------------------


def _run(name: str, *args: Any, **kwargs: Any) -> Any:
    return table[name].call(*args, **kwargs)


def _reciprocal(input: Any, other: Any, rounding_mode: Any = None) -> Any:
    if isinstance(input, TensorBase) or rounding_mode is not None:
        return NotImplemented
    return _run("mul", _run("reciprocal", other), input)


def _kl_div(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean", log_target: bool = False
) -> Any:
    if reduction != "batchmean":
        return NotImplemented
    return _run("kl_div", input, target, reduction="sum", log_target=log_target) / input.shape[0]


def _softsign(input: Any) -> Any:
    return input / (input.abs() + 1)


def _plain_norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None, **rest: Any) -> Any:
    if p in ("fro", None) or isinstance(p, (int, float)):
        number = 2 if p in ("fro", None) else p
        return NotImplemented if dtype is not None else _run("vector_norm", input, number, dim, keepdim)
    return NotImplemented


def _normalize(input: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Any:
    return input / _run("vector_norm", input, p, dim, True).clamp_min(eps).expand_as(input)


def _stft(
    input: Any, n_fft: int, hop_length: Any = None, win_length: Any = None, window: Any = None, center: bool = True, pad_mode: str = "reflect", *rest: Any
) -> Any:  # fmt: skip
    if not center:
        return NotImplemented
    rank = input.dim()
    padded = _run("pad", input.view((*(1,) * (3 - rank), *input.shape)), (n_fft // 2, n_fft // 2), pad_mode)
    return _run("stft", padded.view(padded.shape[3 - rank :]), n_fft, hop_length, win_length, window, False, pad_mode, *rest)


def _max_pool_pair(name: str) -> Callable[..., Any]:
    def run(input: Any, output_size: Any, return_indices: bool = False) -> Any:
        return NotImplemented if return_indices else _run(name, input, output_size, True)[0]

    return run


_REWRITES: dict[str, Callable[..., Any]] = {
    "div": _reciprocal, "kl_div": _kl_div, "softsign": _softsign, "norm": _plain_norm, "normalize": _normalize,
    "multi_head_attention_forward": attention, "stft": _stft,
    **{f"adaptive_max_pool{dims}d": _max_pool_pair(f"adaptive_max_pool{dims}d") for dims in (1, 2, 3)},
}  # fmt: skip
for _name, _rewrite in _REWRITES.items():
    rewrites.set(_rewrite, _name)
