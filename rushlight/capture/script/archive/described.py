"""Archives of PyTorch 1.0 to 1.2: Modules are described in a ``model.json``, tensors are listed there, and code is methods without their classes."""

from __future__ import annotations

import ast
import json
from typing import Any

from ....core.dtypes import BY_NAME
from ....core.errors import ArgumentError, CaptureError
from ....serialization.identities import typed
from ....serialization.locations import meta_storage, needs_no_data
from ....serialization.rebuild import array_storage, rebuild_tensor_v2
from ..frontend.types import NONE
from .code_text import ROOT, CodeClass, CodeFile
from .reader import ProgramReader
from .unpickling import ObjectUnpickler, unpickled

_PLACE = f"{ROOT}.described"  # where the classes of Modules are, which these archives do not name
_DEEPEST = 100
_DTYPES = {
    "FLOAT": "float32", "DOUBLE": "float64", "FLOAT16": "float16", "INT64": "int64", "INT32": "int32", "INT16": "int16", "INT8": "int8",
    "UINT8": "uint8", "BYTE": "uint8", "BOOL": "bool",
}  # fmt: skip


class DescribedReader(ProgramReader):
    """Reads one archive with a ``model.json``."""

    attributes: tuple[Any, ...] = ()

    def read(self) -> Any:
        """The Module that the archive holds."""
        try:
            described = json.loads(self.code.text("model.json"))
        except ValueError as error:
            raise CaptureError(f"the archive's model.json can't be read: {error}") from None
        self.storages: dict[str, Any] = {}
        self.constants = tuple([self.tensor(at, each) for at, each in enumerate(described.get("tensors", []))])
        if "attributes.pkl" in self.archive:
            reader = ObjectUnpickler(self.archive.read("attributes.pkl"), _no_storage, self, list(self.constants))
            self.attributes = tuple(unpickled("attributes.pkl", reader))
        made = self.described_module(described["mainModule"])
        self.archive.finish()
        self.finish_all()
        return made

    def tensor(self, number: int, row: dict[str, Any]) -> Any:
        """A tensor of the table."""
        kind = row.get("dataType", "FLOAT")
        if row.get("isQuantized") or kind not in _DTYPES:
            raise CaptureError(
                f"the tensor {number} of the archive's model.json is of the type {kind}, which such archives can't be read with"
            )
        record, location, dtype = str(row["data"]["key"]), str(row.get("device", "cpu")), BY_NAME[_DTYPES[kind]]
        if record not in self.storages:
            if needs_no_data(self.map_location, location):
                untyped = meta_storage(self.archive.record(record).size)
            else:
                untyped = self.restore(array_storage(self.archive.array(record)), location)
            self.storages[record] = untyped
        sizes, strides = (tuple([int(each) for each in row.get(name, ())]) for name in ("dims", "strides"))
        storage = typed(self.storages[record], dtype)
        try:
            return rebuild_tensor_v2(storage, int(row.get("offset", 0)), sizes, strides, bool(row.get("requiresGrad")), None)
        except ArgumentError as error:
            raise CaptureError(f"the tensor {number} of the archive's model.json can't be made: {error}") from None

    def described_module(self, row: dict[str, Any], depth: int = 0) -> Any:
        """A Module with those in it."""
        if depth > _DEEPEST:
            raise CaptureError("the archive is nested more deeply than any model is")
        name = str(row["name"])
        record = row.get("torchscriptArena", {}).get("key")
        file = CodeFile(str(record), self.code.text(str(record)) if record is not None else "")
        if not all(isinstance(each, ast.FunctionDef) for each in file.definitions.values()):
            raise CaptureError(f"the archive's code has a class where only methods may be: {file.path}")
        number = len(self.modules)
        qualified = f"{_PLACE}.Module{number}"
        definition = ast.ClassDef(
            name if name.isidentifier() else f"Module{number}",
            [ast.Name("Module")],
            [],
            list(file.definitions.values()) or [ast.Pass()],
            [],
        )
        described = self.code.classes[qualified] = CodeClass(qualified, definition, file)
        made = self.module(described)
        inside = {str(each["name"]): self.described_module(each, depth + 1) for each in row.get("submodules", ())}
        state: dict[str, Any] = {"training": True, **inside}
        described.annotations["training"] = ast.Name("bool")
        described.annotations |= {key: _named(self.class_of(each).qualified) for key, each in inside.items()}  # type: ignore[union-attr]
        described.lists = {"__parameters__": [], "__buffers__": []}
        for each in row.get("parameters", ()):
            key = str(each["name"])
            described.lists["__buffers__" if each.get("isBuffer") else "__parameters__"].append(key)
            described.annotations[key] = ast.Name("Tensor")
            state[key] = self.constants[int(each["tensorId"])]
        for each in row.get("attributes", ()):
            key = str(each["name"])
            described.annotations[key] = ast.Constant(str(each["type"]))
            if int(each.get("id", -1)) >= 0:
                state[key] = self.attributes[int(each["id"])]
            elif self.code.type_of(described.annotations[key], file) == NONE:
                state[key] = None
        if "__setstate__" in described.methods:
            self.fill_module(made, self.attributes[int(row["getStateAttributeId"])])
            made._modules.update(inside)
        else:
            self.fill_module(made, state)
        return made


def _named(qualified: str) -> ast.expr:
    """A dotted name as a syntax tree."""
    return ast.parse(qualified, mode="eval").body


def _no_storage(identity: Any) -> Any:
    raise CaptureError("the archive's attributes.pkl holds tensors of its own, which are all in the table of model.json")
