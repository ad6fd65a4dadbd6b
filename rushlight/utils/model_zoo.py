"""The old name of ``hub.load_state_dict_from_url``."""

from __future__ import annotations

import importlib
from typing import Any

from ..core.missing import PACKAGE, missing

__getattr__ = missing(__name__)


def load_url(url: str, *args: Any, **kwargs: Any) -> Any:
    """The tensors of a file that was downloaded before: see ``hub.load_state_dict_from_url``."""
    return importlib.import_module(f"{PACKAGE}.hub").load_state_dict_from_url(url, *args, **kwargs)
