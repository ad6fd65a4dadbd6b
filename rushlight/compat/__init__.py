"""`import torch` means rushlight, on request.

    >>> import rushlight.compat
    >>> rushlight.compat.install()
    >>> import torch
    >>> torch.Tensor is rushlight.Tensor and torch.nn is rushlight.nn
    True

Programs that need no such line are run by `python -m rushlight run script.py`; test suites by
`pytest -p rushlight.compat.pytest_plugin`. PyTorch's private names that real code imports are the modules of this
package: each gives PyTorch's name to a feature of rushlight and does nothing else. Read `alias.py` first (the import hook), then `names.py`
(which private module of PyTorch is which module here).
"""

from .alias import install, installed, uninstall

__all__ = ["install", "installed", "uninstall"]
