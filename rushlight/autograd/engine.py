"""The engine: propagates gradients from outputs to leaves.

Nodes wait in a heap ordered by when they were recorded, latest first, so that each runs once, after all its users.
There is no recursion, and a node's inputs are dropped as soon as it has run.
"""

from __future__ import annotations

import contextvars
import threading
import warnings
from collections.abc import Callable
from heapq import heappop, heappush
from sys import getrefcount
from typing import Any

import numpy as np

from ..core import node as node_module
from ..core.base import Spec, TensorBase, contiguous_strides, make, storage_of
from ..core.declare import table
from ..core.devices import device_type_of, sole_accelerator
from ..core.dtypes import BY_NUMPY, legacy_name
from ..core.errors import GradientError
from ..core.families import broadcasts_to
from ..core.fast_paths import shortcut
from ..core.node import Node, edge_of, refresh
from ..core.process_safety import free_after_fork
from ..core.sparse import SPARSE
from ..core.state import flags, state
from .targets import BackwardPass, Targets

_accumulate_lock = free_after_fork(threading.RLock())
_add = np.add
_PLACES = frozenset(("cpu", "meta"))  # of gradients that stay where they are


def _one_variable() -> int:
    """The reference count of an object that one variable refers to."""
    held = object()
    return getrefcount(held)


_ALONE = _one_variable()


