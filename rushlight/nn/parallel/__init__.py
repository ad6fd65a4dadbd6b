"""Models on several devices or processes; here is one of each, so that the wrappers run the module itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.missing import absent_function, missing
from .data_parallel import DataParallel, data_parallel
from .distributed import DistributedDataParallel
from .scatter_gather import gather, scatter

_ONE = "copies of a model on several devices need several devices, and there is the CPU: call the model itself"
replicate = absent_function("replicate", __name__, _ONE)
parallel_apply = absent_function("parallel_apply", __name__, _ONE)

if not TYPE_CHECKING:
    __getattr__ = missing(__name__)
__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel", "gather", "parallel_apply", "replicate", "scatter"]
