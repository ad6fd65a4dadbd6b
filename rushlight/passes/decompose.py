"""Decomposition of a graph into simpler ops: composites by their bodies, fused ops by formulas, in-place ops as new values.

The graph is interpreted on fake tensors under a tracer, so that every shape in the result is known.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..capture.compile.record.graph_functions import ApplyFunction
from ..capture.tracer.tracer import Tracer
from ..core.base import Spec, TensorBase, make, spec_of, storage_of
from ..core.declare import Op, call_body, table
from ..core.devices import device_of
from ..core.dtypes import BY_NUMPY, HALF_PRECISION, dtype, float32, int64
from ..core.facets import Facet
from ..core.families import broadcast_shapes, normalize_dims
from ..core.state import fake_mode, state
from ..graph import Graph, Interpreter, Node
from ..graph.printer import source_of
from ..graph.regions import Recomputed
from ..ops.nn.interpolation_kernels import step_between
from .output_layouts import output_orders

decomposition: Facet[Callable[..., Any]] = Facet("decomposition", "the op as a formula of simpler ops, which compiled code is made of")
with_integers: Facet[bool] = Facet("decomposition with integers", "the formula takes integer tensors beside floats")
with_integers.set(True, "nll_forward", "nll_gradient")
implementations: dict[Op, Callable[..., Any]] = {}  # of ops that programs register: the Python that an export follows
whole: Facet[bool] = Facet("called whole", "has a body, but compiled code calls the op's kernel")
whole.set(
    True,
    "gru_layer",
    "lstm_layer",
    "rnn_layer",
    "quantized_convolution",
    "quantized_embedding",
    "quantized_linear",
    "quantized_linear_dynamic",
)
in_single: Facet[bool] = Facet("half precision by float32", "compiled for float32: half precision is computed in that, and rounded once")
in_single.set(True, "attention", "attention_backward", "convolution", "convolution_weight_gradient")
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


class Declined(Exception):
    """A graph that can't be compiled; says why."""


class Decomposed:
    """A graph of primitive ops on values of known shapes."""

    def __init__(
        self,
        graph: Graph,
        inputs: list[Node | None],
        outputs: list[Node | None],
        constants: dict[str, Any],
        notes: list[str],
        writes: list[int],
        orders: dict[int, tuple[int, ...]],
    ) -> None:
        self.writes = writes  # the positions of inputs that are written to; their final values come after the other outputs
        self.graph = graph
        self.inputs = inputs
        self.outputs = outputs
        self.orders = orders  # by output: the order of its dimensions in memory, where it is not row-major
        self.constants = constants
        self.notes = notes  # which nodes are not decomposed, and why


def decompose(graph: Graph, examples: list[Any], attribute: Callable[[str], Any], half_products: bool = False) -> Decomposed:
    """Decompose a graph for inputs like the examples: Specs for tensors; other values are constants.

    ``half_products`` says that there is a library for products in half precision, which adds a layer's bias, too; else they are computed in float32.
    """
    tracer = Decomposer(half_products)
    fakes = [make(each) if isinstance(each, Spec) else each for each in examples]
    nodes = [tracer.input(each, f"input_{at}") if isinstance(each, TensorBase) else None for at, each in enumerate(fakes)]
    enabled, state.grad_enabled = state.grad_enabled, False
    try:
        with tracer, fake_mode():
            runner = Runner(tracer, graph, attribute)
            results = runner.run(*fakes)
            state.capture = None
            outputs = [tracer.node_of(each) if isinstance(each, TensorBase) else each for each in results]
            written = [at for at, (each, node) in enumerate(zip(fakes, nodes)) if node is not None and tracer.node_of(each) is not node]
            storages = {id(fakes[at]._storage) for at in written}
            if any(isinstance(each, TensorBase) and each._storage is not None and id(each._storage) in storages for each in results):
                raise Declined("it returns a view of an input that it writes to")
            returned = outputs + [tracer.node_of(fakes[at]) for at in written]
    finally:
        state.grad_enabled = enabled
    if runner.constants_written():
        raise Declined("it writes to a tensor of its own")
    if not isinstance(results, (tuple, list)) or not all(isinstance(each, Node) or each is None for each in outputs):
        raise Declined("it returns something that is no tensor")
    known = graph.output_node().meta.get("orders")
    orders = output_orders(graph, examples) if known is None else known
    made = tracer.graph
    made.output(tuple(returned))
    made.eliminate_dead_code()
    tracer.release()
    return Decomposed(made, nodes, returned, runner.constants, runner.notes, written, orders)


