"""``__torch_dispatch__``: modes and tensor subclasses that see the ``aten`` operators a program runs, below autograd.

The dispatcher comes here (:func:`offer_below`) with a call that nobody else has handled, while a mode is on or a tensor of a subclass with
``__torch_dispatch__`` is alive.  An op that PyTorch has as an operator is presented as its overload, and the result is recorded for
backward as always; what PyTorch writes in other operators (``aten_composites.txt``) is run by its body, or by the form in ``expansions``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from ..core import recording
from ..core.base import Spec, TensorBase, alias, runtime
from ..core.declare import MISSING, PACKAGE, Op, call_body, table
from ..core.dispatch import attach, finish_factory, keep_copy
from ..core.errors import ArgumentError, NotSupported, OperationError
from ..core.facets import Facet
from ..core.in_place import check_in_place
from ..core.interception import set_below
from ..core.named_results import named_result
from ..core.node import Node, SavedResult, rebase, refresh
from ..core.overrides import dispatched, dispatches_operators
from ..core.schema import parse_schema
from ..core.state import state
from .aten_calls import REDUCTIONS
from .overloads import OpOverload, OpOverloadPacket, namespace

# An op that is no operator under its own name: a function of its arguments that runs the operators PyTorch would run, above autograd; or
# returns NotImplemented where the op is presented as it is.
expansions: Facet[Callable[..., Any]] = Facet("expansion", "the operators that dispatch modes see in the place of an op")
# An op whose operator has another name or other arguments: a function that gives both.
presented: Facet[Callable[..., tuple[str, list[Any], dict[str, Any]]]] = Facet(
    "presented", "the operator, with its arguments, as which dispatch modes see an op"
)

# What an op returns beside, or other than, the operator that it is presented as: a function of the operator's results and the arguments.
results_of: Facet[Callable[..., Any]] = Facet("results of presented", "the results of an op, from those of the operator it is presented as")


LAST = 2**63 - 1  # where a slice without an end ends


@cache
def composites() -> frozenset[str]:
    """The operators that PyTorch writes in others."""
    return frozenset(Path(__file__).with_name("aten_composites.txt").read_text(encoding="utf8").split())


def offer_below(op: Op, args: tuple[Any, ...], out: Any) -> Any:
    """Offer a call to dispatch modes and subclasses; NotImplemented where it is to run as it is."""
    if state.dispatch_disabled:
        return NotImplemented
    asked = dispatched(args)
    if not asked and not state.dispatch_modes:
        return NotImplemented
    own = getattr(type(asked[0]), "run_op", None) if asked and not state.dispatch_modes else None
    if own is not None:  # a class that knows the ops of the table themselves: it says what they do, or leaves them to their bodies
        if op.family is None:
            special = type(asked[0]).composites.get(op.qualified_name)
            made = NotImplemented if special is None else special(*args)
        else:
            made = run_below(op, args, lambda: own(op, args), None)
        return made if out is None else type(asked[0]).write_out(out, call_body(op, args) if made is NotImplemented else made)
    form = expansions.of(op)
    if form is not None and out is None:
        made = form(*args)
        if made is not NotImplemented:
            return made
    found = present(op, args)
    writing = None if found is None or out is None else out_overload(found[0])
    if found is not None and writing is not None:
        names = [each.name for each in writing._schema.arguments if each.kwarg_only and each.is_write]
        given = dict(zip(names, out if isinstance(out, (tuple, list)) else (out,)))
        ask_without_gradients(writing, dispatched((*args, *given.values())), found[1], {**found[2], **given})
        return out
    if found is not None and out is None:
        return run_below(op, args, lambda: ask_handlers(found[0], asked, found[1], found[2]), results_of.of(op))
    if op.body is not None and op.family is not None and out is None:
        return call_body(op, args)
    if asked and op.family is not None:
        if out is not None:
            raise NotSupported(f"{op.qualified_name}(out=...) with a {type(asked[0]).__name__}")
        return run_below(op, args, lambda: ask_handlers(own_overload(op), asked, args, {}), None)
    return NotImplemented  # a composite: its body is run, and the ops in it come here


@cache
def out_overload(overload: OpOverload) -> OpOverload | None:
    """The overload that takes the arguments of another one, and writes its results into ``out``."""
    plain = [(each.name, str(each.type)) for each in overload._schema.arguments]
    packet = overload._overloadpacket
    for label in packet.overloads():
        found: OpOverload = getattr(packet, label)
        given = [each for each in found._schema.arguments if not (each.kwarg_only and each.is_write)]
        if len(given) < len(found._schema.arguments) and [(each.name, str(each.type)) for each in given] == plain:
            return found
    return None


@cache
def own_overload(op: Op) -> OpOverload:
    """An op of ours that is no operator of aten, as something that a handler can call: steps of backward passes among others."""
    names = [f"{'Tensor?' if each.kind in ('tensor', 'operand') else 'Any'} {each.name}" for each in op.parameters]
    schema = parse_schema(f"{PACKAGE}::{op.name}({', '.join(names)}) -> {'Tensor' if op.returns is None else 'Any'}")

    def run(values: list[Any]) -> Any:
        positional: list[Any] = []
        for each, value in zip(op.parameters, values):
            if not each.keyword_only:
                positional += value if each.variadic else [value]
        return op.call(*positional, **{each.name: value for each, value in zip(op.parameters, values) if each.keyword_only})

    return OpOverload(OpOverloadPacket(PACKAGE, op.name), schema, run)


def present(op: Op, args: tuple[Any, ...]) -> tuple[OpOverload, tuple[Any, ...], dict[str, Any]] | None:
    """The overload of ``aten`` that an op is presented as, with its arguments as the overload takes them."""
    given = presented.of(op)
    if given is not None:
        name, positional, keywords = given(*args)
    else:
        name = op.name
        if name in composites() and (op.body is not None or (op.functional is not None and op.functional.body is not None)):
            return None
        positional, keywords = arguments_of(op, args)
    packet = getattr(namespace("aten"), name, None) if name else None
    if packet is None:
        return None
    fallback = None
    for label in packet.overloads():
        overload = getattr(packet, label)
        bound = bind(overload._schema, positional, keywords)
        if bound is None:
            continue
        if not any(
            isinstance(value, TensorBase) and each.type.kind_name == "Scalar" for each, value in zip(overload._schema.arguments, bound[0])
        ):
            return overload, *bound
        fallback = fallback or (overload, *bound)  # a tensor that is taken for a number: another overload may take it as it is
    return fallback


def arguments_of(op: Op, args: tuple[Any, ...]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments in the form of a call, without defaults at the end."""
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    last = 0
    for parameter, value in zip(op.parameters, args):
        default = value is parameter.default and parameter.default is not MISSING
        if parameter.keyword_only:
            if not default and not (parameter.name == "requires_grad" and not value):
                keywords[parameter.name] = value
            continue
        positional.append(list(value) if parameter.variadic else value)
        if not default:
            last = len(positional)
    keywords.pop("requires_grad", None)
    return positional[:last], keywords


