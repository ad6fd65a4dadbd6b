"""Launchers of graphs whose gradients are recorded: one native call forward, one backward, and one autograd node between them.

The values that the forward saves for the backward share one private block of memory, without tensor objects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.base import make
from ...core.node import freed, modified, next_sequence, refresh
from ...core.state import flags
from ...runtime.call import trampoline
from ...runtime.call.launcher import LauncherSource, can_launch, expected
from ...schedule.tensor_ir import Leaf, strides_of
from ..aot import AotPlan, CompiledNode

_ALIGNMENT = 64
_new = object.__new__


class SavedLayout:
    """The locations of values saved for the backward: each is an input, an output, or at an offset in the block."""

    def __init__(self) -> None:
        self.inputs: dict[int, int] = {}
        self.outputs: dict[int, int] = {}
        self.inside: dict[int, tuple[int, Any, tuple[int, ...]]] = {}  # offset, root, shape
        self.size = 0  # of the block, in bytes

    def allocate(self, position: int, root: Any, shape: tuple[int, ...]) -> None:
        """Allocate space in the block."""
        for offset, other, known_shape in self.inside.values():
            if other is root:
                self.inside[position] = offset, other, known_shape
                return
        self.inside[position] = self.size, root, shape
        self.size += -(-root.size * root.dtype.itemsize // _ALIGNMENT) * _ALIGNMENT


class RecordedNode(CompiledNode):
    """The autograd node: it holds the block, saved output arrays (with their storages), the inputs, and their saved versions."""

    __slots__ = ()

    kept: SavedLayout

    def again(self, gradient: Any) -> Any:
        """The gradients by the general path."""
        block, outputs, args, versions = self.saved
        values: list[Any] = []
        kept = self.kept
        for position in range(len(kept.inputs) + len(kept.outputs) + len(kept.inside)):
            if position in kept.inputs:
                values.append(args[kept.inputs[position]])
            elif position in kept.outputs:
                values.append(make(outputs[list(kept.outputs).index(position)][0]))
            else:
                offset, root, shape = kept.inside[position]
                values.append(make(np.ndarray(shape, root.dtype, block, offset)))
        return self.general(gradient, values, args, versions)

    def changed(self, at: int) -> Exception:
        """The error where a saved input has been modified in place."""
        _, _, args, versions = self.saved
        return modified(self, args[at], args[at]._storage.version, versions[at])

    def changed_output(self, at: int) -> Exception:
        """The same for an output."""
        array, storage = self.saved[1][at]
        return modified(self, make(array), storage.version, 0)


def programs(plan: AotPlan) -> tuple[Any, Any]:
    """The forward and the backward program of a plan, as far as compiled."""
    forward: Any = plan.forward
    backward: Any = plan.backwards.get(tuple(plan.differentiable))
    return getattr(forward, "last", None), getattr(backward, "last", None)


def make_autograd_launcher(plan: AotPlan, args: tuple[Any, ...]) -> Callable[..., Any] | None:
    """A function of arguments like these, whose outputs have one node as their history; None where it can't be written."""
    forward, backward = programs(plan)
    if not plan.relaunches or not can_launch(forward) or not can_launch(backward):
        return None
    if forward.writes or backward.writes or forward.fixed or backward.fixed:
        return None
    text = LauncherSource(f"def call({', '.join(f't{at}' for at in range(len(args)))}):", forward)
    kept = saved_layout(plan, forward, text)
    if kept is None:
        return None
    back = backward_call(plan, backward, kept)
    if back is None:
        return None
    node = type("CompiledFunctionBackward", (RecordedNode,), {"plan": plan, "multiple": plan.several, "kept": kept, "backward": back})
    return forward_call(plan, forward, text, kept, node, args)


def saved_layout(plan: AotPlan, forward: Any, text: LauncherSource) -> SavedLayout | None:
    """The layout of saved values; None where one is a view, or an output is anything but a tensor of its own."""
    kept = SavedLayout()
    values = [written for written, _ in text.outputs[: plan.count]]
    if len(set(values)) < len(values) or not all(each in text.fresh for each in values):
        return None
    for position, (written, reference) in enumerate(text.outputs[plan.count :]):
        if reference is not None or written == "None":
            return None
        if written in values:
            kept.outputs[position] = values.index(written)
        elif written in text.fresh:
            root = forward.roots[text.fresh.index(written)]
            kept.allocate(position, root, text.shapes[root])
        else:
            kept.inputs[position] = int(written[1:])
    return kept


