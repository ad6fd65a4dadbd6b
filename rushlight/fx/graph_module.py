"""``GraphModule``: a graph with the tensors and Modules it works on, in PyTorch's form."""

from __future__ import annotations

import copy
from operator import attrgetter
from pathlib import Path
from typing import Any

from ..capture.graph_module import GraphModule as HouseGraphModule
from ..capture.graph_module import assign, hasattr_at
from ..graph import Graph as HouseGraph
from ..nn.modules.module import Module
from ..serialization import save
from .graph import Graph
from .readable import readable


class _AnyGraphModule(type):
    """Makes every graph module of the package an instance of ``fx.GraphModule``."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, HouseGraphModule) if cls is GraphModule else type.__instancecheck__(cls, instance)


class GraphModule(HouseGraphModule, metaclass=_AnyGraphModule):
    """A Module whose ``forward`` is generated from a graph, after each change of it by ``recompile()``.

    ``root`` is a Module whose parameters, buffers and submodules the graph refers to, or a dict of them by dotted name.
    """

    def __init__(self, root: Module | dict[str, Any], graph: HouseGraph, class_name: str = "GraphModule") -> None:
        self.__dict__["meta"] = {}
        if isinstance(root, dict):
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module") and node.target not in root:
                    raise RuntimeError(f"Node {node} referenced target {node.target} but that target was not provided in ``root``!")
        super().__init__(root, graph, class_name)
        if isinstance(root, Module) and isinstance(getattr(root, "meta", None), dict):
            self.__dict__["meta"] = dict(root.meta)
        self._tracer_cls = getattr(graph, "_tracer_cls", None)
        self._tracer_extras: Any = getattr(graph, "_tracer_extras", None) or {}

    @property
    def graph(self) -> Any:
        """The graph that ``forward`` runs."""
        return self._graph

    @graph.setter
    def graph(self, graph: Any) -> None:
        if not isinstance(graph, HouseGraph):
            raise AssertionError(f"Expected a Graph instance, but got {type(graph)}")
        self.__dict__["_graph"] = graph
        graph.owning_module = self
        self.recompile()

    def recompile(self) -> Any:
        """Generate ``forward`` from the graph as it is now."""
        for node in self._graph.nodes:
            if node.op == "get_attr" and not hasattr_at(self, node.target):
                break  # it is not put in yet: calling it says so
        return super().recompile()

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a Module at a dotted path, with empty Modules on the way; False where something else stands there."""
        *way, last = target.split(".")
        owner: Any = self
        for part in way:
            found = getattr(owner, part, None)
            if found is None:
                found = Module()
                setattr(owner, part, found)
            if not isinstance(found, Module):
                return False
            owner = found
        owner.add_module(last, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove the Module at a dotted path; False where there is none."""
        *way, last = target.split(".")
        owner: Any = self
        for part in way:
            owner = getattr(owner, part, None)
            if not isinstance(owner, Module):
                return False
        if not isinstance(getattr(owner, last, None), Module):
            return False
        delattr(owner, last)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Remove the Modules that no node calls or takes an attribute of."""
        used: set[str] = set()
        for node in self._graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used |= {".".join(parts[: at + 1]) for at in range(len(parts))}
                if node.op == "call_module":
                    found = attrgetter(node.target)(self)
                    if isinstance(found, Module):
                        used |= {f"{node.target}.{name}" for name, _ in found.named_modules()}
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    def print_readable(
        self, print_output: bool = True, include_stride: bool = False, include_device: bool = False, colored: bool = False, **options: Any
    ) -> str:
        """The generated code as a class, with those of submodules that are graphs inside it."""
        text = _readable(self, type(self).__name__)
        if print_output:
            print(text)
        return text

    def to_folder(self, folder: Any, module_name: str = "FxModule") -> None:
        """Write the generated code and the state to a folder that Python can import."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        save(self.state_dict(), place / "state_dict.pt")
        lines = [
            "import torch",
            "from math import inf, nan",
            "NoneType = type(None)",
            "from torch import device, nn",
            "",
            f"class {module_name}(torch.nn.Module):",
        ]
        lines += ["    def __init__(self):", "        super().__init__()"]
        for name, child in self.named_children():
            save(child, place / f"{name}.pt")
            lines.append(f"        self.{name} = torch.load(r'{place / f'{name}.pt'}', weights_only=False)")
        for name, value in [*self._parameters.items(), *self._buffers.items()]:
            if value is not None:
                kind = "torch.nn.Parameter" if name in self._parameters else ""
                made = f"{kind}(torch.empty({list(value.shape)}, dtype={value.dtype}))"
                lines.append(f"        self.{name} = {made}" if kind else f"        self.register_buffer('{name}', {made})")
        lines.append(f"        self.load_state_dict(torch.load(r'{place / 'state_dict.pt'}'))")
        body = "\n".join("    " + line if line.strip() else "" for line in self.code.split("\n"))
        (place / "module.py").write_text("\n".join(lines) + "\n" + body + "\n", encoding="utf8")
        (place / "__init__.py").write_text("from .module import *\n", encoding="utf8")

    def _recompile_submodules(self) -> list[Any]:
        return [each.recompile() for _, each in self.named_modules() if isinstance(each, GraphModule) and each is not self]

    def __deepcopy__(self, memo: Any) -> Any:
        made: Any = super().__deepcopy__(memo)
        made.__dict__["meta"] = copy.copy(self.__dict__.get("meta", {}))
        return made

    def __copy__(self) -> Any:
        made = type(self)._plain(self, copy.copy(self._graph), type(self).__name__)
        made.__dict__["meta"] = dict(self.__dict__.get("meta", {}))
        return made

    def __str__(self) -> str:
        return "\n".join([Module.__repr__(self), self.code, "# To see more debug info, please use `graph_module.print_readable()`"])


_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"


class _CodeOnlyModule(Module):
    """A Module of given attributes."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


def _copy_attr(from_module: Module, to_module: Module, target: str) -> None:
    """Put what one Module has at a dotted path there in another."""
    assign(to_module, target, attrgetter(target)(from_module))


def _assign_attr(from_obj: Any, to_module: Module, target: str) -> None:
    """Put something at a dotted path of a Module."""
    assign(to_module, target, from_obj)


def _readable(module: Any, name: str) -> str:
    graph = module.graph
    if isinstance(graph, HouseGraph) and type(graph) is HouseGraph:
        return str(graph.print_readable(print_output=False))
    return readable(module, name)


def reduce_graph_module(body: dict[Any, Any], import_block: str) -> Any:
    """What a graph module that PyTorch pickled would become: its code is Python, which is not run from files."""
    raise RuntimeError("a GraphModule that PyTorch pickled is code: trace the model here instead")


__all__ = ["GraphModule", "Graph", "assign"]
