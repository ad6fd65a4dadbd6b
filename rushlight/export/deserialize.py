"""Exported programs from data in PyTorch's schema of ``models/model.json``: built here, nothing in a file is run.

Everything is looked up: operators in the table, formulas by a parser of their own, structures of containers among registered classes.  What a
file may not have, or this version does not know, is one :class:`ArchiveError` that says where.
"""

from __future__ import annotations

import inspect
import json
import operator
from keyword import iskeyword
from typing import Any

from ..compat import pytree
from ..core.base import Spec, make
from ..core.devices import device as Device
from ..core.dtypes import BY_NAME
from ..core.symbolic import Expression, SymbolicInt
from ..fx.graph import Graph, placeholder_named
from ..fx.graph_module import GraphModule
from ..graph.node import Node
from ..nn.parameter import Parameter
from ..ops import provide
from ..ops.overloads import namespace
from ..tensor.layout import LAYOUTS as HOUSE_LAYOUTS
from ..tensor.layout import channels_last, channels_last_3d, contiguous_format, preserve_format
from . import formulas
from .dynamic_shapes import ValueRanges, int_oo
from .effect_tokens import without_tokens
from .errors import ArchiveError
from .exported_program import ATenVerifier, ExportedProgram, ModuleCallEntry, ModuleCallSignature, Verifier, symbol_of
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)
from .higher_order import OPERATORS, HigherOrderOperator
from .input_checks import input_checks
from .region_checks import check_regions
from .serialize import LAYOUTS, MEMORY_FORMATS, SCALAR_TYPES, SCHEMA_VERSION, SYMBOLIC
from .size_guards import Condition

_DTYPES = {number: BY_NAME[name] for name, number in SCALAR_TYPES.items() if name in BY_NAME}
_LAYOUTS = {LAYOUTS[each.name]: each for each in HOUSE_LAYOUTS if each.name in LAYOUTS}
_FORMATS = {MEMORY_FORMATS[each.name]: each for each in (contiguous_format, preserve_format, channels_last, channels_last_3d)}
_FUNCTIONS = {name: function for function, name in SYMBOLIC.items()}
_MOST_DIMENSIONS = 64


def get(data: Any, key: str, kind: type | tuple[type, ...], where: str) -> Any:
    """A field of a record, of a given type."""
    if not isinstance(data, dict) or key not in data:
        raise ArchiveError(f"{where} has no field '{key}'")
    value = data[key]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        raise ArchiveError(f"the field '{key}' of {where} is {str(value)[:60]!r}, which is not of the expected type")
    return value


def one_of(data: Any, where: str) -> tuple[str, Any]:
    """The kind and the value of a union: the one field that is set."""
    if not isinstance(data, dict):
        raise ArchiveError(f"{where} is {str(data)[:60]!r}, where a record with one field is expected")
    found = [(key, value) for key, value in data.items() if value is not None]
    if len(found) != 1:
        raise ArchiveError(f"{where} has {len(found)} fields, where one is expected")
    return found[0]


def dtype_of(number: Any, where: str) -> Any:
    """A type of elements by its number."""
    if not isinstance(number, int) or number not in _DTYPES:
        raise ArchiveError(f"{where} has the type of elements {str(number)[:20]}, which is not known here")
    return _DTYPES[number]


def size_of(data: Any, where: str) -> Any:
    """A size of a shape."""
    kind, value = one_of(data, where)
    if kind == "as_int" and isinstance(value, int) and not isinstance(value, bool):
        if abs(value) >= 2**63:
            raise ArchiveError(f"{where} has the size {value}, which is no 64-bit number")
        return value
    if kind == "as_expr":
        formula = formulas.read(get(value, "expr_str", str, where))
        hint = value.get("hint")
        number = one_of(hint, where)[1] if isinstance(hint, dict) else None
        if formula.constant is not None:
            return formula.constant
        return SymbolicInt(number if isinstance(number, int) else 2, formula)
    raise ArchiveError(f"{where} has a size of the kind '{kind}'")


