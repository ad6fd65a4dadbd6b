"""Launchers: the call of a program from Python, generated for its inputs and outputs.

A trampoline checks that the inputs are what the program was compiled for, allocates the results and calls native code; the generated function
around it compares arguments that are no tensors, and makes views of the results.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...codegen.llvm.instructions import LlvmFunction, Scalar
from ...codegen.llvm.ir import IRBuilder
from ...codegen.llvm.module import Module
from ...core.base import alias, make, storage_of
from ...core.state import state
from ...schedule.in_place import may_refuse
from ...schedule.tensor_ir import Constant, Input, Reference, Value, strides_of
from . import trampoline
from .object_layout import OFFSETS
from .python_trampoline import make_python_trampoline
from .settings import settings
from .trampoline import make_trampoline


class Refused(Exception):
    """Raised where native code rejects an input that eager mode refuses; the eager call raises the error."""


def status_of(program: Any) -> int:
    """The index of the status word in the table: after all addresses."""
    return len(program.slots)


def entry(program: Any, module: Module, segments: list[str]) -> LlvmFunction:
    """A function around the program's segments, given the table of addresses: 0, or 1 where a segment refuses to go on."""
    c = IRBuilder(module)
    status, outcome = c.address("%table", status_of(program), "i64"), c.slot("i32")
    for segment in segments:
        c.call_function(segment, "%table")
        following = c.fresh("next")
        c.branch(c.compare("eq", c.read(status, "i64"), c.integer(0)), following, "stop")
        c.label(following)
    c.write(Scalar("0", "i32"), outcome)
    c.jump("finish")
    c.label("stop")
    c.write(c.integer(0), status)
    c.write(Scalar("1", "i32"), outcome)
    c.jump("finish")
    c.label("finish")
    return c.function("entry", "ptr %table", c.read(outcome, "i32"))


def make_launcher(
    program: Any, args: tuple[Any, ...], needs: Sequence[bool] | None = None, replaces: Mapping[int, int] | None = None
) -> tuple[Callable[..., Any], bool] | None:
    """A function of arguments like these (tensors and others) that gives the outputs, as tensors, and whether it leaves gradients to the caller.

    It gives NotImplemented where the arguments are not what the program was compiled for.  None where a program can't be called so.
    ``needs`` says of programs that compute all gradients themselves which arguments require one: then tensors must be of the exact classes,
    too, and modes are not checked.  Others take no arguments that require a gradient where gradients are recorded.  ``replaces`` says of
    outputs which argument they become the gradient of, replacing the present one: where all of them are found, the function assigns them.
    """
    if not can_launch(program):
        return None
    parameters = ", ".join(f"t{at}" for at in range(len(args)))
    call = LauncherSource(f"def call({parameters}):", program)
    if needs is None:
        call.lines.append("    if state.capture is not None: return NotImplemented")
        call.lines.append(f"    if state.grad_enabled and any_requires_grad({parameters}): return NotImplemented")
    call.compare_others(len(args))
    known = {value.position: value for value in program.inputs}
    exact = {at: (None, None) if needs is None else (needs[at], type(args[at])) for at in known}
    replaced = call.replaced(replaces or {}, list(known))
    reuses = not any(map(may_refuse, program.schedule.steps))  # a program that may refuse must leave old gradients intact
    results = [
        each._replace(owner=replaced.get(number), reuses=reuses and number in replaced) for number, each in enumerate(call.new_tensors())
    ]
    call.enter([expected(program, value, *exact[at]) for at, value in known.items()], [f"t{at}" for at in known], results)
    outputs = [written for written, _ in call.outputs]
    while needs is not None and outputs and outputs[-1] == "None":
        outputs.pop()
    if outputs == call.fresh and needs is not None and list(known) == list(range(len(args))) and not program.splits:
        return call.names["enter"], not replaced  # no wrapper is needed
    call.lines.append(f"    return ({''.join(f'{each}, ' for each in call.results())})")
    return call.function(), not replaced


