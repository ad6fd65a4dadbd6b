"""`TestCase`: unittest's, with an `assertEqual` that knows tensors, and the checks of warnings that tests need."""

from __future__ import annotations

import re
import unittest
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import rushlight

from .comparison import Message, Rules, difference
from .helpers import seed_everything


class TestCase(unittest.TestCase):
    """A test case in which `assertEqual` compares tensors, numbers and containers of them within their tolerance.

    Every test starts from the same seed. Classes may widen the tolerance of all their comparisons by `precision`
    (absolute) and `rel_tol` (relative).
    """

    precision: float = 0.0
    rel_tol: float = 0.0

    def setUp(self) -> None:
        """Seed the random streams, so that a test draws the same numbers alone and among others."""
        super().setUp()
        seed_everything()

    def assertEqual(  # type: ignore[override]
        self,
        x: Any,
        y: Any,
        msg: Message = None,
        *,
        atol: float | None = None,
        rtol: float | None = None,
        equal_nan: bool = True,
        exact_dtype: bool = True,
        exact_device: bool = False,
        exact_layout: bool = False,
        exact_stride: bool = False,
    ) -> None:
        """Fail unless the two are equal, within the tolerance of their data type unless another is given."""
        __tracebackhide__ = True
        rules = Rules(
            rtol, atol, equal_nan, exact_device, exact_dtype, exact_layout, exact_stride,
            relaxed=True, at_least=(self.rel_tol, self.precision),
        )  # fmt: skip
        report = difference(x, y, rules)
        if report is not None:
            # A callable makes its own message from ours; a string stands beside it, as unittest's long messages do.
            raise self.failureException(msg(report) if callable(msg) else f"{report}\n{msg}" if msg else report)

    def assertNotEqual(self, x: Any, y: Any, msg: Message = None, **options: Any) -> None:  # type: ignore[override]
        """Fail if `assertEqual` with the same arguments would pass."""
        __tracebackhide__ = True
        try:
            self.assertEqual(x, y, msg, **options)
        except self.failureException:
            return
        raise self.failureException(msg if isinstance(msg, str) else f"{x!r} equals {y!r}")

    def assertEqualIgnoreType(self, *args: Any, **options: Any) -> None:
        """`assertEqual`, of any two data types."""
        self.assertEqual(*args, exact_dtype=False, **options)

    def assertEqualBroadcasting(self, x: Any, y: Any, *args: Any, **options: Any) -> None:
        """`assertEqual` of `x` and one value, or one row of them, that is repeated to the shape of `x`."""
        expected = rushlight.as_tensor(y, dtype=x.dtype, device=x.device)
        self.assertEqual(x, expected.expand_as(x), *args, **options)

    def assertObjectIn(self, member: Any, container: Iterable[Any]) -> None:
        """Fail unless this very object is in the container; no element is compared by `==`."""
        if not any(each is member for each in container):
            raise self.failureException(f"{member!r} is not in the container")

    def assertExpectedInline(self, actual: str, expect: str) -> None:
        """Fail unless the text is the one that the test quotes."""
        self.assertMultiLineEqual(expect, actual)

    def assertExpectedRaisesInline(
        self, kind: type[BaseException], function: Callable[..., Any], expect: str, *args: Any, **options: Any
    ) -> None:
        """Fail unless the call raises an exception of this kind with the quoted message."""
        with self.assertRaises(kind) as caught:
            function(*args, **options)
        self.assertMultiLineEqual(expect, str(caught.exception))

    def assertNotWarn(self, function: Callable[[], Any], msg: str = "") -> None:
        """Fail if calling the function warns."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function()
        if caught:
            raise self.failureException(f"unexpected warning: {caught[0].message}" + (f": {msg}" if msg else ""))

    @contextmanager
    def assertWarnsOnceRegex(self, category: type[Warning], regex: str = "") -> Iterator[None]:
        """Fail unless the block warns, each time in this category and with a message that matches."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        if not caught:
            raise self.failureException("no warning caught")
        for each in caught:
            if not issubclass(each.category, category) or not re.search(regex, str(each.message)):
                raise self.failureException(f"{each.category.__name__}: {each.message} does not match {regex!r}")
