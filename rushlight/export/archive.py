"""``torch.export.save`` and ``load``: ``.pt2`` files, as PyTorch writes and reads them.

A zip archive with the graph as JSON (``models/model.json``), the weights and constants as plain bytes with an index each, and the example inputs as a
checkpoint.  Reading runs no code: names, sizes and places are checked first, pickles are read with tensors and plain containers alone.
"""

from __future__ import annotations

import io
import json
import math
import os
import pickle
from collections import Counter
from typing import Any

import numpy as np

from ..core.base import Spec, TensorBase, make
from ..core.errors import GraphError, NotSupported, OperationError
from ..nn.parameter import Parameter
from ..serialization import load as load_checkpoint
from ..serialization import save as save_checkpoint
from ..serialization.records import ArchiveReader, ArchiveWriter
from ..serialization.safe_globals import safe_globals
from ..serialization.saving import replacing
from .deserialize import dtype_of, get, read_program
from .errors import ArchiveError
from .exported_program import ExportedProgram
from .registration import registered_classes
from .serialize import program_data, tensor_meta

_MODEL, _WEIGHTS, _CONSTANTS = "models/model.json", "data/weights/model_weights_config.json", "data/constants/model_constants_config.json"
_SAMPLE = "data/sample_inputs/model.pt"
_EXTRA = "extra/"
_LARGEST_JSON = 1 << 28  # bytes: some 100,000 nodes


def save(
    ep: ExportedProgram,
    f: Any,
    *,
    extra_files: dict[str, Any] | None = None,
    opset_version: dict[str, int] | None = None,
    pickle_protocol: int = 2,
) -> None:
    """Write an exported program to a file that PyTorch reads, too."""
    if not isinstance(ep, ExportedProgram):
        raise TypeError(f"The 'ep' parameter must be an instance of 'ExportedProgram', got '{type(ep).__name__}' instead.")
    model = json.dumps(program_data(ep)).encode()
    if isinstance(f, (str, os.PathLike)):
        path = os.fspath(f)
        root = os.path.splitext(os.path.basename(path))[0] or "archive"
        with replacing(path) as file:
            _write(ep, model, file, root, extra_files or {}, pickle_protocol)
    elif hasattr(f, "write"):
        _write(ep, model, f, "archive", extra_files or {}, pickle_protocol)
        if hasattr(f, "seekable") and f.seekable():
            f.seek(0)  # as PyTorch leaves it: ready to be read
    else:
        raise TypeError(f"a path or a file to write to is expected, not {type(f).__name__}")


