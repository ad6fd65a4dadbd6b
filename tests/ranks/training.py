"""Training in several processes gives the losses and parameters of one process with the whole batch; each check is a function."""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from datetime import timedelta

import rushlight as torch
import rushlight.distributed as dist
import rushlight.distributed._functional_collectives as funcol
import rushlight.distributed.checkpoint as dcp
import rushlight.nn.functional as F
from ranks.models import BATCH, Block, adam, batches, loss_of, made
from rushlight import nn
from rushlight.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from rushlight.distributed.algorithms.join import Join
from rushlight.distributed.checkpoint.state_dict import (
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from rushlight.distributed.fsdp import FullyShardedDataParallel, MixedPrecisionPolicy, StateDictType, fully_shard
from rushlight.distributed.fsdp.wrap import ModuleWrapPolicy
from rushlight.distributed.optim import ZeroRedundancyOptimizer
from rushlight.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from rushlight.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel, loss_parallel, parallelize_module
from rushlight.nn.parallel import DistributedDataParallel

dist.init_process_group("mpi", timeout=timedelta(seconds=30))
rank, size = dist.get_rank(), dist.get_world_size()
BEGUN = time.perf_counter()
OWN = slice(rank * BATCH // size, (rank + 1) * BATCH // size)


def close(a, b, within: float = 1e-5) -> None:
    a = a.full_tensor() if isinstance(a, DTensor) else a
    assert torch.allclose(a.detach(), b.detach(), rtol=within, atol=within), (a - b).abs().max()


def train(model, kind: str, part: bool, optimizer=adam, compute_loss=loss_of, own=OWN) -> list[float]:
    """The losses of a few steps, averaged over processes."""
    stepper, losses = optimizer(model.parameters()), []
    for x, y in batches(kind):
        loss = compute_loss(model(x[own] if part else x), y[own] if part else y)
        stepper.zero_grad()
        loss.backward()
        stepper.step()
        value = loss.detach().clone()
        if part:
            dist.all_reduce(value, op=dist.ReduceOp.AVG)
        losses.append(value.item())
    return losses


def same_training(kind: str, wrap, optimizer=adam, within: float = 3e-5, whole=adam, part: bool = True, compute_loss=loss_of):
    """Train with and without a wrapper; the wrapped model."""
    plain = made(kind)
    wanted = train(plain, kind, False, whole)
    model = wrap(made(kind))
    found = train(model, kind, part, optimizer, compute_loss)
    assert torch.allclose(torch.tensor(found), torch.tensor(wanted), rtol=within, atol=within), (found, wanted)
    for (name, a), b in zip(model.named_parameters(), plain.parameters()):
        a = a.full_tensor() if isinstance(a, DTensor) else a
        assert torch.allclose(a.detach(), b.detach(), rtol=2e-3, atol=2e-3), (name, (a - b).abs().max())
    return model


# -- data parallel ---------------------------------------------------------------------------------------------------


def check_models() -> None:
    for kind in ("mlp", "lstm", "gpt"):
        same_training(kind, DistributedDataParallel)
    same_training("cnn", lambda model: DistributedDataParallel(nn.SyncBatchNorm.convert_sync_batchnorm(model)))


def check_options() -> None:
    for options in (
        {"bucket_cap_mb": 0.0005},
        {"find_unused_parameters": True},
        {"static_graph": True},
        {"gradient_as_bucket_view": True, "bucket_cap_mb": 0.0005},
    ):
        model = same_training("mlp", lambda each, options=options: DistributedDataParallel(each, **options))
        facts = model._get_ddp_logging_data()
        assert facts["world_size"] == size and facts["iteration"] == 3
        assert facts["has_rebuilt_buckets"] == int("find_unused_parameters" not in options)
        if "bucket_cap_mb" in options:
            assert facts["num_buckets_reduced"] > 1


def check_reductions_start_before_backward_ends() -> None:
    model = DistributedDataParallel(made("gpt"), bucket_cap_mb=0.002)
    events = []
    model.module.embedding.weight.register_post_accumulate_grad_hook(lambda p: events.append("last gradient"))
    state = [0]

    def hook(state, bucket):
        state[0] += 1
        events.append(f"bucket {bucket.index()}")
        return default_hooks.allreduce_hook(None, bucket)

    model.register_comm_hook(state, hook)
    for x, y in batches("gpt", 2):
        events.clear()
        loss_of(model(x), y).backward()
    count = len(model.reducer.buckets)
    assert count > 4 and [each for each in events if each != "last gradient"] == [f"bucket {each}" for each in range(count)]
    assert events.index("last gradient") >= count - 1  # all buckets but the last were reduced by then


def check_no_sync_and_first_state() -> None:
    torch.manual_seed(rank)  # different parameters: those of rank 0 count
    model = DistributedDataParallel(nn.Linear(6, 3))
    plain = nn.Linear(6, 3)
    plain.load_state_dict(model.module.state_dict())
    weights = [torch.empty_like(plain.weight) for _ in range(size)]
    dist.all_gather(weights, model.module.weight.detach())
    assert all(torch.equal(each, weights[0]) for each in weights)
    (x1, y1), (x2, y2) = batches("mlp", 2)
    with model.no_sync():
        loss_of(model(x1[OWN]), y1[OWN]).backward()
    loss_of(model(x2[OWN]), y2[OWN]).backward()
    loss_of(plain(x1), y1).backward()
    loss_of(plain(x2), y2).backward()
    close(model.module.weight.grad, plain.weight.grad)
    assert list(model.state_dict()) == ["module.weight", "module.bias"]


class Branches(nn.Module):
    """One of two layers is used, or neither."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.never = (nn.Linear(6, 3) for _ in range(3))

    def forward(self, x, which):
        """The result of a layer."""
        return (self.first if which else self.second)(x)


def check_unused_parameters() -> None:
    model = DistributedDataParallel(Branches(), find_unused_parameters=True)
    x, y = batches("mlp", 1)[0]
    loss_of(model(x, rank == 0), y).backward()  # rank 0 uses the first layer, the others the second
    assert model.module.first.weight.grad is not None and model.module.second.weight.grad is not None
    assert model.module.never.weight.grad is None
    plain = Branches()
    plain.load_state_dict(model.module.state_dict())
    loss_of(plain(x, True), y).backward()
    close(model.module.first.weight.grad, plain.first.weight.grad / size)
    accumulated = DistributedDataParallel(Branches(), find_unused_parameters=True)
    accumulated.module.load_state_dict(plain.state_dict())
    for _ in range(2):  # what was used without synchronization is exchanged by the next iteration with it, which uses another layer
        accumulated.zero_grad()
        with accumulated.no_sync():
            loss_of(accumulated(x, True), y).backward()
        loss_of(accumulated(x, False), (y + rank) % 3).backward()
        close(accumulated.module.first.weight.grad, plain.first.weight.grad)
        gathered = [torch.empty(3, 6) for _ in range(size)]
        dist.all_gather(gathered, accumulated.module.second.weight.grad)
        assert all(torch.equal(each, gathered[0]) for each in gathered)
    strict = DistributedDataParallel(Branches())
    loss_of(strict(x, True), y).backward()
    try:
        strict(x, True)
    except RuntimeError as error:
        assert "Expected to have finished reduction in the prior iteration" in str(error)
        assert f"did not receive grad for rank {rank}: 2 3 4 5" in str(error)
    else:
        raise AssertionError("no error for unused parameters")
    try:
        accumulated._set_static_graph()
    except RuntimeError as error:
        assert "should be called before training loop starts" in str(error)
    else:
        raise AssertionError("a graph was declared static after it was used")


def check_buffers_are_broadcast() -> None:
    model = DistributedDataParallel(nn.BatchNorm1d(3))
    model(torch.randn(4, 3) + rank)
    model(torch.randn(4, 3) + rank)
    model.eval()
    model(torch.randn(4, 3))
    means = [torch.empty(3) for _ in range(size)]
    dist.all_gather(means, model.module.running_mean)
    assert all(torch.equal(each, means[0]) for each in means)


def check_communication_hooks() -> None:
    for hook, within in (
        (default_hooks.allreduce_hook, 1e-4),
        (default_hooks.fp16_compress_hook, 2e-2),
        (default_hooks.bf16_compress_hook, 5e-2),
    ):
        model = DistributedDataParallel(made("mlp"))
        model.register_comm_hook(None, hook)
        wanted, found = train(made("mlp"), "mlp", False), train(model, "mlp", True)
        assert torch.allclose(torch.tensor(found), torch.tensor(wanted), rtol=within), (hook.__name__, found, wanted)
    for hook in (powerSGD_hook.powerSGD_hook, powerSGD_hook.batched_powerSGD_hook):
        model = DistributedDataParallel(nn.Linear(8, 8, bias=False))
        with torch.no_grad():
            model.module.weight.zero_()
        state = powerSGD_hook.PowerSGDState(None, 2, start_powerSGD_iter=2, min_compression_rate=1.5)
        model.register_comm_hook(state, hook)
        stepper = torch.optim.SGD(model.parameters(), lr=0.2)
        torch.manual_seed(3)
        x, truth = torch.randn(BATCH * 2, 8), torch.randn(8, 8)
        own = slice(rank * 2 * BATCH // size, (rank + 1) * 2 * BATCH // size)
        for step in range(60):
            loss = (model(x[own]) - x[own] @ truth.t()).square().mean()
            if step == 0:
                first = loss.item()
            stepper.zero_grad()
            loss.backward()
            stepper.step()
        assert loss.item() < first / 4, (hook.__name__, first, loss.item())
        assert state.compression_stats()[0] > 1
        weights = [torch.empty(8, 8) for _ in range(size)]
        dist.all_gather(weights, model.module.weight.detach())
        assert all(torch.equal(each, weights[0]) for each in weights)


def check_uneven_inputs() -> None:
    model = DistributedDataParallel(made("mlp"))
    zero = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.1)
    x, y = batches("mlp", 1)[0]
    steps = 0
    with Join([model, zero], divide_by_initial_world_size=False):
        for _ in range(2 + rank):
            loss_of(model(x), y).backward()
            zero.step()
            zero.zero_grad()
            steps += 1
    assert steps == 2 + rank
    plain = made("mlp")
    stepper = torch.optim.SGD(plain.parameters(), lr=0.1)
    for _ in range(1 + size):  # every process has the same batch, so that the mean over those left is its gradient
        loss_of(plain(x), y).backward()
        stepper.step()
        stepper.zero_grad()
    for a, b in zip(model.parameters(), plain.parameters()):
        close(a, b, 1e-4)
    with model.join(), warnings.catch_warnings():
        loss_of(model(x), y).backward()


def check_different_models_are_refused() -> None:
    try:
        DistributedDataParallel(nn.Linear(2, 3 if rank else 2))
    except RuntimeError as error:
        assert "match sizes" in str(error)
    else:
        raise AssertionError("models of different shapes were taken")


def check_sparse_gradients() -> None:
    model = DistributedDataParallel(nn.Embedding(6, 2, sparse=True))
    plain = nn.Embedding(6, 2)
    plain.load_state_dict(model.module.state_dict())
    index = torch.arange(BATCH) % 5
    model(index[OWN]).sum().backward()
    plain(index).sum().backward()
    close(model.module.weight.grad.to_dense() * size, plain.weight.grad)


def check_compiled_module() -> None:
    same_training("mlp", lambda model: DistributedDataParallel(torch.compile(model)), within=1e-4)


def check_collectives_in_compiled_programs() -> None:
    """What is exchanged is exchanged again in every call."""
    calls = {
        "in place": lambda y: dist.all_reduce(y) or y,
        "functional": lambda y: funcol.all_reduce(y, "sum", dist.group.WORLD),
        "with gradients": lambda y: dist.nn.functional.all_reduce(y),
    }
    for name, call in calls.items():
        compiled = torch.compile(lambda x, call=call: call(x * 2) + 1)
        for step in range(3):
            found = compiled(torch.full((2,), float(step + rank)))
            assert found.tolist() == [sum(2 * (step + each) for each in range(size)) + 1.0] * 2, (name, step)
    same_training("mlp", lambda model: torch.compile(DistributedDataParallel(model)), within=1e-4)
    same_training("cnn", lambda model: torch.compile(DistributedDataParallel(nn.SyncBatchNorm.convert_sync_batchnorm(model))), within=1e-4)
    same_training("mlp", lambda model: torch.compile(fully_shard(model)), within=1e-4)
    mesh = dist.init_device_mesh("cpu", (size,))
    plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
    if 16 % size == 0:
        same_training("mlp", lambda model: torch.compile(parallelize_module(model, mesh, plan)), part=False, within=1e-4)
    model, plain = DistributedDataParallel(made("mlp")), made("mlp")
    steppers = [torch.optim.SGD(each.parameters(), lr=0.1) for each in (model, plain)]

    @torch.compile
    def step(x, y):
        loss = loss_of(model(x), y)
        steppers[0].zero_grad()
        loss.backward()
        steppers[0].step()
        return loss

    for x, y in batches("mlp"):
        step(x[OWN], y[OWN])
        steppers[1].zero_grad()
        loss_of(plain(x), y).backward()
        steppers[1].step()
    for a, b in zip(model.parameters(), plain.parameters()):
        close(a, b, 1e-4)


# -- optimizer states in parts ---------------------------------------------------------------------------------------


def check_zero_redundancy() -> None:
    def zero(parameters):
        return ZeroRedundancyOptimizer(parameters, torch.optim.AdamW, lr=0.01)

    same_training("gpt", DistributedDataParallel, zero)
    model = DistributedDataParallel(made("mlp"))
    stepper, plain = zero(model.parameters()), made("mlp")
    other = adam(plain.parameters())
    for x, y in batches("mlp", 2):
        for each, own, optimizer in ((model, OWN, stepper), (plain, slice(None), other)):
            optimizer.zero_grad()
            loss_of(each(x[own]), y[own]).backward()
            optimizer.step()
    assert len(stepper.optim.state) < len(other.state)
    stepper.consolidate_state_dict(0)
    if rank == 0:
        saved = stepper.state_dict()
        assert sorted(saved["state"]) == list(range(6))
        close(saved["state"][0]["exp_avg"], other.state[plain[0].weight]["exp_avg"], 1e-4)
    else:
        try:
            stepper.state_dict()
        except RuntimeError as error:
            assert "has not been consolidated" in str(error)
        else:
            raise AssertionError("a state that is not there")
        saved = None
    held = [saved]
    dist.broadcast_object_list(held, 0)
    again = zero(model.parameters())
    again.load_state_dict(held[0])
    assert len(again.optim.state) == len(stepper.optim.state)


# -- fully sharded ---------------------------------------------------------------------------------------------------


def sharded(model, **options):
    for each in model.layers:
        fully_shard(each, **options)
    return fully_shard(model, **options)


def check_fully_shard() -> None:
    for options in ({}, {"reshard_after_forward": False}, {"reshard_after_forward": True}):
        model = same_training("gpt", lambda each, options=options: sharded(each, **options))
        assert all(isinstance(each, DTensor) and each.placements == (Shard(0),) for each in model.parameters())
        assert sum(each.to_local().numel() for each in model.parameters()) < sum(each.numel() for each in model.parameters())
        order = [type(each.modules[0]).__name__ for each in model._fsdp_state.order.states]
        assert order == ["FSDPGPT", "FSDPBlock", "FSDPBlock"]
    same_training("lstm", fully_shard)
    same_training("mlp", fully_shard)


def check_fully_shard_gathers_ahead_and_gives_back() -> None:
    model = sharded(made("gpt"))
    x, y = batches("gpt", 1)[0]
    loss_of(model(x), y).backward()  # the order is learned here
    seen = []
    first, second = (each._fsdp_state.group for each in model.layers)
    model.layers[0].norm1.register_forward_hook(lambda *given: seen.append((first.is_whole, second.started is not None or second.is_whole)))
    model.layers[1].norm1.register_forward_hook(lambda *given: seen.append((first.is_whole, second.is_whole)))
    out = model(x)
    assert seen == [(True, True), (False, True)], seen
    assert model.layers[1].query.weight.numel() and isinstance(model.layers[1].query.weight, DTensor)
    loss_of(out, y).backward()
    assert not first.is_whole and not second.is_whole


def check_fully_shard_mixed_precision_and_accumulation() -> None:
    model = sharded(made("gpt"), mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32))
    wanted, found = train(made("gpt"), "gpt", False), train(model, "gpt", True)
    assert torch.allclose(torch.tensor(found), torch.tensor(wanted), rtol=2e-2) and model.head.weight.dtype is torch.float32
    model, plain = sharded(made("gpt")), made("gpt")
    (x1, y1), (x2, y2) = batches("gpt", 2)
    model.set_requires_gradient_sync(False)
    loss_of(model(x1[OWN]), y1[OWN]).backward()
    assert model.head.weight.grad is None
    model.set_requires_gradient_sync(True)
    loss_of(model(x2[OWN]), y2[OWN]).backward()
    (loss_of(plain(x1), y1) + loss_of(plain(x2), y2)).backward()
    close(model.head.weight.grad, plain.head.weight.grad, 1e-4)
    norm = nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    close(norm, nn.utils.clip_grad_norm_(plain.parameters(), 0.1), 1e-4)
    close(model.layers[0].up.weight.grad, plain.layers[0].up.weight.grad, 1e-4)


def check_fully_sharded_data_parallel() -> None:
    model = same_training(
        "gpt", lambda each: FullyShardedDataParallel(each, auto_wrap_policy=ModuleWrapPolicy({Block}), use_orig_params=True)
    )
    assert len(FullyShardedDataParallel.fsdp_modules(model)) == 3
    plain = made("gpt")
    whole = model.state_dict()
    assert list(whole) == list(plain.state_dict()) and not any(isinstance(each, DTensor) for each in whole.values())
    with FullyShardedDataParallel.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
        assert all(isinstance(each, DTensor) for each in model.state_dict().values())
    other = FullyShardedDataParallel(made("gpt"))
    other.load_state_dict(whole)
    for name, value in other.state_dict().items():
        assert torch.equal(value, whole[name]), name
    with FullyShardedDataParallel.summon_full_params(other):
        assert other.head.weight.shape == (24, 24) and not isinstance(other.head.weight, DTensor)
        with torch.no_grad():
            other.head.weight.fill_(2.0)
    assert (other.state_dict()["head.weight"] == 2).all()
    x, y = batches("gpt", 1)[0]
    stepper = adam(model.parameters())
    with model.no_sync():
        loss_of(model(x), y).backward()
    loss_of(model(x), y).backward()
    model.clip_grad_norm_(0.5)
    stepper.step()
    state = FullyShardedDataParallel.optim_state_dict(model, stepper)
    assert state["state"]["head.weight"]["exp_avg"].shape == (24, 24)
    stepper.load_state_dict(FullyShardedDataParallel.optim_state_dict_to_load(model, stepper, state))
    assert isinstance(stepper.state[model.head.weight]["exp_avg"], DTensor)


# -- tensors in parts ------------------------------------------------------------------------------------------------


def check_distributed_tensors() -> None:
    mesh = dist.init_device_mesh("cpu", (size,))
    torch.manual_seed(0)
    x = torch.randn(7, 5)
    for placement in (Shard(0), Shard(1), Replicate()):
        d = distribute_tensor(x, mesh, [placement])
        for other in (Shard(0), Shard(1), Replicate()):
            close(d.redistribute(placements=[other]), x)
        for function in (
            lambda t: t + 1, lambda t: t.sum(0), lambda t: t.mean(), lambda t: t.t() @ t, lambda t: t @ t.t(), lambda t: t.softmax(-1),
            lambda t: t.reshape(-1), lambda t: t.amax(1), lambda t: torch.cat([t, t], 1), lambda t: t[2:5], lambda t: t.sort(0)[0],
            lambda t: t.unsqueeze(1).expand(7, 3, 5), lambda t: t.std(), lambda t: t.cumsum(0),
        ):  # fmt: skip
            close(function(d), function(x))
    try:
        d + x
    except RuntimeError as error:
        assert "mixed torch.Tensor and DTensor" in str(error)
    whole = torch.randn(4, 3 * size, 6)
    weight, bias = torch.randn(8, 6), torch.randn(8)
    scale = torch.arange(8.0)

    def run(w, b, t, s):
        result = F.layer_norm(F.gelu(F.linear(t, w, b)), (8,), s + 1.0)
        (result * result * s).sum().backward()
        return result

    plain = [each.clone().requires_grad_() for each in (weight, bias, whole)]
    wanted = run(*plain, scale)
    # PyTorch refuses a batch that is split unevenly, which has to be flattened for the gradient of the weight: it is gathered.
    of_weight = Replicate() if whole.shape[0] % size else Partial()
    for placements, of_gradients in {
        (Shard(0), Shard(0), Replicate()): (Shard(0), Shard(0), Partial()), (Shard(1), Replicate(), Shard(2)): (Shard(1), Replicate(), Shard(2)),
        (Replicate(), Replicate(), Shard(1)): (Partial(), Partial(), Shard(1)), (Shard(0), Replicate(), Shard(0)): (of_weight, Partial(), Shard(0)),
    }.items():  # fmt: skip
        parts = [distribute_tensor(each.clone().requires_grad_(), mesh, [p]) for each, p in zip((weight, bias, whole), placements)]
        close(run(*parts, distribute_tensor(scale, mesh, [Replicate()])), wanted, 1e-4)
        for part, one, placement in zip(parts, plain, of_gradients):
            close(part.grad, one.grad, 1e-3)
            assert part.grad.placements == (placement,), (placements, part.grad.placements)
    local = DTensor.from_local(torch.full((2, 3), float(rank)), mesh, [Shard(0)])
    assert local.shape == (2 * size, 3) and local.full_tensor()[:, 0].tolist() == [float(each) for each in range(size) for _ in range(2)]
    if size == 4:
        grid = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
        for first in (Shard(0), Shard(1), Replicate()):
            for second in (Shard(0), Shard(1), Replicate()):
                d = distribute_tensor(x, grid, [first, second])
                close(d @ d.t(), x @ x.t())
                close(d.mean(), x.mean())
                close(d.reshape(-1), x.reshape(-1))
                close(d.redistribute(placements=[second, first]), x)


COLUMNS, ROWS = ("query", "key", "value", "up"), ("out", "down")


def check_tensor_parallel() -> None:
    mesh = dist.init_device_mesh("cpu", (size,))

    def plain_styles(model):
        plan = {"embedding": RowwiseParallel(input_layouts=Replicate()), "head": ColwiseParallel(output_layouts=Replicate())}
        plan.update({f"layers.*.{name}": ColwiseParallel() for name in COLUMNS} | {f"layers.*.{name}": RowwiseParallel() for name in ROWS})
        return parallelize_module(model, mesh, plan)

    def sequence_styles(model):
        plan = {
            "embedding": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)), "norm": SequenceParallel(),
            "head": ColwiseParallel(input_layouts=Shard(1), use_local_output=False),
            "layers.*.norm1": SequenceParallel(), "layers.*.norm2": SequenceParallel(),
        }  # fmt: skip
        plan.update({f"layers.*.{name}": ColwiseParallel(input_layouts=Shard(1)) for name in COLUMNS})
        plan.update({f"layers.*.{name}": RowwiseParallel(output_layouts=Shard(1)) for name in ROWS})
        return parallelize_module(model, mesh, plan)

    def parallel_loss(scores, target):
        with loss_parallel():
            return F.cross_entropy(scores.view(-1, 24), target.view(-1))

    model = same_training("gpt", plain_styles, part=False)
    assert model.layers[0].up.weight.placements == (Shard(0),) and model.layers[0].down.weight.placements == (Shard(1),)
    same_training("gpt", sequence_styles, part=False, compute_loss=parallel_loss)


def check_two_dimensions() -> None:
    if size != 4:
        return
    grid = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "tensor"))
    same_training("gpt", lambda model: sharded(model, mesh=grid))  # replicas of shards
    model = made("gpt")
    plan = {f"layers.*.{name}": ColwiseParallel() for name in COLUMNS} | {f"layers.*.{name}": RowwiseParallel() for name in ROWS}
    parallelize_module(model, grid["tensor"], plan)
    sharded(model, mesh=grid["data"])
    at = grid["data"].get_local_rank()
    own = slice(at * BATCH // 2, (at + 1) * BATCH // 2)
    found, wanted = train(model, "gpt", True, own=own), train(made("gpt"), "gpt", False)
    assert torch.allclose(torch.tensor(found), torch.tensor(wanted), rtol=3e-5), (found, wanted)


# -- checkpoints -----------------------------------------------------------------------------------------------------


def check_checkpoints() -> None:
    held = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(held, 0)
    folder = held[0]
    model = sharded(made("gpt"))
    stepper = adam(model.parameters())
    data = batches("gpt", 4)

    def step(model, stepper, at):
        x, y = data[at]
        loss = loss_of(model(x), y)
        stepper.zero_grad()
        loss.backward()
        stepper.step()
        return loss.item()

    step(model, stepper, 0)
    state = {
        "model": get_model_state_dict(model),
        "optim": get_optimizer_state_dict(model, stepper),
        "step": 1,
        "kinds": torch.arange(3).bfloat16(),
    }
    dcp.save(state, checkpoint_id=folder)
    later = dcp.async_save(state, checkpoint_id=f"{folder}/later")
    wanted = step(model, stepper, 1), step(model, stepper, 2)
    later.result()
    for place in (folder, f"{folder}/later"):
        model = FullyShardedDataParallel(made("gpt"))  # in other groups
        stepper = adam(model.parameters())
        step(model, stepper, 3)
        state = {"model": get_model_state_dict(model), "optim": get_optimizer_state_dict(model, stepper), "step": 0}
        with FullyShardedDataParallel.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
            state["model"] = get_model_state_dict(model)
            dcp.load(state, checkpoint_id=place)
            set_model_state_dict(model, state["model"])
        set_optimizer_state_dict(model, stepper, state["optim"])
        assert state["step"] == 1
        close(torch.tensor((step(model, stepper, 1), step(model, stepper, 2))), torch.tensor(wanted))
    try:
        dcp.load({"absent": torch.zeros(1)}, checkpoint_id=folder)
    except dcp.CheckpointException as error:
        assert "Missing key in checkpoint state_dict: absent." in str(error) and sorted(error.failures) == list(range(size))
    else:
        raise AssertionError("a missing key was loaded")


CHECKS = {name.removeprefix("check_"): function for name, function in list(globals().items()) if name.startswith("check_")}
for name, function in CHECKS.items():
    if len(sys.argv) > 1 and name not in sys.argv[1:]:
        continue
    function()
    dist.barrier()
    if rank == 0:
        print("passed", name, f"after {time.perf_counter() - BEGUN:.1f} s", flush=True)
dist.destroy_process_group()
print("done", rank)
