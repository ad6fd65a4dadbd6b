"""What functions of shapes do on nested tensors: the batch dimension stays the first, and the ragged one stays whole."""

from __future__ import annotations

from typing import Any

import rushlight

from ..core.errors import OperationError
from .jagged import NestedTensor, nesting, of_parts, of_values
from .ragged_size import RaggedSize
from .rules import counted, name_of


def _moved(first: Any, values: Any, ragged: int) -> Any:
    """Other values with the ragged dimension at another place."""
    return of_values(values, first._starts, first._part_lengths, ragged, first._metadata_cache, values._base if values._is_view() else None)


def _refuse(op: Any, dim: int, first: Any) -> None:
    """Refuse the batch dimension, and the ragged one."""
    name = name_of(op).removesuffix("_evenly").removesuffix("_copy")
    if dim == 0:
        raise OperationError(f"{name}(): not supported for NestedTensor on dim=0")
    if first._kind == "jagged" and dim == first._ragged_idx:
        raise OperationError(f"{name}(): not supported for NestedTensor on ragged dim")


def _each(func: Any, first: Any, given: dict[str, Any], **changed: Any) -> Any:
    """A function of the parts of a strided nested tensor."""
    rest = {key: value for key, value in given.items() if not isinstance(value, NestedTensor)} | changed
    return of_parts([func(each, **rest) for each in first.unbind()])


@nesting.register("unsqueeze")
def _unsqueeze(func: Any, op: Any, first: Any, given: dict[str, Any]) -> Any:
    count = first.dim() + 1
    dim = given["dim"]
    if not -count <= dim < count:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but got {dim})")
    dim %= count
    if dim == 0:
        raise OperationError("unsqueeze(): not supported for NestedTensor on dim=0")
    if first._kind == "strided":
        return _each(func, first, given, dim=dim - 1)
    return _moved(first, first.values().unsqueeze(dim - 1), first._ragged_idx + (dim <= first._ragged_idx))


@nesting.register("squeeze")
def _squeeze(func: Any, op: Any, first: Any, given: dict[str, Any]) -> Any:
    wanted = given.get("dim")
    if wanted is None:
        if first._kind == "strided":
            raise OperationError(
                "For nested tensors, squeeze without the dim argument is not supported at the moment, however you can use squeeze(Tensor self, int dim) instead if you need this functionality"
            )
        dims = [at for at in range(1, first.dim()) if at != first._ragged_idx and first._array.shape[at] == 1]
    else:
        dims = [counted(first, each) for each in (wanted if isinstance(wanted, (list, tuple)) else [wanted])]
        for each in dims:
            if each == 0 and first._kind == "strided":
                raise OperationError("For nested tensors, squeezing dimension 0 is not supported at the moment")
            _refuse(op, each, first)
        dims = [each for each in dims if not isinstance(first._array.shape[each], RaggedSize) and first._array.shape[each] == 1]
    if first._kind == "strided":
        return _each(func, first, given, dim=tuple(each - 1 for each in dims))
    return _moved(
        first, first.values().squeeze(tuple(each - 1 for each in dims)), first._ragged_idx - sum(each < first._ragged_idx for each in dims)
    )


@nesting.register("transpose")
def _transpose(func: Any, op: Any, first: Any, given: dict[str, Any]) -> Any:
    one, other = (counted(first, given[name]) for name in ("dim0", "dim1"))
    if one == other and first._kind == "jagged":
        return first
    if 0 in (one, other):
        if first._kind == "strided":
            raise OperationError("Nested tensor dimension 0 cannot be transposed")
        raise ValueError("Transpose is not supported on the batch dimension for jagged NT")
    if first._kind == "strided":
        return _each(func, first, given, dim0=one - 1, dim1=other - 1)
    ragged = {one: other, other: one}.get(first._ragged_idx, first._ragged_idx)
    return _moved(first, first.values().transpose(one - 1, other - 1), ragged)


