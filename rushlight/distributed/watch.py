"""The watch: a thread of each process that keeps processes from waiting for ever, and makes progress on collectives while Python computes.

It talks to the other processes' watches on a communicator of its own.  It knows the following faults, and tells each to all processes, whose
exchanges then raise an error with the rank, the collective and the user's line:

- a process dies (on the same machine it is seen at once, on others by the watch there);
- a process raises an error that nobody catches, and ends;
- an exchange does not end in time: the others are asked where they are, and the answers are in the error;
- two processes call different collectives: each periodically sends its calls to the next rank of the group.

A process that does not come to an exchange after a fault is ended by its watch after a grace period.
"""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import multiprocessing.process
import multiprocessing.util
import os
import pickle
import select
import socket
import sys
import threading
import time
import traceback
from collections.abc import Iterable
from typing import Any

from ..core.process_group import world
from .adoption import is_adopted
from .calls import Call, line_of_thread
from .forward import mark_of
from .messages import Mailbox, MpiStore
from .stores import DistBackendError
from .work import Work, pace

_TICK = 0.05  # seconds between polls of the mailbox
_COMPARE = 0.5  # seconds between comparisons of calls
_POLL = 2e-4  # seconds between polls of running collectives: each takes a core from computation
KEPT_GROUPS = 16  # that have ended, and whose calls are still compared
GRACE = 5.0  # seconds that a process has to end after a fault, if the time limit of its groups is not shorter
_bootstrap = multiprocessing.process.BaseProcess._bootstrap.__code__  # type: ignore[attr-defined]  # the main program of a child
CONSEQUENCE = " can't end: "  # between an exchange and the fault of another process that ends it