def bind(schema: Any, args: list[Any], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Arguments as a schema takes them, without those that are defaults; None where they do not fit."""
    wanted = schema.arguments
    if any(each.kwarg_only and each.is_write for each in wanted):
        return None
    fitted = [_fitted(value, each) for value, each in zip(args, wanted)] + args[len(wanted) :]
    try:
        values = schema.bind(tuple(fitted), kwargs)
    except OperationError:
        return None
    return without_defaults(list(zip(wanted, values)))


def without_defaults(pairs: list[tuple[Any, Any]]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments of a schema with their values as a call has them: defaults at the end, and of keywords, are left out."""
    positional = [(each, value) for each, value in pairs if not each.kwarg_only]
    while positional and positional[-1][0].has_default and _same(positional[-1][1], positional[-1][0].default_value):
        positional.pop()
    named = {each.name: value for each, value in pairs if each.kwarg_only and not _same(value, each.default_value)}
    return tuple(value for _, value in positional), named


def _same(value: Any, default: Any) -> bool:
    return not isinstance(value, TensorBase) and type(value) is type(default) and bool(value == default)


def _fitted(value: Any, argument: Any) -> Any:
    kind = str(argument.type)
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, int) and not isinstance(value, bool) and "List[int]" in kind:
        return [value]
    return value


def offer_custom(overload: OpOverload, values: tuple[Any, ...], rules: dict[type, Callable[..., Any]]) -> Any:
    """Offer a call of an op that a program registered to modes and subclasses; NotImplemented where its implementation is to run."""
    if state.dispatch_disabled:
        return NotImplemented
    asked = dispatched(values)
    if not state.dispatch_modes and (not asked or hasattr(type(asked[0]), "run_op")):
        return NotImplemented
    arguments = overload._schema.arguments
    bound = without_defaults(list(zip(arguments, values)))
    return ask_without_gradients(overload, asked, *bound, rules)


def ask_without_gradients(overload: OpOverload, asked: list[Any], *call: Any) -> Any:
    """Ask handlers below autograd."""
    grad, outside = state.grad_enabled, state.grad_outside
    state.grad_enabled, state.grad_outside = False, grad
    try:
        return ask_handlers(overload, asked, *call)
    finally:
        state.grad_enabled, state.grad_outside = grad, outside


