"""Starting a function in several processes, and waiting for all of them: errors arrive with their traceback."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from typing import Any

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "spawn",
    "start_processes",
]


class ProcessException(Exception):
    """A process that was started has failed."""

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process has raised an exception."""


class ProcessExitedException(ProcessException):
    """A process has ended by a signal or with a status."""

    def __init__(self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _wrap(fn: Callable[..., Any], i: int, args: tuple[Any, ...], error_file: str) -> None:
    """What a process runs."""
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass  # the parent was interrupted, too, and says so
    except Exception:
        with open(error_file, "wb") as file:
            pickle.dump(traceback.format_exc(), file)
        sys.exit(1)


class ProcessContext:
    """Processes that were started together."""

    def __init__(self, processes: list[Any], error_files: list[str]) -> None:
        self.processes, self.error_files = processes, error_files
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """The numbers of the processes."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until one of them ends; whether all have ended.  If one has failed, the others are ended and the error is raised."""
        if not self.sentinels:
            return True
        error_index = None
        for sentinel in multiprocessing.connection.wait(list(self.sentinels), timeout=timeout):
            index = self.sentinels.pop(sentinel)  # type: ignore[index]
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                error_index = index
                break
        if error_index is None:
            return not self.sentinels
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join(grace_period)
            if process.is_alive():
                process.kill()
                process.join()
        self._raise(error_index)
        return False

    def _raise(self, index: int) -> None:
        failed = self.processes[index]
        if not os.path.getsize(self.error_files[index]):
            code = failed.exitcode
            if code < 0:
                name = signal.Signals(-code).name
                raise ProcessExitedException(f"process {index} terminated with signal {name}", index, failed.pid, code, name)
            raise ProcessExitedException(f"process {index} terminated with exit code {code}", index, failed.pid, code)
        with open(self.error_files[index], "rb") as file:
            original = pickle.load(file)
        raise ProcessRaisedException(f"\n\n-- Process {index} terminated with the following error:\n{original}", index, failed.pid)


class SpawnContext(ProcessContext):
    """The name of old."""


def start_processes(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False, start_method: str = "spawn",
    numa_options: Any = None,
) -> ProcessContext | None:  # fmt: skip
    """Call ``fn(i, *args)`` in ``nprocs`` processes."""
    context: Any = multiprocessing.get_context(start_method)
    processes, error_files = [], []
    with tempfile.TemporaryDirectory() if join else _Kept() as folder:
        for index in range(nprocs):
            path = os.path.join(folder, f"error{index}")
            with open(path, "wb"):
                pass
            process = context.Process(target=_wrap, args=(fn, index, args, path), daemon=daemon)
            process.start()
            error_files.append(path)
            processes.append(process)
        found = ProcessContext(processes, error_files)
        if not join:
            return found
        while not found.join():
            pass
    return None


class _Kept:
    """A folder that stays for processes that are not waited for here."""

    def __enter__(self) -> str:
        return tempfile.mkdtemp()

    def __exit__(self, *exception: Any) -> None:
        """It stays."""


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> Any:
    """Call ``fn(i, *args)`` in ``nprocs`` fresh processes, and wait for them."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)
