"""The ONNX forms of linear algebra: ONNX has only products and the determinant, so that matrices are eliminated in a ``Loop``.

Every step works on whole (batches of) matrices; rows are picked and put by masks.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.symbolic import smaller

_INT32, _INT64, _BOOL = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.bool_)
_TERMS = 18  # of the series of exp: for matrices of norm 1 the next is too small for float64


def no_operator(what: str) -> str:
    """Why an op is not exported."""
    return f"ONNX has no operator for {what}, which take a number of steps that depends on the values"


def looped(form: Any) -> dict[int, Any]:
    """A form that takes a loop: where an op may stay PyTorch's own in the file, it rather does."""
    return {9: lambda g, *values: NotImplemented if g.keeps_aten else form(g, *values)}


def unit(g: Any, rows: Any, columns: Any, dtype: Any) -> Any:
    """Ones on the diagonal, else zeros."""
    if type(rows) is int and type(columns) is int:
        return g.constant(np.eye(rows, columns, dtype=dtype))
    return g.cast(g.Equal(g.unsqueeze(g.range(0, rows), [1]), g.range(0, columns)), dtype)


class Pivot:
    """One step of an elimination: the row with the largest element in column ``k``, brought to row ``k``."""

    def __init__(self, g: Any, rows: Any, k: Any, matrix: Any) -> None:
        rank = matrix.rank
        batch = matrix.shape[:-2]
        column = g.gather(matrix, k, rank - 1)
        size = g.where(g.Less(rows, k), -1, g.Abs(column))
        self.place = g.op("ArgMax", size, axis_i=rank - 2, keepdims_i=1)
        self.place.shape = (*batch, 1)
        chosen = g.unsqueeze(g.Equal(rows, self.place), [rank - 1])
        self.here = g.Equal(g.unsqueeze(rows, [1]), k)
        self.row = g.reduce("ReduceSum", g.where(chosen, matrix, 0), [rank - 2], True)
        row = g.unsqueeze(g.gather(matrix, k, rank - 2), [rank - 2])
        self.matrix = g.where(self.here, self.row, g.where(chosen, row, matrix))
        index = g.unsqueeze(k, [0])
        self.value = g.gather(self.row, index, rank - 1)
        self.column = g.gather(self.matrix, index, rank - 1)
        self.rank = rank

    def failed(self, g: Any, info: Any, k: Any) -> Any:
        """The number of the first column (from 1) in which no pivot was found, or 0."""
        zero = g.Not(g.cast(g.squeeze(self.value, [self.rank - 2, self.rank - 1]), _BOOL))
        first = g.And(zero, g.Not(g.cast(info, _BOOL)))
        return g.where(first, g.cast(g.Add(k, g.constant(1, _INT64)), _INT32), info)


def eliminated(g: Any, matrix: Any) -> tuple[Any, Any]:
    """Matrices ``[A B]`` turned into ``[1 X]`` with ``A X = B`` (Gauss and Jordan), and which A are singular."""
    size = matrix.shape[-2]
    rows = g.range(0, size)

    def step(inner: Any, k: Any, matrix: Any, info: Any) -> Any:
        pivot = Pivot(inner, rows, k, matrix)
        row = inner.Div(pivot.row, pivot.value)
        rest = inner.Sub(pivot.matrix, inner.Mul(pivot.column, row))
        return inner.where(pivot.here, row, rest), pivot.failed(inner, info, k)

    made: tuple[Any, Any] = g.loop(size, step, [matrix, g.full(matrix.shape[:-2], 0, _INT32)])
    return made


def solved(g: Any, a: Any, b: Any, shape: Any) -> tuple[Any, Any]:
    """The solution of ``A X = B``, of a given shape, and which A are singular."""
    rank = len(shape)
    both = g.concat([g.expand(a, (*shape[:-2], *a.shape[-2:])), g.expand(b, shape)], rank - 1)
    made, info = eliminated(g, both)
    solution = g.slice(made, [a.shape[-1]], [1 << 62], [rank - 1])
    solution.shape = tuple(shape)
    return solution, info


