"""A graph as something that can be called: compiled to Python, or replayed under a capture."""

from __future__ import annotations

import ast
import inspect
import linecache
from itertools import count
from typing import Any

from ...core.errors import CaptureError
from ...core.state import state
from ...graph import Graph
from ..graph_module import Replay
from .compiler import Parameter, Signature
from .lists import unpacked
from .regions import grouped
from .types import FLOAT, checker

_numbers = count()


class Program:
    """A scripted function or method: its graph, its signature, and the code that runs it."""

    def __init__(self, graph: Graph, signature: Signature) -> None:
        self.graph = graph
        self.signature = signature
        self._run: Any = None
        self._executed: Graph | None = None
        self._file = self._source = ""
        self.checks = [(at, each, checker(each.type)) for at, each in enumerate(signature.parameters)]

    @property
    def executed(self) -> Graph:
        """The graph that runs: without lists that never change, and with differentiable regions as single nodes."""
        if self._executed is None:
            self._executed = grouped(unpacked(self.graph))
        return self._executed

    def call(self, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run on arguments from outside."""
        parameters = self.signature.parameters
        if kwargs or len(args) != len(parameters):
            args = self.complete(args, kwargs)
        for at, parameter, check in self.checks:
            if check is not None and not check(args[at]):
                self.refuse(parameter, args[at])
            elif parameter.type == FLOAT and type(args[at]) is int:
                args = (*args[:at], float(args[at]), *args[at + 1 :])
        if state.capture is not None:
            if state.capture.without_values:
                raise CaptureError("a scripted program chooses by values")
            return Replay(owner, self.graph).run(*args)
        run = self._run
        if run is None:
            run = self._run = self.compiled()
        try:
            return run(owner, *args)
        except Exception as error:
            self.explain(error)
            raise

    def complete(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Positional arguments, one for each parameter."""
        name, parameters = self.signature.name, self.signature.parameters
        if len(args) > len(parameters):
            raise RuntimeError(f"{name}() expected at most {len(parameters)} argument(s) but received {len(args)} argument(s). Declaration: {self.signature}")
        values = list(args)
        left = dict(kwargs)
        for at, parameter in enumerate(parameters):
            if at < len(args):
                if parameter.name in left:
                    raise RuntimeError(f"{name}() received the argument '{parameter.name}' twice. Declaration: {self.signature}")
            elif parameter.name in left:
                values.append(left.pop(parameter.name))
            elif parameter.default is not ...:
                values.append(parameter.default)
            else:
                raise RuntimeError(f"{name}() is missing value for argument '{parameter.name}'. Declaration: {self.signature}")
        if left:
            raise RuntimeError(f"{name}() got an unknown keyword argument '{next(iter(left))}'. Declaration: {self.signature}")
        return tuple(values)

    def refuse(self, parameter: Parameter, value: Any) -> None:
        """An argument of the wrong type."""
        raise RuntimeError(
            f"{self.signature.name}() expected a value of type '{parameter.type}' for argument '{parameter.name}' but instead found type "
            f"'{type(value).__name__}'. Declaration: {self.signature}"
        )

    def compiled(self) -> Any:
        """The graph as a Python function."""
        code = self.executed.python_code("self")
        self._file = f"<graph of {self.signature.name} {next(_numbers)}>"
        self._source = code.src
        namespace = dict(code.globals)
        exec(compile(code.src, self._file, "exec"), namespace)
        return namespace["forward"]

    def explain(self, error: BaseException) -> None:
        """Add to an exception where in the user's program it came up."""
        traceback, line = error.__traceback__, None
        while traceback is not None:
            if traceback.tb_frame.f_code.co_filename == self._file:
                line = traceback.tb_lineno
            traceback = traceback.tb_next
        if line is None:
            return
        lines: dict[int, Any] = {}
        locate(ast.parse(self._source).body[0], self.executed, lines)
        node = lines.get(line)
        if node is not None and node.meta.get("source"):
            file, number, name = node.meta["source"]
            text = linecache.getline(file, number).strip()
            error.add_note(f'in the scripted program:\n  File "{file}", line {number}, in {name}' + (f"\n    {text}" if text else ""))

    @property
    def code(self) -> str:
        """The graph as Python source."""
        return self.graph.python_code("self", free_dead=False).src.replace("def forward(", f"def {self.signature.name}(", 1)

    def python_signature(self, bound: bool = False) -> inspect.Signature:
        """The signature for those who ask Python."""
        parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)] if bound else []
        for each in self.signature.parameters:
            default = inspect.Parameter.empty if each.default is ... else each.default
            parameters.append(inspect.Parameter(each.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default))
        try:
            return inspect.Signature(parameters)
        except ValueError:  # a default before one that has none: of keyword-only parameters
            return inspect.Signature([each.replace(default=inspect.Parameter.empty) for each in parameters])


def locate(function: Any, graph: Graph, lines: dict[int, Any]) -> None:
    """Which nodes the lines of a printed function come from."""
    nodes = [node for node in graph.nodes if node.op != "placeholder"]
    at = bodies = 0
    for statement in function.body:
        node = nodes[min(at, len(nodes) - 1)]
        if isinstance(statement, ast.FunctionDef):
            locate(statement, list(node.bodies.values())[bodies], lines)
            bodies += 1
            continue
        lines.setdefault(statement.lineno, node)
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name) and statement.targets[0].id == node.name:
            at, bodies = at + 1, 0
