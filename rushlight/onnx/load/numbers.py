"""Operators on Python's numbers: the arithmetic on sizes and axes in a file, which a capture then follows by formulas.

A value that follows from sizes and constants alone is a number or a list here and no tensor (``model.py`` decides that for each node).  A function
gets the node and such values; where it returns NotImplemented, the operator runs on tensors and its result becomes numbers again.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...capture.compile.annotations import mark
from ...capture.control.python_functions import SUBSTITUTES, is_traced, item
from ...core.base import TensorBase
from ...core.state import state
from ...core.symbolic import SymbolicInt, is_symbolic
from ...tensor.construct import tensor
from .registry import NodeContext, dtype_of, numeric

MOST = 64  # elements of a constant that is held as numbers
LONGEST = 4096  # numbers that an operator is computed on while a file is read
_LIMIT = 1 << 63
_WHOLE = frozenset((2, 3, 4, 5, 6, 7, 12, 13))
HELD = _WHOLE | {1, 9, 11}  # the element types that are held as numbers


def on_numbers(*names: str) -> Callable[[Any], Any]:
    """Register an operator on numbers."""

    def register(function: Any) -> Any:
        numeric.update(dict.fromkeys(names, function))
        return function

    return register


def as_tensor(value: Any, number: int) -> Any:
    """Numbers as a tensor of an element type of ONNX."""
    make = tensor if state.capture is None else SUBSTITUTES[tensor]
    return make(value, dtype=dtype_of(number))


def as_numbers(value: Any) -> Any:
    """The elements of a tensor as a number or nested lists; a capture follows whole numbers."""
    if not isinstance(value, TensorBase):
        return value
    if state.capture is not None and is_traced(value) and value._array.ndim < 2 and getattr(state.capture, "recorder", None) is None:
        return item(value) if not value._array.ndim else [item(value[index]) for index in range(int(value.shape[0]))]
    found = NotImplemented if state.capture is None else state.capture.elements(value)
    if found is not NotImplemented:
        return found
    return value.tolist()  # type: ignore[attr-defined]


mark(as_tensor, "recorded")


def element_type(kind: str, attributes: dict[str, Any], inputs: list[int]) -> int:
    """The element type of what an operator on numbers gives."""
    if kind in ("Shape", "Size"):
        return 7
    if kind == "Cast":
        return int(attributes["to"])
    if kind in ("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Not", "And", "Or"):
        return 9
    return next(iter(inputs[1:] if kind == "Where" else inputs), 7)


def elementwise(function: Callable[..., Any], *values: Any) -> Any:
    """A function of numbers on lists of one length, and on numbers, which stand for every place of a list."""
    length = next((len(each) for each in values if isinstance(each, list) and len(each) != 1), None)
    if any(isinstance(each, list) and each and isinstance(each[0], list) for each in values):
        return NotImplemented
    if length is None:
        made = function(*[each[0] if isinstance(each, list) else each for each in values])
        return [made] if any(isinstance(each, list) for each in values) else made
    if any(isinstance(each, list) and len(each) not in (1, length) for each in values):
        return NotImplemented
    columns = [(each * length if len(each) == 1 else each) if isinstance(each, list) else [each] * length for each in values]
    return [function(*row) for row in zip(*columns)]


def count_of(value: Any) -> int:
    """How many numbers there are in nested lists."""
    return sum(map(count_of, value)) if isinstance(value, list) else 1


def _rounded(value: Any) -> Any:
    """A float as float32 has it, and a whole number as 64 bits have it."""
    if type(value) is int:
        return value if -_LIMIT <= value < _LIMIT else (value + _LIMIT) % (2 * _LIMIT) - _LIMIT
    return float(np.float32(value)) if type(value) is float else value


def _call(function: Any) -> Callable[..., Any]:
    """A function of Python's, under a capture the one that keeps formulas."""

    def run(*values: Any) -> Any:
        chosen = SUBSTITUTES.get(function, function) if any(map(is_symbolic, values)) else function
        return _rounded(chosen(*values))

    return run


def _equal(a: Any, b: Any) -> Any:
    """Whether numbers are equal; a size (a sum of products of sizes) is no number below zero, whatever it is."""
    for size, other in ((a, b), (b, a)):
        if isinstance(size, SymbolicInt) and type(other) is int and other < 0:
            terms = size.expression.terms
            if all(factor > 0 for factor in terms.values()) and all(isinstance(atom, str) for monomial in terms for atom in monomial):
                return False
    return _call(operator.eq)(a, b)


