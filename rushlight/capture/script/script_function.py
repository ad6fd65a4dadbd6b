"""``jit.script`` of functions."""

from __future__ import annotations

import copy
import inspect
import io
import pickle
import sys
import weakref
from typing import Any

from ...core.schema import FunctionSchema
from ...graph import Graph
from ..listing import listed
from ..trace.traced import save
from .frontend.annotations import IGNORED, UNUSED, mark_of
from .frontend.errors import ScriptError
from .frontend.types import Type
from .lower.compiler import FunctionCompiler
from .overloads import overloads_of
from .run.compile_cache import keep_program, known_program
from .run.program import ScriptProgram
from .transform.inline import inlined


class ConstMap:
    """The constants of a program as attributes: ``c0``, ``c1``."""

    def __init__(self, values: list[Any]) -> None:
        self.const_mapping = {f"c{at}": value for at, value in enumerate(values)}

    def __getattr__(self, attr: str) -> Any:
        if attr not in self.__dict__.get("const_mapping", {}):
            raise AttributeError(attr)
        return self.const_mapping[attr]


class ScriptCallable:
    """What scripted functions and methods have in common: a program, and what it says about itself."""

    _program: ScriptProgram

    @property
    def __signature__(self) -> Any:
        return self._program.python_signature()

    @property
    def _script_signature(self) -> Any:
        return self._program.signature

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        """The graph that runs: with differentiable regions as single nodes."""
        return self._program.executed

    @property
    def code(self) -> str:
        """The program as TorchScript; as Python, where that can't say it."""
        return self._listed_code()[0]

    @property
    def code_with_constants(self) -> tuple[str, ConstMap]:
        """The program as TorchScript, and what holds the tensors that it names ``CONSTANTS.c0`` and so on."""
        code, constants = self._listed_code()
        return code, ConstMap(constants)

    def _listed_code(self) -> tuple[str, list[Any]]:
        if self._program.text is not None:
            return self._program.text.code_with_constants()  # type: ignore[no-any-return]
        listing = self.graph.listing
        code, constants = (None, []) if listing is None else listing.code_with_constants()
        return code or self._program.code, constants

    graph: Any

    @property
    def schema(self) -> FunctionSchema:
        """Parameters and result with their types."""
        return self._program.signature.schema  # type: ignore[no-any-return]


class ScriptFunction(ScriptCallable):
    """A scripted function: called like the function, and its graph can be read, exported and saved."""

    def __init__(self, program: ScriptProgram, name: str, function: Any = None) -> None:
        self._program = program
        self.name = self.__name__ = self.__qualname__ = self.qualified_name = name
        self.__doc__ = getattr(function, "__doc__", None)
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._program.call(None, args, kwargs)

    @property
    def graph(self) -> Graph:
        """The graph, with calls of other scripted functions."""
        if self._program.shared:  # who has the graph may change it
            self._program = ScriptProgram(copy.deepcopy(self._program.graph), self._program.signature)
        self._program.private = True
        return listed(self._program.graph, self._program.signature, None, self.name)

    @property
    def inlined_graph(self) -> Graph:
        """The graph with the graphs of scripted functions in place of their calls."""
        return listed(inlined(self.graph), self._program.signature, None, self.name)

    def print_readable(self, print_output: bool = True) -> str:
        """The graph as Python, with the lines it comes from."""
        return self.graph.print_readable(print_output, name=self.name)

    def save_to_buffer(self, _extra_files: dict[str, Any] | None = None) -> bytes:
        """The file as bytes."""
        stream = io.BytesIO()
        self.save(stream, _extra_files)
        return stream.getvalue()

    def save(self, f: Any, _extra_files: dict[str, Any] | None = None, format: str = "rushlight") -> None:
        """Write it to a file: see :func:`rushlight.jit.save`."""
        save(self, f, _extra_files, format)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise pickle.PickleError(f"ScriptFunction cannot be pickled ({self.name}): write it with jit.save(), which needs no pickle")

    def __repr__(self) -> str:
        return f"<scripted function {self.name}>"

    def __deepcopy__(self, memo: Any) -> ScriptFunction:
        return self


_scripted: weakref.WeakKeyDictionary[Any, ScriptFunction] = weakref.WeakKeyDictionary()


_overloaded: weakref.WeakKeyDictionary[Any, dict[int, ScriptFunction]] = weakref.WeakKeyDictionary()


class RecursiveCompiler(FunctionCompiler):
    """A compiler that scripts the functions which a program calls."""

    def fitting(
        self, function: Any, arguments: list[Any], keywords: dict[str, Any], node: Any, is_method: bool = False
    ) -> tuple[int, Any] | None:
        """The first declared signature of a function that fits the arguments of a call, with its number; None of functions that have none."""
        declared = overloads_of(function, self.frames, is_method)
        for at, each in enumerate(declared):
            try:
                each.signature.bind(self, arguments, keywords, node, implicit=False)
            except ScriptError:
                continue
            return at, each
        if declared:
            raise ScriptError(
                f"Arguments for call are not valid: none of the {len(declared)} overloads of '{function.__name__}' takes them",
                self.source,
                node,
            )
        return None

    def overloaded(self, function: Any, arguments: list[Any], keywords: dict[str, Any], node: Any) -> ScriptFunction | None:
        """The scripted form of a function for the overload that fits a call; None of functions that have none."""
        found = self.fitting(function, arguments, keywords, node)
        if found is None:
            return None
        at, overload = found
        known = _overloaded.setdefault(function, {})
        if at not in known:
            compiler = RecursiveCompiler(function, None, self.frames, overload.types)
            compiler.declared = overload.result
            known[at] = ScriptFunction(ScriptProgram(*compiler.compile()), f"{function.__name__}__{at}", function)
        return known[at]

    def script_function(self, found: Any, node: Any) -> ScriptFunction:
        """A function that the program calls, scripted with it."""
        if inspect.ismethod(found):  # of a class
            compiler = RecursiveCompiler(found.__func__, None, self.frames)
            compiler.kind = found.__self__
            return ScriptFunction(ScriptProgram(*compiler.compile()), found.__name__)
        return script_function(found, self.frames)


def script_function(function: Any, frames: tuple[Any, ...] = (), examples: dict[str, Type] | None = None) -> ScriptFunction:
    """Script a function; the same one again where that was done before."""
    if hasattr(function, "__prepare_scriptable__"):  # says what is scripted in its place
        function = function.__prepare_scriptable__()
    if isinstance(function, ScriptFunction):
        return function
    if mark_of(function) in (IGNORED, UNUSED):
        raise ScriptError(
            f"'{function.__name__}' is marked with jit.{'ignore' if mark_of(function) == IGNORED else 'unused'}: it stays Python"
        )
    found = _scripted.get(function) if examples is None else None
    if found is None:
        compiler = RecursiveCompiler(function, None, frames, examples)
        program = known_program(compiler.source) if examples is None else None
        if program is None:
            program = ScriptProgram(*compiler.compile())
            if examples is None:
                keep_program(compiler.source, program)
        else:
            program.shared = True
        found = ScriptFunction(program, function.__name__, function)
        if examples is None:
            _scripted[function] = found
    return found


def caller_frames(depth: int) -> tuple[Any, ...]:
    """Those who call: annotations may name what is defined there."""
    frame: Any = sys._getframe(depth)
    found: list[Any] = []
    while frame is not None and len(found) < 3:
        found.append(frame)
        frame = frame.f_back
    return tuple(found)
