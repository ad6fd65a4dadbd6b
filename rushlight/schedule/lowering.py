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
from dataclasses import is_dataclass
from typing import Any

from ..core.declare import Op
from ..core.facets import Facet
from ..graph import Node

# Of the builder, the arguments (with references in place of tensors), the Spec (or Specs) of the result and the node: a description, a reference where
# views and fused kernels can say it all, or NotImplemented.
Describe = Callable[[Any, tuple[Any, ...], Any, Node], Any]
# Of the builder, a description, the Spec (or Specs) of the result and the node: references, or NotImplemented.
Lower = Callable[[Any, Any, Any, Node], Any]

# Of the builder, the op, its arguments, the Spec (or Specs) of the result and the node: references, or NotImplemented.
Form = Callable[[Any, Op, tuple[Any, ...], Any, Node], Any]

tensor_form: Facet[Form] = Facet(
    "tensor IR", "how the op becomes values of tensor IR, where its family does not say it", source="rushlight.schedule.tensor_forms"
)
routine: Facet[Describe] = Facet("routine", "what the op computes, as a description that targets lower")
# Of the arguments (with references in place of tensors) and the Specs of the results: the shapes of the values that hold them, and for each result the number
# of its value, its strides there (in elements) and its offset; None where each result is a row-major value of its own.
Layout = Callable[[tuple[Any, ...], list[Any]], "tuple[list[tuple[int, ...]], list[tuple[int, tuple[int, ...], int]]] | None"]
operand_memory: Facet[Callable[..., Any]] = Facet(
    "operand_memory",
    "arrays that the op lends for the operands of the list it begins with: programs compute them there",
    of_custom_ops=True,
)
direct_kernel: Facet[Callable[..., Any]] = Facet(
    "direct_kernel",
    "the kernel by which programs call the op, past dispatch: it has no gradients there, and no overrides",
    of_custom_ops=True,
)
call_layout: Facet[Layout] = Facet(
    "layout of a call", "the strides of an op's results, where a device's kernel derives them from those of its arguments"
)
_lowerings: dict[str, Facet[Lower]] = {}


def lowering(target: str) -> Facet[Lower]:
    """The lowerings of ops for a target (``"llvm"``)."""
    if target not in _lowerings:
        _lowerings[target] = Facet(f"lowering.{target}", f"how code for {target} computes the op's routine")
    return _lowerings[target]


def lower(builder: Any, op: Op, args: tuple[Any, ...], spec: Any, node: Node) -> Any:
    """The references of an op's results by the own lowering of the builder's target, or NotImplemented."""
    describe = routine.of(op)
    if describe is None:
        return NotImplemented
    description = describe(builder, args, spec, node)
    if not is_dataclass(description):  # NotImplemented, or a reference
        return description
    emit = lowering(builder.target.lowerings).of(op) if builder.target.lowerings else None
    return NotImplemented if emit is None else emit(builder, description, spec, node)


__all__ = ["Describe", "Form", "Layout", "Lower", "call_layout", "lower", "lowering", "routine", "tensor_form"]
