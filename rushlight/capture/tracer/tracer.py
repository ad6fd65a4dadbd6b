"""Records what a program does to tensors while it runs: the common machinery of trace and of export.

A tracer is an interceptor of ops.  Every call becomes a node, and then runs as usual, so the program computes with real
values and takes its real path.  A composite op stays one node.  Symbolic sizes are
:class:`~rushlight.core.symbolic.SymbolicInt`; the shape of every value is kept by its formula.
"""

from __future__ import annotations

import operator
import os
import sys
import warnings
from collections.abc import Callable, Iterable
from types import CodeType
from typing import Any

from ...core import symbolic
from ...core.base import Spec, TensorBase, make, spec_of
from ...core.declare import Op, lookup
from ...core.devices import device_of
from ...core.dispatch import dispatch, dispatch_in_place
from ...core.dtypes import BY_NAME, BY_NUMPY
from ...core.errors import CaptureError, RushlightError
from ...core.facets import Facet
from ...core.quantized import QuantizedArray
from ...core.sparse import SPARSE
from ...core.state import fake_mode, flags, state
from ...core.symbolic import SymbolicFloat, SymbolicInt, as_size
from ...graph import Graph, Node
from ...graph.calls import bind, canonical
from ...graph.node import PLAIN, draws
from .alias_tracking import AliasTracker, TracedTensor, keep_formulas
from .fake_tensors import FakeTensors
from .slice_bounds import Symbol
from .symbolic_sizes import SymbolicSizes
from .unread import UnreadList

PACKAGE_FOLDER = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..")) + os.sep
BUILTINS: set[CodeType] = set()  # of functions that stand for builtins: what they compare, their callers do
_HOUSE = (PACKAGE_FOLDER, "<call of ", "<gradient of ", "<graph ")  # files whose lines are not the user's


reshapes: Facet[bool] = Facet("reshapes", "a view that is a reshape where nothing is written to")
reshapes.set(True, "view", "view_shape")
changes_shape: Facet[bool] = Facet("changes its shape", "gives its operand another shape, in place")
changes_shape.set(True, "unsqueeze_", "squeeze_", "transpose_", "t_", "as_strided_", "resize_", "resize_as_")


takes_factors: Facet[bool] = Facet("takes factors", "a composite that takes numbers, which may be tensors, that sizes are multiplied by")
takes_factors.set(True, "interpolate", "upsample")


class TracerWarning(Warning):
    """A capture holds as a constant what may be different in another run."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Have warnings whose cause is in this package itself ignored."""
        warnings.filterwarnings("ignore", category=TracerWarning, module=f"{__name__.partition('.')[0]}.(?!jit)")


