"""Collective operations in a group of one process: tensors are written in place as PyTorch writes them, and nothing is sent."""

from __future__ import annotations

import pickle
from typing import Any

from ..autograd import no_grad
from ..tensor import Tensor
from .groups import NON_MEMBER, ReduceOp, Work, get_group_rank, member


def _check_tensor(value: Any, name: str) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n             but got {type(value)} instead."
        )


def _check_list(value: Any, name: str, length: int | None = None) -> None:
    if not isinstance(value, list) or not all(isinstance(each, Tensor) for each in value):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n             but got {type(value)} instead."
        )
    if length is not None and len(value) != length:
        raise ValueError(f"{name} must hold one tensor for each process of the group, {length} here, and holds {len(value)}")


def _ended(result: Any, async_op: bool) -> Work | None:
    """What a collective returns: a handle if it was asked for."""
    return Work(result) if async_op else None


def _take(target: Tensor, source: Tensor) -> None:
    """Copy elements; sizes may differ as long as the count is equal (``all_gather_into_tensor`` stacks or concatenates)."""
    if target.numel() != source.numel():
        raise ValueError(f"tensor of {target.numel()} elements can't take {source.numel()} elements of a group of one process")
    if target.dtype != source.dtype:
        raise TypeError(f"tensors must have one dtype, and have {target.dtype} and {source.dtype}")
    with no_grad():
        target.copy_(source.reshape(target.shape))


def _is_member(group: Any) -> bool:
    return bool(member(group) != NON_MEMBER)


def _root(group: Any, rank: int | None, group_rank: int | None) -> None:
    """Check the process that an operation starts from or ends at: 0."""
    if group_rank is None:
        get_group_rank(group, 0 if rank is None else rank)
    elif group_rank != 0:
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Reduce a tensor over all processes, in place: with one process it stays as it is."""
    _check_tensor(tensor, "tensor")
    return _ended([tensor], async_op) if _is_member(group) else None


def all_reduce_coalesced(tensors: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Reduce several tensors."""
    _check_list(tensors if isinstance(tensors, list) else [tensors], "tensors")
    return _ended(tensors, async_op) if _is_member(group) else None


def reduce(
    tensor: Any, dst: int | None = None, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False, group_dst: int | None = None
) -> Work | None:
    """Reduce a tensor to one process, in place."""
    _check_tensor(tensor, "tensor")
    if not _is_member(group):
        return None
    _root(group, dst, group_dst)
    return _ended([tensor], async_op)


def broadcast(tensor: Any, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None) -> Work | None:
    """Send a tensor of one process to all: it stays as it is."""
    _check_tensor(tensor, "tensor")
    if not _is_member(group):
        return None
    _root(group, src, group_src)
    return _ended([tensor], async_op)


