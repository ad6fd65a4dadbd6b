"""The Mersenne Twister behind PyTorch's CPU generator: its seeds, its 5056-byte state, its words and plain numbers.

NumPy's ``MT19937`` makes the same 32-bit words from the same seed; what is added here is how PyTorch seeds it, lays
its state out in bytes, and makes uniform and normal numbers of the words.
"""

from __future__ import annotations

import ctypes
import math
import operator
import os
import struct
import threading
from typing import Any

import numpy as np

from .devices import CPU, as_device, device
from .errors import ArgumentError, DeviceError, OperationError, ValueRangeError
from .process_safety import free_after_fork

Array = np.ndarray[Any, np.dtype[Any]]

DEFAULT_SEED = 67280421310721
STATE_SIZE = 5056
_WORDS = 624  # the size of a Mersenne Twister
_STATE_BYTES = 4 * (_WORDS + 1)  # of NumPy's: the words, and which of them is next
_HEADER = struct.Struct("<QiiQ")  # seed, how many draws until the twister turns, whether it is seeded, next word
_NORMAL = struct.Struct("<dddi")  # unused, the pending normal number, unused, whether one is pending
_NORMAL_AT = _HEADER.size + 8 * _WORDS
_MASK_24, _MASK_53 = np.uint64(2**24 - 1), np.uint64(2**53 - 1)
_HALF_WORD = np.uint64(32)


class MersenneTwister:
    """Words and plain uniform and normal numbers, in PyTorch's order."""

    __slots__ = ("__weakref__", "_initial_seed", "_pending_normal", "_twister", "_untouched", "lock")

    _twister: Any

    def __init__(self, device: Any = "cpu") -> None:
        kind = CPU if device is None else as_device(device)
        if kind.type != "cpu":
            raise DeviceError(f"Generator: there is no random stream for device type '{kind.type}', only for 'cpu'")
        self.lock = free_after_fork(threading.RLock())
        self.manual_seed(DEFAULT_SEED)

    @property
    def _bits(self) -> Any:
        """NumPy's twister in the state of this stream; made when the first number is drawn (``numpy.random`` loads slowly)."""
        if self._twister is None:
            self._twister = np.random.MT19937(0)
            # Only the low 32 bits reach the twister; RandomState's seeding of one integer is the classic one.
            seeded: Any = np.random.RandomState(self._initial_seed % 2**32).get_state(legacy=False)
            self._turn_to(seeded["state"]["key"], _WORDS)
        return self._twister

    @property
    def device(self) -> device:
        """Where the generator makes its numbers."""
        return CPU

    def manual_seed(self, seed: int) -> Any:
        """Start the stream that belongs to this seed; a negative seed counts back from ``2**64``."""
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise OperationError(f"manual_seed expected a long, but got {type(seed).__name__}")
        seed = operator.index(seed)
        if not -(2**63) <= seed < 2**64:
            raise ValueRangeError(f"Overflow when unpacking long long: the seed {seed} has more than 64 bits")
        with self.lock:
            self._initial_seed = seed % 2**64
            self._twister = None
            self._untouched = True
            self._pending_normal: float | None = None
        return self

    def seed(self) -> int:
        """Seed from the operating system's source of chance and return the seed."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))
        return self._initial_seed

    def initial_seed(self) -> int:
        """The seed that the stream began with."""
        return self._initial_seed

    def get_state(self) -> Array:
        """The state as PyTorch's 5056 bytes (uint8)."""
        return np.frombuffer(self._to_bytes(), np.uint8).copy()

    def set_state(self, state: Array) -> None:
        """Continue from a state that :meth:`get_state`, or PyTorch's, returned."""
        if not isinstance(state, np.ndarray) or state.dtype != np.uint8:
            raise ArgumentError("RNG state must be an array of bytes (uint8)")
        self._from_bytes(state.tobytes())

    def mark(self) -> tuple[Any, ...]:
        """Where the stream stands, in a form for :meth:`back` alone: at once, and without a twister where there is none yet."""
        with self.lock:
            words = None if self._twister is None else ctypes.string_at(self._twister.ctypes.state_address, _STATE_BYTES)
            return self._initial_seed, self._untouched, self._pending_normal, words

    def back(self, mark: tuple[Any, ...]) -> None:
        """Continue from a mark."""
        with self.lock:
            self._initial_seed, self._untouched, self._pending_normal, words = mark
            if words is None:
                self._twister = None
            else:
                ctypes.memmove(self._bits.ctypes.state_address, words, _STATE_BYTES)

    def clone_state(self) -> Any:
        """A second generator that continues where this one stands."""
        twin = type(self)()
        twin._from_bytes(self._to_bytes())
        return twin

    def get_offset(self) -> int:
        """Raise: a Mersenne Twister has no offset."""
        raise OperationError("CPU Generator does not use offset")

    def set_offset(self, offset: int) -> None:
        """Raise: a Mersenne Twister has no offset."""
        raise OperationError("CPU Generator does not use offset")

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (), self._to_bytes())

    def __setstate__(self, state: bytes) -> None:
        self._from_bytes(state)

    def _to_bytes(self) -> bytes:
        with self.lock:
            inner: Any = self._bits.state["state"]
            # A twister just seeded turns at the next draw, and so does one that is used up: `next` tells them apart.
            following = 0 if self._untouched else int(inner["pos"])
            header = _HEADER.pack(self._initial_seed, _WORDS + 1 - int(inner["pos"]), 1, following)
            pending = self._pending_normal
            normal = _NORMAL.pack(0.0, 0.0 if pending is None else pending, 0.0, pending is not None)
            return (header + inner["key"].astype("<u8").tobytes() + normal).ljust(STATE_SIZE, b"\0")

    def _from_bytes(self, state: bytes) -> None:
        if len(state) != STATE_SIZE:
            raise OperationError(
                f"Expected a CPUGeneratorImplState of size {STATE_SIZE} but found the input RNG state size to be {len(state)}"
            )
        seed, draws_left, seeded, following = _HEADER.unpack_from(state)
        untouched = (draws_left, following) == (1, 0)
        if not seeded or not (untouched or (draws_left == _WORDS + 1 - following and 1 <= following <= _WORDS)):
            raise OperationError("Invalid mt19937 state")
        key = np.frombuffer(state, "<u8", _WORDS, _HEADER.size).astype(np.uint32)
        _, pending, _, is_pending = _NORMAL.unpack_from(state, _NORMAL_AT)
        with self.lock:
            self._initial_seed = seed
            self._turn_to(key, _WORDS if untouched else following)
            self._untouched = untouched
            self._pending_normal = pending if is_pending else None

    def _turn_to(self, key: Array, position: int) -> None:
        self._bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": position}}

    def words(self, count: int) -> Array:
        """The next 32-bit words, each in a uint64."""
        with self.lock:
            if count:
                self._untouched = False
            return self._bits.random_raw(count)

    def double_words(self, count: int) -> Array:
        """The next 64-bit words, each made of two 32-bit ones, the high half first."""
        words = self.words(2 * count)
        return (words[0::2] << _HALF_WORD) | words[1::2]

    def units(self, count: int, dtype: np.dtype[Any] | type = np.float64) -> Array:
        """Uniform numbers in [0, 1): float64 has 53 random bits of two words, float32 has 24 bits of one."""
        if dtype == np.float64:
            return (self.double_words(count) & _MASK_53).astype(np.float64) * 2.0**-53
        return (self.words(count) & _MASK_24).astype(np.float32) * np.float32(2.0**-24)

    def normals(self, count: int) -> Array:
        """Standard normal numbers in float64; they come in pairs, and an odd one waits for the next call."""
        with self.lock:
            pending = [] if self._pending_normal is None or not count else [self._pending_normal]
            fresh = count - len(pending)
            units = self.units(fresh + fresh % 2)
            radius = np.sqrt(-2.0 * np.log1p(-units[1::2]))
            angle = 2.0 * np.pi * units[0::2]
            numbers = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(-1)
            if count:
                self._pending_normal = float(numbers[-1]) if fresh % 2 else None
            return np.concatenate([np.array(pending, np.float64), numbers[:fresh]])


