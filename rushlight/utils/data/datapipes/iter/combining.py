"""Steps that put pipes together, or make several of one."""

from __future__ import annotations

import copy as copying
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import _ISSUE, IterDataPipe, _with_arguments
from ..utils.common import StreamWrapper


def _check_pipes(name: str, datapipes: Any) -> None:
    if len(datapipes) == 0:
        raise ValueError(f"Expected at least one DataPipe, but got {len(datapipes)}")
    if not all(isinstance(each, IterDataPipe) for each in datapipes):
        raise TypeError(f"Expected all inputs to be `IterDataPipe` for `{name}`")


@functional_datapipe("concat")
class ConcaterIterDataPipe(IterDataPipe[Any]):
    """The samples of pipes, one pipe after the other."""

    def __init__(self, *datapipes: Any) -> None:
        super().__init__()
        _check_pipes("Concater", datapipes)
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        for each in self.datapipes:
            yield from each

    def __len__(self) -> int:
        return sum(len(each) for each in self.datapipes)


@functional_datapipe("zip")
class ZipperIterDataPipe(IterDataPipe[Any]):
    """Tuples of samples, one of each pipe, as long as all have one."""

    def __init__(self, *datapipes: Any) -> None:
        if not all(isinstance(each, IterDataPipe) for each in datapipes):
            raise TypeError("All inputs are required to be `IterDataPipe` for `ZipIterDataPipe`.")
        super().__init__()
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        yield from zip(*(iter(each) for each in self.datapipes))

    def __len__(self) -> int:
        return min(len(each) for each in self.datapipes)


@functional_datapipe("mux")
class MultiplexerIterDataPipe(IterDataPipe[Any]):
    """One sample of each pipe in turn, as long as all have one."""

    def __init__(self, *datapipes: Any) -> None:
        super().__init__()
        self.datapipes = datapipes
        self.buffer: list[Any] = []

    def __iter__(self) -> Iterator[Any]:
        iterators = [iter(each) for each in self.datapipes]
        while iterators:
            for each in iterators:
                try:
                    self.buffer.append(next(each))
                except StopIteration:
                    self.buffer.clear()
                    return
            yield from self.buffer
            self.buffer.clear()

    def __len__(self) -> int:
        return min(len(each) for each in self.datapipes) * len(self.datapipes)

    def reset(self) -> None:
        """Begin with an empty buffer."""
        self.buffer = []


class _Parent(IterDataPipe[Any]):
    """What the children of a fork or a demultiplexer share: one iteration over a pipe, and samples that some of them have not taken yet."""

    name = ""

    def __init__(self, datapipe: Any, num_instances: int, buffer_size: int) -> None:
        self.main_datapipe = datapipe
        self.num_instances = num_instances
        self.buffer_size = buffer_size
        if buffer_size < 0:
            warnings.warn(
                f"Unlimited buffer size is set for `{self.name.lower()}`, please be aware of OOM risks", UserWarning, stacklevel=4
            )
        self._source: Any = None
        self._waiting: list[deque[Any]] = [deque() for _ in range(num_instances)]
        self._ended: list[bool] = [False] * num_instances
        self._over = False

    def _overflow(self) -> BufferError:
        return BufferError(f"{self.name} buffer overflow,buffer size {self.buffer_size} is insufficient.")

    def _distribute(self) -> None:
        """Take a sample, and put it where it belongs."""
        raise NotImplementedError

    def take(self, instance: int) -> Iterator[Any]:
        """The samples of one child."""
        waiting = self._waiting[instance]
        while True:
            while not waiting:
                if self._over:
                    self._ended[instance] = True
                    return
                if self._source is None:
                    self._source = iter(self.main_datapipe)
                try:
                    self._distribute()
                except StopIteration:
                    self._over = True
            yield waiting.popleft()

    def start_over(self) -> None:
        """Forget the iteration and all that waits."""
        for each in self._waiting:
            StreamWrapper.close_streams(list(each))
            each.clear()
        self._source, self._over = None, False
        self._ended = [False] * self.num_instances

    def begun(self) -> bool:
        """Whether a child has taken something since the last start."""
        return self._source is not None

    def __len__(self) -> int:
        return len(self.main_datapipe)

    def __getstate__(self) -> Any:
        state = {**self.__dict__, "_source": None, "_waiting": [deque() for _ in range(self.num_instances)]}
        hook = IterDataPipe.getstate_hook
        return state if hook is None else hook(state)


