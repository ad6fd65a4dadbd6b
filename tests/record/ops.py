"""Record what PyTorch gives for the samples of every op.

    PYTHONPATH=. python tests/record/ops.py [family ...]     # in an environment with torch 2.13 and ml_dtypes

Writes one file for each family of ops under tests/data/ops: values, dtypes, shapes; where PyTorch refuses a sample, the
type of its exception.
"""

from __future__ import annotations

import json
import pathlib
import sys
import warnings
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from op_samples import convert, family, flatten, same_layout
from samples import samples_of

import rushlight  # noqa: F401  (fills the table)
from rushlight.core.declare import table
from rushlight.core.dtypes import BY_NUMPY

WIDENED = (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2)  # dtypes that NumPy lacks: recorded as float32
DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "ops"


def to_torch(array: np.ndarray) -> torch.Tensor:
    name = BY_NUMPY[array.dtype].name
    if array.dtype.kind == "V":
        return torch.from_numpy(array.astype(np.float32)).to(getattr(torch, name))
    return torch.from_numpy(same_layout(array))


def _standardize(input: torch.Tensor, dims: Any, eps: float) -> tuple[torch.Tensor, ...]:
    variance, mean = torch.var_mean(input, dims, correction=0, keepdim=True)
    return (input - mean) / torch.sqrt(variance + eps), mean, variance


def _layer_standardize(input: torch.Tensor, weight: Any, bias: Any, dims: Any, eps: float) -> tuple[torch.Tensor, ...]:
    shape = [input.shape[dim] for dim in dims]
    standard, _, variance = _standardize(input, dims, eps)
    return torch.nn.functional.layer_norm(input, shape, weight, bias, eps), standard, variance


def _attention(query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float) -> tuple[torch.Tensor, torch.Tensor]:
    scores = scale * query @ key.transpose(-1, -2)
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).tril().logical_not(), -torch.inf)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    weights = torch._safe_softmax(scores, -1)  # zeros where all is masked, as in scaled_dot_product_attention
    return weights @ value, weights


# Internal ops, and overloads under names of their own: what is the same in PyTorch.
EQUIVALENTS = {
    "_binary_cross_entropy": lambda input, target: torch.nn.functional.binary_cross_entropy(input, target, reduction="none"),
    "_logit_cross_entropy": lambda input, target, pos_weight: torch.nn.functional.binary_cross_entropy_with_logits(
        input, target, reduction="none", pos_weight=pos_weight
    ),
    "alias": torch.ops.aten.alias, "copy": lambda input, source: input.clone().copy_(source), "index": torch.ops.aten.index, "mH": lambda input: input.mH,
    "mT": lambda input: input.mT, "matrix_H": lambda input: input.H, "numpy_T": lambda input: input.T, "polygamma_method": torch.Tensor.polygamma,
    "real_part": torch.real, "slice": torch.ops.aten.slice, "where_elements": torch.where, "where_method": torch.Tensor.where, "zero": torch.zeros_like,
    "elu": torch.ops.aten.elu, "gelu_exact": torch.nn.functional.gelu, "gelu_tanh": lambda input: torch.nn.functional.gelu(input, approximate="tanh"),
    "hardsigmoid": torch.nn.functional.hardsigmoid, "hardswish": torch.nn.functional.hardswish, "hardtanh": torch.nn.functional.hardtanh,
    "leaky_relu": torch.nn.functional.leaky_relu, "mish": torch.nn.functional.mish, "silu": torch.nn.functional.silu, "normal_share": torch.special.ndtr,
    "attention": _attention, "layer_standardize": _layer_standardize, "standardize": _standardize,
    "scale_shift": lambda input, weight, bias: input * weight + bias,
}  # fmt: skip


def resolve(op: Any) -> Any:
    """PyTorch's equivalent of an op: the function of the same name (of one that takes sizes one by one, the method), or None."""
    if op.name in EQUIVALENTS:
        return EQUIVALENTS[op.name]
    if op.method and any(parameter.variadic for parameter in op.parameters):
        return getattr(torch.Tensor, op.public_name, None)
    owner: Any = torch
    for part in op.qualified_name.split("."):
        owner = getattr(owner, part, None)
        if owner is None:
            return getattr(torch.Tensor, op.public_name, None) if op.method else None
    return owner


def record(op: Any, function: Any, samples: list[Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """PyTorch's results for samples of an op: arrays, and notes on their dtypes or on the exception raised instead."""
    arrays: dict[str, np.ndarray] = {}
    notes: dict[str, Any] = {}
    for number, sample in enumerate(samples):
        if not sample.compare:
            continue
        key = f"{op.name}/{number}"
        dtype = lambda d: getattr(torch, BY_NUMPY[d].name)
        args = convert(sample.args, to_torch, dtype)
        kwargs = {name: convert(value, to_torch, dtype) for name, value in sample.kwargs.items()}
        try:
            results = flatten(function(*args, **kwargs))
        except Exception as error:
            notes[key] = {"error": type(error).__name__, "message": str(error)[:200]}
            continue
        kinds = []
        for index, result in enumerate(results):
            if isinstance(result, torch.Tensor):
                kinds.append(str(result.dtype).removeprefix("torch."))
                plain = result.detach().resolve_conj().resolve_neg()
                arrays[f"{key}/{index}"] = (plain.float() if plain.dtype in WIDENED else plain).numpy()
            else:
                kinds.append(None)
                notes[f"{key}/{index}"] = result if isinstance(result, (int, float, bool, str, type(None))) else repr(result)
        notes[key] = {"dtypes": kinds}
    return arrays, notes


def main(wanted: list[str]) -> None:
    torch.manual_seed(0)
    warnings.simplefilter("ignore")
    by_family: dict[str, list[Any]] = {}
    for op in table.values():
        by_family.setdefault(family(op), []).append(op)
    for name, members in sorted(by_family.items()):
        if wanted and name not in wanted:
            continue
        arrays: dict[str, np.ndarray] = {}
        notes: dict[str, Any] = {}
        absent = []
        for op in members:
            if op.functional is not None or not samples_of(op):
                continue
            function = resolve(op)
            if function is None:
                absent.append(op.name)
                continue
            more_arrays, more_notes = record(op, function, samples_of(op))
            arrays.update(more_arrays)
            notes.update(more_notes)
        arrays["notes"] = np.frombuffer(json.dumps(notes).encode(), np.uint8)
        (DATA / name).parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(DATA / f"{name}.npz", **arrays)
        refused = [key for key, note in notes.items() if isinstance(note, dict) and "error" in note]
        print(f"{name}: {len(arrays) - 1} arrays; not in PyTorch: {absent}; refused by PyTorch: {refused}")


if __name__ == "__main__":
    main(sys.argv[1:])
