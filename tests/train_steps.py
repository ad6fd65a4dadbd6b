"""A network, batches for it, and what there is to compare after some training steps."""

from __future__ import annotations

from typing import Any

import numpy as np

import rushlight as torch
from rushlight import nn

STEPS = 20
BACKENDS = ("eager", "aot_eager", "native")


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4), nn.Dropout(0.3), nn.Linear(4, 1))


def batches(count: int = STEPS) -> list[tuple[Any, Any]]:
    torch.manual_seed(1)
    return [(torch.randn(32, 8), torch.randn(32, 1)) for _ in range(count)]


class Run:
    """What is there after some steps: the losses, the Module and the optimizers."""

    def __init__(self, losses: list[float], model: Any, *optimizers: Any) -> None:
        self.losses = losses
        self.model = model
        self.optimizers = optimizers

    def agrees(self, other: Run) -> None:
        np.testing.assert_allclose(self.losses, other.losses, 1e-5)
        theirs = dict(other.model.named_parameters())
        for name, param in self.model.named_parameters():
            same = theirs[name]
            np.testing.assert_allclose(values(param), values(same), 1e-4, 1e-5, err_msg=name)
            assert (param.grad is None) == (same.grad is None), name
            if param.grad is not None:
                np.testing.assert_allclose(values(param.grad), values(same.grad), 1e-4, 1e-5, err_msg=name)
        for mine, its in zip(self.optimizers, other.optimizers):
            a, b = mine.state_dict(), its.state_dict()
            assert a["param_groups"] == b["param_groups"]
            assert a["state"].keys() == b["state"].keys()
            for number, entries in a["state"].items():
                assert entries.keys() == b["state"][number].keys()
                for key, value in entries.items():
                    assert (value is None) == (b["state"][number][key] is None)
                    if value is not None:
                        np.testing.assert_allclose(values(value), values(b["state"][number][key]), 1e-4, 1e-6, err_msg=f"{number} {key}")


def values(tensor: Any) -> Any:
    return tensor.detach().float().numpy() if isinstance(tensor, torch.Tensor) else np.asarray(tensor, np.float64)


def graphs(compiled: Any) -> int:
    """How many graphs with calls were captured."""
    found = compiled._compiled
    every = found.cache.all()
    return sum(any(node.op == "call_function" for node in each.module.graph.nodes) for each in every)
