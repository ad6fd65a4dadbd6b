"""Counting floating-point operations: those of matrix products and convolutions, forward and backward, by module.

>>> import rushlight
>>> with FlopCounterMode(display=False) as counter:
...     _ = rushlight.ones(2, 3) @ rushlight.ones(3, 4)
>>> counter.get_total_flops()
48
"""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..core.base import TensorBase
from ..core.declare import Op
from ..core.dispatch import dispatch
from ..core.facets import Facet
from ..core.state import flags, state
from ..nn.modules.module_hooks import register_module_forward_hook, register_module_forward_pre_hook
from ..ops.overloads import OpOverloadPacket, find_packet
from .trees import transform

Counted = tuple[str, int]


def _shape(tensor: Any) -> tuple[int, ...]:
    return tuple(tensor._array.shape)


def _product(left: Any, right: Any, name: str | None = None) -> Counted:
    """A matrix product, perhaps in batches; products with vectors are not counted, as in PyTorch."""
    first, second = _shape(left), _shape(right)
    if len(first) < 2 or len(second) < 2:
        return "", 0
    batches = math.prod(np.broadcast_shapes(first[:-2], second[:-2]))
    return name or ("mm" if len(second) == 2 else "bmm"), 2 * batches * first[-2] * first[-1] * second[-1]


def _linear(input: Any, weight: Any, bias: Any) -> Counted:
    if not isinstance(input, TensorBase) or len(_shape(weight)) != 2:
        return "", 0
    name = "mm" if bias is None else "addmm"
    return name, 2 * math.prod(_shape(input)) * _shape(weight)[0]


def _convolution(input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, *rest: Any) -> Counted:
    dims = len(_shape(weight)) - 2
    space = _shape(input)[-dims:]
    if not transposed:
        space = tuple(
            (size + 2 * pad - dilate * (kernel - 1) - 1) // step + 1
            for size, pad, dilate, kernel, step in zip(space, padding, dilation, _shape(weight)[2:], stride)
        )
    batch = _shape(input)[0] if len(_shape(input)) == dims + 2 else 1
    return "convolution", 2 * batch * math.prod(space) * math.prod(_shape(weight))


