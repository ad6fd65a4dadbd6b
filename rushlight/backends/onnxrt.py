"""Graphs in ONNX Runtime: forward and backward are exported to models in memory, and run there.

A graph is cut into runs of nodes that have an ONNX form, each a session, and the nodes between them, which run as they are: ops
without an ONNX form (a warning names them once), ops that draw random numbers, ops on other devices than the CPU, and types that ONNX Runtime does not take.
"""

from __future__ import annotations

import operator
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..capture.graph_module import GraphModule
from ..capture.trace.capture import Captured
from ..capture.tracer.tracer import Tracer
from ..core.base import Spec, make
from ..core.process_safety import free_after_fork
from ..graph import Graph, Interpreter, Node
from ..onnx.cleanup import clean
from ..onnx.exporter import flat_outputs
from ..onnx.lowering import OnnxLowering
from ..onnx.names import name_outputs
from ..onnx.program import ONNXProgram
from ..onnx.proto import OnnxModel
from .aot import AheadOfTime
from .protocol import Backend, Executable, GraphExecutable
from .registry import register_backend
from .scalar_inputs import with_numbers

OPSET = 20
_TYPES = frozenset(np.dtype(each) for each in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"))
_named: set[str] = set()  # ops that a warning was given for
_forms: dict[Any, str | None] = {}  # of calls that were tried: why they have no ONNX form, or None


class NotExportable(Exception):
    """Why a part of a graph can't be a model."""


class OnnxRuntimeBackend(Backend):
    """Exports the forward and the backward graph, and runs them in ONNX Runtime."""

    name = "onnxrt"

    def compile(self, gm: Any, example_inputs: list[Any]) -> Executable:
        """Compile a graph."""
        return with_numbers(gm, lambda each: AheadOfTime(each, ExportedGraph))


onnxrt = register_backend(OnnxRuntimeBackend())


class ExportedGraph(GraphExecutable):
    """A graph whose runs of exportable nodes are sessions; the nodes between them run op by op.

    The first call runs the graph as it is, and notes the strides of values: random numbers fill a tensor, and a program may look
    at a result, in that order, while ONNX Runtime knows no layouts.
    """

    def __init__(self, module: GraphModule) -> None:
        self.module = module
        self.run: Callable[..., Any] | None = None
        self.lock = free_after_fork(threading.RLock())

    def __call__(self, *args: Any) -> Any:
        if self.run is not None:
            return self.run(*args)
        with self.lock:
            if self.run is None:
                observer = StrideRecorder(self.module)
                results = observer.run(*args)
                export_runs(self.module, observer.strides)
                self.run = self.module.forward
                return results
        return self.run(*args)

    def describe(self) -> str:
        """Which parts are sessions, and why the others are not, in words."""
        if self.run is None:
            return "to be exported when it has run once"
        lines = []
        for node in self.module.graph.nodes:
            if isinstance(node.target, Session):
                lines.append(f"a session of {node.target.count} nodes")
            elif node.op == "call_function" and node.target is not operator.getitem:
                lines.append(f"{node.name} runs outside of ONNX Runtime: {why_not(self.module, node) or 'it is a view, and no work'}")
        return "\n".join(lines)


class StrideRecorder(Interpreter):
    """Runs a graph, and notes the strides of values that are not contiguous."""

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.strides: dict[Node, tuple[int, ...]] = {}

    def run_node(self, n: Node) -> Any:
        result = super().run_node(n)
        array = getattr(result, "_array", None)
        if array.__class__ is np.ndarray and not array.flags.c_contiguous and all(array.strides):
            self.strides[n] = array.strides
        return result


def laid_out(tensor: Any, strides: tuple[int, ...]) -> Any:
    """A tensor with its dimensions in memory in the order that strides have."""
    array = tensor._array
    order = sorted(range(array.ndim), key=lambda dim: -strides[dim])
    if array.strides == strides:
        return tensor
    made = np.empty([array.shape[dim] for dim in order], array.dtype).transpose(np.argsort(order))
    made[...] = array
    return make(made)


def export_runs(module: GraphModule, strides: dict[Node, tuple[int, ...]]) -> None:
    """Replace runs of exportable nodes by sessions."""
    graph = module.graph
    runs: list[list[Node]] = [[]]
    for node in graph.nodes:
        if node.op in ("placeholder", "output"):
            continue
        if why_not(module, node) is None:
            runs[-1].append(node)
        elif runs[-1]:
            runs.append([])
    for node in list(graph.nodes):
        if node.op != "placeholder" and node.is_impure():
            for each in node.all_input_nodes:
                if each in strides and each.op != "placeholder":
                    with graph.inserting_before(node):
                        laid = graph.call_function(laid_out, (each, strides[each]))
                        laid.meta = dict(each.meta)
                    node.replace_input_with(each, laid)
    for run in runs:
        if any(each.table_op is not None and not each.table_op.view for each in run):
            replace(module, run)
    graph.lint()
    module.recompile()


def why_not(module: Any, node: Node) -> str | None:
    """Why a node stays as it is; None where it can be exported."""
    if node.op == "get_attr":
        return None
    if node.target is operator.getitem and isinstance(node.args[0], Node):
        return why_not(module, node.args[0])
    op = node.table_op
    if op is None:
        return f"a call of {node.target}"
    specs = [each.meta.get("val") for each in (node, *node.all_input_nodes)]
    flat = [part for each in specs for part in (each if isinstance(each, tuple) else (each,)) if part is not None]
    if node.is_impure():
        return "it draws random numbers"
    elsewhere = next(
        (each.device for each in flat if isinstance(each, Spec) and each.device is not None and each.device.type != "cpu"), None
    )
    if elsewhere is not None:
        say(op.qualified_name, f"its tensors are on '{elsewhere}', and sessions are on the CPU")
        return f"its tensors are on '{elsewhere}'"
    if not all(isinstance(each, Spec) and each.dtype in _TYPES for each in flat):
        return "a type that ONNX Runtime does not take"
    key = (op.name, _signature(node.args), _signature(dict(node.kwargs)))
    if key not in _forms:
        try:
            model_of(module, [node])
            _forms[key] = None
        except NotExportable as error:
            _forms[key] = str(error)
    found = _forms[key]
    if found is not None:
        say(op.qualified_name, found)
    return found


def say(name: str, why: str) -> None:
    """Warn, once for each op, that it does not run in ONNX Runtime."""
    if name not in _named:
        _named.add(name)
        warnings.warn(f"onnxrt: {name} runs outside of ONNX Runtime, and the graph is cut there: {why}", stacklevel=2)


def _signature(value: Any) -> Any:
    """What an argument is, as far as its ONNX form depends on it."""
    if isinstance(value, Node):
        found = value.meta.get("val")
        return ("value", found.shape, str(found.dtype)) if isinstance(found, Spec) else ("node",)
    if isinstance(value, dict):
        return tuple((key, _signature(each)) for key, each in value.items())
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, *[_signature(each) for each in value])
    return (type(value).__name__, repr(value))


