"""``make_fx``: the ops that a function runs on given inputs, as a graph of aten overloads."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ...capture.tracer.tracer import Tracer as OpTracer
from ...compat import pytree
from ...core.base import Spec, TensorBase, make
from ...core.declare import Op, table
from ...core.errors import CaptureError, OperationError
from ...core.node import Node as GradientNode
from ...core.state import state
from ...graph.calls import bind
from ...graph.node import Node, all_nodes, map_arg
from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from ...ops.aten_calls import packet
from ...ops.overloads import OpOverload
from ..graph import Graph
from ..graph_module import GraphModule
from ..pytree_codegen import PyTreeCodeGen

_PREFIXES = {"linalg": "linalg_", "fft": "fft_", "special": "special_"}
# Ops of the table that PyTorch calls something else.
_NAMES = {
    "cast": "_to_copy", "softmax": "_softmax", "log_softmax": "_log_softmax", "slice_dim": "slice", "view_shape": "view", "where_elements": "where",
    "split_evenly": "split_with_sizes",
}  # fmt: skip


def _formed(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of an op as its overload takes them, where these differ."""
    if op.name in ("softmax", "log_softmax") and len(args) == 2 and not kwargs:
        return (*args, False), {}
    if op.name == "cast" and len(args) == 2:
        return args[:1], {"dtype": args[1], **kwargs}
    return args, kwargs


_copy = table["copy_"]


class _HistoryOfBody(GradientNode):
    """The autograd history of a value of a branch or loop, which make_fx does not record."""

    __slots__ = ("inner",)

    inner: GradientNode

    def __init__(self, inner: GradientNode) -> None:
        self.inner, self.sequence, self.inputs, self.saved = inner, inner.sequence, inner.inputs, ()

    @property
    def shape(self) -> Any:  # type: ignore[override]
        return self.inner.shape

    @property
    def dtype(self) -> Any:  # type: ignore[override]
        return self.inner.dtype

    def name(self) -> str:
        return self.inner.name()

    def backward(self, gradient: Any) -> Any:
        raise CaptureError(
            "make_fx does not record the gradient of cond and while_loop: it would be that of the branch that is taken now. Use torch.compile, "
            "which differentiates such programs"
        )


class _Ops(OpTracer):
    """Records the ops that run; of composites, those of their bodies."""

    copies_views = False  # whether views are recorded as copies

    def body_left(self, made: list[Any]) -> None:
        """The body of a branch or loop is captured: its values have no gradient, which would be that of the branch that is taken now."""
        for tensor in made:
            if tensor._grad_fn is not None:
                tensor._grad_fn = _HistoryOfBody(tensor._grad_fn)

    def functionalized(self, f: Any, args: Any, kwargs: Any, copies_views: bool) -> Any:
        """Record a function without writes in place, but for one at the end for each argument that it has written to."""
        tensors = [each for each in pytree.tree_leaves((args, kwargs)) if isinstance(each, TensorBase)]
        before = [self.node_of(each) for each in tensors]
        self.functional, self.copies_views = True, copies_views
        result = f(*args, **kwargs)
        for tensor, node in zip(tensors, before):
            changed = self.node_of(tensor)
            if changed is not node:
                self.emit(_copy, bind(_copy, (node, changed), {}))
        return result

    def __call__(self, op: Op, args: tuple[Any, ...], out: Any) -> Any:
        if (op.functional or op).kernel is None and out is None:
            return NotImplemented
        return super().__call__(op, args, out)


def _spec(value: Any) -> Any:
    """A stand-in for a node's value, by which an overload is chosen."""
    found = value.meta.get("val")
    return make(found) if isinstance(found, Spec) else found


