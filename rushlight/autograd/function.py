"""Custom differentiable functions.

A user writes a class with ``forward`` and ``backward``; ``apply`` runs the forward with recording off and leaves one node
in the graph, whose backward is the user's.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.base import TensorBase, View, alias, make, storage_of
from ..core.declare import table
from ..core.devices import device_of
from ..core.dispatch import finish_node
from ..core.dtypes import BY_NUMPY, FLOATING
from ..core.errors import FunctionError
from ..core.in_place import check_in_place
from ..core.node import Node, RawSaved, SavedResult, edge_of, freed, next_sequence, rebase, refresh, save, unpack  # fmt: skip
from ..core.state import flags, state
from .once_differentiable import once_differentiable as once_differentiable

_new = object.__new__


def _other_name(attribute: str, doc: str) -> property:
    """An attribute of contexts under the name that PyTorch's C++ has for it."""

    def get(self: Any) -> Any:
        value = getattr(self, attribute)
        return None if value == () else value

    return property(get, lambda self, value: setattr(self, attribute, value), doc=doc)


class FunctionCtx:
    """What ``forward`` and ``backward`` share: the user's own attributes and the tensors saved between them."""

    _to_save: tuple[Any, ...] = ()
    _dirty: tuple[Any, ...] = ()
    _non_differentiable: tuple[Any, ...] = ()
    _materialize = True
    _forward_cls: Any = None  # the user's class
    _backward_node: Any = None  # while backward runs
    needs_input_grad: tuple[bool, ...] = ()
    _tensor_inputs: list[bool]  # which arguments of apply are tensors
    _outputs_device: Any = None  # None for the CPU

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for backward; a later call replaces an earlier one."""
        for index, each in enumerate(tensors):
            if each is not None and not isinstance(each, TensorBase):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {index} is of type {type(each).__name__}; keep other "
                    "values as attributes of ctx"
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for ``jvp``."""
        self.saved_for_forward = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors given to ``save_for_backward``; an error if one was changed in place since."""
        node = self._backward_node
        if node is None:
            return self._to_save
        if node.saved is None:
            raise freed(node)
        saved = node.saved
        return (unpack(saved[0], node),) if len(saved) == 1 else tuple([unpack(entry, node) for entry in saved])

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The old name of ``saved_tensors``."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Say which inputs the forward changed in place; they must be returned as outputs."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Say which outputs have no gradient."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward receives zeros (True, the default) or None for outputs that no gradient reached."""
        self._materialize = value

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Do nothing, as in PyTorch: tensors that share memory are found without it."""
        warnings.warn(
            "mark_shared_storage is deprecated. Tensors with shared storages are automatically tracked. Note that calls to `set_()` are not tracked",
            FutureWarning,
            stacklevel=2,
        )

    to_save = _other_name("_to_save", "What ``save_for_backward`` was given.")
    dirty_tensors = _other_name("_dirty", "What ``mark_dirty`` was given.")
    non_differentiable = _other_name("_non_differentiable", "What ``mark_non_differentiable`` was given.")
    materialize_grads = _other_name("_materialize", "What ``set_materialize_grads`` was given.")

    # In PyTorch the context of a call is its node.

    def name(self) -> str:
        """The name of the node: that of the class, and Backward."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[Any, ...]:
        """The nodes of the inputs, while backward runs."""
        return () if self._backward_node is None else self._backward_node.next_functions

    @property
    def requires_grad(self) -> bool:
        """Whether an input requires a gradient."""
        return any(self.needs_input_grad)


