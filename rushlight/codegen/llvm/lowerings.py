"""The file that lowers each family of op routines to LLVM IR: it is imported at the first op of the family."""

from __future__ import annotations

from ...schedule.lowering import lowering
from ...schedule.routines import FAMILIES

_FILES = {
    "attention": "attention", "convolution": "conv.convolution", "matmul": "gemm.matmul", "movement": "gather_scatter",
    "pooling": "pooling", "recurrent": "rnn", "weight_only": "gemm.weight_only",
}  # fmt: skip
_DESCRIBED_ONLY = ("flip", "repeat")  # lowered to views and fused kernels alone

for _family, _file in _FILES.items():
    lowering("llvm").expect(f"{__package__}.{_file}", *[name for name in FAMILIES[_family] if name not in _DESCRIBED_ONLY])
