"""Runs a program on its real values, instruction by instruction, and writes down what it does: the graph of its tensor ops, the
guards under which that holds, and its effects on what was there before.

Since values are real, the first call of a compiled function simply is the program, and later calls repeat what was written down.
"""

from __future__ import annotations

import enum
import operator
import sys
from collections.abc import Mapping
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, MethodWrapperType, ModuleType
from typing import Any

from ...core.base import TensorBase
from ...core.sizes import SymbolicInt, is_symbolic
from ...core.state import state
from ...graph import Node
from ..tracer import PACKAGE_FOLDER, Tracer
from .breaks import Break
from .decode import NULL
from .frame import Frame, Inline
from .generator import Generator
from .guards import PRIMITIVES, Guards, by_identity
from .machine import Machine
from .sources import Attribute, Contents, Global, Item, Known, Slot, Source, Stacked, chain_of

PACKAGE = __name__.partition(".")[0]
marks: dict[int, str] = {}  # of functions, by id: "disable", "allow", "break", "constant"
_marked: list[Any] = []


def mark(function: Any, kind: str) -> None:
    """Say how captures treat calls of a function: ``disable``, ``allow`` (into the graph, unseen), ``break``."""
    marks[id(function)] = kind
    _marked.append(function)


class Effect:
    """Something that the program did to an object that was there before: a call to be repeated after the graph."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.function = function
        self.arguments = arguments


class CompileTracer(Tracer):
    """A tracer whose inputs are found on the way: tensors that have a source."""

    def __init__(self, recorder: Observer) -> None:
        super().__init__(escaped=recorder.escaped)
        self.recorder = recorder
        self.inputs: list[tuple[Source, Any]] = []
        self.grad_mode = state.grad_enabled

    def node_of(self, tensor: Any) -> Node:
        if id(tensor) not in self.entries:
            source = self.recorder.sources.get(id(tensor))
            if source is not None:
                self.take(tensor, source)
            elif tensor._requires_grad and self.aliases.by_array.get(id(tensor._array)) is None:
                self.recorder.failed = "a tensor from outside that nothing the program read leads to"
        return super().node_of(tensor)

    def shape_of(self, tensor: Any) -> tuple[int, ...]:
        if id(tensor) not in self.entries and id(tensor) in self.recorder.sources:
            self.node_of(tensor)
        return super().shape_of(tensor)

    def take(self, tensor: Any, source: Source) -> None:
        """Make a tensor an input of the graph."""
        node = self.new_input(source, tensor)
        self.add_input(tensor, node, lambda dim: self.recorder.symbol(source, dim, tensor._array.shape[dim]))
        self.recorder.guards.tensor(source, tensor, self.entries[id(tensor)].shape)

    def new_input(self, source: Source, value: Any) -> Node:
        """A placeholder for what a source leads to."""
        first = next((each for each in self.graph.nodes if each.op != "placeholder"), None)
        name = "".join(each if each.isalnum() else "_" for each in source.describe()).strip("_") or "value"
        if first is None:
            node = self.graph.placeholder(f"l_{name}_")
        else:
            with self.graph.inserting_before(first):
                node = self.graph.placeholder(f"l_{name}_")
        self.inputs.append((source, value))
        return node

    def emit(self, op: Any, recorded: Any, keywords: Any = None) -> Node:
        self.note_grad_mode()
        return super().emit(op, recorded, keywords)

    def note_grad_mode(self) -> None:
        """Where gradients are switched on or off, so the graph does."""
        if state.grad_enabled is not self.grad_mode:
            self.grad_mode = state.grad_enabled
            node = self.graph.call_function(set_grad_mode, (state.grad_enabled,))
            node.meta.update(impure=True, source=None, module="")

    def where(self) -> tuple[Any, str]:
        frame: Frame | None = self.recorder.frame
        while frame is not None and frame.code.co_filename.startswith(PACKAGE_FOLDER):
            frame = frame.caller
        path = self.recorder.module_path()
        return (None if frame is None else (frame.code.co_filename, frame.line, frame.code.co_name)), path

    def size_escaped(self, kind: str, size: Any) -> None:
        if state.capture is self:
            self.recorder.relation(f"{size.expression} == {int.__int__(size)}" if isinstance(size, SymbolicInt) else None, size)


def set_grad_mode(mode: bool) -> None:
    """Switch recording of gradients on or off, within a graph."""
    state.grad_enabled = mode


class Observer(Machine):
    """The machine that sees what an interpreted program does to values; calls are the matter of :class:`Recorder`."""

    def __init__(self, frame: Frame, dynamic: Any = None) -> None:
        self.frame: Frame = frame
        self.guards = Guards()
        self.sources: dict[int, Source] = {}
        self.held: list[Any] = []
        self.effects: list[Effect] = []
        self.pure = False  # while something is tried: what was there before must not be changed
        self.grad_after = state.grad_enabled
        self.written: set[Any] = set()  # attributes and items that the program has set: no longer those of before
        self.failed: str | None = None  # why what is recorded can't be used again
        self.dynamic = dynamic or (lambda source, dim, size: False)
        self.symbol_sources: dict[str, tuple[Source, int]] = {}
        self.tracer = CompileTracer(self)
        self.stores: set[tuple[int, int]] = set()  # (depth, slot) of variables that were set
        self.depths: dict[int, int] = {}  # of each frame of the beginning: how far down its stack was used
        self.start(frame)

    # -- what is there at the beginning ----------------------------------------------------------------------------

    def start(self, innermost: Frame) -> None:
        """Give the values in the frames their sources; guard those that the program will read."""
        self.frames = chain_of(innermost)
        for depth, frame in enumerate(self.frames):
            self.depths[id(frame)] = len(frame.stack)
            live = live_slots(frame)
            for slot, value in enumerate(frame.slots):
                if value is NULL:
                    continue
                source: Source = Slot(depth, slot, frame.program.slot_names[slot])
                if isinstance(value, CellType):
                    self.register(value, source)
                    try:
                        value, source = value.cell_contents, Contents(source)
                    except ValueError:
                        continue
                    self.seen(source, value)
                elif slot in live:
                    self.seen(source, value)
                else:
                    self.register(value, source)
            for place, value in enumerate(frame.stack):
                if value is not NULL:
                    self.seen(Stacked(depth, place), value)

    def register(self, value: Any, source: Source) -> None:
        """Remember where an object comes from."""
        if not isinstance(value, PRIMITIVES) and id(value) not in self.sources:
            self.sources[id(value)] = source
            self.held.append(value)

    def seen(self, source: Source, value: Any) -> Any:
        """A value was read from a source: guard it by its kind."""
        if isinstance(value, PRIMITIVES):
            self.guards.equal(source, value)
            return value
        if id(value) not in self.sources:
            self.register(value, source)
            if not isinstance(value, (TensorBase, CellType)):
                self.guards.value(source, value)
        elif isinstance(value, TensorBase) and self.sources[id(value)] is not source:
            self.guards.variable(source)
            first = self.guards.variable(self.sources[id(value)])
            same = f"{self.guards.variable(source)} is {first}"
            self.guards.condition(f"{source.describe()} is {self.sources[id(value)].describe()}", same, ("same", source))
        return value

    def expand(self, value: Any) -> None:
        """A container of before is looked at as a whole: its length, and all its elements."""
        source = self.sources.get(id(value))
        if source is None or ("expanded", id(value)) in self.written:
            return
        if isinstance(value, (list, tuple, dict)):
            self.written.add(("expanded", id(value)))
            self.guards.length(source, value)
            for key, each in value.items() if isinstance(value, dict) else enumerate(value):
                if not isinstance(key, (int, str)):
                    self.failed = "a dict whose keys are neither numbers nor strings"
                self.seen(Item(source, key), each)
        elif isinstance(value, (set, frozenset, range)):
            self.written.add(("expanded", id(value)))
            self.guards.equal(source, value)

    def symbol(self, source: Source, dim: int, size: int) -> str | None:
        """The symbol of a size that may differ, or None for one that is guarded."""
        if not self.dynamic(source, dim, size):
            return None
        name = f"s{len(self.symbol_sources)}"
        self.symbol_sources[name] = (source, dim)
        return name

    def relation(self, text: str | None, size: Any) -> None:
        """The program has fixed something about sizes."""
        if text is None or not isinstance(size, SymbolicInt) or not size.expression.symbols() <= set(self.symbol_sources):
            return
        self.guards.formula((text, size.expression.symbols()), self.symbol_sources)

    def escaped(self, how: str, why: str) -> None:
        """A native function turned a tensor's value into a Python value: what was recorded holds for this value alone."""
        self.failed = f"{how} inside of a function that is called as it is"

    def module_path(self) -> str:
        """The path of the Module whose forward is running, as far as sources tell."""
        frame: Frame | None = self.frame
        while frame is not None:
            if frame.code.co_name == "forward" and frame.slots and hasattr(frame.slots[0], "_parameters"):
                source = self.sources.get(id(frame.slots[0]))
                names: list[str] = []
                while isinstance(source, (Attribute, Item)):
                    name = source.name if isinstance(source, Attribute) else str(source.key)
                    if name != "_modules":
                        names.append(name)
                    source = source.base
                return ".".join(reversed(names))
            frame = frame.caller
        return ""

    # -- operations --------------------------------------------------------------------------------------------------

    def truth(self, value: Any) -> bool:
        if isinstance(value, TensorBase):
            if self.tracer.is_traced(value) or id(value) in self.sources:
                raise Break("truth")
            return bool(value)
        self.look(value)
        return bool(value)

    def look(self, *values: Any) -> None:
        """Values are used by something native: containers are seen whole, tensors become inputs."""
        for value in values:
            if isinstance(value, (list, tuple, dict, set, frozenset, range)):
                self.expand(value)
                for each in value.values() if isinstance(value, dict) else value:
                    if isinstance(each, (list, tuple, dict)):
                        self.look(each)

    def binary(self, op: str, a: Any, b: Any) -> Any:
        if op.endswith("=") and isinstance(a, (list, dict, set)) and id(a) in self.sources and self.affect(a, op):
            self.effects.append(Effect(_in_place(op), a, b))
            self.touched(a)
        special = self.method_of(a, _BINARY_NAMES.get(op, ""))
        if special is not None:
            return Inline(special, (a, b), {})
        self.look(a, b)
        return super().binary(op, a, b)

    def method_of(self, value: Any, name: str) -> Any:
        """A Python method that a user's class has for an operator."""
        if not name or isinstance(value, (*PRIMITIVES, TensorBase, list, tuple, dict, set)):
            return None
        found = getattr(type(value), name, None)
        return found if isinstance(found, FunctionType) and self.should_inline(found) else None

    def compare(self, op: str, a: Any, b: Any) -> Any:
        self.look(a, b)
        if isinstance(a, SymbolicInt) or isinstance(b, SymbolicInt):
            left, right = (each.expression if isinstance(each, SymbolicInt) else each for each in (a, b))
            result = super().compare(op, a, b)
            size = a if isinstance(a, SymbolicInt) else b
            self.relation(f"({left} {op} {right}) is {result}", size)
            return result
        return super().compare(op, a, b)

    def contains(self, container: Any, item: Any) -> bool:
        self.look(container, item)
        if isinstance(container, TensorBase) and self.tracer.is_traced(container):
            raise Break("value", name="in")
        return super().contains(container, item)

    def is_same(self, a: Any, b: Any) -> bool:
        for value in (a, b):
            source = self.sources.get(id(value))
            if source is not None and isinstance(value, TensorBase):
                self.tracer.node_of(value)
            elif source is not None:
                self.guards.value(source, value)
        return a is b

    def load_attr(self, value: Any, name: str) -> Any:
        if isinstance(value, TensorBase):
            return self.tensor_attribute(value, name)
        source = self.sources.get(id(value))
        found = _class_attribute(value, name)
        own = isinstance(found, property) and str(getattr(found.fget, "__module__", "")).partition(".")[0] == PACKAGE
        if isinstance(found, property) and not own and isinstance(found.fget, FunctionType) and self.should_inline(found.fget):
            if source is not None:
                self.guards.value(source, value)
            return Inline(found.fget, (value,), {})
        if source is None:
            result = getattr(value, name)
            return self.part_of(value, name, result)
        try:
            result = getattr(value, name)
        except AttributeError:
            self.guards.value(source, value)
            self.guards.absent(source, name)
            raise
        if ("attribute", id(value), name) in self.written:
            return result
        self.guards.value(source, value)
        if is_method(result) and name not in getattr(value, "__dict__", ()):
            return result  # made by this look-up: it follows from the object
        if isinstance(value, type) and isinstance(result, (FunctionType, BuiltinFunctionType)):
            self.seen(Attribute(source, name), result)
            return result
        if isinstance(value, ModuleType) and value.__name__.partition(".")[0] in (PACKAGE, *sys.stdlib_module_names):
            self.register(result, Attribute(source, name))  # names of the package and of the standard library stay what they are
            return result
        return self.seen(Attribute(source, name), result)

    def part_of(self, value: Any, name: str, result: Any) -> Any:
        """An attribute of an object that is the same in all calls, though it has no source: it may be changed, and is guarded."""
        if by_identity(value) and not isinstance(value, (MethodType, enum.Enum)) and not is_method(result):
            if isinstance(value, (FunctionType, type)) and not isinstance(result, (TensorBase, *PRIMITIVES)):
                return result
            return self.seen(Attribute(Known(value), name), result)
        return result

    def tensor_attribute(self, value: Any, name: str) -> Any:
        source = self.sources.get(id(value))
        if source is not None:
            self.tracer.node_of(value)
        if name == "grad" and source is not None:
            result = value.grad
            if result is not None:
                self.register(result, Attribute(source, "grad"))
                self.guards.condition(f"{source.describe()}.grad is there", f"{self.guards.variable(source)}.grad is not None", ("grad", source))
            else:
                self.guards.equal(Attribute(source, "grad"), None)
            return result
        if name in ("stride", "is_contiguous", "data_ptr", "storage_offset") and source is not None:
            self.guards.strides(source, value)
        fields = getattr(value, "__dict__", {})
        result = getattr(value, name)
        if source is not None and name in fields:
            return self.seen(Attribute(source, name), result)
        return result

    def store_attr(self, value: Any, name: str, new: Any) -> Any:
        if isinstance(value, TensorBase):
            if id(value) in self.sources or self.tracer.is_traced(value):
                raise Break("attribute", name=name)
            return setattr(value, name, new)
        found = _class_attribute(value, name)
        if isinstance(found, property) and isinstance(found.fset, FunctionType) and self.should_inline(found.fset):
            return Inline(found.fset, (value, new), {})
        setter = type(value).__setattr__
        if isinstance(setter, FunctionType) and self.should_inline(setter):
            return Inline(setter, (value, name, new), {})
        old = self.affect(value, name)
        setattr(value, name, new)
        if old:
            self.effects.append(Effect(setattr, value, name, new))
            self.written.add(("attribute", id(value), name))
        return None

    def delete_attr(self, value: Any, name: str) -> Any:
        old = self.affect(value, name)
        delattr(value, name)
        if old:
            self.effects.append(Effect(delattr, value, name))
            self.written.add(("attribute", id(value), name))
        return None

    def affect(self, value: Any, name: str) -> bool:
        """Whether a change of an object is an effect: it was there before.  While something is tried, none is allowed."""
        if not self.is_old(value):
            return False
        if self.pure:
            raise Break("effect", name=name)
        return True

    def opaque_input(self, value: Any) -> Node:
        """An object of before that a node of the graph takes as it is."""
        source = self.sources[id(value)]
        tracer = self.tracer
        for node, (known, _) in zip([each for each in tracer.graph.nodes if each.op == "placeholder"], tracer.inputs):
            if known is source:
                return node
        return tracer.new_input(source, value)

    def is_old(self, value: Any) -> bool:
        """Whether an object was there before this segment."""
        if id(value) in self.sources:
            return True
        return by_identity(value)

    def touched(self, container: Any) -> None:
        """A container of before was changed: what is read from it now is what the program put there."""
        self.written.add(("expanded", id(container)))
        self.written.add(("changed", id(container)))

    def get_item(self, container: Any, key: Any) -> Any:
        if isinstance(container, TensorBase):
            self.look(key)
            return container[key]
        special = self.method_of(container, "__getitem__")
        if special is not None:
            return Inline(special, (container, key), {})
        source = self.sources.get(id(container))
        result = container[key]
        if source is None or ("changed", id(container)) in self.written:
            return result
        self.guards.type(source, container)
        if isinstance(container, (list, tuple)) and isinstance(key, int) and not is_symbolic(key):
            self.guards.length(source, container)
            return self.seen(Item(source, int(key)), result)
        if isinstance(container, Mapping) and isinstance(key, (str, int)):
            return self.seen(Item(source, key), result)
        self.expand(container)
        return result

    def set_item(self, container: Any, key: Any, value: Any) -> Any:
        special = self.method_of(container, "__setitem__")
        if special is not None:
            return Inline(special, (container, key, value), {})
        old = not isinstance(container, TensorBase) and self.affect(container, "an item")
        container[key] = value
        if old:
            self.effects.append(Effect(operator.setitem, container, key, value))
            self.touched(container)
        return None

    def delete_item(self, container: Any, key: Any) -> Any:
        self.look(container)
        old = self.affect(container, "an item")
        del container[key]
        if old:
            self.effects.append(Effect(operator.delitem, container, key))
            self.touched(container)
        return None

    def load_global(self, frame: Frame, name: str) -> Any:
        value = super().load_global(frame, name)
        if name not in frame.globals:
            return value  # a builtin
        if ("global", id(frame.globals), name) in self.written:
            return value
        if isinstance(value, ModuleType) or (frame.globals.get("__name__", "").partition(".")[0] == PACKAGE and not isinstance(value, (TensorBase, *PRIMITIVES))):
            self.register(value, Global(frame.globals, name))
            return value
        return self.seen(Global(frame.globals, name), value)

    def store_global(self, frame: Frame, name: str, value: Any) -> None:
        self.affect(frame.globals, name)
        super().store_global(frame, name, value)
        self.effects.append(Effect(operator.setitem, frame.globals, name, value))
        self.written.add(("global", id(frame.globals), name))

    def get_iter(self, value: Any) -> Any:
        if isinstance(value, (list, tuple, dict, set, frozenset)):
            self.look(value)
            return iter(value)
        special = self.method_of(value, "__iter__")
        if special is not None:
            source = self.sources.get(id(value))
            if source is not None:
                self.guards.value(source, value)
            return Inline(special, (value,), {})
        return super().get_iter(value)

    def next(self, iterator: Any) -> Any:
        if id(iterator) in self.sources:
            raise Break("loop")
        special = self.method_of(iterator, "__next__") if type(iterator) is not Generator else None
        return super().next(iterator) if special is None else Inline(special, (iterator,), {})

    def unpack_sequence(self, value: Any, count: int) -> list[Any]:
        self.look(value)
        return super().unpack_sequence(value, count)

    def unpack_ex(self, value: Any, before: int, after: int) -> list[Any]:
        self.look(value)
        return super().unpack_ex(value, before, after)

    def list_extend(self, items: Any, more: Any) -> None:
        self.look(more)
        super().list_extend(items, more)

    def dict_update(self, items: Any, more: Any) -> None:
        self.look(more)
        super().dict_update(items, more)

    def dict_merge(self, function: Any, keywords: Any, more: Any) -> None:
        self.look(more)
        super().dict_merge(function, keywords, more)

    def format_value(self, value: Any, spec: Any) -> Any:
        if isinstance(value, TensorBase) and (self.tracer.is_traced(value) or id(value) in self.sources):
            raise Break("value", name="a formatted string")
        return super().format_value(value, spec)

    def convert_value(self, kind: str, value: Any) -> Any:
        if isinstance(value, TensorBase):
            raise Break("value", name=kind)
        return super().convert_value(kind, value)


