"""Compiled functions: captured segments with their guards, the program that strings them together, and what lies between.

A segment leads from one state of the interpreter to the next: to the end of the program, or to an instruction that can't be captured.
That instruction is run as it is, and the next segment begins after it.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ...core.base import TensorBase
from ...core.state import flags, state
from ...graph import Node
from ..graph_module import GraphModule
from .breaks import QUIET, Break, Unsupported, counters
from .calls import Recorder
from .frame import Frame, Raised, Returned
from .interpreter import Interpreter
from .machine import Machine
from .recipes import CannotRebuild, Recipes
from .sources import Slot, Source, Stacked, chain_of

Backend = Callable[[Any, list[Any]], Callable[..., Any]]


class NativeMachine(Machine):
    """Runs the instruction between two segments: calls are Python's own."""

    def should_inline(self, function: Any) -> bool:
        return False


class Segment:
    """What was captured between two states."""

    def __init__(self, check: Any, guards: Any, inputs: Any, run: Any, finish: Any, module: Any, ending: str, finish_source: str) -> None:
        self.check = check
        self.guards = guards
        self.inputs = inputs
        self.run = run
        self.finish = finish
        self.module = module
        self.ending = ending  # "return", or what the break says
        self.finish_source = finish_source


class Options:
    """How a function is compiled."""

    def __init__(self, backend: Backend, name: str, fullgraph: bool = False, dynamic: bool | None = None, limit: int = 8) -> None:
        self.backend = backend
        self.name = name
        self.fullgraph = fullgraph
        self.dynamic = dynamic
        self.limit = limit


