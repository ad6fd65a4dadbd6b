"""Loops of launches whose addresses come again, without a GPU: what is run as it is, what is captured, and what is launched in its place."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rushlight.runtime.cuda import gemm
from rushlight.runtime.cuda.kernels import captured_loops


class Stream:
    """A stream that notes what is done with it."""

    def __init__(self, ptr: int, done: list[str]) -> None:
        self.ptr, self.done, self.capturing = ptr, done, False

    def is_capturing(self) -> bool:
        return self.capturing

    def begin_capture(self) -> None:
        self.done.append("begin")

    def end_capture(self) -> Any:
        self.done.append("end")
        return SimpleNamespace(launch=lambda stream: self.done.append(f"launch in {stream.ptr}"))

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: Any) -> None:
        pass


@pytest.fixture
def done() -> list[str]:
    return []


@pytest.fixture
def cupy(done: list[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    for name, fresh in (("_graphs", {}), ("_seen", set()), ("_streams", {})):
        monkeypatch.setattr(captured_loops, name, fresh)
    handle = SimpleNamespace(workspaces={})
    handle.workspace_of = lambda stream: handle.workspaces.setdefault(stream, f"memory of {stream}")
    monkeypatch.setattr(gemm, "blas", lambda cupy: handle)
    current = Stream(7, done)
    runtime = SimpleNamespace(getDevice=lambda: 0)
    return SimpleNamespace(
        handle=handle, current=current,
        cuda=SimpleNamespace(get_current_stream=lambda: current, runtime=runtime, Stream=lambda non_blocking: Stream(8, done)),
    )  # fmt: skip


def test_what_comes_again_is_one_launch(cupy: Any, done: list[str]) -> None:
    for _ in range(4):
        captured_loops.queue(cupy, 100, ("a layer", 1, 2), lambda: done.append("run"))
    assert done == ["run", "begin", "run", "end", "launch in 7", "launch in 7", "launch in 7"]
    assert cupy.handle.workspaces[8] == cupy.handle.workspaces[7] == "memory of 7"
    done.clear()
    captured_loops.queue(cupy, 100, ("a layer", 1, 3), lambda: done.append("run"))
    assert done == ["run"]


def test_what_is_run_as_it_is(cupy: Any, done: list[str]) -> None:
    for _ in range(3):
        captured_loops.queue(cupy, 4, ("few launches",), lambda: done.append("run"))
    cupy.current.capturing = True
    for _ in range(3):
        captured_loops.queue(cupy, 100, ("captured by a program",), lambda: done.append("run"))
    assert done == ["run"] * 6


def test_old_graphs_are_dropped(cupy: Any, done: list[str]) -> None:
    for number in range(captured_loops._MOST_GRAPHS + 5):
        for _ in range(2):
            captured_loops.queue(cupy, 100, (number,), lambda: done.append("run"))
    assert len(captured_loops._graphs) == captured_loops._MOST_GRAPHS


def test_a_loop_that_fails_ends_its_capture(cupy: Any, done: list[str]) -> None:
    captured_loops.queue(cupy, 100, ("fails",), lambda: None)
    with pytest.raises(RuntimeError, match="a kernel is refused"):
        captured_loops.queue(cupy, 100, ("fails",), lambda: (_ for _ in ()).throw(RuntimeError("a kernel is refused")))
    assert done == ["begin", "end"] and not captured_loops._graphs