@nesting.register("permute")
def _permute(func: Any, op: Any, first: Any, given: dict[str, Any]) -> Any:
    wanted = given["dims"]
    if len(wanted) != first.dim():
        raise ValueError(
            f"permute(): number of dimensions in the tensor input ({first.dim()}) does not match the length of the desired ordering of dimensions ({len(wanted)})."
        )
    order = [counted(first, each) for each in wanted]
    if len(set(order)) != len(order):
        raise ValueError("permute(): duplicate dims are not allowed.")
    if order[0] != 0:
        raise ValueError("Permute is not supported on the batch dimension for jagged NT")
    inner = [each - 1 for each in order[1:]]
    if first._kind == "strided":
        return of_parts([each.permute(inner) for each in first.unbind()])
    return _moved(first, first.values().permute(inner), order.index(first._ragged_idx))


@nesting.register("flatten")
def _flatten(func: Any, op: Any, first: Any, given: dict[str, Any]) -> Any:
    start, end = counted(first, given.get("start_dim", 0)), counted(first, given.get("end_dim", -1))
    for each in range(start, end + 1):
        if start != end:
            _refuse(op, each, first)
    if first._kind == "strided":
        return _each(func, first, given, start_dim=start - 1, end_dim=end - 1)
    return _moved(first, first.values().flatten(start - 1, end - 1), first._ragged_idx - (end - start) * (start < first._ragged_idx))


@nesting.register("unflatten")
def _unflatten(func: Any, op: Any, first: Any, given: dict[str, Any]) -> Any:
    dim, sizes = counted(first, given["dim"]), given["sizes"]
    _refuse(op, dim, first)
    if first._kind == "strided":
        return _each(func, first, given, dim=dim - 1)
    return _moved(first, first.values().unflatten(dim - 1, sizes), first._ragged_idx + (len(sizes) - 1) * (dim < first._ragged_idx))


@nesting.register("view_shape")
def _view(func: Any, op: Any, first: Any, given: dict[str, Any]) -> Any:
    return _reshaped(first, given, "view")


@nesting.register("reshape", "reshape_copy")
def _reshape(func: Any, op: Any, first: Any, given: dict[str, Any]) -> Any:
    return _reshaped(first, given, "reshape")


def _reshaped(first: Any, given: dict[str, Any], name: str) -> Any:
    sizes = list(next(value for value in given.values() if not isinstance(value, NestedTensor)))
    if first._kind == "strided":
        return _reshape_strided(first, sizes, name)
    own = list(first._array.shape)
    ragged, symbol = first._ragged_idx, own[first._ragged_idx]
    places = [at for at, each in enumerate(sizes) if isinstance(each, RaggedSize) and each == symbol]
    if not places and len(sizes) > ragged and sizes[ragged] == -1:
        places = [ragged]
    if (
        len(places) != 1
        or not sizes
        or isinstance(sizes[0], RaggedSize)
        or sizes[0] not in (-1, own[0])
        or any(isinstance(each, RaggedSize) and each != symbol for each in sizes)
    ):
        raise OperationError(f"{name}(): cannot view shape ({', '.join(map(str, own))}) as [{', '.join(map(str, sizes))}]")
    place = places[0]
    before, behind = _filled(own[1:ragged], sizes[1:place]), _filled(own[ragged + 1 :], sizes[place + 1 :])
    if before is None or behind is None:
        raise OperationError(f"{name}(): cannot view shape ({', '.join(map(str, own))}) as [{', '.join(map(str, sizes))}]")
    values = first.values()
    return _moved(first, getattr(values, name)(*before, values.shape[ragged - 1], *behind), place)


