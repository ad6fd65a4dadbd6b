"""Collectives as ops: ``torch.ops.c10d``, which write to tensors of their callers, and ``torch.ops.c10d_functional``, which name groups by ranks.

The ops of ``c10d`` take a process group and give a handle of what is started; ``_c10d_functional``, whose ops graphs hold, is ``graph_ops.py``'s.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.schema import parse_schema
from ..ops import overloads
from . import graph_ops, groups

_CLASSES = "__torch__.torch.classes.c10d."
_SHORT = {
    "group": f"{_CLASSES}ProcessGroup process_group", "op": f"{_CLASSES}ReduceOp reduce_op", "work": f"{_CLASSES}Work",
    "tail": "bool async_op=True, int timeout=-1",
}  # fmt: skip

# The schema of an op without its namespace, and what it runs.  What it gives back of tensors are those that it writes to.
_IN_PLACE: list[tuple[str, Callable[..., Any]]] = [
    ("broadcast_(Tensor[] tensors, {group}, int root_rank, int root_tensor, {tail}) -> (Tensor[], {work})",
     lambda tensors, group, root, *rest: (tensors, group.broadcast(tensors, root))),
    ("allreduce_(Tensor[] tensors, {group}, {op}, Tensor? sparse_indices, {tail}) -> (Tensor[], {work})",
     lambda tensors, group, op, *rest: (tensors, group.allreduce(tensors, op))),
    ("allreduce_coalesced_(Tensor[] tensors, {group}, {op}, {tail}) -> {work}",
     lambda tensors, group, op, *rest: group.allreduce_coalesced(tensors, op)),
    ("reduce_(Tensor[] tensors, {group}, {op}, int root_rank, int root_tensor, {tail}) -> {work}",
     lambda tensors, group, op, root, *rest: group.reduce(tensors, root, op)),
    ("allgather_(Tensor[][] output_tensors, Tensor[] input_tensors, {group}, {tail}) -> (Tensor[][], {work})",
     lambda outputs, inputs, group, *rest: (outputs, group.allgather(outputs, inputs))),
    ("_allgather_base_(Tensor output_tensor, Tensor input_tensor, {group}, {tail}) -> (Tensor, {work})",
     lambda output, input, group, *rest: (output, group._allgather_base(output, input))),
    ("allgather_coalesced_(Tensor[][] output_lists, Tensor[] input_list, {group}, bool async_op=True) -> {work}",
     lambda outputs, inputs, group, *rest: group.allgather_coalesced(outputs, inputs)),
    ("allgather_into_tensor_coalesced_(Tensor[] outputs, Tensor[] inputs, {group}, bool async_op=True) -> {work}",
     lambda outputs, inputs, group, *rest: group.allgather_into_tensor_coalesced(outputs, inputs)),
    ("reduce_scatter_(Tensor[] output_tensors, Tensor[][] input_tensors, {group}, {op}, {tail}) -> (Tensor[], {work})",
     lambda outputs, inputs, group, op, *rest: (outputs, group.reduce_scatter(outputs, inputs, op))),
    ("_reduce_scatter_base_(Tensor output_tensor, Tensor input_tensor, {group}, {op}, {tail}) -> (Tensor, {work})",
     lambda output, input, group, op, *rest: (output, group._reduce_scatter_base(output, input, op))),
    ("reduce_scatter_tensor_coalesced_(Tensor[] outputs, Tensor[] inputs, {group}, {op}, {tail}) -> {work}",
     lambda outputs, inputs, group, op, *rest: group.reduce_scatter_tensor_coalesced(outputs, inputs, op)),
    ("gather_(Tensor[][] output_tensors, Tensor[] input_tensors, {group}, int root_rank, {tail}) -> {work}",
     lambda outputs, inputs, group, root, *rest: group.gather(outputs, inputs, root)),
    ("scatter_(Tensor[] output_tensors, Tensor[][] input_tensors, {group}, int root_rank, {tail}) -> (Tensor[], {work})",
     lambda outputs, inputs, group, root, *rest: (outputs, group.scatter(outputs, inputs, root))),
    ("alltoall_(Tensor[] output_tensors, Tensor[] input_tensors, {group}, {tail}) -> (Tensor[], {work})",
     lambda outputs, inputs, group, *rest: (outputs, group.alltoall(outputs, inputs))),
    ("alltoall_base_(Tensor output, Tensor input, {group}, int[] output_split_sizes, int[] input_split_sizes, {tail}) -> {work}",
     lambda output, input, group, outs, ins, *rest: group.alltoall_base(output, input, outs, ins)),
    ("barrier(Tensor tensor, {group}, int[] device_ids, {tail}) -> {work}", lambda tensor, group, *rest: group.barrier()),
    ("send(Tensor[] tensors, {group}, int dst, int tag) -> {work}", lambda tensors, group, to, tag: group.send(tensors, to, tag)),
    ("recv_(Tensor[] tensors, {group}, int src, int tag) -> {work}", lambda tensors, group, source, tag: group.recv(tensors, source, tag)),
    ("recv_any_source_(Tensor[] tensors, {group}, int tag) -> {work}", lambda tensors, group, tag: group.recv_anysource(tensors, tag)),
]  # fmt: skip


def _named(ranks: list[int]) -> str:
    """The name of the group of some ranks."""
    return str(groups.of_ranks(ranks).group_name)


_RANKS = "str tag, int[] ranks, int group_size"
# The older ops, which name their group by its ranks.
_BY_RANKS: list[tuple[str, Callable[..., Any]]] = [
    (f"broadcast(Tensor self, int src, {_RANKS}) -> Tensor",
     lambda each, src, tag, ranks, size: graph_ops.broadcast(each, src, _named(ranks))),
    (f"all_reduce(Tensor self, str reduceOp, {_RANKS}) -> Tensor",
     lambda each, op, tag, ranks, size: graph_ops.all_reduce(each, op, _named(ranks))),
    (f"all_reduce_coalesced(Tensor[] self, str reduceOp, {_RANKS}) -> Tensor[]",
     lambda several, op, tag, ranks, size: [graph_ops.all_reduce(each, op, _named(ranks)) for each in several]),
    ("wait_tensor(Tensor self) -> Tensor", lambda each: graph_ops.wait_tensor(each)),
    (f"all_gather_into_tensor(Tensor shard, {_RANKS}) -> Tensor",
     lambda each, tag, ranks, size: graph_ops.all_gather_into_tensor(each, size, _named(ranks))),
    (f"all_gather_into_tensor_coalesced(Tensor[] input, {_RANKS}) -> Tensor[]",
     lambda several, tag, ranks, size: [graph_ops.all_gather_into_tensor(each, size, _named(ranks)) for each in several]),
    (f"reduce_scatter_tensor(Tensor input, str reduceOp, {_RANKS}) -> Tensor",
     lambda each, op, tag, ranks, size: graph_ops.reduce_scatter_tensor(each, op, size, _named(ranks))),
    (f"reduce_scatter_tensor_coalesced(Tensor[] inputs, str reduceOp, {_RANKS}) -> Tensor[]",
     lambda several, op, tag, ranks, size: [graph_ops.reduce_scatter_tensor(each, op, size, _named(ranks)) for each in several]),
    (f"all_to_all_single(Tensor input, SymInt[]? output_split_sizes, SymInt[]? input_split_sizes, {_RANKS}) -> Tensor",
     lambda each, outs, ins, tag, ranks, size: graph_ops.all_to_all_single(each, outs or [], ins or [], _named(ranks))),
]  # fmt: skip

# Tensors whose exchange may still run have no class of their own here: the op that would make one waits.
_WRAPPING: list[tuple[str, Callable[..., Any]]] = [
    ("_wrap_tensor_autograd(Tensor input) -> Tensor", lambda each: graph_ops.wait_tensor(each))
]


def _add(schema: str, run: Callable[..., Any]) -> None:
    overloads.add_overload(parse_schema(schema), lambda values: run(*values))


for _namespace, _table in (("c10d", _IN_PLACE), ("c10d_functional", _BY_RANKS), ("_c10d_functional", _WRAPPING)):
    for _schema, _run in _table:
        _add(f"{_namespace}::{_schema.format(**_SHORT)}", _run)


def packet(namespace: str, name: str) -> overloads.OpOverloadPacket | None:
    """The op of a name in one of these namespaces, once this module has made them."""
    return overloads.registered(namespace).get(name)


def names(namespace: str) -> set[str]:
    """The names of the ops of a namespace."""
    return set(overloads.registered(namespace))
