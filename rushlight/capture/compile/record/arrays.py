"""NumPy inside of a graph: arrays that come from tensors or are inputs are followed, and what NumPy makes of them is an opaque node.

NumPy itself computes, in the capture and in later calls, so that its types and rules hold.  The program has its real arrays; a table says which tensor
of the graph each is.  Whatever reads elements, writes to memory, or gives a scalar ends the graph.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ....core.base import TensorBase, make
from ....core.dtypes import BY_NUMPY
from ....tensor.construct import as_tensor, asarray, from_numpy, tensor
from ....tensor.interop import numpy
from ....tensor.tensor import Tensor
from ..guards.guards import is_numeric_memory, is_op
from ..guards.sources import Made
from ..vm.frame import Frame
from .callables import IMPURE, is_callback, module_of
from .calls import Recorder
from .graph_breaks import Break
from .registry import handles
from .tracer import ERROR, FEW

_BINARY = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod, "@": operator.matmul,
    "**": operator.pow, "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
}  # fmt: skip
_COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne}
_UNARY = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
_KNOWN = frozenset("shape dtype ndim size itemsize nbytes".split())  # attributes that follow from the type and shape
_PARTS = frozenset("T mT real imag".split())
_METHODS = frozenset(
    "all any argmax argmin argsort astype clip compress conj conjugate copy cumprod cumsum diagonal dot flatten max mean min nonzero prod ravel "
    "repeat reshape round searchsorted squeeze std sum swapaxes take trace transpose var".split()
)
_IMPURE = IMPURE - {"asarray"} | frozenset(
    "copyto put place putmask fill_diagonal put_along_axis".split()
)  # functions that write, or draw numbers
_CONVERSIONS = (from_numpy, as_tensor, asarray, tensor)
_NUMBERS = (bool, int, float, complex, str, bytes)


class Place:
    """The place of a tensor among the arguments of a call."""

    def __init__(self, index: int) -> None:
        self.index = index


class NumPyCall:
    """A call of NumPy as a function of tensors: constants and options are kept with it."""

    def __init__(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def run(self, arrays: Sequence[Any]) -> Any:
        """What NumPy makes of arrays."""

        def filled(value: Any) -> Any:
            if type(value) is Place:
                return arrays[value.index]
            return type(value)(map(filled, value)) if type(value) in (list, tuple) else value

        return self.function(*map(filled, self.args), **{key: filled(each) for key, each in self.kwargs.items()})

    def __call__(self, *tensors: Any) -> Any:
        arrays = [each._array for each in tensors]
        if not all(isinstance(each, np.ndarray) for each in arrays):
            raise TypeError("NumPy needs the elements of its arrays")  # fake tensors have none: a back-end leaves such a graph as it is
        result = self.run(arrays)

        def owned(value: Any) -> Any:
            return make(value.copy() if any(np.may_share_memory(value, each) for each in arrays) else value)

        return type(result)(map(owned, result)) if type(result) in (list, tuple) else owned(result)


class ArrayRecorder(Recorder):
    """Records what a program does with NumPy arrays that tensors of the graph stand for."""

    def __init__(self, *args: Any) -> None:
        self.views: dict[
            int, tuple[NumPyCall, Any, Any]
        ] = {}  # arrays that share the memory of others: the call that made each, of which arrays, and which of its results
        self.origins: dict[int, list[Any]] = {}  # of arrays that follow from a few elements of inputs alone: these inputs
        super().__init__(*args)

    def follow(self, array: Any, of: Any) -> Any:
        """Follow an array that a tensor of the graph stands for; its sizes are plain numbers for NumPy."""
        self.specialize(*self.tracer.shape_of(of))
        self.arrays[id(array)] = array, of
        return self.track_fresh(array)

    def tensor_of(self, value: Any) -> Any:
        """The tensor that stands for an array; an array that is an input becomes one of the graph.  None for any other."""
        if type(value) is not np.ndarray:
            return None
        if id(value) in self.arrays:
            return self.arrays[id(value)][1]
        source = self.sources.get(id(value))
        if source is None or self.pure or self.in_body or id(value) in self.mutated:
            return None
        try:
            made = tensor_over(value)
        except TypeError:
            return None
        self.guards.type(source, value)
        self.register(made, Made(source, tensor_over))
        self.specialize(*self.tracer.shape_of(made))
        self.arrays[id(value)] = value, made
        return made

    def array_recipe(self, array: Any) -> Any:
        """What a later call makes an array of: a tensor, or (of a view) the call of NumPy that makes it; None for one that the graph does not know."""
        return self.views.get(id(array)) or self.arrays.get(id(array), (None, None))[1]

    def close(self) -> None:
        super().close()
        self.arrays.clear()
        self.views.clear()
        self.origins.clear()

    def origins_of(self, arrays: Sequence[Any]) -> list[Any] | None:
        """The inputs from which arrays follow, where these have few elements; None where there are others."""
        found: list[Any] = []
        for each in arrays:
            if id(each) in self.sources and each.size <= FEW:
                found.append(each)
            elif id(each) in self.origins:
                found += self.origins[id(each)]
            else:
                return None
        return found

    def is_settled(self, value: Any) -> bool:
        """Make a constant of an array that follows from a few elements of inputs, whose elements are guarded; whether it is one."""
        if id(value) in self.sources or id(value) not in self.origins or id(value) in self.views:
            return False
        for each in self.origins[id(value)]:
            super().guard_object(each, False)
        self.arrays.pop(id(value), None)
        return True

    def is_followed(self, value: Any) -> bool:
        """Whether a value is an array of the graph or an input, or a list or tuple that holds one."""
        if type(value) in (list, tuple):
            return any(map(self.is_followed, value))
        if id(value) in self.sources:
            return type(value) is np.ndarray
        return id(value) in self.arrays and not self.is_settled(value)

    def refuse_arrays(self, name: str, *values: Any) -> None:
        """A graph break where elements of an array of the graph would be read or written."""
        if any(map(self.is_followed, values)):
            raise Break("value", name=name)

    def numpy_call(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], name: str = "") -> Any:
        """A call of NumPy as a node; NotImplemented where none of the arguments is an array of the graph."""
        tensors: list[Any] = []
        arrays: list[Any] = []
        name = f"numpy.{name or getattr(function, '__name__', function)}"

        def placed(value: Any) -> Any:
            of = self.tensor_of(value)
            if of is not None:
                tensors.append(of)
                arrays.append(value)
                return Place(len(tensors) - 1)
            if isinstance(value, TensorBase):
                raise Break("value", name=name)
            if type(value) in (list, tuple):
                self.guard_elements(value)
                return type(value)(map(placed, value))
            self.guard_contents(value)
            self.specialize(value)
            return value.copy() if type(value) is np.ndarray else value

        if not any(type(each) in (np.ndarray, list, tuple) for each in (*args, *kwargs.values())):
            return NotImplemented
        call = NumPyCall(function, [*map(placed, args)], {key: placed(each) for key, each in kwargs.items()})
        if not tensors:
            return NotImplemented
        if kwargs.get("out") is not None or self.pure or self.in_body or any(map(is_callback, (*args, *kwargs.values()))):
            raise Break("value", name=name)
        try:
            result = self.unrecorded(call.run, (arrays,), {})
        except Exception:
            self.discard_reason = ERROR
            raise
        if any(result is each for each in arrays):
            return result
        several = type(result) in (list, tuple)
        parts = result if several else [result]
        origins = self.origins_of(arrays)
        if not parts or not all(type(each) is np.ndarray and each.dtype in BY_NUMPY for each in parts):
            if origins is None:
                raise Break("value", name=name)
            for each in origins:
                super().guard_object(each, False)  # its elements
            return self.track_fresh(result)
        tracer = self.tracer
        node = tracer.graph.call_function(call, tuple([tracer.argument(each) for each in tensors]), {})
        node.meta["source"], node.meta["module"] = tracer.where()
        node.meta.update(impure=True)
        tracer.depends.add(node)
        specs = []
        for index, each in enumerate(parts):
            part, made = tracer.part(node, index, several), make(each)
            tracer.bind(made, part, each.shape)
            specs.append(part.meta["val"])
            self.follow(each, made)
            if origins is not None:
                self.origins[id(each)] = origins
            if any(np.may_share_memory(each, other) for other in (*arrays, *parts[:index])):
                self.views[id(each)] = call, arrays, index if several else None
        if several:
            node.meta["val"] = tuple(specs)
        return self.track_fresh(result)

    # -- operators -------------------------------------------------------------------------------------------------

    def truth(self, value: Any) -> Any:
        if type(value) is np.ndarray:
            self.refuse_arrays("bool", value)
        return super().truth(value)

    def unary(self, op: str, a: Any) -> Any:
        found = self.numpy_call(_UNARY[op], (a,), {}) if type(a) is np.ndarray else NotImplemented
        return super().unary(op, a) if found is NotImplemented else found

    def binary(self, op: str, a: Any, b: Any) -> Any:
        if type(a) is np.ndarray or type(b) is np.ndarray:
            if op not in _BINARY:
                self.refuse_arrays(op, a, b)
            elif not isinstance(a, TensorBase) and not isinstance(b, TensorBase):
                found = self.numpy_call(_BINARY[op], (a, b), {})
                if found is not NotImplemented:
                    return found
            self.refuse_arrays(op, a, b)
        return super().binary(op, a, b)

    def compare(self, op: str, a: Any, b: Any) -> Any:
        if type(a) is np.ndarray or type(b) is np.ndarray:
            found = self.numpy_call(_COMPARE[op], (a, b), {}) if op in _COMPARE else NotImplemented
            if found is not NotImplemented:
                return found
        if self.arrays:
            self.refuse_arrays(op, a, b)
        return super().compare(op, a, b)

    def contains(self, container: Any, item: Any) -> Any:
        if self.arrays or type(container) is np.ndarray or type(item) is np.ndarray:
            self.refuse_arrays("in", container, item)
        return super().contains(container, item)

    # -- items, attributes, iteration ----------------------------------------------------------------------------------

    def get_item(self, container: Any, key: Any) -> Any:
        if type(container) is np.ndarray:
            found = self.numpy_call(operator.getitem, (container, key), {})
            if found is not NotImplemented:
                return found
        self.refuse_index(key)
        return super().get_item(container, key)

    def refuse_index(self, key: Any) -> None:
        """A graph break where an index is an array of the graph; the elements of one that is an input are guarded."""
        for each in key if type(key) is tuple else (key,):
            if id(each) in self.arrays and id(each) not in self.sources and not self.is_settled(each):
                raise Break("value", name="an index")

    def set_item(self, container: Any, key: Any, value: Any) -> Any:
        if type(container) is np.ndarray or isinstance(container, TensorBase):
            self.refuse_index(key)
            self.refuse_arrays("an item", container, value)
        return super().set_item(container, key, value)

    def load_attr(self, value: Any, name: str) -> Any:
        if type(value) is np.ndarray and self.tensor_of(value) is not None:
            if name in _PARTS:
                return self.numpy_call(operator.attrgetter(name), (value,), {}, name)
            if name in _KNOWN or name in _METHODS:
                return getattr(value, name)
            source = self.sources.get(id(self.arrays[id(value)][1]))
            if name == "strides" and source is not None:
                self.guards.strides(source, self.arrays[id(value)][1])
                return value.strides
            if id(value) not in self.sources:
                raise Break("value", name=f"numpy.ndarray.{name}")
        return super().load_attr(value, name)

    def store_attr(self, value: Any, name: str, new: Any) -> Any:
        if type(value) is np.ndarray:
            self.refuse_arrays(name, value)
        return super().store_attr(value, name, new)

    def as_iterable(self, value: Any) -> Any:
        if id(value) in self.arrays and id(value) not in self.sources and not self.is_settled(value):
            raise Break("value", name="iteration")
        return super().as_iterable(value)

    def get_iter(self, value: Any) -> Any:
        if id(value) in self.arrays and id(value) not in self.sources and not self.is_settled(value):
            raise Break("value", name="iteration")
        return super().get_iter(value)

    def guard_object(self, value: Any, text: bool, called: frozenset[str] | None = None) -> list[Any]:
        if id(value) in self.arrays and id(value) not in self.sources and not self.is_settled(value):
            raise Break("native", name="something that takes a NumPy array")
        return super().guard_object(value, text, called)

    # -- calls -----------------------------------------------------------------------------------------------------

    def call(self, frame: Frame, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        owner = getattr(function, "__self__", None)
        if type(owner) is np.ndarray and type(function) is BuiltinFunctionType and function.__name__ in _METHODS:
            found = self.numpy_call(getattr(np.ndarray, function.__name__), (owner, *args), kwargs)
            if found is not NotImplemented:
                return found
        for each in (*args, *kwargs.values()):
            kind = type(each)
            if kind is np.ndarray or (kind is list or kind is tuple) and self.arrays:
                break
        else:
            return super().call(frame, function, args, kwargs)
        if function is len and len(args) == 1 and self.tensor_of(args[0]) is not None:
            return len(args[0])
        if not isinstance(function, type) and (owner is None or isinstance(owner, ModuleType)):
            module = module_of(function)
            if module.partition(".")[0] == "numpy" and not module.startswith("numpy.random") and function.__name__ not in _IMPURE:
                found = self.numpy_call(function, args, kwargs)
                if found is not NotImplemented:
                    return found
        if function in _CONVERSIONS and len(args) == 1 and not kwargs and (of := self.tensor_of(args[0])) is not None:
            if min(args[0].strides, default=0) < 0:  # which no tensor has
                raise Break("native", name=function.__name__)
            if function is tensor:
                return of.clone()
            if id(args[0]) in self.views:  # a tensor of the graph would not share the memory of the program's arrays
                raise Break("native", name=function.__name__)
            return of.detach() if id(of) in self.sources else of
        if isinstance(owner, TensorBase) or isinstance(function, FunctionType) and is_op(function) or function in _NUMBERS:
            self.refuse_arrays(getattr(function, "__name__", "a call"), *args, *kwargs.values())
        return super().call(frame, function, args, kwargs)


def tensor_over(array: Any) -> Any:
    """The tensor over the memory of an array; a TypeError, as of a value that is not there, where there can be none."""
    if type(array) is not np.ndarray or not is_numeric_memory(array):
        raise TypeError("no array that a graph can take")
    return make(array)


@handles(numpy)
def array_of(recorder: Any, of: Any, **options: Any) -> Any:
    """The array over the memory of a tensor of the graph, which the program goes on with; NotImplemented where the graph ends there."""
    if options or type(of) is not Tensor or recorder.pure or recorder.in_body or of._requires_grad:
        return NotImplemented
    if not (recorder.tracer.is_traced(of) or id(of) in recorder.sources):
        return NotImplemented
    recorder.tracer.compute_deferred()
    if of._array.__class__ is not np.ndarray or of._array.dtype not in BY_NUMPY:
        return NotImplemented
    recorder.tracer.node_of(of)
    return recorder.follow(recorder.unrecorded(numpy, (of,), {}), of)
