"""Futures: results that are there later."""

from __future__ import annotations

import threading
from typing import Any

from .core.futures import Future
from .core.missing import missing as _missing

__all__ = ["Future", "collect_all", "wait_all"]


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future of a list of futures, completed when all of them are."""
    result: Future[list[Future[Any]]] = Future()
    left, lock = [len(futures)], threading.Lock()

    def one_less(_: Any) -> None:
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            result.set_result(futures)

    if not futures:
        result.set_result(futures)
    for each in futures:
        each._when_done(one_less)
    return result


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """The results of all futures; the first error is raised."""
    return [each.wait() for each in collect_all(futures).wait()]


__getattr__ = _missing(__name__)
