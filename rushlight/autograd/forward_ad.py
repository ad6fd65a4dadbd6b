"""Forward-mode differentiation: tangents propagated with values, and Jacobian-vector products.

There is one gradient system, the recorded graph, and forward mode is read off it: the gradient of an output is linear in
the gradient that it starts from, and differentiating it by that gives the product of the Jacobian with a vector.  So it
works through every op that can be differentiated twice.  A custom Function has its own ``jvp`` called.

>>> import rushlight as torch
>>> import rushlight.autograd.forward_ad as forward_ad
>>> with forward_ad.dual_level():
...     dual = forward_ad.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.5]))
...     forward_ad.unpack_dual(dual * dual).tangent
tensor([2., 2.])
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, NoReturn

from ..core.base import TensorBase, View, alias, make, storage_of
from ..core.declare import Op, table
from ..core.dispatch import dispatch, dispatch_in_place
from ..core.dtypes import BY_NUMPY, FLOATING
from ..core.errors import FunctionError, GradientError, ValueRangeError
from ..core.node import Node, edge_of, next_sequence, refresh
from ..core.state import flags, state
from .differentiation import grad
from .function import Function

# -- where a derivative starts -----------------------------------------------------------------------------------


class StartOfDerivative(Node):
    """The identity: makes a tensor inside a graph a variable of its own to differentiate by."""

    __slots__ = ()

    def backward(self, gradient: Any) -> Any:
        return (gradient,)


def start_from(tensor: Any) -> StartOfDerivative:
    """A node for another tensor of the same values, by which its gradients are those of this one."""
    node = StartOfDerivative()
    node.inputs, node.saved, node.sequence = (edge_of(tensor),), (), next_sequence()
    node.shape, node.dtype = tensor._array.shape, tensor._array.dtype
    return node


def fresh(tensor: Any, recorded: bool) -> Any:
    """The same values as a new variable to differentiate by, on the old graph if that is ``recorded``."""
    if BY_NUMPY[tensor._array.dtype].category < FLOATING:
        raise GradientError("only Tensors of floating point dtype can require gradients")
    if tensor._view is not None:
        refresh(tensor)
    result = alias(tensor, tensor._array)
    result._requires_grad = True
    if recorded and tensor._requires_grad:
        result._grad_fn = start_from(tensor)
        # Writing to it would change the caller's tensor: that is refused, as it is for a leaf.
        result._view = View(tensor, (), storage_of(tensor).version, "function")
    return result


def writable(start: Any, tensor: Any) -> Any:
    """A starting point as forward mode gives it to programs, which write to it: no leaf, and what is written goes into its tensor.

    The derivative of a leaf that requires grad can't be written to.
    """
    if start._grad_fn is not None and tensor.is_leaf:
        return start
    made = alias(tensor, tensor._array)
    node = StartOfDerivative()
    node.inputs, node.saved, node.sequence = (edge_of(start),), (), next_sequence()
    node.shape, node.dtype = tensor._array.shape, tensor._array.dtype
    made._requires_grad, made._grad_fn = True, node
    return made


def _ends(tensor: Any) -> Any:
    """The leaves that a tensor was computed from."""
    start = edge_of(tensor)
    stack, seen = [start], set()
    while stack:
        edge = stack.pop()
        if edge.__class__ is tuple:
            edge = edge[0]
        if edge is None or edge in seen:
            continue
        seen.add(edge)
        if isinstance(edge, Node):
            stack.extend(edge.inputs)
        yield edge


def depends(tensor: Any, starts: list[Any]) -> bool:
    """Whether a tensor depends on one of the starting points through the recorded graph."""
    wanted = {id(edge_of(each)) for each in starts}
    return any(id(end) in wanted for end in _ends(tensor))


def outlives(tensor: Any, starts: list[Any]) -> bool:
    """Whether a tensor depends on leaves other than the variables that this derivative introduced."""
    own = {id(each) for each in starts}
    return any(isinstance(end, TensorBase) and id(end) not in own for end in _ends(tensor))


# -- a level of forward mode -------------------------------------------------------------------------------------


class Forward:
    """While it is on, everything is recorded, and custom Functions are asked for their ``jvp``."""

    def __init__(self) -> None:
        self.starts: list[Any] = []
        self.tangents: list[Any] = []
        self.duals: list[tuple[Any, Any]] = []  # the dual tensor of each starting point, and its node: another one once it was written to
        self.transposing = False  # whether the gradient is being computed that is then differentiated

    def __enter__(self) -> Forward:
        state.interceptors.append(self)
        flags.enter()
        return self

    def __exit__(self, *exception: Any) -> None:
        flags.leave()
        state.interceptors.remove(self)

    def __call__(self, op: Op, args: tuple[Any, ...], out: Any) -> Any:
        if state.grad_enabled or out is not None:
            return NotImplemented
        writes = op.functional is not None
        if writes and not any(depends(each, self.starts) for each in _tensors(args)):
            return NotImplemented
        state.grad_enabled = True  # no_grad is about gradients, not about tangents
        try:
            return dispatch_in_place(op, args) if writes else dispatch(op, args)
        finally:
            state.grad_enabled = False

    def function(self, cls: Any, args: tuple[Any, ...]) -> Any:
        """A custom Function: its node gets the user's ``jvp``."""
        tensors = [each for each in args if isinstance(each, TensorBase)]
        if any(each._value is not None for each in tensors):
            return self._below(cls, args)
        if not any(depends(each, self.starts) for each in tensors):
            return NotImplemented
        if cls.jvp is Function.jvp:
            raise NotImplementedError(
                f"{cls.__name__}: You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
            )
        enabled, state.grad_enabled = state.grad_enabled, True
        try:
            output = cls.apply(*args)
        finally:
            state.grad_enabled = enabled
        outputs = output if isinstance(output, (tuple, list)) else (output,)
        node = next((each._grad_fn for each in outputs if isinstance(each, TensorBase) and each._grad_fn is not None), None)
        if node is not None:
            node.backward = _Dual(self, cls, node, args, outputs).backward
        return output

    def _below(self, cls: Any, args: tuple[Any, ...]) -> Any:
        """Wrapped arguments: the transform that wrapped them unwraps them first, and applies the Function again."""
        stack, passed = state.interceptors, []
        try:
            while stack:
                passed.append(stack.pop())
                handler = getattr(passed[-1], "function", None)
                if handler is not None:
                    stack.append(self)
                    try:
                        handled = handler(cls, args)
                    finally:
                        stack.pop()
                    if handled is not NotImplemented:
                        return handled
        finally:
            stack.extend(reversed(passed))
        return NotImplemented

    def pushforward(self, outputs: list[Any], starts: list[Any]) -> Callable[[list[Any], bool], list[Any]]:
        """The function that takes tangents of the starting points to tangents of the outputs (None where there is none).

        Its second argument says whether the tangents are to be differentiated again.
        """
        for output in outputs:
            if output._view is not None:
                refresh(output)  # its base may have been written to
        places = {i: at for at, i in enumerate(i for i, output in enumerate(outputs) if output._requires_grad)}
        live = [outputs[i] for i in places]
        if not live:
            return lambda tangents, recorded: [None] * len(outputs)
        zeros = [_leaf(output) for output in live]
        self.transposing = True
        try:
            found = grad(live, starts, zeros, create_graph=True, allow_unused=True)
        finally:
            self.transposing = False

        def push(tangents: list[Any], recorded: bool) -> list[Any]:
            pairs = [(f, t) for f, t in zip(found, tangents) if f is not None and f._requires_grad]
            results: Any = [None] * len(zeros)
            if pairs:
                results = grad(
                    [f for f, _ in pairs], zeros, [t for _, t in pairs],
                    retain_graph=True, create_graph=recorded, allow_unused=True,
                )  # fmt: skip
            return [results[places[i]] if i in places else None for i in range(len(outputs))]

        return push


