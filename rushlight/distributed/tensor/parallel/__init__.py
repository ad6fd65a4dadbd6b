"""Layers whose parameters are spread over devices (tensor parallel).

In: a model, a mesh, and styles by the names of submodules.  Out: the model, whose layers compute parts.  Read ``style.py`` first.
"""

from __future__ import annotations

from ....core.missing import absents
from .api import parallelize_module
from .loss import loss_parallel
from .style import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    PrepareModuleInputOutput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
)

_PARTS = ("style", "api", "loss", "ddp", "fsdp")
absents(globals(), "it is a device of PyTorch's", classes="PrivateUse1")