def _filled(own: list[int], wanted: list[int]) -> list[int] | None:
    """Sizes with the one that is -1 filled in; None where they do not hold as many elements."""
    total, known = 1, 1
    for each in own:
        total *= each
    for each in wanted:
        known *= each if each != -1 else 1
    made = [total // known if each == -1 and known else each for each in wanted]
    product = 1
    for each in made:
        product *= each
    return made if product == total and wanted.count(-1) <= 1 else None


def _reshape_strided(first: Any, sizes: list[int], name: str) -> Any:
    """A strided nested tensor whose parts have other sizes; -1 stands for the size that a part has there, else for what is left."""
    if not sizes:
        raise OperationError("shape '[]' is invalid for a nested tensor")
    if sizes[0] not in (-1, len(first)):
        raise OperationError("view: For now nested view cannot change or infer the implicit batch dimension")
    made = []
    for each in first.unbind():
        own = [each.shape[at] if size == -1 and at < each.dim() else size for at, size in enumerate(sizes[1:])]
        if any(size < -1 for size in own):
            raise OperationError("invalid shape dimension")
        made.append(getattr(each, name)(own))
    return of_parts(made)


@nesting.register("expand")
def _expand(func: Any, op: Any, first: Any, given: dict[str, Any]) -> Any:
    sizes, own = list(given["size"]), list(first._array.shape)
    if (
        first._kind == "strided"
        or len(sizes) != len(own)
        or sizes[0] not in (-1, own[0])
        or sizes[first._ragged_idx] not in (-1, own[first._ragged_idx])
    ):
        raise OperationError(f"expand(): cannot expand shape ({', '.join(map(str, own))}) -> [{', '.join(map(str, sizes))}]")
    inner = sizes[1:]
    inner[first._ragged_idx - 1] = -1
    return _moved(first, first.values().expand(*inner), first._ragged_idx)


@nesting.register("select")
def _select(func: Any, op: Any, first: Any, given: dict[str, Any]) -> Any:
    dim, index = counted(first, given["dim"]), given["index"]
    if dim == 0:
        return first.unbind()[index]
    _refuse(op, dim, first)
    if first._kind == "strided":
        return _each(func, first, given, dim=dim - 1)
    return _moved(first, first.values().select(dim - 1, index), first._ragged_idx - (dim < first._ragged_idx))


@nesting.register("narrow")
def _narrow(func: Any, op: Any, first: Any, given: dict[str, Any]) -> Any:
    if counted(first, given["dim"]) == 0:
        return _batch(first, range(len(first))[given["start"] : given["start"] + given["length"]])
    return _slice(func, op, first, given)


@nesting.register("slice", "index_select")
def _slice(func: Any, op: Any, first: Any, given: dict[str, Any]) -> Any:
    dim = counted(first, given.get("dim", 0))
    _refuse(op, dim, first)
    if first._kind == "strided":
        return _each(func, first, given, dim=dim - 1)
    rest = {key: value for key, value in given.items() if key not in ("input", "dim")}
    return _moved(first, func(first.values(), dim=dim - 1, **rest), first._ragged_idx)


def _batch(first: Any, numbers: Any) -> Any:
    """Some of the parts."""
    if first._kind == "strided":
        return of_parts([first.unbind()[each] for each in numbers])
    if first._part_lengths is not None or numbers.step != 1 or not numbers:
        lengths = [first.unbind()[each].shape[first._ragged_idx - 1] for each in numbers]
        parts = [first.unbind()[each] for each in numbers]
        values = rushlight.cat(parts, first._ragged_idx - 1) if parts else first.values().narrow(first._ragged_idx - 1, 0, 0)
        return of_values(values, rushlight.tensor([0, *lengths]).cumsum(0), None, first._ragged_idx)
    offsets = first._starts[numbers.start : numbers.stop + 1]
    begin, end = int(offsets[0]), int(offsets[-1])
    return of_values(first.values().narrow(first._ragged_idx - 1, begin, end - begin), offsets - begin, None, first._ragged_idx)


@nesting.register("chunk")
def _chunk(func: Any, op: Any, first: Any, given: dict[str, Any]) -> Any:
    dim, count = counted(first, given.get("dim", 0)), given["chunks"]
    if dim == 0 and first._kind == "jagged":
        size = -(-len(first) // count)
        return tuple(_batch(first, range(len(first))[at : at + size]) for at in range(0, len(first), size))
    return _split(func, op, first, given)


@nesting.register("split_with_sizes", "split_evenly", "split")
def _split(func: Any, op: Any, first: Any, given: dict[str, Any]) -> Any:
    dim = counted(first, given.get("dim", 0))
    _refuse(op, dim, first)
    rest = {key: value for key, value in given.items() if not isinstance(value, NestedTensor)} | {"dim": dim - 1}
    if first._kind == "strided":
        return tuple(of_parts(list(column)) for column in zip(*(func(each, **rest) for each in first.unbind())))
    return tuple(_moved(first, each, first._ragged_idx) for each in func(first.values(), **rest))


@nesting.register("cat")
def _cat(func: Any, op: Any, first: Any, given: dict[str, Any]) -> Any:
    dim = given.get("dim", 0) % first.dim()
    if first._kind == "strided" and dim == 0:
        return of_parts([piece for each in given["tensors"] for piece in each.unbind()])
    if first._kind == "jagged":
        _refuse(op, dim, first)
    return _joined(func, op, first, given["tensors"], dim, first._ragged_idx)


@nesting.register("stack")
def _stack(func: Any, op: Any, first: Any, given: dict[str, Any]) -> Any:
    dim = given.get("dim", 0) % (first.dim() + 1)
    if dim == 0:
        _refuse(op, dim, first)
    return _joined(func, op, first, given["tensors"], dim, first._ragged_idx + (dim <= first._ragged_idx))


def _joined(func: Any, op: Any, first: Any, tensors: Any, dim: int, ragged: int) -> Any:
    """The values of tensors that are nested alike, joined along a dimension that all parts share."""
    if first._kind == "strided":
        return of_parts([func([each.unbind()[at] for each in tensors], dim=dim - 1) for at in range(len(first))])
    for each in tensors:
        alike = isinstance(each, NestedTensor) and each._ragged_idx == first._ragged_idx
        if not alike or each._array.shape[each._ragged_idx] != first._array.shape[first._ragged_idx]:
            raise OperationError(f"{name_of(op)}(): the tensors have to be nested alike")
    return _moved(first, func([each.values() for each in tensors], dim=dim - 1), ragged)


@nesting.register("contiguous")
def _contiguous(func: Any, op: Any, first: Any, given: dict[str, Any]) -> Any:
    if first.is_contiguous():
        return first
    if first._kind == "strided":
        return of_parts([each.contiguous() for each in first.unbind()])
    if first._part_lengths is None:
        return first.like(first.values().contiguous())
    lengths = first._part_lengths
    offsets = rushlight.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    return of_values(first.compact_values(), offsets, None, first._ragged_idx, first._metadata_cache)


def item(first: Any, index: Any) -> Any:
    """``nested[index]``: a part, or whole ranges of the dimensions that all parts share."""
    items = list(index) if isinstance(index, tuple) else [index]
    if any(not isinstance(each, (int, slice)) and each is not None and each is not Ellipsis for each in items):
        raise OperationError("a nested tensor is indexed by integers, slices, None and Ellipsis")
    if Ellipsis in [each for each in items if each is Ellipsis]:
        at = next(at for at, each in enumerate(items) if each is Ellipsis)
        missing = first.dim() - sum(each is not None and each is not Ellipsis for each in items)
        items[at : at + 1] = [slice(None)] * missing
    head, rest = items[0], tuple(items[1:])
    if head is None:
        raise OperationError("unsqueeze(): not supported for NestedTensor on dim=0")
    if isinstance(head, int):
        found = first.unbind()[head]
        return found[rest] if rest else found
    numbers = range(len(first))[head]
    if numbers != range(len(first)):
        first = _batch(first, numbers)
    if first._kind == "strided":
        return of_parts([each[rest] for each in first.unbind()]) if rest else first
    ragged, seen = 1, 1  # the places of a dimension in the result and in the tensor
    place = None
    for each in rest:
        if each is None:
            ragged += 1
            continue
        if seen == first._ragged_idx:
            if not isinstance(each, slice) or each != slice(None):
                raise OperationError(f"{'slice' if isinstance(each, slice) else 'select'}(): not supported for NestedTensor on ragged dim")
            place = ragged
        ragged += not isinstance(each, int)
        seen += 1
    if place is None:
        place = ragged + first._ragged_idx - seen
    return _moved(first, first.values()[rest] if rest else first.values(), place)


__all__ = ["item"]
