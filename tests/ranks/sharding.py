"""A process of several: what PyTorch's users do to sharded modules besides training them."""

import rushlight as torch
import rushlight.distributed as dist
from rushlight import nn
from rushlight.distributed.fsdp import FullyShardedDataParallel, MixedPrecision, ShardingStrategy, fully_shard
from rushlight.distributed.fsdp.wrap import CustomPolicy
from rushlight.distributed.tensor import distribute_tensor

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
print("done")