def _weight_gradient(input: Any, grad: Any, kernel: Any, *rest: Any) -> Counted:
    # One product for each element of the gradient, each input channel of its group, and each place of the kernel.
    groups = next((each for each in rest[::-1] if isinstance(each, int)), 1)
    return "convolution_backward", 2 * math.prod(_shape(grad)) * (_shape(input)[1] // groups) * math.prod(kernel)


def _recurrent(times: int, weight: int, projection: int | None = None) -> Callable[..., Counted]:
    """The products with the hidden state in a recurrent layer; the arguments say where its weights stand."""

    def count(*args: Any) -> Counted:
        size = math.prod(_shape(args[weight]))
        if projection is not None and args[projection] is not None:
            size += math.prod(_shape(args[projection]))
        return "mm", 2 * times * _shape(args[0])[0] * size

    return count


def _attention(times: int, query: Any, key: Any, value: Any) -> Counted:
    """Queries with keys, and weights with values; backward does each twice."""
    shapes = [_shape(each) for each in (query, key, value)]
    batches = math.prod(np.broadcast_shapes(*(shape[:-2] for shape in shapes)))
    widths = shapes[0][-1] + shapes[2][-1]
    return "bmm", 2 * times * batches * shapes[0][-2] * shapes[1][-2] * widths


flops: Facet[Callable[..., Counted]] = Facet("flops", "how many floating-point operations a call of the op takes, and under which name")
flops.set(_product, "matmul")
flops.set(lambda input, mat1, mat2, *rest: _product(mat1, mat2, "addmm"), "addmm")
flops.set(lambda input, batch1, batch2, *rest: _product(batch1, batch2, "baddbmm"), "baddbmm")
flops.set(_linear, "linear")
flops.set(_convolution, "convolution")
flops.set(_weight_gradient, "convolution_weight_gradient")
flops.set(lambda query, key, value, *rest: _attention(1, query, key, value), "attention")
flops.set(lambda grad, query, key, value, *rest: _attention(2, query, key, value), "attention_backward")
flops.set(_recurrent(1, 3, 4), "lstm_layer")
flops.set(_recurrent(1, 2), "gru_layer", "rnn_layer")
flops.set(_recurrent(2, 3, 4), "lstm_backward")
flops.set(_recurrent(2, 2), "gru_backward", "rnn_backward")


_registered: dict[OpOverloadPacket, Callable[..., int]] = {}  # formulas that programs have added


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function counts the operations of an operator such as ``torch.ops.mylib.foo``, or of several.

    It is called with the shapes of the tensors among the arguments, and ``out_shape``; with ``get_raw`` with the tensors, and ``out_val``.
    """

    def register(formula: Callable[..., Any]) -> Callable[..., Any]:
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if not isinstance(target, OpOverloadPacket):
                raise ValueError(
                    "register_flop_formula(targets): expected each target to be OpOverloadPacket (i.e. torch.ops.mylib.foo), "
                    f"got {target} which is of type {type(target)}"
                )
            if target in _registered:
                raise RuntimeError(f"duplicate registrations for {target}")
            _registered[target] = formula if get_raw else _of_shapes(formula)
        return formula

    return register


def _of_shapes(formula: Callable[..., Any]) -> Callable[..., Any]:
    """A formula of shapes, to be called with tensors."""

    def shape(value: Any) -> Any:
        return value.shape if isinstance(value, TensorBase) else value  # type: ignore[attr-defined]

    def count(*args: Any, out_val: Any, **kwargs: Any) -> Any:
        return formula(*transform(shape, args), out_shape=transform(shape, out_val), **transform(shape, kwargs))

    return count


def _qualified_name(op: Op) -> str:
    return op.name if "::" in op.name else f"aten::{op.name}"


def _given(op: Op, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a call without those at the end that are their defaults."""
    count = len(args)
    while count and count <= len(op.parameters) and args[count - 1] is op.parameters[count - 1].default:
        count -= 1
    return args[:count]


class FlopCounterMode:
    """A context that counts; ``get_total_flops``, ``get_flop_counts`` and ``get_table`` tell.

    ``custom_mapping`` gives counts for further operators: a dict from one (``torch.ops.aten.relu``) to a function as
    :func:`register_flop_formula` takes it; a function whose ``_get_raw`` is true is given tensors.
    """

    def __init__(
        self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: dict[OpOverloadPacket, Any] | None = None
    ) -> None:
        if mods is not None:
            warnings.warn("mods argument is not needed anymore, you can stop passing it", stacklevel=2)
        self.depth = depth
        self.display = display
        self.custom = {
            target: formula if getattr(formula, "_get_raw", False) else _of_shapes(formula)
            for target, formula in (custom_mapping or {}).items()
        }
        self.flop_counts: defaultdict[str, defaultdict[OpOverloadPacket, int]] = _no_counts()
        self._names: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._modules: list[str] = []
        self._backward: list[tuple[str, ...]] = []
        self._handles: list[Any] = []
        self._within = False  # an operator that has a formula of its own

    # -- counting ------------------------------------------------------------------------------------------------

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts = _no_counts()
        self._modules, self._backward = [], []
        self._handles = [
            register_module_forward_pre_hook(self._enter_module),
            register_module_forward_hook(self._leave_module, always_call=True),
        ]
        state.interceptors.append(self)
        flags.enter()
        return self

    def __exit__(self, *exception: Any) -> None:
        flags.leave()
        state.interceptors.remove(self)
        for handle in self._handles:
            handle.remove()
        if self.display and not any(exception):
            print(self.get_table())

    def _enter_module(self, module: Any, args: Any) -> None:
        if module not in self._names:
            root = type(module).__name__
            for name, each in module.named_modules():
                self._names[each] = f"{root}.{name}" if name else root
        self._modules.append(self._names[module])

    def _leave_module(self, module: Any, args: Any, output: Any) -> None:
        self._modules.pop()

    def __call__(self, op: Op, args: tuple[Any, ...], out: Any) -> Any:
        if self._within:
            return NotImplemented
        base = op.functional or op
        formula = flops.of(base)
        if self.custom or _registered:
            name = _qualified_name(base)
            for packet, custom in (*self.custom.items(), *_registered.items()):
                if packet._qualified_op_name == name:
                    return self._count_custom(packet, custom, op, args, out)
        if formula is None:
            return NotImplemented
        label, count = formula(*args)
        modules = self._where()
        if count:
            if self._backward and label == "convolution":
                label = "convolution_backward"
            self._add(find_packet("aten", label), count, modules)
        if out is not None or op.functional is not None:
            return NotImplemented
        result = dispatch(op, args)
        first = result[0] if isinstance(result, tuple) else result
        node = first._grad_fn
        if node is not None and not self._backward:
            # What its backward does belongs to the module that it was called in.
            node.register_prehook(lambda gradients: self._backward.append(modules))
            node.register_hook(lambda inputs, outputs: self._leave_backward())
        return result

    def _where(self) -> tuple[str, ...]:
        """The modules whose operations are counted now."""
        return self._backward[-1] if self._backward else tuple(dict.fromkeys(self._modules))

    def _add(self, packet: OpOverloadPacket, count: int, modules: tuple[str, ...]) -> None:
        for module in ("Global", *modules):
            self.flop_counts[module][packet] += count

    def _count_custom(self, packet: OpOverloadPacket, formula: Callable[..., Any], op: Op, args: tuple[Any, ...], out: Any) -> Any:
        """Run an operator that a program has given a formula for; what it is made of is not counted."""
        written = out if out is not None else args[0] if op.functional is not None else None
        self._within = True
        try:
            result = NotImplemented if written is not None else dispatch(op, args)
        finally:
            self._within = False
        self._add(packet, int(formula(*_given(op, args), out_val=result if written is None else written)), self._where())
        return result

    def _leave_backward(self) -> None:
        if self._backward:
            self._backward.pop()

    # -- results -------------------------------------------------------------------------------------------------

    def get_total_flops(self) -> int:
        """The number of all operations."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[OpOverloadPacket, int]]:
        """The numbers by module (``Global`` for all of them) and operator."""
        return {module: dict(counted) for module, counted in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The numbers as text, down to a depth of modules within modules."""
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        modules = sorted(name for name in self.flop_counts if name != "Global" and name.count(".") < depth)
        roots = sum(sum(self.flop_counts[name].values()) for name in modules if "." not in name)
        indent = 0
        if not modules or roots != total:  # some of it was in no module
            modules, indent = ["Global", *modules], 1
        rows: list[tuple[str, str, str]] = []
        for module in modules:
            level = 0 if module == "Global" else module.count(".") + indent
            counted = self.flop_counts[module]
            rows.append(_row(" " * level + module, sum(counted.values()), total))
            rows += [_row(" " * level + f" - {name}", count, total) for name, count in counted.items()]
        return _text([("Module", "FLOP", "% Total"), *rows])


def _no_counts() -> defaultdict[str, defaultdict[OpOverloadPacket, int]]:
    counts: defaultdict[str, defaultdict[OpOverloadPacket, int]] = defaultdict(lambda: defaultdict(int))
    counts["Global"].clear()  # it is listed also where nothing is counted
    return counts


def _row(name: str, count: int, total: int) -> tuple[str, str, str]:
    unit = 0
    while total >= 10_000 * 1000**unit and unit < 4:
        unit += 1
    share = f"{count / total:.2%}" if total else "0%"
    return name, f"{count / 1000**unit:.3f}{('', 'K', 'M', 'B', 'T')[unit]}", share


def _text(rows: list[tuple[str, str, str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}" for a, b, c in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


__all__ = ["FlopCounterMode", "register_flop_formula"]
