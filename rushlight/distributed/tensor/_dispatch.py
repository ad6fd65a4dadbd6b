"""Runs an op on distributed tensors: its rule says how, parts are brought into the placements it takes, and the op runs on these."""

from __future__ import annotations

from typing import Any

from ...core.base import TensorBase, make
from ...core.declare import exports, table
from ...core.dispatch import dispatch, dispatch_in_place
from ...core.facets import Facet
from ...core.state import state
from ...ops.shape.striding import lay_out
from . import _product_rules
from ._dtensor_spec import DTensorSpec, TensorMeta
from ._redistribute import redistribute_local
from ._rules import as_written, rule_of, shape_argument, whole
from ._utils import compute_local_shape, compute_local_shape_and_global_offset, dense_strides
from .placement_types import Partial, Placement, Replicate, Shard

# An op that is run on parts in another way where placements are of a kind: a function of the parts, the tensors and placements, or NotImplemented.
on_parts: Facet[Any] = Facet("on parts", "how an op runs on parts, where not as on the whole")


class _Flat:
    """The tensors among arguments, and the arguments with those replaced."""

    def __init__(self, args: tuple[Any, ...]) -> None:
        self.args = args
        self.tensors = [
            each for value in args for each in (value if isinstance(value, (list, tuple)) else (value,)) if isinstance(each, TensorBase)
        ]

    def replaced(self, others: list[Any]) -> tuple[Any, ...]:
        left = iter(others)

        def other(value: Any) -> Any:
            if isinstance(value, TensorBase):
                return next(left)
            return (
                type(value)(map(other, value)) if type(value) in (list, tuple) and any(isinstance(e, TensorBase) for e in value) else value
            )

        return tuple(map(other, self.args))


def run(kind: Any, op: Any, args: tuple[Any, ...]) -> Any:
    """Run an op on arguments of which some are tensors of the class ``kind``."""
    flat = _Flat(args)
    spec = next(each._spec for each in flat.tensors if isinstance(each, kind))
    mesh = spec.mesh
    tensors, replicated = [], (Replicate(),) * mesh.ndim
    for each in flat.tensors:
        if not isinstance(each, kind):
            if each.numel() > 1 and state.backward_pass is None and not kind.implicit:
                raise RuntimeError(
                    f"{op.qualified_name}: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling "
                    "distributed operators! Please see https://docs.pytorch.org/docs/main/distributed.tensor.html#mixed-tensor-and-dtensor-operations "
                    "for more details."
                )
            each = kind(each, DTensorSpec(mesh, replicated, TensorMeta(each.shape, tuple(each.stride()), each.dtype)), requires_grad=False)
        elif each._spec.mesh != mesh:
            raise NotImplementedError(
                f"{op.qualified_name}: DTensor does not support cross-mesh operation yet! Got meshes: {mesh} {each._spec.mesh}. Please make sure all "
                "the arguments have the same DeviceMesh."
            )
        tensors.append(each)
    if op.random:
        return _draw(kind, op, flat, tensors)
    in_place = op.functional is not None
    rule = rule_of(op)
    wanted = [list(each._spec.placements) for each in tensors]
    results: list[Any] = []
    for dim in range(mesh.ndim):
        needed, made = rule(op, args, tensors, [each._spec.placements[dim] for each in tensors])
        held = tensors[0]._spec.placements[dim]
        if in_place and needed[0] != held and not isinstance(held, Partial):  # what is written to keeps its placement
            needed, made = as_written(tensors, held), held
        for place, placement in enumerate(needed):
            wanted[place][dim] = placement
        results.append(made)
    local = [_taken(each, tuple(placements)) for each, placements in zip(tensors, wanted)]
    if in_place and mesh.get_coordinate() is None:
        return args[0]
    if in_place:
        if tuple(wanted[0]) != spec.placements:  # a sum is added up where the op is not linear
            args[0]._local_tensor, args[0]._spec = local[0], DTensorSpec(mesh, tuple(wanted[0]), spec.tensor_meta)
        dispatch_in_place(op, flat.replaced(local))
        return args[0]
    shapes: Any = dispatch(op, flat.replaced([make(each._array) for each in tensors]))
    if op.body is not None and rule is whole:
        return NotImplemented
    given = flat.replaced(local)
    at = shape_argument.of(op)
    if at is not None:  # parts get the shape of a part
        given = (*given[:at], compute_local_shape(shapes.shape, mesh, results), *given[at + 1 :])
    special = on_parts.of(op) if mesh.get_coordinate() is not None else None
    found = NotImplemented if special is None else special(given, tensors, wanted)
    if mesh.get_coordinate() is None:  # a process outside of the mesh has nothing
        found = _nothing(shapes, tensors[0]._local_tensor.device)
    elif found is NotImplemented:
        found = dispatch(op, given)
    several = isinstance(found, (tuple, list))
    wrapped = []
    for number, (part, fake) in enumerate(zip(found if several else [found], shapes if several else [shapes])):
        if not isinstance(part, TensorBase):
            wrapped.append(part)
            continue
        placements = tuple(each[number] if isinstance(each, list) else each for each in results)
        meta = TensorMeta(fake.shape, tuple(fake.stride()), part.dtype)  # type: ignore[attr-defined]
        wrapped.append(kind(part, DTensorSpec(mesh, placements, meta), requires_grad=False))
    return tuple(wrapped) if several else wrapped[0]


