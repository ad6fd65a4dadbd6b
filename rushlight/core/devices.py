"""Devices: where the elements of a tensor are stored, and which array module computes on them.

A :class:`device` is a name with an index, as in PyTorch.  A :class:`DeviceType` says how arrays of a kind of device are made, computed
with, compared and copied; it is registered once (:func:`register_device_type`) under its name and under the class of its arrays.  Code
that has an array asks :func:`device_type_of` before it calls any function of an array module:

    kernel(device_type_of(array).arrays, array)

``cpu`` is registered here and ``meta`` (arrays without elements, :class:`~rushlight.core.base.Spec`) in ``base``.  A further kind of
device registers itself in the same way, and needs no other entry.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from .errors import DeviceError, OperationError
from .process_safety import load_module

_NAMES = (
    "cpu cuda ipu xpu mkldnn opengl opencl ideep hip ve fpga maia xla lazy vulkan mps meta hpu mtia privateuseone".split()
)  # the names PyTorch has, registered or not


class device:
    """A place for tensors, such as ``device("cpu")`` or ``device("cuda", 0)``; also a context that sets the default."""

    __slots__ = ("index", "type", "_entered")

    type: str
    index: int | None

    def __init__(self, type: Any, index: int | None = None) -> None:
        if isinstance(type, device):
            type, index = type.type, type.index
        elif isinstance(type, int):
            if type < 0:
                raise RuntimeError("Device index must not be negative")
            type, index = "cuda", type
        elif not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' (position 1) must be str, not {type.__class__.__name__}")
        elif ":" in type:
            if index is not None:
                raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {type}")
            type, _, number = type.partition(":")
            if not number.isdigit():
                raise RuntimeError(f"Invalid device string: '{type}:{number}'")
            index = int(number)
        if type not in _NAMES:
            raise RuntimeError(f"Expected one of {', '.join(_NAMES)} device type at start of device string: {type}")
        self.type = type
        self.index = index
        self._entered: list[Any] = []

    def __repr__(self) -> str:
        return f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[Any, ...]:
        return (device, (self.type, self.index) if self.index is not None else (self.type,))

    def __enter__(self) -> device:
        self._entered.append(default.device)
        default.device = self
        return self

    def __exit__(self, *exception: Any) -> None:
        default.device = self._entered.pop()


CPU = device("cpu")
META = device("meta")


class _Default:
    __slots__ = ("device",)

    def __init__(self) -> None:
        self.device = CPU


default = _Default()


def as_device(value: Any) -> device:
    """A device from what a user may pass for one; None is the default device."""
    if value is None:
        return default.device
    return value if isinstance(value, device) else device(value)


def get_default_device() -> device:
    """Where factory functions put tensors when no device is named."""
    return default.device


def set_default_device(device: Any) -> None:
    """Set where factory functions put tensors when no device is named."""
    default.device = as_device(device if device is not None else CPU)


# -- kinds of devices --------------------------------------------------------------------------------------------


class DeviceType:
    """What the package needs to know about a kind of device; the base class describes the CPU, whose arrays are NumPy's.

    A subclass for other memory overrides every method: none of them may be inherited by arrays that NumPy can't read.
    """

    name = "cpu"
    arrays: Any = np  # the array module: what kernels get as ``xp``
    array_type: type = np.ndarray

    only: device | None = None  # the one device of this kind, where there is but one: then operands of its arrays need not be compared

    def device_of(self, array: Any) -> device:
        """The device that an array is on."""
        return CPU

    def canonical(self, wanted: device) -> device:
        """A device as tensors report it: the CPU has no index, others may have a current one."""
        return CPU

    def active(self, place: device) -> AbstractContextManager[Any]:
        """A context in which kernels run, and new arrays are made, on one of several devices of this kind."""
        return nullcontext()

    def as_array(self, value: Any) -> Any:
        """A kernel's result as an array: NumPy returns scalars where PyTorch has 0-dim tensors.

        An array of another device, which a kernel that moves values returns, stays as it is.
        """
        return value if is_array(value) else np.asarray(value)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], like: device) -> Any:
        """An array on a device whose elements are not set."""
        return np.empty(shape, dtype)

    def from_host(self, array: np.ndarray[Any, Any], to: device) -> Any:
        """A NumPy array as one on a device of this kind; its strides are kept."""
        return array

    def to_host(self, array: Any) -> np.ndarray[Any, Any]:
        """The elements of an array as a NumPy array; its strides are kept."""
        return array  # type: ignore[no-any-return]

    def between(self, array: Any, to: device) -> Any:
        """A copy of an array on another device of this kind; its strides are kept."""
        return self.from_host(self.to_host(array), to)

    def strided(self, array: Any, shape: Any, strides: Any, offset: int, dtype: np.dtype[Any]) -> Any:
        """A view of an array's memory by shape, and by strides and offset in elements of a dtype."""
        return strided(array, shape, strides, offset, dtype)

    def shares_memory(self, a: Any, b: Any) -> bool:
        """Whether two arrays may share memory, judged by the bounds of the memory they span."""
        return bool(np.may_share_memory(a, b))

    def address(self, array: Any) -> int:
        """The address of the first element."""
        return int(array.__array_interface__["data"][0])

    def kernel_for(self, op: Any) -> Any:
        """The device's own kernel of an op, called with the op's values, or None.

        It returns NotImplemented where it leaves a call to the kernel that the op has for any array module.  With a method ``into(array, values)``
        it also writes its result to an array that is there, and says whether it could.
        """
        return None

    def before_backward(self) -> None:
        """Let the current stream wait for what forward passes have queued in others: a backward pass runs in the current one."""

    forked = False  # whether this process was forked from one that had loaded the device's driver, which can't be used here
    shortcuts: dict[str, Any] = {}  # functions on the device's arrays that gradient rules call without dispatch (see ``fast_paths.py``)

    def is_foreign(self, error: Exception) -> bool:
        """Whether an error says that a kernel gave arrays of the device to NumPy: the op has no kernel for it."""
        return False

    def out_of_memory(self, name: str, error: MemoryError) -> Exception:
        """The error of a call for which the memory does not suffice."""
        return OperationError(f"{name}(): not enough memory: {error}")

    def generator_type(self) -> Any:
        """The class of generators of random numbers on the device; None where the CPU's is used."""
        return None

    def default_generator(self) -> Any:
        """The generator that random ops on the current device draw from; None where it is the CPU's."""
        return None

    def optimizer_step(self, update: Any, group: dict[str, Any], numbers: tuple[Any, ...], tensors: list[list[Any]]) -> bool:
        """Run an optimizer's arithmetic over many parameters at once, each with its gradient and buffers; False where it can't be."""
        return False

    def dropout_factors(self, array: Any, p: float) -> Any:
        """What dropout multiplies an array by, in the order of the device's own stream; None where that is the order of bernoulli's."""
        return None

    def dropout_stream(self) -> Any:
        """The generator that has the order of :meth:`dropout_factors`; None where that is the order of bernoulli's."""
        return None

    def manual_seed_all(self, seed: int) -> None:
        """Seed the default generators of all devices of this kind."""

    def synchronize(self) -> None:
        """Wait until everything queued on the current device is done."""

    def pinned(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """A copy of an array of the host in page-locked memory, from which the device copies fastest."""
        raise OperationError("pin_memory() needs an accelerator: there is no pinned memory here")

    def is_pinned(self, array: np.ndarray[Any, Any]) -> bool:
        """Whether an array of the host is in page-locked memory."""
        return False

    def dlpack(self, array: Any, **options: Any) -> Any:
        """A capsule by which another library can share an array's memory."""
        if self.name != "cpu":
            raise BufferError(f"Cannot pack tensors on {self.name}")
        return array.__dlpack__(**options)

    def dlpack_device(self, array: Any) -> tuple[int, int]:
        """Where an array's memory is, in DLPack's numbers."""
        return (1, 0)

    def from_dlpack(self, source: Any) -> Any:
        """An array over the memory of another library's."""
        return np.from_dlpack(source)


class SoleAccelerator:
    """The kind of accelerator of which this process has one device: calls on its tensors skip the search for a common device."""

    __slots__ = ("array_type", "arrays", "kind", "pairs", "singles", "writers")

    def __init__(self) -> None:
        self.singles: dict[str, Any] = {}  # by op: functions of an array, for calls without options
        self.pairs: dict[str, Any] = {}  # of two arrays, or of one and a number
        self.writers: dict[
            str, Any
        ] = {}  # the same, written to the first array, given all arguments of the call; they say whether they could
        self.kind: Any = None
        self.array_type: Any = None
        self.arrays: Any = None

    def become(self, kind: Any) -> None:
        """Take a kind of device, or None, for the sole accelerator."""
        self.kind = kind
        self.singles.clear()
        self.pairs.clear()
        self.writers.clear()
        self.array_type, self.arrays = (None, None) if kind is None else (kind.array_type, kind.arrays)


sole_accelerator = SoleAccelerator()


device_types: dict[str, DeviceType] = {}  # by name
_LATE = {"cuda": "rushlight.runtime.cuda.device"}  # the modules that register further kinds when a program first names one
array_kinds: dict[type, DeviceType] = {}  # by the class of their arrays


def register_device_type(kind: DeviceType, *array_types: type) -> None:
    """Make a kind of device available to factory functions, ``Tensor.to`` and kernels."""
    device_types[kind.name] = kind
    if kind.name not in _NAMES:
        _NAMES.append(kind.name)
    for array_type in (kind.array_type, *array_types):
        array_kinds[array_type] = kind
    if kind.only is not None:
        sole_accelerator.become(kind)


def unregister_device_type(name: str) -> None:
    """Take a kind of device away again; tensors on it can't be used afterwards."""
    kind = device_types.pop(name)
    if sole_accelerator.kind is kind:
        sole_accelerator.become(None)
    _NAMES.remove(name)
    for array_type in [each for each, found in array_kinds.items() if found is kind]:
        del array_kinds[array_type]


def register_array_type(array_type: type, name: str) -> None:
    """Say that arrays of a class (a subclass of the device's own) are on a registered kind of device."""
    array_kinds[array_type] = device_types[name]


def device_type_of(array: Any) -> DeviceType:
    """The kind of device that an array is on."""
    kind = array.__class__
    found = array_kinds.get(kind)
    if found is None:
        found = next((array_kinds[base] for base in kind.__mro__ if base in array_kinds), None)
        if found is None:
            raise DeviceError(f"an array of class {kind.__name__} is on no device that is registered")
        array_kinds[kind] = found
    return found


def device_of(array: Any) -> device:
    """The device that an array (or a Spec) is on."""
    if array.__class__ is np.ndarray:
        return CPU
    kind = device_type_of(array)
    return (array.device or META) if kind.name == "meta" else kind.device_of(array)  # a Spec names its device


def available(wanted: Any) -> device:
    """The device that a user named (None is the default one), if tensors can be on it."""
    if wanted is CPU or wanted == "cpu":
        return CPU
    found = as_device(wanted)
    kind = device_types.get(found.type)
    if kind is None and found.type in _LATE:
        kind = load_module(_LATE[found.type]).register()
    if kind is None:
        *names, last = device_types
        raise DeviceError(f"device '{found}' is not available: rushlight has the devices {', '.join(names)} and {last} here")
    return kind.canonical(found)


def accelerator() -> DeviceType | None:
    """The kind of device that work is handed to here: CUDA where there is a GPU; None where there is only the CPU."""
    try:
        return device_types[available("cuda").type]
    except DeviceError:
        return None


def is_array(value: Any) -> bool:
    """Whether a value is an array of a registered kind of device, or a Spec."""
    return value.__class__ in array_kinds or isinstance(value, np.ndarray)


def on_device(array: Any, wanted: device) -> Any:
    """An array on a device: itself where it is there already, else a copy."""
    if isinstance(array, np.generic):  # what NumPy makes of an array without dimensions
        array = np.asarray(array)
    here = device_type_of(array)
    if here.device_of(array) == wanted:
        return array
    there = device_types[wanted.type]
    return here.between(array, wanted) if there is here else there.from_host(here.to_host(array), wanted)


def strided(array: Any, shape: Any, strides: Any, offset: int = 0, dtype: Any = None) -> Any:
    """A view of memory by shape, and by strides and offset in elements, counted from the array's own first element."""
    dtype = array.dtype if dtype is None else dtype
    if not isinstance(array, np.ndarray):
        return device_type_of(array).strided(array, shape, strides, offset, dtype)
    size = dtype.itemsize
    steps = tuple([stride * size for stride in strides])
    if array.flags.forc and offset >= 0:
        try:
            return np.ndarray(shape, dtype, array, offset * size, steps)
        except (TypeError, ValueError):
            pass  # it does not fit into the array; it may fit into the memory around it, and NumPy checks that too
    owner = memory_owner(array)
    if not owner.flags.forc:  # one block in another order of dimensions is one, too
        owner = owner.transpose(sorted(range(owner.ndim), key=lambda dim: -owner.strides[dim]))
    if not owner.flags.forc:  # foreign memory with gaps: NumPy can't address it as one block
        if offset or dtype != array.dtype or _extent(shape, steps) > _extent(array.shape, array.strides):
            raise OperationError("memory that is not one block can't be viewed beyond the tensor itself: clone() it first")
        return np.lib.stride_tricks.as_strided(array, shape, steps)
    start = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    return np.ndarray(shape, dtype, owner, start + offset * size, steps)


def _extent(shape: Any, steps: Any) -> int:
    """The distance in bytes from the first to the last element of an array."""
    return 0 if 0 in shape else sum((size - 1) * step for size, step in zip(shape, steps))


def memory_owner(array: Any) -> Any:
    """The NumPy array at the end of the chain of ``base``: the one that owns the memory."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


register_device_type(DeviceType())
