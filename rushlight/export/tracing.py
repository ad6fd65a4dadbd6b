"""The capture of a Module for export: its operators, on inputs whose dynamic sizes are symbols.

The tracer of every other capture, which records PyTorch's operators (``aten_forms.py``) in the place of the ops of the table, keeps the
branches of ``cond`` and the bodies of loops as graphs, and writes down each comparison of sizes that the program makes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..amp.autocast_mode import entered, is_autocast_cache_enabled, is_casting, set_autocast_cache_enabled
from ..capture.compile.record.graph_breaks import Unsupported
from ..capture.trace.capture import Scopes
from ..compat import pytree
from ..core import symbolic
from ..core.base import Spec, TensorBase, make
from ..core.declare import Op, table
from ..core.devices import device as Device
from ..core.dtypes import BY_NUMPY
from ..core.errors import CaptureError
from ..core.state import state
from ..core.symbolic import Expression, SymbolicFloat, SymbolicInt, float_symbol
from ..graph.node import Node
from ..nn.modules.module import Module
from ..ops.overloads import OpOverload, find_overload
from ..passes.aten_forms import call_of
from ..symbols import sym_max, sym_min
from ..tensor.layout import strided
from .control_flow import ControlFlow
from .errors import GuardOnDataDependentSymNode
from .operator_facts import broadcasts, picks, rewrites
from .size_guards import Condition, Guard
from .stand_ins import held, like, swapped

_BROADCAST = table["broadcast_tensors"].call
_CONTIGUOUS = table["contiguous"].call
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


class NeedsValues(Exception):
    """The program asks for a value, and its inputs have only shapes."""


class ConstantResults:
    """The results of functions that are marked as constant (``assume_constant_result``), in the order of their calls.

    One export captures its program several times, with other sizes too, of which there are no values: the results are those of the example.
    """

    def __init__(self) -> None:
        self.known: list[tuple[Any, Any]] = []  # function and result
        self.calls = 0  # in the capture that is being made

    def result(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of the next call."""
        if self.calls == len(self.known):
            args, kwargs = pytree.tree_map(_constant, (args, kwargs))
            self.known.append((function, pytree.tree_map(_constant, function(*args, **kwargs))))
        called, found = self.known[self.calls]
        if called is not function:
            raise CaptureError("a program calls other functions with constant results where sizes differ")
        self.calls += 1
        return found


def _constant(value: Any) -> Any:
    """A value without what a capture knows of it: of a tensor a copy."""
    if isinstance(value, TensorBase):
        if value._array.__class__ is Spec:
            raise NeedsValues
        return value.detach().clone()
    if isinstance(value, (SymbolicInt, SymbolicFloat)):
        raise Unsupported(
            "assume_constant_result argument conversion failed: a function marked with torch._dynamo.assume_constant_result is given a number that "
            "depends on dynamic sizes"
        )
    return value


