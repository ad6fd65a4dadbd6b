"""Stores: keys and values that the processes of a group share.

With one process a dictionary does; ``FileStore`` keeps them in a file, so that they outlive it.
"""

from __future__ import annotations

import json
import os
import threading
from datetime import timedelta
from typing import Any

from ..core.errors import NotSupported


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


class Store:
    """Keys and values; waiting for a key that nobody else could set ends at the time limit."""

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

    def set(self, key: str, value: Any) -> None:
        """Set a value."""
        with self._changed:
            self._values[key] = _text(value)
            self._written()

    def get(self, key: str) -> bytes:
        """A value, waited for."""
        self.wait([key])
        return self._values[key].encode()

    def add(self, key: str, amount: int) -> int:
        """Add to a number, which starts at 0; the sum."""
        with self._changed:
            found = int(self._values.get(key, "0")) + amount
            self._values[key] = str(found)
            self._written()
            return found

    def append(self, key: str, value: Any) -> None:
        """Put text behind a value."""
        with self._changed:
            self._values[key] = self._values.get(key, "") + _text(value)
            self._written()

    def compare_set(self, key: str, expected_value: Any, desired_value: Any) -> bytes:
        """Set a value if it is what is expected; the value afterwards."""
        with self._changed:
            if self._values.get(key, _text(expected_value) if expected_value == "" else None) == _text(expected_value):
                self._values[key] = _text(desired_value)
                self._written()
            return self._values.get(key, _text(expected_value)).encode()

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys are there."""
        with self._changed:
            if not self._changed.wait_for(lambda: all(key in self._values for key in keys), (timeout or self._timeout).total_seconds()):
                raise DistStoreError(
                    f"wait timeout after {(timeout or self._timeout).total_seconds() * 1000:.0f}ms, keys: {', '.join(keys)}"
                )

    def check(self, keys: list[str]) -> bool:
        """Whether all keys are there."""
        return all(key in self._values for key in keys)

    def delete_key(self, key: str) -> bool:
        """Remove a key; whether it was there."""
        with self._changed:
            found = self._values.pop(key, None) is not None
            self._written()
            return found

    def num_keys(self) -> int:
        """How many there are."""
        return len(self._values)

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

    def _written(self) -> None:
        """What was waited for may be there."""
        self._changed.notify_all()


class HashStore(Store):
    """A store in the memory of this process."""


class FileStore(Store):
    """A store in a file."""

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        if world_size > 1:
            raise NotSupported(f"FileStore for {world_size} processes: groups have one process here")
        self.path = str(file_name)
        if os.path.exists(self.path) and os.path.getsize(self.path):
            with open(self.path, encoding="utf-8") as file:
                self._values = json.load(file)

    def _written(self) -> None:
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump(self._values, file)
        super()._written()


class TCPStore(Store):
    """A store that other processes would reach over the network; with one process, in memory."""

    def __init__(
        self, host_name: str, port: int, world_size: int | None = None, is_master: bool = False,
        timeout: timedelta = timedelta(seconds=300), wait_for_workers: bool = True, multi_tenant: bool = False,
        master_listen_fd: int | None = None, use_libuv: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        if (world_size or 1) > 1 or not is_master:
            raise NotSupported("TCPStore between several processes: groups have one process here (is_master=True, world_size=1)")
        self.host, self.port = host_name, port
        self._timeout = timeout


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


class DistError(RuntimeError):
    """Something went wrong between processes."""


class DistBackendError(DistError):
    """A back-end failed."""


class DistNetworkError(DistError):
    """The network failed."""


class DistStoreError(DistError):
    """A store failed."""


class QueueEmptyError(DistStoreError):
    """A queue of a store is empty."""
