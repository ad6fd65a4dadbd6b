"""Record a checkpoint in parts as PyTorch writes it: two processes, a tensor of which each has some rows, an optimizer's state, objects.

    PYTHONPATH=. python tests/record/checkpoints.py     # in an environment with torch 2.13

Writes tests/data/checkpoint_in_parts/.
"""

from __future__ import annotations

import pathlib
import shutil

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch.distributed.tensor import Shard, distribute_tensor

FOLDER = pathlib.Path("tests/data/checkpoint_in_parts")  # as it is, it is a part of the metadata


def work(rank: int) -> None:
    """One of the processes."""
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29577", world_size=2, rank=rank)
    mesh = dist.init_device_mesh("cpu", (2,))
    layer = torch.nn.Linear(3, 2)
    with torch.no_grad():
        for each in layer.parameters():
            each.copy_(torch.arange(float(each.numel())).reshape(each.shape))
    optimizer = torch.optim.AdamW(layer.parameters(), lr=0.5)
    layer(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    state = {
        "weight": distribute_tensor(torch.arange(35.0).reshape(7, 5), mesh, [Shard(0)]),
        "half": torch.arange(4).to(torch.bfloat16),
        "optimizer": optimizer.state_dict(),
        "epoch": 4,
        "names": ["a", "b"],
    }
    dcp.save(state, checkpoint_id=FOLDER)


if __name__ == "__main__":
    shutil.rmtree(FOLDER, ignore_errors=True)
    mp.spawn(work, nprocs=2)
    print(sum(each.stat().st_size for each in FOLDER.iterdir()), "bytes in", FOLDER)