_BINARY_NAMES = {
    "+": "__add__", "-": "__sub__", "*": "__mul__", "/": "__truediv__", "//": "__floordiv__", "%": "__mod__", "@": "__matmul__", "**": "__pow__",
    "&": "__and__", "|": "__or__", "^": "__xor__",
}  # fmt: skip


def _in_place(op: str) -> Any:
    return {"+=": operator.iadd, "*=": operator.imul, "|=": operator.ior, "&=": operator.iand, "-=": operator.isub, "^=": operator.ixor}[op]


def is_method(value: Any) -> bool:
    """Whether something is a method bound to an object: made anew by every look-up."""
    if isinstance(value, BuiltinFunctionType):
        return value.__self__ is not None and not isinstance(value.__self__, ModuleType)
    return isinstance(value, (MethodType, MethodWrapperType))


def _class_attribute(value: Any, name: str) -> Any:
    for kind in type(value).__mro__:
        if name in vars(kind):
            return vars(kind)[name]
    return None


def live_slots(frame: Frame) -> set[int]:
    """The variables that may be read, from where a frame stands, before they are set."""
    instructions = frame.program.instructions
    handlers = frame.program.handler_at
    live: set[int] = set()
    work: list[tuple[int, frozenset[int]]] = [(frame.index, frozenset())]
    visits: dict[int, frozenset[int]] = {}
    while work:
        index, stored = work.pop()
        known = visits.get(index)
        if known is not None:
            if known <= stored:
                continue
            stored = known & stored
        visits[index] = stored
        if index >= len(instructions):
            continue
        instruction = instructions[index]
        op, argument = instruction.op, instruction.argument
        if op in ("load_local", "load_local_and_clear", "load_deref", "make_cell", "delete_local", "delete_deref", "store_deref") and argument not in stored:
            live.add(argument)
        if op in ("store_local", "load_local_and_clear"):
            stored = stored | {argument}
        handler = handlers[index]
        if handler is not None:
            work.append((handler.target, stored))
        if op in ("return_value", "raise", "reraise"):
            continue
        if op == "jump":
            work.append((argument, stored))
            continue
        if op.startswith("jump_if") or op in ("for_iter", "send"):
            work.append((argument, stored))
        work.append((index + 1, stored))
    return live

