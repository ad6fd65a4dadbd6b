"""Steps that leave samples out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .....core.base import TensorBase
from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import StreamWrapper, validate_input_col


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe[Any]):
    """The samples for which a function (of the sample, or of some of its columns) is true."""

    def __init__(self, datapipe: Any, filter_fn: Callable[..., Any], input_col: Any = None) -> None:
        super().__init__()
        self.datapipe = datapipe
        self.filter_fn = filter_fn
        self.input_col = input_col
        validate_input_col(filter_fn, input_col)

    def _apply_filter_fn(self, data: Any) -> Any:
        if self.input_col is None:
            return self.filter_fn(data)
        if isinstance(self.input_col, (list, tuple)):
            return self.filter_fn(*(data[each] for each in self.input_col))
        return self.filter_fn(data[self.input_col])

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            answer = self._apply_filter_fn(data)
            if not isinstance(answer, (bool, TensorBase)) and type(answer).__name__ not in ("bool", "bool_"):
                raise ValueError(f"Boolean output is required for `filter_fn` of FilterIterDataPipe, got {type(answer)}")
            if answer:
                yield data
            else:
                StreamWrapper.close_streams(data)
