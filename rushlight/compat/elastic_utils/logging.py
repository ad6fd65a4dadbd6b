"""`torch.distributed.elastic.utils.logging`: the logger of a module."""

from __future__ import annotations

import inspect
import logging
import os
import warnings


def get_logger(name: str | None = None) -> logging.Logger:
    """The logger of a name, or of the module that asks; its level is that of the variable LOGLEVEL."""
    if name is None:
        frame = inspect.currentframe()
        name = str(frame.f_back.f_globals.get("__name__")) if frame is not None and frame.f_back is not None else None
    found = logging.getLogger(name)
    found.setLevel(os.environ.get("LOGLEVEL", "WARNING"))
    return found


def _derive_module_name(depth: int = 1) -> str | None:
    """The name of the module that called, so many calls up."""
    try:
        return str(inspect.stack()[depth].frame.f_globals["__name__"])
    except (IndexError, KeyError) as error:
        warnings.warn(f"Error deriving logger module name, using <None>. Exception: {error}", RuntimeWarning, stacklevel=2)
        return None
