"""Data loading: PyTorch's orders and seeds, its errors, and worker processes that come, go and fail as they should."""

from __future__ import annotations

import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time
import warnings

import data_programs
import numpy as np
import pytest

import rushlight as torch
from rushlight.utils import data
from rushlight.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset
from rushlight.utils.data.collate import collate, collate_int_fn

TESTS = pathlib.Path(__file__).parent
RECORDED = json.loads((TESTS / "data" / "data_loader.json").read_text(encoding="utf8"))


@pytest.fixture(scope="module")
def found():
    return json.loads(json.dumps(data_programs.programs(torch, data)))


@pytest.mark.parametrize("name", RECORDED)
def test_orders_and_seeds_are_those_of_pytorch(name, found):
    assert found[name] == RECORDED[name]


# -- datasets ----------------------------------------------------------------------------------------------------


def test_tensor_and_stack_datasets():
    pairs = TensorDataset(torch.arange(4), torch.arange(8).reshape(4, 2))
    assert len(pairs) == 4 and [each.tolist() for each in pairs[1]] == [1, [2, 3]]
    stacked = data.StackDataset(x=range(4), y=pairs)
    assert stacked[2]["x"] == 2 and len(stacked) == 4
    assert data.StackDataset(range(3), range(3)).__getitems__([0, 2]) == [(0, 0), (2, 2)]
    for wrong, kind in ((lambda: data.StackDataset(), "At least one"), (lambda: data.StackDataset(range(2), range(3)), "Size")):
        with pytest.raises(ValueError, match=kind):
            wrong()
    with pytest.raises(ValueError, match="both types"):
        data.StackDataset(range(2), a=range(2))
    with pytest.raises(AssertionError, match="Size mismatch"):
        TensorDataset(torch.ones(2), torch.ones(3))


class Numbers(IterableDataset):
    def __init__(self, end, promised=None):
        self.end = end
        self.promised = promised

    def __iter__(self):
        info = data.get_worker_info()
        return iter(range(self.end)) if info is None else iter(range(info.id, self.end, info.num_workers))

    def __len__(self):
        if self.promised is None:
            raise TypeError("no length")
        return self.promised


class Letters(Dataset):
    def __init__(self, letters):
        self.letters = letters

    def __len__(self):
        return len(self.letters)

    def __getitem__(self, index):
        return self.letters[index]


def test_chained_and_joined_datasets():
    joined = Letters("abc") + Letters("de")
    assert isinstance(joined, data.ConcatDataset) and len(joined) == 5
    assert [joined[index] for index in (0, 2, 3, -1)] == ["a", "c", "d", "e"]
    with pytest.raises(IndexError):
        joined[5]
    with pytest.raises(ValueError, match="absolute value"):
        joined[-6]
    chained = Numbers(2, 2) + Numbers(3, 3)
    assert list(chained) == [0, 1, 0, 1, 2] and len(chained) == 5
    with pytest.raises(AssertionError, match="empty"):
        data.ConcatDataset([])
    with pytest.raises(AssertionError, match="IterableDataset"):
        data.ConcatDataset([Numbers(1)])
    with pytest.raises(TypeError, match="abstract"):
        IterableDataset()
    with pytest.raises(NotImplementedError, match="__getitem__"):
        Dataset()[0]


def test_subsets_and_splits():
    part = data.Subset(Letters("abcd"), [3, 1])
    assert [part[0], part[1], len(part)] == ["d", "b", 2] and part.__getitems__([1, 0]) == ["b", "d"]
    with pytest.raises(ValueError, match="Sum of input lengths"):
        data.random_split(range(5), [2, 2])
    with pytest.raises(ValueError, match="index 0 is not between"):
        data.random_split(range(5), [-0.5, 1.5])
    with pytest.warns(UserWarning, match="split at index 1 is 0"):
        assert [len(each) for each in data.random_split(range(1), [0.5, 0.5])] == [1, 0]


# -- collating ---------------------------------------------------------------------------------------------------

Pair = collections.namedtuple("Pair", "x y")


