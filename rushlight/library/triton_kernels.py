"""Users' Triton kernels on rushlight's tensors: launched as they are, and one node of a graph where a program is captured.

``install`` is called once Triton is imported, and takes the place of ``kernel[grid]``.  In eager mode the launch is Triton's own.  Under a capture, and
on fake tensors, the launch is an op of the kernel's name: its results are new values of the tensors that the kernel writes to, which are then copied
where the program expects them.  On fake tensors alone nothing happens: what is written to keeps its shape.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..capture.compile.guards.guards import CONTAINERS
from ..capture.compile.handlers.custom_function import call
from ..capture.compile.record.registry import handles
from ..core.base import Spec, TensorBase
from ..core.declare import table
from ..core.schema import parse_schema
from ..core.state import state
from ..core.symbolic import is_symbolic, plain
from ..cuda import triton_driver
from ..passes.decompose import implementations
from .definition import Definition
from .triton_writes import base_function, is_constexpr, written_parameters

Meta = dict[str, Any]


def install(runtime: Any) -> None:
    """Have the kernels of ``triton.runtime`` launched by ``launch``."""
    runtime.KernelInterface.__getitem__ = launcher
    for each in (runtime.JITFunction, runtime.Autotuner, runtime.Heuristics):
        handles(each.run)(capture_run)


def launcher(kernel: Any, grid: Any) -> Any:
    """``kernel[grid]``: what launches a kernel on that grid."""
    return functools.partial(launch, kernel, grid)


def launch(kernel: Any, grid: Any, /, *args: Any, **kwargs: Any) -> Any:
    """``kernel[grid](*args, **kwargs)``."""
    if state.capture is None and not any(map(is_special, args)) and not any(map(is_special, kwargs.values())):
        triton_driver.ready()
        return kernel.run(*args, grid=grid, warmup=False, **kwargs)
    given = [*tensors_of(args), *tensors_of(tuple(kwargs.values()))]
    if not given:
        return kernel.run(*args, grid=grid, warmup=False, **kwargs)
    if state.capture is None and not any(each._value is not None for each in given):
        return None  # fake tensors, or those of the device meta
    return record(kernel, grids_of(kernel, grid, args, kwargs, grid), args, kwargs)


def is_special(value: Any) -> bool:
    """Whether an argument is a tensor without elements, or a batch inside of vmap."""
    return isinstance(value, TensorBase) and (value._array.__class__ is Spec or value._value is not None)


# -- arguments ---------------------------------------------------------------------------------------------------------


def is_descriptor(value: Any) -> bool:
    """Whether an argument is a tensor descriptor made on the host."""
    return dataclasses.is_dataclass(value) and hasattr(value, "block_shape") and isinstance(getattr(value, "base", None), TensorBase)


def tensors_of(value: Any) -> Iterator[Any]:
    """The tensors in an argument."""
    if isinstance(value, TensorBase):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from tensors_of(each)
    elif is_descriptor(value):
        yield value.base


@dataclasses.dataclass(frozen=True)
class Slot:
    """Stands for a tensor or for a symbolic number in the arguments of a launch, which hold everything else themselves."""

    kind: str
    index: int


def named_arguments(kernel: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Meta:
    """All arguments by the names of their parameters; options such as ``num_warps`` are among them."""
    return {**dict(zip(inspect.signature(base_function(kernel)).parameters, args)), **kwargs}


def constexprs_of(kernel: Any) -> frozenset[str]:
    """The names of the parameters that are compiled into a kernel."""
    function = base_function(kernel)
    return frozenset(name for name, each in inspect.signature(function).parameters.items() if is_constexpr(each.annotation))


def metas(kernel: Any, named: Meta) -> Iterator[tuple[Meta, Meta]]:
    """With which arguments a kernel may run: what autotuning chooses from, and all arguments with what heuristics then say."""
    waiting: list[tuple[Any, Meta, Meta]] = [(kernel, {}, dict(named))]
    while waiting:
        kernel, chosen, known = waiting.pop(0)
        if hasattr(kernel, "configs"):
            choices = [{**each.kwargs, "num_warps": each.num_warps, "num_stages": each.num_stages} for each in kernel.configs]
            waiting += [(kernel.fn, {**chosen, **each}, {**known, **each}) for each in choices]
        elif hasattr(kernel, "values") and hasattr(kernel, "fn"):
            for name, rule in kernel.values.items():
                known[name] = rule(known)
            waiting.append((kernel.fn, chosen, known))
        else:
            yield chosen, known


def grids_of(kernel: Any, grid: Any, args: Sequence[Any], kwargs: Mapping[str, Any], compute: Callable[..., Any]) -> list[tuple[Meta, Any]]:
    """The grid for each choice of autotuning; ``compute`` evaluates one that is a function."""
    if not callable(grid):
        return [({}, tuple(grid))]
    parameters = inspect.signature(base_function(kernel)).parameters
    defaults = {name: each.default for name, each in parameters.items() if each.default is not inspect.Parameter.empty}
    named = {**defaults, **named_arguments(kernel, args, kwargs)}
    return [(chosen, tuple(compute(known))) for chosen, known in metas(kernel, named)]


# -- a launch as an op ---------------------------------------------------------------------------------------------------


class Launch:
    """A launch without its tensors and symbolic numbers: the kernel, its other arguments, the grid, which tensors are written to, and their strides."""

    def __init__(self, kernel: Any, grids: list[tuple[Meta, Any]], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        self.kernel = kernel
        self.tensors: list[Any] = []  # taken by `record`
        self.numbers: list[Any] = []
        self.names: list[str] = []
        self.args = tuple(map(self.slotted, args))
        self.kwargs = {name: self.slotted(each) for name, each in kwargs.items()}
        self.grids = [(chosen, tuple(map(self.slotted, sizes))) for chosen, sizes in grids]
        self.layouts = [Layout.of(each) for each in self.tensors]
        named = named_arguments(kernel, self.args, self.kwargs)
        parameters = written_of(kernel)
        self.written = sorted({slot.index for name, each in named.items() if name in parameters for slot in slots(each, "tensor")})
        if not self.written:  # a kernel that writes to nothing would be left out
            self.written = list(range(len(self.tensors)))
        self.names = [
            next(name for name, each in named.items() if Slot("tensor", at) in slots(each, "tensor")) for at in range(len(self.tensors))
        ]

    def slotted(self, value: Any) -> Any:
        """An argument with slots for tensors and symbolic numbers."""
        if isinstance(value, TensorBase):
            for at, each in enumerate(self.tensors):
                if each is value:
                    return Slot("tensor", at)
            self.tensors.append(value)
            return Slot("tensor", len(self.tensors) - 1)
        if is_symbolic(value):
            self.numbers.append(value)
            return Slot("number", len(self.numbers) - 1)
        if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
            return type(value)(map(self.slotted, value))
        if is_descriptor(value):
            return Descriptor(value, self.slotted(value.base))
        return value

    def filled(self, value: Any, tensors: Sequence[Any], numbers: Sequence[Any]) -> Any:
        """An argument with values in its slots."""
        if isinstance(value, Slot):
            return (tensors if value.kind == "tensor" else numbers)[value.index]
        if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
            return type(value)(self.filled(each, tensors, numbers) for each in value)
        return value.filled(tensors) if isinstance(value, Descriptor) else value

    def run(self, tensors: Sequence[Any], numbers: Sequence[Any]) -> list[Any]:
        """Launch the kernel; the new values of the tensors that it writes to."""
        given = [layout.arrange(each, at in self.written) for at, (each, layout) in enumerate(zip(tensors, self.layouts))]
        grids = [(chosen, self.filled(sizes, given, numbers)) for chosen, sizes in self.grids]

        def grid(meta: Any) -> Any:
            return next(sizes for chosen, sizes in grids if all(name not in meta or meta[name] == each for name, each in chosen.items()))

        args = self.filled(self.args, given, numbers)
        kwargs = {name: self.filled(each, given, numbers) for name, each in self.kwargs.items()}
        triton_driver.ready()
        self.kernel.run(*args, grid=grids[0][1] if len(grids) == 1 else grid, warmup=False, **kwargs)
        return [given[at] for at in self.written]

    def __repr__(self) -> str:
        sizes = " or ".join(str(self.filled(each, [], [f"n{at}" for at in range(9)])) for _, each in self.grids)
        constants = {
            name: each for name, each in named_arguments(self.kernel, self.args, self.kwargs).items() if not isinstance(each, Slot)
        }
        more = "".join(f", {name}={each!r}" for name, each in constants.items())
        return f"Launch(grid={sizes}, writes=[{', '.join(self.names[at] for at in self.written)}]{more})"

    def __deepcopy__(self, memo: Any) -> Launch:
        return self


@dataclasses.dataclass(frozen=True)
class Descriptor:
    """A tensor descriptor whose tensor is a slot."""

    made: Any
    base: Slot

    def filled(self, tensors: Sequence[Any]) -> Any:
        """The descriptor of another tensor."""
        return dataclasses.replace(self.made, base=tensors[self.base.index])


def slots(value: Any, kind: str) -> list[Slot]:
    """The slots in an argument."""
    if isinstance(value, Slot):
        return [value] if value.kind == kind else []
    if isinstance(value, Descriptor):
        return [value.base]
    return [found for each in value for found in slots(each, kind)] if isinstance(value, (tuple, list)) else []


@dataclasses.dataclass(frozen=True)
class Layout:
    """How a kernel expects a tensor to be arranged in memory, which the values of a graph do not say: in which order the dimensions are dense, or strides."""

    order: tuple[int, ...] | None
    strides: tuple[int, ...]

    @classmethod
    def of(cls, tensor: Any) -> Layout:
        """The layout of a tensor."""
        strides, sizes = tuple(map(plain, tensor.stride())), tuple(map(plain, tensor.shape))
        order = tuple(sorted(range(len(sizes)), key=lambda dim: -strides[dim])) if 0 not in strides else tuple(range(len(sizes)))
        for candidate in (tuple(range(len(sizes))), order):
            if all(mine == yours or size <= 1 for mine, yours, size in zip(dense(sizes, candidate), strides, sizes)):
                return cls(candidate, ())
        return cls(None, strides)

    def arrange(self, tensor: Any, copied: bool) -> Any:
        """A tensor with this layout: a copy where it is written to, or has another."""
        strides = self.strides if self.order is None else dense(tensor.shape, self.order)
        if not copied and (tensor.is_contiguous() if self.order == tuple(range(tensor.ndim)) else tensor.stride() == strides):
            return tensor
        sizes = [1 if not stride else size for size, stride in zip(tensor.shape, strides)]
        made = table["empty_strided"].call(sizes, strides, dtype=tensor.dtype, device=tensor.device)
        made.copy_(tensor[tuple(slice(0, size) for size in sizes)])
        return made.expand(tensor.shape)


def dense(sizes: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """The strides of a tensor without holes whose dimensions follow each other in an order, the slowest first."""
    strides, step = [1] * len(sizes), 1
    for dim in reversed(order):
        strides[dim] = step
        step *= max(sizes[dim], 1)
    return tuple(strides)


_written: weakref.WeakKeyDictionary[Any, frozenset[str]] = (
    weakref.WeakKeyDictionary()
)  # by kernel: the parameters that it may write through
_definitions: weakref.WeakKeyDictionary[Any, Definition] = weakref.WeakKeyDictionary()  # by kernel: its op


def written_of(kernel: Any) -> frozenset[str]:
    """The parameters that a kernel may write through."""
    found = _written.get(kernel)
    if found is None:
        function = base_function(kernel)
        names = written_parameters(kernel)
        found = _written[kernel] = frozenset(inspect.signature(function).parameters) if names is None else names
    return found


def definition_of(kernel: Any) -> Definition:
    """The op of a kernel: ``triton::name(Tensor[] tensors, Any[] numbers, Any launch) -> Tensor[]``."""
    found = _definitions.get(kernel)
    if found is None:
        name = taken = base_function(kernel).__name__
        used = {each.schema.name for each in _definitions.values()}
        count = 0
        while f"triton::{name}" in used:
            count += 1
            name = f"{taken}_{count}"
        schema = parse_schema(f"triton::{name}(Tensor[] tensors, Any[] numbers, Any launch) -> Tensor[]")
        found = _definitions[kernel] = Definition(schema, strict=True)
        found.kernels["CompositeExplicitAutograd"] = lambda tensors, numbers, launch: launch.run(tensors, numbers)
        found.fake = lambda tensors, numbers, launch: [table["empty_like"].call(tensors[at]) for at in launch.written]
        found.settle()
        implementations[found.op] = functools.partial(refuse_export, found.name)
    return found


def refuse_export(name: str, *args: Any) -> Any:
    """What an export finds in the place of the op's Python."""
    raise importlib.import_module("rushlight.onnx.errors").UnsupportedOperatorError(  # late: nothing else of ONNX is needed to run kernels
        name,
        message=f"{name} is a Triton kernel, for which ONNX has no form; give it one with onnx.register_custom_op_symbolic('{name}', ...), export it as a "
        "node with custom_opsets={'triton': 1}, or give the Function around it a symbolic(g, ...) method",
    )


