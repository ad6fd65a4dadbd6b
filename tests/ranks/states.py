"""States of sharded models and their optimizers: saved by some processes, loaded by others, handed around whole; and rules of distributed tensors."""

from __future__ import annotations

import sys
from pathlib import Path

import rushlight as torch
import rushlight.distributed as dist
import rushlight.distributed.checkpoint as dcp
from rushlight import nn
from rushlight.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
    set_state_dict,
)
from rushlight.distributed.fsdp import fully_shard
from rushlight.distributed.tensor import Partial, Replicate, Shard, distribute_tensor, init_device_mesh

dist.init_process_group("mpi")
folder, what = Path(sys.argv[1]), sys.argv[2]


def made() -> tuple[nn.Module, torch.optim.Optimizer]:
    model = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 3))
    with torch.no_grad():
        for at, each in enumerate(model.parameters()):
            each.copy_(torch.sin(torch.arange(each.numel()).reshape(each.shape) + at))
    fully_shard(model)
    return model, torch.optim.AdamW(model.parameters(), lr=0.01)


def step(model: nn.Module, optimizer: torch.optim.Optimizer, turn: int) -> None:
    model(torch.cos(torch.arange(20.0).reshape(4, 5) + turn)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


class App:
    """What is saved, as training loops have it."""

    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        self.model, self.optimizer = model, optimizer

    def state_dict(self):
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optimizer": optimizer}

    def load_state_dict(self, state):
        set_state_dict(self.model, self.optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])


def weights(model: nn.Module) -> list[torch.Tensor]:
    return [each.full_tensor().detach() for each in model.parameters()]


if what == "save":
    model, optimizer = made()
    step(model, optimizer, 0)
    step(model, optimizer, 1)
    dcp.save({"app": App(model, optimizer)}, checkpoint_id=folder / "checkpoint")
    whole = StateDictOptions(full_state_dict=True, cpu_offload=True)
    given = get_model_state_dict(model, options=whole), get_optimizer_state_dict(model, optimizer, options=whole)
    before = {name: value.clone() for name, value in given[1]["state"]["0.weight"].items()} if given[1] else {}
    other, its_optimizer = made()  # has not stepped
    sent = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    set_model_state_dict(other, given[0], options=sent)
    set_optimizer_state_dict(other, its_optimizer, given[1], options=sent)
    step(model, optimizer, 2)
    step(other, its_optimizer, 2)
    assert all(torch.allclose(a, b, rtol=1e-6) for a, b in zip(weights(model), weights(other)))
    for name, value in before.items():  # it is the caller's
        assert torch.equal(given[1]["state"]["0.weight"][name], value), name
    flat = get_optimizer_state_dict(model, optimizer, options=StateDictOptions(flatten_optimizer_state_dict=True))
    assert flat["param_groups.2.bias.lr"] == 0.01 and flat["state.0.weight.step"].item() == 3
    set_optimizer_state_dict(other, its_optimizer, flat, options=StateDictOptions(flatten_optimizer_state_dict=True))
    reached = weights(model)
    if dist.get_rank() == 0:
        torch.save(reached, folder / "reached.pt")
else:
    model, optimizer = made()
    dcp.load({"app": App(model, optimizer)}, checkpoint_id=folder / "checkpoint")
    step(model, optimizer, 2)
    for found, wanted in zip(weights(model), torch.load(folder / "reached.pt")):
        assert torch.allclose(found, wanted, rtol=1e-5, atol=1e-6), (found, wanted)

mesh = init_device_mesh("cpu", (dist.get_world_size(),))
plain = torch.sin(torch.arange(24.0)).reshape(6, 4)
identity = distribute_tensor(torch.eye(4), mesh, [Replicate()])
index = distribute_tensor(torch.zeros(6, 1, dtype=torch.int64), mesh, [Replicate()])
rows = distribute_tensor(torch.tensor([0, 2]), mesh, [Replicate()])
for dim in (0, 1):
    x = distribute_tensor(plain, mesh, [Shard(dim)])
    for name, call, kept in (
        ("topk", lambda x: x.topk(2, 1)[0], Shard(0)), ("sort", lambda x: x.sort(0)[1], Shard(1)), ("cumsum", lambda x: x.cumsum(0), Shard(1)),
        ("flip", lambda x: x.flip(1), Shard(0)), ("argmax", lambda x: x.argmax(1), Shard(0)), ("max", lambda x: x.max(0)[0], Shard(0)),
        ("logsumexp", lambda x: x.logsumexp(1, keepdim=True), Shard(0)), ("stack", lambda x: torch.stack([x, x], 1), Shard(2 * dim)),
        ("index_select", lambda x: x.index_select(0, rows if hasattr(x, "full_tensor") else rows.full_tensor()), Shard(1)),
        ("addmm", lambda x: torch.addmm(x.sum(0), x, identity if hasattr(x, "full_tensor") else torch.eye(4)), (Partial(), Shard(1))[dim]),
        ("gather", lambda x: x.gather(1, index if hasattr(x, "full_tensor") else index.full_tensor()), Shard(0)),
    ):  # fmt: skip
        found = call(x)
        assert torch.allclose(found.full_tensor(), call(plain)), (name, dim)
        split = name in ("stack", "addmm") or (dim == 1) == (name in ("sort", "cumsum", "max", "index_select"))
        assert found.placements == ((kept,) if split else (Replicate(),)), (name, dim, found.placements)
print("done")
