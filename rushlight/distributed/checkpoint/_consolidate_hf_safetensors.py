"""Parts of tensors in safetensors files, put together."""

from __future__ import annotations

from ...core.missing import absents
from .hf_storage import consolidate_safetensors_files

__all__ = ["consolidate_safetensors_files"]
absents(
    globals(),
    "consolidate_safetensors_files puts all files together, in one process",
    functions="consolidate_safetensors_files_on_every_rank",
)
