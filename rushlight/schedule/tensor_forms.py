"""How single ops become tensor IR where their family does not say it: copies and views by layout, tensors of one number, products."""

from __future__ import annotations

from typing import Any

from ..core.base import contiguous_strides
from ..core.declare import Op
from ..graph import Node
from ..passes.decompose import Declined
from .lowering import Form, tensor_form
from .scalar_ir import constant
from .tensor_ir import Call, Leaf, Reference, Routine, TensorIRBuilder, strides_of
from .view_strides import reshape_strides


@tensor_form.register("cast", "masked_fill", "fill", "zero", "copy")
def _pointwise(ir: TensorIRBuilder, op: Op, args: tuple[Any, ...], spec: Any, node: Node) -> Any:
    """Outside the family of pointwise ops, but with a pointwise kernel."""
    return ir.elementwise(op, args, spec, node)


@tensor_form.register("clone")
def _clone(ir: TensorIRBuilder, op: Op, args: tuple[Any, ...], spec: Any, node: Node) -> Reference:
    return ir.copy(args[0], node)


def _filled(number: float) -> Form:
    return lambda ir, op, args, spec, node: ir.pointwise(constant(number, spec.dtype), spec.shape, spec.dtype, node)


tensor_form.set(_filled(0), "zeros", "zeros_like")
tensor_form.set(_filled(1), "ones", "ones_like")


@tensor_form.register("full", "full_like")
def _full(ir: TensorIRBuilder, op: Op, args: tuple[Any, ...], spec: Any, node: Node) -> Any:
    return ir.pointwise(constant(args[1], spec.dtype), spec.shape, spec.dtype, node)


@tensor_form.register("matmul")
def _matmul(ir: TensorIRBuilder, op: Op, args: tuple[Any, ...], spec: Any, node: Node) -> Any:
    return ir.product(args[0], args[1], spec, node)


@tensor_form.register("reshape")
def _reshape(ir: TensorIRBuilder, op: Op, args: tuple[Any, ...], spec: Any, node: Node) -> Reference:
    return ir.reshape(args[0], spec)


@tensor_form.register("reshape_copy")
def _reshape_copy(ir: TensorIRBuilder, op: Op, args: tuple[Any, ...], spec: Any, node: Node) -> Reference:
    if isinstance(args[0].value, Routine):  # its strides may allow a view
        made = ir.reshape(args[0], spec)
        ir.reshaped.add(made.value)
        return made
    shape, source = tuple(spec.shape), args[0].value
    if isinstance(source, Call) and (source.first or source).results is not None and reshape_strides(args[0], shape) == strides_of(shape):
        ir.reshaped.add(source)  # it is laid out like the arguments of its op
        return Reference(source, shape, strides_of(shape), args[0].offset)
    return Reference(ir.copy(args[0], node).value, shape, strides_of(shape))


@tensor_form.register("after")
def _after(ir: TensorIRBuilder, op: Op, args: tuple[Any, ...], spec: Any, node: Node) -> Reference:
    made = ir.copy(args[0], node)
    made.value.after = args[1].value
    return made


@tensor_form.register("lay_out")
def _lay_out(ir: TensorIRBuilder, op: Op, args: tuple[Any, ...], spec: Any, node: Node) -> Any:
    return ir.copy(args[0], node) if tuple(args[1]) == contiguous_strides(spec.shape) else NotImplemented


@tensor_form.register("strided_view")
def _strided_view(ir: TensorIRBuilder, op: Op, args: tuple[Any, ...], spec: Any, node: Node) -> Any:
    if not (isinstance(args[0].value, Leaf) and args[0].aligned()):
        raise Declined("it depends on the strides of a tensor")
    return ir.view(op, args, spec)
