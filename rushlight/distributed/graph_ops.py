"""Collectives as nodes of graphs: PyTorch's functional collectives, and the gradient reduction of ``DistributedDataParallel``.

A collective is two nodes.  The first starts it, as soon as its operands are computed; the second waits for it, just before its result is needed.  What
is between them in a compiled graph overlaps with communication.  Nodes name groups and reducers by text, so that graphs hold no
run-time objects.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..core.base import Spec
from ..core.devices import CPU, device_type_of
from ..library import custom_op
from ..nn.parallel.reducer import reducers
from ..ops.create.factories import empty
from ..schedule.fusion import exchange
from ..schedule.lowering import direct_kernel, operand_memory
from ..tensor import Tensor
from . import groups
from .call_options import AllgatherOptions, AllreduceOptions, AllToAllOptions, BroadcastOptions, ReduceScatterOptions
from .recorded_calls import as_functional, observers
from .reductions import ReduceOp, named
from .work import Work

_started: dict[int, tuple[Work, Any]] = {}  # exchanges that graphs have started, by the address of the result, which is kept here


def _op(name: str, schema: str, kernel: Any, fake: Any, *, impure: bool = False, starts: bool = False, waits: bool = False) -> Any:
    """An op of graphs: impure where it starts something, so that all processes start the same in the same order."""
    made = custom_op(name, _reported(kernel) if starts else kernel, mutates_args=(), schema=schema)
    made.register_fake(fake)
    made._definition.strict = not waits  # what waits gives the tensor that was filled
    made.op.random = starts or impure  # kept in program order, never recomputed and never eliminated as dead code
    if starts or waits:
        exchange.set("start" if starts else "wait", made.op.name)
    return made


def _reported(kernel: Any) -> Any:
    """A kernel whose collective observers see as a functional one."""

    @functools.wraps(kernel)
    def run(*args: Any) -> Any:
        if not observers:
            return kernel(*args)
        with as_functional():
            return kernel(*args)

    return run


def _address(array: Any) -> int:
    return device_type_of(array).address(array)


def _begun(work: Work, made: Any) -> Any:
    """The tensor that a started collective will fill."""
    if not isinstance(work, Work):
        work.wait()
    elif work._request is not None:
        _started[_address(made._array)] = work._shared(), made
    return made


# -- functional collectives ------------------------------------------------------------------------------------------


def _all_reduce(input: Tensor, reduce_op: str, group_name: str) -> Tensor:
    made = input.detach().contiguous().clone()
    return _begun(groups.by_name(group_name).allreduce([made], AllreduceOptions(reduceOp=named(reduce_op))), made)


def _broadcast(input: Tensor, src: int, group_name: str) -> Tensor:
    made = input.detach().contiguous().clone()
    return _begun(groups.by_name(group_name).broadcast([made], BroadcastOptions(rootRank=src)), made)


def _gathered(input: Tensor, group_size: int, group_name: str) -> Tensor:
    return empty((group_size * (input.shape[0] if input.dim() else 1), *input.shape[1:]), dtype=input.dtype, device=input.device)


def _all_gather_into_tensor(input: Tensor, group_size: int, group_name: str) -> Tensor:
    made = _gathered(input, group_size, group_name)
    return _begun(groups.by_name(group_name)._allgather_base(made, input.detach().contiguous(), AllgatherOptions()), made)


def _scattered(input: Tensor, reduce_op: str, group_size: int, group_name: str) -> Tensor:
    return empty((input.shape[0] // group_size, *input.shape[1:]), dtype=input.dtype, device=input.device)


def _reduce_scatter_tensor(input: Tensor, reduce_op: str, group_size: int, group_name: str) -> Tensor:
    made = _scattered(input, reduce_op, group_size, group_name)
    return _begun(
        groups.by_name(group_name)._reduce_scatter_base(made, input.detach().contiguous(), ReduceScatterOptions(reduceOp=named(reduce_op))),
        made,
    )


def _sent(input: Tensor, output_split_sizes: list[int], input_split_sizes: list[int], group_name: str) -> Tensor:
    rows = sum(output_split_sizes) if output_split_sizes else input.shape[0]
    return empty((rows, *input.shape[1:]), dtype=input.dtype, device=input.device)


def _all_to_all_single(input: Tensor, output_split_sizes: list[int], input_split_sizes: list[int], group_name: str) -> Tensor:
    made = _sent(input, output_split_sizes, input_split_sizes, group_name)
    group = groups.by_name(group_name)
    return _begun(group.alltoall_base(made, input.detach().contiguous(), output_split_sizes, input_split_sizes, AllToAllOptions()), made)


def _wait_tensor(tensor: Tensor) -> Tensor:
    found = _started.pop(_address(tensor._array), None)
    if found is not None:
        found[0].wait()
    return tensor.detach()


def _like(input: Tensor, *rest: Any) -> Tensor:
    return empty(input.shape, dtype=input.dtype, device=input.device)


_NAMESPACE = "_c10d_functional::"
all_reduce = _op(f"{_NAMESPACE}all_reduce", "(Tensor input, str reduce_op, str group_name) -> Tensor", _all_reduce, _like, starts=True)
broadcast = _op(f"{_NAMESPACE}broadcast", "(Tensor input, int src, str group_name) -> Tensor", _broadcast, _like, starts=True)
all_gather_into_tensor = _op(
    f"{_NAMESPACE}all_gather_into_tensor", "(Tensor input, int group_size, str group_name) -> Tensor", _all_gather_into_tensor, _gathered,
    starts=True,
)  # fmt: skip
reduce_scatter_tensor = _op(
    f"{_NAMESPACE}reduce_scatter_tensor", "(Tensor input, str reduce_op, int group_size, str group_name) -> Tensor", _reduce_scatter_tensor,
    _scattered, starts=True,
)  # fmt: skip
all_to_all_single = _op(
    f"{_NAMESPACE}all_to_all_single", "(Tensor input, SymInt[] output_split_sizes, SymInt[] input_split_sizes, str group_name) -> Tensor",
    _all_to_all_single, _sent, starts=True,
)  # fmt: skip
wait_tensor = _op(f"{_NAMESPACE}wait_tensor", "(Tensor tensor) -> Tensor", _wait_tensor, _like, waits=True)


# -- gradients ---------------------------------------------------------------------------------------------------------


def _setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.options = inputs[1:]


def _back_through_all_reduce(ctx: Any, gradient: Any) -> Any:
    return wait_tensor(all_reduce(gradient, *ctx.options)), None, None


def _back_through_all_gather(ctx: Any, gradient: Any) -> Any:
    size, name = ctx.options
    return wait_tensor(reduce_scatter_tensor(gradient, "sum", size, name)), None, None


def _back_through_reduce_scatter(ctx: Any, gradient: Any) -> Any:
    op, size, name = ctx.options
    if named(op) not in (ReduceOp.SUM, ReduceOp.AVG):
        raise RuntimeError(f"reduce_scatter has gradients for sums and means, not for {op}")
    whole = wait_tensor(all_gather_into_tensor(gradient, size, name))
    return whole / size if named(op) is ReduceOp.AVG else whole, None, None, None


def _back_through_all_to_all(ctx: Any, gradient: Any) -> Any:
    outs, ins, name = ctx.options
    return wait_tensor(all_to_all_single(gradient, ins, outs, name)), None, None, None


all_reduce.register_autograd(_back_through_all_reduce, setup_context=_setup)
all_gather_into_tensor.register_autograd(_back_through_all_gather, setup_context=_setup)
reduce_scatter_tensor.register_autograd(_back_through_reduce_scatter, setup_context=_setup)
all_to_all_single.register_autograd(_back_through_all_to_all, setup_context=_setup)
wait_tensor.register_autograd(lambda ctx, gradient: gradient)


# -- gradients of data parallel training -------------------------------------------------------------------------------


TOKEN = Spec((0,), np.dtype(np.float32), (1,), CPU)  # what nodes without a result give, by which others depend on them


def _token(*args: Any) -> Tensor:
    return empty(0)


def _begin_iteration(key: str) -> Tensor:
    reducer = reducers[key]
    reducer.check_finished()
    reducer.prepare(None)
    return empty(0)


def _reduce_gradients(gradients: list[Tensor], key: str, bucket: int, parameters: list[int]) -> Tensor:
    if key in reducers:  # else it belongs to a model that is no more
        reducers[key].hand_over(parameters, gradients)
    return empty(0)


def _reduced_gradients(started: Tensor, key: str, bucket: int) -> list[Tensor]:
    return [each.detach() for each in reducers[key].wait_for(bucket)]


def _memory_for_gradients(key: str, bucket: int, parameters: list[int]) -> Any:
    """The memory in which a graph computes the gradients of a bucket: the bucket's own."""
    return reducers[key].lend(bucket) if key in reducers else None


def _reduced_like(started: Tensor, key: str, bucket: int) -> list[Tensor]:
    return [empty(each.shape, dtype=each.dtype, device=each.device) for each in reducers[key].buckets[bucket].parameters]


begin_iteration = _op("data_parallel::begin_iteration", "(str key) -> Tensor", _begin_iteration, _token, impure=True)
reduce_gradients = _op(
    "data_parallel::reduce_gradients", "(Tensor[] gradients, str key, int bucket, int[] parameters) -> Tensor", _reduce_gradients, _token,
    starts=True,
)  # fmt: skip
reduced_gradients = _op(
    "data_parallel::reduced_gradients", "(Tensor started, str key, int bucket) -> Tensor[]", _reduced_gradients, _reduced_like, waits=True
)
operand_memory.set(_memory_for_gradients, reduce_gradients.op.name)
for _op_of_steps, _kernel in (
    (begin_iteration, _begin_iteration),
    (reduce_gradients, _reduce_gradients),
    (reduced_gradients, lambda started, key, bucket: reducers[key].wait_for(bucket)),
):
    direct_kernel.set(_kernel, _op_of_steps.op.name)