class ExportTracer(ControlFlow):
    """Records PyTorch's operators while a program runs."""

    keeps_control = True
    of_functions = True  # whether what is recorded are calls of PyTorch's functions, which do a little more than their operators

    def __init__(self, names: Any = (), parent: ExportTracer | None = None) -> None:
        super().__init__(names, keep_function=lambda function: False, escaped=self.refuse)
        self.guards: list[Guard] = [] if parent is None else parent.guards
        self.parent = parent
        self.lifted: dict[int, tuple[Any, Node]] = {}  # tensors of the program around a body, which its graph takes as inputs
        self.grad_mode: bool = state.grad_enabled if parent is None else parent.grad_mode
        self.derived: dict[str, tuple[int, int]] = {}  # symbols of which an input has only a linear function: its factor and offset
        self.unbacked: dict[str, None] = {}  # symbols that are values of tensors
        self.turns: dict[str, None] = {} if parent is None else parent.turns  # symbols for how often loops run that gradients go through
        self.result: Any = None  # of a branch or body: what it returns
        self.outside: list[Node] = []  # and the nodes around it that are its inputs
        self.graphs: dict[str, Any] = {}  # the graphs of branches and bodies, by name
        self.other: int = (
            0 if parent is None else parent.other
        )  # what is added to values of tensors, to see whether the program is the same
        self.assumed: ConstantResults | None = None if parent is None else parent.assumed
        if parent is not None:
            self.symbols, self.derived = parent.symbols, parent.derived
            self.without_values = parent.without_values

    def __enter__(self) -> ExportTracer:
        super().__enter__()
        self.comparing, symbolic.escape.compared = symbolic.escape.compared, self.compared
        self.cached = is_autocast_cache_enabled()
        set_autocast_cache_enabled(False)  # a cast that is kept would be one of the region that made it
        return self

    def __exit__(self, *exception: Any) -> None:
        symbolic.escape.compared = self.comparing
        set_autocast_cache_enabled(self.cached)
        super().__exit__(*exception)

    # -- operators -----------------------------------------------------------------------------------------------

    def recorded(self, function: Any, *args: Any) -> Any:
        """The result of a function, whose calls of ops are recorded."""
        state.interceptors.append(self)
        try:
            return function(*args)
        finally:
            state.interceptors.remove(self)

    def __call__(self, op: Op, args: tuple[Any, ...], out: Any) -> Any:
        expansion = rewrites.of(op)
        if expansion is not None and out is None:
            found = self.recorded(expansion, *args)
            if found is not NotImplemented:
                return found
        if not self.of_functions:
            pass
        elif broadcasts.of(op):
            args = (*self.recorded(_BROADCAST, *args[:2]), *args[2:])
        elif op.call is _BROADCAST:
            return self.broadcast(op, args)
        elif op.call is _CONTIGUOUS and args[1] is None and args[0].is_contiguous():
            return args[0]  # PyTorch's method does not ask the operator then
        base = op.functional or op
        if base.body is not None and base.kernel is None:
            state.capture, before = None, state.capture
            try:
                known = call_of(op, tuple([self.stand_in(each) for each in args]))
            finally:
                state.capture = before
            if known is None or out is not None:
                return NotImplemented  # its body is recorded
        return super().__call__(op, args, out)

    def broadcast(self, op: Op, args: tuple[Any, ...]) -> Any:
        """``broadcast_tensors``: of those that have the shape already, it gives themselves."""
        found = super().__call__(op, args, None)
        made = [tensor if tensor._array.shape == each._array.shape else each for tensor, each in zip(args[0], found)]
        for tensor, each in zip(made, found):
            if tensor is not each:
                self.bind(tensor, self.entries[id(each)].node, self.shape_of(tensor))
        return tuple(made)

    def left_as_it_is(self, tensor: Any, dtype: Any) -> None:
        """``tensor.to(dtype)`` of that type: an operator that gives the tensor itself, and what reads it later reads that."""
        if state.capture is not self or dtype is None or not self.of_functions:
            return
        state.capture = None
        try:
            node = self.node_of(tensor)
            self.check_type(node)
            made = self.operator_node(find_overload("aten", "to", "dtype"), (node, dtype))
            self.bind(tensor, made, self.shape_of(tensor))
        finally:
            state.capture = self

    def check_type(self, node: Node) -> None:
        """Before a conversion: that the tensor has the type that it had in the capture."""
        known = node.meta["val"]
        options = {"dtype": BY_NUMPY[known.dtype], "device": known.device or Device("cpu"), "layout": strided}
        checked = self.operator_node(find_overload("aten", "_assert_tensor_metadata", "default"), (node,), options)
        checked.meta["impure"] = True

    def number_to_write(self, value: Any, target: Any) -> Any:
        """A number as a constant tensor, which is what PyTorch's ``target[...] = value`` writes."""
        if state.capture is not self or not self.of_functions or isinstance(value, (SymbolicInt, SymbolicFloat)) or target.is_quantized:
            return value
        state.capture = None
        try:
            made = make(np.asarray(value, target._array.dtype))
            self.node_of(made).meta["number"] = True
        finally:
            state.capture = self
        return made

    def shapes(self, op: Op, args: tuple[Any, ...], recorded: tuple[Any, ...], node: Node, result: Any) -> Any:
        if picks.of(op) and isinstance(result, TensorBase) and result._array.__class__ is not Spec:
            shape = result._array.shape
            return (self.new_symbol(node, 0, shape[0]), *shape[1:])
        return super().shapes(op, args, recorded, node, result)

    def stand_in(self, value: Any) -> Any:
        """An argument as forms of operators look at it: nodes for tensors, before they are recorded."""
        if isinstance(value, TensorBase):
            node = object.__new__(Node)
            node.meta = {"val": Spec(self.shape_of(value), value._array.dtype)}
            return node
        if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
            return type(value)(self.stand_in(each) for each in value)
        return value

    def argument(self, value: Any) -> Any:
        if isinstance(value, (SymbolicInt, SymbolicFloat)):
            return self.number_node(value)
        return super().argument(value)

    def emit(self, op: Op, recorded: tuple[Any, ...], keywords: dict[str, Any] | None = None) -> Node:
        found = call_of(op, recorded)
        if found is None or keywords:
            node = super().emit(op, recorded, keywords)
        else:
            overload, args, kwargs = found
            if self.of_functions and overload._overloadpacket.__name__ == "to" and not is_casting():
                self.check_type(args[0])
            node = self.operator_node(overload, args, kwargs)
        node.meta["grad"] = state.grad_enabled
        node.meta["cast"] = is_casting()
        if op.functional is not None or keywords or (found is not None and found[0]._schema.is_mutable):
            node.meta["impure"] = True
        return node

    def operator_node(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Node:
        """A node that calls an operator."""
        name = target._overloadpacket.__name__ if isinstance(target, OpOverload) else target.__name__
        node = self.graph.create_node("call_function", target, args, kwargs or {}, name)
        node.meta["source"], node.meta["module"] = self.where()
        if any(each in self.depends for each in node.all_input_nodes):
            self.depends.add(node)
        node.meta["grad"] = state.grad_enabled
        node.meta["autocast"] = entered()
        return node

    # -- sizes and numbers ---------------------------------------------------------------------------------------

    def compared(self, how: str, a: Any, b: Any, outcome: bool) -> None:
        """Two numbers were compared: what follows holds where the outcome is the same."""
        if symbolic.escape.inferring or state.capture is not self:
            return
        if isinstance(a, float) or isinstance(b, float):
            if isinstance(a, SymbolicFloat) or isinstance(b, SymbolicFloat):
                self.refuse(f"{a} {how} {b}", "it depends on the value of a tensor")
            return
        left, right = Expression.of(a), Expression.of(b)
        if (left - right).constant is None:
            if how in ("==", "!=") and self.is_of_data(left - right):
                self.check_equality(left, right, (how == "==") == outcome)
                return
            self.guards.append(Guard(left, how if outcome else _NEGATED[how], right, self.where()[0]))

    def check_equality(self, left: Expression, right: Expression, equal: bool) -> None:
        """Whether two numbers that depend on data are equal is checked in each run: the program holds where it is as here."""
        state.capture = None
        try:
            operands = [self.number_node(SymbolicInt(0, each)) if each.constant is None else each.constant for each in (left, right)]
            compared = self.operator_node(operator.eq if equal else operator.ne, tuple(operands))
            text = f"{left} {'==' if equal else '!='} {right}"
            compared.meta["val"] = Condition(text)
            found = find_overload("aten", "_assert_scalar", "default")
            self.operator_node(found, (compared, f"Runtime assertion failed for expression {text}")).meta["impure"] = True
        finally:
            state.capture = self

    def size_escaped(self, kind: str, size: Any) -> None:
        """A size that becomes a plain number: :meth:`compared` has noted it; a number that depends on data can't be one."""
        if symbolic.escape.inferring or state.capture is not self or not self.is_of_data(size):
            return
        shown = size.expression if isinstance(size, SymbolicInt) else f"{kind}() of a number"
        raise GuardOnDataDependentSymNode(
            f"Could not extract specialized integer from data-dependent expression {shown} (unhinted: {shown}).  (Size-like symbols: none)\n\n"
            f"{kind}() makes a plain number of it, for which alone the program would hold: keep the number, or the tensor that it is of{self.place()}"
        )

    def is_of_data(self, value: Any) -> bool:
        """Whether a number, or a formula, depends on the elements of tensors: on an ``item()``, or on how many rows were picked."""
        if isinstance(value, SymbolicFloat):
            if value.function is float_symbol:
                return self.symbols[value.arguments[0]].source.op != "placeholder"
            return any(self.is_of_data(each) for each in value.arguments)
        formula = value.expression if isinstance(value, SymbolicInt) else value
        return isinstance(formula, Expression) and any(
            name in self.symbols and self.symbols[name].source.op != "placeholder" for name in formula.symbols()
        )

    def length_escaped(self, tensor: Any) -> int:
        size = self.shape_of(tensor)[0]
        if isinstance(size, SymbolicInt):
            self.size_escaped("len", size)
            self.compared("==", size, int.__int__(size), True)
        return int.__int__(size)

    def symbol_node(self, name: str) -> Node:
        expression = Expression.symbol(name)
        node = self.size_nodes.get(expression)
        if node is None:
            symbol = self.symbols[name]
            if symbol.source.graph is not self.graph:
                node = self.graph.placeholder(name)
            elif symbol.dim is None:
                node = self.operator_node(find_overload("aten", "item", "default"), (symbol.source,))
            else:
                node = self.operator_node(find_overload("aten", "sym_size", "int"), (symbol.source, symbol.dim))
                factor, offset = self.derived.get(name, (1, 0))
                whole = expression * Expression.of(factor) + Expression.of(offset)
                node.meta["val"] = SymbolicInt(symbol.concrete * factor + offset, whole)
                if offset:
                    node = self.make_number(
                        operator.sub, (node, offset), SymbolicInt(symbol.concrete * factor, whole - Expression.of(offset))
                    )
                if factor != 1:
                    node = self.make_number(operator.floordiv, (node, factor), SymbolicInt(symbol.concrete, expression))
            node.meta["val"] = SymbolicInt(symbol.concrete, expression)
            self.depends.add(node)
            self.size_nodes[expression] = node
        return node

    def make_number(self, function: Any, arguments: tuple[Any, ...], value: Any) -> Node:
        if function is float_symbol:
            node = self.symbol_node(arguments[0])
            node.meta["val"] = value
            return node
        return super().make_number({min: sym_min, max: sym_max}.get(function, function), arguments, value)

    def number_node(self, value: Any) -> Node:
        if isinstance(value, SymbolicFloat) and value.function is float_symbol:
            return self.make_number(float_symbol, value.arguments, value)
        return super().number_node(value)

    def value_escaped(self, tensor: Any, how: str) -> Any:
        if not self.is_traced(tensor):
            return None
        if tensor._array.__class__ is Spec:
            raise NeedsValues
        if how == "item()" and tensor._array.size == 1 and tensor._array.dtype.kind in "iuf":
            state.capture = None
            try:
                node = self.node_of(tensor)
                value = tensor._array.item()
                made = self.new_number(node, value + self.other if isinstance(value, int) else value * (1 + self.other / 3))
            finally:
                state.capture = self
            name = made.arguments[0] if isinstance(made, SymbolicFloat) else made.expression.as_symbol
            self.unbacked[name] = None
            self.symbol_node(name)
            return made
        self.refuse(how, "it depends on the value of a tensor")
        return None

    def constant_result(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a function that is marked as constant, of the values that the example has: nothing of it is recorded."""
        if self.assumed is None or state.capture is not self:
            return super().constant_result(function, args, kwargs)
        around = list(state.interceptors)
        state.capture, state.interceptors[:] = None, [each for each in around if each is not self]
        try:
            return self.assumed.result(function, args, kwargs)
        finally:
            state.capture, state.interceptors[:] = self, around

    def refuse(self, how: str, why: str) -> None:
        """A branch on the value of a tensor can't be exported."""
        raise GuardOnDataDependentSymNode(
            f"Could not guard on data-dependent expression {how} (unhinted: {how}).  (Size-like symbols: none)\n\n{why}: write the choice with "
            f"torch.where or torch.cond.{self.place()}"
        )

    def place(self) -> str:
        """The user's line, for messages."""
        source, _ = self.where()
        return f'\n\nThe following call raised this error:\n  File "{source[0]}", line {source[1]}, in {source[2]}' if source else ""

    # -- branches and loops --------------------------------------------------------------------------------------

    def node_of(self, tensor: Any) -> Node:
        if self.parent is None or id(tensor) in self.entries or tensor._array.__class__ is not Spec and not self.parent.knows(tensor):
            return super().node_of(tensor)
        found = self.lifted.get(id(tensor))
        if found is None:
            node = self.parent.node_of(tensor)
            mine = self.graph.placeholder(node.name)
            self.depends.add(mine)
            self.bind(tensor, mine, self.parent.shape_of(tensor))
            found = self.lifted[id(tensor)] = tensor, mine
        return found[1]

    def is_traced(self, value: Any) -> bool:
        if self.parent is not None and isinstance(value, TensorBase) and id(value) not in self.entries and self.parent.is_traced(value):
            self.node_of(value)  # a value of the program around this function is one of its inputs from here on
        return super().is_traced(value)

    def nested(self) -> ExportTracer:
        """A tracer for a function within this program."""
        return ExportTracer((), self)

    def knows(self, tensor: Any) -> bool:
        """Whether a tensor is a value of this capture, or of one around it."""
        return id(tensor) in self.entries or id(tensor) in self.attributes or (self.parent is not None and self.parent.knows(tensor))

    def shape_of(self, tensor: Any) -> tuple[int, ...]:
        if self.parent is not None and id(tensor) not in self.entries:
            return self.parent.shape_of(tensor)
        return super().shape_of(tensor)

    def is_dynamic(self, value: Any) -> bool:
        if isinstance(value, TensorBase):
            return any(each.__class__ is SymbolicInt for each in self.shape_of(value))
        return super().is_dynamic(value)


class Capture:
    """A captured program: the tracer with its graph, the nodes of the inputs, what the program returned, and buffers that it assigned."""

    def __init__(
        self, tracer: ExportTracer, inputs: list[Any], outputs: Any, assigned: list[tuple[str, Node]], calls: dict[str, Any]
    ) -> None:
        self.calls = calls  # of Modules whose signature is kept, by path
        self.tracer, self.inputs, self.outputs, self.assigned = tracer, inputs, outputs, assigned


def trace(
    mod: Module, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any], rebuild: Callable[[list[Any]], Any], names: list[str],
    dims: dict[tuple[int, int], Any], values: bool, sizes: dict[tuple[int, int], int] | None = None, flatten: Callable[[Any], list[Any]] = list,
    preserved: tuple[str, ...] = (), assumed: ConstantResults | None = None, other: int = 0,
) -> Capture:  # fmt: skip
    """Run a Module on stand-ins for its inputs, parameters and buffers, and record its operators.

    ``dims`` gives the formula of a dynamic dimension of an input (by the input's position and the dimension); ``sizes`` other sizes to run with.
    """
    with swapped(mod, values) as (standing, constants):
        tracer = ExportTracer([*constants, *reversed(standing)])
        tracer.without_values, tracer.other = not values, other
        if assumed is not None:
            tracer.assumed, assumed.calls = assumed, 0
        inputs: list[Any] = []
        given: list[Any] = []
        tensors: list[Any] = []
        for at, leaf in enumerate(leaves):
            node = tracer.graph.placeholder(names[at])
            inputs.append(node)
            if isinstance(leaf, TensorBase):
                shape = [(sizes or {}).get((at, dim), size) for dim, size in enumerate(leaf._array.shape)]
                stand_in = like(leaf, shape, values)
                tracer.depends.add(node)
                for dim, size in enumerate(shape):  # symbols first: formulas are of those
                    if (at, dim) in dims and dims[at, dim].as_symbol is not None:
                        tracer.new_symbol(node, dim, size, dims[at, dim].as_symbol)
                tensors.append((at, stand_in, node, shape))
                given.append(stand_in)
            elif (at, -1) in dims:
                given.append(tracer.new_symbol(node, None, (sizes or {}).get((at, -1), leaf), dims[at, -1].as_symbol))
                tracer.size_nodes[dims[at, -1]] = node
                node.meta["val"] = given[-1]
                tracer.depends.add(node)
            else:
                node.meta["constant"] = leaf
                given.append(leaf)
        for at, stand_in, node, shape in tensors:
            tracer.bind(stand_in, node, tuple([_size(tracer, node, dim, size, dims.get((at, dim))) for dim, size in enumerate(shape)]))
        with tracer, Scopes(tracer, mod):
            positional, named = rebuild(given)
            calls: dict[str, Any] = {}
            hooks = [_preserve(tracer, mod, path, calls) for path in preserved]
            try:
                result = mod(*positional, **named)
            finally:
                for hook in hooks:
                    hook.remove()
            state.capture = None
            outputs = [tracer.argument(each) for each in flatten(result)]
            assigned = [
                (path, owner._buffers.assigned[name])
                for path, owner, name, value in held(mod)
                if value is not None and path in dict(standing) and name in owner._buffers.assigned
            ]
            state.capture = tracer
    return Capture(tracer, inputs, outputs, assigned, calls)


def _preserve(tracer: ExportTracer, mod: Module, path: str, calls: dict[str, Any]) -> Any:
    """Note how a Module is called the first time: its inputs and outputs as nodes, and how they are nested."""

    def note(module: Any, args: Any, kwargs: Any, result: Any) -> None:
        if path in calls:
            return
        capture, state.capture = state.capture, None
        try:
            given, in_spec = pytree.tree_flatten((args, kwargs))
            made, out_spec = pytree.tree_flatten(result)
            calls[path] = [tracer.argument(each) for each in given], [tracer.argument(each) for each in made], in_spec, out_spec
        finally:
            state.capture = capture

    return operator.attrgetter(path)(mod).register_forward_hook(note, with_kwargs=True)


def _size(tracer: ExportTracer, node: Node, dim: int, size: int, formula: Expression | None) -> int:
    if formula is None:
        return size
    for name in formula.symbols():
        if name not in tracer.symbols:  # a symbol that no dimension is: that of which this one is a linear function
            factor, offset = formula.terms[(name,)], formula.terms.get((), 0)
            tracer.new_symbol(node, dim, (size - offset) // factor, name)
            tracer.derived[name] = factor, offset
    return SymbolicInt(size, formula)
