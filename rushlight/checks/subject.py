"""The Function that is checked, with arguments of several types and shapes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..autograd.function import Function, bound_arguments
from ..core.base import TensorBase, make
from ..core.dtypes import BY_NAME

LARGE = 200  # elements: above, gradients are checked on fewer


class Subject:
    """A custom Function and the arguments that it is checked with."""

    def __init__(self, function: Any, args: tuple[Any, ...]) -> None:
        self.function = function
        self.args = bound_arguments(function, args, {})  # with all defaults, where forward takes no ctx
        self.stream = np.random.default_rng(0)
        self.dirty: list[int] = []  # the positions of inputs that forward writes to, and says so

    @property
    def names(self) -> list[str]:
        """The names of the arguments, as forward calls them."""
        names = parameters(self.function)
        return [names[at].name if at < len(names) else f"argument {at + 1}" for at in range(len(self.args))]

    def positions(self, args: tuple[Any, ...] | None = None) -> list[int]:
        """Where arguments are tensors that can have a gradient."""
        return [
            at
            for at, each in enumerate(self.args if args is None else args)
            if isinstance(each, TensorBase) and each._array.dtype.kind in "fVc"
        ]

    def call(self, *args: Any) -> Any:
        """Apply the Function; inputs that it writes to are copies, so that leaves can be given."""
        return self.function.apply(*[each.clone() if at in self.dirty else each for at, each in enumerate(args)])

    def outputs(self, *args: Any) -> list[Any]:
        """The tensors that it returns."""
        result = self.call(*args)
        return [each for each in (result if isinstance(result, (tuple, list)) else (result,)) if isinstance(each, TensorBase)]

    def prepared(self, dtype: str, shape: Callable[[tuple[int, ...]], tuple[int, ...]] | None = None, grad: bool = True) -> tuple[Any, ...]:
        """The arguments in a floating-point type and of other shapes; their elements are drawn from those that were given."""
        made = []
        for each in self.args:
            if not isinstance(each, TensorBase):
                made.append(each)
                continue
            array = np.asarray(each.detach()._array)
            real = array.dtype.kind in "fV"
            if shape is not None and array.shape:
                sizes = shape(array.shape)
                array = self.stream.choice(array.reshape(-1), sizes) if array.size else np.zeros(sizes, array.dtype)
                if real:
                    array = array * self.stream.uniform(0.9, 1.1, array.shape)
            kind = BY_NAME[dtype].numpy if real else np.dtype(np.complex128) if array.dtype.kind == "c" else each._array.dtype
            tensor = make(np.array(array, kind))
            if grad and tensor._array.dtype.kind in "fVc":
                tensor.requires_grad_()
            made.append(tensor)
        return tuple(made)

    def shapes(self) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """Arguments in double precision, of several shapes, those that forward refuses left out."""
        ways: list[tuple[str, Any]] = [
            ("as given", None), ("larger", lambda sizes: tuple(size + 1 for size in sizes)), ("one row", lambda sizes: (1, *sizes[1:])),
            ("no rows", lambda sizes: (0, *sizes[1:])),
        ]  # fmt: skip
        for name, way in ways:
            args = self.prepared("float64", way)
            if name == "as given" or self.takes(args):
                yield name, args
        strided = tuple(non_contiguous(each) for each in self.prepared("float64"))
        if any(isinstance(each, TensorBase) and not each.is_contiguous() for each in strided) and self.takes(strided):
            yield "not contiguous", strided

    def takes(self, args: tuple[Any, ...]) -> bool:
        """Whether forward runs on arguments."""
        try:
            self.call(*args)
        except Exception:  # whatever the user's code raises for shapes that it is not made for
            return False
        return True

    def forward(self, args: tuple[Any, ...]) -> tuple[Any, list[Any]]:
        """Run forward by hand: the context that it filled, and what it returned."""
        context = self.function._context_type()
        context.needs_input_grad = tuple(isinstance(each, TensorBase) and each.requires_grad for each in args)
        if self.function.setup_context is not Function.setup_context:
            result = self.function.forward(*args)
            self.function.setup_context(context, args, result)
        else:
            result = self.function.forward(context, *args)
        return context, list(result) if isinstance(result, (tuple, list)) else [result]


def non_contiguous(value: Any) -> Any:
    """The same tensor with its elements in another order in memory."""
    if not isinstance(value, TensorBase) or value._array.ndim < 2:
        return value
    array = value.detach()._array
    made = make(np.array(array.transpose(), order="C").transpose())
    return made.requires_grad_() if value.requires_grad else made


def parameters(function: Any) -> list[inspect.Parameter]:
    """The parameters of forward without ctx."""
    found = list(inspect.signature(function.forward).parameters.values())
    return found if function.setup_context is not Function.setup_context else found[1:]


def guess(function: Any) -> tuple[Any, ...] | None:
    """Arguments that forward takes, found by trying; None where nothing fits."""
    needed = [each for each in parameters(function) if each.default is each.empty and each.kind is not each.VAR_KEYWORD]
    stream = np.random.default_rng(0)
    numbers = {"int": 2, "float": 0.5, "bool": True}

    def value(parameter: inspect.Parameter, shape: tuple[int, ...], positive: bool) -> Any:
        annotation = parameter.annotation if isinstance(parameter.annotation, str) else getattr(parameter.annotation, "__name__", "")
        if annotation in numbers:
            return numbers[annotation]
        array = stream.standard_normal(shape)
        return make(np.abs(array) + 0.5 if positive else array)

    for shape in ((3, 4), (4, 4), (4,), (2, 3, 4), (2, 3, 8, 8), ()):
        for positive in (False, True):
            args = tuple(value(each, shape, positive) for each in needed)
            try:
                result = function.apply(*[each.clone() if isinstance(each, TensorBase) else each for each in args])
            except Exception:  # of the user's code: the next guess
                continue
            found = [each for each in (result if isinstance(result, (tuple, list)) else (result,)) if isinstance(each, TensorBase)]
            if found and all(np.isfinite(np.asarray(each.detach()._array, np.complex128)).all() for each in found):
                return args
    return None
