"""The exporter's parts by PyTorch's names: the graph before it becomes a file, modes, registration."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from .enums import OperatorExportTypes, TrainingMode
from .exporter import ExportRequest, export, export_to_pretty_string, is_in_onnx_export, select_model_mode_for_export
from .globals import GLOBALS
from .ir import OnnxGraph
from .registration import register_custom_op_symbolic, unregister_custom_op_symbolic


def _model_to_graph(
    model: Any, args: Any, verbose: bool = False, input_names: Sequence[str] | None = None, output_names: Sequence[str] | None = None,
    operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX, do_constant_folding: bool = True,
    _disable_torch_constant_prop: bool = False, fixed_batch_size: bool = False, training: TrainingMode = TrainingMode.EVAL,
    dynamic_axes: Any = None,
) -> tuple[OnnxGraph, dict[str, Any], Any]:  # fmt: skip
    """The graph of ONNX nodes, the tensors stored with it by name, and what the model returned."""
    request = ExportRequest(
        model, args, kwargs=None, input_names=input_names, output_names=output_names, opset_version=GLOBALS.export_onnx_opset_version,
        dynamic_axes=dynamic_axes, dynamic_shapes=None, training=training, mode=OperatorExportTypes(operator_export_type),
        folding=do_constant_folding, custom_opsets=None, autograd_inlining=GLOBALS.autograd_inlining, export_params=True,
        keep_initializers_as_inputs=None, modules_as_functions=False,
    )  # fmt: skip
    graph, arrays, result, _ = request.lowered()
    if verbose:
        print(graph)
    return graph, {name: arrays[name] for name in graph.initializers}, result


def _setup_trace_module_map(model: Any, export_modules_as_functions: Any) -> set[str]:
    """The names of the classes whose Modules become functions of the file; an export finds the paths of Modules by itself."""
    chosen = export_modules_as_functions if isinstance(export_modules_as_functions, (set, list, tuple)) else ()
    return {f"{each.__module__}.{each.__qualname__}" for each in chosen}


def _validate_dynamic_axes(dynamic_axes: Any, model: Any, input_names: Sequence[str] | None, output_names: Sequence[str] | None) -> None:
    """Warn of dynamic dimensions of what is no input or output, and give names to those that have none."""
    if not dynamic_axes or hasattr(model, "graph"):
        return
    known = {*(input_names or ()), *(output_names or ())}
    for name, axes in dynamic_axes.items():
        if name not in known:
            warnings.warn(f"Provided key {name} for dynamic axes is not a valid input/output name", stacklevel=2)
        if isinstance(axes, list):
            warnings.warn(
                "No names were found for specified dynamic axes of provided input. Automatically generated names will be applied to each dynamic "
                f"axes of input {name}",
                stacklevel=2,
            )
            dynamic_axes[name] = {axis: f"{name}_dynamic_axes_{number}" for number, axis in enumerate(axes, 1)}


def _export(model: Any, args: Any, f: Any, export_params: bool = True, *rest: Any, **options: Any) -> Any:
    """The older spelling of :func:`export`; the tensors that the model returned."""
    for name in ("export_type", "onnx_shape_inference", "fixed_batch_size", "add_node_names"):
        options.pop(name, None)
    export(model, args, f, export_params, *rest, **options)
    with select_model_mode_for_export(model, options.get("training", TrainingMode.EVAL)):
        return model(*args) if isinstance(args, (tuple, list)) else model(args)


def unconvertible_ops(
    model: Any, args: Any, training: TrainingMode = TrainingMode.EVAL, opset_version: int | None = None
) -> tuple[OnnxGraph, list[str]]:
    """The graph of a model, and the names of its ops that have no ONNX form."""
    request = ExportRequest(
        model, args, kwargs=None, input_names=None, output_names=None, opset_version=opset_version, dynamic_axes=None, dynamic_shapes=None,
        training=training, mode=OperatorExportTypes.ONNX_FALLTHROUGH, folding=False, custom_opsets=None, autograd_inlining=True,
        export_params=True, keep_initializers_as_inputs=None, modules_as_functions=False,
    )  # fmt: skip
    graph, _, _, _ = request.lowered()
    return graph, [node.kind() for node in graph.nodes() if not node.kind().startswith("onnx::")]


__all__ = [
    "export", "export_to_pretty_string", "is_in_onnx_export", "register_custom_op_symbolic", "select_model_mode_for_export",
    "unconvertible_ops", "unregister_custom_op_symbolic",
]  # fmt: skip
