"""Compiled functions: captured segments with their guards, the program that strings them together, and what lies between.

A segment leads from one state of the interpreter to the next: to the end of the program, or to an instruction that can't be captured.
That instruction is run as it is, and the next segment begins after it.
"""

from __future__ import annotations

import inspect
import threading
import warnings
from collections.abc import Callable
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

from ....core import kernel_providers
from ....core.base import TensorBase
from ....core.errors import RushlightError
from ....core.node import next_sequence
from ....core.state import flags, state
from ....graph import Node
from ...graph_module import Deferred, GraphModule
from ..config import settings
from ..decode import NULL, decode
from ..guards.native_guards import NativeGuards
from ..guards.python_guards import MISSING
from ..guards.sources import Slot, Source, Stacked, chain_of
from ..handlers.backward import gradient_effects
from ..record.base import Weak, weak
from ..record.callbacks import RecordingInterpreter
from ..record.calls import Recorder
from ..record.deferred import Later
from ..record.desymbolize import Plain
from ..record.graph_breaks import QUIET, BackendFailed, Break, BreakRecord, ConstraintViolation, Unsupported, counters
from ..record.graph_functions import Hook, is_spent, set_inference_mode, spent
from ..record.reconstruct import CannotRebuild, Recipes
from ..record.tracer import ERROR
from ..vm.frame import Frame, Raised, Returned
from ..vm.generator import Generator
from ..vm.interpreter import Interpreter
from ..vm.semantics import Machine
from .rollback import Undo

Backend = Callable[[Any, list[Any]], Callable[..., Any]]
_NAMESPACE = {
    "NULL": NULL, "CellType": CellType, "MethodType": MethodType, "FunctionType": FunctionType, "restored": Frame.restored, "MISSING": MISSING,
    "set_inference_mode": set_inference_mode,
    "spent": spent,
}  # fmt: skip
MISS = _NAMESPACE["MISS"] = object()  # what a segment gives whose guards do not hold


class Again(Exception):
    """A graph has raised an error, and what it had changed is put back: the program is run as it is, with its own traceback and ``except`` blocks."""


_UNKEPT_LIMIT = 4  # how often a place is captured anew, where what was recorded can't be used again


class NativeMachine(Machine):
    """Runs the instruction between two segments: calls are Python's own."""

    def should_inline(self, function: Any) -> bool:
        return False


class Segment:
    """What was captured between two states: ``run`` checks the guards, runs the graph, repeats the effects and makes the new state."""

    def __init__(self, run: Any, guards: Any, module: Any, ending: str, ends: bool, source: str, place: tuple[str, int, str]) -> None:
        self.run = run
        self.place = place  # file, line and function where it begins
        self.guards = guards
        self.module = module
        self.ending = ending  # "return", or what the break says
        self.ends = ends  # whether the program is at its end: `run` gives its result, and otherwise a frame
        self.source = source

    @property
    def alive(self) -> bool:
        """Whether the objects that the guards know by identity are all there."""
        return all(each() is not None for each in self.guards.names.references.values())


class Options:
    """How a function is compiled."""

    def __init__(self, backend: Backend, name: str, fullgraph: bool = False, dynamic: bool | None = None) -> None:
        self.backend = backend
        self.name = name
        self.fullgraph = fullgraph
        self.dynamic = dynamic


