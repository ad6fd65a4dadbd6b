"""The ONNX project's backend interface: ``prepare``, ``run_model``, ``run_node``, ``supports_device``, ``is_compatible``.

``prepare(model, compiler=rushlight.compile)`` runs native code.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping
from typing import Any

import onnx
from onnx.backend.base import Backend, BackendRep

from ..autograd import no_grad
from ..core.errors import RushlightError
from .load import load
from .load.arrays import to_array, to_value


class RushlightBackendRep(BackendRep):
    """A model that is ready to run on arrays; ``module`` is what ``onnx.load`` gives."""

    def __init__(self, model: Any, compiler: Callable[[Any], Any] | None = None) -> None:
        self.module = load(model)
        self.called = self.module if compiler is None else compiler(self.module)
        initialized = {each.name for each in model.graph.initializer} | {each.values.name for each in model.graph.sparse_initializer}
        self.inputs = [each for each in model.graph.input if each.name not in initialized]
        self.outputs = list(model.graph.output)
        self.result = namedtuple("Outputs", [each.name for each in self.outputs], rename=True)  # type: ignore[misc]

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs for arrays: in order, or by the names of the inputs."""
        if isinstance(inputs, Mapping):
            inputs = [inputs.get(each.name) for each in self.inputs]
        elif not isinstance(inputs, (list, tuple)):
            inputs = [inputs]
        if len(inputs) != len(self.inputs):
            raise ValueError(f"the model takes {len(self.inputs)} inputs, not {len(inputs)}")
        with no_grad():
            made = self.called(*[to_value(given, each.type) for given, each in zip(inputs, self.inputs)])
        results = made if len(self.outputs) > 1 else (made,)
        return self.result(*[to_array(each, kind.type) for each, kind in zip(results, self.outputs)])


class RushlightBackend(Backend):
    """Models of ONNX on this package."""

    @classmethod
    def is_compatible(cls, model: Any, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether a model can be run: whether all its operators are known here."""
        try:
            load(model)
        except RushlightError:
            return False
        return cls.supports_device(device)

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **kwargs: Any) -> RushlightBackendRep:
        """A model that is ready to run."""
        if not cls.supports_device(device):
            raise ValueError(f"the device {device!r} is not supported: choose 'CPU'")
        return RushlightBackendRep(model, kwargs.get("compiler"))

    @classmethod
    def run_model(cls, model: Any, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        """Prepare a model and run it once."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node: Any, inputs: Any, device: str = "CPU", outputs_info: Any = None, **kwargs: Any) -> tuple[Any, ...]:
        """Run a single node on arrays; ``opset_version`` says of which version it is."""
        named = [name for name in node.input if name]
        arrays: list[Any] = [inputs[name] for name in named] if isinstance(inputs, Mapping) else list(inputs)
        given = [
            onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(each.dtype), each.shape)
            for name, each in zip(named, arrays)
        ]
        made = [onnx.helper.make_empty_tensor_value_info(name) for name in node.output if name]
        opset = kwargs.get("opset_version") or onnx.defs.onnx_opset_version()
        opsets = [onnx.helper.make_opsetid("", opset)]
        if node.domain not in ("", "ai.onnx"):
            opsets.append(onnx.helper.make_opsetid(node.domain, kwargs.get("domain_version", 1)))
        model = onnx.helper.make_model(onnx.helper.make_graph([node], "node", given, made), opset_imports=opsets)
        return cls.run_model(model, arrays, device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether models run on a device."""
        return device.partition(":")[0].upper() == "CPU"


is_compatible = RushlightBackend.is_compatible
prepare = RushlightBackend.prepare
run_model = RushlightBackend.run_model
run_node = RushlightBackend.run_node
supports_device = RushlightBackend.supports_device

__all__ = ["RushlightBackend", "RushlightBackendRep", "is_compatible", "prepare", "run_model", "run_node", "supports_device"]