def forward_call(
    plan: AotPlan, forward: Any, text: LauncherSource, kept: SavedLayout, node: Any, args: tuple[Any, ...]
) -> Callable[..., Any]:
    """The forward: native code, then the node."""
    count, names, lines = plan.count, text.names, text.lines
    names.update(flags=flags, new=_new, Node=node, next_sequence=next_sequence, refresh=refresh)
    lines.append("    if flags.special: return NotImplemented")
    known = {value.position: value for value in forward.inputs}
    tensors = [expected(forward, value, plan.requires[at], type(args[at])) for at, value in known.items()]
    values = [written for written, _ in text.outputs[:count]]
    roots = [forward.roots[text.fresh.index(each)] for each in values]
    results = [trampoline.Result(trampoline.NEW, forward.slots[root], text.shapes[root], root.dtype) for root in roots]
    inside = {root: offset for offset, root, _ in kept.inside.values()}
    if inside:
        slots = [forward.slots[root] for root in inside]
        results.append(trampoline.Result(trampoline.BLOCK, slots[0], (kept.size,), np.dtype(np.uint8)))
        results += [trampoline.Result(trampoline.INSIDE, slot, offset=offset) for slot, offset in zip(slots, inside.values())]
    text.enter(tensors, [f"t{at}" for at in known], results)
    lines.append(f"    {''.join(f'{each}, ' for each in values)}{'block, ' if inside else ''} = made")
    for at in range(len(args)):
        lines += [f"    s = t{at}._storage", f"    if s is None: w{at} = 0", "    else:"]
        lines += [f"        if t{at}._view is not None: refresh(t{at})", f"        w{at} = s.version"]
    edges = [f"t{at} if t{at}._grad_fn is None else edge(t{at})" if reached else "None" for at, reached in enumerate(plan.reached)]
    names["edge"] = lambda tensor: (tensor._grad_fn, tensor._output_index) if tensor._output_index else tensor._grad_fn
    lines += [
        "    node = new(Node)",
        f"    node.inputs = ({''.join(f'{each}, ' for each in edges)})",
        "    node.sequence = next_sequence()",
    ]
    shapes = [(text.shapes[root], root.dtype) for root in roots]
    names["outputs"] = shapes
    names["shape"], names["dtype"] = (None, None) if plan.several else shapes[0]
    lines.append("    node.shape, node.dtype = shape, dtype")
    if plan.several:
        lines.append("    node.outputs = outputs")
    for number in plan.differentiable:
        lines.append(
            f"    {values[number]}._grad_fn = node; {values[number]}._requires_grad = True; {values[number]}._output_index = {number}"
        )
    arrays = "".join(f"({values[number]}._array, storage_of({values[number]})), " for number in kept.outputs.values())
    everything = [f"t{at}" for at in range(len(args))], [f"w{at}" for at in range(len(args))]
    given, versions = (f"({''.join(f'{each}, ' for each in group)})" for group in everything)
    lines.append(f"    node.saved = ({'block' if inside else 'None'}, ({arrays}), {given}, {versions})")
    lines.append(f"    return ({''.join(f'{values[number]}, ' for number in plan.order)})")
    return text.function()


def backward_call(plan: AotPlan, backward: Any, kept: SavedLayout) -> Callable[..., Any] | None:
    """The backward, as a method of the node."""
    text = LauncherSource("def call(self, gradient):", backward)
    names, lines = text.names, text.lines
    names.update(freed=freed)
    lines += ["    if self.saved is None: raise freed(self)", "    block, outputs, args, versions = self.saved"]
    for at in sorted(set(kept.inputs.values())):
        lines += [
            f"    t{at} = args[{at}]",
            f"    s = t{at}._storage",
            f"    if s is not None and s.version != versions[{at}]: raise self.changed({at})",
        ]
    gradients = [f"g{number}" for number in plan.differentiable]
    if plan.several:
        lines += [f"    g{number} = gradient[{number}]" for number in plan.differentiable]
        lines.append(f"    if {' or '.join(f'{each} is None' for each in gradients)}: return self.again(gradient)")
    else:
        lines.append("    g0 = gradient")
    tensors: list[Any] = []
    variables: list[str] = []
    given: list[tuple[str, int, int]] = []
    for number in range(len(kept.outputs)):
        lines += [f"    a{number}, s = outputs[{number}]", f"    if s.version != 0: raise self.changed_output({number})"]
    count = len(kept.inputs) + len(kept.outputs) + len(kept.inside)
    for value in backward.inputs:
        position = value.position
        if position in kept.inputs or position >= count:
            tensors.append(expected(backward, value))
            variables.append(f"t{kept.inputs[position]}" if position < count else gradients[position - count])
            continue
        if position in kept.outputs:
            given.append((f"a{list(kept.outputs).index(position)}", backward.slots[value], 0))
        else:
            offset, root, shape = kept.inside[position]
            if (
                value.dtype != root.dtype
                or value.shape != shape
                or any(size > 1 and have != want for size, have, want in zip(shape, value.strides, strides_of(shape)))
            ):
                return None
            given.append(("block", backward.slots[value], offset))
    arrays = list(dict.fromkeys(name for name, _, _ in given))
    array_values = [trampoline.ArrayValue(len(tensors) + arrays.index(name), slot, offset) for name, slot, offset in given]
    lines.append("    if state.grad_enabled or state.capture is not None or state.receiving is not None: return self.again(gradient)")
    text.enter(tensors, variables, None, array_values, arrays)
    lines[-1] = "    if made is NotImplemented: return self.again(gradient)"
    if any(isinstance(each.value, Leaf) for each in backward.outputs if each is not None):
        return None  # a gradient that is an input itself: the general path handles its ownership
    results = text.results()
    lines.append(f"    return ({''.join(f'{each}, ' for each in results)})")
    return text.function()
