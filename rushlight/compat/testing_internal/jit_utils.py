"""`torch.testing._internal.jit_utils`: the test case that tests of scripted programs derive from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...capture.trace.jit_trace import trace
from ...core.missing import missing
from ...testing.case import TestCase


class JitTestCase(TestCase):
    """A test case for scripted and traced programs."""


def _trace(*args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """A decorator: trace the function on these inputs."""
    return lambda function: trace(function, args, **kwargs)


__getattr__ = missing("rushlight.testing._internal.jit_utils")
