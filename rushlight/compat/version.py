"""`torch.version`: the version of PyTorch that the alias presents; `rushlight.version` keeps ours."""

from __future__ import annotations

from ..core.release import PEER_VERSION
from ..version import cuda, debug, git_version, hip, rocm, xpu

__version__ = PEER_VERSION
__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]
