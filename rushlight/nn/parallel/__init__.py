"""Models on several devices or processes: ``DistributedDataParallel`` trains one with many processes.

In: a module, and a process group (``torch.distributed``).  Out: the module, wrapped.  Read ``distributed.py`` first, then ``reducer.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.missing import missing
from .data_parallel import DataParallel, data_parallel
from .distributed import DistributedDataParallel
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter

if not TYPE_CHECKING:
    __getattr__ = missing(__name__)
__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel", "gather", "parallel_apply", "replicate", "scatter"]
