"""``torch.library``: ops that a program registers, known to eager mode, captures, gradients, vmap and the exporter alike.

In: a Python function (``custom_op``) or a schema with implementations (``Library``).  Out: an overload under ``torch.ops``, and an
:class:`~rushlight.core.declare.Op` that is one node of every graph.  Read ``definition.py`` first, then ``custom_op.py``.
"""

from __future__ import annotations

from ..core.missing import missing
from .checking import opcheck
from .custom_op import CustomOpDef, custom_op, triton_op, wrap_triton
from .infer import infer_schema
from .registration import (
    Library,
    _scoped_library,
    define,
    fallthrough_kernel,
    get_ctx,
    get_kernel,
    impl,
    impl_abstract,
    register_autocast,
    register_autograd,
    register_fake,
    register_kernel,
    register_torch_dispatch,
    register_vmap,
)

__all__ = [
    "CustomOpDef", "Library", "_scoped_library", "custom_op", "define", "fallthrough_kernel", "get_ctx", "get_kernel", "impl", "impl_abstract", "infer_schema", "opcheck",
    "register_autocast", "register_autograd", "register_fake", "register_kernel", "register_torch_dispatch", "register_vmap", "triton_op",
    "wrap_triton",
]  # fmt: skip
__getattr__ = missing(__name__)