def run_backward(
    roots: list[Any],
    gradients: list[Any],
    *,
    retain_graph: bool,
    create_graph: bool,
    targets: list[Any] | None = None,
    accumulate_targets: bool = False,
) -> list[Any]:
    """Send gradients backwards from ``roots``.

    Without targets, leaves accumulate into ``.grad``.  With targets (tensors), the gradients that reach them are
    returned, or accumulated into them, and only nodes on the way to them run.
    """
    outer = state.backward_pass
    depth = 0 if outer is None else outer.depth + 1
    if depth >= _DEEPEST:
        return _in_thread(roots, gradients, retain_graph, create_graph, targets, accumulate_targets)
    if sole_accelerator.kind is not None:
        sole_accelerator.kind.before_backward()
    pending: dict[Any, Any] = {}
    heap: list[tuple[int, Node]] = []
    leaves: dict[Any, Any] = {}
    ghosts: set[Any] | None = None  # nodes and leaves that a custom Function gave None: they run, unless a gradient comes from elsewhere
    nothing = False
    wanted = Targets(roots, targets) if targets is not None else None
    watched = flags.special and (state.anomaly or state.profiler is not None)
    hooked = outside = None
    if flags.leaf_hooks:
        hooked = _HookedLeaves(roots, leaves) if wanted is None else None
        outside, state.receiving = state.receiving, hooked if hooked is not None and hooked.receives else None
    state.backward_pass = running = BackwardPass(roots, wanted, depth)
    previous, state.grad_enabled = state.grad_enabled, create_graph
    try:
        for root, gradient in zip(roots, gradients):
            if gradient._array.dtype is not root._array.dtype:
                gradient = table["cast_gradient"].call(gradient, BY_NUMPY[root._array.dtype])
            _receive(edge_of(root), gradient, pending, heap, leaves)
        gradient = gradients = None  # type: ignore[assignment]
        while heap:
            current = heappop(heap)[1]
            if ghosts is not None:
                nothing = current not in pending
                if nothing and current not in ghosts:
                    continue
                ghosts.discard(current)
                if nothing:
                    pending[current] = [None] * len(current.outputs) if current.multiple else None
            gradient = pending.pop(current)
            if current.hooked:
                gradient = _of_tensors(current, gradient)
            if wanted is not None:
                wanted.capture(current, gradient)
                if current not in wanted.useful:
                    continue
            if current.pre_hooks:
                gradient = _before(current, gradient)
            if nothing:
                results = current.without_gradient()
            else:
                results = _run_watched(current, gradient) if watched else current.backward(gradient)
            if current.hooked and current.post_hooks is not None:
                results = _after(current, results, gradient)
            edges = current.inputs
            if not retain_graph:
                current.release()
            gradient = None
            for result, edge in zip(results, edges):
                if result is None or edge is None or (wanted is not None and not wanted.reaches(edge)):
                    if result is None and edge is not None and (nothing or current.custom) and (wanted is None or wanted.reaches(edge)):
                        ghosts = _receive_nothing(edge, ghosts, heap)
                    continue
                if isinstance(edge, Node) and not edge.multiple and edge not in pending:
                    array, shape = result._array, edge.shape
                    if array.ndim != len(shape) or array.shape != shape or array.dtype is not edge.dtype:
                        result = _fit(current, results, edge, result)
                    pending[edge] = result
                    heappush(heap, (edge.sequence, edge))
                elif isinstance(edge, TensorBase) and edge not in leaves:
                    array, own = result._array, edge._array
                    fits = array.dtype is own.dtype and array.ndim == own.ndim and array.shape == own.shape and not flags.grad_dtypes
                    leaves[edge] = result if fits else _fit(current, results, edge, result)
                else:  # one of several outputs, or a second gradient
                    _receive(edge, _fit(current, results, edge, result), pending, heap, leaves)
            result = results = edge = None  # type: ignore[assignment]
            if hooked is not None and current in hooked.users:
                hooked.settle(current, leaves)
            current = None  # type: ignore[assignment]
        for leaf in ghosts or ():
            if leaf not in leaves and leaf._backward_hooks:
                through_hooks(leaf._backward_hooks, None)
        plain, accelerated = wanted is None and not create_graph, sole_accelerator.array_type
        for leaf in list(leaves):
            gradient = leaves.pop(leaf)
            if plain and leaf._grad is None and not leaf._backward_hooks and not leaf._post_accumulate_hooks:
                array, own = gradient._array, leaf._array  # the common case: nothing else refers to the first gradient of a leaf
                kind = array.__class__
                owned = (
                    getrefcount(gradient) <= _ALONE
                    and (kind is np.ndarray or kind is accelerated is own.__class__)
                    and (
                        array.base is None or kind is accelerated and _sole_base(array)
                        if gradient._storage is None
                        else _sole_view(gradient)
                    )
                )
                if owned and array.strides == own.strides:
                    with _accumulate_lock:
                        if leaf._grad is None:
                            leaf._grad = gradient if gradient._storage is None else make(array)
                            continue
            if leaf._backward_hooks:
                gradient = through_hooks(leaf._backward_hooks, gradient)
            if wanted is None or (accumulate_targets and id(leaf) in wanted.leaves):
                accumulate(leaf, gradient)
            elif id(leaf) in wanted.leaves:
                wanted.found[id(leaf)] = gradient
        while running.callbacks:
            running.callbacks.pop(0)()
    finally:
        state.grad_enabled, state.backward_pass = previous, outer
        if flags.leaf_hooks:
            state.receiving = outside
    return [] if wanted is None else wanted.results(targets or [], accumulate if accumulate_targets else None)


# Nested backward passes are nested Python calls: at this depth, the next one runs in a thread, which has a stack of its own.
_DEEPEST = 12


def _in_thread(*arguments: Any) -> list[Any]:
    """Run a backward pass in a thread with an empty stack and the modes of this one, and wait for it."""
    roots, gradients, retain_graph, create_graph, targets, accumulate_targets = arguments
    modes = {**vars(state), "backward_pass": None}
    found: list[Any] = []
    failed: list[BaseException] = []

    def work() -> None:
        vars(state).update(modes)
        try:
            found.extend(
                run_backward(
                    roots, gradients, retain_graph=retain_graph, create_graph=create_graph, targets=targets,
                    accumulate_targets=accumulate_targets,
                )
            )  # fmt: skip
        except BaseException as error:
            failed.append(error)

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(work,), name="backward", daemon=True)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return found


def queue_callback(callback: Callable[[], Any]) -> None:
    """Have a function called at the end of the backward pass that runs now."""
    running = state.backward_pass
    if running is None:
        raise GradientError("Final callbacks can only be installed during backward pass.")
    if running.callbacks is None:
        running.callbacks = []
    running.callbacks.append(callback)


