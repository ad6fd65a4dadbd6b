"""Functions of functions: derivatives, and functions of one example mapped over a batch.  They nest and compose.

In: a function of tensors.  Out: another one.  ``derivatives.py`` uses the autograd engine; ``level.py`` runs the ops of one ``vmap`` on whole batches by the
``batching`` facets of ``batching_rules*.py``.  Read ``derivatives.py`` first, then ``level.py``.

>>> import rushlight as torch
>>> loss = lambda weight, x: (weight * x).sin().sum()
>>> per_example = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))
>>> per_example(torch.ones(2), torch.zeros(3, 2)).shape
torch.Size([3, 2])
"""

from __future__ import annotations

from ..core.missing import missing
from . import batching_rules, batching_rules_indexing, batching_rules_products, functions, randomness  # noqa: F401  (they say how ops are batched)
from .derivatives import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from .functionalization import functionalize
from .modules import debug_unwrap, functional_call, replace_all_batch_norm_modules_, stack_module_state
from .rearranging import rearrange
from .vectorize import vmap

__getattr__ = missing(__name__)
__all__ = [
    "debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "rearrange",
    "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap",
]  # fmt: skip
