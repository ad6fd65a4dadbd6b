"""Exported programs as data, in PyTorch's schema of ``models/model.json``."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..compat import pytree
from ..core.base import Spec, TensorBase
from ..core.devices import device as Device
from ..core.dtypes import BY_NUMPY
from ..core.dtypes import dtype as Dtype
from ..core.errors import NotSupported
from ..core.symbolic import Expression, SymbolicFloat, SymbolicInt
from ..graph.node import Node
from ..ops.overloads import OpOverload
from ..symbols import sym_max, sym_min
from ..tensor.layout import layout as Layout
from ..tensor.layout import memory_format as MemoryFormat
from . import formulas
from .dynamic_shapes import INFINITY
from .graph_signature import ConstantArgument, InputKind, OutputKind, SymFloatArgument, SymIntArgument
from .higher_order import HigherOrderOperator
from .size_guards import Condition

SCHEMA_VERSION = (8, 20)
OPSET_VERSION = 10
TORCH_VERSION = "2.13.0"
SCALAR_TYPES = {
    "uint8": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "float16": 6, "float32": 7, "float64": 8, "complex32": 9, "complex64": 10, "complex128": 11,
    "bool": 12, "bfloat16": 13, "uint16": 28, "float8_e4m3fn": 29, "float8_e5m2": 30, "float8_e4m3fnuz": 31, "float8_e5m2fnuz": 32, "float8_e8m0fnu": 33, "uint32": 34,
    "uint64": 35,
}  # fmt: skip
LAYOUTS = {"sparse_coo": 1, "sparse_csr": 2, "sparse_csc": 3, "sparse_bsr": 4, "sparse_bsc": 5, "_mkldnn": 6, "strided": 7}
MEMORY_FORMATS = {"contiguous_format": 1, "channels_last": 2, "channels_last_3d": 3, "preserve_format": 4}
SYMBOLIC = {
    operator.add: "_operator.add", operator.sub: "_operator.sub", operator.mul: "_operator.mul", operator.floordiv: "_operator.floordiv", operator.mod: "_operator.mod",
    operator.truediv: "_operator.truediv", operator.neg: "_operator.neg", operator.pow: "_operator.pow", operator.eq: "_operator.eq", operator.ne: "_operator.ne", operator.lt: "_operator.lt",
    operator.le: "_operator.le", operator.gt: "_operator.gt", operator.ge: "_operator.ge", sym_max: "torch.sym_max", sym_min: "torch.sym_min",
}  # fmt: skip


def size(value: Any) -> dict[str, Any]:
    """A size of a shape."""
    if isinstance(value, SymbolicInt):
        return {"as_expr": {"expr_str": formulas.write(value.expression), "hint": hint_of(value)}}
    return {"as_int": int(value)}


def hint_of(value: SymbolicInt) -> dict[str, int] | None:
    """The size that a program was exported with; None for one that depends on data."""
    return None if any(name.startswith("u") for name in value.expression.symbols()) else {"as_int": int.__int__(value)}


def device_data(device: Any) -> dict[str, Any]:
    """A device."""
    return {"type": device.type, "index": device.index}


def tensor_meta(value: Any) -> dict[str, Any]:
    """Shape, type and strides of a tensor."""
    array = value._array if isinstance(value, TensorBase) else value
    dtype = BY_NUMPY[array.dtype]
    if dtype.name not in SCALAR_TYPES:
        raise NotSupported(f"a tensor of {dtype} can't be part of a .pt2 file")
    sizes = list(array.shape)
    if array.__class__ is Spec:
        strides: list[Any] = []
        step: Any = 1
        for each in reversed(sizes):
            strides.insert(0, step)
            step = step * (each if isinstance(each, SymbolicInt) or each > 0 else 1)
    else:
        strides = [each // max(array.itemsize, 1) for each in array.strides]
    device = value.device if isinstance(value, TensorBase) else Device("cpu")
    return {
        "dtype": SCALAR_TYPES[dtype.name], "sizes": [size(each) for each in sizes], "requires_grad": bool(getattr(value, "requires_grad", False)),
        "device": device_data(device), "strides": [size(each) for each in strides], "storage_offset": {"as_int": 0}, "layout": 7,
    }  # fmt: skip


class GraphWriter:
    """Writes one graph."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.tensors: dict[str, Any] = {}
        self.sym_ints: dict[str, Any] = {}
        self.sym_bools: dict[str, Any] = {}
        self.sym_floats: dict[str, Any] = {}

    def graph(self, constants: dict[str, Any] | None = None) -> dict[str, Any]:
        """The data of the graph; ``constants`` are inputs that are the same in every run."""
        inputs: list[Any] = []
        nodes: list[Any] = []
        outputs: list[Any] = []
        single = False
        for node in self.module.graph.nodes:
            if node.op == "placeholder":
                known = constants or {}
                inputs.append(self.constant(known[node.name]) if node.name in known else self.value(node))
            elif node.op == "output":
                found = node.args[0]
                single = not isinstance(found, (tuple, list))
                outputs = [self.output(each) for each in ([found] if single else found)]
            elif node.op == "get_attr" or node.target is operator.getitem and self.is_part(node):
                continue
            else:
                nodes.append(self.node(node))
        return {
            "inputs": inputs, "outputs": outputs, "nodes": nodes, "tensor_values": self.tensors, "sym_int_values": self.sym_ints, "sym_bool_values": self.sym_bools,
            "is_single_tensor_return": single, "custom_obj_values": {}, "sym_float_values": self.sym_floats,
        }  # fmt: skip

    @staticmethod
    def is_part(node: Node) -> bool:
        """Whether a node takes one of the results of an operator."""
        return isinstance(node.args[0], Node) and isinstance(node.args[0].meta.get("val"), (tuple, list))

    def constant(self, value: Any) -> dict[str, Any]:
        """A Python value."""
        if value is None:
            return {"as_none": True}
        for kind, name in ((bool, "as_bool"), (int, "as_int"), (float, "as_float"), (str, "as_string")):
            if isinstance(value, kind):
                return {name: value}
        raise NotSupported(f"an input of the class {type(value).__name__} can't be part of a .pt2 file")

    def value(self, node: Node) -> dict[str, Any]:
        """A node's value, which is written down where it is made."""
        known = node.meta.get("val")
        if isinstance(known, (TensorBase, Spec)):
            self.tensors[node.name] = tensor_meta(known)
            return {"as_tensor": {"name": node.name}}
        return self.number(node)

    def number(self, node: Node) -> dict[str, Any]:
        """A node that is a number."""
        known = node.meta.get("val")
        if isinstance(known, SymbolicInt):
            self.sym_ints[node.name] = {"as_expr": {"expr_str": formulas.write(known.expression), "hint": hint_of(known)}}
            return {"as_sym_int": {"as_name": node.name}}
        if isinstance(known, Condition):
            self.sym_bools[node.name] = {"as_expr": {"expr_str": self.relation(node), "hint": None}}
            return {"as_sym_bool": {"as_name": node.name}}
        if isinstance(known, (SymbolicFloat, float)):
            self.sym_floats[node.name] = {"as_float": float(known)}
            return {"as_sym_float": {"as_name": node.name}}
        if isinstance(known, int) and not isinstance(known, bool):
            self.sym_ints[node.name] = {"as_int": known}
            return {"as_sym_int": {"as_name": node.name}}
        raise NotSupported(f"node '{node.name}' has a value of the class {type(known).__name__}, which a .pt2 file can't hold")

    @staticmethod
    def relation(node: Node) -> str:
        """The comparison that a node makes."""
        signs = {operator.ge: ">=", operator.le: "<=", operator.gt: ">", operator.lt: "<", operator.eq: "==", operator.ne: "!="}
        sides = [Expression.of(each.meta["val"]) if isinstance(each, Node) else Expression.of(each) for each in node.args]
        return formulas.write_relation(signs[node.target], sides[0], sides[1])

    def output(self, value: Any) -> dict[str, Any]:
        """What a graph returns."""
        return self.argument(value) if isinstance(value, Node) else self.constant(value)

    # -- nodes -----------------------------------------------------------------------------------------------------

    def node(self, node: Node) -> dict[str, Any]:
        """One node."""
        target = node.target
        if isinstance(target, OpOverload):
            name = f"torch.ops.{target}"
            wanted = target._schema.arguments
            inputs = [self.named(each.name, value, 1) for each, value in zip(wanted, node.args)]
            inputs += [self.named(key, value, 2) for key, value in node.kwargs.items()]
            outputs = self.results(node, target._schema.returns)
            single = None
        elif isinstance(target, HigherOrderOperator):
            name = f"torch.ops.higher_order.{target._name}"
            inputs = [self.named("", value, 1) for value in node.args]
            outputs, single = self.parts(node), False
        elif target in SYMBOLIC:
            name = SYMBOLIC[target]
            inputs = [self.named(key, value, 1) for key, value in zip("ab", node.args)]
            outputs, single = [self.number(node)], None
        else:
            raise NotSupported(
                f"node '{node.name}' calls {getattr(target, '__name__', target)}, which is no operator of PyTorch's: such a program can't be saved as .pt2"
            )
        return {
            "target": name, "inputs": inputs, "outputs": outputs, "metadata": self.metadata(node), "is_hop_single_tensor_return": single, "name": node.name
        }  # fmt: skip

    def metadata(self, node: Node) -> dict[str, str]:
        """Where a node comes from."""
        found: dict[str, str] = {}
        if node.meta.get("stack_trace"):
            found["stack_trace"] = node.meta["stack_trace"]
        stack = node.meta.get("nn_module_stack")
        if stack:
            found["nn_module_stack"] = ";".join(f"{key},{path},{kind}" for key, (path, kind) in stack.items())
        return found

    def named(self, name: str, value: Any, kind: int) -> dict[str, Any]:
        """An argument with its name."""
        return {"name": name, "arg": self.argument(value), "kind": kind}

    def argument(self, value: Any) -> dict[str, Any]:
        """An argument."""
        if isinstance(value, Node):
            if value.op == "get_attr":
                inner = GraphWriter(getattr(self.module, value.target))
                return {"as_graph": {"name": value.target, "graph": inner.graph()}}
            known = value.meta.get("val")
            if isinstance(known, (TensorBase, Spec)):
                return {"as_tensor": {"name": value.name}}
            kind = "as_sym_bool" if isinstance(known, Condition) else "as_sym_float" if isinstance(known, float) else "as_sym_int"
            return {kind: {"as_name": value.name}}
        if value is None:
            return {"as_none": True}
        if isinstance(value, bool):
            return {"as_bool": value}
        if isinstance(value, int):
            return {"as_int": int(value)}
        if isinstance(value, float):
            return {"as_float": float(value) if np.isfinite(value) else {np.inf: "Infinity", -np.inf: "-Infinity"}.get(value, "NaN")}
        if isinstance(value, complex):
            return {"as_complex": {"real": value.real, "imag": value.imag}}
        if isinstance(value, str):
            return {"as_string": value}
        if isinstance(value, Dtype):
            return {"as_scalar_type": SCALAR_TYPES[value.name]}
        if isinstance(value, Device):
            return {"as_device": device_data(value)}
        if isinstance(value, MemoryFormat):
            return {"as_memory_format": MEMORY_FORMATS[str(value).removeprefix("torch.")]}
        if isinstance(value, Layout):
            return {"as_layout": LAYOUTS[str(value).removeprefix("torch.")]}
        if isinstance(value, (list, tuple)):
            return self.sequence(list(value))
        raise NotSupported(f"an argument of the class {type(value).__name__} can't be part of a .pt2 file")

    def sequence(self, values: list[Any]) -> dict[str, Any]:
        """A list of arguments."""
        if not values:
            return {"as_tensors": []}
        tensors = [isinstance(each, Node) and isinstance(each.meta.get("val"), (TensorBase, Spec)) for each in values]
        if all(tensors):
            return {"as_tensors": [{"name": each.name} for each in values]}
        if all(tensor or each is None for tensor, each in zip(tensors, values)):
            return {"as_optional_tensors": [{"as_none": True} if each is None else {"as_tensor": {"name": each.name}} for each in values]}
        if any(isinstance(each, Node) for each in values):
            return {"as_sym_ints": [{"as_name": each.name} if isinstance(each, Node) else {"as_int": int(each)} for each in values]}
        for kind, name in ((bool, "as_bools"), (int, "as_ints"), (str, "as_strings")):
            if all(isinstance(each, kind) for each in values):
                return {name: [kind(each) for each in values]}
        if all(isinstance(each, (int, float)) for each in values):
            return {"as_floats": [float(each) for each in values]}
        raise NotSupported(f"a list with {values[0]!r} can't be part of a .pt2 file")

    def results(self, node: Node, returns: Any) -> list[Any]:
        """The results of an operator."""
        if not returns:
            return []
        known: Any = node.meta.get("val")
        if len(returns) == 1 and not returns[0].type.listed:
            return [self.value(node)]
        named = self.part_names(node, len(known))
        for name, each in zip(named, known):
            if each is not None:
                self.tensors[name] = tensor_meta(each)
        if len(returns) == 1:
            return [{"as_tensors": [{"name": name} for name in named]}]
        return [{"as_none": True} if each is None else {"as_tensor": {"name": name}} for name, each in zip(named, known)]

    def parts(self, node: Node) -> list[Any]:
        """The results of an operator that takes functions."""
        known = node.meta["val"]
        named = self.part_names(node, len(known))
        for name, each in zip(named, known):
            self.tensors[name] = tensor_meta(each)
        return [{"as_tensor": {"name": name}} for name in named]

    @staticmethod
    def part_names(node: Node, count: int) -> list[str]:
        """The names of a node's results; those that nobody takes get one too."""
        taken = {user.args[1]: user.name for user in node.users if user.target is operator.getitem}
        return [taken.get(at, f"{node.name}_unused_{at}") for at in range(count)]