class Compiled:
    """The segments of one function, found as calls need them."""

    def __init__(self, function: Any, options: Options) -> None:
        self.function = function
        self.options = options
        self.lock = threading.RLock()
        self.interpreter = Interpreter(NativeMachine())
        self.clear()
        self.arguments, self.rest, self.gathers = plain_arguments(function)

    def clear(self) -> None:
        """Forget all that was captured."""
        self.segments: dict[Any, list[Segment]] = {}
        self.entry: list[Segment] = []  # those with which a call begins
        self.front: Segment | None = None  # the one of them that held last
        self.nested: dict[Any, Compiled] = {}
        self.failures: list[str] = []  # guards that failed, in words
        self.breaks: list[BreakRecord] = []
        self.unkept: dict[Any, list[str]] = {}  # of places where what was recorded can't be used again: why
        self.given_up: set[Any] = set()
        self.careful: set[Any] = set()  # places from which modes are entered between graphs

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of the function."""
        try:
            front = self.front  # what held last is tried first, in short
            if front is not None and front.ends and not kwargs and len(args) >= self.arguments >= 0:
                if self.gathers:
                    after = front.run((*args[: self.arguments], args[self.arguments :], {}, *self.rest))
                else:
                    after = front.run(args + self.rest) if len(args) == self.arguments else MISS
                if after is not MISS:
                    return after
            return self.enter(args, kwargs)
        except Again:
            frame = self.interpreter.start(self.function, args, kwargs)
        return self.result(self.interpreter.finish(frame))

    def enter(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of the function, from its beginning."""
        after: Any = MISS
        if not kwargs and (len(args) == self.arguments or (self.gathers and len(args) >= self.arguments >= 0)):
            slots: Any = (*args[: self.arguments], args[self.arguments :], {}, *self.rest) if self.gathers else args + self.rest
            for segment in self.entry:
                after = segment.run(slots)
                if after is not MISS:
                    self.front = segment
                    if segment.ends:
                        return after
                    break
        if after is MISS:
            frame = self.interpreter.start(self.function, args, kwargs)
            slots = frame.slots
            for segment in self.entry:
                after = segment.run(slots)
                if after is not MISS:
                    if segment.ends:
                        return after
                    break
            else:
                after = self.record(frame, [frame], None)
            del frame
        waiting = [after]
        del after, slots  # they would keep what the program lets go of
        return self.go_on(waiting)

    def go_on(self, waiting: list[Any]) -> Any:
        """From the end of a segment (handed over in a list) to the end of the program."""
        frames: Any
        frame: Any
        while True:
            after = waiting.pop()
            frames = frame = None  # they would keep what the program lets go of
            if isinstance(after, Frame):
                after = frame = self.between(after)
            if not isinstance(after, Frame):
                waiting.append(after)
                del after, frame
                return self.result(waiting.pop())
            frames = chain_of(frame)
            key = tuple([(each.program, each.index, len(each.stack)) for each in frames])
            try:
                for segment in self.segments.get(key, ()):
                    after = segment.run(frames)
                    if after is not MISS:
                        replaced(frames, None if segment.ends else after)
                        if segment.ends:
                            return after
                        break
                else:
                    after = self.record(frame, frames, key)
            except Again:
                after = self.interpreter.finish(frame)
            waiting.append(after)

    def result(self, outcome: Any) -> Any:
        """The value of a call, or its error."""
        if isinstance(outcome, Raised):
            try:
                raise outcome.error
            finally:
                del outcome  # the traceback holds this frame
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
        """Run the program from a state, and keep what was captured for later calls.  ``key`` is None at its beginning."""
        with self.lock:
            known = self.known(key)
            if key in self.given_up:
                return self.interpreter.finish(frame)
            start = frame.slots if key is None else frames
            if known:
                why = known[-1].guards.why(start)
                if settings.error_on_recompile:
                    raise Unsupported(f"{self.name}: a second graph is needed, and error_on_recompile is set: {why}")
                if len(known) >= settings.recompile_limit:
                    self.give_up(key, f"compiled {len(known)} times for different values, the limit", why)
                    return self.interpreter.finish(frame)
                self.failures.append(why)
                counters["recompiles"][why] += 1
            begun = [
                (each, list(map(weak, each.slots)), list(map(weak, each.stack)), (each.code.co_filename, each.line, each.code.co_qualname))
                for each in frames
            ]
            recorder = Recorder(frame, self.dynamic(known), key in self.careful, key is None)
            later = recorder.tracer.later = Later(recorder.tracer) if getattr(self.options.backend, "computes_first", False) else None
            try:
                since = next_sequence()
                with kernel_providers.once():
                    outcome, stop = self.follow(recorder, frame, key)
                kernel_providers.backward_once([each.tensor._grad_fn for each in recorder.tracer.entries.values()], since)
                self.kept(known, key, recorder, outcome, stop, begun)
                if later is not None and later.calls:
                    later.compute()
                if recorder.tracer.symbols or recorder.numbers:
                    outcome = Plain(recorder).outcome(outcome)
            finally:
                begun.clear()  # the traceback of an error may hold this frame
                recorder.close()
        if outcome.__class__ is Returned:
            frames[0].slots = []
        try:
            return outcome
        finally:
            del outcome

    def kept(self, known: list[Segment], key: Any, recorder: Recorder, outcome: Any, stop: Break | None, begun: Any) -> None:
        """Keep what was captured, where it can be used again."""
        if recorder.violated is not None:
            raise ConstraintViolation(recorder.violated)
        if stop is not None:
            self.stopped(stop)
        if recorder.failed is None and not isinstance(outcome, Raised):
            try:
                known.append(self.make(recorder, outcome, stop, begun))
            except CannotRebuild as error:
                recorder.failed = f"{error} can't be made again"
        if recorder.failed is not None and not isinstance(outcome, Raised):
            self.not_kept(key, recorder.failed)

    def known(self, key: Any) -> list[Segment]:
        """The segments that begin in a place, without those whose objects are gone."""
        found = self.entry if key is None else self.segments.setdefault(key, [])
        if not all(each.alive for each in found):
            found[:] = [each for each in found if each.alive]
        return found

    def give_up(self, key: Any, what: str, why: str) -> None:
        """From now on a place is run as it is."""
        if settings.fail_on_recompile_limit_hit:
            raise Unsupported(f"{self.name}: {what}. The last reason: {why}")
        self.given_up.add(key)
        warnings.warn(f"{self.name}: {what}; from now on it runs as it is. The last reason: {why}", stacklevel=5)

    def stopped(self, stop: Break) -> None:
        """A break: an error where there must be none, else a line for the explanation."""
        if self.options.fullgraph:
            raise Unsupported(stop.describe(stop.frame))
        if stop.kind not in QUIET:
            self.breaks.append(BreakRecord(stop))
            counters["graph_break"][stop.message] += 1

    def not_kept(self, key: Any, why: str) -> None:
        """What was recorded can't be used again."""
        if self.options.fullgraph:
            raise Unsupported(f"{self.name}: what was captured can't be used again: {why}")
        counters["not_kept"][why] += 1
        if why == ERROR:
            return  # the next call may take another way
        self.unkept.setdefault(key, []).append(why)
        if len(self.unkept[key]) >= _UNKEPT_LIMIT:
            self.given_up.add(key)

    @property
    def name(self) -> str:
        return getattr(self.function, "__qualname__", type(self.function).__name__)

    def dynamic(self, known: list[Segment]) -> Callable[[Source, int | None, Any], bool]:
        """Which sizes and numbers are symbolic: those that were asked for, and those that have changed since an earlier capture."""
        wanted = self.options.dynamic
        if wanted is None and not settings.assume_static_by_default:
            wanted = True
        changed: dict[tuple[str, int | None], set[Any]] = {}
        for segment in known if wanted is None and settings.automatic_dynamic_shapes else ():
            for source, dim, sizes in segment.guards.sizes:
                for at, size in [(dim, sizes)] if dim is not None else list(enumerate(sizes)):
                    changed.setdefault((source.describe(), at), set()).add(size)
            for source, number in segment.guards.numbers:
                changed.setdefault((source.describe(), None), set()).add(number)

        def decide(source: Source, dim: int | None, tensor: Any) -> bool:
            if dim is None:  # a number
                return bool(wanted and type(tensor) is int and tensor > 1 or changed.get((source.describe(), dim), set()) - {tensor})
            size = tensor._array.shape[dim]
            fields = getattr(tensor, "__dict__", {})
            if fields:
                if dim in fields.get("_dynamo_static_indices", ()):
                    return False
                if dim in fields.get("_dynamo_dynamic_indices", ()) or dim in fields.get("_dynamo_weak_dynamic_indices", ()):
                    return True
            if wanted is not None:
                return bool(wanted) and size > 1
            return bool(changed.get((source.describe(), dim), set()) - {size})

        return decide

    def follow(self, recorder: Recorder, frame: Frame, key: Any) -> tuple[Any, Break | None]:
        """Interpret until the program ends or a break: the outcome, or the frame that stopped and why."""
        interpreter = RecordingInterpreter(recorder)
        interceptors = len(state.interceptors)
        bottom = {id(each): depth for depth, each in enumerate(recorder.frames)}
        now: Any = frame
        with recorder.tracer:
            try:
                while now.__class__ is Frame:
                    recorder.frame = now
                    depth = bottom.get(id(now))
                    if depth is not None:
                        note(recorder, now, depth)
                    now = interpreter.step(now)
                if now.__class__ is Returned:
                    let_go(recorder)
                return now, None
            except Break as stop:
                assert stop.frame is not None
                stop.__traceback__ = None  # it would keep what the program has let go of
                if len(state.interceptors) != interceptors + 1:
                    recorder.failed = "a mode that was entered stays on at the break"
                    self.careful.add(key)
                return stop.frame, stop
            finally:
                del now
                recorder.grad_after, recorder.inference_after = state.grad_enabled, state.inference

    def make(self, recorder: Recorder, outcome: Any, stop: Break | None, begun: Any) -> Segment:
        """A segment out of what was recorded."""
        tracer, guards = recorder.tracer, recorder.guards
        outputs: list[Node] = []
        places: dict[Any, int] = {}
        tensors: dict[int, int] = {}  # which output a tensor is

        def output(value: Any) -> int:
            node = recorder.hooks[id(value)] if isinstance(value, Hook) else tracer.argument(value)
            if isinstance(value, TensorBase) and value._requires_grad and is_spent(value):
                node = tracer.derive("detach", node)
            if node not in places:
                places[node] = len(outputs)
                outputs.append(node)
            if isinstance(value, TensorBase):
                tensors[id(value)] = places[node]
            return places[node]

        recorder.finish_guards()
        same = unchanged(recorder, begun)
        recipes = Recipes(guards, output, recorder.source_of, lambda value: id(value) in recorder.fresh)
        effects(recorder, recipes)
        gradient_effects(recorder, recipes)
        suspended(recorder, recipes, same)
        if recorder.inference_after is not guards.inference:
            recipes.lines.append(f"set_inference_mode({recorder.inference_after})")
        if recorder.grad_after is not guards.grad_enabled:
            recipes.lines.append(f"state.grad_enabled = {recorder.grad_after}")
        if isinstance(outcome, Frame):
            result = "None"
            for each in chain_of(outcome):
                result = recipes.frame(each, f"f{each.depth}", result, same.get(id(each), {}))
        else:
            result = recipes.value(outcome.value)
        tracer.note_grad_mode()  # the graph leaves the mode as the program does
        tracer.graph.output(tuple(outputs))
        tracer.graph.eliminate_dead_code()
        run, module = self.build(tracer)
        if hasattr(run, "replaces"):
            run.replaces = recipes.replaces([source for source, _ in tracer.inputs])
        if tracer.later is not None and tracer.later.calls:
            tracer.later.compute_by(run, tensors)
        undo = Undo(tracer.graph)
        failed = failing(undo.protected(module.forward) if run != module.forward else None, guards, self.options.name)
        given = "".join(f"{guards.result(source)}, " for source, _ in tracer.inputs)
        # A back-end's `quick` looks at the tensors itself, and does all or nothing: what it may fail for, it finds before it changes anything.
        # Beside it stands whether it leaves to the segment what `replaces` says.
        quick = hasattr(run, "quick")
        program, apart = guards.split([source for source, _ in tracer.inputs] if quick else ())
        printer = guards.printer()
        asked, later = (printer.lines(each, lambda guard: "return MISS") for each in (program, apart))
        watched = quick and guards.names.entry and hasattr(run, "watch")  # the back-end may come to look at what the guards ask
        lines = [f"def segment({guards.start}):", *(["    count_call(slots)"] if watched else []), "    try:"]
        lines += [*["        " + each for each in asked], "    except MISSING:", "        return MISS"]
        rest: list[str] = []
        if quick:
            rest += [
                "    try:",
                "        quick, left = backend.quick",
                f"        outs = quick({given})",
                "        if outs is NotImplemented:",
                "            try:",
            ]
            rest += [
                *["                " + each for each in (*later, "pass")],
                "            except MISSING:",
                "                return MISS",
            ]
            rest += [
                "            left = True",
                f"            outs = run({given})",
                "    except Exception as error:",
                f"        failed(error, ({given}))",
            ]
        elif run is not None:
            rest += ["    try:", f"        outs = run({given})", "    except Exception as error:", f"        failed(error, ({given}))"]
        finish = recipes.left_lines([source for source, _ in tracer.inputs]) if quick else recipes.lines
        rest += [*["    " + each for each in finish], f"    return {result}"]
        source = "\n".join([*lines, *rest, ""])
        namespace = {**guards.namespace, **_NAMESPACE, "run": run and undo.protected(run), "backend": run, "failed": failed}
        exec(compile(source, f"<segment of {self.name}>", "exec"), namespace)
        segment = Segment(
            namespace["segment"],
            guards,
            module,
            "return" if stop is None else stop.message,
            not isinstance(outcome, Frame),
            source,
            begun[-1][3],
        )
        if watched:
            namespace["count_call"] = NativeGuards(segment, run.watch, guards, program, rest, namespace)
        return segment

    def build(self, tracer: Any) -> tuple[Any, Any]:
        """The graph as a module, handed to the back-end."""
        used = [node for node in tracer.graph.nodes if node.op == "placeholder"]
        module = (Deferred if tracer.later is not None else GraphModule)(tracer.constants, tracer.graph)
        calls = [node for node in tracer.graph.nodes if node.op.startswith("call_")]
        examples = [value for _, value in tracer.inputs]
        assert len(used) == len(examples)
        run: Any = module.forward
        if calls:
            counters["stats"]["unique_graphs"] += 1
            try:
                run = self.options.backend(module, examples)
            except RushlightError:
                raise
            except Exception as error:
                raise BackendFailed(f"backend={self.options.name!r} raised:\n{type(error).__name__}: {error}") from error
            if not callable(run):
                raise TypeError(f"the back-end {self.options.name} returned a {type(run).__name__}, which can't be called")
        elif not list(tracer.graph.output_node().all_input_nodes):
            run = None
        return run, module


