"""Proxies: values of a program that is traced symbolically.  What happens to one becomes a node of the graph."""

from __future__ import annotations

import dis
import enum
import inspect
import operator
import os
import sys
import threading
import traceback
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

from ..core.base import TensorBase
from ..core.declare import MISSING, Op, exports
from ..core.devices import device
from ..core.dtypes import dtype
from ..core.interception import spread
from ..core.state import flags, state
from ..graph.node import Node, map_aggregate
from ..ops.overloads import OpOverload
from ..tensor.layout import layout, memory_format
from .graph import Graph

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_ITERATED = (
    "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or **kwargs function argument. See the "
    "torch.fx docs on pytorch.org for a more detailed explanation of what types of control flow can be traced, and check out the Proxy docstring for "
    "help troubleshooting Proxy iteration errors"
)
base_types = (str, int, float, bool, complex, dtype, TensorBase, device, memory_format, layout, OpOverload)


class TraceError(ValueError):
    """A program does what symbolic tracing can't follow."""


# -- calls of ops on proxies -----------------------------------------------------------------------------------------


class _Recorder:
    """An interceptor of ops, on while there are proxies: a call that is given one becomes a node."""

    def __call__(self, op: Op, args: tuple[Any, ...], out: Any) -> Any:
        found = find_proxy((args, out))
        if found is None:
            return NotImplemented
        positional, keywords = as_called(op, args)
        if out is not None:
            keywords["out"] = out
        return Proxy.__torch_function__(op.call, (type(found),), positional, keywords)


_recorder = _Recorder()


class _Alive(threading.local):
    """How many proxies there are in this thread: while there are any, ops are intercepted."""

    count = 0


_alive = _Alive()


def find_proxy(value: Any) -> Any:
    """The first proxy in nested arguments, or None."""
    if isinstance(value, Proxy):
        return value
    if isinstance(value, (tuple, list)):
        parts: Any = value
    elif isinstance(value, dict):
        parts = value.values()
    elif isinstance(value, slice):
        parts = (value.start, value.stop, value.step)
    else:
        return None
    for each in parts:
        found = find_proxy(each)
        if found is not None:
            return found
    return None


# Functions that PyTorch writes in Python, and which record all arguments that have defaults by name.
_BY_NAME = frozenset(
    "adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d affine_grid alpha_dropout batch_norm "
    "binary_cross_entropy binary_cross_entropy_with_logits celu cosine_embedding_loss cross_entropy ctc_loss dropout dropout1d dropout2d dropout3d elu "
    "embedding embedding_bag feature_alpha_dropout fold fractional_max_pool2d fractional_max_pool3d gaussian_nll_loss glu grid_sample group_norm "
    "gumbel_softmax hardsigmoid hardswish hardtanh hinge_embedding_loss huber_loss instance_norm interpolate kl_div l1_loss layer_norm leaky_relu "
    "local_response_norm log_softmax lp_pool1d lp_pool2d lp_pool3d margin_ranking_loss max_pool1d max_pool2d max_pool3d max_unpool1d max_unpool2d "
    "max_unpool3d mish mse_loss multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss nll_loss normalize pad poisson_nll_loss relu relu6 "
    "rms_norm rrelu selu silu smooth_l1_loss soft_margin_loss softmax softmin softsign tanhshrink threshold triplet_margin_loss unfold".split()
)


