"""``rearrange``: dimensions in another order, split and joined, by a pattern of their names."""

from __future__ import annotations

import re
from typing import Any

from ..core.base import TensorBase
from ..core.declare import exports

_DOTS = "..."


def _parsed(text: str, pattern: str) -> list[list[str]]:
    """One side of a pattern: a list of names for each dimension."""
    text = text.replace("\u2026", _DOTS)
    if text.count("(") != text.count(")"):
        raise ValueError(f"Brackets are not balanced in pattern: {pattern}")
    found = []
    for group, name in re.findall(r"\(([^()]*)\)|(\.\.\.|[^\s()]+)", text):
        names = [name] if name else group.split()
        for each in names:
            if each != _DOTS and not (each.isidentifier() or each == "1"):
                raise ValueError(f"Invalid axis identifier: {each} in pattern: {pattern}")
        found.append([] if names == ["1"] else names)
    flat = [each for names in found for each in names]
    for each in set(flat):
        if flat.count(each) > 1:
            raise ValueError(f"Indexing expression contains duplicate dimension '{each}' in pattern: {pattern}")
    return found


def rearrange(tensor: Any, pattern: str, **axes_lengths: int) -> Any:
    """Dimensions in another order, split and joined: ``rearrange(x, "b (h w) c -> b c h w", h=4)``.

    >>> import rushlight as torch
    >>> torch.func.rearrange(torch.arange(6).reshape(2, 3), "a b -> (b a)")
    tensor([0, 3, 1, 4, 2, 5])
    """
    if not isinstance(tensor, TensorBase):
        tensor = exports["", "stack"](list(tensor))
    if pattern.count("->") != 1:
        raise ValueError(f"Pattern must contain exactly one '->': {pattern}")
    left, right = (_parsed(side, pattern) for side in pattern.split("->"))
    names = [each for group in left for each in group]
    wanted = [each for group in right for each in group]
    if set(names) != set(wanted):
        raise ValueError(f"Identifiers only on one side of the pattern: {sorted(set(names) ^ set(wanted))}")
    unknown = set(axes_lengths) - set(names)
    if unknown:
        raise ValueError(f"Lengths of axes that are not in the pattern: {sorted(unknown)}")
    rank = tensor.dim()  # type: ignore[attr-defined]
    dots = rank - (len(left) - 1) if [_DOTS] in left else 0
    if dots < 0 or ([_DOTS] not in left and rank != len(left)):
        raise ValueError(f"Number of dimensions in pattern ({len(left)}) and tensor ({rank}) must be equal: {pattern}")
    sizes: dict[str, list[int]] = {}
    shape = iter(tensor.shape)  # type: ignore[attr-defined]
    for group in left:
        if group == [_DOTS]:
            sizes[_DOTS] = [next(shape) for _ in range(dots)]
            continue
        size, open_names, known = next(shape), [each for each in group if each not in axes_lengths], 1
        for each in group:
            if each in axes_lengths:
                sizes[each] = [axes_lengths[each]]
                known *= axes_lengths[each]
        if len(open_names) > 1 or (known and size % known) or (not open_names and known != size):
            raise ValueError(f"Could not infer sizes of {group} from a dimension of {size}: {pattern}")
        for each in open_names:
            sizes[each] = [size // known if known else 0]
    places: dict[str, list[int]] = {}
    for each in names:
        start = sum(map(len, places.values()))
        places[each] = list(range(start, start + len(sizes[each])))
    split = tensor.reshape([size for each in names for size in sizes[each]])  # type: ignore[attr-defined]
    moved = split.permute([place for each in wanted for place in places[each]])
    result: list[int] = []
    for group in right:
        if group == [_DOTS]:
            result += sizes[_DOTS]
            continue
        joined = 1
        for each in group:
            for size in sizes[each]:
                joined *= size
        result.append(joined)
    return moved.reshape(result)
