"""cuDNN's graph interface, called through ctypes: a graph of one operation, the plan that its heuristics choose, and fast calls of that plan.

The older interface has few kernels for the newer cards and keeps the host busy in every call; a plan here is made once, and a repeated call on the
same memory is one call of the library.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ...core.errors import AcceleratorError
from ...core.process_safety import free_after_fork
from . import launch_record
from .libraries import library

# cudnnBackendDescriptorType_t
CONVOLUTION, ENGINE_CONFIG, HEURISTICS, PLAN = 1, 3, 4, 5
FORWARD, BACKWARD_FILTER, BACKWARD_DATA, GRAPH, VARIANT_PACK, TENSOR = 10, 11, 12, 15, 16, 17
_ENGINE = 2
# cudnnBackendAttributeType_t
HANDLE, DATA_TYPE, BOOLEAN, INT64, FLOAT, DOUBLE, VOID_PTR, CONVOLUTION_MODE, HEURISTIC_MODE, NUMERICAL_NOTE, DESCRIPTOR = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    11,
    15,
)
_C_TYPES = {
    HANDLE: ctypes.c_void_p, DATA_TYPE: ctypes.c_int, BOOLEAN: ctypes.c_bool, INT64: ctypes.c_int64, FLOAT: ctypes.c_float, DOUBLE: ctypes.c_double,
    VOID_PTR: ctypes.c_void_p, CONVOLUTION_MODE: ctypes.c_int, HEURISTIC_MODE: ctypes.c_int, NUMERICAL_NOTE: ctypes.c_int, DESCRIPTOR: ctypes.c_void_p,
}  # fmt: skip
_HEURISTICS = (3, 2)  # modes A and fallback
_TENSOR_CORE, _DOWN_CONVERT, _NONDETERMINISTIC = 0, 1, 4  # cudnnBackendNumericalNote_t
TYPES = {np.dtype(np.float32): 0, np.dtype(np.float64): 1, np.dtype(np.float16): 2, np.dtype(ml_dtypes.bfloat16): 9}
MOST_WORKSPACE = 1 << 30
_MOST_PACKS = 256  # sets of addresses that a plan caches


class Dnn:
    """A handle of cuDNN on one device."""

    def __init__(self, cupy: Any) -> None:
        self.cupy, self.library = cupy, library(cupy, "cudnn")
        self.library.cudnnGetErrorString.restype = ctypes.c_char_p
        self._set, self._get = self.library.cudnnBackendSetAttribute, self.library.cudnnBackendGetAttribute
        self._set.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_void_p]
        self._get.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p]
        self.execute = self.library.cudnnBackendExecute
        self.execute.argtypes = [ctypes.c_void_p] * 3
        self.destroy = self.library.cudnnBackendDestroyDescriptor
        self.destroy.argtypes = [ctypes.c_void_p]
        self.finalize = self.library.cudnnBackendFinalize
        self.finalize.argtypes = [ctypes.c_void_p]
        made, self.stream = ctypes.c_void_p(), None
        self.check(self.library.cudnnCreate(ctypes.byref(made)))
        self.handle = made.value
        self.lock = free_after_fork(threading.Lock())
        self._stream = cupy.cuda.get_current_stream

    def check(self, status: int) -> None:
        """Raise a status of cuDNN as an error."""
        if status:
            raise AcceleratorError(f"cuDNN: {self.library.cudnnGetErrorString(status).decode()}")

    def enter(self) -> None:
        """Set the handle to the current stream."""
        stream = self._stream().ptr
        if stream != self.stream:
            self.check(self.library.cudnnSetStream(ctypes.c_void_p(self.handle), ctypes.c_void_p(stream)))
            self.stream = stream

    def descriptor(self, kind: int, *attributes: tuple[int, int, Any]) -> Descriptor:
        """A finished descriptor with attributes, each a name, a type and a value or several."""
        descriptor = self.open(kind)
        for name, type, value in attributes:
            self.set(descriptor, name, type, value)
        self.check(self.finalize(descriptor.pointer))
        return descriptor

    def open(self, kind: int) -> Descriptor:
        """A descriptor to be filled."""
        pointer = ctypes.c_void_p()
        self.check(self.library.cudnnBackendCreateDescriptor(kind, ctypes.byref(pointer)))
        return Descriptor(self, pointer.value)

    def set(self, descriptor: Descriptor, name: int, type: int, value: Any) -> None:
        """Set an attribute."""
        values = [
            each.pointer if isinstance(each, Descriptor) else each for each in (value if isinstance(value, (tuple, list)) else (value,))
        ]
        buffer = (_C_TYPES[type] * len(values))(*values)
        descriptor.references.append(value)
        self.check(self._set(descriptor.pointer, name, type, len(values), ctypes.addressof(buffer)))

    def get(self, descriptor: Descriptor, name: int, type: int, most: int = 1) -> list[Any]:
        """The values of an attribute that are no descriptors."""
        buffer, count = (_C_TYPES[type] * most)(), ctypes.c_int64()
        self.check(self._get(descriptor.pointer, name, type, most, ctypes.addressof(count), ctypes.addressof(buffer)))
        return list(buffer[: count.value])

    def get_descriptors(self, descriptor: Descriptor, name: int, kind: int, most: int) -> list[Descriptor]:
        """The values of an attribute that are descriptors of a kind."""
        made = [self.open(kind) for _ in range(most)]
        buffer, count = (ctypes.c_void_p * most)(*[each.pointer for each in made]), ctypes.c_int64()
        self.check(self._get(descriptor.pointer, name, DESCRIPTOR, most, ctypes.addressof(count), ctypes.addressof(buffer)))
        return made[: count.value]


class Descriptor:
    """A descriptor of cuDNN's and what it refers to; destroyed with its last reference."""

    __slots__ = ("_destroy", "pointer", "references")

    def __init__(self, dnn: Dnn, pointer: Any) -> None:
        self.pointer, self._destroy = pointer, dnn.destroy
        self.references: list[Any] = []  # what the attributes point to

    def __del__(self) -> None:
        self._destroy(self.pointer)


