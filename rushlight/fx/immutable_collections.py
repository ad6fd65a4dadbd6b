"""Lists and dicts that do not change: the arguments of nodes."""

from __future__ import annotations

from ..graph.node import FrozenDict as immutable_dict
from ..graph.node import FrozenList as immutable_list

__all__ = ["immutable_dict", "immutable_list"]
