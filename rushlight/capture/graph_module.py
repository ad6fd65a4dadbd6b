"""A graph with the tensors it works on, as a Module: it runs, trains, prints and is saved like any other."""

from __future__ import annotations

import copy
import functools
import itertools
import linecache
import operator
import weakref
from itertools import count
from typing import Any, ClassVar

from ..core.base import TensorBase
from ..core.declare import Op
from ..core.errors import CaptureError
from ..core.state import state
from ..graph import Graph, Interpreter, control
from ..graph.node import PLAIN, all_nodes
from ..graph.printer import source_of
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from .control.branches import branch
from .control.dynamic_lists import SEQUENCES, list_call
from .control.dynamic_split import PARTS
from .control.list_methods import METHODS
from .control.loops import loop
from .control.python_functions import SUBSTITUTES, Maybe, item, unwrapped
from .control.symbolic_strings import text_call
from .control.written_attributes import written_attributes

_numbers = count()
UNDER_CAPTURE: dict[Any, Any] = {**SUBSTITUTES, control.branch: branch, control.loop: loop, **SEQUENCES, **PARTS}
KEEP_OPTIONAL = (branch, loop, UNDER_CAPTURE[operator.is_], UNDER_CAPTURE[operator.is_not])  # what takes values that may be None


class GraphModule(Module):
    """A Module whose ``forward`` is generated from a graph.

    ``root`` is a Module whose parameters, buffers and submodules the graph refers to, or a dict of them by dotted name.
    After a change of the graph, ``recompile()`` makes ``forward`` anew.
    """

    _plain: ClassVar[type[GraphModule]]  # the class without a ``forward`` of its own, of which each instance makes a subclass

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """An instance of a class of its own, which gets the ``forward`` of its graph."""
        plain = cls.__dict__.get("_plain", cls)
        return super().__new__(type(plain)(plain.__name__, (plain,), {"__module__": plain.__module__, "_plain": plain}))

    def __init__(self, root: Module | dict[str, Any] | None = None, graph: Graph | None = None, class_name: str = "GraphModule") -> None:
        super().__init__()
        if root is None or graph is None:  # of a subclass that sets its graph itself
            return
        type(self).__name__ = type(self).__qualname__ = class_name
        if isinstance(root, Module):
            self.training = root.training
        targets = [node.target for node in all_nodes(graph) if node.op in ("get_attr", "call_module") and node.target != "training"]
        named = set(targets)
        ways = (itertools.accumulate(target.split("."), "{}.{}".format) for target in targets)
        for target in dict.fromkeys(path for way in ways for path in way if path in named):  # a Module before what is put into it
            assign(self, target, root[target] if isinstance(root, dict) else operator.attrgetter(target)(root))
        self.graph = graph

    @property
    def graph(self) -> Graph:
        """The graph that ``forward`` runs."""
        return self._graph

    @graph.setter
    def graph(self, graph: Graph) -> None:
        self.__dict__["_graph"] = graph
        graph.owning_module = self
        self.recompile()

    def recompile(self) -> Any:
        """Generate ``forward`` from the graph as it is now."""
        code = self._graph.python_code("self")
        self.__dict__["_code"] = code.src
        filename = f"<graph {next(_numbers)}>"
        namespace = dict(code.globals)
        exec(compile(code.src, filename, "exec"), namespace)
        linecache.cache[filename] = (len(code.src), None, code.src.splitlines(keepends=True), filename)
        weakref.finalize(self, linecache.cache.pop, filename, None).atexit = False
        generated = namespace["forward"]

        @functools.wraps(generated)  # its signature is the graph's
        def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
            if state.capture is not None and not kwargs:
                return Replay(self, self._graph).run(*args)
            return generated(self, *args, **kwargs)

        forward._graph_forward = generated  # type: ignore[attr-defined]  # what compile looks into
        type(self).forward = forward  # type: ignore[method-assign]
        return code

    @property
    def code(self) -> str:
        """The generated source of ``forward``."""
        return self.__dict__["_code"]  # type: ignore[no-any-return]

    def print_readable(self, print_output: bool = True, **options: Any) -> str:
        """The graph as Python that runs, with types, shapes and where each line came from."""
        return self._graph.print_readable(print_output=print_output, **options)  # type: ignore[no-any-return]

    def __deepcopy__(self, memo: Any) -> GraphModule:
        parts = {name: copy.deepcopy(value, memo) for name, value in targets(self)}
        made = type(self)._plain(parts, copy.deepcopy(self._graph, memo), type(self).__name__)
        made.training = self.training
        return made

    def __reduce__(self) -> Any:
        return (_rebuild, (type(self)._plain, dict(targets(self)), self._graph, type(self).__name__, self.training))


class Deferred(GraphModule):
    """A GraphModule whose ``forward`` is generated when it is first called: for back-ends that mostly run something else."""

    def recompile(self) -> Any:
        """Generate ``forward`` when it is needed."""
        self.__dict__.pop("_code", None)

        def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
            if "_code" not in self.__dict__:
                GraphModule.recompile(self)
            return type(self).forward(self, *args, **kwargs)

        type(self).forward = forward  # type: ignore[method-assign]

    @property
    def code(self) -> str:
        """The generated source of ``forward``."""
        if "_code" not in self.__dict__:
            GraphModule.recompile(self)
        return super().code