def _listed(op: Op, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments with those of a variadic parameter as one list, as an overload takes them."""
    at = next((at for at, each in enumerate(op.parameters) if each.variadic), None)
    if at is None or (len(args) == at + 1 and isinstance(args[at], (list, tuple))):
        return args
    return (*args[:at], list(args[at:]))


def overload_of(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], copies: bool = False) -> OpOverload | None:
    """The aten overload of a call of an op (that copies, instead of a view); None where there is none that takes its arguments."""
    base = op.functional or op
    given, named = map_arg(_listed(op, args), _spec), map_arg(kwargs, _spec)
    if base.name == "matmul":
        ranks = tuple(each._array.ndim for each in given)
        found = packet("aten", {(2, 2): "mm", (3, 3): "bmm", (2, 1): "mv", (1, 1): "dot"}.get(ranks, "matmul"))
        return None if found is None else found._overloads["default"]
    name = _NAMES.get(base.name, _PREFIXES.get(base.namespace or "", "") + base.public_name)
    found = packet("aten", f"{name}_" if op.functional is not None else f"{name}_copy" if copies else name)
    if found is None:
        return None
    numbers = [each for each in given[1:2] if isinstance(each, (int, float))]
    for overload in found._overloads.values():
        schema = overload._schema
        if any(each.is_out for each in schema.arguments) != ("out" in named) or (
            numbers and schema.overload_name.startswith("Scalar") and schema.numbers_as_tensors
        ):
            continue
        try:
            schema.bind(given, named)
        except OperationError:
            continue
        return overload
    return None


def make_fx(
    f: Callable[..., Any], decomposition_table: Any = None, tracing_mode: str = "real", _allow_non_fake_inputs: bool = False, *,
    pre_dispatch: bool = False, record_module_stack: bool = False, _allow_fake_constant: bool = False, _error_on_data_dependent_ops: bool = True,
    **options: Any,
) -> Callable[..., GraphModule]:  # fmt: skip
    """A function that, called with inputs, gives the graph of what ``f`` does with them."""
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(f'Expected tracing_mode to be one of real, fake, symbolic, but got "{tracing_mode}"')

    def traced(*args: Any) -> GraphModule:
        return _trace(f, args)

    return traced


def _argument_names(f: Any, count: int) -> list[str]:
    try:
        found = [
            each.name
            for each in inspect.signature(f).parameters.values()
            if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):
        found = []
    return [found[at] if at < len(found) else f"arg{at}" for at in range(count)]


def _plain(result: Any) -> Any:
    """A result whose named tuples of ops (``return_types``) are tuples."""
    if isinstance(result, (list, tuple)):
        found = [_plain(each) for each in result]
        if hasattr(result, "_fields") and not type(result).__module__.endswith("return_types"):
            return type(result)(*found)
        return found if isinstance(result, list) else tuple(found)
    return {key: _plain(each) for key, each in result.items()} if type(result) is dict else result


def _trace(f: Any, args: tuple[Any, ...]) -> GraphModule:
    held = dict(f.named_parameters()) if isinstance(f, Module) else {}
    tracer = _Ops(list(held.items()))
    names = _argument_names(f.forward if isinstance(f, Module) else f, len(args))
    parts = [pytree.tree_flatten(each)[0] for each in args]
    leaf_names = [f"{name}_{at + 1}" for name, part in zip(names, parts) for at in range(len(part))]
    leaves, structure = pytree.tree_flatten(list(args))
    nested = any(pytree.tree_structure(each).type is not None for each in args)
    given: list[Any] = []
    with tracer:
        for name, leaf in zip(leaf_names, leaves):
            if isinstance(leaf, TensorBase):
                tensor = leaf.detach().requires_grad_(leaf._requires_grad) if leaf._grad_fn is None else leaf
                tracer.input(tensor, name)
                given.append(tensor)
            else:
                tracer.graph.placeholder(name)
                given.append(leaf)
        # Placeholders are made first; making the inputs may have recorded nothing else.
        result = _plain(f(*pytree.tree_unflatten(given, structure)))
        state.capture = None
        results, out_structure = pytree.tree_flatten(result)
        output = tracer.argument(results if nested else result)
        state.capture = tracer
    made = _converted(tracer, output)
    if nested:
        made.__dict__["_in_spec"], made.__dict__["_out_spec"] = structure, out_structure
        made.graph.set_codegen(PyTreeCodeGen(names, structure, out_structure))
        made.recompile()
    return made


def _converted(tracer: Any, output: Any) -> GraphModule:
    """The recorded graph in aten overloads."""
    graph = Graph()
    here: dict[Node, Node] = {}
    held = {**tracer.constants, **tracer.by_name}
    outer = set(tracer.graph.nodes)
    attributes = {  # those of bodies have their names
        node.target: held[node.target] for node in all_nodes(tracer.graph) if node.op == "get_attr" and node not in outer
    }
    for node in tracer.graph.nodes:
        args, kwargs = map_arg(node.args, here.__getitem__), map_arg(dict(node.kwargs), here.__getitem__)
        target = node.target
        if node.op == "get_attr":
            value = held[target]
            kind = "_param_constant" if isinstance(value, Parameter) else "_tensor_constant"
            target = next(name for name in map(f"{kind}{{}}".format, itertools.count()) if name not in attributes)
            attributes[target] = value
        op = node.table_op
        if op is not None:
            plain, named = _formed(op, node.args, dict(node.kwargs))
            args, kwargs = map_arg(plain, here.__getitem__), map_arg(named, here.__getitem__)
            found = overload_of(op, plain, named, tracer.copies_views and op.view)
            target = op.call if found is None else found
            if found is not None:
                args = _listed(op, args)
                kinds = [each.type for each in found._schema.arguments]
                args = tuple([value] if kind.listed and isinstance(value, int) else value for kind, value in zip(kinds, args))
        name = target._overloadpacket.__name__ if isinstance(target, OpOverload) else None
        made = graph.create_node(node.op, target, args, kwargs, name)
        made.meta = dict(node.meta)
        here[node] = made
    graph.output(map_arg(output, here.__getitem__))
    graph.eliminate_dead_code()
    return GraphModule(attributes, graph)


def get_proxy_mode() -> Any:
    """The tracing that is on, if any."""
    return state.capture if isinstance(state.capture, _Ops) else None


@contextmanager
def disable_proxy_modes_tracing() -> Iterator[None]:
    """Record nothing within a ``with`` block."""
    kept = [each for each in state.interceptors if isinstance(each, _Ops)]
    for each in kept:
        state.interceptors.remove(each)
    try:
        yield
    finally:
        state.interceptors.extend(kept)


__all__ = ["disable_proxy_modes_tracing", "get_proxy_mode", "make_fx"]
