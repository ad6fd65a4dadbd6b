"""``torch._vendor`` and ``torch._vendor.packaging``: packages that PyTorch carries along; of these, the comparison of versions."""

from . import torch_version as version

__all__ = ["version"]
