"""DataLoader: batches from a dataset, in this process or from worker processes, in PyTorch's order."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ...core.devices import accelerator
from ...core.missing import missing
from .collate import default_collate, default_convert
from .datapipes.datapipe import IterDataPipe, MapDataPipe
from .dataset import IterableDataset
from .graph_settings import apply_sharding, apply_shuffle_settings
from .pinning import pinned
from .processes import ProcessIterator, seeded
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, draw_seed
from .worker import IterableFetcher, MapFetcher

T_co = TypeVar("T_co", covariant=True)


class _DatasetKind:
    """The two kinds of datasets, by PyTorch's numbers."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(kind: int, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> Any:
        """What fetches samples of a dataset."""
        return (MapFetcher if kind == _DatasetKind.Map else IterableFetcher)(dataset, auto_collation, collate_fn, drop_last)


class _InfiniteConstantSampler(Sampler[None]):
    """Indices for an iterable dataset: they mean nothing and never end."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


class DataLoader(Generic[T_co]):
    """Batches of the samples of a dataset.

    ``num_workers`` processes fetch ahead; 0 fetches in this one.  For the same seed the order is PyTorch's.

    >>> [batch.tolist() for batch in DataLoader(range(5), batch_size=2)]
    [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None, sampler: Any = None, batch_sampler: Any = None,
        num_workers: int = 0, collate_fn: Any = None, pin_memory: bool = False, drop_last: bool = False, timeout: float = 0,
        worker_init_fn: Any = None, multiprocessing_context: Any = None, generator: Any = None, *,
        prefetch_factor: int | None = None, persistent_workers: bool = False, pin_memory_device: str = "", in_order: bool = True,
    ) -> None:  # fmt: skip
        _check_processes(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.generator = generator
        self._dataset_kind = _DatasetKind.Iterable if isinstance(dataset, IterableDataset) else _DatasetKind.Map
        if isinstance(dataset, (IterDataPipe, MapDataPipe)):
            self.dataset = dataset = apply_shuffle_settings(dataset, shuffle)
            if isinstance(dataset, IterDataPipe):  # a shuffled pipe is always one of these
                self._dataset_kind, shuffle = _DatasetKind.Iterable, None
        if self._dataset_kind == _DatasetKind.Iterable:
            _check_iterable(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            if self._dataset_kind == _DatasetKind.Iterable:
                sampler = _InfiniteConstantSampler()
            else:
                sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self.persistent_workers = persistent_workers
        self._promised_length: int | None = None
        self._iterator: Any = None
        self.check_worker_number_rationality()
        self.__initialized = True

    __initialized = False  # also set by subclasses that repeat their sampler, under its mangled name

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__initialized and name in ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"):
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self) -> Any:
        """How worker processes are started; None for Python's own way."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, value: Any) -> None:
        if value is not None:
            if not self.num_workers:
                raise ValueError(
                    "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                    f"num_workers={self.num_workers}"
                )
            if isinstance(value, str):
                methods = multiprocessing.get_all_start_methods()
                if value not in methods:
                    raise ValueError(
                        f"multiprocessing_context option should specify a valid start method in {methods!r}, but got "
                        f"multiprocessing_context={value!r}"
                    )
                value = multiprocessing.get_context(value)
            if not isinstance(value, multiprocessing.context.BaseContext):
                raise TypeError(
                    "multiprocessing_context option should be a valid context object or a string specifying the start method, "
                    f"but got multiprocessing_context={value}"
                )
        self._context = value

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    @property
    def _fetcher(self) -> Any:
        return IterableFetcher if self._dataset_kind == _DatasetKind.Iterable else MapFetcher

    def _length_check(self) -> LengthCheck:
        return LengthCheck(self)

    def __iter__(self) -> Iterator[T_co]:
        if self.persistent_workers and self.num_workers:
            if self._iterator is None or self._iterator.closed:
                self._iterator = self._get_iterator()
            else:
                self._iterator.reset(self)
            return self._iterator  # type: ignore[no-any-return]
        return self._get_iterator()

    def _get_iterator(self) -> Any:
        if self.pin_memory and accelerator() is None:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.", stacklevel=3
            )
        return ProcessIterator(self) if self.num_workers else _PlainIterator(self)

    def __len__(self) -> int:
        if self._dataset_kind == _DatasetKind.Iterable:
            length = len(self.dataset)
            if self.batch_size is not None:
                length = length // self.batch_size if self.drop_last else -(-length // self.batch_size)
            self._promised_length = length
            return length
        return len(self._index_sampler)

    def check_worker_number_rationality(self) -> None:
        """Warn of more worker processes than there are processors."""
        available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if self.num_workers > available:
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number of worker in "
                f"current system is {available}, which is smaller than what this DataLoader is going to create. Please be aware that "
                "excessive worker creation might get DataLoader running slow or even freeze, lower the worker number to avoid "
                "potential slowness/freeze if necessary.",
                stacklevel=3,
            )


def _check_processes(num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool) -> None:
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing. Let num_workers > 0 to enable multiprocessing, "
            "otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_iterable(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    for name, value, wrong in (
        ("shuffle", shuffle, shuffle not in (None, False)), ("sampler", sampler, sampler is not None),
        ("batch_sampler", batch_sampler, batch_sampler is not None),
    ):  # fmt: skip
        if wrong:
            raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}")


class LengthCheck:
    """Warns when an iterable dataset gives more than its ``__len__`` has promised."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self.dataset = loader.dataset
        self.several = loader.num_workers > 0
        self.given = 0
        self.promised = getattr(loader, "_promised_length", None)  # None where nobody has asked yet

    def count(self) -> None:
        """Another batch was given."""
        self.given += 1
        if self.promised is not None and self.given > self.promised:
            warnings.warn(
                f"Length of IterableDataset {self.dataset} was reported to be {self.promised} (when accessing len(dataloader)), "
                f"but {self.given} samples have been fetched. "
                + (
                    "For multiprocessing data-loading, this could be caused by not properly configuring the IterableDataset "
                    "replica at each worker: see `get_worker_info`."
                    if self.several
                    else ""
                ),
                stacklevel=3,
            )


class _PlainIterator:
    """Fetches in this process."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        # Only what PyTorch's loaders have is asked of the loader: libraries make loaders of their own for this iterator.
        self._index_sampler = self._sampler = loader._index_sampler
        self._collate_fn, self._dataset_kind, self._num_workers = loader.collate_fn, loader._dataset_kind, loader.num_workers
        self._dataset = seeded(loader.dataset, loader.generator)
        if isinstance(self._dataset, (IterDataPipe, MapDataPipe)):
            apply_sharding(self._dataset, 1, 0)
        self._base_seed = draw_seed(loader.generator)
        self._indices = self._sampler_iter = iter(self._sampler)
        self._dataset_fetcher = _DatasetKind.create_fetcher(
            loader._dataset_kind, self._dataset, loader._auto_collation, loader.collate_fn, loader.drop_last
        )
        self._check = LengthCheck(loader)
        self._pins = loader.pin_memory and accelerator() is not None

    def __iter__(self) -> _PlainIterator:
        return self

    def __len__(self) -> int:
        return len(self._sampler)

    def _next_index(self) -> Any:
        return next(self._indices)

    def _next_data(self) -> Any:
        return self._dataset_fetcher.fetch(self._next_index())

    def __next__(self) -> Any:
        data = self._next_data()
        self._check.count()
        return pinned(data) if self._pins else data


if not TYPE_CHECKING:
    __getattr__ = missing(__name__)
