"""Back-ends for tests of ``compile``: they count what they are given, or keep it."""

from __future__ import annotations

import re
from typing import Any

from ..backends.registry import find


class CompileCounter:
    """Counts graphs and their calls, and runs them op by op."""

    def __init__(self) -> None:
        self.clear()

    def __call__(self, gm: Any, example_inputs: list[Any]) -> Any:
        self.frame_count += 1
        self.op_count += sum(node.op.startswith("call_") for node in gm.graph.nodes)
        return gm.forward

    def clear(self) -> None:
        """Count from 0 again."""
        self.frame_count = 0
        self.op_count = 0


class CompileCounterWithBackend:
    """Counts graphs, keeps them, and gives them to another back-end."""

    def __init__(self, backend: Any) -> None:
        self.frame_count = 0
        self.op_count = 0
        self.backend = backend
        self.graphs: list[Any] = []

    def __call__(self, gm: Any, example_inputs: list[Any]) -> Any:
        self.frame_count += 1
        self.op_count += sum(node.op.startswith("call_") for node in gm.graph.nodes)
        self.graphs.append(gm)
        return find(self.backend)(gm, example_inputs)


class EagerAndRecordGraphs:
    """Keeps graphs, and runs them op by op."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []

    def __call__(self, gm: Any, example_inputs: list[Any]) -> Any:
        self.graphs.append(gm)
        return gm.forward


def normalize_gm(text: str) -> str:
    """A printed graph without what differs from file to file: paths and line numbers."""
    return re.sub(r"# File: .*", "# File", text)