_add, _sub, _mul = _call(operator.add), _call(operator.sub), _call(operator.mul)


def _divided(a: Any, b: Any) -> Any:
    """Division, of whole numbers towards zero."""
    if isinstance(a, float) or isinstance(b, float):
        return _call(operator.truediv)(a, b)
    if not is_symbolic(a) and not is_symbolic(b) and (a < 0) != (b < 0):
        return -(abs(a) // abs(b))
    return _call(operator.floordiv)(a, b)


BINARY = {
    "Add": _add, "Sub": _sub, "Mul": _mul, "Div": _divided, "Mod": _call(operator.mod),
    "Equal": _equal, "Greater": _call(operator.gt), "Less": _call(operator.lt), "GreaterOrEqual": _call(operator.ge),
    "LessOrEqual": _call(operator.le), "And": lambda a, b: a and b, "Or": lambda a, b: a or b,
}  # fmt: skip


@on_numbers(*BINARY)
def binary(node: NodeContext, a: Any, b: Any) -> Any:
    """Arithmetic, comparisons and logic."""
    if node.kind == "Mod" and node.get("fmod"):
        return NotImplemented
    if node.kind in ("Div", "Mod") and any(type(each) in (int, float) and each == 0 for each in (b if isinstance(b, list) else [b])):
        return NotImplemented
    made = elementwise(BINARY[node.kind], a, b)
    return NotImplemented if holds_tensor(made) else made


def holds_tensor(value: Any) -> bool:
    """Whether a choice that depends on sizes came out as a tensor."""
    return any(isinstance(each, TensorBase) for each in (value if isinstance(value, list) else [value]))


def holds_symbols(value: Any) -> bool:
    """Whether numbers follow from sizes."""
    return any(map(holds_symbols, value)) if isinstance(value, list) else is_symbolic(value)


@on_numbers("Min", "Max")
def extreme(node: NodeContext, *values: Any) -> Any:
    """The least or the greatest."""
    found = values[0]
    for each in values[1:]:
        found = elementwise(_call(min if node.kind == "Min" else max), found, each)
        if found is NotImplemented:
            return found
    return found


@on_numbers("Neg", "Abs", "Not", "Floor", "Ceil", "Sqrt")
def unary(node: NodeContext, value: Any) -> Any:
    """Functions of one number."""
    if node.kind in ("Floor", "Ceil"):
        chosen: Any = lambda each: float((math.floor if node.kind == "Floor" else math.ceil)(each))  # noqa: E731
    else:
        chosen = {"Neg": operator.neg, "Abs": abs, "Not": operator.not_, "Sqrt": math.sqrt}[node.kind]
    if node.kind in ("Floor", "Ceil", "Sqrt") and any(
        is_symbolic(each) or each < 0 for each in (value if isinstance(value, list) else [value])
    ):
        return NotImplemented
    made = elementwise(_call(chosen), value)
    return NotImplemented if made is not NotImplemented and holds_tensor(made) else made


def _fraction(value: Any) -> Any:
    """A number as a float; one that follows from sizes by its formula."""
    return SUBSTITUTES[float](value) if is_symbolic(value) else _rounded(float(value))


@on_numbers("Cast")
def cast(node: NodeContext, value: Any) -> Any:
    """Numbers of another type."""
    to = node["to"]
    flat = value if isinstance(value, list) else [value]
    if (
        to not in HELD
        or any(isinstance(each, list) for each in flat)
        or any(is_symbolic(each) and to not in (1, 6, 7, 11) for each in flat)
    ):
        return NotImplemented
    if any(isinstance(each, float) and not math.isfinite(each) for each in flat):
        return NotImplemented
    chosen: Any = bool if to == 9 else _fraction if to in (1, 11) else int
    if to in _WHOLE and to not in (6, 7) and any(not 0 <= each < 128 for each in flat):
        return NotImplemented
    if any(is_symbolic(each) and to in (6, 7) and not isinstance(each, int) for each in flat):
        return NotImplemented
    made = [each if is_symbolic(each) and to in (6, 7) else chosen(each) for each in flat]
    return made if isinstance(value, list) else made[0]


@on_numbers("Shape")
def sizes_of_numbers(node: NodeContext, value: Any) -> Any:
    """The size of a list."""
    return list(_rows(value).shape)[slice(node.get("start", 0), node.get("end"))]


@on_numbers("Identity")
def identity(node: NodeContext, value: Any) -> Any:
    """The same."""
    return value


@on_numbers("Where")
def where(node: NodeContext, condition: Any, a: Any, b: Any) -> Any:
    """One or the other."""
    return elementwise(lambda chosen, first, second: first if chosen else second, condition, a, b)


def _rows(value: Any) -> Any:
    """Numbers as an array of objects, of the shape that they are nested in."""
    return np.array(value, dtype=object)


def _nested(array: Any) -> Any:
    """An array of objects as a number or nested lists."""
    return array.tolist() if isinstance(array, np.ndarray) else array


@on_numbers("Gather")
def gather(node: NodeContext, data: Any, indices: Any) -> Any:
    """Elements of a list."""
    if not isinstance(data, list) or holds_symbols(indices):
        return NotImplemented
    return _nested(np.take(_rows(data), np.array(indices, dtype=np.int64), axis=node.get("axis", 0)))


@on_numbers("Concat")
def concat(node: NodeContext, *values: Any) -> Any:
    """Lists one after the other."""
    if all(isinstance(each, list) and not (each and isinstance(each[0], list)) for each in values):
        return [number for each in values for number in each]
    return _nested(np.concatenate([_rows(each) for each in values], axis=node["axis"]))


@on_numbers("Squeeze")
def squeeze(node: NodeContext, value: Any, axes: Any = None) -> Any:
    """A list of one number as that number."""
    axes = node.get("axes", axes)
    return _nested(np.squeeze(_rows(value), None if not axes else tuple(axes)))


@on_numbers("Unsqueeze")
def unsqueeze(node: NodeContext, value: Any, axes: Any = None) -> Any:
    """A number as a list."""
    axes = node.get("axes", axes)
    return _nested(np.expand_dims(_rows(value), tuple(axes if isinstance(axes, list) else [axes])))


@on_numbers("Reshape")
def reshape(node: NodeContext, value: Any, shape: Any = None) -> Any:
    """Numbers with other sizes."""
    wanted, rows = node.get("shape", shape), _rows(value)
    if holds_symbols(wanted):
        return NotImplemented
    if not node.get("allowzero"):
        wanted = [rows.shape[at] if each == 0 and at < rows.ndim else each for at, each in enumerate(wanted)]
    return _nested(rows.reshape(wanted))


@on_numbers("Transpose")
def transpose(node: NodeContext, value: Any) -> Any:
    """Numbers with their axes in another order."""
    return _nested(_rows(value).transpose(node.get("perm")))


@on_numbers("Slice")
def cut(node: NodeContext, data: Any, starts: Any = None, ends: Any = None, axes: Any = None, steps: Any = None) -> Any:
    """A part of a list."""
    starts, ends, axes = node.get("starts", starts), node.get("ends", ends), node.get("axes", axes)
    steps = steps or [1] * len(starts)
    if not isinstance(data, list) or holds_symbols([*starts, *ends, *steps]):
        return NotImplemented
    rows = _rows(data)
    places = [slice(None)] * rows.ndim
    for at, start, end, step in zip(axes or range(len(starts)), starts, ends, steps):
        places[at] = slice(start, None if step < 0 and end < -rows.shape[at] else end, step)
    return _nested(rows[tuple(places)])


@on_numbers("ReduceProd", "ReduceSum", "ReduceMax", "ReduceMin")
def reduce(node: NodeContext, value: Any, axes: Any = None) -> Any:
    """One number of a list."""
    flat = value if isinstance(value, list) else [value]
    if not flat or any(isinstance(each, list) for each in flat) or node.get("noop_with_empty_axes"):
        return NotImplemented
    found = flat[0]
    for each in flat[1:]:
        found = {"Prod": _mul, "Sum": _add, "Max": _call(max), "Min": _call(min)}[node.kind[6:]](found, each)
    return [found] if node.get("keepdims", 1) and isinstance(value, list) else found


@on_numbers("ConstantOfShape")
def constant_of_shape(node: NodeContext, shape: Any) -> Any:
    """A list of one number again and again."""
    if not isinstance(shape, list) or len(shape) != 1 or not 0 <= shape[0] <= MOST:
        return NotImplemented
    return list(as_numbers(node["value"]) if "value" in node else [0.0]) * int(shape[0])