class Runner(Interpreter):
    """Interprets the graph on fake tensors; a node that fails on those stays one opaque node."""

    def __init__(self, tracer: Decomposer, graph: Graph, attribute: Callable[[str], Any]) -> None:
        super().__init__(None, graph)
        self.tracer = tracer
        self.attribute = attribute
        self.constants: dict[str, Any] = {}  # tensors of the graph's own, by the names of their nodes
        self.fakes: dict[str, tuple[Any, Node]] = {}
        self.notes: list[str] = []

    def run_node(self, n: Node) -> Any:
        # the forward of a custom Function is decomposed
        if n.meta.get("bodies") and not isinstance(n.target, ApplyFunction):
            raise Declined(f"it has control flow{source_of(n, '; ')}")
        if n.op in ("placeholder", "output"):
            return super().run_node(n)
        self.tracer.origin = {"source": n.meta.get("source"), "module": n.meta.get("module", "")}
        if n.op != "call_function":
            return super().run_node(n)
        region = Recomputed(self.tracer.graph, n.meta["recompute"]) if "recompute" in n.meta else None
        try:
            result = super().run_node(n)
            if region is not None:
                region.mark()
            return result
        except Declined:
            raise
        except Exception as error:  # shapes or branches that depend on data: the node can still be called as it is
            self.notes.append(f"{n.name} runs as it is: {type(error).__name__}: {error}{source_of(n, '; ')}")
            return self.opaque(n)

    def opaque(self, n: Node) -> Any:
        """A node that is not decomposed, and called with real tensors."""
        op = n.table_op
        if op is None or op.functional is not None or n.is_impure() or op.returns == "list":
            raise Declined(f"{n.name} can't be taken{source_of(n, '; ')}")
        specs: Any = n.meta.get("val")
        if not all(known(each) for each in (specs if isinstance(specs, tuple) else (specs,))):
            raise Declined(f"the shape of {n.name} depends on data{source_of(n, '; ')}")
        tracer = self.tracer
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        state.capture = None
        try:
            node = tracer.graph.call_function(n.target, tracer.argument(args), tracer.argument(kwargs))
            node.meta["source"], node.meta["module"], node.meta["opaque"] = n.meta.get("source"), "", True
            tracer.depends.add(node)
            if isinstance(specs, Spec):
                result = make(spec_of(specs))
                tracer.bind(result, node)
                return result
            results = []
            for index, each in enumerate(specs):
                part = tracer.part(node, index, True)
                results.append(make(spec_of(each)))
                tracer.bind(results[-1], part)
            node.meta["val"] = specs
            return tuple(results)
        finally:
            state.capture = tracer

    def fetch_attr(self, target: str) -> Any:
        """A tensor that the graph holds: a constant."""
        if target not in self.fakes:
            value = self.attribute(target)
            if not isinstance(value, TensorBase):
                return value
            if value._array.__class__ is not np.ndarray:
                raise Declined(f"{target} is no plain array")
            fake = make(Spec(value._array.shape, value._array.dtype, device=device_of(value._array)))
            node = self.tracer.input(fake, target)
            self.constants[node.name] = value
            self.fakes[target] = fake, node
        return self.fakes[target][0]

    def constants_written(self) -> bool:
        """Whether the graph writes to one of its constants."""
        return any(self.tracer.entries[id(fake)].node is not node for fake, node in self.fakes.values())


def known(spec: Any) -> bool:
    """Whether a node's value is a tensor of fixed shape."""
    return isinstance(spec, Spec) and all(type(size) is int for size in spec.shape)


