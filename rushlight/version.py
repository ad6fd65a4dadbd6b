"""Versions, by the names under which PyTorch gives them."""

from .core.release import VERSION as __version__

__all__ = ["__version__", "cuda", "debug", "git_version", "hip"]
debug = False
cuda = None
git_version = "unknown"
hip = None
