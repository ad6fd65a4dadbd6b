"""NCCL on one GPU: a group of one process, whose collectives run on the engine that connects several."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch
from rushlight import distributed as dist

cupy = pytest.importorskip("cupy")


@pytest.fixture
def group():
    if not dist.is_nccl_available():
        pytest.skip("CuPy has no NCCL here")
    dist.init_process_group("nccl", "tcp://localhost:1", world_size=1, rank=0)
    yield dist.group.WORLD
    dist.destroy_process_group()


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.float16, torch.int32, torch.int64, torch.uint8, torch.bool, torch.complex64]
)
def test_collectives_of_one_gpu(group, dtype) -> None:
    x = (torch.arange(6) % 2).to(dtype).cuda()
    for op in (dist.ReduceOp.SUM, dist.ReduceOp.AVG) if dtype.is_floating_point else (dist.ReduceOp.SUM,):
        y = x.clone()
        dist.all_reduce(y, op)
        assert torch.equal(y.cpu(), x.cpu())
    whole, part = torch.zeros_like(x), torch.zeros_like(x)
    dist.all_gather_into_tensor(whole, x)
    dist.reduce_scatter_tensor(part, x)
    listed = [torch.zeros_like(x)]
    dist.all_gather(listed, x)
    moved = torch.zeros_like(x)
    dist.all_to_all_single(moved, x)
    for each in (whole, part, listed[0], moved):
        assert each.device.type == "cuda" and torch.equal(each.cpu(), x.cpu())
    dist.broadcast(x, 0)
    dist.reduce(x, 0)
    dist.barrier()


def test_asynchronous_work_and_streams(group) -> None:
    x = torch.ones(1 << 20).cuda()
    y = x * 3  # on the current stream, which the exchange waits for
    work = dist.all_reduce(y, async_op=True)
    assert work.wait() and float(y.sum()) == 3 * (1 << 20)


def test_bits_are_refused_as_pytorch_refuses_them(group) -> None:
    with pytest.raises(ValueError, match="Cannot use ReduceOp.BAND with NCCL"):
        dist.all_reduce(torch.ones(2, dtype=torch.int32).cuda(), dist.ReduceOp.BAND)


def test_tensors_of_both_devices_in_one_group(group) -> None:
    x, y = torch.ones(3), torch.ones(3).cuda()
    dist.all_reduce(x)
    dist.all_reduce(y)
    assert np.array_equal(x.numpy(), y.cpu().numpy())
