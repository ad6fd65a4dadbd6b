"""Running a program eagerly and compiled, call after call, and comparing all that can be seen of it."""

from __future__ import annotations

import contextlib
import io
import re
import sys
import types
import warnings
from typing import Any

import rushlight as torch
from rushlight import nn

PRELUDE = """
import collections, contextlib, dataclasses, enum, functools, itertools, math, operator, copy
import numpy as np
import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F
from rushlight import compiler
LOG = []
"""


def described(value: Any, seen: dict[int, int], held: list[Any]) -> Any:
    """A value as data that can be compared: what is the same object, and what shares memory, is seen by its number."""
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, slice, type(Ellipsis))):
        return (type(value).__name__, repr(value))
    if isinstance(value, (torch.dtype, torch.device, type, types.ModuleType)):
        return str(value)
    if type(value) is tuple:  # equal constants may be one object
        return ("tuple", [described(each, seen, held) for each in value])
    if id(value) in seen:
        return ("again", seen[id(value)])
    seen[id(value)] = len(seen)
    held.append(value)
    if isinstance(value, torch.Tensor):
        memory = value.untyped_storage().data_ptr() if value.numel() else 0
        return (
            type(value).__name__, str(value.dtype), tuple(value.shape), value.stride(), repr(value.detach().tolist()), value.requires_grad,
            value.is_leaf, seen.setdefault(memory, len(seen)), described(value.grad, seen, held) if value.is_leaf else None,
        )  # fmt: skip
    if isinstance(value, dict):
        return (type(value).__name__, [(described(key, seen, held), described(each, seen, held)) for key, each in value.items()])
    if isinstance(value, (list, tuple)) or type(value).__name__ == "deque":
        return (type(value).__name__, [described(each, seen, held) for each in value])
    if isinstance(value, (set, frozenset)):
        return (type(value).__name__, sorted(repr(described(each, {}, held)) for each in value))
    if isinstance(value, BaseException):
        return (type(value).__name__, re.sub(r"0x[0-9a-f]+|tensor\(.*\)", "", repr(value.args)))
    if isinstance(value, types.FunctionType):
        return ("function", value.__qualname__, [described(_contents(cell), seen, held) for cell in value.__closure__ or ()])
    if isinstance(value, nn.Module):
        return (
            type(value).__name__,
            value.training,
            [(name, described(each, seen, held)) for name, each in value.state_dict(keep_vars=True).items()],
        )
    fields = {
        **getattr(value, "__dict__", {}),
        **{name: getattr(value, name) for name in getattr(type(value), "__slots__", ()) if hasattr(value, name)},
    }
    return (type(value).__name__, [(name, described(each, seen, held)) for name, each in fields.items() if not name.startswith("__")])


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return "empty"


def leaves(value: Any, found: list[Any], seen: set[int]) -> list[Any]:
    """The tensors in a result that need a gradient."""
    if id(value) in seen:
        return found
    seen.add(id(value))
    if isinstance(value, torch.Tensor):
        if value.requires_grad and value.dtype.is_floating_point:
            found.append(value)
    elif isinstance(value, dict):
        for each in value.values():
            leaves(each, found, seen)
    elif isinstance(value, (list, tuple)):
        for each in value:
            leaves(each, found, seen)
    elif hasattr(value, "__dict__") and not isinstance(value, (type, types.ModuleType, types.FunctionType, nn.Module)):
        leaves(vars(value), found, seen)
    return found


class Side:
    """A program in a world of its own: its globals, its function (compiled or not), and what its calls did."""

    def __init__(self, source: str, compile_it: bool, options: dict[str, Any]) -> None:
        module = sys.modules["program"] = types.ModuleType("program")  # where dataclasses look for it
        self.scope: dict[str, Any] = module.__dict__
        exec(compile(PRELUDE + source, "<program>", "exec"), self.scope)
        self.function = self.scope["f"]
        if compile_it:
            self.function = torch.compile(self.function, **options)

    def call(self, before: str, arguments: str, seed: int) -> Any:
        """One call, after a statement that changes the world: all that can be seen of it."""
        torch.manual_seed(seed)
        printed = io.StringIO()
        del self.scope["LOG"][:]
        with contextlib.redirect_stdout(printed):
            exec(before, self.scope)
            args = eval(f"[{arguments}]", self.scope)
            try:
                result = self.function(*args)
            except Exception as error:
                result = error
            gradient: Any = None
            try:
                sources = leaves(result, [], set())
                if sources:
                    sum((each * each).sum() for each in sources).backward()
            except Exception as error:
                gradient = error
        seen: dict[int, int] = {}
        held: list[Any] = []
        world = {
            name: value for name, value in self.scope.items()
            if name.isupper() or isinstance(value, (nn.Module, int, float, list, dict)) and not name.startswith("_")
        }  # fmt: skip
        found = {
            "args": described(args, seen, held), "result": described(result, seen, held), "world": described(world, seen, held),
            "backward": described(gradient, seen, held), "printed": re.sub("0x[0-9a-f]+", "", printed.getvalue()),
            "random": torch.rand(2).tolist(), "modes": (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu")),
        }  # fmt: skip
        del (
            result,
            gradient,
            held,
        )  # the traceback of an error holds this frame: what the error keeps goes now, and not at some time in the next call
        return found


def compare(source: str, calls: list[tuple[str, str]], **options: Any) -> Any:
    """Eager and compiled must not differ in any of the calls: (statement before it, arguments).  Gives the compiled side."""
    options.setdefault("backend", "eager")
    eager, compiled = Side(source, False, options), Side(source, True, options)
    try:
        _compare(eager, compiled, source, calls)
    finally:
        torch.set_grad_enabled(True)
        torch.set_autocast_enabled("cpu", False)
        torch.set_default_dtype(torch.float32)
    return compiled


def _compare(eager: Side, compiled: Side, source: str, calls: list[tuple[str, str]]) -> None:
    for number, (before, arguments) in enumerate(calls):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want = eager.call(before, arguments, number)
            got = compiled.call(before, arguments, number)
        for part in want:
            assert got[part] == want[part], (
                f"{part} of call {number} differ:\n got {got[part]}\nwant {want[part]}\n{before}\nf({arguments})\n{source}\n"
                f"result: {got['result']}\nbackward: {got['backward']}"
            )