class Replay(Interpreter):
    """Runs a graph under a capture; what is captured keeps the origin of the nodes that are run.

    Python's own functions on numbers keep formulas, and control flow is captured as such.
    """

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function, or what stands for it under a capture."""
        if state.capture is None:
            return target(*args, **kwargs)
        if not kwargs and getattr(target, "op", None).__class__ is Op and target not in UNDER_CAPTURE and all(map(is_plain, args)):
            return target(*args)
        made = list_call(target, args, METHODS)
        if made is NotImplemented:
            made = text_call(target, args, kwargs, target)
        if made is not NotImplemented:
            return made
        found = UNDER_CAPTURE.get(target) if target.__hash__ is not None else None
        if found not in KEEP_OPTIONAL and target is not control.within and not is_scripted(target):
            args, kwargs = unwrapped(args), named_unwrapped(kwargs)
        return target(*args, **kwargs) if found is None else found(*args, **kwargs)

    def call_method(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a method of the first argument."""
        if state.capture is not None:
            made = list_call(target, args, METHODS)
            if made is NotImplemented and isinstance(args[0], str):
                made = text_call(target, args, kwargs, getattr(str, target))
            if made is not NotImplemented:
                return made
            if not is_scripted(getattr(args[0], target, None)):
                args, kwargs = unwrapped(args), named_unwrapped(kwargs)
            if target == "item":
                return item(args[0])
        return super().call_method(target, args, kwargs)

    def call_module(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a module of the root."""
        if state.capture is not None:
            module = self.fetch_attr(target)  # or a method of the root
            if not is_scripted(module) and not is_scripted(getattr(module, "forward", None)):
                args, kwargs = unwrapped(args), named_unwrapped(kwargs)
        return super().call_module(target, args, kwargs)

    def run_node(self, node: Any) -> Any:
        capture = state.capture
        if capture is not None and capture.refusing:
            refuse(node)
        if capture is None or node.op in ("placeholder", "output") or not node.meta.get("source"):
            return self.run_one(node)
        before, prefix = capture.origin, capture.modules[-1] if capture.modules else ""
        path = ".".join(filter(None, (prefix, node.meta.get("module", ""))))
        capture.origin = {"source": node.meta["source"], "module": path}
        try:
            result = self.run_one(node)
            # The program has made sure that it is there where its type says so.
            return result.value if result.__class__ is Maybe and str(node.type) == "Tensor" else result
        finally:
            capture.origin = before

    def run_one(self, node: Any) -> Any:
        """Run a node; attributes of Modules that the bodies of a branch or a loop set are values of these bodies."""
        if state.capture is not None and node.target in (control.branch, control.loop):
            attributes = written_attributes(node.meta["bodies"].values(), self.root)
            if attributes is not None:
                args, kwargs = self.fetch_args_kwargs_from_env(node)
                kwargs["bodies"] = {name: self.body(graph) for name, graph in node.meta["bodies"].items()}
                return attributes.call(node.target, UNDER_CAPTURE[node.target], args, kwargs)
        return super().run_node(node)


def is_plain(value: Any) -> bool:
    """Whether an argument is a tensor or a constant: no list, and nothing that may be None or unknown."""
    return value.__class__ in PLAIN or isinstance(value, TensorBase)


def is_scripted(function: Any) -> bool:
    """Whether this is a scripted function or method: it may be given what may be None."""
    return hasattr(function, "_program") or hasattr(function, "_script_signature")


def named_unwrapped(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Named arguments of a call, with the values of what may be None."""
    return {name: each.value if each.__class__ is Maybe else each for name, each in kwargs.items()}


def refuse(node: Any) -> None:
    """What a scripted program may do, but an exported one can't."""
    if node.meta.get("python") and not hasattr(getattr(node.target, "__self__", None), "_node_type"):
        raise CaptureError(
            f"Couldn't export Python function '{node.meta['python']}': it is marked with jit.ignore, and stays Python. Write it so that it can be "
            f"scripted{source_of(node, '; ')}"
        )
    # A program of an archive can't be written in another way; dicts of programs that are scripted here are refused as PyTorch refuses them.
    if node.op == "call_function" and node.target is dict and not (node.meta.get("source") or ("",))[0].startswith("code/__torch__"):
        raise CaptureError(
            "Exporting the operator 'prim::DictConstruct' to ONNX is not supported. Return a tuple or a NamedTuple, or trace the program instead of "
            f"scripting it{source_of(node, '; ')}"
        )


def targets(module: Any) -> list[tuple[str, Any]]:
    """What the graph of a Module refers to, by name."""
    names = dict.fromkeys(
        node.target for node in all_nodes(module._graph) if node.op in ("get_attr", "call_module") and node.target != "training"
    )
    return [(name, operator.attrgetter(name)(module)) for name in names]


def _rebuild(kind: Any, parts: dict[str, Any], graph: Graph, name: str, training: bool) -> Any:
    made = kind(parts, graph, name)
    made.training = training
    return made


def hasattr_at(root: Any, path: str) -> bool:
    """Whether there is something at a dotted path."""
    for part in path.split("."):
        if not hasattr(root, part):
            return False
        root = getattr(root, part)
    return True


def assign(root: Module, path: str, value: Any) -> None:
    """Put a parameter, a buffer or a Module at a dotted path, with plain Modules on the way."""
    *way, last = path.split(".")
    owner: Any = root
    for part in way:
        found = owner._modules.get(part)
        if found is None:
            found = Module()
            owner.add_module(part, found)
        owner = found
    if isinstance(value, Parameter):
        owner.register_parameter(last, value)
    elif isinstance(value, Module):
        owner.add_module(last, value)
    elif isinstance(value, TensorBase) or value is None:
        owner.register_buffer(last, value)
    else:  # what a graph refers to besides
        setattr(owner, last, value)
