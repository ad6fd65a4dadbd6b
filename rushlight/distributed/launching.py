"""Starting a program in several processes, through the launcher of MPI: ``rushlight launch`` and ``torchrun``.

``mpiexec`` starts a small forwarder (``forward.py``) for each process.  Here its frames become lines with the rank in front; signals are passed on; when
a process fails the others get a grace period to exit, then they are terminated, and the first traceback is shown.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import forward
from .engines import mpi
from .launcher_path import LaunchError, find_launcher
from .watch import CONSEQUENCE

PASSED_ON = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
TRACEBACK = "Traceback (most recent call last):"


@dataclass
class Process:
    """A process as the launcher sees it."""

    rank: int
    pid: int | None = None
    status: int | None = None
    left: bool = False  # with status 0, in the middle of the program
    ended_at: float = 0.0
    trace_at: float = 0.0
    trace: list[str] = field(default_factory=list)
    rest: dict[int, bytes] = field(default_factory=dict)

    def failed_at(self) -> tuple[bool, float]:
        """When it failed: at its traceback, or at its end; those that only tell another's fault come after all others."""
        return bool(self.trace) and CONSEQUENCE in self.trace[-1], self.trace_at or self.ended_at

    def ending(self) -> str:
        """How it has ended, in words."""
        if self.status is None:
            return "did not end"
        if self.left:
            return "ended with exit status 0 in the middle of the program, without its end (os._exit?)"
        if self.status < 0:
            return f"was killed by signal {-self.status} ({signal.Signals(-self.status).name})"
        return f"ended with exit status {self.status}"


def free_port() -> int:
    """A free port."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


def check_port(port: int) -> int:
    """A port that was asked for; raises where it is taken."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError as error:
            raise LaunchError(
                f"port {port} is taken ({error.strerror}): choose another with --master-port, or none for a free one"
            ) from error
    return port