def _receive(edge: Any, gradient: Any, pending: dict[Any, Any], heap: list[Any], leaves: dict[Any, Any]) -> None:
    """Add a gradient to the pending gradients of its node or leaf."""
    index = 0
    if edge.__class__ is tuple:
        edge, index = edge
    if isinstance(edge, TensorBase):
        present = leaves.get(edge)
        leaves[edge] = gradient if present is None else _sum(present, gradient)
    elif edge.multiple:
        slots = pending.get(edge)
        if slots is None:
            slots = pending[edge] = [None] * len(edge.outputs)
            heappush(heap, (edge.sequence, edge))
        slots[index] = gradient if slots[index] is None else _sum(slots[index], gradient)
    elif edge in pending:
        pending[edge] = _sum(pending[edge], gradient)
    else:
        pending[edge] = gradient
        heappush(heap, (edge.sequence, edge))


def _receive_nothing(edge: Any, ghosts: set[Any] | None, heap: list[Any]) -> set[Any]:
    """Note that a custom Function gave None to a node or leaf: the node runs after all that may still give it a gradient."""
    if edge.__class__ is tuple:
        edge = edge[0]
    ghosts = set() if ghosts is None else ghosts
    if edge not in ghosts:
        ghosts.add(edge)
        if not isinstance(edge, TensorBase):
            heappush(heap, (edge.sequence + 0.5, edge))  # type: ignore[misc]
    return ghosts


def _sum(present: Any, gradient: Any) -> Any:
    """The sum of two gradients; a dense one comes first, for a sparse tensor can only be added to it."""
    return gradient + present if present._array.__class__ in SPARSE else present + gradient


def through_hooks(hooks: Any, gradient: Any) -> Any:
    """A gradient after the hooks of its tensor."""
    for hook in list(hooks.values()):
        changed = hook(gradient)
        if changed is not None:
            gradient = _checked_hook(hook, changed, gradient)
    return gradient


class _HookedLeaves:
    """The leaves with hooks on their ``.grad``: each takes its gradient when the last node that uses it has run, while the rest of backward goes on."""

    def __init__(self, roots: list[Any], leaves: dict[Any, Any]) -> None:
        self.leaves = leaves  # gradients that have come, not all of them perhaps
        self.receives = False  # whether a hook takes gradients before they are accumulated
        self.users: dict[Any, list[Any]] = {}
        self.counts: dict[int, int] = {}
        seen: set[Any] = set()
        stack = [root._grad_fn for root in roots if root._grad_fn is not None]
        while stack:
            current = stack.pop()
            if current in seen:
                continue
            seen.add(current)
            for edge in current.inputs:
                if edge.__class__ is tuple:
                    edge = edge[0]
                if edge is None:
                    continue
                if isinstance(edge, TensorBase):
                    if edge._post_accumulate_hooks:
                        self.receives = self.receives or receiver_of(edge) is not None
                        self.users.setdefault(current, []).append(edge)
                        self.counts[id(edge)] = self.counts.get(id(edge), 0) + 1
                elif edge not in seen:
                    stack.append(edge)

    def settle(self, current: Node, leaves: dict[Any, Any]) -> None:
        """Accumulate the gradients of leaves that no node uses that is still to run."""
        for leaf in self.users[current]:
            self.counts[id(leaf)] -= 1
            if self.counts[id(leaf)] == 0 and leaf in leaves:
                gradient = leaves.pop(leaf)
                if leaf._backward_hooks:
                    gradient = through_hooks(leaf._backward_hooks, gradient)
                accumulate(leaf, gradient)

    def receiver(self, leaf: Any) -> Any:
        """The hook that takes the gradient of a leaf early, where the node that runs now computes all of it; else None."""
        if self.counts.get(id(leaf)) != 1 or leaf in self.leaves or leaf._backward_hooks:
            return None
        return receiver_of(leaf)


