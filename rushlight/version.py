"""Versions, by the names under which PyTorch gives them."""

from .core.release import VERSION as __version__

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]
debug = False
cuda: str | None = None  # none of these is there: tensors live on the CPU
git_version = "unknown"
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
