"""Captured functions: a call finds its entry in the call cache, or captures the program and adds one.

An entry leads from one state of the interpreter to the next: to the end of the program, or to an instruction that can't be captured (a graph
break).  That instruction is interpreted, with calls made by Python itself, and the next entry begins after it.
"""

from __future__ import annotations

import inspect
import threading
import time
import warnings
from collections.abc import Callable
from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from ....core import kernel_providers
from ....core.base import Spec, TensorBase
from ....core.errors import NotSupported
from ....core.node import next_sequence
from ....core.process_safety import Deferral, free_after_fork
from ....core.process_safety import deferred as interrupts_deferred
from ....core.state import flags, state
from ....nn.modules.module import Module
from ....nn.parameter import is_lazy
from ....utils.checkpoint import is_recording
from ..annotations import break_errors
from ..config import settings
from ..decode import NULL, decode
from ..guards.modes import LeftModes
from ..guards.sources import Source, chain_of
from ..record.arrays import ArrayRecorder
from ..record.base import reference_to
from ..record.callbacks import RecordingInterpreter, native
from ..record.deferred import DeferredOps
from ..record.desymbolize import Desymbolizer
from ..record.graph_breaks import (
    QUIET,
    Break,
    BreakRecord,
    ConstraintViolation,
    FailOnRecompileLimitHit,
    RecompileError,
    Unsupported,
    counters,
)
from ..record.reconstruct import CannotReconstruct
from ..record.tracer import ERROR
from ..vm.frame import Frame, Raised, Returned
from ..vm.generator import InterpretedGenerator
from .call_cache import MISS, CacheEntry, CallCache
from .entry_builder import RunEagerly, build_entry

if TYPE_CHECKING:
    from ....backends.protocol import Backend

STANCES = ("default", "force_eager", "eager_on_recompile", "fail_on_recompile", "eager_then_compile", "aot_eager_then_compile")
SUSPENDS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_CLOCK = 1024  # instructions of a capture after which the clock is looked at
_UNUSABLE_LIMIT = 4  # how often a place is captured, where what was recorded can't be used again
_ELEMENTS_LIMIT = 3  # for so many different elements of an input that a graph asks for it is compiled; then it breaks there


class Options:
    """How a function is compiled."""

    def __init__(self, backend: Backend, fullgraph: bool = False, dynamic: bool | None = None, recompile_limit: int | None = None) -> None:
        self.backend = backend
        self.fullgraph = fullgraph
        self.dynamic = dynamic
        self.recompile_limit = recompile_limit  # None: that of the settings


