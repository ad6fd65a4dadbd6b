"""Compiles the gradient rules of an op, on first use, into its node class and the function that records a call.

The generated ``record`` stores just what the rules name (inputs, outputs, shapes), and the generated ``backward`` runs just the rules
whose gradients are needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import generated_code
from .base import TensorBase, alias, runtime
from .declare import Joint, Op, call_body, table
from .devices import device_of, sole_accelerator
from .dtypes import BY_NUMPY, LOW_PRECISION, float32
from .errors import NotSupported
from .facets import Facet
from .node import Node, SavedResult, edge_of, freed, next_sequence, save, unpack, unpack_list
from .state import state

_new = object.__new__
recomputed: Facet[bool] = Facet(
    "recomputed",
    "saves its result for backward only to be faster: one that was written to in place meanwhile is computed again from the inputs",
)

dispensable: Facet[bool] = Facet(
    "dispensable result", "has a gradient rule that does without the result, which is not kept on an accelerator"
)

rounded_once: Facet[bool] = Facet(
    "gradient rounded once",
    "its gradient rule computes narrow types in float32 and rounds the result once",
    source="rushlight.ops.gradient_precision",
)
together: Facet[Callable[..., Any]] = Facet(
    "gradients together",
    "has one function for the gradients of all its inputs on an accelerator, where all are wanted; None leaves them to the rules",
)


def _recompute(op: Op) -> Callable[[Any, int], Any]:
    """A function that gives an output of the op again, as an array, from what its node saved."""

    def again(node: Any, index: int) -> Any:
        enabled, state.grad_enabled = state.grad_enabled, False
        try:
            made = op.call(*(node.saved_value(p.name) if p.name in node.saved_names else p.default for p in op.parameters))
        finally:
            state.grad_enabled = enabled
        return (made if op.returns is None else made[index])._array

    return again


def _names_of(rule: Any) -> tuple[str, ...]:
    code = rule.__code__
    return code.co_varnames[: code.co_argcount]


def _shape_of(value: Any) -> Any:
    array = getattr(value, "_array", None)
    if array is not None:
        return array.shape
    return [_shape_of(each) for each in value] if isinstance(value, (list, tuple)) else ()


def _dtype_of(value: Any) -> Any:
    array = getattr(value, "_array", None)
    if array is not None:
        return array.dtype
    return [_dtype_of(each) for each in value] if isinstance(value, (list, tuple)) else None


def _widened(value: Any) -> Any:
    """A tensor of a narrow floating-point type in float32; anything else as it is."""
    return table["cast"].call(value, float32) if isinstance(value, TensorBase) and value._array.dtype in LOW_PRECISION else value


def _narrowed(gradient: Any, dtype: Any) -> Any:
    return None if gradient is None else table["cast"].call(gradient, BY_NUMPY[dtype])


def _save_list(values: Any) -> tuple[Any, ...]:
    return tuple(save(each) for each in values)


def _edges(values: Any) -> tuple[Any, ...]:
    return tuple(edge_of(each) for each in values)


def missing_rule(op: Op) -> Joint:
    """The gradient rule of an op for which nobody has written one: the call is recorded, and backward says what is missing."""

    def rule(needs: Any, g: Any) -> Any:
        raise NotSupported(f"derivative for aten::{op.name} is not implemented")

    return Joint(tuple(p.name for p in op.parameters if p.kind != "value"), rule)


def rule_from_body(op: Op) -> Joint:
    """The gradient rule of a composite that has a kernel but no rule: it runs the body and differentiates that."""
    names = tuple(p.name for p in op.parameters if p.kind != "value")
    every = ", ".join(p.name for p in op.parameters)
    namespace: dict[str, Any] = {"differentiate_body": differentiate_body, "op": op}
    exec(f"def rule(needs, g, {every}):\n    return differentiate_body(op, needs, g, ({every},))", namespace)
    return Joint(names, namespace["rule"])


def differentiate_body(op: Op, needs: tuple[bool, ...], g: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The gradients that are needed of an op's tensor parameters, from running its body and differentiating that."""
    again = state.grad_enabled  # create_graph: the results stay connected to the inputs
    fresh = list(args)
    targets: list[Any] = []

    def target(value: Any) -> Any:
        if not isinstance(value, TensorBase):
            return value
        proxy = table["view_as"].call(value, value) if again and value._requires_grad else alias(value, value._array)
        if value._array.dtype.kind in "fVc":
            proxy._requires_grad = True
            targets.append(proxy)
        return proxy

    positions = [i for i, p in enumerate(op.parameters) if p.kind != "value"]
    for need, position in zip(needs, positions):
        if need:
            value = args[position]
            fresh[position] = [target(each) for each in value] if isinstance(value, (list, tuple)) else target(value)
    state.grad_enabled = True
    try:
        outputs = call_body(op, tuple(fresh))
        pairs = [(o, each) for o, each in zip(outputs, g) if each is not None] if isinstance(g, (list, tuple)) else [(outputs, g)]
        if not isinstance(g, (list, tuple)) and isinstance(outputs, tuple):
            pairs = [(outputs[0], g)]
        pairs = [(o, each) for o, each in pairs if o._requires_grad]  # an output may depend on none of the targets
        if pairs:
            found = runtime.differentiate(
                [o for o, _ in pairs], targets, [each for _, each in pairs], create_graph=again, allow_unused=True
            )
        else:
            found = (None,) * len(targets)
    finally:
        state.grad_enabled = again
    gradients = dict(zip(map(id, targets), found))

    def result(value: Any) -> Any:
        return [gradients.get(id(each)) for each in value] if isinstance(value, (list, tuple)) else gradients.get(id(value))

    return tuple(result(fresh[position]) if need else None for need, position in zip(needs, positions))


