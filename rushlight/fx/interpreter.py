"""``Interpreter`` and ``Transformer``: run a graph node by node, or rewrite it while it runs on proxies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..graph import Graph as HouseGraph
from ..graph import Interpreter as HouseInterpreter
from ..graph.node import Node
from ..nn.modules.module import Module
from ._symbolic_trace import Tracer
from .graph import Graph
from .graph_module import GraphModule
from .proxy import Proxy


class Interpreter(HouseInterpreter):
    """Runs the graph of a module; derive from it to do something else with each node."""

    def __init__(self, module: Any, garbage_collect_values: Any = True, graph: Any = None) -> None:
        if isinstance(garbage_collect_values, HouseGraph):  # as the package's own interpreter takes it
            garbage_collect_values, graph = True, garbage_collect_values
        super().__init__(module, graph, garbage_collect_values)
        self.name = "Interpreter"
        self.extra_traceback = True

    @property
    def module(self) -> Any:
        """The module whose graph runs."""
        return self.root

    @module.setter
    def module(self, module: Any) -> None:
        self.root = module

    @property
    def submodules(self) -> dict[str, Any]:
        """The submodules by name."""
        return dict(self.root.named_modules()) if isinstance(self.root, Module) else {}

    @property
    def args_iter(self) -> Any:
        """The arguments that are not taken yet."""
        return self._arguments

    @args_iter.setter
    def args_iter(self, value: Any) -> None:
        self._arguments = value

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """Run the graph; nodes that ``initial_env`` has a value for do not run."""
        codegen = getattr(self.graph, "_codegen", None) if enable_io_processing else None
        if codegen is not None:
            args = codegen.process_inputs(*args)
        result = super().run(*args, initial_env=initial_env)
        return result if codegen is None else codegen.process_outputs(result)

    def boxed_run(self, args_list: list[Any]) -> Any:
        """Run the graph on a list of arguments, which is emptied."""
        args = list(args_list)
        args_list.clear()
        return self.run(*args)


class TransformerTracer(Tracer):
    """Writes what a Transformer does to its new graph."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.tensor_attrs: dict[Any, str] = {}

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Every Module is one node."""
        return True


class Transformer(Interpreter):
    """Makes a new graph of a module's by running it on proxies; override ``call_function`` and the like to change it."""

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph._codegen = getattr(module.graph, "_codegen", self.new_graph._codegen)
        self.tracer = TransformerTracer(self.new_graph)
        self.tracer.root = module

    def placeholder(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A placeholder of the new graph."""
        return Proxy(self.new_graph.placeholder(target, default_value=args[0]) if args else self.new_graph.placeholder(target), self.tracer)

    def get_attr(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An attribute in the new graph."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a Module in the new graph."""
        module = self.fetch_attr(target)
        return self.tracer.call_module(module, module.forward, args, kwargs)

    def call_function(self, target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a function in the new graph."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def call_method(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a method in the new graph."""
        return self.tracer.create_proxy("call_method", target, args, kwargs)

    def run_node(self, n: Node) -> Any:
        """Run one node; what it makes keeps its facts."""
        made = super().run_node(n)
        if isinstance(made, Proxy) and n.op != "output":
            for key, value in n.meta.items():
                made.node.meta.setdefault(key, value)
        return made

    def transform(self) -> GraphModule:
        """The module with the new graph."""
        result = super().run(enable_io_processing=False)
        if result is not None:
            self.new_graph.output(self.tracer.create_arg(result))
        return GraphModule(self.module, self.new_graph)


__all__ = ["Interpreter", "Transformer"]
