"""The graph that captures produce: nodes in order, in the form that PyTorch's users know from ``torch.fx``.

In: nodes that captures and passes make.  Out: a graph that prints as Python that runs, is checked by :func:`verify`, and runs node by node in an
:class:`Interpreter`.  Read ``node.py`` first, then ``graph.py``.
"""

from .calls import bind, canonical
from .graph import Graph
from .interpreter import Interpreter
from .node import FrozenDict, FrozenList, Node, has_side_effect, map_aggregate, map_arg
from .printer import PythonCode, describe
from .verifier import verify

__all__ = [
    "FrozenDict", "FrozenList", "Graph", "Interpreter", "Node", "PythonCode", "bind", "canonical", "describe",
    "has_side_effect", "map_aggregate", "map_arg", "verify",
]  # fmt: skip
