"""`torch._higher_order_ops.inline_asm_elementwise`: PTX in a kernel, which is not here."""

from __future__ import annotations

from ...core.missing import absent_function

inline_asm_elementwise = absent_function(
    "inline_asm_elementwise",
    "rushlight._higher_order_ops.inline_asm_elementwise",
    "PTX in kernels is written with Triton's inline_asm_elementwise",
)
