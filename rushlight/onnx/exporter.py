"""``onnx.export``: from a model and example inputs to an ONNX file."""

from __future__ import annotations

import contextlib
import copy
import inspect
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..autograd import no_grad
from ..capture.compile.annotations import mark
from ..capture.control.python_functions import item
from ..capture.trace.capture import Captured, bind_arguments, capture, class_of
from ..capture.tracer.tracer import TracerWarning, tensors_in
from ..core.base import TensorBase
from ..core.symbolic import SymbolicInt
from ..nn.modules.module import Module
from ..nn.parallel.data_parallel import DataParallel
from .cleanup import clean
from .containers import from_items
from .enums import OperatorExportTypes, TrainingMode
from .errors import ExportInputError, OnnxExporterError
from .fusion import fuse_batch_norms
from .generalization import check_other_sizes
from .globals import GLOBALS
from .ir import OnnxGraph, OnnxValue
from .load.model import OnnxGraphModule
from .load.strings import Strings
from .local_functions import group_modules
from .lowering import OnnxLowering
from .names import dynamic_names, input_symbols, name_outputs, output_names_of
from .onnxscript_functions import translated
from .program import ONNXProgram
from .proto import OnnxModel
from .quantized import is_quantized, output_parts
from .registered import adapted
from .registration import registry

FIRST_OPSET = 7


class _Exporting(threading.local):
    depth = 0


_exporting = _Exporting()


def is_in_onnx_export() -> bool:
    """Whether an export is running in this thread."""
    return _exporting.depth > 0


mark(is_in_onnx_export, "constant")


def newest_opset() -> int:
    """The newest opset that the installed onnx package knows."""
    try:
        import onnx
    except ImportError:
        raise ImportError("ONNX export needs the package onnx: pip install onnx") from None

    return int(onnx.defs.onnx_opset_version())


@contextlib.contextmanager
def select_model_mode_for_export(model: Any, mode: TrainingMode | None) -> Iterator[None]:
    """Put a Module into the mode it is exported in (each submodule back into its own afterwards)."""
    if not isinstance(mode, TrainingMode) and mode is not None:
        raise TypeError(f"'mode' should be a onnx.TrainingMode enum, but got '{type(mode).__name__}'.")
    if not isinstance(model, Module) or mode in (None, TrainingMode.PRESERVE) or getattr(model, "mode_is_fixed", False):
        yield
        return
    before, globally = [(module, module.training) for module in model.modules()], GLOBALS.training_mode
    model.train(mode is TrainingMode.TRAINING)
    GLOBALS.training_mode = mode
    try:
        yield
    finally:
        GLOBALS.training_mode = globally
        for module, training in before:
            module.training = training


