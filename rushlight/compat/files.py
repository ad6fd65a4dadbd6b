"""`torch.PyTorchFileReader`: the records of a file that `save` wrote, an archive in one folder."""

from __future__ import annotations

import zipfile
from typing import Any

import numpy as np

from ..core.base import make


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
