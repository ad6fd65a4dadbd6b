"""``PassBase``: a pass over a graph Module that says whether it has changed anything."""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

from ...graph_module import GraphModule


class PassResult(NamedTuple):
    """What a pass gives: the Module, and whether it was changed."""

    graph_module: GraphModule
    modified: bool


class PassBase(abc.ABC):
    """A pass: ``call`` does the work; ``requires`` and ``ensures`` check the graph before and after."""

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """Change a graph."""

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027  (may be left as it is)
        """Raise where the pass can't take a graph."""

    def ensures(self, graph_module: GraphModule) -> None:  # noqa: B027
        """Raise where the result is not as it should be."""


__all__: list[Any] = ["PassBase", "PassResult"]