class Decomposer(Tracer):
    """Records primitive ops; composites and ops with a decomposition are followed into their bodies."""

    def __init__(self, half_products: bool = False) -> None:
        super().__init__(functional=True, keep_function=lambda function: False)
        self.half_products = half_products

    def __call__(self, op: Op, args: tuple[Any, ...], out: Any) -> Any:
        base = op.functional or op
        if base.kernel is None and base.body is not None:
            return NotImplemented  # the body is followed
        formula = decomposition.of(op)
        if self.half_products and formula is _linear and adds_bias(*args):
            formula = None
        if formula is None and op.body is not None and not whole.of(op):
            formula = lambda *values: call_body(op, values)  # noqa: E731
        if formula is not None and out is None and (with_integers.of(op) or all(of_floats(value) for value in args)):
            made = self.follow(formula, op, args)
            if made is not NotImplemented:
                return made
        if in_single.of(op) and out is None and not self.half_products:
            made = self.by_single(op, args)
            if made is not NotImplemented:
                return made
        return super().__call__(op, args, out)

    def by_single(self, op: Op, args: tuple[Any, ...]) -> Any:
        """The result of an op on half precision by the same op on float32, rounded once, as its kernel does it: there is compiled code for that."""
        narrow = {value._array.dtype for value in args if isinstance(value, TensorBase) and value._array.dtype in HALF_PRECISION}
        if len(narrow) != 1 or any(isinstance(value, TensorBase) and value._array.dtype in FLOATS for value in args):
            return NotImplemented
        state.interceptors.append(self)
        try:
            halves = [isinstance(value, TensorBase) and value._array.dtype in narrow for value in args]
            made = op.call(*[_call("cast", value, float32) if half else value for value, half in zip(args, halves)])
            kind, several = BY_NUMPY[narrow.pop()], isinstance(made, (tuple, list))
            rounded = [_call("cast", each, kind) if isinstance(each, TensorBase) else each for each in (made if several else (made,))]
            return tuple(rounded) if several else rounded[0]
        finally:
            state.interceptors.remove(self)

    def follow(self, formula: Callable[..., Any], op: Op, args: tuple[Any, ...]) -> Any:
        """The result of a formula; like kernels, it computes half precision in float32 and rounds once."""
        narrow = {value._array.dtype for value in args if isinstance(value, TensorBase) and value._array.dtype in HALF_PRECISION}
        state.interceptors.append(self)
        try:
            if not narrow or (self.half_products and formula in (_linear, _add_product)):
                return formula(*args)
            if len(narrow) > 1 or any(isinstance(value, TensorBase) and value._array.dtype not in HALF_PRECISION for value in args):
                return NotImplemented
            if any(isinstance(value, dtype) and value.numpy not in narrow for value in args):
                return NotImplemented  # the result has another dtype
            wide = [_call("cast", value, float32) if isinstance(value, TensorBase) else value for value in args]
            made, kind = formula(*wide), BY_NUMPY[narrow.pop()]
            if made is NotImplemented:
                return made
            several = isinstance(made, (tuple, list))
            rounded = [_call("cast", each, kind) if isinstance(each, TensorBase) else each for each in (made if several else (made,))]
            return tuple(rounded) if several else rounded[0]
        finally:
            state.interceptors.remove(self)

    def write(self, op: Op, args: tuple[Any, ...], recorded: tuple[Any, ...]) -> Any:
        """An in-place op; a plain copy of a whole tensor needs no node."""
        target = args[0]
        source = args[1] if op is table["copy_"] and isinstance(args[1], TensorBase) else None
        if source is None or source._array.shape != target._array.shape or source._array.dtype != target._array.dtype:
            return super().write(op, args, recorded)
        storage_of(target).version += 1
        self.bind(target, recorded[1], self.shape_of(target))
        self.aliases.written(target, self.entries[id(target)])
        return target


def of_floats(value: Any) -> bool:
    """Whether an argument is no tensor, or has a dtype in which formulas are as precise as kernels."""
    return not isinstance(value, TensorBase) or value._array.dtype in FLOATS or value._array.dtype in HALF_PRECISION


def adds_bias(input: Any, weight: Any, bias: Any = None) -> bool:
    """Whether a layer has a bias that a library's product adds."""
    shapes = [each._array.shape for each in (input, weight, bias) if each is not None]
    return len(shapes) == 3 and len(shapes[0]) > 1 and all(shapes[0]) and len(shapes[1]) == 2 and shapes[2] == shapes[1][:1]


# -- formulas ----------------------------------------------------------------------------------------------------


def _call(name: str, *args: Any, **options: Any) -> Any:
    return table[name].call(*args, **options)


@decomposition.register("softmax")
def _softmax(input: Any, dim: int, dtype: Any = None) -> Any:
    if not input._array.ndim or not input._array.size or (dtype is not None and dtype.numpy != input._array.dtype):
        return NotImplemented
    powers = (input - input.amax(dim, True)).exp()
    return powers * powers.sum(dim, True).reciprocal()


@decomposition.register("log_softmax")
def _log_softmax(input: Any, dim: int, dtype: Any = None) -> Any:
    if not input._array.ndim or not input._array.size or (dtype is not None and dtype.numpy != input._array.dtype):
        return NotImplemented
    shifted = input - input.amax(dim, True)
    return shifted - shifted.exp().sum(dim, True).log()


@decomposition.register("softmax_backward")
def _softmax_backward(grad: Any, result: Any, dim: int) -> Any:
    return (grad - (grad * result).sum(dim, True)) * result if result._array.ndim else NotImplemented