class _ForkerIterDataPipe(_Parent):
    """The parent of a fork: every child gets every sample."""

    name = "ForkerIterDataPipe"

    def __init__(self, datapipe: Any, num_instances: int, buffer_size: int = 1000, copy: str | None = None) -> None:
        super().__init__(datapipe, num_instances, buffer_size)
        if copy not in (None, "shallow", "deep"):
            raise ValueError(f"Unknown copy method `{copy}` requested, choose one of None, `shallow` or `deep`.")
        self.copy_fn = {None: lambda x: x, "shallow": copying.copy, "deep": copying.deepcopy}[copy]

    def _distribute(self) -> None:
        if self.buffer_size >= 0 and max(map(len, self._waiting)) >= max(self.buffer_size, 1):
            raise self._overflow()
        sample = next(self._source)
        for waiting in self._waiting:
            waiting.append(self.copy_fn(sample))

    def __getstate__(self) -> Any:
        return super().__getstate__()


class _DemultiplexerIterDataPipe(_Parent):
    """The parent of a demultiplexer: a function says which child gets a sample."""

    name = "DemultiplexerIterDataPipe"

    def __init__(self, datapipe: Any, num_instances: int, classifier_fn: Callable[[Any], Any], drop_none: bool, buffer_size: int) -> None:
        super().__init__(datapipe, num_instances, buffer_size)
        self.classifier_fn = classifier_fn
        self.drop_none = drop_none

    def _distribute(self) -> None:
        sample = next(self._source)
        place = self.classifier_fn(sample)
        if place is None and self.drop_none:
            StreamWrapper.close_streams(sample)
            return
        if place is None or place >= self.num_instances or place < 0:
            raise ValueError(f"Output of the classification fn should be between 0 and {self.num_instances - 1}. {place} is returned.")
        if self.buffer_size >= 0 and sum(map(len, self._waiting)) >= max(self.buffer_size, 1):
            raise self._overflow()
        self._waiting[place].append(sample)


class _ChildDataPipe(IterDataPipe[Any]):
    """One of the pipes that a fork or a demultiplexer gives."""

    _is_child_datapipe = True

    def __init__(self, main_datapipe: Any, instance_id: int) -> None:
        self.main_datapipe = main_datapipe
        self.instance_id = instance_id

    def __iter__(self) -> Iterator[Any]:
        yield from self.main_datapipe.take(self.instance_id)

    def __len__(self) -> int:
        return len(self.main_datapipe)

    def _begin(self) -> int:
        """All children have the iteration of their parent: one that begins anew starts it over, for all of them."""
        parent = self.main_datapipe
        if parent._valid_iterator_id is None:
            parent._valid_iterator_id = 0
        if self._valid_iterator_id == parent._valid_iterator_id:  # this child has iterated before
            parent._valid_iterator_id += 1
            if parent.begun() and not all(parent._ended):
                warnings.warn(
                    "Some child DataPipes are not exhausted when __iter__ is called. We are resetting the buffer and each child DataPipe "
                    "will read from the start again.",
                    UserWarning,
                    stacklevel=4,
                )
            parent.start_over()
        self._valid_iterator_id = parent._valid_iterator_id
        return int(parent._valid_iterator_id)

    def _check(self, number: int) -> None:
        if number != self.main_datapipe._valid_iterator_id:
            raise RuntimeError(
                "This iterator has been invalidated, because a new iterator has been created from one of the ChildDataPipes of "
                f"{_with_arguments(self.main_datapipe)}.{_ISSUE}"
            )


def _children(parent: _Parent) -> list[Any]:
    return [_ChildDataPipe(parent, number) for number in range(parent.num_instances)]


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe[Any]):
    """Several pipes with the samples of one."""

    def __new__(cls, datapipe: Any, num_instances: int, buffer_size: int = 1000, copy: str | None = None) -> Any:
        if num_instances < 1:
            raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")
        if num_instances == 1:
            return [datapipe]
        return _children(_ForkerIterDataPipe(datapipe, num_instances, buffer_size, copy))


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe[Any]):
    """Several pipes among which a function distributes the samples of one."""

    def __new__(
        cls, datapipe: Any, num_instances: int, classifier_fn: Callable[[Any], Any], drop_none: bool = False, buffer_size: int = 1000
    ) -> Any:
        if num_instances < 1:
            raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")
        return _children(_DemultiplexerIterDataPipe(datapipe, num_instances, classifier_fn, drop_none, buffer_size))
