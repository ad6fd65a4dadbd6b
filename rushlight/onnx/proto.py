"""From the graph of ONNX nodes to a file.

Large tensors are never copied into the protobuf message: the file is written around them, field by field, so that an
export needs little more memory than the model itself.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from typing import Any, BinaryIO

import numpy as np

from ..core.devices import device_type_of
from ..core.release import VERSION
from ..core.symbolic import SymbolicInt
from .errors import CheckerError, ExportInputError
from .ir import OnnxGraph, OnnxNode, OnnxValue
from .local_functions import LocalFunction
from .types import onnx_type

LARGE = 1 << 12  # bytes: tensors from here on are written around the message
TILE = (256, 64)  # rows and columns that are transposed together
LIMIT = (1 << 31) - (1 << 20)  # a protobuf message can't be larger than 2 GB


def rename(formula: str, names: dict[str, str]) -> str:
    """A symbolic size with other names, all at once; a key that is a formula goes before its parts."""
    keys = "|".join(re.escape(each) for each in sorted(names, key=len, reverse=True))
    return re.sub(rf"(?<![\w.])(?:{keys})(?![\w.])", lambda found: names[found[0]], formula)


def renamed_axes(model: Any, names: dict[str, str]) -> Any:
    """A ModelProto whose sizes have other names."""
    for value in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_param = rename(dim.dim_param, names)
    return model


class OnnxModel:
    """A finished graph with what the file says about it."""

    def __init__(
        self, graph: OnnxGraph, arrays: dict[str, np.ndarray], opset: int, *, domains: dict[str, int] | None = None,
        name: str = "main_graph", classes: dict[str, type] | None = None, export_params: bool = True,
        initializers_as_inputs: bool = False, functions: list[LocalFunction] | None = None, optional: Sequence[str] = (),
        metadata: dict[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.optional = frozenset(optional)  # small stored tensors that are inputs too: what is stored is their default
        self.metadata = metadata or {}
        self.functions = functions or []
        self.graph = graph
        self.arrays = {name: each if isinstance(each, np.ndarray) else device_type_of(each).to_host(each) for name, each in arrays.items()}
        self.opset = opset
        self.domains = domains or {}
        self.name = name
        self.classes = classes or {}
        self.export_params = export_params
        self.initializers_as_inputs = initializers_as_inputs
        self.renamed_axes: list[dict[str, str]] = []  # other names of symbolic sizes, one change after the other

    # -- the message ---------------------------------------------------------------------------------------------

    def proto(self, tensors: bool = True) -> Any:
        """The ModelProto; without ``tensors``, large ones are inputs of their type and shape instead."""
        import onnx

        model = onnx.ModelProto()
        model.producer_name = "rushlight"
        model.producer_version = VERSION
        model.opset_import.add(domain="", version=self.opset)
        used = {node.domain for node in all_nodes(self.graph._nodes)} - {""}
        used |= {node.domain for function in self.functions for node in all_nodes(function.nodes)} - {""}
        for domain in sorted(used | set(self.domains)):
            model.opset_import.add(domain=domain, version=self.domains.get(domain, 1))
        standard = [each for each in model.opset_import if each.domain in ("", "ai.onnx.ml")]
        model.ir_version = max(onnx.helper.find_min_ir_version_for(standard, True), 8 if self.functions else 7)
        self.fill(model.graph, self.graph, tensors)
        model.graph.name = self.name
        for key, fact in self.metadata.items():
            model.metadata_props.add(key=key, value=fact)
        for function in self.functions:
            self.write_function(model.functions.add(), function)
        return model

    def write_function(self, proto: Any, function: LocalFunction) -> None:
        """Write a function of the model."""
        proto.domain, proto.name = function.domain, function.name
        proto.input.extend(value.name for value in function.inputs)
        proto.output.extend(value.name for value in function.outputs)
        for node in function.nodes:
            self.write_node(proto.node.add(), node)
        proto.opset_import.add(domain="", version=self.opset)
        for domain in sorted({node.domain for node in all_nodes(function.nodes)} - {""}):
            proto.opset_import.add(domain=domain, version=self.domains.get(domain, 1))

    def fill(self, proto: Any, graph: OnnxGraph, tensors: bool) -> None:
        """Write a graph into a GraphProto."""
        for node in graph._nodes:
            self.write_node(proto.node.add(), node)
        for value in graph._inputs:
            self.write_type(proto.input.add(), value)
        for value in graph._outputs:
            self.write_type(proto.output.add(), value)
        for name, value in graph.initializers.items():
            if self.initializers_as_inputs or not self.export_params or name in self.optional:
                self.write_type(proto.input.add(), value)
            if self.export_params and (tensors or self.arrays[name].nbytes < LARGE):
                write_tensor(proto.initializer.add(), self.arrays[name], name)
            elif self.export_params and not self.initializers_as_inputs:
                self.write_type(proto.input.add(), value)
        known = {each.name for each in (*graph._inputs, *graph._outputs)}
        for node in graph._nodes:
            for value in node._outputs:
                if value.shape is not None and value.dtype is not None and value.name not in known and node._kind != "onnx::Constant":
                    self.write_type(proto.value_info.add(), value)

    def write_node(self, proto: Any, node: OnnxNode) -> None:
        proto.op_type = node.op_type
        if node.domain:
            proto.domain = node.domain
        proto.name = node.name
        proto.input.extend("" if each is None else each.name for each in node._inputs)
        proto.output.extend(each.name for each in node._outputs)
        for name in sorted(node.attributes):
            self.write_attribute(proto.attribute.add(), name, node.attributes[name])
        for key, fact in node.metadata.items():
            proto.metadata_props.add(key=key, value=fact)
        if node.source is not None or node.module:
            path = node.module
            scopes = [""] + [".".join(path.split(".")[: at + 1]) for at in range(len(path.split(".")))] if path else [""]
            names = [f"{each.__module__}.{each.__qualname__}" for scope in scopes if (each := self.classes.get(scope)) is not None]
            facts = {
                "namespace": path.replace(".", "/"),
                "pkg.torch.onnx.name_scopes": str(scopes),
                "pkg.torch.onnx.class_hierarchy": str(names),
            }
            if node.source is not None:
                facts["pkg.torch.onnx.stack_trace"] = f'File "{node.source[0]}", line {node.source[1]}, in {node.source[2]}'
            for key, fact in facts.items():
                if fact:
                    proto.metadata_props.add(key=key, value=fact)

    def write_attribute(self, proto: Any, name: str, value: Any) -> None:
        import onnx

        kinds = onnx.AttributeProto
        proto.name = name
        if isinstance(value, OnnxGraph):
            proto.type = kinds.GRAPH
            self.fill(proto.g, value, True)
            proto.g.name = name
        elif isinstance(value, OnnxValue):  # its type
            proto.type = kinds.TYPE_PROTO
            self.write_value_type(proto.tp, value)
        elif isinstance(value, np.ndarray):
            proto.type = kinds.TENSOR
            write_tensor(proto.t, value, "")
        elif isinstance(value, str):
            proto.type, proto.s = kinds.STRING, value.encode()
        elif isinstance(value, (float, np.floating)):
            proto.type, proto.f = kinds.FLOAT, float(value)
        elif isinstance(value, (int, np.integer)):
            proto.type, proto.i = kinds.INT, int(value)
        elif value and isinstance(value[0], (float, np.floating)):
            proto.type = kinds.FLOATS
            proto.floats.extend(float(each) for each in value)
        elif value and isinstance(value[0], str):
            proto.type = kinds.STRINGS
            proto.strings.extend(each.encode() for each in value)
        else:
            proto.type = kinds.INTS
            proto.ints.extend(int(each) for each in value)

    def write_type(self, proto: Any, value: OnnxValue) -> None:
        proto.name = value.name
        self.write_value_type(proto.type, value)

    def write_value_type(self, proto: Any, value: OnnxValue) -> None:
        """The type of a value: of a tensor, or of a container of tensors."""
        if value.container:
            proto = proto.sequence_type.elem_type if value.container == "sequence" else proto.optional_type.elem_type
        kind = proto.tensor_type
        kind.elem_type = 0 if value.dtype is None else onnx_type(value.dtype, self.opset)
        if value.shape is None:
            return
        kind.shape.SetInParent()
        for size in value.shape:
            dim = kind.shape.dim.add()
            if isinstance(size, SymbolicInt):
                dim.dim_param = reduce(rename, self.renamed_axes, str(size.expression))
            elif isinstance(size, int):
                dim.dim_value = size

    # -- the file ------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Run onnx.checker on the whole model, large tensors excepted."""
        import onnx

        try:
            onnx.checker.check_model(self.proto(tensors=False), full_check=True)
        except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
            raise CheckerError(f"the exported model is not valid ONNX: {error}") from error

    def pieces(self) -> Iterator[bytes | memoryview]:
        """The bytes of the file, large tensors straight from their memory."""
        model = self.proto(tensors=False)
        large = [name for name in self.graph.initializers if self.export_params and self.arrays[name].nbytes >= LARGE]
        if not self.initializers_as_inputs:
            added = set(large)
            kept = [each for each in model.graph.input if each.name not in added]
            del model.graph.input[:]
            model.graph.input.extend(kept)
        small = {each.name: each for each in model.graph.initializer}
        del model.graph.initializer[:]
        body = model.graph.SerializeToString(deterministic=True)
        model.ClearField("graph")
        parts: list[tuple[bytes, Any]] = []
        for name in self.graph.initializers:
            if not self.export_params:
                continue
            if name in small:
                data = small[name].SerializeToString(deterministic=True)
                parts.append((_key(5, len(data)) + data, None))
            else:
                array = self.arrays[name]
                head = tensor_head(array, name) + _key(9, array.nbytes)  # raw_data
                parts.append((_key(5, len(head) + array.nbytes) + head, array))
        length = len(body) + sum(len(head) + (0 if array is None else array.nbytes) for head, array in parts)
        yield model.SerializeToString(deterministic=True)
        yield _key(7, length) + body  # graph
        with ThreadPoolExecutor(1) as ahead:  # while one tensor is written, the next is put into ONNX's order
            ready = [None if array is None else ahead.submit(raw, array) for _, array in parts[:2]]
            for at, (head, _) in enumerate(parts):
                yield head
                data = ready.pop(0)
                if at + 2 < len(parts):
                    array = parts[at + 2][1]
                    ready.append(None if array is None else ahead.submit(raw, array))
                if data is not None:
                    yield data.result()

    @property
    def nbytes(self) -> int:
        """The size of the stored tensors."""
        return sum(self.arrays[name].nbytes for name in self.graph.initializers)

    def write(self, file: BinaryIO) -> None:
        """Write the model to a file object."""
        if self.nbytes > LIMIT:
            raise ExportInputError(
                "a model of more than 2 GB can't be written to a file object: give a path, for the tensors to be stored next to it"
            )
        for piece in self.pieces():
            file.write(piece)

    def save(self, path: str, external: bool | None = None) -> None:
        """Write the model to a path, as a whole or not at all; above 2 GB (or if asked) with its tensors in a second file."""
        if external or (external is None and self.nbytes > LIMIT):
            self.save_external(path)
            return
        replace(path, self.write)

    def save_external(self, path: str) -> None:
        """Write the model and, beside it, its large tensors."""
        model = self.proto(tensors=False)
        large = [name for name in self.graph.initializers if self.arrays[name].nbytes >= LARGE]
        if not self.initializers_as_inputs:
            kept = [each for each in model.graph.input if each.name not in set(large)]
            del model.graph.input[:]
            model.graph.input.extend(kept)
        small = {each.name: each for each in model.graph.initializer}
        located = [small[name] for name in self.graph.initializers if name in small]
        del model.graph.initializer[:]
        place = os.path.basename(path) + ".data"
        order = []
        offset = 0
        copies = {each.name: each.SerializeToString() for each in located}
        for name in self.graph.initializers:
            tensor = model.graph.initializer.add()
            if name in copies:
                tensor.ParseFromString(copies[name])
                continue
            array = self.arrays[name]
            tensor.ParseFromString(tensor_head(array, name))
            tensor.data_location = 1  # external
            for key, fact in (("location", place), ("offset", str(offset)), ("length", str(array.nbytes))):
                tensor.external_data.add(key=key, value=fact)
            order.append((offset, array))
            offset += -(-array.nbytes // 4096) * 4096

        def tensors(file: BinaryIO) -> None:
            for start, array in order:
                file.seek(start)
                file.write(raw(array))

        replace(path + ".data", tensors)
        replace(path, lambda file: file.write(model.SerializeToString(deterministic=True)))  # type: ignore[arg-type,return-value]


def all_nodes(nodes: list[OnnxNode]) -> Iterator[OnnxNode]:
    """Nodes and those of the bodies in them."""
    for node in nodes:
        yield node
        for attribute in node.attributes.values():
            if isinstance(attribute, OnnxGraph):
                yield from all_nodes(attribute._nodes)


def replace(path: str, write: Any) -> None:
    """Write a file under a temporary name and then put it in its place: nobody sees half of it."""
    folder = os.path.dirname(os.path.abspath(path))
    try:
        handle, temporary = tempfile.mkstemp(prefix=os.path.basename(path) + ".", dir=folder)
    except OSError as error:
        raise ExportInputError(f"can't write '{path}': {error.strerror or error}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except OSError as error:
        raise ExportInputError(f"can't write '{path}': {error.strerror or error}") from error
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


def write_tensor(proto: Any, array: np.ndarray, name: str) -> None:
    """Write an array into a TensorProto."""
    proto.dims.extend(array.shape)
    proto.data_type = onnx_type(array.dtype)
    if name:
        proto.name = name
    proto.raw_data = bytes(raw(array))


def tensor_head(array: np.ndarray, name: str) -> bytes:
    """A TensorProto up to its data."""
    import onnx

    proto = onnx.TensorProto(dims=array.shape, data_type=onnx_type(array.dtype), name=name)
    return proto.SerializeToString(deterministic=True)  # type: ignore[no-any-return]


def raw(array: np.ndarray) -> memoryview | bytes:
    """The elements in ONNX's byte order (little-endian), without a copy where they have it already."""
    column_major = array.ndim == 2 and array.flags.f_contiguous and array.size > TILE[0] * TILE[1]
    whole = _transposed(array.T) if column_major else np.ascontiguousarray(array)
    if whole.dtype.byteorder == ">":
        whole = whole.astype(whole.dtype.newbyteorder("<"))
    return whole.reshape(-1).view(np.uint8).data if whole.size else b""


def _transposed(array: np.ndarray) -> np.ndarray:
    """A contiguous copy of ``array.T``, by way of tiles that fit the cache: twice as fast as NumPy, which jumps from row to row."""
    result = np.empty(array.shape[::-1], array.dtype)
    rows, columns = TILE
    tile = np.empty((rows, columns + 9), array.dtype)  # 9 more, so that the rows of a tile do not fall on the same cache lines
    for row in range(0, array.shape[0], rows):
        for column in range(0, array.shape[1], columns):
            part = array[row : row + rows, column : column + columns]
            copy = tile[: part.shape[0], : part.shape[1]]
            copy[...] = part
            result[column : column + columns, row : row + rows] = copy.T
    return result


def _key(number: int, length: int) -> bytes:
    """The start of a length-delimited protobuf field."""
    return _varint(number << 3 | 2) + _varint(length)


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def check_proto(data: bytes, full_check: bool = False) -> None:
    """Run onnx.checker on a serialised model; a RuntimeError says what is wrong with it."""
    import onnx

    try:
        onnx.checker.check_model(onnx.load_from_string(data), full_check=full_check)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise CheckerError(f"the model is not valid ONNX: {error}") from error
