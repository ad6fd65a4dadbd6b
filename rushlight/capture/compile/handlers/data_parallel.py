"""``DistributedDataParallel`` inside a captured program: the reduction of each bucket of gradients is two nodes, one that starts it and one that waits.

A graph has these nodes where all of it is known beforehand: the buckets have got their final order (after the first iteration), gradients are exchanged in
this iteration, and each bucket is filled by one ``backward``.  Otherwise the graph ends before the call, and the break says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....autograd.engine import receiver_of
from ....core.process_group import world
from ....core.state import state
from ....nn.parallel.distributed import DistributedDataParallel
from ....nn.parallel.reducer import reducers
from ..guards.guard import Kind
from ..record.graph_breaks import Break
from ..record.registry import handles
from ..record.tensor_attributes import tensor_attribute


class SameBuckets:
    """A guard: a module exchanges its gradients in the buckets that a graph knows."""

    __name__ = "the buckets of gradients"

    def __init__(self, module: DistributedDataParallel) -> None:
        self.expected = self.now(module)

    def now(self, module: DistributedDataParallel) -> tuple[Any, ...]:
        """What the nodes of a graph depend on."""
        return module.reducer.key, module.require_backward_grad_sync, module._join_config.enable

    def __call__(self, module: DistributedDataParallel) -> bool:
        return self.now(module) == self.expected


class Reduced:
    """A guard: a parameter is a leaf, and the hook of its reducer is the only one on its gradient."""

    __name__ = "the reducer"

    def __init__(self, key: str, index: int) -> None:
        self.key, self.index = key, index

    def __call__(self, leaf: Any) -> bool:
        hook = receiver_of(leaf)
        alone = leaf._grad_fn is None and not leaf._backward_hooks and len(leaf._post_accumulate_hooks) == 1
        return bool(alone and hook is not None and hook.reducer.key == self.key and hook.index == self.index)


def obstacle(module: DistributedDataParallel) -> str:
    """Why an iteration can't be part of a graph; empty where it can."""
    reducer = module.reducer
    if not (state.grad_enabled and module.require_backward_grad_sync):
        return "gradients are not exchanged in this iteration"
    if module._join_config.enable:
        return "processes may have different numbers of inputs (join)"
    if reducer.size > 1 and module.broadcast_buffers and module.modules_buffers:
        return "buffers of the first process are sent to all"
    if module.find_unused_parameters:
        return "which parameters are used is found out anew each time"
    if any(bucket.sparse for bucket in reducer.buckets):
        return "gradients are sparse"
    if not reducer.is_settled:
        return "the order of buckets follows from the first iteration"
    return ""


@handles(DistributedDataParallel._pre_forward)
def before_forward(recorder: Any, module: Any, inputs: Any, kwargs: Any) -> Any:
    """What is done before forward: nothing, if the iteration is part of the graph."""
    source = recorder.sources.get(id(module))
    if recorder.pure or source is None:
        raise Break("exchange", name="DistributedDataParallel", reason="it was made inside of the program")
    recorder.guards.add(Kind.PREDICATE, source, SameBuckets(module), key="buckets")
    reason = obstacle(module)
    if reason:
        raise Break("exchange", name="DistributedDataParallel", reason=reason)
    return recorder.track_fresh((inputs, kwargs))


@handles(DistributedDataParallel._post_forward)
def after_forward(recorder: Any, module: Any, output: Any) -> Any:
    """What is done after forward: the iteration begins, when the graph runs."""
    if obstacle(module):
        raise Break("exchange", name="DistributedDataParallel", reason=obstacle(module))
    world.collectives.graph_ops.begin_iteration(module.reducer.key)
    return output


def is_reduced(leaf: Any) -> bool:
    """Whether the gradient of a leaf is reduced by nodes of the graph."""
    hook = receiver_of(leaf)
    if hook is None or len(leaf._post_accumulate_hooks) != 1:
        return False
    reducer = hook.reducer
    return bool(reducer.expecting and reducer.is_settled and not reducer.find_unused and reducer.join_work is None)


def is_reduced_leaf(leaf: Any) -> bool:
    """Whether a reducer has made the gradient of a leaf."""
    return receiver_of(leaf) is not None


def check(recorder: Any, leaves: Sequence[Any]) -> None:
    """A break where the gradients of some leaves can't be reduced by nodes of the graph."""
    hooks = {id(leaf): receiver_of(leaf) for leaf in leaves}
    for reducer in {id(hook.reducer): hook.reducer for hook in hooks.values() if hook is not None}.values():
        if not all(id(each) in hooks for each in reducer.parameters):
            raise Break("gradient", name="backward", reason="some parameters of DistributedDataParallel get no gradient")
    for leaf in leaves:
        if hooks[id(leaf)] is not None and tensor_attribute(recorder, leaf, "grad") is not None:
            raise Break("gradient", name="backward", reason="gradients of DistributedDataParallel were there before, and are averaged, too")


def guard(recorder: Any, leaf: Any) -> bool:
    """Guard that a leaf belongs to the same reducer; False where it belongs to none."""
    hook = receiver_of(leaf)
    if hook is None:
        return False
    recorder.guards.add(Kind.PREDICATE, recorder.sources[id(leaf)], Reduced(hook.reducer.key, hook.index), key="reducer")
    return True


def reduce(leaves: Sequence[Any], gradients: Sequence[Any]) -> list[Any]:
    """Gradients, those of reducers averaged over the processes: all buckets are started, then each is waited for."""
    ops = world.collectives.graph_ops
    hooks = [receiver_of(leaf) for leaf in leaves]
    found = {(hook.reducer.key, hook.index): gradient for hook, gradient in zip(hooks, gradients) if hook is not None}
    started: list[Any] = []
    for key in dict.fromkeys(key for key, _ in found):
        for number, bucket in enumerate(reducers[key].buckets):
            given = [found[key, index] for index in bucket.indices]
            started.append((ops.reduce_gradients(given, key, number, list(bucket.indices)), key, number, bucket.indices))
    for token, key, number, indices in started:
        for index, each in zip(indices, ops.reduced_gradients(token, key, number)):
            found[key, index] = each
    return [gradient if hook is None else found[hook.reducer.key, hook.index] for hook, gradient in zip(hooks, gradients)]
