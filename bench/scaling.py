"""How training steps and inference speed up with threads, beside PyTorch's eager mode, its compiler and ONNX Runtime, in one run.

    python bench/scaling.py                                          # threads 1, 2, 4, 8, 16 where the machine has as many
    python bench/scaling.py --large                                  # GPT-2 small, ResNet-50, ViT-B, BERT-base, Llama, LSTM 1024
    python bench/scaling.py --cases gpt6,lstm512 --threads 1,16 --peers rushlight,eager --quick
    python bench/scaling.py --profile --cases gpt6 --threads 1,16    # where the time goes: the steps of the compiled program
    python bench/scaling.py --taken --threads 16                     # while another process keeps a core busy, and with a second one like it

A child process for each package and form measures all numbers of threads in turn (torch.compile's code and a session of ONNX Runtime are made for one
number: a child for each), all are alive at once and take turns.  Prints tables, writes JSON where ``--json`` says, and keeps the tables in bench/RESULTS.md.  Needs torch and llvmlite.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import pathlib
import platform
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from large_models import CASES, LARGE
from peers import busy_core, progress
from serving import disturbed, time_of
from tables import cell, header, keep, line
from worker import onnx_runtime, runner, seeded

PEERS = {"rushlight": ("rushlight", "step"), "eager": ("torch", "eager"), "compile": ("torch", "model"), "onnx": ("onnxruntime", "session")}
NAMES = {"rushlight": "rushlight compiled", "eager": "torch eager", "compile": "torch compiled", "onnx": "ONNX Runtime"}
FIXED = ("compile", "onnx")  # made for one number of threads
KINDS = ("training", "inference")
LIMITS = {"training": 0.85, "inference": 1.0}  # of the best of the others, at the most threads
HERE = pathlib.Path(__file__)


# -- the child ---------------------------------------------------------------------------------------------------


def child(peer: str, case: str, kind: str, threads: int, dtype: str, profile: bool) -> None:
    """Make a case and answer requests, a line for each: ``time THREADS SECONDS``, ``disturbed THREADS SECONDS``, ``profile THREADS SECONDS``."""
    name, form = PEERS[peer]
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    if name == "onnxruntime":
        session(case, threads, output)
        return
    package = importlib.import_module(name)
    package.set_num_threads(threads)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    made = seeded(package, {**CASES, **LARGE}[case])
    if dtype == "bfloat16":
        made = in_bfloat16(package, made)
    if peer == "rushlight" and kind == "inference":
        form = "model"
    with timed_steps() if profile else contextlib.nullcontext():
        function = runner(package, form, kind, made)
        start = time.perf_counter()
        first = function()
        function()
        seconds = time.perf_counter() - start
    value = float(first.detach().reshape(-1)[0]) if hasattr(first, "detach") else 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(json.dumps({"first": seconds, "value": value, "peak": peak / 1024}), file=output, flush=True)
    for request in sys.stdin:
        what, count, budget = request.split()
        package.set_num_threads(int(count))
        if what == "profile":
            found: Any = profiled(function, made[0], float(budget))
        else:
            found = {"time": (disturbed if what == "disturbed" else time_of)(function, float(budget))}
        print(json.dumps(found), file=output, flush=True)


def session(case: str, threads: int, output: Any) -> None:
    """Answer requests with times of ONNX Runtime, on the model as rushlight exports it."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        function = onnx_runtime({**CASES, **LARGE}[case], folder, threads)
        value = float(function().reshape(-1)[0])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"first": time.perf_counter() - start, "value": value, "peak": peak}), file=output, flush=True)
        for request in sys.stdin:
            _, _, budget = request.split()
            print(json.dumps({"time": time_of(function, float(budget))}), file=output, flush=True)


def in_bfloat16(package: Any, made: Any) -> Any:
    """A case under autocast."""
    model, inputs, target, loss = made
    plain = model.forward

    def forward(*args: Any) -> Any:
        with package.autocast("cpu", package.bfloat16):
            return plain(*args)

    model.forward = forward
    return model, inputs, target, lambda out, target: loss(out.float(), target)


@contextlib.contextmanager
def timed_steps() -> Iterator[None]:
    """Programs that are compiled inside measure their steps."""
    from rushlight.backends import native

    with native.timed():
        yield


def profiled(function: Callable[[], Any], model: Any, budget: float) -> Any:
    """The microseconds of each step of all programs of this process, for one call."""
    import gc

    from rushlight.backends.native.executable import CompiledSchedule

    programs = [each for each in gc.get_objects() if isinstance(each, CompiledSchedule) and each.clocks is not None]
    function()
    for each in programs:
        each.clocks.found[:] = [0] * len(each.clocks.found)
    start, calls = time.perf_counter(), 0
    while not calls or time.perf_counter() < start + budget:
        function()
        calls += 1
    whole = (time.perf_counter() - start) / calls
    steps = []
    for number, each in enumerate(programs):
        for step in each.schedule.steps:
            nanoseconds, times = each.clocks.found[2 * each.clocks.places[id(step)] :][:2] if id(step) in each.clocks.places else (0, 0)
            if times:
                steps.append([f"{number}: {step}", nanoseconds / calls / 1e3])
    return {"whole": whole * 1e6, "steps": steps}