class FunctionNode(Node):
    """The node that ``apply`` records."""

    __slots__ = ("context",)

    function: Any = None  # the user's class
    context: Any
    custom = True

    def gradient_of_output(self, index: int, gradient: Any) -> Any:
        through = self.function._through_outputs
        return super().gradient_of_output(index, gradient) if through is None else through(self, index, gradient)

    def without_gradient(self) -> Any:
        count = len(self.outputs) if self.multiple else 1
        gradients = [self._zeros(index) if self.context._materialize else None for index in range(count)]
        return self.backward(gradients if self.multiple else gradients[0])

    def backward(self, gradient: Any) -> Any:
        context = self.context
        gradients = gradient if self.multiple else (gradient,)
        if self.multiple and context._materialize:
            gradients = [self._zeros(index) if each is None else each for index, each in enumerate(gradients)]
        if self.saved is None:
            raise freed(self)
        context._backward_node = self
        try:
            user = self.function._backward_function or self.function._user_backward()
            results = user(context, list(gradients)) if self.function.boxed_grads_call else user(context, *gradients)
        finally:
            context._backward_node = None
        if results.__class__ is not tuple:
            results = tuple(results) if isinstance(results, list) else (results,)
        count = len(self.inputs)
        if len(results) != count:
            if len(results) < count or any(each is not None for each in results[count:]):
                raise FunctionError(
                    f"function {self.name()} returned an incorrect number of gradients (expected {count}, got {len(results)})"
                    f"{_where(self.function)}"
                )
            results = results[:count]
        for result, is_tensor in zip(results, context._tensor_inputs):
            if result is not None and not (is_tensor and isinstance(result, TensorBase)):
                raise self._wrong_gradient(results)
        return results

    def _wrong_gradient(self, results: tuple[Any, ...]) -> FunctionError:
        """The error for the first result of backward that is no tensor and not None."""
        for index, (result, is_tensor) in enumerate(zip(results, self.context._tensor_inputs)):
            if result is not None and not is_tensor:
                return FunctionError(
                    f"function {self.name()} returned a gradient different than None at position {index + 1}, but the "
                    f"corresponding forward input was not a Variable{_where(self.function)}"
                )
            if result is not None and not isinstance(result, TensorBase):
                break
        return FunctionError(
            f"expected Variable or None (got {type(result).__name__}): {self.name()} returned it as gradient "
            f"{index + 1}{_where(self.function)}"
        )

    def _zeros(self, index: int) -> Any:
        shape, dtype = self.outputs[index] if self.multiple else (self.shape, self.dtype)
        if dtype is None:  # an output that is no tensor
            return None
        place = self.context._outputs_device
        return make(np.zeros(shape, dtype)) if place is None else table["zeros"].call(shape, dtype=BY_NUMPY[dtype], device=place)

    def release(self) -> None:
        if self.saved:
            self.saved = None

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What the forward saved."""
        if self.saved is None:
            raise freed(self)
        return tuple([unpack(entry, self) for entry in self.saved])

    @property
    def _raw_saved_tensors(self) -> tuple[RawSaved, ...]:
        if self.saved is None:
            raise freed(self)
        return tuple(RawSaved(self, position) for position in range(len(self.saved)))

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(object.__getattribute__(self, "context"), name)
        except AttributeError:
            return Node.__getattr__(self, name)


def _where(function: Any) -> str:
    """File and line of the user's backward, for error messages."""
    code = getattr(function._user_backward(), "__code__", None)
    return f' (File "{code.co_filename}", line {code.co_firstlineno}, in {function.__name__}.backward)' if code else ""


class _FunctionMeta(type):
    """Gives every Function class the classes of its nodes and of its contexts."""

    def __init__(cls, name: str, bases: Any, body: Any) -> None:
        super().__init__(name, bases, body)
        cls._node_type = type(name + "Backward", (FunctionNode,), {"__slots__": (), "function": cls, "__module__": FunctionCtx.__module__})
        cls._context_type = type(name + "Backward", (FunctionCtx,), {"_forward_cls": cls, "__module__": FunctionCtx.__module__})
        cls._backward_function: Any = None


