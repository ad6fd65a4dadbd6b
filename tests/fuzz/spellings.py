"""The same call in another spelling: numbers of NumPy and tensors without dimensions for numbers, lists for tuples, NumPy's names, keywords, methods.

PyTorch takes some of these and refuses others; either way a program may be written so.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from .calls import Array, Call, Mutator, arrays_in

NUMPY_NAMES = {"dim": "axis", "keepdim": "keepdims", "input": "x", "other": "x2"}
KINDS = {
    bool: ("numpy.bool_", "int", "tensor", "float"),
    int: ("numpy.int64", "numpy.int32", "numpy.uint8", "tensor", "bool", "float", "numpy.float64", "tensor1"),
    float: ("numpy.float64", "numpy.float32", "int", "tensor", "bool", "complex", "tensor1"),
    complex: ("numpy.complex128", "numpy.complex64", "tensor", "float"),
}


@dataclass
class Scalar:
    """A number argument in another form: of NumPy, of another type of Python, or a tensor without dimensions (``tensor1``: of one element)."""

    value: Any
    kind: str

    def __repr__(self) -> str:
        return f"{self.kind}({self.value!r})"


class Speller:
    """Writes calls of an op in other spellings."""

    def __init__(self, mutator: Mutator) -> None:
        self.mutator = mutator
        self.op = mutator.op

    def call(self) -> Call:
        """A random call, its form changed in one to three places."""
        mutator = self.mutator
        call = mutator.call() if mutator.chance(0.3) else copy.deepcopy(mutator.pick(mutator.bases))
        for _ in range(int(mutator.random.integers(1, 4))):
            mutator.pick(
                (self.numbers, self.numbers, self.sequences, self.keywords, self.names, self.method, self.nothing, self.dropped, self.array)
            )(call)
        return call

    def places(self, call: Call) -> list[tuple[Any, Any]]:
        """Where a call's arguments are: a list or dict, and the place in it."""
        return [*((call.args, at) for at in range(len(call.args))), *((call.kwargs, name) for name in call.kwargs)]

    def numbers(self, call: Call) -> None:
        """A number becomes one of another form."""
        found = [(owner, at) for owner, at in self.places(call) if type(owner[at]) in KINDS]
        if found:
            owner, at = self.mutator.pick(found)
            owner[at] = self.another(owner[at])

    def another(self, value: Any) -> Scalar:
        return Scalar(value, self.mutator.pick(KINDS[type(value)]))

    def sequences(self, call: Call) -> None:
        """A tuple of numbers becomes a list, one number, or has one of another form; a number becomes a tuple."""
        found = [
            (owner, at)
            for owner, at in self.places(call)
            if isinstance(owner[at], (list, tuple)) and all(type(each) in KINDS for each in owner[at]) or type(owner[at]) is int
        ]
        if not found:
            return
        owner, at = self.mutator.pick(found)
        value = owner[at]
        if type(value) is int:
            owner[at] = self.mutator.pick(([value], (value,), (value, value)))
            return
        options: list[Any] = [list(value), tuple(value), ()]
        if value:
            options += [value[0], [self.another(value[0]), *value[1:]], (*value[:-1], self.another(value[-1])), (*value, value[-1])]
        owner[at] = self.mutator.pick(options)

    def keywords(self, call: Call) -> None:
        """All arguments by their names."""
        if call.path.startswith("Tensor.") or any(each.variadic for each in self.op.parameters) or call.out is not None:
            return
        keep = int(self.mutator.random.integers(0, len(call.args) + 1))
        for parameter, value in zip(self.op.parameters[keep:], call.args[keep:]):
            call.kwargs[parameter.name] = value
        del call.args[keep:]

    def names(self, call: Call) -> None:
        """NumPy's names for keywords."""
        if len(call.args) > 1 and not call.kwargs:
            self.mutator.by_keyword(call)
        for name in list(call.kwargs):
            if name in NUMPY_NAMES and self.mutator.chance(0.7):
                call.kwargs[NUMPY_NAMES[name]] = call.kwargs.pop(name)

    def method(self, call: Call) -> None:
        """The method instead of the function."""
        if self.op.method and call.args and isinstance(call.args[0], Array) and call.out is None:
            call.path = f"Tensor.{self.op.public_name}"

    def nothing(self, call: Call) -> None:
        """None for an argument."""
        places = self.places(call)[1:]
        if places:
            owner, at = self.mutator.pick(places)
            owner[at] = None

    def dropped(self, call: Call) -> None:
        """One argument less, or one more."""
        if self.mutator.chance(0.5) and len(call.args) > 1:
            call.args.pop()
        elif self.mutator.chance(0.3):
            call.args.append(self.mutator.pick((None, 1, True, 0.5)))
        elif call.kwargs:
            call.kwargs.pop(self.mutator.pick(list(call.kwargs)))

    def array(self, call: Call) -> None:
        """A tensor becomes a number, or loses its dimensions."""
        found = [(owner, at) for owner, at in self.places(call) if isinstance(owner[at], Array) and owner[at].values.size]
        if not found:
            return
        owner, at = self.mutator.pick(found)
        number = owner[at].values.reshape(-1)[0].item()
        kinds = ("float", "int", "bool", "complex", "numpy.float64", "numpy.int64", "tensor")
        owner[at] = Scalar(number, self.mutator.pick(kinds)) if not isinstance(number, complex) else number
        if not any(arrays_in(each) for each in (*call.args, *call.kwargs.values())):
            call.gradient = False
