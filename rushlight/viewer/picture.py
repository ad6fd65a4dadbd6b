"""``Picture``: nodes, the values between them and their source lines, as plain data."""

from __future__ import annotations

import json
import linecache
from typing import Any

INPUT, OUTPUT = "Input", "Output"
VALUE, GIVEN, STORED, CONSTANT = range(4)  # kinds of values


class Picture:
    """A graph as data. Words that repeat (operations, modules, files) are kept once and referred to by number."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.facts: list[tuple[str, str]] = []
        self.words: list[str] = []
        self.values: list[list[Any]] = []  # name, type and shape, kind
        self.nodes: list[list[Any]] = []  # operation, name, module, inputs, outputs, attributes, source
        self.lines: dict[str, str] = {}  # "file:line" -> the text of the line
        self.classes: dict[str, str] = {}  # path of a module -> its class
        self._words: dict[str, int] = {}
        self._values: dict[Any, int] = {}

    def word(self, text: str) -> int:
        """The number of a word."""
        if text not in self._words:
            self._words[text] = len(self.words)
            self.words.append(text)
        return self._words[text]

    def value(self, key: Any, name: str, described: str = "", kind: int = VALUE) -> int:
        """The number of a value; what is known about it is added when it becomes known."""
        at = self._values.get(key)
        if at is None:
            at = self._values[key] = len(self.values)
            self.values.append([name, described, kind])
        elif described:
            self.values[at][1:] = [described, max(kind, self.values[at][2])]
        return at

    def node(
        self, op: str, name: str, module: str, inputs: list[int], outputs: list[int], attributes: list[tuple[str, str]],
        source: tuple[str, int, str] | None = None,
    ) -> int:  # fmt: skip
        """Add a node; its number."""
        place = None
        if source is not None:
            file, line, function = source
            place = [self.word(file), line, self.word(function)]
            text = line_text(file, line)
            if text:
                self.lines[f"{place[0]}:{line}"] = text
        self.nodes.append([self.word(op), name, self.word(module), inputs, outputs, attributes, place])
        return len(self.nodes) - 1

    def json(self) -> str:
        """All of it, safe to stand in a page."""
        content = {
            "title": self.title, "facts": self.facts, "words": self.words, "values": self.values, "nodes": self.nodes, "lines": self.lines,
            "classes": self.classes,
        }  # fmt: skip
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def line_text(file: str, line: int) -> str:
    """A line of a Python file; of nothing else, since the name of the file may come from a stranger's model."""
    return linecache.getline(file, line).strip()[:300] if file.endswith(".py") else ""


def shortened(text: str, limit: int = 400) -> str:
    """A text that is not too long."""
    return text if len(text) <= limit else text[:limit] + "…"