def _kept(target: Any) -> Any:
    """A copy of what is written to, with its history: one of its class where that holds its values (a plain copy has its shape alone)."""
    if target._array.__class__ is not Spec or not (hasattr(type(target), "run_op") or dispatches_operators(type(target))):
        return keep_copy(target)
    grad, state.grad_enabled = state.grad_enabled, False
    try:
        old = table["clone"].call(table["detach"].call(target))
    finally:
        state.grad_enabled = grad
    old._grad_fn, old._output_index, old._requires_grad = target._grad_fn, target._output_index, target._requires_grad
    return old


def run_below(op: Op, args: tuple[Any, ...], handle: Callable[[], Any], rest: Callable[..., Any] | None) -> Any:
    """Have a handler run an operator with autograd off, then record the call for backward.

    ``rest`` makes the op's results from those of the operator it is presented as.  A handler that returns NotImplemented leaves an op to its body.
    """
    tensors = [each for value in args for each in (value if isinstance(value, (list, tuple)) else (value,)) if isinstance(each, TensorBase)]
    for each in tensors:
        if each._storage is not None and each._view is not None:
            refresh(each)
    grad = state.grad_enabled
    functional = op.functional
    recorded = grad and any(each._requires_grad for each in tensors)
    saved = args
    if functional is not None and recorded and functional.vjp != {}:
        check_in_place(args[0])
        if functional.record is None:
            recording.build(functional)
        if "input" in functional.node_type.saved_names:
            saved = (_kept(args[0]), *args[1:])
    outside = state.grad_outside
    state.grad_enabled, state.grad_outside = False, grad
    try:
        result = handle()
        if result is NotImplemented:
            state.grad_enabled = grad
            return call_body(op, args)
        if rest is not None:
            modes, state.dispatch_modes = state.dispatch_modes, []
            try:
                result = rest(result, *args)
            finally:
                state.dispatch_modes = modes
    finally:
        state.grad_enabled, state.grad_outside = grad, outside
    if functional is not None:
        target = args[0]
        if recorded and functional.vjp != {}:
            rebase(target, functional.record(saved, target), table)
        return target
    several = op.returns is not None or isinstance(result, (tuple, list))
    results = [_apart(each, tensors, grad) for each in (result if several else (result,))]
    if op.factory:
        finish_factory(op, args, results[0])
    elif recorded:
        attach(op, args, tuple(results) if op.returns is not None else results[0])
        node = next((each._grad_fn for each in results if isinstance(each, TensorBase) and each._grad_fn is not None), None)
        for each in results:
            if isinstance(each, TensorBase) and dispatches_operators(type(each)):
                _keep_class(each, node)
    if not several:
        return results[0]
    return named_result(op)(*results) if op.returns is not None and op.returns != "list" else tuple(results)


@cache
def own_slots(kind: type) -> tuple[str, ...]:
    """The attributes that a subclass of Tensor keeps in slots."""
    found: list[str] = []
    for each in kind.__mro__:
        if issubclass(each, TensorBase) and not issubclass(runtime.tensor_type, each):
            slots = vars(each).get("__slots__", ())
            found += [slots] if isinstance(slots, str) else slots
    return tuple(found)


class SavedWrapper(SavedResult):
    """An output of a subclass that was saved by its own node: of the same class, with its attributes."""

    __slots__ = ("fields", "kind", "slots")

    def __init__(self, tensor: TensorBase, index: int | None = 0) -> None:
        super().__init__(tensor, index)
        self.kind = type(tensor)
        self.fields = {name: value for name, value in tensor.__dict__.items() if name not in ("_view", "_grad", "_counted")}
        self.slots = {name: getattr(tensor, name) for name in own_slots(self.kind) if hasattr(tensor, name)}  # type: ignore[arg-type]

    def unpack(self, node: Node) -> Any:
        plain = super().unpack(node)
        result: Any = object.__new__(self.kind)
        for name in ("_array", "_storage", "_grad_fn", "_output_index", "_requires_grad"):
            setattr(result, name, getattr(plain, name))
        result.__dict__.update(self.fields)
        for name, value in self.slots.items():
            setattr(result, name, value)
        return result


def _keep_class(result: Any, node: Any) -> None:
    """Have the node of a subclass's tensor save it as one, where it saves its output."""
    if node is not None and node.saved:
        node.saved = tuple(
            SavedWrapper(result, each.index) if type(each) is SavedResult and each.array is result._array else each for each in node.saved
        )


