"""Runs a program on its real values, instruction by instruction, and records what it does: the graph of its tensor ops, the
guards under which that holds, and its effects on what was there before.

Since values are real, the first call of a compiled function simply is the program, and later calls repeat what was recorded.
"""

from __future__ import annotations

import collections
import enum
import functools
import weakref
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, MethodWrapperType, ModuleType
from typing import Any

import numpy as np

from ....core.base import TensorBase
from ....core.missing import is_own
from ....core.state import state
from ....core.symbolic import SymbolicFloat, SymbolicInt
from ....graph import Node
from ....nn.modules.module import Module
from ....tensor.generator import Generator
from ....tensor.tensor import Tensor
from ...tracer.body_tracer import BodyTracer
from ...tracer.tracer import PACKAGE_FOLDER
from ..config import settings
from ..decode import NULL
from ..guards.guard import Kind
from ..guards.guards import CONTAINERS, PRIMITIVES, Guards, by_identity, holds_attributes, is_native_method, is_op
from ..guards.sources import Attribute, Item, Slot, Source, Sources, Stacked, chain_of
from ..vm.frame import Frame
from ..vm.generator import InterpretedGenerator
from ..vm.semantics import Semantics
from .callables import hidden_method, is_users, python_methods
from .graph_breaks import Break
from .liveness import live_slots
from .symbolic_numbers import NumberInput, number_input_of, symbolic_in
from .tracer import CompileTracer

UNKNOWN = object()  # stands for a `.grad` at the start of the capture that nothing is known about


class GeneratorReference(weakref.ref[Any]):
    """A weak reference to a generator: the program's last reference must close it, and not the capture's."""

    __slots__ = ()


def reference_to(value: Any) -> Any:
    """What a capture keeps of a value: generators by weak references, all others as they are."""
    return GeneratorReference(value) if type(value) is InterpretedGenerator else value


