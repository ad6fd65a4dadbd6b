"""Programs that compute gradients, as ONNX graphs: forward and backward in one, with symbolic sizes kept as formulas.

The program runs once, on tensors without data, under a functional tracer.  The autograd engine runs under the same tracer, and so do
the user's own backwards and the arithmetic of an optimizer: all of it lands in one graph.
"""

from __future__ import annotations

import re
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..autograd.differentiation import backward
from ..capture.trace.capture import Captured, Scopes, live_nodes
from ..capture.tracer.tracer import _HOUSE as HOUSE
from ..capture.tracer.tracer import Symbol, TracerWarning, tensors_in
from ..core import symbolic
from ..core.base import Spec, TensorBase, make
from ..core.devices import device_of
from ..core.errors import CaptureError, NotSupported
from ..core.node import Node as GradientNode
from ..core.state import state
from ..core.symbolic import Expression, SymbolicInt
from ..graph import Node
from ..passes.functionalize import FunctionalTracer
from .cleanup import clean
from .errors import ExportInputError, OnnxExporterError
from .exporter import _exporting, newest_opset
from .globals import GLOBALS
from .lowering import OnnxLowering, as_in_this_run
from .names import name_outputs
from .proto import OnnxModel

FIRST_OPSET = 9  # of gradients: the nodes that they need are in it


class GraphInput(NamedTuple):
    """A tensor that the program is given: an input of the file, a state, or (where it is ``stored``) a tensor in the file."""

    name: str
    tensor: Any  # an example: its shape and type count
    axes: dict[int, str] = {}  # the dynamic dimensions, with their names
    differentiable: bool = False
    stored: bool = False


# The values of symbolic sizes in a run; all keep what divides them.
AS_GIVEN: Callable[[Symbol], int] = lambda symbol: symbol.concrete  # noqa: E731
ANY: Callable[[Symbol], int] = lambda symbol: symbol.generic  # noqa: E731
ANY_OTHER: Callable[[Symbol], int] = lambda symbol: 2 * symbol.generic  # noqa: E731
TWICE: Callable[[Symbol], int] = lambda symbol: 2 * max(symbol.concrete, 1)  # noqa: E731
THRICE: Callable[[Symbol], int] = lambda symbol: 3 * max(symbol.concrete, 1)  # noqa: E731


