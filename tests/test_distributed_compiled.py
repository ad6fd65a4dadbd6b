"""Compiled programs in several processes: reductions of gradients, and collectives, are nodes of their graphs."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.mpi import launch, start_ranks, write_program

RANKS = Path(__file__).parent / "ranks"


@pytest.mark.parametrize("count", [2, 3])
def test_compiled_programs_train_as_one_process_does(count) -> None:
    done = start_ranks(count, RANKS / "compiled.py", seconds=180)
    assert done.returncode == 0 and done.stdout.count("done") == count, f"{done.stdout}\n{done.stderr[-6000:]}"


def test_a_fault_inside_a_compiled_step_is_told_with_the_users_line(tmp_path) -> None:
    done = launch(2, write_program(tmp_path, """\
import time
from datetime import timedelta
import torch, torch.distributed as dist
dist.init_process_group("mpi", timeout=timedelta(seconds=2))
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

@torch.compile
def step(x):
    optimizer.zero_grad()
    loss = model(x).sum()
    loss.backward()
    optimizer.step()
    return loss

for _ in range(3):
    step(torch.ones(2, 4))
if dist.get_rank() == 1:
    time.sleep(30)
step(torch.ones(2, 4))
"""), options=("--grace", "4"))  # fmt: skip
    assert done.returncode == 1
    wanted = "all_reduce at program.py:20 on rank 0 has not ended within 2 seconds: rank 1 has not called it: it is at program.py:19"
    assert wanted in done.stderr, done.stderr