def spec_of(data: Any, where: str) -> Any:
    """A tensor without elements, of the shape and type that a file gives."""
    dtype = dtype_of(get(data, "dtype", int, where), where)
    sizes = get(data, "sizes", list, where)
    if len(sizes) > _MOST_DIMENSIONS:
        raise ArchiveError(f"{where} has {len(sizes)} dimensions")
    shape = tuple([size_of(each, where) for each in sizes])
    if any(each < 0 for each in shape):
        raise ArchiveError(f"{where} has a negative size")
    made = make(Spec(shape, dtype.numpy, device=device_of(data.get("device"), where)))
    if data.get("requires_grad") is True and dtype.is_floating_point:
        made._requires_grad = True
    return made


def device_of(data: Any, where: str) -> Any:
    """A device; one that is not here is the CPU."""
    kind = get(data, "type", str, where) if data is not None else "cpu"
    return Device(kind) if kind in ("cpu", "meta") else Device("cpu")


def check_call(function: Any, args: list[Any], kwargs: dict[str, Any], where: str) -> None:
    """Refuse a call with arguments that a function without a schema does not take."""
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        raise ArchiveError(f"{where} is called with other arguments than it takes: {error}") from None
    except ValueError:
        return  # a function whose signature Python does not know


class GraphReader:
    """Builds one graph."""

    def __init__(self, data: Any, where: str, depth: int = 0) -> None:
        if depth > 20:
            raise ArchiveError(f"{where}: graphs are nested too deeply")
        self.data, self.where, self.depth = data, where, depth
        self.graph = Graph()
        self.values: dict[str, Node] = {}
        self.parts: dict[str, GraphModule] = {}
        self.tensors = get(data, "tensor_values", dict, where)
        self.sym_ints = get(data, "sym_int_values", dict, where)
        self.sym_bools = get(data, "sym_bool_values", dict, where)
        self.sym_floats = data.get("sym_float_values") or {}

    def run(self, names: list[str] | None = None) -> GraphModule:
        """The graph as a module; ``names`` are those of the inputs that are constants."""
        inputs = get(self.data, "inputs", list, self.where)
        for at, each in enumerate(inputs):
            self.placeholder(each, names[at] if names is not None and at < len(names) else f"arg{at}_1")
        for at, each in enumerate(get(self.data, "nodes", list, self.where)):
            self.node(each, f"node {at} of {self.where}")
        outputs = [self.argument(each, f"an output of {self.where}") for each in get(self.data, "outputs", list, self.where)]
        single = self.data.get("is_single_tensor_return") is True and len(outputs) == 1
        self.graph.output(outputs[0] if single else tuple(outputs))
        return GraphModule(self.parts, self.graph)

    def meta(self, name: str, kind: str, where: str) -> Any:
        """The value that a file notes for a name."""
        if kind in ("as_tensor", "as_tensors"):
            if name not in self.tensors:
                raise ArchiveError(f"{where}: the tensor '{name[:60]}' has no entry in tensor_values")
            return spec_of(self.tensors[name], f"the tensor '{name[:60]}' of {self.where}")
        if kind == "as_sym_int":
            return size_of(self.sym_ints[name], where) if name in self.sym_ints else SymbolicInt(2, Expression.symbol(name))
        if kind == "as_sym_bool":
            data = self.sym_bools.get(name)
            text = data["as_expr"].get("expr_str") if isinstance(data, dict) and isinstance(data.get("as_expr"), dict) else name
            return Condition(formulas.read_relation(text))
        return 0.0

    def placeholder(self, data: Any, fallback: str) -> None:
        """An input of the graph."""
        kind, value = one_of(data, f"an input of {self.where}")
        if kind in ("as_tensor", "as_sym_int", "as_sym_float", "as_sym_bool"):
            name = get(value, "name" if kind == "as_tensor" else "as_name", str, f"an input of {self.where}")
            node = placeholder_named(self.graph, self.fresh(name, f"an input of {self.where}"))
            node.meta["val"] = self.meta(name, kind, f"an input of {self.where}")
            self.values[name] = node
        elif kind in ("as_none", "as_int", "as_float", "as_bool", "as_string"):
            node = placeholder_named(self.graph, self.fresh(fallback, f"an input of {self.where}"))
            node.meta["val"] = None if kind == "as_none" else value
            self.values[fallback] = node
        else:
            raise ArchiveError(f"an input of {self.where} is of the kind '{kind}', which is not known here")

    def fresh(self, name: str, where: str) -> str:
        """A name that no other value has, and that code can have."""
        if name in self.values:
            raise ArchiveError(f"{where}: the name '{name[:60]}' is used twice")
        if not name.isidentifier() or iskeyword(name) or len(name) > 1000:
            raise ArchiveError(f"{where}: {name[:60]!r} is no name of a value")
        return name

    def node(self, data: Any, where: str) -> None:
        """A call of an operator."""
        target = get(data, "target", str, where)
        function = self.function(target, where)
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        schema = getattr(function, "_schema", None)
        names = [each.name for each in schema.arguments if not each.kwarg_only] if schema is not None else None
        for at, each in enumerate(get(data, "inputs", list, where)):
            name = get(each, "name", str, where)
            value = self.argument(get(each, "arg", dict, where), f"argument {name or at} of {where} ({target})")
            keyword = each.get("kind") == 2 or (
                each.get("kind") in (None, 0) and names is not None and (len(args) >= len(names) or names[len(args)] != name)
            )
            if keyword:
                if not name.isidentifier():  # it stands in code
                    raise ArchiveError(f"{where} ({target}) has an argument of the name {name[:60]!r}, which is no name")
                kwargs[name] = value
            else:
                args.append(value)
        if isinstance(function, HigherOrderOperator):
            check_regions(function, args, kwargs, self.parts, f"{where} ({target})")
        elif schema is None:
            check_call(function, args, kwargs, f"{where} ({target})")
        outputs = get(data, "outputs", list, where)
        given = data.get("name")
        found = [one_of(each, f"an output of {where}") for each in outputs]
        single = len(found) == 1 and found[0][0] != "as_tensors" and target.split(".")[2:3] != ["higher_order"]
        if single:
            key = "name" if found[0][0] == "as_tensor" else "as_name"
            given = get(found[0][1], key, str, where)
        base = (
            given
            if isinstance(given, str) and given.isidentifier() and not iskeyword(given) and given not in self.values
            else target.split(".")[-2]
            if "." in target
            else "node"
        )
        node = self.graph.create_node("call_function", function, tuple(args), kwargs, base)
        for each in (*(each for each in args if isinstance(each, Node) and each.op == "get_attr"), node):
            self.note(each, data.get("metadata"))
        if schema is not None and schema.is_mutable or not outputs:
            node.meta["impure"] = True
        if single:
            name = self.fresh(given, where)  # type: ignore[arg-type]
            node.name = name
            node.meta["val"] = self.meta(name, found[0][0], where)
            self.values[name] = node
        elif found:
            node.meta["val"] = self.results(node, found, where)

    def results(self, node: Node, found: list[tuple[str, Any]], where: str) -> tuple[Any, ...]:
        """Nodes for each of several results."""
        flat: list[Any] = []
        for kind, value in found:
            if kind == "as_tensors":
                if not isinstance(value, list):
                    raise ArchiveError(f"an output of {where} is no list")
                flat += [get(each, "name", str, where) for each in value]
            elif kind == "as_tensor":
                flat.append(get(value, "name", str, where))
            elif kind == "as_none":
                flat.append(None)
            else:
                raise ArchiveError(f"an output of {where} is of the kind '{kind}', which is not known here")
        specs: list[Any] = []
        for at, name in enumerate(flat):
            if name is None:
                specs.append(None)
                continue
            spec = self.meta(name, "as_tensor", where)
            specs.append(spec)
            if "_unused_" in name:
                continue
            part = self.graph.create_node("call_function", operator.getitem, (node, at), {}, self.fresh(name, where))
            part.name = name
            part.meta.update({key: value for key, value in node.meta.items() if key != "impure"}, val=spec)
            self.values[name] = part
        return tuple(specs)

    def note(self, node: Node, metadata: Any) -> None:
        """Where a node came from."""
        if not isinstance(metadata, dict):
            return
        trace = metadata.get("stack_trace")
        if isinstance(trace, str):
            node.meta["stack_trace"] = trace
        stack = metadata.get("nn_module_stack")
        if isinstance(stack, str):
            entries = [each.split(",") for each in stack.split(";") if each.count(",") == 2]
            node.meta["nn_module_stack"] = {key: (path, kind) for key, path, kind in entries}
            node.meta["module"] = entries[-1][1] if entries else ""

    def function(self, target: str, where: str) -> Any:
        """The operator of a name."""
        if target in _FUNCTIONS:
            return _FUNCTIONS[target]
        parts = target.split(".")
        if parts[:2] == ["torch", "ops"] and len(parts) in (4, 5):
            if parts[2] == "higher_order":
                if parts[3] in OPERATORS:
                    return OPERATORS[parts[3]]
            else:
                provide(parts[2])
                packet = getattr(namespace(parts[2]), parts[3], None) if not parts[3].startswith("__") or parts[2] == "aten" else None
                overload = getattr(packet, "_overloads", {}).get(parts[4] if len(parts) == 5 else "default")
                if overload is not None:
                    return overload
        raise ArchiveError(
            f"{where} calls {target[:100]!r}, which is no operator that is known here: register it with torch.library before the file is read"
        )

    def argument(self, data: Any, where: str) -> Any:
        """An argument: a node, or a plain value."""
        kind, value = one_of(data, where)
        if kind == "as_tensor":
            return self.known(get(value, "name", str, where), where)
        if kind == "as_none":
            return None
        if kind in ("as_int", "as_bool", "as_string") and isinstance(value, (int, str)):
            return value
        if kind == "as_float":
            return number(value, where)
        if kind in ("as_sym_int", "as_sym_float", "as_sym_bool"):
            inner, found = one_of(value, where)
            return self.known(found, where) if inner == "as_name" else found
        if kind in (
            "as_tensors",
            "as_ints",
            "as_floats",
            "as_bools",
            "as_strings",
            "as_sym_ints",
            "as_sym_floats",
            "as_sym_bools",
            "as_optional_tensors",
            "as_int_lists",
        ):
            return self.sequence(kind, value, where)
        if kind == "as_optional_tensor":
            return self.argument(value, where)
        if kind == "as_scalar_type":
            return dtype_of(value, where)
        if kind == "as_device":
            return device_of(value, where)
        if kind == "as_memory_format" and value in _FORMATS:
            return _FORMATS[value]
        if kind == "as_layout" and value in _LAYOUTS:
            return _LAYOUTS[value]
        if kind == "as_complex":
            return complex(
                number(get(value, "real", (int, float, str), where), where), number(get(value, "imag", (int, float, str), where), where)
            )
        if kind == "as_graph":
            return self.inner(value, where)
        raise ArchiveError(f"{where} is of the kind '{kind[:40]}', which is not known here")

    def sequence(self, kind: str, value: Any, where: str) -> list[Any]:
        """A list of arguments."""
        if not isinstance(value, list):
            raise ArchiveError(f"{where} is no list")
        if kind == "as_tensors":
            return [self.known(get(each, "name", str, where), where) for each in value]
        if kind in ("as_optional_tensors", "as_sym_ints", "as_sym_floats", "as_sym_bools"):
            return [
                self.argument(each, where) if kind == "as_optional_tensors" else self.argument({"as_sym_int": each}, where)
                for each in value
            ]
        if kind == "as_floats":
            return [number(each, where) for each in value]
        if kind == "as_int_lists":
            return [[int(one) for one in each] for each in value]
        if not all(isinstance(each, str if kind == "as_strings" else int) for each in value):
            raise ArchiveError(f"{where} has an item of another type than '{kind}'")
        return list(value)

    def known(self, name: Any, where: str) -> Node:
        """The node of a name: one that comes before."""
        if not isinstance(name, str) or name not in self.values:
            raise ArchiveError(f"{where} is the value '{str(name)[:60]}', which no node before it makes")
        return self.values[name]

    def inner(self, value: Any, where: str) -> Node:
        """A graph among the arguments."""
        name = self.fresh(get(value, "name", str, where), where)
        self.parts[name] = GraphReader(get(value, "graph", dict, where), f"the graph '{name}'", self.depth + 1).run()
        return self.graph.create_node("get_attr", name, (), {}, name)


