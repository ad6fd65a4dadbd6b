"""Functions and modules whose forward and backward are replayed as CUDA graphs: what ``torch.cuda.make_graphed_callables`` returns."""

from __future__ import annotations

import functools
from typing import Any

from ..autograd import Function, grad
from ..compat.pytree import tree_flatten, tree_unflatten
from ..core.errors import OperationError
from ..nn import Module
from ..tensor.tensor import Tensor
from .graphs import CUDAGraph, graph
from .streams import Stream, current_stream, stream


def graphed(function: Any, sample_args: tuple[Any, ...], warmups: int, allow_unused: bool, pool: Any) -> Any:
    """A function or module with the same results and gradients, replayed; arguments must have the shapes of the samples."""
    call = function.forward if isinstance(function, Module) else function
    parameters = tuple(function.parameters()) if isinstance(function, Module) else ()
    inputs = tuple(each.detach().clone().requires_grad_(each.requires_grad) for each in sample_args)
    leaves = tuple(each for each in (*inputs, *parameters) if each.requires_grad)

    def run() -> tuple[list[Any], Any, list[Any], list[Any]]:
        """Outputs, their structure, the gradients fed in, and the gradients of the leaves."""
        outputs, shape = tree_flatten(call(*inputs))
        fed = [each.detach().clone().zero_() for each in outputs if each.requires_grad]
        wanted = [each for each in outputs if each.requires_grad]
        found = list(grad(wanted, leaves, fed, allow_unused=allow_unused)) if wanted and leaves else []
        return outputs, shape, fed, found

    side = Stream()
    side.wait_stream(current_stream())
    with stream(side):
        for _ in range(warmups):
            run()
    current_stream().wait_stream(side)

    forward, backward = CUDAGraph(), CUDAGraph()
    with graph(forward, pool):
        outputs, shape = tree_flatten(call(*inputs))
    fed = [each.detach().clone().zero_() if each.requires_grad else None for each in outputs]
    wanted = [each for each in outputs if each.requires_grad]
    found: list[Any] = []
    if wanted and leaves:
        with graph(backward, forward.pool()):
            found = list(grad(wanted, leaves, [each for each in fed if each is not None], allow_unused=allow_unused))
    gradients = iter(found)
    of_arguments = [next(gradients, None) if each.requires_grad else None for each in (*inputs, *parameters)]
    plain = [each.detach() for each in outputs]

    class Replayed(Function):
        @staticmethod
        def forward(ctx: Any, *arguments: Any) -> Any:
            for mine, given in zip(inputs, arguments):
                if mine.data_ptr() != given.data_ptr():
                    mine.data.copy_(given)
            forward_graph.replay()
            return tuple(each.detach() for each in plain)

        @staticmethod
        def backward(ctx: Any, *given: Any) -> Any:
            for mine, each in zip(fed, given):
                if mine is not None and each is not None:
                    mine.copy_(each)
            backward_graph.replay()
            return tuple(None if each is None else each.detach() for each in of_arguments)

    forward_graph, backward_graph = forward, backward

    def replayed(*arguments: Any) -> Any:
        for mine, given in zip(inputs, arguments, strict=True):
            if not isinstance(given, Tensor) or given.shape != mine.shape or given.dtype != mine.dtype:
                raise OperationError("a graphed callable takes arguments of the shapes and types it was captured with")
        return tree_unflatten(list(Replayed.apply(*arguments, *parameters)), shape)

    if not isinstance(function, Module):
        return functools.wraps(function)(replayed) if callable(function) else replayed
    trained_as = function.training
    original = function.forward

    def forward_of_module(*arguments: Any) -> Any:
        return replayed(*arguments) if function.training == trained_as else original(*arguments)

    function.forward = forward_of_module  # type: ignore[method-assign]
    return function
