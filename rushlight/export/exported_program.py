"""``ExportedProgram``: a graph of PyTorch's operators with everything that it needs to run."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..core.errors import GraphError
from ..core.symbolic import Expression
from ..fx.graph_module import GraphModule
from .dynamic_shapes import ValueRanges
from .graph_signature import ExportGraphSignature, InputKind, OutputKind
from .unlift import ExportedModule, unlifted


@dataclass
class ModuleCallSignature:
    """How a Module was called: its inputs and outputs, and how they were nested."""

    inputs: list[Any]
    outputs: list[Any]
    in_spec: Any
    out_spec: Any
    forward_arg_names: list[str] | None = None

    def replace_all_uses_with(self, original_node: Any, new_node: Any) -> None:
        """Rename a node."""
        for each in (*self.inputs, *self.outputs):
            if each.name == original_node.name:
                each.name = new_node.name


@dataclass
class ModuleCallEntry:
    """A Module of the program, by its path."""

    fqn: str
    signature: ModuleCallSignature | None = None


@dataclass
class CallSpec:
    """How the arguments and results of a program are nested."""

    in_spec: Any
    out_spec: Any


class Symbol(Expression):
    """A dynamic size, or a formula of some, as a key of ``range_constraints``."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """Its name."""
        return str(self)

    def __str__(self) -> str:
        return super().__str__().removeprefix("(").removesuffix(")") if str(super().__str__()).startswith("(") else super().__str__()

    __repr__ = __str__


class Verifier:
    """Says whether a graph is one of an exported program."""

    dialect = "TRAINING"

    def check(self, ep: Any) -> None:
        """Raise where a node calls something that no exported program has."""
        for node in ep.graph.nodes:
            if node.op == "call_method" or node.op == "call_module":
                raise GraphError(f"node '{node.name}' is a {node.op}: an exported program calls operators alone")


class ATenVerifier(Verifier):
    """The same for a program after decompositions, which writes to nothing."""

    dialect = "ATEN"


@dataclass
class _Parts:
    """What a program has beside its graph."""

    state_dict: dict[str, Any] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    range_constraints: dict[Any, ValueRanges] = field(default_factory=dict)


class ExportedProgram:
    """A program that ``torch.export.export`` has captured.

    ``graph_module`` is its graph, of PyTorch's operators, whose inputs are parameters, buffers and constants too; ``graph_signature`` says what
    they are.  ``module()`` is a Module to call, to train and to compile.
    """

    def __init__(
        self, root: Any, graph: Any, graph_signature: ExportGraphSignature, state_dict: dict[str, Any], range_constraints: dict[Any, Any],
        module_call_graph: list[ModuleCallEntry], example_inputs: tuple[tuple[Any, ...], dict[str, Any]] | None = None, constants: dict[str, Any] | None = None,
        *, verifiers: list[type[Verifier]] | None = None,
    ) -> None:  # fmt: skip
        self._graph_module = root if isinstance(root, GraphModule) and root.graph is graph else GraphModule(root, graph)
        self._graph_signature = graph_signature
        self._state_dict = state_dict
        self._range_constraints = range_constraints
        self._module_call_graph = module_call_graph
        self._example_inputs = example_inputs
        self._constants = constants or {}
        self._verifiers = verifiers or [Verifier]
        self._guards: list[tuple[str, str]] = []  # what is checked of inputs: in words, and as conditions
        self._guards_code: list[str] = []

    @property
    def graph_module(self) -> GraphModule:
        """The graph as a Module whose inputs are flat: parameters, buffers, constants, then the user's."""
        return self._graph_module

    @property
    def graph(self) -> Any:
        """The graph."""
        return self._graph_module.graph

    @property
    def graph_signature(self) -> ExportGraphSignature:
        """What the inputs and outputs of the graph are."""
        return self._graph_signature

    @property
    def state_dict(self) -> dict[str, Any]:
        """The parameters and persistent buffers, by name."""
        return self._state_dict

    @property
    def constants(self) -> dict[str, Any]:
        """The tensors that are neither parameters nor persistent buffers, by name."""
        return self._constants

    tensor_constants = constants

    @property
    def range_constraints(self) -> dict[Any, Any]:
        """The range of each dynamic size."""
        return self._range_constraints

    @property
    def module_call_graph(self) -> list[ModuleCallEntry]:
        """The Modules of the program; the first entry is the program itself."""
        return self._module_call_graph

    @property
    def example_inputs(self) -> Any:
        """The positional and keyword arguments that it was exported with."""
        return self._example_inputs

    @example_inputs.setter
    def example_inputs(self, value: Any) -> None:
        if value is not None and not (
            isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], tuple) and isinstance(value[1], dict)
        ):
            raise ValueError(
                "Example inputs should be a tuple containing example arguments (as a tuple), and example kwargs (as a dictionary)."
            )
        self._example_inputs = value

    @property
    def call_spec(self) -> CallSpec:
        """How arguments and results are nested."""
        signature = self._module_call_graph[0].signature
        assert signature is not None
        return CallSpec(signature.in_spec, signature.out_spec)

    @property
    def verifier(self) -> type[Verifier]:
        """What checks its graph."""
        return self._verifiers[0]

    @property
    def verifiers(self) -> list[type[Verifier]]:
        """What checks its graph."""
        return self._verifiers

    @property
    def dialect(self) -> str:
        """Which operators its graph has: "TRAINING" as captured, "ATEN" after decompositions."""
        return self.verifier.dialect

    def parameters(self) -> Iterator[Any]:
        """The parameters."""
        for _, value in self.named_parameters():
            yield value

    def named_parameters(self) -> Iterator[tuple[str, Any]]:
        """The parameters with their names."""
        for name in self.graph_signature.parameters:
            yield name, self.state_dict[name]

    def buffers(self) -> Iterator[Any]:
        """The buffers."""
        for _, value in self.named_buffers():
            yield value

    def named_buffers(self) -> Iterator[tuple[str, Any]]:
        """The buffers with their names."""
        short = set(self.graph_signature.non_persistent_buffers)
        for name in self.graph_signature.buffers:
            yield name, self.constants[name] if name in short else self.state_dict[name]

    def module(self, check_guards: bool = True) -> ExportedModule:
        """The program as a Module, with the same parameters and buffers; ``check_guards=False`` leaves out the checks of inputs."""
        return unlifted(self, check_guards)

    def run_decompositions(self, decomp_table: Any = None, decompose_custom_triton_ops: bool = False) -> ExportedProgram:
        """The program in fewer operators: functional, and each operator in the table written by its function.

        Without a table composites are decomposed into PyTorch's core operators; with an empty one the graph is made functional alone.
        """
        return _decompose(self, decomp_table)

    def validate(self) -> None:
        """Raise where the graph and its signature do not agree."""
        self._validate()

    def _validate(self) -> None:
        for verifier in self._verifiers:
            verifier().check(self)
        names = [node.name for node in self.graph.nodes if node.op == "placeholder"]
        wanted = [each.arg.name for each in self.graph_signature.input_specs]
        if names != wanted:
            raise GraphError(f"the inputs of the graph are {names}, and those of its signature {wanted}")
        for each in self.graph_signature.input_specs:
            if each.kind in (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR):
                if each.target not in self.state_dict and each.target not in self.constants:
                    raise GraphError(f"{each.kind.name.lower()} '{each.target}' of the signature has no value")
        results = self.graph.output_node().args[0]
        if len(results) != len(self.graph_signature.output_specs):
            raise GraphError(f"the graph has {len(results)} outputs, and its signature {len(self.graph_signature.output_specs)}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("Unable to call ExportedProgram directly. You should use `exported_program.module()` instead.")

    def __str__(self) -> str:
        module = self.graph_module.print_readable(print_output=False).replace("\n", "\n    ")
        signature = str(self.graph_signature).replace("\n", "\n    ")
        return f"ExportedProgram:\n    {module}\nGraph signature: {signature}\nRange constraints: {self.range_constraints}\n"

    def __deepcopy__(self, memo: Any) -> ExportedProgram:
        graph = copy.deepcopy(self.graph, memo)
        parts = {node.target: getattr(self.graph_module, node.target) for node in self.graph.nodes if node.op == "get_attr"}
        made = ExportedProgram(
            parts, graph, copy.deepcopy(self.graph_signature), copy.deepcopy(self.state_dict, memo), dict(self.range_constraints),
            copy.deepcopy(self.module_call_graph), self.example_inputs, copy.deepcopy(self.constants, memo), verifiers=list(self._verifiers),
        )  # fmt: skip
        made._guards, made._guards_code = self._guards, self._guards_code
        return made


_decompose: Callable[[ExportedProgram, Any], ExportedProgram]


def set_decompose(function: Callable[[ExportedProgram, Any], ExportedProgram]) -> None:
    """Called by ``decomposition.py``, which captures programs again and so comes after this file."""
    global _decompose
    _decompose = function


def symbol_of(formula: Expression) -> Symbol:
    """A formula as a key of ``range_constraints``."""
    return Symbol(formula.terms)


__all__ = ["CallSpec", "ExportedProgram", "ModuleCallEntry", "ModuleCallSignature", "OutputKind"]