def number(value: Any, where: str) -> float:
    """A float; those that JSON has no word for are words."""
    if isinstance(value, str) and value in ("Infinity", "-Infinity", "NaN"):
        return float(value.replace("Infinity", "inf"))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    raise ArchiveError(f"{where} is {str(value)[:40]!r}, which is no number")


def read_program(data: Any, state: dict[str, Any], constants: dict[str, Any], example_inputs: Any) -> ExportedProgram:
    """A program from the data of ``models/model.json`` and the tensors beside it."""
    version = get(data, "schema_version", dict, "the program")
    major = get(version, "major", int, "the schema version")
    if major != SCHEMA_VERSION[0]:
        raise ArchiveError(
            f"the program is of schema version {major}.{version.get('minor')}, and what can be read here is {SCHEMA_VERSION[0]}: it was written by "
            f"PyTorch {str(data.get('torch_version'))[:20]}"
        )
    module = without_tokens(get(data, "graph_module", dict, "the program"))
    signature = signature_of(get(module, "signature", dict, "the graph module"))
    names = [each.arg.name for each in signature.input_specs]
    for each in signature.input_specs:
        if each.kind is InputKind.BUFFER and isinstance(state.get(str(each.target)), Parameter):
            state[str(each.target)] = state[str(each.target)].detach()  # the signature says what it is
    graph_module = GraphReader(get(module, "graph", dict, "the graph module"), "the graph").run(names)
    calls = [call_entry(each) for each in get(module, "module_call_graph", list, "the graph module")]
    if not calls or calls[0].signature is None:
        raise ArchiveError("the program does not say how it is called")
    ranges: dict[Any, Any] = {}
    for name, each in (data.get("range_constraints") or {}).items():
        low, high = each.get("min_val"), each.get("max_val")
        if any(type(bound) is not int and bound is not None for bound in (low, high)):
            raise ArchiveError(f"the range of a size, '{name[:60]}', has a bound that is no number")
        ranges[symbol_of(formulas.read(name))] = ValueRanges(-int_oo if low is None else low, int_oo if high is None else high)
    verifiers = [{"ATEN": ATenVerifier}.get(each, Verifier) for each in data.get("verifiers") or ["TRAINING"] if isinstance(each, str)]
    made = ExportedProgram(
        graph_module, graph_module.graph, signature, state, ranges, calls, example_inputs, constants, verifiers=verifiers
    )
    made._guards_code = [each for each in data.get("guards_code") or [] if isinstance(each, str)]
    made._validate()
    made._guards = input_checks(made)
    return made


