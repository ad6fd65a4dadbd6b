"""A model in stages, one for each process: its losses and gradients are those of the whole model."""

from __future__ import annotations

import rushlight as torch
import rushlight.distributed as dist
from rushlight import nn
from rushlight.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe, SplitPoint, pipe_split, pipeline
from rushlight.distributed.pipelining.schedules import get_schedule_class

dist.init_process_group("mpi")
rank, size = dist.get_rank(), dist.get_world_size()


def layers(count=size):
    torch.manual_seed(3)
    return [nn.Sequential(nn.Linear(6, 6), nn.Tanh()) for _ in range(count)]


def loss_fn(output, target):
    return (output - target).square().mean()


torch.manual_seed(5)
x, y = torch.randn(12, 6), torch.randn(12, 6)
for kind in (ScheduleGPipe, Schedule1F1B):
    whole = nn.Sequential(*layers())
    expected = whole(x)
    loss_fn(expected, y).backward()
    mine = layers()[rank]
    schedule = kind(PipelineStage(mine, rank, size, "cpu"), 6, loss_fn)
    for _ in range(2):
        mine.zero_grad()
        losses: list = []
        if rank == 0:
            out = schedule.step(x, target=y, losses=losses) if size == 1 else schedule.step(x)
        else:
            out = schedule.step(target=y, losses=losses)
        for a, b in zip(mine.parameters(), whole[rank].parameters()):
            assert torch.allclose(a.grad, b.grad, atol=1e-6), kind
    assert (out is None) == (rank != size - 1)
    if rank == size - 1:
        assert torch.allclose(out, expected, atol=1e-6) and len(losses) == 6
        assert torch.allclose(torch.stack(losses).mean(), loss_fn(expected, y), atol=1e-6)
    evaluated = schedule.eval(*([x] if rank == 0 else []))
    assert evaluated is None or torch.allclose(evaluated, expected, atol=1e-6)
# Several stages for each process: process r of n has the stages r, r + n, ...
for name in ("Interleaved1F1B", "loopedbfs"):
    for own, count in ((2, 2 * size), (3, size)):
        whole = nn.Sequential(*layers(own * size))
        loss_fn(whole(x), y).backward()
        numbers = range(rank, own * size, size)
        mine = [layers(own * size)[number] for number in numbers]
        stages = [PipelineStage(part, number, own * size, "cpu") for part, number in zip(mine, numbers)]
        schedule = get_schedule_class(name)(stages, count, loss_fn)
        for _ in range(2):
            losses = []
            for part in mine:
                part.zero_grad()
            out = schedule.step(*([x] if rank == 0 else []), target=y, losses=losses)
        for part, number in zip(mine, numbers):
            for a, b in zip(part.parameters(), whole[number].parameters()):
                assert torch.allclose(a.grad, b.grad, atol=1e-6), (name, own, number)
        if rank == size - 1:
            assert torch.allclose(out, whole(x), atol=1e-6) and len(losses) == count
for wrong, text in ((lambda: PipelineStage(nn.Tanh(), (rank + 1) % size, size, "cpu"), "belongs to rank"),
                    (lambda: Schedule1F1B(PipelineStage(nn.Tanh(), rank, 2 * size, "cpu"), 2), "one stage for each process")):  # fmt: skip
    try:
        wrong()
        raise AssertionError(text)
    except ValueError as error:
        assert text in str(error)


class Model(nn.Module):
    """Layers of which the first result is used again by the last."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(7)
        self.layers = nn.ModuleList([nn.Linear(6, 6) for _ in range(3)])
        self.register_buffer("scale", torch.tensor(0.5))
        self.head = nn.Linear(6, 6)
        self.marked = False

    def forward(self, x):
        first = self.layers[0](x)
        value = self.layers[1](first.tanh()) * self.scale
        if self.marked:
            pipe_split()
        return self.head(self.layers[2](value).tanh() + first + x)


if size in (2, 3):
    spec = {"layers.1": SplitPoint.BEGINNING} if size == 2 else {"layers.0": SplitPoint.END, "layers.2": SplitPoint.BEGINNING}
    for marked in (False, True):
        if marked and size == 3:
            continue
        whole = Model()
        expected = whole(x)
        loss_fn(expected, y).backward()
        model = Model()
        model.marked = marked
        pipe = pipeline(model, (x[:2],), split_spec=None if marked else spec)
        assert pipe.num_stages == size and torch.allclose(pipe(x[:2])[0], expected[:2], atol=1e-6)
        names = [list(dict(pipe.get_stage_module(at).named_parameters())) for at in range(size)]
        assert sorted(sum(names, [])) == sorted(dict(whole.named_parameters())), names
        assert "layers.1.weight" in names[0 if marked else 1], names
        schedule = Schedule1F1B(pipe.build_stage(rank, "cpu"), 6, loss_fn)
        out = schedule.step(x) if rank == 0 else schedule.step(target=y) if rank == size - 1 else schedule.step()
        if rank == size - 1:
            assert torch.allclose(out, expected, atol=1e-6)
        for name, each in pipe.get_stage_module(rank).named_parameters():
            assert torch.allclose(each.grad, whole.get_parameter(name).grad, atol=1e-6), name
    try:
        pipeline(Model(), (x[:2],), split_spec={"layers.9": SplitPoint.END})
    except AttributeError as error:
        assert "nonexistent module layers.9" in str(error), error
    else:
        raise AssertionError("a split at a module that is not there")
print("done", rank)
dist.destroy_process_group()
