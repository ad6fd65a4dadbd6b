"""Triton code: graphs on CUDA tensors become kernels, with the ops that have libraries of their own called between them.

In: a captured graph.  Out: an `Executable`, as of the back-end ``native``: differentiated ahead of time where gradients are recorded, one program for each
layout of the inputs.  `interpreted` is the same on CPU tensors by Triton's interpreter, for tests.  ``compile`` comes here by itself where a graph's inputs are on a GPU.
"""

from __future__ import annotations

import importlib.util
import logging
import math
import os
import threading
import time
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from ..codegen.triton import TARGET
from ..core.base import Spec, TensorBase, alias, storage_of
from ..core.devices import CPU, device, device_of, device_type_of, device_types
from ..core.errors import DeviceError, NotSupported
from ..core.process_safety import paused_collection
from ..core.state import state
from ..passes.decompose import Declined, decompose
from ..passes.join_views import join_views
from ..runtime.call.guard_compiler import compile_guards
from ..runtime.cuda import kernel_store
from ..runtime.cuda.captured_work import make_ready
from ..runtime.cuda.graph_replay import WARM, ReplayedSchedule
from ..runtime.cuda.replay_launcher import SentNumbers, make_launcher
from ..runtime.cuda.schedule_run import KernelFailed, TritonSchedule
from ..schedule.schedule import Schedule
from ..schedule.tensor_ir import Input, elements
from .aot import AheadOfTime, AotPlan
from .protocol import NO_LAUNCHER, Backend, Executable, GraphCompiler, GraphExecutable, Launcher
from .registry import register_backend
from .scalar_inputs import with_numbers

LIMIT = 16  # programs for different layouts of the inputs, before new ones run op by op
NUMBERS = 64  # elements at most of a tensor on the host that is an input of a graph on a GPU: numbers, as those of an optimizer's step
log = logging.getLogger("rushlight.triton")
_ready: list[bool] = []  # whether libraries were loaded ahead

if "triton" in os.environ.get("RUSHLIGHT_LOGS", "").split(","):
    log.addHandler(logging.StreamHandler())
    log.setLevel(logging.DEBUG)


class TritonGraph(GraphExecutable):
    """A functional graph that runs as Triton kernels, one program for each layout of its inputs; what is declined runs op by op."""

    def __init__(self, module: Any, kind: str) -> None:
        self.module, self.kind = module, kind
        self.programs: list[TritonSchedule] = []
        self.declined = ""  # why the graph runs op by op
        self.last: TritonSchedule | None = None
        self.sent: dict[int, SentNumbers] = {}  # inputs that are numbers on the host

    def __call__(self, *args: Any) -> Any:
        if self.declined or state.capture is not None:
            return self.module.forward(*args)
        place = self.place_of(args)
        if place is None:
            return self.module.forward(*args)
        given = tuple([self.moved(at, each, place) for at, each in enumerate(args)])
        program = self.last
        if program is None or not self.fits(program, given):
            program = self.last = self.find(given, place)
        if program is None or (program.writes and not may_write(program, args)):
            return self.module.forward(*args)
        results = program(given)
        for at in program.writes:
            storage_of(args[at]).version += 1
        made: list[Any] = []
        for reference, result in zip(program.outputs, results):
            value = None if reference is None else reference.value
            if result is not None and isinstance(value, Input):
                base = args[value.position]
                result = base if result._array is base._array else alias(base, result._array)
            made.append(result)
        return tuple(made)

    def place_of(self, args: tuple[Any, ...]) -> device | None:
        """The device of the inputs; None where they are not plain tensors on one."""
        place: device | None = None
        for each in args:
            if not isinstance(each, TensorBase):
                continue
            array = each._array
            if isinstance(array, Spec) or each._value is not None or (each._requires_grad and state.grad_enabled):
                return None
            found = device_of(array)
            if found.type == self.kind:
                if place is not None and place != found:
                    return None
                place = found
            elif not is_numbers(array):
                return None
        return place

    def moved(self, at: int, value: Any, place: device) -> Any:
        """An input; numbers that are on the host, where graphs pass them, are sent to the device."""
        if not isinstance(value, TensorBase) or device_of(value._array) == place:
            return value
        known = self.sent.get(at)
        if known is None or not known.fits(value._array, place):
            known = self.sent[at] = SentNumbers(value._array, place)
        return known.send(value._array)

    def fits(self, program: TritonSchedule, args: tuple[Any, ...]) -> bool:
        """Whether a program is for such inputs."""
        return program.accepts(args) and program.fixed == [each for each in args if not isinstance(each, TensorBase)]

    def find(self, args: tuple[Any, ...], place: device) -> TritonSchedule | None:
        """The program for such inputs, made where there is none yet."""
        for program in self.programs:
            if self.fits(program, args):
                return program
        if len(self.programs) >= LIMIT:
            return None
        started = time.perf_counter()
        try:
            program = compile_graph(self.module, args, place, list(self.sent))
            program.prepare(args)
        except Declined as error:
            self.declined = str(error)
            log.info("a graph runs op by op: %s", error)
            return None
        except KernelFailed as error:
            self.declined = f"a kernel does not compile: {error}"
            log.warning("a kernel does not compile, and its graph runs op by op: %s", error)
            return None
        program.fixed = [each for each in args if not isinstance(each, TensorBase)]
        if place.type == "cuda":
            program = ReplayedSchedule(program)  # type: ignore[assignment]
        self.programs.append(program)
        log.info("%s, in %.0f ms", program.outline(), (time.perf_counter() - started) * 1e3)
        log.debug("%s", program.text)
        return program

    def describe(self) -> str:
        """What became of the graph."""
        if self.declined:
            return f"runs op by op: {self.declined}"
        return "\n".join(each.describe() for each in self.programs) or "not compiled yet"


