"""The scaler of gradients: with one process, the plain one."""

from __future__ import annotations

from typing import Any

from ...amp.grad_scaler import GradScaler

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(GradScaler):
    """A scaler of gradients that are spread over processes: there is one."""

    def __init__(
        self, device: str = "cpu", init_scale: float = 2.0**16, backoff_factor: float = 0.5, growth_factor: float = 2.0,
        growth_interval: int = 2000, enabled: bool = True, process_group: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)