# -- the parent --------------------------------------------------------------------------------------------------


class Child:
    """A process that measures one case in one package and form."""

    def __init__(self, peer: str, case: str, kind: str, threads: int, dtype: str, profile: bool = False) -> None:
        progress(f"{case}, {kind}: the first calls of {peer}")
        self.name = f"{peer} {case} {kind}"
        command = [sys.executable, str(HERE), "--child", peer, case, kind, str(threads), dtype, str(int(profile))]
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": str(threads),
            "PYTHONPATH": os.pathsep.join([str(HERE.parent.parent), os.environ.get("PYTHONPATH", "")]),
        }
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self.begun = self.answer()

    def answer(self) -> Any:
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        if not said:
            raise RuntimeError(f"{self.name} ended with {self.process.wait()}")
        return json.loads(said)

    def ask(self, what: str, threads: int, seconds: float) -> Any:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{what} {threads} {seconds}\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def children(
    peers: list[str], case: str, kind: str, counts: list[int], dtype: str, profile: bool = False
) -> Iterator[dict[tuple[str, int], Child]]:
    """The children of a case, by peer and number of threads; one that can't run is left out with a word."""
    found: dict[tuple[str, int], Child] = {}
    try:
        for peer in peers:
            try:
                if peer in FIXED:
                    found.update({(peer, count): Child(peer, case, kind, count, dtype) for count in counts})
                else:
                    one = Child(peer, case, kind, max(counts), dtype, profile)
                    found.update({(peer, count): one for count in counts})
            except RuntimeError as error:
                print(error, file=sys.stderr)
        yield found
    finally:
        for each in set(found.values()):
            each.close()


def measure(case: str, kind: str, peers: list[str], counts: list[int], dtype: str, rounds: int, budget: float) -> dict[str, Any]:
    """The best times of all, over interleaved rounds; with what the first calls took and the peak of memory."""
    if kind == "training" or dtype != "float32":
        peers = [each for each in peers if each != "onnx"]
    with children(peers, case, kind, counts, dtype) as found:
        times: dict[tuple[str, int], list[float]] = {key: [] for key in found}
        for _ in range(rounds):
            for (peer, count), each in found.items():
                times[peer, count].append(each.ask("time", count, budget)["time"])
        begun = {peer: found[peer, count].begun for peer, count in found}
    best = {f"{peer} {count}": min(each) for (peer, count), each in times.items()}
    return {"case": case, "kind": kind, "dtype": dtype, "times": best, "begun": begun}


def rows(found: dict[str, Any], peers: list[str], counts: list[int]) -> list[str]:
    """The rows of a case: a number of threads each."""
    made, times = [], found["times"]
    for count in counts:
        own = [times.get(f"{peer} {count}") for peer in peers]
        speedups = [f"{first / now:.1f}" if now and (first := times.get(f"{peer} {counts[0]}")) else "–" for peer, now in zip(peers, own)]
        best = min((each for peer, each in zip(peers, own) if each and peer != "rushlight"), default=None)
        ratio = f"{own[0] / best:.2f}" if best and own[0] and peers[0] == "rushlight" else "–"
        missed = "**missed**" if ratio != "–" and count == counts[-1] and count > 2 and float(ratio) > LIMITS[found["kind"]] else ""
        made.append(line(f"{found['case']}, {found['kind']}", str(count), *map(cell, own), ratio, " / ".join(speedups), missed))
    return made


def profile_rows(case: str, kind: str, counts: list[int], dtype: str, budget: float, most: int = 40) -> list[str]:
    """The steps of the compiled program that take longest at the most threads, with how much they gain from them."""
    with children(["rushlight"], case, kind, counts, dtype, True) as found:
        answers = {count: found["rushlight", count].ask("profile", count, budget) for count in reversed(counts)}
    first, last = answers[counts[0]], answers[counts[-1]]
    alone = dict(map(tuple, first["steps"]))
    groups: dict[str, list[float]] = {}
    for name, spent in last["steps"]:
        key = " ".join(name.partition(": ")[2].split())[:150]
        kept = groups.setdefault(key, [0, 0.0, 0.0])
        kept[0], kept[1], kept[2] = kept[0] + 1, kept[1] + alone.get(name, 0.0), kept[2] + spent
    made = [
        f"\n{case}, {kind}: whole {first['whole']:.0f} µs on {counts[0]} threads, {last['whole']:.0f} on {counts[-1]}; in steps {sum(alone.values()):.0f}, {sum(each for _, each in last['steps']):.0f}"
    ]
    made += [f"{'count':>6}{counts[0]:>10} thr{counts[-1]:>10} thr  gain  step"]
    for key, (count, one, many) in sorted(groups.items(), key=lambda each: -each[1][2])[:most]:
        made.append(f"{count:>6}{one:>14.0f}{many:>14.0f}{one / max(many, 0.1):>6.1f}  {key}")
    return made


