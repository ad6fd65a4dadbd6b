"""The training step that tests compile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight.nn import functional as F


def training_step(model: Any, optimizer: Any) -> Callable[[Any, Any], Any]:
    """A step of an optimizer on the squared error of a model, as a function of a batch."""

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step
