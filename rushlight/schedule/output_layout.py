"""Outputs that are stored in another order of their dimensions than row-major, where a fused kernel can do that at no cost."""

from __future__ import annotations

from typing import Any

from .scalar_ir import ScalarExpression, subexpressions
from .simplify import replaced
from .symbolic_shape import same
from .tensor_ir import Leaf, Pointwise, Reference, TensorIRBuilder, Value, strides_of


def lay_out(builder: TensorIRBuilder, orders: dict[int, tuple[int, ...]]) -> None:
    """Store outputs in such orders of their dimensions (by their position).

    That is free where an output is computed point by point from inputs, and nothing else needs what is computed on the way: those values are permuted.
    Other outputs, of routines and reductions, stay row-major.
    """
    users: dict[Value, set[Value]] = {}
    for value in builder.values:
        for each in value.inputs:
            users.setdefault(each.value, set()).add(value)
    for at, order in orders.items():
        found = builder.outputs[at]
        if found is None or not _is_whole(found):
            continue
        chain = _computed_from_inputs(found.value)
        if chain is None or any(not users.get(each, chain) <= chain for each in chain):
            continue
        seen = [(number, each) for number, each in enumerate(builder.outputs) if each is not None and each.value in chain]
        if not all(_is_whole(each) for _, each in seen):
            continue
        shape = found.shape
        for value in chain:
            value.shape = tuple([value.shape[dim] for dim in order])
            value.strides = strides_of(value.shape)
        for value in chain:
            value.define(_permuted(value.expression, order, chain))
        for number, each in seen:  # what is kept for a backward among them
            value = each.value
            strides = dict(zip(order, value.strides))
            builder.outputs[number] = Reference(value, shape, tuple([strides[dim] for dim in range(len(order))]))


def _is_whole(reference: Any) -> bool:
    """Whether a reference is a value as it is."""
    return reference.aligned() and same(reference.shape, reference.value.shape)


def _computed_from_inputs(value: Value) -> set[Any] | None:
    """The pointwise values of one shape that a value is computed by; None where it is also computed from anything but inputs and constants."""
    chain: set[Any] = set()
    worklist = [value]
    while worklist:
        each = worklist.pop()
        if each in chain:
            continue
        if not isinstance(each, Pointwise) or not same(each.shape, value.shape):
            return None
        chain.add(each)
        for operand in each.inputs:
            if len(operand.shape) != len(value.shape):
                return None
            if not isinstance(operand.value, Leaf):
                if not operand.aligned():
                    return None
                worklist.append(operand.value)
    return chain


def _permuted(expression: ScalarExpression, order: tuple[int, ...], chain: set[Any]) -> ScalarExpression:
    """An expression whose operands are seen with their dimensions in another order; those of the chain are permuted already."""
    replacements: dict[int, ScalarExpression] = {}
    for each in subexpressions([expression]):
        if each.op == "operand":
            source = each.data
            shape = tuple([source.shape[dim] for dim in order])
            strides = source.value.strides if source.value in chain else tuple([source.strides[dim] for dim in order])
            replacements[id(each)] = ScalarExpression("operand", (), each.dtype, Reference(source.value, shape, strides, source.offset))
    return replaced(expression, replacements)
