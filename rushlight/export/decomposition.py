"""``run_decompositions``: a program captured again, functional, with operators written by others.

The graph is run node by node on tensors without data.  An operator that the table has is run by the table's function; without a table,
composites are run by their bodies and the rest is recorded as PyTorch's core operators.  Writes become new values: those to buffers, parameters and
inputs are outputs of the program.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, MutableMapping
from functools import cache
from typing import Any

from ..capture.tracer.tracer import Tracer
from ..core.base import Spec, TensorBase, make
from ..core.declare import Op, lookup, table
from ..core.dtypes import BY_NAME
from ..core.state import state
from ..core.symbolic import SymbolicInt
from ..fx.graph import Graph, placeholder_named
from ..fx.graph_module import GraphModule
from ..graph.node import Node, map_arg
from ..nn.parameter import Parameter
from ..ops.overloads import OpOverload, find_overload
from ..ops.python_dispatch import expansions, present, results_of
from ..passes.aten_forms import call_of
from .core_operators import CORE, RULES, is_foreign, rewrite
from .exported_program import ATenVerifier, ExportedProgram, set_decompose
from .graph_signature import ExportGraphSignature, InputKind, OutputKind, OutputSpec, TensorArgument
from .lifting import argument_of
from .operator_facts import reshapes, typed, whole
from .tracing import ExportTracer, NeedsValues


class CustomDecompTable(MutableMapping[Any, Callable[..., Any]]):
    """A table of decompositions that can be changed: PyTorch's core operators are what is left."""

    def __init__(self, given: dict[Any, Callable[..., Any]] | None = None, default: bool = True) -> None:
        self.given = dict(given or {})
        self.kept: set[Any] = set()  # operators that were taken out, and stay as they are
        self.default = default

    def __getitem__(self, key: Any) -> Callable[..., Any]:
        return self.given[key]

    def __setitem__(self, key: Any, value: Callable[..., Any]) -> None:
        self.kept.discard(key)
        self.given[key] = value

    def __delitem__(self, key: Any) -> None:
        self.given.pop(key, None)
        self.kept.add(key)

    def pop(self, key: Any, *default: Any) -> Any:
        """Leave an operator as it is."""
        found = self.given.get(key)
        del self[key]
        return found

    def keys(self) -> Any:
        """The operators that have a function of the user's."""
        return self.given.keys()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.given)

    def __len__(self) -> int:
        return len(self.given)

    def __contains__(self, key: Any) -> bool:
        return key in self.given

    def copy(self) -> CustomDecompTable:
        """Another table of the same functions."""
        made = CustomDecompTable(self.given, self.default)
        made.kept = set(self.kept)
        return made

    def materialize(self) -> dict[Any, Callable[..., Any]]:
        """The functions by operator."""
        return dict(self.given)


def default_decompositions() -> CustomDecompTable:
    """The decompositions into PyTorch's core operators, to be changed."""
    return CustomDecompTable()


_COPY_IN_PLACE = table["copy_"]


class FunctionalTracer(ExportTracer):
    """Records operators as an exported program has them, without writes; ``core`` decomposes composites."""

    of_functions = False

    def __init__(self, names: Any, core: bool, left: set[Any]) -> None:
        super().__init__(names)
        self.functional = True
        self.core = core
        self.left = left  # operators that stay as they are
        self.keeping = False
        self.running: Any = None  # the operator of the program that is being written by others
        self.before: dict[Node, Node] = {}  # of operators that have given an operand itself: the node that this was
        self.foreign: set[Any] = set()  # those of which something is left that PyTorch does not have

    def __call__(self, op: Op, args: tuple[Any, ...], out: Any) -> Any:
        if op.of_storage:
            return NotImplemented
        base = op.functional or op
        if op is _COPY_IN_PLACE and args[0] is args[1]:
            return args[0]
        if whole.of(base) and not self.keeping:
            self.keeping = True
            try:
                return super().__call__(op, args, out)
            finally:
                self.keeping = False
        if self.core and not self.keeping:
            form = _with_type if typed.of(base) and args[2] is not None else expansions.of(base)
            if form is _with_type:
                args = (base.name, *args)
            if form is not None and out is None and op.functional is None:
                state.interceptors.append(self)
                try:
                    found = form(*args)
                finally:
                    state.interceptors.remove(self)
                if found is not NotImplemented:
                    return found
            if base.body is not None and base.kernel is None and out is None:
                return NotImplemented
            return Tracer.__call__(self, op, args, out)
        return super().__call__(op, args, out)

    def results(self, op: Op, args: tuple[Any, ...], recorded: tuple[Any, ...], node: Node, result: Any) -> None:
        if op.functional is None and isinstance(result, TensorBase) and any(result is each for each in args):
            self.before[node] = self.node_of(result)
        super().results(op, args, recorded, node, result)

    def value_of(self, tensor: Any) -> Node:
        """The node of what was last written to a tensor."""
        node = self.node_of(tensor)
        while node in self.before:
            node = self.before[node]
        return node

    def emit(self, op: Op, recorded: tuple[Any, ...], keywords: dict[str, Any] | None = None) -> Node:
        found = None
        if reshapes.of(op) and not any(hasattr(each, "numpy") for each in (*recorded[1], *recorded[2:])):
            op, recorded = lookup("reshape"), (recorded[0], tuple(recorded[1]))  # values have no strides here
        if self.core and not self.keeping and results_of.of(op) is None:
            found = present_nodes(op, recorded)
        if found is None:
            found = call_of(op, recorded)
        if found is None or keywords:
            made = Tracer.emit(self, op, recorded, keywords)
            if is_foreign(made.target) and self.running is not None and not self.keeping:
                self.foreign.add(self.running)
            return made
        overload, args, kwargs = found
        return self.operator_node(overload, args, kwargs)


