"""The tracer of a compiled program: tensors become inputs of the graph when they are first used."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from sys import getrefcount
from typing import TYPE_CHECKING, Any
from weakref import getweakrefcount

import numpy as np

from ....core.base import Spec, TensorBase, make, storage_of
from ....core.declare import PACKAGE, lookup
from ....core.devices import device_of
from ....core.facets import Facet
from ....core.in_place import overlaps_itself
from ....core.sparse import SPARSE, holds_sparse
from ....core.state import state
from ....core.symbolic import Expression, SymbolicInt, is_symbolic
from ....graph import Node
from ....graph.calls import bind
from ....graph.node import only_computes
from ....nn.parameter import Parameter
from ....tensor.tensor import TRUTH, Tensor
from ...tracer.symbolic_sizes import counted
from ...tracer.tracer import PACKAGE_FOLDER, TracedTensor, Tracer, changes_shape, tensors_in
from ..config import settings
from ..guards.guard import Kind
from ..guards.sources import Source
from ..vm.frame import Frame
from .graph_breaks import Break
from .graph_functions import set_grad_mode, set_inference_mode
from .symbolic_numbers import checked_arguments, number_input_of, symbolic_in

if TYPE_CHECKING:
    from .base import CaptureState

_clone, _contiguous, _detach, _permute = lookup("clone"), lookup("contiguous"), lookup("detach"), lookup("permute")
_SPARSE_OPS = f"{PACKAGE}.ops.sparse."
_NO_LETTERS = re.compile(r"[\W_]")
FEW = 64  # elements of an input that a graph may be specialized for
LARGE = 1 << 20  # bytes of a value whose memory is released early
ERROR = "an op raised an error that may depend on the values of tensors"

value_checks: Facet[bool] = Facet("value checks", "the op refuses some elements of tensors that are no integers, or (views) some layouts")
value_checks.set(
    True, "binary_cross_entropy", "multinomial", "bernoulli", "poisson", "binomial", "normal", "inverse", "cholesky", "cholesky_inverse",
    "cholesky_solve", "logdet", "slogdet", "det", "matrix_exp", "lu", "lu_solve", "qr", "svd", "triangular_solve", "ormqr", "geqrf", "quantile",
    "nanquantile", "histc", "view", "view_as", "view_dtype", "as_strided",
)  # fmt: skip
total: Facet[bool] = Facet("total", "the op takes every element, unlike its namespace's others")
total.set(True, "linalg_vector_norm", "linalg_multi_dot", "linalg_diagonal", "linalg_vander", "linalg_vecdot", "linalg_cross")
without_ones: Facet[bool] = Facet(
    "without ones", "leaves dimensions of size 1 out: whether a size is 1 decides on the dimensions of the result"
)
without_ones.set(True, "squeeze", "squeeze_", "squeeze_copy")
by_layout: Facet[bool] = Facet("by layout", "gives a view or a copy, as the layout of its operand has it")
by_layout.set(True, "reshape", "reshape_as", "flatten", "ravel", "contiguous")
checks_strides: Facet[bool] = Facet("checks strides", "whether it refuses its operand, or gives it back as it is, follows from strides")
checks_strides.set(True, "view", "view_as", "view_dtype", "contiguous")
resizes: Facet[bool] = Facet(
    "resizes", "gives its operand another number of elements, in place: those of memory that a graph does not have"
)
resizes.set(True, "resize_", "resize_as_")
memory_order: Facet[bool] = Facet("memory order", "draws numbers in the order of its operand's memory")
memory_order.set(True, "dropout", "alpha_dropout", "nn_functional_dropout", "nn_functional_alpha_dropout", "rand_like")


def checks_values(op: Any) -> bool:
    """Whether an op refuses some elements of tensors that are no integers."""
    return (op.namespace == "linalg" and op not in total) or (op.functional or op) in value_checks


def may_depend_on_values(tracer: Tracer, op: Any, args: Any) -> bool:
    """Whether an error of an op may depend on elements (an index out of range) or on history, and not on dtypes and sizes alone."""
    if op.functional is not None or checks_values(op) or symbolic_in(args):
        return True
    return any(each._array.dtype.kind in "iub" or any(map(is_symbolic, tracer.shape_of(each))) for each in tensors_in(args))


def elements_apart(tensor: Any) -> bool:
    """Whether no two elements of a tensor share memory."""
    return not overlaps_itself(tensor._array)


def _refuse_special(array: Any) -> None:
    """Break the graph where a tensor is no dense one: a sparse or a nested tensor can be neither an input nor a constant."""
    if array.__class__ in SPARSE:
        raise Break("sparse", name="a method or function")
    if array.__class__ is not Spec and isinstance(array, Spec) and array.nested:
        raise Break("nested", name="a method or function")


class CompileTracer(Tracer):
    """A tracer whose inputs are the tensors with a source, found when they are first used."""

    guards_values = True

    def __init__(self, recorder: CaptureState) -> None:
        super().__init__(escaped=recorder.escaped)
        self.recorder = recorder
        self.inputs: list[tuple[Source, Any]] = []
        self.grad_mode, self.inference = state.grad_enabled, state.inference
        self.last_input: Node | None = None  # inputs come before all other nodes
        self.large: list[TracedTensor] = []  # values whose elements take much memory
        self.deferring = False  # whether the op that is being called is one of them
        self.assumed: list[tuple[Node, Callable[[Any], Any], Any]] = []  # values that became Python values: by what, and which
        self.laid_out = 0  # how many inputs have guards on the order of their strides
        self.viewed: dict[int, int] = {}  # of memory whose views might be copies, for other layouts of the inputs: the tensor whose it is

    def node_of(self, tensor: Any) -> Node:
        if id(tensor) not in self.entries:
            source = self.recorder.sources.get(id(tensor))
            if source is not None:
                self.take(tensor, source)
            elif self.aliases.by_array.get(id(tensor._array)) is None and (
                tensor._view is None or id(tensor._view.base) not in self.entries
            ):
                if tensor._requires_grad:
                    self.recorder.discard_reason = "a tensor that requires a gradient was made by a native call, or comes from outside"
                return self.constant(tensor)
        return super().node_of(tensor)

    def can_take(self, tensor: Any) -> bool:
        return id(tensor) in self.recorder.sources

    def constant(self, tensor: Any) -> Node:
        """A tensor that a native function made of plain values: a copy of it is made again in every call."""
        _refuse_special(tensor._array)
        kept = make(tensor._array.copy())
        name = f"_tensor_constant{len(self.constants)}"
        self.constants[name] = kept
        node = self.graph.get_attr(name)
        node.meta["source"], node.meta["module"] = self.where()
        self.bind(kept, node)
        copied = self.emit(_clone, bind(_clone, (node,), {}))
        self.bind(tensor, copied)
        return copied

    def shape_of(self, tensor: Any) -> tuple[int, ...]:
        if id(tensor) not in self.entries and id(tensor) in self.recorder.sources:
            self.node_of(tensor)
        return super().shape_of(tensor)

    def take(self, tensor: Any, source: Source) -> None:
        """Make a tensor an input of the graph."""
        _refuse_special(tensor._array)
        node = self.new_input(source, tensor)
        self.add_input(tensor, node, lambda dim: self.recorder.symbol(source, dim, tensor))
        shape = self.entries[id(tensor)].shape
        self.recorder.guards.tensor(source, tensor, shape)
        for size in shape:
            if isinstance(size, SymbolicInt):  # what raises for tensors without elements is captured as it is for them
                (name,) = size.expression.symbols()
                self.recorder.guards.relation("==", size.expression, 0, False, {name: self.recorder.symbol_sources[name]})

    def new_input(self, source: Source, value: Any) -> Node:
        """A placeholder for what a source leads to."""
        name = f"l_{_NO_LETTERS.sub('_', source.describe()).strip('_') or 'value'}_"
        with self.graph.inserting_before(None) if self.last_input is None else self.graph.inserting_after(self.last_input):
            node = self.graph.placeholder(name)
        self.last_input = node
        self.inputs.append((source, value))
        return node

    def number_node(self, value: Any) -> Node:
        leaf = number_input_of(value)
        return super().number_node(value) if leaf is None else self.number_input(leaf.source, leaf, value, leaf.value)

    def symbol_node(self, name: str) -> Node:
        source, dim = self.recorder.symbol_sources.get(name, (None, 0))
        if source is None or dim is not None:
            return super().symbol_node(name)
        value, expression = self.symbols[name].concrete, Expression.symbol(name)
        return self.number_input(source, expression, SymbolicInt(value, expression), value)

    def number_input(self, source: Source, key: Any, symbolic: Any, value: Any) -> Node:
        """The placeholder of a symbolic number."""
        node = self.size_nodes.get(key)
        if node is None:
            node = self.size_nodes[key] = self.new_input(source, value)
            node.meta.update(val=symbolic, source=None, module="")
            self.depends.add(node)
        return node

    def __call__(self, op: Any, args: tuple[Any, ...], out: Any) -> Any:
        if op.source_module.startswith(_SPARSE_OPS) or holds_sparse(args):
            raise Break("sparse", name=f"{op.public_name}()")
        if op in resizes:
            raise Break("tensor", name=op.public_name)
        if self.large:
            self.release_large()
        self.deferring = self.deferred is not None and self.deferred.can_defer(op, args, out)
        if self.deferred is not None and self.deferred.calls and not self.deferring and not self.deferred.is_independent(op, args, out):
            self.deferred.compute()
        if self.recorder.numbers:
            args = checked_arguments(self.recorder, op, args)
        if op in memory_order and out is None and not only_computes(op, args) and self.is_non_contiguous(args[0]):
            return self.in_memory_order(op, args)
        if op.of_storage and op not in changes_shape:
            self.compute_deferred()
        if op.of_storage and op not in changes_shape and self.is_non_contiguous(args[0]):
            self.recorder.discard_reason = f"{op.public_name}() of a value that is not contiguous, as values of graphs are"
        if op in checks_strides:
            self.guard_strides(op, args[0])
        if self.symbols and op in without_ones:
            self.compare_with_one(args[0], args[1])
        try:
            if op.functional is not None and self.recorder.arrays:
                raise Break("value", name="a write to memory that a NumPy array may have")
            if op.functional is not None:
                self.guard_written(op, args[0])
            result = super().__call__(op, args, out)
            return result if op not in by_layout else self.viewed_or_copied(args[0], result)
        except Exception:
            if may_depend_on_values(self, op, args):
                self.recorder.discard_reason = ERROR
            raise

    def all_tensors(self, values: Any) -> Any:
        return values  # numbers among them are refused, as in eager mode: only PyTorch's tracer takes sizes for tensors

    def compare_with_one(self, tensor: Any, dims: Any) -> None:
        """Guard which of a tensor's sizes are 1: of these dimensions, or of all."""
        shape = self.shape_of(tensor)
        chosen = (
            range(len(shape))
            if dims is None
            else [dim % len(shape) for dim in (dims if isinstance(dims, (tuple, list)) else (dims,)) if shape]
        )
        for dim in chosen:
            if isinstance(shape[dim], SymbolicInt):
                self.recorder.compare_sizes("==", shape[dim], 1)

    def viewed_or_copied(self, tensor: Any, result: Any) -> Any:
        """A view or a copy of a computed value: in the graph, whose values are contiguous, it is what it is here."""
        base = tensor if tensor._view is None else tensor._view.base
        if base._array.__class__ not in (np.ndarray, Spec) or id(base) in self.recorder.sources:
            return result
        if (
            isinstance(base._array, Spec)
            or base._array.flags.c_contiguous
            or result._storage is not None
            and result._storage is tensor._storage
        ):
            self.viewed[id(result._storage or result._array)] = id(base)
        elif self.is_non_contiguous(tensor):
            entry = self.entries[id(result)]
            self.bind(result, self.emit(_clone, bind(_clone, (entry.node,), {})), entry.shape)
        return result

    def compute_deferred(self) -> None:
        """Compute what was left to the graph: its layout matters."""
        if self.deferred is not None and self.deferred.calls:
            self.deferred.compute()

    def guard_written(self, op: Any, target: Any) -> None:
        """Guard what a write asks of its target: that no elements of an argument share memory, and the layouts that make it a view."""
        if not op.functional.one_value and target._array.__class__ is np.ndarray:
            if id(target) in self.recorder.sources:
                self.node_of(target)  # it is an input, if it has not been one before
                storage_of(target)
            memory = target._storage  # None of a value that has no views, and is no input
            for source, value in self.inputs if memory is not None else ():
                if not source.is_attribute and isinstance(value, TensorBase) and value._storage is memory:
                    self.recorder.guards.add(Kind.PREDICATE, source, elements_apart)
        if self.viewed:
            self.check_layout(target)

    def check_layout(self, target: Any) -> None:
        """Guard the layouts that make a tensor that is written to share memory with others."""
        found = self.entries.get(self.viewed.get(id(target._storage or target._array), 0))
        if found is not None:
            self.compute_deferred()
        if found is not None and self.is_non_contiguous(found.tensor):
            self.recorder.discard_reason = "a write through a view of a value that is not contiguous, as values of graphs are"

    def is_non_contiguous(self, tensor: Any) -> bool:
        """Whether a computed value is not contiguous, as all values of graphs are.  That follows from the strides of the inputs."""
        base = tensor if tensor._view is None else tensor._view.base
        if base._array.__class__ is not np.ndarray or id(base) in self.recorder.sources:
            return False
        self.guard_stride_orders()
        return not base._array.flags.c_contiguous

    def guard_strides(self, op: Any, tensor: Any) -> None:
        """Guard what the strides of an op's operand follow from, unless it is a view of an input, whose strides the graph's own op sees."""
        base = tensor if tensor._view is None else tensor._view.base
        if id(base) not in self.recorder.sources:
            self.guard_stride_orders()
        elif op is _contiguous:
            self.node_of(base)
            self.guard_stride_orders()

    def guard_stride_orders(self) -> None:
        """Guard the order of the strides of all inputs: the layouts of computed values follow from it."""
        for source, value in self.inputs[self.laid_out :]:
            if isinstance(value, TensorBase) and not isinstance(value, Parameter):
                self.recorder.guards.stride_order(source, value)
        self.laid_out = len(self.inputs)

    def in_memory_order(self, op: Any, args: tuple[Any, ...]) -> Any:
        """Call an op that draws numbers in memory order on a permuted value, whose dimensions are in that order."""
        strides = args[0]._array.strides
        order = sorted(range(len(strides)), key=lambda dim: -strides[dim])
        permuted = super().__call__(_permute, (args[0], tuple(order)), None)
        found = super().__call__(op, (super().__call__(_contiguous, (permuted, None), None), *args[1:]), None)
        return super().__call__(_permute, (found, tuple([order.index(dim) for dim in range(len(order))])), None)

    def argument(self, value: Any) -> Any:
        if id(value) in self.recorder.sources and not isinstance(value, (tuple, list, dict)):
            self.recorder.guard_constant(value)
        return super().argument(value)

    def emit(self, op: Any, recorded: Any, keywords: Any = None) -> Node:
        self.note_grad_mode()
        return super().emit(op, recorded, keywords)

    def note_grad_mode(self) -> None:
        """Record a change of grad mode or inference mode as a node."""
        if state.grad_enabled is not self.grad_mode:
            self.grad_mode = state.grad_enabled
            node = self.graph.call_function(set_grad_mode, (state.grad_enabled,))
            node.meta.update(impure=True, source=None, module="")
        if state.inference is not self.inference:
            self.inference = state.inference
            node = self.graph.call_function(set_inference_mode, (state.inference,))
            node.meta.update(impure=True, source=None, module="")

    def where(self) -> tuple[Any, str]:
        frame: Frame | None = self.recorder.user_frame()
        path = self.recorder.module_path()
        return (None if frame is None else (frame.code.co_filename, frame.line, frame.code.co_name)), path

    def size_escaped(self, kind: str, size: Any) -> None:
        if state.capture is self:
            self.recorder.fixed(size)

    def size_decided(self, how: str, a: Any, b: Any) -> None:
        """Comparisons are guarded."""

    def slice_bound(self, tensor: Any) -> int | None:
        return None  # as any other number that is read from a tensor

    def value_escaped(self, tensor: Any, how: str) -> Any:
        source = self.recorder.sources.get(id(tensor)) if id(tensor) not in self.entries else None
        if source is not None and not source.is_attribute:
            self.node_of(tensor)  # an argument of which the value is the first thing that is asked for
        if self.is_traced(tensor) and state.capture is self and type(tensor) is Tensor:
            if how == TRUTH and sys._getframe(3).f_code.co_filename.startswith(PACKAGE_FOLDER):
                return self.assume(tensor, bool)  # a function of the library checks its arguments
            if how != TRUTH and settings.capture_scalar_outputs:
                found = self.assume(tensor, Tensor.tolist)
                return None if isinstance(found, list) else found
        return super().value_escaped(tensor, how)

    def assume(self, tensor: Any, read: Callable[[Any], Any]) -> Any:
        """A Python value that the program goes on with: later runs of the graph check it, and where it differs, the program runs eagerly."""
        node = self.node_of(tensor)
        self.compute_deferred()
        state.capture = None
        try:
            found = read(tensor)
        finally:
            state.capture = self
        kept = node
        for op in (_detach, _clone):  # the value may be written to later
            kept = self.emit(op, bind(op, (kept,), {}))
            kept.meta["val"] = node.meta["val"]
        self.assumed.append((kept, read, found))
        return found

    def elements(self, tensor: Any) -> Any:
        """The elements of a tensor as a number or lists, where few elements of inputs determine them: those are guarded.

        NotImplemented where that can't be, and where such elements have changed since an earlier capture.
        """
        source = self.recorder.sources.get(id(tensor))
        if id(tensor) not in self.entries and (source is None or source.is_attribute):
            return NotImplemented  # a constant
        self.node_of(tensor)
        given = {self.entries[id(value)].node: (source, value._array) for source, value in self.inputs if id(value) in self.entries}
        if any(each.op == "call_function" and each.is_impure() for each in self.graph.nodes):
            return NotImplemented  # what an input held at the start is not known any more
        leaves, seen, pending = [], set(), [self.entries[id(tensor)].node]
        while pending:
            node = pending.pop()
            if node in seen or node not in self.depends:
                continue
            seen.add(node)
            if node.op != "placeholder":
                pending += node.all_input_nodes
                continue
            source, array = given.get(node, (None, None))
            if source is None or array.__class__ is not np.ndarray or array.size > FEW:
                return NotImplemented
            source = self.recorder.new_source.attribute(source, "_array")
            if self.recorder.dynamic(source, None, array.tobytes()):
                return NotImplemented
            leaves.append((source, array))
        for source, array in leaves:
            self.recorder.guards.elements(source, array)
        self.compute_deferred()
        state.capture = None
        try:
            return tensor.tolist()
        finally:
            state.capture = self

    def length_escaped(self, tensor: Any) -> int:
        size = self.shape_of(tensor)[0]
        self.recorder.specialize(size)
        return int.__int__(size)

    def results(self, op: Any, args: tuple[Any, ...], recorded: tuple[Any, ...], node: Node, result: Any) -> None:
        if isinstance(result, (tuple, list)) and op in counted and args:
            # How many parts there are must not change: that follows from the dimension that is cut, or from any.
            shape = self.shape_of(args[0])
            dims = [value for parameter, value in zip(op.parameters, args) if parameter.name == "dim" and type(value) is int]
            self.recorder.specialize(*([shape[dims[0]]] if dims else shape))
        super().results(op, args, recorded, node, result)
        if self.deferring and not only_computes(op, args):
            self.deferred.writes.add(node)
        for each in tensors_in(result):
            self.track_large(self.entries[id(each)])

    def compute(self, op: Any, args: tuple[Any, ...], out: Any) -> Any:
        if self.deferred is not None and self.deferring:
            # Inputs that are new to the graph may have symbolic sizes: those are known of tensors with data alone.
            result = NotImplemented if self.symbols or self.recorder.numbers else self.deferred.run(op, args)
            if result is not NotImplemented:
                return result
            self.deferring = False
            self.deferred.compute()
        return super().compute(op, args, out)

    def track_large(self, entry: TracedTensor) -> None:
        """Track a value whose elements take much memory."""
        array = entry.tensor._array
        if array.__class__ is np.ndarray and array.nbytes >= LARGE:
            self.large.append(entry)

    def release_large(self) -> None:
        """Release the elements of large values that only the capture still knows, so that their memory serves for others."""
        kept = []
        for entry in self.large:
            tensor = entry.tensor
            array = tensor._array
            # Each is known to this function, the entry (the tensor: its array) and perhaps the recorder; `getrefcount` counts itself.
            known = 3 + (self.recorder.fresh.get(id(tensor)) is tensor)
            if (
                getrefcount(tensor) > known
                or getrefcount(array) > 3
                or tensor._storage is not None
                or entry.node in self.known
                or getweakrefcount(tensor)
            ):
                kept.append(entry)
                continue
            del self.aliases.by_array[id(array)]
            tensor._array = Spec(array.shape, array.dtype, device=device_of(array))
        self.large = kept
