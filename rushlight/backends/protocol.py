"""The back-end protocol: what ``compile`` asks of a back-end, and what it gets.

A `Backend` takes a captured graph and gives an `Executable`.  A back-end states what it takes as fields; nothing is asked with ``hasattr``.
Functions of a graph module and example inputs, which is PyTorch's form, become back-ends by `FunctionBackend`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..capture.compile.guards.native_guards import GuardCompiler
from ..capture.compile.runtime.call_cache import NO_LAUNCHER, Launcher


class Executable(ABC):
    """A compiled graph: called with the tensors (and numbers) that the graph takes, it gives a tuple of what the graph returns."""

    launches = False  # whether `launcher` ever gives anything: guards on the graph's input tensors are then left to the launcher
    guard_compiler: GuardCompiler | None = None  # translates guards to native code, where the back-end has a way to

    @abstractmethod
    def __call__(self, *args: Any) -> Any:
        """Run the graph."""

    @property
    def function(self) -> Callable[..., Any]:
        """What a compiled function calls."""
        return self

    def launcher(self, args: tuple[Any, ...], gradients: Mapping[int, int]) -> Launcher:
        """The launcher for further calls like the one that was just made with these arguments.

        ``gradients`` says of outputs which argument they become the gradient of, in the place of the present one.
        """
        return NO_LAUNCHER

    def describe(self) -> str:
        """What became of the graph, in words; nothing where there is nothing to say."""
        return ""


class GraphExecutable(Executable):
    """The executable of a functional graph, which autograd does not record."""

    def relaunch(self, *args: Any) -> Any:
        """A call like the last one; NotImplemented, with nothing done, where classes, dtypes, sizes or strides of the arguments differ."""
        return NotImplemented


class Backend(ABC):
    """Compiles captured graphs."""

    name: str
    defers_first_call = False  # ops of the first call on large tensors wait, and are computed by the executable

    @abstractmethod
    def compile(self, gm: Any, example_inputs: list[Any]) -> Executable:
        """Compile a graph module, given the inputs of the call that it was captured from."""

    def begin(self, code: Any) -> None:  # noqa: B027
        """The capture of a program begins, at some code: what compiling it will need can be made ready meanwhile."""

    def __call__(self, gm: Any, example_inputs: list[Any]) -> Executable:
        """The same in PyTorch's form, so that back-ends can wrap each other."""
        return self.compile(gm, example_inputs)

    @property
    def __name__(self) -> str:
        return self.name


@dataclass(frozen=True)
class GraphCompiler:
    """Compiles the functional forward and backward graphs that ahead-of-time differentiation gives."""

    compile: Callable[..., Callable[..., Any]]  # of a graph module; gives a GraphExecutable or any callable
    takes_writes: bool = False  # graphs may write to their inputs
    fuses: bool = False  # values that are read from one place in memory are computed in one pass: recomputing them is cheap
    dynamic_plans: Callable[[Any], Any] | None = None  # makes plans that hold for symbolic sizes


class FunctionExecutable(Executable):
    """What a user's back-end gave: any callable."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *args: Any) -> Any:
        return self._function(*args)

    @property
    def function(self) -> Callable[..., Any]:
        return self._function

    def describe(self) -> str:
        found = getattr(self._function, "describe", None)  # a user's object may have something to say
        return str(found()) if callable(found) else ""


class FunctionBackend(Backend):
    """A function of a graph module and example inputs as a back-end."""

    def __init__(self, function: Callable[[Any, list[Any]], Any], name: str) -> None:
        self.compiler = function
        self.name = name

    def compile(self, gm: Any, example_inputs: list[Any]) -> Executable:
        found = self.compiler(gm, example_inputs)
        return found if isinstance(found, Executable) else FunctionExecutable(found)


def as_backend(backend: Any, name: str) -> Backend:
    """A back-end, given one or a function in PyTorch's form."""
    return backend if isinstance(backend, Backend) else FunctionBackend(backend, name)


__all__ = [
    "NO_LAUNCHER", "Backend", "Executable", "FunctionBackend", "FunctionExecutable", "GraphCompiler", "GraphExecutable", "Launcher", "as_backend",
]  # fmt: skip
