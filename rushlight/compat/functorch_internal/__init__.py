"""`torch._functorch`: where PyTorch has the transforms of `torch.func`; ``vmap.py`` has the helpers that libraries import."""

from __future__ import annotations

from ...core.missing import missing
from ...func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, stack_module_state, vjp
from . import config

__getattr__ = missing("rushlight._functorch")

__all__ = [
    "config",
    "functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "stack_module_state", "vjp",
]  # fmt: skip
