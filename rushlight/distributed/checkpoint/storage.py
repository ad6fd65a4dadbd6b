"""The base classes of storage for checkpoints: where items are written to, and read from."""

from __future__ import annotations

from .filesystem import StorageReader, StorageWriter

__all__ = ["StorageReader", "StorageWriter"]
