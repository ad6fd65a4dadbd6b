"""Derivatives as functions of functions: ``grad``, ``vjp``, ``jvp``, Jacobians and Hessians, which nest and compose.

All of them are built on the recorded graph.  Inputs become new variables, and what a derivative returns stays part of the
graph only where somebody else asked for it: an outer derivative, or a tensor outside that requires grad.  Under ``vmap``
the variables are whole batches, so that the gradient of an example is a row of the gradient of the batch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..autograd.differentiation import grad as differentiate
from ..autograd.forward_ad import Forward, check_tangent, fresh, outlives, writable
from ..core.base import TensorBase, make
from ..core.declare import table
from ..core.devices import on_device
from ..core.dtypes import BY_NUMPY, FLOATING
from ..core.errors import GradientError, ValueRangeError
from ..core.state import flags, state
from ..utils import trees
from .batched import explicit, implicit, levels_of, over
from .level import active_levels
from .vectorize import from_front, vmap

Argnums = int | tuple[int, ...]


_NO_HOOKS = "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks: leave the context of the hooks before, or use torch.autograd.grad"


@contextmanager
def _without_inference() -> Iterator[None]:
    """A time without inference mode: what is computed is saved for gradients."""
    before = state.inference
    if before:
        state.inference = False
        flags.leave()
    try:
        yield
    finally:
        if before:
            state.inference = True
            flags.enter()


class _Derivative:
    """One function being differentiated: its variables, and the levels of vmap that it runs in."""

    def __init__(self, backwards: bool = True, later: bool = False) -> None:
        self.levels = active_levels()
        self.backwards = backwards
        self.recorded = state.grad_enabled  # whether anybody outside may want gradients of the results
        self.later = later  # whether gradients are asked for in a mode of their own, when the function has run
        self.variables: list[Any] = []

    def __enter__(self) -> None:
        """Record what the function does, whatever the mode outside is."""
        self.hooks = state.saved_hooks_disabled
        if self.backwards:
            if state.saved_hooks:
                raise GradientError(_NO_HOOKS)
            state.saved_hooks_disabled = _NO_HOOKS
        state.grad_enabled = True
        state.transforms += 1
        self.normally = _without_inference()
        self.normally.__enter__()

    def __exit__(self, *exception: Any) -> None:
        state.saved_hooks_disabled = self.hooks
        state.grad_enabled = self.recorded
        state.transforms -= 1
        self.normally.__exit__(None, None, None)

    def variable(self, tensor: Any) -> Any:
        """A tensor as a new variable, batched at all levels."""
        if not isinstance(tensor, TensorBase):
            raise ValueRangeError(f"Thing passed to transform API must be Tensor, got {type(tensor)}")
        inner = explicit(tensor, self.levels)
        found = fresh(inner, self.recorded or self.later)
        self.variables.append(found)
        return implicit(found if self.backwards else writable(found, inner), self.levels)

    def output(self, tensor: Any) -> Any:
        """An output with the batches in front."""
        return explicit(tensor, self.levels)

    def settled(self, value: Any, recorded: bool | None = None) -> Any:
        """A result, without the part of the graph that is this derivative's own (``recorded``: what is recorded now, where that is another mode)."""
        if not isinstance(value, TensorBase):
            return value
        levels = levels_of(value)
        inner: Any = value._value if levels else value
        if not inner.requires_grad or ((self.recorded if recorded is None else recorded) and outlives(inner, self.variables)):
            return value
        return over(inner.detach(), levels)

    def result(self, tensor: Any) -> Any:
        """A gradient of a variable (or of an output), as the caller sees it."""
        return self.settled(implicit(tensor, self.levels), state.grad_enabled if self.later else None)

    @_without_inference()
    def gradients(self, outputs: list[Any], gradients: list[Any], retain_graph: bool = True, create_graph: bool | None = None) -> list[Any]:
        """Gradients of the variables; zeros where nothing depends on them."""
        pairs = [(o, g) for o, g in zip(outputs, gradients) if o.requires_grad]
        found: Any = [None] * len(self.variables)
        if pairs and self.variables:
            again = (state.grad_enabled if create_graph is None else create_graph) and (
                any(outlives(o, self.variables) for o, _ in pairs) or any(_is_recorded(g) for _, g in pairs)
            )
            found = differentiate(
                [o for o, _ in pairs], self.variables, [g for _, g in pairs],
                retain_graph=retain_graph, create_graph=again, allow_unused=True,
            )  # fmt: skip
        return [_zeros(v) if f is None else f for f, v in zip(found, self.variables)]