class Compiled:
    """The segments of one function, found as calls need them."""

    def __init__(self, function: Any, options: Options) -> None:
        self.function = function
        self.options = options
        self.segments: dict[Any, list[Segment]] = {}
        self.nested: dict[Any, Compiled] = {}
        self.lock = threading.RLock()
        self.interpreter = Interpreter(NativeMachine())
        self.failures: list[str] = []  # guards that failed, in words
        self.breaks: list[str] = []
        self.given_up: set[Any] = set()

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of the function."""
        frame = self.interpreter.start(self.function, args, kwargs)
        while True:
            frames = chain_of(frame)
            key = tuple([(each.code, each.index, len(each.stack)) for each in frames])
            after: Any = None
            number: Any = -1
            for segment in self.segments.get(key, ()):
                number = segment.check(frames)
                if number is None:
                    outs = segment.run(*segment.inputs(frames)) if segment.run is not None else ()
                    after = segment.finish(outs, frames)
                    break
            else:
                after = self.record(frame, frames, key)
            if not isinstance(after, Frame):
                return self.result(after)
            after = self.between(after)
            if not isinstance(after, Frame):
                return self.result(after)
            frame = after

    def result(self, outcome: Any) -> Any:
        if isinstance(outcome, Raised):
            raise outcome.error
        return outcome.value

    def between(self, frame: Frame) -> Any:
        """Run the instruction that could not be captured."""
        state.run_forward = self.run_forward
        flags.enter()
        try:
            return self.interpreter.step(frame)
        finally:
            flags.leave()
            state.run_forward = None

    def run_forward(self, forward: Any, args: tuple[Any, ...]) -> Any:
        """The forward of a custom Function that is applied between two segments: compiled on its own."""
        target = getattr(forward, "__func__", forward)
        code = getattr(target, "__code__", None)
        if code is None or self.options.fullgraph:
            return forward(*args)
        found = self.nested.get(code)
        if found is None:
            found = self.nested[code] = Compiled(forward, self.options)
        found.function = forward
        before, state.run_forward = state.run_forward, None
        try:
            return found.call(args, {})
        finally:
            state.run_forward = before

    # -- capturing -----------------------------------------------------------------------------------------------------

    def record(self, frame: Frame, frames: list[Frame], key: Any) -> Any:
        """Run the program from a state, and keep what was captured for later calls."""
        known = self.segments.get(key, [])
        if key in self.given_up:
            return self.interpreter.finish(frame)
        if len(known) >= self.options.limit:
            self.given_up.add(key)
            why = known[-1].guards.why(known[-1].check(frames), frames)
            warnings.warn(
                f"{self.name}: compiled {len(known)} times for different values, the limit; from now on it runs as it is. The last reason: {why}",
                stacklevel=4,
            )
            return self.interpreter.finish(frame)
        with self.lock:
            if known:
                self.failures.append(known[-1].guards.why(known[-1].check(frames), frames))
                counters["recompiles"][self.failures[-1]] += 1
            begun = [(each, list(each.slots), list(each.stack)) for each in frames]
            recorder = Recorder(frame, self.dynamic(known, frames))
            outcome, stop = self.follow(recorder, frame)
            if stop is not None and self.options.fullgraph:
                raise Unsupported(stop.describe(stop.frame))
            if stop is not None and stop.kind not in QUIET:
                self.breaks.append(stop.describe(stop.frame))
                counters["graph_break"][stop.message] += 1
            if recorder.failed is None and not isinstance(outcome, Raised):
                try:
                    segment = self.make(recorder, outcome, stop, begun)
                except CannotRebuild as error:
                    recorder.failed = str(error)
                else:
                    self.segments.setdefault(key, []).append(segment)
            if recorder.failed is not None:
                counters["not_kept"][recorder.failed] += 1
        return outcome

    @property
    def name(self) -> str:
        return getattr(self.function, "__qualname__", type(self.function).__name__)

    def dynamic(self, known: list[Segment], frames: list[Frame]) -> Callable[[Source, int, int], bool]:
        """Which sizes are symbolic: those that were asked for, and those that have changed since an earlier capture."""
        if self.options.dynamic is not None:
            wanted = self.options.dynamic
            return lambda source, dim, size: bool(wanted) and size > 1
        changed: dict[tuple[str, int], set[int]] = {}
        for segment in known:
            for source, dim, sizes in segment.guards.sizes:
                for at, size in [(dim, sizes)] if dim is not None else list(enumerate(sizes)):
                    changed.setdefault((source.describe(), at), set()).add(size)
        return lambda source, dim, size: bool(changed.get((source.describe(), dim), set()) - {size})

    def follow(self, recorder: Recorder, frame: Frame) -> tuple[Any, Break | None]:
        """Interpret until the program ends or a break: the outcome, or the frame that stopped and why."""
        interpreter = Interpreter(recorder)
        interceptors = len(state.interceptors)
        bottom = {id(each): depth for depth, each in enumerate(recorder.frames)}
        now: Any = frame
        with recorder.tracer:
            try:
                while isinstance(now, Frame):
                    recorder.frame = now
                    depth = bottom.get(id(now))
                    if depth is not None:
                        note(recorder, now, depth)
                    now = interpreter.step(now)
                return now, None
            except Break as stop:
                assert stop.frame is not None
                if len(state.interceptors) != interceptors + 1:
                    recorder.failed = "a mode that was entered stays on at the break"
                return stop.frame, stop
            finally:
                recorder.grad_after = state.grad_enabled

    def make(self, recorder: Recorder, outcome: Any, stop: Break | None, begun: Any) -> Segment:
        """A segment out of what was recorded."""
        tracer = recorder.tracer
        outputs: list[Node] = []
        places: dict[Any, int] = {}

        def output(value: Any) -> int:
            node = tracer.argument(value)
            if isinstance(value, TensorBase) and node.op == "get_attr":
                node = tracer.derive("clone", node)  # made anew in every call
            if node not in places:
                places[node] = len(outputs)
                outputs.append(node)
            return places[node]

        same = unchanged(recorder, begun)
        recipes = Recipes(recorder.guards, output, lambda value: recorder.sources.get(id(value)))
        for effect in recorder.effects:
            function = recipes.value(effect.function) if not callable(effect.function) or id(effect.function) in recorder.sources else None
            if function is None:
                owner = getattr(effect.function, "__self__", None)
                named = owner is not None and hasattr(owner, "__class__") and not isinstance(owner, ModuleType)
                function = f"{recipes.value(owner)}.{effect.function.__name__}" if named else recorder.guards.names.of(effect.function)
            arguments = ", ".join(recipes.value(each) for each in effect.arguments)
            recipes.lines.append(f"{function}({arguments})")
        if recorder.grad_after is not recorder.guards.grad_enabled:
            recipes.lines.append(f"{recorder.guards.names.of(state)}.grad_enabled = {recorder.grad_after}")
        if isinstance(outcome, Frame):
            result = "None"
            for each in chain_of(outcome):
                result = frame_recipe(recipes, each, result, same.get(id(each), {}))
        else:
            value = recipes.value(outcome.value)
            result = f"{recorder.guards.names.of(Returned)}({value})"
        finish = recipes.compiled(result)
        tracer.note_grad_mode()  # the graph leaves the mode as the program does
        tracer.graph.output(tuple(outputs))
        tracer.graph.eliminate_dead_code()
        inputs, run, module = self.build(recorder, tracer)
        return Segment(
            recorder.guards.compiled(), recorder.guards, inputs, run, finish, module, "return" if stop is None else stop.message, recipes.source
        )

    def build(self, recorder: Recorder, tracer: Any) -> tuple[Any, Any, Any]:
        """The graph as a module, handed to the back-end; and the function that fetches its inputs."""
        used = [node for node in tracer.graph.nodes if node.op == "placeholder"]
        module = GraphModule(tracer.constants, tracer.graph)
        calls = [node for node in tracer.graph.nodes if node.op.startswith("call_")]
        examples = [value for _, value in tracer.inputs]
        assert len(used) == len(examples)
        run: Any = module
        if calls:
            counters["stats"]["unique_graphs"] += 1
            run = self.options.backend(module, examples)
            if not callable(run):
                raise TypeError(f"the back-end {self.options.name} returned a {type(run).__name__}, which can't be called")
        elif not list(tracer.graph.output_node().all_input_nodes):
            run = None
        lines, names = fetching([source for source, _ in tracer.inputs], recorder.guards.names)
        namespace = dict(names.values)
        exec(compile(lines, "<inputs of the graph>", "exec"), namespace)
        return namespace["inputs"], run, module


def fetching(sources: list[Source], names: Any) -> tuple[str, Any]:
    """A program that fetches the values of sources."""
    values: dict[Source, str] = {}
    lines: list[str] = []

    def variable(source: Source) -> str:
        found = values.get(source)
        if found is None:
            base = variable(source.base) if source.base is not None else ""
            found = values[source] = f"v{len(values)}"
            lines.append(f"    {found} = {source.expression(base, names)}")
        return found

    results = [variable(source) for source in sources]
    return "def inputs(frames):\n" + "\n".join(lines) + f"\n    return ({''.join(each + ', ' for each in results)})\n", names


def note(recorder: Recorder, frame: Frame, depth: int) -> None:
    """Keep account of which variables of the beginning are overwritten, and how far down the stack is used."""
    instruction = frame.program.instructions[frame.index]
    if instruction.op in ("store_local", "delete_local", "load_local_and_clear", "make_cell"):
        recorder.stores.add((depth, instruction.argument))
    recorder.depths[id(frame)] = min(recorder.depths.get(id(frame), 0), len(frame.stack) - needs(instruction))


def needs(instruction: Any) -> int:
    """How many values at most an instruction takes from the stack (calls: their arguments)."""
    if instruction.op == "call":
        return int(instruction.argument[0]) + 2
    if instruction.op.startswith("build_") and isinstance(instruction.argument, int):
        return 2 * instruction.argument + 1
    if instruction.op in ("copy", "swap"):
        return int(instruction.argument)
    return 4


def unchanged(recorder: Recorder, begun: Any) -> dict[int, dict[int, Source]]:
    """The variables (by slot) and values in hand (by -1 - place) that are as they were at the beginning, with their sources."""
    found: dict[int, dict[int, Source]] = {}
    for depth, (frame, slots, stack) in enumerate(begun):
        places: dict[int, Source] = {}
        for slot, value in enumerate(slots):
            if (depth, slot) not in recorder.stores and slot < len(frame.slots) and frame.slots[slot] is value:
                places[slot] = Slot(depth, slot, frame.program.slot_names[slot])
        for place in range(min(recorder.depths.get(id(frame), 0), len(stack), len(frame.stack))):
            if frame.stack[place] is stack[place]:
                places[-1 - place] = Stacked(depth, place)
        found[id(frame)] = places
    return found


def frame_recipe(recipes: Recipes, frame: Frame, caller: str, same: dict[int, Source]) -> str:
    """The state of a stopped frame; what is as it was is taken from where it was."""
    if frame.generator is not None or frame.handled is not None or frame.inherited is not None:
        raise CannotRebuild("a generator, or an exception that is being handled, at the break")
    slots = ", ".join(
        recipes.from_source(same[at]) if at in same and not isinstance(each, TensorBase) else recipes.value(each)
        for at, each in enumerate(frame.slots)
    )
    stack = ", ".join(
        recipes.from_source(same[-1 - at]) if -1 - at in same and not isinstance(each, TensorBase) else recipes.value(each)
        for at, each in enumerate(frame.stack)
    )
    names = recipes.names
    name = f"f{frame.depth}"
    recipes.lines.append(f"{name} = Frame({names.of(frame.code)}, [{slots}], {names.of(frame.globals, 'g')}, {names.of(frame.builtins, 'b')})")
    recipes.lines.append(f"{name}.stack = [{stack}]")
    recipes.lines.append(f"{name}.index, {name}.caller, {name}.depth = {frame.index}, {caller}, {frame.depth}")
    return name