@decomposition.register("log_softmax_backward")
def _log_softmax_backward(grad: Any, result: Any, dim: int) -> Any:
    return grad - result.exp() * grad.sum(dim, True) if result._array.ndim else NotImplemented


@decomposition.register("standardize")
def _standardize(input: Any, dims: Any, eps: float) -> Any:
    if not input._array.size:
        return NotImplemented
    dims, shape = list(dims), input._array.shape
    if 0 in dims and 1 not in dims and len(dims) > 1 and shape[0] > 1 and math.prod([shape[each] for each in dims if each]) >= 32:
        # Per image first, while it is in the cache: the variance is the mean of variances within images plus the variance of their means.
        rest = [each for each in dims if each]
        part = input.mean(rest, True)
        within = input - part
        spread = (within * within).mean(rest, True)
        mean = part.mean([0], True)
        apart = part - mean
        variance = (spread + apart * apart).mean([0], True)
        return (input - mean) * (variance + eps).rsqrt(), mean, variance
    mean = input.mean(dims, True)
    centred = input - mean
    variance = (centred * centred).mean(dims, True)
    return centred * (variance + eps).rsqrt(), mean, variance


@decomposition.register("standardize_backward")
def _standardize_backward(grad: Any, input: Any, result: Any, variance: Any, dims: Any, eps: float) -> Any:
    if not grad._array.size:
        return NotImplemented
    dims = list(dims)
    slope, shift = (grad * result).mean(dims, True), grad.mean(dims, True)
    return (grad - result * slope - shift) * (variance + eps).rsqrt()


@decomposition.register("layer_standardize_backward")
def _layer_standardize_backward(grad: Any, input: Any, weight: Any, standard: Any, variance: Any, dims: Any, eps: float) -> Any:
    before = list(range(grad._array.ndim - len(dims)))
    of_weight = grad * standard
    of_weight, of_bias = (of_weight.sum(before), grad.sum(before)) if before else (of_weight, grad)
    scaled = grad if weight is None else grad * weight
    return _call("standardize_backward", scaled, input, standard, variance, dims, eps), of_weight, of_bias


@decomposition.register("linear")
def _linear(input: Any, weight: Any, bias: Any = None) -> Any:
    if weight._array.ndim != 2 or not input._array.ndim:
        return NotImplemented
    product = _call("matmul", input, weight.transpose(0, 1))
    return product if bias is None else product + bias


