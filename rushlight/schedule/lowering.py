"""Ops that have code of their own: what each computes, and how a target lowers it.

The ``routine`` facet of an op turns its arguments into a *description* (``routines/``): plain data with the geometry of the op, the same for every
target.  ``lowering(target).of(op)`` emits a description as code of that target.  Both are registered by the op's name, and a name that is no op fails at
import.

    @routine.register("cat")
    def cat(builder, args, spec, node) -> Movement: ...

    @lowering("llvm").register("cat", "stack")
    def movement(builder, description, spec, node): ...
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.facets import Facet
from ..graph import Node

# Of the builder, the arguments (with references in place of tensors), the Spec (or Specs) of the result and the node: a description, a reference where
# views and fused kernels can say it all, or NotImplemented.
Describe = Callable[[Any, tuple[Any, ...], Any, Node], Any]
# Of the builder, a description, the Spec (or Specs) of the result and the node: references, or NotImplemented.
Lower = Callable[[Any, Any, Any, Node], Any]

routine: Facet[Describe] = Facet("routine", "what the op computes, as a description that targets lower")
_lowerings: dict[str, Facet[Lower]] = {}


def lowering(target: str) -> Facet[Lower]:
    """The lowerings of ops for a target (``"llvm"``)."""
    if target not in _lowerings:
        _lowerings[target] = Facet(f"lowering.{target}", f"how code for {target} computes the op's routine")
    return _lowerings[target]


__all__ = ["Describe", "Lower", "lowering", "routine"]