def as_called(op: Op, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call as the program wrote them, read off its instruction; else without defaults, by position."""
    if op.namespace == "nn.functional" and op.public_name in _BY_NAME and not any(each.variadic for each in op.parameters):
        given = list(zip(op.parameters, args))
        return tuple(value for each, value in given if each.default is MISSING), {
            each.name: value for each, value in given if each.default is not MISSING
        }
    frame: Any = sys._getframe(1)
    while frame is not None and not frame.f_code.co_filename.startswith("<call of "):
        frame = frame.f_back
    frame = frame.f_back if frame is not None else None
    if frame is not None and frame.f_code.co_name == "_stub":
        given, named = frame.f_locals.get("args"), frame.f_locals.get("kwargs")
        if isinstance(given, tuple) and isinstance(named, dict):
            return given, {key: value for key, value in named.items() if key != "out"}
    names = keyword_names(frame) if frame is not None else None
    if names is not None and not any(each.variadic for each in op.parameters):
        places = {each.name: at for at, each in enumerate(op.parameters)}
        named_args = {name: args[places[name]] for name in names if name in places}
        count = called_with(frame) - len(names)
        if count >= 0 and len(named_args) == len([name for name in names if name != "out"]):
            return tuple(args[:count]), named_args
    return spread(op, args)


@lru_cache(maxsize=256)
def _instructions(code: CodeType) -> list[Any]:
    return [each for each in dis.get_instructions(code) if each.opname != "CACHE"]


def _running_at(frame: FrameType) -> tuple[Any, list[Any]]:
    """The instruction that a frame is at (its place may be that of an inline cache after it), and the few before."""
    every = _instructions(frame.f_code)
    at = bisect_right(every, frame.f_lasti, key=lambda each: each.offset) - 1
    return every[at], every[max(0, at - 3) : at]


def _call_at(frame: FrameType) -> tuple[Any, list[Any]] | None:
    found = _running_at(frame)
    return found if found[0].opname in ("CALL", "CALL_KW", "PRECALL") else None


def keyword_names(frame: FrameType) -> tuple[str, ...] | None:
    """The names of the keyword arguments of the call that a frame is in; None where it is no plain call."""
    found = _call_at(frame)
    if found is None:
        return None
    call, before = found
    for each in reversed(before):
        if each.opname == "KW_NAMES":
            return frame.f_code.co_consts[each.arg]  # type: ignore[no-any-return]
        if call.opname == "CALL_KW" and each.opname == "LOAD_CONST":
            return each.argval  # type: ignore[no-any-return]
        if each.opname != "PRECALL":
            break
    return ()


def called_with(frame: FrameType) -> int:
    """How many arguments that call has."""
    found = _call_at(frame)
    return -1 if found is None else int(found[0].arg)


# -- tracers ---------------------------------------------------------------------------------------------------------


class TracerBase:
    """Makes nodes and proxies: what :class:`Tracer` and others that record derive from."""

    graph: Graph
    record_stack_traces: bool = False
    check_mutable_operations: bool = False
    trace_asserts: bool = False
    proxy_buffer_attributes: bool = False
    traced_func_name: str = "forward"
    module_stack: dict[str, Any]

    def create_node(
        self, kind: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str | None = None, type_expr: Any = None
    ) -> Node:
        """Put a node into the graph."""
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        stack = getattr(self, "module_stack", None)
        if stack:
            node.meta["nn_module_stack"] = dict(stack)
        return node

    def proxy(self, node: Node) -> Proxy:
        """A proxy for the value of a node."""
        return Proxy(node, self)

    def create_proxy(
        self, kind: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str | None = None, type_expr: Any = None,
        proxy_factory_fn: Any = None,
    ) -> Any:  # fmt: skip
        """Put a node into the graph, with nodes for the proxies among its arguments; returns its proxy."""
        args_, kwargs_ = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, args_, kwargs_, name, type_expr)
        made = proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)
        if self.record_stack_traces and not node.stack_trace:
            frames = [each for each in traceback.extract_stack() if not each.filename.startswith(_FOLDER)]
            node.stack_trace = "".join(traceback.format_list(frames)).strip()
        return made

    def create_arg(self, a: Any) -> Any:
        """An argument with nodes in place of proxies."""
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, Node):
            return a
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            items = [self.create_arg(each) for each in a]
            return type(a)(*items) if hasattr(a, "_fields") else tuple(items) if type(a) is tuple else type(a)(items)
        if isinstance(a, list):
            return [self.create_arg(each) for each in a]
        if isinstance(a, dict):
            for key in a:
                if find_proxy(key) is not None:
                    raise RuntimeError(f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {key}")
            return {key: self.create_arg(value) for key, value in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(a.start, a.stop, a.step)
        if isinstance(a, (*base_types, enum.Enum)) or a is None or a is ...:
            return a
        if is_dataclass(a) and not isinstance(a, type):
            return self.create_node("call_function", type(a), (), {each.name: self.create_arg(getattr(a, each.name)) for each in fields(a)})
        if callable(a):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def to_bool(self, obj: Proxy) -> bool:
        """A proxy where a truth value is needed: control flow that can't be traced."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """A proxy that a program loops over."""
        raise TraceError(_ITERATED)

    def keys(self, obj: Proxy) -> Any:
        """A proxy that is spread as keyword arguments."""
        return Attribute(obj, "keys")()

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """An attribute that a Module was asked for."""
        return attr_val


class GraphAppendingTracer(TracerBase):
    """A tracer that adds to a graph that is there."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.module_stack = {}


# -- proxies ---------------------------------------------------------------------------------------------------------


class Proxy:
    """A value of a program that is traced: operators, methods, attributes and functions applied to it are recorded."""

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer  # type: ignore[arg-type]
        self.node = node
        _enter(self)

    def __del__(self) -> None:
        if self.__dict__.pop("_counted", False):
            _alive.count -= 1
            if not _alive.count and _recorder in state.interceptors:
                state.interceptors.remove(_recorder)
                flags.leave()

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        if k in ("node", "tracer"):
            raise AttributeError(k)
        return Attribute(self, k)

    def __deepcopy__(self, memo: Any) -> Proxy:
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        frame = inspect.currentframe()
        caller = frame.f_back if frame is not None else None
        if caller is not None:
            instruction, _ = _running_at(caller)
            if instruction.opname == "UNPACK_SEQUENCE":
                return (self[i] for i in range(instruction.argval))  # type: ignore[index]  # its operators are set below
        return self.tracer.iter(self)

    def __abs__(self) -> Any:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """The keys, for ``**proxy``."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call torch.fx.wrap('len') at "
            "module scope"
        )

    __hash__ = object.__hash__

    @classmethod
    def __torch_function__(cls, orig_method: Any, types: Any, args: Any = None, kwargs: Any = None) -> Any:
        args, kwargs = args or (), kwargs or {}
        found = find_proxy((args, kwargs))
        if isinstance(orig_method, str):
            return found.tracer.create_proxy("call_method", orig_method, args, kwargs)
        if orig_method is exports["", "einsum"] and len(args) == 2 and isinstance(args[1], (list, tuple)):
            args = (args[0], *args[1])  # operands in a list are recorded one by one, as in PyTorch
        return found.tracer.create_proxy("call_function", orig_method, args, kwargs, name=_public_name(orig_method))


