"""Compiled functions against eager mode, and the number of threads they run on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import rushlight as torch

from .results import assert_same, tensors_in


@contextmanager
def thread_count(count: int) -> Iterator[None]:
    """A number of threads for a while."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def another_thread_count() -> Iterator[None]:
    """Another number of threads than there is now: one, or two where there is one."""
    with thread_count(1 if torch.get_num_threads() > 1 else 2):
        yield


def results_and_gradients(function: Any, inputs: Iterable[Any], parameters: Iterable[Any] = ()) -> list[Any]:
    """The results of a call, then the gradients of the parameters and of the inputs that have one, as arrays.

    What is differentiated is the sum of the results with a different weight for each element.
    """
    given = [each.detach().clone().requires_grad_(each.is_floating_point()) for each in inputs]
    parameters = list(parameters)
    for each in parameters:
        each.grad = None
    results = tensors_in(function(*given))
    roots = [each for each in results if each.requires_grad]
    if roots:
        sum((each * torch.linspace(-1, 2, each.numel(), dtype=each.dtype).reshape(each.shape)).sum() for each in roots).backward()
    gradients = [each.grad for each in (*parameters, *given) if each.grad is not None]
    return [each.detach().numpy().copy() for each in (*results, *gradients)]


def assert_compiled_matches_eager(
    function: Any,
    *inputs: Any,
    tolerance: float = 1e-6,
    absolute: float | None = None,
    scaled: bool = False,
    gradients: bool = True,
    parameters: Iterable[Any] = (),
    backend: str = "native",
) -> None:
    """Assert that the first two calls of a compiled function give what eager mode gives: with gradients, and without recording them.

    ``scaled`` lets the absolute tolerance of results and gradients grow with the largest of their values.
    """
    compiled, parameters = torch.compile(function, backend=backend), list(parameters)
    absolute = tolerance if absolute is None else absolute
    if gradients:
        wanted = results_and_gradients(function, inputs, parameters)
        for _ in range(2):
            assert_same(results_and_gradients(compiled, inputs, parameters), wanted, tolerance, absolute, scaled=scaled)
    with torch.no_grad():
        wanted = function(*inputs)
        for _ in range(2):
            assert_same(compiled(*inputs), wanted, tolerance, absolute)


def assert_threads_change_nothing(function: Callable[[], list[Any]], counts: Iterable[int] = (1, 2, 3)) -> None:
    """Assert that a function gives exactly the same arrays on any number of threads."""
    found = []
    for count in counts:
        with thread_count(count):
            found.append(function())
    for other in found[1:]:
        for one, another in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, another)