def _tensors(args: tuple[Any, ...]) -> Iterator[Any]:
    """The tensors among arguments, and in lists of them."""
    for each in args:
        if isinstance(each, TensorBase):
            yield each
        elif isinstance(each, (list, tuple)):
            yield from _tensors(tuple(each))


def _leaf(like: Any) -> Any:
    """Zeros to differentiate by."""
    zeros = table["zeros"].call(tuple(like._array.shape), dtype=like.dtype, device=like.device)
    zeros._requires_grad = True
    return zeros


class _Dual:
    """What a custom Function's node does under forward mode: its own backward, or the transpose of the user's ``jvp``."""

    def __init__(self, level: Forward, cls: Any, node: Any, args: tuple[Any, ...], outputs: Any) -> None:
        self.level, self.cls, self.args = level, cls, args
        self.shapes = [tuple(each._array.shape) if isinstance(each, TensorBase) else () for each in outputs]
        self.differentiable = [isinstance(each, TensorBase) and each._grad_fn is not None for each in outputs]
        self.sources = [next((at for at, arg in enumerate(args) if arg is each), None) for each in outputs]  # inputs that were written to
        self.plain = node.backward  # bound: the user's, or that of a level outside this one
        self.context = copy.copy(node.context)
        self.context._to_save = getattr(node.context, "saved_for_forward", ())

    def backward(self, gradient: Any) -> Any:
        if not self.level.transposing:
            return self.plain(gradient)
        node = _Transposed()
        node.dual = self
        several = gradient if isinstance(gradient, list) else [gradient]
        node.inputs = tuple(edge_of(each) for each in several)
        node.saved, node.sequence = (), next_sequence()
        node.places = [i for i, each in enumerate(self.args) if _varies(each)]
        node.outputs = [(self.args[i]._array.shape, self.args[i]._array.dtype) for i in node.places]
        node.shape = node.dtype = None
        results: list[Any] = [None] * len(self.args)
        for index, place in enumerate(node.places):
            result = results[place] = _leaf(self.args[place])  # only its derivative is used, so zeros are enough
            result._grad_fn, result._output_index = node, index
        return tuple(results)

    def tangents(self, places: list[int], given: Any) -> Any:
        """Tangents of the outputs from those of the inputs, by the user's ``jvp``."""
        tangents: list[Any] = [None] * len(self.args)
        for place, each in enumerate(self.args):
            if isinstance(each, TensorBase) and self.context._materialize and BY_NUMPY[each._array.dtype].category >= FLOATING:
                tangents[place] = table["zeros_like"].call(each.detach())
        for place, tangent in zip(places, given):
            if tangent is not None:  # that of a tensor that forward writes to is written to, too: it may be asked for again
                tangents[place] = tangent.clone() if place in self.sources else tangent
        made = self.cls.jvp(self.context, *tangents)
        found = tuple(made) if isinstance(made, (tuple, list)) else (made,)
        self.check(found, tangents)
        return tuple(each if differentiable else None for each, differentiable in zip(found, self.differentiable))

    def check(self, found: tuple[Any, ...], tangents: list[Any]) -> None:
        """Raise for tangents that do not fit the outputs."""
        if len(found) != len(self.shapes):
            raise FunctionError(
                f"Function's jvp returned an invalid number of forward gradients (expected {len(self.shapes)} but got {len(found)})"
            )
        for index, (each, shape) in enumerate(zip(found, self.shapes)):
            if each is not None and not isinstance(each, TensorBase):
                raise FunctionError(f"expected Variable or None (got {type(each).__name__}) for grad output {index}.")
            if each is not None and not self.differentiable[index]:
                raise FunctionError(
                    f"Function's jvp returned a gradient at position {index}, but  the corresponding forward output is not a differentiable "
                    "Tensor.You should return None at that position instead."
                )
            if each is not None and tuple(each._array.shape) != shape:
                refuse_sizes(shape, tuple(each._array.shape))
            source = self.sources[index]
            if source is not None and each is not tangents[source]:
                raise FunctionError(
                    "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is modifying an input inplace, "
                    "then the jvp function must modify the corresponding gradient inplace."
                )


