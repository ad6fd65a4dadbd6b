"""Steps that change the order of samples."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sized
from typing import Any

from .....core.declare import exports
from .....core.dtypes import int64
from ...sampler import SequentialSampler
from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe


def new_seed() -> int:
    """A seed from the generator of the process."""
    return int(exports["", "empty"]((), dtype=int64).random_().item())


class SamplerIterDataPipe(IterDataPipe[Any]):
    """The samples in the order of a sampler."""

    def __init__(self, datapipe: Any, sampler: Any = SequentialSampler, sampler_args: Any = None, sampler_kwargs: Any = None) -> None:
        if not isinstance(datapipe, Sized):
            raise AssertionError("Sampler class requires input datapipe implemented `__len__`")
        super().__init__()
        self.datapipe = datapipe
        self.sampler_args = () if sampler_args is None else sampler_args
        self.sampler_kwargs = {} if sampler_kwargs is None else sampler_kwargs
        self.sampler = sampler(*self.sampler_args, data_source=self.datapipe, **self.sampler_kwargs)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.sampler)

    def __len__(self) -> int:
        return len(self.sampler)


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(IterDataPipe[Any]):
    """The samples in random order: each is drawn from a buffer, into whose place the next one goes."""

    def __init__(self, datapipe: Any, *, buffer_size: int = 10000, unbatch_level: int = 0) -> None:
        super().__init__()
        self._buffer: list[Any] = []
        if buffer_size <= 0:
            raise AssertionError("buffer_size should be larger than 0")
        self.datapipe = datapipe if unbatch_level == 0 else datapipe.unbatch(unbatch_level=unbatch_level)
        self.buffer_size = buffer_size
        self._enabled = True
        self._seed: int | None = None
        self._rng = random.Random()

    def set_shuffle(self, shuffle: bool = True) -> ShufflerIterDataPipe:
        """Shuffle, or leave the order."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> ShufflerIterDataPipe:
        """The seed of the next iteration."""
        self._seed = seed
        return self

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            yield from self.datapipe
            return
        for each in self.datapipe:
            if len(self._buffer) == self.buffer_size:
                place = self._rng.randint(0, len(self._buffer) - 1)
                found, self._buffer[place] = self._buffer[place], each
                yield found
            else:
                self._buffer.append(each)
        while self._buffer:
            yield self._buffer.pop(self._rng.randint(0, len(self._buffer) - 1))

    def __len__(self) -> int:
        return len(self.datapipe)

    def reset(self) -> None:
        """Begin with an empty buffer, and with a seed of its own or one from the generator of the process."""
        self._buffer = []
        if self._enabled:
            self._rng.seed(new_seed() if self._seed is None else self._seed)
            self._seed = None

    def __getstate__(self) -> Any:
        state = {**self.__dict__, "_rng": self._rng.getstate()}
        hook = IterDataPipe.getstate_hook
        return state if hook is None else hook(state)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._rng = random.Random()
        self._rng.setstate(state["_rng"])
