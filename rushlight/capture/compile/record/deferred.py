"""Deferred ops: results of the first call that are computed by the compiled graph, unless something needs them before.

A back-end that makes fast code can compute the results of the first call, too, so ops on large tensors, and all ops on a GPU (whose kernels would have to be
compiled, to be used once), need not run while the program is captured.  Their results are tensors without data until then.  Whatever may read one (an op that can't be deferred, a call that is not
captured, a graph break) has all of them computed first, op by op.

Gradients of such tensors are deferred too, and so are writes with them: a whole training step is computed by its compiled graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from sys import getrefcount
from types import BuiltinMethodType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ....amp.autocast_mode import autocast
from ....autograd.grad_mode import enable_grad, no_grad, set_grad_enabled
from ....core import kernel_providers
from ....core.base import Spec, TensorBase, make, spec_of
from ....core.devices import as_device, device, device_of, device_type_of
from ....core.dispatch import dispatch, dispatch_in_place
from ....core.dtypes import dtype as DType
from ....core.facets import Facet
from ....core.node import next_sequence
from ....core.size import Size
from ....core.state import fake_mode, state
from ....graph.node import only_computes
from ....nn.modules.container import ModuleDict, ModuleList, Sequential
from ....nn.modules.module import Module
from ....nn.parameter import Parameter
from ....optim.optimizer import Optimizer
from ....tensor.tensor import Tensor
from ...tracer.tracer import tensors_in
from ..annotations import marks
from ..guards.guards import is_op
from ..vm.frame import Frame
from ..vm.generator import InterpretedGenerator
from ..vm.instructions import called
from .callables import is_users
from .graph_functions import freed_node, is_freed, set_grad_mode, set_inference_mode, with_freed_history
from .registry import deferrable_methods, is_deferrable
from .tracer import CompileTracer, checks_values

WORTHWHILE = 1 << 18  # bytes of a tensor from which deferring pays
# Instructions that move values, or compute with them by ops.
_PLAIN = frozenset(
    """load_const load_local store_local load_local_and_clear delete_local make_cell load_global load_deref store_deref delete_deref push_null pop copy swap jump
    jump_if_none jump_if_not_none is return_value binary unary build_tuple build_list build_map build_const_key_map build_slice list_append map_add list_to_tuple
    make_function return_generator yield_value call load_attr""".split()
)
_CONTAINERS: tuple[Any, ...] = ((), [], {}, {}.values(), {}.items(), range(0), zip(), enumerate(()))
_ITERATED = frozenset(
    (*[kind for each in _CONTAINERS for kind in (type(each), type(iter(each)))], Size, InterpretedGenerator, ModuleList, ModuleDict)
)
_NUMBERS = frozenset((int, float, bool, str, type(None)))
_COMPARED = _NUMBERS | {Size, DType, device}
_HELD = (tuple, list, dict, Size, ModuleList, ModuleDict, Sequential)  # what an item can be taken from
_KEYS = _NUMBERS | {slice, type(...)}
_BUILTINS = frozenset((isinstance, issubclass, len, range, zip, enumerate, callable, slice, hasattr, iter))
_ABOUT = frozenset(
    "shape dtype ndim requires_grad size dim device is_cuda numel is_floating_point".split()
)  # what is known of a tensor without data
_CASTS = frozenset("float half bfloat16 double int long bool to type_as".split())  # methods that call ops
deferrable_methods[dict] = ("values", "items", "keys")  # they look at what a dict has, and not at the elements of tensors
_CONTEXTS = (
    autocast,
    nullcontext,
    no_grad,
    enable_grad,
    set_grad_enabled,
)  # they change modes, which deferred calls keep, and read no tensor
deferrable_methods.update(dict.fromkeys(_CONTEXTS, ("__enter__", "__exit__")))
checks_layout: Facet[bool] = Facet("checks layout", "what the op refuses follows from shapes and strides, which tensors without data have")
checks_layout.set(True, "view", "view_as")
running_statistics: Facet[tuple[int, ...]] = Facet(
    "running statistics", "the position of the argument that says whether the op writes to statistics, and their positions"
)
running_statistics.set((5, 1, 2), "nn_functional_batch_norm")
_MODES = (set_grad_mode, set_inference_mode)


class DeferredOps:
    """The deferred ops of a capture, in order."""

    def __init__(self, tracer: CompileTracer) -> None:
        self.tracer = tracer
        self.calls: list[tuple[Any, tuple[Any, ...], list[Any], bool]] = []  # op, arguments, results, and whether gradients are recorded
        self.pending: dict[int, Any] = {}  # tensors without data, by id
        self.fakes: dict[int, tuple[Any, Any]] = {}  # of tensors with data, by id: themselves, and as they are without
        self.written: dict[int, Any] = {}  # tensors with data that are to be written to, by id
        self.owners: set[tuple[str, int]] = set()  # whose memory that is
        self.writes: set[Any] = set()  # the nodes that do so
        self.stopped = False

    def stop(self) -> None:
        """Stop deferring: the graph will hardly run again, and compiling it would take longer than running its ops."""
        self.stopped = True
        if self.calls:
            self.compute()

    def clear(self) -> None:
        """Forget all deferred ops."""
        for each in (self.calls, self.pending, self.fakes, self.written, self.owners, self.writes):
            each.clear()

    def can_defer(self, op: Any, args: tuple[Any, ...], out: Any) -> bool:
        """Whether a call of an op can be deferred: a pure op on floating-point tensors, one of them large."""
        tracer, recorder, function = self.tracer, self.tracer.recorder, op.functional or op
        written = statistics_of(function, args)
        if (
            self.stopped
            or out is not None
            or not (written or only_computes(function, args))
            or (checks_values(op) and not op.view and op not in checks_layout)
        ):
            return False
        if any(
            parameter.name == "device" and value is not None and not function.factory for parameter, value in zip(function.parameters, args)
        ):
            return False
        if function.factory and not (self.calls and makes_on_gpu(function, args)):
            return False
        if (
            state.interceptors
            or state.transforms
            or state.inference
            or state.anomaly
            or tracer.symbols
            or recorder.numbers
            or recorder.pure
        ):
            return False
        large = False
        for each in tensors_in(args):
            array, deferring = each._array, id(each) in self.pending
            if type(each) not in (Tensor, Parameter) or not (deferring or is_plain(array)):
                return False
            elsewhere = on_gpu(array)  # kernels find there what is wrong with an index, and say so later
            if not elsewhere and array.dtype.char not in "fd":
                return False
            large = large or deferring or elsewhere or (array.nbytes >= WORTHWHILE and not op.view) or self.is_written(each)
        if written:
            return large and all(on_gpu(each._array) and self.can_write((each,)) for each in written)
        return large or function.factory if op is function else bool(self.calls) and self.can_write(args)

    def is_written(self, tensor: Any) -> bool:
        """Whether a deferred op writes to the memory of a tensor with data, or may."""
        if not self.owners:
            return False
        found = owner(tensor._array)
        return found is None or found in self.owners

    def can_write(self, args: tuple[Any, ...]) -> bool:
        """Whether a write to the first argument can be deferred: no gradients go through it."""
        target = args[0]
        if target._grad_fn is not None or (state.grad_enabled and any(each._requires_grad for each in tensors_in(args))):
            return False
        array = target._array
        if id(target) in self.pending:  # in memory of its own, or of other results: a view of a tensor with data would write to that
            return target._storage is None or all(twin._storage is not target._storage for _, twin in self.fakes.values())
        return (on_gpu(array) or array.flags.writeable) and array.flags.c_contiguous and owner(array) is not None

    def is_independent(self, op: Any, args: tuple[Any, ...], out: Any) -> bool:
        """Whether an op that is run now depends on no deferred one."""
        if out is not None or not only_computes(op, args):
            return False
        return all(not (id(each) in self.pending or not op.factory and self.is_written(each)) for each in tensors_in(args))

    def run(self, op: Any, args: tuple[Any, ...]) -> Any:
        """The results of an op, without data; NotImplemented where that is not possible."""
        given = self.without_data(args)
        try:
            with fake_mode():
                result = dispatch(op.functional or op, given)
        except Exception:  # running it on data raises the error
            return NotImplemented
        made = list(result) if isinstance(result, (tuple, list)) else [result]
        if not all(isinstance(each, TensorBase) and each._array.__class__ is Spec for each in made):
            return NotImplemented
        if op.functional is not None:
            return self.write(op, args, made)
        if any(each is value for each in made for value in tensors_in(given)):
            return NotImplemented
        if op.family is None and state.grad_enabled and any(each._requires_grad for each in tensors_in(given)):
            if not any(each._requires_grad for each in made):  # a user's op, whose gradient is recorded where it runs
                return NotImplemented
        self.defer(op, args, made)
        for each in statistics_of(op, args):
            self.note_write(each)
        return result

    def note_write(self, target: Any) -> None:
        """Note that a tensor with data is written to."""
        found = owner(target._array)
        assert found is not None
        self.written[id(target)] = target
        self.owners.add(found)

    def write(self, op: Any, args: tuple[Any, ...], made: list[Any]) -> Any:
        """The same for an in-place op, given the result of its functional form."""
        target, array = args[0], made[0]._array
        if len(made) > 1 or array.shape != target._array.shape or array.dtype != target._array.dtype:
            return NotImplemented
        if id(target) in self.pending:
            self.defer(op, args, [target])
        else:
            self.calls.append((op, args, [], state.grad_enabled))
            self.note_write(target)
        return target

    def defer(self, op: Any, args: tuple[Any, ...], made: list[Any]) -> None:
        """Defer a call whose results are tensors without data."""
        self.calls.append((op, args, made, state.grad_enabled))
        self.pending.update((id(each), each) for each in made if each is not None)

    def without_data(self, value: Any) -> Any:
        """An argument with fake tensors for those with data; each has one, so that its gradients accumulate there."""
        if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
            return type(value)(self.without_data(each) for each in value)
        if not isinstance(value, TensorBase) or value._array.__class__ is Spec:
            return value
        if id(value) not in self.fakes:
            made = make(spec_of(value._array))
            made._requires_grad = value._requires_grad
            self.fakes[id(value)] = value, made
        return self.fakes[id(value)][1]

    # -- gradients -----------------------------------------------------------------------------------------------------

    def can_differentiate(self, roots: Sequence[Any], given: Sequence[Any], create: bool) -> bool:
        """Whether gradients of some tensors can be deferred: the tensors are, and no history continues behind the tensors that have data."""
        if (
            create
            or not all(id(each) in self.pending for each in roots)
            or any(each._grad_fn is not None for each, _ in self.fakes.values())
        ):
            return False
        return all(
            each is None or (type(each) is Tensor and each._grad_fn is None and (on_gpu(each._array) or each._array.dtype.char in "fd"))
            for each in given
        )

    def originals(self) -> dict[int, Any]:
        """The tensors with data, by the id of the fake tensor that stands for each in the history."""
        return {id(twin): each for each, twin in self.fakes.values()}

    def gradients(self, function: Any, roots: Sequence[Any], targets: Sequence[Any], given: Sequence[Any], *options: bool) -> Any:
        """The gradients of tensors, without data; NotImplemented where that is not possible."""
        try:
            with fake_mode():
                found = function(roots, self.without_data(list(targets)), self.without_data(list(given)), *options)
        except Exception:  # running it on data raises the error
            return NotImplemented
        if not all(each is None or each._array.__class__ is Spec for each in found):
            return NotImplemented
        self.defer(function, (tuple(roots), tuple(targets), tuple(given), *options), list(found))
        return found

    # -- computing them ------------------------------------------------------------------------------------

    def allows(self, frame: Frame) -> bool:
        """Whether the next instruction of a frame reads elements of tensors by ops alone."""
        instruction = frame.bytecode.instructions[frame.index]
        if instruction.op in ("for_iter", "get_iter", "unpack_sequence"):
            return type(frame.stack[-1]) in _ITERATED
        if instruction.op == "before_with":
            return type(frame.stack[-1]) in _CONTEXTS
        if instruction.op in ("compare", "jump_if_false", "jump_if_true"):
            return all(type(each) in _COMPARED for each in frame.stack[-2 if instruction.op == "compare" else -1 :])
        if instruction.op == "contains":
            return type(frame.stack[-2]) in _COMPARED
        if instruction.op == "get_item":
            held, key = frame.stack[-2:]
            keys = key if type(key) is tuple and isinstance(held, TensorBase) else (key,)
            return (type(held) in _HELD or isinstance(held, TensorBase)) and all(type(each) in _KEYS for each in keys)
        if instruction.op not in _PLAIN:
            return False
        if instruction.op == "load_attr":
            value, name = frame.stack[-1], instruction.argument
            if isinstance(value, TensorBase):
                found = getattr(type(value), name, None)
                return name in _ABOUT or name in _CASTS or is_op(found) or found is Tensor.backward
            if name in deferrable_methods.get(type(value), ()):
                return True
            return isinstance(value, (Module, ModuleType)) or type(value) in _COMPARED or is_users(type(value))
        if instruction.op == "call":
            first, second = frame.stack[-instruction.argument[0] - 2 :][:2]
            return self.may_call(called(first, second))
        return True

    def may_call(self, function: Any) -> bool:
        """Whether a function is an op, or is inlined; or asks a tensor for its shape."""
        if id(function) in marks or id(getattr(function, "__func__", None)) in marks:
            return False
        if function.__class__ is type or (
            isinstance(function, BuiltinMethodType) and isinstance(function.__self__, (ModuleType, type(None)))
        ):
            return function in _BUILTINS or function.__module__ == "math"  # of numbers: a tensor is asked for its value, which computes it
        if isinstance(function, (MethodType, BuiltinMethodType)):
            owner, name = function.__self__, function.__name__
            if name in deferrable_methods.get(type(owner), ()) or (isinstance(owner, TensorBase) and (name in _ABOUT or name in _CASTS)):
                return True
            if isinstance(owner, (type, Optimizer)):  # the bodies of a custom Function are captured by themselves
                return False
            function = getattr(function, "__func__", None)
        if isinstance(function, FunctionType):
            return is_deferrable(function) or is_op(function) or self.tracer.recorder.should_inline(function)
        return isinstance(function, Module) and type(function).__call__ is Module.__call__

    def compute(self) -> None:
        """Run the deferred ops now, one by one."""
        calls = self.calls[::-1]
        self.clear()
        interceptors, capture, enabled = state.interceptors[:], state.capture, state.grad_enabled
        state.interceptors[:], state.capture = [], None
        since, nodes = next_sequence(), []
        try:
            while calls:
                op, args, made, state.grad_enabled = calls.pop()
                with kernel_providers.once():
                    result = (
                        op(*args) if isinstance(op, FunctionType) else (dispatch if op.functional is None else dispatch_in_place)(op, args)
                    )
                each = found = None
                for each, found in zip(made, result if isinstance(result, (tuple, list)) else [result]):
                    if each is not None and each is not found:
                        self.fill(each, found)
                        nodes.append(each._grad_fn)
                del op, args, made, result, each, found  # what nobody needs any more can go
                self.tracer.release_large()
            kernel_providers.backward_once(nodes, since)
        finally:
            state.interceptors[:], state.capture, state.grad_enabled = interceptors, capture, enabled

    def fill(self, tensor: Any, found: Any) -> None:
        """Fill a tensor without data with its elements and its history."""
        tracer = self.tracer
        entry = tracer.entries[id(tensor)]
        tracer.aliases.by_array.pop(id(tensor._array), None)
        tensor._array, tensor._storage, tensor._view = found._array, found._storage, found._view
        tensor._requires_grad, tensor._grad_fn, tensor._output_index = found._requires_grad, found._grad_fn, found._output_index
        tracer.aliases.register(entry)
        tracer.track_large(entry)

    def compute_with(self, run: Any, places: dict[int, int]) -> None:
        """Compute them by the compiled graph, given which of its outputs each tensor is, where no side effect would be done twice; else op by op."""
        tracer = self.tracer
        titles = {
            at: (each._grad_fn.name(), freed_node(each).name())
            for at, each in self.pending.items()
            if at in places and each._requires_grad and is_freed(each)
        }
        shared = any(each._view is not None for at, each in self.pending.items() if at in places)
        for each in self.pending.values():
            each._grad_fn = each._view = each._storage = None  # what was recorded leads to tensors without data
        each = None  # so that nobody has it
        inputs = {id(value) for _, value in tracer.inputs}
        wanted = [each for at, each in self.pending.items() if at in places]
        begun = [each for at, each in self.written.items() if at not in inputs]
        done = any(
            node.op.startswith("call_") and node.is_impure() and node not in self.writes and node.target not in _MODES
            for node in tracer.graph.nodes
        )
        if run is None or done or (self.writes and shared) or not all(id(each) in places for each in begun) or self.escaped(places):
            return self.compute()
        made = run(*[value for _, value in tracer.inputs])
        for each in () if self.writes else wanted:
            found = made[places[id(each)]]
            if not is_plain(found._array) or found._view is not None or found._array.shape != each._array.shape:
                return self.compute()
        self.clear()
        for each in wanted:
            self.fill(each, made[places[id(each)]])
            if id(each) in titles:
                with_freed_history(each, *titles[id(each)])
        for each in begun:
            each._array[...] = made[places[id(each)]]._array
        return None

    def escaped(self, places: dict[int, int]) -> bool:
        """Whether the program holds a tensor that is no output of the graph: references beyond those of the capture."""
        known = Counter(id(each) for _, args, made, _ in self.calls for each in (*tensors_in(args), *made))
        # The entry, `waiting`, this loop and the call itself have it too.
        return any(id(each) not in places and getrefcount(each) > known[id(each)] + 4 for each in self.pending.values())


def is_plain(array: Any) -> bool:
    """Whether an array is NumPy's, or a GPU's, with its elements."""
    return array.__class__ is np.ndarray or (
        array.__class__ is not Spec and on_gpu(array) and array.__class__ is device_type_of(array).array_type
    )


def statistics_of(op: Any, args: tuple[Any, ...]) -> list[Any]:
    """The running statistics that a call of batch normalisation writes to."""
    found = running_statistics.of(op)
    if found is None or not args[found[0]]:
        return []
    return [args[at] for at in found[1:] if args[at] is not None]


def makes_on_gpu(op: Any, args: tuple[Any, ...]) -> bool:
    """Whether a factory that is given numbers makes a tensor on a GPU."""
    named = [value for parameter, value in zip(op.parameters, args) if parameter.name == "device"]
    return len(named) == 1 and not any(True for _ in tensors_in(args)) and as_device(named[0]).type == "cuda"


def on_gpu(array: Any) -> bool:
    """Whether an array, or one that is described, is on a GPU."""
    return array.__class__ is not np.ndarray and device_of(array).type == "cuda"


def owner(array: Any) -> tuple[str, int] | None:
    """Whose memory this is: the array that owns it, or its address on a GPU; None where it is that of something else."""
    if on_gpu(array):
        return None if array.__class__ is Spec else ("cuda", array.data.mem.ptr)
    while array.__class__ is np.ndarray and array.base is not None:
        array = array.base
    return ("cpu", id(array)) if array.__class__ is np.ndarray and array.flags.owndata else None