def test_collate():
    def shown(batch):
        return repr(data.default_collate(batch))

    assert shown([1, 2]) == "tensor([1, 2])"
    assert shown([1.0, 2.0]) == "tensor([1., 2.], dtype=torch.float64)"
    assert shown([np.float32(1), np.float32(2)]) == "tensor([1., 2.])"
    assert shown([np.ones(2, np.int8)] * 2) == "tensor([[1, 1],\n        [1, 1]], dtype=torch.int8)"
    assert shown([True, False]) == "tensor([ True, False])"
    assert shown(["a", "b"]) == "['a', 'b']"
    assert shown([(1, "a"), (2, "b")]) == "[tensor([1, 2]), ('a', 'b')]"
    assert shown([[1, 2], [3, 4]]) == "[tensor([1, 3]), tensor([2, 4])]"
    assert shown([Pair(1, 2), Pair(3, 4)]) == "Pair(x=tensor([1, 3]), y=tensor([2, 4]))"
    assert shown([{"a": [1, "x"]}, {"a": [2, "y"]}]) == "{'a': [tensor([1, 2]), ('x', 'y')]}"
    assert shown([collections.OrderedDict(a=1)]) == repr(collections.OrderedDict(a=torch.tensor([1])))
    assert data.default_collate([torch.ones(2, dtype=torch.bfloat16)]).dtype is torch.bfloat16
    assert collate([1, 2], collate_fn_map={int: lambda batch, collate_fn_map: sum(batch)}) == 3
    assert collate_int_fn([1, 2]).tolist() == [1, 2]
    for batch, kind, message in (
        ([object()], TypeError, "found <class 'object'>"), ([None], TypeError, "NoneType"), ([np.array("x")], TypeError, "found <U1"),
        ([[1], [1, 2]], RuntimeError, "equal size"), ([torch.ones(1), torch.ones(2)], RuntimeError, "stack expects"),
        ([{"a": 1}, {"b": 1}], KeyError, "a"),
    ):  # fmt: skip
        with pytest.raises(kind, match=message):
            data.default_collate(batch)


def test_convert():
    found = data.default_convert({"a": (np.ones(1), "s"), "p": Pair(np.float32(2), 1)})
    assert repr(found) == "{'a': [tensor([1.], dtype=torch.float64), 's'], 'p': Pair(x=tensor(2.), y=1)}"
    assert data.default_convert(np.array(["a"])).dtype.kind == "U"


# -- the loader --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, message",
    [
        ({"num_workers": -1}, "num_workers option"), ({"timeout": -1}, "timeout option"),
        ({"prefetch_factor": 2}, "prefetch_factor option could"), ({"num_workers": 1, "prefetch_factor": -1}, "non-negative"),
        ({"persistent_workers": True}, "needs num_workers"), ({"batch_size": None, "drop_last": True}, "auto-batching"),
        ({"batch_sampler": [[0]], "batch_size": 2}, "mutually exclusive"), ({"sampler": [0], "shuffle": True}, "mutually exclusive"),
        ({"batch_sampler": [[0]], "shuffle": True}, "mutually exclusive"), ({"batch_size": 0}, "batch_size should be a positive"),
        ({"batch_size": 1.5}, "batch_size should be a positive"), ({"multiprocessing_context": "fork"}, "num_workers > 0"),
        ({"num_workers": 1, "multiprocessing_context": "bad"}, "valid start method"), ({"drop_last": 5}, "boolean value"),
    ],
)  # fmt: skip
def test_options_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        DataLoader(range(4), **options)


def test_more_checks():
    for options in ({"shuffle": True}, {"sampler": [0]}, {"batch_sampler": [[0]]}):
        with pytest.raises(ValueError, match="with IterableDataset: expected unspecified"):
            DataLoader(Numbers(3), **options)
    with pytest.raises(TypeError, match="valid context object"):
        DataLoader(range(2), num_workers=1, multiprocessing_context=5)
    with pytest.raises(ValueError, match="batch_size attribute should not be set"):
        DataLoader(range(2)).batch_size = 3
    with pytest.raises(ValueError, match="num_samples=0"):
        DataLoader([], shuffle=True)
    with pytest.warns(UserWarning, match="pin_memory"):
        assert len(list(DataLoader(range(2), pin_memory=True))) == 2
    with pytest.warns(UserWarning, match="create 999 worker processes"):
        DataLoader(range(2), num_workers=999)
    for wrong in (lambda: data.BatchSampler([1], 0, True), lambda: data.WeightedRandomSampler([1.0], 0)):
        with pytest.raises(ValueError, match="positive integer"):
            wrong()
    with pytest.raises(ValueError, match="rank should be in the interval"):
        data.DistributedSampler(range(2), 2, 5)