def _nothing(shapes: Any, device: Any) -> Any:
    """Empty results in place of an op's."""
    if isinstance(shapes, (tuple, list)):
        return tuple(_nothing(each, device) for each in shapes)
    return exports["", "empty"](0, dtype=shapes.dtype, device=device) if isinstance(shapes, TensorBase) else shapes


def _taken(tensor: Any, placements: tuple[Placement, ...]) -> Any:
    spec = tensor._spec
    return redistribute_local(tensor._local_tensor, spec.shape, spec.mesh, spec.placements, placements)


@on_parts.register("view_shape")
def _viewed(args: tuple[Any, ...], tensors: list[Any], wanted: list[Any]) -> Any:
    """A shard may not be viewable where the whole is: it is reshaped."""
    return args[0].reshape(args[1])


@on_parts.register("squeeze", "squeeze_copy")
def _squeezed(args: tuple[Any, ...], tensors: list[Any], wanted: list[Any]) -> Any:
    """A part may be of size 1 where the whole is not: dimensions of the whole are squeezed."""
    if len(args) > 1 and args[1] is not None:
        return NotImplemented
    shape = tensors[0].shape
    return exports["", "squeeze"](args[0], tuple(at for at in range(len(shape)) if shape[at] == 1))


@on_parts.register("view_as_complex")
def _as_complex(args: tuple[Any, ...], tensors: list[Any], wanted: list[Any]) -> Any:
    """A part may be expanded where the whole is contiguous."""
    return dispatch(table["view_as_complex"], (args[0].contiguous(),))


@on_parts.register("lay_out")
def _laid_out(args: tuple[Any, ...], tensors: list[Any], wanted: list[Any]) -> Any:
    """A shard has strides of its own, in the order of the whole's."""
    return lay_out(args[0], dense_strides(args[0].shape, args[1]))


@on_parts.register("embedding")
def _rows(args: tuple[Any, ...], tensors: list[Any], wanted: list[Any]) -> Any:
    """The rows of a table of which this process has some; zeros for the others, so that parts add up."""
    if not any(each.is_shard(0) for each in wanted[0]):
        return NotImplemented
    weight, index = args[:2]
    spec = tensors[0]._spec
    offset = compute_local_shape_and_global_offset(spec.shape, spec.mesh, wanted[0])[1][0]
    own = index - offset
    outside = (own < 0) | (own >= weight.shape[0])
    if not weight.shape[0]:
        return exports["", "zeros"]((*index.shape, weight.shape[1]), dtype=weight.dtype, device=weight.device)
    found = weight[own.masked_fill(outside, 0)]
    return found.masked_fill(outside.unsqueeze(-1), 0)


def _draw(kind: Any, op: Any, flat: _Flat, tensors: list[Any]) -> Any:
    """Random numbers: drawn for the whole tensor, the same on all processes, of which each keeps its part."""
    spec = tensors[0]._spec
    given = [_taken(each, (Replicate(),) * spec.mesh.ndim) for each in tensors]
    placements = tuple(Replicate() if isinstance(each, Partial) else each for each in spec.placements)
    replicated = (Replicate(),) * spec.mesh.ndim
    if op.functional is not None:
        whole_tensor = given[0].clone()
        dispatch_in_place(op, flat.replaced([whole_tensor, *given[1:]]))
        tensors[0]._local_tensor.copy_(redistribute_local(whole_tensor, spec.shape, spec.mesh, replicated, spec.placements))
        return flat.args[0]
    found = dispatch(op, flat.replaced(given))
    meta = TensorMeta(found.shape, tuple(found.stride()), found.dtype)
    if tuple(found.shape) != tuple(spec.shape):
        placements = replicated
    part = redistribute_local(found, found.shape, spec.mesh, replicated, placements)
    return kind(part, DTensorSpec(spec.mesh, placements, meta), requires_grad=False)
