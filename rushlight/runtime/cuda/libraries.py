"""The loader of NVIDIA's libraries: those that CuPy uses, or those of installed ``nvidia-…`` packages."""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import functools
import glob
import importlib
import importlib.util
import os
from typing import Any

from ...core.errors import DeviceError

# Library -> the names of its file, the package that brings it, and the folder there.
_KNOWN = {
    "cublas": (("libcublas.so.13", "libcublas.so.12", "libcublas.so"), "nvidia-cublas", ("cu13/lib", "cublas/lib")),
    "cublasLt": (("libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"), "nvidia-cublas", ("cu13/lib", "cublas/lib")),
    "cudnn": (("libcudnn.so.9", "libcudnn.so"), "nvidia-cudnn-cu13", ("cudnn/lib",)),
}


@functools.cache
def _loaded(name: str) -> Any:
    names, package, folders = _KNOWN[name]
    candidates: list[str] = []
    found = importlib.util.find_spec("nvidia")
    for root in (found.submodule_search_locations or []) if found is not None else []:
        for folder in folders:
            candidates += [path for each in names for path in glob.glob(os.path.join(root, folder, each))]
    with open("/proc/self/maps") as maps:  # what CuPy has loaded already
        mapped = sorted({line.split()[-1] for line in maps if f"lib{name}.so" in line})
    for path in (*mapped, *candidates, *names):
        try:
            return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        except OSError:
            continue
    raise DeviceError(f"the library {names[0]} is not here: pip install {package}")


def library(cupy: Any, name: str) -> Any:
    """One of NVIDIA's libraries; a DeviceError says what is missing."""
    if name.startswith("cublas"):
        with contextlib.suppress(ImportError, OSError):  # where CuPy finds none, a package may have one
            importlib.import_module("cupy_backends.cuda.libs.cublas")  # loads the one that CuPy uses
    return _loaded(name)
