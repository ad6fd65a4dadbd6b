"""Private names of `torch.serialization`: what programs that read files of their own call."""

from __future__ import annotations

import contextlib
import io
import pickle
import zipfile
from typing import Any

from ..serialization import check_module_version_greater_or_equal
from ..serialization.locations import restorer
from .files import PyTorchFileReader

_get_restore_location = restorer


def _is_path(name_or_buffer: Any) -> bool:
    """Whether a file is given by its path."""
    return isinstance(name_or_buffer, str) or hasattr(name_or_buffer, "__fspath__")


@contextlib.contextmanager
def _open_file_like(name_or_buffer: Any, mode: str) -> Any:
    """A file by its path, or one that is open already, which stays open."""
    if _is_path(name_or_buffer):
        with open(name_or_buffer, mode) as file:
            yield file
    else:
        yield name_or_buffer
        if "w" in mode:
            name_or_buffer.flush()


def _is_zipfile(f: Any) -> bool:
    """Whether a file that is open begins as an archive does."""
    start = f.tell()
    first = f.read(4)
    f.seek(start)
    return bool(first == b"PK\x03\x04")


@contextlib.contextmanager
def _open_zipfile_reader(name_or_buffer: Any) -> Any:
    """The records of an archive."""
    yield PyTorchFileReader(name_or_buffer)


def _is_torchscript_zip(zip_file: Any) -> bool:
    """Whether an archive holds a script."""
    return "constants.pkl" in zip_file.get_all_records()


def _maybe_decode_ascii(bytes_str: bytes | str) -> str:
    """Text of the ASCII that files of older Pythons have."""
    return bytes_str.decode("ascii") if isinstance(bytes_str, bytes) else bytes_str


def _check_dill_version(pickle_module: Any) -> None:
    """Refuse a version of dill that can't pickle storages."""
    if getattr(pickle_module, "__name__", "") == "dill" and not check_module_version_greater_or_equal(pickle_module, (0, 3, 1)):
        raise ValueError(
            f"'torch' supports dill >= 0.3.1, but you have dill {pickle_module.__version__}. Please upgrade dill or switch to 'pickle'"
        )


def _is_compressed_file(f: Any) -> bool:
    """Whether a file is compressed as a whole."""
    return getattr(f, "__module__", "") == "gzip"


def _should_read_directly(f: Any) -> bool:
    """Whether a file has a number of the operating system's, so that it can be read without Python."""
    try:
        return not _is_compressed_file(f) and f.fileno() >= 0
    except (io.UnsupportedOperation, AttributeError):
        return False


__all__ = ["pickle", "zipfile"]