def is_numbers(array: Any) -> bool:
    """Whether an array on the host is numbers that a graph on a GPU may take."""
    return array.ndim <= 1 and array.size <= NUMBERS and device_of(array) == CPU


@paused_collection()
def compile_graph(module: Any, args: tuple[Any, ...], place: device, numbers: Sequence[int] = ()) -> TritonSchedule:
    """The program of a graph module for inputs like these; ``numbers`` are the positions of those that programs have on the host."""
    examples = [
        Spec(each._array.shape, each._array.dtype, elements(each._array), place) if isinstance(each, TensorBase) else each for each in args
    ]
    for at in numbers:
        examples[at] = Spec(examples[at].shape, examples[at].dtype, examples[at].element_strides, CPU)

    decomposed = decompose(module.graph, examples, lambda name: attrgetter(name)(module), half_products=True)
    returned = set(decomposed.outputs)
    join_views(decomposed.graph, returned)
    for node in decomposed.graph.nodes:
        specs = node.meta.get("val")
        for each in specs if isinstance(specs, tuple) else (specs,):
            if not isinstance(each, Spec) or each.device is None or each.device.type == place.type:
                continue
            # Arithmetic on numbers is done where they are needed; what the program gets to see has to be where it belongs.
            if node in returned or each.device != CPU or math.prod(each.shape) > NUMBERS:
                raise Declined(f"{node.name} is on {each.device}, and the inputs on {place}")
    layouts = [each.element_strides if isinstance(each, Spec) else None for each in examples]
    made = TritonSchedule(Schedule(decomposed, layouts, TARGET), place)
    decomposed.graph.dissolve()
    return made


def may_write(program: TritonSchedule, args: tuple[Any, ...]) -> bool:
    """Whether inputs that are written to share no memory with others."""
    arrays = [each._array for each in args if isinstance(each, TensorBase)]
    for at in program.writes:
        target = args[at]._array
        shared = device_type_of(target).shares_memory
        if sum(each is target or (type(each) is type(target) and shared(each, target)) for each in arrays) > 1:
            return False
    return True


class TritonExecutable(Executable):
    """A captured graph as Triton kernels: as it is, or differentiated ahead of time where gradients are recorded."""

    launches = True
    guard_compiler = staticmethod(compile_guards)

    def __init__(self, module: Any, kind: str) -> None:
        self.plain = TritonGraph(module, kind)
        self.differentiated = AheadOfTime(module, GraphCompiler(lambda graph: TritonGraph(graph, kind), takes_writes=True, fuses=True))
        self.used: Any = None
        self.launchers: dict[Any, Launcher] = {}

    def __call__(self, *args: Any) -> Any:
        if state.grad_enabled or self.differentiated.enables:
            for each in args:
                if isinstance(each, TensorBase) and each._requires_grad:
                    self.used = self.differentiated
                    return self.differentiated(*args)
        self.used = self.plain
        return self.plain(*args)

    def launcher(self, args: tuple[Any, ...], gradients: Mapping[int, int]) -> Launcher:
        """The launcher for calls like the last one, where they are replays of one graph that computes all gradients and does all writes."""
        used = self.used.used if isinstance(self.used, AheadOfTime) else self.used
        if isinstance(used, AotPlan):
            used = used.forward if used.enabled and used.simple and not used.differentiable else None
        program = used.last if isinstance(used, TritonGraph) else None
        if not isinstance(program, ReplayedSchedule) or program.ran < WARM:
            return NO_LAUNCHER
        key = (program, tuple([(type(each), isinstance(each, TensorBase) and each._requires_grad) for each in args]))
        if key not in self.launchers:
            made = make_launcher(program, args, gradients, used.sent)
            self.launchers[key] = NO_LAUNCHER if made is None else Launcher(made, not gradients)
        return self.launchers[key]

    def describe(self) -> str:
        """What became of the graph, in words, with the source of its kernels."""
        return "" if self.used is None else str(self.used.describe())


class TritonBackend(Backend):
    """Triton kernels for graphs on a kind of device: ``cuda``, or ``cpu`` where Triton interprets them."""

    name = "triton"
    defers_first_call = True

    def __init__(self, kind: str = "cuda") -> None:
        self.kind = kind

    def begin(self, code: Any) -> None:
        """Start the process that compiles kernels, while the program is captured."""
        if self.kind == "cuda" and "cuda" in device_types and importlib.util.find_spec("triton") is not None:
            kernel_store.begin(code)
            kind: Any = device_types["cuda"]
            if not _ready and kernel_store.COMPILES:
                _ready.append(True)
                threading.Thread(target=make_ready, args=(kind.cupy, kind.cupy.cuda.runtime.getDevice()), daemon=True).start()

    def compile(self, gm: Any, example_inputs: list[Any]) -> Executable:
        """Compile a graph."""
        if importlib.util.find_spec("triton") is None:
            raise NotSupported("code for GPUs is made by Triton, which is not installed: pip install 'rushlight[cuda]'")
        places = {str(device_of(each._array)) for each in example_inputs if isinstance(each, TensorBase) and each._array.ndim}
        if self.kind == "cuda" and places and not any(each.startswith("cuda") for each in places):
            raise DeviceError(
                f"compile(target='cuda') takes tensors on a GPU, but the inputs of the graph are on {', '.join(sorted(places))}: move the model and its "
                "inputs with .to('cuda'), or leave target out, and code for their device is made"
            )
        return with_numbers(gm, lambda module: TritonExecutable(module, self.kind))


triton = register_backend(TritonBackend(), name="triton")
interpreted = TritonBackend(CPU.type)

__all__ = ["TritonBackend", "TritonExecutable", "TritonGraph", "compile_graph", "interpreted", "triton"]
