"""``onnx.load``: a file as a GraphModule that runs, trains, compiles, exports and is saved like any other."""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...capture.compile.annotations import mark
from ...capture.graph_module import GraphModule, assign, hasattr_at, targets
from ...core.errors import RushlightError
from ...graph import Graph
from ...nn.modules.module import Module
from ..errors import ModelFileError, UnsupportedModelError
from ..files import first_line
from . import control_flow, gradients, importers
from .builder import CONSTANT, ModelBuilder, element_type_of, numbers_in, plain, statistics_of, tensor_from
from .reading import ModelSource, read
from .scope import MISSING, GraphScope, NamedValue, Scope
from .strings import Strings

FIRST_OPSET = 1
OWN = re.compile(CONSTANT + r"\d+(\..*)?")


class OnnxGraphModule(GraphModule):
    """A model that was read from an ONNX file.

    It is called with the inputs of the file by position or by name (``model(**{"input.1": x})``), and returns its output, or a tuple of them.
    ``input_names`` and ``output_names`` are those of the file.
    """

    input_names: tuple[str, ...] = ()
    output_names: tuple[str, ...] = ()
    opsets: dict[str, int]
    metadata: dict[str, str]

    def __init__(self, root: Any = None, graph: Graph | None = None, class_name: str = "OnnxGraphModule") -> None:
        super().__init__(root, graph, class_name)
        self._non_persistent_buffers_set.update(name for name in self._buffers if name.startswith(CONSTANT))

    def recompile(self) -> Any:
        """Generate ``forward`` from the graph; it takes inputs by the names that the file has for them, too."""
        code = super().recompile()
        by_position: Any = type(self).forward

        @functools.wraps(by_position)
        def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
            return by_position(self, *(self.arranged(args, kwargs) if kwargs else args))

        type(self).forward = forward  # type: ignore[method-assign]
        return code

    def arranged(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """Arguments in the order of the inputs, from some by position and others by name: the file's, or that of the parameter."""
        placeholders = self._graph.find_nodes(op="placeholder")
        if len(args) > len(placeholders):
            raise TypeError(f"the model takes {len(placeholders)} inputs, not {len(args) + len(kwargs)}")
        found, given = list(args), dict(kwargs)
        for node in placeholders[len(args) :]:
            name = node.target if node.target in given else node.name
            if name not in given and not node.args:
                raise TypeError(
                    f"the model's input '{node.target}' is missing; it has {', '.join(repr(each.target) for each in placeholders)}"
                )
            found.append(given.pop(name) if name in given else node.args[0])
        if given:
            raise TypeError(
                f"the model has no input '{next(iter(given))}' (or it is given twice); it has {', '.join(repr(each.target) for each in placeholders)}"
            )
        return tuple(found)

    def describe(self, inputs: Sequence[str], outputs: Sequence[str], opsets: dict[str, int], metadata: dict[str, str]) -> None:
        """Say what the file says: the names of inputs and outputs, the operator sets and its metadata."""
        self.input_names, self.output_names = tuple(inputs), tuple(outputs)
        self.opsets, self.metadata = dict(opsets), dict(metadata)

    def texts(self) -> dict[str, Strings]:
        """The tensors of strings among what the graph refers to, by path."""
        return {path: value for path, value in targets(self) if isinstance(value, Strings)}

    def __deepcopy__(self, memo: Any) -> OnnxGraphModule:
        made: Any = super().__deepcopy__(memo)
        for name, value in (*self.named_parameters(), *self.named_buffers()):  # also those that no node uses
            if not hasattr_at(made, name):
                assign(made, name, copy.deepcopy(value, memo))
        made.describe(self.input_names, self.output_names, self.opsets, self.metadata)
        return made  # type: ignore[no-any-return]

    def __reduce__(self) -> Any:
        about = self.input_names, self.output_names, self.opsets, self.metadata
        parts = {**dict(self.named_parameters()), **dict(self.named_buffers()), **self.texts()}
        return (_rebuild, (parts, self._graph, type(self).__name__, self.training, about))


def load(source: Any, *, requires_grad: bool = True) -> OnnxGraphModule:
    """Read an ONNX model: a path, an open file, bytes, an ``onnx.ModelProto`` or an ``ONNXProgram``.

    Initializers become parameters (floating ones; ``requires_grad=False`` leaves them without gradients) and buffers, named as in the file.  The model is
    in evaluation mode, in which it computes what the file says; in training mode dropout drops and batch normalization normalizes by the batch.
    No code of the file's is run.  What it has that is not known here is refused by name with an
    :class:`~rushlight.onnx.errors.UnsupportedModelError`, and a damaged file with a :class:`~rushlight.onnx.errors.ModelFileError`.
    """
    found = read(source)
    try:
        return built(found, requires_grad)
    except (RushlightError, ImportError, MemoryError):
        raise
    except Exception as error:  # a name that is no text, and whatever else no valid file has
        raise ModelFileError(f"the model is damaged: {first_line(error)}") from error


def built(source: ModelSource, requires_grad: bool) -> OnnxGraphModule:
    """The module of a model that was read."""
    model = source.model
    builder = ModelBuilder(source)
    opsets = {plain(each.domain): each.version for each in model.opset_import}
    newest = int(builder.onnx.defs.onnx_opset_version())
    if not FIRST_OPSET <= opsets.get("", 1) <= newest:
        raise UnsupportedModelError(f"the file uses opset {opsets['']}; the installed onnx package knows opsets up to {newest}: update it")
    graph = model.graph
    scope = Scope(GraphScope(), opsets)
    builder.note_types(scope, graph)
    parameters = initializers(builder, scope, graph, requires_grad)
    known = set(scope.values)
    names = []
    for each in graph.input:
        if each.name in known:
            continue
        names.append(each.name)
        scope.define(each.name, NamedValue(scope.frame.input(each.name), type=element_type_of(each.type)))
    optional = [each.name for each in graph.input if each.name in known and model.ir_version >= 4]
    for name in optional:  # an input with a default
        value = scope.values.pop(name)
        given = scope.frame.input(name)
        given.args = (None,)
        default = scope.frame.attribute(value.attribute)
        scope.define(name, NamedValue(scope.graph.call_function(chosen, (given, default)), type=value.type))
    builder.nodes(scope, graph.node)
    outputs = [scope.tensor(scope.find(each.name, "the graph"), each.name) for each in graph.output]
    if not outputs:
        raise ModelFileError("the graph has no outputs")
    scope.graph.output(outputs[0] if len(outputs) == 1 else tuple(outputs))
    scope.graph.eliminate_dead_code()
    made = OnnxGraphModule(ModuleRoot(builder.parts), scope.graph)
    for path, tensor in parameters.items():
        assign(made, path, tensor)
    metadata = {each.key: each.value for each in model.metadata_props}
    made.describe([*names, *optional], [each.name for each in graph.output], opsets, metadata)
    return made.eval()  # type: ignore[no-any-return]


def _rebuild(parts: dict[str, Any], graph: Graph, name: str, training: bool, about: Any) -> OnnxGraphModule:
    made = OnnxGraphModule(ModuleRoot(parts), graph, name)
    for path, value in parts.items():
        assign(made, path, value)
    made.describe(*about)
    return made.train(training)  # type: ignore[no-any-return]


class ModuleRoot(Module):
    """What a graph refers to, by dotted path: the root from which a GraphModule takes it."""

    def __init__(self, parts: dict[str, Any]) -> None:
        super().__init__()
        for path, value in parts.items():
            assign(self, path, value)


def chosen(given: Any, default: Any) -> Any:
    """An input that was given, or its default."""
    return default if given is None else given


mark(chosen, "recorded")


def initializers(builder: ModelBuilder, scope: Scope, graph: Any, requires_grad: bool) -> dict[str, Any]:
    """Define the initializers of the main graph; returns the parameters and buffers by their paths."""
    statistics, shared = statistics_of(graph)
    paths = Paths()
    found: dict[str, Any] = {}
    rows = [(each.name, each.data_type, builder.source.initializer(position)) for position, each in enumerate(graph.initializer)]
    rows += [(each.values.name, each.values.data_type, builder.source.sparse(each)) for each in graph.sparse_initializer]
    for name, number, array in rows:
        if OWN.fullmatch(name):  # a constant of a model that was read and written again
            scope.define(name, builder.constant(array, number))
            continue
        path = paths.make(name)
        floating = not isinstance(array, Strings) and (array.dtype.kind == "f" or number in (16, 17, 19)) and name not in statistics
        tensor = tensor_from(array, floating)
        if floating and not requires_grad:
            tensor.requires_grad_(False)
        found[path] = builder.parts[path] = tensor
        scope.define(name, NamedValue(None, numbers_in(array, number), path, number))
    arrays = {name: (number, array) for name, number, array in rows}
    for count, (use, name) in enumerate(shared.items()):
        if name in arrays:
            number, array = arrays[name]
            path = paths.make(f"{name}_{count}")
            found[path] = builder.parts[path] = tensor_from(array.copy())
            builder.statistics[use] = NamedValue(None, MISSING, path, number)
    return found


_TAKEN = frozenset((*Module().__dict__, "_graph", "_code", "opsets", "metadata"))  # attributes of a Module, besides those of its class


class Paths:
    """Paths of parameters for the names in a file: the names themselves wherever a Module can have them."""

    def __init__(self) -> None:
        self.taken: set[str] = set()
        self.folders: set[str] = set()

    def make(self, name: str) -> str:
        """The path of a name."""
        parts = [part or "_" for part in (name or "_").split(".")]
        if hasattr(OnnxGraphModule, parts[0]) or parts[0] in _TAKEN:
            parts[0] += "_"
        parts[1:] = [part + "_" if hasattr(Module, part) or part in _TAKEN else part for part in parts[1:]]
        while True:
            path = ".".join(parts)
            above = {".".join(parts[:count]) for count in range(1, len(parts))}
            if path not in self.taken and path not in self.folders and not above & self.taken:
                break
            parts[-1 if path in self.taken | self.folders else 0] += "_"
        self.taken.add(path)
        self.folders |= above
        return path


__all__ = ["OnnxGraphModule", "control_flow", "gradients", "importers", "load"]
