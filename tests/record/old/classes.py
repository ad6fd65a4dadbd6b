"""Models with scripted classes, which PyTorch has since 1.2."""
# ruff: noqa
# mypy: ignore-errors

from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
import torch.nn as nn
from torch import Tensor


@torch.jit.script
class Sum(object):
    def __init__(self, start):
        # type: (int) -> None
        self.total = start
        self.items = torch.jit.annotate(List[int], [])

    def add(self, value):
        # type: (int) -> int
        self.total = self.total + value
        self.items.append(value)
        return self.total


Point = NamedTuple("Point", [("x", Tensor), ("count", int)])


class Classes(nn.Module):
    def __init__(self):
        super(Classes, self).__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x, start):
        # type: (Tensor, int) -> Tuple[Tensor, int]
        total = Sum(start)
        total.add(3)
        total.add(int(x.size(0)))
        kept = torch.jit.annotate(Dict[str, Tensor], {})
        kept["a"] = self.linear(x)
        if total.total > 8:
            kept["a"] = kept["a"] * 2
        return kept["a"], total.total

    @torch.jit.export
    def refuse(self, x):
        # type: (int) -> int
        if x > 2:
            raise ValueError("too big")
        return x


class Named(nn.Module):
    def forward(self, x):
        return Point(x + 1, x.size(0))


def models(version):
    found = [("classes_script", torch.jit.script(Classes()), [("forward", torch.ones(2, 2), 4), ("refuse", 2)])]
    if version >= (1, 3):
        found.append(("named_script", torch.jit.script(Named()), [("forward", torch.ones(2, 2))]))
    return found
