"""Contractions of several tensors at once: ``tensordot`` and ``einsum``, both by way of matrix products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...core.base import TensorBase as Tensor
from ...core.declare import composite
from ...core.errors import ArgumentError, DtypeError, OperationError, ShapeError, ValueRangeError
from ...core.families import normalize_dims
from .matmul import matmul
from .matmul_onnx import einsum_form


def _contracted_dims(a: Any, b: Any, dims: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """What the ``dims`` of ``tensordot`` mean: dimensions of a and of b, pair by pair."""
    if isinstance(dims, Tensor):
        dims = dims.tolist() if dims.numel() > 1 else dims.item()
    if isinstance(dims, int):
        if dims < 0:
            raise ShapeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a._array.ndim, b._array.ndim):
            raise ShapeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        return tuple(range(a._array.ndim - dims, a._array.ndim)), tuple(range(dims))
    if not isinstance(dims, (tuple, list)) or len(dims) != 2 or not all(isinstance(each, (tuple, list)) for each in dims):
        raise ArgumentError("tensordot(): argument 'dims' must be an int or two lists of ints")
    first, second = dims
    if len(first) != len(second):
        raise ShapeError("both dimension lists should have same length")
    return normalize_dims(first, a._array.ndim, empty_is_all=False), normalize_dims(second, b._array.ndim, empty_is_all=False)


@composite(out=True)
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """The sum of products over pairs of dimensions: the last of ``a`` with the first of ``b``, or those listed."""
    first, second = _contracted_dims(a, b, dims)
    if a._array.dtype != b._array.dtype:
        raise DtypeError("both inputs should have same dtype")
    for i, j in zip(first, second):
        have, want = a._array.shape[i], b._array.shape[j]
        if have != want:
            if 1 not in (have, want):
                raise ShapeError(
                    f"contracted dimensions need to match, but first has size {have} in dim {i} and second has size {want} in dim {j}"
                )
            if have == 1:
                b = b.sum(j, keepdim=True, dtype=b.dtype)
            else:
                a = a.sum(i, keepdim=True, dtype=a.dtype)
    rows = [i for i in range(a._array.ndim) if i not in first]
    columns = [j for j in range(b._array.ndim) if j not in second]
    outside = [*(a._array.shape[i] for i in rows), *(b._array.shape[j] for j in columns)]
    left = _arrange(a, list(range(a._array.ndim)), [rows, list(first)])
    product = matmul(left, _arrange(b, list(range(b._array.ndim)), [list(second), columns]))
    return product if len(rows) == len(columns) == 1 else product.reshape(outside)


def _arrange(tensor: Any, labels: list[Any], groups: Sequence[list[Any]]) -> Any:
    """The dimensions in the order of groups of labels, each group as one dimension."""
    order = [labels.index(label) for group in groups for label in group]
    shape = tensor._array.shape
    if order != list(range(len(order))):
        tensor = tensor.permute(order)
    if all(len(group) == 1 for group in groups):
        return tensor
    return tensor.reshape([math.prod(shape[labels.index(label)] for label in group) for group in groups])


# -- einsum -------------------------------------------------------------------------------------------------------
# Labels are letters; the dimensions of an ellipsis are the numbers ..., -2, -1, counted from its right end.

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _from_sublists(arguments: Sequence[Any]) -> tuple[str, list[Any]]:
    """The call form ``einsum(a, [0, 1], b, [1, 2], [0, 2])`` as an equation and operands."""

    def letters(sublist: Any) -> str:
        text = ""
        for each in sublist:
            if each is not Ellipsis and not 0 <= each < len(_LETTERS):
                raise ValueRangeError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
            text += "..." if each is Ellipsis else _LETTERS[each]
        return text

    operands = list(arguments[0 : len(arguments) - len(arguments) % 2 : 2])
    equation = ",".join(letters(sublist) for sublist in arguments[1::2])
    if len(arguments) % 2:
        equation += "->" + letters(arguments[-1])
    return equation, operands


def _read_term(text: str, where: str) -> list[Any]:
    """The letters of one operand, with Ellipsis in its place."""
    labels: list[Any] = []
    position = 0
    while position < len(text):
        if text.startswith("...", position):
            if Ellipsis in labels:
                raise OperationError(f"einsum(): found '.' for {where} for which an ellipsis was already found")
            labels.append(Ellipsis)
            position += 3
            continue
        letter = text[position]
        if letter == ".":
            raise OperationError(f"einsum(): found '.' for {where} that is not part of any ellipsis")
        if letter not in _LETTERS:
            raise OperationError(f"einsum(): invalid subscript '{letter}' in the equation string, subscripts must be in [a-zA-Z]")
        labels.append(letter)
        position += 1
    return labels


def _spell_out(labels: list[Any], ndim: int, index: int) -> list[Any]:
    """The label of every dimension of an operand."""
    missing = ndim - (len(labels) - (Ellipsis in labels))
    if missing < 0 or (missing and Ellipsis not in labels):
        raise OperationError(
            f"einsum(): the number of subscripts in the equation ({len(labels)}) does not match the number of dimensions ({ndim}) "
            f"for operand {index}{'' if Ellipsis in labels else ' and no ellipsis was given'}"
        )
    if Ellipsis not in labels:
        return labels
    place = labels.index(Ellipsis)
    return [*labels[:place], *range(-missing, 0), *labels[place + 1 :]]


def _parse(equation: str, ndims: Sequence[int]) -> tuple[list[list[Any]], list[Any]]:
    """The labels of every operand's dimensions and of the result's."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = [_read_term(text, f"operand {index}") for index, text in enumerate(left.split(","))]
    if len(terms) != len(ndims):
        fewer = "fewer" if len(ndims) < len(terms) else "more"
        raise OperationError(f"einsum(): {fewer} operands were provided than specified in the equation")
    operands = [_spell_out(labels, ndims[index], index) for index, labels in enumerate(terms)]
    present = {label for labels in operands for label in labels}
    dots = sorted(label for label in present if isinstance(label, int))
    if not arrow:
        letters = [label for labels in operands for label in labels if isinstance(label, str)]
        return operands, [*dots, *sorted(label for label in set(letters) if letters.count(label) == 1)]
    output: list[Any] = []
    for label in _read_term(right, "the output"):
        if label is Ellipsis:
            output += dots
            continue
        if label in output:
            raise OperationError(f"einsum(): output subscript {label} appears more than once in the output")
        if label not in present:
            raise OperationError(f"einsum(): output subscript {label} does not appear in the equation for any input operand")
        output.append(label)
    return operands, output