def solve_form(g: Any, a: Any, b: Any, check_errors: bool) -> tuple[Any, Any]:
    """``linalg.solve``: where a matrix is singular, the numbers are infinite or NaN."""
    shape, batch = g.outputs[0].shape, g.outputs[1].shape
    if g.is_empty(g.outputs[0]) or g.is_empty(a):
        return g.full(shape, 0, a.dtype), g.full(batch, 0, _INT32)
    solution, info = solved(g, a, b, shape)
    more = len(shape) - 2 - len(batch)  # dimensions that the right-hand side has in addition
    if more:
        info = g.reduce("ReduceMax", info, list(range(more)))
    ones = [at for at, size in enumerate(batch) if size == 1]
    return solution, g.reduce("ReduceMax", info, ones, True) if ones else info


def inverse_form(g: Any, a: Any, check_errors: bool) -> tuple[Any, Any]:
    """The solution for the unit matrix."""
    if g.is_empty(a):
        return g.full(a.shape, 0, a.dtype), g.full(a.shape[:-2], 0, _INT32)
    return solved(g, a, unit(g, a.shape[-2], a.shape[-1], a.dtype), a.shape)


def triangular_form(g: Any, a: Any, b: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    """Row after row, from the end of the triangle that has only one number."""
    shape = g.outputs[0].shape
    if g.is_empty(g.outputs[0]) or g.is_empty(a):
        return g.full(shape, 0, a.dtype)
    if not left:
        a, b, upper, shape = g.swap(a), g.swap(b), not upper, (*shape[:-2], shape[-1], shape[-2])
    size, rank = a.shape[-1], a.rank
    places = g.range(0, size)
    upright, last = g.unsqueeze(places, [1]), g.number(size - 1, _INT64)

    def step(inner: Any, k: Any, solution: Any) -> Any:
        at = inner.Sub(last, k) if upper else k
        index = inner.unsqueeze(at, [0])
        row = inner.gather(a, index, rank - 2)
        known = inner.where(inner.Less(at, places) if upper else inner.Less(places, at), row, 0)
        found = inner.Sub(inner.gather(b, index, b.rank - 2), inner.MatMul(known, solution))
        if not unitriangular:
            found = inner.Div(found, inner.gather(row, index, rank - 1))
        return (inner.where(inner.Equal(upright, at), found, solution),)

    (solution,) = g.loop(size, step, [g.full(shape, 0, a.dtype)])
    return solution if left else g.swap(solution)


def cholesky_form(g: Any, a: Any, upper: bool, check_errors: bool) -> tuple[Any, Any]:
    """Column after column: each is divided by the root of its pivot, and its square taken off the rest."""
    if g.is_empty(a):
        return a, g.full(a.shape[:-2], 0, _INT32)
    rank = a.rank
    rows = g.range(0, a.shape[-1])

    def step(inner: Any, k: Any, rest: Any, factor: Any, info: Any) -> Any:
        column = inner.gather(rest, k, rank - 1)
        pivot = inner.gather(column, k, rank - 2)
        scaled = inner.Div(column, inner.unsqueeze(inner.Sqrt(pivot), [rank - 2]))
        scaled = inner.where(inner.Less(rows, k), 0, scaled)
        upright = inner.unsqueeze(scaled, [rank - 1])
        rest = inner.Sub(rest, inner.Mul(upright, inner.unsqueeze(scaled, [rank - 2])))
        bad = inner.And(inner.Not(inner.Greater(pivot, inner.constant(0, a.dtype))), inner.Not(inner.cast(info, _BOOL)))
        info = inner.where(bad, inner.cast(inner.Add(k, inner.constant(1, _INT64)), _INT32), info)
        return rest, inner.where(inner.Equal(rows, k), upright, factor), info

    start = [g.swap(a) if upper else a, g.full(a.shape, 0, a.dtype), g.full(a.shape[:-2], 0, _INT32)]
    _, factor, info = g.loop(a.shape[-1], step, start)
    return g.swap(factor) if upper else factor, info


# -- LU ----------------------------------------------------------------------------------------------------------


def lu_form(g: Any, a: Any, pivot: bool, check_errors: bool) -> tuple[Any, Any, Any]:
    """The factors, packed into one matrix, the row exchanges (from 1), and the first zero pivot."""
    packed, pivots, info = g.outputs
    if g.is_empty(a):
        return a, g.full(pivots.shape, 0, _INT32), g.full(info.shape, 0, _INT32)
    return factored(g, a, smaller(*a.shape[-2:]))


def factored(g: Any, a: Any, count: Any) -> tuple[Any, Any, Any]:
    """The LU factors of matrices, in ``count`` steps."""
    rows, columns, steps = g.range(0, a.shape[-2]), g.range(0, a.shape[-1]), g.range(0, count)
    upright = g.unsqueeze(rows, [1])

    def step(inner: Any, k: Any, matrix: Any, pivots: Any, info: Any) -> Any:
        found = Pivot(inner, rows, k, matrix)
        safe = inner.where(inner.cast(found.value, _BOOL), found.value, 1)
        below = inner.Less(k, upright)
        factor = inner.where(below, inner.Div(found.column, safe), 0)
        row = inner.where(inner.Less(k, columns), found.row, 0)
        rest = inner.Sub(found.matrix, inner.Mul(factor, row))
        rest = inner.where(inner.And(below, inner.Equal(columns, k)), factor, rest)
        place = inner.cast(inner.Add(found.place, inner.constant(1, _INT64)), _INT32)
        return rest, inner.where(inner.Equal(steps, k), place, pivots), found.failed(inner, info, k)

    batch = a.shape[:-2]
    made: tuple[Any, Any, Any] = g.loop(count, step, [a, g.full((*batch, count), 0, _INT32), g.full(batch, 0, _INT32)])
    return made


def order_form(g: Any, pivots: Any, rows: Any, inverse: bool) -> Any:
    """The order of rows that exchanges amount to, one after the other."""
    shape = (*pivots.shape[:-1], rows)
    places = g.range(0, rows)
    rank = len(shape)

    def step(inner: Any, k: Any, order: Any) -> Any:
        other = inner.cast(inner.gather(pivots, inner.unsqueeze(k, [0]), rank - 1), _INT64)
        there = inner.Equal(places, inner.Sub(other, inner.constant(1, _INT64)))
        theirs = inner.reduce("ReduceSum", inner.where(there, order, 0), [rank - 1], True)
        mine = inner.gather(order, inner.unsqueeze(k, [0]), rank - 1)
        return (inner.where(inner.Equal(places, k), theirs, inner.where(there, mine, order)),)

    (order,) = g.loop(pivots.shape[-1], step, [g.expand(places, shape)])
    return g.top_k(order, rows, rank - 1, largest=False)[1] if inverse else order


def _signed_diagonal(g: Any, a: Any) -> tuple[Any, Any]:
    """The diagonal of U, and the signs that row exchanges bring in."""
    size = a.shape[-1]
    packed, pivots, _ = factored(g, a, size)
    there = g.cast(unit(g, size, size, a.dtype), _BOOL)
    diagonal = g.reduce("ReduceSum", g.where(there, packed, 0), [a.rank - 1])
    kept = g.Equal(g.cast(pivots, _INT64), g.range(1, size + 1))
    one = g.constant(1, a.dtype)
    return diagonal, g.where(kept, one, g.constant(-1, a.dtype))


def determinant_form(g: Any, a: Any) -> Any:
    """The product of the pivots, for the opsets that have no ``Det``."""
    if g.is_empty(a):
        return g.full(g.outputs[0].shape, 1, a.dtype)
    if g.opset >= 11:
        return g.Det(a)
    diagonal, signs = _signed_diagonal(g, a)
    return g.reduce("ReduceProd", g.Mul(diagonal, signs), [a.rank - 2])


def signed_logarithm_form(g: Any, a: Any) -> tuple[Any, Any]:
    """The sign of the determinant, and the sum of the logarithms of the pivots: the determinant itself may be too large."""
    if g.is_empty(a):
        return g.full(g.outputs[0].shape, 1, a.dtype), g.full(g.outputs[0].shape, 0, a.dtype)
    diagonal, signs = _signed_diagonal(g, a)
    sign = g.reduce("ReduceProd", g.Mul(g.Sign(diagonal), signs), [a.rank - 2])
    return sign, g.reduce("ReduceSum", g.Log(g.Abs(diagonal)), [a.rank - 2])


# -- other ------------------------------------------------------------------------------------------------------


def qr_form(g: Any, a: Any, mode: str) -> tuple[Any, Any]:
    """By Householder's reflections: each makes the rest of a column zero."""
    left, right = g.outputs
    if g.is_empty(a):
        q = g.expand(unit(g, a.shape[-2], left.shape[-1], a.dtype), left.shape) if mode != "r" else g.full((0,), 0, a.dtype)
        return q, g.full(right.shape, 0, a.dtype)
    rank, rows = a.rank, g.range(0, a.shape[-2])
    count = smaller(*a.shape[-2:])

    def step(inner: Any, k: Any, r: Any, q: Any) -> Any:
        column = inner.gather(r, k, rank - 1)
        zero = inner.constant(0, a.dtype)
        below = inner.reduce("ReduceSumSquare", inner.where(inner.Less(k, rows), column, 0), [rank - 2], True)
        head = inner.gather(column, inner.unsqueeze(k, [0]), rank - 2)
        norm = inner.Sqrt(inner.Add(below, inner.Mul(head, head)))
        target = inner.where(inner.Less(head, zero), norm, inner.Neg(norm))
        there = inner.where(inner.Less(rows, k), 0, column)
        vector = inner.where(inner.Equal(rows, k), inner.Sub(head, target), there)
        some = inner.Greater(below, zero)  # what is zero already is left as it is
        length = inner.reduce("ReduceSumSquare", vector, [rank - 2], True)
        scale = inner.where(some, inner.Div(inner.constant(2, a.dtype), inner.where(some, length, 1)), 0)
        upright, flat = inner.unsqueeze(vector, [rank - 1]), inner.unsqueeze(vector, [rank - 2])
        scale = inner.unsqueeze(scale, [rank - 1])
        r = inner.Sub(r, inner.MatMul(inner.Mul(upright, scale), inner.MatMul(flat, r)))
        return r, inner.Sub(q, inner.MatMul(inner.MatMul(q, upright), inner.Mul(flat, scale)))

    square = (*a.shape[:-1], a.shape[-2])
    r, q = g.loop(count, step, [a, g.expand(unit(g, a.shape[-2], a.shape[-2], a.dtype), square)])
    inner_size = a.shape[-2] if mode == "complete" else count
    if mode != "complete":
        r, q = g.slice(r, [0], [count], [rank - 2]), g.slice(q, [0], [count], [rank - 1])
    upright = g.unsqueeze(g.range(0, inner_size), [1])
    r = g.where(g.Less(g.range(0, a.shape[-1]), upright), 0, r)
    return g.full((0,), 0, a.dtype) if mode == "r" else q, r


def exponential_form(g: Any, a: Any) -> Any:
    """The series for a part of the matrix that is small enough, squared as often as it was halved."""
    if g.is_empty(a):
        return a
    size, one = a.shape[-1], g.constant(1, a.dtype)
    norm = g.reduce("ReduceMax", g.reduce("ReduceSum", g.Abs(a), [a.rank - 1]), None)
    halvings = g.Ceil(g.Mul(g.Log(g.Max(norm, one)), g.constant(1 / math.log(2), a.dtype)))
    halvings.shape = ()
    small = g.Div(a, g.Pow(g.constant(2, a.dtype), halvings))
    identity = unit(g, size, size, a.dtype)

    def term(inner: Any, k: Any, total: Any) -> Any:
        divisor = inner.cast(inner.Sub(inner.constant(_TERMS, _INT64), k), a.dtype)
        return (inner.Add(inner.Div(inner.MatMul(small, total), divisor), identity),)

    (series,) = g.loop(_TERMS, term, [g.expand(identity, a.shape)])
    (power,) = g.loop(g.cast(halvings, _INT64), lambda inner, k, x: (inner.MatMul(x, x),), [series])
    return power
