"""`rushlight bench`: native code beside ONNX Runtime on a model file: times, memory, equal outputs."""

from __future__ import annotations

import argparse
import contextlib
import gc
import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..autograd.grad_mode import no_grad
from ..compiler import compile as compile_program
from ..core.errors import RushlightError
from ..model_files import ONNX
from ..onnx.comparison import arguments, difference, flat
from ..onnx.files import first_line
from ..onnx.random_inputs import draw
from . import inputs, target
from .output import DONE, WRONG, Failure, Progress, give, give_json, number, say, users_code

_TURNS = 10  # in which each way to run is timed


class Measured:
    """One way to run the model, and what it took."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ready = 0.0  # seconds until the first result
        self.call: Callable[[], Any] = lambda: None
        self.times: list[float] = []
        self.memory = 0  # bytes more at its peak than before
        self.outputs: list[np.ndarray] = []
        self.trouble = ""

    def data(self) -> dict[str, Any]:
        """The figures, for programs."""
        if self.trouble:
            return {"error": self.trouble}
        return {
            "milliseconds": statistics.median(self.times) * 1e3, "best_milliseconds": min(self.times) * 1e3, "calls": len(self.times), "ready_seconds": self.ready,
            "memory_bytes": self.memory,
        }  # fmt: skip


def resident(name: str) -> int:
    """Memory of this process in bytes: ``VmRSS``, what it has now, or ``VmHWM``, the most that it has had since :func:`forget_peak`."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:  # no Linux: the most of the whole process
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def forget_peak() -> None:
    """Let the most memory be counted from here on, so that what ran before does not hide what the next one needs.

    Nor does garbage of earlier calls, which a collection would release while the next one allocates.
    """
    gc.collect()
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def measure(name: str, prepare: Callable[[], Callable[[], Any]]) -> Measured:
    """Prepare, and call twice: how long until the first result, and how much memory more."""
    made = Measured(name)
    forget_peak()
    before = resident("VmRSS")
    start = time.perf_counter()
    try:
        made.call = prepare()
        made.outputs = [np.array(each) for each in flat_of(made.call())]
    except (RushlightError, RuntimeError, ValueError, TypeError, NotImplementedError, AssertionError) as error:
        made.trouble = first_line(error)
        return made
    made.ready = time.perf_counter() - start
    made.call()
    made.memory = max(0, resident("VmHWM") - before)
    return made


def take_times(rows: list[Measured], seconds: float) -> None:
    """Call each again and again for so long, in turns: what else the machine does then disturbs all alike."""
    while rows and sum(rows[-1].times) < seconds or any(len(row.times) < 3 for row in rows):
        for row in rows:
            end = time.perf_counter() + seconds / _TURNS
            while not row.times or time.perf_counter() < end:
                start = time.perf_counter()
                row.call()
                row.times.append(time.perf_counter() - start)


def flat_of(result: Any) -> list[np.ndarray]:
    """Results as arrays."""
    return result if isinstance(result, list) and all(isinstance(each, np.ndarray) for each in result) else flat(result)


def run(options: argparse.Namespace) -> int:
    """Measure, and print the table."""
    if options.seconds <= 0:
        raise Failure("--seconds must be more than 0")
    with Progress(options.json, 6) as progress, users_code(), no_grad():
        progress.step(f"reading {options.file}")
        file = target.model_file(options.file)
        model, specs = target.program(options.file, None, [inputs.parse(text) for text in options.input])
        described = inputs.Inputs(model, specs, inputs.pairs(options.size, "--size"))
        tensors = draw(described.specs, described.sizes, np.random.default_rng(0))
        args, kwargs = arguments(model, described.specs, tensors)
        threads = options.threads or target.rushlight.get_num_threads()
        target.rushlight.set_num_threads(threads)
        rows = []
        if file.kind == ONNX:
            progress.step("ONNX Runtime")
            rows.append(measure("ONNX Runtime", lambda: onnx_runtime(options.file, tensors, threads)))
        progress.step("native code")
        compiled = compile_program(model)
        rows.append(measure("native code", lambda: lambda: compiled(*args, **kwargs)))
        progress.step("eager mode")
        rows.append(measure("eager mode", lambda: lambda: model(*args, **kwargs)))
        progress.step("times")
        take_times([row for row in rows if not row.trouble], options.seconds)
    return report(options, rows, described, threads)


