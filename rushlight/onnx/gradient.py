"""``onnx.export_gradient``: a function or a model together with the gradients of its scalar output, as an ONNX file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..capture.trace.capture import bind_arguments, holds_tensor
from ..core.base import TensorBase
from ..nn.modules.module import Module
from ..nn.utils.stateless import _reparametrize_module
from .errors import ExportInputError
from .exporter import checked_names, split_arguments
from .gradient_tracer import GradientTracer, GraphInput, checked_opset, flat, lowered, trace
from .names import axis_names, output_names_of
from .program import ONNXProgram
from .proto import OnnxModel

SUFFIX = ".grad"


class GradientArguments:
    """The tensors in the arguments of a call, each once, with their names; and the same call with others in their place."""

    def __init__(self, called: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.args = args
        self.kwargs = kwargs
        self.tensors: list[Any] = []
        self.names: list[str] = []
        for name, value in bind_arguments(called, args, kwargs):
            for path, tensor in paths(value, name):
                if all(tensor is not each for each in self.tensors):
                    self.tensors.append(tensor)
                    self.names.append(path)

    def filled(self, tensors: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with other tensors."""
        others = {id(old): new for old, new in zip(self.tensors, tensors)}

        def fill(value: Any) -> Any:
            if isinstance(value, TensorBase):
                return others[id(value)]
            if isinstance(value, dict):
                return {key: fill(each) for key, each in value.items()}
            if isinstance(value, (tuple, list)):
                parts = [fill(each) for each in value]
                return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
            return value

        return fill(self.args), fill(self.kwargs)