# `edge_of`, inlined for plain tensors.
_EDGE = """\
    if {name}.__class__ is plain_tensor:
        {edge} = {name}._grad_fn
        if {edge} is None:
            {edge} = {name} if {name}._requires_grad else None
        elif {name}._output_index:
            {edge} = ({edge}, {name}._output_index)
    else:
        {edge} = edge_of({name})"""


class _Writer:
    """Generates the source of ``record(args, made_)`` and ``backward(self, g)`` for one op."""

    def __init__(self, op: Op) -> None:
        self.op = op
        self.kinds = {p.name: p.kind for p in op.parameters}
        self.outputs = op.returns if isinstance(op.returns, tuple) else ()
        self.gradient_outputs = [i for i, name in enumerate(self.outputs) if name not in op.nondifferentiable]
        self.multiple = op.returns == "list" or len(self.gradient_outputs) > 1
        gradient = (rule_from_body(op) if op.body is not None else missing_rule(op)) if op.vjp is None else op.vjp
        self.joint = isinstance(gradient, Joint)
        if isinstance(gradient, Joint):
            self.rules = [(gradient.names, gradient.rule)]
        else:
            self.rules = [((name,), rule) for name, rule in gradient.items()]
        self.wanted = [name for names, _ in self.rules for name in names]
        unknown = [name for name in self.wanted if name not in self.kinds]
        if unknown:
            raise TypeError(f"op {op.name}: gradient rules for unknown parameters {unknown}")
        self.lists = [name for name in self.wanted if self.kinds[name] == "tensors"]

    def source_of(self, name: str) -> tuple[str, str]:
        """The source that saves a rule's parameter, and that which unpacks it (with {} for the stored value)."""
        op = self.op
        if name == "result" and name not in self.kinds:  # ops may have a parameter of this name
            text = "saved_result(made_, 0)" if op.returns is None else "made_"
            if dispensable.of(op):  # what is kept for the CPU's sake would only take memory of an accelerator
                text = f"(None if made_._array.__class__ is sole_accelerator.array_type else {text})"
            return text, "unpack({}, self)"
        if name in self.outputs:
            index = self.outputs.index(name)
            part = None if name in op.nondifferentiable else index
            return f"saved_result(made_[{index}], {part})", "unpack({}, self)"
        kind = self.kinds.get(name)
        if kind is not None:
            if kind == "value":
                return name, "{}"
            if kind == "tensors":
                return f"save_list({name})", "unpack_list({}, self)"
            plain = f"{name}.__class__ is plain_tensor and {name}._storage is None"
            return f"({name} if {plain} else save({name}))", "unpack({}, self)"
        for suffix in ("_shape", "_dtype", "_device"):
            if name.endswith(suffix) and name[: -len(suffix)] in self.kinds:
                source = name[: -len(suffix)]
                if suffix == "_device":
                    return f"device_of({source}._array)", "{}"
                if self.kinds[source] == "tensor":
                    return f"{source}._array.{suffix[1:]}", "{}"
                return f"{suffix[1:]}_of({source})", "{}"
        raise TypeError(f"op {op.name}: a gradient rule asks for '{name}', which is neither a parameter nor an output")

    def keeps_tensors(self) -> bool:
        """Whether a node holds tensors (or numbers in their place), which backward frees; sizes and settings it can keep."""
        return any(self.source_of(name)[1] != "{}" for name in self.saved())

    def saved(self) -> dict[str, set[str]]:
        """The names that rules ask for, each with the parameters whose gradients need it."""
        needed: dict[str, set[str]] = {}
        for names, rule in self.rules:
            for name in _names_of(rule):
                if name not in ("g", "needs"):
                    needed.setdefault(name, set()).update(names)
        return needed

    def write(self) -> str:
        saved = self.saved()
        edge = {name: f"edge_{name}" for name in self.wanted}
        lines = ["def record(args, made_):"]
        lines.append(f"    {', '.join(p.name for p in self.op.parameters)}, = args")
        lines.append("    node = new(node_type)")
        for name in self.wanted:
            if name in self.lists:
                lines.append(f"    {edge[name]} = edges({name})")
            else:
                lines += _EDGE.format(name=name, edge=edge[name]).split("\n")
        inputs = "".join(f"*{edge[n]}, " if n in self.lists else f"{edge[n]}, " for n in self.wanted)
        lines.append(f"    node.inputs = ({inputs})")
        entries = []
        for name, users in saved.items():
            how, _ = self.source_of(name)
            if len(users) < len(self.wanted) and not (users & set(self.lists)):
                how = f"({how} if {' or '.join(f'{edge[u]} is not None' for u in sorted(users))} else None)"
            entries.append(how)
        entries += [f"len({name})" for name in self.lists]
        lines.append(f"    node.saved = ({''.join(entry + ', ' for entry in entries)})")
        lines.append("    node.sequence = next_sequence()")
        if self.multiple:
            lines.append("    node.shape = node.dtype = None")
            lines.append("    node.outputs = [(each._array.shape, each._array.dtype) for each in made_]")
        else:
            first = "made_" if self.op.returns is None else f"made_[{self.gradient_outputs[0]}]"
            lines.append(f"    array = {first}._array")
            lines.append("    node.shape = array.shape")
            lines.append("    node.dtype = array.dtype")
        lines.append("    return node")
        lines += self.backward(saved, edge)
        return "\n".join(lines)

    def backward(self, saved: dict[str, set[str]], edge: dict[str, str]) -> list[str]:
        lines = ["def backward(self, g):", "    saved = self.saved", "    if saved is None:", "        raise freed(self)"]
        stored = [*saved, *(f"count_{name}" for name in self.lists)]
        if stored:
            lines.append(f"    {', '.join(stored)}, = saved")
        for name in saved:
            _, how = self.source_of(name)
            if how == "unpack({}, self)":  # most entries are tensors without a storage, which need no check of the version
                lines.append(f"    if {name}.__class__ is not plain_tensor or {name}._storage is not None:")
                lines.append(f"        {name} = {how.format(name)}")
            elif how != "{}":
                lines.append(f"    {name} = {how.format(name)}")
        if self.lists:
            position = "0"
            for name in self.wanted:
                if name in self.lists:
                    lines.append(f"    {edge[name]} = self.inputs[{position}:{position} + count_{name}]")
                    position += f" + count_{name}"
                else:
                    lines.append(f"    {edge[name]} = self.inputs[{position}]")
                    position += " + 1"
        elif self.wanted:
            lines.append(f"    {', '.join(edge[name] for name in self.wanted)}, = self.inputs")
        whole = together.of(self.op)
        if whole is not None:
            every = " and ".join(f"{edge[name]} is not None" for name in self.wanted)
            lines.append(f"    if sole_accelerator.array_type is not None and {every}:")
            lines.append(f"        made = together({', '.join(_names_of(whole))})")
            lines.append("        if made is not None:")
            lines.append("            return made")
        once = rounded_once.of(self.op) and not self.multiple and not self.lists
        if once:
            lines.append("    narrow = g._array.dtype")
            lines.append("    if narrow in LOW_PRECISION:")
            lines.append("        g = widened(g)")
            lines += [f"        {name} = widened({name})" for name in saved if self.source_of(name)[1] != "{}"]
        results = []
        for index, (names, rule) in enumerate(self.rules):
            call = f"rule_{index}({', '.join(_names_of(rule))})"
            wants = [f"any(e is not None for e in {edge[n]})" if n in self.lists else f"{edge[n]} is not None" for n in names]
            if "needs" in _names_of(rule):
                if len(names) == 1 and names[0] in self.lists:
                    lines.append(f"    needs = tuple(e is not None for e in {edge[names[0]]})")
                else:
                    lines.append(f"    needs = ({', '.join(wants)},)")
            if self.joint:
                lines.append(f"    {', '.join(f'grad_{n}' for n in names)}, = {call}")
            else:
                empty = f"(None,) * count_{names[0]}" if names[0] in self.lists else "None"
                lines.append(f"    grad_{names[0]} = {call} if {wants[0]} else {empty}")
            for name in names:
                if name in self.lists:
                    results.append(f"*(grad_{name} if grad_{name} is not None else (None,) * count_{name})")
                else:
                    results.append(f"grad_{name}")
        if once:
            lines.append("    if narrow in LOW_PRECISION:")
            lines += [f"        {each} = narrowed({each}, narrow)" for each in results]
        lines.append(f"    return ({''.join(each + ', ' for each in results)})")
        return lines


