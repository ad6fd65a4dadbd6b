"""``torch.functional``: functions of the top level under the module in which PyTorch has them."""

from __future__ import annotations

from .core.declare import exports
from .core.missing import missing as _missing

_NAMES = (
    "align_tensors atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist chain_matmul einsum istft lu "
    "meshgrid norm split stft tensordot unique unique_consecutive unravel_index"
)

globals().update({name: exports["", name] for name in _NAMES.split() if ("", name) in exports})
__getattr__ = _missing(__name__)
__all__ = [name for name in _NAMES.split() if ("", name) in exports]
