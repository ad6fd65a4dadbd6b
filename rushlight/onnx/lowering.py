"""Lowering: from a graph of ops to a graph of ONNX nodes.

Each op is lowered by what a user has registered for it, by its own ``onnx=`` facet for the requested opset, by its pointwise kernel,
or by its body: a composite that declines is decomposed, with tensors that have shapes and no data.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..capture.trace.capture import Captured
from ..capture.tracer.tracer import Tracer, as_size
from ..core.array_tracer import NotExpressible
from ..core.base import Spec, make
from ..core.declare import Op, call_body
from ..core.errors import RushlightError
from ..core.families import Elementwise, as_scalar
from ..core.quantized import QuantizedArray
from ..core.state import state
from ..core.symbolic import SymbolicFloat, SymbolicInt, is_symbolic
from ..graph import Node
from ..graph.calls import bind
from ..passes.decompose import implementations
from . import quantized
from .array_tracer import OnnxArray, OnnxArrayTracer
from .builder import SMALL
from .complex_parts import is_complex, rule_of
from .containers import CONTAINERS
from .control import lower as lower_control
from .enums import OperatorExportTypes
from .errors import OnnxExporterError, UnsupportedOperatorError
from .functions import aten_name, overload_name
from .ir import OnnxValue
from .operator_calls import lower_operator, operators_of
from .opset_builder import OpsetBuilder
from .registration import SymbolicContext, registry


def has_own_form(node: Node) -> bool:
    """Whether a node stays in the file though its value is known: a quantizer, or a custom Function that is a node there."""
    return quantized.is_kept(node.table_op) or "function" in node.meta


class OnnxLowering:
    """Lowers one captured program."""

    def __init__(
        self, captured: Captured, opset: int, *, mode: OperatorExportTypes = OperatorExportTypes.ONNX, folding: bool = True,
        parameters: Callable[[str], Any] | None = None, domains: Mapping[str, int] | None = None,
    ) -> None:  # fmt: skip
        self.captured = captured
        self.domains = domains or {}  # those of users, whose ops stay nodes
        self.opset = opset
        self.mode = mode
        self.folding = folding
        self.parameters = parameters
        self.g = OpsetBuilder(opset, folding)
        self.computed: dict[Any, OnnxValue] = {}  # from parameters, and stored beside them
        self.g.keeps_aten = mode is not OperatorExportTypes.ONNX
        self.values: dict[Node, Any] = {}
        # Not folded though known: nodes with a form that says how a weight is quantized, and what follows from them.
        self.unfolded: set[Node] = set()
        self.initializers: dict[str, OnnxValue] = {}
        self.tracer = captured.tracer  # of the graph whose nodes are being lowered: a body has one of its own
        self.symbols = captured.tracer.symbols
        self.g.symbol_sources, self.g.symbol_places = self.symbol_value, self.symbol_place
        self.names: list[str] = []  # the ops that are being decomposed
        self.unregistered = False  # whether a symbolic function calls an operator, which is not what users registered for it
        self.g.operators = lambda name, args, kwargs: lower_operator(self, name, args, kwargs)
        self.g.follow = lambda run, *args: self.follow(run, args, lambda error: error)

    # -- the whole graph -----------------------------------------------------------------------------------------

    def run(self) -> OpsetBuilder:
        """Lower all nodes; the builder has the graph."""
        g = self.g
        for name, node in self.captured.inputs:
            spec = node.meta["val"]
            if quantized.is_quantized(spec):
                self.values[node] = quantized.input_value(g, name, spec, node.meta["quantizer"])
                continue
            value = OnnxValue(None, spec.dtype, spec.shape, g.fresh(name))
            value.container = node.meta.get("container", "")
            g.graph._inputs.append(value)
            self.values[node] = value
        self.nodes(self.captured.graph.nodes)
        return g

    def nodes(self, nodes: Any) -> Any:
        """Lower nodes in order; the value of their output node."""
        for node in nodes:
            if node in self.values:
                continue
            if node.op == "output":
                return self.argument(node.args[0])
            self.g.source, self.g.module = node.meta.get("source"), node.meta.get("module", "")
            self.values[node] = self.node(node)
        return None

    def node(self, node: Node) -> Any:
        """The value of one node."""
        if node.op == "placeholder":
            return node.meta.get("val")  # a size; or nothing, of a container, whose parts are inputs of their own
        if node.op == "get_attr":
            return self.stored(node)
        if node.op == "call_method" and node.target == "size":
            return node.meta["val"]
        if node.op != "call_function":
            raise OnnxExporterError(f"a graph with '{node.op}' nodes can't be exported: inline them first")
        constant = self.known(node)
        if constant is not None:
            return constant
        if "function" in node.meta:
            return self.function(node)
        if node.bodies:
            made = lower_control(self, node)
            if made is not NotImplemented:
                return made
        op = node.table_op
        if op is None:
            if node.meta.get("input"):
                return None  # a container among the inputs, whose parts are inputs of their own
            if node.target is operator.getitem and isinstance(self.values.get(node.args[0]), (tuple, list)):
                parts = self.values[node.args[0]]
                if isinstance(node.args[1], int) and not -len(parts) <= node.args[1] < len(parts):
                    raise OnnxExporterError(
                        f"how many parts {node.args[0]} has changes from call to call, which ONNX can't say here{place(node)}"
                    )
                return quantized.part(node, parts[node.args[1]])
            if is_symbolic(node.meta.get("val")) or node.target is as_size:
                return node.meta["val"]
            if node.target in CONTAINERS:
                made = CONTAINERS[node.target](self.g, *self.argument(node.args))
                made.shape = node.meta["val"].shape if "val" in node.meta else made.shape
                return made
            raise OnnxExporterError(f"a call of {node.target} in the graph can't be exported{place(node)}")
        args = tuple([self.argument(value) for value in bind(op, node.args, dict(node.kwargs))])
        try:
            with quantized.as_real_numbers(node, self.values):
                made = self.call(op, args, quantized.as_exported(node.meta.get("val")))
            return quantized.finish(self.g, node, op, made)
        except OnnxExporterError as error:
            if not getattr(error, "placed", False):
                error.placed = True  # type: ignore[attr-defined]
                error.args = (f"{error.args[0]}{place(node)}", *error.args[1:])
            raise

    def stored(self, node: Node) -> OnnxValue:
        """A parameter, a buffer or a constant tensor."""
        name = node.target
        tensor = self.tracer.constants.get(name)
        if tensor is not None:
            return self.array(tensor._array, name)
        if name not in self.initializers:  # a body may use it too
            tensor = self.tracer.tensor_of(name)
            if isinstance(tensor._array, QuantizedArray):
                return self.array(tensor._array, name)
            same = self.equal_to(tensor._array) if self.folding else None
            self.initializers[name] = same if same is not None else self.g.initializer(name, tensor._array, self.folding)
        return self.initializers[name]

    def equal_to(self, array: np.ndarray) -> OnnxValue | None:
        """A tensor that is stored already and has the same elements: in evaluation mode one stands for both."""
        for each in self.initializers.values():
            other = each.constant
            if other is None or other.dtype != array.dtype or other.shape != array.shape or each.name not in self.g.params_dict:
                continue
            if other is array or (np.array_equal(other.reshape(-1)[:8], array.reshape(-1)[:8]) and np.array_equal(other, array)):
                return each
        return None

    def array(self, array: np.ndarray, name: str) -> OnnxValue:
        """A tensor whose elements are known: a Constant node, or stored in the file where it is large."""
        if isinstance(array, QuantizedArray):
            return quantized.constant(self.g, array, self.array(array.integers, name))  # type: ignore[no-any-return]
        if array.size > SMALL:
            return self.g.initializer(name.lstrip("_"), array, True)
        return self.g.constant(np.array(array))

    def known(self, node: Node) -> OnnxValue | tuple[Any, ...] | None:
        """The value of a node that does not depend on the inputs: it was computed when the program ran."""
        if not self.folding or node in self.captured.tracer.depends:
            return None
        if has_own_form(node) or any(each in self.unfolded for each in node.all_input_nodes):
            self.unfolded.add(node)
            return None
        tensor = self.captured.tracer.known.get(node)
        if tensor is None:
            return None
        array = tensor._array
        if not isinstance(array, QuantizedArray) and array.ndim and node.op != "get_attr" and self.follows_from_stored(node):
            key = (array.dtype.str, array.shape, array.tobytes()) if array.size <= SMALL else id(array)
            if key not in self.computed:
                same = self.equal_to(array)  # a slice of all elements, say
                self.computed[key] = same if same is not None else self.g.initializer(node.name, np.array(array), True)
            return self.computed[key]
        return self.array(array, node.name)

    def follows_from_stored(self, node: Node) -> bool:
        """Whether a node computes with a parameter or buffer: what follows from those is stored as they are."""
        pending, seen = [node], {node}
        while pending:
            for each in pending.pop().all_input_nodes:
                if each.op == "get_attr" and each.target not in self.tracer.constants:
                    return True
                if each not in seen:
                    seen.add(each)
                    pending.append(each)
        return False

    def argument(self, value: Any) -> Any:
        """An argument with values in place of nodes."""
        if isinstance(value, Node):
            return self.values[value]
        if isinstance(value, (tuple, list)):
            values = [self.argument(each) for each in value]
            if hasattr(value, "_fields"):
                return tuple.__new__(type(value), values)  # type: ignore[type-var]
            return values if isinstance(value, list) else tuple(values)
        if isinstance(value, dict):
            return {key: self.argument(each) for key, each in value.items()}
        return value

    def symbol_place(self, name: str) -> tuple[OnnxValue, int | None]:
        """The tensor that a symbol was first seen on, and the dimension of which it is the size (None: it is its one element)."""
        symbol = self.symbols[name]
        if symbol.source not in self.values:
            raise OnnxExporterError(f"a size of {symbol.source} is known only once it is computed, and its ONNX form needs it before")
        source = self.values[symbol.source]
        if isinstance(source, SymbolicInt):  # a number that was given a name because its formula is long
            return self.g.number(source), None
        return source if source.pair is None else source.pair, symbol.dim

    def symbol_value(self, name: str) -> OnnxValue:
        """The size that a symbol stands for, read off the shape of the tensor it was first seen on (or off its one element)."""
        source, dim = self.symbol_place(name)
        if dim is None:
            return source if source.dtype.kind == "f" else self.g.cast(self.g.reshape(source, ()), np.int64)
        made: OnnxValue = self.g.op("Gather", self.g.op("Shape", source), self.g.constant(dim, np.int64), axis_i=0)
        made.shape = ()
        return made

    # -- one op --------------------------------------------------------------------------------------------------

    def call(self, op: Op, args: tuple[Any, ...], result: Any) -> Any:
        """Lower a call of an op on complete arguments; ``result`` is what is known about its result."""
        g = self.g
        custom = op in implementations  # an op that a program registered
        name = op.name if custom else f"aten::{aten_name(op)}"
        outer, g.outputs = g.outputs, result if isinstance(result, tuple) else (result,)
        try:
            made = self.registered(op, args)
            if made is NotImplemented:
                if custom:
                    made = self.kept(op, args, result)
                    if made is NotImplemented and op.onnx is not None:
                        made = self.own_form(op, args)
                elif self.mode is OperatorExportTypes.ONNX_ATEN or registry.get_function_group(name) is None:
                    made = self.fallback(op, args, result)
                else:
                    made = self.own(op, args)
            form = facet_for(op, self.opset) or op.onnx
            # A wrapper such as nn.functional.relu is decomposed; of special functions and the like PyTorch's own op is kept.
            taken_apart = op.body is not None and form is None and op.namespace in (None, "", "nn.functional") and not op.onnx_reason
            if made is NotImplemented and not custom and not taken_apart and form is None and self.mode is not OperatorExportTypes.ONNX:
                made = self.fallback(op, args, result)
            if made is NotImplemented and op.body is not None:
                return self.expand(op, args, result)
            if made is NotImplemented:
                made = self.fallback(op, args, result)
        finally:
            g.outputs = outer
        return self.settle(op, made, result)

    def kept(self, op: Op, args: tuple[Any, ...], result: Any) -> Any:
        """An op that a program registered as a node of its own domain, where the caller asks for that; else its Python is followed."""
        place, _, name = op.name.partition("::")
        if self.mode is not OperatorExportTypes.ONNX_FALLTHROUGH and place not in self.domains:
            return NotImplemented
        tensors = [
            each for value in args for each in (value if isinstance(value, (tuple, list)) else (value,)) if isinstance(each, OnnxValue)
        ]
        kinds = {bool: "i", int: "i", float: "f", str: "s"}
        plain = {f"{p.name}_{kinds[type(v)]}": int(v) if type(v) is bool else v for p, v in zip(op.parameters, args) if type(v) in kinds}
        return self.g.op(f"{place}::{name.partition('.')[0]}", *tensors, outputs=len(result) if isinstance(result, tuple) else 1, **plain)

    def registered(self, op: Op, args: tuple[Any, ...]) -> Any:
        """What a user has registered for an op, called with the arguments of PyTorch's operator."""
        if self.unregistered or not registry.groups:
            return NotImplemented
        if op in implementations or (op.parameters[0].variadic and op.parameters[0].annotation == "Any"):
            given = args if op in implementations else args[0]  # of an op of several call forms (lstm): as it was called
            function = registry.custom(op.name if op in implementations else f"aten::{aten_name(op)}", self.opset)
        else:
            function, given = operators_of(op, args, lambda name: registry.custom(name, self.opset))
        if function is None:
            return NotImplemented
        try:
            return function(self.g, *[self.wrapped(each) for each in given[: registry.count(function, given)]])
        except UnsupportedOperatorError:
            if self.mode in (OperatorExportTypes.ONNX_ATEN_FALLBACK, OperatorExportTypes.ONNX_ATEN):
                return self.fallback(op, args, None)
            raise

    def wrapped(self, value: Any) -> Any:
        """An argument as symbolic functions of users get it: always a value, of a Python value too."""
        if isinstance(value, OnnxValue):
            return value
        if isinstance(value, (tuple, list)) and any(isinstance(each, OnnxValue) for each in value):
            return value
        made = OnnxValue(None, None, None)
        made.python = value
        return made

    def own(self, op: Op, args: tuple[Any, ...]) -> Any:
        """The op's own ONNX form, or that of its pointwise kernel; on complex values, which are pairs, that of both parts."""
        found = [each for each in values_in(args) if is_complex(each)]
        whole = any(each.pair is None and each.constant is None for each in found)  # an input of the file, which has no parts
        if not whole and (found or any(map(is_complex, self.g.outputs))):
            rule = rule_of(op)
            if rule is not None:
                return rule(self, op, args)
        return self.own_form(op, args)

    def own_form(self, op: Op, args: tuple[Any, ...]) -> Any:
        """The same, of values that are no pairs."""
        values = self.prepared(op, args)
        facet = facet_for(op, self.opset)
        if facet is not None:
            made = facet(self.g, *values)
            if made is not NotImplemented:
                return made
        if isinstance(op.family, Elementwise) and not (op.onnx is not None and facet is None and op.body is not None):
            return self.pointwise(op, values)
        return NotImplemented

    def is_decomposed(self, op: Op) -> bool:
        """Whether an op is lowered by its body."""
        return op.body is not None and facet_for(op, self.opset) is None

    def prepared(self, op: Op, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The operands of a pointwise op in the type it computes in; other arguments as they are."""
        if not isinstance(op.family, Elementwise):
            return args
        family: Any = op.family.chosen(args) if hasattr(op.family, "chosen") else op.family  # where arguments decide
        given = [stand_in(each) for each in args]
        operands = family.operands(op, given)
        compute, _ = family.dtypes(op, operands)
        values = list(args)
        for position, _ in op.tensor_positions:
            value = values[position]
            if not any(given[position] is each for each in operands):
                continue  # the condition of a choice
            if isinstance(value, OnnxValue) and value.dtype != compute:
                values[position] = self.g.cast(value, compute)
            elif is_symbolic(value):
                values[position] = self.g.number(value, compute)
            elif isinstance(value, (int, float)) and not isinstance(value, bool) and compute.kind == "f":
                values[position] = float(value)
        return tuple(values)

    def pointwise(self, op: Op, values: tuple[Any, ...]) -> Any:
        """A pointwise kernel with ONNX nodes for NumPy's functions."""
        like = next(each.dtype for each in values if isinstance(each, OnnxValue))
        if like.kind == "c":
            raise self.g.unsupported("ONNX has no complex arithmetic: write this with real and imaginary parts")
        xp = OnnxArrayTracer(self.g, like)
        wrapped = [OnnxArray(xp, each) if isinstance(each, OnnxValue) else each for each in values]
        for position, _ in op.tensor_positions:  # kernels get numbers as scalars of the type they compute in
            if isinstance(wrapped[position], (int, float)):
                wrapped[position] = as_scalar(wrapped[position], like)
        try:
            kernel = getattr(xp, op.kernel) if isinstance(op.kernel, str) else lambda *given: op.kernel(xp, *given)
            made = kernel(*wrapped[: len(op.tensor_positions)] if isinstance(op.kernel, str) else wrapped)
        except (NotExpressible, TypeError, AttributeError, ValueError):
            return NotImplemented  # the kernel does more than pointwise functions
        return made.value if isinstance(made, OnnxArray) else NotImplemented

    def fallback(self, op: Op, args: tuple[Any, ...], result: Any) -> Any:
        """An op without an ONNX form, as the mode asks: PyTorch's own op in the file, or an error."""
        count = len(result) if isinstance(result, tuple) else (len(op.returns) if isinstance(op.returns, tuple) else 1)
        name = aten_name(op)
        flat: list[Any] = []
        for each in args:
            flat += each if isinstance(each, (tuple, list)) and any(isinstance(part, OnnxValue) for part in each) else [each]
        while flat and flat[-1] is None:
            flat.pop()
        if self.mode in (OperatorExportTypes.ONNX_ATEN_FALLBACK, OperatorExportTypes.ONNX_ATEN):
            given = [None if each is None or isinstance(each, str) or not is_input(each) else each for each in flat]
            return self.g.op("aten::ATen", *given, outputs=count, operator_s=name, overload_name_s=overload_name(name))
        if self.mode is OperatorExportTypes.ONNX_FALLTHROUGH:
            return self.g.op(f"aten::{name}", *[each for each in flat if is_input(each)], outputs=count)
        facets = sorted(op.onnx or ())
        first = next((each for each in facets if each > self.opset), None)
        reason = op.onnx_reason or "it has no ONNX form here"
        inside = f" (in {' in '.join(reversed(self.names))})" if self.names else ""
        message = f"Exporting the operator '{name}' ({op.qualified_name}){inside} to ONNX opset version {self.opset} is not supported"
        if first is not None:
            message += f": it can be exported since opset {first}. Export with opset_version={first}."
        else:
            message += (
                f": {reason}. Register a form for it with onnx.register_custom_op_symbolic('aten::{name}', ...), write it in "
                "other ops, or export with operator_export_type=OperatorExportTypes.ONNX_ATEN_FALLBACK."
            )
        raise UnsupportedOperatorError(name, self.opset, first, message)

    def settle(self, op: Op, made: Any, result: Any) -> Any:
        """Results with their known types and shapes; of another type than the op's, they are cast."""
        several = isinstance(result, tuple)
        values = list(made) if isinstance(made, (tuple, list)) else [made]
        for index, (value, spec) in enumerate(zip(values, result if several else (result,))):
            if not isinstance(value, OnnxValue) or not isinstance(spec, Spec):
                continue
            if value.dtype is not None and value.dtype != spec.dtype:
                value = values[index] = self.g.cast(value, spec.dtype)
            if value.shape is None or value.owner is not None or value.constant is not None:
                value.dtype, value.shape = spec.dtype, spec.shape
        return tuple(values) if several else values[0]

    # -- taking apart --------------------------------------------------------------------------------------------

    def expand(self, op: Op, args: tuple[Any, ...], result: Any) -> Any:
        """Lower the body of a composite."""
        self.names.append(op.public_name)
        try:
            follow = implementations.get(op)
            run = (lambda *given: call_body(op, given)) if follow is None else follow
            made = self.follow(run, args, lambda error: self.refusal(op, error))
        finally:
            self.names.pop()
        return self.settle(op, made, result)

    def follow(self, run: Callable[..., Any], args: tuple[Any, ...], refusal: Callable[[RushlightError], Exception]) -> Any:
        """Lower what a function does with values: it is captured on tensors without data."""
        body = self.body(run, args, refusal, generic=True) or self.body(run, args, refusal, generic=False)
        assert body is not None
        tracer, bound, output = body
        outer = self.symbols, self.tracer
        self.symbols, self.tracer = tracer.symbols, tracer
        source = self.g.source, self.g.module
        for node, value in bound:
            self.values[node] = value
        for node in tracer.graph.nodes:
            node.meta["source"], node.meta["module"] = source
            node.meta["val"] = as_in_this_run(node.meta.get("val"), tracer.symbols)
        self.nodes(tracer.graph.nodes)
        made = self.argument(output)
        self.symbols, self.tracer = outer
        self.g.source, self.g.module = source
        return made

    def refusal(self, op: Op, error: RushlightError) -> UnsupportedOperatorError:
        """What is said of a composite whose body can't be captured."""
        name, hint = aten_name(op), ""
        if op in implementations:
            place = op.name.partition("::")[0]
            name = op.name
            hint = f"; give it a form with onnx.register_custom_op_symbolic('{name}', ...), or export it as a node with custom_opsets={{'{place}': 1}}"
        return UnsupportedOperatorError(
            name, self.opset, None, f"{op.qualified_name} has no ONNX form here, and it can't be decomposed: {error}{hint}"
        )

    def body(self, run: Callable[..., Any], args: tuple[Any, ...], refusal: Callable[[RushlightError], Exception], generic: bool) -> Any:
        """What a function does, as a graph, traced on tensors without data; None where generic sizes do not fit."""
        tracer = Tracer(functional=True, keep_function=lambda function: False)
        tracer.symbols = dict(self.symbols)
        values = {name: each.generic if generic else each.concrete for name, each in self.symbols.items()}
        fixed: list[Any] = []
        tracer.size_escaped = lambda kind, size: fixed.append(size)  # type: ignore[method-assign]
        bound: list[tuple[Node, OnnxValue]] = []

        def sized(size: Any) -> Any:
            return SymbolicInt(size.expression.evaluate(values), size.expression) if isinstance(size, SymbolicInt) else size

        made_for: dict[int, Any] = {}

        def fake(value: Any) -> Any:
            if isinstance(value, OnnxValue):
                if id(value) in made_for:
                    return made_for[id(value)]  # bodies ask whether two arguments are the same tensor
                assert value.shape is not None
                tensor = made_for[id(value)] = make(Spec(tuple([sized(each) for each in value.shape]), quantized.stand_for(value)))
                node = tracer.graph.placeholder(f"value_{len(bound)}")
                tracer.depends.add(node)
                tracer.bind(tensor, node)
                bound.append((node, value))
                return tensor
            if isinstance(value, SymbolicFloat):
                return value.function(*[fake(each) for each in value.arguments])
            if isinstance(value, (tuple, list)):
                made = [fake(each) for each in value]
                return made if isinstance(value, list) else tuple(made)
            return sized(value)

        given = tuple([fake(value) for value in args])
        enabled, state.grad_enabled = state.grad_enabled, False
        try:
            with tracer:
                result = run(*given)
                state.capture = None
                output = tracer.argument(result)
        except OnnxExporterError:
            raise
        except Exception as error:
            if generic:  # these sizes do not fit together, whatever noticed it: those of the example do
                return None
            if not isinstance(error, RushlightError):
                raise
            raise refusal(error) from error
        finally:
            state.grad_enabled = enabled
        return None if fixed and generic and self.symbols else (tracer, bound, output)

    # -- custom Functions ----------------------------------------------------------------------------------------

    def function(self, node: Node) -> Any:
        """A custom Function that is one node: by its ``symbolic``, by what is registered for Python ops, or as it is."""
        function = node.meta["function"]
        args = self.argument(tuple(node.args))
        result = node.meta.get("val")
        count = len(result) if isinstance(result, tuple) else 1
        specs = result if isinstance(result, tuple) else (result,)
        registered = registry.custom("prim::PythonOp", self.opset)
        if hasattr(function, "symbolic"):
            made = function.symbolic(self.g, *args)
        elif registered is not None:
            context = registry.context_arguments(registered, SymbolicContext(self.g, node, function))
            made = registered(*context, self.g, *args, **registry.named_arguments(registered, function))
        elif self.mode is OperatorExportTypes.ONNX_FALLTHROUGH:
            inputs = [each for each in args if isinstance(each, OnnxValue)]
            made = self.g.op("prim::PythonOp", *inputs, outputs=count, name_s=function.__name__, module_s=function.__module__)
        elif self.mode in (OperatorExportTypes.ONNX_ATEN, OperatorExportTypes.ONNX_ATEN_FALLBACK):
            inputs = [each for each in args if isinstance(each, OnnxValue)]
            made = self.g.op("aten::ATen", *inputs, outputs=count, operator_s=function.__name__, overload_name_s="")
        else:
            raise OnnxExporterError(
                f"Couldn't export Python operator {function.__name__}: it has no static method 'symbolic', and autograd_inlining=False "
                f"forbids to export its body{place(node)}"
            )
        values = list(made) if isinstance(made, (tuple, list)) else [made]
        if len(values) < count:
            raise OnnxExporterError(f"{function.__name__}.symbolic gave {len(values)} values where forward gives {count}{place(node)}")
        for value, spec in zip(values, specs):
            if isinstance(spec, Spec) and isinstance(value, OnnxValue) and value.owner is not None:
                value.dtype = value.dtype if value.dtype is not None and value.owner.domain == "" else spec.dtype
                if value.shape is None:
                    value.shape = spec.shape
        return tuple(values[:count]) if isinstance(result, tuple) else values[0]


def values_in(args: Any) -> list[OnnxValue]:
    """The values among arguments, also in lists."""
    if isinstance(args, OnnxValue):
        return [args]
    return [value for each in args for value in values_in(each)] if isinstance(args, (tuple, list)) else []


def facet_for(op: Op, opset: int) -> Any:
    """The op's own ONNX form for an opset, or None."""
    if not op.onnx:
        return None
    fitting = [since for since in op.onnx if since <= max(opset, 9)]  # opsets 7 and 8: those of 9 whose nodes are in them
    return op.onnx[max(fitting)] if fitting else None


def stand_in(value: Any) -> Any:
    """The operand for type promotion: a spec for a tensor, a number as it is."""
    return Spec(value.shape, value.dtype) if isinstance(value, OnnxValue) else value


def as_in_this_run(value: Any, symbols: dict[str, Any]) -> Any:
    """The shape and dtype of a value of a body that was traced on generic sizes, with the sizes of this run."""
    if isinstance(value, SymbolicInt):
        return SymbolicInt(value.expression.evaluate({name: each.concrete for name, each in symbols.items()}), value.expression)
    if isinstance(value, SymbolicFloat):
        return value.function(*[as_in_this_run(each, symbols) for each in value.arguments])
    if isinstance(value, Spec):
        return Spec(as_in_this_run(tuple(value.shape), symbols), value.dtype)
    return tuple([as_in_this_run(each, symbols) for each in value]) if isinstance(value, (tuple, list)) else value


def is_input(value: Any) -> bool:
    """Whether an argument can be an input of a node."""
    return isinstance(value, (OnnxValue, int, float, bool)) or (
        isinstance(value, (tuple, list)) and bool(value) and all(isinstance(each, (int, float)) for each in value)
    )


def place(node: Node) -> str:
    """The user's line, for messages."""
    source = node.meta.get("source")
    module = node.meta.get("module")
    where = f'\n  File "{source[0]}", line {source[1]}, in {source[2]}' if source else ""
    return where + (f" (module {module})" if module else "")
