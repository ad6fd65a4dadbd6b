"""The main loop of a DataLoader's worker processes."""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import queue
import random
import signal
import threading
import traceback
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.parallel import pool
from ...tensor.generator import default_generator
from . import transport
from .datapipes.datapipe import IterDataPipe, MapDataPipe
from .graph_settings import apply_sharding

_WATCH_SECONDS = 2.0  # how often a worker looks whether its parent lives
_GRACE_SECONDS = 10.0  # how long a worker whose parent is gone may go on with what it is doing

# The parent's ends of pipes.  A forked process closes those it has inherited: a pipe ends when nobody holds its other end.
parent_ends: weakref.WeakSet[Any] = weakref.WeakSet()


@dataclass
class WorkerInfo:
    """What ``get_worker_info`` tells a worker about itself."""

    id: int
    num_workers: int
    seed: int
    dataset: Any

    def __repr__(self) -> str:
        return f"WorkerInfo(id={self.id}, num_workers={self.num_workers}, seed={self.seed}, dataset={self.dataset!r})"


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker process its number, how many there are, its seed and its copy of the dataset; None elsewhere."""
    return _worker_info


# -- fetching ----------------------------------------------------------------------------------------------------


class MapFetcher:
    """Samples by index, collated."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn

    def fetch(self, index: Any) -> Any:
        """The batch (or the sample) at an index."""
        if not self.auto_collation:
            data = self.dataset[index]
        elif callable(getattr(self.dataset, "__getitems__", None)):
            data = self.dataset.__getitems__(index)
        else:
            data = [self.dataset[each] for each in index]
        return self.collate_fn(data)


class IterableFetcher:
    """Samples one after the other, collated."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> None:
        self.dataset = dataset
        self.dataset_iter = iter(dataset)
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.ended = False

    def fetch(self, index: Any) -> Any:
        """The next batch (or sample); of an index only the length counts.  Raises StopIteration at the end."""
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.dataset_iter))
        data = list(itertools.islice(self.dataset_iter, len(index)))
        self.ended = len(data) < len(index)
        if not data or (self.drop_last and self.ended):
            raise StopIteration
        return self.collate_fn(data)


# -- messages ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _IterableDatasetStopIteration:
    """A worker's answer when its part of an iterable dataset is over."""

    worker_id: int


@dataclass(frozen=True)
class _ResumeIteration:
    """A request to a worker to start over, and its answer."""

    seed: int | None = None


class KeyErrorMessage(str):
    """The message of a KeyError, which shows the repr of what it is given."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Failure:
    """An exception on its way from a worker: its class, and its traceback as text."""

    def __init__(self, error: BaseException, where: str) -> None:
        self.kind: Any = type(error)
        self.name = type(error).__name__
        self.where = where
        self.text = "".join(traceback.format_exception(error))
        try:
            pickle.dumps(self.kind)
        except Exception:  # a class made inside a function: the parent can't find it
            self.kind = RuntimeError

    def reraise(self) -> None:
        """Raise an exception of the same class that tells where it came from."""
        raise caught(self.kind, f"Caught {self.name} {self.where}.\nOriginal {self.text}")


def caught(kind: Any, message: str) -> BaseException:
    """An exception of a class, to be raised again in another thread or process with a message that tells where it came from."""
    try:
        return kind(KeyErrorMessage(message) if kind is KeyError else message)  # type: ignore[no-any-return]
    except Exception:  # its constructor wants something else than a message
        return RuntimeError(message)


# -- the process -------------------------------------------------------------------------------------------------


@dataclass
class Assignment:
    """All that a worker is told when it starts."""

    dataset: Any
    fetcher: Any
    batched: bool
    collate_fn: Any
    drop_last: bool
    base_seed: int
    init_fn: Any
    number: int
    count: int


class ManagerWatchdog:
    """Tells a worker whether the process that started it lives."""

    def __init__(self) -> None:
        self.manager_pid = os.getppid()
        self.manager_dead = False

    def is_alive(self) -> bool:
        """Whether the worker's parent is still the process that started it."""
        self.manager_dead = self.manager_dead or os.getppid() != self.manager_pid
        return not self.manager_dead


def _listen(requests: Any, tasks: queue.SimpleQueue[Any]) -> None:
    """Read requests as they come, so that the parent never waits to write one; end the process when the parent is gone."""
    watchdog = ManagerWatchdog()
    with contextlib.suppress(EOFError, OSError):
        while True:
            if requests.poll(_WATCH_SECONDS):
                tasks.put(requests.recv())
            elif not watchdog.is_alive():
                break
    tasks.put(None)
    threading.Event().wait(_GRACE_SECONDS)
    os._exit(1)  # it is still busy with something that may never end


def _generate_state(base_seed: int, worker_id: int) -> Any:
    """Four numbers that seed NumPy's generator in a worker."""
    return np.random.SeedSequence([worker_id, base_seed]).generate_state(4)


def seed_worker(base_seed: int, number: int) -> int:
    """Seed all random generators of a worker, as PyTorch does."""
    seed = base_seed + number
    random.seed(seed)
    default_generator.manual_seed(seed)
    np.random.seed(_generate_state(base_seed, number))
    return seed


def run_worker(assignment: Assignment, requests: Any, results: Any) -> None:
    """The life of a worker: requests in, batches out, until the parent closes the pipe."""
    global _worker_info
    for end in list(parent_ends):
        end.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends its workers
    tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests, tasks), daemon=True).start()
    pool.threads = 1
    seed = seed_worker(assignment.base_seed, assignment.number)
    _worker_info = WorkerInfo(assignment.number, assignment.count, seed, assignment.dataset)
    if isinstance(assignment.dataset, (IterDataPipe, MapDataPipe)):
        apply_sharding(assignment.dataset, assignment.count, assignment.number)
    fetcher: Any = None
    failure: Failure | None = None
    try:
        if assignment.init_fn is not None:
            assignment.init_fn(assignment.number)
        fetcher = _new_fetcher(assignment)
    except Exception as error:
        failure = Failure(error, f"in DataLoader worker process {assignment.number}")
    while (task := tasks.get()) is not None:
        number, index = task
        answer: Any
        if isinstance(index, _ResumeIteration):
            answer, failure = index, None
            try:
                fetcher = _new_fetcher(assignment)
            except Exception as error:
                failure = Failure(error, f"in DataLoader worker process {assignment.number}")
        elif failure is not None:
            answer = failure
        else:
            answer = _fetch(fetcher, index, assignment)
        try:
            _answer(results, number, answer, assignment.number)
        except (BrokenPipeError, ConnectionError):
            return  # the parent is gone, or wants nothing more


def _new_fetcher(assignment: Assignment) -> Any:
    return assignment.fetcher(assignment.dataset, assignment.batched, assignment.collate_fn, assignment.drop_last)


def _fetch(fetcher: Any, index: Any, assignment: Assignment) -> Any:
    try:
        return fetcher.fetch(index)
    except Exception as error:
        if isinstance(error, StopIteration) and isinstance(fetcher, IterableFetcher):
            return _IterableDatasetStopIteration(assignment.number)
        return Failure(error, f"in DataLoader worker process {assignment.number}")


def _answer(results: Any, number: int, answer: Any, worker: int) -> None:
    try:
        transport.send(results, (number, answer))
    except (pickle.PicklingError, TypeError, AttributeError) as error:  # a batch that can't be pickled
        transport.send(results, (number, Failure(error, f"in DataLoader worker process {worker}")))
