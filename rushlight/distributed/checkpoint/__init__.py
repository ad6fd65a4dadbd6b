"""Checkpoints of several processes.  ``state_dict`` works on the models and optimizers of one; the rest says that it is not there."""

from __future__ import annotations

from ...core.missing import absents
from .default_planner import DefaultLoadPlanner, DefaultSavePlanner
from .filesystem import FileSystemReader, FileSystemWriter
from .hf_storage import HuggingFaceStorageReader, HuggingFaceStorageWriter
from .metadata import BytesStorageMetadata, ChunkStorageMetadata, Metadata, TensorStorageMetadata
from .optimizer import load_sharded_optimizer_state_dict
from .planner import LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, WriteItem
from .state_dict_loader import load, load_state_dict
from .state_dict_saver import async_save, save, save_state_dict

_PARTS = (
    "default_planner",
    "format_utils",
    "hf_storage",
    "optimizer",
    "state_dict",
    "state_dict_loader",
    "state_dict_saver",
    "stateful",
    "_consolidate_hf_safetensors",
    "metadata",
    "planner",
    "filesystem",
)
absents(
    globals(),
    "checkpoints in parts, one of each process, are not written or read: use save and load, which keep all of it in one file",
    classes="StorageReader StorageWriter CheckpointException",
)
