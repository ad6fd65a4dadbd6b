"""`torch._utils_internal`: what PyTorch's own services would override, as it is outside of them."""

from __future__ import annotations

import os
import tempfile

import rushlight

TEST_MASTER_ADDR = "127.0.0.1"
TEST_MASTER_PORT = 29500


def get_file_path(*path_components: str) -> str:
    """The path of a file of the package."""
    return os.path.join(os.path.dirname(rushlight.__file__), *path_components)


def get_file_path_2(*path_components: str) -> str:
    """A path of its parts."""
    return os.path.join(*path_components)


def resolve_library_path(path: str) -> str:
    """The real path of a library."""
    return os.path.realpath(path)


def get_writable_path(path: str) -> str:
    """A path that can be written to: this one, or a new folder."""
    return path if os.access(path, os.W_OK) else tempfile.mkdtemp(suffix=os.path.basename(path))


def justknobs_check(name: str, default: bool = True) -> bool:
    """A remote switch: there are none, so its default."""
    return default


def is_fb_unit_test() -> bool:
    """Whether this is a test of PyTorch's owners: no."""
    return False
