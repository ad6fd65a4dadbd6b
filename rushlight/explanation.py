"""What ``compile`` made of a function, for people: graphs, guards, breaks and the generated programs, as text and as a page.

>>> import rushlight as torch
>>> def double(x):
...     return (x + x).relu()
>>> found = torch.compiler.explain(double)(torch.ones(2))
>>> found.graph_count, found.op_count, found.graph_break_count
(1, 2, 0)
"""

from __future__ import annotations

import html
import os
from collections.abc import Collection
from typing import Any

from .autograd.function import FunctionCtx
from .capture.compile.guards.guard import describe
from .capture.compile.record.graph_breaks import BreakRecord
from .capture.compile.runtime.call_cache import CacheEntry
from .capture.compile.runtime.captured_function import CapturedFunction
from .serialization.saving import replacing

PARTS = ("graph", "guards", "program", "native")  # of a segment
SHOWN = 8  # ops that a title names

_STYLE = """
:root { color-scheme: light dark; --line: #d0d5dc; --soft: #f4f6f8; --mark: #9a3412; --text: #1c2126; --back: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --line: #3a424c; --soft: #1e242b; --mark: #fdba74; --text: #dde3ea; --back: #14181d; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; border-bottom: 1px solid var(--line); }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: 6px; padding: .75rem; overflow-x: auto; font-size: 13px; line-height: 1.45; }
table { border-collapse: collapse; } td, th { text-align: left; padding: .25rem .9rem .25rem 0; vertical-align: top; border-bottom: 1px solid var(--line); }
summary { cursor: pointer; margin: .4rem 0; } .mark { color: var(--mark); font-weight: 600; } .soft { opacity: .75; }
"""


