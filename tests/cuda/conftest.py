"""Tests on a GPU: skipped, with the reason, where there is none."""

from __future__ import annotations

import pytest

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
