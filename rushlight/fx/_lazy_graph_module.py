"""Graph modules whose code is generated when it is needed: here all of them are generated at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .graph_module import GraphModule


class _LazyGraphModule(GraphModule):
    """A graph module; its code is there from the beginning."""

    @classmethod
    def from_graphmodule(cls, gm: GraphModule) -> Any:
        """The same module."""
        return gm

    @staticmethod
    def force_recompile(gm: GraphModule) -> None:
        """Generate the code."""
        gm.recompile()

    def real_recompile(self) -> None:
        """Generate the code."""
        self.recompile()


def _make_graph_module(*args: Any, graph_module_cls: Any = None, **kwargs: Any) -> Any:
    return (graph_module_cls or GraphModule)(*args, **kwargs)


@contextmanager
def _use_lazy_graph_module(should_use: bool) -> Iterator[None]:
    yield


def _get_graph_module_cls() -> Any:
    return GraphModule