class Function(metaclass=_FunctionMeta):
    """Base of custom differentiable functions.

    >>> class Double(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         return g * 2
    """

    generate_vmap_rule = False
    boxed_grads_call = False  # whether backward takes its gradients as one list, which it may empty on its way
    _node_type: Any
    _context_type: Any
    _backward_function: Any
    _through_outputs: Any = (
        None  # of the node, an output and the gradients that came: the gradient of the output, where outputs are computed from others
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke them on the class "
            "itself. Instantiating an autograd function will raise an error in a future version.", DeprecationWarning, stacklevel=2,
        )  # fmt: skip

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function with "
            "static forward method: call MyFunction.apply(...)."
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs: ``forward(ctx, ...)``, or ``forward(...)`` beside a ``setup_context``."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save what backward needs, where ``forward`` takes no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Compute the gradient of every input of forward (None where there is none)."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Compute tangents of the outputs from tangents of the inputs."""
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with forward mode AD.")

    @classmethod
    def _user_backward(cls) -> Any:
        """The user's ``backward``, or ``vjp``, which is another name for it."""
        found = cls._backward_function
        if found is None:
            has_backward = cls.backward is not Function.backward
            has_vjp = cls.vjp is not Function.vjp
            if has_backward and has_vjp:
                raise FunctionError(
                    f"Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of "
                    f"them ({cls.__name__})."
                )
            if not has_backward and not has_vjp:
                raise NotImplementedError(
                    f"{cls.__name__} has no backward: you must implement either the backward or vjp method for your custom "
                    "autograd.Function to use it with backward mode AD."
                )
            found = cls._backward_function = cls.vjp if has_vjp else cls.backward
        return found

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the function and, where an input requires grad, record it."""
        if flags.special and state.interceptors:
            handled = _intercepted(cls, bound_arguments(cls, args, kwargs))
            if handled is not NotImplemented:
                return handled
        if flags.overrides:
            for each in args:
                if isinstance(each, TensorBase) and each.applies_functions is not None:
                    return each.applies_functions(cls, args, kwargs)
        args, context, edges, requires = begin(cls, args, kwargs)
        enabled = state.grad_enabled
        state.grad_enabled = False
        try:
            if state.run_forward is not None:
                output = _run_elsewhere(cls, context, args)
            elif cls.setup_context is not Function.setup_context:
                output = cls.forward(*args)
                cls.setup_context(context, args, output)
            else:
                output = cls.forward(context, *args)
        finally:
            state.grad_enabled = enabled
        return finish(cls, context, args, edges, output, requires)


def bound_arguments(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Positional arguments of ``forward``, with keywords in their places."""
    has_setup = cls.setup_context is not Function.setup_context
    if kwargs or (has_setup and cls.forward.__defaults__):
        return _bind(cls.forward, args, kwargs, has_setup)
    return args


def begin(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], Any, list[Any], bool]:
    """The arguments of an application, its context, the edges to its inputs, and whether it is recorded."""
    if kwargs or cls.setup_context is not Function.setup_context:
        args = bound_arguments(cls, args, kwargs)
    context = cls._context_type()
    edges: list[Any] = []
    needs: list[bool] = []
    is_tensor: list[bool] = []
    requires = False
    for each in args:
        if isinstance(each, TensorBase):
            if each._storage is not None and each._view is not None:
                refresh(each)
            edges.append(edge_of(each))
            needs.append(each._requires_grad)
            is_tensor.append(True)
            requires = requires or each._requires_grad
        else:
            edges.append(None)
            needs.append(False)
            is_tensor.append(False)
    enabled = state.grad_enabled
    context.needs_input_grad = tuple(needs) if enabled else (False,) * len(needs)
    context._tensor_inputs = is_tensor
    return args, context, edges, requires and enabled


def _run_elsewhere(cls: Any, context: Any, args: tuple[Any, ...]) -> Any:
    """Run the forward by ``state.run_forward``, which a compiled program sets between two of its graphs."""
    if cls.setup_context is Function.setup_context:
        return state.run_forward(cls.forward, (context, *args))
    output = state.run_forward(cls.forward, args)
    cls.setup_context(context, args, output)
    return output


