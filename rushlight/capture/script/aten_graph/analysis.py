"""What follows for the values of a graph in PyTorch's form from the types of its inputs: sizes, element types, devices.

A node runs on tensors without memory (of the device ``meta``) where enough is known of its arguments, so that each op's own rule says what it gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....core.base import TensorBase
from ....core.devices import device
from ....core.dtypes import float32
from ....ops.overloads import find_packet
from ..frontend.types import TENSOR
from .ir import AtenBlock, AtenGraph, AtenNode, AtenValue
from .passes import is_view
from .run import run_node
from .tensor_type import Sized, contiguous_strides, sized

_UNKNOWN: Any = object()  # an argument of which too little is known
Rule = Callable[[AtenNode], None]


def erase(block: AtenBlock, inputs_too: bool = True) -> None:
    """Forget what is known of tensors."""
    for node in (*([block._param] if inputs_too else ()), *block._nodes):
        for each in node._outputs:
            if isinstance(each._type, Sized):
                each._type = TENSOR
        for inner in node._blocks:
            erase(inner)


def set_inputs(graph: AtenGraph, examples: Sequence[Any]) -> None:
    """Give a graph's inputs the types of examples; a Module that is the first input has none."""
    values = [each for each in graph._param._outputs if getattr(each._type, "kind", lambda: "")() != "ClassType"]
    for value, example in zip(values, examples):
        if isinstance(example, TensorBase):
            value._type = sized(example)


def propagate_shapes(graph: AtenGraph) -> None:
    """Give values the sizes that follow from those of the inputs."""
    _walk(graph, lambda node: _set_facts(node, ("shape",), float32))


def propagate_dtypes(graph: AtenGraph) -> None:
    """Give values the element types that follow from those of the inputs."""
    _walk(graph, lambda node: _set_facts(node, ("of",), None))


def complete_shapes(graph: AtenGraph, with_grad: bool = True) -> None:
    """Give values all that follows from the types of the inputs, whether they want a gradient too if that is asked for."""
    facts = ("of", "shape", "strides", "place", *(["grad"] if with_grad else []))
    _walk(graph, lambda node: _set_facts(node, facts, None))


def propagate_devices(graph: AtenGraph) -> None:
    """Give values the device that follows from those of the inputs."""
    _walk(graph, _set_device)


def _walk(block: AtenBlock, rule: Rule) -> None:
    """Apply a rule to all nodes in order; branches and loops have what their blocks agree on."""
    for node in block._nodes:
        if node._kind == "prim::If":
            for inner in node._blocks:
                _walk(inner, rule)
            for output, *sides in zip(node._outputs, *(inner._return._inputs for inner in node._blocks)):
                _meet(output, [each._type for each in sides])
        elif node._kind == "prim::Loop":
            (body,) = node._blocks
            carried = list(zip(node._inputs[2:], body._param._outputs[1:], body._return._inputs[1:], node._outputs))
            for before, inside, _, _ in carried:
                _meet(inside, [before._type])
            _walk(body, rule)
            for _ in range(3):  # each round may know less of what is carried
                for before, inside, after, _ in carried:
                    _meet(inside, [before._type, after._type])
                erase(body, inputs_too=False)
                _walk(body, rule)
            for before, _, after, output in carried:
                _meet(output, [before._type, after._type])
        elif node._kind == "prim::Constant":
            value = node._attributes.get("value")
            if isinstance(value, TensorBase):
                node.output()._type = sized(value)
        else:
            rule(node)


def _meet(value: AtenValue, kinds: list[Any]) -> None:
    """Give a value the facts that several types have in common."""
    if not (value._type is TENSOR or isinstance(value._type, Sized)):
        return
    found = [each if isinstance(each, Sized) else Sized() for each in kinds]
    facts: dict[str, Any] = {
        name: _same([getattr(each, field) for each in found])
        for name, field in (("of", "_dtype"), ("strides", "_strides"), ("grad", "_grad"), ("place", "_place"))
    }
    shapes = [each._shape for each in found]
    if all(each is not None for each in shapes) and len({len(each) for each in shapes if each is not None}) == 1:
        facts["shape"] = [_same(list(each)) for each in zip(*shapes)]  # type: ignore[arg-type]
    value._type = Sized(**facts)


def _same(values: list[Any]) -> Any:
    return values[0] if all(each == values[0] for each in values) else None


def _is_tensor(value: AtenValue) -> bool:
    return value._type is TENSOR or isinstance(value._type, Sized)


