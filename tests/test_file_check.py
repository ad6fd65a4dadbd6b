"""``testing.FileCheck``: texts that are looked for in order."""

from __future__ import annotations

import pytest

from rushlight.testing import FileCheck

TEXT = "first line one two\nsecond line one\nthird: one, three\n"


def test_in_order_on_the_same_and_the_next_line():
    FileCheck().check("first").check_same("two").check_next("second").check("three").run(TEXT)
    FileCheck().check_regex(r"s\w+d").check("third").run(TEXT)
    for wrong in (
        FileCheck().check("three").check("first"),
        FileCheck().check("first").check_same("three"),
        FileCheck().check("first").check_next("third"),
        FileCheck().check_regex(r"\d"),
    ):
        with pytest.raises(RuntimeError, match="Expected to find"):
            wrong.run(TEXT)


def test_what_must_not_be_between():
    FileCheck().check("second").check_not("two").check("third").check_not("second").run(TEXT)
    with pytest.raises(RuntimeError, match="Expected to not find"):
        FileCheck().check("first").check_not("second").check("third").run(TEXT)
    with pytest.raises(RuntimeError, match="Expected to not find"):
        FileCheck().check("first").check_not("three").run(TEXT)


def test_counts_and_any_order():
    FileCheck().check_count("one", 3, exactly=True).run(TEXT)
    FileCheck().check_count("one", 2).run(TEXT)
    FileCheck().check_dag("third").check_dag("first").run(TEXT)
    for wrong in (FileCheck().check_count("one", 2, exactly=True), FileCheck().check_count("one", 4)):
        with pytest.raises(RuntimeError):
            wrong.run(TEXT)
    with pytest.raises(RuntimeError, match="Expected to find"):
        FileCheck().check_dag("third").check_dag("fourth").run(TEXT)


def test_marks_under_a_text():
    message = "wrong:\n    return f(x) + y\n           ~~~~ <--- HERE\n"
    FileCheck().check_source_highlighted("f(x)").run(message)
    with pytest.raises(RuntimeError, match="highlighted"):
        FileCheck().check_source_highlighted("+ y").run(message)


def test_expectations_in_comments():
    FileCheck().run("# CHECK: first\n# CHECK-NEXT: second\n# CHECK-NOT: zero\n# CHECK-COUNT-2: one", TEXT)
    with pytest.raises(RuntimeError):
        FileCheck().run("# CHECK: zero", TEXT)
    with pytest.raises(RuntimeError, match="No checks"):
        FileCheck().run(TEXT)
