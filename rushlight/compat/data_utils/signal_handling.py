"""`torch.utils.data._utils.signal_handling`: how a loader learns that one of its worker processes has died."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

_workers: dict[int, frozenset[int]] = {}  # by the loader's key, the process ids of its workers
_handles_deaths = False


def _set_worker_pids(loader_id: int, pids: tuple[int, ...]) -> None:
    """Watch the processes of a loader."""
    _workers[loader_id] = frozenset(pids)


def _remove_worker_pids(loader_id: int) -> None:
    """Watch the processes of a loader no more."""
    if loader_id not in _workers:
        raise ValueError(f"Cannot find worker information for _BaseDataLoaderIter with id {loader_id}")
    del _workers[loader_id]


def _error_if_any_worker_fails() -> None:
    """Raise a RuntimeError where a watched process was killed or ended with an error; its status stays for whoever joins it."""
    for key, pids in list(_workers.items()):
        for pid in pids:
            try:
                found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:  # joined already
                continue
            if found is None or found.si_status == 0:
                continue
            del _workers[key]  # it is told once
            if found.si_code == os.CLD_EXITED:
                raise RuntimeError(
                    f"DataLoader worker (pid {pid}) exited unexpectedly with exit code {found.si_status}. Details are lost due to "
                    "multiprocessing. Rerunning with num_workers=0 may give better error trace."
                )
            raise RuntimeError(f"DataLoader worker (pid {pid}) is killed by signal: {signal.strsignal(found.si_status)}. ")


def _set_worker_signal_handlers() -> None:
    """In a worker: a fatal signal ends the process with that signal, without Python's handlers of the parent."""
    for each in (signal.SIGBUS, signal.SIGSEGV, signal.SIGFPE):
        signal.signal(each, signal.SIG_DFL)


def _set_SIGCHLD_handler() -> None:
    """From now on the death of a watched process is raised where the main thread is; the handler of before is called first."""
    global _handles_deaths
    if _handles_deaths or threading.current_thread() is not threading.main_thread():
        return
    before: Any = signal.getsignal(signal.SIGCHLD)

    def handler(number: int, frame: Any) -> None:
        if callable(before):
            before(number, frame)
        _error_if_any_worker_fails()

    signal.signal(signal.SIGCHLD, handler)
    _handles_deaths = True
