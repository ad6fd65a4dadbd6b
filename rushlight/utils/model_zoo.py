"""The old name of ``hub.load_state_dict_from_url``."""

from __future__ import annotations

import importlib
from typing import Any

from ..core.missing import PACKAGE, missing

_absent = missing(__name__)


def __getattr__(name: str) -> Any:
    return importlib.import_module(f"{PACKAGE}.hub").tqdm if name == "tqdm" else _absent(name)


def load_url(url: str, *args: Any, **kwargs: Any) -> Any:
    """The tensors of a file that was downloaded before: see ``hub.load_state_dict_from_url``."""
    return importlib.import_module(f"{PACKAGE}.hub").load_state_dict_from_url(url, *args, **kwargs)