@decomposition.register("addmm", "addmv", "baddbmm")
def _add_product(input: Any, a: Any, b: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * input + alpha * product``."""
    if not all(isinstance(each, (int, float)) for each in (beta, alpha)):
        return NotImplemented
    made = _call("matmul", a, b)
    made = made if alpha == 1 else made * alpha
    if beta == 0:  # then NaN in the input does not count
        return made
    return made + (input if beta == 1 else input * beta)


@decomposition.register("reduction_backward")
def _reduction_backward(grad: Any, shape: Any, dim: Any, keepdim: bool) -> Any:
    if not keepdim and dim is not None and len(shape):
        for axis in sorted(normalize_dims(dim, len(shape))):
            grad = grad.unsqueeze(axis)
    return grad.expand(tuple(shape))


@decomposition.register("attention")
def _attention(query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: Any) -> Any:
    batch = [tuple(each._array.shape[:-2]) for each in (query, key, value)]
    if broadcast_shapes(batch) == broadcast_shapes(batch[:2]) and query._array.size and key._array.size:
        return NotImplemented  # there is a lowering of the whole op
    return call_body(table["attention"], (query, key, value, mask, causal, scale))


@decomposition.register("var_correction")
def _variance(input: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    array = input._array
    dims = list(normalize_dims(dim, array.ndim))
    count = math.prod([array.shape[each] for each in dims])
    if not array.ndim or count - correction <= 0:
        return NotImplemented
    centred = input - input.mean(dims, True)
    return (centred * centred).sum(dims, keepdim) / (count - correction)


def _classes(input: Any, target: Any, weight: Any, ignore_index: int) -> tuple[int, Any, Any]:
    """The axis of classes, the targets with ignored ones as 0, and the weight of every target."""
    counted = target != ignore_index
    safe = target.masked_fill(~counted, 0)
    weights = _call("cast", counted, BY_NUMPY[input._array.dtype]) if weight is None else weight[safe].masked_fill(~counted, 0)
    return 1 if input._array.ndim > 1 else 0, safe, weights


@decomposition.register("nll_forward")
def _nll(input: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> Any:
    if not of_floats(input) or target._array.dtype != np.int64 or not input._array.size:
        return NotImplemented
    axis, safe, weights = _classes(input, target, weight, ignore_index)
    loss, total = -input.gather(axis, safe.unsqueeze(axis)).squeeze(axis) * weights, weights.sum()
    if reduction != "none":
        loss = loss.sum() / total if reduction == "mean" else loss.sum()
    return loss, total


@decomposition.register("nll_gradient")
def _nll_gradient(grad: Any, shape: Any, target: Any, weight: Any, reduction: str, ignore_index: int, total: Any) -> Any:
    if not of_floats(grad) or target._array.dtype != np.int64 or not all(shape):
        return NotImplemented
    like = make(grad._array.sized(tuple(shape)))
    axis, safe, weights = _classes(like, target, weight, ignore_index)
    values = -weights * (grad / total if reduction == "mean" else grad)
    classes = _call("arange", shape[axis]).reshape([-1 if at == axis else 1 for at in range(len(shape))])
    zero = _call("zeros", (), dtype=BY_NUMPY[grad._array.dtype])
    return _call("where", classes == safe.unsqueeze(axis), values.unsqueeze(axis), zero)


def _global_mean(ndim: int) -> Callable[..., Any]:
    """Adaptive pooling to one element is a mean, which fuses with other ops."""

    def formula(input: Any, output_size: Any) -> Any:
        shape = input._array.shape
        wanted = output_size if isinstance(output_size, (tuple, list)) else (output_size,) * ndim
        if not math.prod(shape) or any(each != 1 for each in wanted):
            return NotImplemented
        return input.mean(list(range(len(shape) - ndim, len(shape))), True)

    return formula


@decomposition.register("resample")
def _neighbours_weighted(input: Any, size: Any, mode: str, align_corners: bool, factors: Any, antialias: bool) -> Any:
    """Two or four weighted neighbours along each dimension: choices of rows and columns that fuse."""
    shape, lead = input._array.shape, input._array.ndim - len(size)
    if mode not in ("linear", "cubic") or antialias or any(type(each) is not int for each in (*shape[lead:], *size)):
        return NotImplemented
    if input._array.dtype not in FLOATS or not math.prod(shape):
        return NotImplemented
    changed = [axis for axis, count in enumerate(size) if count != shape[lead + axis] or mode == "cubic"]
    for axis in sorted(changed, key=lambda each: (size[each] / shape[lead + each], -each)):
        across = (-1, *[1] * (len(size) - 1 - axis))
        parts = [
            _call("index_select", input, lead + axis, taps) * weights.reshape(across)
            for taps, weights in _neighbours(mode, shape[lead + axis], size[axis], align_corners, factors[axis], input.dtype)
        ]
        input = functools.reduce(operator.add, parts)
    return input if changed else NotImplemented


def _neighbours(mode: str, size: int, count: int, align_corners: bool, factor: float | None, kind: dtype) -> list[tuple[Any, Any]]:
    """Taps and weights of linear and cubic interpolation along a dimension, in the steps of ``interpolation_kernels``."""
    step = float(step_between(kind.numpy.type, size, count, align_corners, factor))
    source = _call("arange", count, dtype=kind)
    source = source * step if align_corners else (source + 0.5) * step - 0.5
    if mode == "linear":
        source = source.clamp(0)
    first = source.floor()
    part = (source - first).clamp(0, 1)
    first = first.to(int64)
    if mode == "linear":
        first = first.clamp(max=size - 1)
        return [(first, 1 - part), ((first + 1).clamp(max=size - 1), part)]
    a = -0.75
    weights = [
        far(part + 1, a), near(part, a), near(1 - part, a), far(2 - part, a),
    ]  # fmt: skip
    return [((first + each - 1).clamp(0, size - 1), weight) for each, weight in enumerate(weights)]


def near(x: Any, a: float) -> Any:
    """The weight of a neighbour at a distance up to one, in cubic interpolation."""
    return ((a + 2) * x - (a + 3)) * x * x + 1


def far(x: Any, a: float) -> Any:
    """The weight of a neighbour at a distance from one to two."""
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a


@decomposition.register("resample_backward")
def _global_mean_gradient(grad: Any, size: Any, mode: str, align_corners: bool, factors: Any, antialias: bool) -> Any:
    shape = grad._array.shape
    ndim = len(size)
    if mode != "area" or not math.prod(shape) or any(each != 1 for each in shape[len(shape) - ndim :]):
        return NotImplemented
    return (grad / math.prod(size)).expand((*shape[: len(shape) - ndim], *size))


for _ndim in (1, 2, 3):
    decomposition.set(_global_mean(_ndim), f"adaptive_avg_pool{_ndim}d")
