"""`torch.testing._internal.jit_utils`: the test case that tests of scripted programs derive from."""

from __future__ import annotations

from ...core.missing import missing
from ...testing.case import TestCase


class JitTestCase(TestCase):
    """A test case for scripted and traced programs."""


__getattr__ = missing("rushlight.testing._internal.jit_utils")