def all_gather(tensor_list: Any, tensor: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """Give every process a list of all processes' tensors."""
    _check_list(tensor_list, "tensor_list", 1)
    _check_tensor(tensor, "tensor")
    if not _is_member(group):
        return None
    _take(tensor_list[0], tensor)
    return _ended(tensor_list, async_op)


def all_gather_coalesced(output_tensor_lists: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """Gather several tensors."""
    _check_list(input_tensor_list, "input_tensor_list")
    for output, tensor in zip(output_tensor_lists, input_tensor_list, strict=True):
        all_gather(output, tensor, group)
    return _ended(output_tensor_lists, async_op)


def all_gather_into_tensor(output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """Gather all processes' tensors in one."""
    _check_tensor(output_tensor, "output_tensor")
    _check_tensor(input_tensor, "input_tensor")
    if not _is_member(group):
        return None
    _take(output_tensor, input_tensor)
    return _ended([output_tensor], async_op)


all_gather_single = _all_gather_base = all_gather_into_tensor


def gather(
    tensor: Any, gather_list: Any = None, dst: int | None = None, group: Any = None, async_op: bool = False, group_dst: int | None = None
) -> Work | None:
    """Give one process a list of all processes' tensors."""
    _check_tensor(tensor, "tensor")
    if not _is_member(group):
        return None
    _root(group, dst, group_dst)
    if not gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    _check_list(gather_list, "gather_list", 1)
    _take(gather_list[0], tensor)
    return _ended(gather_list, async_op)


def scatter(
    tensor: Any, scatter_list: Any = None, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Give each process one of a list of tensors."""
    _check_tensor(tensor, "tensor")
    if not _is_member(group):
        return None
    _root(group, src, group_src)
    if not scatter_list:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    _check_list(scatter_list, "scatter_list", 1)
    _take(tensor, scatter_list[0])
    return _ended([tensor], async_op)


def reduce_scatter(output: Any, input_list: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Reduce a list of tensors, one for each process."""
    _check_tensor(output, "output")
    _check_list(input_list, "input_list", 1)
    if not _is_member(group):
        return None
    _take(output, input_list[0])
    return _ended([output], async_op)


def reduce_scatter_tensor(output: Any, input: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Reduce a tensor whose parts go to the processes."""
    _check_tensor(output, "output")
    _check_tensor(input, "input")
    if not _is_member(group):
        return None
    _take(output, input)
    return _ended([output], async_op)


reduce_scatter_single = _reduce_scatter_base = reduce_scatter_tensor


def all_to_all(output_tensor_list: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """Send each process a tensor, and receive one from each."""
    _check_list(output_tensor_list, "output_tensor_list", 1)
    _check_list(input_tensor_list, "input_tensor_list", 1)
    if not _is_member(group):
        return None
    _take(output_tensor_list[0], input_tensor_list[0])
    return _ended(output_tensor_list, async_op)


def all_to_all_single(
    output: Any, input: Any, output_split_sizes: Any = None, input_split_sizes: Any = None, group: Any = None, async_op: bool = False
) -> Work | None:
    """Send each process a part of a tensor, and receive one from each."""
    _check_tensor(output, "output")
    _check_tensor(input, "input")
    if not _is_member(group):
        return None
    _take(output, input)
    return _ended([output], async_op)


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Wait for the other processes: there are none."""
    return _ended([], async_op) if _is_member(group) else None


def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """Wait for the other processes: there are none."""
    member(group)


def _to_self(what: str, verb: str) -> Any:
    """Raise as PyTorch does: a process can't send to itself, and here is no other."""
    raise ValueError(f"Invalid {what} rank: {what} rank should not be the same as the rank of the current process.")


def send(tensor: Any, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send a tensor to another process: there is none."""
    _check_tensor(tensor, "tensor")
    _root(member(group), dst, group_dst)
    _to_self("destination", "send")


def isend(tensor: Any, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> Work | None:
    """Send a tensor to another process: there is none."""
    send(tensor, dst, group, tag, group_dst)
    return None


def recv(tensor: Any, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Receive a tensor from another process: there is none."""
    _check_tensor(tensor, "tensor")
    _root(member(group), src, group_src)
    return _to_self("source", "recv")  # type: ignore[no-any-return]


def irecv(tensor: Any, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> Work | None:
    """Receive a tensor from another process: there is none."""
    recv(tensor, src, group, tag, group_src)
    return None


class P2POp:
    """A send or receive for ``batch_isend_irecv``."""

    def __init__(
        self, op: Any, tensor: Any, peer: int | None = None, group: Any = None, tag: int = 0, group_peer: int | None = None
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError("Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or ``torch.distributed.irecv``.")
        _check_tensor(tensor, "tensor")
        self.op, self.tensor, self.peer, self.group, self.tag = op, tensor, peer, group, tag


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Any]:
    """Start sends and receives."""
    if not p2p_op_list or not all(isinstance(each, P2POp) for each in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    return [each.op(each.tensor, each.peer, each.group, each.tag) for each in p2p_op_list]


def _copied(value: Any) -> Any:
    """An object as it arrives: pickled and read again."""
    return pickle.loads(pickle.dumps(value))


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Give every process a list of all processes' objects."""
    if _is_member(group):
        object_list[0] = _copied(obj)


def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None, group: Any = None, group_dst: int | None = None
) -> None:
    """Give one process a list of all processes' objects."""
    if _is_member(group):
        _root(group, dst, group_dst)
        if not object_gather_list:
            raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
        object_gather_list[0] = _copied(obj)


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> None:
    """Send objects of one process to all: they stay as they are."""
    if _is_member(group):
        _root(group, src, group_src)


def scatter_object_list(
    scatter_object_output_list: list[Any], scatter_object_input_list: list[Any] | None = None, src: int | None = None, group: Any = None,
    group_src: int | None = None,
) -> None:  # fmt: skip
    """Give each process one of a list of objects."""
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    if _is_member(group):
        _root(group, src, group_src)
        if not scatter_object_input_list:
            raise ValueError("source rank must provide non-None scatter_object_input_list")
        scatter_object_output_list[0] = _copied(scatter_object_input_list[0])


def send_object_list(
    object_list: Any, dst: int | None = None, group: Any = None, device: Any = None, group_dst: int | None = None, use_batch: bool = False
) -> None:
    """Send objects to another process: there is none."""
    _root(member(group), dst, group_dst)
    _to_self("destination", "send")


def recv_object_list(
    object_list: Any, src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None, use_batch: bool = False
) -> int:
    """Receive objects from another process: there is none."""
    _root(member(group), src, group_src)
    return _to_self("source", "recv")  # type: ignore[no-any-return]


def supports_complex(reduceOp: Any) -> bool:
    """Whether a reduction is defined for complex numbers."""
    return reduceOp not in (ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PRODUCT, ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)
