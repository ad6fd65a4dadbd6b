"""Custom Functions on nested tensors: the engine sees the values, and the Function's own code sees nested tensors."""

from __future__ import annotations

from typing import Any

from ..autograd.function import Function, bound_arguments
from .jagged import NestedTensor


def apply(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Apply a Function of which an argument is nested."""
    args = bound_arguments(cls, args, kwargs)
    templates = [each if isinstance(each, NestedTensor) else None for each in args]
    made: list[Any] = []  # for each result, a nested tensor of its kind, or None

    def nested(values: Any, templates: Any) -> list[Any]:
        return [each if template is None or each is None else template.like(each) for each, template in zip(values, templates)]

    def flat(values: Any) -> Any:
        found = tuple(
            each.values() if isinstance(each, NestedTensor) else each for each in (values if isinstance(values, tuple) else (values,))
        )
        return found if isinstance(values, tuple) else found[0]

    def results(output: Any) -> Any:
        made[:] = [each if isinstance(each, NestedTensor) else None for each in (output if isinstance(output, tuple) else (output,))]
        return flat(output)

    def backward(ctx: Any, *gradients: Any) -> Any:
        return flat(cls.backward(ctx, *nested(gradients, made)))

    def forward(ctx: Any, *values: Any) -> Any:
        return results(cls.forward(ctx, *nested(values, templates)))

    def forward_alone(*values: Any) -> Any:
        return results(cls.forward(*nested(values, templates)))

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        several = isinstance(output, tuple)
        outputs = nested(output if several else (output,), made)
        cls.setup_context(ctx, tuple(nested(inputs, templates)), tuple(outputs) if several else outputs[0])

    own: dict[str, Any] = {"backward": backward, "forward": forward}
    if cls.setup_context is not Function.setup_context:
        own |= {"forward": forward_alone, "setup_context": setup_context}
    on_values: Any = type(cls)(cls.__name__, (cls,), {name: staticmethod(each) for name, each in own.items()})
    found = on_values.apply(*flat(tuple(args)))
    several = isinstance(found, tuple)
    whole = nested(found if several else (found,), made)
    return tuple(whole) if several else whole[0]
