"""Gradients of the deprecated custom ops: what is saved is a tree, and backward returns a dict by the names of arguments."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

from ...core.base import TensorBase
from ...core.schema import FunctionSchema
from ...library.definition import Definition
from ...utils import trees


def named_arguments(schema: FunctionSchema, values: Any) -> Any:
    """The arguments of a call as a named tuple."""
    kind = namedtuple(f"{schema.name.partition('::')[2]}_args", [each.name for each in schema.arguments])  # type: ignore[misc]
    return kind(*values)


def is_tensor_like(argument: Any) -> bool:
    """Whether an argument of a schema is a tensor, may be one, or is a list of them."""
    return bool(argument.type.base == "Tensor")


def mark_results(ctx: Any, output: Any, differentiability: list[bool] | None) -> None:
    """Mark the results that have no gradient."""
    if differentiability is None:
        return
    without: list[Any] = []
    for at, (differentiable, each) in enumerate(zip(differentiability, output if isinstance(output, tuple) else (output,))):
        if isinstance(each, TensorBase):
            without.extend(() if differentiable else (each,))
        elif isinstance(each, list):
            without.extend(() if differentiable else each)
        elif differentiable:
            raise RuntimeError(
                f"With output_differentiability={differentiability}. At idx {at}, we received an object of type {type(each)} that is not a Tensor, "
                "so it cannot have be marked as differentiable in output_differentiability."
            )
    if without:
        ctx.mark_non_differentiable(*without)


def check_gradients(gradients: Any, schema: FunctionSchema, values: list[Any], fail: Callable[[str], Any]) -> None:
    """Raise for a dict of gradients that does not fit the arguments of the call."""
    if not isinstance(gradients, dict):
        fail(f"expected the output of the backward function to be a dict but got {type(gradients)}")
    expected = {each.name for each in schema.arguments if is_tensor_like(each)}
    if expected != gradients.keys():
        fail(
            f"expected the returned grad_input dict to have keys {expected} but got {gradients.keys()}. The backward function must return a "
            "gradient (can be None) for each arg to the CustomOp that may be a Tensor or Sequence[Tensor]. Args declared to be non-Tensor-like "
            "types should not appear in the grad_input dict"
        )
    given = {each.name: value for each, value in zip(schema.arguments, values)}
    for name, gradient in gradients.items():
        value = given[name]
        if isinstance(value, (list, tuple)):
            hold = f"for input '{name}' expected the grad_input dict to hold a list of"
            if not isinstance(gradient, (list, tuple)):
                fail(f"{hold} gradients but got object of type {type(gradient)}.")
            if len(gradient) != len(value):
                fail(f"{hold} {len(value)} gradients but got {len(gradient)}")
            for at, (each, item) in enumerate(zip(gradient, value)):
                if each is not None and not isinstance(each, TensorBase):
                    fail(f"{hold} None or Tensor gradients but got object of {type(each)} at index {at}")
                if each is not None and not isinstance(item, TensorBase):
                    fail(
                        f"for input '{name}', got a Tensor as the gradient for the {at}-th value but expected None because the {at}-th value was "
                        f"not a Tensor (it was type {[type(one) for one in value]}"
                    )
        elif gradient is not None and not isinstance(gradient, TensorBase):
            fail(
                f"got object of type {type(gradient)} as the gradient for input '{name}', but expected the gradient to be either None or a Tensor"
            )
        elif gradient is not None and not isinstance(value, TensorBase):
            fail(
                f"got a Tensor as the gradient for input '{name}' but expected None as the gradient because input '{name}' was not a Tensor (it "
                f"was type {type(value)})."
            )


def set_gradient(
    definition: Definition, save: Callable[..., Any], backward: Callable[..., Any], differentiability: list[bool] | None, fail: Callable[[str], Any]
) -> None:  # fmt: skip
    """Give an op the gradient that two functions describe: what to save, and a dict of gradients from that."""
    schema = definition.schema

    def setup(ctx: Any, inputs: Any, output: Any, keyword_only_inputs: Any = None) -> None:
        values = (*inputs, *(keyword_only_inputs or {}).values())
        leaves, ctx._saved_structure = trees.flatten(save(named_arguments(schema, values), output))
        ctx.save_for_backward(*[each for each in leaves if isinstance(each, TensorBase)])
        ctx._saved_leaves = [None if isinstance(each, TensorBase) else (each,) for each in leaves]
        mark_results(ctx, output, differentiability)

    def gradients(ctx: Any, *grads: Any) -> Any:
        tensors = iter(ctx.saved_tensors)
        leaves = [next(tensors) if each is None else each[0] for each in ctx._saved_leaves]
        made = backward(object(), ctx._saved_structure.unflatten(leaves), *grads)
        values = ctx._structure
        check_gradients(made, schema, values, fail)
        return tuple(made.get(each.name) for each in schema.arguments if not each.kwarg_only)

    definition.set_gradient(gradients, setup)
