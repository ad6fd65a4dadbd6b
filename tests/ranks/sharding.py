"""A process of several: what PyTorch's users do to sharded modules besides training them."""

import rushlight as torch
import rushlight.distributed as dist
from rushlight import nn
from rushlight.distributed.fsdp import (
    FullyShardedDataParallel,
    MixedPrecision,
    OptimStateKeyType,
    ShardingStrategy,
    fully_shard,
)
from rushlight.distributed.fsdp.wrap import CustomPolicy, ModuleWrapPolicy
from rushlight.distributed.tensor import Replicate, Shard, distribute_tensor

dist.init_process_group("gloo")


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(6, 5), nn.Linear(5, 3)
        self.register_buffer("scale", torch.full((3,), 1.5))

    def forward(self, x):
        return self.outer(self.inner(x).relu()) * self.scale


torch.manual_seed(0)
reference, x = Net(), torch.randn(4, 6)

# A module made without memory takes the parameters that it is given.
with torch.device("meta"):
    model = Net()
fully_shard(model.inner)
fully_shard(model)
model.to_empty(device="cpu")
held = dict(model.named_parameters())
state = {
    name: distribute_tensor(value, held[name].device_mesh, held[name].placements) if name in held else value
    for name, value in reference.state_dict().items()
}
model.load_state_dict(state, assign=True)
optimizer, expected = torch.optim.SGD(model.parameters(), 0.1), torch.optim.SGD(reference.parameters(), 0.1)
for _ in range(2):
    for module, update in ((model, optimizer), (reference, expected)):
        module(x).square().sum().backward()
        update.step()
        update.zero_grad()
torch.testing.assert_close(model(x), reference(x))
model.reshard()
for name, parameter in model.named_parameters():
    torch.testing.assert_close(parameter.full_tensor(), reference.get_parameter(name))

# So it does in another dtype.
reference.double()
model.double()
assert model(x.double()).dtype == torch.float64
torch.testing.assert_close(model(x.double()), reference(x.double()))

# A parameter that has no parts is refused by its name.
broken = fully_shard(Net())
broken.outer.weight = nn.Parameter(torch.ones(3, 5))
try:
    broken(x)
except RuntimeError as error:
    assert "'weight' of Linear is sharded" in str(error) and "distribute_tensor" in str(error), error
else:
    raise AssertionError("a whole tensor was taken for a part")

# States have the dtype that buffers had; computation has that of the policy.
mixed = FullyShardedDataParallel(Net(), mixed_precision=MixedPrecision(torch.bfloat16, torch.bfloat16, torch.bfloat16))
assert mixed.scale.dtype == torch.bfloat16 and mixed.state_dict()["scale"].dtype == torch.float32

# What a policy says for a submodule is done there.
policy = CustomPolicy(
    lambda module: (
        {"sharding_strategy": ShardingStrategy.SHARD_GRAD_OP}
        if isinstance(module, nn.Linear) and module.out_features == 5
        else isinstance(module, nn.Linear)
    )
)
chosen = FullyShardedDataParallel(Net(), auto_wrap_policy=policy)
assert [chosen.module.inner.sharding_strategy, chosen.module.outer.sharding_strategy] == [
    ShardingStrategy.SHARD_GRAD_OP,
    ShardingStrategy.FULL_SHARD,
]
assert chosen(x).shape == (4, 3)


def seeded(**options):
    torch.manual_seed(1)
    net = Net()
    return net, FullyShardedDataParallel(net, auto_wrap_policy=ModuleWrapPolicy({nn.Linear}), use_orig_params=True, **options)


def step(module, optimizer):
    module(x * (1 + dist.get_rank())).square().sum().backward()
    optimizer.step()


def plain_step(module, optimizer):
    (sum(module(x * (1 + rank)).square().sum() for rank in range(dist.get_world_size())) / dist.get_world_size()).backward()
    optimizer.step()


torch.manual_seed(1)
alone = Net()
alone_optimizer = torch.optim.AdamW(alone.parameters(), 0.1)
plain_step(alone, alone_optimizer)

# Without sharding each process keeps all of the parameters, and gradients are those of all processes.
for strategy in (ShardingStrategy.NO_SHARD, ShardingStrategy.FULL_SHARD):
    net, wrapped = seeded(sharding_strategy=strategy)
    assert type(wrapped.module) is Net and isinstance(wrapped.module.inner, FullyShardedDataParallel)
    assert all(each.placements == ((Replicate(),) if strategy is ShardingStrategy.NO_SHARD else (Shard(0),)) for each in net.parameters())
    optimizer = torch.optim.AdamW(wrapped.parameters(), 0.1)
    step(wrapped, optimizer)
    for name, value in wrapped.state_dict().items():
        torch.testing.assert_close(value, alone.state_dict()[name])