def build(op: Op) -> None:
    """Compile ``op.node_type`` and ``op.record``."""
    writer = _Writer(op)
    node_type = type(op.node_name, (Node,), {"__slots__": (), "__module__": "rushlight.autograd"})
    namespace: dict[str, Any] = {
        "__name__": op.source_module, "new": _new, "node_type": node_type, "edge_of": edge_of, "edges": _edges,
        "save": save, "save_list": _save_list, "saved_result": SavedResult, "shape_of": _shape_of,
        "dtype_of": _dtype_of, "next_sequence": next_sequence, "freed": freed, "unpack": unpack,
        "unpack_list": unpack_list, "plain_tensor": runtime.tensor_type, "device_of": device_of, "sole_accelerator": sole_accelerator,
        "together": together.of(op), "LOW_PRECISION": LOW_PRECISION, "widened": _widened, "narrowed": _narrowed,
    }  # fmt: skip
    for index, (_, rule) in enumerate(writer.rules):
        namespace[f"rule_{index}"] = rule
    exec(generated_code.compiled(writer.write(), f"<gradient of {op.name}>"), namespace)
    attributes: Any = node_type
    attributes.backward = namespace["backward"]
    attributes.multiple = writer.multiple
    attributes.saved_names = tuple(writer.saved())
    attributes.saved_tensor_names = tuple(name for name in writer.saved() if writer.source_of(name)[1] != "{}")
    if recomputed.of(op):
        attributes.recompute = _recompute(op)
    if not writer.keeps_tensors():
        attributes.release = Node.keep
    op.node_type = node_type
    op.record = namespace["record"]
