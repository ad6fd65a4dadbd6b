"""All-reduce between processes: ours against mpi4py's own call on the same buffers, and against PyTorch's gloo.

    python bench/distributed.py [--processes 2] [--torch-python PYTHON]

The first two run in the same processes, in turns, so that both see the same machine; gloo runs in processes of its own, of the Python that has
PyTorch (this one, unless another is named), before and after.  Times are medians of all rounds, in microseconds a call.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

sys.path.insert(0, os.path.dirname(__file__))
from tables import keep

SIZES = [1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 28]
ROUNDS = 7


def calls(size: int) -> int:
    """How many calls a round has: less for large arrays."""
    return max(1, min(200, (16 << 20) // size))


def measured(functions: dict[str, Callable[[], object]], size: int, meet: Callable[[], object]) -> dict[str, list[float]]:
    """The times a call of each function, measured in turns, in microseconds."""
    found: dict[str, list[float]] = {name: [] for name in functions}
    for turn in range(ROUNDS if size < 1 << 26 else 3):
        names = list(functions)
        for name in names if turn % 2 else reversed(names):
            call = functions[name]
            call()
            meet()
            begun = time.perf_counter()
            for _ in range(calls(size)):
                call()
            found[name].append((time.perf_counter() - begun) / calls(size) * 1e6)
    return found


def ours() -> None:
    """In each of the processes that mpiexec has started: our all_reduce and mpi4py's."""
    import numpy as np

    import rushlight as torch
    import rushlight.distributed as dist

    dist.init_process_group("mpi")
    from mpi4py import MPI

    for size in SIZES:
        array = np.ones(size // 4, np.float32)
        tensor = torch.from_numpy(array)
        functions = {
            "rushlight": lambda tensor=tensor: dist.all_reduce(tensor),
            "mpi4py": lambda array=array: MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, array),
        }
        found = measured(functions, size, MPI.COMM_WORLD.Barrier)
        if dist.get_rank() == 0:
            print(json.dumps({"size": size, **found}), flush=True)
    dist.destroy_process_group()


def gloo() -> None:
    """In each of the processes with PyTorch."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for size in SIZES:
        tensor = torch.ones(size // 4)
        found = measured({"gloo": lambda tensor=tensor: dist.all_reduce(tensor)}, size, dist.barrier)
        if dist.get_rank() == 0:
            print(json.dumps({"size": size, **found}), flush=True)
    dist.destroy_process_group()


def has_torch(python: str, environment: dict[str, str]) -> bool:
    """Whether a Python can import PyTorch."""
    try:
        return not subprocess.run([python, "-c", "import torch"], capture_output=True, env=environment, check=False).returncode
    except OSError:
        return False


def take(lines: str, times: dict[int, dict[str, list[float]]]) -> None:
    """Add the times that a process has printed."""
    for row in [json.loads(line) for line in lines.splitlines() if line.startswith("{")]:
        held = times.setdefault(row.pop("size"), {})
        for name, each in row.items():
            held.setdefault(name, []).extend(each)


def run_gloo(options: argparse.Namespace, environment: dict[str, str], times: dict[int, dict[str, list[float]]]) -> None:
    """Measure gloo in processes of its own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {
        **environment, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(options.processes), "PYTHONPATH": ""
    }  # fmt: skip
    command = [options.torch_python, "-P", __file__, "--part", "gloo"]
    started = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**environment, "RANK": str(rank)})
        for rank in range(options.processes)
    ]
    take([process.communicate()[0] for process in started][0], times)


def main() -> None:
    """Run both, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--torch-python", default=os.environ.get("TORCH_PYTHON", sys.executable))
    parser.add_argument("--repeats", type=int, default=2, help="how often the processes are started")
    parser.add_argument("--keep", action="store_true", help="keep the table in bench/RESULTS.md")
    parser.add_argument("--part", choices=("ours", "gloo"))
    options = parser.parse_args()
    if options.part:
        return {"ours": ours, "gloo": gloo}[options.part]()
    from rushlight.distributed.launcher_path import find_launcher

    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [find_launcher(), "-n", str(options.processes), sys.executable, "-P", __file__, "--part", "ours"]
    times: dict[int, dict[str, list[float]]] = {}
    peer = has_torch(options.torch_python, environment)
    if not peer:
        print("gloo: no PyTorch in", options.torch_python, file=sys.stderr)
    for _ in range(options.repeats):
        if peer:
            run_gloo(options, environment, times)
        take(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment).stdout, times)
    table = {size: {name: statistics.median(each) for name, each in row.items()} for size, row in sorted(times.items())}
    lines = ["| bytes | rushlight | mpi4py | ratio | gloo | ratio |", "|---|---|---|---|---|---|"]
    print(f"all_reduce, float32, {options.processes} processes, microseconds a call")
    print(f"{'bytes':>12} {'rushlight':>12} {'mpi4py':>12} {'ratio':>7} {'gloo':>12} {'ratio':>7}")
    for size, row in table.items():
        gloo_time = row.get("gloo", float("nan"))
        cells = (row["rushlight"], row["mpi4py"], row["rushlight"] / row["mpi4py"], gloo_time, row["rushlight"] / gloo_time)
        print(f"{size:>12} {cells[0]:>12.1f} {cells[1]:>12.1f} {cells[2]:>7.2f} {cells[3]:>12.1f} {cells[4]:>7.2f}")
        lines.append(f"| {size} | {cells[0]:.1f} | {cells[1]:.1f} | {cells[2]:.2f} | {cells[3]:.1f} | {cells[4]:.2f} |")
    if options.keep:
        about = (
            f"`all_reduce` of float32 in {options.processes} processes of one thread, in microseconds a call, against mpi4py's own call on the same buffers "
            f"and PyTorch's gloo; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
        )
        keep("Distributed", about, "\n".join(lines), "Times are medians of interleaved rounds.")


if __name__ == "__main__":
    main()