def receiver_of(leaf: Any) -> Any:
    """The hook of a leaf that takes its gradient as soon as it is computed (it has an attribute ``receives``), or None."""
    hooks = leaf._post_accumulate_hooks
    return None if not hooks else next((each for each in hooks.values() if getattr(each, "receives", False)), None)


def _fit(current: Node, results: Any, edge: Any, gradient: Any) -> Any:
    """A gradient in the shape and dtype of its tensor: broadcast dimensions are summed, the dtype is cast back."""
    index = 0
    if edge.__class__ is tuple:
        edge, index = edge
    if isinstance(edge, TensorBase):
        wanted = edge._array
        shape, dtype = wanted.shape, wanted.dtype
        if flags.grad_dtypes and "_grad_dtype" in edge.__dict__:
            chosen = edge.__dict__["_grad_dtype"]
            dtype = gradient._array.dtype if chosen is None else chosen.numpy
    elif edge.outputs is not None:
        shape, dtype = edge.outputs[index]
    else:
        shape, dtype = edge.shape, edge.dtype
    if not isinstance(gradient, TensorBase):
        raise TypeError(
            f"{current.name()} returned a gradient of type {type(gradient).__name__} at index {_index(results, gradient)}; expected a Tensor or None"
        )
    array = gradient._array
    if array.ndim != len(shape) or array.shape != shape:
        gradient = _sum_to(current, results, gradient, shape)
    if array.dtype is not dtype:
        gradient = table["cast_gradient"].call(gradient, BY_NUMPY[dtype])
    return gradient


def _index(results: Any, gradient: Any) -> int:
    """Which of a node's results a gradient is."""
    return next(at for at, each in enumerate(results) if each is gradient)


def _sum_to(current: Node, results: Any, gradient: Any, shape: Any) -> Any:
    have = tuple(gradient._array.shape)
    if not broadcasts_to(tuple(shape), have):
        raise GradientError(
            f"Function {current.name()} returned an invalid gradient at index {_index(results, gradient)} - got {list(have)} but expected shape "
            f"compatible with {list(shape)}"
        )
    made = shortcut("sum_to", gradient, shape) if sole_accelerator.kind is not None else None
    return gradient.sum_to_size(*shape) if made is None else made


def _of_tensors(current: Node, gradient: Any) -> Any:
    """Run the hooks of a node's outputs, and store retained gradients."""
    gradients = gradient if current.multiple else [gradient]
    if current.tensor_hooks:
        for index, hooks in current.tensor_hooks.items():
            gradients[index] = through_hooks(hooks, gradients[index])  # None of an output that nothing was computed from
    if current.retained:
        for index, reference in current.retained.items():
            tensor = reference()
            if tensor is not None and gradients[index] is not None:
                kept = gradients[index]
                if tensor._grad is None:
                    tensor._grad = kept if state.grad_enabled else kept.clone()
                else:
                    tensor._grad = tensor._grad + kept
    return gradients if current.multiple else gradients[0]


def _before(current: Node, gradient: Any) -> Any:
    """Run the hooks that get the gradient before the node does."""
    gradients = gradient if current.multiple else [gradient]
    for hook in list(current.pre_hooks.values()):
        changed = hook(tuple(gradients))
        if changed is not None:
            gradients = list(changed) if isinstance(changed, (tuple, list)) else [changed]
    return gradients if current.multiple else gradients[0]


def _checked_hook(hook: Any, changed: Any, gradient: Any) -> Any:
    if gradient is None:
        raise TypeError(f"hook '{getattr(hook, '__name__', hook)}': can't replace a None gradient with a non-None value")
    if not isinstance(changed, TensorBase):
        raise TypeError(
            f"hook '{getattr(hook, '__name__', hook)}' has returned an incorrect value: expected a Tensor or None, "
            f"got {type(changed).__name__}"
        )
    if tuple(changed._array.shape) != tuple(gradient._array.shape):
        raise GradientError(f"hook '{getattr(hook, '__name__', hook)}' has changed the size of value")
    if changed._array.dtype != gradient._array.dtype:
        raise GradientError(
            f"hook '{getattr(hook, '__name__', hook)}' has changed the type of value (was torch.{legacy_name(gradient._array.dtype)}"
            f"Tensor, got torch.{legacy_name(changed._array.dtype)}Tensor)"
        )
    return changed


