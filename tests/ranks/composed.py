"""What libraries call beside the wrappers: modules that are replicated in place, states that are sent, groups in an order of their own."""

from __future__ import annotations

from datetime import timedelta

import rushlight as torch
import rushlight.distributed as dist
from rushlight import nn
from rushlight.distributed._composable import replicate
from rushlight.distributed.utils import _sync_module_states, _verify_param_shape_across_processes

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
print("done")
