"""Steps that make batches."""

from __future__ import annotations

from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import DataChunk, MapDataPipe


@functional_datapipe("batch")
class BatcherMapDataPipe(MapDataPipe[Any]):
    """So many samples at a time."""

    def __init__(self, datapipe: Any, batch_size: int, drop_last: bool = False, wrapper_class: Any = DataChunk) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        super().__init__()
        self.datapipe = datapipe
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.wrapper_class = wrapper_class

    def __getitem__(self, index: int) -> Any:
        places = range(index * self.batch_size, (index + 1) * self.batch_size)
        if places.stop <= len(self.datapipe):
            return self.wrapper_class([self.datapipe[place] for place in places])
        if places.start < len(self.datapipe) and not self.drop_last:
            return self.wrapper_class([self.datapipe[place] for place in range(places.start, len(self.datapipe))])
        raise IndexError(f"Index {index} is out of bound.")

    def __len__(self) -> int:
        count = len(self.datapipe)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
