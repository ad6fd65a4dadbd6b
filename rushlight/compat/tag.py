"""`torch.Tag`: what PyTorch says about operators."""

from __future__ import annotations

from enum import Enum

Tag = Enum(  # type: ignore[misc]
    "Tag",
    "core cudagraph_unsafe data_dependent_output dynamic_output_shape flexible_layout generated inplace_view maybe_aliasing_or_mutating "
    "needs_contiguous_strides needs_exact_strides needs_fixed_stride_order nondeterministic_bitwise nondeterministic_seeded out pointwise "
    "pt2_compliant_tag reduction view_copy inplace",
)