def test_lengths():
    assert [len(DataLoader(range(10), batch_size=3, drop_last=drop)) for drop in (False, True)] == [4, 3]
    assert len(DataLoader(Numbers(7, 7), batch_size=2)) == 4 and len(iter(DataLoader(range(5), batch_size=2))) == 3
    loader = DataLoader(Numbers(4, 3), batch_size=None)
    assert len(loader) == 3
    with pytest.warns(UserWarning, match="reported to be 3"):
        assert list(loader) == [0, 1, 2, 3]


def test_whole_batches_are_asked_for():
    class Batches(Letters):
        def __getitems__(self, indices):
            return [self.letters[index].upper() for index in indices]

    assert list(DataLoader(Batches("abc"), batch_size=2)) == [["A", "B"], ["C"]]
    assert list(DataLoader(Batches("abc"), batch_size=None)) == ["a", "b", "c"]
    assert list(DataLoader(range(3), batch_size=2, collate_fn=sum)) == [1, 2]


@pytest.mark.parametrize("workers", [0, 2, 3])
def test_iterable_datasets(workers):
    def batches(**options):
        return [batch.tolist() for batch in DataLoader(Numbers(7), num_workers=workers, batch_size=2, **options)]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of more workers than processors
        wanted = {
            0: [[0, 1], [2, 3], [4, 5], [6]],
            2: [[0, 2], [1, 3], [4, 6], [5]],
            3: [[0, 3], [1, 4], [2, 5], [6]],
        }[workers]
        assert batches() == wanted and batches(drop_last=True) == wanted[:3]
        assert batches(in_order=False).sort() is None and sorted(sum(batches(in_order=False), [])) == list(range(7))


# -- worker processes --------------------------------------------------------------------------------------------


class Images(Dataset):
    def __init__(self):
        self.base = torch.arange(100_000.0)

    def __len__(self):
        return 6

    def __getitem__(self, index):
        return {"image": self.base + index, "view": self.base[index : index + 2], "name": f"{index}", "array": np.full(3, index)}


def alive(pids):
    found = []
    for pid in pids:
        try:
            os.kill(pid, 0)
            with open(f"/proc/{pid}/stat") as file:
                found += [] if file.read().rpartition(")")[2].split()[0] == "Z" else [pid]
        except OSError:
            continue
    return found


