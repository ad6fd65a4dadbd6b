"""`torch._inductor.test_case`: the test case that tests of compiled code derive from."""

from __future__ import annotations

from ...core.missing import missing
from ..dynamo.test_case import TestCase, run_tests

__getattr__ = missing("rushlight._inductor.test_case")

__all__ = ["TestCase", "run_tests"]
