"""The signature of an exported graph: what each of its inputs and outputs is."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any


@dataclass
class TensorArgument:
    """A tensor, by the name of its node."""

    name: str


@dataclass
class TokenArgument:
    """An effect token, by the name of its node."""

    name: str


@dataclass
class SymIntArgument:
    """A symbolic integer, by the name of its node."""

    name: str


@dataclass
class SymFloatArgument:
    """A symbolic float, by the name of its node."""

    name: str


@dataclass
class SymBoolArgument:
    """A symbolic bool, by the name of its node."""

    name: str


@dataclass
class CustomObjArgument:
    """An object of a custom class, by the name of its node."""

    name: str
    class_fqn: str
    fake_val: Any = None


@dataclass
class ConstantArgument:
    """A Python value that is the same in every run."""

    name: str
    value: int | float | bool | str | None


ArgumentSpec = TensorArgument | SymIntArgument | SymFloatArgument | SymBoolArgument | ConstantArgument | CustomObjArgument | TokenArgument
_KINDS = (TensorArgument, SymIntArgument, SymFloatArgument, SymBoolArgument, ConstantArgument, CustomObjArgument, TokenArgument)


class InputKind(Enum):
    """Where an input of a graph comes from."""

    USER_INPUT = auto()
    PARAMETER = auto()
    BUFFER = auto()
    CONSTANT_TENSOR = auto()
    CUSTOM_OBJ = auto()
    TOKEN = auto()


@dataclass
class InputSpec:
    """One input of a graph; ``target`` is the name of the parameter, buffer or constant."""

    kind: InputKind
    arg: Any
    target: str | None
    persistent: bool | None = None

    def __post_init__(self) -> None:
        if self.kind is InputKind.BUFFER and self.persistent is None:
            raise AssertionError("Failed to specify persistent flag on BUFFER.")
        if not isinstance(self.arg, _KINDS):
            raise AssertionError(f"expected a kind of argument, got {type(self.arg)}")

    def __str__(self) -> str:
        target = "" if self.target is None else f" target='{self.target}'"
        persistent = "" if self.persistent is None else f" persistent={self.persistent}"
        return f"{self.arg.name}: {self.kind.name}{target}{persistent}"


class OutputKind(Enum):
    """What an output of a graph is for."""

    USER_OUTPUT = auto()
    LOSS_OUTPUT = auto()
    BUFFER_MUTATION = auto()
    PARAMETER_MUTATION = auto()
    GRADIENT_TO_PARAMETER = auto()
    GRADIENT_TO_USER_INPUT = auto()
    USER_INPUT_MUTATION = auto()
    TOKEN = auto()


@dataclass
class OutputSpec:
    """One output of a graph; ``target`` is the name of what it is written to."""

    kind: OutputKind
    arg: Any
    target: str | None

    def __post_init__(self) -> None:
        if not isinstance(self.arg, _KINDS):
            raise AssertionError(f"expected a kind of argument, got {type(self.arg)}")

    def __str__(self) -> str:
        target = "" if self.target is None else f" target='{self.target}'"
        return f"{self.arg.name}: {self.kind.name}{target}"


@dataclass
class ExportBackwardSignature:
    """Which outputs of a joint graph are gradients, and which is the loss."""

    gradients_to_parameters: dict[str, str]
    gradients_to_user_inputs: dict[str, str]
    loss_output: str


@dataclass
class ExportGraphSignature:
    """What the inputs and outputs of a graph are, in their order."""

    input_specs: list[InputSpec] = field(default_factory=list)
    output_specs: list[OutputSpec] = field(default_factory=list)

    def _targets(self, kind: InputKind) -> tuple[str, ...]:
        return tuple(str(each.target) for each in self.input_specs if each.kind is kind and isinstance(each.target, str))

    def _inputs(self, kind: InputKind) -> dict[str, str]:
        return {each.arg.name: str(each.target) for each in self.input_specs if each.kind is kind and isinstance(each.target, str)}

    def _outputs(self, kind: OutputKind) -> dict[str, str]:
        return {each.arg.name: str(each.target) for each in self.output_specs if each.kind is kind and isinstance(each.target, str)}

    @property
    def parameters(self) -> Collection[str]:
        """The names of the parameters."""
        return self._targets(InputKind.PARAMETER)

    @property
    def buffers(self) -> Collection[str]:
        """The names of the buffers."""
        return self._targets(InputKind.BUFFER)

    @property
    def non_persistent_buffers(self) -> Collection[str]:
        """The names of the buffers that are no part of the state."""
        return tuple(str(each.target) for each in self.input_specs if each.kind is InputKind.BUFFER and each.persistent is False)

    @property
    def lifted_tensor_constants(self) -> Collection[str]:
        """The names of the constant tensors."""
        return self._targets(InputKind.CONSTANT_TENSOR)

    @property
    def lifted_custom_objs(self) -> Collection[str]:
        """The names of the objects of custom classes."""
        return self._targets(InputKind.CUSTOM_OBJ)

    @property
    def user_inputs(self) -> Collection[Any]:
        """The inputs that a caller gives: names of tensors and sizes, and constants."""
        return tuple(_shown(each.arg) for each in self.input_specs if each.kind is InputKind.USER_INPUT)

    @property
    def user_outputs(self) -> Collection[Any]:
        """The outputs that a caller gets."""
        kinds = (OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT)
        return tuple(_shown(each.arg) for each in self.output_specs if each.kind in kinds)

    @property
    def inputs_to_parameters(self) -> Mapping[str, str]:
        """Of an input: the parameter."""
        return self._inputs(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> Mapping[str, str]:
        """Of an input: the buffer."""
        return self._inputs(InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> Mapping[str, str]:
        """Of an input: the constant tensor."""
        return self._inputs(InputKind.CONSTANT_TENSOR)

    @property
    def inputs_to_lifted_custom_objs(self) -> Mapping[str, str]:
        """Of an input: the object of a custom class."""
        return self._inputs(InputKind.CUSTOM_OBJ)

    @property
    def buffers_to_mutate(self) -> Mapping[str, str]:
        """Of an output: the buffer that it is the new value of."""
        return self._outputs(OutputKind.BUFFER_MUTATION)

    @property
    def parameters_to_mutate(self) -> Mapping[str, str]:
        """Of an output: the parameter that it is the new value of."""
        return self._outputs(OutputKind.PARAMETER_MUTATION)

    @property
    def user_inputs_to_mutate(self) -> Mapping[str, str]:
        """Of an output: the input that it is the new value of."""
        return self._outputs(OutputKind.USER_INPUT_MUTATION)

    @property
    def backward_signature(self) -> ExportBackwardSignature | None:
        """Which outputs are gradients; None where there is no loss."""
        loss = next((each.arg.name for each in self.output_specs if each.kind is OutputKind.LOSS_OUTPUT), None)
        if loss is None:
            return None
        return ExportBackwardSignature(
            self._outputs(OutputKind.GRADIENT_TO_PARAMETER), self._outputs(OutputKind.GRADIENT_TO_USER_INPUT), loss
        )

    @property
    def assertion_dep_token(self) -> Mapping[int, str] | None:
        """None: assertions are nodes."""
        return None

    @property
    def input_tokens(self) -> Collection[str]:
        """The names of effect tokens that come in."""
        return tuple(each.arg.name for each in self.input_specs if each.kind is InputKind.TOKEN)

    @property
    def output_tokens(self) -> Collection[str]:
        """The names of effect tokens that go out."""
        return tuple(each.arg.name for each in self.output_specs if each.kind is OutputKind.TOKEN)

    def replace_all_uses(self, old: str, new: str) -> None:
        """Rename a node wherever the signature has it."""
        specs: list[Any] = [*self.input_specs, *self.output_specs]
        for each in specs:
            if each.arg.name == old:
                each.arg.name = new

    def get_replace_hook(self, replace_inputs: bool = False) -> Any:
        """A function that keeps the signature true when a user of a node is given another node."""

        def replaced(old: Any, new: str, user: Any) -> None:
            if user.op == "output" or replace_inputs and old.op == "placeholder":
                self.replace_all_uses(old.name, new)

        return replaced

    def __str__(self) -> str:
        inputs = "\n".join(str(each) for each in self.input_specs)
        outputs = "\n".join(str(each) for each in self.output_specs)
        return f"\n# inputs\n{inputs}\n\n# outputs\n{outputs}\n"


def _shown(argument: Any) -> Any:
    return argument.value if isinstance(argument, ConstantArgument) else argument.name


__all__ = [
    "ArgumentSpec", "ConstantArgument", "CustomObjArgument", "ExportBackwardSignature", "ExportGraphSignature", "InputKind", "InputSpec", "OutputKind",
    "OutputSpec", "SymBoolArgument", "SymFloatArgument", "SymIntArgument", "TensorArgument", "TokenArgument",
]  # fmt: skip
