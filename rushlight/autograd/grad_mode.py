"""Grad modes (``no_grad``, ``enable_grad`` and ``inference_mode``, as contexts and as decorators), and when ``requires_grad`` may be changed."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from ..core.dtypes import BY_NUMPY, FLOATING
from ..core.errors import GradientError
from ..core.state import flags, state


class _Mode:
    """A context manager that also decorates functions and generator functions."""

    def __call__(self, function: Any) -> Any:
        if isinstance(function, type):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions: only making an object is in the mode, and the name "
                "stands for a function from now on. Decorate the method `__init__` alone for that, or the methods that are meant.",
                FutureWarning,
                stacklevel=2,
            )
        if function.__code__.co_flags & 32 if hasattr(function, "__code__") else False:
            return self._wrap_generator(function)

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return wrapper

    def _wrap_generator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            resume, sent = generator.send, None
            while True:
                try:
                    with self.clone():
                        value = resume(sent)
                except StopIteration as stop:
                    return stop.value
                try:
                    resume, sent = generator.send, (yield value)
                except GeneratorExit:
                    with self.clone():
                        generator.close()
                    raise
                except BaseException as error:
                    resume, sent = generator.throw, error

        return wrapper

    def clone(self) -> Any:
        return type(self)()

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *exception: Any) -> None:
        raise NotImplementedError


class _GradMode(_Mode):
    enabled = True

    def __new__(cls, function: Any = None) -> Any:
        instance = super().__new__(cls)
        return instance if function is None else instance(function)

    def __enter__(self) -> None:
        self.previous = state.grad_enabled
        state.grad_enabled = self.enabled

    def __exit__(self, *exception: Any) -> None:
        state.grad_enabled = self.previous


class no_grad(_GradMode):
    """Record nothing."""

    enabled = False


class enable_grad(_GradMode):
    """Record again, inside ``no_grad``."""

    enabled = True


class set_grad_enabled(_Mode):
    """Switch recording on or off: at once when called, and back again when used as a context."""

    def __init__(self, mode: bool) -> None:
        self.previous = state.grad_enabled
        self.mode = bool(mode)
        state.grad_enabled = self.mode

    def __call__(self, function: Any) -> Any:
        state.grad_enabled = self.previous
        return super().__call__(function)

    def __enter__(self) -> None:
        state.grad_enabled = self.mode

    def __exit__(self, *exception: Any) -> None:
        state.grad_enabled = self.previous

    def clone(self) -> Any:
        return type(self)(self.mode)


class inference_mode(_Mode):
    """Record nothing, and mark new tensors as inference tensors, which are never recorded."""

    def __new__(cls, mode: Any = True) -> Any:
        instance = super().__new__(cls)
        if isinstance(mode, bool):
            instance.mode = mode
            return instance
        instance.mode = True
        return instance(mode)

    mode: bool

    def __enter__(self) -> None:
        self.previous = state.grad_enabled, state.inference
        state.grad_enabled, state.inference = (False, True) if self.mode else (state.grad_enabled or state.inference, False)
        flags.enter()

    def __exit__(self, *exception: Any) -> None:
        flags.leave()
        state.grad_enabled, state.inference = self.previous

    def clone(self) -> Any:
        return type(self)(self.mode)


def is_grad_enabled() -> bool:
    """Whether operations are being recorded."""
    return state.grad_enabled


def is_inference_mode_enabled() -> bool:
    """Whether inference mode is on."""
    return state.inference


# -- ``requires_grad`` -------------------------------------------------------------------------------------------------


def refuse_inside_transforms() -> None:
    """Raise inside of a function that ``func`` transforms: what is differentiated there is for the transforms to say."""
    if state.transforms:
        raise GradientError(
            "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) inside of a function "
            "being transformed by a functorch transform. This is unsupported, please attempt to use the transforms of torch.func (e.g. "
            "grad, vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside of a function being transformed instead."
        )


def set_requires_grad(tensor: Any, requires_grad: bool) -> None:
    """Switch recording on or off for a leaf."""
    if not isinstance(requires_grad, (bool, int)):
        raise TypeError(f"requires_grad_(): argument 'requires_grad' must be bool, not {type(requires_grad).__name__}")
    if requires_grad and BY_NUMPY[tensor._array.dtype].category < FLOATING:
        raise GradientError("only Tensors of floating point and complex dtype can require gradients")
    if tensor._grad_fn is not None and not requires_grad:
        raise GradientError(
            "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph "
            "that doesn't require differentiation use var_no_grad = var.detach()."
        )
    if requires_grad and tensor._inference and not state.inference:
        raise GradientError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
    tensor._requires_grad = bool(requires_grad)