def signature_data(ep: Any) -> dict[str, Any]:
    """The signature of a program."""
    inputs: list[Any] = []
    for each in ep.graph_signature.input_specs:
        name = {"name": each.arg.name}
        if each.kind is InputKind.PARAMETER:
            inputs.append({"parameter": {"arg": name, "parameter_name": each.target}})
        elif each.kind is InputKind.BUFFER:
            inputs.append({"buffer": {"arg": name, "buffer_name": each.target, "persistent": bool(each.persistent)}})
        elif each.kind is InputKind.CONSTANT_TENSOR:
            inputs.append({"tensor_constant": {"arg": name, "tensor_constant_name": each.target}})
        elif isinstance(each.arg, ConstantArgument):
            inputs.append({"constant_input": {"name": each.arg.name, "value": GraphWriter(None).constant(each.arg.value)}})
        elif each.kind is InputKind.USER_INPUT:
            inputs.append({"user_input": {"arg": _argument(each.arg)}})
        else:
            raise NotSupported(f"an input of the kind {each.kind.name} can't be part of a .pt2 file")
    outputs: list[Any] = []
    for each in ep.graph_signature.output_specs:
        arg = {"name": each.arg.name}
        if each.kind is OutputKind.USER_OUTPUT:
            outputs.append({"user_output": {"arg": _argument(each.arg)}})
        elif each.kind is OutputKind.BUFFER_MUTATION:
            outputs.append({"buffer_mutation": {"arg": arg, "buffer_name": each.target}})
        elif each.kind is OutputKind.PARAMETER_MUTATION:
            outputs.append({"parameter_mutation": {"arg": arg, "parameter_name": each.target}})
        elif each.kind is OutputKind.USER_INPUT_MUTATION:
            outputs.append({"user_input_mutation": {"arg": arg, "user_input_name": each.target}})
        elif each.kind is OutputKind.LOSS_OUTPUT:
            outputs.append({"loss_output": {"arg": arg}})
        else:
            raise NotSupported(f"an output of the kind {each.kind.name} can't be part of a .pt2 file")
    return {"input_specs": inputs, "output_specs": outputs}


