"""`torch._dynamo.test_case`: the test case that tests of compiled programs derive from."""

from __future__ import annotations

import contextlib

from ...compiler import reset
from ...core.missing import missing
from ...testing import case
from ..testing_internal.common_utils import run_tests
from .utils import counters

__getattr__ = missing("rushlight._dynamo.test_case")

__all__ = ["TestCase", "run_tests"]


class TestCase(case.TestCase):
    """A test case whose tests begin without compiled code and with empty counters; ``_exit_stack`` holds contexts of the whole class."""

    _exit_stack: contextlib.ExitStack

    @classmethod
    def setUpClass(cls) -> None:
        """Open the stack of contexts."""
        super().setUpClass()
        cls._exit_stack = contextlib.ExitStack()

    @classmethod
    def tearDownClass(cls) -> None:
        """Leave the contexts."""
        cls._exit_stack.close()
        super().tearDownClass()

    def setUp(self) -> None:
        """Forget what was compiled."""
        super().setUp()
        reset()
        counters.clear()
