"""Throughput of a Module called from several threads at once."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from ..autograd.grad_mode import is_grad_enabled, set_grad_enabled

__all__ = ["ExecutionStats", "ThroughputBenchmark", "format_time"]


def format_time(time_us: float | None = None, time_ms: float | None = None, time_s: float | None = None) -> str:
    """A time, given in one of three units, in the largest of them that makes it at least one."""
    given = [time * unit for time, unit in ((time_us, 1), (time_ms, 1e3), (time_s, 1e6)) if time is not None]
    if len(given) != 1:
        raise AssertionError("Expected only one of time_us, time_ms, time_s is given.")
    unit, name = next((each for each in ((1e6, "s"), (1e3, "ms")) if given[0] >= each[0]), (1, "us"))
    return f"{given[0] / unit:.3f}{name}"


@dataclass(frozen=True)
class _Config:
    """How a benchmark was run."""

    num_calling_threads: int
    num_warmup_iters: int
    num_iters: int
    profiler_output_path: str


@dataclass(frozen=True)
class ExecutionStats:
    """What a benchmark measured."""

    latency_avg_ms: float
    num_iters: int
    benchmark_config: _Config

    @property
    def total_time_seconds(self) -> float:
        """The time that all calls took, with the threads side by side."""
        return self.num_iters / self.iters_per_second if self.num_iters else 0.0

    @property
    def iters_per_second(self) -> float:
        """Calls in a second, over all threads."""
        return 1000.0 * self.benchmark_config.num_calling_threads / self.latency_avg_ms

    def __str__(self) -> str:
        latency, total = format_time(time_ms=self.latency_avg_ms), format_time(time_s=self.total_time_seconds)
        threads = self.benchmark_config.num_calling_threads
        return f"{self.num_iters} calls from {threads} threads in {total}: {latency} each, {self.iters_per_second:.2f} a second"


class ThroughputBenchmark:
    """Calls a Module from several threads with inputs that were given before, each call with one of them by chance."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self._inputs: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def run_once(self, *args: Any, **kwargs: Any) -> Any:
        """The Module's result."""
        return self._module(*args, **kwargs)

    def add_input(self, *args: Any, **kwargs: Any) -> None:
        """Keep the arguments of a call."""
        self._inputs.append((args, kwargs))

    def benchmark(
        self, num_calling_threads: int = 1, num_warmup_iters: int = 10, num_iters: int = 100, profiler_output_path: str = ""
    ) -> ExecutionStats:
        """Time a number of calls, which the threads share; each thread first makes the calls of the warm-up."""
        if not self._inputs:
            raise RuntimeError("Please provide benchmark inputs. Did you forget to call add_input()?")
        config = _Config(num_calling_threads, num_warmup_iters, num_iters, profiler_output_path)
        profiled: Any = contextlib.nullcontext()
        if profiler_output_path:  # the profiler is a later room
            profiled = importlib.import_module(f"{__name__.partition('.')[0]}.profiler").profile()
        clock: list[float] = []

        def begin() -> None:
            profiled.__enter__()
            clock.append(time.perf_counter())

        ready, turns, grad = threading.Barrier(num_calling_threads, begin), itertools.count(), is_grad_enabled()

        def call() -> int:
            chance, done = random.Random(), 0
            with set_grad_enabled(grad):
                try:
                    for args, kwargs in chance.choices(self._inputs, k=num_warmup_iters):
                        self._module(*args, **kwargs)
                except BaseException:
                    ready.abort()  # or the other threads would wait for this one
                    raise
                ready.wait()
                while next(turns) < num_iters:
                    args, kwargs = chance.choice(self._inputs)
                    self._module(*args, **kwargs)
                    done += 1
            return done

        with ThreadPoolExecutor(num_calling_threads) as pool:
            counts = [pool.submit(call) for _ in range(num_calling_threads)]
        failures = [each for each in (future.exception() for future in counts) if each is not None]
        took = time.perf_counter() - clock[0] if clock else 0.0
        if clock:
            profiled.__exit__(None, None, None)
        for failure in sorted(failures, key=lambda each: isinstance(each, threading.BrokenBarrierError)):
            raise failure
        if profiler_output_path:
            profiled.export_chrome_trace(profiler_output_path)
        made = sum(future.result() for future in counts)
        return ExecutionStats(took * 1000.0 * num_calling_threads / made if made else 0.0, made, config)