def _argument(arg: Any) -> dict[str, Any]:
    if isinstance(arg, ConstantArgument):
        return GraphWriter(None).constant(arg.value)
    if isinstance(arg, SymIntArgument):
        return {"as_sym_int": {"as_name": arg.name}}
    if isinstance(arg, SymFloatArgument):
        return {"as_sym_float": {"as_name": arg.name}}
    return {"as_tensor": {"name": arg.name}}


def program_data(ep: Any) -> dict[str, Any]:
    """A program as PyTorch's ``models/model.json`` has it."""
    constants = {each.arg.name: each.arg.value for each in ep.graph_signature.input_specs if isinstance(each.arg, ConstantArgument)}
    calls = []
    for entry in ep.module_call_graph:
        signature = entry.signature
        data = None
        if signature is not None:
            data = {
                "inputs": [_argument(each) for each in signature.inputs], "outputs": [_argument(each) for each in signature.outputs], "in_spec": pytree.treespec_dumps(signature.in_spec), "out_spec": pytree.treespec_dumps(signature.out_spec),
                "forward_arg_names": signature.forward_arg_names,
            }  # fmt: skip
        calls.append({"fqn": entry.fqn, "signature": data})
    ranges = {
        str(key): {
            "min_val": None if abs(each.lower) >= INFINITY else each.lower,
            "max_val": None if each.upper >= INFINITY else each.upper,
        }
        for key, each in ep.range_constraints.items()
    }
    graph = GraphWriter(ep.graph_module).graph(constants)
    return {
        "graph_module": {
            "graph": graph, "signature": signature_data(ep), "module_call_graph": calls, "metadata": {}, "treespec_namedtuple_fields": namedtuples(ep),
        },
        "opset_version": {"aten": OPSET_VERSION}, "range_constraints": ranges, "schema_version": {"major": SCHEMA_VERSION[0], "minor": SCHEMA_VERSION[1]},
        "verifiers": [each.dialect for each in ep.verifiers], "torch_version": TORCH_VERSION, "guards_code": list(ep._guards_code),
    }  # fmt: skip


def namedtuples(ep: Any) -> dict[str, Any]:
    """The fields of the named tuples in a program's inputs and outputs."""
    found: dict[str, Any] = {}

    def visit(spec: Any) -> None:
        kind = getattr(spec, "context", None)
        if isinstance(kind, type) and hasattr(kind, "_fields"):
            found[f"{kind.__module__}.{kind.__qualname__}"] = {"field_names": list(kind._fields)}
        for each in spec.children_specs:
            visit(each)

    for entry in ep.module_call_graph:
        if entry.signature is not None:
            visit(entry.signature.in_spec)
            visit(entry.signature.out_spec)
    return found