class SideEffect:
    """A side effect of the program on a pre-existing object: a call that is repeated after the graph has run."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.function = function
        self.arguments = arguments


class CaptureState(Semantics):
    """The state of a capture: the sources of values, guards, fresh and mutated objects, side effects."""

    def __init__(self, frame: Frame, dynamic: Any = None, careful: bool = False, entry: bool = False) -> None:
        self.frame: Frame = frame
        self.guards = Guards(entry, self)
        self.new_source = Sources()
        self.sources: dict[int, Source] = {}
        self.held: list[Any] = []
        self.fresh: dict[int, Any] = {}  # objects that native calls made in this segment
        self.cells: dict[int, Source] = {}  # pre-existing cells that hold a number, by id: where that is
        self.effects: list[SideEffect] = []
        self.pure = False  # while a body is captured: side effects are refused
        self.careful = careful  # autocast is entered between graphs, and not inside of one
        self.grad_after, self.inference_after = state.grad_enabled, state.inference
        self.written: set[Any] = set()  # attributes, globals and cells that the program has set: no longer pre-existing
        self.snapshots: dict[int, Any] = {}  # of pre-existing containers that were changed: what they held
        self.expanded: set[int] = set()
        self.mutated: dict[int, Any] = {}  # pre-existing objects that were changed
        self.dict_owners: dict[int, Any] = {}  # the owner of a `__dict__` that was read, by the id of the `__dict__`
        self.mutated_keys: dict[int, set[Any]] = {}  # the keys of a dict that was changed by single keys alone
        self.gradients: dict[int, tuple[Any, Any]] = {}  # tensors whose `.grad` was set, with what it was
        self.arrays: dict[int, tuple[Any, Any]] = {}  # NumPy arrays that tensors of the graph stand for, by id, with these
        self.hooks: dict[int, Node] = {}  # hooks on gradients that the graph registers, by id: their nodes
        self.steps: dict[int, int] = {}  # of optimizers: how many steps they have taken
        self.discard_reason: str | None = None  # why the capture can't be reused in later calls
        self.closed = False  # whether the capture has ended
        self.dynamic = dynamic or (lambda source, dim, tensor: False)
        self.symbol_sources: dict[
            str, tuple[Source, int | None]
        ] = {}  # the source and dimension of a symbol; of a number without a dimension
        self.numbers: dict[Source, Any] = {}  # symbolic numbers, by where they were read
        self.marked_dynamic: set[str] = set()  # symbols that a user has marked as dynamic
        self.violated: str | None = None  # which of them the program specializes
        self.tracer = CompileTracer(self)
        self.running_generators: list[
            tuple[Frame, Any, Any]
        ] = []  # pre-existing generators that run: their frames, they themselves, where they are
        self.overwritten_slots: set[tuple[int, int]] = set()  # (depth, slot) of variables that were set
        self.stack_depths: dict[int, int] = {}  # of each frame at the start: how far down its stack was used
        self.start(frame)

    def compare_sizes(self, op: str, a: Any, b: Any) -> Any:
        """A comparison of symbolic sizes, whose outcome is guarded: the recorder's semantics of operators has it."""
        raise NotImplementedError

    def close(self) -> None:
        """The capture is over: release what it has seen."""
        self.closed = True
        self.frame = self.guards.observer = None  # type: ignore[assignment]
        for each in (
            self.sources,
            self.held,
            self.fresh,
            self.effects,
            self.snapshots,
            self.mutated,
            self.dict_owners,
            self.frames,
            self.running_generators,
            self.new_source.held,
            self.gradients,
        ):
            each.clear()
        self.new_source.made.clear()
        tracer = self.tracer
        for known in (tracer.entries, tracer.inputs, tracer.known, tracer.aliases.by_array, tracer.aliases.held):
            known.clear()  # type: ignore[attr-defined]

    # -- sources of values at the start ----------------------------------------------------------------------------

    def start(self, innermost: Frame) -> None:
        """Give the values in the frames their sources; guard those that the program will read."""
        self.frames = chain_of(innermost)
        for depth, frame in enumerate(self.frames):
            self.stack_depths[id(frame)] = len(frame.stack)
            if frame.generator is not None:
                self.running_generators.append((frame, GeneratorReference(frame.generator), self.sources.get(id(frame.generator))))
                if id(frame.generator) not in self.sources:
                    self.discard_reason = "the program is inside of a generator that something native runs"
            live = live_slots(frame)
            for slot, value in enumerate(frame.slots):
                if value is NULL:
                    continue
                name = frame.bytecode.slot_names[slot]
                source: Source = Slot(depth, slot, name)
                if isinstance(value, CellType):
                    self.guard_cell(value, source, name)
                elif slot in live:
                    frame.slots[slot] = self.read_value(source, value)
                else:
                    self.register(value, source)
            for place, value in enumerate(frame.stack):
                if value is not NULL:
                    frame.stack[place] = self.read_value(Stacked(depth, place), value)

    def guard_cell(self, cell: CellType, source: Source, name: str) -> None:
        """A pre-existing cell, and what is in it."""
        if ("cell", id(cell)) in self.written:
            self.refuse_mutated(name)
        known = self.sources.get(id(cell))
        if known is not None and known is not source:
            self.guards.related(known, source, True)
            return
        self.register(cell, source)
        if ("cell", id(cell)) not in self.written:
            try:
                value = cell.cell_contents
            except ValueError:  # it is empty
                self.guards.add(Kind.ABSENT, source, "cell_contents", key="cell_contents")
                return
            if type(value) is int or type(value) is float:
                self.cells[id(cell)] = self.new_source.contents(source, name)  # it is guarded where it is read
            else:
                self.guard_value(self.new_source.contents(source, name), value)

    def load_cell(self, cell: CellType, value: Any) -> Any:
        source = self.cells.get(id(cell))
        return value if source is None or ("cell", id(cell)) in self.written else self.read_value(source, value)

    def register(self, value: Any, source: Source) -> None:
        """Record the source of an object."""
        if (not isinstance(value, PRIMITIVES) or holds_attributes(value)) and id(value) not in self.sources:
            self.sources[id(value)] = source
            self.held.append(self.watched(value) if type(value) is InterpretedGenerator else value)

    def watched(self, generator: Any) -> Any:
        """A weak reference to a generator, with which its source goes."""
        known = id(generator)
        if known in self.sources:
            generator.watcher = self.generator_abandoned

        def gone(reference: Any) -> None:
            self.sources.pop(known, None)
            self.fresh.pop(known, None)

        return GeneratorReference(generator, gone)

    def generator_abandoned(self) -> None:
        """A pre-existing generator is dropped while it is suspended."""
        if not self.closed:
            self.discard_reason = "a generator that was made before goes, and what it does then is not in the graph"

    def guard_value(self, source: Source, value: Any) -> Any:
        """Guard a value that was read from a source, by its kind."""
        if isinstance(value, PRIMITIVES):
            self.guards.equal(source, value)
            if not holds_attributes(value):
                return value
        known = self.sources.get(id(value))
        if known is None:
            if id(value) in self.fresh or (isinstance(value, TensorBase) and self.tracer.is_traced(value)):
                self.discard_reason = f"{source.describe()} was set by a native call"
                return value
            self.register(value, source)
            if not isinstance(value, (TensorBase, CellType)):
                self.guards.value(source, value)
                if type(value) is MethodType:
                    self.guard_value(self.new_source.attribute(source, "__func__"), value.__func__)
                    self.guard_value(self.new_source.attribute(source, "__self__"), value.__self__)
                elif is_native_method(value):
                    self.guards.equal(self.new_source.attribute(source, "__name__"), value.__name__)
                    self.guard_value(self.new_source.attribute(source, "__self__"), value.__self__)
        elif known is not source:
            if by_identity(value):
                self.guards.value(source, value)
            else:
                self.guards.related(source, known, True)
        return value

    def read_value(self, source: Source, value: Any) -> Any:
        """The same for a value that the program continues with: a dynamic number becomes symbolic, and only its type is guarded."""
        kind = type(value)
        if kind is not int and kind is not float:
            return self.guard_value(source, value)
        found = self.numbers.get(source)
        if found is None:
            if self.guards.has(Kind.EQUAL, source) or not self.dynamic(source, None, value):
                self.guards.equal(source, value)
                return value
            self.guards.add(Kind.NUMBER, source, kind)
            if kind is int:
                found = self.symbol_of(source, value)
            else:
                found = SymbolicFloat(value, NumberInput(source, value), ())
            self.numbers[source] = found
        return found

    def symbol_of(self, source: Source, value: int) -> SymbolicInt:
        """A symbolic integer."""
        name = f"s{len(self.symbol_sources)}"
        self.symbol_sources[name] = (source, None)
        return self.tracer.new_symbol(None, None, value, name)  # type: ignore[arg-type]

    def source_of(self, value: Any) -> Source | None:
        """The source of a value, if it has one."""
        if isinstance(value, SymbolicInt):
            source, dim = self.symbol_sources.get(value.expression.as_symbol or "", (None, 0))
            return source if dim is None else None
        leaf = number_input_of(value)
        return self.sources.get(id(value)) if leaf is None else leaf.source

    def track_fresh(self, value: Any) -> Any:
        """Track an object that the program has made; a member of an enum is its class's, whoever looks it up."""
        if not isinstance(value, (TensorBase, enum.Enum, *PRIMITIVES)) or holds_attributes(value):
            self.fresh[id(value)] = self.watched(value) if type(value) is InterpretedGenerator else value
        return value

    # -- guards of whole objects ----------------------------------------------------------------------------------

    def guard_elements(self, value: Any) -> None:
        """Guard a pre-existing container as a whole: its length and all its elements, as they were at the start."""
        source = self.sources.get(id(value))
        if id(value) in self.snapshots:
            self.refuse_mutated(f"a {type(value).__name__}")
        if source is None or id(value) in self.expanded:
            return
        self.expanded.add(id(value))
        content = self.snapshots.get(id(value), value)
        if isinstance(value, dict):
            if not all(_is_key(key) for key in content):
                self.discard_reason = "the keys of a dict are objects"
            self.guards.length(source, value, content)
            for key, each in content.items():
                self.guard_value(self.new_source.item(source, key, value), each)
        elif isinstance(value, (list, tuple, collections.deque)):
            self.guards.length(source, value, content)
            for key, each in enumerate(content):
                self.guard_value(self.new_source.item(source, key), each)
        elif isinstance(value, (set, frozenset)):
            if not all(_is_key(key) for key in content):
                self.discard_reason = "the elements of a set are objects"
            self.guards.equal(source, type(value)(content))

    def guard_attributes(self, value: Any) -> None:
        """Guard all attributes of a pre-existing object."""
        source = self.sources.get(id(value))
        if source is None or id(value) in self.expanded:
            return
        self.expanded.add(id(value))
        self.guards.value(source, value)
        if any(part[0] == "attribute" and part[1] == id(value) for part in self.written):
            self.discard_reason = "an object that was changed is given to a native call"
        fields = getattr(value, "__dict__", None)
        if fields is None:
            raise Break("native", name=f"something that takes a {type(value).__name__}")
        self.guards.add(Kind.FIELDS, source, tuple(fields))
        held = self.new_source.field(source, "__dict__") if "__getattribute__" in python_methods(type(value)) else None
        for name, each in fields.items():
            self.guard_value(self.new_source.attribute(source, name) if held is None else self.new_source.item(held, name), each)

    def guard_contents(self, *values: Any, text: bool = False, called: frozenset[str] | None = None) -> None:
        """Guard what native code may read of values; a graph break where it would run a user's Python unseen.

        With ``text`` it makes strings of them; ``called`` are the special methods that it may call, where that is known."""
        waiting = [each for each in values if not isinstance(each, (TensorBase, *PRIMITIVES))]
        known: set[int] = set()
        while waiting:
            value = waiting.pop()
            if id(value) in known:
                continue
            known.add(id(value))
            if isinstance(value, slice):
                waiting += [each for each in (value.start, value.stop, value.step) if not isinstance(each, (TensorBase, *PRIMITIVES))]
            elif isinstance(value, CONTAINERS):
                self.guard_elements(value)
                if type(value).__module__ != "builtins":
                    self.refuse_hidden(value, text, called)
                    waiting += [each for each in getattr(value, "__dict__", {}).values() if not isinstance(each, (TensorBase, *PRIMITIVES))]
                parts = [*value.values(), *value] if isinstance(value, dict) else value
                waiting += [each for each in parts if not isinstance(each, (TensorBase, *PRIMITIVES))]
            else:
                waiting += self.guard_object(value, text, called)

    def guard_object(self, value: Any, text: bool, called: frozenset[str] | None = None) -> list[Any]:
        """The same for one object that is no container; returns what it holds."""
        source = self.sources.get(id(value))
        if isinstance(value, BaseException):  # its text is that of its arguments
            self.specialize(*value.args)
        if type(value) is InterpretedGenerator or hasattr(type(value), "__next__"):
            if source is not None:
                raise Break("loop")
        elif isinstance(value, np.ndarray):
            if source is not None:
                if value.size > 64 or value.dtype.hasobject:
                    raise Break("native", name="something that takes a NumPy array")
                self.guards.add(Kind.ARRAY, source, value.copy())
        elif isinstance(value, Module):
            raise Break("native", name=f"something that takes a Module ({type(value).__name__})")
        elif (
            isinstance(value, (type, ModuleType, BuiltinFunctionType, range, CellType, SymbolicInt)) or by_identity(value) and is_op(value)
        ):
            if source is not None:
                self.guards.value(source, value)
        elif isinstance(value, (FunctionType, functools._lru_cache_wrapper)):
            if source is not None:
                self.guards.identity(source, value)
        elif isinstance(value, MethodType):
            return [value.__self__]
        elif isinstance(value, functools.partial):
            if source is not None:
                for name in ("func", "args", "keywords"):
                    self.guard_value(self.new_source.attribute(source, name), getattr(value, name))
            return [value.func, value.args, value.keywords]
        elif is_users(type(value)):
            self.refuse_hidden(value, text, called)
            if source is not None:
                self.guard_attributes(value)
            fields = [*getattr(value, "__dict__", {}).values()]
            if self.numbers or self.tracer.symbols:  # a comparison that a data class has made for it, say
                self.specialize(*fields, *[getattr(value, name, None) for name in getattr(type(value), "__slots__", ())])
            return [each for each in fields if not isinstance(each, (TensorBase, *PRIMITIVES))]
        elif source is not None:
            if not is_own(type(value)) and not by_identity(value) and type(value).__module__ != "typing":
                raise Break("native", name=f"something that takes a {type(value).__name__}")
            self.guards.identity(source, value)
        return []

    def refuse_hidden(self, value: Any, text: bool, called: frozenset[str] | None = None) -> None:
        """A graph break where native code would run a user's method unseen."""
        hidden = hidden_method(type(value), text) if called is None else min(called & python_methods(type(value)), default=None)
        if hidden is not None:
            raise Break("hidden", name=f"{type(value).__name__}.{hidden}")

    def guard_constant(self, value: Any) -> None:
        """A pre-existing object is an argument of an op: it is the same in all calls."""
        if isinstance(value, (TensorBase, *PRIMITIVES)):
            return
        source = self.sources[id(value)]
        self.guards.identity(source, value)
        if isinstance(value, Generator):
            self.guards.names.of(value)

    # -- sizes -----------------------------------------------------------------------------------------------------

    def symbol(self, source: Source, dim: int, tensor: Any) -> str | None:
        """The symbol of a dynamic size, or None for one that is guarded by its value."""
        if not self.dynamic(source, dim, tensor):
            return None
        name = f"s{len(self.symbol_sources)}"
        self.symbol_sources[name] = (source, dim)
        if dim in getattr(tensor, "__dict__", {}).get("_dynamo_dynamic_indices", ()):
            self.marked_dynamic.add(name)
        return name

    def fixed(self, size: Any) -> None:
        """A size is used as a plain number: it must be the same in later calls."""
        if not isinstance(size, SymbolicInt):
            return
        symbols = size.expression.symbols()
        if not symbols <= set(self.symbol_sources):
            self.discard_reason = "a native call chooses by a size that depends on the values of tensors"
            return
        self.guards.relation("==", size.expression, int.__int__(size), True, {name: self.symbol_sources[name] for name in symbols})

    def specialize(self, *values: Any) -> None:
        """Sizes are used as plain numbers: they must be the same in later calls."""
        for value in values:
            if isinstance(value, SymbolicInt):
                if not size_is_known(self, value):
                    raise Break("value", name="a size that depends on the values of a tensor")
                self.fixed(value)
                self.note_specialized(value)
            elif isinstance(value, SymbolicFloat):
                leaf = number_input_of(value)
                if leaf is not None:
                    self.guards.equal(leaf.source, leaf.value)
                self.specialize(*value.arguments)
            elif isinstance(value, (slice, range)):
                self.specialize(value.start, value.stop, value.step)
            elif isinstance(value, CONTAINERS) and (self.tracer.symbols or self.numbers):
                self.specialize(*symbolic_in(value))

    def note_specialized(self, size: Any) -> None:
        """Note that a size that was marked dynamic is specialized."""
        for name in size.expression.symbols() & self.marked_dynamic:
            source, dim = self.symbol_sources[name]
            self.violated = f"size {dim} of `{source.describe()}` is marked dynamic, but the program fixes it at line {self.frame.line} of {self.frame.code.co_filename}"

    def asserted(self, value: Any) -> Any:
        if type(value) is Tensor and state.capture is self.tracer and value._array.size == 1:
            if isinstance(self.tracer, CompileTracer) and (self.tracer.is_traced(value) or id(value) in self.sources):
                return self.tracer.assume(value, bool)
        return super().asserted(value)

    def assumes_value(self, tensor: Any) -> bool:
        """Whether the value of a tensor may become a Python value: it does not depend on the inputs, or later runs of the graph check it."""
        if not (self.tracer.is_traced(tensor) or id(tensor) in self.sources):
            return True
        return settings.capture_scalar_outputs and isinstance(self.tracer, CompileTracer) and type(tensor) is Tensor

    def escaped(self, how: str, why: str) -> None:
        """A native function turned a tensor's value into a Python value: what was recorded holds for this value alone."""
        self.discard_reason = f"{how} inside of a native call"

    def module_path(self) -> str:
        """The path of the Module whose forward is running, as far as sources tell."""
        frame: Frame | None = self.frame
        while frame is not None:
            if frame.code.co_name == "forward" and frame.slots and isinstance(frame.slots[0], Module):
                source = self.sources.get(id(frame.slots[0]))
                names: list[str] = []
                while isinstance(source, (Attribute, Item)):
                    name = source.name if isinstance(source, Attribute) else str(source.key)
                    if name not in ("_modules", "__dict__"):
                        names.append(name)
                    source = source.base
                return ".".join(reversed(names))
            frame = frame.caller
        return ""

    def discard(self, stop: Break) -> None:
        """A graph break where the capture can't stop: what is recorded is discarded."""
        self.discard_reason = self.discard_reason or stop.message

    @property
    def in_body(self) -> bool:
        """Whether a body is captured that runs again after a graph break."""
        return isinstance(self.tracer, BodyTracer)

    # -- side effects ---------------------------------------------------------------------------------------------------

    def is_old(self, value: Any) -> bool:
        """Whether an object was there before this segment."""
        if id(value) in self.sources:
            return True
        return id(value) not in self.fresh and (by_identity(value) or isinstance(value, FunctionType))

    def is_side_effect(self, value: Any, name: str) -> bool:
        """Whether a change of an object is a side effect: it is pre-existing.  While a body is captured, that is a graph break."""
        if not self.is_old(value):
            return False
        if self.pure:
            raise Break("effect", name=name)
        if id(value) not in self.sources:
            self.register(value, self.new_source.known(value))
        return True

    def perform(self, function: Any, *arguments: Any) -> None:
        """Perform a side effect, now and whenever the graph has run."""
        function(*arguments)
        self.effects.append(SideEffect(function, *arguments))

    def unrecorded(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Call a function whose ops are not recorded."""
        tracer = self.tracer
        place = state.interceptors.index(tracer)
        state.capture = None
        state.interceptors.remove(tracer)
        try:
            return function(*args, **kwargs)
        finally:
            state.interceptors.insert(place, tracer)
            state.capture = tracer

    def refuse_mutated(self, name: str) -> None:
        """A graph break where a body reads what the program has changed: bodies run inside of the graph, side effects after it."""
        if self.pure:
            raise Break("changed", name=name)

    def snapshot(self, container: Any, key: Any = NULL) -> None:
        """Snapshot a pre-existing container that is about to be changed (a dict: under one key, if one is given), for guards on what it held."""
        self.mutated[id(container)] = container
        owner = self.dict_owners.get(id(container))
        if id(container) not in self.snapshots:
            self.snapshots[id(container)] = list(container) if isinstance(container, collections.deque) else container.copy()
            self.mutated_keys[id(container)] = set()
        if key is not NULL and id(container) in self.mutated_keys:
            self.mutated_keys[id(container)].add(key)
            if owner is not None:
                self.written.add(("attribute", id(owner), key))
            return
        self.mutated_keys.pop(id(container), None)
        if owner is not None:
            self.guard_elements(container)
            self.written.update(("attribute", id(owner), name) for name in self.snapshots[id(container)])

    def user_frame(self) -> Frame | None:
        """The innermost frame of the user's program."""
        frame: Frame | None = self.frame
        while frame is not None and frame.code.co_filename.startswith(PACKAGE_FOLDER):
            frame = frame.caller
        return frame

    def finish_guards(self) -> None:
        """Guard that objects which were changed are distinct from others of their type."""
        by_kind: dict[type, list[Source]] = {}
        kinds = {type(each) for each in self.mutated.values()}
        for value in self.held:
            if type(value) in kinds and isinstance(self.sources[id(value)], Source):
                by_kind.setdefault(type(value), []).append(self.sources[id(value)])
        for sources in by_kind.values():
            if len(sources) > 1:
                self.guards.add(Kind.DISTINCT, None, None, sources, key=tuple(sources))

    def set_gradient(self, tensor: Any, value: Any) -> None:
        """The program sets ``tensor.grad``; what it is in the end is put there after the graph."""
        if self.pure:
            raise Break("effect", name="grad")
        source = self.sources.get(id(tensor))
        if id(tensor) not in self.gradients:
            place = None if source is None else self.new_source.attribute(source, "grad")
            known = place is not None and (self.guards.has(Kind.NOT_NONE, place) or self.guards.has(Kind.EQUAL, place))
            self.gradients[id(tensor)] = (tensor, tensor._grad if known else UNKNOWN)
        tensor.grad = value
        self.written.add(("attribute", id(tensor), "grad"))

    def opaque_input(self, value: Any) -> Node:
        """A pre-existing object that a node of the graph takes as it is."""
        source = self.sources[id(value)]
        tracer = self.tracer
        for node, (known, _) in zip([each for each in tracer.graph.nodes if each.op == "placeholder"], tracer.inputs):
            if known is source:
                return node
        return tracer.new_input(source, value)


def size_is_known(recorder: CaptureState, size: Any) -> bool:
    """Whether a size follows from the sizes of inputs."""
    return bool(size.expression.symbols() <= set(recorder.symbol_sources))


def _is_key(key: Any) -> bool:
    """Whether something can be compared as the key of a dict."""
    if isinstance(key, tuple):
        return all(_is_key(each) for each in key)
    if type(key).__module__ == "typing":  # `Union`, `Literal`, `List[int]`
        return True
    return isinstance(key, PRIMITIVES) or (by_identity(key) and not isinstance(key, Module)) or isinstance(key, FunctionType)


def is_method(value: Any) -> bool:
    """Whether something is a bound method, which every look-up makes again."""
    if isinstance(value, BuiltinFunctionType):
        return value.__self__ is not None and not isinstance(value.__self__, ModuleType)
    return isinstance(value, (MethodType, MethodWrapperType))
