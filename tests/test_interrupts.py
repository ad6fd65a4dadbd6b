"""Interrupts (Ctrl-C): they arrive, and leave nothing half done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from support.processes import start_python

import rushlight as rl
from rushlight.core.process_safety import deferred
from rushlight.core.state import state


@pytest.fixture(autouse=True)
def python_handles_interrupts() -> Iterator[None]:
    """Python's own handler, also in a process that was started to ignore interrupts, as shells start those in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_waits_for_the_end() -> None:
    before = signal.getsignal(signal.SIGINT)
    done = False
    with pytest.raises(KeyboardInterrupt), deferred():
        with deferred():
            signal.raise_signal(signal.SIGINT)
        done = True
    assert done
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_interrupt_does_not_wait() -> None:
    done = False
    with pytest.raises(KeyboardInterrupt), deferred():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        done = True
    assert not done
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_interrupts_go_on_after_one_that_did_not_wait() -> None:
    before = signal.getsignal(signal.SIGINT)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt), deferred(), deferred():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is before
        with pytest.raises(KeyboardInterrupt), deferred():
            signal.raise_signal(signal.SIGINT)


def test_handlers_of_the_program_are_called_and_kept() -> None:
    seen: list[int] = []

    def own(number: int, frame: Any) -> None:
        seen.append(number)

    before = signal.signal(signal.SIGINT, own)
    try:
        with deferred():
            signal.raise_signal(signal.SIGINT)
            assert not seen
        assert seen == [signal.SIGINT]
        assert signal.getsignal(signal.SIGINT) is own
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with deferred():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_go_on_as_they_were() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen: list[Any] = []

    def work() -> None:
        with deferred() as interrupts:
            interrupts.poll()
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


def test_an_interrupt_in_a_capture_passes_through_the_program() -> None:
    cleaned: list[str] = []

    @rl.compile
    def function(x: rl.Tensor, interrupt: bool) -> rl.Tensor:
        with rl.no_grad():
            try:
                y = x * 2
                if interrupt:
                    signal.raise_signal(signal.SIGINT)
                return y + 1
            finally:
                cleaned.append("finally")

    x = rl.ones(3, requires_grad=True)
    with pytest.raises(KeyboardInterrupt):
        function(x, True)
    assert cleaned
    assert rl.is_grad_enabled()
    assert not state.interceptors
    assert state.capture is None
    assert function(x, False).tolist() == [3.0, 3.0, 3.0]


PROGRAM = """
import random, signal
import rushlight as rl
from rushlight.core.state import flags, state

class Square(rl.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g

armed = False

def on_alarm(*args):
    if armed:
        signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGALRM, on_alarm)
signal.signal(signal.SIGINT, signal.default_int_handler)
random.seed(SEED)
model = rl.nn.Sequential(rl.nn.Linear(8, 16), rl.nn.GELU(), rl.nn.LayerNorm(16), rl.nn.Linear(16, 4))
x = rl.randn(5, 8)

def loss(x):
    y = model(x)
    print(end="")
    return Square.apply(y).softmax(-1).pow(2).sum()

expected = None
count = 0
while count < 25:
    rl.compiler.reset()
    compiled = rl.compile(loss)
    try:
        armed = True
        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-4, 0.15), 2.0)
        while True:
            compiled(x).backward()
    except KeyboardInterrupt:
        armed = False
        count += 1
    assert not state.interceptors and state.capture is None and rl.is_grad_enabled(), (state.interceptors, state.capture)
signal.setitimer(signal.ITIMER_REAL, 0)
rl.compiler.reset()
assert abs(rl.compile(loss)(x).item() - loss(x).item()) < 1e-5
print("whole")
"""


@pytest.mark.parametrize("seed", [1, 2])
def test_interrupts_at_any_moment(seed: int) -> None:
    done = start_python("-c", PROGRAM.replace("SEED", str(seed)))
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.endswith("whole\n")
