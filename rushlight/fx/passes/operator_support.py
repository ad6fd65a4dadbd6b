"""Which nodes a back-end takes."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import Any

from ...graph.node import Node
from .tools_common import CALLABLE_NODE_OPS, get_node_target


class OperatorSupportBase(abc.ABC):
    """Says whether a node is supported."""

    @abc.abstractmethod
    def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
        """Whether a node is supported."""


class OperatorSupport(OperatorSupportBase):
    """Supports the nodes whose target is a key of a dict; its value, dtypes of inputs, may be None."""

    _support_dict: Mapping[str, Any]

    def __init__(self, support_dict: Mapping[str, Any] | None = None) -> None:
        self._support_dict = support_dict or {}

    def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
        """Whether a node's target, and the dtypes of its inputs, are in the dict."""
        if node.op not in CALLABLE_NODE_OPS:
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        wanted = self._support_dict[target]
        if wanted is None:
            return True
        args_dtypes, kwargs_dtypes = wanted
        for at, kinds in enumerate(args_dtypes):
            if len(node.args) > at and isinstance(node.args[at], Node) and _dtype(node.args[at]) not in kinds:
                return False
        for name, kinds in kwargs_dtypes.items():
            if name in node.kwargs and isinstance(node.kwargs[name], Node) and _dtype(node.kwargs[name]) not in kinds:
                return False
        return True


def _dtype(node: Node) -> Any:
    for key in ("tensor_meta", "val"):
        found = getattr(node.meta.get(key), "dtype", None)
        if found is not None:
            return found
    return None


def create_op_support(is_node_supported: Callable[..., bool]) -> OperatorSupportBase:
    """A support of a function of (submodules, node)."""

    class FunctionalOperatorSupport(OperatorSupportBase):
        def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
            return is_node_supported(submodules, node)

    return FunctionalOperatorSupport()


def chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Supports what all support."""
    return create_op_support(lambda submodules, node: all(each.is_node_supported(submodules, node) for each in op_support))


def any_chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Supports what any supports."""
    return create_op_support(lambda submodules, node: any(each.is_node_supported(submodules, node) for each in op_support))


class OpSupports:
    """Common supports."""

    @classmethod
    def decline_if_node_in_names(cls, disallow_set: set[str]) -> OperatorSupportBase:
        """All nodes but those of these names."""
        return create_op_support(lambda submodules, node: node.name not in disallow_set)
