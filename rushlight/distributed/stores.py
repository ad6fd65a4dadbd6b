"""Key-value stores shared by processes: in memory, in a file, and parts of others."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
import weakref
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

fcntl: Any
try:
    import fcntl  # type: ignore[no-redef]
except ImportError:  # Windows
    fcntl = None


def _bytes(value: Any) -> bytes:
    return bytes(value) if isinstance(value, (bytes, bytearray)) else str(value).encode(errors="surrogateescape")


def _text(value: Any) -> str:
    return value.decode(errors="surrogateescape") if isinstance(value, (bytes, bytearray)) else str(value)


class Store:
    """A key-value store; classes of programs define its methods. ``append``, ``multi_get`` and ``multi_set`` need no definition."""

    def __init__(self) -> None:
        self._timeout = timedelta(seconds=300)

    @property
    def timeout(self) -> timedelta:
        """How long ``get`` and ``wait`` wait."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Set how long they wait."""
        self._timeout = timeout

    def set(self, key: str, value: Any) -> None:
        """Set a value."""
        raise _undefined(self, "set")

    def get(self, key: str) -> bytes:
        """A value, waited for."""
        raise _undefined(self, "get")

    def add(self, key: str, amount: int) -> int:
        """Add to a number, which starts at 0; the sum."""
        raise _undefined(self, "add")

    def compare_set(self, key: str, expected_value: Any, desired_value: Any) -> bytes:
        """Set a value if it is what is expected; the value afterwards."""
        raise _undefined(self, "compare_set")

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys are there."""
        raise _undefined(self, "wait")

    def check(self, keys: list[str]) -> bool:
        """Whether all keys are there."""
        raise _undefined(self, "check")

    def delete_key(self, key: str) -> bool:
        """Remove a key; whether it was there."""
        raise _undefined(self, "delete_key")

    def num_keys(self) -> int:
        """How many there are."""
        raise _undefined(self, "num_keys")

    def list_keys(self) -> list[str]:
        """All keys."""
        raise _undefined(self, "list_keys")

    def queue_push(self, key: str, value: Any) -> None:
        """Put a value at the end of a queue."""
        raise NotImplementedError("queue support is not implemented.")

    def take_queued(self, key: str) -> bytes | None:
        """The first value of a queue, which is removed; None where there is none."""
        raise NotImplementedError("queue support is not implemented.")

    def queue_len(self, key: str) -> int:
        """How many values a queue has."""
        raise NotImplementedError("queue support is not implemented.")

    def append(self, key: str, value: Any) -> None:
        """Put text behind a value."""
        more, before = _bytes(value), b""
        while (found := self.compare_set(key, before, before + more)) != before + more:
            before = found

    def multi_get(self, keys: list[str]) -> list[bytes]:
        """Several values."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: list[str], values: list[Any]) -> None:
        """Set several values."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def has_extended_api(self) -> bool:
        """Whether append, multi_get and multi_set are each one step, which no other process interrupts."""
        return False

    def clone(self) -> Store:
        """The same store, for another thread: any thread may use any."""
        return self

    def barrier(self, key: str, world_size: int, timeout: timedelta | None = None) -> None:
        """Wait until as many processes have called it with this key."""
        if self.add(f"{key}/num_members", 1) == world_size:
            self.set(f"{key}/last_member", b"1")
        limit = timeout or self.timeout
        try:
            self.wait([f"{key}/last_member"], limit)
        except DistStoreError as error:
            came = self.add(f"{key}/num_members", 0)
            raise DistStoreError(
                f"barrier timeout after {limit.total_seconds() * 1000:.0f}ms, key: {key}: {came} of {world_size} processes have come"
            ) from error

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """The first value of a queue, waited for (``block``)."""
        end = time.monotonic() + self.timeout.total_seconds()
        while (found := self.take_queued(key)) is None:
            if not block:
                raise QueueEmptyError(f"queue is empty: {key}")
            self.wait([key], timedelta(seconds=max(0.001, end - time.monotonic())))
        return found


def _undefined(store: Store, method: str) -> RuntimeError:
    return RuntimeError(f"Not implemented. {type(store).__name__} has no method {method}")


class LocalStore(Store):
    """A store in the memory of this process."""

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[str, str] = {}
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def _changing(self) -> Iterator[dict[str, str]]:
        """The values, locked for writing."""
        with self._changed:
            yield self._values
            self._changed.notify_all()

    def _current(self) -> dict[str, str]:
        """The values, to be read."""
        return self._values

    def set(self, key: str, value: Any) -> None:
        """Set a value."""
        with self._changing() as values:
            values[key] = _text(value)

    def get(self, key: str) -> bytes:
        """A value, waited for."""
        self.wait([key])
        return self._current()[key].encode(errors="surrogateescape")

    def add(self, key: str, amount: int) -> int:
        """Add to a number, which starts at 0; the sum."""
        with self._changing() as values:
            found = int(values.get(key, "0")) + amount
            values[key] = str(found)
            return found

    def append(self, key: str, value: Any) -> None:
        """Put text behind a value."""
        with self._changing() as values:
            values[key] = values.get(key, "") + _text(value)

    def compare_set(self, key: str, expected_value: Any, desired_value: Any) -> bytes:
        """Set a value if it is what is expected; the value afterwards."""
        expected = _text(expected_value)
        with self._changing() as values:
            if values.get(key, "" if expected == "" else None) == expected:
                values[key] = _text(desired_value)
            return values.get(key, expected).encode(errors="surrogateescape")

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys are there."""
        seconds = (timeout or self._timeout).total_seconds()
        with self._changed:
            if not self._changed.wait_for(lambda: all(key in self._values for key in keys), seconds):
                raise _waited(keys, seconds)

    def check(self, keys: list[str]) -> bool:
        """Whether all keys are there."""
        found = self._current()
        return all(key in found for key in keys)

    def delete_key(self, key: str) -> bool:
        """Remove a key; whether it was there."""
        with self._changing() as values:
            return values.pop(key, None) is not None

    def num_keys(self) -> int:
        """How many there are."""
        return len(self._current())

    def has_extended_api(self) -> bool:
        """True."""
        return True

    def list_keys(self) -> list[str]:
        """All keys."""
        return list(self._current())

    # -- queues: lists of values under a key, which is there while the queue is not empty ------------------------------

    def queue_push(self, key: str, value: Any) -> None:
        """Put a value at the end of a queue."""
        with self._changing() as values:
            values[key] = _QUEUE + json.dumps([*_queued(values, key), _text(value)])

    def take_queued(self, key: str) -> bytes | None:
        """The first value of a queue, which is removed; None where there is none."""
        with self._changing() as values:
            found = _queued(values, key)
            if not found:
                return None
            if len(found) == 1:
                del values[key]
            else:
                values[key] = _QUEUE + json.dumps(found[1:])
            return found[0].encode(errors="surrogateescape")

    def queue_len(self, key: str) -> int:
        """How many values a queue has."""
        return len(_queued(self._current(), key))


