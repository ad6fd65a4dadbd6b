"""Files with models, whatever wrote them: ONNX files, TorchScript archives, exported programs (.pt2) and files of ``jit.save``.

A file is told by its content, not by its name, and is read without running any code in it.
"""

from __future__ import annotations

import inspect
import os
import struct
import zipfile
from dataclasses import dataclass
from typing import Any

from .compat import pytree
from .core.base import Spec, TensorBase
from .core.errors import RushlightError
from .core.symbolic import SymbolicInt
from .export import archive
from .export.exported_program import symbol_of
from .export.graph_signature import InputKind
from .jit import load as load_script
from .nn.modules.module import Module
from .onnx.files import opset_of, read_model
from .onnx.load import load as load_onnx
from .onnx.random_inputs import InputSpec, specs_of

ONNX, TORCHSCRIPT, PROGRAM, GRAPH = "ONNX file", "TorchScript archive", "exported program", "graph of jit.save"


class NoModel(RushlightError, ValueError):
    """A file that holds no model that can be read."""

    code = "RL415"


@dataclass
class ModelFile:
    """A model from a file: what it is, the program to call, and its inputs where the file says them."""

    path: str
    kind: str
    program: Any
    inputs: list[InputSpec] | None
    about: str
    exported: Any = None  # of an exported program: itself


def kind_of(path: Any) -> str:
    """What a file is, by its content; raises :class:`NoModel` with words for what it is instead."""
    path = os.fspath(path)
    try:
        with open(path, "rb") as file:
            head = file.read(16)
    except OSError as error:
        raise NoModel(f"'{path}' is no file that can be read: {error.strerror or error}") from None
    if not head:
        raise NoModel(f"'{path}' is no model: it is empty")
    if head.startswith(b"PK\3\4"):
        return _archive_kind(path)
    if head.startswith(b"\x80") and head[1:2] in b"\2\3\4\5":
        raise NoModel(f"'{path}' is a checkpoint in the old format: it holds values (rushlight.load reads them), and no model")
    if head.lstrip().startswith((b"<", b"{", b"#", b"import", b"from", b'"""')):
        raise NoModel(f"'{path}' is no model, but text")
    if len(head) > 8 and head[8:9] == b"{" and struct.unpack("<Q", head[:8])[0] < os.path.getsize(path):
        raise NoModel(f"'{path}' is a safetensors file: it holds weights (for --weights), and no model")
    if head[0] in (0x08, 0x12, 0x1A, 0x22, 0x3A, 0x42):  # a field of ONNX's ModelProto
        return ONNX
    raise NoModel(f"'{path}' is no model that is known here: neither ONNX nor an archive of PyTorch's")


def _archive_kind(path: str) -> str:
    try:
        with zipfile.ZipFile(path) as opened:
            names = {name.partition("/")[2] for name in opened.namelist()}
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise NoModel(f"'{path}' is a damaged archive: {error}") from None
    if "models/model.json" in names or "archive_format" in names:
        return PROGRAM
    if names & {"constants.pkl", "model.json"} and any(name.startswith("code/") for name in names):
        return TORCHSCRIPT
    if "data.pkl" in names:
        return GRAPH
    raise NoModel(f"'{path}' is no model, but another zip archive")


def open_model(path: Any) -> ModelFile:
    """Read a model from a file of any of the formats."""
    path = os.fspath(path)
    kind = kind_of(path)
    if kind == ONNX:
        proto = read_model(path, check=False)
        made: Any = load_onnx(path)
        try:
            inputs: list[InputSpec] | None = specs_of(proto)
        except ValueError:
            inputs = None
        return ModelFile(path, kind, made, inputs, f"ONNX, opset {opset_of(proto)}, by {proto.producer_name or 'unknown'}")
    if kind == PROGRAM:
        ep = archive.load(path)
        flat = FlatProgram(ep)
        return ModelFile(path, kind, flat.simplest(), flat.specs, f"exported program, {len(ep.graph.nodes)} nodes", ep)
    try:
        made = load_script(path)
    except RushlightError as error:
        if kind == GRAPH:
            raise NoModel(f"'{path}' is a checkpoint: it holds values (rushlight.load reads them), and no model") from error
        raise
    if isinstance(made, Module):
        made.eval()
    return ModelFile(path, kind, made, None, kind)


def _bounds(size: SymbolicInt, ranges: dict[Any, Any]) -> tuple[int, int] | None:
    """How small and how large a dynamic size may be; None where nothing is said of it."""
    found = ranges.get(symbol_of(size.expression))
    return None if found is None else (int(found.lower), int(found.upper))


class FlatProgram(Module):
    """An exported program that takes its tensors one by one, whatever they are nested in; other inputs are as in the example."""

    def __init__(self, ep: Any) -> None:
        super().__init__()
        self.inner = ep.module()
        signature = ep.module_call_graph[0].signature
        self.__dict__["spec"] = signature.in_spec
        nodes = {node.name: node for node in ep.graph.nodes if node.op == "placeholder"}
        self.specs: list[InputSpec] = []
        self.constants: list[Any] = []
        for each in ep.graph_signature.input_specs:
            if each.kind is not InputKind.USER_INPUT:
                continue
            known = nodes[each.arg.name].meta.get("val")
            if isinstance(known, (TensorBase, Spec)):
                array = known._array if isinstance(known, TensorBase) else known
                dims = tuple(_word(size) if isinstance(size, SymbolicInt) else int(size) for size in array.shape)
                known_ranges = {_word(size): _bounds(size, ep.range_constraints) for size in array.shape if isinstance(size, SymbolicInt)}
                self.specs.append(
                    InputSpec(each.arg.name, array.dtype, dims, ranges={k: v for k, v in known_ranges.items() if v is not None})
                )
                self.constants.append(_TENSOR)
            else:
                self.constants.append(int(known) if isinstance(known, SymbolicInt) else known)
        names = [inspect.Parameter(str(spec.name), inspect.Parameter.POSITIONAL_OR_KEYWORD) for spec in self.specs]
        forward = self.run

        def called(*args: Any, **kwargs: Any) -> Any:
            return forward(*args, *(kwargs[str(spec.name)] for spec in self.specs[len(args) :]))

        called.__signature__ = inspect.Signature(names)  # type: ignore[attr-defined]
        self.__dict__["forward"] = called

    def run(self, *tensors: Any) -> Any:
        """Run the program on its tensors."""
        given = iter(tensors)
        leaves = [next(given) if each is _TENSOR else each for each in self.constants]
        args, kwargs = pytree.tree_unflatten(leaves, self.__dict__["spec"])
        return self.inner(*args, **kwargs)

    def simplest(self) -> Any:
        """The program as it is, where its arguments are tensors alone; else this."""
        spec = self.__dict__["spec"]
        plain = all(each.is_leaf() for each in (*spec.children_specs[0].children_specs, *spec.children_specs[1].children_specs))
        if not plain or any(each is not _TENSOR for each in self.constants):
            return self
        for each, name in zip(self.specs, self.inner._graph._codegen.names):
            each.name = name
        return self.inner

    def train(self, mode: bool = True) -> Any:
        """An exported program has the mode that it was exported in."""
        return self


_TENSOR: Any = object()


def _word(size: SymbolicInt) -> str:
    """A dynamic size as a word."""
    return str(size.expression).replace("*", "_times_").replace(" + ", "_plus_").replace(" - ", "_minus_").strip("()")


def is_model_file(text: str) -> bool:
    """Whether a word on the command line names a file that is no Python: a model, one hopes."""
    return os.path.isfile(text) and not text.endswith(".py")
