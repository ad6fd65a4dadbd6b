"""Nodes of the gradient graph, the tensors they save, and how in-place writes keep the graph correct.

A node's ``inputs`` are its edges: another node, a pair ``(node, output index)``, a leaf tensor, or None where no gradient is
needed.  ``sequence`` decreases with every new node, so that a heap pops the latest node first: the users of a value always come
before the node that made it, and the engine needs no topological sort.
"""

from __future__ import annotations

import itertools
import linecache
import sys
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from .base import Spec, Storage, TensorBase, View, alias, make, storage_of, version_of
from .dtypes import default, legacy_name
from .errors import FreedGraphError, GradientError, InPlaceError
from .state import state

next_sequence: Callable[[], int] = itertools.count(0, -1).__next__


class Node:
    """One recorded operation: it turns gradients of its outputs into gradients of its inputs."""

    __slots__ = ("dtype", "inputs", "saved", "sequence", "shape", "__dict__", "__weakref__")

    dtype: Any
    inputs: tuple[Any, ...]
    saved: Any
    sequence: int
    shape: Any

    outputs: Any = None  # [(shape, dtype), ...] where there is more than one output
    multiple = False  # whether backward takes a list of gradients
    custom = False  # whether it runs a function of the user's, which may give None to a node that has to run nevertheless
    hooked = False  # whether any of the following four is set
    pre_hooks: Any = None
    post_hooks: Any = None
    tensor_hooks: Any = None  # {output index: [hook, ...]}
    retained: Any = None  # {output index: weak reference to a tensor that keeps its gradient}
    trace: Any = None  # where it was recorded, in anomaly mode
    metadata_: Any = None
    requires_grad = True  # what is recorded has an input that requires a gradient

    def backward(self, gradient: Any) -> Any:
        """The gradients of the inputs, in the order of ``inputs``."""
        raise NotImplementedError

    def gradient_of_output(self, index: int, gradient: Any) -> Any:
        """The gradient of one output, of those that have come to the node."""
        return gradient[index] if self.multiple else gradient

    def without_gradient(self) -> Any:
        """The same where no gradient comes: a custom Function gave None."""
        return (None,) * len(self.inputs)

    def release(self) -> None:
        """Drop what was saved for backward."""
        if self.saved:
            self.saved = None

    def keep(self) -> None:
        """In place of ``release`` for nodes that save no tensors: they can run again."""

    def name(self) -> str:
        """The name of the node, such as ``MulBackward0``."""
        return type(self).__name__

    @property
    def metadata(self) -> dict[str, Any]:
        """A dictionary for the user's own notes."""
        if self.metadata_ is None:
            self.metadata_ = {}
        return self.metadata_

    @property
    def next_functions(self) -> tuple[Any, ...]:
        """The nodes that receive this node's results, with the output that each belongs to."""
        found: list[Any] = []
        for edge in self.inputs:
            if edge is None:
                found.append((None, 0))
            elif isinstance(edge, tuple):
                found.append(edge)
            elif isinstance(edge, TensorBase):
                found.append((accumulator_of(edge), 0))
            else:
                found.append((edge, 0))
        return tuple(found)

    def _sequence_nr(self) -> int:
        return -self.sequence

    @property
    def _input_metadata(self) -> Any:
        return [make(Spec(shape, dtype)) for shape, dtype in self.outputs or [(self.shape, self.dtype)]]

    def register_hook(self, hook: Callable[..., Any]) -> Any:
        """Call ``hook(grad_inputs, grad_outputs)`` after the node ran; what it returns replaces ``grad_inputs``."""
        if self.post_hooks is None:
            self.post_hooks = HookTable()
            self.hooked = True
        return self.post_hooks.add(hook)

    def register_prehook(self, hook: Callable[..., Any]) -> Any:
        """Call ``hook(grad_outputs)`` before the node runs; what it returns replaces ``grad_outputs``."""
        if self.pre_hooks is None:
            self.pre_hooks = HookTable()
            self.hooked = True
        return self.pre_hooks.add(hook)

    def __call__(self, *gradients: Any) -> Any:
        count = len(self.outputs) if self.multiple else 1
        if len(gradients) != count:
            raise TypeError(f"{self.name()} expected {count} arguments, got {len(gradients)} instead.")
        result = self.backward(list(gradients) if self.multiple else gradients[0])
        result = tuple(result)
        return result[0] if len(result) == 1 else result

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_saved_"):
            return self.saved_value(name[len("_saved_") :])
        if name.startswith("_raw_saved_"):
            return self.raw_saved_value(name[len("_raw_saved_") :])
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        names = [_pytorch_name(name) for name in getattr(type(self), "saved_names", ())]
        raw = [_pytorch_name(name) for name in getattr(type(self), "saved_tensor_names", ())]
        return [*object.__dir__(self), *(f"_saved_{name}" for name in names), *(f"_raw_saved_{name}" for name in raw)]

    def saved_position(self, name: str) -> int:
        """Where in ``saved`` the value with a name is."""
        names = getattr(type(self), "saved_names", ())
        own = next((each for each in names if _pytorch_name(each) == name), name)
        if own not in names:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '_saved_{name}'")
        if self.saved is None:
            raise freed(self)
        return int(names.index(own))

    def saved_value(self, name: str) -> Any:
        """What was saved under a name (``node._saved_other``)."""
        position = self.saved_position(name)
        entry = self.saved[position]
        if isinstance(entry, (int, float, complex)) and type(self).saved_names[position] in type(self).saved_tensor_names:  # type: ignore[attr-defined]
            return make(np.asarray(entry) if not isinstance(entry, float) else np.asarray(entry, default.numpy))
        if entry.__class__ is tuple and any(isinstance(each, (TensorBase, SavedTensor, SavedResult, Packed)) for each in entry):
            return tuple(unpack(each, self) for each in entry)
        return unpack(entry, self)

    def raw_saved_value(self, name: str) -> Any:
        """What was saved under a name, packed: ``register_hooks`` replaces how it is kept."""
        position = self.saved_position(name)
        entry = self.saved[position]
        if entry.__class__ is tuple:
            return tuple(RawSaved(self, position, index) for index in range(len(entry)))
        return RawSaved(self, position)