def paths(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The tensors in a nested argument, with names that say where they are."""
    if isinstance(value, TensorBase):
        yield name, value
    elif holds_tensor(value):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths(each, f"{name}_{key}")


def input_slots(names: list[str], tensors: list[Any], dynamic_axes: Any, dynamic_shapes: Any) -> list[GraphInput]:
    """The inputs of the file, with their dynamic dimensions."""
    if dynamic_axes and dynamic_shapes:
        raise ExportInputError("give dynamic_axes or dynamic_shapes, not both")
    asked = dict(dynamic_axes or dynamic_shapes or {})
    what = "dynamic_axes" if dynamic_axes else "dynamic_shapes"
    unknown = [name for name in asked if name not in names]
    if unknown:
        raise ExportInputError(f"{what} names '{unknown[0]}', which is no input; the inputs are {', '.join(names)}")
    slots = []
    for name, tensor in zip(names, tensors):
        dims = asked.get(name) or {}
        if what == "dynamic_shapes" and not isinstance(dims, dict):
            dims = {dim: each for dim, each in enumerate(dims) if each is not None}
        rank = tensor._array.ndim
        for dim in dims:
            if isinstance(dim, bool) or not isinstance(dim, int) or not 0 <= dim < rank:
                raise ExportInputError(f"{what}: the input '{name}' has {rank} dimensions (0 to {rank - 1}), and none of number {dim!r}")
        slots.append(GraphInput(name, tensor, axis_names(dims, name)))
    return slots


def chosen_names(found: list[str], wanted: Sequence[str] | None, what: str) -> list[str]:
    """The names that were asked for, and for what is left those that were found."""
    given = checked_names(wanted, what)
    if len(given) > len(found):
        raise ExportInputError(f"{what} has {len(given)} names, but there are {len(found)} tensors")
    names = given + found[len(given) :]
    repeated = [name for at, name in enumerate(names) if name in names[:at]]
    if repeated:
        raise ExportInputError(f"two tensors are called '{repeated[0]}': name them with {what}")
    return names


def state_slots(module: Any, prefix: str = "") -> list[GraphInput]:
    """Parameters and buffers of a Module, each once, by their names in the state dict."""
    if not isinstance(module, Module):
        return []
    found = [*module.named_parameters(), *module.named_buffers()]
    return [GraphInput(prefix + name, tensor, stored=True) for name, tensor in found]


@contextmanager
def swapped_in(module: Any, tensors: dict[str, Any]) -> Iterator[None]:
    """For the time of a ``with`` block, put tensors in the place of a Module's own; all that it sets on itself is forgotten at the end.

    What it sets on its buffers is in ``tensors`` then.  What it keeps from call to call (a mask, say) would be a tensor without data.
    """
    if not isinstance(module, Module):
        yield
        return
    tables = [(each.__dict__, dict(each.__dict__)) for each in module.modules()]
    tables += [(part, dict(part)) for own, _ in list(tables) for part in own.values() if part.__class__ is dict]
    try:
        with _reparametrize_module(module, tensors, tie_weights=True):
            yield
    finally:
        for table, before in tables:
            if table.keys() != before.keys() or any(table[key] is not value for key, value in before.items()):
                table.clear()
                table.update(before)


def write(model: OnnxModel, f: Any, external_data: bool | None) -> None:
    """Write a model to a path or a file object, after onnx.checker has accepted it."""
    model.check()
    if f is None:
        return
    if isinstance(f, (str, os.PathLike)):
        model.save(os.fspath(f), external_data)
    elif hasattr(f, "write"):
        model.write(f)
    else:
        raise ExportInputError(f"f must be a path, a file object or None, not {type(f).__name__}")


def wanted_gradients(wrt: Any, inputs: list[GraphInput], states: list[GraphInput]) -> list[str]:
    """The names of the tensors whose gradients are asked for."""
    numbers = [slot.name for slot in inputs if slot.tensor._array.dtype.kind in "fV"]
    parameters = [slot.name for slot in states if slot.tensor.requires_grad]
    if wrt is None:
        wrt = "inputs"
    if isinstance(wrt, str) and wrt in ("inputs", "parameters"):
        found = numbers if wrt == "inputs" else parameters
        if not found:
            raise ExportInputError(f"wrt='{wrt}': there are none that have a gradient")
        return found
    names = []
    for each in [wrt] if isinstance(wrt, (str, int)) else list(wrt):
        if isinstance(each, int) and not isinstance(each, bool) and -len(inputs) <= each < len(inputs):
            each = inputs[each].name
        known = {slot.name: slot for slot in (*inputs, *states)}
        if each not in known:
            raise ExportInputError(f"wrt names {each!r}, which is neither an input ({', '.join(s.name for s in inputs)}) nor a parameter")
        if known[each].tensor._array.dtype.kind not in "fV":
            raise ExportInputError(f"wrt names '{each}', which holds no floating-point numbers and so has no gradient")
        names.append(each)
    if not names:
        raise ExportInputError("wrt is empty: there is nothing to differentiate by")
    return names


def export_gradient(
    model: Callable[..., Any], args: Any, f: Any = None, wrt: Any = None, *, kwargs: dict[str, Any] | None = None,
    input_names: Sequence[str] | None = None, output_names: Sequence[str] | None = None, opset_version: int | None = None,
    dynamic_axes: Any = None, dynamic_shapes: Any = None, external_data: bool | None = None,
) -> ONNXProgram:  # fmt: skip
    """Write a function or a Module as an ONNX file that computes its outputs and the gradients of the first of them.

    That output must be one number.  ``wrt`` says by what to differentiate: names or positions of inputs, names of parameters,
    ``"inputs"`` (all that hold floating-point numbers, which is the default) or ``"parameters"``.  The gradient of ``x`` is the output
    ``x.grad``; of what the output does not depend on, it is zeros.  Custom Functions are differentiated by their own backward.
    Parameters and buffers are stored in the file, and ``dynamic_axes``, ``f`` and the rest are those of :func:`export`.

        >>> import rushlight
        >>> program = export_gradient(lambda x: (x**3).sum(), rushlight.ones(2))
        >>> program.run(rushlight.tensor([1.0, 2.0]))
        (tensor(9.), tensor([ 3., 12.]))
    """
    if not callable(model):
        raise TypeError(f"export_gradient() takes a Module or a function, not {type(model).__name__}")
    opset = checked_opset(opset_version)
    arguments = GradientArguments(model, *split_arguments(model, args, kwargs))
    inputs = input_slots(chosen_names(arguments.names, input_names, "input_names"), arguments.tensors, dynamic_axes, dynamic_shapes)
    states = state_slots(model)
    wanted = wanted_gradients(wrt, inputs, states)
    slots = [slot._replace(differentiable=slot.name in wanted) for slot in (*inputs, *states)]

    def program(tracer: GradientTracer, tensors: list[Any]) -> Any:
        given, named = arguments.filled(tensors[: len(inputs)])
        own = {slot.name: each for slot, each in zip(states, tensors[len(inputs) :])}
        by_name = dict(zip([slot.name for slot in slots], tensors))
        leaves = [by_name[name] for name in wanted]
        with swapped_in(model, own):
            result = model(*given, **named)
            outputs = flat(result)
            check_scalar(outputs[0], "the first output")
            found = tracer.gradients(outputs[0], leaves)  # a backward may call parts of the model again
        names = chosen_names(output_names_of(result), output_names, "output_names")
        made = [leaf.detach() * 0 if each is None else each for each, leaf in zip(found, leaves)]
        return [*zip(names, outputs), *zip([name + SUFFIX for name in wanted], made)], None

    made = lowered(trace(slots, program, model), opset)
    write(made, f, external_data)
    return ONNXProgram(made)


def check_scalar(tensor: Any, what: str) -> None:
    """Refuse to differentiate what is not one number."""
    shape = tensor.shape
    if any(each != 1 for each in shape):
        raise ExportInputError(f"{what} has the shape {tuple(shape)}: gradients are those of one number, such as its sum() or mean()")
    if tensor._array.dtype.kind not in "fV":
        raise ExportInputError(f"{what} holds no floating-point number, and so has no gradient")


__all__ = ["export_gradient"]
