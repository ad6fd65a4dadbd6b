"""Building blocks of models: modules, parameters, functions, initial values.

>>> import rushlight as torch
>>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
>>> model(torch.ones(1, 2)).shape
torch.Size([1, 3])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.missing import missing
from . import functional, init, modules, parameter, utils
from .modules import *  # noqa: F403
from .modules import __all__ as _layers
from .modules.utils import factory_kwargs
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

if TYPE_CHECKING:
    from . import attention, common_types, grad, intrinsic, parallel, qat, quantized  # noqa: F401  (submodules that load on first use)
else:
    __getattr__ = missing(__name__, lazy=("attention", "common_types", "grad", "intrinsic", "parallel", "qat", "quantized"))
__all__ = [
    *_layers,
    "Buffer",
    "DataParallel",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "factory_kwargs",
    "functional",
    "init",
    "modules",
    "parameter",
    "utils",
]
