"""Kernels whose launches depend on layouts and options alone: the launches of one call are recorded, and later calls replay them with other addresses.

Most of what a kernel's function does on the host is to find out what to launch: checks, shapes, grids, the order of arguments.  For arrays of the same shapes,
strides, dtypes and alignment, and the same options, the answer is the same.  The second call of a kind is recorded (allocations, launches, copies,
fills); from the third on, the function itself is not called.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any

from . import faults, launch_record
from .launch import BLOCKING

_MOST = 4096  # kinds of calls cached per function
_seen, _plain = object(), object()  # a kind seen once; one whose calls can't be replayed


def replayed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of CuPy, arrays and options, which launches nothing but kernels of :class:`~.launch.CudaKernel` and :class:`~.triton_launch.Launch`, copies and fills
    of :mod:`.launch_record`, and reads no setting that is not among its options."""
    if BLOCKING:  # errors must be raised by the call itself
        return function
    kinds: dict[
        Any, tuple[Callable[..., Any], dict[Any, Any]]
    ] = {}  # by the classes of a call's values: how it is described, and what is known

    @functools.wraps(function)
    def call(cupy: Any, *values: Any, **options: Any) -> Any:
        if launch_record.current is not None:  # part of a call that is recorded
            return function(cupy, *values, **options)
        given = (*values, *options.values()) if options else values
        classes = tuple(map(type, given))
        try:
            describe, plans = kinds[classes]
        except KeyError:
            describe, plans = kinds[classes] = _described(cupy, classes), {}
        name, addresses = describe(given)
        try:
            plan = plans.get(name)
        except TypeError:  # an option that can't be part of a key
            return function(cupy, *values, **options)
        if plan.__class__ is Recipe:
            return plan.run(values, addresses)
        if plan is None:
            if len(plans) >= _MOST:
                plans.clear()
            plans[name] = _seen
        elif plan is _seen:
            made, recipe = _noted(cupy, function, values, options, addresses)
            plans[name] = _plain if recipe is None else recipe
            return made
        return function(cupy, *values, **options)

    return call


def _described(cupy: Any, classes: tuple[type, ...]) -> Callable[..., Any]:
    """A function of a call's values, of these classes, that gives what its launches depend on, and the addresses of its arrays."""
    arrays = [at for at, each in enumerate(classes) if issubclass(each, cupy.ndarray)]
    parts = [f"v{at}.shape, v{at}.strides, v{at}.dtype" if at in arrays else f"tuple(v{at})" if each is list else f"v{at}"
             for at, each in enumerate(classes)]  # fmt: skip
    if arrays:
        parts.append(f"({' | '.join(f'p{at}' for at in arrays)}) & 63")
    if cupy.cuda.runtime.getDeviceCount() > 1:
        parts.append("device()")
    pairs = " or ".join(f"p{one} == p{other}" for one, other in itertools.combinations(arrays, 2))
    lines = ["def describe(values):", *([f"    {', '.join(f'v{at}' for at in range(len(classes)))}, = values"] if classes else [])]
    lines += [f"    p{at} = v{at}.data.ptr" for at in arrays]
    lines += [
        f"    addresses = [{', '.join(f'p{at}' for at in arrays)}]",
        f"    name = ({', '.join(parts)},)" if parts else "    name = ()",
    ]
    if pairs:  # arrays that are one
        lines += [f"    if {pairs}:", "        name = (*name, *[addresses.index(each) for each in addresses])"]
    namespace: dict[str, Any] = {"device": cupy.cuda.runtime.getDevice}
    exec(compile("\n".join([*lines, "    return name, addresses"]), "<description of a call>", "exec"), namespace)
    return namespace["describe"]  # type: ignore[no-any-return]


class _Unknown(Exception):
    """A call that can't be replayed."""


def _noted(cupy: Any, function: Any, values: Any, options: Any, addresses: list[int]) -> tuple[Any, Recipe | None]:
    """The result of a call, and the recipe to replay it."""
    record, memory = launch_record.LaunchRecord(threading.get_ident()), []
    inner = cupy.cuda.get_allocator()

    def allocate(size: int) -> Any:
        made = inner(size)
        memory.append((made, size))  # kept alive, so that no address is reused
        return made

    with cupy.cuda.using_allocator(allocate):
        launch_record.current = record
        try:
            made = function(cupy, *values, **options)
        finally:
            launch_record.current = None
    try:
        return made, Recipe(cupy, record.steps, memory, values, addresses, made) if record.whole else None
    except _Unknown:
        return made, None


