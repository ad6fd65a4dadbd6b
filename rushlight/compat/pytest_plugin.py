"""A pytest plugin: `pytest -p rushlight.compat.pytest_plugin` collects and runs tests with `torch` meaning rushlight.

pytest imports the plugins named by `-p` before it collects anything, so the alias stands before the first test file
is imported. It stays for the whole run, as an `import torch` in a test does, and processes that tests start find it, too.
"""

import os
import sys
import warnings

import pytest

from .alias import install
from .distribution import children_find_it

install()
children_find_it(os.environ, sys.path)


def _silence_numpy() -> None:
    """A suite that turns warnings into errors means those of its programs; NumPy's, of infinities and NaN in kernels, are none in PyTorch."""
    warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"rushlight(\.|$)")


@pytest.hookimpl(tryfirst=True)
def pytest_collectstart() -> None:
    """Of files that compute when they are imported."""
    _silence_numpy()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Of a test, its setup and its teardown: pytest puts its own filters in place before."""
    _silence_numpy()
