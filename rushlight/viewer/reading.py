"""Makes pictures of ONNX models, of graphs, and of objects that have a graph."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from typing import Any

from ..capture.trace.traced import TracedFunction, load
from ..core.dtypes import BY_NAME
from ..core.errors import ArgumentError
from ..graph import Graph, Node
from ..graph.printer import describe
from ..nn.modules.module import Module
from ..onnx.files import opset_of, read_model
from ..onnx.program import ONNXProgram
from ..onnx.types import ONNX_NUMBERS
from .picture import CONSTANT, GIVEN, INPUT, OUTPUT, STORED, Picture, shortened

_TYPES = {number: BY_NAME[name].abbr if name in BY_NAME else name for name, number in ONNX_NUMBERS.items()}
_STACK = re.compile(r'File "(.*)", line (\d+), in (.*)')
PREFIX = "pkg.torch.onnx."
NOBODY = "_empty_nn_module_stack"  # what PyTorch writes for a node that no Module has made
MOST = 20_000  # nodes, after which calls of Modules stand for what is in them
LARGEST = 1 << 29  # bytes of a model whose shapes are inferred


def picture_of(subject: Any, title: str | None = None) -> Picture:
    """The picture of a path (.onnx, or a file of ``jit.save``), an ONNX model or program, a graph, or a Module or function that has one."""
    if isinstance(subject, (str, os.PathLike)):
        path = os.fspath(subject)
        title = title or os.path.basename(path)
        return onnx_picture(read_model(path, check=False), title) if path.endswith(".onnx") else picture_of(load(path), title)
    if isinstance(subject, ONNXProgram):
        return onnx_picture(subject.model_proto, title or "exported model")
    if hasattr(subject, "opset_import"):
        return onnx_picture(subject, title or subject.graph.name or "model")
    if isinstance(subject, TracedFunction):
        return graph_picture(subject.graph, title or subject.name, subject._module)
    if isinstance(subject, Graph):
        return graph_picture(subject, title or "graph", subject.owning_module)
    graph = getattr(subject, "graph", None)
    if isinstance(graph, Graph):
        return graph_picture(graph, title or getattr(subject, "original_name", None) or type(subject).__name__, subject)
    raise ArgumentError(f"there is no graph in {type(subject).__name__}: give an ONNX file, a graph, or a traced or scripted module")


# -- ONNX --------------------------------------------------------------------------------------------------------


def onnx_picture(model: Any, title: str) -> Picture:
    """The picture of an ONNX model, with its bodies and its functions."""
    picture = Picture(title)
    model = with_shapes(model)
    graph = model.graph
    weights = sum(elements(each.dims) for each in graph.initializer)
    picture.facts = [
        ("format", f"ONNX, opset {opset_of(model)}"),
        ("made by", f"{model.producer_name} {model.producer_version}".strip() or "unknown"),
        ("nodes", f"{len(graph.node):,}"), ("stored", f"{len(graph.initializer):,} tensors, {weights:,} elements"),
    ]  # fmt: skip
    if model.functions:
        picture.facts.append(("functions", ", ".join(sorted(function.name for function in model.functions)[:20])))
    read_onnx_graph(picture, graph, "", {}, top=True)
    for function in model.functions:
        scope = {name: ("", function.name, name) for name in function.input}
        module = f"function {function.name}"
        picture.node(INPUT, function.name, module, [], [picture.value(scope[name], name, "", GIVEN) for name in function.input], [])
        read_nodes(picture, function.node, module, scope)
        picture.node(OUTPUT, function.name, module, [picture.value(key_in(scope, name), name) for name in function.output], [], [])
    return picture


def with_shapes(model: Any) -> Any:
    """The model with the shapes of its values, which some exporters leave out; as it is where they can't be inferred."""
    if model.graph.value_info or model.ByteSize() > LARGEST:
        return model
    import onnx

    try:
        return onnx.shape_inference.infer_shapes(model)
    except (onnx.shape_inference.InferenceError, ValueError, RuntimeError):
        return model


def elements(dims: Any) -> int:
    """How many elements a tensor has."""
    count = 1
    for size in dims:
        count *= int(size)
    return count