def _after(current: Node, results: Any, gradient: Any) -> Any:
    outputs = tuple(gradient) if current.multiple else (gradient,)
    for hook in list(current.post_hooks.values()):
        changed = hook(tuple(results), outputs)
        if changed is not None:
            changed = changed if isinstance(changed, tuple) else (changed,)
            if len(changed) != len(results):
                raise GradientError(
                    f"hook '{getattr(hook, '__name__', hook)}' has returned an incorrect number of values "
                    f"(got {len(changed)}, but expected {len(results)})"
                )
            results = changed
    return results


def _run_watched(current: Node, gradient: Any) -> Any:
    """Anomaly mode: report the forward line of a node that fails or produces NaN; and report it to the profiler."""
    profiler = state.profiler
    try:
        results = current.backward(gradient) if profiler is None else profiler.node(current, gradient)
    except Exception:
        if state.anomaly:
            _show_trace(current)
        raise
    if state.anomaly and state.anomaly_check_nan:
        for index, result in enumerate(results):
            if isinstance(result, TensorBase) and result._array.dtype.kind in "fcV" and _has_nan(result):
                _show_trace(current)
                raise GradientError(f"Function '{current.name()}' returned nan values in its {index}th output.")
    return results


def _has_nan(gradient: Any) -> bool:
    array = gradient._array
    if array.__class__ in SPARSE:
        array = array.values
    return array.__class__ is not Spec and bool(np.isnan(device_type_of(array).to_host(array)).any())


def _show_trace(current: Node) -> None:
    if current.trace is None:
        warnings.warn(
            f"Error detected in {current.name()}. No forward pass information available. Enable detect anomaly during forward "
            "pass for more information.", stacklevel=2,
        )  # fmt: skip
        return
    warnings.warn(
        f"Error detected in {current.name()}. Traceback of forward call that caused the error:\n{''.join(current.trace)}", stacklevel=2
    )


# -- accumulation ------------------------------------------------------------------------------------------------


def accumulate(leaf: Any, gradient: Any) -> None:
    """Add a gradient to ``leaf.grad``; the first is used without a copy where nothing else refers to it."""
    accumulator = None
    own = leaf._array
    if (
        own.__class__ is np.ndarray
        and gradient._array.__class__ is not np.ndarray
        and not own.shape
        and gradient.device.type not in _PLACES
    ):
        gradient = gradient.cpu()  # of a number on the CPU, which was an operand of tensors on another device
    if leaf._post_accumulate_hooks and (found := leaf.__dict__.get("_accumulator")) is not None:
        accumulator = found()
        if accumulator is not None and accumulator.pre_hooks:
            gradient = _before(accumulator, gradient)
    with _accumulate_lock:
        present = leaf._grad
        if present is None:
            if own.__class__ is not np.ndarray or gradient._array.__class__ is not np.ndarray:
                leaf._grad = gradient if state.grad_enabled or _owned_on_device(gradient, own) else gradient.clone()
            elif not _has_grad_layout(gradient._array, own):
                leaf._grad = table["lay_out"].call(gradient, _strides_of_gradient(own))
            else:
                leaf._grad = gradient if _owned(gradient) or state.grad_enabled else gradient.clone()
        elif state.grad_enabled or present._array.__class__ is Spec:
            leaf._grad = _sum(present, gradient)
        elif present._array.__class__ in SPARSE and gradient._array.__class__ not in SPARSE:
            leaf._grad = gradient + present
        elif gradient._array.__class__ is np.ndarray and present._view is None:
            array = present._array
            _add(array, gradient._array, array)
            (present._storage or storage_of(present)).version += 1
        else:
            present.add_(gradient)
    if leaf._post_accumulate_hooks:
        for hook in list(leaf._post_accumulate_hooks.values()):
            if hook(leaf) is not None:
                raise GradientError("Tensor post accumulate grad hooks should return None.")
        if accumulator is not None and accumulator.post_hooks:
            _after(accumulator, (), gradient)


