"""The node builder: what ``onnx=`` facets of ops and ``symbolic`` functions of users call ``g``.

``g.op("Add", x, y)`` makes a node of any domain, with attributes by suffix (``axis_i=1``, ``value_t=tensor``); ``g.Add(x, y)`` is
the same with attributes as they are.  Numbers, lists and arrays among the inputs become constants, of the type of the first
tensor beside them.  What follows from constants alone is computed at once, and no node is made twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.base import TensorBase
from ..core.dtypes import BY_NUMPY, dtype
from ..core.symbolic import Expression, SymbolicFloat, SymbolicInt, float_symbol, is_symbolic
from .errors import OnnxExporterError, UnsupportedOperatorError
from .ir import NO_PYTHON, OnnxGraph, OnnxNode, OnnxValue
from .onnxscript_functions import written_out
from .schemas import first_opset, typed_results, widened
from .types import NUMPY_TYPES, onnx_type

_INT64, _BOOL, _FLOAT32 = np.dtype(np.int64), np.dtype(np.bool_), np.dtype(np.float32)
SMALL = 1 << 12  # elements: a constant up to this size is a Constant node, a larger one is stored as an initializer
_RANDOM = frozenset("RandomNormal RandomNormalLike RandomUniform RandomUniformLike Multinomial Bernoulli Dropout".split())
_POINTWISE = frozenset(
    "Abs Acos Acosh Add And Asin Asinh Atan Atanh BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast Ceil Clip Cos Cosh Div "
    "Equal Erf Exp Floor Greater GreaterOrEqual IsInf IsNaN Less LessOrEqual Log Max Min Mod Mul Neg Not Or Pow Reciprocal Relu "
    "Round Sigmoid Sign Sin Sinh Softplus Sqrt Sub Tan Tanh Where Xor".split()
)


class NodeBuilder:
    """Makes nodes in a graph for one opset."""

    def __init__(self, opset: int, folding: bool = True) -> None:
        self.opset = opset
        self.folding = folding
        self.graph = OnnxGraph()
        self.params_dict: dict[str, Any] = {}  # the arrays of the initializers
        self.source: Any = None  # of the nodes that are made: the user's line
        self.module = ""
        self.symbol_values: dict[str, OnnxValue] = {}
        self.symbol_sources: Callable[[str], OnnxValue] | None = None
        self.symbol_places: Callable[[str], tuple[OnnxValue, int | None]] | None = None
        self.operators: Callable[[str, tuple[Any, ...], dict[str, Any]], Any] | None = None  # the nodes of PyTorch's operators, by name
        self.follow: Callable[..., Any] = _no_export  # the nodes of what a function does with values
        self.versions: dict[str, int] = {}  # of the domains of nodes, where those say it
        self._made: dict[Any, list[OnnxValue]] = {}
        self._placed: dict[Any, OnnxValue] = {}
        self._names: dict[str, int] = {}
        self.input_quantizers: dict[
            int, tuple[Any, Any, Any]
        ] = {}  # by id: quantizers of inputs, with their scale and zero point as values
        self.unrounded = False  # whether a quantized op inside a decomposed one has left rounding to the outer op
        self.outputs: tuple[Any, ...] = ()  # of the op that is being lowered: the specs of its results
        self.keeps_aten = False  # whether ops without a node of their own may stay PyTorch's

    # -- names ---------------------------------------------------------------------------------------------------

    def fresh(self, name: str) -> str:
        """A name that no other value or node has."""
        count = self._names.get(name)
        if count is None:
            self._names[name] = 0
            return name
        while True:
            count += 1
            self._names[name] = count
            if f"{name}_{count}" not in self._names:
                self._names[f"{name}_{count}"] = 0
                return f"{name}_{count}"

    # -- constants -----------------------------------------------------------------------------------------------

    def constant(self, data: Any, dtype: Any = None) -> OnnxValue:
        """A value that is known now; it becomes a Constant node when something uses it."""
        if not isinstance(data, np.ndarray):
            kind = self.numpy_type(dtype, data)
            wraps = isinstance(data, int) and data < 0 and kind.kind == "u"  # in an unsigned type, as when it is cast
            data = np.asarray(data).astype(kind) if wraps else np.asarray(data, kind)
        array = data
        if dtype is not None and array.dtype != self.numpy_type(dtype):
            array = array.astype(self.numpy_type(dtype))
        value = OnnxValue(None, array.dtype, array.shape)
        value.constant = array
        return value

    def numpy_type(self, dtype_: Any, data: Any = None) -> np.dtype[Any]:
        """NumPy's type of a dtype in any spelling; without one, that of Python numbers in tensors."""
        if dtype_ is None:
            if isinstance(data, (list, tuple)) and not data:
                return _INT64
            kind = np.asarray(data).dtype.kind
            return _INT64 if kind in "iu" else (_BOOL if kind == "b" else _FLOAT32)
        if isinstance(dtype_, OnnxValue):
            return dtype_.dtype  # type: ignore[no-any-return]
        if isinstance(dtype_, dtype):
            return dtype_.numpy
        return NUMPY_TYPES[dtype_] if isinstance(dtype_, int) else np.dtype(dtype_)

    def initializer(self, name: str, array: np.ndarray, foldable: bool) -> OnnxValue:
        """A tensor that is stored in the file under a name: a complex one as pairs of real numbers."""
        if array.dtype.kind == "c":
            value = self.complex(self.initializer(name, np.stack([array.real, array.imag], -1), foldable))
            value.constant = array if foldable else None
            return value
        return self.stored(name, array, foldable)

    def stored(self, name: str, array: np.ndarray, foldable: bool) -> OnnxValue:
        """A tensor that is stored in the file as it is."""
        name = self.fresh(name)
        value = OnnxValue(None, array.dtype, array.shape, name)
        if foldable:
            value.constant = array
        self.graph.initializers[name] = value
        self.params_dict[name] = array
        return value

    def place(self, value: OnnxValue) -> OnnxValue:
        """A constant as something that nodes can refer to."""
        array = value.constant
        if value.name or value.owner is not None or array is None:
            return value
        if array.size > SMALL:
            key: Any = ("large", id(array))
        else:
            key = (array.dtype.str if array.dtype.kind != "V" else BY_NUMPY[array.dtype].name, array.shape, array.tobytes())
        found = self._placed.get(key)
        if found is None:
            if array.size > SMALL or (self.opset < 9 and array.dtype.kind != "f"):  # there Constant has none but floats
                found = self.initializer("constant", array, True)
            else:
                onnx_type(array.dtype, self.opset)
                found = self._node("onnx::Constant", [], {"value": array}, 1)[0]
                found.dtype, found.shape, found.constant = array.dtype, array.shape, array
            self._placed[key] = found
        return found

    # -- numbers that follow from sizes --------------------------------------------------------------------------

    def number(self, value: Any, dtype: Any = None) -> OnnxValue:
        """A number as a value without dimensions: a constant, or computed from the sizes it follows from."""
        if isinstance(value, OnnxValue):
            return value if dtype is None else self.cast(value, dtype)
        if isinstance(value, SymbolicFloat):
            return self._float(value, np.dtype(np.float64) if dtype is None else self.numpy_type(dtype))
        if not isinstance(value, SymbolicInt):
            return self.constant(value, dtype)
        names = {"+": "Add", "*": "Mul", "//": "Div", "%": "Mod", "max": "Max", "min": "Min"}
        functions = {sign: self._arithmetic(name) for sign, name in names.items()}
        symbols = {name: self.symbol(name) for name in value.expression.symbols()}
        made = value.expression.evaluate(symbols, functions)
        if not isinstance(made, OnnxValue):
            made = self.constant(made, _INT64)
        return made if dtype is None else self.cast(made, dtype)

    def _arithmetic(self, name: str) -> Callable[[Any, Any], OnnxValue]:
        def compute(a: Any, b: Any) -> OnnxValue:
            first, second = (each if isinstance(each, OnnxValue) else self.constant(each, _INT64) for each in (a, b))
            if name in ("Max", "Min") and self.opset < 12:  # not of integers
                made: OnnxValue = self.op("Where", self.op("Greater" if name == "Max" else "Less", first, second), first, second)
            elif name == "Mod" and self.opset < 10:
                made = self.op("Sub", first, self.op("Mul", self.op("Div", first, second), second))
            else:
                made = self.op(name, first, second)
            made.shape = ()
            return made

        return compute

    def _float(self, value: Any, wanted: np.dtype[Any]) -> OnnxValue:
        if isinstance(value, SymbolicFloat) and value.function is float_symbol:
            return self.cast(self.symbol(value.arguments[0]), wanted)
        if isinstance(value, SymbolicFloat):
            names = {"add": "Add", "sub": "Sub", "mul": "Mul", "truediv": "Div", "pow": "Pow", "floordiv": "Div"}
            first, second = (self._float(each, wanted) for each in value.arguments)
            made: OnnxValue = self.op(names[value.function.__name__], first, second)
            if value.function.__name__ == "floordiv":
                made = self.op("Floor", made)
            made.shape = ()
            return made
        return self.number(value, wanted)

    def symbol(self, name: str) -> OnnxValue:
        """The value of a symbol: the size of a dimension, read off a shape."""
        found = self.symbol_values.get(name)
        if found is None:
            assert self.symbol_sources is not None
            found = self.symbol_values[name] = self.symbol_sources(name)
        return found

    # -- nodes ---------------------------------------------------------------------------------------------------

    def cast(self, value: OnnxValue, dtype: Any) -> OnnxValue:
        """A value in another element type."""
        wanted = self.numpy_type(dtype)
        if value.dtype == wanted:
            return value
        if value.dtype is not None and "c" in (value.dtype.kind, wanted.kind):
            raise UnsupportedOperatorError("Cast", self.opset, None, "ONNX has no complex arithmetic")
        if value.constant is not None:
            return self.constant(value.constant.astype(wanted))
        made: OnnxValue = self.op("Cast", value, to_i=onnx_type(wanted, self.opset))
        made.dtype, made.shape = wanted, value.shape
        return made

    def op(self, kind: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> Any:
        """Make a node; a value for one output, a tuple for several.  Attributes carry a suffix: ``axis_i=0``."""
        named: dict[str, Any] = {}
        for key, value in attributes.items():
            name, _, suffix = key.rpartition("_")
            if not name or suffix not in ("i", "f", "s", "t", "g", "is", "fs", "ss", "ts", "z"):
                raise ValueError(f"the attribute '{key}' of {kind} needs a suffix that says its type: {key}_i, {key}_f, {key}_s or {key}_t")
            named[name] = _attribute(value, suffix)
        return self.make(kind, inputs, named, outputs)

    def operator(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """The nodes of one of PyTorch's operators (``"layer_norm"``), called by its schema."""
        if self.operators is None:
            raise UnsupportedOperatorError(name, self.opset, None, f"aten::{name} can be called in the graph of an export only")
        return self.operators(name, args, kwargs)

    def onnxscript_op(self, function: Any, /, *args: Any, outputs: int = 1, **attributes: Any) -> Any:
        """The nodes of a function written with onnxscript; attributes carry a suffix: ``alpha_f=0.5``."""
        return written_out(self, function, *args, **{name.rpartition("_")[0]: value for name, value in attributes.items()})

    def at(self, operator: str, *args: Any, overload_name: str = "", **kwargs: Any) -> Any:
        """Make a node that stands for one of PyTorch's own ops."""
        return self.op("aten::ATen", *args, operator_s=operator, overload_name_s=overload_name, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if not name[:1].isupper():
            raise AttributeError(f"'{type(self).__name__}' has no attribute '{name}'")

        def call(*inputs: Any, outputs: int = 1, **attributes: Any) -> Any:
            return self.make(name, inputs, {key: _attribute(value, "") for key, value in attributes.items() if value is not None}, outputs)

        return call

    def make(self, kind: str, inputs: tuple[Any, ...], attributes: dict[str, Any], outputs: int = 1) -> Any:
        """Make a node, unless it can be computed now or is there already."""
        if "::" not in kind:
            kind = f"onnx::{kind}"
        name = kind[6:] if kind.startswith("onnx::") else ""
        if name:
            self.check_opset(name)
        values = self.inputs(inputs)
        if any(each is not None and each.dtype is not None and each.dtype.kind == "c" for each in values):
            raise UnsupportedOperatorError(
                name, self.opset, None, message="ONNX has no complex arithmetic: write this with real and imaginary parts"
            )
        if name == "Constant" and not values:
            return self.constant(attributes["value"])
        others, back = widened(name, self.opset, [None if each is None else each.dtype for each in values]) if name else ({}, {})
        if others:  # the operation does not take these types: it is computed in another
            values = [self.cast(each, others[at]) if each is not None and at in others else each for at, each in enumerate(values)]
            made = self.make(kind, tuple(values), attributes, outputs)
            results = (made,) if outputs == 1 else made
            results = tuple([self.cast(each, back[at]) if at in back else each for at, each in enumerate(results)])
            return results[0] if outputs == 1 else results
        while values and values[-1] is None:
            values.pop()
        if self.folding and name in FOLDERS and values and all(each is not None and each.constant is not None for each in values):
            folded = FOLDERS[name]([each.constant for each in values], attributes)  # type: ignore[union-attr]
            if folded is not None:
                return self.named_like(folded, name, values, attributes)
        values = [None if each is None else self.place(each) for each in values]
        key = None
        if name and name not in _RANDOM:
            key = (name, tuple(map(id, values)), outputs, tuple((k, _hashable(v)) for k, v in sorted(attributes.items())))
            found = self._made.get(key)
            if found is not None:
                return found[0] if outputs == 1 else tuple(found)
        made = self._node(kind, values, attributes, outputs)
        result_types(name, self.opset, values, attributes, made)
        if key is not None:
            self._made[key] = made
        return made[0] if outputs == 1 else tuple(made)

    def named_like(self, array: np.ndarray, name: str, values: list[Any], attributes: dict[str, Any]) -> OnnxValue:
        """A computed constant; one made from a stored tensor is stored under a name that says so."""
        parents = [each.name for each in values if each is not None and each.name in self.graph.initializers]
        if parents and (array.size > SMALL or array.ndim > 1):
            # Stored tensors live as long as the builder, other constants (an index, say) do not: those count by their elements.
            operands = tuple([each.name or (each.constant.dtype.str, each.constant.shape, each.constant.tobytes()) for each in values])
            key = ("derived", name, operands, tuple((k, _hashable(v)) for k, v in sorted(attributes.items())))
            found = self._placed.get(key)
            if found is None:
                suffix = {"Transpose": "transposed", "Cast": "cast"}.get(name, name.lower())
                found = self._placed[key] = self.initializer(f"{parents[0]}.{suffix}", array, True)
            return found
        return self.constant(array)

    def derived(self, suffix: str, values: list[OnnxValue], compute: Callable[[list[np.ndarray]], np.ndarray]) -> OnnxValue:
        """What follows from constants, computed once and stored under the name of the first with a suffix."""
        key = ("derived", suffix, tuple(values))
        found = self._placed.get(key)
        if found is None:
            array = np.ascontiguousarray(compute([each.constant for each in values]))  # type: ignore[misc]
            found = self._placed[key] = self.initializer(f"{values[0].name or 'constant'}.{suffix}", array, True)
        return found

    def check_opset(self, name: str) -> None:
        """Refuse an operation that the opset does not have."""
        first = first_opset(name)
        if first is None or first > self.opset:
            raise UnsupportedOperatorError(name, self.opset, first)

    def inputs(self, inputs: tuple[Any, ...]) -> list[OnnxValue | None]:
        """Inputs as values: numbers, sizes and arrays take the element type of the first tensor beside them."""
        like = next(
            (each.dtype for each in inputs if isinstance(each, OnnxValue) and each.dtype is not None and each.python is NO_PYTHON), None
        )
        values: list[OnnxValue | None] = []
        for each in inputs:
            if isinstance(each, OnnxValue):
                if each.python is not NO_PYTHON and each.constant is None:
                    values.append(None if each.python is None else self.argument_constant(each.python, like))
                else:
                    values.append(each)
            elif each is None:
                values.append(None)
            elif isinstance(each, np.ndarray):
                values.append(self.constant(each))
            elif isinstance(each, TensorBase):
                values.append(self.constant(each._array))
            elif is_symbolic(each):
                values.append(self.number(each))
            elif isinstance(each, (list, tuple)):
                values.append(self.constant(each) if not any(map(is_symbolic, each)) else self.sizes(each))
            else:
                values.append(self.constant(each, like))
        return values

    def argument_constant(self, value: Any, like: Any) -> OnnxValue:
        """An argument that is no tensor, as a constant."""
        if isinstance(value, (list, tuple)):
            return self.sizes(value)
        return self.number(value, like if isinstance(value, float) and like is not None and like.kind == "f" else None)

    def sizes(self, values: Any) -> OnnxValue:
        """A list of sizes, any of which may be symbolic or a value, as a one-dimensional int64 value."""
        raise NotImplementedError  # in OpsetBuilder

    def _node(self, kind: str, values: list[OnnxValue | None], attributes: dict[str, Any], outputs: int) -> list[OnnxValue]:
        node = OnnxNode(kind, values, attributes, outputs)
        node.source, node.module, node.opset = self.source, self.module, self.opset
        scope = "/" + self.module.replace(".", "/") if self.module else ""
        node.name = self.fresh(f"{scope}/{node.op_type}")
        for index, value in enumerate(node._outputs):
            value.name = self.fresh(f"{node.name}_output_{index}")
        self.graph._nodes.append(node)
        return node._outputs


def _no_export(function: Callable[..., Any], *args: Any) -> Any:
    raise OnnxExporterError("a function can be followed in the graph of an export only")


def _attribute(value: Any, suffix: str) -> Any:
    if isinstance(value, OnnxValue):
        value = value.constant if value.python is NO_PYTHON else value.python
    if isinstance(value, dtype):
        return onnx_type(value.numpy)
    if isinstance(value, np.dtype):
        return onnx_type(value)
    if isinstance(value, TensorBase):
        return value._array
    if suffix == "t":
        return np.asarray(value)
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if suffix in ("f", "fs") and not isinstance(value, str):
        return [float(each) for each in value] if isinstance(value, (list, tuple)) else float(value)
    if isinstance(value, (list, tuple)):
        return [_attribute(each, suffix) for each in value]
    if isinstance(value, SymbolicInt):
        raise ValueError(f"the size {value.expression} is not fixed and can't be an attribute")
    return value


def _hashable(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, list):
        return tuple(map(_hashable, value))
    return id(value) if isinstance(value, OnnxGraph) else (type(value), value)


def result_types(name: str, opset: int, values: list[OnnxValue | None], attributes: dict[str, Any], made: list[OnnxValue]) -> None:
    """Dtypes of a node's outputs: what attributes say, else what ONNX's schema does."""
    if name == "Cast":
        kinds: list[Any] = [NUMPY_TYPES[attributes["to"]]]
    elif name == "ConstantOfShape":
        kinds = [attributes["value"].dtype if "value" in attributes else _FLOAT32]
    elif isinstance(attributes.get("dtype"), int):
        kinds = [NUMPY_TYPES[attributes["dtype"]]]
    else:
        kinds = typed_results(name, opset, [None if each is None else each.dtype for each in values], len(made))
    for value, kind in zip(made, kinds):
        value.dtype = kind
        if name in _POINTWISE:
            value.shape = broadcast([each.shape for each in values if each is not None])


def broadcast(shapes: list[Any]) -> tuple[Any, ...] | None:
    """The shape of a pointwise result, as far as it is known: None for a size that is not."""
    if any(shape is None for shape in shapes):
        return None
    rank = max([len(shape) for shape in shapes], default=0)
    return tuple([_merged([shape[at - rank] for shape in shapes if len(shape) >= rank - at]) for at in range(rank)])


def _merged(sizes: list[Any]) -> Any:
    """The size that sizes broadcast to; one of 1 in the example is taken to be 1 always."""
    sizes = [each for each in sizes if each is None or each != 1] or sizes[:1]
    fixed = [each for each in sizes if type(each) is int]
    return fixed[0] if fixed else sizes[0] if all(each == sizes[0] for each in sizes) else None


def _numpy_axes(axes: Any, rank: int) -> tuple[int, ...]:
    return tuple(sorted(int(each) % rank for each in axes))


def _unsqueeze(arrays: list[Any], attributes: dict[str, Any]) -> Any:
    axes = attributes["axes"] if len(arrays) == 1 else arrays[1].tolist()
    return np.expand_dims(arrays[0], _numpy_axes(axes, arrays[0].ndim + len(axes)))


def _squeeze(arrays: list[Any], attributes: dict[str, Any]) -> Any:
    axes = attributes.get("axes") if len(arrays) == 1 else arrays[1].tolist()
    return np.squeeze(arrays[0], None if axes is None else _numpy_axes(axes, arrays[0].ndim))


def _reshape(arrays: list[Any], attributes: dict[str, Any]) -> Any:
    shape = [arrays[0].shape[at] if size == 0 else size for at, size in enumerate(arrays[1].tolist())]
    return arrays[0].reshape(shape)


def _small(function: Callable[[list[Any], dict[str, Any]], Any]) -> Callable[[list[Any], dict[str, Any]], Any]:
    """Computed now only where that does not make a large constant out of small ones."""

    def fold(arrays: list[Any], attributes: dict[str, Any]) -> Any:
        if max(each.size for each in arrays) > SMALL:
            return None
        result = function(arrays, attributes)
        return np.asarray(result)

    return fold


def _divide(arrays: list[Any], attributes: dict[str, Any]) -> Any:
    a, b = arrays
    if a.dtype.kind in "iu":
        return None if (b == 0).any() else (np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))).astype(a.dtype)
    return a / b


def _power(arrays: list[Any], attributes: dict[str, Any]) -> Any:
    return np.power(arrays[0], arrays[1]).astype(arrays[0].dtype)


# What is computed at once where all inputs are constants.  What only moves elements gives views of them.
FOLDERS: dict[str, Callable[[list[Any], dict[str, Any]], Any]] = {
    "Cast": _small(lambda arrays, attributes: arrays[0].astype(NUMPY_TYPES[attributes["to"]])),
    "Transpose": lambda arrays, attributes: arrays[0].transpose(attributes.get("perm")),
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Reshape": _reshape,
    "Identity": lambda arrays, attributes: arrays[0],
    "Shape": lambda arrays, attributes: np.asarray(arrays[0].shape[attributes.get("start", 0) : attributes.get("end")], np.int64),
    "Concat": _small(lambda arrays, attributes: np.concatenate(arrays, attributes["axis"])),
    "Gather": _small(lambda arrays, attributes: np.take(arrays[0], arrays[1], attributes.get("axis", 0))),
    "Add": _small(lambda arrays, attributes: arrays[0] + arrays[1]),
    "Sub": _small(lambda arrays, attributes: arrays[0] - arrays[1]),
    "Mul": _small(lambda arrays, attributes: arrays[0] * arrays[1]),
    "Div": _small(_divide),
    "Pow": _small(_power),
    "Neg": _small(lambda arrays, attributes: -arrays[0]),
    "Sqrt": _small(lambda arrays, attributes: np.sqrt(arrays[0])),
    "Exp": _small(lambda arrays, attributes: np.exp(arrays[0])),
}


def expression_of(value: Any) -> Expression | None:
    """The formula of a size, or None for one that has none."""
    return Expression.of(value) if isinstance(value, int) else None
