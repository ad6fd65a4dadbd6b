"""Names of ``torch.cuda`` in the module where PyTorch has them."""

from __future__ import annotations

from .. import cuda
from ..core.missing import missing

globals().update(
    {name: getattr(cuda, name) for name in "CUDAGraph graph graph_pool_handle make_graphed_callables is_current_stream_capturing".split()}
)
__getattr__ = missing(__name__)
