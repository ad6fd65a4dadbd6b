"""What rushlight runs on here, as text."""

from __future__ import annotations

import os
import platform

import ml_dtypes
import numpy as np

from .backends.cpu import blas, get_cpu_capability
from .core.missing import missing
from .settings import get_num_interop_threads, get_num_threads
from .version import __version__

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def show() -> str:
    """The parts that rushlight is made of, one in a line."""
    lines = [
        f"Python {platform.python_version()} ({platform.python_implementation()}, {platform.machine()})",
        f"NumPy {np.__version__}",
        f"ml_dtypes {ml_dtypes.__version__}",
        f"BLAS: {' '.join(blas())}".rstrip(),
        f"CPU capability usage: {get_cpu_capability()}",
        "CUDA, cuDNN, oneDNN and OpenMP are not used",
    ]
    return f"rushlight {__version__} runs on:\n" + "".join(f"  - {line}\n" for line in lines)


def parallel_info() -> str:
    """How work is dealt out to threads, and what limits them."""
    lines = [
        "rushlight/core/parallel:",
        f"\tget_num_threads() : {get_num_threads()}",
        f"\tget_num_interop_threads() : {get_num_interop_threads()}",
        f"BLAS: {' '.join(blas())}".rstrip(),
        f"os.cpu_count() : {os.cpu_count()}",
        "Environment variables:",
        *(f"\t{name} : {os.environ.get(name, '[not set]')}" for name in _THREAD_VARIABLES),
        "parallel backend: Python threads",
    ]
    return "\n".join(lines) + "\n"


__getattr__ = missing(__name__)