class UniformStream:
    """Uniform float64 numbers one at a time, for samplers that can't say beforehand how many they need.

    It reads ahead in blocks, and gives back what was not used when the ``with`` block ends.
    """

    __slots__ = ("_before", "_block", "_source", "_used")

    def __init__(self, source: MersenneTwister) -> None:
        self._source = source
        self._block: list[float] = []
        self._used = 0

    def __enter__(self) -> UniformStream:
        self._source.lock.acquire()
        return self

    def __exit__(self, *exception: Any) -> None:
        try:
            if self._used < len(self._block):
                self._source._bits.state = self._before
                self._source._bits.random_raw(2 * self._used, output=False)
        finally:
            self._source.lock.release()

    def uniform(self) -> float:
        """The next number in [0, 1)."""
        if self._used == len(self._block):
            self._before: Any = self._source._bits.state
            self._block = self._source.units(min(4096, max(32, 2 * self._used))).tolist()
            self._used = 0
        self._used += 1
        return self._block[self._used - 1]

    def normal(self) -> float:
        """The next standard normal number, which may be the one that waits in the generator."""
        source = self._source
        if source._pending_normal is not None:
            number, source._pending_normal = source._pending_normal, None
            return number
        angle = 2.0 * math.pi * self.uniform()
        radius = math.sqrt(-2.0 * math.log1p(-self.uniform()))
        source._pending_normal = radius * math.sin(angle)
        return radius * math.cos(angle)
