"""Archives for tests: recorded ones, and ones that are put together by hand as older versions of PyTorch wrote them."""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent / "data" / "torchscript"


@cache
def recorded(name: str) -> dict[str, bytes]:
    """The files of a recorded collection."""
    with tarfile.open(FOLDER / f"{name}.tar.xz") as file:
        return {entry.name: file.extractfile(entry).read() for entry in file.getmembers()}  # type: ignore[union-attr]


class Named:
    """A name that a pickle refers to."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name


class Made:
    """An object of a class of the archive with its state; ``called`` makes it by a call."""

    def __init__(self, qualified: str, state: Any, called: bool = False) -> None:
        self.module, _, self.name = qualified.rpartition(".")
        self.state, self.called = state, called


class Call:
    """A call that a pickle asks for."""

    def __init__(self, function: Named, *arguments: Any) -> None:
        self.function, self.arguments = function, arguments


class Pickler:
    """Writes the few instructions that archives have."""

    def __init__(self) -> None:
        self.out = bytearray(b"\x80\x02")
        self.storages: dict[str, bytes] = {}

    def finished(self, value: Any) -> bytes:
        self.put(value)
        return bytes(self.out + b".")

    def put(self, value: Any) -> None:
        out = self.out
        if value is None or isinstance(value, bool):
            out += {None: b"N", True: b"\x88", False: b"\x89"}[value]
        elif isinstance(value, int):
            data = value.to_bytes((value.bit_length() + 8) // 8, "little", signed=True)
            out += b"\x8a" + bytes([len(data)]) + data
        elif isinstance(value, float):
            out += b"G" + struct.pack(">d", value)
        elif isinstance(value, str):
            data = value.encode()
            out += b"X" + struct.pack("<I", len(data)) + data
        elif isinstance(value, (tuple, list)):
            out += b"(" if isinstance(value, tuple) else b"]("
            for each in value:
                self.put(each)
            out += b"t" if isinstance(value, tuple) else b"e"
        elif isinstance(value, dict):
            out += b"}("
            for key, each in value.items():
                self.put(key)
                self.put(each)
            out += b"u"
        elif isinstance(value, np.ndarray):
            self.tensor(value)
        elif isinstance(value, Named):
            out += f"c{value.module}\n{value.name}\n".encode()
        elif isinstance(value, Call):
            self.put(value.function)
            self.put(value.arguments)
            out += b"R"
        elif isinstance(value, Made):
            self.put(Named(value.module, value.name))
            if value.called:
                self.put(value.state)
                out += b"R"
            else:
                out += b")\x81"
                self.put(value.state)
                out += b"b"
        else:
            raise TypeError(type(value))

    def tensor(self, array: np.ndarray) -> None:
        kind = {"f": "FloatStorage", "i": "LongStorage", "b": "BoolStorage"}[array.dtype.kind]
        key = str(len(self.storages))
        self.storages[key] = array.tobytes()
        self.put(Named("torch._utils", "_rebuild_tensor_v2"))
        self.out += b"("
        self.put(("storage", Named("torch", kind), key, "cpu", array.size))
        self.out += b"Q"
        for each in (0, array.shape, tuple(stride // array.itemsize for stride in array.strides), False):
            self.put(each)
        self.out += b"ccollections\nOrderedDict\n)RtR"


def archive(
    code: dict[str, str], data: Any, constants: tuple[Any, ...] = (), extra: dict[str, bytes] | None = None, version: str = "3\n"
) -> io.BytesIO:
    """An archive of code (by the names of Python modules), an object and constants."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("model/version", version)
        for module, text in code.items():
            made.writestr(f"model/code/{module.replace('.', '/')}.py", text)
        for name, value in (("data", data), ("constants", constants)):
            pickler = Pickler()
            made.writestr(f"model/{name}.pkl", value if isinstance(value, bytes) else pickler.finished(value))
            for key, content in pickler.storages.items():
                made.writestr(f"model/{name}/{key}", content)
        for name, content in (extra or {}).items():
            made.writestr(f"model/{name}", content)
    file.seek(0)
    return file


def function(body: str, arguments: str = "x: Tensor", result: str = "Tensor", constants: tuple[Any, ...] = (), **others: str) -> io.BytesIO:
    """An archive of a Module with no attributes whose forward is a few lines."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    text = f"op_version_set = 1\nclass M(Module):\n  __parameters__ = []\n  training : bool\n  def forward(self: __torch__.M,\n    {arguments}) -> {result}:\n{lines}"
    return archive({"__torch__": text, **others}, Made("__torch__.M", {"training": False}), constants)