_QUEUE = "\0queue "


def _queued(values: dict[str, str], key: str) -> list[str]:
    """The values of a queue."""
    found = values.get(key)
    if found is None:
        return []
    if not found.startswith(_QUEUE):
        raise DistStoreError(f"the key {key} holds a value, and no queue")
    made: list[str] = json.loads(found[len(_QUEUE) :])
    return made


def _waited(keys: list[str], seconds: float) -> DistStoreError:
    return DistStoreError(f"wait timeout after {seconds * 1000:.0f}ms, keys: {', '.join('/' + key for key in keys)}")


class HashStore(LocalStore):
    """A store in the memory of this process."""


class FileStore(LocalStore):
    """A store in a file, which several processes share: each change is made under the file's lock.

    The file is removed when the last of ``world_size`` stores has ended.
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self.path = str(file_name)
        with open(self.path, "a", encoding="utf-8"):
            pass  # creates the file
        with self._changing() as values:
            values[_USERS] = str(int(values.get(_USERS, "0")) + 1)
        weakref.finalize(self, _leave_file, self.path, world_size, os.getpid())

    def num_keys(self) -> int:
        """How many there are, one of which counts the processes."""
        return len(self.list_keys()) + 1

    def list_keys(self) -> list[str]:
        """All keys."""
        return [each for each in self._current() if each not in (_USERS, _ENDED)]

    @contextlib.contextmanager
    def _changing(self) -> Iterator[dict[str, str]]:
        with self._changed, _changing_file(self.path) as self._values:
            yield self._values

    def _current(self) -> dict[str, str]:
        with open(self.path, "r+", encoding="utf-8") as file, _locked(file):
            text = file.read()
        return json.loads(text) if text else {}

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys are there."""
        seconds = (timeout or self._timeout).total_seconds()
        end = time.monotonic() + seconds
        while not self.check(keys):
            if time.monotonic() > end:
                raise _waited(keys, seconds)
            time.sleep(0.01)


_USERS, _ENDED = "\0users", "\0ended"  # keys of a file that count the stores


