"""Models by the functions of a file ``hubconf.py`` in a folder of this machine; nothing is fetched from the network."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import sys
import urllib.parse
import urllib.request
from collections.abc import Callable
from types import ModuleType
from typing import Any
from urllib.parse import urlparse  # noqa: F401  (programs take it from here)

from .core.errors import NotSupported
from .serialization import load as _load_file

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

try:
    from tqdm.auto import tqdm  # type: ignore[import-untyped]  # programs take it from here
except ImportError:

    class tqdm:  # type: ignore[no-redef]
        """A bar of progress that shows nothing, where the package tqdm is not installed."""

        def __init__(self, iterable: Any = None, *args: Any, **kwargs: Any) -> None:
            self.iterable = iterable

        def __iter__(self) -> Any:
            return iter(self.iterable)

        def update(self, n: int = 1) -> None:
            """Nothing is shown."""

        def close(self) -> None:
            """Nothing was shown."""

        set_description = set_postfix = update

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *exception: Any) -> None:
            self.close()


HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
MODULE_HUBCONF = "hubconf.py"


class _Place:
    folder: str | None = None


def _get_torch_home() -> str:
    """Where files that were downloaded before are: ``TORCH_HOME``, or ``torch`` in the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder of models."""
    return os.path.join(_get_torch_home(), "hub") if _Place.folder is None else _Place.folder


def set_dir(d: Any) -> None:
    """Set the folder of models."""
    _Place.folder = os.path.expanduser(os.fspath(d))


def _check_module_exists(name: str) -> bool:
    """Whether a Python module can be imported."""
    return importlib.util.find_spec(name) is not None


def _refuse(what: str) -> NotSupported:
    return NotSupported(
        f"{what}: rushlight fetches no code and no weights from the network. Download it yourself, and use source='local', or `load` and "
        "`utils.safetensors.load_file`."
    )


def _config(folder: str, source: str) -> ModuleType:
    """The module ``hubconf.py`` of a folder."""
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        raise _refuse(f"hub: the repository {folder!r}")
    path = os.path.join(os.path.expanduser(folder), MODULE_HUBCONF)
    sys.path.insert(0, os.path.expanduser(folder))
    try:
        spec = importlib.util.spec_from_file_location(MODULE_HUBCONF, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(os.path.expanduser(folder))
    needed = [name for name in getattr(module, "dependencies", ()) if not _check_module_exists(name)]
    if needed:
        raise RuntimeError(f"Missing dependencies: {', '.join(needed)}")
    return module


def _entry(module: ModuleType, name: str) -> Callable[..., Any]:
    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    found = getattr(module, name, None)
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return found  # type: ignore[no-any-return]


def list(
    github: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = None,
    verbose: bool = True,
    source: str = "local",
) -> Any:
    """The names of the functions of ``hubconf.py``."""
    module = _config(github, source if os.path.isdir(os.path.expanduser(github)) else "github")
    return [name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")]


def help(
    github: str, model: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = None, source: str = "local"
) -> Any:
    """The docstring of a function of ``hubconf.py``."""
    return _entry(_config(github, source if os.path.isdir(os.path.expanduser(github)) else "github"), model).__doc__


def load(
    repo_or_dir: str, model: str, *args: Any, source: str = "github", trust_repo: Any = None, force_reload: bool = False, verbose: bool = True,
    skip_validation: bool = False, **kwargs: Any,
) -> Any:  # fmt: skip
    """What a function of ``hubconf.py`` in a folder returns: ``load(folder, name, source="local")``."""
    return _entry(_config(repo_or_dir, source.lower()), model)(*args, **kwargs)


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Copy a file that a ``file://`` address names; other addresses raise."""
    parts = urllib.parse.urlparse(url)
    if parts.scheme not in ("file", ""):
        raise _refuse(f"hub.download_url_to_file({url!r})")
    source = urllib.request.url2pathname(parts.path)
    if hash_prefix is not None:
        with open(source, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if not digest.startswith(hash_prefix):
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest}")')
    shutil.copyfile(source, os.path.expanduser(dst))


def load_state_dict_from_url(
    url: str, model_dir: str | None = None, map_location: Any = None, progress: bool = True, check_hash: bool = False,
    file_name: str | None = None, weights_only: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """The tensors of a file that was downloaded before, or that a ``file://`` address names."""
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    path = os.path.join(folder, file_name or os.path.basename(urllib.parse.urlparse(url).path))
    if not os.path.exists(path):
        if urllib.parse.urlparse(url).scheme != "file":
            raise _refuse(f"hub.load_state_dict_from_url({url!r}) (it would be put into {path})")
        os.makedirs(folder, exist_ok=True)
        found = HASH_REGEX.search(os.path.basename(path)) if check_hash else None
        download_url_to_file(url, path, found[1] if found else None, progress)
    return _load_file(path, map_location=map_location, weights_only=weights_only)  # type: ignore[no-any-return]
