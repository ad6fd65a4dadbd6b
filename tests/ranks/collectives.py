"""Every collective, on every dtype, in this many processes: compared with what one process computes from all inputs."""

from __future__ import annotations

import functools
import operator
from datetime import timedelta

import numpy as np

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed import ReduceOp

dist.init_process_group("mpi", timeout=timedelta(seconds=20))
rank, size = dist.get_rank(), dist.get_world_size()
others = [each for each in range(size) if each != rank]
DTYPES = (
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.float8_e5m2, torch.complex64, torch.complex128, torch.uint8, torch.int8,
    torch.int16, torch.int32, torch.int64, torch.bool,
)  # fmt: skip


def values(dtype, of: int, length: int = 5):
    """What a process has; small numbers, so that every order of additions is exact."""
    made = (torch.arange(length) * (of + 1)) % 4
    return made.bool() if dtype is torch.bool else made.to(dtype)


def same(found, wanted) -> None:
    assert found.dtype == wanted.dtype and found.shape == wanted.shape, (found, wanted)
    assert torch.equal(found.to(torch.complex128), wanted.to(torch.complex128)), (found, wanted)


def combined(op, dtype, length: int = 5):
    """The reduction of all processes' values, by NumPy in a wide dtype."""
    all_values = [values(dtype, each, length) for each in range(size)]
    if dtype is torch.bool:
        step = {ReduceOp.SUM: operator.or_, ReduceOp.MAX: operator.or_, ReduceOp.BOR: operator.or_, ReduceOp.BXOR: operator.xor}.get(
            op, operator.and_
        )
        return torch.from_numpy(functools.reduce(step, [each.numpy() for each in all_values]))
    wide = [
        each.to(torch.complex128 if dtype.is_complex else torch.float64 if dtype.is_floating_point else torch.int64).numpy()
        for each in all_values
    ]
    step = {
        ReduceOp.SUM: operator.add, ReduceOp.AVG: operator.add, ReduceOp.PRODUCT: operator.mul, ReduceOp.MIN: np.minimum, ReduceOp.MAX: np.maximum,
        ReduceOp.BAND: operator.and_, ReduceOp.BOR: operator.or_, ReduceOp.BXOR: operator.xor,
    }[op]  # fmt: skip
    found = functools.reduce(step, wide)
    return torch.from_numpy(found / size if op is ReduceOp.AVG else found).to(dtype)


def reductions() -> None:
    for dtype in DTYPES:
        ops = [ReduceOp.SUM]
        if not dtype.is_complex:
            ops += [ReduceOp.PRODUCT, ReduceOp.MIN, ReduceOp.MAX]
        if not dtype.is_complex and not dtype.is_floating_point:
            ops += [ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR]
        if dtype.is_floating_point and dtype.itemsize > 1:
            ops += [ReduceOp.AVG]
        for op in ops:
            x = values(dtype, rank)
            dist.all_reduce(x, op)
            same(x, combined(op, dtype))
        y = values(dtype, rank)
        dist.reduce(y, size - 1)
        same(y, combined(ReduceOp.SUM, dtype) if rank == size - 1 else y)
        whole = values(dtype, rank, 2 * size)
        part = torch.zeros(2, dtype=dtype)
        dist.reduce_scatter_tensor(part, whole)
        same(part, combined(ReduceOp.SUM, dtype, 2 * size)[2 * rank : 2 * rank + 2])
        dist.reduce_scatter(part, list(values(dtype, rank, 2 * size).chunk(size)))
        same(part, combined(ReduceOp.SUM, dtype, 2 * size)[2 * rank : 2 * rank + 2])
    x = torch.ones(3)
    dist.all_reduce(x, dist._make_nccl_premul_sum(2.0))
    same(x, torch.full((3,), 2.0 * size))
    uneven = [torch.full((each + 1,), float(rank)) for each in range(size)]
    out = torch.zeros(rank + 1)
    dist.reduce_scatter(out, uneven)
    same(out, torch.full((rank + 1,), float(sum(range(size)))))