def _varies(value: Any) -> bool:
    return isinstance(value, TensorBase) and value._requires_grad


class _Transposed(Node):
    """The gradient of a custom Function as a linear function of what it started from: its gradient is the ``jvp``."""

    __slots__ = ("dual", "places")

    multiple = True
    dual: _Dual
    places: list[int]

    def backward(self, gradient: Any) -> Any:
        found = self.dual.tangents(self.places, gradient)
        return (*found, *(None,) * (len(self.inputs) - len(found)))[: len(self.inputs)]


# -- dual numbers ------------------------------------------------------------------------------------------------


class UnpackedDualTensor(NamedTuple):
    """A value and its tangent (None where it has none)."""

    primal: Any
    tangent: Any


levels: list[Forward] = []


def enter_dual_level() -> int:
    """Begin a level of forward mode; there is at most one."""
    if levels:
        raise GradientError("Nested forward mode AD is not supported at the moment")
    levels.append(Forward().__enter__())
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level and drop its tangents."""
    if not levels:
        raise GradientError("Dual level must be a positive number.")
    levels.pop().__exit__()


class dual_level:
    """A context inside which dual tensors can be made and unpacked."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exception: Any) -> None:
        exit_dual_level()


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """A tensor with a tangent, which operations propagate."""
    if not levels:
        raise GradientError("Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first.")
    for name, each in (("primal", tensor), ("tangent", tangent)):
        if BY_NUMPY[each._array.dtype].category < FLOATING:
            raise ValueRangeError(f"Expected {name} to be floating point or complex, but got: {each.dtype}")
    check_tangent(tensor, tangent)
    forward = levels[-1]
    if any(depends(each, [start]) for start in forward.starts for each in (tensor, tangent)):
        raise GradientError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not supported."
        )
    start = fresh(tensor, state.grad_enabled)
    made = writable(start, tensor)
    forward.starts.append(start)
    forward.tangents.append(tangent)
    forward.duals.append((made, made._grad_fn))
    return made