class _Written:
    """The source of a function that replays a call, and the values of its names."""

    def __init__(self, cupy: Any, inputs: int) -> None:
        given = ", ".join(f"a{at}" for at in range(inputs))
        self.lines = ["def run(values, addresses):", "    if faults.found is not None and faults.found[0]:", "        faults.raise_found()"]
        if inputs:
            self.lines.append(f"    {given}, = addresses")
        self.names: dict[str, Any] = {"faults": faults, "new": cupy.ndarray.__mro__[-2].__new__}  # of the class written in C

    def name(self, value: Any) -> str:
        """A name for a value."""
        made = f"x{len(self.names)}"
        self.names[made] = value
        return made

    def line(self, text: str) -> None:
        self.lines.append("    " + text)

    def function(self) -> Any:
        """The compiled function; those of one text share their code."""
        return FunctionType(_code("\n".join(self.lines)), self.names)


@functools.lru_cache(1024)
def _code(text: str) -> Any:
    namespace: dict[str, Any] = {}
    exec(compile(text, "<launches of a kernel>", "exec"), namespace)
    return namespace["run"].__code__


class Recipe:
    """A call to be replayed: its allocations, in order, its launches, and the arrays that it returns."""

    __slots__ = ("run",)

    def __init__(self, cupy: Any, steps: list[Any], memory: list[Any], values: Any, addresses: list[int], made: Any) -> None:
        results = made if isinstance(made, (list, tuple)) else [made]
        written = _Written(cupy, len(addresses))
        arrays: dict[int, Any] = {}
        returned = [self._result(each, values, memory, arrays, results) for each in results]
        for at, (_, size) in enumerate(memory):
            each = arrays.get(at)
            if each is None:
                written.line(f"m{at} = {written.name(cupy.cuda.alloc)}({size})")
                written.line(f"p{at} = m{at}.ptr")
            else:  # what the class itself does, without its way of taking arguments
                layout = f"({each.shape}, {written.name(each.dtype)}{'' if each.flags.c_contiguous else f', None, {each.strides}'})"
                if hasattr(each, "_init"):
                    written.line(f"m{at} = new({written.name(each.__class__)})")
                    written.line(f"m{at}._init{layout}")
                else:
                    written.line(f"m{at} = {written.name(each.__class__)}{layout}")
                written.line(f"p{at} = m{at}.data.ptr")
        inputs = [each for each in values if isinstance(each, cupy.ndarray)]

        def located(value: Any, is_address: bool) -> str:
            """The source of an argument."""
            if not is_address or not value or value == faults.address():
                return written.name(value)
            if value in addresses:
                return f"a{addresses.index(value)}"
            for at, (pointer, size) in enumerate(memory):
                if pointer.ptr <= value < pointer.ptr + max(size, 1):
                    return f"p{at} + {value - pointer.ptr}" if value != pointer.ptr else f"p{at}"
            for at, each in enumerate(inputs):
                if each.flags.c_contiguous and addresses[at] <= value < addresses[at] + each.nbytes:
                    return f"a{at} + {value - addresses[at]}"
            raise _Unknown

        written.line(f"stream = {written.name(cupy.cuda.get_current_stream)}().ptr")
        for call, given in steps:
            written.line(f"{written.name(call)}(stream, ({''.join(located(*each) + ', ' for each in given)}))")
        for number, each in enumerate(results):
            if returned[number].__class__ is tuple:  # a part of memory
                at, offset = returned[number]
                written.line(f"r{number} = new({written.name(each.__class__)})")
                written.line(
                    f"r{number}._init({each.shape}, {written.name(each.dtype)}, m{at}{f' + {offset}' if offset else ''}, {each.strides})"
                )
        items = [f"r{number}" if each.__class__ is tuple else self._name(each) for number, each in enumerate(returned)]
        written.line(f"return [{', '.join(items)}]" if isinstance(made, (list, tuple)) else f"return {items[0]}")
        self.run = written.function()

    @staticmethod
    def _name(each: Any) -> str:
        """The source of a result that is memory of its own, a value that is given, None or NotImplemented."""
        return repr(each) if each.__class__ is not int else f"m{each}" if each >= 0 else f"values[{-1 - each}]"

    @staticmethod
    def _result(each: Any, values: Any, memory: list[Any], arrays: dict[int, Any], results: Any) -> Any:
        """The allocation that a result is in, with offset if a part of it; or (counted down from -1) the argument that it is."""
        if each is None or each is NotImplemented:
            return each
        for number, value in enumerate(values):
            if each is value:
                return -1 - number
        address = each.data.ptr
        found = next((at for at, (pointer, size) in enumerate(memory) if pointer.ptr <= address < pointer.ptr + max(size, 1)), None)
        if found is None or getattr(each, "__dict__", None):
            raise _Unknown
        pointer, size = memory[found]
        expected, dense = each.itemsize, True
        for step, count in sorted((step, count) for step, count in zip(each.strides, each.shape) if count != 1):
            dense = dense and step == expected
            expected *= count
        others = sum(hasattr(other, "data") and pointer.ptr <= other.data.ptr < pointer.ptr + max(size, 1) for other in results)
        if dense and others == 1 and address == pointer.ptr:
            arrays[found] = each
            return found
        return found, address - pointer.ptr
