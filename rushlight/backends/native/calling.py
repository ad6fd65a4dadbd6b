"""The call of a program from Python, written out for its inputs and outputs: what is left is checks of shapes and one native call.

Native code finds the memory of an array in the array object itself, whose address is its ``id``: asking NumPy for it in Python would
take longer than a small kernel.  Where objects do not lie as CPython and NumPy lay them out, programs are called in the general way.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.base import alias, contiguous_strides, make, storage_of
from ...core.state import state
from .values import Given, Reference, Value, strides_of

_FLAGS, _WRITABLE = 48, 0x400  # from there on, where an array's flags are, and which of them says that it may be written to


def _data_offset() -> int | None:
    """Where in an array object the address of its memory is; None where it is not found."""
    if sys.implementation.name != "cpython":
        return None
    offset = object.__basicsize__
    for probe in (np.empty(3), np.empty((2, 2), np.int8)):
        if ctypes.c_void_p.from_address(id(probe) + offset).value != probe.ctypes.data:
            return None
        for writable in (False, True):
            probe.setflags(write=writable)
            if bool(ctypes.c_int.from_address(id(probe) + offset + _FLAGS).value & _WRITABLE) is not writable:
                return None
    return offset


DATA = _data_offset()


def objects_of(program: Any) -> list[Value]:
    """The values whose arrays are given anew in each call."""
    return [*program.inputs, *program.roots]


class Refused(Exception):
    """Native code met what eager mode refuses; there, the call says what it is."""


def status_of(program: Any) -> int:
    """Where in the table the status is: behind all else."""
    return len(program.slots) + len(objects_of(program))


def entry(program: Any, segments: list[str]) -> str:
    """A function around the program's segments: from the objects at the end of the table it finds the addresses of arrays.

    It returns 1, and does nothing, where an array lies askew, or is not to be written to.
    """
    lines = ["define i32 @entry(ptr %table) {"]
    askew = "0"
    for at, value in enumerate(objects_of(program)):
        lines += [
            f"  %o{at} = getelementptr i64, ptr %table, i64 {len(program.slots) + at}",
            f"  %i{at} = load ptr, ptr %o{at}",
            f"  %d{at} = getelementptr i8, ptr %i{at}, i64 {DATA}",
            f"  %a{at} = load i64, ptr %d{at}",
            f"  %s{at} = getelementptr i64, ptr %table, i64 {program.slots[value]}",
            f"  store i64 %a{at}, ptr %s{at}",
            f"  %m{at} = and i64 %a{at}, {value.dtype.itemsize - 1}",
            f"  %x{at} = or i64 %m{at}, {askew}",
        ]
        askew = f"%x{at}"
        if isinstance(value, Given) and value.position in program.writes:
            lines += [
                f"  %f{at} = getelementptr i8, ptr %d{at}, i64 {_FLAGS}",
                f"  %l{at} = load i32, ptr %f{at}",
                f"  %w{at} = and i32 %l{at}, {_WRITABLE}",
                f"  %n{at} = icmp eq i32 %w{at}, 0",
                f"  %e{at} = zext i1 %n{at} to i64",
                f"  %y{at} = or i64 %e{at}, {askew}",
            ]
            askew = f"%y{at}"
    lines += [f"  %bad = icmp ne i64 {askew}, 0", "  br i1 %bad, label %refuse, label %run", "run:"]
    lines.append(f"  %status = getelementptr i64, ptr %table, i64 {status_of(program)}")
    for at, segment in enumerate(segments):
        lines += [f"  call void @{segment}(ptr %table)", f"  %found{at} = load i64, ptr %status", f"  %wrong{at} = icmp ne i64 %found{at}, 0"]
        lines += [f"  br i1 %wrong{at}, label %stop, label %next{at}", f"next{at}:"]
    lines += ["  ret i32 0", "stop:", "  store i64 0, ptr %status", "  ret i32 1", "refuse:", "  ret i32 1", "}"]
    return "\n".join(lines)


def direct_call(program: Any, count: int, needs: tuple[bool, ...] | None = None) -> Callable[[tuple[Any, ...]], Any] | None:
    """A function of the arguments (tensors and others, so many in all) that gives the outputs, as tensors.

    It gives NotImplemented where the arguments are not what the program was compiled for.  None where a program can't be called so.
    ``needs`` says of programs that compute all gradients themselves which arguments require one; others take none that do.
    """
    if program.enter is None or program.copies or any(isinstance(each.value, Given) and each.value.array is not None for each in program.outputs if each is not None):
        return None
    names: dict[str, Any] = {
        "ndarray": np.ndarray, "state": state, "empty": np.empty, "make": make, "alias": alias, "spaces": program.spaces, "enter": program.enter,
        "pack": struct.Struct(f"{len(objects_of(program))}q").pack_into, "space_for": program.space, "offset": 8 * len(program.slots),
        "prepare": program.workers.prepare if program.workers is not None else (lambda: None), "fits": fits, "view": seen_through,
    }  # fmt: skip
    lines = ["def call(args):", f"    ({', '.join(f't{at}' for at in range(count))},) = args" if count else "    pass"]
    known = {value.position: value for value in program.inputs}
    others = iter(program.fixed)
    checks: list[str] = []
    for at in range(count):
        value = known.get(at)
        if value is None:
            names[f"f{at}"] = next(others)
            checks.append(f"    if t{at}.__class__ is not f{at}.__class__ or t{at} != f{at}: return NotImplemented")
            continue
        names[f"s{at}"], names[f"d{at}"], names[f"v{at}"] = value.shape, value.dtype, value.strides
        strides = contiguous_strides(value.shape) if value.strides == strides_of(value.shape) else value.strides
        names[f"k{at}"] = tuple([stride * value.dtype.itemsize for stride in strides])
        checks.append(f"    a{at} = t{at}._array")
        checks.append(f"    if a{at}.strides != k{at} or a{at}.shape != s{at} or a{at}.dtype is not d{at} or a{at}.__class__ is not ndarray:")
        checks.append(f"        if not fits(a{at}, s{at}, d{at}, v{at}): return NotImplemented")
    if needs is not None:
        wrong = [f"not t{at}._requires_grad" if needs[at] else f"t{at}._requires_grad" for at in known] + [f"t{at}._value is not None" for at in known]
        checks.append(f"    if {' or '.join(wrong)} or state.interceptors or state.inference: return NotImplemented")
    elif known:
        checks.append(f"    if state.grad_enabled and ({' or '.join(f't{at}._requires_grad' for at in known)}): return NotImplemented")
    if program.writes:
        names["storage_of"] = storage_of
        others_given = [at for at in known if at not in program.writes]
        if others_given:
            checks.append(f"    if {' or '.join(f't{at}._storage is not None' for at in others_given)}:")
            checks.append("        if share_memory(args, writes): return NotImplemented")
        checks.append(f"    if len({{{', '.join(f't{at}._storage' for at in program.writes)}}}) < {len(program.writes)}:")
        checks.append("        if share_memory(args, writes): return NotImplemented")
        names["share_memory"], names["writes"] = share_memory, frozenset(program.writes)
    lines += ["    try:", *("    " + each for each in checks)] if checks else []
    lines += ["    except AttributeError:", "        return NotImplemented"] if checks else []
    lines += ["    if state.capture is not None: return NotImplemented", "    prepare()"]
    lines += ["    try: space = spaces.pop()", "    except IndexError: space = space_for()"]
    shapes, results = outputs_of(program)
    for number, root in enumerate(program.roots):
        names[f"S{number}"], names[f"D{number}"] = shapes[root], root.dtype
        lines.append(f"    o{number} = empty(S{number}, D{number})")
    given = [f"id(a{value.position})" for value in program.inputs] + [f"id(o{number})" for number in range(len(program.roots))]
    lines += [f"    pack(space.table, offset, {', '.join(given)})"] if given else []
    lines += ["    refused = enter(space.place)", "    spaces.append(space)", "    if refused: return NotImplemented"]
    lines += [f"    (t{at}._storage or storage_of(t{at})).version += 1" for at in program.writes]
    for number, (text, reference) in enumerate(results):
        if reference is not None:
            names[f"R{number}"] = reference
        lines.append(f"    r{number} = {text.replace('REFERENCE', f'R{number}')}")
    lines.append(f"    return ({''.join(f'r{number}, ' for number in range(len(results)))})")
    exec("\n".join(lines), names)
    return names["call"]  # type: ignore[no-any-return]


def share_memory(args: Any, writes: Any) -> bool:
    """Whether one of the arguments that are written to lies in the same memory as another."""
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
    """Whether a program may write to its arguments: their memory is their own, and not protected."""
    return not share_memory(args, program.writes) and all(arrays[at].flags.writeable for at in program.writes)


def outputs_of(program: Any) -> tuple[dict[Value, tuple[int, ...]], list[tuple[str, Reference | None]]]:
    """The shapes of new arrays (as an output wants them, so that it need not be a view), and how each output is written."""
    shapes: dict[Value, tuple[int, ...]] = {}
    results: list[tuple[str, Reference | None]] = []
    for reference in program.outputs:
        whole = reference is not None and not reference.offset and reference.strides == strides_of(reference.shape)
        if whole and reference.value in program.roots and reference.value.size == np.prod(reference.shape, dtype=int):
            shapes.setdefault(reference.value, reference.shape)
    first: dict[Value, int] = {}
    for number, reference in enumerate(program.outputs):
        if reference is None:
            results.append(("None", None))
            continue
        value = reference.value
        shape = shapes.setdefault(value, value.shape)
        same = reference.shape == shape and not reference.offset
        if isinstance(value, Given):
            same = same and reference.strides == value.strides
            source = f"t{value.position}"
            results.append((source, None) if same else (f"alias({source}, view({source}._array, REFERENCE))", reference))
            continue
        same = same and reference.strides == strides_of(shape)
        source = f"o{program.roots.index(value)}"
        if value not in first:
            results.append((f"make({source})", None) if same else (f"make(view({source}, REFERENCE))", reference))
            first[value] = number
        elif same and f"make({source})" == results[first[value]][0]:
            results.append((f"r{first[value]}", None))
        else:
            results.append((f"alias(r{first[value]}, view({source}, REFERENCE))", reference))
    return shapes, results


def fits(array: Any, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...]) -> bool:
    """Whether an array is of a shape and type and has strides (in elements) where they matter."""
    if array.__class__ is not np.ndarray or array.shape != shape or array.dtype != dtype:
        return False
    size = array.itemsize
    return all(have == want * size for have, want, count in zip(array.strides, strides, shape) if count > 1)


def seen_through(array: Any, reference: Reference) -> Any:
    """The array of a reference to a value that has an array."""
    if 0 in reference.shape:
        return np.empty(reference.shape, array.dtype)
    size = array.itemsize
    flat = array
    if reference.offset:
        reach = reference.offset + sum(max(0, stride * (count - 1)) for stride, count in zip(reference.strides, reference.shape)) + 1
        flat = np.lib.stride_tricks.as_strided(array, (reach,), (size,))[reference.offset :]
    return np.lib.stride_tricks.as_strided(flat, reference.shape, [stride * size for stride in reference.strides])