@contextlib.contextmanager
def _changing_file(path: str) -> Iterator[dict[str, str]]:
    with open(path, "r+", encoding="utf-8") as file, _locked(file):
        text = file.read()
        values: dict[str, str] = json.loads(text) if text else {}
        yield values
        file.seek(0)
        file.truncate()
        json.dump(values, file)
        file.flush()


def _leave_file(path: str, world_size: int, process: int) -> None:
    """Note in its file that a store has ended; the last one removes it."""
    if os.getpid() != process:  # a copy in a child that was forked
        return
    with contextlib.suppress(FileNotFoundError), _changing_file(path) as values:
        values[_USERS] = str(int(values.get(_USERS, "0")) - 1)
        values[_ENDED] = str(int(values.get(_ENDED, "0")) + 1)
        if values[_USERS] == "0" and int(values[_ENDED]) >= world_size >= 0:
            os.unlink(path)


@contextlib.contextmanager
def _locked(file: Any) -> Iterator[None]:
    """Hold a file's lock, where the system has such."""
    if fcntl is None:
        yield
        return
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


class PrefixStore(Store):
    """A part of another store: its keys begin with a prefix."""

    def __init__(self, prefix: str, store: Store) -> None:
        if not isinstance(store, Store):
            raise ValueError(f"PrefixStore: store must be a Store, and is {type(store).__name__}")
        self.prefix, self.underlying_store = prefix, store

    @property
    def _underlying_non_prefix_store(self) -> Store:
        found = self.underlying_store
        return found._underlying_non_prefix_store if isinstance(found, PrefixStore) else found

    def _key(self, key: str) -> str:
        return f"{self.prefix}/{key}"

    @property
    def timeout(self) -> timedelta:
        """That of the store below."""
        return self.underlying_store.timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Set that of the store below."""
        self.underlying_store.set_timeout(timeout)

    def set(self, key: str, value: Any) -> None:
        """Set a value."""
        self.underlying_store.set(self._key(key), _bytes(value))

    def get(self, key: str) -> bytes:
        """A value, waited for."""
        return self.underlying_store.get(self._key(key))

    def add(self, key: str, amount: int) -> int:
        """Add to a number."""
        return self.underlying_store.add(self._key(key), amount)

    def append(self, key: str, value: Any) -> None:
        """Put text behind a value."""
        self.underlying_store.append(self._key(key), _bytes(value))

    def compare_set(self, key: str, expected_value: Any, desired_value: Any) -> bytes:
        """Set a value if it is what is expected."""
        return self.underlying_store.compare_set(self._key(key), _bytes(expected_value), _bytes(desired_value))

    def multi_get(self, keys: list[str]) -> list[bytes]:
        """Several values."""
        return self.underlying_store.multi_get([self._key(key) for key in keys])

    def multi_set(self, keys: list[str], values: list[Any]) -> None:
        """Set several values."""
        self.underlying_store.multi_set([self._key(key) for key in keys], [_bytes(each) for each in values])

    def has_extended_api(self) -> bool:
        """Whether the store below has it."""
        return self.underlying_store.has_extended_api()

    def clone(self) -> Store:
        """The same part of a copy of the store below."""
        return PrefixStore(self.prefix, self.underlying_store.clone())

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys are there."""
        self.underlying_store.wait([self._key(key) for key in keys], timeout)

    def check(self, keys: list[str]) -> bool:
        """Whether all keys are there."""
        return self.underlying_store.check([self._key(key) for key in keys])

    def delete_key(self, key: str) -> bool:
        """Remove a key."""
        return self.underlying_store.delete_key(self._key(key))

    def num_keys(self) -> int:
        """How many the store below has."""
        return self.underlying_store.num_keys()

    def list_keys(self) -> list[str]:
        """The keys of this part, without the prefix."""
        start = self._key("")
        return [each[len(start) :] for each in self.underlying_store.list_keys() if each.startswith(start)]

    def queue_push(self, key: str, value: Any) -> None:
        """Put a value at the end of a queue."""
        self.underlying_store.queue_push(self._key(key), value)

    def take_queued(self, key: str) -> bytes | None:
        """The first value of a queue, which is removed; None where there is none."""
        return self.underlying_store.take_queued(self._key(key))

    def queue_len(self, key: str) -> int:
        """How many values a queue has."""
        return self.underlying_store.queue_len(self._key(key))


class DistError(RuntimeError):
    """Something went wrong between processes."""


class DistBackendError(DistError):
    """A back-end failed."""

    is_final = True  # a compiled program does not run again in eager mode after it: the other processes have gone on, or ended


class DistNetworkError(DistError):
    """The network failed."""


class DistStoreError(DistError):
    """A store failed."""


class QueueEmptyError(DistStoreError):
    """A queue of a store is empty."""