# Names are those of the wrappers, but for whole parameters; gradients are whole, too, where they are wanted, and both are written back.
assert [name for name, _ in wrapped.named_parameters()][0] == "_fsdp_wrapped_module.inner._fsdp_wrapped_module.weight"
with FullyShardedDataParallel.summon_full_params(wrapped, with_grads=True), torch.no_grad():
    for name, value in wrapped.named_parameters():
        torch.testing.assert_close(value.grad, alone.get_parameter(name).grad)
        value.grad.mul_(2)
    assert wrapped.module.inner.weight.grad.shape == (5, 6)
torch.testing.assert_close(net.inner.weight.grad.full_tensor(), 2 * alone.inner.weight.grad)
with FullyShardedDataParallel.summon_full_params(wrapped, writeback=False, rank0_only=True):
    assert isinstance(net.inner.weight, torch.distributed.tensor.DTensor) == (dist.get_rank() > 0)

# States of optimizers: by names in alphabetical order, whole on the first process, and back, each process its part.
names = sorted(name for name, _ in alone.named_parameters())
full = FullyShardedDataParallel.full_optim_state_dict(wrapped, optimizer)
assert bool(full) == (dist.get_rank() == 0) and (not full or list(full["state"]) == names)
everywhere = FullyShardedDataParallel.full_optim_state_dict(wrapped, optimizer, rank0_only=False)
for name, held in zip([name for name, _ in alone.named_parameters()], alone_optimizer.state_dict()["state"].values()):
    torch.testing.assert_close(everywhere["state"][name]["exp_avg_sq"], held["exp_avg_sq"])
numbered = FullyShardedDataParallel.rekey_optim_state_dict(everywhere, OptimStateKeyType.PARAM_ID, alone, optim=alone_optimizer)
assert sorted(numbered["state"]) == numbered["param_groups"][0]["params"] == [0, 1, 2, 3]
torch.testing.assert_close(numbered["state"][3]["exp_avg"], alone_optimizer.state[alone.outer.bias]["exp_avg"])
named = FullyShardedDataParallel.rekey_optim_state_dict(
    alone_optimizer.state_dict(), OptimStateKeyType.PARAM_NAME, alone, optim=alone_optimizer
)
assert named["param_groups"][0]["params"] == names
alone_optimizer.zero_grad()
plain_step(alone, alone_optimizer)
for load in (
    lambda model, optimizer: FullyShardedDataParallel.shard_full_optim_state_dict(everywhere, model, optim=optimizer),
    lambda model, optimizer: FullyShardedDataParallel.scatter_full_optim_state_dict(full, model, optim=optimizer),
    lambda model, optimizer: FullyShardedDataParallel.shard_full_optim_state_dict(everywhere, model),
):
    _, other = seeded()
    other.load_state_dict(wrapped.state_dict())
    other_optimizer = torch.optim.AdamW(other.parameters(), 0.5)
    kept = everywhere["state"]["outer.bias"]["exp_avg"].clone()
    for held in everywhere["state"].values():
        held["step"] = torch.tensor(1.0)
    other_optimizer.load_state_dict(load(other, other_optimizer))
    step(other, other_optimizer)
    torch.testing.assert_close(everywhere["state"]["outer.bias"]["exp_avg"], kept, rtol=0, atol=0)
    for name, value in other.state_dict().items():
        torch.testing.assert_close(value, alone.state_dict()[name])

# Parameters are split along the dimension that a function says.
torch.manual_seed(1)
columns, alone = Net(), reference
alone.load_state_dict(columns.state_dict())
alone.float()
fully_shard(columns, shard_placement_fn=lambda each: Shard(1) if each.shape == (5, 6) else None)
assert columns.inner.weight.placements == (Shard(1),) and columns.inner.weight.to_local().shape == (5, 6 // dist.get_world_size())
optimizers = [torch.optim.SGD(each.parameters(), 0.1, momentum=0.9) for each in (columns, alone)]
for _ in range(2):
    columns(x).square().sum().backward()
    alone.zero_grad()
    alone(x).square().sum().backward()
    for each in optimizers:
        each.step()
    columns.zero_grad()
columns.reshard()
for name, parameter in columns.named_parameters():
    torch.testing.assert_close(parameter.full_tensor(), alone.get_parameter(name))
try:
    fully_shard(Net(), shard_placement_fn=lambda each: Shard(1) if each.shape == (3, 5) else None)
except NotImplementedError as error:
    assert "uneven sharding on dim 1" in str(error), error
else:
    raise AssertionError("parts of columns of unequal size")


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, x):
        return x * self.scale


try:
    fully_shard(nn.Sequential(Scaled()))
except ValueError as error:
    assert "scalar parameters. Change 0.scale" in str(error), error
else:
    raise AssertionError("a scalar was sharded")
assert torch.equal(FullyShardedDataParallel(Scaled())(x), 2 * x)
print("done")
