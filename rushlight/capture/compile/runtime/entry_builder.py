"""Builds cache entries: from what a capture recorded to one generated function that guards, launches and repeats effects."""

from __future__ import annotations

from collections.abc import Callable
from types import CellType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from ....core.base import TensorBase
from ....core.errors import RushlightError
from ....core.state import state
from ....graph import Node
from ...graph_module import Deferred, GraphModule
from ..decode import NULL
from ..guards.native_guards import NativeGuards
from ..guards.python_guards import MISSING
from ..guards.sources import Slot, Source, Stacked, chain_of
from ..handlers.backward import gradient_effects
from ..record.arrays import ArrayRecorder
from ..record.base import GeneratorReference
from ..record.graph_breaks import BackendFailed, Break, counters
from ..record.graph_functions import DeferredHook, is_freed, set_inference_mode, with_freed_history
from ..record.reconstruct import Reconstruction
from ..vm.frame import Frame
from .call_cache import MISS, CacheEntry
from .rollback import Rollback

if TYPE_CHECKING:
    from ....backends.protocol import Backend, Executable

_NAMESPACE = {
    "NULL": NULL, "CellType": CellType, "MethodType": MethodType, "FunctionType": FunctionType, "restored": Frame.restored, "MISSING": MISSING,
    "set_inference_mode": set_inference_mode, "with_freed_history": with_freed_history, "MISS": MISS,
}  # fmt: skip


class RunEagerly(Exception):
    """A graph has raised an error, and its writes are rolled back: the program runs eagerly, with its own traceback and ``except`` blocks."""


def build_entry(backend: Backend, name: str, recorder: ArrayRecorder, outcome: Any, stop: Break | None, begun: Any) -> CacheEntry:
    """The cache entry of what was recorded, which is named for error messages and tracebacks."""
    tracer, guards = recorder.tracer, recorder.guards
    outputs: list[Node] = []
    places: dict[Any, int] = {}
    tensors: dict[int, int] = {}  # which output a tensor is

    def output(value: Any) -> int:
        node = recorder.hooks[id(value)] if isinstance(value, DeferredHook) else tracer.argument(value)
        if isinstance(value, TensorBase) and value._requires_grad and is_freed(value):
            node = tracer.derive("detach", node)
        if node not in places:
            places[node] = len(outputs)
            outputs.append(node)
        if isinstance(value, TensorBase):
            tensors[id(value)] = places[node]
        return places[node]

    recorder.finish_guards()
    same = unchanged(recorder, begun)
    recipes = Reconstruction(guards, output, recorder.source_of, lambda value: id(value) in recorder.fresh, recorder.array_recipe)
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
    assumed = [(len(outputs) + at, read, repr(value)) for at, (_, read, value) in enumerate(tracer.assumed)]
    tracer.graph.output((*outputs, *[node for node, _, _ in tracer.assumed]))
    tracer.graph.eliminate_dead_code()
    executable, run, module = compile_graph(backend, tracer)
    sources = [source for source, _ in tracer.inputs]
    launches = executable is not None and executable.launches and not assumed
    entry = CacheEntry(
        guards, module, executable, recipes.replaces(sources) if launches else {}, "return" if stop is None else stop.message,
        not isinstance(outcome, Frame), "", begun[-1][3],
    )  # fmt: skip
    rollback = Rollback(tracer.graph, bool(assumed))
    forward = None if run == module.forward else checked(module.forward, assumed)
    run = checked(run, assumed)
    if tracer.deferred is not None and tracer.deferred.calls:
        tracer.deferred.compute_with(run, tensors)
        if launches:
            entry.relaunch(tuple([value for _, value in tracer.inputs]))
    failed = failing(forward and rollback.protected(forward), guards, backend.name)
    given = "".join(f"{guards.result(source)}, " for source in sources)
    # A launcher checks the tensors itself, and does all or nothing: what it may fail for, it finds before it changes anything.
    program, apart = guards.split(sources if launches else ())
    printer = guards.printer()
    checks, tensor_checks = (printer.lines(each, lambda guard: "return MISS") for each in (program, apart))
    compiler = executable.guard_compiler if launches and guards.names.entry and executable is not None else None
    lines = [f"def segment({guards.start}):", *(["    count_call(slots)"] if compiler is not None else []), "    try:"]
    lines += [*["        " + each for each in checks], "    except MISSING:", "        return MISS"]
    rest: list[str] = []
    if launches:
        rest += [
            "    try:",
            "        launch, left = entry.launcher",
            f"        outs = launch({given})",
            "        if outs is NotImplemented:",
            "            try:",
            *["                " + each for each in (*tensor_checks, "pass")],
            "            except MISSING:",
            "                return MISS",
            "            left = True",
            f"            outs = run({given})",
            f"            entry.relaunch(({given}))",
            "    except Exception as error:",
            f"        failed(error, ({given}))",
        ]
    elif run is not None:
        rest += ["    try:", f"        outs = run({given})", "    except Exception as error:", f"        failed(error, ({given}))"]
    finish = recipes.left_lines(sources) if launches else recipes.lines
    rest += [*["    " + each for each in finish], f"    return {result}"]
    entry.source = "\n".join([*lines, *rest, ""])
    namespace = {**guards.namespace, **_NAMESPACE, "run": run and rollback.protected(run), "entry": entry, "failed": failed}
    exec(compile(entry.source, f"<segment of {name}>", "exec"), namespace)
    entry.run = namespace["segment"]
    if compiler is not None:
        namespace["count_call"] = NativeGuards(entry, compiler, guards, program, rest, namespace)
    return entry


