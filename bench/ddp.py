"""A training step of a GPT with DistributedDataParallel: two processes of one thread each, beside PyTorch's with gloo.

    python bench/ddp.py [--processes 2] [--steps 20] [--torch /path/to/python]

Prints, for each, the median time of a step on the slowest process, that of one process alone with the same batch, and which share of a
step waits for gradients (rushlight).  The programs are the same; only the module that they import as ``torch`` differs.
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

ROOT = Path(__file__).resolve().parent.parent


def worker(arguments: argparse.Namespace) -> None:
    """One process: train, and print times as JSON from the first."""
    torch: Any
    if arguments.worker == "rushlight":
        import rushlight as torch
        import rushlight.distributed as dist
    else:
        import torch
        import torch.distributed as dist
    nn, F = torch.nn, torch.nn.functional
    torch.set_num_threads(1)
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
    if arguments.compiled:
        model = torch.compile(model)
    if parallel:
        model = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=arguments.bucket)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    index = torch.randint(1024, (arguments.batch, 65))
    times, losses = [], []
    for step in range(arguments.steps + 4):
        begun = time.perf_counter()
        loss = F.cross_entropy(model(index[:, :-1]).reshape(-1, 1024), index[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step >= 4:
            times.append(time.perf_counter() - begun)
    own = torch.tensor([statistics.median(times)])
    exposed = 0.0
    if parallel:
        dist.all_reduce(own, op=dist.ReduceOp.MAX)
        facts = model._get_ddp_logging_data()
        exposed = facts.get("avg_backward_comm_exposed_time", 0) / 1e9
    if not parallel or dist.get_rank() == 0:
        print("RESULT " + json.dumps({"step": own.item(), "exposed": exposed, "loss": losses[-1]}), flush=True)
    if parallel:
        dist.destroy_process_group()


def run(kind: str, python: str, processes: int, rest: list[str]) -> dict[str, float]:
    """Start the processes of one library; what the first prints."""
    command = [python, __file__, "--worker", kind, "--processes", str(processes), *rest]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    if kind == "rushlight" and processes > 1:
        from rushlight.distributed.launching import find_launcher

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
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--worker", choices=("rushlight", "torch"))
    arguments = parser.parse_args()
    if arguments.worker:
        worker(arguments)
        return
    rest = [f"--{name}={getattr(arguments, name)}" for name in ("steps", "width", "layers", "batch", "bucket")]
    kinds = [("rushlight", sys.executable, rest), ("rushlight compiled", sys.executable, [*rest, "--compiled"])]
    if arguments.torch:
        kinds.append(("torch", arguments.torch, rest))
    print(f"{'':20} {'one process':>12} {'processes: ' + str(arguments.processes):>14} {'waits':>8} {'loss':>8}")
    for name, python, options in kinds:
        alone = run(name.split()[0], python, 1, options)
        found = run(name.split()[0], python, arguments.processes, options)
        share = f"{100 * found['exposed'] / found['step']:6.1f} %" if found["exposed"] else ""
        print(f"{name:20} {1e3 * alone['step']:9.2f} ms {1e3 * found['step']:11.2f} ms {share:>8} {found['loss']:8.4f}", flush=True)


if __name__ == "__main__":
    main()