def _pytorch_name(name: str) -> str:
    """PyTorch's name of a saved value: ``self`` for the input, ``self_sym_sizes`` for its shape."""
    if name == "input" or name.startswith("input_"):
        name = "self" + name[len("input") :]
    return name.removesuffix("_shape") + "_sym_sizes" if name.endswith("_shape") else name


class AccumulateGrad(Node):
    """The node of a leaf in ``next_functions``; the engine accumulates into the leaf itself."""

    __slots__ = ("variable",)

    variable: TensorBase

    def name(self) -> str:
        """The name of the node; PyTorch has it with its namespace."""
        return "torch::autograd::AccumulateGrad"

    def backward(self, gradient: Any) -> Any:
        accumulate(self.variable, gradient)
        return ()

    def register_hook(self, hook: Callable[..., Any]) -> Any:
        self._attach()
        return super().register_hook(hook)

    def register_prehook(self, hook: Callable[..., Any]) -> Any:
        self._attach()
        return super().register_prehook(hook)

    def _attach(self) -> None:
        """Keep the node for as long as its leaf is there, whose gradients now come to the hooks of both."""
        if not self.hooked:
            self.variable._accumulator = lambda: self  # type: ignore[attr-defined]
            self.variable.register_post_accumulate_grad_hook(_run_by_the_engine)  # type: ignore[attr-defined]


def _run_by_the_engine(leaf: TensorBase) -> None:
    """Marks a leaf whose accumulator has hooks."""


accumulate: Callable[[Any, Any], None] = None  # type: ignore[assignment]  # set by the engine


def accumulator_of(leaf: TensorBase) -> AccumulateGrad:
    """The ``AccumulateGrad`` node of a leaf: the same object for as long as something refers to it."""
    found = leaf.__dict__.get("_accumulator")
    node = found() if found is not None else None
    if node is None:
        node = AccumulateGrad()
        node.inputs, node.saved, node.sequence = (), (), 1
        node.shape, node.dtype, node.variable = leaf._array.shape, leaf._array.dtype, leaf
        leaf._accumulator = weakref.ref(node)  # type: ignore[attr-defined]
    return node


