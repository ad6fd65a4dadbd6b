"""``checkpoint``: a module whose activations are computed again in the backward pass, without a wrapper around it."""

from __future__ import annotations

from typing import Any

from ...utils.checkpoint import checkpoint as run_checkpointed

__all__ = ["checkpoint"]

_OPTIONS = ("preserve_rng_state", "context_fn", "determinism_check", "debug", "early_stop")


def checkpoint(module: Any, **kwargs: Any) -> Any:
    """Have a module's forward recomputed in backward; the module itself, with the same names of parameters.

    Options are those of ``utils.checkpoint.checkpoint`` without reentrant backward.
    """
    if kwargs.pop("use_reentrant", False):
        raise NotImplementedError(
            "use_reentrant=True is not supported in composable checkpoint. Please use torch.utils.checkpoint.checkpoint instead."
        )
    unknown = [name for name in kwargs if name not in _OPTIONS]
    if unknown:
        raise ValueError("Unexpected keyword arguments: " + ",".join(unknown))
    if "_checkpointed" in module.__dict__:
        raise AssertionError(f"checkpoint has been applied to this {type(module).__name__} before: each module is checkpointed once")
    plain = module.forward

    def forward(*args: Any, **given: Any) -> Any:
        return run_checkpointed(lambda: plain(*args, **given), use_reentrant=False, **kwargs)

    object.__setattr__(module, "_checkpointed", True)
    object.__setattr__(module, "forward", forward)
    return module