def _is_recorded(gradient: Any) -> bool:
    return bool((gradient._value if levels_of(gradient) else gradient).requires_grad)


def _zeros(like: Any) -> Any:
    return table["zeros"].call(tuple(like._array.shape), dtype=like.dtype, device=like.device)


def _check_argnums(argnums: Any, count: int) -> tuple[int, ...]:
    """The numbers of the arguments to differentiate by, counted from the front."""
    if not isinstance(argnums, (int, tuple)) or isinstance(argnums, bool):
        raise GradientError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    several = argnums if isinstance(argnums, tuple) else (argnums,)
    if not several:
        raise GradientError("argnums must be non-empty")
    for each in several:
        if not isinstance(each, int):
            raise GradientError(f"argnums elements must be int, got {type(each)}")
        if not -count <= each < count:
            raise GradientError(f"Got argnum={each}, but only {count} positional inputs")
    found = tuple(each % count for each in several)
    if len(set(found)) != len(found):
        raise GradientError(f"argnums elements must be unique, got {argnums}")
    return found


def _with_variables(derivative: _Derivative, args: tuple[Any, ...], argnums: Any) -> tuple[tuple[Any, ...], trees.Structure]:
    """The arguments with new variables among them, and the structure of those."""
    places = _check_argnums(argnums, len(args))
    chosen = tuple(args[place] for place in places) if isinstance(argnums, tuple) else args[places[0]]
    leaves, structure = trees.flatten(chosen)
    variables = structure.unflatten([derivative.variable(leaf) for leaf in leaves])
    replaced = list(args)
    for place, each in zip(places, variables if isinstance(argnums, tuple) else (variables,)):
        replaced[place] = each
    return tuple(replaced), structure