class LeavesOthers(Exception):
    """Operators that are left whole: written by others, they would be of ops that PyTorch does not have."""

    def __init__(self, operators: set[Any]) -> None:
        self.operators = operators


def _with_type(name: str, input: Any, dim: int, dtype: Any) -> Any:
    """A softmax that computes in another type: of the input in that type."""
    return table[name].call(input.to(dtype), dim)


def present_nodes(op: Op, recorded: tuple[Any, ...]) -> Any:
    """The operator as which dispatch modes see an op, with nodes for its tensors."""
    back: dict[int, Node] = {}

    def stand_in(value: Any) -> Any:
        if isinstance(value, Node):
            known = value.meta.get("val")
            if isinstance(known, Spec):
                made = make(known)
                back[id(made)] = value
                held.append(made)
                return made
            if isinstance(known, SymbolicInt):
                back[id(known)] = value
                held.append(known)
                return known
            return value
        if isinstance(value, (tuple, list)):
            return type(value)(stand_in(each) for each in value)
        return value

    def restored(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return type(value)(restored(each) for each in value)
        if isinstance(value, dict):
            return {key: restored(each) for key, each in value.items()}
        return back.get(id(value), value)

    held: list[Any] = []
    capture, state.capture = state.capture, None
    try:
        found = present(op, tuple(stand_in(each) for each in recorded))
    finally:
        state.capture = capture
    return None if found is None else (found[0], restored(found[1]), restored(found[2]))


def decompose(ep: ExportedProgram, decompositions: Any) -> ExportedProgram:
    """The program in other operators, without writes."""
    core = decompositions is None or (isinstance(decompositions, CustomDecompTable) and decompositions.default)
    functions = {} if decompositions is None else dict(decompositions)
    mine = set(decompositions.kept) if isinstance(decompositions, CustomDecompTable) else set()
    kept = mine | _rewritten().difference(functions)
    values = False
    while True:
        try:
            return _captured(ep, functions, core, kept, mine, values)
        except LeavesOthers as found:
            kept = kept | found.operators
        except NeedsValues:
            if values:
                raise
            values = True
        except Exception as error:
            if values or "meta tensor" not in str(error) and "depends on the data" not in str(error):
                raise
            values = True


def _rewritten() -> set[Any]:
    """The operators that stay whole until the graph is there: rules have their core operators."""
    return {find_overload("aten", *name.split(".")) for name in (*RULES, *CORE) if name not in _SHAPES}


_SHAPES = frozenset(
    (
        "reshape.default",
        "_unsafe_view.default",
        "t.default",
        "transpose.int",
        "split.Tensor",
        "squeeze.dim",
        "numpy_T.default",
        "mT.default",
    )
)


def _captured(ep: ExportedProgram, functions: dict[Any, Any], core: bool, kept: set[Any], left: set[Any], values: bool) -> ExportedProgram:
    tracer = FunctionalTracer((), core, left)
    tracer.without_values = not values
    given: dict[str, Any] = {}
    leaves = iter(_example(ep))
    inputs: list[Node] = []
    for node, spec in zip([each for each in ep.graph.nodes if each.op == "placeholder"], ep.graph_signature.input_specs):
        mine = tracer.graph.placeholder(node.name)
        inputs.append(mine)
        known = node.meta.get("val")
        example = next(leaves, None) if spec.kind is InputKind.USER_INPUT else None
        if not isinstance(known, (TensorBase, Spec)):
            given[node.name] = known
            mine.meta["constant"] = known
            if isinstance(known, SymbolicInt) and known.expression.as_symbol is not None:
                tracer.new_symbol(mine, None, int.__int__(known), known.expression.as_symbol)
                tracer.size_nodes[known.expression] = mine
                mine.meta["val"] = known
                tracer.depends.add(mine)
            continue
        array = known._array if isinstance(known, TensorBase) else known
        if values:
            held = ep.state_dict.get(str(spec.target), ep.constants.get(str(spec.target))) if spec.target else example
            if not isinstance(held, TensorBase):
                raise NeedsValues
            stand_in = held.detach().clone()
        else:
            stand_in = make(Spec(tuple(int(each) for each in array.shape), array.dtype, device=getattr(array, "device", None)))
        stand_in._requires_grad = bool(getattr(known, "requires_grad", False))
        if isinstance(known, Parameter):
            stand_in = Parameter(stand_in, known.requires_grad)
        tracer.depends.add(mine)
        for dim, each in enumerate(array.shape):
            if isinstance(each, SymbolicInt) and each.expression.as_symbol is not None:
                tracer.new_symbol(mine, dim, int.__int__(each), each.expression.as_symbol)
        tracer.bind(stand_in, mine, tuple(array.shape))
        given[node.name] = stand_in
    with tracer:
        env = dict(given)
        results = _run(ep.graph_module, ep.graph, env, tracer, functions, kept)
        state.capture = None
        outputs = [tracer.argument(each) for each in results]
        changed = [
            (spec, tracer.value_of(value))
            for spec, mine, value in zip(ep.graph_signature.input_specs, inputs, given.values())
            if isinstance(value, TensorBase) and tracer.value_of(value) is not mine
        ]
        state.capture = tracer
    if tracer.foreign - kept:
        raise LeavesOthers(tracer.foreign)
    return _program(ep, tracer, inputs, outputs, changed)


def _example(ep: ExportedProgram) -> list[Any]:
    if ep.example_inputs is None:
        return []
    from_inputs = ep.example_inputs
    leaves: list[Any] = []

    def visit(value: Any) -> None:
        if isinstance(value, dict):
            for each in value.values():
                visit(each)
        elif isinstance(value, (tuple, list)):
            for each in value:
                visit(each)
        else:
            leaves.append(value)

    visit(from_inputs)
    return leaves


def _run(module: Any, graph: Any, env: dict[str, Any], tracer: FunctionalTracer, functions: dict[Any, Any], kept: set[Any]) -> Any:
    """Run a graph node by node, with the functions of the table in the place of operators."""

    def value(node: Node) -> Any:
        return env[node.name]

    for node in graph.nodes:
        if node.op == "placeholder":
            continue
        if node.op == "output":
            return map_arg(node.args[0], value)
        tracer.origin = {"source": node.meta.get("source"), "module": "", "stack_trace": node.meta.get("stack_trace")}
        if node.op == "get_attr":
            env[node.name] = _Inner(getattr(module, node.target), tracer, functions, kept)
            continue
        args, kwargs = map_arg(node.args, value), map_arg(dict(node.kwargs), value)
        target = node.target
        function = functions.get(target, target)
        tracer.keeping, tracer.running = target in kept and target not in functions, target
        try:
            if function is target and isinstance(tracer, FunctionalTracer) and target not in tracer.left and target in _composed():
                tracer.keeping, tracer.running = False, None
                env[node.name] = _composed()[target](tracer, *args, **kwargs)
            else:
                env[node.name] = function(*args, **kwargs)
        finally:
            tracer.keeping, tracer.running = False, None
    return None


@cache
def _composed() -> dict[Any, Any]:
    """Operators that are written by others while the program runs."""
    return {
        find_overload("aten", "batch_norm", "default"): _batch_norm,
        find_overload("aten", "scaled_dot_product_attention", "default"): _attention,
    }


def _batch_norm(tracer: FunctionalTracer, x: Any, weight: Any, bias: Any, mean: Any, variance: Any, training: bool, *rest: Any) -> Any:
    """Batch normalization, which in training gives new running statistics."""
    target = find_overload("aten", "batch_norm", "default")
    if not training or mean is None:
        tracer.keeping = True
        return target(x, weight, bias, mean, variance, training, *rest)
    given = tuple(tracer.argument(each) for each in (x, weight, bias, mean, variance))
    result = target(x, weight, bias, mean, variance, training, *rest)
    node = tracer.operator_node(find_overload("aten", "_native_batch_norm_legit_functional", "default"), (*given, True, *rest[:2]))
    parts = [tracer.part(node, at, True) for at in range(5)]
    for at, tensor in ((0, result), (1, mean), (2, variance), (3, mean), (4, variance)):
        tracer.bind(tensor, parts[at], tracer.shape_of(tensor))
    node.meta["val"] = tuple([each.meta["val"] for each in parts])
    return result


def _attention(
    tracer: FunctionalTracer, q: Any, k: Any, v: Any, mask: Any = None, dropout: float = 0.0, causal: bool = False, *, scale: Any = None, enable_gqa: bool = False
) -> Any:  # fmt: skip
    """Attention as products and a softmax."""
    run = lambda name, *args, **kwargs: table[name].call(*args, **kwargs)  # noqa: E731
    factor = math.sqrt(q.shape[-1] ** -0.5 if scale is None else scale)
    if enable_gqa:
        times = q.shape[-3] // k.shape[-3]
        k, v = (run("repeat_interleave", each, times, -3) for each in (k, v))
    scores = run("matmul", q * factor, run("transpose", k, -2, -1) * factor)
    if causal:
        hidden = run("tril", run("ones", (q.shape[-2], k.shape[-2]), dtype=BY_NAME["bool"]))
        mask = hidden if mask is None else run("logical_and", mask, hidden)
    if mask is not None and mask.dtype is BY_NAME["bool"]:
        scores = run("masked_fill", scores, run("logical_not", mask), float("-inf"))
    elif mask is not None:
        scores = scores + mask
    weights = run("softmax", scores, -1)
    if mask is not None:  # rows in which everything is hidden are zero
        empty = run("logical_not", run("any", run("logical_not", run("eq", scores, float("-inf"))), -1, True))
        weights = run("masked_fill", weights, empty, 0.0)
    if dropout > 0:
        weights = find_overload("aten", "dropout", "default")(weights, dropout, True)
    return run("matmul", weights, v)


class _Inner:
    """A graph among the arguments of an operator, to be run in the same way."""

    def __init__(self, module: Any, tracer: Any, functions: dict[Any, Any], kept: set[Any]) -> None:
        self.module, self.tracer, self.functions, self.kept = module, tracer, functions, kept

    def __call__(self, *args: Any) -> Any:
        names = [node.name for node in self.module.graph.nodes if node.op == "placeholder"]
        return _run(self.module, self.module.graph, dict(zip(names, args)), state.capture or self.tracer, self.functions, self.kept)


def _program(ep: ExportedProgram, tracer: FunctionalTracer, inputs: list[Node], outputs: list[Any], changed: list[Any]) -> ExportedProgram:
    """The captured graph as a program, with the values that it leaves in buffers, parameters and inputs as its first outputs."""
    replaced = rewrite(tracer.graph, tracer.core, tracer.left)
    outputs = [map_arg(each, lambda node: replaced.get(node, node)) for each in outputs]
    changed = [(spec, replaced.get(node, node)) for spec, node in changed]
    from_lifting = _Lowered(tracer)
    from_lifting.keep([*(node for _, node in changed), *(leaf for each in outputs for leaf in flattened(each))])
    graph, here = from_lifting.run(inputs, ep)
    signature = ExportGraphSignature(list(ep.graph_signature.input_specs), [])
    kinds = {
        InputKind.BUFFER: OutputKind.BUFFER_MUTATION,
        InputKind.PARAMETER: OutputKind.PARAMETER_MUTATION,
        InputKind.USER_INPUT: OutputKind.USER_INPUT_MUTATION,
    }
    results: list[Any] = []
    for spec, node in changed:
        if spec.kind not in kinds:
            continue
        value = here[node]
        results.append(value)
        target = spec.arg.name if spec.kind is InputKind.USER_INPUT else spec.target
        signature.output_specs.append(OutputSpec(kinds[spec.kind], TensorArgument(value.name), target))
    for each, spec in zip(outputs, ep.graph_signature.output_specs):
        value = map_arg(each, here.__getitem__)
        results.append(value)
        signature.output_specs.append(OutputSpec(spec.kind, argument_of(value), spec.target))
    graph.output(tuple(results))
    graph.eliminate_dead_code(lambda node: node.meta.get("impure") or node.op in ("placeholder", "output"))
    module = GraphModule(from_lifting.submodules, graph)
    made = ExportedProgram(
        module, graph, signature, ep.state_dict, dict(ep.range_constraints), ep.module_call_graph, ep.example_inputs, {**ep.constants, **from_lifting.constants},
        verifiers=[ATenVerifier],
    )  # fmt: skip
    made._guards, made._guards_code = ep._guards, ep._guards_code
    return made


def flattened(value: Any) -> list[Any]:
    """The nodes in nested containers."""
    found: list[Any] = []
    map_arg(value, found.append)
    return found


class _Lowered:
    """Copies a captured graph into one in PyTorch's form."""

    def __init__(self, tracer: ExportTracer) -> None:
        self.tracer = tracer
        self.submodules: dict[str, Any] = {}
        self.constants: dict[str, Any] = {}
        self.live: set[Node] | None = None  # what is copied: all, or what these need

    def keep(self, wanted: list[Any]) -> None:
        """Copy what is needed for some nodes alone, and all results of what has several."""
        live: set[Node] = set()
        worklist = [each for each in wanted if isinstance(each, Node)]
        worklist += [each for each in self.tracer.graph.nodes if each.meta.get("impure") or each.op == "placeholder"]
        while worklist:
            node = worklist.pop()
            if node not in live:
                live.add(node)
                worklist += node.all_input_nodes
        self.live = live | {each for each in self.tracer.graph.nodes if each.target is operator.getitem and each.args[0] in live}

    def run(self, inputs: list[Node], ep: ExportedProgram) -> tuple[Graph, dict[Node, Any]]:
        """The graph, and its nodes by those of the capture."""
        graph = Graph()
        here: dict[Node, Any] = {}
        for mine, node in zip(inputs, [each for each in ep.graph.nodes if each.op == "placeholder"]):
            here[mine] = placeholder_named(graph, node.name)
            here[mine].meta.update(node.meta)
        self.copy(self.tracer.graph, graph, here)
        return graph, here

    def copy(self, source: Any, graph: Graph, here: dict[Node, Any]) -> None:
        """Copy the nodes of one graph."""
        for node in source.nodes:
            if node in here or node.op == "output" or (self.live is not None and source is self.tracer.graph and node not in self.live):
                continue
            if node.op == "placeholder":
                made = placeholder_named(graph, node.name)
            elif node.op == "get_attr" and "graph" in node.meta:
                inner = node.meta["graph"]
                body = Graph()
                known: dict[Node, Any] = {}
                around, self.submodules = self.submodules, {}  # graphs within have names of their own
                self.copy(inner.graph, body, known)
                result = inner.graph.output_node().args[0]
                body.output(map_arg(result, known.__getitem__))
                around[node.target] = GraphModule(self.submodules, body)
                self.submodules = around
                made = graph.create_node("get_attr", node.target, (), {}, node.target)
            elif node.op == "get_attr":
                value = self.tracer.constants[node.target]
                name = f"_tensor_constant{len(self.constants)}"
                self.submodules[name] = value
                made = graph.create_node("get_attr", name, (), {}, name)
            else:
                args, kwargs = map_arg(node.args, here.__getitem__), map_arg(dict(node.kwargs), here.__getitem__)
                packet = getattr(node.target, "_overloadpacket", None)
                made = graph.create_node(
                    node.op, node.target, args, kwargs, None if packet is None else graph._target_to_str(packet.__name__)
                )
                if isinstance(node.target, OpOverload) and node.target._schema.name == "aten::_assert_scalar":
                    made.meta["impure"] = True
            known_value = node.meta.get("val")
            made.meta["val"] = _faked(known_value)
            if node.meta.get("source"):
                file, line, name = node.meta["source"]
                made.meta["stack_trace"] = f'File "{file}", line {line}, in {name}\n    '
            here[node] = made


def _faked(known: Any) -> Any:
    if isinstance(known, Spec):
        return make(known)
    if isinstance(known, (tuple, list)):
        return tuple([_faked(each) for each in known])
    return known


set_decompose(decompose)
