"""Time limits of groups: five minutes, where PyTorch has thirty and ten."""

from __future__ import annotations

from datetime import timedelta

__all__ = ["default_pg_nccl_timeout", "default_pg_timeout"]
default_pg_timeout = timedelta(minutes=5)
default_pg_nccl_timeout = timedelta(minutes=5)
