"""Collectives that return their result instead of writing it: the form that compiled programs and tensor-parallel layers use.

A group is a process group, a mesh of one dimension, a pair of a mesh and a dimension, a list of ranks, or the name of a group.  The forms with
``_autograd`` in their names have gradients.
"""

from __future__ import annotations

from typing import Any

from ..autograd.function import Function
from ..capture.compile.annotations import mark
from ..core.missing import missing
from ..ops.create.factories import empty
from ..ops.shape.concat import cat
from . import collectives, groups
from .device_mesh import DeviceMesh
from .process_group import ProcessGroup
from .reductions import ReduceOp, named

__getattr__ = missing(__name__)
AsyncCollectiveTensor: Any = type(
    "AsyncCollectiveTensor", (), {"__doc__": "A tensor whose collective goes on: none is, results have ended."}
)


def _group(group: Any) -> Any:
    """The process group that an argument means."""
    if isinstance(group, ProcessGroup) or group is None:
        return groups.member(group)
    if isinstance(group, str):
        return groups.by_name(group)
    if isinstance(group, DeviceMesh):
        return group.get_group()
    if isinstance(group, tuple) and isinstance(group[0], DeviceMesh):
        return group[0].get_group(group[1])
    if isinstance(group, (list, tuple)):
        return groups.of_ranks([int(each) for each in group])
    raise ValueError(
        f"Invalid type for group, must be one of List, ProcessGroup, DeviceMesh or (DeviceMesh, int), not {type(group).__name__}"
    )


def wait_tensor(tensor: Any) -> Any:
    """A tensor whose collective has ended: it has when it is returned."""
    return tensor


def all_reduce(self: Any, reduceOp: str, group: Any, tag: str = "") -> Any:
    """The reduced tensor."""
    made = self.detach().contiguous().clone()
    collectives.all_reduce(made, named(reduceOp), _group(group))
    return made


def broadcast(self: Any, src: int, group: Any, tag: str = "") -> Any:
    """The tensor of one process, by its rank in the group."""
    made = self.detach().contiguous().clone()
    collectives.broadcast(made, group=_group(group), group_src=src)
    return made


def all_gather_tensor(self: Any, gather_dim: int, group: Any, tag: str = "") -> Any:
    """The tensors of all processes, one after the other along a dimension."""
    found = _group(group)
    source = self.detach().contiguous()
    made = empty((found.size() * (source.shape[0] if source.dim() else 1), *source.shape[1:]), dtype=self.dtype, device=self.device)
    collectives.all_gather_into_tensor(made, source, found)
    if gather_dim % max(1, self.dim()) == 0:
        return made
    return cat(made.chunk(found.size(), 0), gather_dim)