class Tracer(SymbolicSizes):
    """Captures what happens between ``with tracer:`` and its end.

    ``functional=True`` writes in-place ops as ops that make new values, with all aliases brought up to date.  ``keep_function``
    says which custom Functions stay one node; of others the body is captured.  ``escaped`` is called when a value that
    depends on the inputs is turned into a Python value.
    """

    keeps_control = False  # whether ``cond`` and ``while_loop`` are given to ``control``, with their functions
    on_fake_tensors = False  # whether a tensor without data stands for a value, and is never a constant
    guards_values = False  # whether a value that becomes a Python value is checked in later runs
    deferred: Any = None  # ops that are left to the compiled graph, where its back-end wants them

    def __init__(
        self,
        names: Iterable[tuple[str, Any]] = (),
        *,
        functional: bool = False,
        keep_function: Callable[[Any], bool] = lambda function: True,
        escaped: Callable[[str, str], None] | None = None,
    ) -> None:
        super().__init__()
        self.graph = Graph()
        self.entries: dict[int, TracedTensor] = {}
        self.given: set[int] = set()  # the ids of inputs
        self.attributes = {id(tensor): (name, tensor) for name, tensor in reversed(list(names))}
        self.by_name = dict(self.attributes.values())
        self.constants: dict[str, Any] = {}
        self.functional = functional
        self.keep_function = keep_function
        self.escaped = escaped or self.warn
        self.aliases = AliasTracker(self)
        self.modules: list[str] = []  # the paths of the Modules that are running
        self.classes: dict[str, type] = {}  # of a path: the class of its Module
        self.origin: dict[str, Any] | None = None  # of a node that is run again: where it came from
        self.known: dict[Node, Any] = {}  # tensors that do not depend on the inputs: constants of the capture
        self.depends: set[Node] = set()  # the nodes whose values depend on the inputs
        self.outer: Any = None
        self.bodies: dict[Graph, Any] = {}  # of nodes with sub-graphs: the tracers that captured those
        self.body_symbols = 0  # how many symbols those have
        self.sequences: dict[int, Any] = {}  # by id: lists to which a captured loop has appended
        self.without_values = False  # whether the inputs have shapes and no data: the program is followed, and nothing computed
        self.fake_tensors = FakeTensors(self)
        self.decisions: list[tuple[str, Any, Any, Any]] = []  # comparisons of sizes in the program's own code, with their source lines
        self.refusing = False  # whether calls of Python functions and dicts of scripts are errors

    # -- being on ------------------------------------------------------------------------------------------------

    def __enter__(self) -> Tracer:
        self.outer = state.capture
        state.capture = self
        state.interceptors.append(self)
        flags.enter()
        self.notice, symbolic.escape.notice = symbolic.escape.notice, self.size_escaped
        self.deciding, symbolic.escape.decided = symbolic.escape.decided, self.size_decided
        return self

    def __exit__(self, *exception: Any) -> None:
        symbolic.escape.notice = self.notice
        symbolic.escape.decided = self.deciding
        flags.leave()
        state.interceptors.remove(self)
        state.capture = self.outer

    def release(self) -> None:
        """Release everything, when the graph is finished: parts of a tracer refer to it, and would stay alive until the garbage collector runs."""
        self.__dict__.clear()

    # -- inputs --------------------------------------------------------------------------------------------------

    def input(self, tensor: Any, name: str, dynamic: Callable[[int], str | None] = lambda dim: None) -> Node:
        """A placeholder for a tensor; ``dynamic`` gives the symbol of a dynamic dimension, or None."""
        node = self.graph.placeholder(name)
        self.add_input(tensor, node, dynamic)
        return node

    def can_take(self, tensor: Any) -> bool:
        """Whether a tensor that was not seen yet is an input when it is first used."""
        return False

    def note_grad_mode(self) -> None:
        """Called before a node is recorded; nothing here."""

    def add_input(self, tensor: Any, node: Node, dynamic: Callable[[int], str | None] = lambda dim: None) -> None:
        """The same for a node that is there already."""
        shape: list[int] = []
        for dim, size in enumerate(tensor._array.shape):
            symbol = dynamic(dim)
            shape.append(size if symbol is None else self.new_symbol(node, dim, size, symbol))
        self.depends.add(node)
        self.given.add(id(tensor))
        self.bind(tensor, node, tuple(shape))

    def bind(self, tensor: Any, node: Node, shape: tuple[int, ...] | None = None) -> None:
        """From here on a tensor is the value of this node."""
        array = tensor._array
        if array.__class__ in SPARSE:
            raise CaptureError("a sparse tensor is more than its shape: it can't be part of a graph")
        if shape is None:
            shape = array.shape
        if array.__class__ is Spec and array._strides is None and array.device is not None and shape is array.shape:
            node.meta["val"] = array
        else:
            node.meta["val"] = Spec(shape, array.dtype, device=(array.__class__ is Spec and array.device) or device_of(array))
        if array.__class__ is QuantizedArray:
            node.meta["quantizer"] = array.quantizer
        self.entries[id(tensor)] = self.aliases.track(tensor, node, shape)
        if node not in self.depends and array.__class__ is not Spec:
            self.known[node] = tensor

    def tensor_of(self, name: str) -> Any:
        """The parameter or buffer of a name."""
        return self.by_name[name]

    def shape_of(self, tensor: Any) -> tuple[int, ...]:
        """The sizes of a tensor, symbolic ones by their formulas."""
        entry = self.entries.get(id(tensor))
        return tensor._array.shape if entry is None else entry.shape

    def is_traced(self, tensor: Any) -> bool:
        """Whether a tensor's value depends on the inputs of the capture."""
        entry = self.entries.get(id(tensor))
        return entry is not None and entry.node in self.depends

    # -- values as they are recorded ---------------------------------------------------------------------------

    def node_of(self, tensor: Any) -> Node:
        """The node whose value a tensor is; parameters and constants get one when they are first seen."""
        aliases = self.aliases
        if aliases.doubtful:
            aliases.check(tensor)
        entry = self.entries.get(id(tensor))
        if entry is not None and not (self.functional and aliases.versions and tensor._storage is not None and aliases.stale(entry)):
            return entry.node
        if self.functional or entry is None:
            node = aliases.find(tensor)
            if node is not None:
                return node
        name = self.attributes.get(id(tensor), (None,))[0]
        if name is None:
            if tensor._array.__class__ is Spec and (self.without_values or self.on_fake_tensors):
                raise CaptureError("a tensor without data that no op has made")
            name = f"_tensor_constant{len(self.constants)}"
            self.constants[name] = tensor
        node = self.graph.get_attr(name)
        node.meta["source"], node.meta["module"] = self.where()
        self.bind(tensor, node)
        return node

    def argument(self, value: Any) -> Any:
        """An argument with nodes in place of tensors and sizes."""
        if isinstance(value, TensorBase):
            return self.node_of(value)
        if isinstance(value, (SymbolicInt, SymbolicFloat)):
            return self.number_node(value) if symbolic.escape.compared is None else value
        if isinstance(value, (tuple, list)):
            if id(value) in self.sequences:
                raise CaptureError("a list whose length depends on the inputs can be indexed, stacked and concatenated, and nothing else")
            values = [self.argument(each) for each in value]
            if hasattr(value, "_fields"):
                return tuple.__new__(type(value), values)  # type: ignore[type-var]  # its own may check tensors
            return values if isinstance(value, list) else tuple(values)
        if isinstance(value, dict):
            return {key: self.argument(each) for key, each in value.items()}
        if isinstance(value, slice):
            return slice(self.argument(value.start), self.argument(value.stop), self.argument(value.step))
        return value

    def where(self) -> tuple[Any, str]:
        """The user's line that is running now, and the path of the module."""
        if self.origin is not None:
            return self.origin.get("source"), self.origin.get("module", "")
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(_HOUSE):
            frame = frame.f_back
        path = self.modules[-1] if self.modules else ""
        if frame is None:
            return None, path
        return (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name), path

    # -- ops -----------------------------------------------------------------------------------------------------

    def __call__(self, op: Op, args: tuple[Any, ...], out: Any) -> Any:
        """An op is being called: record it, then run it (as an interceptor, with this tracer off)."""
        if state.transforms and any(each._value is not None for each in tensors_in(args)):
            return NotImplemented  # a composite that vmap leaves to its body
        if self.functional and op.of_storage:
            return NotImplemented  # values have no strides: what its body calls has them as arguments
        if takes_factors.of(op) and any(each._array.dtype.kind == "f" for each in tensors_in(args[1:])):
            return NotImplemented  # sizes follow from the values of these tensors: its body says how
        state.capture = None
        try:
            if self.symbols and changes_shape.of(op):
                self.read_sizes(args[0])
            args = tuple(
                [
                    (self.sized(value) if each.kind == "value" else self.all_tensors(value) if each.kind == "tensors" else value)
                    if value.__class__ not in PLAIN
                    else value
                    for each, value in zip(op.parameters, args)
                ]
            )
            recorded = tuple([self.argument(value) for value in args])
            in_place = op.functional is not None
            if in_place:
                self.aliases.doubt(args[0])
            if in_place and self.functional:
                return self.write(op, args, recorded)
            keywords: dict[str, Any] = {}
            if out is not None and not self.functional:
                keywords["out"] = self.argument(out)
            given = self.fake_tensors.given(op, args) if self.without_values else args
            if given is args:
                result = self.compute(op, given, out)
            else:
                with fake_mode():
                    result = self.compute(op, given, out)
                if op.view and isinstance(result, TensorBase):
                    keep_formulas(op, args, result)
            node = self.emit(op, recorded, keywords)
            self.results(op, args, recorded, node, result)
            if out is not None and self.functional:
                for target in out if isinstance(out, (tuple, list)) else (out,):
                    self.aliases.written(target, self.entries[id(target)])
            return result
        finally:
            state.capture = self

    def all_tensors(self, values: Any) -> Any:
        """A list of tensors in which sizes stand, as a program has it that is written for PyTorch's tracer: there sizes are tensors."""
        if not isinstance(values, (list, tuple)) or not any(isinstance(each, SymbolicInt) or each.__class__ is int for each in values):
            return values
        return [self.size_tensor(each) if isinstance(each, int) and not isinstance(each, bool) else each for each in values]

    def size_tensor(self, size: int) -> Any:
        """A size as a tensor without dimensions."""
        op = lookup("scalar_tensor")
        made = dispatch(op, bind(op, (int.__int__(size),), {"dtype": BY_NAME["int64"]}))
        self.bind(made, self.emit(op, bind(op, (self.argument(size),), {"dtype": BY_NAME["int64"]})))
        return made

    def compute(self, op: Op, args: tuple[Any, ...], out: Any) -> Any:
        """The result of an op."""
        return dispatch(op, args, out) if op.functional is None else dispatch_in_place(op, args)

    def derive(self, name: str, *recorded: Any) -> Node:
        """A node for an op that the program did not call: its shape and dtype come from fake tensors."""
        op = lookup(name)
        node = self.emit(op, bind(op, recorded, {}))

        def fake(value: Any) -> Any:
            if isinstance(value, Node):
                found = value.meta["val"]
                return make(spec_of(found)) if isinstance(found, Spec) else found
            return type(value)(fake(each) for each in value) if isinstance(value, (tuple, list)) else value

        values = tuple([fake(each) for each in bind(op, recorded, {})])
        enabled, state.grad_enabled = state.grad_enabled, False
        listening, state.interceptors = state.interceptors, []  # a node may be asked for outside of a call that is recorded
        try:
            array = dispatch(op, values)._array
        finally:
            state.grad_enabled, state.interceptors = enabled, listening
        node.meta["val"] = Spec(array.shape, array.dtype, device=array.device)
        return node

    def emit(self, op: Op, recorded: tuple[Any, ...], keywords: dict[str, Any] | None = None) -> Node:
        """A node for a call of an op on complete arguments."""
        if self.functional and reshapes.of(op) and not any(hasattr(each, "numpy") for each in (*recorded[1], *recorded[2:])):
            # Where nothing is written to, whether memory is shared does not matter; and its strides may differ.
            op, recorded = lookup("reshape"), (recorded[0], tuple(recorded[1]))
        source, module = self.where()
        positional, named = canonical(op, recorded)
        node = self.graph.call_function(op.call, positional, {**named, **(keywords or {})})
        node.meta["source"], node.meta["module"] = source, module
        if not self.depends.isdisjoint(node.all_input_nodes) or node.is_impure() and (self.functional or draws(op)):
            self.depends.add(node)
        return node

    def results(self, op: Op, args: tuple[Any, ...], recorded: tuple[Any, ...], node: Node, result: Any) -> None:
        """Tie the results of a call to its node."""
        if isinstance(result, TensorBase):
            sized = result._array.__class__ is Spec and not self.without_values  # its sizes are formulas already
            shapes = None if sized else self.shapes(op, args, recorded, node, result)
            if op.view and not op.vjp and self.functional and result is not args[0]:
                self.aliases.cut(result, args[0])
            self.bind(result, node, shapes)
        elif isinstance(result, (tuple, list)):
            self.parts(node, result, self.shapes(op, args, recorded, node, result))
        else:
            node.meta["val"] = result
            if node in self.depends and op.data_dependent:  # others look at types alone
                self.escaped(op.public_name, "its result is a Python value")

    def parts(self, node: Node, result: Any, shapes: Any) -> None:
        """Tie each of several results to a node of its own; they may be nested, as those of ``histogramdd`` are."""
        specs: list[Any] = []
        for index, each in enumerate(result):
            if isinstance(each, TensorBase):
                part = self.part(node, index, True)
                self.bind(each, part, shapes[index] if shapes is not None else None)
                specs.append(part.meta["val"])
            elif isinstance(each, (tuple, list)):
                part = self.part(node, index, True)
                self.parts(part, each, None)
                specs.append(part.meta["val"])
            else:
                specs.append(None)
        node.meta["val"] = tuple(specs)

    def write(self, op: Op, args: tuple[Any, ...], recorded: tuple[Any, ...]) -> Any:
        """Functionalize an in-place op: its functional form makes a new value, which the target is from here on."""
        functional = op.functional
        assert functional is not None
        target = args[0]
        before = self.shape_of(target)
        dtype = target._array.dtype
        for tensor in {id(each): each for each in (target, self.aliases.origin(target)[0])}.values():
            self.keep_constant(tensor)
        dispatch_in_place(op, self.fake_tensors.given(op, args) if self.without_values else args)
        result = target
        node = self.emit(functional, recorded)
        shapes = self.shapes(functional, args, recorded, node, result)
        shape = shapes if isinstance(shapes, tuple) and len(shapes) == len(before) else before
        found = result_type(functional, args)
        node.meta["val"] = Spec(shape, found or dtype, device=device_of(target._array))
        if found is not None and found != dtype:
            node = self.derive("cast", node, BY_NUMPY[dtype])
        self.bind(target, node, shape)
        self.aliases.written(target, self.entries[id(target)])
        return result

    def read_sizes(self, tensor: Any) -> None:
        """Read the symbolic sizes of a tensor off it now, before its shape changes in place."""
        for size in self.shape_of(tensor):
            for name in size.expression.symbols() if isinstance(size, SymbolicInt) else ():
                self.symbol_node(name)

    def copied(self, copy: Any, tensor: Any) -> None:
        """A fake tensor has been made that keeps the value of another, which is about to be written to."""
        self.bind(copy, self.node_of(tensor), self.shape_of(tensor))

    def reshaped(self, tensor: Any, seen: Any) -> None:
        """A tensor has become, in place, what a view of it is: it has another shape or other strides."""
        if not self.functional:
            return
        if id(tensor) in self.given:
            raise CaptureError("the shape of an input is changed in place: view or clone() it instead")
        if tensor._view is None and self.aliases.others(tensor, seen):
            raise CaptureError("the shape of a tensor is changed in place while views of it are there: view or clone() it instead")
        self.bind(tensor, self.entries[id(seen)].node, self.shape_of(seen))
        self.aliases.forget(seen)

    def detached(self, tensor: Any, seen: Any) -> None:
        """A tensor has been taken out of the gradient graph in place: from here on it is what ``detach`` gave of it."""
        self.bind(tensor, self.entries[id(seen)].node, self.shape_of(seen))
        self.aliases.forget(seen)

    def keep_constant(self, tensor: Any) -> None:
        """Before a write: a node that is a constant of the capture keeps the elements it has."""
        entry = self.entries.get(id(tensor))
        array = tensor._array
        if entry is None or array.__class__ is Spec or self.known.get(entry.node) is not tensor:
            return
        before: Any = make(array.copy())
        self.known[entry.node] = before
        if entry.node.op == "get_attr" and self.constants.get(entry.node.target) is tensor:
            self.constants[entry.node.target] = before

    def part(self, node: Node, index: int, several: bool) -> Node:
        """One of several results of a node, as a node."""
        if not several:
            return node
        for user in node.users:
            if user.target is operator.getitem and user.args[1] == index:
                return user
        part = self.graph.call_function(operator.getitem, (node, index))
        part.meta["source"], part.meta["module"] = node.meta["source"], node.meta["module"]
        if node in self.depends:
            self.depends.add(part)
        return part

    # -- custom Functions ----------------------------------------------------------------------------------------

    def function(self, function: Any, args: tuple[Any, ...]) -> Any:
        """A custom Function is being applied: one node, or the nodes of its body."""
        if not self.keep_function(function):
            return NotImplemented
        state.capture = None
        try:
            recorded = self.argument(tuple(args))
            node = self.graph.call_function(function.apply, recorded)
            node.meta["source"], node.meta["module"] = self.where()
            node.meta["function"] = function
            if any(each in self.depends for each in node.all_input_nodes):
                self.depends.add(node)
            result = function.apply(*args)
            self.function_results(node, result)
            return result
        finally:
            state.capture = self

    def function_results(self, node: Node, result: Any) -> None:
        """Tie the outputs of a Function to its node: what a size of theirs follows from is not known."""
        several = isinstance(result, (tuple, list))
        dynamic = bool(self.symbols)
        specs: list[Any] = []
        for index, each in enumerate(result if several else (result,)):
            if not isinstance(each, TensorBase):
                specs.append(None)
                continue
            part = self.part(node, index, several)
            shape = each._array.shape
            if dynamic and node in self.depends:
                shape = tuple([self.new_symbol(part, dim, size) for dim, size in enumerate(shape)])
            self.bind(each, part, shape)
            specs.append(part.meta["val"])
        if several:
            node.meta["val"] = tuple(specs)

    # -- what leaves the graph -------------------------------------------------------------------------------------

    def size_escaped(self, kind: str, size: Any) -> None:
        """``int(size)`` in the user's code specializes a symbolic size."""
        if state.capture is self and not sys._getframe(3).f_code.co_filename.startswith(PACKAGE_FOLDER):
            self.warn(f"{kind}()", f"the size {getattr(size, 'expression', 'computed here')} may differ")

    def size_decided(self, how: str, a: Any, b: Any) -> None:
        """The user's code compares sizes: it is noted, and of one that depends on data, what follows holds for this outcome alone."""
        frame = sys._getframe(3)
        caller = frame.f_back if frame.f_code in BUILTINS else frame
        if state.capture is not self or symbolic.escape.inferring or caller is None or caller.f_code.co_filename.startswith(PACKAGE_FOLDER):
            return
        for size in (a, b):
            for name in size.expression.symbols() if isinstance(size, SymbolicInt) else ():
                if name in self.symbols and self.symbols[name].source.op != "placeholder":
                    self.warn(f"a comparison ({how})", f"the size {size.expression} depends on data")
                    return
        self.decisions.append((how, a, b, self.where()[0]))

    def length_escaped(self, tensor: Any) -> int:
        """``len(tensor)``, which can only be a plain number."""
        size = self.shape_of(tensor)[0]
        if isinstance(size, SymbolicInt):
            self.warn("len() of a tensor", f"the size {size.expression} may differ")
        return int.__int__(size)

    def value_escaped(self, tensor: Any, how: str) -> Any:
        """A tensor's value becomes a Python value: None, or the symbolic number that stands for it."""
        if self.is_traced(tensor):
            self.escaped(how, "its value depends on the inputs")
        return None

    def slice_bound(self, tensor: Any) -> int | None:
        """The size that a tensor is as the bound of a slice, where it depends on the inputs."""
        known = tensor._array.__class__ is not Spec or self.without_values
        if not known or tensor._array.dtype.kind not in "iu" or tensor._array.size != 1 or not self.is_traced(tensor):
            return None
        return self.size_from(tensor.reshape(()) if tensor._array.ndim else tensor)

    def number_to_write(self, value: Any, target: Any) -> Any:
        """What ``target[...] = value`` writes, where a value is a number."""
        return value

    def left_as_it_is(self, tensor: Any, dtype: Any) -> None:
        """``tensor.to(dtype)`` is the tensor itself; nothing is recorded."""

    def constant_result(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a function that is marked as constant: a call like any other, unless a capture keeps its promise."""
        return function(*args, **kwargs)

    def elements(self, tensor: Any) -> Any:
        """The elements of a tensor as Python values, where they can be guarded; a capture without guards can't."""
        return NotImplemented

    def list_escaped(self, tensor: Any) -> Any:
        """A tensor's elements become Python values: None, or what stands for them where they must not be used."""
        try:
            self.value_escaped(tensor, "tolist()")
        except RushlightError as error:
            if not self.refusing:
                raise
            state.capture = None
            try:
                return UnreadList(tensor.tolist(), error)
            finally:
                state.capture = self
        return None

    def warn(self, how: str, why: str) -> None:
        """Warn where the capture holds as a constant what may differ in another run."""
        source, _ = self.where()
        what = _PYTHON_VALUES.get(how)
        message = "" if what is None else f"Converting a tensor to a {what} might cause the trace to be incorrect. "
        message += (
            f"{how} gives a Python value while the program is captured ({why}): the capture holds it as a constant, and might not be right "
            "for other inputs"
        )
        if source is None:
            warnings.warn(message, TracerWarning, stacklevel=2)
        else:  # as if the user's line had warned
            warnings.warn_explicit(message, TracerWarning, source[0], source[1])


_PYTHON_VALUES = {
    "int()": "Python integer", "float()": "Python float", "bool()": "Python boolean", "tolist()": "Python list", "numpy()": "NumPy array",
    "a choice by the truth of a tensor": "Python boolean", "int() of a tensor": "Python integer", "float() of a tensor": "Python float", "bool() of a tensor": "Python boolean",
}  # fmt: skip


def result_type(op: Op, args: tuple[Any, ...]) -> Any:
    """The dtype of the result of an op, where its family can tell."""
    if op.family is None:
        return None

    def array(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return type(value)(array(each) for each in value)
        return value._array if isinstance(value, TensorBase) else value

    return getattr(op.meta(op, [array(each) for each in args]), "dtype", None)


def tensors_in(value: Any) -> list[Any]:
    """All tensors in nested containers, in order."""
    if isinstance(value, TensorBase):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [tensor for each in value for tensor in tensors_in(each)]
    return []


__all__ = ["TracedTensor", "Symbol", "Tracer", "TracerWarning", "as_size", "tensors_in"]
