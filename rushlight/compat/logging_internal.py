"""`torch._logging`: what the parts of the system log.  What is set is kept by Python's loggers of these names."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from ..core.missing import missing

__getattr__ = missing("rushlight._logging")


def set_logs(*, all: int | None = None, modules: dict[str, int | bool] | None = None, **parts: Any) -> None:
    """Set the levels of loggers: of the package, of parts of it (``dynamo=logging.DEBUG``), and of modules."""
    wanted: dict[str, Any] = {} if all is None else {"torch": all}
    wanted.update({f"torch.{name}": level for name, level in parts.items()})
    wanted.update(modules or {})
    for name, level in wanted.items():
        if level is not None:
            logging.getLogger(name).setLevel((logging.INFO if level else logging.WARNING) if isinstance(level, bool) else level)


def trace_structured(
    name: str, metadata_fn: Callable[[], Any] = dict, *, payload_fn: Callable[[], Any] = lambda: None, **options: Any
) -> None:
    """A record for PyTorch's trace of compilations, which nobody reads here: the functions are not called."""


def getArtifactLogger(module_qname: str, artifact_name: str) -> logging.Logger:
    """The logger of a part."""
    return logging.getLogger(f"{module_qname}.__{artifact_name}")


def warning_once(logger_obj: logging.Logger, *args: Any, **kwargs: Any) -> None:
    """Log a warning, the first time that it is given."""
    key = (logger_obj.name, args)
    if key not in _warned:
        _warned.add(key)
        logger_obj.warning(*args, **kwargs)


_warned: set[Any] = set()
