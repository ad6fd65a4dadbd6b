"""Data pipes: the steps, the rule of one iterator at a time, and loaders of pipes."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import rushlight as torch
from rushlight.utils.data import DataLoader, IterDataPipe, functional_datapipe, guaranteed_datapipes_determinism, non_deterministic
from rushlight.utils.data.datapipes.iter import FileLister, IterableWrapper
from rushlight.utils.data.datapipes.map import SequenceWrapper
from rushlight.utils.data.graph import traverse_dps
from rushlight.utils.data.graph_settings import apply_sharding, get_all_graph_pipes


def double(x: int) -> int:
    return 2 * x


def test_steps_are_methods() -> None:
    numbers = IterableWrapper(range(10))
    assert list(numbers.map(double).filter(lambda x: x % 4 == 0).batch(2)) == [[0, 4], [8, 12], [16]]
    assert len(numbers.batch(3)) == 4 and len(numbers.batch(3, drop_last=True)) == 3
    assert list(IterableWrapper([[1, [2]], [3]]).unbatch(-1)) == [1, 2, 3]
    assert list(IterableWrapper([1, 2]).zip(IterableWrapper("ab"))) == [(1, "a"), (2, "b")]
    assert list(IterableWrapper([1, 2, 5]).mux(IterableWrapper([3, 4]))) == [1, 3, 2, 4]
    assert list(IterableWrapper([(1, 2)]).map(lambda u, v: u + v, input_col=[0, 1], output_col=-1)) == [(1, 2, 3)]
    assert list(numbers.groupby(lambda x: x % 3, group_size=2))[:2] == [[0, 3], [1, 4]]
    assert [batch.tolist() for batch in numbers.batch(5).collate()] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]


def test_steps_of_indexed_pipes() -> None:
    letters = SequenceWrapper("abcd")
    assert letters.map(str.upper)[2] == "C" and letters.zip(letters)[1] == ("b", "b") and len(letters.concat(letters)) == 8
    assert list(letters.batch(3)) == [["a", "b", "c"], ["d"]]
    assert sorted(letters.shuffle()) == list("abcd")


def test_one_iterator_at_a_time() -> None:
    pipe = IterableWrapper(range(3))
    first = iter(pipe)
    next(first)
    next(iter(pipe))
    with pytest.raises(RuntimeError, match="invalidated because another iterator"):
        next(first)


def test_forks_share_an_iteration() -> None:
    one, two = IterableWrapper(range(4)).fork(2)
    assert list(one) == list(two) == [0, 1, 2, 3]
    with pytest.raises(BufferError, match="buffer overflow"):
        list(IterableWrapper(range(4)).fork(2, buffer_size=2)[0])
    even, odd = IterableWrapper(range(4)).demux(2, lambda x: x % 2)
    assert (list(even), list(odd)) == ([0, 2], [1, 3])


def test_errors_say_where() -> None:
    with pytest.raises(ZeroDivisionError, match="thrown by __iter__ of MapperIterDataPipe"):
        list(IterableWrapper([1]).map(lambda x: x / 0))
    with pytest.raises(AttributeError, match="nothing"):
        _ = IterableWrapper([1]).nothing
    with pytest.raises(ValueError, match="takes 2 positional parameters"):
        IterableWrapper([1]).map(lambda a, b: a)


def test_classes_become_methods() -> None:
    @functional_datapipe("tripled_in_test")
    class Tripled(IterDataPipe):
        def __init__(self, source: Any) -> None:
            self.source = source

        def __iter__(self) -> Any:
            yield from (3 * each for each in self.source)

    assert list(IterableWrapper([1, 2]).tripled_in_test()) == [3, 6]
    with pytest.raises(Exception, match="already taken"):
        functional_datapipe("map")(Tripled)
    vague = non_deterministic(Tripled)
    assert list(vague(IterableWrapper([1]))) == [3]
    with guaranteed_datapipes_determinism(), pytest.raises(TypeError, match="non-deterministic"):
        vague(IterableWrapper([1]))


def test_shuffling_and_sharding_by_a_loader() -> None:
    torch.manual_seed(1)
    pipe = IterableWrapper(list(range(8))).shuffle().sharding_filter()
    found = [batch.tolist() for batch in DataLoader(pipe, batch_size=3)]
    assert sorted(sum(found, [])) == list(range(8)) and found[0] != [0, 1, 2]
    assert [batch.tolist() for batch in DataLoader(pipe, batch_size=8, shuffle=False)] == [list(range(8))]
    apply_sharding(pipe, 2, 1)
    assert len(pipe) == 4 and sorted(pipe) != list(range(8))
    with pytest.raises(RuntimeError, match="Sharding twice"):
        apply_sharding(pipe.sharding_filter(), 2, 1)


def test_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hi")
    (tmp_path / "b.json").write_text('{"x": 1}')
    lister = FileLister(str(tmp_path))
    assert [Path(name).name for name in lister] == ["a.txt", "b.json"]
    assert [content for _, content in lister.open_files("b").routed_decode()] == ["hi", {"x": 1}]
    assert [content for _, content in FileLister(str(tmp_path), masks="*.txt").open_files().read_from_stream()] == ["hi"]


def test_graph_and_pickles() -> None:
    pipe = IterableWrapper([1, 2]).shuffle().map(double).batch(2)
    names = [type(each).__name__ for each in get_all_graph_pipes(traverse_dps(pipe))]
    assert names == ["BatcherIterDataPipe", "MapperIterDataPipe", "ShufflerIterDataPipe", "IterableWrapperIterDataPipe"]
    assert sorted(list(pickle.loads(pickle.dumps(pipe)))[0]) == [2, 4]