def _apart(result: Any, tensors: list[Any], grad: bool) -> Any:
    """A handler's result as a new tensor: one that it was given gets a history of its own; a view is made by the program, not by the handler."""
    if not isinstance(result, TensorBase):
        return result
    if any(result is each for each in tensors):
        made = alias(result, result._array)
        return made if type(result) is type(made) else made.as_subclass(type(result))
    if grad and result._view is not None and result._view.creation == "no_grad":
        result._view.creation = "default"
    return result


def checked_result(overload: Any, result: Any) -> Any:
    """What a handler returned; raises where it is no tensor, and the operator returns one."""
    if isinstance(result, TensorBase) or result is None:
        return result
    returns = overload._schema.returns if isinstance(overload, OpOverload) else ()
    if len(returns) == 1 and returns[0].type.base == "Tensor" and not returns[0].type.listed:
        raise OperationError(f"Unable to cast {result} to Tensor")
    return result


def ask_handlers(
    overload: Any, asked: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any], rules: dict[type, Callable[..., Any]] | None = None,
    label: str | None = None,
) -> Any:  # fmt: skip
    """Call the innermost mode, which is off meanwhile, then the subclasses, until one does not return NotImplemented.

    ``rules``, by the class of a mode or tensor, take the place of its ``__torch_dispatch__``.
    """
    kinds = tuple([type(each) for each in asked])
    if state.dispatch_modes:
        mode = state.dispatch_modes.pop()
        rule = rules.get(type(mode)) if rules else None
        if getattr(mode.__torch_dispatch__, "__self__", mode) is not mode:
            state.dispatch_modes.append(mode)
            raise OperationError(
                f"Defining your mode's `__torch_dispatch__` ({type(mode)}) as a classmethod is not supported, please make it a plain method"
            )
        try:
            result = mode.__torch_dispatch__(overload, kinds, args, kwargs) if rule is None else rule(mode, overload, kinds, args, kwargs)
        finally:
            state.dispatch_modes.append(mode)
        if result is not NotImplemented:
            return checked_result(overload, result)
    for each, kind in zip(asked, kinds):
        rule = rules.get(kind) if rules else None
        result = each.__torch_dispatch__(overload, kinds, args, kwargs) if rule is None else rule(kind, overload, kinds, args, kwargs)
        if result is not NotImplemented:
            return checked_result(overload, result)
    names = "".join(f"\n\n  - tensor subclass {type(each)!r}" for each in asked)
    label = label or f"torch._ops.{overload}"
    raise ArgumentError(f"Multiple dispatch failed for '{label}'; all __torch_dispatch__ handlers returned NotImplemented:{names}")


# -- ops that are other operators --------------------------------------------------------------------------------


def _call(name: str, *args: Any, **kwargs: Any) -> Any:
    return table[name].call(*args, **kwargs)


@expansions.register("linear")
def _linear(input: Any, weight: Any, bias: Any) -> Any:
    if bias is None or weight.dim() != 2 or input.dim() < 2:
        made = _call("matmul", input, _call("t", weight) if weight.dim() == 2 else weight)
        return made if bias is None else made + bias
    if input.dim() == 2:
        return _call("addmm", bias, input, _call("t", weight))
    rows = _rows(input)
    return _call("addmm", bias, rows, _call("t", weight)).view(*input.shape[:-1], weight.shape[0])


def _rows(input: Any) -> Any:
    """The last dimension, and all others as one."""
    return input.reshape(math.prod(input.shape[:-1]), input.shape[-1])


@expansions.register("matmul")
def _matmul(input: Any, other: Any) -> Any:
    left, right = input.dim(), other.dim()
    if left <= 2 and right <= 2 or (left == right == 3 and input.shape[0] == other.shape[0]):
        return NotImplemented
    if right <= 2:
        made = _call("matmul", _rows(input), other)
        return made.view(*input.shape[:-1], *([other.shape[-1]] if right == 2 else []))
    if left == 1:
        return _call("matmul", input.unsqueeze(0), other).squeeze(-2)
    batch = _batch(input, other)
    count = math.prod(batch)
    first = input.expand(*batch, *input.shape[-2:]).reshape(count, *input.shape[-2:])
    second = other.expand(*batch, *other.shape[-2:]).reshape(count, *other.shape[-2:])
    return _call("matmul", first, second).view(*batch, input.shape[-2], other.shape[-1])


def _batch(input: Any, other: Any) -> tuple[int, ...]:
    shapes = [tuple(input.shape[:-2]), tuple(other.shape[:-2])]
    longest = max(map(len, shapes))
    padded = [(1,) * (longest - len(each)) + each for each in shapes]
    return tuple(max(pair) if 0 not in pair else 0 for pair in zip(*padded))