def moves() -> None:
    for dtype in DTYPES:
        x = values(dtype, rank)
        dist.broadcast(x, size - 1)
        same(x, values(dtype, size - 1))
        into = [torch.zeros(5, dtype=dtype) for _ in range(size)]
        dist.all_gather(into, values(dtype, rank))
        for each in range(size):
            same(into[each], values(dtype, each))
        flat, stacked = torch.zeros(5 * size, dtype=dtype), torch.zeros(size, 5, dtype=dtype)
        for each in (flat, stacked):
            dist.all_gather_into_tensor(each, values(dtype, rank))
            same(each.reshape(size, 5)[size - 1], values(dtype, size - 1))
        into = [torch.zeros(5, dtype=dtype) for _ in range(size)] if rank == 0 else None
        dist.gather(values(dtype, rank), into, 0)
        if into is not None:
            for each in range(size):
                same(into[each], values(dtype, each))
        x = torch.zeros(5, dtype=dtype)
        dist.scatter(x, [values(dtype, each) for each in range(size)] if rank == size - 1 else None, src=size - 1)
        same(x, values(dtype, rank))
        out = torch.zeros(size, 2, dtype=dtype)
        dist.all_to_all_single(out, values(dtype, rank, 2 * size).reshape(size, 2))
        same(out, torch.stack([values(dtype, each, 2 * size)[2 * rank : 2 * rank + 2] for each in range(size)]))
    sizes = [each + 1 for each in range(size)]  # to each process another number of rows, from each the same
    out = torch.zeros(size * (rank + 1), 3)
    dist.all_to_all_single(out, torch.full((sum(sizes), 3), float(rank)), [rank + 1] * size, sizes)
    same(out, torch.arange(float(size)).repeat_interleave(rank + 1)[:, None].expand(-1, 3).contiguous())
    lists = [torch.zeros(rank + 1) for _ in range(size)]
    dist.all_to_all(lists, [torch.full((each + 1,), float(rank)) for each in range(size)])
    for each in range(size):
        same(lists[each], torch.full((rank + 1,), float(each)))
    uneven = [torch.zeros(each + 1) for each in range(size)]
    dist.all_gather(uneven, torch.full((rank + 1,), float(rank)))
    for each in range(size):
        same(uneven[each], torch.full((each + 1,), float(each)))
    dist.all_gather([torch.zeros(0)] * size, torch.zeros(0))
    dist.barrier()
    dist.monitored_barrier()


def strides() -> None:
    x = torch.arange(12.0).reshape(3, 4)
    version = x._version
    dist.all_reduce(x.t()[1:])
    same(x, torch.cat([torch.arange(12.0).reshape(3, 4)[:, :1], size * torch.arange(12.0).reshape(3, 4)[:, 1:]], 1))
    assert x._version > version
    y = torch.zeros(4, 2 * size)
    dist.all_gather([y[:, 2 * each : 2 * each + 2] for each in range(size)], torch.full((2, 4), float(rank)).t())
    same(y, torch.arange(float(size)).repeat_interleave(2).expand(4, -1).contiguous())
    z = torch.zeros(2, 3)
    dist.broadcast(z.t() if rank else torch.arange(6.0).reshape(3, 2), 0)
    same(z.t().contiguous(), torch.arange(6.0).reshape(3, 2) if rank else torch.zeros(3, 2))
    scalar = torch.tensor(float(rank))
    dist.all_reduce(scalar)
    assert scalar.item() == sum(range(size))