def _sizes(operands: list[list[Any]], shapes: Sequence[tuple[int, ...]]) -> dict[Any, int]:
    """The size of every label; 1 broadcasts."""
    sizes: dict[Any, int] = {}
    for index, (labels, shape) in enumerate(zip(operands, shapes)):
        seen: dict[Any, int] = {}
        for label, size in zip(labels, shape):
            if seen.setdefault(label, size) != size:
                raise OperationError(
                    f"einsum(): subscript {label} is repeated for operand {index} but the sizes don't match, {size} != {seen[label]}"
                )
            known = sizes.setdefault(label, size)
            if known != size and 1 not in (known, size):
                raise OperationError(
                    f"einsum(): subscript {label} has size {size} for operand {index} which does not broadcast with previously "
                    f"seen size {known}"
                )
            sizes[label] = size if known == 1 else known
    return sizes


def _choose_path(operands: list[list[Any]], output: list[Any], sizes: dict[Any, int]) -> list[tuple[int, int]]:
    """Which two operands to contract, step by step: greedily those whose product adds the least memory."""
    remaining = [frozenset(labels) for labels in operands]
    path = []
    while len(remaining) > 2:
        best = None
        for i in range(len(remaining)):
            for j in range(i + 1, len(remaining)):
                others = set(output).union(*(labels for k, labels in enumerate(remaining) if k not in (i, j)))
                kept = (remaining[i] | remaining[j]) & others
                growth = sum(sign * math.prod(sizes[label] for label in labels)
                             for sign, labels in ((1, kept), (-1, remaining[i]), (-1, remaining[j])))  # fmt: skip
                if best is None or growth < best[0]:
                    best = (growth, i, j, kept)
        assert best is not None
        _, i, j, merged = best
        path.append((i, j))
        remaining = [labels for k, labels in enumerate(remaining) if k not in (i, j)] + [frozenset(merged)]
    return path + [(0, 1)] if len(remaining) == 2 else path


def _simplify(tensor: Any, labels: list[Any], needed: set[Any]) -> tuple[Any, list[Any]]:
    """Take diagonals of repeated labels, and sum over those that nothing else needs."""
    labels = list(labels)
    for label in [label for position, label in enumerate(labels) if label in labels[:position]]:
        first = labels.index(label)
        second = labels.index(label, first + 1)
        tensor = tensor.diagonal(0, first, second)  # the diagonal becomes the last dimension
        labels = [each for position, each in enumerate(labels) if position not in (first, second)] + [label]
    unneeded = [position for position, label in enumerate(labels) if label not in needed]
    if unneeded:
        tensor = tensor.sum(unneeded)
    return tensor, [label for label in labels if label in needed]


