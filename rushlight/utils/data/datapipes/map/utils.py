"""The beginning of a pipe."""

from __future__ import annotations

import copy
import warnings
from typing import Any

from ..datapipe import MapDataPipe


class SequenceWrapperMapDataPipe(MapDataPipe[Any]):
    """The samples of a sequence or mapping, which is copied once unless it can't be (or ``deepcopy`` is False)."""

    def __init__(self, sequence: Any, deepcopy: bool = True) -> None:
        self.sequence = sequence
        if deepcopy:
            try:
                self.sequence = copy.deepcopy(sequence)
            except TypeError:
                warnings.warn(
                    "The input sequence can not be deepcopied, please be aware of in-place modification would affect source data",
                    stacklevel=2,
                )

    def __getitem__(self, index: Any) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)


__all__ = ["SequenceWrapperMapDataPipe"]