def make_array_launcher(program: Any, count: int) -> Callable[..., Any] | None:
    """A function of so many arrays, which must be what the program was compiled for: it gives the arrays of the outputs.

    It gives NotImplemented where it did nothing.  None where a program can't be called so.
    """
    shapes, outputs = outputs_of(program)
    whole = [text for text, _ in outputs] == [f"o{number}" for number in range(len(program.roots))]
    if OFFSETS is None or not settings.trampoline or not whole or not can_launch(program) or program.writes:
        return None
    array_values = [trampoline.ArrayValue(value.position, program.slots[value]) for value in program.inputs]
    results = [trampoline.Result(trampoline.BLOCK, program.slots[root], shapes[root], root.dtype) for root in program.roots]
    return make_trampoline(program.entry, program.call_arena, (), results, array_values, count, program.nanoseconds)


def can_launch(program: Any) -> bool:
    """Whether a program is one native function, whose outputs are tensors that it makes or inputs."""
    constants = any(isinstance(each.value, Constant) for each in program.outputs if each is not None)
    return program.entry is not None and not program.copies and not constants


def expected(program: Any, value: Any, requires_grad: bool | None = None, type: Any = None) -> trampoline.TensorGuard:
    """What a tensor must be for an input of a program."""
    return trampoline.TensorGuard(
        program.slots[value], value.shape, value.dtype, value.strides, value.position in program.writes, requires_grad, type
    )


class LauncherSource:
    """The source of a launcher."""

    def __init__(self, head: str, program: Any) -> None:
        self.program = program
        self.lines = [head]
        self.shapes, self.outputs = outputs_of(program)
        self.fresh = [f"o{number}" for number in range(len(program.roots))]  # the variables of results
        self.names: dict[str, Any] = {
            "state": state, "alias": alias, "view": resolve_reference, "storage_of": storage_of, "any_requires_grad": any_requires_grad, "make": make,
            "prepare": program.workers.prepare if program.workers is not None else None,
        }  # fmt: skip

    def compare_others(self, count: int) -> None:
        """Compare the arguments that are no tensors."""
        known = {value.position for value in self.program.inputs}
        others = [at for at in range(count) if at not in known]
        for at, each in zip(others, self.program.fixed):
            self.names[f"f{at}"] = each
            self.lines.append(f"    if t{at}.__class__ is not f{at}.__class__ or t{at} != f{at}: return NotImplemented")

    def enter(
        self,
        tensors: Sequence[trampoline.TensorGuard],
        variables: list[str],
        results: Any = None,
        array_values: Sequence[trampoline.ArrayValue] = (),
        arrays: Sequence[str] = (),
    ) -> None:
        """Call native code: with tensors, then with arrays that hold further values."""
        program = self.program
        if results is None:
            results = self.new_tensors()
        make_entry = make_trampoline if OFFSETS is not None and settings.trampoline else make_python_trampoline
        self.names["enter"] = make_entry(
            program.entry, program.call_arena, tensors, results, array_values, len(arrays), program.nanoseconds
        )
        if program.splits:
            self.lines.append("    prepare()")
        self.lines.append(f"    made = enter({', '.join([*variables, *arrays])})")
        self.lines.append("    if made is NotImplemented: return made")

    def new_tensors(self) -> list[trampoline.Result]:
        """The results, each as a tensor."""
        return [trampoline.Result(trampoline.NEW, self.program.slots[root], self.shapes[root], root.dtype) for root in self.program.roots]

    def replaced(self, replaces: Mapping[int, int], positions: list[int]) -> dict[int, int]:
        """Which results become the gradient of a tensor (by its number among those that are given); none, where one of them can't."""
        owners = {}
        uses, numbers = Counter(text for text, _ in self.outputs), {text: number for number, text in enumerate(self.fresh)}
        for output, at in replaces.items():
            text, reference = self.outputs[output]
            if text not in numbers or reference is not None or at not in positions or uses[text] > 1:
                return {}
            owners[numbers[text]] = positions.index(at)
        return owners

    def results(self) -> list[str]:
        """The outputs, as variables (or inputs)."""
        variables: list[str] = []
        self.lines += [f"    {''.join(f'{each}, ' for each in self.fresh)} = made"] if self.fresh else []
        for number, (text, reference) in enumerate(self.outputs):
            if reference is None:
                variables.append(text)
            else:
                self.names[f"R{number}"] = reference
                self.lines.append(f"    r{number} = {text.replace('REFERENCE', f'R{number}')}")
                variables.append(f"r{number}")
        return variables

    def function(self) -> Callable[..., Any]:
        """The function."""
        exec(bytecode("\n".join(self.lines)), self.names)
        return self.names["call"]  # type: ignore[no-any-return]