def record(kernel: Any, grids: list[tuple[Meta, Any]], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Run a launch as an op, and copy the results to the tensors that the kernel writes to."""
    made = Launch(kernel, grids, args, kwargs)
    tensors, numbers = made.tensors, made.numbers
    made.tensors = made.numbers = []
    enabled, state.grad_enabled = state.grad_enabled, False  # a kernel is opaque: gradients are the affair of a Function around it
    try:
        results = definition_of(kernel).overload(tensors, numbers, made)
        for at, new in zip(made.written, results):
            table["copy_"].call(tensors[at], new)
    finally:
        state.grad_enabled = enabled


# -- captures by compile -------------------------------------------------------------------------------------------------


@handles(launcher)
def capture_launcher(recorder: Any, kernel: Any, grid: Any) -> Any:
    """``kernel[grid]`` in a captured program."""
    return recorder.track_fresh(launcher(kernel, grid))


@handles(launch)
def capture_launch(recorder: Any, kernel: Any, grid: Any, /, *args: Any, **kwargs: Any) -> Any:
    """A launch in a captured program: one node, guarded by the kernel and by everything that is compiled into it."""
    if not [*tensors_of(args), *tensors_of(tuple(kwargs.values()))]:
        return NotImplemented
    if id(kernel) in recorder.sources:
        recorder.guards.identity(recorder.sources[id(kernel)], kernel)
    named = named_arguments(kernel, args, kwargs)
    constants = constexprs_of(kernel)
    fixed = [each for name, each in named.items() if name in constants or name not in inspect.signature(base_function(kernel)).parameters]
    recorder.specialize(*fixed)
    for each in [*tensors_of(args), *tensors_of(tuple(kwargs.values()))]:
        if Layout.of(each).order is None:
            recorder.specialize(*[size for size in recorder.tracer.shape_of(each) if is_symbolic(size)])
    for each in (*args, *kwargs.values()):
        if isinstance(each, CONTAINERS):
            recorder.guard_elements(each)
        if is_descriptor(each):
            recorder.specialize(*each.shape, *each.strides, *each.block_shape)
        if not isinstance(each, TensorBase):
            recorder.guard_contents(each)
    number = lambda name, each: plain(each) if name in constants else each  # noqa: E731
    names = list(inspect.signature(base_function(kernel)).parameters)
    args = tuple(number(name, each) for name, each in zip(names, args))
    kwargs = {name: number(name, each) for name, each in kwargs.items()}
    if hasattr(kernel, "configs") or hasattr(kernel, "values"):  # rules of the user, which ask for numbers
        recorder.specialize(*[each for each in (*args, *kwargs.values()) if is_symbolic(each)])
        args, kwargs = tuple(map(plain, args)), {name: plain(each) for name, each in kwargs.items()}
    record(kernel, grids_of(kernel, grid, args, kwargs, lambda meta: call(recorder, grid, (recorder.track_fresh(meta),))), args, kwargs)
    return None


def capture_run(recorder: Any, kernel: Any, /, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
    """``kernel.run(..., grid=grid, warmup=False)`` in a captured program."""
    return NotImplemented if warmup else capture_launch(recorder, kernel, grid, *args, **kwargs)
