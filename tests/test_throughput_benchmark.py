"""``torch.utils.throughput_benchmark``: calls of a Module from several threads."""

from __future__ import annotations

import json
import re
import threading

import pytest

import rushlight as torch
from rushlight.utils.throughput_benchmark import ThroughputBenchmark, format_time


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, x, *, by=1):
        self.seen.append((threading.get_ident(), by, torch.is_grad_enabled()))
        return x * by


def test_calls_are_shared_by_threads(tmp_path):
    model = Counting()
    bench = ThroughputBenchmark(model)
    assert bench.run_once(torch.ones(2), by=3).tolist() == [3.0, 3.0]
    bench.add_input(torch.ones(2))
    bench.add_input(torch.ones(2), by=2)
    trace = tmp_path / "trace.json"
    with torch.no_grad():
        stats = bench.benchmark(num_calling_threads=3, num_warmup_iters=2, num_iters=60, profiler_output_path=str(trace))
    calls = model.seen[1:]
    assert stats.num_iters == 60 and len(calls) == 66
    assert {by for _, by, _ in calls} == {1, 2} and not any(grad for _, _, grad in calls)
    assert stats.latency_avg_ms > 0 and stats.iters_per_second == pytest.approx(60 / stats.total_time_seconds)
    assert re.fullmatch(r"60 calls from 3 threads in \d+\.\d{3}\w+: \d+\.\d{3}\w+ each, \d+\.\d\d a second", str(stats))
    assert json.loads(trace.read_text())["traceEvents"]


def test_failures_are_raised():
    bench = ThroughputBenchmark(Counting())
    with pytest.raises(RuntimeError, match="add_input"):
        bench.benchmark()
    bench.add_input(torch.ones(2), wrong=1)
    for warmup in (0, 1):
        with pytest.raises(TypeError, match="wrong"):
            bench.benchmark(num_calling_threads=2, num_warmup_iters=warmup, num_iters=4)


def test_times_in_words():
    assert [format_time(time_us=5), format_time(time_ms=2.5), format_time(time_s=3)] == ["5.000us", "2.500ms", "3.000s"]
    with pytest.raises(AssertionError):
        format_time()