class GradientTracer(FunctionalTracer):
    """A functional tracer whose sizes may be formulas, and that knows which line each step of a gradient comes from."""

    def __init__(self, value_of: Callable[[Symbol], int]) -> None:
        super().__init__()
        self.value_of = value_of  # the value of a symbolic size in this run
        self.fixed: list[tuple[str, Any]] = []  # where sizes were made plain numbers
        self.makers: dict[GradientNode, Node] = {}  # of a step of the gradient: the node whose gradient it is

    def __enter__(self) -> GradientTracer:
        super().__enter__()
        self.notice, symbolic.escape.notice = symbolic.escape.notice, self.size_escaped
        return self

    def __exit__(self, *exception: Any) -> None:
        symbolic.escape.notice = self.notice
        super().__exit__(*exception)

    def size_escaped(self, kind: str, size: Any) -> None:
        self.fixed.append((f"{kind}() of the size {getattr(size, 'expression', 'computed here')}, which is dynamic", self.where()[0]))

    def take(self, slot: GraphInput) -> Any:
        """A tensor without data for an input."""
        array = slot.tensor._array
        node = self.graph.placeholder(re.sub(r"\W", "_", slot.name))
        shape: list[int] = []
        for dim, size in enumerate(array.shape):
            name = slot.axes.get(dim)
            if name is None:
                shape.append(size)
                continue
            self.new_symbol(node, dim, size, name)
            symbol = self.symbols[name]
            if symbol.concrete != size:
                raise ExportInputError(
                    f"the dimension '{name}' is {symbol.concrete} in one of the example inputs and {size} in '{slot.name}'"
                )
            shape.append(SymbolicInt(self.value_of(symbol), Expression.symbol(name)))
        strides = None if slot.axes else tuple([step // array.itemsize for step in array.strides])
        made = make(Spec(tuple(shape), array.dtype, strides, device_of(array)))
        made._requires_grad = slot.differentiable
        self.depends.add(node)
        self.bind(made, node)
        return made

    def shapes(self, op: Any, args: tuple[Any, ...], recorded: tuple[Any, ...], node: Node, result: Any) -> Any:
        return None  # tensors without data have formulas for sizes already

    def results(self, op: Any, args: tuple[Any, ...], recorded: tuple[Any, ...], node: Node, result: Any) -> None:
        super().results(op, args, recorded, node, result)
        for each in tensors_in(result):
            if isinstance(each._grad_fn, GradientNode):
                self.makers.setdefault(each._grad_fn, node)

    def gradients(self, root: Any, leaves: Sequence[Any]) -> list[Any]:
        """The gradients of a scalar with respect to leaves; None for one that it does not depend on."""
        if not root._requires_grad or not leaves:
            return [None] * len(leaves)
        hooks = [step.register_prehook(self.entering(step)) for step in steps_of(root)]
        try:
            backward(root)  # not grad(): what is checkpointed calls backward itself
            return [each.grad for each in leaves]
        finally:
            self.origin = None
            for each in leaves:
                each.grad = None
            for hook in hooks:
                hook.remove()

    def entering(self, step: GradientNode) -> Callable[[Any], None]:
        """A hook that notes whose gradient is computed next; in the user's own backward, lines are their own."""
        maker = self.makers.get(step)

        def note(gradients: Any) -> None:
            self.origin = None if maker is None else {"source": maker.meta.get("source"), "module": maker.meta.get("module", "")}

        return note


def steps_of(root: Any) -> list[GradientNode]:
    """All steps of the gradient of a tensor."""
    found: dict[GradientNode, None] = {}
    waiting = [root._grad_fn]
    while waiting:
        step = waiting.pop()
        step = step[0] if step.__class__ is tuple else step
        if isinstance(step, GradientNode) and step not in found:
            found[step] = None
            waiting += step.inputs
    return list(found)


class GradientTrace:
    """A traced program: its graph, the node of each slot, and what it returned: names and nodes."""

    def __init__(
        self, tracer: GradientTracer, slots: list[GraphInput], nodes: list[Node], outputs: list[tuple[str, Any]], notes: Any
    ) -> None:
        self.tracer = tracer
        self.slots = slots
        self.nodes = nodes
        self.outputs = [(name, node_of(tracer, each)) for name, each in outputs]
        self.notes = notes  # what else the program wants to be known


def node_of(tracer: GradientTracer, tensor: Any) -> Node:
    outer, state.capture = state.capture, None
    try:
        return tracer.node_of(tracer.without_constants(tensor))
    finally:
        state.capture = outer


def trace(slots: list[GraphInput], program: Callable[..., tuple[list[tuple[str, Any]], Any]], root: Any = None) -> GradientTrace:
    """Run ``program(tracer, tensors)`` on tensors without data for the slots; it gives named tensors, and notes.

    Symbolic sizes have values that stand for any size.  The program runs again, with other such values and with those of the example:
    what differs follows from a size, and would hold for one size alone.  Then, and where such values do not do, those of the example are used.
    """
    names = [slot.name for slot in slots]
    repeated = [name for at, name in enumerate(names) if name in names[:at]]
    if repeated:
        raise ExportInputError(f"'{repeated[0]}' is the name of an input and of a parameter or state: name the inputs with input_names")
    if not any(slot.axes for slot in slots):
        return run(slots, program, root, AS_GIVEN)
    sizes_of_one = any(slot.tensor._array.shape[dim] == 1 for slot in slots for dim in slot.axes)  # which are treated unlike others
    problems: list[tuple[str, Any]] = []
    for first, second in ((ANY, ANY_OTHER), (TWICE, THRICE)):  # values that are too large for a table of positions, say, and small ones
        try:
            outcome = run(slots, program, root, first)
            others = [run(slots, program, root, each).tracer.graph for each in ((second,) if sizes_of_one else (second, AS_GIVEN))]
        except Exception as error:  # sizes that do not fit together: those of the example do, or say what is wrong
            problems.append((f"dynamic sizes could not be traced as such ({error})", None))
            continue
        fixed = outcome.tracer.fixed + differences(outcome.tracer.graph, *others)
        if not fixed:
            return outcome
        problems = fixed
        break
    outcome = run(slots, program, root, AS_GIVEN)
    for what, source in problems:
        where = f' (File "{source[0]}", line {source[1]}, in {source[2]})' if source else ""
        warnings.warn(f"{what}: the file may hold for the example's sizes alone{where}", TracerWarning, stacklevel=4)
    return outcome


def differences(first: Any, *others: Any) -> list[tuple[str, Any]]:
    """Where graphs of the same program, run on other sizes, differ in what they do, or in the numbers that they do it with."""
    found = []
    for other in others:
        for one, same in zip(first.nodes, other.nodes):
            if call(one) != call(same):
                found.append(("the ops of the program depend on a dynamic size", one.meta.get("source")))
                break
        else:
            if len(first.nodes) != len(other.nodes):
                found.append(("the number of ops of the program depends on a dynamic size", None))
    return found


def shown(value: Any) -> Any:
    """A node, or an argument of one, as far as it must be the same whatever the sizes are."""
    if isinstance(value, Node):
        return "value"
    if isinstance(value, dict):
        return {key: shown(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [shown(each) for each in value]
    return repr(value) if isinstance(value, (int, float, complex, str)) else type(value)


def call(node: Node) -> Any:
    """What a node does."""
    known = node.meta.get("val")
    return node.op, node.target, shown((node.args, dict(node.kwargs))), len(known) if isinstance(known, tuple) else 1


def run(
    slots: list[GraphInput], program: Callable[..., tuple[list[tuple[str, Any]], Any]], root: Any, value_of: Callable[[Symbol], int]
) -> GradientTrace:
    tracer = GradientTracer(value_of)
    tensors = [tracer.take(slot) for slot in slots]
    nodes = [tracer.entries[id(each)].node for each in tensors]
    enabled, state.grad_enabled = state.grad_enabled, True
    _exporting.depth += 1
    try:
        with tracer, Scopes(tracer, root):
            outputs, notes = program(tracer, tensors)
        return GradientTrace(tracer, slots, nodes, outputs, notes)
    except (CaptureError, NotSupported) as error:
        frames = [each for each in traceback.extract_tb(error.__traceback__) if not each.filename.startswith(HOUSE)]
        place = f'\n  File "{frames[-1].filename}", line {frames[-1].lineno}, in {frames[-1].name}' if frames else ""
        raise OnnxExporterError(
            f"{error}. A program that is differentiated for a file is followed without values: write choices with torch.where, sums over "
            f"a part of the elements as sums of products with a mask, and keep numbers tensors{place}"
        ) from error
    finally:
        _exporting.depth -= 1
        state.grad_enabled = enabled


def lowered(outcome: GradientTrace, opset: int, *, optional: Sequence[str] = (), metadata: dict[str, str] | None = None) -> OnnxModel:
    """The finished model; ``optional`` names stored tensors that are inputs too, with what is stored as their default."""
    tracer, graph = outcome.tracer, outcome.tracer.graph
    graph.output(tuple([node for _, node in outcome.outputs]))
    live = live_nodes(tracer) | set(outcome.nodes)
    graph.eliminate_dead_code(lambda node: node in live)
    for node in graph.nodes:
        node.meta["val"] = as_in_this_run(node.meta.get("val"), tracer.symbols)
    pairs = list(zip(outcome.slots, outcome.nodes))
    lowering = OnnxLowering(Captured(tracer, [(slot.name, node) for slot, node in pairs if not slot.stored], None), opset)
    for slot, node in pairs:
        if slot.stored:
            lowering.values[node] = lowering.g.initializer(slot.name, slot.tensor._array, slot.name not in optional)
    g = lowering.run()
    names = [name for name, _ in outcome.outputs]
    taken = {slot.name for slot in outcome.slots}
    repeated = [name for at, name in enumerate(names) if name in taken or name in names[:at]]
    if repeated:
        raise ExportInputError(f"'{repeated[0]}' is the name of an output and of something else: names must differ")
    name_outputs(g, [lowering.values[node] for _, node in outcome.outputs], names, names, None)
    clean(g, [slot.name for slot in outcome.slots])
    return OnnxModel(g.graph, g.params_dict, opset, classes=tracer.classes, optional=optional, metadata=metadata)


def checked_opset(opset_version: int | None) -> int:
    """The opset to export to."""
    opset = GLOBALS.export_onnx_opset_version if opset_version is None else opset_version
    newest = newest_opset()
    if isinstance(opset, bool) or not isinstance(opset, int) or not FIRST_OPSET <= opset <= newest:
        raise ExportInputError(f"opset_version={opset_version!r}: the opsets that can be exported here are {FIRST_OPSET} to {newest}")
    return opset


def flat(value: Any) -> list[Any]:
    """The tensors in what a program returns."""
    found = tensors_in(value)
    if not found and not isinstance(value, TensorBase):
        raise ExportInputError(f"the program returns a {type(value).__name__}, which holds no tensor")
    return found