def _public_name(function: Any) -> str | None:
    op = getattr(function, "op", None)
    return function.__name__ if isinstance(op, Op) and hasattr(function, "__name__") else None


def _enter(proxy: Proxy) -> None:
    """Intercept ops as long as this proxy lives."""
    proxy.__dict__["_counted"] = True
    _alive.count += 1
    if _alive.count == 1:  # while one is handled, and the recorder off, there is another
        state.interceptors.append(_recorder)
        flags.enter()


class Attribute(Proxy):
    """An attribute of a proxy: a node once it is used, a method call where it is called."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None
        _enter(self)

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node of ``getattr``, made when the attribute is first used as a value."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A parameter whose shape is known: asking for it makes no node."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Any) -> None:
        super().__init__(node, tracer)
        self.param, self.name = param, name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """The shape of the parameter."""
        return self.param.shape

    def size(self, *args: Any) -> Any:
        """The size of the parameter."""
        return self.param.size(*args)

    def dim(self) -> Any:
        """How many dimensions the parameter has."""
        return self.param.dim()

    def numel(self) -> Any:
        """How many elements the parameter has."""
        return self.param.numel()

    @property
    def ndim(self) -> Any:
        """How many dimensions the parameter has."""
        return self.param.ndim


class Scope:
    """The Module that is being traced."""

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path, self.module_type = module_path, module_type


def _binary(name: str, function: Any) -> None:
    def method(self: Any, other: Any) -> Any:
        return self.tracer.create_proxy("call_function", function, (self, other), {})

    def reflected(self: Any, other: Any) -> Any:
        return self.tracer.create_proxy("call_function", function, (other, self), {})

    setattr(Proxy, f"__{name}__", method)
    if name not in ("eq", "ne", "lt", "gt", "le", "ge", "getitem"):
        setattr(Proxy, f"__r{name}__", reflected)


for _name in "add sub mul floordiv truediv mod pow lshift rshift xor matmul eq ne lt gt le ge getitem".split():
    _binary(_name, getattr(operator, _name))
_binary("and", operator.and_)
_binary("or", operator.or_)
for _name in ("neg", "pos", "invert"):
    setattr(
        Proxy,
        f"__{_name}__",
        lambda self, function=getattr(operator, _name): self.tracer.create_proxy("call_function", function, (self,), {}),
    )

Argument = Any  # of a node

__all__ = [
    "Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "Scope", "TraceError", "TracerBase", "base_types", "find_proxy", "map_aggregate",
]  # fmt: skip
