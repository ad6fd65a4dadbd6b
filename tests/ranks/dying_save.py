"""A process that is killed in the middle of a save; or, with other arguments, processes that load what is left."""

from __future__ import annotations

import os
import signal
import sys
from datetime import timedelta

import rushlight as torch
import rushlight.distributed as dist
import rushlight.distributed.checkpoint as dcp
from rushlight.distributed.checkpoint.filesystem import FileSystemWriter
from rushlight.distributed.tensor import Shard, distribute_tensor

folder, task = sys.argv[1:]
dist.init_process_group("mpi", timeout=timedelta(seconds=3))
mesh = dist.init_device_mesh("cpu", (dist.get_world_size(),))
whole = torch.arange(35.0).reshape(7, 5)


class Dying(FileSystemWriter):
    """Writes half of its file, and is killed."""

    def write_items(self, rank, save_id, items):
        """Half of the items."""
        if rank == 1:
            super().write_items(rank, save_id, items[: len(items) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return super().write_items(rank, save_id, items)


def state(factor: float, number: int):
    return {"weight": distribute_tensor(whole * factor, mesh, [Shard(0)]), "all": torch.full((3,), factor), "number": number}


if task == "save":
    dcp.save(state(1.0, 1), checkpoint_id=folder)
    print("saved", flush=True)
    dcp.save(state(2.0, 2), storage_writer=Dying(folder))
    print("not reached")
else:
    found = state(0.0, 0)
    dcp.load(found, checkpoint_id=folder)
    assert torch.equal(found["weight"].full_tensor(), whole) and found["all"].tolist() == [1, 1, 1] and found["number"] == 1
    dcp.save(state(3.0, 3), checkpoint_id=folder)
    dcp.load(found, checkpoint_id=folder)
    assert torch.equal(found["weight"].full_tensor(), whole * 3) and found["number"] == 3
    print("loaded")
