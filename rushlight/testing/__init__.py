"""Helpers for tests, as in ``torch.testing``: ``assert_close`` compares values, ``make_tensor`` makes random tensors,
``FileCheck`` looks for texts in order.

Read ``comparison.py`` first; ``case.py`` and ``parametrization.py`` are the test classes that ``compat`` offers under PyTorch's private names.
"""

from ..core.missing import missing
from .comparison import assert_allclose, assert_close
from .creation import make_tensor
from .file_check import FileCheck

__all__ = ["FileCheck", "assert_allclose", "assert_close", "make_tensor"]

__getattr__ = missing(__name__)