_SingleLevelFunction = Function


def _intercepted(cls: Any, args: tuple[Any, ...]) -> Any:
    """Offer the call to the interceptors that have a method ``function``, innermost first."""
    stack = state.interceptors
    asked: list[Any] = []
    try:
        while stack:
            asked.append(stack.pop())
            handler = getattr(asked[-1], "function", None)
            handled = NotImplemented if handler is None else handler(cls, args)
            if handled is not NotImplemented:
                return handled
    finally:
        stack.extend(reversed(asked))
    return NotImplemented


def _bind(forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], complete: bool) -> tuple[Any, ...]:
    """Positional arguments, with keywords in their places; ``complete`` with all defaults (a forward that takes no ctx)."""
    code = forward.__code__
    names = code.co_varnames[: code.co_argcount]
    defaults = dict(zip(names[len(names) - len(forward.__defaults__ or ()) :], forward.__defaults__ or ()))
    if not complete or hasattr(forward, "__self__"):
        names = names[1 if complete else 1 + hasattr(forward, "__self__") :]
    bound = list(args)
    for name in names[len(args) :]:
        if name in kwargs:
            bound.append(kwargs.pop(name))
        elif not complete and not kwargs:
            break
        elif name in defaults:
            bound.append(defaults[name])
        else:
            raise TypeError(f"missing a required argument: '{name}'")
    if kwargs:
        raise TypeError(f"got an unexpected keyword argument '{next(iter(kwargs))}'")
    return tuple(bound)


def finish(cls: Any, context: Any, args: tuple[Any, ...], edges: list[Any], output: Any, requires: bool) -> Any:
    """Make the results of forward outputs of the recorded node."""
    single = not isinstance(output, (tuple, list))
    if (
        single and requires and not context._dirty and not context._non_differentiable and isinstance(output, TensorBase)
        and output._view is None and output._array.dtype.kind in "fVc"
    ):  # fmt: skip
        for each in args:
            if each is output:
                break
        else:
            return _finish_one(cls, context, edges, output)
    outputs = [output] if single else list(output)
    dirty = {id(each) for each in context._dirty}
    plain = {id(each) for each in context._non_differentiable}
    inputs = {id(each) for each in args if isinstance(each, TensorBase)}
    if single and not isinstance(output, TensorBase) and output is not None and requires:
        raise TypeError(f"{cls.__name__}.forward: expected to return a Tensor (or tuple of them), got {type(output).__name__}")
    for each in context._dirty:
        if id(each) not in {id(o) for o in outputs}:
            raise FunctionError(
                f"Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified "
                f"inplace must all be outputs of the Function ({cls.__name__})."
            )
    node = None
    if requires:
        node = _new(cls._node_type)
        node.context = context
        node.inputs = tuple(edges)
        node.saved = ()
        node.sequence = next_sequence()
        node.shape = node.dtype = None
        context._outputs_device = None
    made: dict[int, int] = {}
    results: list[Any] = []
    for index, each in enumerate(outputs):
        if not isinstance(each, TensorBase):
            results.append(each)
            continue
        result = _settle_output(cls, node, each, index, dirty, plain, inputs)
        made.setdefault(id(each), index)
        results.append(result)
    if node is not None:
        if len(results) == 1:
            array = getattr(results[0], "_array", None)
            if array is not None:
                node.shape, node.dtype = array.shape, array.dtype
                context._outputs_device = None if array.__class__ is np.ndarray else device_of(array)
        else:
            node.multiple = True
            node.outputs = [(r._array.shape, r._array.dtype) if isinstance(r, TensorBase) else ((), None) for r in results]
            others = [r._array for r in results if isinstance(r, TensorBase) and r._array.__class__ is not np.ndarray]
            context._outputs_device = device_of(others[0]) if others else None
        if context._to_save:
            node.saved = tuple([_save(each, made, results, node) for each in context._to_save])
        if flags.special:
            finish_node(node)
    if node is not None or context._to_save:
        context._to_save = ()
    context._dirty = context._non_differentiable = ()
    return results[0] if single else (tuple(results) if isinstance(output, tuple) else results)


