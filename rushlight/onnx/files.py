"""Reading ONNX files that may come from anywhere: what is damaged, or reaches out of its folder, is refused with one sentence."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import Any

from .errors import ModelFileError

DOMAINS = frozenset(("", "ai.onnx", "ai.onnx.ml", "ai.onnx.training", "ai.onnx.preview.training", "com.microsoft", "com.microsoft.nchwc"))
_EXTERNAL = 1  # TensorProto.DataLocation.EXTERNAL


def read_model(path: Any, *, check: bool = True, tensors: bool = False) -> Any:
    """The ``onnx.ModelProto`` of a file.

    External tensors are searched in its own folder and nowhere else, and are read only with ``tensors=True``.
    ``check`` runs onnx.checker on the whole model, and refuses operator sets that the installed packages do not know.
    """
    try:
        import onnx
    except ImportError:
        raise ImportError("reading ONNX files needs the package onnx: pip install onnx") from None

    path = os.fspath(path)
    if os.path.isdir(path):
        raise ModelFileError(f"'{path}' is a folder, not an ONNX file")
    try:
        model = onnx.load(path, load_external_data=False)
    except OSError as error:
        raise ModelFileError(f"can't read '{path}': {error.strerror or error}") from error
    except Exception as error:
        if type(error).__name__ != "DecodeError":  # protobuf's, which is no dependency of this package's own
            raise
        raise ModelFileError(f"'{path}' is no ONNX file, or is cut off: its bytes are no complete message") from error
    if not model.ir_version or not model.HasField("graph") or not model.opset_import:
        raise ModelFileError(f"'{path}' is no complete ONNX file: it has no graph, or does not say which operators it uses")
    check_external(model, os.path.dirname(os.path.abspath(path)))
    if check:
        check_opsets(model, int(onnx.defs.onnx_opset_version()))
        try:
            onnx.checker.check_model(path)
        except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError, ValueError) as error:
            raise ModelFileError(f"'{path}' is not valid ONNX: {first_line(error)}") from error
    if tensors:
        onnx.load_external_data_for_model(model, os.path.dirname(os.path.abspath(path)))
    return model


def first_line(error: BaseException) -> str:
    """What an error says, in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def opset_of(model: Any) -> int:
    """The version of ONNX's own operators that a model uses."""
    return next((int(each.version) for each in model.opset_import if each.domain in ("", "ai.onnx")), 0)


def check_opsets(model: Any, newest: int) -> None:
    """Refuse operator sets that are not known here."""
    own = {function.domain for function in model.functions}
    for each in model.opset_import:
        if each.domain in ("", "ai.onnx"):
            if not 1 <= each.version <= newest:
                raise ModelFileError(
                    f"the file uses opset {each.version}; the installed onnx package knows opsets up to {newest}: update it"
                )
        elif each.domain not in DOMAINS and each.domain not in own and uses_domain(model, each.domain):
            raise ModelFileError(f"the file uses operators of '{each.domain}', which neither it nor the installed packages define")


def uses_domain(model: Any, domain: str) -> bool:
    """Whether a node is of an operator set."""
    return any(node.domain == domain for node in nodes_of(model))


def nodes_of(model: Any) -> Iterator[Any]:
    """All nodes: of the graph, of the bodies in it, and of the model's functions."""
    yield from _nodes(model.graph.node)
    for function in model.functions:
        yield from _nodes(function.node)


def _nodes(nodes: Any) -> Iterator[Any]:
    for node in nodes:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _nodes(attribute.g.node)
            for graph in attribute.graphs:
                yield from _nodes(graph.node)


def tensors_of(model: Any) -> Iterator[Any]:
    """All tensors that are stored: initializers, those of bodies, and those in attributes."""

    def of_graph(graph: Any) -> Iterator[Any]:
        yield from graph.initializer
        for each in graph.sparse_initializer:
            yield from (each.values, each.indices)
        yield from of_nodes(graph.node)

    def of_nodes(nodes: Any) -> Iterator[Any]:
        for node in nodes:
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    yield attribute.t
                yield from attribute.tensors
                if attribute.HasField("g"):
                    yield from of_graph(attribute.g)
                for graph in attribute.graphs:
                    yield from of_graph(graph)

    yield from of_graph(model.graph)
    for function in model.functions:
        yield from of_nodes(function.node)


def check_external(model: Any, folder: str) -> None:
    """Refuse external tensors outside the model's folder (also by a link), and incomplete ones."""
    root = os.path.realpath(folder)
    for tensor in tensors_of(model):
        if tensor.data_location != _EXTERNAL:
            continue
        facts = {each.key: each.value for each in tensor.external_data}
        location = facts.get("location", "")
        if "\0" in location:
            raise ModelFileError(f"the file says that the tensor '{tensor.name}' is stored at {location!r}, which is no name of a file")
        place = os.path.realpath(os.path.join(root, location))
        if not location or os.path.isabs(location) or os.path.commonpath([root, place]) != root:
            raise ModelFileError(
                f"the file says that the tensor '{tensor.name}' is stored at '{location}', outside its own folder: it is not read"
            )
        try:
            found = os.stat(place)
        except OSError:
            raise ModelFileError(f"the file '{location}' with the tensor '{tensor.name}' is not there, beside the model") from None
        try:
            start, length = int(facts.get("offset") or 0), int(facts.get("length") or 0)
        except ValueError:
            raise ModelFileError(f"the file gives a place for the tensor '{tensor.name}' that is no number") from None
        if not stat.S_ISREG(found.st_mode):  # a pipe would be waited for
            raise ModelFileError(f"'{location}', where the tensor '{tensor.name}' is stored, is no ordinary file")
        if start < 0 or length < 0 or start + length > found.st_size:
            raise ModelFileError(f"the file '{location}' is too short for the tensor '{tensor.name}': it is cut off, or not the model's")


__all__ = ["ModelFileError", "check_external", "check_opsets", "first_line", "nodes_of", "opset_of", "read_model", "tensors_of"]
