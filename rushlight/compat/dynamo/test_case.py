"""`torch._dynamo.test_case`: the test case that tests of compiled programs derive from."""

from __future__ import annotations

from ...core.missing import missing
from ...testing.case import TestCase

__getattr__ = missing("rushlight._dynamo.test_case")

__all__ = ["TestCase"]
