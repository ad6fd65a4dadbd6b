"""Parts of ``torch.fx`` that libraries import: ``make_fx``, fusion of convolution and batch norm, folding of constants.

In: a function or ``GraphModule``.  Out: a ``GraphModule``.  Read ``proxy_tensor.py`` first.
"""

from __future__ import annotations

from ...core.missing import missing

__getattr__ = missing(__name__, lazy=("const_fold", "meta_tracer", "optimization", "proxy_tensor", "symbolic_shapes"))