class ExportRequest:
    """The arguments of one export, checked."""

    moves_statistics = True  # in training mode, by a run of the model
    keeps_unused_inputs = True
    with_values = False  # whether the program runs on data at once; what each op computed is then known afterwards

    def __init__(
        self, model: Any, args: Any, *, kwargs: dict[str, Any] | None, input_names: Sequence[str] | None, output_names: Sequence[str] | None,
        opset_version: int | None, dynamic_axes: Any, dynamic_shapes: Any, training: TrainingMode, mode: OperatorExportTypes,
        folding: bool, custom_opsets: Mapping[str, int] | None, autograd_inlining: bool, export_params: bool,
        keep_initializers_as_inputs: bool | None, modules_as_functions: Any,
    ) -> None:  # fmt: skip
        newest = newest_opset()
        self.opset = GLOBALS.export_onnx_opset_version if opset_version is None else opset_version
        if isinstance(self.opset, bool) or not isinstance(self.opset, int) or not FIRST_OPSET <= self.opset <= newest:
            raise ExportInputError(
                f"opset_version={opset_version!r}: the opsets that can be exported here are {FIRST_OPSET} to {newest} (the newest that "
                "the installed onnx package knows)"
            )
        if isinstance(model, DataParallel):
            raise ValueError(
                "torch.nn.DataParallel is not supported by ONNX exporter, please use 'attribute' module to unwrap model from "
                "torch.nn.DataParallel. Try torch.onnx.export(model.module, ...)"
            )
        if not callable(model):
            raise TypeError(f"export() takes a Module or a function, not {type(model).__name__}")
        self.model, self.args, self.kwargs = adapted(model, *split_arguments(model, args, kwargs))
        if isinstance(model, OnnxGraphModule):  # a file that is written again keeps its names
            plain = not self.kwargs and all(isinstance(each, TensorBase) for each in self.args)
            input_names = input_names or (model.input_names[: len(self.args)] if plain else None)
            output_names = output_names or model.output_names
        self.input_names = checked_names(input_names, "input_names")
        self.output_names = checked_names(output_names, "output_names")
        self.dynamic_axes = dynamic_axes
        self.dynamic_shapes = dynamic_shapes
        self.training = training
        self.mode = mode
        self.folding = (
            folding
            and training is not TrainingMode.TRAINING
            and not (training is TrainingMode.PRESERVE and getattr(model, "training", False))
        )
        self.custom_opsets = dict(custom_opsets or {})
        self.inlining = autograd_inlining
        self.export_params = export_params
        self.initializers_as_inputs = bool(keep_initializers_as_inputs)
        self.modules_as_functions = modules_as_functions
        self.fixed: set[str] = set()  # arguments that are numbers, and whose value the graph depends on

    def keeps(self, function: Any) -> bool:
        """Whether a custom Function stays one node, or its body is exported."""
        return (
            hasattr(function, "symbolic") or registry.custom("prim::PythonOp", self.opset) is not None
            or self.mode is OperatorExportTypes.ONNX_FALLTHROUGH or not self.inlining
        )  # fmt: skip

    def declared(self, name: str) -> str:
        """The type that a script declares for an input."""
        called = self.model.__dict__.get("forward") if isinstance(self.model, Module) else self.model
        signature = getattr(called, "_script_signature", None)
        return next((str(each.type) for each in signature.parameters if each.name == name), "") if signature is not None else ""

    @property
    def returns_list(self) -> bool:
        """Whether a script says that its result is a list: one sequence in the file."""
        called = self.model.__dict__.get("forward") if isinstance(self.model, Module) else self.model
        signature = getattr(called, "_script_signature", None)
        return self.opset >= 11 and str(getattr(signature, "result", "")).startswith("List[")

    def is_optional(self, name: str) -> bool:
        """Whether an input may be None when the file is run, although the example is a tensor: a script says so."""
        return self.opset >= 15 and self.declared(name) == "Optional[Tensor]"

    def is_list(self, name: str, items: list[Any]) -> bool:
        """Whether a list is one input, of any length: a script says so, and its tensors are of one shape."""
        alike = {(each._array.shape, each._array.dtype) for each in items if isinstance(each, TensorBase)}
        return (
            self.declared(name) == "List[Tensor]"
            and self.opset >= 11
            and len(alike) == 1
            and all(isinstance(each, TensorBase) for each in items)
        )

    def how_followed(self, name: str) -> str:
        """How an argument that is a number is captured: a script's bool as a tensor, so that what it decides becomes a node."""
        return "fixed" if name in self.fixed else "tensor" if self.declared(name) == "bool" else "followed"

    def captured(self) -> Captured:
        """Run the model on the example inputs."""
        if any(isinstance(each, Strings) for each in (*self.args, *self.kwargs.values())):
            raise ExportInputError("an input of the model is a tensor of strings, which an exported file would hold as a constant")
        flat = inputs_in(self.args, self.kwargs)
        if len(self.input_names) > len(flat):
            raise ExportInputError(f"input_names has {len(self.input_names)} names, but the model has {len(flat)} inputs")
        names = self.input_names
        symbols = dynamic_names(self.dynamic_axes, self.dynamic_shapes, self.model, self.args, self.kwargs)
        taken: list[str] = []

        def escaped(how: str, why: str) -> None:
            tracer = captured_tracer[0]
            source, module = tracer.where()
            place = f'\n  File "{source[0]}", line {source[1]}, in {source[2]}' if source else ""
            raise OnnxExporterError(
                f"{how} while the model is exported: {why}, so the file would hold for this value alone. Write the choice with "
                f"torch.where, keep the number a tensor, or script the function that makes the choice{place}"
            )

        captured_tracer: list[Any] = []

        def hold(tracer: Any) -> None:
            captured_tracer.append(tracer)
            tracer.refusing = True  # what scripted code can't have in a file

        def rename(position: int, name: str) -> str:
            found = names[position] if position < len(names) else name
            taken.append(found)
            return found

        own_args, own_kwargs = distinct((self.args, self.kwargs), set())

        def run(values: bool, args: tuple[Any, ...] = own_args, kwargs: dict[str, Any] = own_kwargs) -> Captured:
            taken.clear()
            captured_tracer.clear()
            with preserved(self.model):  # the file holds what buffers and attributes are before the model runs
                return capture(
                    self.model, args, kwargs, numbers=self.how_followed, dynamic=lambda name, dim: symbols(name, dim, len(taken) - 1), names=rename, functional=True, listed=self.is_list, optional=self.is_optional,
                    keep_function=self.keeps, escaped=escaped, started=hold, values=values,
                )  # fmt: skip

        on_values = self.with_values or any(isinstance(each, TensorBase) and each.is_quantized for each in flat)  # type: ignore[attr-defined]
        try:  # first on shapes alone, which computes nothing, and knows no scales
            captured = run(values=on_values)
        except OnnxExporterError:
            raise
        except Exception:
            if on_values:
                raise
            captured = run(values=True)
        input_symbols(self.dynamic_axes, captured, self.output_names)
        if captured.tracer.without_values:
            check_other_sizes(captured, self.model, self.args, self.kwargs, lambda args, kwargs: run(False, args, kwargs))
        return captured

    def lowered(self) -> tuple[OnnxGraph, dict[str, Any], Any, Captured]:
        """The finished graph, the arrays it refers to, what the model returned, and the capture."""
        _exporting.depth += 1
        try:
            with select_model_mode_for_export(self.model, self.training):
                captured = self.captured()
                if self.moves_statistics and getattr(self.model, "training", False) and buffers_of(self.model):
                    with no_grad():  # in training mode the run moves the running statistics, and the file holds them as they are then
                        self.model(*copy.deepcopy(self.args), **copy.deepcopy(self.kwargs))
            lowering = self.lowering = OnnxLowering(captured, self.opset, mode=self.mode, folding=self.folding, domains=self.custom_opsets)
            g = lowering.run()
            returned = captured.graph.output_node()
            for node in returned.all_input_nodes:
                if is_quantized(node.meta.get("val")) and isinstance(lowering.values.get(node), OnnxValue):
                    lowering.values[node] = output_parts(g, lowering.values[node])
            output = lowering.argument(returned.args[0])
            if self.returns_list and isinstance(output, list):
                output = from_items(g, [flat_outputs(g, each, each) for each in output])
            outputs = flat_outputs(g, output, captured.outputs)
            if self.folding:
                fuse_batch_norms(g, outputs)
            name_outputs(g, outputs, output_names_of(captured.outputs), self.output_names, self.dynamic_axes)
            order = list(self.model.state_dict(keep_vars=True)) if isinstance(self.model, Module) else []
            known = set(order)
            order += [name for name, _ in reversed(captured.tracer.attributes.values()) if name not in known]
            clean(g, order)
        finally:
            _exporting.depth -= 1
        return g.graph, g.params_dict, captured.result, captured

    def model_file(self) -> OnnxModel:
        """The finished model.

        Arguments that are Python numbers are inputs of the file.  Where its nodes differ for another number (it is a dimension, a condition,
        the count of a loop), they hold for the number of the example alone, and the user is told.
        """
        numbers = {name: value for name, value in bind_arguments(self.model, self.args, self.kwargs) if type(value) in (int, float)}
        made = self.made()
        for name, value in numbers.items():
            if not self.is_followed(made, name, value):
                self.fixed.add(name)
                warnings.warn(
                    f"the argument {name}={value!r} is an input of the file, but the graph holds for this value alone: the model uses it as a "
                    "dimension, a condition or a count",
                    TracerWarning,
                    stacklevel=3,
                )
        return self.made() if self.fixed else made

    def is_followed(self, made: OnnxModel, name: str, value: int | float) -> bool:
        """Whether the file is the same for another value of a number among the arguments."""
        for other in (value * 2 + 1, value + 1, value - 1):
            again = copy.copy(self)
            again.moves_statistics = False
            positions = [each for each, _ in bind_arguments(self.model, self.args, self.kwargs)]
            again.args = tuple([other if positions[at] == name else each for at, each in enumerate(self.args)])
            again.kwargs = {key: other if key == name else each for key, each in self.kwargs.items()}
            try:
                with warnings.catch_warnings(), preserved(self.model):
                    warnings.simplefilter("ignore")
                    second = again.made()
            except Exception:
                continue  # a number that does not fit the model
            first, second = made.proto().graph, second.proto().graph
            return all(
                [each.SerializeToString() for each in getattr(first, part)] == [each.SerializeToString() for each in getattr(second, part)]
                for part in ("node", "initializer")
            )
        return False

    def made(self) -> OnnxModel:
        """The model, captured and lowered."""
        graph, arrays, result, captured = self.lowered()
        if not graph._outputs:
            raise ExportInputError("the model returns no tensor: there is nothing to export")
        if not self.keeps_unused_inputs:
            graph.drop_unused_inputs()
        functions = None
        if self.modules_as_functions:
            functions = group_modules(graph, captured.tracer.classes, self.modules_as_functions, self.opset)
        held = self.model.named_modules() if isinstance(self.model, Module) else ()  # those that only hold others too: lists of modules
        return OnnxModel(
            graph, arrays, self.opset, domains={**self.lowering.g.versions, **self.custom_opsets}, classes={**{path: class_of(module) for path, module in held}, **captured.tracer.classes},
            export_params=self.export_params, initializers_as_inputs=self.initializers_as_inputs, functions=functions,
        )  # fmt: skip