class Watch:
    """The thread that watches over this process and its peers."""

    def __init__(self, mpi: Any, communicator: Any, seconds: float) -> None:
        self.mpi = mpi
        self.rank, self.size = communicator.Get_rank(), communicator.Get_size()
        self.mailbox = Mailbox(mpi, communicator.Dup())
        self.store = MpiStore(self.mailbox)
        self.fault: str | None = None  # the fault, as reported to the user
        self.groups: dict[str, Any] = {}
        self._ended_groups: dict[str, Any] = {}  # whose last calls are compared at the end
        self._seconds = seconds
        self._raised = False  # the fault has been raised in this process
        self._fault_at = 0.0
        self._pending: list[Work] = []
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._ended = False
        self._exit_status = 1
        self._answers: dict[int, dict[str, Any]] = {}
        self._theirs: list[tuple[int, str, list[Call]]] = []
        self._sent: dict[str, int] = {}
        self._compared = time.monotonic()
        self._main = threading.main_thread().ident
        self._thread = threading.Thread(target=self._run, name="rushlight-watch", daemon=True)
        self._peers = communicator.allgather((socket.gethostname(), os.getpid()))
        self._alive = _pidfds(self._peers, self.rank)
        if sum(host == self._peers[self.rank][0] for host, _ in self._peers) > _cores():
            pace.crowded()
        self._hook: Any = None
        self._mark = mark_of(os.environ.get("RANK", ""))

    # -- life ----------------------------------------------------------------------------------------------------

    def start(self, group: Any) -> None:
        """Begin to watch over the default group."""
        self.groups[group.group_name] = group
        self._seconds = group._seconds
        if self._thread.is_alive():
            return
        if self.mpi.Query_thread() < self.mpi.THREAD_MULTIPLE:
            raise DistBackendError(
                "MPI was initialized without support of threads (MPI_THREAD_MULTIPLE), which process groups need: "
                "import mpi4py.MPI with mpi4py.rc.thread_level = 'multiple', or not before init_process_group"
            )
        self._hook, sys.excepthook = sys.excepthook, self._uncaught
        world.failing = self._exits
        atexit.register(self._at_exit)
        if (
            multiprocessing.parent_process() is not None
        ):  # forked children end without `atexit`, and no error of a child comes to `excepthook`
            multiprocessing.util.Finalize(None, self._ends, exitpriority=0)
            if "_exit_function" not in _bootstrap.co_names:
                self._see_bootstrap()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)
        if self._mark is not None:
            with open(self._mark, "wb"):
                pass
        self._thread.start()

    def set_limit(self, group: Any) -> None:
        """Take over the time limit of the default group."""
        if group is world.default:
            self._seconds = group._seconds

    def _forked(self) -> None:
        """In a child that this process has forked: it is no rank, and neither its errors nor its end are told to the others."""
        self._ended, world.failing = True, None
        if sys.excepthook == self._uncaught:
            sys.excepthook = self._hook

    def _uncaught(self, kind: Any, error: Any, traceback: Any) -> None:
        """Show an error that ends the program, and tell the others."""
        self._hook(kind, error, traceback)
        sys.stderr.flush()
        where = "" if traceback is None else f" at {_user_line(traceback)}"
        self._raised = True
        self.tell(f"rank {self.rank} has raised {kind.__name__}{where}: {str(error).splitlines()[0] if str(error) else ''}".rstrip(": "))

    def _exits(self, status: Any) -> None:
        """Tell the others that the program of this process ends itself."""
        self._raised, self._exit_status = True, status if isinstance(status, int) else 1
        self.tell(f"rank {self.rank} has ended with exit status {status}")

    def _see_bootstrap(self) -> None:
        """Of Python 3.13 on a child of ``multiprocessing`` runs its finalizers when its error is gone: see it where the child's main program shows it."""
        show, inform = traceback.print_exc, multiprocessing.util.info

        def print_exc(*args: Any, **kwargs: Any) -> None:
            error = sys.exc_info()[1]
            if error is None or sys._getframe(1).f_code is not _bootstrap:
                return show(*args, **kwargs)
            self._uncaught(type(error), error, error.__traceback__)

        def info(msg: object, *args: object) -> None:
            frame = sys._getframe(1)
            if frame.f_code is _bootstrap and not self._raised and frame.f_locals.get("exitcode", 0):
                self._exits(frame.f_locals["exitcode"])
            inform(msg, *args)

        traceback.print_exc = print_exc
        multiprocessing.util.info = info

    def _ends(self) -> None:
        """The end of a child of ``multiprocessing``: what it raises is told to the others."""
        error = sys.exc_info()[1]
        if isinstance(error, SystemExit):
            if error.code:
                self._exits(error.code)
        elif error is not None:
            self._uncaught(type(error), error, error.__traceback__)  # the process ends here, before `multiprocessing` shows it
        self._at_exit()

    def _at_exit(self) -> None:
        """Wait for the others at the program's end; MPI's own end would do so for ever, whatever has happened."""
        if self._ended:
            return
        self._ended = True
        if self.fault is None:
            self._farewell()
        self._stop()
        if self.fault is None:
            self._compare_last()
        if self.fault is not None:
            _flush()
            time.sleep(0.2)  # for messages in flight
            if not self._raised:
                print(f"rank {self.rank}: {self.fault}", file=sys.stderr, flush=True)
            os._exit(self._exit_status)
        if not self.mpi.Is_finalized() and not is_adopted():  # a rank taken over ends with its stand-in
            self.mpi.Finalize()
        if self._mark is not None:
            with contextlib.suppress(OSError):  # the launcher has ended, and its folder with it
                os.unlink(self._mark)

    def _farewell(self) -> None:
        """Send the last calls, and wait until all processes are at their end, or one has failed."""
        self._compare()
        request = self.mailbox.communicator.Ibarrier()
        seen_dead = 0.0
        while not request.Test() and self.fault is None:
            time.sleep(1e-3)
            if self._dead:
                seen_dead = seen_dead or time.monotonic()
                if time.monotonic() - seen_dead > 1:
                    self.tell(self._death(self._dead[0]))

    def _compare_last(self) -> None:
        """Compare the calls that others have sent before they came to their end."""
        for source, (kind, content) in self.mailbox.read():
            if kind == "calls":
                self._theirs.extend((source, name, calls) for name, calls in content)
            elif kind == "fault":
                self._note_fault(content)
        self._compare(final=True)

    def close(self, groups: Iterable[Any]) -> None:
        """End with the default group: the others may go on for a while, so that MPI is kept."""
        if self.fault is not None:
            return
        self._ended_groups = dict(list((self._ended_groups | self.groups).items())[-KEPT_GROUPS:])
        self.groups.clear()

    def forget(self, group: Any) -> None:
        """Watch no longer over a group."""
        if self.groups.pop(group.group_name, None) is not None:
            self._ended_groups[group.group_name] = group

    def _stop(self) -> None:
        self._stopping.set()
        self._wake.set()
        self._thread.join(2)

    # -- the thread ----------------------------------------------------------------------------------------------

    def later(self, work: Work) -> None:
        """Make progress with a work while the program computes."""
        with self._lock:
            self._pending.append(work)
        self._wake.set()

    def _run(self) -> None:
        looked = 0.0
        while not self._stopping.is_set():
            if self._pending:
                self._progress()
                time.sleep(_POLL)
            else:
                self._wake.wait(_TICK)
                self._wake.clear()
            now = time.monotonic()
            if now - looked >= _TICK:
                looked = now
                try:
                    self._look(now)
                except self.mpi.Exception as error:
                    self._note_fault(f"rank {self.rank}: MPI failed in the watch: {error}")

    def _progress(self) -> None:
        """Make progress on running collectives."""
        with self._lock:
            works, self._pending = self._pending, []
        left = []
        waiting: set[int] = set()  # segments whose first exchange still runs: those behind it do, too
        for work in works:
            segment = id(getattr(work._request, "_segment", work))
            if segment in waiting:
                left.append(work)
                continue
            try:
                if work._error is None and not work._poll():
                    left.append(work)
                    waiting.add(segment)
            except Exception:  # it is in the work, whose wait raises it
                continue
        if self.fault is not None:
            for work in left:
                work._fail(self.failure(work._group, work._call))
            left = []
        with self._lock:
            self._pending = left + self._pending

    def _look(self, now: float) -> None:
        """Read the mailbox, check for dead processes, compare calls, and end a process that does not exit after a fault."""
        for source, (kind, content) in self.mailbox.read():
            if kind == "where":
                self.mailbox.send(source, ("here", self._status(content)))
            elif kind == "here":
                self._answers[source] = content
            elif kind == "fault":
                self._note_fault(content)
            elif kind == "calls":
                self._theirs.extend((source, name, calls) for name, calls in content)
            elif kind == "store":
                self.store.serve(source, content)
            elif kind == "stored":
                self.store.arrived(content)
        self.store.retry()
        for rank in self._dead_now():
            self.tell(self._death(rank))
        if now - self._compared > _COMPARE:
            self._compared = now
            self._compare()
        if self.fault is not None and not self._raised and not self._ended and now - self._fault_at > min(GRACE, max(1.0, self._seconds)):
            print(
                f"rank {self.rank}: {self.fault}; this process was at {line_of_thread(self._main)} and is ended",
                file=sys.stderr,
                flush=True,
            )
            _flush()
            os._exit(1)

    # -- faults --------------------------------------------------------------------------------------------------

    def _note_fault(self, text: str) -> None:
        if self.fault is None:
            self._fault_at = time.monotonic()
            self.fault = text

    def tell(self, text: str) -> None:
        """Record a fault, and report it to all processes."""
        if self.fault is not None:
            return
        self._note_fault(text)
        for rank in range(self.size):
            if rank != self.rank and rank not in self._dead:
                self.mailbox.send(rank, ("fault", text))

    @property
    def _dead(self) -> list[int]:
        return [rank for rank, (descriptor, gone) in self._alive.items() if gone or _has_ended(descriptor)]

    def _dead_now(self) -> list[int]:
        """Processes of this machine that have died since the last poll."""
        if self._ended:
            return []
        found = [rank for rank, (descriptor, gone) in self._alive.items() if not gone and _has_ended(descriptor)]
        for rank in found:
            self._alive[rank] = (self._alive[rank][0], True)
        return found if self.fault is None else []

    def _death(self, rank: int) -> str:
        host, process = self._peers[rank]
        return f"rank {rank} has died (process {process} on {host})"

    def failure(self, group: Any, call: Call) -> BaseException:
        """The error of an exchange that can't end because of a fault."""
        self._raised = True
        return DistBackendError(f"{call} on rank {self.rank}{CONSEQUENCE}{self.fault}")

    def broken(self, group: Any, call: Call, error: BaseException) -> BaseException:
        """The error of an exchange in which the engine has failed: as a rule sizes or collectives differ."""
        time.sleep(2 * _TICK)  # another process may have said more
        if self.fault is not None:
            return self.failure(group, call)
        reason = f"{call.signature_text()} on rank {self.rank} failed in MPI: {str(error).splitlines()[-1]}"
        self._raised = True
        differing = self._differences(group, call)
        text = f"{reason}{': ' if differing else ''}{differing}"
        self.tell(text)
        return DistBackendError(text)

    def timed_out(self, group: Any, call: Call, seconds: float) -> BaseException:
        """The error of an exchange that has not ended in time; says where the others are."""
        if self.fault is not None:
            return self.failure(group, call)
        self._raised = True
        text = (
            f"{call} on rank {self.rank} has not ended within {seconds:g} seconds: {self._differences(group, call) or 'all have called it'}"
        )
        self.tell(text)
        return DistBackendError(text)

    def _differences(self, group: Any, call: Call) -> str:
        """Where the other processes of a group are, if not in this call."""
        others = [each for each in group._ranks if each != self.rank]
        self._answers = {}
        for each in others:
            self.mailbox.send(each, ("where", group.group_name))
        end = time.monotonic() + min(2.0, max(0.5, self._seconds / 2))
        while time.monotonic() < end and len(self._answers) < len(others) and self.fault is None:
            time.sleep(_TICK / 2)
        return "; ".join(filter(None, (self._tell_place(each, group, call) for each in others[:64])))

    def _tell_place(self, rank: int, group: Any, call: Call) -> str:
        """A sentence about a process that is not in the same call."""
        found = self._answers.get(rank)
        if found is None:
            return f"rank {rank} does not answer"
        if found["ended"]:
            return f"rank {rank} has come to the end of its program"
        call = call.as_message()
        same = next((each for each in found["calls"] if each.number == call.number), None)
        if call.name in ("send", "recv"):
            return f"rank {rank} is at {found['line']}"
        if same is None:
            now = found["now"]
            if now is not None and now.group != group.group_name and found["waiting"]:
                return (
                    f"rank {rank} waits in {now} of another group ({now.group!r}): collectives of two groups are interleaved, "
                    "which all ranks must call in the same order"
                )
            last = found["calls"][-1] if found["calls"] else None
            return f"rank {rank} has not called it: it is at {found['line']}" + (f", its last call was {last}" if last else "")
        if (same.name, same.signature) != (call.name, call.signature):
            return f"rank {rank} has called {same.signature_text()} instead of {call.signature_text()}"
        return ""

    def _status(self, name: str) -> dict[str, Any]:
        """Where this process is, for another one that asks."""
        group = self.groups.get(name)
        now = max((each._now for each in self.groups.values() if each._now is not None), key=lambda each: each.when, default=None)
        line = line_of_thread(self._main)
        return {
            "calls": [] if group is None else [each.as_message() for each in list(group._calls)[-50:]], "now": None if now is None else now.as_message(), "line": line, "ended": self._ended,
            "waiting": now is not None and now.line == line,
        }  # fmt: skip

    # -- comparing calls -----------------------------------------------------------------------------------------

    def _compare(self, final: bool = False) -> None:
        """Send new calls to the next process of each group, and compare those that have come from the previous one."""
        news: dict[int, list[tuple[str, list[Call]]]] = {}
        known = self._ended_groups | self.groups
        for name, group in known.items():
            calls = [each for each in list(group._calls) if each.number > self._sent.get(name, 0)]
            if calls and group.size() > 1:
                self._sent[name] = calls[-1].number
                after = group._ranks[(group.rank() + 1) % group.size()]
                news.setdefault(after, []).append((name, [each.as_message() for each in calls[-500:]]))
        if not final:
            for rank, content in news.items():
                self.mailbox.send(rank, ("calls", content))
        left = []
        for source, name, calls in self._theirs:
            group = known.get(name)
            mine = (
                {each.number: each.as_message() for each in list(group._calls) if each.number >= calls[0].number}
                if group is not None
                else {}
            )
            highest = max(mine, default=0)
            for each in calls:
                own = mine.get(each.number)
                if own is not None and (own.name, own.signature) != (each.name, each.signature):
                    self.tell(
                        f"ranks {source} and {self.rank} differ in call {own.number} of group {name!r}: rank {source} has called "
                        f"{each.signature_text()}, rank {self.rank} {own.signature_text()}"
                    )
                    return
            ahead = [each for each in calls if each.number > highest]
            if ahead and group is not None:
                left.append((source, name, ahead))
        self._theirs = left


def _user_line(traceback: Any) -> str:
    """The innermost line of the user's program in a traceback."""
    found = None
    while traceback is not None:
        if traceback.tb_frame.f_globals.get("__name__", "").partition(".")[0] != __name__.partition(".")[0]:
            found = traceback
        traceback = traceback.tb_next
    return "an unknown line" if found is None else f"{os.path.basename(found.tb_frame.f_code.co_filename)}:{found.tb_lineno}"


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # closed, or the reader is gone
            stream.flush()


def _pidfds(peers: list[tuple[str, int]], rank: int) -> dict[int, tuple[int, bool]]:
    """Descriptors that say when another process of this machine ends, by rank; none where the system hasn't them."""
    found: dict[int, tuple[int, bool]] = {}
    if not hasattr(os, "pidfd_open"):
        return found
    for other, (host, process) in enumerate(peers):
        if other != rank and host == peers[rank][0]:
            with contextlib.suppress(OSError):  # processes of another container, or too many files
                found[other] = (os.pidfd_open(process), False)
    return found


def _has_ended(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
