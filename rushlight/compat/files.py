"""`torch.PyTorchFileReader` and `torch.PyTorchFileWriter`: the records of a file that `save` writes, an archive in one folder."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from ..core.base import make
from ..serialization.records import ArchiveWriter


class PyTorchFileReader:
    """Reads the records of a file."""

    def __init__(self, name_or_buffer: Any) -> None:
        self._archive = zipfile.ZipFile(name_or_buffer)
        names = self._archive.namelist()
        if not names:
            raise RuntimeError("PytorchStreamReader failed reading zip archive: archive does not contain any files")
        self._folder = names[0].split("/")[0]

    def get_record(self, name: str) -> bytes:
        """The bytes of a record."""
        if not self.has_record(name):
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found")
        return self._archive.read(f"{self._folder}/{name}")

    def get_storage_from_record(self, name: str, numel: int, dtype: Any) -> Any:
        """The bytes of a record as a tensor of one dimension."""
        return make(np.frombuffer(bytearray(self.get_record(name)), np.uint8)).view(dtype)[:numel]

    def has_record(self, name: str) -> bool:
        """Whether there is a record of a name."""
        return f"{self._folder}/{name}" in self._archive.namelist()

    def get_all_records(self) -> list[str]:
        """The names of all records."""
        return [name.partition("/")[2] for name in self._archive.namelist()]


class PyTorchFileWriter:
    """Writes the records of a file."""

    def __init__(self, file: Any, compute_crc32: bool = True, alignment: int = 64) -> None:
        path = file if isinstance(file, str) else getattr(file, "name", "archive")
        self._file = open(file, "wb") if isinstance(file, str) else file  # noqa: SIM115  (closed at the end of the file)
        self._owned = isinstance(file, str)
        self._archive = ArchiveWriter(self._file, Path(str(path)).stem or "archive")
        self._names: list[str] = []

    def write_record(self, name: str, data: Any, size: int) -> None:
        """Write the bytes of a record: bytes, a storage or a tensor."""
        if isinstance(data, str):
            data = data.encode()
        elif not isinstance(data, (bytes, bytearray, memoryview)):
            data = data.untyped_storage() if hasattr(data, "untyped_storage") else data.untyped()
        self._archive.write(name, bytes(data)[:size])
        self._names.append(name)

    def get_all_written_records(self) -> list[str]:
        """The names of what was written."""
        return list(self._names)

    def archive_name(self) -> str:
        """The name of the folder in the archive."""
        return self._archive.root

    def write_end_of_file(self) -> None:
        """Finish the file."""
        self._archive.close()
        if self._owned:
            self._file.close()
