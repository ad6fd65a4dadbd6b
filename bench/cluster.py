"""Time per training step on 8 to 100,000 processes, from latency, bandwidth and speed: a small simulator.

    python bench/cluster.py                          # tables for a cluster of GPUs, and for one of CPUs
    python bench/cluster.py --measure                # latency and bandwidth of MPI on this machine instead
    python bench/cluster.py --model 7e9 --machine gpu --strategy fsdp

A step is simulated bucket by bucket: backward makes buckets of gradients ready one after the other, one channel carries them in that order, and
what is not carried when backward ends is exposed.  A message of n bytes takes ``latency + n / bandwidth``; collectives are rings, trees,
or rings within machines with a ring between them, whichever is fastest.  Processes differ a little in speed, and a step waits for the slowest.
A star marks what does not fit into the memory of a process.  ``docs/guides/scaling.md`` explains the model and reads the tables.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
from dataclasses import dataclass, replace

COUNTS = (8, 64, 512, 4096, 32768, 100_000)


@dataclass(frozen=True)
class Machine:
    """Where the processes run: how fast each computes, and how messages travel within a machine and between machines."""

    name: str
    flops: float  # a second and process, as a training step reaches it
    memory: float  # bytes a process
    local: int  # processes a machine
    near: tuple[float, float]  # seconds of latency and bytes a second within a machine
    far: tuple[float, float]  # between machines, for each process
    jitter: float = 0.02  # standard deviation of a process's time, as a part of it


MACHINES = {
    "gpu": Machine("8 GPUs a machine, 400 Gb/s each between machines", 4e14, 80e9, 8, (5e-6, 2.5e11), (1.2e-5, 4.5e10)),
    "cpu": Machine("16 cores a machine, a process for 2 of them, 100 Gb/s a machine", 6e10, 8e9, 8, (3e-6, 2e9), (2e-5, 1.5e9)),
}


@dataclass(frozen=True)
class Model:
    """A transformer: parameters, layers, width, and tokens a process has in a step."""

    parameters: float
    layers: int
    width: int
    tokens: int

    @staticmethod
    def of(parameters: float, tokens: int) -> Model:
        """A model of usual proportions: parameters are 12 layers width squared, and width is 100 times the layers or so."""
        layers = max(4, round((parameters / (12 * 128**2)) ** (1 / 3)))
        return Model(parameters, layers, round(math.sqrt(parameters / (12 * layers))), tokens)


def ring(size: float, count: int, link: tuple[float, float]) -> float:
    """All-reduce around a ring: 2 (n - 1) steps, each with an n-th of the data."""
    return 2 * (count - 1) * (link[0] + size / count / link[1]) if count > 1 else 0.0


def tree(size: float, count: int, link: tuple[float, float]) -> float:
    """All-reduce by halving and doubling: 2 log2(n) steps, of together twice the data."""
    return 2 * math.ceil(math.log2(count)) * link[0] + 2 * size / link[1] if count > 1 else 0.0


def all_reduce(size: float, count: int, machine: Machine) -> float:
    """The fastest of a ring, a tree, and a ring in each machine with one between machines."""
    if count <= machine.local:
        return min(ring(size, count, machine.near), tree(size, count, machine.near))
    machines = math.ceil(count / machine.local)
    part = size / machine.local  # each process of a machine carries its part to the other machines
    layered = ring(size, machine.local, machine.near) + min(ring(part, machines, machine.far), tree(part, machines, machine.far))
    return min(ring(size, count, machine.far), tree(size, count, machine.far), layered)


def half(size: float, count: int, machine: Machine) -> float:
    """All-gather or reduce-scatter: half of an all-reduce."""
    return all_reduce(size, count, machine) / 2


def slowest(seconds: float, count: int, machine: Machine) -> float:
    """What the slowest of n processes takes, where each has the same mean and a normal deviation."""
    return seconds * (1 + machine.jitter * math.sqrt(2 * math.log(max(2, count))))


def overlapped(buckets: int, backward: float, carry: float) -> float:
    """Seconds of communication after the end of backward: bucket i is ready at (i + 1) / n of it, one is carried at a time."""
    free = 0.0
    for each in range(buckets):
        free = max(free, backward * (each + 1) / buckets) + carry
    return free - backward


@dataclass(frozen=True)
class Step:
    """The time of a step, what of it is communication that nothing hides, and the memory of a process."""

    seconds: float
    exposed: float
    memory: float


def simulate(strategy: str, model: Model, count: int, machine: Machine) -> Step:
    """A step of a strategy on a number of processes; gradients and activations have two bytes, optimizer state twelve a parameter."""
    parts = min(count, machine.local) if strategy == "tp" else 1  # tensor parallel within a machine, data parallel between machines
    groups = count // parts
    work = 6 * model.parameters * model.tokens / machine.flops
    forward, backward = work / 3, 2 * work / 3
    gradients = 2 * model.parameters / parts
    buckets = max(1, min(model.layers, round(gradients / 25e6)))
    exposed = 0.0
    if strategy == "tp":  # two all-reduces of activations in each layer, forward and backward, which nothing hides; all share the batch
        exposed += 4 * model.layers * all_reduce(2.0 * model.tokens * parts * model.width, parts, machine)
        exposed += overlapped(buckets, backward, all_reduce(gradients / buckets, groups, replace(machine, local=1)))
        memory = 16 * model.parameters / parts
    elif strategy == "fsdp":  # a layer is gathered while the one before computes, forward and backward; gradients are scattered
        layer = 2 * model.parameters / model.layers
        gather, scatter = half(layer, count, machine), half(layer, count, machine)
        exposed += gather + (model.layers - 1) * max(0.0, gather - forward / model.layers)
        exposed += gather + scatter + (model.layers - 1) * max(0.0, gather + scatter - backward / model.layers)
        memory = 16 * model.parameters / count + 4 * layer
    else:  # dp: gradients are all-reduced; zero: the same bytes, but the half that gathers parameters waits for the optimizer
        carry = all_reduce if strategy == "dp" else half
        exposed += overlapped(buckets, backward, carry(gradients / buckets, count, machine))
        if strategy == "zero":
            exposed += buckets * half(gradients / buckets, count, machine)
        memory = (16 if strategy == "dp" else 4 + 12 / count) * model.parameters
    return Step(slowest(work, count, machine) + exposed, exposed, memory)


def measure(count: int = 2) -> tuple[float, float]:
    """Latency and bandwidth of MPI between processes of this machine."""
    program = (
        "from mpi4py import MPI; import numpy as np, time\nc = MPI.COMM_WORLD\n"
        "def t(x, n):\n    best = 1e9\n    for _ in range(5):\n        c.Barrier(); s = time.perf_counter()\n"
        "        for _ in range(n): c.Allreduce(MPI.IN_PLACE, x)\n        best = min(best, (time.perf_counter() - s) / n)\n    return best\n"
        "small, large = t(np.ones(2, 'f4'), 200), t(np.ones(1 << 24, 'f4'), 2)\n"
        "if c.rank == 0: print(small / 2, (1 << 26) / large)\n"
    )
    from rushlight.distributed.launcher_path import find_launcher

    found = subprocess.run([find_launcher(), "-n", str(count), sys.executable, "-c", program], capture_output=True, text=True, check=True)
    latency, bandwidth = map(float, found.stdout.split())
    return latency, bandwidth


def table(machine: Machine, parameters: float, tokens: int, strategies: list[str], shared: bool) -> None:
    """Print seconds a step, efficiency and memory; the efficiency is the part of a step that is not communication or waiting.

    ``tokens`` are those of each process, or of all together where the batch is ``shared``.
    """
    print(
        f"\n{machine.name}; {parameters:.3g} parameters; {tokens} tokens a step "
        + ("for all processes together" if shared else "for each process")
    )
    print(f"{'processes':>10}" + "".join(f"{each:>28}" for each in strategies))
    stops: dict[str, int] = {}
    for count in COUNTS:
        model = Model.of(parameters, max(1, tokens // count) if shared else tokens)
        alone = 6 * model.parameters * model.tokens / machine.flops
        cells = []
        for strategy in strategies:
            step = simulate(strategy, model, count, machine)
            fits = "" if step.memory <= machine.memory else "*"
            cells.append(f"{step.seconds:>10.2g} s {alone / step.seconds:>6.1%} {step.memory / 1e9:>5.1f}GB{fits:1}")
            if alone / step.seconds < 0.5:
                stops.setdefault(strategy, count)
        print(f"{count:>10}" + "".join(f"{each:>28}" for each in cells))
    for strategy in strategies:
        print(
            f"{strategy}: "
            + (f"less than half of a step is work from {stops[strategy]} processes on" if strategy in stops else "pays throughout")
        )


def main() -> None:
    """Print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=float, action="append", metavar="PARAMETERS", help="parameters of the model (1.3e8 and 7e9)")
    parser.add_argument("--tokens", type=int, default=4096, help="tokens a process has in a step, where it has its own (4096)")
    parser.add_argument("--batch", type=int, default=1 << 22, help="tokens of a step where all processes share them (4194304)")
    parser.add_argument("--machine", choices=MACHINES, action="append", help="where it runs (both)")
    parser.add_argument("--strategy", choices=("dp", "zero", "fsdp", "tp"), action="append", help="how the work is shared (all)")
    parser.add_argument("--measure", action="store_true", help="measure latency and bandwidth within this machine")
    options = parser.parse_args()
    for name in options.machine or MACHINES:
        machine = MACHINES[name]
        if options.measure:
            machine = replace(machine, near=measure(), name=f"{machine.name}, within a machine as measured here")
            print(f"measured: latency {machine.near[0] * 1e6:.1f} microseconds, {machine.near[1] / 1e9:.2f} GB/s")
        for parameters in options.model or ([1.3e8, 7e9] if name == "gpu" else [1e7, 1.3e8]):
            strategies = options.strategy or ["dp", "zero", "fsdp", "tp"]
            table(machine, parameters, options.tokens, strategies, False)
            table(machine, parameters, options.batch, strategies, True)


if __name__ == "__main__":
    main()