def failing(forward: Any, guards: Any, name: str) -> Callable[[Exception, tuple[Any, ...]], None]:
    """What is done where running a graph raises an error, and what it had changed is put back: modes are too, and :class:`Again` is raised.

    ``forward`` runs the graph op by op: where that raises nothing, the error is the back-end's.
    """

    def failed(error: Exception, args: tuple[Any, ...]) -> None:
        state.grad_enabled = guards.grad_enabled
        set_inference_mode(guards.inference)
        if getattr(error, "code", "") == "RL408":  # eager and the back-end have been compared, and do not agree
            raise error
        if forward is not None:
            try:
                forward(*args)
            except Exception:
                raise Again from error
            finally:
                state.grad_enabled = guards.grad_enabled
                set_inference_mode(guards.inference)
            raise BackendFailed(f"the back-end {name} raised {type(error).__name__}: {error}; eager does not") from error
        raise Again from error

    return failed


def plain_arguments(function: Any) -> tuple[int, tuple[Any, ...], bool]:
    """For calls that give each parameter by its place: how many there are, what the variables after them begin with, and whether
    ``*args`` and ``**kwargs`` come in between."""
    method = isinstance(function, MethodType)
    target = function.__func__ if method else function
    if not isinstance(target, FunctionType) or method:
        return -1, (), False
    code = target.__code__
    gathers = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    if gathers not in (0, inspect.CO_VARARGS | inspect.CO_VARKEYWORDS) or code.co_kwonlyargcount:
        return -1, (), False
    closure = target.__closure__ or ()
    empty = len(decode(code).slot_names) - code.co_argcount - len(closure) - (2 if gathers else 0)
    return code.co_argcount, (NULL,) * empty + closure, bool(gathers)