def gone(pids, seconds=5.0):
    deadline = time.monotonic() + seconds
    while alive(pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not alive(pids)


def pids_of(iterator):
    return [worker.process.pid for worker in iterator._workers]


@pytest.mark.parametrize("options", [{"batch_size": 3}, {"batch_size": None}], ids=str)
def test_large_and_small_batches(options):
    for wanted, batch in zip(DataLoader(Images(), **options), DataLoader(Images(), num_workers=2, **options), strict=True):
        assert torch.equal(batch["image"], wanted["image"]) and torch.equal(batch["array"], wanted["array"])
        assert torch.equal(batch["view"], wanted["view"]) and batch["name"] == wanted["name"]
        assert batch["view"].untyped_storage().nbytes() < 1000  # of a small view, not all of its memory came
        batch["image"] += 1  # its memory can be written to
        batch["array"] += 1


def test_many_batches_can_be_kept():
    class Rows(Dataset):
        def __len__(self):
            return 300

        def __getitem__(self, index):
            return torch.full((20_000,), float(index))

    kept = list(DataLoader(Rows(), batch_size=1, num_workers=1))
    assert [batch[0, 0].item() for batch in kept] == list(range(300))


def test_spawned_workers():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loader = DataLoader(Letters("abcd"), batch_size=2, num_workers=1, multiprocessing_context="spawn", worker_init_fn=print)
        assert list(loader) == [["a", "b"], ["c", "d"]]


def test_workers_end_with_the_epoch_and_with_the_iterator():
    iterator = iter(DataLoader(range(4), num_workers=2))
    pids = pids_of(iterator)
    assert len(list(iterator)) == 4 and gone(pids)
    for batch in (iterator := iter(DataLoader(range(100), num_workers=2))):
        pids = pids_of(iterator)
        assert batch.tolist() == [0]
        break
    assert alive(pids)
    del iterator
    assert gone(pids)


def test_persistent_workers():
    loader = DataLoader(data_programs.WorkerSeeds(torch, data), num_workers=2, persistent_workers=True, batch_size=None)
    first = [sample[5] for sample in loader]
    pids = pids_of(loader._iterator)
    for index, _ in enumerate(loader):  # an epoch that is left early
        if index == 1:
            break
    second = [sample[5] for sample in loader]
    assert pids_of(loader._iterator) == pids == alive(pids)
    assert not set(first) & set(second)  # the generators of the workers go on
    assert [batch.tolist() for batch in DataLoader(Numbers(3), num_workers=1, persistent_workers=True)] == [[0], [1], [2]]
    del loader
    assert gone(pids)


class Odd(Exception):
    def __init__(self, first, second):
        super().__init__(first, second)


class Failing(Dataset):
    def __init__(self, error):
        self.error = error

    def __len__(self):
        return 4

    def __getitem__(self, index):
        if index == 1:
            raise self.error
        return index


@pytest.mark.parametrize(
    "error, kind", [(ValueError("boo"), ValueError), (KeyError("k"), KeyError), (Odd(1, 2), RuntimeError), (StopIteration(), StopIteration)]
)
def test_errors_come_with_their_type_and_traceback(error, kind):
    iterator = iter(DataLoader(Failing(error), num_workers=1))
    assert next(iterator).tolist() == [0]
    with pytest.raises(kind) as caught:
        next(iterator)
    text = str(caught.value)
    assert text.startswith(f"Caught {type(error).__name__} in DataLoader worker process 0.\nOriginal Traceback (most recent call last):")
    assert "test_data.py" in text and "in __getitem__" in text
    if kind is not StopIteration:
        assert [batch.tolist() for batch in iterator] == [[2], [3]]


def test_errors_of_classes_that_the_parent_can_not_find():
    class Local(Exception):
        pass

    with pytest.raises(RuntimeError, match="Caught Local in DataLoader worker process 0"):
        list(DataLoader(Failing(Local("x")), num_workers=1))
    with pytest.raises((AttributeError, TypeError, RuntimeError), match="in DataLoader worker process 0"):
        list(DataLoader(range(2), num_workers=1, collate_fn=lambda batch: lambda: 1))

    def refuse(worker):
        raise ValueError(f"worker {worker}")

    with pytest.raises(ValueError, match="in DataLoader worker process 0"):
        list(DataLoader(range(2), num_workers=1, worker_init_fn=refuse))


class Dying(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        if index == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return index


class Slow(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        time.sleep(60)


def test_workers_that_die_or_hang():
    iterator = iter(DataLoader(Dying(), num_workers=2))
    pids = pids_of(iterator)
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly \(killed by signal 9\)"):
        list(iterator)
    assert gone(pids)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rushlight.utils.data.processes._SHUTDOWN_SECONDS", 0.1)
        iterator = iter(DataLoader(Slow(), num_workers=1, timeout=0.2))
        pids = pids_of(iterator)
        with pytest.raises(RuntimeError, match="timed out after 0.2 seconds"):
            next(iterator)
        assert gone(pids)


PROGRAM = """
    import os, signal, sys, time
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started us with it ignored
    import rushlight as torch
    from rushlight.utils.data import DataLoader
    from rushlight.utils.data import processes, worker
    worker._WATCH_SECONDS, worker._GRACE_SECONDS, processes._SHUTDOWN_SECONDS = 0.2, 0.2, 0.5

    class Endless:
        def __len__(self):
            return 1000
        def __getitem__(self, index):
            if index > 2:
                time.sleep({sleep})
            return index

    iterator = iter(DataLoader(Endless(), num_workers=2))
    print(*(each.process.pid for each in iterator._workers), flush=True)
    try:
        for batch in iterator:
            pass
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        raise
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="asks /proc which processes live")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("sleep", [0.01, 60])
def test_no_worker_is_left_when_the_parent_goes(number, sleep):
    code = textwrap.dedent(PROGRAM).replace("{sleep}", str(sleep))
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=TESTS.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    pids = [int(word) for word in process.stdout.readline().split()]
    assert len(pids) == 2 and len(alive(pids)) == 2
    time.sleep(0.1)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as the terminal does: to all of them
    else:
        process.send_signal(number)
    output, errors = process.communicate(timeout=10)
    assert gone(pids)
    if number == signal.SIGINT:
        assert b"interrupted" in output and errors.count(b"KeyboardInterrupt") == 1


def test_the_old_spelling_of_cumulative_sizes_warns() -> None:
    joined = data.ConcatDataset([[1, 2], [3]])
    with pytest.warns(FutureWarning, match="renamed to `cumulative_sizes`"):
        assert joined.cummulative_sizes == [2, 3]
