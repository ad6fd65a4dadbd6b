"""Whether a program is the same for other sizes of the dimensions that were said to be dynamic.

``range(x.shape[0])``, ``len(x)``, ``int(x.shape[0])`` and an ``if`` on a size run in Python: the capture records only the ops that
follow.  So the program is captured a second time, on shapes alone, with other sizes: the graphs must be equal.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

from ..capture.trace.capture import Captured, bind_arguments
from ..capture.tracer.tracer import TracerWarning, tensors_in
from ..core.base import Spec, TensorBase, make
from ..core.devices import device_of
from ..core.symbolic import COMPARISONS, Expression, SymbolicFloat, SymbolicInt
from ..graph import Graph, Node
from .errors import OnnxExporterError

OTHER_SIZES: list[Callable[[int], int]] = [lambda size: size * 2, lambda size: size + 1, lambda size: max(1, size // 2)]
LIMIT = 4  # comparisons whose other outcome is tried


def check_other_sizes(
    captured: Captured, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], again: Callable[..., Captured]
) -> None:
    """Refuse a program that does something else for other sizes; ``again(args, kwargs)`` captures it for those.

    Sizes that the program does not accept say nothing: then others are tried.  Of comparisons of sizes whose other outcome these do not
    show, and where the program is another one, the user is told.
    """
    shapes = [node.meta["val"].shape for _, node in captured.inputs]
    sizes = {
        name: int.__int__(each) for shape in shapes for each in shape if isinstance(each, SymbolicInt) for name in each.expression.symbols()
    }
    tensors = [tensor for _, value in bind_arguments(model, args, kwargs) for tensor in tensors_in(value)]
    if not sizes or len(tensors) != len(shapes):
        return

    def captured_with(values: dict[str, int]) -> Captured | None:
        """The program as it is for other sizes; None where they do not fit it."""
        specs = {id(tensor): resized(tensor, shape, values) for tensor, shape in zip(tensors, shapes)}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return again(replaced(args, specs), replaced(kwargs, specs))
        except Exception:
            return None

    for other in OTHER_SIZES:
        values = {name: other(size) for name, size in sizes.items()}
        second = captured_with(values) if values != sizes else None
        if second is None:
            continue
        difference = first_difference(captured.graph, second.graph, values)
        if difference is not None:
            raise refusal(difference, sizes, values)
        break
    for how, a, b, source in decisions(captured):
        opposite = contrary(how, a, b, sizes)
        if opposite is None:
            continue
        second = captured_with(opposite)
        if second is not None and first_difference(captured.graph, second.graph, opposite) is not None:
            place = f'\n  File "{source[0]}", line {source[1]}, in {source[2]}' if source else ""
            warnings.warn(
                f"the file holds where {shown(a)} {how} {shown(b)} is as for the example: with {listed(opposite)} the model does something else{place}",
                TracerWarning,
                stacklevel=3,
            )


def decisions(captured: Captured) -> list[tuple[str, Any, Any, Any]]:
    """The first comparisons of sizes that the program made, each line once."""
    found = {(how, str(shown(a)), str(shown(b))): (how, a, b, source) for how, a, b, source in reversed(captured.tracer.decisions)}
    return list(reversed(found.values()))[:LIMIT]


def contrary(how: str, a: Any, b: Any, sizes: dict[str, int]) -> dict[str, int] | None:
    """Sizes, of 2 or more, for which a comparison of formulas has the other outcome; None where none is found."""
    if isinstance(a, float) or isinstance(b, float):
        return None
    left, right = Expression.of(a), Expression.of(b)
    names = sorted(left.symbols() | right.symbols())
    if not names or len(names) > 2 or not set(names) <= set(sizes):
        return None
    numbers = {each.constant for each in (left, right) if each.constant is not None}
    tried = sorted(
        {near for each in (*numbers, *(sizes[name] for name in names)) for near in (each - 1, each, each + 1, each * 2)} - {0, 1}
    )
    outcome = COMPARISONS[how](left.evaluate(sizes), right.evaluate(sizes))
    for chosen in itertools.product([each for each in tried if each > 1], repeat=len(names)):
        values = {**sizes, **dict(zip(names, chosen))}
        if COMPARISONS[how](left.evaluate(values), right.evaluate(values)) != outcome:
            return values
    return None


def shown(value: Any) -> Any:
    """A number as messages have it: its formula."""
    return getattr(value, "expression", value)


def listed(sizes: dict[str, int]) -> str:
    """Sizes with their names."""
    return ", ".join(f"{name} = {size}" for name, size in sizes.items())


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


def first_difference(first: Graph, second: Graph, values: dict[str, int]) -> tuple[Node, Node] | None:
    """The first two nodes that do not do the same, or None; ``values`` are the sizes of the second graph, which formulas of the first must give, too."""
    numbers: dict[Node, int] = {}

    def said(value: Any) -> Any:
        """An argument in a form that can be compared from graph to graph."""
        if isinstance(value, Node) and is_size(value):
            value = value.meta.get("val")
            return said(value) if isinstance(value, SymbolicInt) else "a size"
        if isinstance(value, Node):
            return ("node", numbers.get(value))
        if isinstance(value, SymbolicInt) and value.expression.symbols() <= set(values):
            return value.expression.evaluate(values)
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
    return OnnxExporterError(
        f"the model does something else for other sizes of its dynamic dimensions: with {listed(sizes)} its computation is not that with {listed(values)}, so "
        "the file would hold for these sizes alone. An `if`, a loop, int() or len() in Python turned a size into a fixed number. Compute with "
        f"x.shape[i] as it is, script the function that chooses or loops, or leave the dimension out of the dynamic ones{place}"
    )
