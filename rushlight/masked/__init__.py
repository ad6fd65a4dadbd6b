"""``torch.masked``: reductions and normalizations that leave elements out, and tensors that carry their mask.

In: a tensor and a bool mask, True where an element counts.  Out: the result of the elements that count; where none does, the reduction's
identity.  ``reductions.py`` has the functions, ``maskedtensor.py`` the class.
"""

from __future__ import annotations

from ..core.missing import listing, missing
from .reductions import (
    amax,
    amin,
    argmax,
    argmin,
    cumprod,
    cumsum,
    log_softmax,
    logaddexp,
    logsumexp,
    mean,
    median,
    norm,
    normalize,
    prod,
    softmax,
    softmin,
    std,
    sum,
    var,
)

# The class is loaded when one of its names is asked for: from then on calls of ops ask whether an argument is one.
_LATE = {"maskedtensor": "MaskedTensor as_masked_tensor is_masked_tensor masked_tensor"}
__getattr__ = missing(__name__, lazy=("maskedtensor",), names=_LATE)
__dir__ = listing(__name__, names=_LATE["maskedtensor"].split())

__all__ = [
    "MaskedTensor", "amax", "amin", "argmax", "argmin", "as_masked_tensor", "cumprod", "cumsum", "is_masked_tensor", "log_softmax", "logaddexp",
    "logsumexp", "masked_tensor", "mean", "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip
