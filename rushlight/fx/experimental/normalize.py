"""Calls of graphs brought into one form: arguments by the names of parameters, operators of Python as functions."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ...core.declare import table
from ..interpreter import Transformer
from ..node import Node
from ..operator_schemas import normalize_function, normalize_module


class NormalizeArgs(Transformer):
    """Makes graphs whose calls have all arguments by name, defaults included; what has no known signature stays as it is."""

    def __init__(self, module: Any, normalize_to_only_use_kwargs: bool = True) -> None:
        super().__init__(module)
        self.node_map: dict[Any, Node] = {}
        self.normalize_to_only_use_kwargs = normalize_to_only_use_kwargs
        self._current: Any = None

    def run_node(self, n: Node) -> Any:
        """One node, whose meta goes on to the new one."""
        self._current = n
        made = super().run_node(n)
        if hasattr(made, "node"):
            self.node_map[made] = n
            made.node.meta = {**n.meta, **made.node.meta}
            made.node.type = n.type
        return made

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a function."""
        found = normalize_function(target, args, kwargs, None, None, self.normalize_to_only_use_kwargs) if callable(target) else None
        if found is None:
            return super().call_function(target, args, kwargs)
        return self.tracer.create_proxy("call_function", target, found.args, found.kwargs)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a Module."""
        found = normalize_module(self.module, target, args, kwargs, normalize_to_only_use_kwargs=self.normalize_to_only_use_kwargs)
        if found is None:
            return super().call_module(target, args, kwargs)
        return self.tracer.create_proxy("call_module", target, found.args, found.kwargs)


class NormalizeOperators(Transformer):
    """Makes graphs in which operators of Python on two values are functions: ``torch.add`` for ``operator.add``."""

    binary_magic_method_remap: dict[Callable[..., Any], Callable[..., Any]] = {}

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a function, of one that operators have where there is such."""
        other = self.binary_magic_method_remap.get(target)
        if other is None or len(args) != 2:
            return super().call_function(target, args, kwargs)
        return super().call_function(other, (), {"input": args[0], "other": args[1]})


for _name in "add mul sub floordiv:floor_divide truediv:div mod:remainder eq ne lt le gt ge".split():
    _left, _, _right = _name.partition(":")
    NormalizeOperators.binary_magic_method_remap[getattr(operator, _left)] = table[_right or _left].call