class HookTable(dict[int, Callable[..., Any]]):
    """Hooks by number, in the order they were registered."""

    def add(self, hook: Callable[..., Any]) -> RemovableHandle:
        handle = RemovableHandle(self)
        self[handle.id] = hook
        return handle


class RemovableHandle:
    """Removes a hook from the dict where it has the number ``id``, and from others that keep something for it; also a context manager."""

    next_id = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.tables = [hooks_dict, *(extra_dict if isinstance(extra_dict, list) else [] if extra_dict is None else [extra_dict])]
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1

    def remove(self) -> None:
        for table in self.tables:
            table.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.remove()


# -- what is saved -----------------------------------------------------------------------------------------------


class SavedTensor:
    """An input saved at a version other than 0."""

    __slots__ = ("tensor", "version")

    def __init__(self, tensor: TensorBase, version: int) -> None:
        self.tensor = tensor
        self.version = version

    def unpack(self, node: Node) -> Any:
        storage = self.tensor._storage
        if storage is not None and storage.version != self.version:
            raise modified(node, self.tensor, storage.version, self.version)
        return self.tensor


class SavedResult:
    """An output saved by its own node: array and storage without the tensor, which would close a reference cycle."""

    __slots__ = ("array", "index", "storage", "version")

    def __init__(self, tensor: TensorBase, index: int | None = 0) -> None:  # None: an output without gradient
        self.array = tensor._array
        self.storage: Storage = storage_of(tensor)
        self.version = self.storage.version
        self.index = index

    def unpack(self, node: Node) -> Any:
        result = make(self.array)
        result._storage = self.storage
        if self.index is not None:
            result._grad_fn = node
            result._output_index = self.index
            result._requires_grad = True
        if self.storage.version != self.version:
            again = getattr(type(node), "recompute", None)
            if again is None or self.index is None:
                raise modified(node, result, self.storage.version, self.version)
            result._array, result._storage = again(node, self.index), None
        return result


class Identity(Node):
    """Passes the gradient of a tensor's second appearance on to the tensor: what hooks unpacked stands for what was saved."""

    __slots__ = ()

    def backward(self, gradient: Any) -> Any:
        return (gradient,)


class Packed:
    """A saved tensor as packed by the user's saved-tensor hooks, with the edge to which its own gradient goes."""

    __slots__ = ("content", "edge", "node_index", "unpack_hook")

    def __init__(self, tensor: TensorBase, hooks: Any, node_index: int | None) -> None:
        pack, self.unpack_hook = hooks
        self.node_index = node_index
        self.edge = edge_of(tensor) if node_index is None else None
        before = version_of(tensor)
        enabled = state.grad_enabled
        state.grad_enabled = False
        try:
            self.content = pack(tensor)
        finally:
            state.grad_enabled = enabled
        if version_of(tensor) != before:
            raise InPlaceError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook can not be modified by "
                "in-place operations as this can lead to unexpected side-effects; clone() the tensor in the hook."
            )

    def unpack(self, node: Node) -> Any:
        enabled = state.grad_enabled
        state.grad_enabled = False
        try:
            result = self.unpack_hook(self.content)
        finally:
            state.grad_enabled = enabled
        if not isinstance(result, TensorBase):
            raise TypeError(f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(result)}")
        edge, index = (node, self.node_index) if self.node_index is not None else (self.edge, 0)
        if edge is None:
            return result
        if isinstance(edge, tuple):
            edge, index = edge
        fresh = alias(result, result._array)
        if isinstance(edge, TensorBase):
            if edge is result:
                return result
            leaf, edge = edge, Identity()
            edge.inputs, edge.saved, edge.sequence = (leaf,), (), next_sequence()
            edge.shape, edge.dtype = result._array.shape, result._array.dtype
        fresh._grad_fn, fresh._output_index, fresh._requires_grad = edge, index, True
        return fresh


