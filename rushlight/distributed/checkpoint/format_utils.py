"""Checkpoints in parts as one file, and back."""

from __future__ import annotations

import os
from typing import Any

from ...core.missing import missing
from ...serialization import load, save
from .filesystem import FileSystemReader, FileSystemWriter
from .state_dict_loader import read_all
from .state_dict_saver import save as save_parts

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]
__getattr__ = missing(__name__)


def dcp_to_torch_save(dcp_checkpoint_dir: str | os.PathLike[str], torch_save_path: str | os.PathLike[str]) -> None:
    """Write a checkpoint in parts as one file, for ``load``."""
    reader, state = FileSystemReader(dcp_checkpoint_dir), dict[str, Any]()
    read_all(reader, reader.read_metadata(), state)
    save(state, os.fspath(torch_save_path))


def torch_save_to_dcp(torch_save_path: str | os.PathLike[str], dcp_checkpoint_dir: str | os.PathLike[str]) -> None:
    """Write one file as a checkpoint in parts."""
    save_parts(load(os.fspath(torch_save_path), weights_only=True), storage_writer=FileSystemWriter(dcp_checkpoint_dir), no_dist=True)
