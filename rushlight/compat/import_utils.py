"""``torch.utils._import_utils``: whether optional packages are there."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType


def _check_module_exists(name: str) -> bool:
    """Whether a package is there, without importing it."""
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


def dill_available() -> bool:
    """Whether the pickler ``dill`` is there."""
    return _check_module_exists("dill")


def import_dill() -> ModuleType | None:
    """``dill``, which does not change the standard library's pickler; None where it is not there."""
    if not dill_available():
        return None
    dill = importlib.import_module("dill")
    dill.extend(use_dill=False)
    return dill
