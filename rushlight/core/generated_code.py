"""Code objects of the Python that is generated for ops: entry points, calls on accelerators, gradients.

Compiling their sources takes a noticeable part of a program's first step, and the sources are the same in the next process.  The room that has the cache on
disk gives the code objects of earlier processes to :func:`add`, and stores what :func:`collected` returns.
"""

from __future__ import annotations

import marshal
import sys
from types import CodeType

VERSION = f"{sys.implementation.cache_tag} {sys.version}"  # code objects belong to one interpreter
_MOST = 4096  # code objects kept
_known: dict[tuple[str, str], CodeType] = {}  # by name and source
_stored = 0  # how many of them are on disk


def compiled(source: str, name: str) -> CodeType:
    """The code object of a module's source; ``name`` is its file in tracebacks."""
    key = (name, source)
    found = _known.get(key)
    if found is None:
        found = compile(source, name, "exec")
        if len(_known) < _MOST:
            _known[key] = found
    return found


def add(data: bytes) -> None:
    """Use the code objects of an earlier process: bytes that :func:`collected` returned in the same version of Python."""
    global _stored
    earlier = marshal.loads(data)
    _known.update(earlier)
    _stored = len(earlier)


def collected() -> bytes | None:
    """All code objects, as bytes; None where nothing is new since they were last asked for."""
    global _stored
    if len(_known) == _stored:
        return None
    _stored = len(_known)
    return marshal.dumps(_known)
