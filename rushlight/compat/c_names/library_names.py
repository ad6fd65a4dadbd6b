"""Names of `torch._C` about ops that programs register: their dispatch keys, and looks at arguments and results."""

from __future__ import annotations

from typing import Any

from ...core.base import TensorBase, storage_of
from ...library.definition import BelowAutograd as _AutoDispatchBelowAutograd
from ...library.registration import definitions
from ...utils import trees

__all__ = [
    "_AutoDispatchBelowAutograd", "_any_output_is_alias_to_input_or_output", "_any_requires_grad",
    "_dispatch_has_computed_kernel_for_dispatch_key", "_dispatch_has_kernel", "_dispatch_has_kernel_for_dispatch_key",
]  # fmt: skip

_ANYWHERE = ("CompositeExplicitAutograd", "CompositeImplicitAutograd", "default")


def _kernels(name: str) -> dict[str, Any]:
    found = definitions.get(name.removesuffix(".default"))
    if found is None:
        raise RuntimeError(f"operator {name} does not exist")
    return {**found.kernels, **({"Meta": found.fake} if found.fake is not None else {})}


def _dispatch_has_kernel(name: str) -> bool:
    """Whether an op has any implementation."""
    return bool(_kernels(name))


def _dispatch_has_kernel_for_dispatch_key(name: str, key: Any) -> bool:
    """Whether an implementation of an op was registered for a dispatch key."""
    return str(key).rpartition(".")[2] in _kernels(name)


def _dispatch_has_computed_kernel_for_dispatch_key(name: str, key: Any) -> bool:
    """Whether a call of an op with a dispatch key finds an implementation."""
    kernels = _kernels(name)
    return any(each in kernels for each in (str(key).rpartition(".")[2], *_ANYWHERE))


def _tensors(value: Any) -> list[Any]:
    return [each for each in trees.flatten(value)[0] if isinstance(each, TensorBase)]


def _any_requires_grad(*args: Any, **kwargs: Any) -> bool:
    """Whether a tensor among arguments requires grad."""
    return any(each._requires_grad for each in _tensors((args, kwargs)))


def _any_output_is_alias_to_input_or_output(args: Any, kwargs: Any, outputs: Any) -> bool:
    """Whether a result has the storage of an argument, or of a result before it."""
    seen = {id(storage_of(each)) for each in _tensors((args, kwargs))}
    for each in _tensors(outputs):
        found = id(storage_of(each))
        if found in seen:
            return True
        seen.add(found)
    return False
