"""The public view of the gradient graph: nodes, edges, hooks on saved tensors."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ..core.base import TensorBase, storage_of
from ..core.errors import GradientError
from ..core.node import Node, RemovableHandle, accumulator_of
from ..core.state import flags, state
from .engine import refreshed
from .targets import is_reached, variable_of


class saved_tensors_hooks:
    """Pass every tensor that is saved for backward through ``pack_hook``, and back through ``unpack_hook`` when it is needed."""

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.hooks = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if state.saved_hooks_disabled is not None:
            raise GradientError(state.saved_hooks_disabled)
        state.saved_hooks.append(self.hooks)
        flags.enter()

    def __exit__(self, *exception: Any) -> None:
        state.saved_hooks.pop()
        flags.leave()


class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors as copies in the memory of the CPU."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda tensor: (tensor.device, tensor.detach().clone()), lambda packed: packed[1].to(packed[0]))


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Make entering ``saved_tensors_hooks`` an error, with this message; where hooks are on already, it is raised at once."""
    if state.saved_hooks:
        raise GradientError(error_message)
    previous = state.saved_hooks_disabled
    state.saved_hooks_disabled = error_message
    try:
        yield
    finally:
        state.saved_hooks_disabled = previous


class GradientEdge(NamedTuple):
    """An edge of the graph: a node and the index of one of its outputs."""

    node: Any
    output_nr: int
    ownership_token: Any = None  # what keeps the graph alive where the node does not; here the node does

    def as_tensor(self) -> Any:
        """A tensor without data in the place of the one that the edge was taken of; the leaf itself where it is one."""
        leaf = variable_of(self.node)
        if leaf is not None:
            return leaf
        found = self.node._input_metadata[self.output_nr]
        found._grad_fn, found._output_index, found._requires_grad = self.node, self.output_nr, True
        return found


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """The edge for the gradient of a tensor."""
    if not refreshed(tensor)._requires_grad:
        raise GradientError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    node = tensor._grad_fn
    return GradientEdge(accumulator_of(tensor) if node is None else node, tensor._output_index)


def increment_version(tensor: Any) -> None:
    """Increase the version of tensors that were changed in place by code that autograd does not see."""
    for each in [tensor] if isinstance(tensor, TensorBase) else tensor:
        storage_of(each).version += 1


def register_multi_grad_hook(tensors: Sequence[Any], fn: Callable[[Any], None], *, mode: str = "all") -> RemovableHandle:
    """Call ``fn`` once the gradients of all the tensors are known (with the list of them), or of any (with the first)."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    lock = threading.Lock()
    seen: list[Any] = []
    now: dict[str, Any] = {}

    def begin() -> None:
        """Forget another backward pass; a tensor whose gradient this one does not compute is not waited for."""
        if now.get("pass") is not state.backward_pass:
            now.update({"pass": state.backward_pass, "count": 0, "called": False})
            seen[:] = [None] * len(tensors)
            if mode == "all":
                now["expected"] = sum(is_reached(refreshed(tensor), state.backward_pass) for tensor in tensors)

    def hook_for(index: int) -> Callable[[Any], None]:
        def hook(gradient: Any) -> None:
            with lock:
                begin()
                now["count"] += 1
                seen[index] = gradient
                ready = now["count"] == now["expected"] if mode == "all" else not now["called"]
                now["called"] = now["called"] or ready
                arrived = list(seen)
            if ready:
                fn(arrived if mode == "all" else gradient)

        return hook

    handles = [tensor.register_hook(hook_for(index)) for index, tensor in enumerate(tensors)]
    return _MultiHandle(handles)


class _MultiHandle(RemovableHandle):
    """The handle of hooks on several tensors."""

    def __init__(self, handles: list[RemovableHandle]) -> None:
        super().__init__({})
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[None]:
    """Save copies, so that changing a saved tensor in place later does no harm to its gradient."""
    with saved_tensors_hooks(lambda tensor: tensor.detach().clone(), lambda copy: copy):
        yield


__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge",
    "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
]  # fmt: skip
