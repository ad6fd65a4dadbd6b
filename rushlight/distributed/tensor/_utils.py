"""Sizes of parts of distributed tensors."""

from __future__ import annotations

from ...core.missing import absents

absents(
    globals(),
    "tensors that are spread over several devices need several processes: use a plain tensor",
    functions="compute_local_shape_and_global_offset compute_global_tensor_info compute_local_shape",
)