def checked(run: Any, assumed: list[tuple[int, Callable[[Any], Any], str]]) -> Any:
    """What runs a graph, and fails where an output does not have the value with which the program was captured."""
    if not assumed:
        return run
    missed = held = 0

    def run_and_check(*args: Any) -> Any:
        nonlocal missed, held
        if missed > 3 + held:  # the values differ from call to call
            raise RunEagerly
        outs = run(*args)
        if any(repr(read(outs[at])) != value for at, read, value in assumed):  # as text: NaN is itself, and 0.0 is not -0.0
            missed += 1
            raise RunEagerly
        held += 1
        return outs

    return run_and_check


def compile_graph(backend: Backend, tracer: Any) -> tuple[Executable | None, Any, Any]:
    """The executable of the recorded graph (None where it computes nothing), what is called to run it, and the graph as a module."""
    module = (Deferred if tracer.deferred is not None else GraphModule)(tracer.constants, tracer.graph)
    examples = [value for _, value in tracer.inputs]
    nodes = list(tracer.graph.nodes)
    assert sum(node.op == "placeholder" for node in nodes) == len(examples)
    if not any(node.op.startswith("call_") for node in nodes):
        return None, (module.forward if tracer.graph.output_node().all_input_nodes else None), module
    counters["stats"]["unique_graphs"] += 1
    try:
        executable = backend.compile(module, examples)
    except RushlightError:
        raise
    except Exception as error:
        raise BackendFailed(f"backend={backend.name!r} raised:\n{type(error).__name__}: {error}") from error
    if not callable(executable.function):
        raise TypeError(f"the back-end {backend.name} returned a {type(executable.function).__name__}, which can't be called")
    return executable, executable.function, module


def failing(forward: Any, guards: Any, name: str) -> Callable[[Exception, tuple[Any, ...]], None]:
    """What is done where a graph raises an error, after the rollback of its writes: modes are set back, and :class:`RunEagerly` is raised.

    ``forward`` runs the graph op by op: where that raises nothing, the error is the back-end's.
    """

    def failed(error: Exception, args: tuple[Any, ...]) -> None:
        state.grad_enabled = guards.grad_enabled
        set_inference_mode(guards.inference)
        if isinstance(error, RunEagerly):
            raise error
        if getattr(error, "code", "") == "RL408":  # eager and the back-end have been compared, and do not agree
            raise error
        if getattr(error, "is_final", False):  # an exchange between processes has failed, which can't be repeated
            raise error
        if forward is not None:
            try:
                forward(*args)
            except Exception:
                raise RunEagerly from error
            finally:
                state.grad_enabled = guards.grad_enabled
                set_inference_mode(guards.inference)
            raise BackendFailed(f"the back-end {name} raised {type(error).__name__}: {error}; eager does not") from error
        raise RunEagerly from error

    return failed


def effects(recorder: ArrayRecorder, recipes: Reconstruction) -> None:
    """The lines that repeat what the program did to pre-existing objects."""
    for effect in recorder.effects:
        owner = getattr(effect.function, "__self__", None)
        if owner is not None and not isinstance(owner, (ModuleType, type)):
            function = f"{recipes.value(owner)}.{effect.function.__name__}"
        else:
            function = recipes.names.of(effect.function)
        arguments = ", ".join(recipes.value(each) for each in effect.arguments)
        recipes.lines.append(f"{function}({arguments})")


def suspended(recorder: ArrayRecorder, recipes: Reconstruction, same: dict[int, dict[int, Source]]) -> None:
    """The lines that leave pre-existing generators, which ran at the beginning, as the program did: suspended, or finished."""
    for number, (frame, reference, source) in enumerate(recorder.running_generators):
        generator = reference()
        if generator is None:  # it has come to its end, and gone
            recipes.lines.append(f"{recipes.from_source(source)}.finish()")
        elif generator.frame is frame:
            recipes.lines.append(
                f"{recipes.value(generator)}.suspend({recipes.frame(frame, f'g{number}', 'None', same.get(id(frame), {}))})"
            )
        elif not generator.gi_running:
            recipes.lines.append(f"{recipes.value(generator)}.finish()")


def unchanged(recorder: ArrayRecorder, begun: Any) -> dict[int, dict[int, Source]]:
    """The variables (by slot) and stack slots (by -1 - place) that are as they were at the beginning, with their sources."""
    found: dict[int, dict[int, Source]] = {}
    for depth, (frame, slots, stack, _) in enumerate(begun):
        places: dict[int, Source] = {}
        for slot, value in enumerate(slots):
            if (depth, slot) not in recorder.overwritten_slots and slot < len(frame.slots) and is_still(frame.slots[slot], value):
                places[slot] = Slot(depth, slot, frame.bytecode.slot_names[slot])
        for place in range(min(recorder.stack_depths.get(id(frame), 0), len(stack), len(frame.stack))):
            if is_still(frame.stack[place], stack[place]):
                places[-1 - place] = Stacked(depth, place)
        found[id(frame)] = places
    return found


def is_still(value: Any, before: Any) -> bool:
    """Whether a value is what was remembered."""
    return value is before or type(before) is GeneratorReference and before() is value