class RawSaved:
    """One saved tensor of a node, as ``node._raw_saved_name`` gives it."""

    def __init__(self, node: Node, position: int, index: int | None = None) -> None:
        self.node, self.position, self.index = node, position, index

    def register_hooks(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        """Pack the tensor now, and unpack it when the node needs it."""
        for hook in (pack_hook, unpack_hook):
            if not callable(hook):
                raise TypeError("register_hooks() expects two functions: pack_hook and unpack_hook")
        node = self.node
        if node.saved is None:
            raise freed(node)
        entry = node.saved[self.position]
        chosen = entry if self.index is None else entry[self.index]
        if chosen is None:
            raise FreedGraphError("None is forbidden: there is no saved tensor to register hooks on")
        if isinstance(chosen, Packed):
            raise GradientError("Calling register_hooks on a saved tensor whose hooks have already been set")
        made = packed(chosen, (pack_hook, unpack_hook))
        if self.index is not None:
            made = (*entry[: self.index], made, *entry[self.index + 1 :])
        node.saved = (*node.saved[: self.position], made, *node.saved[self.position + 1 :])


def save(value: Any) -> Any:
    """An input as a node keeps it (numbers and None as they are)."""
    if isinstance(value, TensorBase):
        storage = value._storage
        if storage is None:
            return value
        if value._inference and not state.transforms:  # a transform keeps what it likes of them
            raise GradientError(
                "Inference tensors cannot be saved for backward. To work around you can make a clone to get a normal tensor and use it "
                "in autograd."
            )
        return value if storage.version == 0 else SavedTensor(value, storage.version)
    return value


def unpack(value: Any, node: Node) -> Any:
    """The tensor behind a saved entry, or an error if it was changed since."""
    if isinstance(value, TensorBase):
        storage = value._storage
        if storage is not None and storage.version != 0:
            raise modified(node, value, storage.version, 0)
        return value
    if value is None or not hasattr(value, "unpack"):
        return value
    return value.unpack(node)


def unpack_list(values: Any, node: Node) -> Any:
    """The tensors behind a saved list."""
    return None if values is None else [unpack(each, node) for each in values]


def pack_saved(node: Node) -> None:
    """Hand every tensor that the node saved to the innermost saved-tensor hooks."""
    hooks = state.saved_hooks[-1]
    if node.saved:
        node.saved = tuple(packed(entry, hooks) for entry in node.saved)


def packed(entry: Any, hooks: Any) -> Any:
    """A saved entry, handed to a pair of hooks where it is a tensor."""
    if isinstance(entry, SavedResult):
        plain = make(entry.array)
        plain._storage = entry.storage
        return Packed(plain, hooks, entry.index)
    if isinstance(entry, SavedTensor):
        return Packed(entry.tensor, hooks, None)
    if isinstance(entry, TensorBase):
        return Packed(entry, hooks, None)
    if type(entry) is tuple and any(isinstance(each, (TensorBase, SavedTensor)) for each in entry):
        return tuple(packed(each, hooks) for each in entry)
    return entry


def freed(node: Node) -> FreedGraphError:
    return FreedGraphError(
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved "
        "intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to "
        "backward through the graph a second time or if you need to access saved tensors after calling backward. "
        f"(The node is {node.name()}.)"
    )


def modified(node: Node, tensor: TensorBase, found: int, expected: int) -> InPlaceError:
    place, maker = tensor.device.type, tensor._grad_fn
    kind = f"torch.{'' if place == 'cpu' else place + '.'}{legacy_name(tensor._array.dtype)}Tensor"
    source = "" if maker is None else f" which is output {tensor._output_index} of {maker.name()},"
    return InPlaceError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{kind} {list(tensor._array.shape)}],{source} saved by {node.name()}, is at version {found}; "
        f"expected version {expected} instead. Hint: clone() it before the in-place operation, or enable anomaly detection to find the "
        "operation that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )


# -- edges and views ---------------------------------------------------------------------------------------------


def edge_of(tensor: Any) -> Any:
    """The edge of a value: its node, the pair of node and output index, the leaf itself, or None."""
    if not isinstance(tensor, TensorBase):
        return None
    node = tensor._grad_fn
    if node is not None:
        return (node, tensor._output_index) if tensor._output_index else node
    return tensor if tensor._requires_grad else None