def tensor(dnn: Dnn, uid: int, shape: Sequence[int], strides: Sequence[int], dtype: np.dtype[Any], alignment: int) -> Descriptor:
    """The descriptor of an array; strides count elements."""
    return dnn.descriptor(
        TENSOR, (906, INT64, uid), (901, DATA_TYPE, TYPES[dtype]), (902, INT64, tuple(shape)), (903, INT64, tuple(strides)), (900, INT64, alignment)
    )  # fmt: skip


class ExecutionPlan:
    """An execution plan that cuDNN's heuristics choose for one operation; calls take its tensors' addresses, in the order of ``uids``."""

    def __init__(self, dnn: Dnn, operation: Descriptor, uids: tuple[int, ...], exact: bool, deterministic: bool, benchmark: bool) -> None:
        self.dnn, self.uids = dnn, uids
        graph = dnn.descriptor(GRAPH, (800, HANDLE, dnn.handle), (801, DESCRIPTOR, operation))
        found: list[tuple[Descriptor, int]] = []
        for mode in _HEURISTICS:
            for config in self._configurations(graph, mode):
                if self._refused(config, exact, deterministic):
                    continue
                plan = self._planned(config)
                if plan is not None:
                    found.append(plan)
                    if not benchmark or len(found) >= 8:
                        break
            if found:
                break
        if not found:
            raise AcceleratorError("cuDNN has no engine for this operation")
        self.descriptor, self.workspace = found[0]
        self.choices = found if benchmark else []
        self._packs: dict[tuple[int, ...], Descriptor] = {}
        self._uids = (ctypes.c_int64 * len(uids))(*uids)

    def _configurations(self, graph: Descriptor, mode: int) -> list[Descriptor]:
        try:
            heuristics = self.dnn.descriptor(HEURISTICS, (201, DESCRIPTOR, graph), (200, HEURISTIC_MODE, mode))
            return self.dnn.get_descriptors(heuristics, 202, ENGINE_CONFIG, 16)
        except AcceleratorError:  # no engine in this mode
            return []

    def _refused(self, config: Descriptor, exact: bool, deterministic: bool) -> bool:
        """Whether the settings rule an engine out: TF32 where float32 is to be exact, nondeterministic sums."""
        engines = self.dnn.get_descriptors(config, 300, _ENGINE, 1)
        notes = self.dnn.get(engines[0], 1303, NUMERICAL_NOTE, 16) if engines else []
        return _DOWN_CONVERT in notes or (exact and _TENSOR_CORE in notes) or (deterministic and _NONDETERMINISTIC in notes)

    def _planned(self, config: Descriptor) -> tuple[Descriptor, int] | None:
        try:
            made = self.dnn.descriptor(PLAN, (401, DESCRIPTOR, config), (400, HANDLE, self.dnn.handle))
            size = self.dnn.get(made, 402, INT64)[0]
        except AcceleratorError:  # an engine that does not take these shapes
            return None
        return (made, size) if size <= MOST_WORKSPACE else None

    def measure(self, *addresses: int) -> None:
        """Keep the fastest of the plans that were found."""
        launch_record.invalidate()
        cupy, best = self.dnn.cupy, float("inf")
        for descriptor, workspace in self.choices:
            self.descriptor, self.workspace, self._packs = descriptor, workspace, {}
            self.run(*addresses)
            began, ended = cupy.cuda.Event(), cupy.cuda.Event()
            began.record()
            for _ in range(3):
                self.run(*addresses)
            ended.record()
            ended.synchronize()
            taken = cupy.cuda.get_elapsed_time(began, ended)
            if taken < best:
                best, chosen = taken, (descriptor, workspace)
        self.descriptor, self.workspace = chosen
        self._packs, self.choices = {}, []

    def run(self, *addresses: int) -> None:
        """Compute, given the addresses of the tensors."""
        scratch = self.dnn.cupy.cuda.alloc(self.workspace) if self.workspace else None
        key = (*addresses, 0 if scratch is None else scratch.ptr)
        self._execute(0, key)
        if launch_record.current is not None:
            launch_record.current.add(self._execute, key, [True] * len(key))

    def _execute(self, stream: int, key: tuple[int, ...]) -> None:
        """Compute in the current stream, given the addresses of the tensors and of the workspace."""
        dnn = self.dnn
        with dnn.lock:  # the handle has one stream at a time
            dnn.enter()
            pack = self._packs.get(key)
            if pack is None:
                if len(self._packs) >= _MOST_PACKS:
                    self._packs.pop(next(iter(self._packs)))
                pack = self._packs[key] = self._packed(key)
            status = dnn.execute(dnn.handle, self.descriptor.pointer, pack.pointer)
        if status:
            dnn.check(status)

    def _packed(self, key: tuple[int, ...]) -> Descriptor:
        """The variant pack of addresses: made for every new set of them, so without the overhead of ``Dnn.descriptor``."""
        dnn, count = self.dnn, len(self.uids)
        made, set = dnn.open(VARIANT_PACK), dnn._set
        pointer, buffer = made.pointer, (ctypes.c_void_p * len(key))(*key)
        at = ctypes.addressof(buffer)
        status = (
            set(pointer, 1000, INT64, count, self._uids)
            or set(pointer, 1001, VOID_PTR, count, at)
            or set(pointer, 1003, VOID_PTR, 1, at + count * ctypes.sizeof(ctypes.c_void_p))
            or dnn.finalize(pointer)
        )
        if status:
            dnn.check(status)
        return made


_handles: dict[int, Dnn] = {}


def handle(cupy: Any) -> Dnn:
    """The handle of the current device."""
    index = cupy.cuda.runtime.getDevice()
    found = _handles.get(index)
    if found is None:
        found = _handles[index] = Dnn(cupy)
    return found
