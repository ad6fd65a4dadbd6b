"""Decorators that skip tests, and contexts that restore settings."""

from __future__ import annotations

import functools
import os
import random
import socket
import tempfile
import unittest
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

import rushlight
from rushlight import Tensor

SEED = 1234

Test = TypeVar("Test", bound=Callable[..., Any])


def skip_when(condition: bool | Callable[[], bool], reason: str) -> Callable[[Any], Any]:
    """A decorator of tests and of test classes. A condition that is a function is asked when the test runs."""
    if not callable(condition):
        return unittest.skipIf(condition, reason)

    def decorate(test: Any) -> Any:
        if isinstance(test, type):
            test.setUp = _skipping(test.setUp, condition, reason)  # type: ignore[attr-defined]
            return test
        return _skipping(test, condition, reason)

    return decorate


def _skipping(test: Callable[..., Any], condition: Callable[[], bool], reason: str) -> Callable[..., Any]:
    @functools.wraps(test)
    def wrapper(*args: Any, **options: Any) -> Any:
        if condition():
            raise unittest.SkipTest(reason)
        return test(*args, **options)

    return wrapper


def expect_failure_when(condition: bool) -> Callable[[Test], Test]:
    """A decorator: the test must fail where the condition holds."""
    return unittest.expectedFailure if condition else lambda test: test


def without_warnings(test: Test) -> Test:
    """A decorator: warnings that the function gives are not shown."""

    @functools.wraps(test)
    def wrapper(*args: Any, **options: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return test(*args, **options)

    return wrapper  # type: ignore[return-value]


def seed_everything(seed: int | None = None) -> None:
    """Seed Python's random stream, NumPy's and rushlight's, all with the seed that tests start from unless told."""
    seed = SEED if seed is None else seed
    random.seed(seed)
    np.random.seed(seed)
    rushlight.manual_seed(seed)


@contextmanager
def random_state_kept() -> Iterator[None]:
    """What is drawn inside does not change what is drawn after."""
    state = rushlight.get_rng_state()
    try:
        yield
    finally:
        rushlight.set_rng_state(state)


@contextmanager
def default_dtype(dtype: Any) -> Iterator[None]:
    """The data type of new floating-point tensors, inside."""
    before = rushlight.get_default_dtype()
    rushlight.set_default_dtype(dtype)
    try:
        yield
    finally:
        rushlight.set_default_dtype(before)


@contextmanager
def temporary_file_name(*args: Any, **options: Any) -> Iterator[str]:
    """The name of an empty file that is removed at the end."""
    handle, name = tempfile.mkstemp(*args, **options)
    os.close(handle)
    try:
        yield name
    finally:
        os.unlink(name)


@contextmanager
def temporary_directory_name(suffix: str | None = None) -> Iterator[str]:
    """The name of an empty folder that is removed at the end, with all that is in it then."""
    with tempfile.TemporaryDirectory(suffix=suffix) as name:
        yield name


def free_port() -> int:
    """A port of this machine that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        return int(listener.getsockname()[1])


def noncontiguous_like(tensor: Tensor) -> Tensor:
    """A tensor of the same elements whose last dimension has a stride of 2; one that is so already is returned."""
    if not tensor.is_contiguous() or tensor.numel() < 2:
        return tensor
    spread = rushlight.stack([tensor.detach(), tensor.detach()], dim=-1)[..., 0]
    return spread.requires_grad_(tensor.requires_grad)
