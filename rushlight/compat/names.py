"""PyTorch's private modules that real code imports, and the module that stands for each. Submodules follow."""

from __future__ import annotations

PRIVATE_NAMES: dict[str, str] = {
    "torch.testing._internal": "rushlight.compat.testing_internal",
}