def taken_rows(case: str, kind: str, peers: list[str], threads: int, dtype: str, budget: float) -> list[str]:
    """What calls take while another process keeps a core busy, and while a second process does the same as this one."""
    made = []
    for peer in peers:
        one = Child(peer, case, kind, threads, dtype)
        other = Child(peer, case, kind, threads, dtype)
        try:
            quiet = one.ask("disturbed", threads, budget)["time"]
            with busy_core():
                busy = one.ask("disturbed", threads, budget)["time"]
            for each in (one, other):
                assert each.process.stdin is not None
                each.process.stdin.write(f"disturbed {threads} {budget}\n")
                each.process.stdin.flush()
            both = [each.answer()["time"] for each in (one, other)]
        finally:
            one.close()
            other.close()
        slower = [f"{quiet / each:.2f}" for each in both]
        made.append(line(f"{case}, {kind}, {peer}", str(threads), cell(quiet), cell(busy), f"{busy / quiet:.2f}", " / ".join(slower)))
    return made


def machine() -> str:
    """The machine, and how busy it was."""
    model = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        model = next(
            (
                text.partition(":")[2].strip()
                for text in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                if text.startswith("model name")
            ),
            model,
        )
    return (
        f"{model}, {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}, load before the run {os.getloadavg()[0]:.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default="", help=f"some of {','.join([*CASES, *LARGE])}; nothing is kept")
    parser.add_argument("--large", action="store_true", help="the larger models instead of the others")
    parser.add_argument("--threads", default="", help="numbers of threads (1,2,4,8,16, as many as there are cores)")
    parser.add_argument(
        "--peers", default=",".join(PEERS), help="who takes part: rushlight, eager, compile (PyTorch's), onnx (inference alone)"
    )
    parser.add_argument("--kinds", default=",".join(KINDS), help="training, inference")
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16"), help="bfloat16: by autocast")
    parser.add_argument("--quick", action="store_true", help="fewer rounds; nothing is kept")
    parser.add_argument("--rounds", type=int, default=0, help="how often all are measured in turn")
    parser.add_argument(
        "--profile", action="store_true", help="the steps of our compiled programs instead, at the fewest and the most threads"
    )
    parser.add_argument(
        "--taken", action="store_true", help="with a core kept busy, and with a second process like it, at the most threads"
    )
    parser.add_argument("--json", default="", help="a file for the numbers")
    parser.add_argument("--child", nargs=6, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        peer, case, kind, threads, dtype, profile = args.child
        child(peer, case, kind, int(threads), dtype, profile == "1")
        return
    cases = args.cases.split(",") if args.cases else list(LARGE if args.large else CASES)
    unknown = [each for each in cases if each not in CASES and each not in LARGE]
    if unknown:
        parser.error(f"{unknown[0]!r} is no case: they are {', '.join([*CASES, *LARGE])}")
    cores = len(os.sched_getaffinity(0))
    counts = (
        sorted(map(int, args.threads.split(","))) if args.threads else [each for each in (1, 2, 4, 8, 16, 32, 64) if each <= cores] or [1]
    )
    peers, kinds = args.peers.split(","), args.kinds.split(",")
    rounds, budget = (2, 0.15) if args.quick else (4, 0.4)
    rounds = args.rounds or rounds
    about, results = machine(), []
    if args.profile:
        head: list[str] = []
    elif args.taken:
        head = header("case", "threads", "alone", "a core taken", "slower", "speed kept by two at once")
    else:
        head = header("case", "threads", *[NAMES[each] for each in peers], "ratio", "speed-up", "")
    body = head
    print(about, *head, sep="\n", flush=True)
    for case in cases:
        for kind in kinds:
            if args.profile:
                made = profile_rows(case, kind, counts, args.dtype, 2 * budget)
            elif args.taken:
                made = taken_rows(case, kind, peers, counts[-1], args.dtype, 4 * budget)
            else:
                results.append(measure(case, kind, peers, counts, args.dtype, rounds, budget))
                made = rows(results[-1], peers, counts)
            body += made
            print("\n".join(made), flush=True)
    if results:
        print("\nfirst two calls, s / peak MB / first value: ")
        for each in results:
            print(
                f"{each['case']}, {each['kind']}: ",
                {peer: f"{one['first']:.2f} / {one['peak']:.0f} / {one['value']:.5g}" for peer, one in each["begun"].items()},
            )
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps({"machine": about, "results": results}, indent=1), encoding="utf8")
    if not (args.quick or args.cases or args.profile or args.taken or args.threads or args.dtype != "float32"):
        keep("Scaling" + (", larger models" if args.large else ""), about, "\n".join(body))


if __name__ == "__main__":
    main()
