"""Messages between the watches of processes, and a store of keys and values that is served by the first process's watch."""

from __future__ import annotations

import itertools
import pickle
import threading
import time
from datetime import timedelta
from typing import Any

from .stores import DistStoreError, HashStore, Store


class Mailbox:
    """Asynchronous messages of any picklable content on a communicator of their own."""

    def __init__(self, mpi: Any, communicator: Any) -> None:
        self.mpi, self.communicator = mpi, communicator
        self.rank = communicator.Get_rank()
        self._sending: list[Any] = []
        self._lock = threading.Lock()

    def send(self, rank: int, message: Any) -> None:
        """Send a message."""
        data = pickle.dumps(message)
        request = self.communicator.Isend([data, self.mpi.BYTE], rank, 0)
        with self._lock:
            self._sending = [each for each in self._sending if not each.Test()]
            self._sending.append(request)

    def read(self) -> list[tuple[int, Any]]:
        """The messages received, each with its sender."""
        found: list[tuple[int, Any]] = []
        status = self.mpi.Status()
        while True:
            message = self.communicator.Improbe(self.mpi.ANY_SOURCE, self.mpi.ANY_TAG, status)
            if message is None:
                return found
            data = bytearray(status.Get_count(self.mpi.BYTE))
            message.Recv([data, self.mpi.BYTE])
            found.append((status.Get_source(), pickle.loads(data)))


class MpiStore(Store):
    """A store that the first process keeps, and the others ask by messages."""

    def __init__(self, mailbox: Mailbox) -> None:
        super().__init__()
        self._mailbox = mailbox
        self._kept = HashStore()
        self._numbers = itertools.count()
        self._replies: dict[int, Any] = {}
        self._reply = threading.Condition()
        self._waiting: list[tuple[int, int, list[str], float]] = []

    def _ask(self, method: str, *arguments: Any, seconds: float = 0.0) -> Any:
        if self._mailbox.rank == 0:
            return getattr(self._kept, method)(*arguments)
        number = next(self._numbers)
        self._mailbox.send(0, ("store", (number, method, arguments, seconds)))
        limit = max(seconds, self._timeout.total_seconds()) + 5
        with self._reply:
            if not self._reply.wait_for(lambda: number in self._replies, limit):
                raise DistStoreError(f"the store of rank 0 has not answered within {limit:g} seconds")
            kind, value = self._replies.pop(number)
        if kind == "error":
            raise DistStoreError(value)
        return value

    def serve(self, source: int, content: Any) -> None:
        """Answer another process (in the first one)."""
        number, method, arguments, seconds = content
        if method == "wait":
            self._waiting.append((source, number, arguments[0], time.monotonic() + seconds))
            self.retry()
            return
        self._mailbox.send(source, ("stored", (number, "value", getattr(self._kept, method)(*arguments))))

    def retry(self) -> None:
        """Answer those who wait for keys that have come."""
        left = []
        for source, number, keys, end in self._waiting:
            if self._kept.check(keys):
                self._mailbox.send(source, ("stored", (number, "value", None)))
            elif time.monotonic() > end:
                self._mailbox.send(source, ("stored", (number, "error", f"wait timeout, keys: {', '.join(keys)}")))
            else:
                left.append((source, number, keys, end))
        self._waiting = left

    def arrived(self, content: Any) -> None:
        """An answer of the first process has come."""
        number, kind, value = content
        with self._reply:
            self._replies[number] = (kind, value)
            self._reply.notify_all()

    def set(self, key: str, value: Any) -> None:
        """Set a value."""
        self._ask("set", key, value)

    def get(self, key: str) -> bytes:
        """A value, waited for."""
        self.wait([key])
        return self._ask("get", key)  # type: ignore[no-any-return]

    def add(self, key: str, amount: int) -> int:
        """Add to a number, which starts at 0; the sum."""
        return self._ask("add", key, amount)  # type: ignore[no-any-return]

    def append(self, key: str, value: Any) -> None:
        """Put text behind a value."""
        self._ask("append", key, value)

    def compare_set(self, key: str, expected_value: Any, desired_value: Any) -> bytes:
        """Set a value if it is what is expected; the value afterwards."""
        return self._ask("compare_set", key, expected_value, desired_value)  # type: ignore[no-any-return]

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys are there."""
        seconds = (timeout or self._timeout).total_seconds()
        if self._mailbox.rank == 0:
            self._kept.wait(keys, timeout or self._timeout)
        else:
            self._ask("wait", keys, seconds=seconds)

    def check(self, keys: list[str]) -> bool:
        """Whether all keys are there."""
        return bool(self._ask("check", keys))

    def delete_key(self, key: str) -> bool:
        """Remove a key; whether it was there."""
        return bool(self._ask("delete_key", key))

    def num_keys(self) -> int:
        """How many there are."""
        return int(self._ask("num_keys"))

    def list_keys(self) -> list[str]:
        """All keys."""
        return list(self._ask("list_keys"))

    def queue_push(self, key: str, value: Any) -> None:
        """Put a value at the end of a queue."""
        self._ask("queue_push", key, value)

    def take_queued(self, key: str) -> bytes | None:
        """The first value of a queue, which is removed; None where there is none."""
        return self._ask("take_queued", key)  # type: ignore[no-any-return]

    def queue_len(self, key: str) -> int:
        """How many values a queue has."""
        return int(self._ask("queue_len", key))
