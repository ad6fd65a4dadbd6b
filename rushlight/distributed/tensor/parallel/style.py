"""Styles: how the parameters of a layer are split over a mesh, and what its inputs and outputs become."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from ....nn.modules.linear import Linear
from ....nn.modules.sparse import Embedding
from ....nn.parameter import Parameter
from ....tensor import Tensor
from .._api import DTensor, distribute_module, distribute_tensor
from ..placement_types import Placement, Replicate, Shard

__all__ = ["ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput", "PrepareModuleOutput", "RowwiseParallel",
           "SequenceParallel"]  # fmt: skip


class ParallelStyle(ABC):
    """How a module is spread over a mesh; ``parallelize_module`` applies it."""

    src_data_rank: int | None = 0

    @abstractmethod
    def _apply(self, module: Any, device_mesh: Any) -> Any:
        """Spread a module."""


def _placed(value: Any, mesh: Any, now: Any, wanted: Any) -> Any:
    """A tensor as a DTensor with placements, taken to have others where it is plain."""
    if not isinstance(value, DTensor):
        value = DTensor.from_local(value, mesh, now, run_check=False)
    return value if tuple(value.placements) == tuple(wanted) else value.redistribute(placements=wanted)


def _split(module: Any, name: str, mesh: Any, placement: Placement, source: int | None) -> None:
    parameter = module._parameters.get(name)
    if parameter is not None:
        made = distribute_tensor(parameter.detach(), mesh, [placement], src_data_rank=source)
        module.register_parameter(name, Parameter(made, requires_grad=parameter.requires_grad))


class _LayerStyle(ParallelStyle):
    """A style of one layer: placements of parameters by name, of its input and of its output."""

    input_layouts: tuple[Placement, ...]
    desired_input_layouts: tuple[Placement, ...]
    output_layouts: tuple[Placement, ...]

    def __init__(self, use_local_output: bool) -> None:
        self.use_local_output = use_local_output

    def _partition(self, name: str, module: Any, mesh: Any) -> None:
        raise NotImplementedError

    def _before(self, module: Any, inputs: Any, mesh: Any) -> Any:
        return (_placed(inputs[0], mesh, self.input_layouts, self.desired_input_layouts), *inputs[1:])

    def _after(self, module: Any, output: Any, mesh: Any) -> Any:
        if tuple(output.placements) != tuple(self.output_layouts):
            output = output.redistribute(placements=self.output_layouts)
        return output.to_local() if self.use_local_output else output

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        return distribute_module(module, device_mesh, self._partition, self._before, self._after)


class ColwiseParallel(_LayerStyle):
    """A ``Linear`` whose outputs (an ``Embedding`` whose columns) are split: each process computes some of the features."""

    def __init__(
        self, *, input_layouts: Placement | None = None, output_layouts: Placement | None = None, use_local_output: bool = True
    ) -> None:
        super().__init__(use_local_output)
        self.input_layouts = (input_layouts or Replicate(),)
        self.output_layouts = (output_layouts or Shard(-1),)
        self.desired_input_layouts = (Replicate(),)

    def _partition(self, name: str, module: Any, mesh: Any) -> None:
        if isinstance(module, Embedding):
            _split(module, "weight", mesh, Shard(1), self.src_data_rank)
        elif isinstance(module, Linear):
            _split(module, "weight", mesh, Shard(0), self.src_data_rank)
            _split(module, "bias", mesh, Shard(0), self.src_data_rank)
        else:
            raise NotImplementedError("ColwiseParallel currently only support nn.Linear and nn.Embedding!")

    def _after(self, module: Any, output: Any, mesh: Any) -> Any:
        self_layouts = tuple(Shard(each.dim % output.dim()) if isinstance(each, Shard) else each for each in self.output_layouts)
        if tuple(output.placements) != self_layouts:
            output = output.redistribute(placements=self_layouts)
        return output.to_local() if self.use_local_output else output


class RowwiseParallel(ColwiseParallel):
    """A ``Linear`` whose inputs (an ``Embedding`` whose rows) are split: results of the processes are parts of a sum, which is reduced."""

    def __init__(
        self, *, input_layouts: Placement | None = None, output_layouts: Placement | None = None, use_local_output: bool = True
    ) -> None:
        super().__init__(use_local_output=use_local_output)
        self.input_layouts = (input_layouts or Shard(-1),)
        self.output_layouts = (output_layouts or Replicate(),)

    def _partition(self, name: str, module: Any, mesh: Any) -> None:
        if isinstance(module, Embedding):
            _split(module, "weight", mesh, Shard(0), self.src_data_rank)
        elif isinstance(module, Linear):
            _split(module, "weight", mesh, Shard(1), self.src_data_rank)
            _split(module, "bias", mesh, Replicate(), self.src_data_rank)
        else:
            raise NotImplementedError("RowwiseParallel currently only support nn.Linear and nn.Embedding!")

    def _before(self, module: Any, inputs: Any, mesh: Any) -> Any:
        wanted = (Replicate(),) if isinstance(module, Embedding) else (Shard(inputs[0].dim() - 1),)
        return (_placed(inputs[0], mesh, self.input_layouts, wanted), *inputs[1:])


class SequenceParallel(_LayerStyle):
    """A normalisation or dropout that each process computes for a part of the sequence; its parameters are whole."""

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        super().__init__(use_local_output)
        self.sequence_sharding = (Shard(sequence_dim),)

    def _partition(self, name: str, module: Any, mesh: Any) -> None:
        for key in list(module._parameters):
            parameter = module._parameters[key]
            if parameter is not None and not isinstance(parameter, DTensor):
                made = DTensor.from_local(parameter.detach(), mesh, [Replicate()], run_check=False)
                module.register_parameter(key, Parameter(made, requires_grad=parameter.requires_grad))

    def _before(self, module: Any, inputs: Any, mesh: Any) -> Any:
        return (_placed(inputs[0], mesh, self.sequence_sharding, self.sequence_sharding), *inputs[1:])

    def _after(self, module: Any, output: Any, mesh: Any) -> Any:
        return output.to_local() if self.use_local_output else output


def _several(given: Any) -> tuple[Any, ...] | None:
    return None if given is None else ((given,) if isinstance(given, Placement) else tuple(given))


class PrepareModuleInput(ParallelStyle):
    """Inputs of a module as DTensors, with other placements than they come with."""

    def __init__(
        self, *, input_layouts: Any = None, desired_input_layouts: Any = None, input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None, use_local_output: bool = False,
    ) -> None:  # fmt: skip
        self.input_layouts, self.desired_input_layouts = _several(input_layouts), _several(desired_input_layouts)
        self.input_kwarg_layouts, self.desired_input_kwarg_layouts = input_kwarg_layouts or {}, desired_input_kwarg_layouts or {}
        self.use_local_output = use_local_output
        if self.input_layouts is not None:
            if self.desired_input_layouts is None:
                raise AssertionError("desired module inputs should not be None!")
            if len(self.input_layouts) != len(self.desired_input_layouts):
                raise AssertionError("input_layouts and desired_input_layouts should have same length!")
        if set(self.input_kwarg_layouts) != set(self.desired_input_kwarg_layouts):
            raise AssertionError("input_kwarg_layouts and desired_input_kwarg_layouts should have same length!")

    def _one(self, value: Any, mesh: Any, now: Any, wanted: Any) -> Any:
        if now is None or not isinstance(value, Tensor):
            return value
        made = _placed(value, mesh, (now,), (wanted,))
        return made.to_local() if self.use_local_output else made

    def _prepare(self, inputs: Any, mesh: Any) -> Any:
        if self.input_layouts is None or self.desired_input_layouts is None:
            return inputs
        given = inputs if isinstance(inputs, tuple) else (inputs,)
        if len(given) != len(self.input_layouts):
            raise ValueError("module inputs and input_layouts should have same length!")
        return tuple(
            self._one(value, mesh, now, wanted) for value, now, wanted in zip(given, self.input_layouts, self.desired_input_layouts)
        )

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        def before(_: Any, args: Any, kwargs: Any) -> Any:
            named = {
                name: self._one(value, device_mesh, self.input_kwarg_layouts.get(name), self.desired_input_kwarg_layouts.get(name))
                for name, value in kwargs.items()
            }
            return self._prepare(args, device_mesh), named

        module.register_forward_pre_hook(before, with_kwargs=True)
        return module


class PrepareModuleOutput(ParallelStyle):
    """Outputs of a module as DTensors, with other placements than they come with."""

    def __init__(self, *, output_layouts: Any, desired_output_layouts: Any, use_local_output: bool = True) -> None:
        self.output_layouts, self.desired_output_layouts = _several(output_layouts) or (), _several(desired_output_layouts) or ()
        self.use_local_output = use_local_output
        if len(self.output_layouts) != len(self.desired_output_layouts):
            raise AssertionError("output_layouts and desired_output_layouts should have same length!")

    def _prepare(self, outputs: Any, mesh: Any) -> Any:
        given = outputs if isinstance(outputs, tuple) else (outputs,)
        if len(given) != len(self.output_layouts):
            raise ValueError("module outputs and output_layouts should have same length!")
        made = []
        for value, now, wanted in zip(given, self.output_layouts, self.desired_output_layouts):
            if now is not None:
                value = _placed(value, mesh, (now,), (wanted,))
                value = value.to_local() if self.use_local_output else value
            made.append(value)
        return tuple(made) if isinstance(outputs, tuple) else made[0]

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        module.register_forward_hook(lambda _, inputs, outputs: self._prepare(outputs, device_mesh))
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """Both."""

    def __init__(
        self, *, input_layouts: Any = None, desired_input_layouts: Any = None, input_kwarg_layouts: Any = None,
        desired_input_kwarg_layouts: Any = None, use_local_input: bool = False, output_layouts: Any, desired_output_layouts: Any,
        use_local_output: bool = True,
    ) -> None:  # fmt: skip
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts, desired_input_layouts=desired_input_layouts, input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts, use_local_output=use_local_input,
        )  # fmt: skip
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts, desired_output_layouts=desired_output_layouts, use_local_output=use_local_output
        )

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        self.prepare_module_input._apply(module, device_mesh)
        self.prepare_module_output._apply(module, device_mesh)
        return module


def check_mesh(mesh: Any) -> None:
    """Styles split over one dimension of a mesh."""
    if mesh.ndim != 1:
        raise ValueError(f"Tensor Parallel only accepts a 1D DeviceMesh, but found {mesh.ndim}D! If you have a 2-D or N-D device_mesh, consider "
                         "passing in device_mesh[\"tp\"]")  # fmt: skip
