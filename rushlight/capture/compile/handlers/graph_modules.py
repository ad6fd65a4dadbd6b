"""Graph modules in a capture: the code that was generated from their graph is inlined like any other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..record.calls import Recorder
from ..record.registry import flagged


def inline_graph(recorder: Recorder, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The generated ``forward`` of a graph module."""
    arranged = getattr(args[0], "arranged", None) if kwargs else None  # of a model whose inputs have names that are none in Python
    if arranged is not None:
        args, kwargs = (args[0], *arranged(args[1:], kwargs)), {}
    return recorder.inline(function._graph_forward, args, kwargs)


flagged["_graph_forward"] = inline_graph