class CapturedFunction:
    """A function with its call cache; captured piece by piece as calls need it."""

    def __init__(self, function: Any, options: Options) -> None:
        self.function = function
        self.options = options
        self.lock = free_after_fork(threading.RLock())
        self.interpreter = native
        self.clear()
        self.refused = refused(function)  # why it runs eagerly, if it has to
        self.arguments, self.rest, self.gathers = (-1, (), False) if self.refused else plain_arguments(function)

    def clear(self) -> None:
        """Forget all that was captured."""
        self.cache = CallCache()
        self.nested: dict[Any, CapturedFunction] = {}
        self.failures: list[str] = []  # guards that failed, in words
        self.breaks: list[BreakRecord] = []
        self.unkept: dict[Any, list[str]] = {}  # of places where what was recorded can't be used again: why
        self.has_run = False  # whether a stance had it run eagerly once
        self.given_up: set[Any] = set()  # places that run eagerly
        self.careful: set[Any] = set()  # places from which modes are entered between graphs

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of the function: see :mod:`.call_cache` for what it does, in order."""
        try:
            first = self.cache.first
            if first is not None and first.ends and not kwargs and len(args) >= self.arguments >= 0:
                if self.gathers:
                    after = first.run((*args[: self.arguments], args[self.arguments :], {}, *self.rest))
                else:
                    after = first.run(args + self.rest) if len(args) == self.arguments else MISS
                if after is not MISS:
                    return after
            return self.enter(args, kwargs)
        except RunEagerly:
            frame = self.interpreter.start(self.function, args, kwargs)
        return self.result(self.interpreter.finish(frame))

    def enter(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of the function, from its beginning."""
        if self.refused:
            if self.options.fullgraph:
                raise Unsupported(f"{self.name}: {self.refused}")
            return self.function(*args, **kwargs)
        after: Any = MISS
        if not kwargs and (len(args) == self.arguments or (self.gathers and len(args) >= self.arguments >= 0)):
            slots: Any = (*args[: self.arguments], args[self.arguments :], {}, *self.rest) if self.gathers else args + self.rest
            entry, after = self.cache.lookup(None, slots)
            if entry is not None:
                self.cache.first = entry
                if entry.ends:
                    return after
        if after is MISS:
            frame = self.interpreter.start(self.function, args, kwargs)
            slots = frame.slots
            entry, after = self.cache.lookup(None, slots)
            if entry is not None and entry.ends:
                return after
            # Inside of a transform tensors are batches or variables of its own; inside of a checkpoint a capture saves other tensors than what it makes.
            # The sizes of nested tensors are no numbers.
            if entry is None and (None in self.given_up or state.transforms or is_recording() or any(map(is_nested, slots))):
                del frame, slots
                return self.function(*args, **kwargs)
            if entry is None:
                after = self.record(frame, [frame], None)
            del frame
        waiting = [after]
        del after, slots  # they would keep what the program lets go of
        return self.go_on(waiting)

    def go_on(self, waiting: list[Any]) -> Any:
        """From the end of an entry (handed over in a list) to the end of the program."""
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
            key = tuple([(each.bytecode, each.index, len(each.stack)) for each in frames])
            try:
                entry, after = self.cache.lookup(key, frames)
                if entry is None:
                    after = self.record(frame, frames, key)
                else:
                    replaced(frames, None if entry.ends else after)
                    if entry.ends:
                        return after
            except RunEagerly:
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
        """Interpret the instruction at a graph break."""
        state.run_forward = self.run_forward
        flags.enter()
        try:
            return self.interpreter.step(frame)
        finally:
            flags.leave()
            state.run_forward = None

    def run_forward(self, forward: Any, args: tuple[Any, ...]) -> Any:
        """The forward of a custom Function that is applied at a graph break: compiled on its own."""
        target = getattr(forward, "__func__", forward)
        code = getattr(target, "__code__", None)
        if code is None or self.options.fullgraph or state.interceptors:  # a graph that is differentiated at the break, for one
            return forward(*args)
        found = self.nested.get(code)
        if found is None:
            found = self.nested[code] = CapturedFunction(forward, self.options)
        found.function = forward
        before, state.run_forward = state.run_forward, None
        try:
            return found.call(args, {})
        finally:
            state.run_forward = before

    # -- capturing -----------------------------------------------------------------------------------------------------

    def refuse_capture(self, frame: Frame) -> None:
        """What the stance of the process says of a call that nothing compiled fits: run it eagerly, or raise; else it is captured."""
        if settings.stance == "fail_on_recompile":
            code = getattr(self.function, "__code__", None)
            place = (
                f"filename: '{code.co_filename}', function name: '{code.co_name}', line number: {code.co_firstlineno}"
                if code
                else self.name
            )
            raise RuntimeError(f"Detected recompile when torch.compile stance is 'fail_on_recompile'. {place}")
        if settings.stance == "eager_on_recompile" or (settings.stance.endswith("_then_compile") and not self.has_run):
            self.has_run = True
            raise RunEagerly

    def record(self, frame: Frame, frames: list[Frame], key: Any) -> Any:
        """Run the program from a state, and keep what was captured for later calls.  ``key`` is None at its beginning."""
        if settings.stance != "default":
            self.refuse_capture(frame)
        with self.lock:
            known = self.cache.at(key)
            if key in self.given_up or key is None and any(map(is_uninitialized, frame.slots)):
                return self.interpreter.finish(frame)
            start = frame.slots if key is None else frames
            if known:
                why = known[-1].guards.why(start)
                if settings.error_on_recompile:
                    raise RecompileError(f"{self.name}: a second graph is needed, and error_on_recompile is set: {why}")
                limit = self.options.recompile_limit
                if len(known) >= (settings.recompile_limit if limit is None else limit):
                    self.give_up(key, f"compiled {len(known)} times for different values, the limit", why, self.options.fullgraph)
                    return self.interpreter.finish(frame)
                self.failures.append(why)
                counters["recompiles"][why] += 1
            begun = [
                (
                    each,
                    list(map(reference_to, each.slots)),
                    list(map(reference_to, each.stack)),
                    (each.code.co_filename, each.line, each.code.co_qualname),
                )
                for each in frames
            ]
            self.options.backend.begin(frame.code)
            recorder = ArrayRecorder(frame, self.dynamic(known), key in self.careful, key is None)
            deferred = recorder.tracer.deferred = DeferredOps(recorder.tracer) if self.options.backend.defers_first_call else None
            modes = LeftModes()
            try:
                since = next_sequence()
                with interrupts_deferred() as interrupts:
                    with kernel_providers.once():
                        outcome, stop = self.follow(recorder, frame, key, interrupts)
                    kernel_providers.backward_once([each.tensor._grad_fn for each in recorder.tracer.entries.values()], since)
                    self.kept(known, key, recorder, outcome, stop, begun)
                if deferred is not None and deferred.calls:
                    deferred.compute()
                if recorder.tracer.symbols or recorder.numbers:
                    outcome = Desymbolizer(recorder).outcome(outcome)
                if stop is not None and stop.kind in ("slow", "destructor"):
                    self.give_up(key, "it can't be captured", stop.describe(stop.frame))
                    outcome = self.interpreter.finish(outcome)
            except BaseException:  # of the capture: the program never leaves the contexts that it has entered
                modes.restore()
                raise
            finally:
                begun.clear()  # the traceback of an error may hold this frame
                recorder.close()
        if outcome.__class__ is Returned:
            frames[0].slots = []
        try:
            return outcome
        finally:
            del outcome

    def kept(self, known: list[CacheEntry], key: Any, recorder: ArrayRecorder, outcome: Any, stop: Break | None, begun: Any) -> None:
        """Add what was captured to the cache, where it can be used again."""
        if recorder.violated is not None:
            raise ConstraintViolation(recorder.violated)
        if stop is not None:
            self.stopped(stop)
        if recorder.discard_reason is None and not isinstance(outcome, Raised):
            try:
                known.append(build_entry(self.options.backend, self.name, recorder, outcome, stop, begun))
            except CannotReconstruct as error:
                recorder.discard_reason = f"{error} can't be made again"
            except Break as error:
                recorder.discard_reason = error.message
        if recorder.discard_reason is not None and not isinstance(outcome, Raised):
            self.not_kept(key, recorder.discard_reason)

    def give_up(self, key: Any, what: str, why: str, refused: bool = False) -> None:
        """From now on a place runs eagerly; where that is refused, an error."""
        if settings.fail_on_recompile_limit_hit or refused:
            raise FailOnRecompileLimitHit(f"{self.name}: {what}. The last reason: {why}")
        self.given_up.add(key)
        warnings.warn(f"{self.name}: {what}; from now on it runs as it is. The last reason: {why}", stacklevel=5)

    def stopped(self, stop: Break) -> None:
        """A break: an error where there must be none, else a line for the explanation."""
        if self.options.fullgraph or break_errors.on and stop.kind not in QUIET:
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
        if len(self.unkept[key]) >= _UNUSABLE_LIMIT:
            self.given_up.add(key)

    @property
    def name(self) -> str:
        return getattr(self.function, "__qualname__", type(self.function).__name__)

    def dynamic(self, known: list[CacheEntry]) -> Callable[[Source, int | None, Any], bool]:
        """Which sizes and numbers are symbolic: those that were asked for, and those that have changed since an earlier capture."""
        wanted = self.options.dynamic
        if wanted is None and not settings.assume_static_by_default:
            wanted = True
        changed: dict[tuple[str, int | None], set[Any]] = {}
        for entry in known if wanted is None and settings.automatic_dynamic_shapes else ():
            for source, dim, sizes in entry.guards.sizes:
                for at, size in [(dim, sizes)] if dim is not None else list(enumerate(sizes)):
                    changed.setdefault((source.describe(), at), set()).add(size)
            for source, number in entry.guards.numbers:
                changed.setdefault((source.describe(), None), set()).add(number)

        def decide(source: Source, dim: int | None, tensor: Any) -> bool:
            if type(tensor) is bytes:  # elements: what a loaded model asks for is mostly the same in all calls
                return not self.options.fullgraph and len(changed.get((source.describe(), None), set()) - {tensor}) >= _ELEMENTS_LIMIT
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
            return size > 1 and bool(changed.get((source.describe(), dim), set()) - {size})

        return decide

    def follow(self, recorder: ArrayRecorder, frame: Frame, key: Any, interrupts: Deferral) -> tuple[Any, Break | None]:
        """Interpret until the program ends or a break: the outcome, or the frame that stopped and why.

        An interrupt is raised between two instructions, in the program, whose ``finally`` and ``with`` blocks see it.
        """
        interpreter = RecordingInterpreter(recorder)
        interceptors = len(state.interceptors)
        bottom = {id(each): depth for depth, each in enumerate(recorder.frames)}
        now: Any = frame
        steps, until = 0, time.monotonic() + settings.capture_time_limit
        with recorder.tracer:
            try:
                while now.__class__ is Frame:
                    recorder.frame = now
                    depth = bottom.get(id(now))
                    if depth is not None:
                        note(recorder, now, depth)
                    now = interpreter.step(now)
                    steps += 1
                    if interrupts.pending and now.__class__ is Frame:
                        try:
                            interrupts.poll()
                        except BaseException as error:
                            now = interpreter.unwind(now, error)
                    if not steps % _CLOCK and time.monotonic() > until and now.__class__ is Frame:
                        stop = Break("slow", limit=settings.capture_time_limit, steps=steps)
                        stop.frame = now
                        recorder.discard_reason = stop.message
                        return now, stop
                if now.__class__ is Returned:
                    close_generators(recorder)
                return now, None
            except Break as stop:
                assert stop.frame is not None
                stop.__traceback__ = None  # it would keep what the program has let go of
                if len(state.interceptors) != interceptors + 1:
                    recorder.discard_reason = "a mode that was entered stays on at the break"
                    self.careful.add(key)
                return stop.frame, stop
            finally:
                del now
                recorder.grad_after, recorder.inference_after = state.grad_enabled, state.inference


