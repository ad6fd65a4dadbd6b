"""Collectives that return their result instead of writing it: the form that compiled programs and tensor-parallel layers use.

A group is a process group, a mesh of one dimension, a pair of a mesh and a dimension, a list of ranks, or the name of a group.  The forms with
``_autograd`` in their names have gradients.
"""

from __future__ import annotations

from typing import Any

from ..capture.compile.annotations import mark
from ..core.base import make
from ..core.missing import missing
from ..core.overrides import disabled
from ..core.state import state
from ..ops.shape.concat import cat
from ..tensor import Tensor
from . import graph_ops, groups
from .device_mesh import DeviceMesh
from .process_group import ProcessGroup

__getattr__ = missing(__name__)


class AsyncCollectiveTensor(Tensor):
    """What a functional collective gives to a program that is not captured.  It is complete; ops on it give plain tensors."""

    __torch_function__ = disabled
    _saved_as = Tensor

    @property
    def elem(self) -> Tensor:
        """The tensor itself."""
        return self.trigger_wait()

    @property
    def completed(self) -> bool:
        """True: collectives are waited for when they are called."""
        return True

    def trigger_wait(self) -> Tensor:
        """The tensor itself."""
        return make(self._array)  # type: ignore[return-value]

    wait = trigger_wait

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.trigger_wait().clone()


def _handle(made: Any) -> Any:
    """A result as a program that is not captured gets it."""
    if state.capture is not None or type(made) is not Tensor or made.requires_grad:
        return made
    return made.as_subclass(AsyncCollectiveTensor)


def _group(group: Any) -> Any:
    """The process group of an argument."""
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
    """The tensor itself: its collective has completed when it is returned."""
    return tensor.trigger_wait() if isinstance(tensor, AsyncCollectiveTensor) else tensor


def _word(op: Any) -> str:
    return op if isinstance(op, str) else str(op.name).lower()


def all_reduce_autograd(self: Any, reduceOp: str, group: Any, tag: str = "") -> Any:
    """The reduced tensor, with gradients: they are reduced as well."""
    return graph_ops.wait_tensor(graph_ops.all_reduce(self, _word(reduceOp), _group(group).group_name))


def broadcast(self: Any, src: int, group: Any, tag: str = "") -> Any:
    """The tensor of one process, by its rank in the group."""
    return _handle(graph_ops.wait_tensor(graph_ops.broadcast(self.detach(), src, _group(group).group_name)))


def all_gather_tensor_autograd(self: Any, gather_dim: int, group: Any, tag: str = "") -> Any:
    """The tensors of all processes, concatenated along a dimension, with gradients: each gets the sum of those of its part."""
    found = _group(group)
    made = graph_ops.wait_tensor(graph_ops.all_gather_into_tensor(self, found.size(), found.group_name))
    if gather_dim % max(1, self.dim()) == 0:
        return made
    return cat(made.chunk(found.size(), 0), gather_dim)


def reduce_scatter_tensor_autograd(self: Any, reduceOp: str, scatter_dim: int, group: Any, tag: str = "") -> Any:
    """The part of this process of the reduced tensor along a dimension, with gradients."""
    found = _group(group)
    if self.shape[scatter_dim] % found.size():
        raise AssertionError(f"input dimension {scatter_dim} ({self.shape[scatter_dim]}) must be a multiple of group_size {found.size()}")
    source = cat(self.chunk(found.size(), scatter_dim), 0) if scatter_dim % self.dim() else self
    return graph_ops.wait_tensor(graph_ops.reduce_scatter_tensor(source, _word(reduceOp), found.size(), found.group_name))


def all_to_all_single_autograd(self: Any, output_split_sizes: Any, input_split_sizes: Any, group: Any, tag: str = "") -> Any:
    """A part of a tensor from each process, with gradients."""
    name = _group(group).group_name
    return graph_ops.wait_tensor(graph_ops.all_to_all_single(self, list(output_split_sizes or ()), list(input_split_sizes or ()), name))


def all_reduce(self: Any, reduceOp: str, group: Any, tag: str = "") -> Any:
    """The reduced tensor."""
    return _handle(all_reduce_autograd(self.detach(), reduceOp, group))


def all_gather_tensor(self: Any, gather_dim: int, group: Any, tag: str = "") -> Any:
    """The tensors of all processes, concatenated along a dimension."""
    return _handle(all_gather_tensor_autograd(self.detach(), gather_dim, group))


def reduce_scatter_tensor(self: Any, reduceOp: str, scatter_dim: int, group: Any, tag: str = "") -> Any:
    """The part of this process of the reduced tensor, along a dimension."""
    return _handle(reduce_scatter_tensor_autograd(self.detach(), reduceOp, scatter_dim, group))


def all_to_all_single(self: Any, output_split_sizes: Any, input_split_sizes: Any, group: Any, tag: str = "") -> Any:
    """A part of a tensor from each process."""
    return _handle(all_to_all_single_autograd(self.detach(), output_split_sizes, input_split_sizes, group))


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
    """The tensor of another process: element i of the list is the destination rank of process i's."""
    found = _group(group)
    size = found.size()
    outs, ins = [0] * size, [0] * size
    ins[src_dst[found.rank()]] = outs[src_dst.index(found.rank())] = self.numel()
    return all_to_all_single(self.reshape(-1), outs, ins, found).reshape(self.shape)


for _function in (
    all_reduce, all_reduce_autograd, broadcast, all_gather_tensor, all_gather_tensor_autograd, reduce_scatter_tensor,
    reduce_scatter_tensor_autograd, all_to_all_single, all_to_all_single_autograd, all_reduce_coalesced, all_gather_into_tensor_coalesced,
    reduce_scatter_tensor_coalesced, permute_tensor,
):  # fmt: skip
    mark(_function, "recorded")  # captures run them, and have their ops as nodes
