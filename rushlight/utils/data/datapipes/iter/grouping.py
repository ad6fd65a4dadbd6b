"""Steps that make batches and groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import DataChunk, IterDataPipe


@functional_datapipe("batch")
class BatcherIterDataPipe(IterDataPipe[Any]):
    """So many samples at a time."""

    def __init__(self, datapipe: Any, batch_size: int, drop_last: bool = False, wrapper_class: Any = DataChunk) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        super().__init__()
        self.datapipe = datapipe
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.wrapper_class = wrapper_class

    def __iter__(self) -> Iterator[Any]:
        batch: list[Any] = []
        for each in self.datapipe:
            batch.append(each)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)

    def __len__(self) -> int:
        count = len(self.datapipe)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe[Any]):
    """The samples of batches; of batches of batches at a level, or (-1) down to what is no list."""

    def __init__(self, datapipe: Any, unbatch_level: int = 1) -> None:
        self.datapipe = datapipe
        self.unbatch_level = unbatch_level

    def __iter__(self) -> Iterator[Any]:
        for each in self.datapipe:
            yield from self._dive(each, self.unbatch_level)

    def _dive(self, element: Any, level: int) -> Iterator[Any]:
        if level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        if level == -1:
            if isinstance(element, list):
                for each in element:
                    yield from self._dive(each, -1)
            else:
                yield element
        elif level == 0:
            yield element
        elif isinstance(element, list):
            for each in element:
                yield from self._dive(each, level - 1)
        else:
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe")


@functional_datapipe("groupby")
class GrouperIterDataPipe(IterDataPipe[Any]):
    """Samples by what a function says of them: a group is given when it is full, when the buffer is, or at the end."""

    def __init__(
        self, datapipe: Any, group_key_fn: Callable[[Any], Any], *, keep_key: bool = False, buffer_size: int = 10000,
        group_size: int | None = None, guaranteed_group_size: int | None = None, drop_remaining: bool = False,
    ) -> None:  # fmt: skip
        self.datapipe = datapipe
        self.group_key_fn = group_key_fn
        self.keep_key = keep_key
        self.max_buffer_size = buffer_size
        self.group_size = group_size
        self.guaranteed_group_size = None
        if group_size is not None and not 0 < group_size <= buffer_size:
            raise AssertionError("group_size must be > 0 and <= buffer_size")
        if group_size is not None:
            self.guaranteed_group_size = group_size
        if guaranteed_group_size is not None:
            if group_size is None or not 0 < guaranteed_group_size <= group_size:
                raise AssertionError("guaranteed_group_size must be > 0 and <= group_size and group_size must be set")
            self.guaranteed_group_size = guaranteed_group_size
        self.drop_remaining = drop_remaining
        self.wrapper_class = DataChunk
        self.reset()

    def reset(self) -> None:
        """Begin with no groups."""
        self.buffer_elements: defaultdict[Any, list[Any]] = defaultdict(list)
        self.curr_buffer_size = 0

    def _wrapped(self, key: Any, group: list[Any]) -> Any:
        made = self.wrapper_class(group)
        return (key, made) if self.keep_key else made

    def _take_largest(self) -> tuple[Any, list[Any] | None]:
        """The largest group leaves the buffer; None where it is dropped."""
        key = max(self.buffer_elements, key=lambda each: len(self.buffer_elements[each]))
        size = len(self.buffer_elements[key])
        if self.guaranteed_group_size is not None and size < self.guaranteed_group_size and not self.drop_remaining:
            raise RuntimeError(f"Failed to group items: {self.buffer_elements[key]}")
        self.curr_buffer_size -= size
        group = self.buffer_elements.pop(key)
        return key, group if self.guaranteed_group_size is None or size >= self.guaranteed_group_size else None

    def __iter__(self) -> Iterator[Any]:
        for each in self.datapipe:
            key = self.group_key_fn(each)
            self.buffer_elements[key].append(each)
            self.curr_buffer_size += 1
            if self.group_size is not None and self.group_size == len(self.buffer_elements[key]):
                group = self.buffer_elements.pop(key)
                self.curr_buffer_size -= len(group)
                yield self._wrapped(key, group)
            if self.curr_buffer_size == self.max_buffer_size:
                largest, found = self._take_largest()
                if found is not None:
                    yield self._wrapped(largest, found)
        for key in tuple(self.buffer_elements):
            group = self.buffer_elements.pop(key)
            self.curr_buffer_size -= len(group)
            if not (self.drop_remaining and self.group_size is not None and len(group) < (self.guaranteed_group_size or 0)):
                yield self._wrapped(key, group)
