"""Building blocks of models: modules, parameters, functions, initial values.

Read ``modules/module.py`` first (``Module``); layers are the other files of ``modules/``, functions come from the op table.

>>> import rushlight as torch
>>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
>>> model(torch.ones(1, 2)).shape
torch.Size([1, 3])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.missing import listing, missing
from . import functional, init, modules, parameter
from .modules import LAYERS as _LAYERS
from .modules.utils import factory_kwargs
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

if TYPE_CHECKING:
    from . import attention, common_types, grad, intrinsic, parallel, qat, quantized, utils
    from .modules import *
    from .parallel import DataParallel

if not TYPE_CHECKING:
    __all__ = sorted([
        *modules.__all__, "Buffer", "DataParallel", "Parameter", "UninitializedBuffer", "UninitializedParameter", "factory_kwargs",
        "functional", "init", "modules", "parameter", "utils",
    ])  # fmt: skip
    __getattr__ = missing(
        __name__,
        lazy=("_reduction", "attention", "common_types", "grad", "intrinsic", "parallel", "qat", "quantized", "utils"),
        names={**{f"modules.{file}": names for file, names in _LAYERS.items()}, "parallel": "DataParallel"},
    )
    __dir__ = listing(__name__, names=__all__)
