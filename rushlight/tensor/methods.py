"""Adds the ops of the table to the Tensor class: methods, in-place forms and operators."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from ..core.base import TensorBase
from ..core.declare import entry_point, methods, table
from ..core.dispatch import NUMBERS
from ..core.overrides import ask_operator, exchange
from . import construct, conversion, generator, interop, legacy, quantized, rare_methods, sparse, storage
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


# Methods about which ``__torch_function__`` is never asked.
NOT_ASKED = frozenset(
    "__dir__ __init__ __iter__ __init_subclass__ __new__ __hash__ _is_view _item _make_subclass _number as_subclass __str__ __setattr__ "
    "__array_wrap__ __buffer__ new new_tensor".split()
)


class Late:
    """A method of tensors that is not loaded yet: when it is first looked up, the function itself takes its place in the class."""

    __slots__ = ("attribute", "find", "name")

    def __init__(self, attribute: str, find: Callable[[str], Any], name: str) -> None:
        self.attribute, self.find, self.name = attribute, find, name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        function = self.find(self.name)
        if Tensor.__dict__.get(self.attribute) is self:
            setattr(Tensor, self.attribute, function)
        return function if instance is None else MethodType(function, instance)


def _operator(name: str) -> Any:
    operator = next(each for each, op in OPERATORS.items() if op == name)
    return entry_point(table[name], f"__{operator}__", "operator")


def _reflected(name: str) -> Any:
    operator = next(each for each, op in OPERATORS.items() if op == name)
    return entry_point(table[name], f"__r{operator}__", "reflected")


def _in_place(name: str) -> Any:
    call = table[f"{name}_"].call

    def operator(self: Any, other: Any) -> Any:
        return call(self, other) if isinstance(other, OPERANDS) else ask_operator(call, self, other)

    return operator


def _function(name: str) -> Any:
    return table[name].call


def install() -> None:
    """Give Tensor everything that the table declares for it."""
    attributes: Any = Tensor
    attributes.__getitem__, attributes.__setitem__, attributes.__delitem__ = getitem, setitem, delitem
    late = {name: (methods.__getitem__, name) for name in methods.expected if name not in Tensor.__dict__}
    for operator, name in OPERATORS.items():
        late[f"__{operator}__"] = _operator, name
        if operator not in COMPARISONS:
            late[f"__r{operator}__"] = _reflected, name
            if f"{name}_" in table:
                late[f"__i{operator}__"] = _in_place, name
    for operator, name in UNARY.items():
        late[f"__{operator}__"] = _function, name
    for attribute, (find, name) in late.items():
        setattr(attributes, attribute, Late(attribute, find, name))
    _install_modules(attributes)
    for name, value in Tensor.__dict__.items():
        if isinstance(value, property):
            exchange.add_property(value)
        elif isinstance(value, FunctionType) and name not in NOT_ASKED and not hasattr(value, "op"):
            if name.startswith("__"):
                value.__name__ = name
            exchange.add_function(value)


def _install_modules(attributes: Any) -> None:
    for module in (construct, legacy, conversion, rare_methods, storage, interop, generator, quantized, sparse):
        module.install(attributes)
