"""`functorch.experimental`: what has a place in `torch.func` now, and control flow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....core.base import TensorBase
from ....core.missing import missing
from ....func import functionalize, hessian, jacfwd, jvp, replace_all_batch_norm_modules_, vmap
from ....utils import trees
from ...higher_order.associative_scan import associative_scan
from . import control_flow

__getattr__ = missing("rushlight.functorch.experimental")


def chunk_vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunks: int = 2
) -> Callable[..., Any]:
    """``vmap`` of a batch in some parts, one after the other, which takes less memory."""
    if chunks < 1:
        raise ValueError(f"chunk_vmap: `chunks` should be 1 or more (got {chunks})")

    def run(*args: Any, **kwargs: Any) -> Any:
        leaves = trees.flatten(args)[0]
        dims = [in_dims] * len(args) if isinstance(in_dims, int) else list(in_dims)
        spread = [dim for arg, dim in zip(args, dims) for dim in [dim] * len(trees.flatten(arg)[0])]
        sizes = [leaf.shape[dim] for leaf, dim in zip(leaves, spread) if isinstance(leaf, TensorBase) and dim is not None]
        whole = vmap(func, in_dims, out_dims, randomness)
        if not sizes:
            return whole(*args, **kwargs)
        size = -(-sizes[0] // chunks)  # as Tensor.chunk divides
        return vmap(func, in_dims, out_dims, randomness, chunk_size=size)(*args, **kwargs)

    return run