@contextlib.contextmanager
def preserved(model: Any) -> Iterator[None]:
    """Buffers and attributes that running the model changes (running statistics, counters, caches) get their values back."""
    modules = list(model.modules()) if isinstance(model, Module) else []
    names = [(held, dict(held)) for module in modules for held in (module._buffers, module._parameters)]
    attributes = [(module, type(module), dict(vars(module))) for module in modules]
    contents = [
        (value, value.copy()) for _, _, held in attributes for name, value in held.items()
        if type(value) in (list, dict, set) and name not in ("_buffers", "_parameters", "_modules")
    ]  # fmt: skip
    before = [(buffer, buffer._array.copy()) for buffer in buffers_of(model) if isinstance(buffer._array, np.ndarray)]
    try:
        yield
    finally:
        for held, bound in names:
            held.update(bound)
        for module, kind, found in attributes:
            if type(module) is kind and any(found.get(name, found) is not value for name, value in vars(module).items()):
                vars(module).clear()  # a lazy Module is of another class once it has run, and keeps what it has learnt
                vars(module).update(found)
        for container, items in contents:
            restore_items(container, items)
        for buffer, array in before:
            if not np.array_equal(buffer._array, array, equal_nan=array.dtype.kind in "fc"):
                buffer._array[...] = array


