"""Private classes of `torch.utils.data.dataloader`: the iterators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from .. import distributed
from ..core.devices import accelerator
from ..tensor.generator import Generator
from ..utils.data.dataloader import LengthCheck
from ..utils.data.dataloader import _PlainIterator as _SingleProcessDataLoaderIter
from ..utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe
from ..utils.data.graph_settings import apply_random_seed, apply_sharding
from ..utils.data.processes import ProcessIterator as _MultiProcessingDataLoaderIter
from ..utils.data.sampler import draw_seed
from ..utils.data.worker import get_worker_info


class _Kinds(type):
    """Either iterator of ours is an instance of the base, too."""

    def __instancecheck__(cls, value: object) -> bool:
        ours = cls is _BaseDataLoaderIter and isinstance(value, (_SingleProcessDataLoaderIter, _MultiProcessingDataLoaderIter))
        return ours or super().__instancecheck__(value)


class _BaseDataLoaderIter(metaclass=_Kinds):
    """The base of iterators that libraries write: what the loader was told, its sampler's indices, and how many batches were given.

    A subclass has `_next_data`.
    """

    def __init__(self, loader: Any) -> None:
        self._dataset, self._dataset_kind = loader.dataset, loader._dataset_kind
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._auto_collation, self._drop_last = loader._auto_collation, loader.drop_last
        self._index_sampler, self._collate_fn = loader._index_sampler, loader.collate_fn
        self._num_workers, self._prefetch_factor = loader.num_workers, loader.prefetch_factor
        self._persistent_workers, self._timeout = loader.persistent_workers, loader.timeout
        shared = distributed.is_available() and distributed.is_initialized()
        self._world_size = distributed.get_world_size() if shared else 1
        self._rank = distributed.get_rank() if shared else 0
        self._pin_memory = loader.pin_memory and accelerator() is not None
        self._pin_memory_device = loader.pin_memory_device or None
        self._reseed(loader)
        self._sampler_iter = iter(self._index_sampler)
        self._base_seed = draw_seed(loader.generator)
        self._num_yielded = 0
        self._profile_name = f"enumerate(DataLoader)#{type(self).__name__}.__next__"
        self._check = LengthCheck(loader)

    def _reseed(self, loader: Any) -> None:
        """Draw the seed that the random steps of a pipe share, in all workers."""
        self._shared_seed = None
        if isinstance(self._dataset, IterDataPipe):
            self._shared_seed = draw_seed(loader.generator)
            self._dataset = apply_random_seed(self._dataset, Generator().manual_seed(self._shared_seed))

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        """Begin an epoch."""
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._check = LengthCheck(loader)
        self._reseed(loader)

    def _next_index(self) -> Any:
        return next(self._sampler_iter)

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def __next__(self) -> Any:
        if self._sampler_iter is None:
            self._reset()  # type: ignore[call-arg]  # a subclass that lets go of its sampler has a reset without arguments
        data = self._next_data()
        self._num_yielded += 1
        self._check.count()
        return data

    def __len__(self) -> int:
        return len(self._index_sampler)


def _sharding_worker_init_fn(worker_init_fn: Any, world_size: int, rank_id: int, worker_id: int) -> None:
    """In a worker: divide a pipe over all workers of all processes, then call the user's function."""
    info = get_worker_info()
    if info is None:
        raise RuntimeError("a pipe is divided in a worker process of a DataLoader")
    if isinstance(info.dataset, (IterDataPipe, MapDataPipe)):
        apply_sharding(info.dataset, world_size * info.num_workers, rank_id * info.num_workers + worker_id)
    if worker_init_fn is not None:
        worker_init_fn(worker_id)


_collate_fn_t: TypeAlias = Callable[[list[Any]], Any]
_worker_init_fn_t: TypeAlias = Callable[[int], None]