def _split_aux(found: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    if not has_aux:
        return found, None
    if not isinstance(found, tuple) or len(found) != 2:
        raise GradientError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return found


def _settled_aux(derivative: _Derivative, aux: Any) -> Any:
    def settle(leaf: Any) -> Any:
        if not isinstance(leaf, TensorBase):
            raise GradientError(f"Expected tensors, got unsupported type {type(leaf)}")
        return derivative.settled(leaf)

    return trees.transform(settle, aux)


# -- gradients ---------------------------------------------------------------------------------------------------


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that computes the gradient of a function of one number with respect to some of its arguments.

    With ``has_aux`` the function returns a pair, of which the second is passed on.

    >>> import rushlight as torch
    >>> torch.func.grad(torch.func.grad(torch.sin))(torch.tensor(0.5))
    tensor(-0.4794)
    """

    @functools.wraps(func, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        found, value = _grad_and_value(func, argnums, has_aux, args, kwargs)
        return (found, value[1]) if has_aux else found

    return wrapped


def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that computes the gradient of a function, and its value."""

    @functools.wraps(func, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return _grad_and_value(func, argnums, has_aux, args, kwargs)

    return wrapped


def _grad_and_value(func: Any, argnums: Any, has_aux: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    derivative = _Derivative()
    with derivative:
        inner, structure = _with_variables(derivative, args, argnums)
        value, aux = _split_aux(func(*inner, **kwargs), has_aux, "grad_and_value(f)(*args)")
        if not isinstance(value, TensorBase):
            raise GradientError(f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(value)}")
        if value._array.ndim:
            raise GradientError(
                f"grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with {value._array.ndim} dims. "
                "Maybe you wanted to use the vjp or jacrev APIs instead?"
            )
        if not BY_NUMPY[value._array.dtype].is_floating_point and derivative.output(value).requires_grad:
            raise GradientError(f"grad can be implicitly created only for real scalar outputs but got {value.dtype}")
        output = derivative.output(value)
    found = derivative.gradients([output], [table["ones_like"].call(output.detach())])
    results = structure.unflatten([derivative.result(each) for each in found])
    value = derivative.settled(value)
    return results, (value, _settled_aux(derivative, aux)) if has_aux else value


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The function's value, and a function that takes gradients of the outputs to gradients of the inputs.

    >>> import rushlight as torch
    >>> value, pull = torch.func.vjp(torch.square, torch.tensor([1.0, 2.0]))
    >>> pull(torch.ones(2))
    (tensor([2., 4.]),)
    """
    output, pull, aux = _vjp(func, primals, tuple(range(len(primals))) if primals else None, has_aux)
    return (output, pull, aux) if has_aux else (output, pull)


def _vjp(func: Any, primals: tuple[Any, ...], argnums: Any, has_aux: bool, kwargs: Any = None) -> tuple[Any, Any, Any]:
    derivative = _Derivative(later=True)
    with derivative:
        inner, structure = _with_variables(derivative, primals, argnums) if primals else ((), trees.flatten(())[1])
        value, aux = _split_aux(func(*inner, **(kwargs or {})), has_aux, "vjp(f, *primals)")
        leaves, nested = trees.flatten(value)
        _check_some(leaves, "vjp(f, *primals)")
        for leaf in leaves:
            if not isinstance(leaf, TensorBase):
                raise GradientError(f"vjp(f, *primals): expected f(*primals) to return only tensors, got unsupported type {type(leaf)}")
        outputs = [derivative.output(leaf) for leaf in leaves]

    def pull(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given, shape = trees.flatten(cotangents)
        if shape != nested:
            raise GradientError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {shape}, primal output: {nested}"
            )
        for index, (cotangent, leaf) in enumerate(zip(given, leaves)):
            if tuple(cotangent._array.shape) != tuple(leaf._array.shape):
                raise GradientError(
                    f"Mismatch in shape: grad_output[{index}] has a shape of {cotangent.shape} and output[{index}] has a shape of "
                    f"{leaf.shape}."
                )
        found = derivative.gradients(outputs, [explicit(each, derivative.levels) for each in given], retain_graph, create_graph)
        return structure.unflatten([derivative.result(each) for each in found])

    value = nested.unflatten([derivative.settled(leaf) for leaf in leaves])
    return value, pull, _settled_aux(derivative, aux) if has_aux else None


# -- forward -----------------------------------------------------------------------------------------------------


class _Linear:
    """A function near a point: its value there, and the tangents of its outputs for tangents of its inputs."""

    def __init__(self, func: Any, args: tuple[Any, ...], argnums: Any, has_aux: bool, kwargs: Any = None) -> None:
        self.derivative = derivative = _Derivative(backwards=False)
        with derivative:
            inner, self.structure = _with_variables(derivative, args, argnums)
            with Forward() as forward:
                forward.starts = derivative.variables
                value, aux = _split_aux(func(*inner, **(kwargs or {})), has_aux, "jvp(f, primals, tangents)")
            self.leaves, self.nested = trees.flatten(value)
            _check_some(self.leaves, "jvp(f, primals, tangents)")
            for leaf in self.leaves:
                if not isinstance(leaf, TensorBase):
                    raise GradientError(
                        f"jvp(f, primals, tangents): expected f(*primals) to return only tensors, got unsupported type {type(leaf)}"
                    )
            self.outputs = [derivative.output(leaf) for leaf in self.leaves]
            self.push = forward.pushforward(self.outputs, derivative.variables)
        self.value = self.nested.unflatten([derivative.settled(leaf) for leaf in self.leaves])
        self.aux = _settled_aux(derivative, aux) if has_aux else None

    @_without_inference()
    def tangents(self, given: list[Any]) -> list[Any]:
        """The tangents of the outputs' leaves for tangents of the inputs' leaves."""
        derivative = self.derivative
        tangents = [explicit(each, derivative.levels) for each in given]
        again = state.grad_enabled and (
            any(outlives(o, derivative.variables) for o in self.outputs if o.requires_grad) or any(map(_is_recorded, tangents))
        )
        found = self.push(tangents, again)
        return [derivative.result(_zeros(o) if f is None else f) for f, o in zip(found, self.outputs)]


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """The function's value, and the product of its Jacobian with a vector of tangents.

    >>> import rushlight as torch
    >>> torch.func.jvp(torch.square, (torch.tensor([1.0, 2.0]),), (torch.ones(2),))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    if not isinstance(primals, tuple):
        raise GradientError("jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    leaves, structure = trees.flatten(primals)
    given, shape = trees.flatten(tangents)
    if shape != structure:
        raise GradientError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. For example, if primals is a "
            f"tuple of 3 tensors, tangents also must be. Got primals with structure {structure} and tangents with structure {shape}"
        )
    if not leaves:
        raise GradientError("jvp(f, primals, tangents): Expected primals to contain at least one Tensor.")
    for primal, tangent in zip(leaves, given):
        _check_tensor(primal, "primals")
        _check_tensor(tangent, "tangents")
        check_tangent(primal, tangent)
    linear = _Linear(func, primals, tuple(range(len(primals))), has_aux)
    if strict and any(not output.requires_grad for output in linear.outputs):
        raise GradientError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed with strict=True."
        )
    found = linear.nested.unflatten(linear.tangents(given))
    return (linear.value, found, linear.aux) if has_aux else (linear.value, found)


def _check_some(leaves: list[Any], name: str) -> None:
    """Refuse a function that gives nothing."""
    if not leaves or (len(leaves) == 1 and leaves[0] is None):
        raise GradientError(f"{name}: Expected f to be a function that has non-empty output (got output = {leaves})")


def _check_tensor(value: Any, name: str) -> None:
    if not isinstance(value, TensorBase):
        raise GradientError(f"jvp(f, primals, tangents): Expected {name} to only contain Tensors, got {type(value)}")
    if BY_NUMPY[value._array.dtype].category < FLOATING:
        raise ValueRangeError(f"Expected {name[:-1]} to be floating point or complex, but got: {value.dtype}")


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The function's value, and its linear approximation there: ``jvp`` for many tangents, with one call of the function."""
    linear = _Linear(func, primals, tuple(range(len(primals))), False)

    def push(*tangents: Any) -> Any:
        given, shape = trees.flatten(tangents)
        if shape != linear.structure:
            raise GradientError(f"Expected the tangents {shape} to have the same structure as the primals {linear.structure}")
        for variable, tangent in zip(linear.derivative.variables, given):
            check_tangent(implicit(variable, linear.derivative.levels), tangent)
        return linear.nested.unflatten(linear.tangents(given))

    return linear.value, push


# -- matrices of derivatives -------------------------------------------------------------------------------------


def _basis(leaves: list[Any]) -> tuple[list[Any], list[int]]:
    """For every element of several tensors, taken together, a list of tensors that are 0 but for a 1 there."""
    sizes = [leaf._array.size for leaf in leaves]
    rows, start, found = sum(sizes), 0, []
    for leaf, size in zip(leaves, sizes):
        part = np.zeros((rows, size), leaf._array.dtype)
        part[np.arange(start, start + size), np.arange(size)] = 1
        found.append(make(on_device(part.reshape(rows, *leaf._array.shape), leaf.device)))
        start += size
    return found, sizes


def _check_real(name: str, args: tuple[Any, ...], argnums: Any) -> None:
    leaves, _ = trees.flatten(tuple(args[place] for place in _check_argnums(argnums, len(args))))
    for index, leaf in enumerate(leaves):
        if isinstance(leaf, TensorBase) and leaf._array.dtype.kind == "c":
            raise GradientError(f"{name}: Expected all inputs to be real but received complex tensor at flattened input idx: {index}")


def _check_real_outputs(name: str, leaves: list[Any]) -> None:
    for index, leaf in enumerate(leaves):
        if leaf._array.dtype.kind == "c":
            raise GradientError(f"{name}: Expected all outputs to be real but received complex tensor at flattened output idx: {index}")


def _one_by_one(pull: Callable[..., Any], basis: list[Any]) -> Any:
    """What ``vmap`` of a function gives, row by row, so that it may use what ``vmap`` refuses."""
    rows = [trees.flatten(pull(*row)) for row in zip(*[each.unbind() for each in basis])]
    return rows[0][1].unflatten([table["stack"].call(list(column)) for column in zip(*[leaves for leaves, _ in rows])])


def _cut(rows: Any, sizes: list[int]) -> Any:
    """The parts of a batch of rows that belong to each of several tensors."""
    return table["split_with_sizes"].call(rows, sizes, 0)


def jacrev(
    func: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """The function that computes the Jacobian of a function, row by row: a gradient for every element of the outputs.

    >>> import rushlight as torch
    >>> torch.func.jacrev(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if chunk_size is not None and not chunk_size > 0:
        raise ValueRangeError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        _check_real("jacrev", args, argnums)
        value, pull, aux = _vjp(func, args, argnums, has_aux, kwargs)
        outputs, nested = trees.flatten(value)
        _check_real_outputs("jacrev", outputs)
        basis, sizes = _basis(outputs)

        def pulled(*each: Any) -> Any:
            return pull(nested.unflatten(each))

        rows = _one_by_one(pulled, basis) if chunk_size == 1 and any(sizes) else vmap(pulled, chunk_size=chunk_size)(*basis)
        columns, structure = trees.flatten(rows)
        parts = [_cut(column, sizes) for column in columns]  # for each input, its part for each output
        found = []
        for index, output in enumerate(outputs):
            blocks = [part[index].reshape((*output._array.shape, *column._array.shape[1:])) for part, column in zip(parts, columns)]
            found.append(structure.unflatten(blocks))
        result = nested.unflatten(found)
        return (result, aux) if has_aux else result

    return wrapped


def jacfwd(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error") -> Callable[..., Any]:
    """The function that computes the Jacobian of a function, column by column: a tangent for every element of the inputs.

    >>> import rushlight as torch
    >>> torch.func.jacfwd(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    @functools.wraps(func, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        places = _check_argnums(argnums, len(args))
        _check_real("jacfwd", args, argnums)
        leaves, _ = trees.flatten(tuple(args[place] for place in places))
        for leaf in leaves:
            _check_tensor(leaf, "primals")
        linear = _Linear(func, args, argnums, has_aux, kwargs)
        _check_real_outputs("jacfwd", linear.leaves)
        basis, sizes = _basis(leaves)
        columns = vmap(lambda *each: tuple(linear.tangents(list(each))), randomness=randomness)(*basis)
        found = []
        for column, output in zip(columns, linear.leaves):
            blocks = [
                from_front(part, output._array.ndim).reshape((*output._array.shape, *leaf._array.shape))
                for part, leaf in zip(_cut(column, sizes), leaves)
            ]
            found.append(linear.structure.unflatten(blocks))
        result = linear.nested.unflatten(found)
        return (result, linear.aux) if has_aux else result

    return wrapped


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The function that computes the second derivatives of a function: ``jacfwd(jacrev(func))``.

    >>> import rushlight as torch
    >>> torch.func.hessian(lambda x: (x**3).sum())(torch.ones(2))
    tensor([[6., 0.],
            [0., 6.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]