class Launcher:
    """A program in several processes."""

    def __init__(self, command: Sequence[str], processes: int, *, restarts: int = 0, hosts: str | None = None, master_addr: str | None = None,
                 master_port: int | None = None, grace: float = 10.0, prefix: bool = True, bind: bool = False, run_id: str = "none",
                 say: Callable[[str], None] | None = None) -> None:  # fmt: skip
        if processes < 1:
            raise LaunchError(f"the number of processes must be at least 1, and is {processes}")
        if processes > 1 and not mpi.is_installed():
            raise LaunchError(mpi.NO_MPI)
        self.command, self.count, self.restarts, self.hosts, self.grace, self.prefix = (
            list(command),
            processes,
            restarts,
            hosts,
            grace,
            prefix,
        )
        self.address, self.port = master_addr or ("127.0.0.1" if hosts is None else socket.gethostname()), master_port
        self.run_id, self.launcher, self.say = run_id, find_launcher(), say or _say
        self.processes: list[Process] = []
        self.signalled: int | None = None
        self.bind = bind
        self._ended = False

    def run(self) -> int:
        """Start the processes, again after a failure if restarts are left; the exit status of the one that failed first, or 0."""
        before = {number: signal.getsignal(number) for number in (getattr(signal, each) for each in PASSED_ON if hasattr(signal, each))}
        try:
            for number in before:
                signal.signal(number, self._pass_on)
            for attempt in range(self.restarts + 1):
                status = self._attempt(attempt)
                if status == 0 or self.signalled is not None:
                    return status if self.signalled is None else 128 + self.signalled
                if attempt < self.restarts:
                    self.say(f"rushlight launch: restarting all {self.count} processes ({attempt + 1} of {self.restarts})")
            return status
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _pass_on(self, number: int, frame: Any) -> None:
        """Send a signal to every process."""
        if number in (signal.SIGINT, signal.SIGTERM):
            self.signalled = number
        for each in self.processes:
            if each.pid is not None and each.status is None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(each.pid, number)

    def _arguments(self) -> list[str]:
        """The command line of MPI's launcher."""
        arguments = [self.launcher, "-n", str(self.count)]
        if self.hosts is not None:
            arguments += ["-hosts" if _is_hydra(self.launcher) else "--host", self.hosts]
        if not _is_hydra(self.launcher):
            arguments += ["--oversubscribe", "--bind-to", "none"]
        return [*arguments, sys.executable, "-I", forward.__file__, *self.command]

    def _environment(self, attempt: int, pipe: str) -> dict[str, str]:
        port = self.port if self.port is not None else free_port()
        # Open MPI's launcher refuses the superuser, who in a container is everybody, unless it is told twice that it may.
        root = {f"OMPI_ALLOW_RUN_AS_ROOT{end}": "1" for end in ("", "_CONFIRM")} if getattr(os, "geteuid", lambda: 1)() == 0 else {}
        return {
            **root, **os.environ, **{name: value for name, value in mpi.SETTINGS.items() if name not in os.environ}, "MASTER_ADDR": self.address,
            "MASTER_PORT": str(port), "RUSHLIGHT_PIPE": pipe, "RUSHLIGHT_GRACE": str(self.grace), "RUSHLIGHT_LAUNCHED": "1", "RUSHLIGHT_BIND": "1" if self.bind else "",
            "RUSHLIGHT_PROCESSES": str(self.count), "TORCHELASTIC_RUN_ID": self.run_id, "TORCHELASTIC_RESTART_COUNT": str(attempt),
            "TORCHELASTIC_MAX_RESTARTS": str(self.restarts), "PYTHONUNBUFFERED": os.environ.get("PYTHONUNBUFFERED", "1"),
        }  # fmt: skip

    def _attempt(self, attempt: int) -> int:
        """Run the processes once."""
        self.processes = [Process(rank) for rank in range(self.count)]
        with tempfile.TemporaryDirectory(prefix="rushlight-launch-") as folder:
            pipe = os.path.join(folder, "output")
            os.mkfifo(pipe)
            reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            keeper = os.open(pipe, os.O_WRONLY)  # so that the pipe does not end between two processes
            with open(os.path.join(folder, "words"), "w+b") as words:  # of mpiexec itself, whose reports of failures are not the user's
                streams: dict[str, Any] = {"stdout": words, "stderr": words} if self.hosts is None else {}
                child = subprocess.Popen(self._arguments(), env=self._environment(attempt, pipe), start_new_session=True, **streams)
                try:
                    self._follow(child, reader)
                finally:
                    self._end(child)
                    os.close(keeper)
                    self._read(reader)
                    os.close(reader)
                if child.returncode and all(each.pid is None for each in self.processes):
                    words.seek(0)
                    self.say(words.read().decode(errors="backslashreplace").strip())
        return self._verdict(child.returncode)

    def _follow(self, child: subprocess.Popen[bytes], reader: int) -> None:
        """Forward output until all processes have ended, or the grace period after a failure is over."""
        last: float | None = None
        while child.poll() is None:
            select.select([reader], [], [], 0.1)
            self._read(reader)
            failed = [each for each in self.processes if each.status or each.left]
            if (failed or self.signalled is not None) and last is None:
                last = time.monotonic() + self.grace
            if last is not None and (all(each.status is not None for each in self.processes) or time.monotonic() > last):
                return

    def _end(self, child: subprocess.Popen[bytes]) -> None:
        """End the remaining processes: by SIGTERM, then by SIGKILL."""
        if child.poll() is not None:
            return
        left = [each for each in self.processes if each.status is None and each.pid is not None]
        if left:
            self.say(
                f"rushlight launch: rank {', '.join(str(each.rank) for each in left)} did not end within {self.grace:g} seconds and is ended"
            )
        for number, seconds in ((signal.SIGTERM, 1.0), (signal.SIGKILL, 5.0)):
            for each in left:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(each.pid or 0, number) if each.pid else None
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(seconds)
                return

    # -- output --------------------------------------------------------------------------------------------------

    def _read(self, reader: int) -> None:
        """Take the frames that have come."""
        while True:
            try:
                head = os.read(reader, forward.FRAME.size)
            except BlockingIOError:
                return
            if not head:
                return
            rank, kind, length = forward.FRAME.unpack(head)
            data = b""
            while len(data) < length:
                data += os.read(reader, length - len(data))
            self._take(self.processes[rank], kind, data)

    def _take(self, process: Process, kind: int, data: bytes) -> None:
        if kind == forward.STARTED:
            process.pid = int(data)
        elif kind == forward.LEFT:
            process.left = True
        elif kind == forward.ENDED:
            process.status, process.ended_at = int(data), time.monotonic()
            for stream in (forward.STDOUT, forward.STDERR):
                if process.rest.get(stream):
                    self._take(process, stream, b"\n")
        else:
            *lines, process.rest[kind] = (process.rest.get(kind, b"") + data).split(b"\n")
            for line in lines:
                self._show(process, kind, line)

    def _show(self, process: Process, kind: int, line: bytes) -> None:
        text = line.decode(errors="backslashreplace")
        if kind == forward.STDERR:
            self._remember(process, text)
        stream = sys.stderr if kind == forward.STDERR else sys.stdout
        print(f"[{process.rank}] {text}" if self.prefix else text, file=stream, flush=True)

    def _remember(self, process: Process, text: str) -> None:
        """Keep the last traceback of a process."""
        if text == TRACEBACK:
            process.trace, process.trace_at = [text], time.monotonic()
        elif process.trace and (process.trace[-1].startswith((" ", TRACEBACK)) or text.startswith(" ")) and len(process.trace) < 200:
            process.trace.append(text)

    def _verdict(self, status: int | None) -> int:
        """Say who failed first, and give the exit status."""
        failed = sorted((each for each in self.processes if each.status or each.left), key=Process.failed_at)
        unended = [each for each in self.processes if each.status is None]
        if self.signalled is not None:
            return 128 + self.signalled
        if not failed:
            if status and unended:
                self.say(f"rushlight launch: {os.path.basename(self.launcher)} ended with exit status {status}")
            return int(status or 0)
        first = failed[0]
        self.say(f"rushlight launch: rank {first.rank} failed first: it {first.ending()}" + ("; its traceback:" if first.trace else ""))
        if first.trace:
            self.say("\n".join(f"[{first.rank}] {line}" for line in first.trace))
        later = [f"rank {each.rank} {each.ending()}" for each in failed[1:]]
        if later:
            self.say(f"rushlight launch: after it {'; '.join(later)}")
        return 128 - (first.status or 0) if (first.status or 0) < 0 else int(first.status or 1)


def _is_hydra(launcher: str) -> bool:
    """Whether a launcher is MPICH's (or Intel's), which has other options than Open MPI's."""
    shown = subprocess.run([launcher, "--version"], capture_output=True, text=True, check=False)
    return re.search(r"HYDRA|Hydra|Intel", shown.stdout + shown.stderr) is not None


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def program(script: Sequence[str], module: bool, code: bool = False) -> list[str]:
    """The command of one process: the program as ``rushlight run`` starts it."""
    flag = ["-m"] if module else ["-c"] if code else []
    if not flag and not Path(script[0]).exists():
        raise LaunchError(f"there is no file {script[0]!r}")
    return [sys.executable, "-m", "rushlight", "run", *flag, *script]