# -- a run of nodes as a model ------------------------------------------------------------------------------------------------


def results_of(run: list[Node]) -> list[Node]:
    """The nodes of a run that something outside of it uses; of several results of one, its parts."""
    inside = set(run)
    found = [node for node in run if isinstance(node.meta.get("val"), Spec) and node.op != "get_attr"]
    return [node for node in found if any(user not in inside for user in node.users)]


def given_to(run: list[Node]) -> list[Node]:
    """The values from outside that a run uses."""
    inside = set(run)
    return list(dict.fromkeys(each for node in run for each in node.all_input_nodes if each not in inside))


def model_of(module: Any, run: list[Node], outputs: list[Node] | None = None) -> OnnxModel:
    """A run of nodes as an ONNX model."""
    part = Graph()
    here: dict[Node, Node] = {}
    inputs: list[tuple[str, Node]] = []
    for each in given_to(run):
        if not isinstance(each.meta.get("val"), Spec):
            raise NotExportable("one of its arguments is no tensor")
        here[each] = node = part.placeholder(each.name)
        node.meta["val"] = each.meta["val"]
        inputs.append((node.name, node))
    tracer = Tracer(functional=True)
    for each in run:
        here[each] = part.node_copy(each, here.__getitem__)
        if each.op == "get_attr":
            tracer.constants[each.target] = operator.attrgetter(each.target)(module)
    last = here[run[-1]]
    wanted = [here[each] for each in outputs] if outputs is not None else [last]
    tracer.graph, tracer.depends = part, set(part.nodes)
    try:
        lowering = OnnxLowering(Captured(tracer, inputs, None), OPSET)
        g = lowering.run()
        made = [lowering.values[each] for each in wanted]
        if outputs is None:  # just whether it can be
            made = [value for value in (made[0] if isinstance(made[0], tuple) else made) if value is not None]
        values = flat_outputs(g, made, made)
        name_outputs(g, values, [f"output_{number}" for number in range(len(values))], [], None)
        clean(g, [])
        return OnnxModel(g.graph, g.params_dict, OPSET)
    except Exception as error:  # whatever it is that has no form: the nodes can always run as they are
        raise NotExportable(str(error).partition("\n")[0]) from error


