"""Models on several devices or processes: ``DistributedDataParallel`` trains one with many processes.

In: a module, and a process group (``torch.distributed``).  Out: the module, wrapped.  Read ``distributed.py`` first, then ``reducer.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.missing import absent_function, missing
from .data_parallel import DataParallel, data_parallel
from .distributed import DistributedDataParallel
from .scatter_gather import gather, scatter

_ONE = "copies of a model on several devices of one process: start a process for each device, and use DistributedDataParallel"
replicate = absent_function("replicate", __name__, _ONE)
parallel_apply = absent_function("parallel_apply", __name__, _ONE)

if not TYPE_CHECKING:
    __getattr__ = missing(__name__)
__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel", "gather", "parallel_apply", "replicate", "scatter"]
