"""`torch.utils.data._utils.fetch`: how samples are fetched from a dataset."""

from __future__ import annotations

from ...utils.data.worker import IterableFetcher as _IterableDatasetFetcher
from ...utils.data.worker import MapFetcher as _MapDatasetFetcher

__all__ = ["_IterableDatasetFetcher", "_MapDatasetFetcher"]
