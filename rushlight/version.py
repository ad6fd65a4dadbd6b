"""Versions, by the names under which PyTorch gives them."""

__version__ = "0.1.0"
debug = False
cuda = None
git_version = "unknown"
hip = None
