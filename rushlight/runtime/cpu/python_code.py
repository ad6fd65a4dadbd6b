"""Code objects of generated Python in the cache of compiled code: the next process need not compile their sources."""

from __future__ import annotations

import hashlib

from ...core import generated_code
from .code_cache import cache

_DIGEST = hashlib.sha256(f"python {generated_code.VERSION}".encode()).hexdigest()


def load() -> None:
    """Use the code objects that earlier processes stored."""
    data = cache.find(_DIGEST)
    if data is not None:
        generated_code.add(data)


def store() -> None:
    """Store the code objects, where there are new ones."""
    data = generated_code.collected()
    if data is not None:
        cache.store(_DIGEST, data)
