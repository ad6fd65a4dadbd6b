"""Whether a program is the same for other sizes of the dimensions that were said to be dynamic.

``range(x.shape[0])``, ``len(x)``, ``int(x.shape[0])`` and an ``if`` on a size run in Python: the capture records only the ops that
follow.  So the program is captured a second time, on shapes alone, with other sizes: the graphs must be equal.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..capture.trace.capture import Captured, bind_arguments
from ..capture.tracer.tracer import tensors_in
from ..core.base import Spec, TensorBase, make
from ..core.devices import device_of
from ..core.symbolic import SymbolicFloat, SymbolicInt
from ..graph import Graph, Node
from .errors import OnnxExporterError

OTHER_SIZES: list[Callable[[int], int]] = [lambda size: size * 2, lambda size: size + 1, lambda size: max(1, size // 2)]


def check_other_sizes(
    captured: Captured, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], again: Callable[..., Captured]
) -> None:
    """Refuse a program that does something else for other sizes; ``again(args, kwargs)`` captures it for those.

    Sizes that the program does not accept say nothing: then others are tried.
    """
    shapes = [node.meta["val"].shape for _, node in captured.inputs]
    sizes = {
        name: int.__int__(each) for shape in shapes for each in shape if isinstance(each, SymbolicInt) for name in each.expression.symbols()
    }
    tensors = [tensor for _, value in bind_arguments(model, args, kwargs) for tensor in tensors_in(value)]
    if not sizes or len(tensors) != len(shapes):
        return
    for other in OTHER_SIZES:
        values = {name: other(size) for name, size in sizes.items()}
        if values == sizes:
            continue
        specs = {id(tensor): resized(tensor, shape, values) for tensor, shape in zip(tensors, shapes)}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                second = again(replaced(args, specs), replaced(kwargs, specs))
        except Exception:
            continue  # sizes that do not fit the model
        difference = first_difference(captured.graph, second.graph)
        if difference is not None:
            raise refusal(difference, sizes, values)
        return


def resized(tensor: TensorBase, shape: tuple[Any, ...], values: dict[str, int]) -> TensorBase:
    """A tensor without data of the same type, and of other sizes."""
    made = make(
        Spec(
            tuple(each.expression.evaluate(values) if isinstance(each, SymbolicInt) else each for each in shape),
            tensor._array.dtype,
            device=device_of(tensor._array),
        )
    )
    made._requires_grad = tensor._requires_grad
    return made


def replaced(value: Any, tensors: dict[int, TensorBase]) -> Any:
    """Nested arguments with other tensors in them."""
    if isinstance(value, TensorBase):
        return tensors.get(id(value), value)
    if isinstance(value, dict):
        return {key: replaced(each, tensors) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        parts = [replaced(each, tensors) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def first_difference(first: Graph, second: Graph) -> tuple[Node, Node] | None:
    """The first two nodes that do not do the same, or None."""
    numbers: dict[Node, int] = {}

    def said(value: Any) -> Any:
        """An argument in a form that can be compared from graph to graph."""
        if isinstance(value, Node) and is_size(value):  # which of equal sizes was taken says nothing
            return "a size"
        if isinstance(value, Node):
            return ("node", numbers.get(value))
        if isinstance(value, (SymbolicInt, SymbolicFloat)):
            return "a size"
        if isinstance(value, (tuple, list)):
            return tuple(said(each) for each in value)
        if isinstance(value, dict):
            return tuple((key, said(each)) for key, each in value.items())
        if isinstance(value, slice):
            return (said(value.start), said(value.stop), said(value.step))
        return value if isinstance(value, (int, float, bool, str)) else type(value).__name__

    ways = ([node for node in graph.nodes if not is_size(node)] for graph in (first, second))
    for count, (one, other) in enumerate(zip(*ways)):  # both end with an output, so that none is left over unseen
        numbers[one] = numbers[other] = count
        if (one.op, str(one.target)) != (other.op, str(other.target)) or said((one.args, one.kwargs)) != said((other.args, other.kwargs)):
            return one, other
    return None


def is_size(node: Node) -> bool:
    """Whether a node gives a size, or a number that follows from sizes."""
    return isinstance(node.meta.get("val"), (SymbolicInt, SymbolicFloat)) or (node.op == "call_method" and node.target == "size")


def refusal(difference: tuple[Node, Node], sizes: dict[str, int], values: dict[str, int]) -> OnnxExporterError:
    """The error for a program that is another one for other sizes."""
    node = next((each for each in difference if each.op != "output" and each.meta.get("source")), difference[0])
    source = node.meta.get("source")
    place = f'\n  File "{source[0]}", line {source[1]}, in {source[2]}' if source else ""
    these, those = (", ".join(f"{name} = {size}" for name, size in each.items()) for each in (sizes, values))
    return OnnxExporterError(
        f"the model does something else for other sizes of its dynamic dimensions: with {these} its computation is not that with {those}, so "
        "the file would hold for these sizes alone. An `if`, a loop, int() or len() in Python turned a size into a fixed number. Compute with "
        f"x.shape[i] as it is, script the function that chooses or loops, or leave the dimension out of the dynamic ones{place}"
    )
