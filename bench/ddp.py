"""A training step of a GPT with DistributedDataParallel: two processes of one thread each, beside PyTorch's with gloo.

    python bench/ddp.py [--processes 2] [--steps 20] [--torch /path/to/python]
    python bench/ddp.py --weak --threads 2           # 1, 2, 4 and 8 processes with the same work each

Prints, for each, the median time of a step on the slowest process, that of one process alone with the same batch, and which share of a
step waits for gradients (rushlight): on the first process, and on the one that waits least, which is the slowest: the others wait for it.  The programs are the same; only the module that they import as ``torch`` differs.  Runs are repeated in turns.
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
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from tables import keep

ROOT = Path(__file__).resolve().parent.parent
WARM = 6  # steps before those that are measured: compilation, buckets


def worker(arguments: argparse.Namespace) -> None:
    """One process: train, and print times as JSON from the first."""
    torch: Any
    if arguments.bind:  # each process on cores of its own
        rank = int(os.environ.get("PMI_RANK", os.environ.get("RANK", "0")))
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cores[rank * arguments.threads : (rank + 1) * arguments.threads])
    if arguments.worker == "rushlight":
        import rushlight as torch
        import rushlight.distributed as dist
    else:
        import torch
        import torch.distributed as dist
    nn, F = torch.nn, torch.nn.functional
    torch.set_num_threads(arguments.threads)
    parallel = arguments.processes > 1
    if parallel:
        dist.init_process_group("mpi" if arguments.worker == "rushlight" else "gloo")
    torch.manual_seed(0)

    class Block(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self, width: int, heads: int) -> None:
            super().__init__()
            self.heads, self.norm1, self.norm2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            batch, length, width = x.shape
            q, k, v = (each.view(batch, length, self.heads, -1).transpose(1, 2) for each in self.qkv(self.norm1(x)).chunk(3, -1))
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, length, width)
            x = x + self.out(mixed)
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    class GPT(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self, words: int, width: int, heads: int, layers: int) -> None:
            super().__init__()
            self.embedding, self.blocks = nn.Embedding(words, width), nn.Sequential(*(Block(width, heads) for _ in range(layers)))
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words)

        def forward(self, index: Any) -> Any:
            return self.head(self.norm(self.blocks(self.embedding(index))))

    model = GPT(1024, arguments.width, 4, arguments.layers)
    if arguments.compiled == "model":
        model = torch.compile(model)
    if parallel:
        model = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=arguments.bucket)
    if parallel and arguments.silent:
        model.register_comm_hook(None, dist.algorithms.ddp_comm_hooks.debugging_hooks.noop_hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    index = torch.randint(1024, (arguments.batch, 65))
    times, losses = [], []

    def train(index: Any) -> Any:
        loss = F.cross_entropy(model(index[:, :-1]).reshape(-1, 1024), index[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    step_once = torch.compile(train) if arguments.compiled == "step" else train
    for step in range(arguments.steps + WARM):
        begun = time.perf_counter()
        losses.append(step_once(index).item())
        if step >= WARM:
            times.append(time.perf_counter() - begun)
    own = torch.tensor([statistics.median(times)])
    exposed = least = 0.0
    if parallel:
        dist.all_reduce(own, op=dist.ReduceOp.MAX)
        facts = model._get_ddp_logging_data()
        exposed = facts.get("backward_comm_exposed_time", 0) / 1e9
        if arguments.worker == "rushlight":
            exposed = statistics.median(list(model.reducer.exposed)[WARM:]) / 1e9
            shortest = torch.tensor([exposed])
            dist.all_reduce(shortest, op=dist.ReduceOp.MIN)
            least = shortest.item()
    if not parallel or dist.get_rank() == 0:
        print("RESULT " + json.dumps({"step": own.item(), "exposed": exposed, "least": least, "loss": losses[-1]}), flush=True)
    if parallel:
        dist.destroy_process_group()


def run(kind: str, python: str, processes: int, rest: list[str]) -> dict[str, float]:
    """Start the processes of one library; what the first prints."""
    threads = next(each.partition("=")[2] for each in rest if each.startswith("--threads="))
    command = [python, "-P", __file__, "--worker", kind, "--processes", str(processes), *rest]
    environment = {**os.environ, "OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads, "PYTHONPATH": str(ROOT)}
    if kind == "rushlight" and processes > 1:
        sys.path.insert(0, str(ROOT))
        from rushlight.distributed.launcher_path import find_launcher

        done = subprocess.run(
            [find_launcher(), "-n", str(processes), *command], capture_output=True, text=True, env=environment, check=False
        )
        output, failed = done.stdout, done.stderr
    else:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        started = [
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env={**environment, "RANK": str(rank), "WORLD_SIZE": str(processes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port})
            for rank in range(processes)
        ]  # fmt: skip
        results = [each.communicate() for each in started]
        output, failed = "".join(each for each, _ in results), "".join(each for _, each in results)
    lines = [line for line in output.splitlines() if "RESULT " in line]
    if not lines:
        raise SystemExit(f"{kind} has failed:\n{failed[-3000:]}")
    return json.loads(lines[0].partition("RESULT ")[2])  # type: ignore[no-any-return]


def main() -> None:
    """Run both, and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--bucket", type=float, default=1.0)
    parser.add_argument("--torch", help="a Python with PyTorch, for comparison")
    parser.add_argument("--compiled", choices=("model", "step"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--bind", action="store_true", help="give each process cores of its own")
    parser.add_argument("--silent", action="store_true", help="exchange nothing")
    parser.add_argument("--weak", action="store_true", help="1, 2, 4 and 8 processes, each with the same batch")
    parser.add_argument("--only", help="only kinds with this in their names")
    parser.add_argument("--keep", action="store_true", help="keep the table in bench/RESULTS.md")
    parser.add_argument("--worker", choices=("rushlight", "torch"))
    arguments = parser.parse_args()
    if arguments.worker:
        worker(arguments)
        return
    rest = [f"--{name}={getattr(arguments, name)}" for name in ("steps", "width", "layers", "batch", "bucket", "threads")]
    rest += ["--bind"] if arguments.bind else []
    kinds = [("rushlight", sys.executable, rest), ("rushlight, compiled model", sys.executable, [*rest, "--compiled=model"]),
             ("rushlight, compiled step", sys.executable, [*rest, "--compiled=step"])]  # fmt: skip
    if arguments.weak:  # what the machine loses by itself, when all its cores compute
        kinds.append(("rushlight, compiled step, nothing exchanged", sys.executable, [*rest, "--compiled=step", "--silent"]))
    if arguments.torch:
        kinds.append(("torch", arguments.torch, rest))
    if arguments.only:
        kinds = [each for each in kinds if arguments.only in each[0]]
    counts = [1, 2, 4, 8] if arguments.weak else [1, arguments.processes]
    found: dict[tuple[str, int], list[dict[str, float]]] = {}
    for _ in range(arguments.repeats):
        for name, python, options in kinds:
            for count in counts[-1:] if "--silent" in options else counts:
                kind = name.split(",")[0]
                found.setdefault((name, count), []).append(run(kind, python, count, options))
    lines = [
        f"| | {' | '.join(f'{each} processes' if each > 1 else 'one process' for each in counts)} | {'efficiency | ' if arguments.weak else ''}waits | "
        "the slowest waits | loss |"
    ]
    lines.append("|---" * (len(counts) + 4 + arguments.weak) + "|")
    alone = 0.0
    for name, _, _ in kinds:
        steps = [statistics.median(each["step"] for each in found.get((name, count), ()) or [{"step": 0.0}]) for count in counts]
        alone = alone if not steps[0] else steps[0]  # what exchanges nothing is compared with what does
        waits = [statistics.median(each[kind] / each["step"] for each in found[name, counts[-1]]) for kind in ("exposed", "least")]
        last = f"{100 * alone / steps[-1]:.0f} % | " if arguments.weak else ""
        last += " | ".join(f"{100 * each:.1f} %" if waits[0] else "" for each in waits)
        loss = found[name, counts[-1]][-1]["loss"]
        lines.append(f"| {name} | {' | '.join(f'{1e3 * each:.1f} ms' if each else '' for each in steps)} | {last} | {loss:.4f} |")
    print("\n".join(lines))
    if arguments.keep:
        about = (
            f"A training step of a GPT (width {arguments.width}, {arguments.layers} layers, batch {arguments.batch} of 64 a process) with DistributedDataParallel, "
            f"processes of {arguments.threads} threads, medians of {arguments.repeats} runs of {arguments.steps} steps; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
        )
        keep("Weak scaling" if arguments.weak else "Data parallel", about, "\n".join(lines), "Runs are interleaved.")


if __name__ == "__main__":
    main()
