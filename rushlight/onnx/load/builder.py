"""From the nodes of a file to the nodes of a graph: each calls the importer of its operator, and functions are written out."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.errors import RushlightError
from ...nn.parameter import Parameter
from ...tensor.construct import from_numpy
from ..errors import ModelFileError, UnsupportedModelError
from ..files import first_line
from ..types import ONNX_NUMBERS
from .numbers import HELD, LONGEST, MOST, count_of, element_type
from .operators import CountOf, NumericOperator, OnnxOperator, SizesOf
from .order import in_order
from .reading import ModelSource
from .registry import STANDARD, NodeContext, find, numeric
from .scope import MISSING, GraphScope, NamedValue, Scope
from .strings import Strings

DEEPEST = 64  # functions in functions, and bodies in bodies
MOST_NODES = 200_000  # of functions that are written out: functions that call others twice make more than any file has
CONSTANT = "_constant_"
_STATISTICS = {"BatchNormalization": (3, 4)}  # inputs that are no parameters, although they are floating
control: dict[str, Callable[..., None]] = {}  # operators with bodies, which build their nodes themselves (``control_flow.py``)
# Operators whose numbers may be many although their inputs are few: only where all is known, and short.
_GROWING = frozenset(("ConstantOfShape",))
# Operators whose numbers are about as great as those that they are given: the length of a list stays short.
_SHORT = frozenset(("Gather", "Add", "Sub", "Div", "Min", "Max", "Cast", "Identity", "Squeeze", "Unsqueeze", "Slice", "Reshape", "Concat"))
_TRUTHS = frozenset("Equal Less Greater LessOrEqual GreaterOrEqual And Or Xor Not IsNaN IsInf".split())


class ModelBuilder:
    """Builds the graph of a model: its parts are what the nodes of the graph refer to, by path."""

    def __init__(self, source: ModelSource) -> None:
        import onnx

        self.onnx = onnx
        self.source = source
        self.parts: dict[str, Any] = {}
        self.statistics: dict[tuple[str, int], NamedValue] = {}  # of layers that the file gives those of others, by output and input
        self.constants = 0
        self.depth = 0
        self.written = 0  # nodes of functions and bodies
        self.operators: dict[tuple[Any, str, str, int], OnnxOperator] = {}
        self.schemas: dict[tuple[str, str, int], Any] = {}
        self.functions = {(plain(each.domain), each.name, each.overload): each for each in source.model.functions}

    # -- constants and attributes ----------------------------------------------------------------------------------

    def constant(self, array: Any, number: int) -> NamedValue:
        """A constant of the file that is no initializer."""
        path = f"{CONSTANT}{self.constants}"
        self.constants += 1
        self.parts[path] = tensor_from(array)
        return NamedValue(None, numbers_in(array, number), path, number)

    def attribute(self, scope: Scope, attribute: Any, owner: str) -> tuple[Any, Any]:
        """An attribute as a plain value, and as it stands in the graph; tensors are constants of the module."""
        kind = attribute.type
        if kind == 4:
            value = self.constant(self.source.array(attribute.t), attribute.t.data_type)
            return self.parts[value.attribute], scope.tensor(value)
        if kind == 11:
            value = self.constant(self.source.sparse(attribute.sparse_tensor), attribute.sparse_tensor.values.data_type)
            return self.parts[value.attribute], scope.tensor(value)
        if kind == 9:
            values = [self.constant(self.source.array(each), each.data_type) for each in attribute.tensors]
            return [self.parts[each.attribute] for each in values], [scope.tensor(each) for each in values]
        if kind == 13:  # a type, which values here have themselves
            return None, None
        if kind in _FIELDS:
            field, convert = _FIELDS[kind]
            found = convert(getattr(attribute, field))
            return found, found
        raise ModelFileError(f"{owner} has an attribute '{attribute.name}' of the unknown type {kind}")

    def schema(self, domain: str, kind: str, opset: int) -> Any:
        """What the standard says of an operator; None where it does not know it."""
        key = domain, kind, opset
        if key not in self.schemas:
            try:
                self.schemas[key] = self.onnx.defs.get_schema(kind, opset, domain)
            except self.onnx.defs.SchemaError:
                # Tools write operators before the standard has them (LayerNormalization at opset 14): as it has them then.
                later = [
                    each for each in self.onnx.defs.get_all_schemas_with_history() if each.name == kind and plain(each.domain) == domain
                ]
                self.schemas[key] = min(later, key=lambda each: each.since_version, default=None)
        return self.schemas[key]

    # -- nodes -----------------------------------------------------------------------------------------------------

    def nodes(self, scope: Scope, nodes: Any) -> None:
        """Build nodes, values before their uses."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise ModelFileError(f"functions and bodies are nested more than {DEEPEST} deep")
        for node in in_order(nodes):
            if self.depth > 1:
                self.written += 1
                if self.written > MOST_NODES:
                    raise ModelFileError(f"functions and bodies, written out, have more than {MOST_NODES} nodes")
            try:
                self.node(scope, node)
            except (RushlightError, ImportError):
                raise
            except Exception as error:  # whatever values that do not fit the operator lead to
                raise ModelFileError(f"{owner_of(node)} is not valid: {first_line(error)}") from error
        self.depth -= 1

    def node(self, scope: Scope, node: Any) -> None:
        """Build one node."""
        domain, kind = plain(node.domain), node.op_type
        owner = owner_of(node)
        function = self.functions.get((domain, kind, node.overload))
        if function is not None:
            self.expand(scope, node, function, owner)
            return
        # Tools add operators of their own without saying of which version: of the first.
        opset = scope.opsets.get(domain, None if not domain or domain.startswith("ai.onnx") else 1)
        if opset is None:
            raise ModelFileError(f"{owner}: the file does not say which version of the operators of '{node.domain}' it uses")
        schema = self.schema(domain, kind, opset)
        self.check(node, schema, owner)
        if domain == "" and kind == "Constant":
            self.constant_node(scope, node, owner)
            return
        if domain in ("", "ai.onnx.preview.training") and kind in control:
            control[kind](self, scope, node, owner)
            return
        entry = find(domain, kind, opset)
        if entry is None:
            self.expand_schema(scope, node, schema, opset, owner)
            return
        inputs = [None if not each else scope.find(each, owner) for each in node.input]
        if self.statistics and scope.outer is None and _statistics(node):
            inputs = [self.statistics.get((node.output[0], at), each) for at, each in enumerate(inputs)]
        while inputs and inputs[-1] is None:
            inputs.pop()
        if len(inputs) < entry.least or (len(inputs) > len(entry.forms) and not entry.variadic):
            raise ModelFileError(f"{owner} has {len(inputs)} inputs, which the operator does not take at opset {opset}")
        concrete, attributes = self.attributes(scope, node, schema, owner)
        types = tuple([0 if each is None else each.type for each in inputs])
        outputs = list(node.output)
        while len(outputs) > 1 and not outputs[-1]:
            outputs.pop()
        if not outputs:
            raise ModelFileError(f"{owner} has no outputs")
        about = (node.name, len(outputs), types)
        if domain == "" and len(outputs) == 1 and self.on_numbers(scope, kind, opset, inputs, concrete, attributes, about, outputs[0]):
            return
        target = self.operator(OnnxOperator, domain, kind, opset)
        given = [
            None
            if each is None
            else scope.numbers(each)
            if entry.form(position) and scope.has_numbers(each)
            else scope.tensor(each, node.input[position])
            for position, each in enumerate(inputs)
        ]
        if entry.training:
            attributes["in_training"] = scope.graph.get_attr("training")
        made = scope.graph.call_function(target, tuple(given), {**attributes, "node": about}, name=outputs[0] or None)
        for position, name in enumerate(outputs):
            if name:
                part = made if len(outputs) == 1 else scope.graph.call_function(operator.getitem, (made, position), name=name)
                scope.define(name, NamedValue(part, type=self.output_type(scope, kind, name, position, concrete, types)))

    def operator(self, kind: Any, domain: str, name: str, opset: int) -> OnnxOperator:
        """The function of an operator, one for all nodes of a graph."""
        key = kind, domain, name, opset
        found = self.operators.get(key)
        if found is None:
            found = self.operators[key] = kind(domain, name, opset)
        return found  # type: ignore[no-any-return]

    def attributes(self, scope: Scope, node: Any, schema: Any, owner: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """The attributes of a node with the defaults of the standard: their values, and how they stand in the graph."""
        concrete: dict[str, Any] = {}
        made: dict[str, Any] = {}
        for name, known in schema.attributes.items() if schema is not None else ():
            if known.default_value is not None and known.default_value.type:
                concrete[name], made[name] = self.attribute(scope, known.default_value, owner)
        for each in node.attribute:
            concrete[each.name], made[each.name] = self.attribute(scope, each, owner)
        return concrete, made

    def check(self, node: Any, schema: Any, owner: str) -> None:
        """Refuse what the standard does not allow: how many inputs there are, and attributes of other types."""
        if schema is None:
            return
        if not schema.min_input <= len(node.input) <= schema.max_input or not len(node.output) <= schema.max_output:
            raise ModelFileError(f"{owner} has {len(node.input)} inputs and {len(node.output)} outputs, which the operator does not have")
        for each in node.attribute:
            known = schema.attributes.get(each.name)
            if known is None:
                raise ModelFileError(f"{owner} has an attribute '{each.name}', which the operator does not have")
            if each.type != known.type.value:
                raise ModelFileError(f"{owner} has an attribute '{each.name}' of the wrong type")
        given = {each.name for each in node.attribute}
        for name, known in schema.attributes.items():
            if known.required and name not in given:
                raise ModelFileError(f"{owner} lacks the attribute '{name}'")

    def on_numbers(
        self,
        scope: Scope,
        kind: str,
        opset: int,
        inputs: list[Any],
        concrete: dict[str, Any],
        attributes: dict[str, Any],
        about: Any,
        output: str,
    ) -> bool:
        """Build a node on numbers, where all that it takes are numbers; what is known now is computed now."""
        of_numbers = kind == "Shape" and scope.has_numbers(inputs[0]) and not inputs[0].attribute and inputs[0].tensor is None
        if kind in ("Shape", "Size") and not of_numbers:
            target = self.operator(SizesOf if kind == "Shape" else CountOf, "", kind, opset)
            made = scope.graph.call_function(target, (scope.tensor(inputs[0]),), {**attributes, "node": about}, name=output)
            scope.define(output, NamedValue(None, made, type=7))
            return True
        if kind not in numeric or not inputs or any(each is not None and not scope.has_numbers(each) for each in inputs):
            return False
        constant = all(each is None or each.is_constant for each in inputs)
        if kind in _GROWING and not constant and not inputs[0].short:
            return False
        number = element_type(kind, concrete, [each.type for each in inputs if each is not None])
        if kind == "ConstantOfShape" and "value" in concrete:
            number = ONNX_NUMBERS.get(concrete["value"].dtype.name, 0)
        if number not in HELD:
            return False
        target = self.operator(NumericOperator, "", kind, opset)
        given = tuple([None if each is None else scope.numbers(each) for each in inputs])
        if constant and sum(map(count_of, given)) > LONGEST:
            return False  # what is computed now stays short
        if constant:
            context = NodeContext(kind, "", opset, concrete, about[1], about[0], about[2])
            found = numeric[kind](context, *given)
            if found is NotImplemented:
                return False
            scope.define(output, NamedValue(None, found, type=number))
            return True
        made = scope.graph.call_function(target, given, {**attributes, "node": about}, name=output)
        value = NamedValue(None, made, type=number)
        value.short = of_numbers or (kind in _SHORT and all(each is None or each.is_constant or each.short for each in inputs))
        scope.define(output, value)
        return True

    def output_type(self, scope: Scope, kind: str, name: str, position: int, concrete: dict[str, Any], types: tuple[int, ...]) -> int:
        """ONNX's number for the element type of an output, as far as it is known."""
        said = scope.types.get(name)
        if said:
            return said
        if kind == "Cast":
            return int(concrete["to"])
        if kind in _TRUTHS:
            return 9
        if kind in ("ConstantOfShape", "ArgMax", "ArgMin", "NonZero"):
            given = concrete.get("value")
            return 7 if kind != "ConstantOfShape" else 1 if given is None else ONNX_NUMBERS.get(given.dtype.name, 0)
        if kind in ("CastLike", "Where"):
            return types[1]
        if kind == "QuantizeLinear":
            return int(concrete.get("output_dtype") or 0) or (types[2] if len(types) > 2 else 2)
        if kind == "DequantizeLinear":
            return int(concrete.get("output_dtype") or 0) or types[1]
        return types[0] if types and position == 0 else 0

    def constant_node(self, scope: Scope, node: Any, owner: str) -> None:
        """``Constant``."""
        given = [each for each in node.attribute if each.name.startswith(("value", "sparse_value"))]
        if len(given) != 1 or len(node.output) != 1:
            raise ModelFileError(f"{owner} must have one value and one output")
        (each,) = given
        if each.name == "value":
            value = self.constant(self.source.array(each.t), each.t.data_type)
        elif each.name == "sparse_value":
            value = self.constant(self.source.sparse(each.sparse_tensor), each.sparse_tensor.values.data_type)
        else:
            found, _ = self.attribute(scope, each, owner)
            number = {"value_float": 1, "value_floats": 1, "value_int": 7, "value_ints": 7, "value_string": 8, "value_strings": 8}.get(
                each.name, 0
            )
            if not number:
                raise ModelFileError(f"{owner} has no value of a known kind")
            array: Any = Strings(found) if number == 8 else np.array(found, np.float32 if number == 1 else np.int64)
            value = self.constant(array, number)
        scope.define(node.output[0], value)

    # -- functions -------------------------------------------------------------------------------------------------

    def expand(self, scope: Scope, node: Any, function: Any, owner: str) -> None:
        """Write out a function of the model in place of its call."""
        opsets = {plain(each.domain): each.version for each in function.opset_import} or scope.opsets
        self.write_out(scope, node, function, opsets, owner)

    def expand_schema(self, scope: Scope, node: Any, schema: Any, opset: int, owner: str) -> None:
        """Write out an operator that the standard defines as a function."""
        proto = None
        if schema is not None:
            if schema.has_context_dependent_function:
                types = [self.type_of(scope, each).SerializeToString() for each in node.input]
                version = max((each for each in schema.context_dependent_function_opset_versions if each <= opset), default=None)
                if version is not None:
                    content = schema.get_context_dependent_function_with_opset_version(version, node.SerializeToString(), types)
                    proto = self.onnx.FunctionProto.FromString(content) if content else None
            elif schema.has_function:
                version = max((each for each in schema.function_opset_versions if each <= opset), default=None)
                if version is not None:
                    proto = self.onnx.FunctionProto.FromString(schema.get_function_with_opset_version(version))
        if proto is None:
            raise UnsupportedModelError(
                f"{owner} is of an operator that is not known here (opset {opset}); give its function with "
                f"rushlight.onnx.register_op('{node.domain or 'ai.onnx'}::{node.op_type}', function)"
            )
        opsets = {**scope.opsets, **{plain(each.domain): each.version for each in proto.opset_import}}
        self.write_out(scope, node, proto, opsets, owner, schema)

    def type_of(self, scope: Scope, name: str) -> Any:
        """The type of a value as a TypeProto: the element type."""
        made = self.onnx.TypeProto()
        if name:
            made.tensor_type.elem_type = scope.find(name, "a function").type or 1
        return made

    def write_out(self, scope: Scope, node: Any, function: Any, opsets: dict[str, int], owner: str, schema: Any = None) -> None:
        """Build the nodes of a function on the values of its call."""
        if len(node.input) > len(function.input) or len(node.output) > len(function.output):
            raise ModelFileError(f"{owner} gives more inputs or wants more outputs than the function has")
        inner = Scope(scope.frame, opsets)
        for name, given in zip(function.input, node.input):
            if given:
                inner.values[name] = scope.find(given, owner)
        attributes = {each.name: each for each in function.attribute_proto}
        for name, known in schema.attributes.items() if schema is not None else ():
            if known.default_value is not None and known.default_value.type:
                attributes[name] = known.default_value
        attributes.update({each.name: each for each in node.attribute})
        left_out = set(function.input) - set(inner.values)
        self.nodes(inner, [self.filled(each, attributes, left_out) for each in function.node])
        for name, wanted in zip(function.output, node.output):
            if wanted:
                scope.define(wanted, inner.find(name, owner))

    def filled(self, node: Any, attributes: dict[str, Any], left_out: set[str]) -> Any:
        """A node of a function with the attributes of the call in it, also in its bodies."""
        if not any(each.ref_attr_name or each.HasField("g") for each in node.attribute) and not left_out & set(node.input):
            return node
        made = self.onnx.NodeProto()
        made.CopyFrom(node)
        del made.attribute[:]
        for position, name in enumerate(made.input):
            if name in left_out:
                made.input[position] = ""
        for each in node.attribute:
            if each.ref_attr_name:
                given = attributes.get(each.ref_attr_name)
                if given is not None:
                    made.attribute.append(given)
                    made.attribute[-1].name = each.name
                continue
            made.attribute.append(each)
            if each.HasField("g"):
                body = made.attribute[-1].g
                inside = [self.filled(one, attributes, left_out) for one in body.node]
                del body.node[:]
                body.node.extend(inside)
        return made

    # -- graphs ----------------------------------------------------------------------------------------------------

    def note_types(self, scope: Scope, graph: Any) -> None:
        """Keep what the file says of the element types of values."""
        for each in (*graph.value_info, *graph.output):
            number = element_type_of(each.type)
            if number:
                scope.types[each.name] = number

    def body(
        self,
        scope: Scope,
        graph: Any,
        owner: str,
        given: dict[int, NamedValue] | None = None,
        frame: GraphScope | None = None,
        inline: bool = False,
    ) -> tuple[Scope, list[NamedValue]]:
        """The names of a body and what it gives; ``given`` are inputs that are known, ``inline`` puts it into the graph around it."""
        frame = scope.frame if inline else frame or GraphScope(scope.frame)
        inner = Scope(frame, scope.opsets, scope)
        self.note_types(inner, graph)
        for tensor in graph.initializer:
            inner.define(tensor.name, self.constant(self.source.array(tensor), tensor.data_type))
        for sparse in graph.sparse_initializer:
            inner.define(sparse.values.name, self.constant(self.source.sparse(sparse), sparse.values.data_type))
        for position, each in enumerate(graph.input):
            value = (given or {}).get(position)
            inner.define(each.name, value or NamedValue(frame.input(each.name), type=element_type_of(each.type)))
        self.nodes(inner, graph.node)
        return inner, [inner.find(each.name, f"a body of {owner}") for each in graph.output]


def owner_of(node: Any) -> str:
    """What errors call a node."""
    domain = plain(node.domain)
    kind = f"{domain}::{node.op_type}" if domain else node.op_type
    return f"the node '{node.name}' ({kind})" if node.name else f"a node {kind}"


def plain(domain: str) -> str:
    """A domain by its shortest name."""
    return "" if domain in STANDARD else domain


def element_type_of(kind: Any) -> int:
    """ONNX's number for the element type of a value, also in a sequence or an optional; 0 where there is none."""
    while kind.WhichOneof("value") in ("sequence_type", "optional_type"):
        kind = getattr(kind, kind.WhichOneof("value")).elem_type
    return int(kind.tensor_type.elem_type) if kind.HasField("tensor_type") else 0


def numbers_in(array: Any, number: int) -> Any:
    """A short constant as numbers."""
    if isinstance(array, Strings) or number not in HELD or number == 11 or array.ndim > 1 or array.size > MOST:
        return MISSING
    return array.tolist()


def tensor_from(array: Any, parameter: bool = False) -> Any:
    """A tensor over an array, or strings as they are."""
    if isinstance(array, Strings):
        return array
    made = from_numpy(array)
    return Parameter(made) if parameter else made


def _texts(values: Any) -> list[str]:
    return [_text(each) for each in values]


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


_FIELDS: dict[int, tuple[str, Callable[[Any], Any]]] = {
    1: ("f", float), 2: ("i", int), 3: ("s", _text), 6: ("floats", list), 7: ("ints", list), 8: ("strings", _texts),
}  # fmt: skip


def statistics_of(graph: Any) -> tuple[set[str], dict[tuple[str, int], str]]:
    """Initializers that are running statistics, and so no parameters; and the uses as such of those that something else uses, too.

    Exporters write equal tensors once (and by an Identity again): layers that share their statistics, or have them in common with a bias, get their own.
    """
    found: set[str] = set()
    shared: dict[tuple[str, int], str] = {}
    same: dict[str, str] = {each.name: each.name for each in graph.initializer}
    for node in graph.node:
        if node.op_type == "Identity" and plain(node.domain) == "" and len(node.input) == 1 and node.input[0] in same:
            same[node.output[0]] = same[node.input[0]]
    others = {
        same.get(name, name)
        for node in graph.node
        for at, name in enumerate(node.input)
        if at not in _statistics(node) and not (node.op_type == "Identity" and node.output[0] in same)
    }
    for node in graph.node:
        for at in _statistics(node):
            if at < len(node.input) and node.output:
                name = same.get(node.input[at], "")
                if name in found or name in others or name != node.input[at]:
                    shared[node.output[0], at] = name
                else:
                    found.add(name)
    return found, shared


def _statistics(node: Any) -> tuple[int, ...]:
    return _STATISTICS.get(node.op_type, ()) if plain(node.domain) == "" else ()


__all__ = ["CONSTANT", "ModelBuilder", "control", "element_type_of", "numbers_in", "plain", "statistics_of", "tensor_from"]
