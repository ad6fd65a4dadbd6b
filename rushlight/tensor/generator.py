"""The public random generator, whose states are tensors, and in-place methods whose parameters Python can't name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core import random as streams
from ..core.base import TensorBase, make
from ..core.declare import table
from ..core.devices import available, device_types
from ..core.dtypes import uint8
from ..core.errors import ArgumentError


class Generator(streams.Generator):
    """A stream of random numbers that equals PyTorch's for the same seed.

    >>> Generator().manual_seed(0).initial_seed()
    0
    """

    __slots__ = ()

    def __new__(cls, device: Any = "cpu") -> Any:
        """A generator of a device: those of other devices than the CPU are of classes that the devices name."""
        kind = device_types.get("cpu" if device is None else available(device).type)
        own = None if kind is None else kind.generator_type()
        return object.__new__(cls if own is None or issubclass(cls, own) else own)

    def get_state(self) -> Any:
        """The state as a tensor of PyTorch's 5056 bytes."""
        return make(super().get_state())

    def set_state(self, state: Any) -> Any:
        """Continue from a state that :meth:`get_state`, or PyTorch's, returned."""
        if not isinstance(state, TensorBase):
            raise ArgumentError(f"expected a torch.ByteTensor, but got {type(state).__name__}")
        if state._array.dtype != uint8.numpy:
            raise ArgumentError("RNG state must be a torch.ByteTensor")
        super().set_state(state._array)
        return self

    def graphsafe_get_state(self) -> Any:
        """A second generator that continues where this one stands."""
        return self.clone_state()

    def graphsafe_set_state(self, state: Any) -> Any:
        """Continue where another generator stands."""
        return self.set_state(state.get_state())


default_generator = Generator()
default_generator.seed()
streams.default_generator = default_generator  # what random ops draw from when no generator is passed


def _with_from(name: str, defaults: tuple[Any, Any], doc: str) -> Callable[..., Any]:
    """A method with parameters ``from`` and ``to``: the first is a keyword of Python's, which no signature can have."""

    def method(self: Any, *bounds: Any, generator: Any = None, **named: Any) -> Any:
        given = dict(zip(("from", "to"), bounds))
        if len(bounds) > 2 or given.keys() & named.keys() or not named.keys() <= {"from", "to"}:
            raise ArgumentError(f"{name}_() received an invalid combination of arguments: it takes 'from', 'to' and 'generator'")
        given.update(named)
        if name == "random" and given.keys() == {"from"}:  # random_(to)
            if named:
                raise ArgumentError("random_() received an invalid combination of arguments: 'from' goes with 'to'")
            given = {"to": given["from"]}
        if name == "random" and given:
            given.setdefault("from", 0)
        return table[f"{name}_fill_"].call(self, given.get("from", defaults[0]), given.get("to", defaults[1]), generator=generator)

    method.__name__ = method.__qualname__ = f"{name}_"
    method.__doc__ = doc
    return method


def install(tensor_class: Any) -> None:
    """Hang the methods of this module on the tensor class."""
    tensor_class.uniform_ = _with_from("uniform", (0, 1), "Fill with numbers drawn evenly between two.")
    tensor_class.random_ = _with_from("random", (None, None), "Fill with whole numbers drawn evenly.")