def _write(ep: ExportedProgram, model: bytes, file: Any, root: str, extra: dict[str, Any], protocol: int) -> None:
    writer = ArchiveWriter(file, root)
    for values, place, prefix, index in (
        (ep.state_dict, "data/weights/", "weight_", _WEIGHTS),
        (ep.constants, "data/constants/", "tensor_", _CONSTANTS),
    ):
        written: dict[int, str] = {}
        config: dict[str, Any] = {}
        for name, value in values.items():
            if not isinstance(value, TensorBase) or value._array.__class__ is Spec or not isinstance(value._array, np.ndarray):
                raise NotSupported(f"'{name}' is no plain tensor on the CPU, and can't be part of a .pt2 file")
        memory = _shared_memory([value._array for value in values.values()])
        for name, value in values.items():
            array = value._array
            whole = memory[id(array)]
            dense, held = (np.asarray(array, order="C"),) * 2 if whole is array else (whole, array)
            if id(whole) not in written:
                written[id(whole)] = f"{prefix}{len(written)}"
                writer.write(place + written[id(whole)], dense.reshape(-1).view(np.uint8) if dense.size else b"")
            meta = tensor_meta(value)
            meta["strides"] = [{"as_int": each // max(held.itemsize, 1)} for each in held.strides]
            meta["storage_offset"] = {"as_int": (held.ctypes.data - dense.ctypes.data) // max(held.itemsize, 1) if held.size else 0}
            config[name] = {
                "path_name": written[id(whole)],
                "is_param": isinstance(value, Parameter),
                "use_pickle": False,
                "tensor_meta": meta,
            }
        writer.write(index, json.dumps({"config": config}).encode())
    writer.write(_MODEL, model)
    held = io.BytesIO()
    if ep.example_inputs is not None:
        save_checkpoint(ep.example_inputs, held, pickle_protocol=protocol)
    writer.write(_SAMPLE, held.getvalue())  # without inputs it is empty, but PyTorch asks for it
    for name, content in extra.items():
        writer.write(_EXTRA + name, content.encode() if isinstance(content, str) else content)
    writer.write("archive_format", b"pt2")
    writer.write("archive_version", b"0")
    writer.write(".data/version", b"6\n")
    writer.write("byteorder", b"little")
    writer.write(".data/serialization_id", b"0" * 40)
    writer.close()


def _shared_memory(arrays: list[Any]) -> dict[int, Any]:
    """Of each array, by its id, what is written: the memory that it is a part of, where another is, too, so that they share it again; else itself."""

    def base(array: Any) -> Any:
        root = array
        while isinstance(root.base, np.ndarray):
            root = root.base
        fits = root.dtype == array.dtype and root.flags.c_contiguous and all(each >= 0 for each in array.strides)
        return root if fits and array.size else array

    roots = {id(array): base(array) for array in arrays}
    users = Counter(id(roots[key]) for key in roots)
    return {id(array): roots[id(array)] if users[id(roots[id(array)])] > 1 else array for array in arrays}


def load(f: Any, *, extra_files: dict[str, Any] | None = None, expected_opset_version: dict[str, int] | None = None) -> ExportedProgram:
    """Read an exported program that PyTorch or :func:`save` has written.  Nothing in the file is run."""
    if isinstance(f, (str, os.PathLike)):
        with open(os.fspath(f), "rb") as file:
            return _read(file, os.fspath(f), extra_files)
    if not hasattr(f, "read"):
        raise TypeError(f"a path or a file to read from is expected, not {type(f).__name__}")
    return _read(f, "the file", extra_files)


def _read(file: Any, what: Any, extra: dict[str, Any] | None) -> ExportedProgram:
    try:
        archive = ArchiveReader(file)
    except OperationError as error:
        raise ArchiveError(f"{what} is no exported program: {error}") from None
    try:
        if _MODEL not in archive:
            others = [name for name in archive.records if "/models/" in name and name.endswith(".json")]
            more = f": its programs are {', '.join(others)[:100]}" if others else " (models/model.json is missing)"
            if f"{archive.root}/constants.pkl" in archive.records:
                more = ": it is a TorchScript archive, which torch.jit.load reads"
            raise ArchiveError(f"{what} is no exported program{more}")
        for name in extra or {}:
            if _EXTRA + name not in archive:
                raise ArchiveError(f"{what} has no extra file '{name}'")
            extra[name] = archive.read(_EXTRA + name).decode()  # type: ignore[index]
        try:
            state = _tensors(archive, _WEIGHTS, "data/weights/", True)
            constants = _tensors(archive, _CONSTANTS, "data/constants/", False)
            program = read_program(_json(archive, _MODEL), state, constants, _example(archive))
        except GraphError as error:
            raise ArchiveError(f"{what}: its graph makes no sense: {error}") from error
        except pickle.UnpicklingError as error:
            raise ArchiveError(f"{what}: a tensor in it can't be read: {error}") from error
        except (AttributeError, KeyError, TypeError, IndexError, RecursionError, OverflowError) as error:
            raise ArchiveError(f"{what}: its graph is not built as PyTorch's schema says ({type(error).__name__}: {error})") from error
        archive.finish()
        return program
    finally:
        archive.close()


def _json(archive: ArchiveReader, name: str) -> Any:
    record = archive.record(name)
    if record.size > _LARGEST_JSON:
        raise ArchiveError(f"{name} has {record.size} bytes, which is more than any graph")
    try:
        return json.loads(archive.read(name))
    except (ValueError, RecursionError) as error:
        raise ArchiveError(f"{name} is no JSON: {error}") from None


def _tensors(archive: ArchiveReader, index: str, place: str, parameters: bool) -> dict[str, Any]:
    """The tensors that an index names."""
    if index not in archive:
        return {}
    found: dict[str, Any] = {}
    arrays: dict[str, Any] = {}
    for name, entry in get(_json(archive, index), "config", dict, index).items():
        where = f"the tensor '{str(name)[:60]}'"
        path = get(entry, "path_name", str, where)
        if place + path not in archive:
            raise ArchiveError(f"{where}: its record '{path[:60]}' is not in the file")
        if entry.get("use_pickle"):
            value = load_checkpoint(io.BytesIO(archive.read(place + path)), weights_only=True)
            if not isinstance(value, TensorBase):
                raise ArchiveError(f"{where} is an object of a class, which can't be read here")
            found[name] = value
            continue
        if path not in arrays:
            arrays[path] = np.frombuffer(bytearray(archive.read(place + path)), np.uint8)
        meta = get(entry, "tensor_meta", dict, where)
        value = make(_shaped(arrays[path], meta, where))
        found[name] = Parameter(value, meta.get("requires_grad") is True) if parameters and entry.get("is_param") else value
    return found


def _shaped(data: Any, meta: dict[str, Any], where: str) -> Any:
    """An array of given sizes and strides over the bytes of a record."""
    dtype = dtype_of(get(meta, "dtype", int, where), where).numpy
    numbers = []
    for key in ("sizes", "strides"):
        values = [each.get("as_int") if isinstance(each, dict) else None for each in get(meta, key, list, where)]
        if any(type(each) is not int or each < 0 for each in values):
            raise ArchiveError(f"{where} has {key} that are no numbers")
        numbers.append(values)
    sizes: list[int] = [int(each) for each in numbers[0] if each is not None]
    strides: list[int] = [int(each) for each in numbers[1] if each is not None]
    offset = (meta.get("storage_offset") or {"as_int": 0}).get("as_int")
    if len(sizes) != len(strides) or len(sizes) > 64 or type(offset) is not int or offset < 0:
        raise ArchiveError(f"{where} has sizes and strides that do not fit together")
    if 0 in sizes:
        return np.empty(sizes, dtype)
    last = offset + sum((size - 1) * stride for size, stride in zip(sizes, strides))
    if (last + 1) * dtype.itemsize > data.nbytes or math.prod(sizes) * dtype.itemsize > max(data.nbytes, 1) * 64:
        raise ArchiveError(f"{where} needs more bytes than its record has ({data.nbytes})")
    flat = data[: data.nbytes // dtype.itemsize * dtype.itemsize].view(dtype)
    return np.lib.stride_tricks.as_strided(flat[offset:], sizes, [each * dtype.itemsize for each in strides])


def _example(archive: ArchiveReader) -> Any:
    """The example inputs, where they are tensors in plain containers and registered data classes; None for others."""
    content = archive.read(_SAMPLE) if _SAMPLE in archive else b""
    if not content:
        return None
    try:
        with safe_globals(registered_classes):
            value = load_checkpoint(io.BytesIO(content), weights_only=True)
    except Exception as error:
        if "weights_only" in str(error) or "Unsupported" in str(error):
            return None  # containers of classes of the writer's own
        raise ArchiveError(f"the example inputs can't be read: {error}") from None
    return value if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], tuple) and isinstance(value[1], dict) else None
