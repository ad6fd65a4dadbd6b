"""Hooks on the exchange of gradients, and averages of models, in four processes."""

from __future__ import annotations

import rushlight as torch
import rushlight.distributed as dist
from ranks.models import BATCH, batches, loss_of, made
from rushlight.distributed.algorithms.ddp_comm_hooks import DDPCommHookType, register_ddp_comm_hook
from rushlight.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState, post_localSGD_hook
from rushlight.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from rushlight.distributed.algorithms.model_averaging.hierarchical_model_averager import HierarchicalModelAverager
from rushlight.distributed.optim import PostLocalSGDOptimizer
from rushlight.nn.parallel import DistributedDataParallel

dist.init_process_group("mpi")
rank, size = dist.get_rank(), dist.get_world_size()
assert size == 4
OWN = slice(rank * BATCH // size, (rank + 1) * BATCH // size)
x, y = batches("mlp")[0]


def gradients(model):
    loss_of(model(x[OWN]), y[OWN]).backward()
    return torch.cat([each.grad.reshape(-1) for each in model.parameters()])


mine = gradients(made("mlp"))
mean = mine.clone()
dist.all_reduce(mean, op=dist.ReduceOp.AVG)

# The types of hooks, each against the mean; how near follows from how gradients are sent.
near = {
    "ALLREDUCE": 1e-6,
    "FP16_COMPRESS": 1e-3,
    "BF16_COMPRESS": 1e-2,
    "QUANTIZE_PER_TENSOR": 1e-2,
    "QUANTIZE_PER_CHANNEL": 1e-2,
    "NOOP": None,
}
for name, within in near.items():
    model = DistributedDataParallel(made("mlp"))
    register_ddp_comm_hook(DDPCommHookType[name], model, dist.group.WORLD)
    found = gradients(model)
    wanted = mine if within is None else mean
    assert (found - wanted).abs().max() <= (within or 1e-6) * wanted.abs().max(), (name, (found - wanted).abs().max())
for name in ("POWER_SGD", "POWER_SGD_RANK2", "BATCHED_POWER_SGD", "BATCHED_POWER_SGD_RANK2"):
    model = DistributedDataParallel(made("mlp"))
    register_ddp_comm_hook(DDPCommHookType[name], model, None)
    assert gradients(model).isfinite().all()

# Local SGD: all processes at first, then the two of a subgroup.
subgroup, _ = dist.new_subgroups(2)
model = DistributedDataParallel(made("mlp"))
model.register_comm_hook(PostLocalSGDState(None, subgroup, 1), post_localSGD_hook)
assert torch.allclose(gradients(model), mean, atol=1e-6)
model.zero_grad()
near_mean = mine.clone()
dist.all_reduce(near_mean, op=dist.ReduceOp.AVG, group=subgroup)
assert torch.allclose(gradients(model), near_mean, atol=1e-6) and not torch.allclose(near_mean, mean, atol=1e-6)

# Averages of models.
weight = torch.nn.Parameter(torch.full((3,), float(rank)))
weight.grad = torch.zeros(3)
averager = PeriodicModelAverager(period=2, warmup_steps=1)
seen = []
for _ in range(4):
    averager.average_parameters([weight])
    seen.append(weight[0].item())
    with torch.no_grad():
        weight.add_(rank)
assert seen == [rank, 1.5 + 1.5, 3 + rank, 3 + 1.5 * 2], seen
layered = HierarchicalModelAverager({2: 2, 4: 4})
weight = torch.nn.Parameter(torch.full((1,), float(rank)))
weight.grad = torch.zeros(1)
seen = []
for _ in range(4):
    layered.average_parameters([{"params": [weight]}])
    seen.append(weight.item())
    with torch.no_grad():
        weight.fill_(rank)
pair = (rank // 2) * 2 + 0.5
assert seen == [1.5, rank, pair, rank], seen

optimizer = PostLocalSGDOptimizer(torch.optim.SGD(made("mlp").parameters(), lr=0.1), PeriodicModelAverager(4))
for group in optimizer.param_groups:
    for each in group["params"]:
        each.grad = torch.full_like(each, float(rank))
optimizer.step()  # the averager's first step averages
first = optimizer.param_groups[0]["params"][0].detach().clone()
everywhere = [torch.empty_like(first) for _ in range(size)]
dist.all_gather(everywhere, first)
assert all(torch.equal(each, first) for each in everywhere)
state = optimizer.state_dict()
assert state["step"] == 1
optimizer.averager.step = 9
optimizer.load_state_dict(state)
assert optimizer.averager.step == 1 and optimizer.zero_grad() is None


def check_uneven_inputs_with_a_hook() -> None:
    for name in ("ALLREDUCE", "FP16_COMPRESS", None):  # two that exist, and one of the program
        calls = []

        def halved(_state, bucket, calls=calls):
            calls.append(bucket.buffer().numel())
            sent = dist.all_reduce(bucket.buffer() / (2 * size), async_op=True).get_future()
            return sent.then(lambda done: done.value()[0])

        model = DistributedDataParallel(torch.nn.Linear(3, 2))
        plain = torch.nn.Linear(3, 2)
        plain.load_state_dict(model.module.state_dict())
        if name is None:
            model.register_comm_hook(None, halved)
        else:
            register_ddp_comm_hook(DDPCommHookType[name], model, dist.group.WORLD)
        x = torch.arange(12.0).reshape(4, 3) / 8
        plain(x).square().sum().backward()
        with model.join():
            for at in range(1 + rank):  # processes that have ended take part with zeros, and the mean is over all
                model.zero_grad()
                model(x).square().sum().backward()
                share = (size - at) / size * (1.0 if name else 0.5)
                for mine, whole in zip(model.parameters(), plain.parameters()):
                    within = 2e-3 if name == "FP16_COMPRESS" else 1e-5
                    assert torch.allclose(mine.grad, whole.grad * share, rtol=within, atol=within)
        assert name is not None or calls == [8] * size  # those of other processes too


check_uneven_inputs_with_a_hook()


def check_hook_for_buffers() -> None:
    model = DistributedDataParallel(torch.nn.BatchNorm1d(2))
    seen = []

    def summed(state, buffers):
        seen.append((state, list(buffers)))
        return [dist.all_reduce(each, async_op=True).get_future() for each in buffers.values() if each.is_floating_point()]

    model._register_buffer_comm_hook("s", summed)
    mean = torch.tensor([1.0, 2.0]) * rank
    model(torch.stack([mean - 1, mean + 1])).sum().backward()
    assert torch.allclose(model.module.running_mean, 0.1 * torch.tensor([6.0, 12.0])), model.module.running_mean
    assert seen == [("s", ["running_mean", "running_var", "num_batches_tracked"])]


check_hook_for_buffers()
print("done", rank)
dist.destroy_process_group()
