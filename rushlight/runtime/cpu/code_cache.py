"""The cache of compiled code on disk, shared between processes.

An entry is a file named by a digest of everything its code depends on.  It is written under another name and then renamed, so
that processes see a whole entry or none; one that is damaged, or belongs to another user, is ignored.  When the folder
grows too large, the least recently used entries are evicted.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import sys
import tempfile
from pathlib import Path

log = logging.getLogger("rushlight.native")

LARGEST = 256 << 20  # bytes of all entries together
OFTEN = 50  # new entries between two evictions
_MARK = b"rushlight native 1\n"
_SUFFIX = ".code"


def folder() -> Path | None:
    """The cache folder: ``RUSHLIGHT_CACHE_DIR``, or a folder in the user's cache; None where the variable is set to nothing."""
    chosen = os.environ.get("RUSHLIGHT_CACHE_DIR")
    if chosen is not None:
        return Path(chosen) / "native" if chosen else None
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "rushlight" / "native"


class Cache:
    """A cache of bytes by digest."""

    def __init__(self) -> None:
        self.stored = 0
        self.broken = False  # whether the folder can't be written to, which is logged once

    def path(self, digest: str) -> Path | None:
        """The file of an entry."""
        try:
            place = folder()
        except RuntimeError as error:  # there is no home
            log.info("compiled code is not kept: %s", error)
            return None
        return None if place is None else place / f"{digest}{_SUFFIX}"

    def find(self, digest: str) -> bytes | None:
        """The stored bytes, if present and intact."""
        path = self.path(digest)
        if path is None:
            return None
        try:
            with open(path, "rb") as file:
                if hasattr(os, "getuid") and os.fstat(file.fileno()).st_uid != os.getuid():
                    return None  # cached code is executed: only our own is trusted
                content = file.read()
        except OSError:
            return None
        head = len(_MARK) + 32
        data = content[head:]
        if content[: len(_MARK)] != _MARK or content[len(_MARK) : head] != hashlib.sha256(data).digest():
            log.info("%s is damaged, and is made anew", path)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # marks the entry as recently used
        return data

    def store(self, digest: str, data: bytes) -> None:
        """Store data; where that is not possible, nothing happens."""
        path = self.path(digest)
        if path is None or self.broken:
            return
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, suffix=".new")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_MARK + hashlib.sha256(data).digest() + data)
                os.replace(name, path)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(name)
                raise
        except OSError as error:
            self.broken = True
            log.info("compiled code is not kept: %s", error)
            return
        if self.stored % OFTEN == 0:
            shrink(path.parent, LARGEST)
        self.stored += 1


def shrink(place: Path, largest: int) -> None:
    """Evict the least recently used entries until the rest is small enough; and remove unfinished files."""
    found: list[tuple[float, int, Path]] = []
    for path in place.iterdir():
        with contextlib.suppress(OSError):  # another process may remove it too
            about = path.stat()
            if path.suffix in (_SUFFIX, ".new"):
                found.append((about.st_mtime, about.st_size, path))
    total = sum(size for _, size, _ in found)
    newest = max((when for when, _, _ in found), default=0.0)
    for when, size, path in sorted(found):
        unfinished = path.suffix == ".new" and when < newest - 3600
        if total > largest or unfinished:
            total -= size
            with contextlib.suppress(OSError):
                path.unlink()


cache = Cache()