def _sole_view(gradient: Any) -> bool:
    """Whether a gradient is all of the memory of another tensor that nothing else refers to, as what a reshape passes back is."""
    view, storage = gradient._view, gradient._storage
    if view is None or view.creation != "no_grad":
        return False
    base = view.base
    if base._view is not None or base._requires_grad or base._array.size != gradient._array.size or base._storage is not storage:
        return False
    return getrefcount(base) <= _ALONE + 1 and getrefcount(storage) <= _ALONE + 2


def _sole_base(array: Any) -> bool:
    """Whether an array of an accelerator is all of its memory, and no other array refers to that but the one that it was reshaped from."""
    base = array.base
    return base is None or base.base is None and base.size == array.size and getrefcount(base) <= _ALONE + 1


def _owned(gradient: Any) -> bool:
    """Whether nothing else refers to the gradient or its memory."""
    array = gradient._array
    if gradient._storage is not None or array.__class__ is not np.ndarray or array.base is not None:
        return False
    return getrefcount(gradient) <= _REFERENCES


def _owned_on_device(gradient: Any, leaf: Any) -> bool:
    """Whether nothing else refers to a gradient on another device than the CPU, and it has the strides of its leaf."""
    array = gradient._array
    if gradient._storage is not None or isinstance(array, (np.ndarray, Spec)) or array.__class__ is not leaf.__class__:
        return False
    if array.__class__ in SPARSE:
        return False
    if not _sole_base(array) or array.dtype != leaf.dtype or array.strides != leaf.strides:
        return False
    return getrefcount(gradient) <= _REFERENCES


def _dense(array: Any) -> bool:
    """Whether the elements of an array fill a block of memory, each once, in any order of dimensions."""
    expected = array.itemsize
    for step, size in sorted((step, size) for step, size in zip(array.strides, array.shape) if size != 1):
        if step != expected:
            return False
        expected *= size
    return True


def _has_grad_layout(gradient: Any, leaf: Any) -> bool:
    """Whether a gradient has the layout that ``.grad`` gets: that of a leaf whose elements fill its memory, else row-major order."""
    if gradient.flags.c_contiguous and leaf.flags.c_contiguous:
        return True
    if not _dense(leaf):
        return bool(gradient.flags.c_contiguous)
    width, own = gradient.itemsize, leaf.itemsize  # which differ where ``grad_dtype`` was set
    return all(a * own == b * width for a, b, size in zip(gradient.strides, leaf.strides, leaf.shape) if size != 1)


def _strides_of_gradient(leaf: Any) -> tuple[int, ...]:
    """The strides of ``.grad``, in elements."""
    if not _dense(leaf):
        return contiguous_strides(leaf.shape)
    return tuple(step // leaf.itemsize for step in leaf.strides)


def _count_references() -> int:
    """The reference count that ``_owned`` finds for a gradient that only the engine holds; measured, as it depends on the interpreter."""
    seen: list[int] = []
    original = globals()["_owned"]

    def count(gradient: Any) -> bool:
        seen.append(getrefcount(gradient))
        return True

    leaf = make(np.zeros(1, np.float32))
    globals()["_owned"] = count
    try:
        leaves = {leaf: make(np.ones(1, np.float32))}
        for target in list(leaves):
            gradient = leaves.pop(target)
            accumulate(target, gradient)
    finally:
        globals()["_owned"] = original
    return seen[0]


_REFERENCES = _count_references()
node_module.accumulate = accumulate


def refreshed(tensor: Any) -> Any:
    """The tensor; the history of a view is updated first."""
    if tensor._storage is not None and tensor._view is not None:
        refresh(tensor)
    return tensor


__all__ = ["accumulate", "flags", "queue_callback", "refreshed", "run_backward"]
