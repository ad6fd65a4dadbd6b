"""What libraries call beside the wrappers: modules that are replicated in place, states that are sent, groups in an order of their own."""

from __future__ import annotations

from datetime import timedelta

import rushlight as torch
import rushlight.distributed as dist
from rushlight import nn
from rushlight.distributed._composable import replicate
from rushlight.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from rushlight.distributed.tensor.debug import CommDebugMode
from rushlight.distributed.tensor.parallel import loss_parallel
from rushlight.distributed.utils import _sync_module_states, _verify_param_shape_across_processes
from rushlight.nn import functional as F

dist.init_process_group("mpi")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(rank)
model = nn.Linear(3, 2)
assert replicate(model) is model and list(model.state_dict()) == ["weight", "bias"]
model(torch.full((2, 3), rank + 1.0)).sum().backward()
assert torch.allclose(model.weight.grad, torch.full((2, 3), 2 * (size + 1) / 2))  # the mean of 2 * (rank + 1)
model.set_requires_gradient_sync(False)
model(torch.full((2, 3), rank + 1.0)).sum().backward()
assert torch.allclose(model.weight.grad, torch.full((2, 3), size + 1 + 2.0 * (rank + 1)))
other = nn.Linear(2, 2)
_sync_module_states(other, dist.group.WORLD, 1 << 20, 1, {"bias"})
same = [None] * size
dist.all_gather_object(same, (other.weight.tolist(), other.bias.tolist()))
assert all(each[0] == same[1][0] for each in same) and same[0][1] != same[1][1]
try:
    _verify_param_shape_across_processes(dist.group.WORLD, [torch.ones(2 + rank)])
except RuntimeError as error:
    assert "appear not to match" in str(error)
dist.barrier(timeout=timedelta(seconds=20))
backward = dist.new_group(list(range(size))[::-1], sort_ranks=False)
assert dist.get_rank(backward) == size - 1 - rank and dist.get_process_group_ranks(backward) == list(range(size))[::-1]

if rank == 0:  # only members make it, and groups that all make afterwards have the same names
    assert dist.new_group([0], use_local_synchronization=True).size() == 1
assert dist.new_group([1], use_local_synchronization=True) is None or rank == 1
names: list = [None] * size
dist.all_gather_object(names, dist.new_group().group_name)
assert len(set(names)) == 1, names

by_hand = dist.ProcessGroupGloo(dist.group.WORLD.get_group_store(), rank, size, timedelta(seconds=20))
value = torch.full((3,), rank + 1.0)
by_hand.allreduce([value], dist.AllreduceOptions()).wait()
assert by_hand.rank() == rank and value.tolist() == [size * (size + 1) / 2] * 3 and by_hand is not dist.group.WORLD

mesh = dist.init_device_mesh("cpu", (size,))
try:
    DTensor.from_local(torch.ones(2 + rank), mesh, [Shard(0)], run_check=True)
    raise AssertionError("parts of several shapes")
except ValueError as error:
    assert "Inconsistent tensor metadata" in str(error)
torch.manual_seed(0)
for shape, where in (((6, 8), (6,)), ((6, 8, 5), (6, 5))):
    scores, target, weight = torch.randn(shape), torch.randint(8, where), torch.rand(8)
    target[0] = -100
    for reduction in ("none", "mean", "sum"):
        one, parts = scores.clone().requires_grad_(), distribute_tensor(scores, mesh, [Shard(1)]).requires_grad_()
        expected = F.cross_entropy(one, target, weight, reduction=reduction)
        (expected * 2).sum().backward()
        with loss_parallel(), CommDebugMode() as mode:
            found = F.cross_entropy(parts, target, weight, reduction=reduction)
            (found * 2).sum().backward()
        assert mode.get_comm_counts() == {torch.ops.c10d_functional.all_reduce: 3}, dict(mode.get_comm_counts())
        assert found.placements == (Replicate(),) and torch.allclose(found.to_local(), expected, atol=1e-6)
        assert parts.grad.placements == (Shard(1),) and torch.allclose(parts.grad.full_tensor(), one.grad, atol=1e-6)
with loss_parallel():
    try:
        F.cross_entropy(distribute_tensor(torch.randn(4, 4), mesh, [Shard(0)]), torch.zeros(4, dtype=torch.int64))
        raise AssertionError("classes are not split")
    except ValueError as error:
        assert "loss_parallel" in str(error)
print("done")
