"""An exported model."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..capture.trace.capture import bind_arguments
from ..capture.tracer.tracer import tensors_in
from ..core.base import TensorBase, make
from ..core.errors import CaptureError, ValueRangeError
from .errors import OnnxExporterError, OnnxExporterWarning
from .proto import OnnxModel, renamed_axes

# The types of inputs that Python numbers are given for.
NUMBERS: dict[type, Any] = {bool: np.bool_, int: np.int64, float: np.float64}


class ONNXProgram:
    """What ``onnx.export`` gives: the model as a protobuf message, to be saved or run."""

    def __init__(self, model: OnnxModel, exported_program: Any = None) -> None:
        self._model = model
        self.exported_program = exported_program  # what was exported, where that was an ``ExportedProgram``
        self._session: Any = None
        self._proto: Any = None
        self._ir: Any = None  # the model of onnx_ir, once somebody has asked for it
        self._changed = False  # whether weights were put into it
        self._request: Any = None  # the export that made it: the program and its example inputs

    @property
    def model_proto(self) -> Any:
        """The ``onnx.ModelProto``."""
        if self._ir is not None:
            import onnx_ir

            return onnx_ir.to_proto(self._ir)
        if self._proto is None:
            self._proto = self._model.proto()
        return self._proto

    @property
    def model(self) -> Any:
        """The model as an ``onnx_ir.Model``.  It may be changed: from then on it is what is saved and run."""
        if self._ir is None:
            try:
                import onnx_ir
            except ImportError:
                raise ImportError(
                    "the model as onnx_ir has it needs that package: pip install onnx-ir; model_proto is the onnx.ModelProto"
                ) from None
            self._ir = onnx_ir.from_proto(self.model_proto)
        self._session = None
        return self._ir

    @model.setter
    def model(self, model: Any) -> None:
        self._ir, self._session = model, None

    @property
    def graph(self) -> Any:
        """The graph of ONNX nodes; it prints readably."""
        return self._model.graph

    def save(
        self,
        destination: Any,
        *,
        include_initializers: bool = True,
        keep_initializers_as_inputs: bool = False,
        external_data: bool | None = None,
    ) -> None:
        """Write the model to a path or a file object, perhaps without its weights, or with weights that are inputs, too."""
        if self._ir is None and include_initializers and not keep_initializers_as_inputs:
            if hasattr(destination, "write"):
                self._model.write(destination)
            else:
                self._model.save(os.fspath(destination), external_data)
            return
        import onnx

        model = onnx.ModelProto()
        model.CopyFrom(self.model_proto)
        if keep_initializers_as_inputs:
            known = {each.name for each in model.graph.input}
            for each in model.graph.initializer:
                if each.name not in known:
                    model.graph.input.append(onnx.helper.make_tensor_value_info(each.name, each.data_type, each.dims))
        if not include_initializers:
            del model.graph.initializer[:]
        onnx.save_model(model, destination, save_as_external_data=bool(external_data))

    def optimize(self) -> None:
        """Fold constants: an export has done it, unless it was asked for ``do_constant_folding=False``."""
        if self._ir is not None or self._changed:
            raise OnnxExporterError("a model that was changed after its export is not optimized here: call optimize() first")
        if self._request is not None and not self._request.folding:
            self._request.folding = True
            before, self._model = self._model, self._request.model_file()
            self._model.renamed_axes = before.renamed_axes
        self._proto = self._session = None

    def rename_axes(self, rename_mapping: dict[Any, str]) -> None:
        """Give sizes other names.  Keys are names, expressions of names, or sizes of ``model``; longer ones are replaced first."""
        names = {getattr(key, "value", key): name for key, name in rename_mapping.items()}
        if not names:
            return
        if not all(isinstance(part, str) and part for pair in names.items() for part in pair):
            raise OnnxExporterError(f"names of axes are texts, and not {names}")
        if self._ir is not None:
            import onnx_ir

            self._ir = onnx_ir.from_proto(renamed_axes(self.model_proto, names))
        else:
            self._model.renamed_axes.append(names)
        self._proto = self._session = None

    def compute_values(self, value_names: Sequence[str], args: Any = (), kwargs: dict[str, Any] | None = None) -> tuple[Any, ...]:
        """Run the model in ONNX Runtime up to values inside of it, by their names."""
        import onnx

        model = onnx.ModelProto()
        model.CopyFrom(self.model_proto)
        graph = model.graph
        types = {each.name: each for each in (*graph.value_info, *graph.output, *graph.input)}
        known = {each.name for each in (*graph.input, *graph.initializer)} | {name for node in graph.node for name in node.output if name}
        for name in value_names:
            if name not in known:
                raise ValueRangeError(f"Value '{name}' not found in the model. Please provide a valid value name.")
        wanted = [types.get(name, onnx.ValueInfoProto(name=name)) for name in value_names]
        del graph.output[:]
        graph.output.extend(wanted)
        made = ONNXProgram(self._model)
        made._request = self._request
        made._session = inference_session(model.SerializeToString())
        return made.run(*args, **(kwargs or {}))

    def session(self) -> Any:
        """An ONNX Runtime session of the model."""
        if self._session is None:
            self._session = inference_session(
                b"".join(map(bytes, self._model.pieces())) if self._ir is None else self.model_proto.SerializeToString()
            )
        return self._session

    def initialize_inference_session(self, initializer: Callable[[bytes], Any] | None = None) -> None:
        """Make the session that runs the model: an ONNX Runtime session, or what a function makes of the bytes of the file."""
        self._session = None
        if initializer is None:
            self.session()
        else:
            self._session = initializer(self.model_proto.SerializeToString())

    def release(self) -> None:
        """Give up the session; a later run makes another."""
        self._session = None

    def apply_weights(self, state_dict: dict[str, Any]) -> None:
        """Put other weights in the places of those with the same names.  One that is no weight of the file, as those that are part of others, is named in a warning."""
        arrays = self._model.arrays
        for name, tensor in state_dict.items():
            if name not in self._model.graph.initializers:
                warnings.warn(f"Weight '{name}' not found in the model. Skipped applying.", OnnxExporterWarning, stacklevel=2)
                continue
            array, before = np.asarray(tensor.detach()._array), arrays[name]
            if array.shape != before.shape or array.dtype != before.dtype:
                raise OnnxExporterError(
                    f"the weight '{name}' has shape {tuple(before.shape)} and type {before.dtype}, and not {tuple(array.shape)}, {array.dtype}"
                )
            arrays[name] = array
            self._changed = True
        self._proto = self._session = self._ir = None

    def call_reference(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Run the model in the ONNX project's reference evaluator."""
        from onnx import reference

        evaluator = reference.ReferenceEvaluator(self.model_proto)
        wanted = [(each.name, _input_kind(each.type)) for each in self.model_proto.graph.input]
        return tuple(_made(each) for each in evaluator.run(None, self._feeds(wanted, args, kwargs)))

    def run(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Run the model in ONNX Runtime on tensors (those of nested arguments in order) and numbers; a tuple of tensors."""
        session = self.session()
        feeds = self._feeds([(each.name, each.type) for each in session.get_inputs()], args, kwargs)
        return tuple(_made(each) for each in session.run(None, feeds))

    def _feeds(self, inputs: list[tuple[str, str]], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Arguments by the names of the inputs, which are given with their types."""
        wanted = [kind for _, kind in inputs]
        values: list[Any] = []

        def take(value: Any) -> None:
            array = [np.asarray(each.detach()._array) for each in tensors_in(value)]
            if isinstance(value, TensorBase) or (
                isinstance(value, list) and len(values) < len(wanted) and wanted[len(values)].startswith("seq")
            ):
                values.append(array if isinstance(value, list) else array[0])
                return
            if value is None and len(values) < len(wanted) and wanted[len(values)].startswith("optional"):
                values.append(None)
                return
            for each in value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ():
                take(each)

        for each in self._in_order(args, kwargs, [name for name, _ in inputs]):
            if type(each) in NUMBERS:
                values.append(np.asarray(each, NUMBERS[type(each)]))
            else:
                take(each)
        names = [name for name, _ in inputs]
        kept = self._model.graph.kept_inputs
        if (
            kept is not None and len(values) > len(names) and max(kept, default=-1) < len(values)
        ):  # arguments of the program: some are no inputs
            values = [values[at] for at in kept]
        if len(values) < len(names):
            raise OnnxExporterError(f"the model has {len(names)} inputs ({', '.join(names)}), and {len(values)} values were given")
        return dict(zip(names, values))

    def _in_order(self, args: tuple[Any, ...], kwargs: dict[str, Any], names: list[str]) -> list[Any]:
        """Arguments in the order of the inputs: those by name go where the exported program takes them, or the file has an input of that name."""
        if kwargs and self._request is not None:
            with contextlib.suppress(CaptureError):  # the program takes others
                return [value for _, value in bind_arguments(self._request.model, args, kwargs)]
        if set(kwargs) <= set(names[len(args) :]):
            kwargs = {name: kwargs[name] for name in names if name in kwargs}
        return [*args, *kwargs.values()]

    __call__ = run

    def verify(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, expected: Any = None) -> float:
        """The largest difference, over all outputs, between ONNX Runtime and expected results."""
        results = self.run(*args, **(kwargs or {}))
        wanted = tensors_in(expected) if expected is not None else []
        largest = 0.0
        for got, want in zip(results, wanted):
            if isinstance(want, TensorBase) and want._array.size:
                largest = max(largest, float(np.abs(got._array.astype(np.float64) - want._array.astype(np.float64)).max()))
        return largest

    def __repr__(self) -> str:
        return f"ONNXProgram(opset {self._model.opset}):\n{self._model.graph}"


def inference_session(content: bytes) -> Any:
    """An ONNX Runtime session, on the CPU, of the bytes of a file."""
    try:
        import onnxruntime
    except ImportError:
        raise ImportError("running an exported model needs ONNX Runtime: pip install onnxruntime") from None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def _input_kind(kind: Any) -> str:
    """The type of an input by the first word of ONNX Runtime's name for it."""
    return {"sequence_type": "seq", "optional_type": "optional"}.get(kind.WhichOneof("value"), "tensor")


def _made(result: Any) -> Any:
    """An output of ONNX Runtime: an array, a list of them, or None."""
    if isinstance(result, list):
        return [_made(each) for each in result]
    return None if result is None else make(np.asarray(result))
