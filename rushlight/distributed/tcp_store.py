"""``TCPStore``: a key-value store that one process serves to others."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import tempfile
import threading
import time
import weakref
from datetime import timedelta
from multiprocessing import AuthenticationError
from multiprocessing.managers import BaseManager
from typing import Any

from ..core.errors import NotSupported
from .stores import DistNetworkError, DistStoreError, HashStore, Store, _text


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
        if world_size == 0:
            raise ValueError("TCPStore world size cannot be 0")
        super().__init__()
        self.host, self.port, self._timeout = host_name, port, timeout
        self.libuvBackend = use_libuv  # what was asked for: the server is Python's own
        if is_master and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "1" and os.environ.get("MASTER_PORT") == str(port):
            is_master = False  # the launcher serves it
        self._server = _served.get(port) if is_master and multi_tenant else None
        if is_master and self._server is None:
            if master_listen_fd is not None:
                socket.socket(fileno=master_listen_fd).close()  # its port is bound anew
            self._server = _Server(host_name, port)
            self.port = self._server.port
            _served[self.port] = self._server
        self._kept: Any = self._reach() if self._server is None else self._server.kept
        if world_size and world_size > 0 and wait_for_workers:
            self._kept.add(_WORKERS, 1)
            if is_master:
                self._all_there(world_size)

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
        while self._kept.add(_WORKERS, 0) < count:
            if time.monotonic() > end:
                raise DistStoreError(
                    f"Timed out after {self._timeout.total_seconds():.0f} seconds waiting for clients. {self._kept.add(_WORKERS, 0)}/{count} clients joined."
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
        """How many there are, one of which counts the processes."""
        return len(self.list_keys()) + 1

    def list_keys(self) -> list[str]:
        """All keys."""
        return [each for each in self._kept.list_keys() if each != _WORKERS]

    def has_extended_api(self) -> bool:
        """True."""
        return True

    def queue_push(self, key: str, value: Any) -> None:
        """Put a value at the end of a queue."""
        self._kept.queue_push(key, _text(value))

    def take_queued(self, key: str) -> bytes | None:
        """The first value of a queue, which is removed; None where there is none."""
        return self._kept.take_queued(key)  # type: ignore[no-any-return]

    def queue_len(self, key: str) -> int:
        """How many values a queue has."""
        return int(self._kept.queue_len(key))


class _Server:
    """A store's server: it ends with the stores that use it."""

    def __init__(self, host: str, port: int) -> None:
        key = _store_key(host, None)
        kept, shared = HashStore(), _manager()
        shared.register("store", callable=lambda: kept, exposed=_EXPOSED)
        try:
            server = shared((host, port), key).get_server()
        except OSError as error:
            raise DistNetworkError(
                f"The server socket has failed to listen on any local network address. port: {port}, "
                f"code: {-(error.errno or 0)}, message: {error.strerror}"
            ) from error
        self.kept, self.port = kept, int(server.address[1])
        _write_key(self.port, key)
        ending = server.stop_event = threading.Event()  # which the server's threads look at
        threading.Thread(target=_serve, args=(server, ending), daemon=True, name="rushlight-store").start()
        weakref.finalize(self, _end_server, server.address, ending, os.getpid()).atexit = False


def _serve(server: Any, ending: threading.Event) -> None:
    """Answer each client in a thread of its own, until the server ends."""
    while True:
        try:
            connection = server.listener.accept()
        except OSError:
            continue
        if ending.is_set():
            connection.close()
            server.listener.close()
            return
        threading.Thread(target=server.handle_request, args=(connection,), daemon=True, name="rushlight-store").start()


def _end_server(address: Any, ending: threading.Event, process: int) -> None:
    """Have a server's thread free the port: a connection wakes it up."""
    if os.getpid() == process:
        ending.set()
        with contextlib.suppress(OSError):
            socket.create_connection(address, 1).close()


_WORKERS = "init/"  # counts the processes
_served: weakref.WeakValueDictionary[int, _Server] = weakref.WeakValueDictionary()
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
