"""Private classes of `torch.utils.data.dataloader`: the iterators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ..utils.data.dataloader import _PlainIterator as _SingleProcessDataLoaderIter
from ..utils.data.processes import ProcessIterator as _MultiProcessingDataLoaderIter


class _Kinds(type):
    """What is an instance of either iterator."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, (_SingleProcessDataLoaderIter, _MultiProcessingDataLoaderIter))


class _BaseDataLoaderIter(metaclass=_Kinds):
    """The iterators of a DataLoader: in this process, or with workers."""


_collate_fn_t: TypeAlias = Callable[[list[Any]], Any]
_worker_init_fn_t: TypeAlias = Callable[[int], None]
