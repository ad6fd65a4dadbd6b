"""The beginning of a pipe."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from typing import Any

from ..datapipe import IterDataPipe


class IterableWrapperIterDataPipe(IterDataPipe[Any]):
    """The samples of an iterable, which is copied for each iteration unless it can't be (or ``deepcopy`` is False)."""

    def __init__(self, iterable: Any, deepcopy: bool = True) -> None:
        self.iterable = iterable
        self.deepcopy = deepcopy

    def __iter__(self) -> Iterator[Any]:
        source = self.iterable
        if self.deepcopy:
            try:
                source = copy.deepcopy(self.iterable)
            except TypeError:
                warnings.warn(
                    "The input iterable can not be deepcopied, please be aware of in-place modification would affect source data.",
                    stacklevel=2,
                )
        yield from source

    def __len__(self) -> int:
        return len(self.iterable)


__all__ = ["IterableWrapperIterDataPipe"]
