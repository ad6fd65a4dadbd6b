"""`functorch`: the old name of `torch.func`.  What it shares with that warns."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from ... import func
from ...core.missing import missing
from ...fx.experimental.proxy_tensor import make_fx
from .. import make_functional as old
from ..make_functional import FunctionalModule, FunctionalModuleWithBuffers


def _deprecated(function: Callable[..., Any], instead: str) -> Callable[..., Any]:
    """A function that warns, each time it is called, of the name that has taken its place."""

    @functools.wraps(function)
    def warn_and_call(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            f"We've integrated functorch into PyTorch. As the final step of the integration, `functorch.{function.__name__}` is deprecated as of "
            f"PyTorch 2.0 and will be deleted in a future version of PyTorch >= 2.3. Please use `{instead}` instead; see the PyTorch 2.0 release "
            "notes and/or the `torch.func` migration guide for more details https://pytorch.org/docs/main/func.migrating.html",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)

    return warn_and_call


vmap = _deprecated(func.vmap, "torch.vmap")
grad = _deprecated(func.grad, "torch.func.grad")
grad_and_value = _deprecated(func.grad_and_value, "torch.func.grad_and_value")
functionalize = _deprecated(func.functionalize, "torch.func.functionalize")
hessian = _deprecated(func.hessian, "torch.func.hessian")
jacfwd = _deprecated(func.jacfwd, "torch.func.jacfwd")
jacrev = _deprecated(func.jacrev, "torch.func.jacrev")
jvp = _deprecated(func.jvp, "torch.func.jvp")
vjp = _deprecated(func.vjp, "torch.func.vjp")
combine_state_for_ensemble = _deprecated(old.combine_state_for_ensemble, "torch.func.stack_module_state")
make_functional = _deprecated(old.make_functional, "torch.func.functional_call")
make_functional_with_buffers = _deprecated(old.make_functional_with_buffers, "torch.func.functional_call")
functional_call, linearize, stack_module_state = func.functional_call, func.linearize, func.stack_module_state

__getattr__ = missing("rushlight.functorch")