def _primal(start: Any) -> Any:
    """The value of a dual tensor, without its tangent."""
    return start.detach() if start._grad_fn is None else start


def check_tangent(tensor: Any, tangent: Any) -> None:
    """Refuse a tangent of another shape than its value."""
    if tuple(tensor._array.shape) != tuple(tangent._array.shape):
        refuse_sizes(tensor._array.shape, tangent._array.shape)


def refuse_sizes(shape: Any, other: Any) -> NoReturn:
    """Raise for a tangent of another shape."""
    raise GradientError(
        "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
        f"Tensor is of size {list(shape)} while the given forward gradient is of size {list(other)}."
    )


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """The value of a tensor, and its tangent."""
    forward = levels[-1] if levels else None
    if forward is not None and tensor._view is not None:
        refresh(tensor)
    used = [i for i, start in enumerate(forward.starts) if depends(tensor, [start])] if forward else []
    if forward is None or not used:
        return UnpackedDualTensor(tensor, None)
    starts = [forward.starts[i] for i in used]
    made, node = forward.duals[used[0]]
    if tensor is made and tensor._grad_fn is node:  # made by make_dual, and not written to since
        return UnpackedDualTensor(_primal(starts[0]), forward.tangents[used[0]])
    push = forward.pushforward([tensor], starts)
    (tangent,) = push([forward.tangents[i] for i in used], True)
    leaves = [each for each in starts if each._grad_fn is None]
    return UnpackedDualTensor(*(each if each is None or outlives(each, leaves) else each.detach() for each in (tensor, tangent)))


__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make", "make_dual", "unpack_dual"]


def __getattr__(name: str) -> Any:
    if name == "_current_level":  # a name of PyTorch's that programs read: -1 outside of all levels
        return len(levels) - 1
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