def call_entry(data: Any) -> ModuleCallEntry:
    """A Module of the program."""
    found = data.get("signature") if isinstance(data, dict) else None
    signature = None
    if isinstance(found, dict):
        try:
            specs = [pytree.treespec_loads(get(found, "in_spec", str, "a signature"))]
            specs.append(result_structure(get(found, "out_spec", str, "a signature")))
        except NotImplementedError as error:
            raise ArchiveError(f"an input of the program is of a class that is not registered here: {error}") from None
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ArchiveError(f"the structure of the inputs or outputs can't be read: {error}") from None
        names = found.get("forward_arg_names")
        rows = [[_signature_argument(each) for each in found.get(key) or ()] for key in ("inputs", "outputs")]
        signature = ModuleCallSignature(
            rows[0], rows[1], specs[0], specs[1], [str(each) for each in names] if isinstance(names, list) else None
        )
    return ModuleCallEntry(get(data, "fqn", str, "a module of the program"), signature)


def _signature_argument(data: Any) -> Any:
    """An input or output of a Module whose signature is kept: by its name, or a constant."""
    if not isinstance(data, dict) or len(data) != 1:
        raise ArchiveError("an input or output of a Module is no argument")
    ((kind, value),) = data.items()
    if isinstance(value, dict):
        name = value.get("name", value.get("as_name"))
        if not isinstance(name, str):
            raise ArchiveError("an input or output of a Module has no name")
        return {"as_sym_int": SymIntArgument, "as_sym_float": SymFloatArgument, "as_sym_bool": SymBoolArgument}.get(kind, TensorArgument)(
            name
        )
    return ConstantArgument("", None if kind == "as_none" else value)


