"""Optimizers that users derive from those of the package."""

from __future__ import annotations

import rushlight as torch


def test_subclasses_have_attributes_of_their_own() -> None:
    """Names that no optimizer of PyTorch's has are free for those of users."""

    class Watched(torch.optim.Adam):
        scalars = "mine"

        def __init__(self, params: list[torch.nn.Parameter], lr: float) -> None:
            super().__init__(params, lr=lr)
            self.plan, self.initial = "a plan", [p.detach().clone() for p in self.param_groups[0]["params"]]

        def update(self) -> str:
            return "updated"

        update_sparse = update

    plain, watched = torch.nn.Parameter(torch.ones(3)), torch.nn.Parameter(torch.ones(3))
    optimizers = [torch.optim.Adam([plain], lr=0.1), Watched([watched], lr=0.1)]
    for parameter, optimizer in zip((plain, watched), optimizers):
        for _ in range(2):
            optimizer.zero_grad()
            (parameter**2).sum().backward()
            optimizer.step()
    assert torch.equal(plain, watched) and plain[0] < 0.9
    assert optimizers[1].update() == "updated" and optimizers[1].plan == "a plan"
