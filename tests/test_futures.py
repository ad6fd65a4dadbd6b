"""`rushlight.futures`: errors of callbacks, and what a future refuses."""

from __future__ import annotations

import pickle

import pytest

import rushlight as torch
from rushlight.futures import Future


def test_an_error_in_a_callback_is_the_cause_of_the_error_of_its_future() -> None:
    future: Future[int] = Future()
    following = future.then(lambda done: done.wait() / 0)
    future.set_result(1)
    with pytest.raises(RuntimeError, match="error when running the callback: ZeroDivisionError: division by zero") as raised:
        following.wait()
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    with pytest.raises(RuntimeError, match="running the callback"):
        torch.futures.wait_all([following])


def test_an_error_that_was_set_is_raised_as_it_is() -> None:
    future: Future[int] = Future()
    future.set_exception(KeyError("x"))
    with pytest.raises(KeyError):
        future.wait()


def test_futures_are_not_pickled() -> None:
    with pytest.raises(RuntimeError, match=r"Can not pickle torch.futures.Future"):
        pickle.dumps(Future())


def test_jit_wait_takes_both_kinds_of_futures_and_not_none() -> None:
    future: Future[int] = Future()
    future.set_result(3)
    assert torch.jit.wait(future) == 3
    assert torch.jit.wait(torch.jit.fork(abs, -2)) == 2
    with pytest.raises(RuntimeError, match="Future can't be None"):
        torch.jit.wait(None)
