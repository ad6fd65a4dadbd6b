"""Key-value stores shared by processes: in memory, in a file, or served by one of them."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from multiprocessing import AuthenticationError
from multiprocessing.managers import BaseManager
from typing import Any

from ..core.errors import NotSupported

fcntl: Any
try:
    import fcntl  # type: ignore[no-redef]
except ImportError:  # Windows
    fcntl = None


def _text(value: Any) -> str:
    return value.decode(errors="surrogateescape") if isinstance(value, (bytes, bytearray)) else str(value)


class Store:
    """A key-value store; waiting for a key ends at the timeout."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self._changed = threading.Condition()
        self._timeout = timedelta(seconds=300)

    @property
    def timeout(self) -> timedelta:
        """How long ``get`` and ``wait`` wait."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Set how long they wait."""
        self._timeout = timeout

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

    def multi_get(self, keys: list[str]) -> list[bytes]:
        """Several values."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: list[str], values: list[Any]) -> None:
        """Set several values."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def has_extended_api(self) -> bool:
        """True: append, multi_get and multi_set are there."""
        return True

    def list_keys(self) -> list[str]:
        """All keys."""
        return list(self._current())

    def clone(self) -> Store:
        """The same store, for another thread: any thread may use any."""
        return self

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

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """The first value of a queue, waited for (``block``)."""
        end = time.monotonic() + self.timeout.total_seconds()
        while (found := self.take_queued(key)) is None:
            if not block:
                raise QueueEmptyError(f"queue is empty: {key}")
            self.wait([key], timedelta(seconds=max(0.001, end - time.monotonic())))
        return found


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
    return DistStoreError(f"wait timeout after {seconds * 1000:.0f}ms, keys: {', '.join(keys)}")


class HashStore(Store):
    """A store in the memory of this process."""


class FileStore(Store):
    """A store in a file, which several processes share: each change is made under the file's lock."""

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self.path = str(file_name)
        with open(self.path, "a", encoding="utf-8"):
            pass  # creates the file

    @contextlib.contextmanager
    def _changing(self) -> Iterator[dict[str, str]]:
        with self._changed, open(self.path, "r+", encoding="utf-8") as file, _locked(file):
            text = file.read()
            self._values = json.loads(text) if text else {}
            yield self._values
            file.seek(0)
            file.truncate()
            json.dump(self._values, file)
            file.flush()

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


def _manager() -> Any:
    """A class of the standard library's way to reach an object of another process: what is registered with one belongs to it alone."""
    return type("_Shared", (BaseManager,), {})