def _set_facts(node: AtenNode, facts: tuple[str, ...], standing_for: Any) -> None:
    """Give the results of a node what its op says of them."""
    if not any(map(_is_tensor, node._outputs)) and node._kind != "prim::ListConstruct":
        return
    given = [_example(each, facts, standing_for) for each in node._inputs]
    if any(each is _UNKNOWN for each in given):
        return
    try:
        results = run_node(node, given, {})
    except Exception:  # an op that does not run without memory, or arguments that do not fit together: nothing is known
        return
    wants = any(isinstance(each._type, Sized) and each._type._grad for each in node._inputs)
    places = [each._type._place for each in node._inputs if isinstance(each._type, Sized) and each._type._place is not None]
    for output, result in zip(node._outputs, results):
        if not isinstance(result, TensorBase):
            continue
        known: Any = output._type if isinstance(output._type, Sized) else Sized()
        found = sized(result)
        place = places[0] if places else device("cpu")
        what = {
            "of": found._dtype,
            "shape": found._shape,
            "strides": found._strides,
            "grad": wants and bool(result.is_floating_point()),
            "place": place,
        }  # type: ignore[attr-defined]
        output._type = known.changed(**{name: what[name] for name in facts})
        if "shape" not in facts and known._shape is None:  # which sizes it has depended on those that were not known
            output._type = output._type.changed(shape=[None] * len(result.shape))  # type: ignore[attr-defined]


def _example(value: AtenValue, facts: tuple[str, ...], standing_for: Any) -> Any:
    """An argument for a run without memory: a constant, or a tensor of which enough is known."""
    node, kind = value._node, value._type
    if node._kind == "prim::Constant":
        found = node._attributes.get("value")
        return _without_memory(sized(found), facts, standing_for) if isinstance(found, TensorBase) else found
    if isinstance(kind, Sized):
        return _without_memory(kind, facts, standing_for)
    if node._kind in ("prim::ListConstruct", "prim::TupleConstruct"):
        parts = [_example(each, facts, standing_for) for each in node._inputs]
        return _UNKNOWN if any(each is _UNKNOWN for each in parts) else parts if node._kind == "prim::ListConstruct" else tuple(parts)
    name = repr(kind)
    if facts == ("of",) and name in ("int", "float", "bool"):  # which number it is does not matter
        return {"int": 1, "float": 1.0, "bool": True}[name]
    if node._kind == "prim::Param" or node._blocks:
        return _UNKNOWN
    given = [_example(each, facts, standing_for) for each in node._inputs]
    if any(each is _UNKNOWN for each in given):
        return _UNKNOWN
    try:
        return run_node(node, given, {})[node._outputs.index(value)]
    except Exception:  # it raises when the program runs
        return _UNKNOWN


def _without_memory(kind: Sized, facts: tuple[str, ...], standing_for: Any) -> Any:
    elements = kind._dtype or standing_for
    shape = kind._shape
    if facts == ("of",) and shape is not None:  # sizes that are not known may be 1 for this question
        shape = tuple(each if isinstance(each, int) and each >= 0 else 1 for each in shape)
    if elements is None or shape is None or not all(isinstance(each, int) and each >= 0 for each in shape):
        return _UNKNOWN
    strides = kind.strides() if kind.strides() is not None and len(kind.strides() or ()) == len(shape) else contiguous_strides(shape)
    return find_packet("aten", "empty_strided")(shape, strides, dtype=elements, device="meta")


def _set_device(node: AtenNode) -> None:
    """Give the results of a node the device of its arguments, or the one that it is asked for."""
    if not any(map(_is_tensor, node._outputs)):
        return
    asked = [each for each in node._inputs if repr(each._type) in ("Device", "Optional[Device]")]
    place: Any = None
    if asked and asked[0]._node._kind != "prim::Constant":
        return
    if asked and asked[0].toIValue() is not None:
        place = device(asked[0].toIValue())
    else:
        tensors = [each._type if isinstance(each._type, Sized) else Sized() for each in node._inputs if _is_tensor(each)]
        if not tensors or any(each._place is None for each in tensors):
            return
        if node._kind in ("aten::view_as", "aten::expand_as", "aten::reshape_as") or is_view(node):
            tensors = tensors[:1]
        elif node._kind in ("aten::type_as", "aten::to.other"):
            tensors = tensors[1:]
        larger = [each for each in tensors if each.dim() != 0] or tensors
        found = {str(each.device()) for each in larger}
        if len(found) != 1 or any(each.dim() is None and len(tensors) > 1 and str(each.device()) not in found for each in tensors):
            return
        if any(each.dim() == 0 and str(each.device()) not in (*found, "cpu") for each in tensors):
            return
        place = larger[0].device()
    for output in node._outputs:
        if _is_tensor(output):
            output._type = (output._type if isinstance(output._type, Sized) else Sized()).with_device(place)
