"""Collectives with gradients: each is a ``Function`` whose backward is the collective that carries gradients the other way."""

from __future__ import annotations

from typing import Any

from ...autograd.function import Function
from ...capture.compile.annotations import mark
from ...ops.create.factories import empty, empty_like, zeros_like
from .. import collectives
from ..groups import get_group_rank, get_rank, get_world_size, member
from ..reductions import ReduceOp

__all__ = ["all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce", "reduce_scatter", "scatter"]


def _own(tensor: Any) -> Any:
    return tensor.contiguous().clone()


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, tensor: Any) -> Any:
        ctx.src, ctx.group = src, group
        made = _own(tensor)
        collectives.broadcast(made, src, group)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        summed = _Reduce.apply(ctx.src, ReduceOp.SUM, ctx.group, grad)
        return None, None, summed if get_rank() == ctx.src else zeros_like(summed)


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, op: Any, group: Any, tensor: Any) -> Any:
        ctx.dst, ctx.group = dst, group
        made = _own(tensor)
        collectives.reduce(made, dst, op, group)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None, None, None, _Broadcast.apply(ctx.dst, ctx.group, grad)


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, tensor: Any) -> Any:
        ctx.op, ctx.group = op, group
        made = _own(tensor)
        collectives.all_reduce(made, op, group)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None, None, _AllReduce.apply(ctx.op, ctx.group, grad)


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, tensor: Any) -> Any:
        ctx.group = group
        made = [empty_like(tensor).contiguous() for _ in range(get_world_size(group))]
        collectives.all_gather(made, tensor.contiguous(), group)
        return tuple(made)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, _reduced_part(list(grads), ReduceOp.SUM, ctx.group)


def _reduced_part(grads: list[Any], op: Any, group: Any) -> Any:
    return _ReduceScatter.apply(op, group, empty_like(grads[get_rank(group)]), *grads)


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, group: Any, tensor: Any) -> Any:
        ctx.dst, ctx.group = dst, group
        made = [zeros_like(tensor).contiguous() for _ in range(get_world_size(group))]
        here = get_rank(group) == get_group_rank(group, dst)
        collectives.gather(tensor.contiguous(), made if here else None, dst, group)
        return tuple(made)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, None, _Scatter.apply(ctx.dst, ctx.group, *grads)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, *tensors: Any) -> Any:
        ctx.src, ctx.group = src, group
        made = zeros_like(tensors[0]).contiguous()
        here = get_rank(group) == get_group_rank(group, src)
        collectives.scatter(made, [each.contiguous() for each in tensors] if here else None, src, group)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return (None, None, *_Gather.apply(ctx.src, ctx.group, grad))


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, output: Any, *inputs: Any) -> Any:
        ctx.group = group
        made = empty_like(output).contiguous()
        collectives.reduce_scatter(made, [each.contiguous() for each in inputs], op, group)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return (None, None, None, *_AllGather.apply(ctx.group, grad))


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, outputs: Any, *tensors: Any) -> Any:
        ctx.group, ctx.like = group, [tuple(each.shape) for each in tensors]
        made = [empty_like(each).contiguous() for each in outputs]
        collectives.all_to_all(made, [each.contiguous() for each in tensors], group)
        return tuple(made)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        outputs = [empty(shape, dtype=grads[0].dtype, device=grads[0].device) for shape in ctx.like]
        return (None, None, *_AllToAll.apply(ctx.group, outputs, *grads))


class _AllToAllSingle(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, output: Any, outs: Any, ins: Any, tensor: Any) -> Any:
        ctx.group, ctx.outs, ctx.ins, ctx.shape = group, outs, ins, tuple(tensor.shape)
        made = empty_like(output).contiguous()
        collectives.all_to_all_single(made, tensor.contiguous(), outs, ins, group)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        like = empty(ctx.shape, dtype=grad.dtype, device=grad.device)
        return None, None, None, None, _AllToAllSingle.apply(ctx.group, like, ctx.ins, ctx.outs, grad)


class _AllGatherBase(Function):
    @staticmethod
    def forward(ctx: Any, output: Any, tensor: Any, group: Any) -> Any:
        ctx.group, ctx.shape = group, tuple(tensor.shape)
        made = empty_like(output).contiguous()
        collectives.all_gather_into_tensor(made, tensor.contiguous(), group)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        made = empty(ctx.shape, dtype=grad.dtype, device=grad.device)
        collectives.reduce_scatter_tensor(made, grad.contiguous(), ReduceOp.SUM, ctx.group)
        return None, made, None


def broadcast(tensor: Any, src: int, group: Any = None) -> Any:
    """The tensor of one process, in all; its gradient is the sum of theirs."""
    return _Broadcast.apply(src, member(group), tensor)


def reduce(tensor: Any, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """The reduced tensor, in one process."""
    return _Reduce.apply(dst, op, member(group), tensor)


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """The reduced tensor."""
    return _AllReduce.apply(op, member(group), tensor)


def all_gather(tensor: Any, group: Any = None) -> tuple[Any, ...]:
    """The tensors of all processes."""
    return _AllGather.apply(member(group), tensor)  # type: ignore[no-any-return]


def _all_gather_base(output_tensor: Any, input_tensor: Any, group: Any = None) -> Any:
    """The tensors of all processes in one."""
    return _AllGatherBase.apply(output_tensor, input_tensor, member(group))


def gather(tensor: Any, dst: int = 0, group: Any = None) -> tuple[Any, ...]:
    """The tensors of all processes, in one; zeros elsewhere."""
    return _Gather.apply(dst, member(group), tensor)  # type: ignore[no-any-return]


def scatter(tensors: Any, src: int = 0, group: Any = None) -> Any:
    """One of the tensors of a process for each."""
    return _Scatter.apply(src, member(group), *tensors)


def reduce_scatter(output: Any, input_list: Any, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """The reduced part of this process."""
    return _ReduceScatter.apply(op, member(group), output, *input_list)


def all_to_all(output_tensor_list: Any, input_tensor_list: Any, group: Any = None) -> tuple[Any, ...]:
    """A tensor from each process."""
    return _AllToAll.apply(member(group), output_tensor_list, *input_tensor_list)  # type: ignore[no-any-return]


def all_to_all_single(output: Any, input: Any, output_split_sizes: Any = None, input_split_sizes: Any = None, group: Any = None) -> Any:
    """A part of a tensor from each process."""
    return _AllToAllSingle.apply(member(group), output, output_split_sizes, input_split_sizes, input)


for _name in __all__:
    mark(globals()[_name], "disable")  # a graph holds nothing that is exchanged: it ends before these