def result_structure(text: str) -> Any:
    """The structure of results; containers of classes that are not here are dicts, where they have keys, or tuples."""
    try:
        return pytree.treespec_loads(text)
    except NotImplementedError:
        protocol, data = json.loads(text)
    known = pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE

    def plain(each: Any) -> Any:
        children = [plain(child) for child in each["children_spec"]]
        if each["type"] is None or (each["type"] in known and each["type"] != "collections.namedtuple"):
            return {**each, "children_spec": children}
        try:
            keys = json.loads(each["context"])
        except (ValueError, TypeError):
            keys = None
        if isinstance(keys, list) and len(keys) == len(children) and all(isinstance(key, str) for key in keys):
            return {"type": "builtins.dict", "context": json.dumps(keys), "children_spec": children}
        return {"type": "builtins.tuple", "context": "null", "children_spec": children}

    return pytree.treespec_loads(json.dumps([protocol, plain(data)]))


def signature_of(data: Any) -> ExportGraphSignature:
    """The signature of a program."""
    made = ExportGraphSignature()
    for each in get(data, "input_specs", list, "the signature"):
        made.input_specs.append(_input(*one_of(each, "an input of the signature")))
    check_paths(made)
    for each in get(data, "output_specs", list, "the signature"):
        made.output_specs.append(_output(*one_of(each, "an output of the signature")))
    return made