class Session:
    """A run of nodes in ONNX Runtime, called like a function of tensors."""

    __name__ = __qualname__ = "onnx_session"
    __module__ = __name__

    def __init__(self, model: OnnxModel, outputs: list[Node], count: int) -> None:
        self.count = count
        try:
            self.session = ONNXProgram(model).session()
        except ImportError:
            raise
        except Exception as error:  # it knows the operations, but has no kernel for these types
            raise NotExportable(str(error).partition("\n")[0]) from error
        self.names = [each.name for each in self.session.get_inputs()]
        self.types = [each.meta["val"].dtype for each in outputs]

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        results = self.session.run(None, {name: each._array for name, each in zip(self.names, args)})
        return tuple([make(np.asarray(each)) for each in results])


def replace(module: Any, run: list[Node]) -> None:
    """Put one call of a session in the place of a run of nodes; of a run that is refused, its halves, down to single nodes."""
    outputs = results_of(run)
    if not outputs or all(node.op == "get_attr" or node.target is operator.getitem for node in run):
        return
    try:
        model = model_of(module, run, outputs)
        session = Session(model, outputs, sum(node.table_op is not None for node in run))
    except NotExportable as error:
        calls = [node for node in run if node.table_op is not None]
        if len(calls) == 1:
            say(calls[0].table_op.qualified_name, str(error))  # type: ignore[union-attr]
            return
        for half in halves(run):
            replace(module, half)
        return
    graph = run[0].graph
    used = {value.name for value in model.graph._inputs}
    given = [each for each in given_to(run) if each.name in used]
    session.names = [each.name for each in given]
    inside = set(run)
    with graph.inserting_after(run[-1]):
        call = graph.call_function(session, tuple(given))
        call.meta = {
            "source": run[0].meta.get("source"),
            "module": run[0].meta.get("module", ""),
            "val": tuple(each.meta["val"] for each in outputs),
        }
        for number, each in enumerate(outputs):
            part = graph.call_function(operator.getitem, (call, number))
            part.meta = dict(each.meta)
            part.meta.pop("bodies", None)
            each.replace_all_uses_with(part, lambda user: user not in inside)
    for each in reversed(run):
        if not each.users:
            graph.erase_node(each)


def halves(run: list[Node]) -> list[list[Node]]:
    """A run split in two; what unpacks a node's results stays with the node."""
    calls = [number for number, node in enumerate(run) if node.table_op is not None]
    cut = calls[len(calls) // 2]
    return [run[:cut], run[cut:]]