class TCPStore(Store):
    """A store that one process keeps, and others reach by the standard library's ``multiprocessing.managers``.

    Whoever reaches it must know its key: it is in a file that only this user can read, or in the variable RUSHLIGHT_STORE_KEY where the store is
    on another machine.
    """

    def __init__(
        self, host_name: str, port: int, world_size: int | None = None, is_master: bool = False,
        timeout: timedelta = timedelta(seconds=300), wait_for_workers: bool = True, multi_tenant: bool = False,
        master_listen_fd: int | None = None, use_libuv: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.host, self.port, self._timeout = host_name, port, timeout
        self.libuvBackend = use_libuv  # what was asked for: the server is Python's own
        self._kept: Any = None
        if is_master:
            self._kept = HashStore()
            self._serve()
        else:
            self._kept = self._reach()
        if world_size and world_size > 1 and wait_for_workers:
            self._kept.add("workers", 1)
            self._all_there(world_size)

    def _serve(self) -> None:
        key = _store_key(self.host, None)
        kept, shared = self._kept, _manager()
        shared.register("store", callable=lambda: kept, exposed=_EXPOSED)
        try:
            server = shared((self.host, self.port), key).get_server()
        except OSError as error:
            raise DistNetworkError(
                f"The server socket has failed to listen on any local network address. port: {self.port}, "
                f"code: {-(error.errno or 0)}, message: {error.strerror}"
            ) from error
        address: Any = server.address
        self.port = int(address[1])
        _write_key(self.port, key)
        threading.Thread(target=server.serve_forever, daemon=True, name="rushlight-store").start()

    def _reach(self) -> Any:
        end = time.monotonic() + self._timeout.total_seconds()
        while True:
            try:
                shared = _manager()
                shared.register("store")
                manager = shared((self.host, self.port), _store_key(self.host, self.port))
                manager.connect()
                return manager.store()  # type: ignore[attr-defined]
            except (OSError, AuthenticationError) as error:
                if time.monotonic() > end:
                    raise DistNetworkError(
                        f"The client socket has timed out after {self._timeout.total_seconds() * 1000:.0f}ms while trying to connect to "
                        f"({self.host}, {self.port}): {error}"
                    ) from error
                time.sleep(0.05)

    def _all_there(self, count: int) -> None:
        end = time.monotonic() + self._timeout.total_seconds()
        while self._kept.add("workers", 0) < count:
            if time.monotonic() > end:
                raise DistStoreError(
                    f"Timed out after {self._timeout.total_seconds():.0f} seconds waiting for clients. {self._kept.add('workers', 0)}/{count} clients joined."
                )
            time.sleep(0.01)

    def set(self, key: str, value: Any) -> None:
        """Set a value."""
        self._kept.set(key, _text(value))

    def get(self, key: str) -> bytes:
        """A value, waited for."""
        self.wait([key])
        return self._kept.get(key)  # type: ignore[no-any-return]

    def add(self, key: str, amount: int) -> int:
        """Add to a number, which starts at 0; the sum."""
        return self._kept.add(key, amount)  # type: ignore[no-any-return]

    def append(self, key: str, value: Any) -> None:
        """Put text behind a value."""
        self._kept.append(key, _text(value))

    def compare_set(self, key: str, expected_value: Any, desired_value: Any) -> bytes:
        """Set a value if it is what is expected; the value afterwards."""
        return self._kept.compare_set(key, expected_value, desired_value)  # type: ignore[no-any-return]

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys are there."""
        self._kept.wait(keys, timeout or self._timeout)

    def check(self, keys: list[str]) -> bool:
        """Whether all keys are there."""
        return bool(self._kept.check(keys))

    def delete_key(self, key: str) -> bool:
        """Remove a key; whether it was there."""
        return bool(self._kept.delete_key(key))

    def num_keys(self) -> int:
        """How many there are."""
        return int(self._kept.num_keys())

    def list_keys(self) -> list[str]:
        """All keys."""
        return list(self._kept.list_keys())

    def queue_push(self, key: str, value: Any) -> None:
        """Put a value at the end of a queue."""
        self._kept.queue_push(key, _text(value))

    def take_queued(self, key: str) -> bytes | None:
        """The first value of a queue, which is removed; None where there is none."""
        return self._kept.take_queued(key)  # type: ignore[no-any-return]

    def queue_len(self, key: str) -> int:
        """How many values a queue has."""
        return int(self._kept.queue_len(key))


_EXPOSED = (
    "set", "get", "add", "append", "compare_set", "wait", "check", "delete_key", "num_keys", "list_keys", "queue_push", "take_queued", "queue_len",
)  # fmt: skip


def _key_file(port: int) -> str:
    folder = os.path.join(tempfile.gettempdir(), f"rushlight-stores-{os.getuid() if hasattr(os, 'getuid') else 0}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if hasattr(os, "getuid") and os.stat(folder).st_uid != os.getuid():
        raise DistStoreError(f"the folder {folder} belongs to another user")
    return os.path.join(folder, str(port))


def _write_key(port: int, key: bytes) -> None:
    """Write the key of a store to a file that only this user can read."""
    path = _key_file(port)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(key)


def _store_key(host: str, port: int | None) -> bytes:
    """The key of a store: a new one (no port), or the one of a store that is there."""
    if "RUSHLIGHT_STORE_KEY" in os.environ:
        return os.environ["RUSHLIGHT_STORE_KEY"].encode()
    if host not in ("localhost", "127.0.0.1", "::1", socket.gethostname()):
        raise NotSupported(f"a TCPStore on {host}, which is another machine, needs a key that all processes know: set RUSHLIGHT_STORE_KEY")
    if port is None:
        return secrets.token_bytes(32)
    with open(_key_file(port), "rb") as file:
        return file.read()


class PrefixStore(Store):
    """A part of another store: its keys begin with a prefix."""

    def __init__(self, prefix: str, store: Store) -> None:
        self.prefix, self.underlying_store = prefix, store

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
        self.underlying_store.set(self._key(key), value)

    def get(self, key: str) -> bytes:
        """A value, waited for."""
        return self.underlying_store.get(self._key(key))

    def add(self, key: str, amount: int) -> int:
        """Add to a number."""
        return self.underlying_store.add(self._key(key), amount)

    def append(self, key: str, value: Any) -> None:
        """Put text behind a value."""
        self.underlying_store.append(self._key(key), value)

    def compare_set(self, key: str, expected_value: Any, desired_value: Any) -> bytes:
        """Set a value if it is what is expected."""
        return self.underlying_store.compare_set(self._key(key), expected_value, desired_value)

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
