"""DistributedDataParallel and collectives inside compiled programs: the losses of one process, with the reductions as nodes of the graphs."""

from __future__ import annotations

import sys

import rushlight as torch
import rushlight.distributed as dist
import rushlight.distributed._functional_collectives as funcol
from ranks.models import BATCH, adam, batches, loss_of, made
from rushlight.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook
from rushlight.nn.parallel import DistributedDataParallel
from rushlight.nn.parallel.reducer import Reducer

dist.init_process_group("mpi")
rank, size = dist.get_rank(), dist.get_world_size()
OWN = slice(rank * BATCH // size, (rank + 1) * BATCH // size)
SMALL = 0.001  # MB: several buckets even for small models
handed: list[int] = []  # how many gradients each node has handed over
original = Reducer.hand_over


def counted(self, indices, gradients):
    handed.append(len(indices))
    original(self, indices, gradients)


Reducer.hand_over = counted


def close(a, b, within=1e-4):
    assert torch.allclose(a, b, rtol=within, atol=within), (a - b).abs().max()


def train(step, kind, steps=5):
    return [step(x[OWN], y[OWN]).detach().clone() for x, y in batches(kind, steps)]


def stepper(call, model, optimizer):
    def step(x, y):
        optimizer.zero_grad()
        loss = loss_of(call(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def optimizer_of(kind, model):
    """Adam where gradients are not so small that rounding decides about their sign."""
    return adam(model.parameters()) if kind == "mlp" else torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def whole(kind, steps=5):
    """The model after training in one process."""
    model = made(kind)
    optimizer = optimizer_of(kind, model)
    for x, y in batches(kind, steps):
        optimizer.zero_grad()
        loss_of(model(x), y).backward()
        optimizer.step()
    return model


for kind in ("mlp", "gpt", "lstm"):
    wanted = whole(kind)
    count = len(list(wanted.parameters()))
    for mode in ("model", "wrapper", "step"):
        del handed[:]
        inner = made(kind)
        model = DistributedDataParallel(
            torch.compile(inner) if mode == "model" else inner, bucket_cap_mb=SMALL, gradient_as_bucket_view=mode != "step"
        )
        call = torch.compile(model) if mode == "wrapper" else model
        step = stepper(call, model, optimizer_of(kind, model))
        step = torch.compile(step) if mode == "step" else step
        train(step, kind)
        for a, b in zip(inner.parameters(), wanted.parameters()):
            close(a, b)
        assert len(model.reducer.buckets) > 1
        if kind != "lstm":  # an RNN's weights have users in several graphs
            assert sum(handed) >= 3 * count, (kind, mode, handed)  # from the third step on, at the latest
            assert len(handed) >= 3 * len(model.reducer.buckets)
        if kind == "mlp" and mode == "step":
            x, y = batches(kind)[0]
            told = str(torch.compiler.explain(step)(x[OWN], y[OWN]))
            assert "the order of buckets follows from the first iteration" in told
            final = told[told.index("from the beginning to the end") :]
            assert (
                final.count("reduce_gradients") >= len(model.reducer.buckets)
                and "reduced_gradients" in final
                and "begin_iteration" in final
            )

# Accumulated gradients, hooks that compress, a hook of the user's, parameters that are not used.
for name in ("no_sync", "hook", "user's hook", "kept gradients", "unused"):
    found = []
    for compiled in (False, True):
        inner = made("mlp")
        model = DistributedDataParallel(
            torch.compile(inner) if compiled else inner, bucket_cap_mb=SMALL, find_unused_parameters=name == "unused"
        )
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        if name == "hook":
            model.register_comm_hook(None, bf16_compress_hook)
        if name == "user's hook":
            inner[2].weight.register_hook(lambda gradient: gradient * 2)
        for x, y in batches("mlp", 4):
            optimizer.zero_grad(set_to_none=name != "kept gradients")
            if name == "no_sync":
                with model.no_sync():
                    loss_of(model(x[OWN]), y[OWN]).backward()
            loss_of(model(x[OWN] * 2), y[OWN]).backward()
            optimizer.step()
        found.append([each.detach().clone() for each in inner.parameters()])
    for a, b in zip(*found):
        close(a, b, 1e-2 if name == "hook" else 1e-5)

# A whole step with gradients that were there before, one without an exchange, and one of another size, in turns.
inner, plain = made("mlp"), made("mlp")
model = DistributedDataParallel(inner, bucket_cap_mb=SMALL)
optimizer, other = torch.optim.SGD(model.parameters(), lr=0.1), torch.optim.SGD(plain.parameters(), lr=0.1)
whole_step = torch.compile(stepper(model, model, optimizer))


@torch.compile
def evaluate(x):
    with torch.no_grad():
        return model(x).sum()


for number, (x, y) in enumerate(batches("mlp", 6)):
    rows = BATCH // size if number % 2 else 2
    own = slice(rank * rows, (rank + 1) * rows)
    whole_step(x[own], y[own])
    other.zero_grad()
    loss_of(plain(x[: rows * size]), y[: rows * size]).backward()
    other.step()
    close(evaluate(x), plain(x).sum(), 1e-3)
for a, b in zip(inner.parameters(), plain.parameters()):
    close(a, b)

# Collectives that write a tensor, and functional ones, in one graph.
world = dist.group.WORLD


def in_place(x):
    y = x * 2
    dist.all_reduce(y, op=dist.ReduceOp.MAX)
    parts = torch.empty(size * 4, 4)
    dist.all_gather_into_tensor(parts, y + rank)
    dist.broadcast(parts, size - 1)
    mine = torch.empty(4, 4)
    dist.reduce_scatter_tensor(mine, parts)
    moved = torch.empty(4 * size, 4)
    dist.all_to_all_single(moved, parts)
    return y.sum() + mine.sum() + moved.cos().sum()


def functional(x, w):
    y = funcol.all_reduce_autograd(x * 2, "sum", world)
    z = funcol.all_gather_tensor_autograd(x @ w, 1, world)
    return y.sin().sum() + z.cos().sum()


def of_rank(seed):
    return torch.randn(4, 4, generator=torch.Generator().manual_seed(seed))


x, w = of_rank(rank).requires_grad_(), of_rank(99)
wanted = functional(x, w)
(gradient,) = torch.autograd.grad(wanted, x)
compiled, written = torch.compile(functional, fullgraph=True), torch.compile(in_place, fullgraph=True)
for _ in range(3):
    made_now = compiled(x, w)
    close(made_now, wanted)
    close(torch.autograd.grad(made_now, x)[0], gradient)
    close(written(x.detach()), in_place(x.detach()))
print("done", rank)
sys.stdout.flush()
dist.destroy_process_group()
