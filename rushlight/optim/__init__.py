"""Optimizers, schedules of learning rates (``lr_scheduler/``), and averages of weights (``swa_utils.py``).

Read ``optimizer.py`` first (the base class), then ``elementwise.py`` (the update that most optimizers share, in eager mode, captures and exported
training steps).  An optimizer's file is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.missing import complete, listing, missing

if TYPE_CHECKING:
    from . import lr_scheduler, swa_utils
    from ._adafactor import Adafactor
    from ._muon import Muon
    from ._stateless import swap_in_optimizer_params_and_state
    from .adadelta import Adadelta
    from .adagrad import Adagrad
    from .adam import Adam
    from .adamax import Adamax
    from .adamw import AdamW
    from .asgd import ASGD
    from .lbfgs import LBFGS
    from .nadam import NAdam
    from .optimizer import Optimizer
    from .radam import RAdam
    from .rmsprop import RMSprop
    from .rprop import Rprop
    from .sgd import SGD
    from .sparse_adam import SparseAdam

# The optimizers by the file that declares them.
OPTIMIZERS = {
    "_adafactor": "Adafactor",
    "_muon": "Muon",
    "_stateless": "swap_in_optimizer_params_and_state",
    "adadelta": "Adadelta",
    "adagrad": "Adagrad",
    "adam": "Adam",
    "adamax": "Adamax",
    "adamw": "AdamW",
    "asgd": "ASGD",
    "lbfgs": "LBFGS",
    "nadam": "NAdam",
    "optimizer": "Optimizer",
    "radam": "RAdam",
    "rmsprop": "RMSprop",
    "rprop": "Rprop",
    "sgd": "SGD",
    "sparse_adam": "SparseAdam",
}  # fmt: skip
if not TYPE_CHECKING:
    __all__ = sorted(["lr_scheduler", "swa_utils", *(name for names in OPTIMIZERS.values() for name in names.split())])
    __getattr__ = missing(__name__, lazy=(*OPTIMIZERS, "elementwise", "lr_scheduler", "swa_utils"), names=OPTIMIZERS)
    __dir__ = listing(__name__, names=__all__)
    complete(__name__)  # pyro and PyTorch Geometric look for optimizers in `vars(torch.optim)`