def is_nested(value: Any) -> bool:
    """Whether a value is a nested tensor."""
    return isinstance(value, TensorBase) and isinstance(value._array, Spec) and value._array.nested


def is_uninitialized(value: Any) -> bool:
    """Whether something is a Module with parameters that its first call makes, which is no part of a graph."""
    return isinstance(value, Module) and any(map(is_lazy, value.parameters()))


def refused(function: Any) -> str:
    """Why a function can't be captured at all; an empty string where it can."""
    code = getattr(function, "__code__", None)
    if code is not None and code.co_flags & SUSPENDS:
        # Its frame runs when somebody asks for its values, which is after the call that would be captured.
        return "a generator or coroutine is no graph: compile the functions that it calls"
    try:
        if isinstance(code, CodeType):
            decode(code)
    except NotSupported as error:
        return str(error)
    return ""


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


def replaced(frames: list[Frame], innermost: Frame | None) -> None:
    """Frames have gone on as others, up to an innermost one."""
    following = {} if innermost is None else {each.depth: each for each in chain_of(innermost)}
    for each in frames:
        each.hand_over(following.get(each.depth))


def close_generators(recorder: ArrayRecorder) -> None:
    """The program has returned: generators that it made and did not use up are closed, as a part of it."""
    slots = recorder.frames[0].slots
    slots[:] = [each if type(each) is InterpretedGenerator and id(each) in recorder.sources else NULL for each in slots]


def note(recorder: ArrayRecorder, frame: Frame, depth: int) -> None:
    """Keep account of which variables of the beginning are overwritten, and how far down the stack is used."""
    instruction = frame.bytecode.instructions[frame.index]
    if instruction.op in _STORES:
        recorder.overwritten_slots.add((depth, instruction.argument))
    used = len(frame.stack) - needs(instruction)
    if used < recorder.stack_depths[id(frame)]:
        recorder.stack_depths[id(frame)] = used


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