def restore_items(container: Any, items: Any) -> None:
    """Give a list, dict or set the items back that a copy of it holds."""
    if container.__class__ is list:
        if len(container) != len(items) or any(a is not b for a, b in zip(container, items)):
            container[:] = items
    elif len(container) != len(items) or (
        container.__class__ is dict and any(container.get(key, items) is not items[key] for key in items)
    ):
        container.clear()
        container.update(items)


def distinct(value: Any, seen: set[int]) -> Any:
    """Arguments in which no tensor and no quantizer comes twice: each is an input of its own."""
    if isinstance(value, TensorBase):
        if id(value) in seen or value.is_quantized:  # type: ignore[attr-defined]
            value = value.detach().clone()  # type: ignore[attr-defined]
        if value.is_quantized:
            value._array.quantizer = copy.copy(value._array.quantizer)
        seen.add(id(value))
    elif type(value) in (tuple, list):
        return type(value)([distinct(each, seen) for each in value])
    elif type(value) is dict:
        return {key: distinct(each, seen) for key, each in value.items()}
    return value


def inputs_in(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The tensors among (nested) arguments, and the arguments that are Python numbers, in order."""
    return [part for each in (*args, *kwargs.values()) for part in ([each] if type(each) in (bool, int, float) else tensors_in(each))]


def buffers_of(model: Any) -> list[Any]:
    """The buffers of a Module; none of a function."""
    return list(model.buffers()) if isinstance(model, Module) else []


def split_arguments(model: Any, args: Any, kwargs: dict[str, Any] | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Example inputs as positional and keyword arguments: a tensor, a tuple, or a tuple with a dict of keywords last."""
    if isinstance(args, TensorBase) or not isinstance(args, (tuple, list)):
        args = (args,) if args is not None else ()
    args = tuple(args)
    named = dict(kwargs or {})
    if args and isinstance(args[-1], dict) and kwargs is None:
        last = args[-1]
        called = model.forward if isinstance(model, Module) else model
        try:
            parameters = inspect.signature(called).parameters
        except (TypeError, ValueError):
            parameters = {}  # type: ignore[assignment]
        if not last or (all(isinstance(key, str) and key in parameters for key in last)):
            named = last
            args = args[:-1]
    return args, named


def checked_names(names: Sequence[str] | None, what: str) -> list[str]:
    """Names of inputs or outputs: strings, each once."""
    if names is None:
        return []
    if isinstance(names, str) or not all(isinstance(each, str) for each in names):
        raise ExportInputError(f"{what} must be a list of strings, not {names!r}")
    repeated = {each for each in names if list(names).count(each) > 1}
    if repeated:
        raise ExportInputError(f"{what} has the name '{sorted(repeated)[0]}' more than once")
    return list(names)


def flat_outputs(g: Any, output: Any, result: Any) -> list[OnnxValue]:
    """The values that the model returns, in order; numbers that follow from sizes are values too."""
    if isinstance(output, OnnxValue):
        if output.pair is not None and output.pair.name in g.params_dict:  # stored, and not computed with
            return [g.stored(output.pair.name, g.params_dict[output.pair.name].view(output.dtype)[..., 0], False)]
        if output.pair is not None:
            raise g.unsupported("the model returns complex numbers, which ONNX does not compute with: return view_as_real(...) of them")
        return [output]
    if output is None:
        if result is None:
            raise ExportInputError("the model returns None: it must return a tensor, or a tuple, list or dict that holds tensors")
        return []
    if isinstance(output, dict):
        return [value for each in output.values() for value in (flat_outputs(g, each, each) if each is not None else [])]
    if isinstance(output, (tuple, list)):
        return [value for each in output for value in (flat_outputs(g, each, each) if each is not None else [])]
    if isinstance(output, (int, float)):
        return [g.number(output)]
    raise ExportInputError(
        f"the model returns a {type(output).__name__}, which holds no tensor: return a tensor, or a tuple, list or dict that holds tensors"
    )


def export(
    model: Callable[..., Any], args: Any = (), f: Any = None, export_params: bool = True, verbose: bool | None = None,
    training: TrainingMode = TrainingMode.EVAL, input_names: Sequence[str] | None = None, output_names: Sequence[str] | None = None,
    operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX, opset_version: int | None = None, do_constant_folding: bool = True,
    dynamic_axes: Any = None, keep_initializers_as_inputs: bool | None = None, custom_opsets: Mapping[str, int] | None = None,
    export_modules_as_functions: Any = False, autograd_inlining: bool = True, *, kwargs: dict[str, Any] | None = None,
    dynamo: bool | None = None, external_data: bool | None = None, dynamic_shapes: Any = None, verify: bool = False, report: bool = False,
    optimize: bool = True, profile: bool = False, dump_exported_program: bool = False, artifacts_dir: Any = ".", fallback: bool = False,
    custom_translation_table: Mapping[Any, Any] | None = None,
) -> ONNXProgram:  # fmt: skip
    """Write a model as an ONNX file.

    The model (a Module, a function or a traced module) is run once on the example inputs, and what it computes is written with the
    operations of exactly the requested opset (20 where none is given).  ``f`` is a path, a file object, or None; the result is an
    :class:`ONNXProgram` with ``.model_proto``, ``.save(path)`` and ``.run(*inputs)``.

    ``dynamic_axes={"x": {0: "batch"}}`` (or ``{"x": [0]}``) and ``dynamic_shapes`` say which dimensions are dynamic.
    Custom Functions are exported by their ``symbolic`` method where they have one, else by their body.  There is one exporter;
    ``dynamo=False`` leaves out inputs that nothing is computed from, as PyTorch's TorchScript exporter does.  ``external_data=True`` stores large tensors in a second file, ``f + ".data"``;
    above 2 GB that is done in any case.

        >>> import rushlight, tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "double.onnx")
        >>> program = export(lambda x: x * 2, rushlight.ones(3), path)
        >>> [node.op_type for node in program.model_proto.graph.node][-1]
        'Mul'
    """
    of_program = hasattr(model, "graph_signature") and hasattr(model, "example_inputs")
    exported_program = model if of_program else None
    if of_program:
        model, args, kwargs, dynamic_axes = of_exported(model, args, kwargs, dynamic_axes, dynamic_shapes, input_names)
    request = ExportRequest(
        model, args, kwargs=kwargs, input_names=input_names, output_names=output_names, opset_version=opset_version,
        dynamic_axes=dynamic_axes, dynamic_shapes=dynamic_shapes, training=training, mode=OperatorExportTypes(operator_export_type),
        folding=do_constant_folding, custom_opsets=custom_opsets, autograd_inlining=autograd_inlining, export_params=export_params,
        keep_initializers_as_inputs=keep_initializers_as_inputs, modules_as_functions=export_modules_as_functions,
    )  # fmt: skip
    request.keeps_unused_inputs = dynamo is not False
    request.moves_statistics = not of_program  # a program is neither in training mode nor in evaluation mode
    with translated(custom_translation_table):
        made = request.model_file()
    program = ONNXProgram(made, exported_program)
    program._request = request  # for verification
    if verbose:
        print(made.graph)
    if f is not None:
        if isinstance(f, (str, os.PathLike)):
            made.save(os.fspath(f), external_data)
        elif hasattr(f, "write"):
            made.write(f)
        else:
            raise ExportInputError(f"f must be a path, a file object or None, not {type(f).__name__}")
    if operator_export_type in (OperatorExportTypes.ONNX, OperatorExportTypes.ONNX_ATEN_FALLBACK, OperatorExportTypes.ONNX_ATEN):
        made.check()
    if verify:
        program.verify(request.args, request.kwargs)
    return program


def of_exported(
    ep: Any, args: Any, kwargs: Any, dynamic_axes: Any, dynamic_shapes: Any, names: Sequence[str] | None
) -> tuple[Any, Any, Any, Any]:
    """An ``ExportedProgram`` as a Module, its example inputs (where none are given), and its dynamic dimensions by names."""
    if not args and not kwargs:
        if ep.example_inputs is None:
            raise ExportInputError("the exported program has no example inputs: give some")
        args, kwargs = ep.example_inputs
    if dynamic_axes is None and dynamic_shapes is None:
        given = [each.arg.name for each in ep.graph_signature.input_specs if each.kind.name == "USER_INPUT"]
        nodes = {node.name: node.meta.get("val") for node in ep.graph.nodes if node.op == "placeholder"}
        tensors = [name for name in given if isinstance(nodes[name], TensorBase)]
        found: dict[str, dict[int, str]] = {}
        for at, name in enumerate(tensors):
            sizes = enumerate(nodes[name]._array.shape)
            axes = {dim: str(size.expression) for dim, size in sizes if isinstance(size, SymbolicInt)}
            if axes:
                found[names[at] if names is not None and at < len(names) else name] = axes
        dynamic_axes = found or None
    return _following_numbers(ep.module(check_guards=False)), args, kwargs, dynamic_axes


def _following_numbers(module: Any) -> Any:
    """The Module of an exported program with numbers that are values of tensors as a capture follows them, and without checks of these."""
    changed = False
    for node in list(module.graph.nodes):
        name = getattr(getattr(node.target, "_schema", None), "name", None)
        if name in ("aten::item", "aten::_local_scalar_dense"):
            node.target, changed = item, True
        elif name in ("aten::_assert_scalar", "aten::sym_constrain_range", "aten::sym_constrain_range_for_size"):
            module.graph.erase_node(node)
            changed = True
    if changed:
        module.graph.eliminate_dead_code()
        module.recompile()
    return module


def export_to_pretty_string(
    model: Any, args: Any, export_params: bool = True, verbose: bool = False, training: TrainingMode = TrainingMode.EVAL,
    input_names: Sequence[str] | None = None, output_names: Sequence[str] | None = None,
    operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX, export_type: Any = None, google_printer: bool = False,
    opset_version: int | None = None, keep_initializers_as_inputs: bool | None = None, custom_opsets: Mapping[str, int] | None = None,
    add_node_names: bool = True, do_constant_folding: bool = True, dynamic_axes: Any = None,
) -> str:  # fmt: skip
    """The ONNX graph of a model as text; ``google_printer`` gives the protobuf message's own form."""
    request = ExportRequest(
        model, args, kwargs=None, input_names=input_names, output_names=output_names, opset_version=opset_version, dynamic_axes=dynamic_axes,
        dynamic_shapes=None, training=training, mode=OperatorExportTypes(operator_export_type), folding=do_constant_folding,
        custom_opsets=custom_opsets, autograd_inlining=True, export_params=export_params,
        keep_initializers_as_inputs=keep_initializers_as_inputs, modules_as_functions=False,
    )  # fmt: skip
    request.keeps_unused_inputs = False
    made = request.model_file()
    return str(made.proto()) if google_printer else str(made.graph)