class Explanation:
    """What was captured of a function.  ``str`` gives it as text, :meth:`html` as a page, and :meth:`save` writes the page."""

    def __init__(self, compiled: CapturedFunction, result: Any = None, name: str | None = None) -> None:
        self.name = name or compiled.name
        self.result = result
        self.entry: list[CacheEntry] = list(compiled.cache.entries[None])
        self.segments: list[CacheEntry] = compiled.cache.all()
        self.breaks: list[BreakRecord] = list({each.text: each for each in compiled.breaks}.values())
        self.recompilations: list[str] = list(compiled.failures)
        self.not_kept: list[str] = sorted({why for found in compiled.unkept.values() for why in found})

    # PyTorch's names for the same.

    @property
    def graphs(self) -> list[Any]:
        """The graphs that have ops in them."""
        return [each.module for each in self.segments if _ops(each)]

    @property
    def graph_count(self) -> int:
        """How many graphs there are."""
        return len(self.graphs)

    @property
    def graph_break_count(self) -> int:
        """How many places the program breaks off at."""
        return len(self.breaks)

    @property
    def break_reasons(self) -> list[BreakRecord]:
        """Why it does."""
        return self.breaks

    @property
    def op_count(self) -> int:
        """How many ops there are in all graphs."""
        return sum(len(each) for each in self.ops_per_graph)

    @property
    def ops_per_graph(self) -> list[list[Any]]:
        """The ops of each graph."""
        return [_ops(each) for each in self.segments if _ops(each)]

    @property
    def out_guards(self) -> list[str]:
        """All conditions that are guarded, in words."""
        return [describe(guard) for each in self.segments for guard in each.guards.conditions]

    def summary(self) -> list[tuple[str, str]]:
        """The numbers."""
        return [
            ("segments", str(len(self.segments))), ("graphs", str(self.graph_count)), ("ops", str(self.op_count)),
            ("breaks", str(self.graph_break_count)), ("guards", str(len(self.out_guards))), ("recompilations", str(len(self.recompilations))),
        ]  # fmt: skip

    def text(self, parts: Collection[str] = PARTS) -> str:
        """All of it as text, with these parts of each segment: of "graph", "guards", "program" and "native"."""
        lines = [f"{self.name}: " + ", ".join(_counted(value, name) for name, value in self.summary())]
        lines += self._list(
            "Breaks",
            [
                f"[{each.kind}] {each.message}\n     {each.file}:{each.line} in {each.function}\n     hint: {each.hint}"
                for each in self.breaks
            ],
        )
        lines += self._list("Recompilations", self.recompilations)
        lines += self._list("Not kept", self.not_kept)
        for number, each in enumerate(self.segments, 1):
            lines += ["", f"Segment {number}: {self._title(each)}"]
            for part, title, text in _parts(each):
                if part in parts:
                    lines += ["", f"  {title}:", *["    " + line for line in text.rstrip().splitlines()]]
        return "\n".join(lines).rstrip() + "\n"

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def data(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "name": self.name, "graph_count": self.graph_count, "op_count": self.op_count, "graph_break_count": self.graph_break_count,
            "breaks": [{key: getattr(each, key) for key in ("kind", "message", "hint", "file", "line", "function")} for each in self.breaks],
            "recompilations": self.recompilations, "not_kept": self.not_kept,
            "segments": [
                {
                    "from": None if each in self.entry else {"file": each.place[0], "line": each.place[1], "function": each.place[2]},
                    "break": None if each.ends else each.ending, "ops": _op_names(each), "graph": _parts(each)[0][2],
                    "guards": [describe(guard) for guard in each.guards.conditions],
                }
                for each in self.segments
            ],
        }  # fmt: skip

    def _title(self, segment: CacheEntry) -> str:
        file, line, function = segment.place
        start = "the beginning" if segment in self.entry else f"{file}:{line} in {function}"
        ending = "to the end" if segment.ends else f"up to a break ({segment.ending})"
        names = _op_names(segment)
        shown = ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
        counts = (
            f"{_counted(str(len(names)), 'ops')}{f' ({shown})' if names else ''}, {_counted(str(len(segment.guards.conditions)), 'guards')}"
        )
        return f"from {start} {ending}; {counts}"

    def _list(self, title: str, rows: list[str]) -> list[str]:
        return ["", f"{title}:", *[f"  {number}. {row}" for number, row in enumerate(rows, 1)]] if rows else []

    def html(self) -> str:
        """One page that needs nothing else."""
        parts = [f"<h1>{html.escape(self.name)}</h1>", "<table><tr>"]
        parts += (
            [f"<th>{name}</th>" for name, _ in self.summary()]
            + ["</tr><tr>"]
            + [f"<td>{value}</td>" for _, value in self.summary()]
            + ["</tr></table>"]
        )
        if self.breaks:
            parts.append("<h2>Breaks</h2><table><tr><th>kind</th><th>what happened</th><th>where</th><th>what to do</th></tr>")
            for each in self.breaks:
                place = f"{each.file}:{each.line} in {each.function}"
                cells = "".join(f"<td>{html.escape(text)}</td>" for text in (each.message, place, each.hint))
                parts.append(f'<tr><td class="mark">{html.escape(each.kind)}</td>{cells}</tr>')
            parts.append("</table>")
        for title, rows in (("Recompilations", self.recompilations), ("Not kept", self.not_kept)):
            if rows:
                parts.append(f"<h2>{title}</h2><ol>" + "".join(f"<li>{html.escape(row)}</li>" for row in rows) + "</ol>")
        for number, segment in enumerate(self.segments, 1):
            parts.append(f"<h2>Segment {number}</h2><p>{html.escape(self._title(segment))}</p>")
            for index, (_, title, text) in enumerate(_parts(segment)):
                shown = " open" if index == 0 else ""
                parts.append(f"<details{shown}><summary>{html.escape(title)}</summary><pre>{html.escape(text)}</pre></details>")
        head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{html.escape(self.name)}, compiled</title>'
        return (
            f'<!doctype html>\n<html lang="en"><head>{head}<style>{_STYLE}</style></head>\n<body>\n'
            + "\n".join(parts)
            + "\n</body></html>\n"
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, as a whole or not at all."""
        page = self.html().encode("utf-8")
        with replacing(path) as file:
            file.write(page)


def _calls(segment: CacheEntry) -> list[Any]:
    """The nodes that compute; the context that a custom Function is given does not."""
    return [node for node in segment.module.graph.nodes if node.op.startswith("call_") and node.target is not FunctionCtx]


def _ops(segment: CacheEntry) -> list[Any]:
    return [node.target for node in _calls(segment)]


def _op_names(segment: CacheEntry) -> list[str]:
    return [_op_name(node) for node in _calls(segment)]


def _op_name(node: Any) -> str:
    if node.table_op is not None:
        return str(node.table_op.public_name)
    if node.bodies:  # a custom Function gives its name to the node
        return str(node.name.rstrip("_0123456789"))
    return str(getattr(node.target, "__name__", node.target))


def _counted(count: str, things: str) -> str:
    return f"{count} {things[:-1] if count == '1' else things}"


def _parts(segment: CacheEntry) -> list[tuple[str, str, str]]:
    parts = [
        ("graph", "the graph", segment.module.print_readable(print_output=False)),
        ("guards", "its guards", segment.guards.source),
        ("program", "the program that later calls run", segment.source),
    ]
    text = "" if segment.executable is None else segment.executable.describe()
    return [*parts, ("native", "what the back-end made of it", text)] if text else parts
