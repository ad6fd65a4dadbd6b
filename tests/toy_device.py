"""A kind of device for tests: its arrays hold NumPy arrays, and raise an error when NumPy is called on them.

Only the functions of the device's own array module may compute with them, so that a test on this device finds every place that calls NumPy on an
array whose device it has not asked for.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np

from rushlight.core import devices
from rushlight.core.devices import DeviceType, device


class ToyArray:
    """An array of the toy device: all that kernels may ask of an array, but nothing that NumPy could read."""

    __array_ufunc__ = None

    def __init__(self, held: np.ndarray, index: int = 0) -> None:
        assert type(held) is np.ndarray
        self.held = held
        self.index = index

    def __array__(self, *args: Any, **options: Any) -> Any:
        raise AssertionError("NumPy reads an array of the toy device")

    def __array_function__(self, *args: Any) -> Any:
        raise AssertionError("NumPy is called on an array of the toy device")

    @property
    def __array_interface__(self) -> Any:
        raise AttributeError("an array of the toy device has no NumPy interface")

    @property
    def base(self) -> Any:
        return self.held.base

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("real", "imag"):
            setattr(self.held, name, plain(value))
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.held, name)
        return wrapped(found) if callable(found) else toy(found)

    def __getitem__(self, index: Any) -> Any:
        return toy(self.held[plain(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        assert not isinstance(value, np.ndarray), "an array on the CPU is written to the toy device"
        self.held[plain(index)] = plain(value)

    def __len__(self) -> int:
        return len(self.held)

    def __bool__(self) -> bool:
        return bool(self.held)

    def __index__(self) -> int:
        return operator.index(self.held)

    def __int__(self) -> int:
        return int(self.held)

    def __float__(self) -> float:
        return float(self.held)

    def __iter__(self) -> Iterator[Any]:
        return (toy(each) for each in self.held)


def _operator(name: str, reflected: bool) -> Callable[[Any, Any], Any]:
    function = getattr(operator, f"__{name}__")

    def method(self: Any, other: Any) -> Any:
        assert not isinstance(other, np.ndarray), "an array on the CPU meets one on the toy device"
        pair = (plain(other), self.held) if reflected else (self.held, plain(other))
        return toy(function(*pair))

    return method


for _name in "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split():
    setattr(ToyArray, f"__{_name}__", _operator(_name, False))
    setattr(ToyArray, f"__r{_name}__", _operator(_name, True))
for _name in "add sub mul truediv floordiv".split():

    def _in_place(self: Any, other: Any, function: Any = getattr(operator, f"__i{_name}__")) -> Any:
        assert not isinstance(other, np.ndarray), "an array on the CPU meets one on the toy device"
        function(self.held, plain(other))
        return self

    setattr(ToyArray, f"__i{_name}__", _in_place)
for _name in "lt le gt ge eq ne".split():
    setattr(ToyArray, f"__{_name}__", _operator(_name, False))
for _name in "neg abs invert pos".split():
    setattr(ToyArray, f"__{_name}__", lambda self, function=getattr(operator, f"__{_name}__"): toy(function(self.held)))
ToyArray.__hash__ = object.__hash__  # type: ignore[method-assign, assignment]


def plain(value: Any) -> Any:
    if isinstance(value, ToyArray):
        return value.held
    return type(value)(map(plain, value)) if type(value) in (tuple, list) else value


def toy(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return ToyArray(np.asarray(value), ToyDevice.current)
    return type(value)(map(toy, value)) if type(value) in (tuple, list) else value


class wrapped:
    """A function of NumPy's, or a method of an array, for toy arrays; the methods of a ufunc (``add.reduce``) are wrapped, too."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any, **options: Any) -> Any:
        return toy(self.function(*map(plain, args), **{name: plain(value) for name, value in options.items()}))

    def __getattr__(self, name: str) -> Any:
        return wrapped(getattr(self.function, name))


class Toys(ModuleType):
    """The array module of the toy device."""

    def __init__(self, module: Any) -> None:
        super().__init__("toys")
        self.module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.module, name)
        if found is np.ndarray:
            return ToyArray
        if isinstance(found, (type, np.dtype)):
            return found
        if isinstance(found, ModuleType):
            return Toys(found)
        return wrapped(found) if callable(found) else found


class ToyDevice(DeviceType):
    name = "toy"
    array_type = ToyArray
    arrays = Toys(np)
    current = 0  # the index of the device on which new arrays are made

    def device_of(self, array: Any) -> device:
        return device("toy", array.index)

    def canonical(self, wanted: device) -> device:
        return device("toy", wanted.index or 0)

    @contextmanager
    def active(self, place: device) -> Iterator[None]:
        before, ToyDevice.current = ToyDevice.current, place.index or 0
        yield
        ToyDevice.current = before

    def as_array(self, value: Any) -> Any:
        return value if devices.is_array(value) and type(value) is not np.ndarray else ToyArray(np.array(value), ToyDevice.current)

    def empty(self, shape: Any, dtype: Any, like: device) -> Any:
        return ToyArray(np.empty(shape, dtype), like.index or 0)

    def from_host(self, array: np.ndarray, to: device) -> Any:
        return ToyArray(array.copy(order="K"), to.index or 0)

    def to_host(self, array: Any) -> np.ndarray:
        return array.held.copy(order="K")

    def strided(self, array: Any, shape: Any, strides: Any, offset: int, dtype: Any) -> Any:
        return ToyArray(devices.strided(array.held, shape, strides, offset, dtype), array.index)

    def shares_memory(self, a: Any, b: Any) -> bool:
        return np.may_share_memory(a.held, b.held)

    def address(self, array: Any) -> int:
        return int(array.held.ctypes.data)
