"""`functorch`: the old name of `torch.func`."""

from __future__ import annotations

from ...core.missing import missing
from ...func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, stack_module_state, vjp, vmap
from ...fx.experimental.proxy_tensor import make_fx
from ..make_functional import (
    FunctionalModule,
    FunctionalModuleWithBuffers,
    combine_state_for_ensemble,
    make_functional,
    make_functional_with_buffers,
)

__getattr__ = missing("rushlight.functorch")
