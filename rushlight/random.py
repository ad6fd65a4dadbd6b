"""The default random generator: its seed and its state."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .core.devices import accelerator, device_types
from .tensor.generator import Generator, default_generator

__all__ = [
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
    "thread_safe_generator",
]


def thread_safe_generator() -> Generator | None:
    """The generator of this thread, where it is a worker of a DataLoader; None elsewhere, as workers are processes here."""
    return None


def manual_seed(seed: Any) -> Generator:
    """Start the stream that belongs to a seed; PyTorch's is the same.

    >>> import rushlight
    >>> _ = rushlight.manual_seed(0)
    >>> rushlight.rand(2)
    tensor([0.4963, 0.7682])
    """
    default_generator.manual_seed(int(seed))
    for kind in device_types.values():
        kind.manual_seed_all(int(seed))
    return default_generator


def seed() -> int:
    """Seed from the operating system's source of chance and return the seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the stream began with."""
    return default_generator.initial_seed()


def get_rng_state() -> Any:
    """The state of the stream as a tensor of bytes."""
    return default_generator.get_state()


def set_rng_state(new_state: Any) -> None:
    """Continue the stream from a state."""
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(
    devices: Any = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: Any = None,
) -> Iterator[None]:
    """A context after which the stream continues as if nothing had been drawn in it.

    ``devices`` are GPUs whose streams continue so, too: all of them where none are named, and none where there is no GPU.
    """
    if devices and accelerator() is None:
        raise RuntimeError(f"{_caller}: {_devices_kw}={devices!r} names devices with streams of their own, and there are none")
    if not enabled:
        yield
        return
    state, cuda = get_rng_state(), importlib.import_module(f"{__package__}.cuda")
    places = list(range(cuda.device_count()) if devices is None and cuda.is_initialized() else devices or ())
    states = [cuda.get_rng_state(each) for each in places]
    try:
        yield
    finally:
        set_rng_state(state)
        for place, each in zip(places, states):
            cuda.set_rng_state(each, place)
