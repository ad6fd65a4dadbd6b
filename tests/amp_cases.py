"""Shared by the tests of autocast and their recorder: calls of ops with inputs of several types, and a GradScaler's story."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from op_samples import convert
from samples import samples_of


class Kind(NamedTuple):
    """Types of the first floating-point input and of the others, and autocast's own."""

    first: str
    others: str
    target: str

    @property
    def name(self) -> str:
        return f"{self.first}, {self.others} at {self.target}"


KINDS = [
    Kind("float32", "float32", "bfloat16"), Kind("bfloat16", "bfloat16", "bfloat16"), Kind("bfloat16", "float32", "bfloat16"),
    Kind("float32", "float32", "float16"), Kind("float64", "float64", "bfloat16"),
]  # fmt: skip


def _arrays(value: Any) -> list[np.ndarray]:
    if isinstance(value, np.ndarray):
        return [value]
    return [each for part in value for each in _arrays(part)] if isinstance(value, (list, tuple)) else []


def calls(op: Any, kind: Kind, tensor: Any, dtype: Any) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Arguments of an op from the first sample whose floating-point inputs are all float32, in the types of a kind."""
    for sample in samples_of(op):
        arrays = _arrays([*sample.args, *sample.kwargs.values()])
        floats = [each for each in arrays if each.dtype.kind == "f"]
        if not sample.compare or not floats or any(each.dtype != np.float32 for each in floats) or not sample.gradient:
            continue
        if kind.first != kind.others and len(floats) < 2:
            return None
        dtypes = iter([kind.first, *(kind.others,) * len(floats)])
        make = lambda array, dtypes=dtypes: tensor(array, next(dtypes) if array.dtype.kind == "f" else None)
        args = convert(sample.args, make, dtype)
        return args, {name: convert(value, make, dtype) for name, value in sample.kwargs.items()}
    return None


def scaler_story(torch: Any) -> list[Any]:
    """What a GradScaler does, step by step, with gradients that are finite or not."""
    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2)
    story = []
    for factor in (1.0, 2.0, float("inf"), 0.5, float("nan"), 1.0, 1.0, 3.0):
        optimizer.zero_grad()
        scaler.scale((weight * factor).sum()).backward()
        scaled = weight.grad.tolist()
        if factor == 2.0:
            scaler.unscale_(optimizer)
        result = scaler.step(optimizer)
        scaler.update()
        story.append(
            [
                repr(scaled),
                repr(result),
                [round(v, 6) for v in weight.tolist()],
                scaler.get_scale(),
                scaler.state_dict(),
            ]
        )
    return story