def read_onnx_graph(picture: Picture, graph: Any, module: str, outer: dict[str, Any], top: bool = False) -> None:
    """Add a graph, with the names that it sees from outside."""
    scope = dict(outer)
    place = () if top else (module,)
    own = [*graph.input, *graph.initializer, *(name for node in graph.node for name in node.output)]
    for each in own:
        name = each if isinstance(each, str) else each.name
        scope[name] = (*place, name)
    stored = {each.name for each in graph.initializer}
    for tensor in graph.initializer:
        picture.value(scope[tensor.name], tensor.name, f"{_TYPES.get(tensor.data_type, '?')}[{', '.join(map(str, tensor.dims))}]", STORED)
    given = [each for each in graph.input if each.name not in stored]
    for each in given:
        at = picture.value(scope[each.name], each.name, described(each.type), GIVEN)
        if top:
            picture.node(INPUT, each.name, module, [], [at], [])
    for info in (*graph.value_info, *graph.output):
        if info.name in scope:
            picture.value(scope[info.name], info.name, described(info.type))
    read_nodes(picture, graph.node, module, scope)
    if top:
        for each in graph.output:
            picture.node(OUTPUT, each.name, module, [picture.value(key_in(scope, each.name), each.name, described(each.type))], [], [])


def key_in(scope: dict[str, Any], name: str) -> Any:
    """The key of a value by its name."""
    return scope.get(name, (name,))


def read_nodes(picture: Picture, nodes: Any, module: str, scope: dict[str, Any]) -> None:
    """Add nodes, and the bodies that they own."""
    for node in nodes:
        facts = {each.key: each.value for each in node.metadata_props}
        path = "/".join(filter(None, (module, scope_of(node, facts))))
        note_classes(picture, facts)
        inputs = [picture.value(key_in(scope, name), name) for name in node.input if name]
        kind = CONSTANT if node.op_type == "Constant" else 0
        attributes, bodies = [], []
        constant = ""
        for each in node.attribute:
            if each.HasField("g"):
                bodies.append((each.name, each.g))
            else:
                attributes.append((each.name, shown(each)))
                if kind and each.HasField("t"):
                    constant = f"{_TYPES.get(each.t.data_type, '?')}[{', '.join(map(str, each.t.dims))}]"
        outputs = [picture.value(scope.setdefault(name, (name,)), name, constant, kind) for name in node.output if name]
        op = node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"
        picture.node(op, node.name or (node.output[0] if node.output else ""), path, inputs, outputs, attributes, source_in(facts))
        for name, body in bodies:
            read_onnx_graph(picture, body, "/".join(filter(None, (path, f"{node.name or op} · {name}"))), scope)


def scope_of(node: Any, facts: dict[str, str]) -> str:
    """The path of the module that a node comes from: as the file says, or as the names of nodes show it."""
    if ": " in facts.get("namespace", ""):  # as PyTorch writes it: whole paths with their classes, and at last the node itself
        found = facts["namespace"].split("/")[-2].partition(":")[0].strip() if "/" in facts["namespace"] else ""
        return "" if found.startswith(NOBODY) else found.replace(".", "/")
    if "namespace" in facts:
        return "/".join(part.split(":")[0].strip() for part in facts["namespace"].split("/") if part.split(":")[0].strip())
    if not facts and node.name.startswith("/"):
        return node.name.strip("/").rpartition("/")[0]
    return ""


def note_classes(picture: Picture, facts: dict[str, str]) -> None:
    """Remember the classes of the modules on the way to a node."""
    try:
        scopes, names = (ast.literal_eval(facts[PREFIX + key]) for key in ("name_scopes", "class_hierarchy"))
        for scope, name in zip(scopes, names):
            if not str(name).startswith("aten."):  # the operation itself, which PyTorch puts last
                picture.classes.setdefault(scope.replace(".", "/"), str(name).rpartition(".")[2])
    except (KeyError, ValueError, SyntaxError, TypeError, AttributeError, IndexError):
        return  # a file that does not say, or in another way


def source_in(facts: dict[str, str]) -> tuple[str, int, str] | None:
    """The user's line, as the file says."""
    found = _STACK.findall(facts.get(PREFIX + "stack_trace", ""))
    return (found[-1][0], int(found[-1][1]), found[-1][2]) if found else None


