"""How a captured graph shows itself in PyTorch's form: made when somebody asks, and kept while the graph is the same."""

from __future__ import annotations

import importlib
import re
import weakref
from typing import Any

from ..graph import Graph


class Listing:
    """The TorchScript form of a graph of a script or trace; ``None`` of what has none."""

    def __init__(self, graph: Graph, signature: Any, owner: Any, name: str, traced: bool = False, is_method: bool = True) -> None:
        self.graph, self.what = graph, (signature, re.sub(r"\W", "_", name), traced, is_method)
        self.owner = (lambda: None) if owner is None else weakref.ref(owner)  # programs are shared, and outlive Modules
        self.held: Any = owner  # until it was asked for once: the Module may be gone by then
        self.key: Any = None
        self.made: Any = None
        self.changed = False  # by a pass, which the graph does not know of

    def __call__(self) -> Any:
        """The graph in PyTorch's form."""
        key = None if self.changed else [(node, node.args, node.target) for node in self.graph.nodes]
        if not self.changed and key != self.key and not (self.key is not None and self.is_gone()):
            self.key, self.made = key, _builder().build(self.graph, self.owner(), *self.what)
            self.held = None
        return self.made

    def is_gone(self) -> bool:
        """Whether there was a Module, and is no more."""
        return isinstance(self.owner, weakref.ref) and self.owner() is None

    def code(self) -> str | None:
        """The program as TorchScript."""
        return self.code_with_constants()[0]

    def code_with_constants(self) -> tuple[str | None, list[Any]]:
        """The program as TorchScript, and the tensors that it names ``CONSTANTS.c0`` and so on."""
        return _builder().code(self.graph, self.owner(), *self.what)  # type: ignore[no-any-return]


def _builder() -> Any:
    return importlib.import_module(f"{__package__}.script.aten_graph.build")


def listed(graph: Graph, *what: Any, **more: Any) -> Graph:
    """A graph that shows itself in PyTorch's form from now on."""
    if graph.listing is None or (graph.listing.owner() is None and what[1] is not None):
        graph.listing = Listing(graph, *what, **more)
    return graph
