"""Tests on a GPU: skipped, with the reason, where there is none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import rushlight as torch
from rushlight.core.devices import available
from rushlight.core.errors import DeviceError


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip all tests of this folder where no CUDA device can be used."""
    here = [item for item in items if "tests/cuda/" in item.path.as_posix()]
    if not here:
        return
    try:
        available("cuda")
    except DeviceError as error:
        for item in here:
            item.add_marker(pytest.mark.skip(reason=str(error)))


@pytest.fixture(autouse=True)
def same_numbers() -> None:
    """The same random numbers in every run: what rounding does to others may be more than is allowed."""
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def full_precision() -> Iterator[None]:
    """Compare in full single precision: convolutions may use TF32 otherwise."""
    before, torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.allow_tf32, False
    yield
    torch.backends.cudnn.allow_tf32 = before