def later() -> None:
    tensors = [torch.full((1000,), float(rank + each)) for each in range(8)]
    works = [dist.all_reduce(each, async_op=True) for each in tensors]
    for work in reversed(works):
        assert work.wait() and work.is_completed() and work.is_success() and work.exception() is None
    for each, x in enumerate(tensors):
        same(x, torch.full((1000,), float(sum(range(size)) + size * each)))
    assert works[3].result()[0] is tensors[3]
    x = torch.full((4,), float(rank))
    future = dist.all_reduce(x, async_op=True).get_future().then(lambda done: done.value()[0] / size)
    same(future.wait(), torch.full((4,), sum(range(size)) / size))
    outs = [torch.zeros(size), torch.zeros(size)]
    with dist._coalescing_manager(async_ops=True) as coalesced:
        for out in outs:
            dist.all_gather_into_tensor(out, torch.tensor([float(rank)]))
    coalesced.wait()
    for out in outs:
        same(out, torch.arange(float(size)))
    pair = [torch.ones(2), torch.ones(3)]
    dist.all_reduce_coalesced(pair)
    assert pair[0].tolist() + pair[1].tolist() == [float(size)] * 5


def dropped_handles() -> None:
    """A barrier waits for what was started before it, whether or not the program has kept the handles."""
    values = [torch.full((30, 7), float(each))[:, ::2] for each in range(12)] + [torch.full((9,), 3.0)]
    for each in values:
        dist.group.WORLD.allreduce(each)
    dist.group.WORLD.barrier().get_future().wait()
    for number, each in enumerate(values):
        same(each, torch.full(each.shape, size * float(min(number, 3) if number == 12 else number)))
    twice = torch.tensor([rank + 1])
    dist.all_reduce_coalesced([twice, twice], async_op=True).wait()  # a future
    same(twice, torch.tensor([size * (size + 1) // 2]))


def from_one_to_one() -> None:
    after, before = (rank + 1) % size, (rank - 1) % size
    out, x = torch.zeros(3), torch.full((3,), float(rank))
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, x, after), dist.P2POp(dist.irecv, out, before)]):
        work.wait()
    same(out, torch.full((3,), float(before)))
    if rank == 0:
        seen = set()
        for _ in others:
            seen.add(dist.recv(out))
        assert seen == set(others)
        dist.send_object_list([{"a": 1}, "b"], 1)
    else:
        dist.send(x, 0)
    if rank == 1:
        objects = [None, None]
        assert dist.recv_object_list(objects, 0) == 0 and objects == [{"a": 1}, "b"]
    sending = dist.isend(torch.full((1,), 7.0), after, tag=3), dist.isend(torch.full((1,), 8.0), after, tag=4)
    first, second = torch.zeros(1), torch.zeros(1)
    dist.recv(second, before, tag=4)
    dist.recv(first, before, tag=3)
    for each in sending:
        each.wait()
    assert (first.item(), second.item()) == (7, 8)


def objects() -> None:
    found = [None] * size
    dist.all_gather_object(found, {"rank": rank, "text": "x" * rank * 1000})
    assert [each["rank"] for each in found] == list(range(size)) and len(found[-1]["text"]) == 1000 * (size - 1)
    gathered = [None] * size if rank == 1 else None
    dist.gather_object(("of", rank), gathered, 1)
    assert gathered is None or gathered == [("of", each) for each in range(size)]
    sent = [rank, "a", None]
    dist.broadcast_object_list(sent, 1)
    assert sent == [1, "a", None]
    mine = [None]
    dist.scatter_object_list(mine, [["for", each] for each in range(size)] if rank == 0 else None, 0)
    assert mine == [["for", rank]]


