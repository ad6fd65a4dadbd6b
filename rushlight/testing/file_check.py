"""``FileCheck``: expectations of a text, such as a printed graph or a message, that are met one after the other."""

from __future__ import annotations

import re
from typing import Any, NamedTuple


class Expectation(NamedTuple):
    """What is looked for, and how (``dag`` is met in any order among its neighbours)."""

    kind: str
    text: str
    times: int = 1
    exactly: bool = False


_DIRECTIVES = {
    "CHECK": "check", "CHECK-NEXT": "next", "CHECK-SAME": "same", "CHECK-NOT": "not", "CHECK-DAG": "dag",
    "CHECK-SOURCE-HIGHLIGHTED": "highlighted", "CHECK-REGEX": "regex",
}  # fmt: skip


class FileCheck:
    """Expectations of a text in the order in which they must be met: ``FileCheck().check("add").check_not("mul").run(text)``."""

    def __init__(self) -> None:
        self._expected: list[Expectation] = []

    def _add(self, kind: str, text: str, count: int = 1, exactly: bool = False) -> FileCheck:
        self._expected.append(Expectation(kind, text, count, exactly))
        return self

    def check(self, str: str) -> FileCheck:
        """The text comes somewhere after what was found last."""
        return self._add("check", str)

    def check_not(self, str: str) -> FileCheck:
        """The text does not come between what was found last and what is found next."""
        return self._add("not", str)

    def check_same(self, str: str) -> FileCheck:
        """The text comes later on the line of what was found last."""
        return self._add("same", str)

    def check_next(self, str: str) -> FileCheck:
        """The text comes on the line after what was found last."""
        return self._add("next", str)

    def check_count(self, str: str, count: int, exactly: bool = False) -> FileCheck:
        """The text comes some times; with ``exactly`` no more often up to the end."""
        return self._add("count", str, count, exactly)

    def check_dag(self, str: str) -> FileCheck:
        """The text comes after what was found last, in any order with the neighbours that are asked for in this way."""
        return self._add("dag", str)

    def check_source_highlighted(self, str: str) -> FileCheck:
        """The text comes with ``~`` under all of it."""
        return self._add("highlighted", str)

    def check_regex(self, str: str) -> FileCheck:
        """Something that a regular expression matches comes after what was found last."""
        return self._add("regex", str)

    def run(self, *args: Any, str: Any = None, checks_file: Any = None, test_file: Any = None, graph: Any = None) -> None:
        """Look for everything in a text or a graph; of two arguments the first one is a text of ``# CHECK: ...`` lines."""
        *rest, text = [each for each in (checks_file, *args, str, test_file, graph) if each is not None]
        for checks in rest:
            self._expected += read_directives(f"{checks}")
        if not self._expected:
            raise RuntimeError("No checks have been added to this instance of FileCheck. Check for bad input.")
        Search(f"{text}").run(self._expected)


def read_directives(text: str) -> list[Expectation]:
    """The expectations that the comments of a text state."""
    found = []
    for name, count, wanted in re.findall(r"#\s*(CHECK(?:-[A-Z]+)*)((?:-EXACTLY)?-\d+|-COUNT-\d+)?:\s?(.*)", text):
        name, _, more = name.partition("-COUNT")
        if count or more:
            found.append(Expectation("count", wanted, int(re.sub(r"\D", "", count)), "EXACTLY" in count + more))
        else:
            found.append(Expectation(_DIRECTIVES[name], wanted))
    return found


class Search:
    """A text in which things are looked for from the front to the back."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0  # behind what was found last

    def run(self, expected: list[Expectation]) -> None:
        """Meet all expectations, or raise a RuntimeError."""
        absent: list[Expectation] = []
        place = 0
        while place < len(expected):
            each = expected[place]
            if each.kind == "not":
                absent.append(each)
                place += 1
                continue
            group = [each]
            while each.kind == "dag" and place + len(group) < len(expected) and expected[place + len(group)].kind == "dag":
                group.append(expected[place + len(group)])
            begin = self.at
            spans = [self.find(member, begin) for member in group]
            self.exclude(absent, begin, min(start for start, _ in spans))
            absent = []
            self.at = max(stop for _, stop in spans)
            place += len(group)
        self.exclude(absent, self.at, len(self.text))

    def find(self, wanted: Expectation, begin: int) -> tuple[int, int]:
        """Where an expectation is met: from and to."""
        text, end = wanted.text, len(self.text)
        if wanted.kind == "regex":
            found = re.compile(text).search(self.text, begin)
            return found.span() if found else self.refuse(wanted, begin)
        if wanted.kind == "highlighted":
            return self.find_highlighted(wanted, begin)
        if wanted.kind == "count":
            start, stop = begin, begin
            for number in range(wanted.times):
                at = self.text.find(text, stop)
                if at < 0:
                    self.refuse(wanted, begin)
                start, stop = (start if number else at), at + len(text)
            if wanted.exactly:
                self.exclude([wanted], stop, end)
            return start, stop
        if wanted.kind == "same":
            end = self.end_of_line(begin)
        elif wanted.kind == "next":
            begin = self.end_of_line(begin) + 1
            end = self.end_of_line(begin)
        at = self.text.find(text, begin, end)
        return (at, at + len(text)) if at >= 0 else self.refuse(wanted, begin)

    def end_of_line(self, at: int) -> int:
        """Where a line ends."""
        found = self.text.find("\n", at)
        return len(self.text) if found < 0 else found

    def find_highlighted(self, wanted: Expectation, begin: int) -> tuple[int, int]:
        """Where a text has marks under all of it."""
        at = self.text.find(wanted.text, begin)
        while at >= 0:
            column = at - (self.text.rfind("\n", 0, at) + 1)
            below = self.end_of_line(at) + 1 + column
            marks = self.text[below : below + len(wanted.text)]
            if marks and marks == "~" * len(wanted.text):
                return at, below + len(marks)
            at = self.text.find(wanted.text, at + 1)
        return self.refuse(wanted, begin, " highlighted")

    def exclude(self, absent: list[Expectation], begin: int, end: int) -> None:
        """Make sure that nothing of some is in a part."""
        for each in absent:
            if self.text.find(each.text, begin, end) >= 0:
                raise RuntimeError(
                    f'Expected to not find "{each.text}" but found it\nFrom {each.kind} {each.text!r}\n{self.text[begin:end]}'
                )

    def refuse(self, wanted: Expectation, begin: int, how: str = "") -> Any:
        """Say what was not found."""
        raise RuntimeError(f'Expected to find "{wanted.text}"{how} but did not find it\nSearched string:\n{self.text[begin:]}')