def effects(recorder: Recorder, recipes: Recipes) -> None:
    """The lines that repeat what the program did to objects of before."""
    for effect in recorder.effects:
        owner = getattr(effect.function, "__self__", None)
        if owner is not None and not isinstance(owner, (ModuleType, type)):
            function = f"{recipes.value(owner)}.{effect.function.__name__}"
        else:
            function = recipes.names.of(effect.function)
        arguments = ", ".join(recipes.value(each) for each in effect.arguments)
        recipes.lines.append(f"{function}({arguments})")


def replaced(frames: list[Frame], innermost: Frame | None) -> None:
    """Frames have gone on as others, up to an innermost one."""
    following = {} if innermost is None else {each.depth: each for each in chain_of(innermost)}
    for each in frames:
        each.hand_over(following.get(each.depth))


def let_go(recorder: Recorder) -> None:
    """The program has returned: generators that it made and did not use up are closed, as a part of it."""
    slots = recorder.frames[0].slots
    slots[:] = [each if type(each) is Generator and id(each) in recorder.sources else NULL for each in slots]


def suspended(recorder: Recorder, recipes: Recipes, same: dict[int, dict[int, Source]]) -> None:
    """The lines that leave the generators of before, which ran at the beginning, as the program did: waiting, or at their end."""
    for number, (frame, reference, source) in enumerate(recorder.running):
        generator = reference()
        if generator is None:  # it has come to its end, and gone
            recipes.lines.append(f"{recipes.from_source(source)}.finish()")
        elif generator.frame is frame:
            recipes.lines.append(
                f"{recipes.value(generator)}.suspend({recipes.frame(frame, f'g{number}', 'None', same.get(id(frame), {}))})"
            )
        elif not generator.gi_running:
            recipes.lines.append(f"{recipes.value(generator)}.finish()")


def note(recorder: Recorder, frame: Frame, depth: int) -> None:
    """Keep account of which variables of the beginning are overwritten, and how far down the stack is used."""
    instruction = frame.program.instructions[frame.index]
    if instruction.op in _STORES:
        recorder.stores.add((depth, instruction.argument))
    used = len(frame.stack) - needs(instruction)
    if used < recorder.depths[id(frame)]:
        recorder.depths[id(frame)] = used


_STORES = frozenset(("store_local", "delete_local", "load_local_and_clear", "make_cell"))


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
    for depth, (frame, slots, stack, _) in enumerate(begun):
        places: dict[int, Source] = {}
        for slot, value in enumerate(slots):
            if (depth, slot) not in recorder.stores and slot < len(frame.slots) and is_still(frame.slots[slot], value):
                places[slot] = Slot(depth, slot, frame.program.slot_names[slot])
        for place in range(min(recorder.depths.get(id(frame), 0), len(stack), len(frame.stack))):
            if is_still(frame.stack[place], stack[place]):
                places[-1 - place] = Stacked(depth, place)
        found[id(frame)] = places
    return found


def is_still(value: Any, before: Any) -> bool:
    """Whether a value is what was remembered."""
    return value is before or type(before) is Weak and before() is value