def _finish_one(cls: Any, context: Any, edges: list[Any], output: Any) -> Any:
    """The common case of :func:`finish`: one new tensor."""
    node = _new(cls._node_type)
    node.context = context
    node.inputs = tuple(edges)
    node.sequence = next_sequence()
    array = output._array
    node.shape, node.dtype = array.shape, array.dtype
    if array.__class__ is not np.ndarray:
        context._outputs_device = device_of(array)
    output._grad_fn = node
    output._output_index = 0
    output._requires_grad = True
    saved = []
    for each in context._to_save:
        saved.append(SavedResult(each, 0) if each is output else save(each))
    node.saved = tuple(saved)
    if saved:
        context._to_save = ()
    if flags.special:
        finish_node(node)
    return output


def _settle_output(cls: Any, node: Any, each: Any, index: int, dirty: set[int], plain: set[int], inputs: set[int]) -> Any:
    """One output: as it is, an alias of an input, or an input that was written to."""
    is_input, is_dirty = id(each) in inputs, id(each) in dirty
    differentiable = node is not None and id(each) not in plain and BY_NUMPY[each._array.dtype].category >= FLOATING
    if is_dirty:
        if not is_input and node is not None:
            raise FunctionError(f"a tensor marked dirty in {cls.__name__}.forward is not an input of it")
        storage_of(each).version += 1
        if differentiable:
            check_in_place(each)
            rebase(each, node, table)
            if each._view is None:
                each._output_index = index
        return each
    if is_input:
        result = alias(each, each._array)
        if differentiable:
            result._view = View(each, (), result._storage.version, "function")
    elif not differentiable and each._requires_grad:
        result = alias(each, each._array)
    else:
        result = each
        view = result._view
        if view is not None:  # under no_grad the view stays one of its base; a write would go round the custom backward
            known = differentiable or (node is None and BY_NUMPY[each._array.dtype].category >= FLOATING and id(each) not in plain)
            result._view = View(view.base, view.chain, view.version, "function" if state.grad_enabled else "no_grad") if known else None
    if differentiable:
        result._grad_fn = node
        result._output_index = index
        result._requires_grad = True
    elif node is not None and not is_input:
        result._grad_fn, result._requires_grad = None, False
    return result


def _save(each: Any, made: dict[int, int], results: list[Any], node: Any) -> Any:
    if each is None:
        return None
    index = made.get(id(each))
    if index is not None and results[index]._grad_fn is node:
        return SavedResult(results[index], index)
    return save(each)


class InplaceFunction(Function):
    """A Function with an ``inplace`` switch, kept for old code."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


def _nested_map(condition: Callable[[Any], bool], fn: Callable[[Any], Any], condition_msg: str | None = None) -> Callable[[Any], Any]:
    """What applies a function to everything in nested lists, tuples and dicts for which a condition holds; None stays None."""

    def run(given: Any) -> Any:
        if condition(given):
            return fn(given)
        if given is None:
            return None
        if isinstance(given, (list, tuple)):
            mapped = [run(each) for each in given]
            return type(given)(*mapped) if hasattr(given, "_fields") else type(given)(mapped)
        if isinstance(given, dict):
            return {key: run(value) for key, value in given.items()}
        raise ValueError(
            f"Auto nesting doesn't know how to process an input object of type {type(given).__name__}"
            + (f". Accepted types: {condition_msg}, or lists/tuples of them" if condition_msg else "")
        )

    return run


__all__ = ["Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]