def _drop_ones(tensor: Any, labels: list[Any], other: list[Any], sizes: dict[Any, int]) -> tuple[Any, list[Any]]:
    """Remove dimensions of size 1 whose label has a larger size in the other operand: they only broadcast."""
    shape = tensor._array.shape
    ones = [i for i, label in enumerate(labels) if label in other and shape[i] == 1 and sizes[label] != 1]
    if not ones:
        return tensor, labels
    return tensor.squeeze(tuple(ones)), [label for i, label in enumerate(labels) if i not in ones]


def _contract(a: Any, a_labels: list[Any], b: Any, b_labels: list[Any], needed: set[Any], sizes: dict[Any, int]) -> tuple[Any, list[Any]]:
    """The product of two operands, summed over the labels that nothing else needs."""
    shared = [label for label in a_labels if label in b_labels]
    a, a_labels = _drop_ones(a, a_labels, shared, sizes)
    b, b_labels = _drop_ones(b, b_labels, shared, sizes)
    a, a_labels = _simplify(a, a_labels, needed | set(b_labels))
    b, b_labels = _simplify(b, b_labels, needed | set(a_labels))
    shared = [label for label in a_labels if label in b_labels]
    batch = [label for label in shared if label in needed]
    inside = [label for label in shared if label not in needed]
    rows = [label for label in a_labels if label not in shared]
    columns = [label for label in b_labels if label not in shared]
    result = [*batch, *rows, *columns]
    if not inside:  # nothing to sum: a product element by element
        left = _align(a, a_labels, result)
        return left * _align(b, b_labels, result), result
    groups = [batch] if batch else []
    product = matmul(_arrange(a, a_labels, [*groups, rows, inside]), _arrange(b, b_labels, [*groups, inside, columns]))
    shape = [a._array.shape[a_labels.index(label)] for label in (*batch, *rows)]
    shape += [b._array.shape[b_labels.index(label)] for label in columns]
    one_dimension_each = len(rows) == len(columns) == 1 and len(batch) <= 1  # no group was merged or empty
    return product if one_dimension_each else product.reshape(shape), result


def _align(tensor: Any, labels: list[Any], order: list[Any]) -> Any:
    """Dimensions in a given order, of size 1 where the label is absent."""
    present = [labels.index(label) for label in order if label in labels]
    shape = tensor._array.shape
    if present != list(range(len(present))):
        tensor = tensor.permute(present)
    if len(present) == len(order):
        return tensor
    return tensor.reshape([shape[labels.index(label)] if label in labels else 1 for label in order])


_plans: dict[Any, Any] = {}  # (equation, shapes) -> (labels of operands, of the result, sizes, path)


def _plan(equation: str, shapes: tuple[Any, ...]) -> Any:
    found = _plans.get((equation, shapes))
    if found is None:
        operands, output = _parse(equation, [len(shape) for shape in shapes])
        sizes = _sizes(operands, shapes)
        if len(_plans) >= 1024:
            _plans.clear()
        found = _plans[equation, shapes] = operands, output, sizes, _choose_path(operands, output, sizes)
    return found


def _einsum_form(g: Any, args: Any) -> Any:
    if not isinstance(args[0], str):
        equation, operands = _from_sublists(args)
    else:
        equation, operands = args[0], list(args[1] if isinstance(args[1], (list, tuple)) else args[1:])
    return einsum_form(g, equation, operands, *_parse(equation, [each.rank for each in operands]))


@composite(onnx={12: _einsum_form})
def einsum(*args: Sequence[Tensor]) -> Tensor:
    """Sums of products, with the dimensions of every operand named by letters: ``einsum("bij,bjk->bik", a, b)``.

    Operands are contracted two at a time through matrix products.
    """
    if len(args) < 2:
        raise ValueRangeError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts list"
        )
    equation: Any = args[0]
    operands: list[Any] = list(args[1:])
    if isinstance(equation, Tensor):
        equation, operands = _from_sublists(args)
    elif len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = list(operands[0])
    if not isinstance(equation, str):
        raise ArgumentError(f"einsum(): argument 'equation' (position 1) must be str, not {type(equation).__name__}")
    for index, each in enumerate(operands):
        if not isinstance(each, Tensor):
            raise ArgumentError(f"expected Tensor as element {index} in argument 1, but got {type(each).__name__}")
    labels, output, sizes, path = _plan(equation, tuple(tuple(each._array.shape) for each in operands))
    terms = list(zip(operands, labels))
    for i, j in path:
        (a, a_labels), (b, b_labels) = terms[i], terms[j]
        terms = [term for k, term in enumerate(terms) if k not in (i, j)]
        needed = set(output).union(*(others for _, others in terms))
        terms.append(_contract(a, a_labels, b, b_labels, needed, sizes))
    result, found = _simplify(*terms[0], set(output))
    return result if found == output else _align(result, found, output)