@presented.register("matmul")
def _product(input: Any, other: Any) -> tuple[str, list[Any], dict[str, Any]]:
    return {(1, 1): "dot", (2, 1): "mv", (3, 3): "bmm"}.get((input.dim(), other.dim()), "mm"), [input, other], {}


@expansions.register("reduction_backward")
def _reduction_backward(g: Any, shape: Any, dim: Any, keepdim: bool) -> Any:
    if dim is not None and not keepdim:
        for each in sorted(each % len(shape) for each in (dim if isinstance(dim, (list, tuple)) else (dim,))) if shape else ():
            g = g.unsqueeze(each)
    return g.expand(tuple(shape))


@presented.register("sub")
def _subtraction(input: Any, other: Any, alpha: Any = 1) -> tuple[str, list[Any], dict[str, Any]]:
    named = {} if alpha == 1 else {"alpha": alpha}
    return ("sub", [input, other], named) if isinstance(input, TensorBase) else ("rsub", [other, input], named)


def _as(name: str) -> Callable[..., Any]:
    """Presented under another name."""
    return lambda *args: (name, list(args), {})


presented.set(lambda input, dtype, *rest: ("_to_copy", [input], {"dtype": dtype}), "cast", "cast_gradient")
presented.set(lambda input, device, *rest: ("_to_copy", [input], {"device": device}), "to_device")
presented.set(lambda input, dim, dtype=None: ("_softmax", [input, dim, False], {}), "softmax")
presented.set(lambda input, dim, dtype=None: ("_log_softmax", [input, dim, False], {}), "log_softmax")
presented.set(lambda input, shape: ("view", [input, list(shape)], {}), "view_shape")
presented.set(lambda input, shape: ("_unsafe_view", [input, list(shape)], {}), "reshape_copy")
presented.set(_as("max"), "max_all", "max_dim")
presented.set(_as("min"), "min_all", "min_dim")
presented.set(_as("where"), "where_elements")
presented.set(_as("gelu"), "gelu_exact")
presented.set(
    lambda input, dim=0, start=None, end=None, step=1: (
        "slice",
        [input, dim, 0 if start is None else start, LAST if end is None else end, step],
        {},
    ),
    "slice",
)
presented.set(
    lambda weight, input, padding, scale: ("embedding", [weight, input, -1 if padding is None else padding, scale], {}), "embedding"
)
presented.set(
    lambda input, dim, correction, keepdim: ("var", [input, dim], {"correction": correction, "keepdim": keepdim}), "var_correction"
)
presented.set(
    lambda input, dim, correction, keepdim: ("std", [input, dim], {"correction": correction, "keepdim": keepdim}), "std_correction"
)
presented.set(lambda input, ord, dim, keepdim: ("linalg_vector_norm", [input, ord, dim, keepdim], {}), "vector_norm")


presented.set(lambda input, strides: ("clone", [input], {}), "lay_out")
presented.set(lambda input, sizes, dim=0: ("split", [input, sizes if isinstance(sizes, int) else sizes[0], dim], {}), "split_evenly")


@presented.register("layer_standardize")
def _layer_norm(input: Any, weight: Any, bias: Any, dims: Any, eps: float) -> tuple[str, list[Any], dict[str, Any]]:
    shape = [input._array.shape[each] for each in sorted(each % input._array.ndim for each in dims)]
    return "native_layer_norm", [input, shape, weight, bias, eps], {}


@results_of.register("layer_standardize")
def _standardized(results: Any, input: Any, weight: Any, bias: Any, dims: Any, eps: float) -> Any:
    output, mean, scale = results
    return output, (input - mean) * scale, scale**-2 - eps


@presented.register("standardize")
def _plain_norm(input: Any, dims: Any, eps: float) -> tuple[str, list[Any], dict[str, Any]]:
    places = sorted(each % input._array.ndim for each in dims)
    if places != list(range(input._array.ndim - len(places), input._array.ndim)):
        return "", [], {}
    return _layer_norm(input, None, None, dims, eps)


@results_of.register("standardize")
def _norm_parts(results: Any, input: Any, dims: Any, eps: float) -> Any:
    output, mean, scale = results
    return output, mean, scale**-2 - eps


@presented.register("nll_forward")
def _nll_loss(input: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> tuple[str, list[Any], dict[str, Any]]:
    return "nll_loss_forward", [input, target, weight, REDUCTIONS.index(reduction), ignore_index], {}


set_below(offer_below)
