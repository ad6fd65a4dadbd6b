"""The engine of NCCL against a fake of CuPy's binding: which calls are made, with which pointers, counts and types."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from rushlight.distributed.engines.nccl import NcclEngine


class FakeArray(np.ndarray):
    """An array with a pointer, as CuPy's have."""

    @property
    def data(self):
        return SimpleNamespace(ptr=self.__array_interface__["data"][0])


def array(values, dtype="f4") -> FakeArray:
    return np.array(values, dtype).view(FakeArray)


@pytest.fixture
def engine():
    """The second of three processes, and the calls it makes."""
    calls: list[tuple] = []

    class Communicator:
        def __init__(self, size, number, rank):
            calls.append(("connect", size, rank))

        def __getattr__(self, name):
            return lambda *arguments: calls.append((name, *arguments))

    class Context:
        def __init__(self, *details, **more):
            self.ptr = 99

        def __enter__(self):
            return self

        def __exit__(self, *details):
            return None

        def wait_event(self, event):
            calls.append(("wait for the current stream",))

        def record(self):
            return SimpleNamespace(done=True)

    names = ("UINT8", "INT8", "INT32", "UINT32", "INT64", "UINT64", "FLOAT16", "FLOAT32", "FLOAT64", "SUM", "PROD", "MIN", "MAX")
    nccl = SimpleNamespace(
        NcclCommunicator=Communicator, groupStart=lambda: calls.append(("begin",)), groupEnd=lambda: calls.append(("end",)),
        **{f"NCCL_{name}": name for name in names},
    )  # fmt: skip
    nccl.NCCL_SUM, nccl.NCCL_MAX, nccl.NCCL_MIN, nccl.NCCL_PROD = 0, 2, 3, 1
    cuda = SimpleNamespace(nccl=nccl, Device=Context, Stream=Context, get_current_stream=Context)
    made = NcclEngine(SimpleNamespace(cuda=cuda, zeros=lambda *shape: array([0], "i4")), 3, 1, (0,) * 128, 0)
    calls.clear()
    return made, calls


def test_reductions_are_one_call(engine) -> None:
    made, calls = engine
    x = array([1, 2])
    assert made.all_reduce(x, "SUM").Test()
    at = x.data.ptr
    assert calls == [("wait for the current stream",), ("allReduce", at, at, 2, "FLOAT32", 0, 99)]
    calls.clear()
    made.all_reduce(array([True, False], "?"), "BOR")
    assert calls[1][3:6] == (2, "UINT8", 2)
    calls.clear()
    made.all_reduce(array([1j], "c8"), "SUM")
    assert calls[1][3:6] == (2, "FLOAT32", 0)
    with pytest.raises(ValueError, match="Cannot use ReduceOp.BXOR with NCCL"):
        made.all_reduce(array([1], "i4"), "BXOR")
    with pytest.raises(ValueError, match="NCCL has no reductions of int16"):
        made.all_reduce(array([1], "i2"), "SUM")


def test_parts_are_sends_and_receives_in_one_group(engine) -> None:
    made, calls = engine
    out, x = array(np.zeros(6)), array(np.arange(3))
    made.all_to_all(out, x, [1, 2, 3], [2, 0, 1])
    start, into = x.data.ptr, out.data.ptr
    assert [each for each in calls if each[0] in ("send", "recv")] == [
        ("send", start, 8, "UINT8", 0, 99), ("recv", into, 4, "UINT8", 0, 99), ("recv", into + 4, 8, "UINT8", 1, 99),
        ("send", start + 8, 4, "UINT8", 2, 99), ("recv", into + 12, 12, "UINT8", 2, 99),
    ]  # fmt: skip
    assert calls[1] == ("begin",) and calls[-1] == ("end",)
    calls.clear()
    made.all_gather(out, array([1, 2]), [1, 2, 3])
    assert [each[2:5] for each in calls if each[0] == "send"] == [(8, "UINT8", 0), (8, "UINT8", 1), (8, "UINT8", 2)]
    calls.clear()
    made.gather(None, x, 0)
    assert [each[0] for each in calls] == ["wait for the current stream", "begin", "send", "end"]
    calls.clear()
    made.scatter(x, out, 1)
    assert [each[0] for each in calls if each[0] in ("send", "recv")] == ["send", "send", "send", "recv"]
    calls.clear()
    made.reduce_scatter(array([0, 0]), out, "SUM", [1, 2, 3])
    assert [(each[1] - out.data.ptr, each[3], each[6]) for each in calls if each[0] == "reduce"] == [(0, 1, 0), (4, 2, 1), (12, 3, 2)]


def test_the_rest(engine) -> None:
    made, calls = engine
    x, out = array([1, 2]), array(np.zeros(6))
    made.broadcast(x, 2)
    made.all_gather(out, x)
    made.reduce_scatter(x, out, "MAX")
    made.reduce(x, "SUM", 0)
    made.send(x, 0, 5)
    made.receive(x, 2, 5)
    made.barrier()
    made.close()
    named = [each[0] for each in calls if not each[0].startswith("wait")]
    assert named == ["broadcast", "allGather", "reduceScatter", "reduce", "send", "recv", "allReduce", "destroy"]
    with pytest.raises(ValueError, match="recv without a source"):
        made.receive(x, None, 0)
