"""Descriptions of ops that have code of their own: what is computed, on which geometry, at what cost.  No target's code is here.

In: the arguments of an op.  Out: a description (a dataclass), which ``lowering(target)`` of ``../lowering.py`` turns into code.  A family is a file, which is
imported when one of its ops is met.  Read ``movement.py`` first: its descriptions are the simplest.
"""

from __future__ import annotations

from ..lowering import call_layout, routine

_POOLS = [f"{name}{ndim}d" for name in ("max_pool", "avg_pool", "adaptive_avg_pool") for ndim in (1, 2, 3)]
_POOLS_WITH_INDICES = [f"{name}{ndim}d_with_indices" for name in ("max_pool", "adaptive_max_pool") for ndim in (1, 2, 3)]
FAMILIES = {
    "attention": "attention attention_backward".split(),
    "convolution": "convolution convolution_weight_gradient".split(),
    "matmul": ["matmul"],
    "movement": (
        "cat constant_pad_nd cumsum cumsum_reversed embedding embedding_backward flip gather gather_backward index index_add index_backward index_copy "
        "index_select index_select_backward repeat roll scatter_add select_backward slice_backward stack tril triu".split()
    ),
    "pooling": [*_POOLS, *_POOLS_WITH_INDICES, "avg_pool_backward", "max_pool_backward", "max_pool_select", "resample_backward"],
    "weight_only": ["_weight_int8pack_mm", "_weight_int4pack_mm_for_cpu"],
    "recurrent": [f"{cell}_{part}" for cell in ("lstm", "gru", "rnn") for part in ("layer", "backward")],
}  # the ops that each file describes

for _family, _names in FAMILIES.items():
    routine.expect(f"{__name__}.{_family}", *_names)
call_layout.expect(f"{__name__}.attention", *FAMILIES["attention"])

__all__ = ["FAMILIES"]
