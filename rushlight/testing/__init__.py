"""Helpers for tests, as in ``torch.testing``: ``assert_close`` compares values, ``make_tensor`` makes random tensors.

Read ``comparison.py`` first; ``case.py`` and ``parametrization.py`` are the test classes that ``compat`` offers under PyTorch's private names.
"""

from ..core.missing import missing
from .comparison import assert_allclose, assert_close
from .creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]

__getattr__ = missing(__name__)