@functools.lru_cache(256)
def bytecode(text: str) -> Any:
    """The compiled source: launchers for other sizes differ in the values of names alone."""
    return compile(text, "<call of a native program>", "exec")


def any_requires_grad(*args: Any) -> bool:
    """Whether one of the arguments is a tensor that requires a gradient."""
    return any(getattr(each, "_requires_grad", False) for each in args)


def share_memory(args: Any, writes: Any) -> bool:
    """Whether one of the arguments that are written to shares its storage with another."""
    written: set[int] = set()
    others: set[int] = set()
    for at, each in enumerate(args):
        storage = getattr(each, "_storage", None)
        if storage is not None and (id(storage) in written or (at in writes and id(storage) in others)):
            return True
        if storage is not None:
            (written if at in writes else others).add(id(storage))
    return False


def may_write(program: Any, args: Any, arrays: list[Any]) -> bool:
    """Whether a program may write to its arguments: their memory is unshared and writable."""
    return not share_memory(args, program.writes) and all(arrays[at].flags.writeable for at in program.writes)


def outputs_of(program: Any) -> tuple[dict[Value, tuple[int, ...]], list[tuple[str, Reference | None]]]:
    """The shapes of new arrays (as an output wants them, so that it need not be a view), and how each output is written.

    ``o0``, ``o1``, … are the tensors that are made, ``t0``, ``t1``, … the inputs.  One made tensor is at most once an output as it is.
    """
    shapes: dict[Value, tuple[int, ...]] = {}
    results: list[tuple[str, Reference | None]] = []
    for reference in program.outputs:
        whole = reference is not None and not reference.offset and reference.strides == strides_of(reference.shape)
        if whole and reference.value in program.roots and reference.value.size == np.prod(reference.shape, dtype=int):
            shapes.setdefault(reference.value, reference.shape)
    first: dict[Value, str] = {}
    for number, reference in enumerate(program.outputs):
        if reference is None:
            results.append(("None", None))
            continue
        value = reference.value
        shape = shapes.setdefault(value, value.shape)
        same = reference.shape == shape and not reference.offset
        if isinstance(value, Input):
            same = same and reference.strides == value.strides
            source = f"t{value.position}"
            if same and number in program.separate:
                results.append((f"alias({source}, {source}._array)", None))
            else:
                results.append((source, None) if same else (f"alias({source}, view({source}._array, REFERENCE))", reference))
            continue
        same = same and reference.strides == strides_of(shape)
        source = f"o{program.roots.index(value)}"
        if value not in first:
            order = None if same else permutation(reference, shape)
            permuted = f"make({source}._array.transpose({order}))" if order else f"make(view({source}._array, REFERENCE))"
            results.append((source, None) if same else (permuted, reference))
            first[value] = source if same else f"r{number}"
        elif same and first[value] == source and number not in program.separate:
            results.append((source, None))
        else:
            results.append((f"alias({first[value]}, view({source}._array, REFERENCE))", reference))
    return shapes, results


def permutation(reference: Reference, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The order in which a reference has the dimensions of a row-major array of some shape; None where it is anything else."""
    if reference.offset or len(shape) != len(reference.shape):
        return None
    inner_first = sorted(range(len(shape)), key=lambda dim: (reference.strides[dim], -dim))
    order: list[int] = [0] * len(shape)
    for position, dim in enumerate(reversed(inner_first)):
        order[dim] = position
    fits = tuple([shape[each] for each in order]) == reference.shape
    return tuple(order) if fits and tuple([strides_of(shape)[each] for each in order]) == reference.strides else None


def resolve_reference(array: Any, reference: Reference) -> Any:
    """The array of a reference to a value that has an array."""
    if 0 in reference.shape:
        return np.empty(reference.shape, array.dtype)
    if array.dtype.kind == "f" and array.itemsize == 1:  # float8_e5m2: NumPy has no name for it that as_strided could use
        return resolve_reference(array.view(np.uint8), reference).view(array.dtype)
    size = array.itemsize
    flat = array
    if reference.offset:
        reach = reference.offset + sum(max(0, stride * (count - 1)) for stride, count in zip(reference.strides, reference.shape)) + 1
        flat = np.lib.stride_tricks.as_strided(array, (reach,), (size,))[reference.offset :]
    return np.lib.stride_tricks.as_strided(flat, reference.shape, [stride * size for stride in reference.strides])
