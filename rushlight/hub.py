"""Models from the network are not here: the functions exist to say so."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

from .core.errors import NotSupported

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]


def _check_module_exists(name: str) -> bool:
    """Whether a Python module can be imported."""
    return importlib.util.find_spec(name) is not None


def _refused(name: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotSupported(
            f"hub.{name}(): rushlight fetches no code and no weights from the network. Download the file yourself, and read it "
            "with `load` or `utils.safetensors.load_file`."
        )

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Raise: nothing is fetched from the network."
    return refuse


download_url_to_file = _refused("download_url_to_file")
get_dir = _refused("get_dir")
help = _refused("help")
list = _refused("list")
load = _refused("load")
load_state_dict_from_url = _refused("load_state_dict_from_url")
set_dir = _refused("set_dir")
