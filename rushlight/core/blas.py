"""The BLAS library that NumPy is built with, found by ctypes: addresses of its matrix products and of its thread settings."""

from __future__ import annotations

import ctypes
import functools
import glob
import logging
import os
from typing import Any

import numpy as np

log = logging.getLogger("rushlight.native")

# The names that NumPy's builds give to the matrix product, with the integer type of its sizes.
_NAMES = (("scipy_cblas_{}64_", "i64"), ("cblas_{}64_", "i64"), ("scipy_cblas_{}", "i32"), ("cblas_{}", "i32"))
_THREADS = ("scipy_openblas_{}_num_threads64_", "openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads")


class Blas:
    """The matrix products of a BLAS library; without addresses where none is found."""

    def __init__(self) -> None:
        self.size = ""  # the integer type of its sizes, in LLVM's spelling
        self.addresses: dict[str, int] = {}
        self.threads: tuple[int, int] | None = None  # functions that get and set the number of its threads
        for library in _libraries():
            for pattern, size in _NAMES:
                found: dict[str, Any] = {name: getattr(library, pattern.format(name), None) for name in ("sgemm", "dgemm")}
                if all(found.values()) and self._works(found["sgemm"], size):
                    self.size = size
                    self.addresses = {name: ctypes.cast(each, ctypes.c_void_p).value or 0 for name, each in found.items()}
                    self.threads = self._find_threads(library)
                    return

    def _find_threads(self, library: Any) -> tuple[int, int] | None:
        for pattern in _THREADS:
            found: list[Any] = [getattr(library, pattern.format(what), None) for what in ("get", "set")]
            if all(found):
                get, set_ = (ctypes.cast(each, ctypes.c_void_p).value or 0 for each in found)
                return get, set_
        return None

    def _works(self, function: Any, size: str) -> bool:
        """Whether it multiplies two small matrices correctly, which shows that the integer type is the right one."""
        integer = ctypes.c_int64 if size == "i64" else ctypes.c_int32
        a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(12, dtype=np.float32).reshape(3, 4)
        made = np.zeros((2, 4), np.float32)
        order = [ctypes.c_int32(each) for each in (101, 111, 111)]
        sizes = [integer(each) for each in (2, 4, 3)]
        pointers = [ctypes.c_void_p(each.ctypes.data) for each in (a, b, made)]
        function.restype = None
        function(
            *order, *sizes, ctypes.c_float(1), pointers[0], integer(3), pointers[1], integer(4), ctypes.c_float(0), pointers[2], integer(4)
        )
        return bool(np.array_equal(made, a @ b))


def _libraries() -> list[Any]:
    """The libraries in NumPy's wheel that may contain BLAS."""
    folder = os.path.dirname(np.__file__)
    places = [os.path.join(os.path.dirname(folder), "numpy.libs"), os.path.join(folder, ".dylibs"), os.path.join(folder, ".libs")]
    paths = [path for place in places for path in sorted(glob.glob(os.path.join(place, "*blas*")))]
    found = []
    for path in paths:
        try:
            found.append(ctypes.CDLL(path))
        except OSError as error:
            log.info("%s can't be loaded: %s", path, error)
    return found


@functools.cache
def blas() -> Blas:
    """The BLAS of NumPy, looked for once."""
    return Blas()