def described(kind: Any) -> str:
    """The type of a value: ``f32[N, 3]``."""
    if not kind.HasField("tensor_type"):
        return kind.WhichOneof("value") or ""
    tensor = kind.tensor_type
    if not tensor.HasField("shape"):
        return _TYPES.get(tensor.elem_type, "?") if tensor.elem_type else ""
    sizes = (str(dim.dim_value) if dim.HasField("dim_value") else dim.dim_param or "?" for dim in tensor.shape.dim)
    return f"{_TYPES.get(tensor.elem_type, '?')}[{', '.join(sizes)}]"


def shown(attribute: Any) -> str:
    """The text of an attribute."""
    if attribute.ref_attr_name:
        return f"the function's {attribute.ref_attr_name}"
    kind = attribute.type
    if kind == 4:  # a tensor
        import onnx

        head = f"{_TYPES.get(attribute.t.data_type, '?')}[{', '.join(map(str, attribute.t.dims))}]"
        if elements(attribute.t.dims) > 64 or attribute.t.data_location == 1:
            return head
        return f"{head} {shortened(str(onnx.numpy_helper.to_array(attribute.t).tolist()))}"
    simple = {1: lambda: f"{attribute.f:.7g}", 2: lambda: str(attribute.i), 3: lambda: attribute.s.decode("utf-8", "replace"),
              6: lambda: str([float(f"{each:.7g}") for each in attribute.floats]), 7: lambda: str(list(attribute.ints)),
              8: lambda: str([each.decode("utf-8", "replace") for each in attribute.strings])}  # fmt: skip
    return shortened(simple[kind]()) if kind in simple else "…"


# -- graphs ------------------------------------------------------------------------------------------------------


def graph_picture(graph: Graph, title: str, root: Any = None) -> Picture:
    """The picture of a graph, with the bodies of its nodes, and the graphs of Modules that it calls."""
    picture = Picture(title)
    picture.facts = [("format", "rushlight graph"), ("nodes", "")]
    if isinstance(root, Module):
        picture.facts.append(("stored", f"{sum(each.numel() for each in root.parameters()):,} parameters"))
        for path, part in root.named_modules():
            kind = getattr(part, "original_name", None) or type(part).__name__
            if kind not in ("Module", "GraphModule"):
                picture.classes[path.replace(".", "/")] = str(kind)
    read_graph(picture, graph, "", root, {})
    picture.facts[1] = ("nodes", f"{len(picture.nodes):,}")
    return picture


def read_graph(picture: Picture, graph: Graph, module: str, root: Any, keys: dict[Node, Any]) -> None:
    """Add the nodes of a graph; ``keys`` are those of values that come from around it, and get those of its own."""
    inside = bool(module)
    key_of = lambda node: keys.setdefault(node, (module, node) if inside else node)  # noqa: E731 (a graph may be drawn more than once)
    for node in graph.nodes:
        path = "/".join(filter(None, (module, module_of(picture, node))))
        inner = [(str(each.target), found) for each in node.all_input_nodes if (found := graph_of(each, root)) is not None]
        inputs = [picture.value(key_of(each), each.name) for each in node.all_input_nodes if graph_of(each, root) is None]
        if node.op == "get_attr":
            if graph_of(node, root) is None:
                picture.value(key_of(node), str(node.target), known(node, root), STORED)
            continue
        if node.op == "output":
            if not inside:
                picture.node(OUTPUT, node.name, module, inputs, [], [])
            continue
        if node.op == "placeholder" and inside or node.target == "_guards_fn":
            continue
        called = called_graph(node, root) if len(picture.nodes) < MOST else None
        if called is not None:
            read_call(picture, node, called, path, keys, key_of)
            continue
        kind = GIVEN if node.op == "placeholder" else 0
        outputs = [picture.value(key_of(node), node.name, known(node, root), kind)]
        op = INPUT if node.op == "placeholder" else operation(node)
        shown_arguments = [] if kind else list(arguments(node))
        picture.node(op, node.name, module if kind else path, inputs, outputs, shown_arguments, source_of(node))
        for name, body in node.bodies.items():
            read_graph(picture, body, "/".join(filter(None, (path, f"{node.name} · {name}"))), root, {})
        for name, (owner, body) in inner:
            read_graph(picture, body, "/".join(filter(None, (path, f"{node.name} · {name}"))), owner, {})


