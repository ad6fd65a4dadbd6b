"""Checkpoint archives: zip files whose records are stored as they are, each at an address that is a multiple of 64.

The reader trusts nothing that a file says about itself: names, places and sizes are checked against the file before
anything is read or allocated, and records against their checksums.  It writes nothing, so names can't reach outside.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.errors import OperationError

LOCAL_HEADER = struct.Struct("<4s5H3I2H")
CENTRAL_HEADER = struct.Struct("<4s6H3I5H2I")
END_RECORD = struct.Struct("<4s4H2IH")
END_RECORD_64 = struct.Struct("<4sQ2H2I4Q")
LOCATOR_64 = struct.Struct("<4sIQI")
LOCAL_MARK, CENTRAL_MARK, END_MARK = b"PK\3\4", b"PK\1\2", b"PK\5\6"
END_MARK_64, LOCATOR_MARK_64 = b"PK\6\6", b"PK\6\7"

ALIGNMENT = 64
STORED, DEFLATED = 0, 8
_ENCRYPTED, _UTF8 = 1, 0x800
_DATE = 0x21  # the first of January 1980: zip files can't tell an earlier one, and this one says nothing
_LIMIT_32, _LIMIT_16 = 0xFFFFFFFF, 0xFFFF
_LONGEST_END = END_RECORD.size + 0xFFFF
_DEFLATE_RATIO = 1040  # no deflated data grows by more than this
SMALL = 1 << 20


def damaged(problem: str) -> OperationError:
    """The error for an archive that is not what it should be."""
    return OperationError(f"PytorchStreamReader failed reading zip archive: {problem}. The file is damaged or was not written completely.")


# -- writing -----------------------------------------------------------------------------------------------------


class ArchiveWriter:
    """Writes records one behind the other; it needs nothing of the file but ``write``."""

    def __init__(self, file: Any, root: str, checksums: bool = True) -> None:
        self.file = file
        self.root = root
        self.position = 0
        self.checksums = checksums
        self.directory: list[bytes] = []

    def put(self, data: Any) -> None:
        """Write raw bytes and count them."""
        view = memoryview(data).cast("B") if memoryview(data).nbytes else b""
        self.position += len(view)
        while len(view):
            written = self.file.write(view)
            if not isinstance(written, int):  # an object whose `write` returns nothing has taken everything
                return
            if not written:
                raise OperationError("the file takes no more data")
            view = view[written:]

    def write(self, name: str, data: Any, checksum: int | None = None) -> None:
        """Add a record; ``checksum`` is that of the data, where it is known already."""
        encoded = f"{self.root}/{name}".encode()
        size = memoryview(data).nbytes
        if checksum is None:
            checksum = zlib.crc32(data) if self.checksums else 0
        start = self.position
        large = size >= _LIMIT_32
        extra = struct.pack("<2H2Q", 1, 16, size, size) if large else b""
        gap = -(start + LOCAL_HEADER.size + len(encoded) + len(extra) + 4) % ALIGNMENT
        extra += b"FB" + struct.pack("<H", gap) + b"Z" * gap
        shown = _LIMIT_32 if large else size
        self.put(
            LOCAL_HEADER.pack(LOCAL_MARK, 45 if large else 0, _UTF8, STORED, 0, _DATE, checksum, shown, shown, len(encoded), len(extra))
            + encoded
            + extra
        )
        self.put(data)
        self.directory.append(_central_entry(encoded, start, size, checksum))

    def close(self) -> None:
        """Write the directory: without it, the file is no archive."""
        start = self.position
        directory = b"".join(self.directory)
        self.put(directory)
        count, end = len(self.directory), self.position
        if count >= _LIMIT_16 or end >= _LIMIT_32:
            self.put(END_RECORD_64.pack(END_MARK_64, 44, 45, 45, 0, 0, count, count, len(directory), start))
            self.put(LOCATOR_64.pack(LOCATOR_MARK_64, 0, end, 1))
        shown = min(count, _LIMIT_16)
        self.put(END_RECORD.pack(END_MARK, 0, 0, shown, shown, min(len(directory), _LIMIT_32), min(start, _LIMIT_32), 0))


def _central_entry(name: bytes, start: int, size: int, checksum: int) -> bytes:
    wide = [each for each in (size, size, start) if each >= _LIMIT_32]
    extra = struct.pack(f"<2H{len(wide)}Q", 1, 8 * len(wide), *wide) if wide else b""
    shown = min(size, _LIMIT_32)
    return (
        CENTRAL_HEADER.pack(
            CENTRAL_MARK,
            45 if wide else 0,
            45 if wide else 0,
            _UTF8,
            STORED,
            0,
            _DATE,
            checksum,
            shown,
            shown,
            len(name),
            len(extra),
            0,
            0,
            0,
            0,
            min(start, _LIMIT_32),
        )  # fmt: skip
        + name
        + extra
    )


# -- reading -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Record:
    """One entry of the directory."""

    name: str
    start: int  # of its header
    stored_size: int
    size: int
    checksum: int
    method: int


class ArchiveReader:
    """Reads records from an open file, whose archive begins at the present position and goes on to the end."""

    def __init__(self, file: Any, mapped: bool = False, shared: bool = False) -> None:
        self.file = file
        self.begin = file.tell()
        file.seek(0, os.SEEK_END)
        self.length = file.tell() - self.begin
        self.memory = _mapped(file, shared) if mapped else None
        self.checks: list[tuple[str, Future[int], int]] = []
        self.threads: ThreadPoolExecutor | None = None
        try:
            self.records = self._directory()
        except (struct.error, UnicodeDecodeError, OverflowError) as error:
            raise damaged(f"its directory can't be read ({error})") from error
        self.root = self._root()

    def __contains__(self, name: str) -> bool:
        return f"{self.root}/{name}" in self.records

    def _at(self, offset: int, size: int) -> bytes:
        if offset < 0 or size < 0 or offset + size > self.length:
            raise damaged(f"it points to bytes {offset} to {offset + size}, but has only {self.length}")
        self.file.seek(self.begin + offset)
        found: bytes = self.file.read(size)
        if len(found) != size:
            raise damaged("it ends too early")
        return found

    def _directory(self) -> dict[str, Record]:
        tail_size = min(self.length, _LONGEST_END)
        tail = self._at(self.length - tail_size, tail_size)
        found = tail.rfind(END_MARK)
        if found < 0 or found + END_RECORD.size > len(tail):
            raise damaged("failed finding central directory")
        end = self.length - tail_size + found
        _, _, _, _, count, size, start, _ = END_RECORD.unpack_from(tail, found)
        if (count == _LIMIT_16 or size == _LIMIT_32 or start == _LIMIT_32) and end >= LOCATOR_64.size:
            mark, _, place, _ = LOCATOR_64.unpack(self._at(end - LOCATOR_64.size, LOCATOR_64.size))
            if mark == LOCATOR_MARK_64:
                fields = END_RECORD_64.unpack(self._at(place, END_RECORD_64.size))
                if fields[0] != END_MARK_64:
                    raise damaged("its 64-bit end record is missing")
                count, size, start, end = *fields[7:10], place
        if start + size > end or count * CENTRAL_HEADER.size > size:
            raise damaged("its directory does not fit into it")
        return self._entries(self._at(start, size), count, start)

    def _entries(self, directory: bytes, count: int, end: int) -> dict[str, Record]:
        records: dict[str, Record] = {}
        position = 0
        for _ in range(count):
            (mark, _, _, flags, method, _, _, checksum, stored, size, name_size, extra_size, comment_size, _, _, _, start) = (
                CENTRAL_HEADER.unpack_from(directory, position)
            )
            position += CENTRAL_HEADER.size
            if mark != CENTRAL_MARK or position + name_size + extra_size + comment_size > len(directory):
                raise damaged("an entry of its directory is broken")
            name = directory[position : position + name_size].decode()
            extra = directory[position + name_size : position + name_size + extra_size]
            size, stored, start = _wide_values(extra, size, stored, start)
            position += name_size + extra_size + comment_size
            if flags & _ENCRYPTED or method not in (STORED, DEFLATED):
                raise damaged(f"record {name!r} is encrypted or packed in an unknown way")
            if name in records or _leads_elsewhere(name):
                raise damaged(f"the record name {name!r} appears twice or is no plain path")
            if method == STORED and size != stored or size > stored * _DEFLATE_RATIO:
                raise damaged(f"record {name!r} says that {stored} stored bytes are {size} bytes")
            records[name] = Record(name, start, stored, size, checksum, method)
        _check_places(records, end)
        return records

    def _root(self) -> str:
        first = next(iter(self.records), "")
        root, slash, _ = first.partition("/")
        if not slash:
            raise damaged("its records are not in a folder")
        return root

    def record(self, name: str) -> Record:
        """The entry of a record."""
        found = self.records.get(f"{self.root}/{name}")
        if found is None:
            raise OperationError(f"PytorchStreamReader failed locating file {name}: file not found")
        return found

    def _data_start(self, record: Record) -> int:
        fields = LOCAL_HEADER.unpack(self._at(record.start, LOCAL_HEADER.size))
        name_size, extra_size = fields[-2:]
        place = record.start + LOCAL_HEADER.size
        if fields[0] != LOCAL_MARK or self._at(place, name_size) != record.name.encode():
            raise damaged(f"record {record.name!r} is not where the directory says")
        start = place + name_size + extra_size
        if start + record.stored_size > self.length:
            raise damaged(f"record {record.name!r} is longer than the file")
        return int(start)

    def read(self, name: str) -> bytes:
        """A whole record, checked."""
        record = self.record(name)
        data = self._at(self._data_start(record), record.stored_size)
        if record.method == DEFLATED:
            data = _inflated(record, data)
        self._compare(record.name, zlib.crc32(data), record.checksum)
        return data

    def array(self, name: str) -> Any:
        """A whole record as an array of bytes that can be written to; its checksum may be compared later, by `finish`."""
        record = self.record(name)
        start = self._data_start(record)
        if record.method == DEFLATED:
            return np.frombuffer(bytearray(self.read(name)), np.uint8)
        if self.memory is not None and record.size:
            return np.frombuffer(self.memory, np.uint8, record.size, self.begin + start)
        array = fresh_bytes(record.size)
        self.file.seek(self.begin + start)
        read_into(self.file, array)
        if record.checksum and record.size <= SMALL:
            self._compare(record.name, zlib.crc32(array), record.checksum)
        elif record.checksum:
            if self.threads is None:  # the reading goes on meanwhile: neither holds the interpreter's lock
                self.threads = ThreadPoolExecutor(2)
            self.checks.append((record.name, self.threads.submit(zlib.crc32, array), record.checksum))
        return array

    def finish(self) -> None:
        """Wait for the checksums."""
        for name, found, wanted in self.checks:
            self._compare(name, found.result(), wanted)
        self.checks.clear()

    def close(self) -> None:
        """End the threads; arrays over mapped memory stay valid."""
        if self.threads is not None:
            self.threads.shutdown(cancel_futures=True)

    def _compare(self, name: str, found: int, wanted: int) -> None:
        if wanted and found != wanted:  # 0: written without checksums
            raise damaged(f"the checksum of record {name!r} is wrong")


def _mapped(file: Any, shared: bool) -> Any:
    """The whole file as memory: what is written to it stays in this process, unless it is shared."""
    if not shared:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    with open(file.name, "r+b") as writable:
        return mmap.mmap(writable.fileno(), 0, access=mmap.ACCESS_WRITE)


def _wide_values(extra: bytes, size: int, stored: int, start: int) -> tuple[int, int, int]:
    """The values of a directory entry, from its 64-bit field where the 32-bit ones are full."""
    values = [size, stored, start]
    position = 0
    while position + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, position)
        position += 4
        if kind == 1:
            for index, value in enumerate(values):
                if value == _LIMIT_32 and length >= 8:
                    (values[index],) = struct.unpack_from("<Q", extra, position)
                    position += 8
                    length -= 8
            break
        position += length
    return values[0], values[1], values[2]


def _leads_elsewhere(name: str) -> bool:
    return "\\" in name or "\0" in name or name.startswith("/") or ".." in name.split("/")


def _check_places(records: dict[str, Record], end: int) -> None:
    """Refuse records that overlap: with those a small file could claim any amount of memory."""
    ordered = sorted(records.values(), key=lambda each: each.start)
    for record, following in zip(ordered, [each.start for each in ordered[1:]] + [end]):
        if record.start + LOCAL_HEADER.size + len(record.name) + record.stored_size > following:
            raise damaged(f"record {record.name!r} overlaps what follows it")


def _inflated(record: Record, data: bytes) -> bytes:
    inflater = zlib.decompressobj(-15)
    try:
        result = inflater.decompress(data, max(record.size, 1))
    except zlib.error as error:
        raise damaged(f"record {record.name!r} can't be unpacked ({error})") from error
    if len(result) != record.size or inflater.unconsumed_tail:
        raise damaged(f"record {record.name!r} does not have the size it says")
    return result


class PrivateMemory(mmap.mmap):
    """Memory of this process alone; by its class it is told from what processes share."""


def fresh_bytes(size: int) -> Any:
    """Memory that is about to be filled.

    NumPy asks for huge pages, which the system has to find and to clear; where everything is written once, ordinary pages
    that are handed out all at once cost a third of that.
    """
    if size <= SMALL or not hasattr(mmap, "MAP_POPULATE"):
        return np.empty(size, np.uint8)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
    return np.frombuffer(PrivateMemory(-1, size, flags=flags), np.uint8)


def read_into(file: Any, array: Any) -> None:
    """Fill an array of bytes from the present position of a file."""
    view = memoryview(array)
    read = getattr(file, "readinto", None)
    while len(view):
        if read is not None:
            count = read(view) or 0
        else:
            piece = file.read(len(view))
            count = len(piece)
            view[:count] = piece
        if not count:
            raise damaged("it ends too early")
        view = view[count:]
