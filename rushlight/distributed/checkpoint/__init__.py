"""Sharded checkpoints: every process writes its own shards, and any number of processes can read them.

In: a state (models, optimizers, numbers), and a folder.  Out: files, of which ``.metadata`` makes the checkpoint whole.  Read ``filesystem.py`` first,
then ``state_dict_saver.py`` and ``state_dict_loader.py``; ``state_dict.py`` has states of models and optimizers by full names.
"""

from __future__ import annotations

from ...core.missing import missing
from .api import CheckpointException
from .default_planner import DefaultLoadPlanner, DefaultSavePlanner
from .filesystem import FileSystemReader, FileSystemWriter, StorageReader, StorageWriter
from .hf_storage import HuggingFaceStorageReader, HuggingFaceStorageWriter
from .metadata import BytesStorageMetadata, ChunkStorageMetadata, Metadata, TensorStorageMetadata
from .optimizer import load_sharded_optimizer_state_dict
from .planner import LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, WriteItem
from .state_dict_loader import load, load_state_dict
from .state_dict_saver import async_save, save, save_state_dict

__getattr__ = missing(
    __name__,
    lazy=(
        "api",
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
    ),
)
