"""Record the strides that PyTorch gives to views of tensors of many layouts, and which shapes it can view without copying.

    python tests/record/views.py          # in an environment with torch 2.13

Writes tests/data/views.json: a list of [op, shape, strides, arguments, result], where the result is [shape, strides], or null
where ``view`` refuses.
"""

from __future__ import annotations

import json
import pathlib
import random
from typing import Any

import torch

TARGET = pathlib.Path(__file__).resolve().parent.parent / "data" / "views.json"


def layout(stream: random.Random) -> torch.Tensor:
    """A tensor of a random shape: contiguous, permuted, sliced, expanded, or several of these."""
    shape = [stream.choice((1, 2, 2, 3, 4)) for _ in range(stream.randint(0, 4))]
    tensor = torch.zeros(shape)
    for _ in range(stream.randint(1, 3)):
        kind = stream.choice(("permute", "slice", "expand", "narrow"))
        if not tensor.ndim:
            continue
        dim = stream.randrange(tensor.ndim)
        if kind == "permute":
            tensor = tensor.permute(stream.sample(range(tensor.ndim), tensor.ndim))
        elif kind == "slice":
            tensor = tensor[(slice(None),) * dim + (slice(None, None, 2),)]
        elif kind == "narrow":
            tensor = tensor.narrow(dim, 0, max(tensor.shape[dim] - 1, 1))
        elif tensor.shape[dim] == 1:
            tensor = tensor.expand([3 if i == dim else size for i, size in enumerate(tensor.shape)])
    return tensor


def factored(stream: random.Random, count: int) -> list[int]:
    """A random shape with so many elements."""
    shape = []
    while count > 1:
        factor = stream.choice([each for each in range(2, count + 1) if count % each == 0])
        shape.append(factor)
        count //= factor
    for _ in range(stream.randint(0, 2)):
        shape.insert(stream.randint(0, len(shape)), 1)
    return shape


def arguments(stream: random.Random, name: str, tensor: torch.Tensor) -> list[Any] | None:
    """Arguments for a view op that fit a tensor, or None if there are none."""
    ndim = tensor.ndim
    if name == "view":
        return factored(stream, tensor.numel())
    if name == "unsqueeze":
        return [stream.randint(-ndim - 1, ndim)]
    if name == "expand":
        lead = [stream.choice((1, 2)) for _ in range(stream.randint(0, 2))]
        return lead + [3 if size == 1 and stream.random() < 0.5 else size for size in tensor.shape]
    if name == "squeeze":
        return [] if stream.random() < 0.5 or not ndim else [stream.randrange(ndim)]
    if not ndim:
        return None
    dim = stream.randrange(ndim)
    if name == "select":
        return [dim, stream.randrange(tensor.shape[dim])]
    if name == "unfold":
        return [dim, stream.randint(0, tensor.shape[dim]), stream.randint(1, 3)]
    if name == "diagonal":
        return [stream.randint(-2, 2), *stream.sample(range(ndim), 2)] if ndim > 1 else None
    return stream.sample(range(ndim), ndim)  # permute


def main() -> None:
    stream = random.Random(20260101)
    facts = []
    names = (*("view",) * 8, "unsqueeze", "expand", "squeeze", "select", "unfold", "diagonal", "permute")
    while len(facts) < 900:
        name, tensor = stream.choice(names), layout(stream)
        args = arguments(stream, name, tensor)
        if args is None:
            continue
        try:
            result = getattr(tensor, name)(*args) if args or name == "squeeze" else getattr(tensor, name)(())
            found = [list(result.shape), list(result.stride())]
        except RuntimeError:
            assert name == "view"
            found = None
        facts.append([name, list(tensor.shape), list(tensor.stride()), args, found])
    lines = ",\n".join(json.dumps(fact, separators=(",", ":")) for fact in facts)
    TARGET.write_text(f"[\n{lines}\n]\n")
    print(f"{len(facts)} facts, {sum(fact[4] is None for fact in facts)} refused")


if __name__ == "__main__":
    main()
