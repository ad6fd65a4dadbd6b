"""Optimizer steps in one parallel loop: the same bits as NumPy's, and one parameter after the other where they share memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import rushlight
from rushlight import optim
from rushlight.core import kernel_providers

pytest.importorskip("llvmlite")
from rushlight.backends.native.eager import optimizer_step

SHAPES = ((300, 300), (17,), (50, 41), (64, 1024), ())


@pytest.fixture(autouse=True)
def compiled_kernels() -> Iterator[None]:
    yield
    kernel_providers.switch_on()


def trained(make: Callable[[Any], Any], dtype: Any, native: bool) -> list[Any]:
    """Parameters after four steps, and the state of the optimizer."""
    (kernel_providers.switch_on if native else kernel_providers.switch_off)()
    rushlight.manual_seed(0)
    params = [rushlight.randn(*shape).to(dtype).requires_grad_() for shape in SHAPES]
    optimizer = make(params)
    for _ in range(4):
        for each in params:
            each.grad = rushlight.randn(*each.shape).to(dtype)
        optimizer.step()
    states = [value for param in params for value in optimizer.state[param].values() if value is not None]
    return [each.detach().double().numpy() for each in (*params, *states)]


CASES = {
    "SGD": lambda params: optim.SGD(params, 0.1),
    "momentum": lambda params: optim.SGD(params, 0.1, momentum=0.9, weight_decay=0.1, dampening=0.2),
    "Nesterov": lambda params: optim.SGD(params, 0.1, momentum=0.9, nesterov=True),
    "Adam": lambda params: optim.Adam(params, maximize=True, weight_decay=0.1),
    "AdamW": lambda params: optim.AdamW(params, amsgrad=True),
    "RMSprop": lambda params: optim.RMSprop(params, momentum=0.5, centered=True),
    "Adagrad": optim.Adagrad,
    "Adadelta": optim.Adadelta,
    "Adamax": optim.Adamax,
    "NAdam": optim.NAdam,
    "Rprop": optim.Rprop,
}


@pytest.mark.parametrize("dtype", [rushlight.float32, rushlight.float64, rushlight.bfloat16], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_same_bits(name: str, dtype: Any) -> None:
    optimizer_step._tasks.clear()
    native = trained(CASES[name], dtype, True)
    assert any(each is not None for each in optimizer_step._tasks.values())
    for own, other in zip(native, trained(CASES[name], dtype, False), strict=True):
        np.testing.assert_array_equal(own, other)


def test_parameters_that_share_memory_are_updated_in_turn() -> None:
    memory = rushlight.zeros(1 << 17)
    first, second = memory.detach().requires_grad_(), memory[1 << 16 :].detach().requires_grad_()
    first.grad, second.grad = rushlight.ones(1 << 17), rushlight.ones(1 << 16)
    optim.SGD([first, second], 1.0).step()
    assert memory[: 1 << 16].eq(-1).all() and memory[1 << 16 :].eq(-2).all()


def test_other_layouts_are_updated_beside() -> None:
    plain = rushlight.zeros(300, 300).requires_grad_()
    turned = rushlight.zeros(300, 200).t().detach().requires_grad_()
    plain.grad, turned.grad = rushlight.ones(300, 300), rushlight.arange(60000.0).reshape(200, 300)
    optim.SGD([plain, turned], 1.0).step()
    assert plain.eq(-1).all() and turned.eq(-turned.grad).all()


def test_a_step_changes_the_version() -> None:
    x = rushlight.ones(1 << 17).requires_grad_()
    y = (x * x).sum()
    x.grad = rushlight.ones(1 << 17)
    optim.SGD([x], 1.0).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_a_gradient_of_another_shape_is_refused() -> None:
    x, y = rushlight.ones(1 << 17).requires_grad_(), rushlight.ones(4).requires_grad_()
    x.grad, y.grad = rushlight.ones(1 << 17), rushlight.ones(4)
    y._grad._array = np.ones(3, np.float32)
    with pytest.raises(RuntimeError, match="needs a gradient and a state of the parameter's shape"):
        optim.SGD([x, y], 1.0).step()
