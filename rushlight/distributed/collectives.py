"""Collective operations on tensors: each checks its arguments, and starts the collective in its group (``process_group.py``)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ..autograd import no_grad
from ..capture.compile.annotations import mark
from ..core.process_group import default_group, world
from ..core.state import state
from ..tensor import Tensor
from .call_options import (
    AllgatherOptions,
    AllreduceCoalescedOptions,
    AllreduceOptions,
    AllToAllOptions,
    BarrierOptions,
    BroadcastOptions,
    GatherOptions,
    ReduceOptions,
    ReduceScatterOptions,
    ScatterOptions,
)
from .groups import NON_MEMBER, get_global_rank, get_group_rank, member
from .reductions import ReduceOp
from .work import Work


def _check_tensor(value: Any, name: str) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n             but got {type(value)} instead."
        )


def _check_list(value: Any, name: str) -> None:
    if not isinstance(value, list) or not all(isinstance(each, Tensor) for each in value):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n             but got {type(value)} instead."
        )


class _CoalescingManager:
    """Operations that are coalesced."""

    def __init__(self) -> None:
        self.works: list[Work] = []

    def append(self, work: Work | None = None) -> None:
        """Add one."""
        if work is not None:
            self.works.append(work)

    def wait(self) -> None:
        """Wait for all of them."""
        for each in self.works:
            each.wait()


_open: list[_CoalescingManager] = []


@contextlib.contextmanager
def _coalescing_manager(group: Any = None, device: Any = None, async_ops: bool = False) -> Iterator[_CoalescingManager]:
    """Collectives inside are started at once, and waited for together at the end, or later (``async_ops``)."""
    manager = _CoalescingManager()
    _open.append(manager)
    try:
        yield manager
    finally:
        _open.remove(manager)
    if not async_ops:
        manager.wait()


def _done(work: Work, async_op: bool) -> Work | None:
    """What a collective returns: a handle if it was asked for."""
    if _open or async_op:
        work = work._shared() if isinstance(work, Work) else work
        if not _open:
            return work
        _open[-1].append(work)
        return None
    work.wait()
    return None


def _future(work: Work, async_op: bool) -> Any:
    """What a coalesced collective returns: a future if a handle was asked for."""
    made = _done(work, async_op)
    return None if made is None else made.get_future()


def _captured(name: str, written: Any, async_op: bool, *arguments: Any) -> bool:
    """Whether a program is being captured: then the collective is nodes of its graph, and what it gives is written to a tensor there."""
    if state.capture is None or async_op or _open:
        return False
    ops = world.collectives.graph_ops
    with no_grad():
        written.copy_(ops.wait_tensor(getattr(ops, name)(*arguments)).reshape(written.shape))
    return True


def _check_dtypes(tensors: Any, like: Any) -> None:
    """The tensors of a call are of one dtype."""
    for each in tensors:
        if each.dtype != like.dtype:
            raise ValueError(f"Invalid usage of tensors with different dtypes Found {each.dtype} and {like.dtype}")


def _word(op: Any) -> str:
    """A reduction as nodes name it; one with a factor has no name."""
    return str(op.name).lower() if isinstance(op, ReduceOp.RedOpType) else "with a factor"


def _root(group: Any, rank: int | None, group_rank: int | None, default: int | None = None) -> int:
    """The group rank of an operation's source or destination, given as a global or a group rank."""
    if group_rank is not None:
        if rank is not None:
            raise ValueError("Can't specify both the rank in the world and the rank in the group")
        get_global_rank(group, group_rank)
        return group_rank
    if rank is None:
        if default is None:
            raise ValueError("Must specify the rank in the world (src, dst) or the rank in the group (group_src, group_dst)")
        return default
    return get_group_rank(group, rank)


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Reduce a tensor over all processes, in place."""
    if not isinstance(tensor, Tensor):
        _check_tensor(tensor, "tensor")
    found = world.default if group is None else member(group)
    if found is None:
        default_group()  # raises
    if found is NON_MEMBER or state.capture is not None and _captured("all_reduce", tensor, async_op, tensor, _word(op), found.group_name):
        return None
    if async_op or _open:
        return _done(found.allreduce([tensor], AllreduceOptions(reduceOp=op)), async_op)
    found.allreduce_now(tensor, op)
    return None


def all_reduce_coalesced(tensors: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Reduce several tensors."""
    tensors = [tensors] if isinstance(tensors, Tensor) else tensors
    _check_list(tensors, "tensors")
    found = member(group)
    return None if found is NON_MEMBER else _future(found.allreduce_coalesced(tensors, AllreduceCoalescedOptions(reduceOp=op)), async_op)


