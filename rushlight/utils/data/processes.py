"""The iterator of a DataLoader with worker processes."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import time
import weakref
from collections import deque
from multiprocessing import connection
from typing import Any

from ...core.devices import accelerator
from ...tensor.generator import Generator
from . import transport
from .datapipes.datapipe import IterDataPipe
from .graph_settings import apply_random_seed
from .pinning import pinned
from .sampler import draw_seed
from .worker import Assignment, Failure, _IterableDatasetStopIteration, _ResumeIteration, parent_ends, run_worker

_SHUTDOWN_SECONDS = 5.0


class _Worker:
    """A worker process and this end of its pipes."""

    def __init__(self, context: Any, assignment: Assignment) -> None:
        # Results need a socket where descriptors are passed; requests go through a pipe of their own, so that neither
        # side can fill the other's way.
        theirs_requests, self.requests = context.Pipe(duplex=False)
        self.results, theirs_results = context.Pipe(duplex=True)
        parent_ends.update((self.requests, self.results))
        self.process = context.Process(target=run_worker, args=(assignment, theirs_requests, theirs_results), daemon=True)
        self.process.start()
        theirs_requests.close()
        theirs_results.close()
        self.active = True  # False once its part of an iterable dataset is over
        self.pending: deque[int] = deque()

    def ask(self, number: int, index: Any) -> None:
        """Request a batch."""
        with contextlib.suppress(BrokenPipeError, ConnectionError):  # it has died: waiting for its answer tells more
            self.requests.send((number, index))
        self.pending.append(number)


def _close(workers: list[_Worker], owner: int) -> None:
    """End worker processes: politely, then not."""
    if os.getpid() != owner:  # a forked process has inherited the object, but not the workers
        return
    for worker in workers:
        worker.requests.close()
        worker.results.close()
    deadline = time.monotonic() + _SHUTDOWN_SECONDS
    for worker in workers:
        worker.process.join(max(0.0, deadline - time.monotonic()))
        if worker.process.is_alive():
            worker.process.terminate()
    for worker in workers:
        worker.process.join(1.0)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
    workers.clear()


def seeded(dataset: Any, generator: Any) -> Any:
    """The dataset; the steps of a pipe that draw random numbers get seeds, the same in all workers."""
    if not isinstance(dataset, IterDataPipe):
        return dataset
    return apply_random_seed(dataset, Generator().manual_seed(draw_seed(generator)))


class ProcessIterator:
    """Asks workers for batches ahead, in turn, and gives the batches in the order of the sampler."""

    def __init__(self, loader: Any) -> None:
        # It does not hold the loader, which may hold it: when the last user lets go, the workers end at once.
        self._sampler = loader._index_sampler
        self._ahead = loader.prefetch_factor * loader.num_workers
        self._timeout = loader.timeout
        self._in_order = loader.in_order
        self._persistent = loader.persistent_workers
        dataset = seeded(loader.dataset, loader.generator)
        self._base_seed = draw_seed(loader.generator)
        context = loader.multiprocessing_context or multiprocessing.get_context()
        self._workers: list[_Worker] = []
        self._finalizer = weakref.finalize(self, _close, self._workers, os.getpid())
        try:
            for number in range(loader.num_workers):
                assignment = Assignment(
                    dataset, loader._fetcher, loader._auto_collation, loader.collate_fn, loader.drop_last,
                    self._base_seed, loader.worker_init_fn, number, loader.num_workers,
                )  # fmt: skip
                self._workers.append(_Worker(context, assignment))
        except BaseException:
            self.close()
            raise
        self._start(loader)

    def _start(self, loader: Any) -> None:
        seeded(loader.dataset, loader.generator)  # each epoch has a seed of its own
        self._indices = iter(self._sampler)
        self._check = loader._length_check()
        self._pins = loader.pin_memory and accelerator() is not None
        self._exhausted = False
        self._asked = 0
        self._given = 0
        self._turn = 0
        self._ready: dict[int, Any] = {}  # answers that came before their turn
        for worker in self._workers:
            worker.active = True
        for _ in range(self._ahead):
            self._ask()

    @property
    def closed(self) -> bool:
        """Whether the workers are gone."""
        return not self._finalizer.alive

    def reset(self, loader: Any) -> None:
        """Start another epoch with the same workers."""
        self._exhausted = True  # of the last epoch nothing more is asked
        for worker in self._workers:
            worker.ask(-1, _ResumeIteration())
        while any(worker.pending for worker in self._workers):
            self._receive()
        self._start(loader)

    def close(self) -> None:
        """End the worker processes."""
        self._finalizer()

    def __iter__(self) -> ProcessIterator:
        return self

    def __len__(self) -> int:
        return len(self._sampler)

    def __next__(self) -> Any:
        try:
            answer = self._next_answer()
            if isinstance(answer, Failure):
                answer.reraise()
        except StopIteration:
            if not self._persistent:
                self.close()
            raise
        except KeyboardInterrupt:
            self.close()
            raise
        self._check.count()
        return pinned(answer) if self._pins else answer

    def _next_answer(self) -> Any:
        while True:
            if self._in_order:
                number = self._given
                found = number in self._ready
            else:
                number = next(iter(self._ready), -1)
                found = bool(self._ready)
            if found:
                answer = self._ready.pop(number)
                self._given += 1
                if isinstance(answer, _IterableDatasetStopIteration):
                    continue
                self._ask()
                return answer
            if self._given == self._asked:
                raise StopIteration
            self._receive()

    def _ask(self) -> None:
        """Request the next batch from the worker whose turn it is."""
        if self._exhausted:
            return
        worker = self._next_worker()
        if worker is None:
            return
        try:
            index = next(self._indices)
        except StopIteration:
            self._exhausted = True
            return
        worker.ask(self._asked, index)
        self._asked += 1

    def _next_worker(self) -> _Worker | None:
        active = [each for each in self._workers if each.active]
        if not active:
            return None
        if not self._in_order:
            return min(active, key=lambda each: len(each.pending))
        while True:
            worker = self._workers[self._turn % len(self._workers)]
            self._turn += 1
            if worker.active:
                return worker

    def _receive(self) -> None:
        """Wait for an answer of any worker."""
        ways = {each.results: each for each in self._workers if each.pending}
        ends = {each.process.sentinel: each for each in self._workers if each.pending}
        limit = self._timeout or None
        found = connection.wait([*ways, *ends], limit)
        if not found:
            self.close()
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
        answered = [ways[each] for each in found if each in ways]
        for worker in answered:
            try:
                pickled, buffers = transport.receive(worker.results)
            except (EOFError, OSError, RuntimeError):  # the last by a descriptor that did not come
                raise self._died(worker) from None
            self._take(worker, *pickle.loads(pickled, buffers=buffers))
        if not answered:
            raise self._died(ends[found[0]])

    def _take(self, worker: _Worker, number: int, answer: Any) -> None:
        worker.pending.remove(number)
        self._ready[number] = answer
        if isinstance(answer, _IterableDatasetStopIteration) and worker.active:
            worker.active = False
            self._ask()

    def _died(self, worker: _Worker) -> RuntimeError:
        process = worker.process
        process.join(1.0)
        code = process.exitcode
        how = "" if code is None else f" (killed by signal {-code})" if code < 0 else f" (exit code {code})"
        self.close()
        return RuntimeError(f"DataLoader worker (pid(s) {process.pid}) exited unexpectedly{how}")
