"""`torch.distributed.elastic.utils`: helpers of launchers: free ports, loggers, variables of the environment."""

from __future__ import annotations

import os

from . import distributed, logging


def get_env_variable_or_raise(env_name: str) -> str:
    """The value of a variable of the environment; an error where it is not set."""
    value = os.environ.get(env_name)
    if value is None:
        raise ValueError(f"Environment variable {env_name} expected, but not set")
    return value


__all__ = ["distributed", "get_env_variable_or_raise", "logging"]
