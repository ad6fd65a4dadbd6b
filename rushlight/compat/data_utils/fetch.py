"""`torch.utils.data._utils.fetch`: how samples are fetched from a dataset."""

from __future__ import annotations

from typing import Any

from ...utils.data.worker import IterableFetcher as _IterableDatasetFetcher
from ...utils.data.worker import MapFetcher as _MapDatasetFetcher


class _BaseDatasetFetcher:
    """The base of fetchers that libraries write: it keeps the dataset, and how samples become a batch."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> None:
        self.dataset, self.auto_collation, self.collate_fn, self.drop_last = dataset, auto_collation, collate_fn, drop_last

    def fetch(self, possibly_batched_index: Any) -> Any:
        """A sample, or a batch."""
        raise NotImplementedError


__all__ = ["_IterableDatasetFetcher", "_MapDatasetFetcher"]
