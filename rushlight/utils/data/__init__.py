"""Data for training: datasets, samplers, and the loader that makes batches of them.  Read ``dataloader.py`` first.

>>> from rushlight.utils.data import DataLoader
>>> [batch.tolist() for batch in DataLoader(range(4), batch_size=2)]
[[0, 1], [2, 3]]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.missing import missing
from .collate import default_collate, default_convert
from .dataloader import DataLoader, _DatasetKind
from .dataset import ChainDataset, ConcatDataset, Dataset, IterableDataset, StackDataset, Subset, TensorDataset, random_split
from .distributed import DistributedSampler
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler
from .worker import get_worker_info

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler", "IterableDataset",
    "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset",
    "WeightedRandomSampler", "_DatasetKind", "default_collate", "default_convert", "get_worker_info", "random_split",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__ = missing(
        __name__,
        lazy=("datapipes", "graph", "graph_settings"),
        names={
            "datapipes.datapipe": "DFIterDataPipe DataChunk IterDataPipe MapDataPipe",
            "datapipes._decorator": "argument_validation functional_datapipe guaranteed_datapipes_determinism non_deterministic runtime_validation "
            "runtime_validation_disabled",
        },
    )