def groups() -> None:
    even = dist.new_group(list(range(0, size, 2)))
    odd = dist.new_group(list(range(1, size, 2)))
    mine = odd if rank % 2 else even
    assert dist.get_rank(even) == (rank // 2 if rank % 2 == 0 else -1) and dist.get_process_group_ranks(mine) == list(
        range(rank % 2, size, 2)
    )
    x, y = torch.tensor([float(rank)]), torch.tensor([float(rank)])
    for _ in range(3):  # groups and the whole in turn
        dist.all_reduce(x, ReduceOp.MAX, group=mine)
        dist.all_reduce(y, ReduceOp.MAX)
    assert x.item() == max(range(rank % 2, size, 2)) and y.item() == size - 1
    top = max(range(rank % 2, size, 2))
    z = torch.tensor([float(rank)])
    dist.broadcast(z, top, group=mine)
    assert z.item() == top and dist.get_group_rank(mine, top) == mine.size() - 1 and dist.get_global_rank(mine, mine.size() - 1) == top
    alone, each = dist.new_subgroups(1)
    assert alone.size() == 1 and len(each) == size
    if size == 4:
        half = dist.split_group(dist.group.WORLD, [[0, 1], [2, 3]])
        x = torch.tensor([1.0 * rank])
        dist.all_reduce(x, group=half)
        assert x.item() == (1 if rank < 2 else 5)
        mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        assert mesh.get_coordinate() == (rank // 2, rank % 2) and mesh["tp"].get_local_rank() == rank % 2 and mesh.size(0) == 2
        x = torch.tensor([1.0 * rank])
        dist.all_reduce(x, group=mesh.get_group("dp"))
        assert x.item() == rank % 2 * 2 + 2 and dist.get_process_group_ranks(mesh.get_group("tp")) == [rank // 2 * 2, rank // 2 * 2 + 1]
    dist.destroy_process_group(mine)


def bad_calls() -> None:
    for call, kind, words in (
        (
            lambda: dist.all_reduce(torch.ones(2, dtype=torch.complex64), ReduceOp.MAX),
            ValueError,
            "all_reduce does not support .* on complex tensors",
        ),
        (lambda: dist.all_reduce(torch.ones(2), ReduceOp.BAND), RuntimeError, "Cannot use ReduceOp.BAND with non-integral dtype"),
        (lambda: dist.all_reduce(torch.ones(2, dtype=torch.int64), ReduceOp.AVG), RuntimeError, "result type Float can't be cast"),
        (lambda: dist.all_gather([torch.ones(2)] * (size + 1), torch.ones(2)), RuntimeError, "one tensor for each process"),
        (lambda: dist.gather(torch.ones(1), [torch.ones(2)] * size, dst=rank), RuntimeError, "invalid tensor size at index 0"),
        (lambda: dist.scatter(torch.ones(1), [torch.ones(2)] * size, src=rank), RuntimeError, "invalid tensor size at index 0"),
        (lambda: dist.group.WORLD.broadcast([torch.ones(1)], dist.BroadcastOptions(rootRank=size)), RuntimeError, "invalid root rank"),
        (lambda: dist.group.WORLD.broadcast([torch.ones(1)], dist.BroadcastOptions(rootTensor=1)), RuntimeError, "invalid root tensor"),
        (lambda: dist.group.WORLD.reduce([torch.ones(1)] * 2, dist.ReduceOptions()), RuntimeError, "single-element tensor list"),
        (lambda: dist.group.WORLD.allreduce([]), RuntimeError, "requires non-empty tensor list"),
        (lambda: dist.group.WORLD.allreduce([torch.ones(1), torch.ones(2)]), RuntimeError, "invalid tensor size at index 1"),
        (
            lambda: dist.group.WORLD.allreduce_coalesced([torch.ones(1), torch.ones(1).double()]),
            RuntimeError,
            "must all have the same type",
        ),
        (lambda: dist.group.WORLD.allgather([], [torch.ones(1)]), RuntimeError, "tensor lists to have the same length"),
        (
            lambda: dist.group.WORLD.gather([[torch.ones(1)] * size], [], dist.GatherOptions()),
            RuntimeError,
            "single-element input tensor list",
        ),
        (lambda: dist.all_gather_into_tensor(torch.ones(size + 1), torch.ones(1)), ValueError, "must be equal to world_size times"),
        (lambda: dist.all_gather([torch.ones(2)] * size, torch.ones(2).double()), ValueError, "different dtypes"),
        (lambda: dist.reduce(torch.ones(2), size), ValueError, f"Global rank {size} is not part of group"),
        (lambda: dist.send(torch.ones(2), rank), ValueError, "destination rank should not be the same"),
        (lambda: dist.all_to_all_single(torch.ones(size), torch.ones(size), [1] * size, [2] * size), RuntimeError, "Split sizes"),
        (lambda: dist.new_group([size]), ValueError, "within the world_size"),
    ):
        try:
            call()
        except kind as error:
            assert __import__("re").search(words, str(error)), error
        else:
            raise AssertionError(words)


def several_at_once() -> None:
    group = dist.group.WORLD
    given = [torch.full((2,), float(10 * rank + each)) for each in range(3)]
    group.allreduce(list(given)).wait()  # of all tensors of all processes
    for each in given:
        same(each, torch.full((2,), sum(10.0 * of + number for of in range(size) for number in range(3))))
    given = [torch.full((2,), float(10 * rank + each)) for each in range(3)]
    group.broadcast(list(given), size - 1).wait()
    for each in given:
        same(each, torch.full((2,), 10.0 * (size - 1)))
    given = [torch.full((2,), float(10 * rank + each)) for each in range(3)]
    group.broadcast(list(given), dist.BroadcastOptions(rootRank=size - 1, rootTensor=1)).wait()
    for each in given:
        same(each, torch.full((2,), 10.0 * (size - 1) + 1))
    lists = [[torch.zeros(1) for _ in range(2 * size)] for _ in range(2)]
    group.allgather(lists, [torch.tensor([2.0 * rank]), torch.tensor([2.0 * rank + 1])]).wait()
    for each in lists:
        same(torch.cat(each), torch.arange(2.0 * size))
    sparse = torch.sparse_coo_tensor([[rank, size]], [1.0, 2.0], (size + 1,))
    dist.all_reduce(sparse)
    same(sparse.to_dense(), torch.tensor([1.0] * size + [2.0 * size]))


def profiled() -> None:
    with torch.autograd.profiler.profile(record_shapes=True) as found:
        dist.all_reduce(torch.ones(2, 3))
        dist.all_gather([torch.zeros(4) for _ in range(size)], torch.ones(4), async_op=True).wait()
    events = {each.name: each for each in found.function_events if each.is_async}
    assert [(name, each.input_shapes) for name, each in events.items()] == [("mpi:all_reduce", [[2, 3]]), ("mpi:all_gather", [[4]])]
    assert all(each.cpu_time >= 0 for each in events.values())


def groups_of_groups() -> None:
    mine, made = dist.new_subgroups_by_enumeration([[*range(0, size, 2)], [*range(1, size, 2)]])
    own, parts = dist.new_subgroups(1, group=mine)
    assert own.size() == 1 and len(parts) == mine.size() and dist.get_process_group_ranks(own) == [rank]
    peers = [each for each in dist.get_process_group_ranks(mine) if each != rank]
    if peers:
        ops = [dist.P2POp(dist.isend, torch.ones(1), peers[0], group) for group in (mine, None)]
        try:
            dist.batch_isend_irecv(ops)
        except ValueError as error:
            assert "All ops need to use the same group" in str(error)
        else:
            raise AssertionError("operations of two groups in one batch")


def stores() -> None:
    store = dist.distributed_c10d._get_default_store()
    store.set(f"key{rank}", f"value{rank}")
    assert all(store.get(f"key{each}") == f"value{each}".encode() for each in range(size))
    dist.barrier()
    store.add("count", 2)
    dist.barrier()
    assert store.add("count", 0) == 2 * size


for check in (
    reductions,
    moves,
    strides,
    later,
    dropped_handles,
    from_one_to_one,
    objects,
    groups,
    groups_of_groups,
    several_at_once,
    profiled,
    bad_calls,
    stores,
):
    check()
dist.destroy_process_group()
print("done", rank)
