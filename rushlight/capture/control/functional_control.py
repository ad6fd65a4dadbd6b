"""Branches and loops of scripted programs as ``cond`` and ``while_loop``: for captures that have control flow only with functions of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.base import TensorBase
from ...core.declare import lookup
from ...core.errors import CaptureError
from ...core.state import state
from ...core.symbolic import is_symbolic
from ...graph.control import UNSET
from ...utils import trees
from .python_functions import as_tensor, item, truth

_OTHER = {"then": "otherwise", "otherwise": "then"}


def is_number(value: Any) -> bool:
    """Whether a value is a number, which a function of tensors gets and gives as a tensor."""
    return isinstance(value, (bool, int, float)) or is_symbolic(value)


class Boxed:
    """What a function reads of the program around it: symbolic numbers as tensors, which can be passed to it."""

    def __init__(self, values: Any) -> None:
        leaves, self.structure = trees.flatten(values)
        self.symbolic = [is_symbolic(each) for each in leaves]
        self.leaves = [as_tensor(each) if symbolic else each for each, symbolic in zip(leaves, self.symbolic)]

    def opened(self) -> Any:
        """The values, in the function: numbers as numbers again."""
        return self.structure.unflatten([item(each) if symbolic else each for each, symbolic in zip(self.leaves, self.symbolic)])


def cond(condition: Any, inputs: tuple[Any, ...], bodies: dict[str, Callable[..., Any]]) -> Any:
    """A branch as ``cond``; what is no tensor, and the same on both sides, stays what it is.

    A variable that only one side assigns has a value like that one on the other side, too: nobody reads it there.
    """
    found: dict[str, tuple[list[Any], Any]] = {}
    boxed = Boxed(inputs)

    def side(name: str) -> Callable[[], Any]:
        def run() -> tuple[Any, ...]:
            other = found[_OTHER[name]][0] if _OTHER[name] in found else []
            found[name] = leaves, _ = trees.flatten(bodies[name](*boxed.opened()))
            like = [two if one is UNSET else one for one, two in zip(leaves, other)] if len(leaves) == len(other) else leaves
            return tuple(_tensor(one, two) for one, two in zip(leaves, like))

        return run

    for name in bodies:  # what each side assigns, before either is recorded
        state.capture.body(side(name), (), [])
    made = state.capture.control("cond", condition, {"true_graph": side("then"), "false_graph": side("otherwise")}, ())
    (first, structure), (second, other) = found["then"], found["otherwise"]
    if structure != other:
        raise CaptureError("the two sides of a branch give values of different forms, which an exported program can't have")
    results = []
    for tensor, one, two in zip(made, first, second):
        if isinstance(one, TensorBase) or isinstance(two, TensorBase):
            results.append(tensor)
        elif is_symbolic(one) or is_symbolic(two):
            results.append(item(tensor))
        elif one is two or two is UNSET or (type(one) is type(two) and one == two):
            results.append(one)
        elif one is UNSET:
            results.append(two)
        elif is_number(one) and is_number(two):
            results.append(item(tensor))
        else:
            raise CaptureError(
                f"a branch gives {type(one).__name__} on one side and {type(two).__name__} on the other, which an exported program can't have"
            )
    return structure.unflatten(results)


def _tensor(value: Any, like: Any) -> Any:
    """A value as a tensor that a function may give: of an unset variable zeros like those of the other side, of what is no number any tensor."""
    if isinstance(value, TensorBase):
        return value.clone()
    if value is UNSET and isinstance(like, TensorBase):
        return lookup("zeros").call(tuple(like._array.shape), dtype=like.dtype, device=like.device)
    if is_number(value) or not is_number(like):
        return as_tensor(value if is_number(value) else False)
    return as_tensor(False if isinstance(like, bool) else 0.0 if isinstance(like, float) else 0)


def while_loop(count: Any, condition: Any, carried: tuple[Any, ...], inputs: tuple[Any, ...], body: Callable[..., Any]) -> tuple[Any, ...]:
    """A loop whose end depends on values as ``while_loop``: numbers are carried as tensors."""
    leaves, structure = trees.flatten(tuple(carried))
    if not all(isinstance(each, TensorBase) or is_number(each) for each in leaves):
        raise CaptureError("a loop whose end depends on values carries more than tensors and numbers, which an exported program can't have")
    numbers = [not isinstance(each, TensorBase) for each in leaves]
    boxed, most = Boxed(inputs), as_tensor(count) if is_symbolic(count) else count

    def holds(going: Any, index: Any, *_: Any) -> Any:
        return going if count is None else going.logical_and(index < most)

    def iterate(_: Any, index: Any, *values: Any) -> tuple[Any, ...]:
        given = structure.unflatten([item(each) if number else each for each, number in zip(values, numbers)])
        going, *new = body(item(index), *given, *boxed.opened())
        results, form = trees.flatten(tuple(new))
        if form != structure:
            raise CaptureError("a loop carries values whose form changes, which an exported program can't have")
        return (
            as_tensor(truth(going)).clone(),
            index + 1,
            *(as_tensor(each).to(before.dtype).clone() for each, before in zip(results, values)),
        )

    start = (as_tensor(truth(condition)), as_tensor(0), *map(as_tensor, leaves))
    functions = {"while_loop_cond_graph": holds, "while_loop_body_graph": iterate}
    _, _, *made = state.capture.control("while_loop", None, functions, start)
    return structure.unflatten([item(each) if number else each for each, number in zip(made, numbers)])  # type: ignore[no-any-return]