def onnx_runtime(path: str, tensors: list[Any], threads: int) -> Callable[[], Any]:
    """The model in ONNX Runtime, to be called."""
    try:
        import onnxruntime
    except ImportError:
        raise RuntimeError("not installed: pip install onnxruntime") from None
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    settings.intra_op_num_threads = threads
    try:
        session = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    except Exception as error:  # its exceptions have no common class
        raise RuntimeError(first_line(error)) from error
    feed = {each.name: np.asarray(tensor._array) for each, tensor in zip(session.get_inputs(), tensors)}

    def call() -> Any:
        try:
            return list(session.run(None, feed))
        except Exception as error:
            raise RuntimeError(first_line(error)) from error

    return call


def report(options: argparse.Namespace, rows: list[Measured], described: inputs.Inputs, threads: int) -> int:
    """The table, and whether the outputs agree."""
    good = [row for row in rows if not row.trouble]
    reference = next((row for row in good if row.name == "eager mode"), good[0] if good else None)
    wrong, largest = [], 0.0
    for row in good:
        if row is reference or reference is None:
            continue
        if len(row.outputs) != len(reference.outputs):
            wrong.append(f"{row.name} has {len(row.outputs)} outputs, and {reference.name} {len(reference.outputs)}")
        for at, (want, got) in enumerate(zip(reference.outputs, row.outputs)):
            found, error, _ = difference(f"output {at}", want, got, options.tolerance, options.tolerance)
            largest = max(largest, error)
            if found is not None:
                wrong.append(f"{row.name}: {found}")
    if options.json:
        give_json({
            "file": options.file, "threads": threads, "inputs": [str(spec) for spec in described.specs], "sizes": described.sizes.values,
            "runs": {row.name: row.data() for row in rows}, "agree": not wrong, "largest_error": largest, "differences": wrong,
        })  # fmt: skip
        return WRONG if wrong else DONE
    shapes = ", ".join(
        f"{f'{spec.name} ' if spec.name else ''}{spec.kind}[{', '.join(map(str, described.sizes.of(spec)))}]" for spec in described.specs
    )
    give(f"{options.file}: {shapes}; {threads} thread{'s' if threads != 1 else ''}")
    give(f"{'':<14}{'a call':>12}{'best':>12}{'ready in':>12}{'memory':>12}")
    for row in rows:
        if row.trouble:
            give(f"{row.name:<14}  can't run it: {row.trouble}")
            continue
        give(
            f"{row.name:<14}{in_words(statistics.median(row.times)):>12}{in_words(min(row.times)):>12}{in_words(row.ready):>12}{row.memory / 1e6:>9.1f} MB"
        )
    theirs, ours = (
        next((row for row in good if row.name == "ONNX Runtime"), None),
        next((row for row in good if row.name == "native code"), None),
    )
    if theirs is not None and ours is not None:
        ratio = statistics.median(theirs.times) / statistics.median(ours.times)
        give(f"native code takes {1 / ratio:.2f} of ONNX Runtime's time ({ratio:.2f} times as fast)")
    for each in wrong:
        say(f"error: {each}")
    if not wrong and len(good) > 1:
        give(f"the outputs agree, largest error {number(largest)}")
    return WRONG if wrong else DONE


def in_words(seconds: float) -> str:
    """A time: 1.23 ms."""
    for unit, factor in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= factor or unit == "µs":
            return f"{seconds / factor:.3g} {unit}"
    return ""
