"""Keys of dicts and members of sets that come out of a file: Python hashes them, and that must stay cheap and shallow."""

from __future__ import annotations

from pickle import UnpicklingError
from typing import Any

_MOST_PARTS = 1000
_PLAIN = (str, int, float, bytes, bool, complex, type(None))


def check_key(key: Any) -> None:
    """Refuse tuples whose hash would take very long, or more stack than there is.

    A hundred bytes of pickle make a tuple of 2 ** 60 parts, and a hundred thousand one that is so deep that hashing it
    overflows the stack.
    """
    if isinstance(key, _PLAIN):
        return
    pending, seen = [key], 0
    while pending:
        part = pending.pop()
        if isinstance(part, (tuple, frozenset)):
            seen += 1 + len(part)
            if seen > _MOST_PARTS:
                raise UnpicklingError(f"a key of a dict in this file has more than {_MOST_PARTS} parts")
            pending.extend(part)