def reduce(
    tensor: Any, dst: int | None = None, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False, group_dst: int | None = None
) -> Work | None:
    """Reduce a tensor to one process, in place there."""
    _check_tensor(tensor, "tensor")
    found = member(group)
    if found is NON_MEMBER:
        return None
    return _done(found.reduce([tensor], ReduceOptions(reduceOp=op, rootRank=_root(found, dst, group_dst))), async_op)


def broadcast(tensor: Any, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None) -> Work | None:
    """Copy a tensor of one process to all."""
    _check_tensor(tensor, "tensor")
    found = member(group)
    if (
        found is NON_MEMBER
        or state.capture is not None
        and _captured("broadcast", tensor, async_op, tensor, _root(found, src, group_src), found.group_name)
    ):
        return None
    return _done(found.broadcast([tensor], BroadcastOptions(rootRank=_root(found, src, group_src))), async_op)


def all_gather(tensor_list: Any, tensor: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """Give every process a list of all processes' tensors."""
    _check_list(tensor_list, "tensor_list")
    _check_tensor(tensor, "tensor")
    _check_dtypes(tensor_list, tensor)
    found = member(group)
    return None if found is NON_MEMBER else _done(found.allgather([tensor_list], [tensor], AllgatherOptions()), async_op)


def all_gather_coalesced(output_tensor_lists: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """Gather several tensors: a list of all of them from each process."""
    _check_list(input_tensor_list, "input_tensor_list")
    found = member(group)
    return (
        None
        if found is NON_MEMBER
        else _future(found.allgather_coalesced(output_tensor_lists, input_tensor_list, AllgatherOptions()), async_op)
    )


def all_gather_into_tensor(output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """Gather all processes' tensors in one."""
    _check_tensor(output_tensor, "output_tensor")
    _check_tensor(input_tensor, "input_tensor")
    found = member(group)
    if (
        found is NON_MEMBER
        or state.capture is not None
        and _captured("all_gather_into_tensor", output_tensor, async_op, input_tensor, found.size(), found.group_name)
    ):
        return None
    return _done(found._allgather_base(output_tensor, input_tensor, AllgatherOptions()), async_op)


all_gather_single = _all_gather_base = all_gather_into_tensor


def gather(
    tensor: Any, gather_list: Any = None, dst: int | None = None, group: Any = None, async_op: bool = False, group_dst: int | None = None
) -> Work | None:
    """Give one process a list of all processes' tensors."""
    _check_tensor(tensor, "tensor")
    found = member(group)
    if found is NON_MEMBER:
        return None
    root = _root(found, dst, group_dst, 0)
    _check_at_root(gather_list, "gather_list", "destination", found.rank() == root)
    _check_dtypes(gather_list or [], tensor)
    return _done(found.gather([gather_list] if gather_list else [], [tensor], GatherOptions(rootRank=root)), async_op)


def _check_at_root(tensors: Any, name: str, end: str, here: bool) -> None:
    """A list is given at the one end of an operation, and nowhere else."""
    if tensors:
        _check_list(tensors, name)
    if here and not tensors:
        raise ValueError(f"Argument ``{name}`` must be specified on {end} rank.")
    if not here and tensors:
        raise ValueError(f"Argument ``{name}`` must NOT be specified on non-{end} ranks.")


def scatter(
    tensor: Any, scatter_list: Any = None, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Give each process one of a list of tensors."""
    _check_tensor(tensor, "tensor")
    found = member(group)
    if found is NON_MEMBER:
        return None
    root = _root(found, src, group_src, 0)
    _check_at_root(scatter_list, "scatter_list", "source", found.rank() == root)
    _check_dtypes(scatter_list or [], tensor)
    return _done(found.scatter([tensor], [scatter_list] if scatter_list else [], ScatterOptions(rootRank=root)), async_op)


def reduce_scatter(output: Any, input_list: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Reduce a list of tensors, one for each process."""
    _check_tensor(output, "output")
    _check_list(input_list, "input_list")
    _check_dtypes(input_list, output)
    found = member(group)
    return None if found is NON_MEMBER else _done(found.reduce_scatter([output], [input_list], ReduceScatterOptions(reduceOp=op)), async_op)


def reduce_scatter_tensor(output: Any, input: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Reduce a tensor whose parts go to the processes."""
    _check_tensor(output, "output")
    _check_tensor(input, "input")
    found = member(group)
    if (
        found is NON_MEMBER
        or state.capture is not None
        and _captured("reduce_scatter_tensor", output, async_op, input.reshape(-1), _word(op), found.size(), found.group_name)
    ):
        return None
    return _done(found._reduce_scatter_base(output, input, ReduceScatterOptions(reduceOp=op)), async_op)


reduce_scatter_single = _reduce_scatter_base = reduce_scatter_tensor


def all_to_all(output_tensor_list: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """Send each process a tensor, and receive one from each."""
    _check_list(output_tensor_list, "output_tensor_list")
    _check_list(input_tensor_list, "input_tensor_list")
    if input_tensor_list:
        _check_dtypes([*output_tensor_list, *input_tensor_list], input_tensor_list[0])
    found = member(group)
    return None if found is NON_MEMBER else _done(found.alltoall(output_tensor_list, input_tensor_list, AllToAllOptions()), async_op)


def all_to_all_single(
    output: Any, input: Any, output_split_sizes: Any = None, input_split_sizes: Any = None, group: Any = None, async_op: bool = False
) -> Work | None:
    """Send each process a part of a tensor, and receive one from each."""
    _check_tensor(output, "output")
    _check_tensor(input, "input")
    found = member(group)
    splits = list(output_split_sizes or ()), list(input_split_sizes or ())
    if (
        found is NON_MEMBER
        or state.capture is not None
        and _captured("all_to_all_single", output, async_op, input, *splits, found.group_name)
    ):
        return None
    return _done(found.alltoall_base(output, input, output_split_sizes or [], input_split_sizes or [], AllToAllOptions()), async_op)


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: Any = None) -> Work | None:
    """Wait for all processes, no longer than a time limit."""
    if device_ids is not None and not isinstance(device_ids, list):
        raise TypeError("Invalid function argument: device_ids type should be List[int]")
    found = member(group)
    if found is NON_MEMBER:
        return None
    work = found.barrier(BarrierOptions(device_ids=device_ids or []))
    if timeout is not None and not async_op and not _open:
        work.wait(timeout)
        return None
    return _done(work, async_op)


def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """Wait for all processes, and name those that do not arrive in time."""
    found = member(group)
    if found is not NON_MEMBER:
        found.monitored_barrier(timeout, wait_all_ranks)


def _check_other(found: Any, rank: int, what: str) -> None:
    if rank == found.rank():
        raise ValueError(f"Invalid {what} rank: {what} rank should not be the same as the rank of the current process.")


def isend(tensor: Any, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> Work | None:
    """Start to send a tensor to another process."""
    _check_tensor(tensor, "tensor")
    found = member(group)
    if found is NON_MEMBER:
        return None
    to = _root(found, dst, group_dst)
    _check_other(found, to, "destination")
    work: Work = found.send([tensor], to, tag)
    return work._shared()


def send(tensor: Any, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send a tensor to another process."""
    _check_tensor(tensor, "tensor")
    found = member(group)
    if found != NON_MEMBER:
        to = _root(found, dst, group_dst)
        _check_other(found, to, "destination")
        found.send([tensor], to, tag).wait()


def irecv(tensor: Any, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> Work | None:
    """Start to receive a tensor from another process, or from any."""
    _check_tensor(tensor, "tensor")
    found = member(group)
    if found is NON_MEMBER:
        return None
    work: Work = _receive(found, tensor, src, group_src, tag)
    return work._shared()


def _receive(found: Any, tensor: Any, src: int | None, group_src: int | None, tag: int) -> Any:
    if src is None and group_src is None:
        return found.recv_anysource([tensor], tag)
    source = _root(found, src, group_src)
    _check_other(found, source, "source")
    return found.recv([tensor], source, tag)


def recv(tensor: Any, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Receive a tensor from another process, or from any; the rank of the sender."""
    _check_tensor(tensor, "tensor")
    found = member(group)
    if found is NON_MEMBER:
        return -1
    work = _receive(found, tensor, src, group_src, tag)
    work.wait()
    if src is None and group_src is None:
        return get_global_rank(found, work.source_rank())
    return get_global_rank(found, _root(found, src, group_src))


class P2POp:
    """A send or receive for ``batch_isend_irecv``."""

    def __init__(
        self, op: Any, tensor: Any, peer: int | None = None, group: Any = None, tag: int = 0, group_peer: int | None = None
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError("Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or ``torch.distributed.irecv``.")
        _check_tensor(tensor, "tensor")
        self.op, self.tensor, self.group, self.tag = op, tensor, group, tag
        found = member(group)
        self.group_peer = _root(found, peer, group_peer)
        self.peer = get_global_rank(found, self.group_peer)

    def __repr__(self) -> str:
        return f"P2POp({self.op.__name__}, peer={self.peer}, shape={tuple(self.tensor.shape)}, dtype={self.tensor.dtype})"


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Any]:
    """Start sends and receives."""
    if not p2p_op_list or not all(isinstance(each, P2POp) for each in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    if len({id(member(each.group)) for each in p2p_op_list}) > 1:
        raise ValueError("All ops need to use the same group.")
    return [each.op(each.tensor, each.peer, each.group, each.tag) for each in p2p_op_list]


for _function in (all_reduce, broadcast, all_gather_into_tensor, reduce_scatter_tensor, all_to_all_single):
    mark(_function, "recorded")  # captures run them, and have their nodes
