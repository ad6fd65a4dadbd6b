"""Steps that call a function for each sample."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from ...collate import default_collate
from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import validate_input_col


@functional_datapipe("map")
class MapperIterDataPipe(IterDataPipe[Any]):
    """What a function makes of each sample, or of some of its columns (``input_col``), put into others (``output_col``)."""

    def __init__(self, datapipe: Any, fn: Callable[..., Any], input_col: Any = None, output_col: Any = None) -> None:
        super().__init__()
        self.datapipe = datapipe
        self.fn = fn
        self.input_col = input_col
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, (list, tuple)):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
        self.output_col = output_col
        validate_input_col(fn, input_col)

    def _apply_fn(self, data: Any) -> Any:
        if self.input_col is None:
            return self.fn(data)
        many = isinstance(self.input_col, (list, tuple))
        result = self.fn(*(data[each] for each in self.input_col)) if many else self.fn(data[self.input_col])
        as_tuple = isinstance(data, tuple)
        kept = list(data) if as_tuple else data.copy()
        if self.output_col is None:
            if many:
                kept[self.input_col[0]] = result
                for place in sorted(self.input_col[1:], reverse=True) if not isinstance(kept, dict) else self.input_col[1:]:
                    del kept[place]
            else:
                kept[self.input_col] = result
        elif self.output_col == -1:
            kept.append(result)
        else:
            kept[self.output_col] = result
        return tuple(kept) if as_tuple else kept

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            yield self._apply_fn(data)

    def __len__(self) -> int:
        return len(self.datapipe)


def _collated(conversion: Any, sample: list[Any]) -> Any:
    """Samples with named columns as one, by what is said of each column."""
    if len(sample) > 1:
        sample = functools.reduce(_joined, sample)
    else:
        sample = sample[0]
    result: dict[Any, Any] = {}
    for name in sample.keys():  # type: ignore[attr-defined] # noqa: SIM118
        if name in conversion:
            if not callable(conversion[name]):
                raise RuntimeError("Collate (DF)DataPipe requires callable as dict values")
            result[name] = conversion[name](sample[name])
        else:
            result[name] = default_collate(sample[name])
    return result


def _joined(first: Any, second: Any) -> Any:
    return {name: [*first[name], *second[name]] for name in first}


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """Batches of samples as samples of batches."""

    def __init__(self, datapipe: Any, conversion: Any = default_collate, collate_fn: Any = None) -> None:
        if collate_fn is not None:
            super().__init__(datapipe, fn=collate_fn)
        else:
            super().__init__(datapipe, fn=conversion if callable(conversion) else functools.partial(_collated, conversion))
