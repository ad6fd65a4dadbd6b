"""Names of `torch._C` that are about graphs: their classes, and passes over those of scripts and traces."""

from __future__ import annotations

from typing import Any

from ...capture.graph_module import GraphModule
from ...capture.script.aten_graph import analysis, passes
from ...capture.script.aten_graph.ir import AtenBlock, AtenGraph, AtenNode, AtenValue
from ...capture.script.aten_graph.parsing import parse_graph
from ...capture.script.aten_graph.peephole import list_idioms, peephole
from ...capture.script.aten_graph.rewriting import rewrite
from ...capture.script.aten_graph.run import run
from ...capture.script.aten_graph.tensor_type import Sized
from ...capture.script.freeze import expanded
from ...capture.script.script_module import ScriptModule
from ...capture.script.transform.inline import inlined
from ...capture.trace.traced import TracedFunction
from ...graph import Graph as CapturedGraph
from ...onnx.ir import OnnxGraph, OnnxNode, OnnxValue
from ...onnx.ir import TensorType as OnnxTensorType


class _Kinds(type):
    """A class that knows the classes of exports and of captures by one name."""

    kinds: tuple[type, ...]

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.kinds)


class Graph(metaclass=_Kinds):
    """Graphs: of exports, and of scripts and traces."""

    kinds = (OnnxGraph, AtenGraph, CapturedGraph)

    def __new__(cls) -> Any:
        return AtenGraph()


class Node(metaclass=_Kinds):
    """The nodes of graphs."""

    kinds = (OnnxNode, AtenNode)


class Value(metaclass=_Kinds):
    """The values of graphs."""

    kinds = (OnnxValue, AtenValue)


class TensorType(metaclass=_Kinds):
    """The types of tensors in graphs."""

    kinds = (OnnxTensorType, Sized)

    def __new__(cls, dtype: Any, shape: tuple[Any, ...] | None) -> Any:
        return OnnxTensorType(dtype, shape)

    get, create_from_tensor = Sized.get, Sized.create_from_tensor


Block = AtenBlock


def shown(graph: Any) -> AtenGraph:
    """A graph in PyTorch's form, which a pass may change."""
    if isinstance(graph, AtenGraph):
        return graph
    found = graph.torchscript() if isinstance(graph, CapturedGraph) else None
    if found is None:
        raise RuntimeError("the graph has no TorchScript form: a step of it is no operator of PyTorch")
    graph.listing.changed = True
    return found  # type: ignore[no-any-return]


def _jit_pass_lint(graph: Any) -> None:
    """Check that each step uses what is there."""
    (graph if isinstance(graph, AtenGraph) else graph.torchscript() or graph).lint()


def parse_ir(input: str, parse_tensor_constants: bool = False) -> AtenGraph:
    """The graph that a text describes."""
    return parse_graph(input, parse_tensor_constants)


def _jit_pass_erase_shape_information(graph: Any) -> None:
    """Forget what is known of tensors."""
    analysis.erase(shown(graph))


def _jit_erase_non_input_shape_information(graph: Any) -> None:
    """Forget what is known of tensors that are no inputs."""
    analysis.erase(shown(graph), inputs_too=False)


def _jit_pass_propagate_shapes_on_graph(graph: Any) -> None:
    """Find the sizes of tensors from those of the inputs."""
    analysis.propagate_shapes(shown(graph))


def _jit_pass_propagate_dtype(graph: Any) -> None:
    """Find the element types of tensors from those of the inputs."""
    analysis.propagate_dtypes(shown(graph))


def _jit_pass_propagate_device(graph: Any) -> None:
    """Find the devices of tensors from those of the inputs."""
    analysis.propagate_devices(shown(graph))


def _jit_pass_complete_shape_analysis(graph: Any, inputs: tuple[Any, ...], with_grad: bool) -> None:
    """Give the inputs the types of examples, and find all that follows for other tensors."""
    found = shown(graph)
    analysis.set_inputs(found, inputs)
    analysis.complete_shapes(found, with_grad)


def _propagate_shapes(graph: Any, inputs: tuple[Any, ...], with_grad: bool = False) -> AtenGraph:
    """A copy with all types that follow from example inputs."""
    found = shown(graph).copy()
    _jit_pass_complete_shape_analysis(found, inputs, with_grad)
    return found


_propagate_and_assign_input_shapes = _propagate_shapes
_symbolic_shapes_test_mode = [False]


def _jit_set_symbolic_shapes_test_mode(enabled: bool) -> bool:
    """Remember whether the analysis of sizes is under test; it is the same."""
    _symbolic_shapes_test_mode[0] = bool(enabled)
    return bool(enabled)


def _jit_symbolic_shapes_test_mode_enabled() -> bool:
    """What was set for tests of the analysis of sizes."""
    return _symbolic_shapes_test_mode[0]


def _jit_pass_peephole(graph: Any, disable_shape_peepholes: bool = False) -> bool:
    """Simplify what follows from types and from the steps before."""
    return peephole(shown(graph))


def _jit_pass_peephole_list_idioms(graph: Any, refine_list_len: bool = False) -> bool:
    """Take apart lists whose elements are known."""
    return list_idioms(shown(graph), refine_list_len)


def _jit_pass_custom_pattern_based_rewrite_graph(pattern: str, fused_node_name: str, graph: Any, value_name_pairs: Any = ()) -> None:
    """Put one graph, given as text, in the place of another wherever that occurs; lines of the program stay those of the occurrence."""
    rewrite(shown(graph), parse_graph(pattern), parse_graph(fused_node_name))


def _jit_pass_dce(graph: Any) -> None:
    """Remove steps that nobody needs."""
    passes.dce(shown(graph))


def _jit_pass_cse(graph: Any) -> bool:
    """Compute the same but once."""
    return passes.cse(shown(graph))


def _jit_pass_constant_propagation(graph: Any) -> None:
    """Compute what follows from constants."""
    passes.constant_propagation(shown(graph))


def _jit_pass_constant_pooling(graph: Any) -> None:
    """Have each constant once."""
    passes.constant_pooling(shown(graph))


def _jit_pass_canonicalize(graph: Any, keep_unique_names: bool = True) -> AtenGraph:
    """A copy with values numbered in order."""
    return passes.canonicalize(shown(graph))


def _jit_pass_inline(graph: Any) -> None:
    """Put the graphs of functions, methods and Modules in the place of their calls."""
    if isinstance(graph, AtenGraph):
        return
    listing = graph.listing
    owner = listing.owner()
    owner = expanded(owner) if isinstance(owner, ScriptModule) and not isinstance(owner, GraphModule) else owner
    listing.made = type(listing)(inlined(graph, owner), listing.what[0], owner, *listing.what[1:])()
    listing.changed = True


def _create_function_from_graph(qualname: str, graph: Any) -> Any:
    """A function that runs a graph; that of a trace can be saved."""
    if isinstance(graph, CapturedGraph) and graph.listing is not None and not graph.listing.changed:
        owner = graph.listing.owner()
        if isinstance(owner, GraphModule) and not isinstance(owner, ScriptModule):
            return TracedFunction(owner, qualname)
    held = shown(graph)

    def call(*args: Any) -> Any:
        return run(held, *args)

    call.graph = held  # type: ignore[attr-defined]
    call.__name__ = qualname
    return call


def _jit_interpret_graph(graph: Any, inputs: Any) -> Any:
    """What a graph gives for inputs."""
    return run(shown(graph), *inputs)