def reduce_scatter_tensor(self: Any, reduceOp: str, scatter_dim: int, group: Any, tag: str = "") -> Any:
    """The part of this process of the reduced tensor, along a dimension."""
    found = _group(group)
    if self.shape[scatter_dim] % found.size():
        raise AssertionError(f"input dimension {scatter_dim} ({self.shape[scatter_dim]}) must be a multiple of group_size {found.size()}")
    source = self.detach()
    if scatter_dim % self.dim():
        source = cat(source.chunk(found.size(), scatter_dim), 0)
    made = empty((source.shape[0] // found.size(), *source.shape[1:]), dtype=self.dtype, device=self.device)
    collectives.reduce_scatter_tensor(made, source.contiguous(), named(reduceOp), found)
    return made


def all_to_all_single(self: Any, output_split_sizes: Any, input_split_sizes: Any, group: Any, tag: str = "") -> Any:
    """A part of a tensor from each process."""
    found = _group(group)
    rows = sum(output_split_sizes) if output_split_sizes else self.shape[0]
    made = empty((rows, *self.shape[1:]), dtype=self.dtype, device=self.device)
    collectives.all_to_all_single(made, self.detach().contiguous(), output_split_sizes, input_split_sizes, found)
    return made


def all_reduce_coalesced(self: list[Any], reduceOp: str, group: Any, tag: str = "") -> list[Any]:
    """Several reduced tensors."""
    return [all_reduce(each, reduceOp, group) for each in self]


def all_gather_into_tensor_coalesced(self: list[Any], group: Any, tag: str = "") -> list[Any]:
    """Several gathered tensors."""
    return [all_gather_tensor(each, 0, group) for each in self]


def reduce_scatter_tensor_coalesced(inputs: list[Any], reduceOp: str, scatter_dim: list[int], group: Any, tag: str = "") -> list[Any]:
    """Parts of several reduced tensors."""
    return [reduce_scatter_tensor(each, reduceOp, dim, group) for each, dim in zip(inputs, scatter_dim, strict=True)]


def permute_tensor(self: Any, src_dst: list[int], group: Any, tag: str = "") -> Any:
    """The tensor of another process: number i of the list is who gets that of process i."""
    found = _group(group)
    size = found.size()
    outs, ins = [0] * size, [0] * size
    ins[src_dst[found.rank()]] = outs[src_dst.index(found.rank())] = self.numel()
    return all_to_all_single(self.reshape(-1), outs, ins, found).reshape(self.shape)


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Any, op: Any, group: Any) -> Any:
        ctx.op, ctx.group = op, group
        return all_reduce(tensor, op, group)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return _AllReduce.apply(grad, ctx.op, ctx.group), None, None


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Any, dim: int, group: Any) -> Any:
        ctx.dim, ctx.group = dim, group
        return all_gather_tensor(tensor, dim, group)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return _ReduceScatter.apply(grad, ReduceOp.SUM, ctx.dim, ctx.group), None, None


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Any, op: Any, dim: int, group: Any) -> Any:
        ctx.op, ctx.dim, ctx.group = named(op), dim, group
        return reduce_scatter_tensor(tensor, op, dim, group)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        if ctx.op not in (ReduceOp.SUM, ReduceOp.AVG):
            raise RuntimeError(f"reduce_scatter has gradients for sums and means, not for {ctx.op}")
        whole = _AllGather.apply(grad, ctx.dim, ctx.group)
        return whole / _group(ctx.group).size() if ctx.op is ReduceOp.AVG else whole, None, None, None


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Any, outs: Any, ins: Any, group: Any) -> Any:
        ctx.outs, ctx.ins, ctx.group = outs, ins, group
        return all_to_all_single(tensor, outs, ins, group)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return _AllToAll.apply(grad, ctx.ins, ctx.outs, ctx.group), None, None, None


def all_reduce_autograd(self: Any, reduceOp: str, group: Any, tag: str = "") -> Any:
    """The reduced tensor, with gradients: they are reduced as well."""
    return _AllReduce.apply(self, reduceOp, group)


def all_gather_tensor_autograd(self: Any, gather_dim: int, group: Any, tag: str = "") -> Any:
    """The tensors of all processes, with gradients: each process gets the sum of those of its part."""
    return _AllGather.apply(self, gather_dim, group)


def reduce_scatter_tensor_autograd(self: Any, reduceOp: str, scatter_dim: int, group: Any, tag: str = "") -> Any:
    """The part of this process of the reduced tensor, with gradients."""
    return _ReduceScatter.apply(self, reduceOp, scatter_dim, group)


def all_to_all_single_autograd(self: Any, output_split_sizes: Any, input_split_sizes: Any, group: Any, tag: str = "") -> Any:
    """A part of a tensor from each process, with gradients."""
    return _AllToAll.apply(self, output_split_sizes, input_split_sizes, group)


for _function in (all_reduce_autograd, all_gather_tensor_autograd, reduce_scatter_tensor_autograd, all_to_all_single_autograd):
    mark(_function, "disable")  # a graph holds nothing that is exchanged: it ends before these
