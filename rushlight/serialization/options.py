"""Settings of saving and loading."""

from __future__ import annotations

import mmap
from enum import Enum
from typing import Any

from ..core.errors import ArgumentError


class LoadEndianness(Enum):
    """The byte order of files that do not say theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


MAP_SHARED, MAP_PRIVATE = getattr(mmap, "MAP_SHARED", 1), getattr(mmap, "MAP_PRIVATE", 2)


class _Options:
    checksums = True
    endianness: LoadEndianness | None = None
    mmap_flags = MAP_PRIVATE
    skip_data = False


options = _Options()


def get_crc32_options() -> bool:
    """Whether files are written with checksums."""
    return options.checksums


def set_crc32_options(compute_crc32: bool) -> None:
    """Set whether files are written with checksums, by which damage is found when they are loaded."""
    options.checksums = bool(compute_crc32)


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order that is assumed of files that do not say theirs."""
    return options.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the byte order that is assumed of files that do not say theirs."""
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise ArgumentError("Invalid argument type in function set_default_load_endianness")
    options.endianness = endianness


def get_default_mmap_options() -> int:
    """How files are mapped by ``load(..., mmap=True)``: ``MAP_PRIVATE`` or ``MAP_SHARED``."""
    return options.mmap_flags


class set_default_mmap_options:
    """Set how files are mapped; as a context, until it ends."""

    def __init__(self, flags: int) -> None:
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ValueError(
                f"Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, got {flags}"
            )
        self.before = options.mmap_flags
        options.mmap_flags = flags

    def __enter__(self) -> None:
        """The setting holds since the object was made."""

    def __exit__(self, *exception: Any) -> None:
        options.mmap_flags = self.before


class skip_data:
    """A context in which ``save`` writes zeros in place of the tensors' data, to be filled in by other means."""

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        self.before, options.skip_data = options.skip_data, True

    def __exit__(self, *exception: Any) -> None:
        options.skip_data = self.before