def refresh(tensor: TensorBase) -> None:
    """Bring a view's history up to date after its base, or another view of it, was written to."""
    view, storage = tensor._view, tensor._storage
    if view is None or storage is None or view.version == storage.version or view.creation == "function":
        return
    base = view.base
    if not base._requires_grad:
        view.version = storage.version
        return
    if view.creation != "default":
        if state.grad_enabled:
            raise stale(view)
        return
    view.version = storage.version
    enabled = state.grad_enabled
    state.grad_enabled = True
    try:
        fresh = replay(view.chain, base)
    finally:
        state.grad_enabled = enabled
    set_history(tensor, fresh._grad_fn, fresh._output_index)


def set_history(tensor: TensorBase, node: Any, index: int = 0) -> None:
    """Give a tensor that was written to another history; a gradient that it retains is that of its new value from here on."""
    old, at = tensor._grad_fn, tensor._output_index
    if old is not None and node is not None and old.retained is not None and at in old.retained and old.retained[at]() is tensor:
        if node.retained is None:
            node.retained = {}
            node.hooked = True
        node.retained[index] = old.retained.pop(at)
    tensor._grad_fn, tensor._output_index, tensor._requires_grad = node, index, True


VIEW_MODES = {"no_grad": "no_grad", "inference": "inference"}  # by how a view was made: what messages call it


def stale(view: View) -> InPlaceError:
    origin = (
        f"was created in {VIEW_MODES[view.creation]} mode" if view.creation in VIEW_MODES else "is one of several outputs of a function"
    )
    return InPlaceError(
        f"A view {origin} and its base or another view of its base has been modified inplace with grad mode enabled, so that "
        "its gradient is not defined. Take the view again after the in-place operation, outside of no_grad; or clone() it before."
    )


def replay(chain: tuple[Any, ...], base: Any) -> Any:
    """Apply the view ops of a chain to ``base``."""
    for call, arguments, index in chain:
        base = call(base, *arguments)
        if index is not None:
            base = base[index]
    return base


class CopySlices(Node):
    """An in-place write to a view, as a node of its base: the gradient of the written part goes through the write, the rest is unchanged."""

    __slots__ = ("chain", "copy_as", "lay_as", "strides", "write", "zero")

    chain: tuple[Any, ...]
    copy_as: Callable[..., Any]
    lay_as: Callable[..., Any]
    strides: tuple[int, ...]
    write: Callable[..., Any]
    zero: Callable[..., Any]

    def backward(self, gradient: Any) -> Any:
        inner: Node = self.saved
        if inner is None:
            raise freed(self)
        # The chain of views was made for the strides of the base: the gradient needs the same strides.
        laid = self.lay_as(gradient, self.strides)
        part = inner.backward(replay(self.chain, laid))
        if self.inputs[0] is None:
            return (None, *part[1:])
        rest = self.copy_as(gradient, self.strides)
        target = replay(self.chain, rest)
        if part[0] is None:
            self.zero(target)
        else:
            self.write(target, part[0])
        return (rest, *part[1:])

    def release(self) -> None:
        if self.saved is not None:
            self.saved.release()
        self.saved = None


def rebase(target: TensorBase, node: Node, table: Any) -> None:
    """Make a node the history of a tensor after an in-place write; for a view, its base gets a ``CopySlices`` node."""
    view = target._view
    if view is None:
        set_history(target, node)
        return
    base = view.base
    outer = CopySlices()
    outer.saved = node
    outer.inputs = (edge_of(base), *node.inputs[1:])
    outer.chain, outer.sequence = view.chain, next_sequence()
    outer.shape, outer.dtype = base._array.shape, base._array.dtype
    outer.strides = tuple(step // base._array.itemsize for step in base._array.strides)
    outer.lay_as, outer.copy_as = table["laid_as"].call, table["lay_out"].call
    outer.write, outer.zero = table["copy_"].call, table["zero_"].call
    set_history(base, outer)
    view.version = -1
    refresh(target)


def remember_trace(node: Node) -> None:
    """Anomaly mode: keep the stack of the user's program at which the node was recorded."""
    frames: list[str] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name, line = frame.f_code.co_filename, frame.f_lineno
        source = linecache.getline(name, line, frame.f_globals).strip()
        frames.append(f'  File "{name}", line {line}, in {frame.f_code.co_name}\n' + (f"    {source}\n" if source else ""))
        frame = frame.f_back
    node.trace = frames[::-1]