def check_paths(signature: ExportGraphSignature) -> None:
    """Refuse a signature whose paths no Module can have: of a parameter and a buffer, or of a tensor and of something inside of it."""
    kinds: dict[str, InputKind] = {}
    for each in signature.input_specs:
        if each.target is not None and kinds.setdefault(each.target, each.kind) is not each.kind:
            raise ArchiveError(
                f"the signature has '{each.target[:60]}' as a {kinds[each.target].name.lower()} and as a {each.kind.name.lower()}"
            )
    for path in kinds:
        parts = path.split(".")
        if any(".".join(parts[:count]) in kinds for count in range(1, len(parts))):
            raise ArchiveError(f"the signature has '{path[:60]}', which is inside of a tensor")


def _named(value: Any, where: str) -> TensorArgument:
    return TensorArgument(get(get(value, "arg", dict, where), "name", str, where))


def _user(value: Any, where: str) -> Any:
    kind, found = one_of(get(value, "arg", dict, where), where)
    if kind == "as_tensor":
        return TensorArgument(get(found, "name", str, where))
    if kind in ("as_sym_int", "as_sym_float"):
        inner, name = one_of(found, where)
        if inner == "as_name":
            return (SymIntArgument if kind == "as_sym_int" else SymFloatArgument)(name)
        return ConstantArgument("", name)
    if kind in ("as_none", "as_int", "as_float", "as_bool", "as_string"):
        return ConstantArgument("", None if kind == "as_none" else found)
    raise ArchiveError(f"{where} is of the kind '{kind[:40]}', which is not known here")


def _input(kind: str, value: Any) -> InputSpec:
    where = "an input of the signature"
    if kind == "parameter":
        return InputSpec(InputKind.PARAMETER, _named(value, where), get(value, "parameter_name", str, where))
    if kind == "buffer":
        return InputSpec(
            InputKind.BUFFER, _named(value, where), get(value, "buffer_name", str, where), value.get("persistent") is not False
        )
    if kind == "tensor_constant":
        return InputSpec(InputKind.CONSTANT_TENSOR, _named(value, where), get(value, "tensor_constant_name", str, where))
    if kind == "constant_input":
        inner, found = one_of(get(value, "value", dict, where), where)
        return InputSpec(
            InputKind.USER_INPUT, ConstantArgument(get(value, "name", str, where), None if inner == "as_none" else found), None
        )
    if kind == "user_input":
        return InputSpec(InputKind.USER_INPUT, _user(value, where), None)
    raise ArchiveError(f"{where} is of the kind '{kind[:40]}', which is not known here")


def _output(kind: str, value: Any) -> OutputSpec:
    where = "an output of the signature"
    if kind == "user_output":
        return OutputSpec(OutputKind.USER_OUTPUT, _user(value, where), None)
    if kind == "loss_output":
        return OutputSpec(OutputKind.LOSS_OUTPUT, _named(value, where), None)
    for name, found, key in (
        ("buffer_mutation", OutputKind.BUFFER_MUTATION, "buffer_name"), ("parameter_mutation", OutputKind.PARAMETER_MUTATION, "parameter_name"),
        ("user_input_mutation", OutputKind.USER_INPUT_MUTATION, "user_input_name"), ("gradient_to_parameter", OutputKind.GRADIENT_TO_PARAMETER, "parameter_name"),
        ("gradient_to_user_input", OutputKind.GRADIENT_TO_USER_INPUT, "user_input_name"),
    ):  # fmt: skip
        if kind == name:
            return OutputSpec(found, _named(value, where), get(value, key, str, where))
    raise ArchiveError(f"{where} is of the kind '{kind[:40]}', which is not known here")
