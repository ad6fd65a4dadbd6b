"""Protobuf messages written by hand, and records of event files with their checksums.

A message is bytes; :func:`field` gives one field of it.

>>> field(1, "loss").hex(), field(2, 3).hex()
('0a046c6f7373', '1003')
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class Double(float):
    """A number that goes into a field of eight bytes; a plain float goes into one of four."""


class Message:
    """A finished message, as those who handle protobuf's messages expect it."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def SerializeToString(self) -> bytes:
        """Its bytes."""
        return self.content


def varint(number: int) -> bytes:
    """An integer, seven bits a byte; negative ones as those of 64 bits."""
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number: int, value: Any) -> bytes:
    """A field by its number: strings, bytes and messages, integers and booleans, numbers.  None gives nothing."""
    if value is None:
        return b""
    if isinstance(value, str):
        value = value.encode()
    elif isinstance(value, Message):
        value = value.content
    if isinstance(value, bytes):
        return varint(number << 3 | BYTES) + varint(len(value)) + value
    if isinstance(value, Double):
        return varint(number << 3 | FIXED64) + struct.pack("<d", value)
    if isinstance(value, float):
        return varint(number << 3 | FIXED32) + struct.pack("<f", value)
    return varint(number << 3 | VARINT) + varint(int(value))


def repeated(number: int, values: Iterable[Any]) -> bytes:
    """A field for each value."""
    return b"".join(field(number, each) for each in values)


def packed(number: int, values: Any, form: str) -> bytes:
    """Numbers of one form (``"d"``, ``"f"``) in one field, or integers (``""``)."""
    values = list(values)
    if not values:
        return b""
    return field(number, struct.pack(f"<{len(values)}{form}", *values) if form else b"".join(map(varint, values)))


def optional(number: int, value: Any) -> bytes:
    """A field that is left out where it has protobuf's default."""
    return field(number, value) if value not in (None, 0, "", b"", False) else b""


def _crc_table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_CRC = _crc_table()


def checksum(data: bytes) -> int:
    """CRC32-C, masked as records have it.

    >>> hex(checksum(b"123456789"))
    '0x2a2d7d84'
    """
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _CRC[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(data: bytes) -> bytes:
    """A record: its length and content, each with its checksum."""
    header = struct.pack("<Q", len(data))
    return header + struct.pack("<I", checksum(header)) + data + struct.pack("<I", checksum(data))
