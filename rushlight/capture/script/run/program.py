"""A graph as something that can be called: compiled to Python, or replayed under a capture."""

from __future__ import annotations

import inspect
from typing import Any

from ....core.base import TensorBase
from ....core.errors import CaptureError
from ....core.state import state
from ....graph import Graph
from ...control.python_functions import Maybe
from ...graph_module import Replay
from ...tracer.tracer import tensors_in
from ..frontend.conversions import conversion, from_tensor, results
from ..frontend.errors import RaisedInScript
from ..frontend.type_checks import checker
from ..frontend.types import ANY, BOOL, FLOAT, TENSOR, ClassType, OptionalType, TupleType, Type, UnionType, type_of
from ..ir.graph_builder import Draft
from ..ir.steps import PLAIN
from ..lower.compiler import ScriptParameter, Signature
from ..transform.differentiable_regions import grouped
from ..transform.unpack_lists import unpacked
from .failures import WARNED, seen_from_python
from .step_interpreter import LARGEST, GraphFunction, Walk


class ScriptProgram:
    """A scripted function or method: its graph, its signature, and the code that runs it."""

    def __init__(self, program: Graph | Draft, signature: Signature) -> None:
        self._draft = program if isinstance(program, Draft) else None
        self._graph = None if isinstance(program, Draft) else program
        self.signature = signature
        self.text: Any = None  # of an archive that it was read from: what gives its code
        self.shared = False  # by several functions
        self.private = False  # its graph was given away, and may be changed
        self._walked = False
        self._compiled: GraphFunction | None = None
        self._executed: Graph | None = None
        self.checks = [(at, each, checker(each.type)) for at, each in enumerate(signature.parameters)]
        self.conversions = [(at, found) for at, each in enumerate(signature.parameters) if (found := conversion(each.type)) is not None]
        self.result = results(signature.result)
        self.count = -1 if any(each.keyword_only for each in signature.parameters) else len(signature.parameters)

    @property
    def graph(self) -> Graph:
        """The program as a graph, which is made when it is first asked for."""
        if self._graph is None:
            assert self._draft is not None
            self._graph, self._draft = self._draft.graph(), None
        return self._graph

    @property
    def executed(self) -> Graph:
        """The graph that runs: without lists that never change, and with differentiable regions as single nodes."""
        if self._executed is None:
            self._executed = grouped(unpacked(self.graph))
        return self._executed

    def call(self, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run on arguments: those of Python are converted, and what goes wrong is told by the lines of the program."""
        outermost = not state.scripted
        if kwargs or len(args) != self.count:
            args = self.complete(args, kwargs)
        args = self.checked(args, outermost and state.capture is None)
        if state.capture is not None:
            if state.capture.without_values:
                raise CaptureError("a scripted program chooses by values, and the inputs have only shapes")
            state.scripted = True
            try:
                return Replay(owner, self.graph).run(*args)
            finally:
                state.scripted = not outermost
        if not outermost:
            return self.execute(owner, args)
        state.scripted = True
        if WARNED:
            WARNED.clear()
        try:
            made = self.execute(owner, args)
        except Exception as error:
            raise seen_from_python(error) from (error.original if isinstance(error, RaisedInScript) else error)
        finally:
            state.scripted = False
        return made if self.result is None else self.result(made)

    def checked(self, args: tuple[Any, ...], convert: bool) -> tuple[Any, ...]:
        """Arguments of the types that the program takes."""
        for at, parameter, check in self.checks:
            if check is not None and not check(args[at]):
                if state.capture is not None and parameter.type == BOOL and isinstance(args[at], TensorBase):
                    continue  # an export follows a bool as a tensor
                if args[at].__class__ is not Maybe:
                    number = from_tensor(args[at], parameter.type) if convert else NotImplemented
                    if number is NotImplemented:
                        self.refuse(parameter, args[at])
                    args = (*args[:at], number, *args[at + 1 :])
                elif not isinstance(parameter.type, OptionalType):  # the program has made sure that it is there
                    args = (*args[:at], args[at].value, *args[at + 1 :])
            elif not convert and parameter.type == FLOAT and type(args[at]) is int:
                args = (*args[:at], float(args[at]), *args[at + 1 :])
        if convert and self.conversions:
            values = list(args)
            for at, change in self.conversions:
                values[at] = change(values[at])
            return tuple(values)
        return args

    def execute(self, owner: Any, args: tuple[Any, ...]) -> Any:
        """Run on arguments that fit."""
        compiled = self._compiled
        if compiled is None:
            draft = self._draft
            if not self._walked and draft is not None and owner is None and len(draft.code.steps) <= LARGEST and not is_recorded(args):
                self._walked = True
                return Walk(draft).result(args)
            compiled = self._compiled = GraphFunction(self.executed, self.signature.name)
        try:
            return compiled.run(owner, *args)
        except Exception as error:
            compiled.explain(error)
            raise

    def complete(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Positional arguments, one for each parameter."""
        name, parameters = self.signature.name, self.signature.parameters
        positional = len(parameters) if state.scripted else sum(not each.keyword_only for each in parameters)
        if len(args) > positional:
            raise RuntimeError(
                f"{name}() expected at most {positional} argument(s) but received {len(args)} argument(s). Declaration: {self.signature}"
            )
        if not kwargs:
            rest = [each.default for each in parameters[len(args) :]]
            if not any(each is ... for each in rest):
                return (*args, *rest)
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

    def refuse(self, parameter: ScriptParameter, value: Any) -> None:
        """An argument of the wrong type."""
        kind = parameter.type
        if isinstance(kind, UnionType) or (isinstance(kind, OptionalType) and isinstance(kind.inner, UnionType)):
            raise RuntimeError(
                f"{self.signature.name}() Expected a member of {kind} but instead found type {type_of(value)}.\n"
                f"Position: {self.signature.parameters.index(parameter)}\nDeclaration: {self.signature}"
            )
        missing = ""
        if isinstance(kind, ClassType):
            lacking = [name for name in kind.described.attributes if not hasattr(value, name)]
            missing = f"Object is missing attribute {lacking[0]}\n" if lacking else ""
        if isinstance(kind, TupleType) and kind.kind is not None:
            missing = f"{kind} is aka NamedTuple({', '.join(kind.kind._fields)})\n"
        raise RuntimeError(
            f"{missing}{self.signature.name}() Expected a value of type '{parameter.type}' for argument '{parameter.name}' but instead found type "
            f"'{type(value).__name__}'.\nPosition: {self.signature.parameters.index(parameter)}\nDeclaration: {self.signature}"
        )

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


def traced_program(graph: Graph, name: str, otherwise: Type = TENSOR) -> ScriptProgram:
    """The graph of a trace, whose inputs are tensors or of another type; or of a script beside it, which knows its types."""
    inputs = graph.find_nodes(op="placeholder")
    kinds = [node.type if isinstance(node.type, Type) else otherwise for node in inputs]
    typed = [isinstance(node.type, Type) or otherwise != TENSOR for node in inputs]  # what files say of inputs of traces has no defaults
    parameters = [ScriptParameter(str(node.target), kind, *(node.args if known else ())) for node, kind, known in zip(inputs, kinds, typed)]
    result = graph.output_node().type
    return ScriptProgram(graph, Signature(name, parameters, result if isinstance(result, Type) else ANY))


def is_recorded(args: Any) -> bool:
    """Whether gradients of what is computed from arguments are recorded: by regions, which a compiled graph has."""
    if state.grad_enabled:
        for each in args:
            if isinstance(each, TensorBase):
                if each._requires_grad:
                    return True
            elif each.__class__ not in PLAIN and any(tensor._requires_grad for tensor in tensors_in(each)):
                return True
    return False
