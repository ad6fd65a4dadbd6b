"""Hang the op table on the Tensor class: methods, in-place forms and operators."""

from __future__ import annotations

from typing import Any

from ..core.base import TensorBase
from ..core.declare import entry_point, methods, table
from ..core.dispatch import NUMBERS
from . import construct, conversion, generator, interop, legacy, quantized, storage
from .indexing import delitem, getitem, setitem
from .tensor import Tensor

# operator -> op; a reflected operator exchanges its operands
OPERATORS = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide", "mod": "remainder", "pow": "pow",
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift", "matmul": "matmul",
    "eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge",
}  # fmt: skip
UNARY = {"neg": "neg", "abs": "abs", "pos": "positive"}
OPERANDS = (TensorBase, *NUMBERS)
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def _in_place(op: Any) -> Any:
    call = op.call

    def operator(self: Any, other: Any) -> Any:
        return call(self, other) if isinstance(other, OPERANDS) else NotImplemented

    return operator


def install() -> None:
    """Give Tensor everything that the table declares for it."""
    attributes: Any = Tensor
    attributes.__getitem__, attributes.__setitem__, attributes.__delitem__ = getitem, setitem, delitem
    for name, function in methods.items():
        if name not in Tensor.__dict__:
            setattr(attributes, name, function)
    for operator, name in OPERATORS.items():
        if name not in table:
            continue
        op = table[name]
        setattr(attributes, f"__{operator}__", entry_point(op, f"__{operator}__", "operator"))
        if operator not in COMPARISONS:
            setattr(attributes, f"__r{operator}__", entry_point(op, f"__r{operator}__", "reflected"))
            if op.in_place is not None:
                setattr(attributes, f"__i{operator}__", _in_place(op.in_place))
    for operator, name in UNARY.items():
        if name in table:
            setattr(attributes, f"__{operator}__", table[name].call)
    for module in (construct, legacy, conversion, storage, interop, generator, quantized):
        module.install(attributes)