def read_call(picture: Picture, node: Node, called: tuple[Any, Graph], path: str, keys: dict[Node, Any], key_of: Any) -> None:
    """A call of a Module as the nodes of its graph: its inputs are what it is given, and what it gives is the value of the call."""
    owner, graph = called
    name = str(node.target).replace(".", "/")
    inner: dict[Node, Any] = {}
    placeholders = [each for each in graph.nodes if each.op == "placeholder"]
    for at, each in enumerate(placeholders):
        given = node.args[at] if at < len(node.args) else node.kwargs.get(str(each.target))
        if isinstance(given, Node):
            inner[each] = key_of(given)
    read_graph(picture, graph, "/".join(filter(None, (path, name))), owner, inner)
    result = next(each for each in graph.nodes if each.op == "output").args[0]
    if isinstance(result, (tuple, list)) and len(result) == 1:
        result = result[0]
    if isinstance(result, Node) and result in inner:
        keys[node] = inner[result]
    else:  # several values: the call stands for them
        parts = [picture.value(inner[each], each.name) for each in flat_nodes(result) if each in inner]
        picture.node(
            "results of", node.name, path, parts, [picture.value(key_of(node), node.name, known(node, owner))], [], source_of(node)
        )


def flat_nodes(value: Any) -> list[Node]:
    """The nodes in nested tuples, lists and dicts."""
    if isinstance(value, Node):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return [each for part in parts for each in flat_nodes(part)]


def called_graph(node: Node, root: Any) -> tuple[Any, Graph] | None:
    """The Module that a node calls, and the graph of the method; None where there is none."""
    if node.op != "call_module" or not isinstance(root, Module):
        return None
    found: Any = root
    *parts, last = str(node.target).split(".")
    for part in parts:
        found = found._modules.get(part)
        if found is None:
            return None
    owner = found._modules.get(last)
    programs = (found if owner is None else owner).__dict__.get("_script_programs", {})
    program = programs.get(last if owner is None else "forward")
    if program is not None:
        return (found if owner is None else owner), program.graph
    graph = None if owner is None else getattr(owner, "graph", None)
    return (owner, graph) if isinstance(graph, Graph) else None


def graph_of(node: Node, root: Any) -> tuple[Any, Graph] | None:
    """The graph that a node reads, which operators take as a function."""
    if node.op != "get_attr" or not isinstance(root, Module):
        return None
    found: Any = root._modules.get(str(node.target))
    graph = getattr(found, "graph", None)
    return (found, graph) if isinstance(graph, Graph) else None


def module_of(picture: Picture, node: Node) -> str:
    """The path of the module that a node comes from, whose classes are noted on the way."""
    for path, kind in (node.meta.get("nn_module_stack") or {}).values():
        if path:
            picture.classes.setdefault(str(path).replace(".", "/"), str(kind).rpartition(".")[2])
    path = str(node.meta.get("module") or "")
    return "" if path.startswith(NOBODY) else path.replace(".", "/")


def source_of(node: Node) -> tuple[str, int, str] | None:
    """The line that a node comes from."""
    found = node.meta.get("source")
    if found is None:
        lines = [
            each for each in _STACK.findall(str(node.meta.get("stack_trace") or "")) if not each[0].startswith("<")
        ]  # not generated code
        found = (lines[-1][0], int(lines[-1][1]), lines[-1][2]) if lines else None
    return found


def known(node: Node, root: Any) -> str:
    """The type of what a node gives, where it is known."""
    if "val" in node.meta:
        return shortened(describe(node.meta["val"]), 120)
    found = root
    if node.op == "get_attr" and root is not None:
        for part in str(node.target).split("."):
            found = getattr(found, part, None)
        return describe(found) if hasattr(found, "shape") else ""
    return ""


def operation(node: Node) -> str:
    """What a node does, in a word."""
    if node.op in ("call_method", "call_module"):
        return f".{node.target}" if node.op == "call_method" else str(node.target)
    op = node.table_op
    function = node.meta.get("function")
    return op.public_name if op is not None else getattr(function or node.target, "__name__", str(node.target))


def arguments(node: Node) -> Iterator[tuple[str, str]]:
    """The arguments of a node that are no values."""
    for at, each in enumerate(node.args):
        if not isinstance(each, Node):
            yield f"argument {at}", shortened(repr(each))
    for name, each in node.kwargs.items():
        if not isinstance(each, Node):
            yield name, shortened(repr(each))
