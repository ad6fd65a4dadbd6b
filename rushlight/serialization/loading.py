"""``load``: tensors and plain values out of a file, and nothing else unless the file is trusted."""

from __future__ import annotations

import io
import mmap as mapping
import os
import pickle
import sys
from collections.abc import Callable
from typing import Any

from ..core.errors import NotSupported, OperationError
from .identities import check_identity, typed
from .locations import meta_storage, needs_no_data, restorer
from .names import lookup
from .options import MAP_SHARED, LoadEndianness, options
from .rebuild import array_storage
from .records import LOCAL_MARK, ArchiveReader
from .safe_globals import Refusal, WeightsUnpickler, refusal_message, refused_names
from .stream_format import read_stream

_ENVIRONMENT = ("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")


def load(
    f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None, mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:  # fmt: skip
    """Read what :func:`save`, or PyTorch's ``torch.save``, has written.

    With ``weights_only`` (the default) a file can only bring tensors and plain values: names beyond those are refused, with
    what to do about it (:func:`add_safe_globals`).  Without it a file can execute anything; do that only to files you trust.
    ``map_location`` says where storages go (a device, its name, a dict from tag to tag, or a function of storage and tag);
    ``mmap`` leaves them in the file until they are read.
    """
    weights_only = _checked_mode(weights_only, pickle_module)
    if weights_only and pickle_module is not None:
        raise OperationError("Can not safely load weights when explicit pickle_module is specified")
    if weights_only and pickle_load_args.keys() - {"encoding"}:
        raise TypeError(f"load() got an unexpected keyword argument {next(iter(pickle_load_args.keys() - {'encoding'}))!r}")
    if isinstance(f, (str, bytes, os.PathLike)):
        with open(f, "rb", buffering=0) as file:
            return _load(file, map_location, pickle_module or pickle, weights_only, bool(mmap), pickle_load_args)
    _check_file(f)
    if mmap:
        raise ValueError("f must be a file path in order to use the mmap argument")
    return _load(f, map_location, pickle_module or pickle, weights_only, False, pickle_load_args)


def _checked_mode(weights_only: bool | None, pickle_module: Any) -> bool:
    forced = [os.environ.get(name, "").lower() in ("1", "y", "yes", "true") for name in _ENVIRONMENT]
    if all(forced):
        raise OperationError(f"Only one of `{_ENVIRONMENT[0]}` or `{_ENVIRONMENT[1]}` should be set, but both were set.")
    if forced[0]:
        return True
    if weights_only is None:
        return pickle_module is None and not forced[1]
    return bool(weights_only)


def _check_file(file: Any) -> None:
    for name in ("read", "readline", "seek", "tell"):
        if not hasattr(file, name):
            raise AttributeError(
                f"'{type(file).__name__}' object has no attribute '{name}'. You can only torch.load from a file that is "
                "seekable. Please pre-load the data into a buffer like io.BytesIO and try to load from it instead."
            )
    if isinstance(file, io.TextIOBase):
        raise TypeError("the file is open for text: open it with mode 'rb'")


def _load(file: Any, map_location: Any, pickle_module: Any, weights_only: bool, mapped: bool, extra: dict[str, Any]) -> Any:
    restore = restorer(map_location)
    start = file.tell()
    mark = file.read(4)
    file.seek(start)
    if not mark:
        raise EOFError("Ran out of input: the file is empty")
    if mark == LOCAL_MARK:
        archive = ArchiveReader(file, mapped, mapped and options.mmap_flags == MAP_SHARED)
        try:
            return _load_archive(archive, map_location, restore, pickle_module, weights_only, extra)
        finally:
            archive.close()
    if mapped:
        raise OperationError(
            "mmap can only be used with files saved with `torch.save(_use_new_zipfile_serialization=True), please torch.save "
            "your checkpoint with this option in order to use mmap."
        )
    data, position = _whole(file, start)

    def unpickle(place: int, load_storage: Callable[[Any], Any]) -> tuple[Any, int]:
        return _unpickle(data, place, load_storage, pickle_module, weights_only, extra)

    value, end = read_stream(data, position, restore, unpickle)
    file.seek(start + end - position)
    return value


def _whole(file: Any, start: int) -> tuple[Any, int]:
    """The contents of a file, mapped where possible, and where in them the present position is."""
    if type(file).__module__ in ("gzip", "bz2", "lzma"):  # the file beneath it is compressed
        return file.read(), 0
    try:
        return mapping.mmap(file.fileno(), 0, access=mapping.ACCESS_READ), start
    except (AttributeError, OSError, ValueError):  # it has no file beneath it
        return file.read(), 0


# -- archives ----------------------------------------------------------------------------------------------------


def is_torchscript(archive: ArchiveReader) -> bool:
    """Whether an archive holds a program of TorchScript."""
    return (
        "constants.pkl" in archive or "model.json" in archive or any(name.startswith(f"{archive.root}/code/") for name in archive.records)
    )


def _load_archive(
    archive: ArchiveReader, map_location: Any, restore: Any, pickle_module: Any, weights_only: bool, extra: dict[str, Any]
) -> Any:
    if is_torchscript(archive):
        raise NotSupported(
            "this is an archive of TorchScript, which has code in it: torch.load reads tensors and plain values, torch.jit.load reads this"
        )
    data = archive.read("data.pkl")
    value, _ = _unpickle(data, 0, storage_loader(archive, map_location, restore), pickle_module, weights_only, extra)
    archive.finish()
    return value


def storage_loader(archive: ArchiveReader, map_location: Any, restore: Any, folder: str = "data") -> Callable[[Any], Any]:
    """A function that gives the storages which a pickle names: their bytes are records of a folder of the archive."""
    foreign = _foreign_order(archive)
    storages: dict[str, Any] = {}

    def load_storage(identity: Any) -> Any:
        kind, key, location, count = check_identity(identity, 5)
        found = storages.get(key)
        if found is None:
            record = archive.record(f"{folder}/{key}")
            size = count * (kind.itemsize if kind is not None else 1)
            if record.size != size:
                raise OperationError(f"storage {key!r} has {record.size} bytes in the file, but the pickle says {size}")
            if needs_no_data(map_location, location):
                untyped = meta_storage(size)
            else:
                array = archive.array(f"{folder}/{key}")
                if foreign and kind is not None:
                    array.view(kind.numpy).byteswap(inplace=True)
                untyped = restore(array_storage(array), location)
            if foreign and kind is None:
                untyped.foreign_order = True
            found = storages[key] = typed(untyped, kind)
        elif getattr(found, "dtype", None) is not kind:
            raise OperationError(f"storage {key!r} appears in the file under two types")
        return found

    return load_storage


def _foreign_order(archive: ArchiveReader) -> bool:
    if "byteorder" in archive:
        order = archive.read("byteorder").decode("ascii", "replace")
        if order not in ("little", "big"):
            raise OperationError(f"Unknown endianness type: {order!r}")
    else:
        chosen = options.endianness
        order = sys.byteorder if chosen is LoadEndianness.NATIVE else "big" if chosen is LoadEndianness.BIG else "little"
    return order != sys.byteorder


# -- pickles -----------------------------------------------------------------------------------------------------


def _unpickle(
    data: Any, position: int, load_storage: Callable[[Any], Any], pickle_module: Any, weights_only: bool, extra: dict[str, Any]
) -> tuple[Any, int]:
    """The object in the pickle at a position, and where the pickle ends."""
    if weights_only:
        reader = WeightsUnpickler(data, position, load_storage, extra.get("encoding", "utf-8"))
        try:
            return reader.load(), reader.position
        except Refusal as error:
            names = refused_names(data, position, reader.encoding) or [str(error)]
            raise pickle.UnpicklingError(refusal_message(names)) from None
    file = io.BytesIO(data[position:]) if isinstance(data, bytes) else _At(data, position)
    unpickler = _trusting(pickle_module, load_storage)(file, **{"encoding": "utf-8", **extra})
    return unpickler.load(), position + file.tell()


class _At(io.RawIOBase):
    """A file over mapped memory from a position on."""

    def __init__(self, data: Any, start: int) -> None:
        self.data = data
        self.start = self.place = start

    def read(self, size: int = -1) -> bytes:
        end = len(self.data) if size is None or size < 0 else self.place + size
        found = bytes(self.data[self.place : end])
        self.place += len(found)
        return found

    def readline(self, size: int | None = -1) -> bytes:
        return self.read(self.data.find(b"\n", self.place) + 1 - self.place)

    def tell(self) -> int:
        return self.place - self.start


def _trusting(pickle_module: Any, load_storage: Callable[[Any], Any]) -> Any:
    """An unpickler that finds our objects under PyTorch's names, and everything else under its own."""

    class Unpickler(pickle_module.Unpickler):  # type: ignore[misc]
        def find_class(self, module: str, name: str) -> Any:
            return lookup(module, name)

        def persistent_load(self, identity: Any) -> Any:
            return load_storage(identity)

    return Unpickler


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """The names in a file that ``load`` refuses unless they are allowed."""
    if isinstance(f, (str, bytes, os.PathLike)):
        with open(f, "rb") as file:
            return get_unsafe_globals_in_checkpoint(file)
    if f.read(4) != LOCAL_MARK:
        raise ValueError("Expected input to be a checkpoint returned by torch.save")
    f.seek(-4, os.SEEK_CUR)
    archive = ArchiveReader(f)
    if "constants.pkl" in archive:
        raise ValueError("Expected input to be a checkpoint returned by torch.save but got a torchscript checkpoint")
    return refused_names(archive.read("data.pkl"))
