"""Which of the ops for all tensors also take sparse ones, and how: the facts of the ``sparse`` facet, in arithmetic.

A rule gets the op and its complete arguments and returns tensors, recorded for gradients.  An op that is not named here, nor in
``shapes.py`` and ``reductions.py``, refuses sparse tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.base import TensorBase, make, storage_of
from ...core.declare import table
from ...core.devices import available
from ...core.dtypes import BY_NUMPY, promote_types
from ...core.errors import OperationError
from ...core.families import broadcast_shapes
from ...core.sparse import SPARSE, Compressed, Coordinates, check_device, rules, unsupported
from . import reductions, shapes  # noqa: F401 - they register rules, too
from .create import finished
from .formats import (
    coalesced,
    compressed_to_coordinates,
    coordinates_to_compressed,
    emptied,
    flat_index,
    is_blocked,
    like,
    lookup,
    values_at,
)
from .products import mm
from .record import like_dense, recorded, renamed, wrapped
from .values import is_sparse_tensor, places, same_places, to_dense, values_of, with_values

UNARY = (
    "sin tan asin atan sinh tanh asinh atanh sqrt abs sgn sign relu expm1 log1p ceil floor round trunc frac deg2rad rad2deg erf erfinv "
    "isnan isinf isposinf isneginf signbit angle nan_to_num imag real_part"
)  # they map 0 to 0


@rules.register(*UNARY.split())
def unary(op: Any, args: tuple[Any, ...]) -> Any:
    """A function of every kept element, summed up first."""
    structure = places(args[0])
    rest = {parameter.name: value for parameter, value in zip(op.parameters[1:], args[1:])}
    return with_values(structure, op.call(values_of(args[0], structure), **rest), op.node_name)


@rules.register("neg", "conj_physical")
def linear_function(op: Any, args: tuple[Any, ...]) -> Any:
    """A linear function of every kept element: nothing has to be summed up first."""
    array = args[0]._array
    return like_dense(op, args, like(array, op.call(make(array.values))._array))


@rules.register("pow")
def power(op: Any, args: tuple[Any, ...]) -> Any:
    base, exponent = args
    if isinstance(exponent, TensorBase):
        if exponent._array.__class__ in SPARSE or exponent._array.ndim:
            raise unsupported(op, args)
    elif exponent == 0:
        raise OperationError("pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense")
    structure = places(base)
    return with_values(structure, op.call(values_of(base, structure), exponent), op.node_name)


# -- sums --------------------------------------------------------------------------------------------------------


@rules.register("add")
def add(op: Any, args: tuple[Any, ...]) -> Any:
    return _total(op, args, args[2])


@rules.register("sub")
def subtract(op: Any, args: tuple[Any, ...]) -> Any:
    return _total(op, args, -args[2])


def _total(op: Any, args: tuple[Any, ...], factor: Any) -> Any:
    """``input + factor * other``."""
    input, other, alpha = args
    one, two = is_sparse_tensor(input), is_sparse_tensor(other)
    if one and two:
        return like_dense(op, args, _sum_of_sparse(input._array, other._array, factor))
    if one:
        if input._array.__class__ is Compressed and isinstance(other, TensorBase):
            return (other if factor == 1 else other * factor) + input
        raise OperationError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if not isinstance(input, TensorBase):
        raise OperationError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if tuple(input._array.shape) != tuple(other._array.shape):
        raise OperationError(
            f"add: expected 'self' and 'other' to have same size, but self has size {list(input._array.shape)} while other has size "
            f"{list(other._array.shape)} (FYI: dense-sparse addition does not currently support broadcasting)"
        )
    return like_dense(op, args, _dense_plus_sparse(op, input._array, other._array, alpha))


def _dense_plus_sparse(op: Any, array: Any, sparse: Any, alpha: Any) -> Any:
    if sparse.__class__ is Compressed:
        sparse = compressed_to_coordinates(sparse)
    sparse = coalesced(sparse)
    present = values_at(array, sparse)
    changed = op.call(make(present), make(sparse.values), alpha=alpha)._array
    result = array.astype(changed.dtype, order="C")
    if sparse.sparse_dim:
        result[tuple(sparse.indices)] = changed
    elif sparse.nnz:
        result[...] = changed[0]
    return result


def _sum_of_sparse(a: Any, b: Any, factor: Any) -> Any:
    if a.shape != b.shape:
        raise OperationError(f"add: expected sizes of 'self' and 'other' to match, but {list(a.shape)} != {list(b.shape)}")
    if a.__class__ is Compressed or b.__class__ is Compressed:
        if a.__class__ is not b.__class__ or a.layout != b.layout:
            raise OperationError(f"add(sparse, sparse) of the layouts torch.{a.layout} and torch.{b.layout} is not supported: convert one")
        if same_places(a, b):
            return like(a, table["add"].call(make(a.values), make(b.values), alpha=factor)._array)
        total = _sum_of_sparse(compressed_to_coordinates(a), compressed_to_coordinates(b), factor)
        return coordinates_to_compressed(total, a.layout, a.blocksize, a.plain.dtype)
    if a.sparse_dim != b.sparse_dim:
        raise OperationError(
            f"add: expected 'self' and 'other' to have same density, but 'self' has {a.sparse_dim} sparse dimensions while 'other' has "
            f"{b.sparse_dim} sparse dimensions"
        )
    kind = promote_types(BY_NUMPY[a.dtype], BY_NUMPY[b.dtype])
    first = make(a.values).to(kind)._array
    second = make(b.values).to(kind)
    second = (second if factor == 1 else second * factor)._array
    joined = Coordinates(
        np.concatenate([a.indices, b.indices], 1), np.concatenate([first, second.astype(first.dtype, copy=False)]), a.shape
    )
    return coalesced(joined) if a.coalesced and b.coalesced else joined


# -- products ----------------------------------------------------------------------------------------------------


@rules.register("mul")
def multiply(op: Any, args: tuple[Any, ...]) -> Any:
    input, other = args
    if not is_sparse_tensor(input):  # the product does not depend on the order; its values are computed with the sparse one first
        return like_dense(op, args, _product(other._array, input))
    return like_dense(op, args, _product(input._array, other))


def _product(array: Any, other: Any) -> Any:
    if not isinstance(other, TensorBase) or (other._array.ndim == 0 and other._array.__class__ not in SPARSE):
        return like(array, table["mul"].call(make(array.values), other)._array)
    factor = other._array
    if factor.__class__ in SPARSE:
        if factor.ndim == 0 or array.ndim == 0:  # a number that is kept, or none
            array, factor = (array, factor) if factor.ndim == 0 else (factor, array)
            return like(array, table["mul"].call(make(array.values), to_dense(make(factor)))._array)
        return _product_of_sparse(array, factor)
    shape = broadcast_shapes([tuple(array.shape), tuple(factor.shape)])
    if tuple(shape) != tuple(array.shape):
        raise OperationError(f"mul(sparse, dense): a sparse tensor of size {list(array.shape)} can't be broadcast to {list(shape)}")
    full = np.broadcast_to(factor, array.shape)
    picked = values_at(full, array) if array.__class__ is Coordinates else values_of(make(full), array)._array
    return like(array, table["mul"].call(make(array.values), make(picked))._array)


def _product_of_sparse(a: Any, b: Any) -> Any:
    if a.shape != b.shape or a.__class__ is not b.__class__ or (a.__class__ is Coordinates and a.sparse_dim != b.sparse_dim):
        raise OperationError(
            "sparse_binary_op_intersection_cpu(): expects sparse inputs with equal dimensionality, number of sparse dimensions, and shape "
            f"of sparse dimensions, got {list(a.shape)} and {list(b.shape)}"
        )
    if a.__class__ is Compressed:
        if same_places(a, b):
            return like(a, table["mul"].call(make(a.values), make(b.values))._array)
        made = _product_of_sparse(compressed_to_coordinates(a), compressed_to_coordinates(b))
        return coordinates_to_compressed(made, a.layout, a.blocksize, a.plain.dtype)
    other = coalesced(b)
    place, found = lookup(flat_index(other.indices, other.shape), flat_index(a.indices, a.shape))
    values = table["mul"].call(make(a.values[found]), make(other.values[place[found]]))._array
    return Coordinates(np.ascontiguousarray(a.indices[:, found]), values, a.shape, a.coalesced)


@rules.register("div")
def divide(op: Any, args: tuple[Any, ...]) -> Any:
    input, other, rounding_mode = args
    _check_divisor(input, other)
    if rounding_mode is None:
        array = input._array
        return like_dense(op, args, like(array, op.call(make(array.values), other)._array))
    structure = places(input)
    return with_values(structure, op.call(values_of(input, structure), other, rounding_mode=rounding_mode), op.node_name)


@rules.register("floor_divide")
def floor_divide(op: Any, args: tuple[Any, ...]) -> Any:
    input, other = args
    _check_divisor(input, other)
    structure = places(input)
    return with_values(structure, op.call(values_of(input, structure), other), op.node_name)


def _check_divisor(input: Any, other: Any) -> None:
    if not is_sparse_tensor(input):
        raise OperationError("Sparse division requires a dense dividend to be divided by a dense divisor: call to_dense() first")
    if isinstance(other, TensorBase) and (other._array.__class__ in SPARSE or other._array.ndim):
        raise OperationError(
            f"Sparse division requires a scalar or zero-dim dense tensor divisor (got shape {list(other._array.shape)} for divisor)"
        )


# -- copies ------------------------------------------------------------------------------------------------------


@rules.register("clone")
def clone(op: Any, args: tuple[Any, ...]) -> Any:
    return like_dense(op, args, args[0]._array.copy())


@rules.register("detach")
def detach(op: Any, args: tuple[Any, ...]) -> Any:
    result = wrapped(args[0]._array)
    result._storage = storage_of(args[0])
    return result


@rules.register("alias")
def alias(op: Any, args: tuple[Any, ...]) -> Any:
    result = recorded("AliasBackward0", args[0]._array, args[:1], lambda needs, g: (g,))
    result._storage = storage_of(args[0])
    return result


@rules.register("cast")
def cast(op: Any, args: tuple[Any, ...]) -> Any:
    array = args[0]._array
    return like_dense(op, args, like(array, op.call(make(array.values), args[1])._array))


@rules.register("to_device")
def to_device(op: Any, args: tuple[Any, ...]) -> Any:
    check_device("to", available(args[1]))
    return args[0]


@rules.register("empty_like")
def empty_like(op: Any, args: tuple[Any, ...]) -> Any:
    input, dtype, layout, device, requires_grad = args[:5]
    array = input._array
    if args[-1] is not None and op.parameters[-1].name == "memory_format":
        raise OperationError("memory format option is only supported by strided tensors")
    if array.__class__ is not Compressed:
        return zeros_like(op, args)
    if layout is not None and layout.name != array.layout:
        raise _other_layout(array.layout, layout.name)
    check_device(op.public_name, None if device is None else available(device))
    kind = BY_NUMPY[array.dtype] if dtype is None else dtype
    return finished(make(like(array, np.empty(array.values.shape, kind.numpy))), requires_grad)


@rules.register("zeros_like")
def zeros_like(op: Any, args: tuple[Any, ...]) -> Any:
    input, dtype, layout, device, requires_grad = args[:5]
    array = input._array
    check_device(op.public_name, None if device is None else available(device))
    kind = BY_NUMPY[array.dtype] if dtype is None else dtype
    own = "sparse_coo" if array.__class__ is Coordinates else array.layout
    wanted = own if layout is None else layout.name
    if wanted == "strided":
        return finished(make(np.zeros(array.shape, kind.numpy)), requires_grad)
    if array.__class__ is Coordinates:
        made: Any = Coordinates(
            np.empty((array.sparse_dim, 0), np.int64), np.empty((0, *array.values.shape[1:]), kind.numpy), array.shape, True
        )
        if wanted != own:
            if is_blocked(wanted) or made.sparse_dim != 2:
                raise _other_layout(own, wanted)
            made = coordinates_to_compressed(made, wanted)
    elif wanted == "sparse_coo":
        dense = array.values.shape[array.batch_dim + (3 if is_blocked(own) else 1) :]
        made = Coordinates(np.empty((len(array.shape) - len(dense), 0), np.int64), np.empty((0, *dense), kind.numpy), array.shape, True)
    elif is_blocked(wanted) != is_blocked(own):
        raise _other_layout(own, wanted)
    else:
        made = emptied(array, kind.numpy, wanted)
    return finished(make(made), requires_grad)


def _other_layout(own: str, wanted: str) -> OperationError:
    names = ["".join(part.title() for part in each.removesuffix("_coo").split("_")) for each in (own, wanted)]
    return OperationError(f"empty_like with different sparse layout is not supported (self is {names[0]} but you requested {names[1]})")


@rules.register("randn_like", "rand_like")
def random_like(op: Any, args: tuple[Any, ...]) -> Any:
    """Random numbers at the places that a compressed tensor keeps."""
    array = args[0]._array
    if array.__class__ is Coordinates:
        raise unsupported(op, args)
    rest = {parameter.name: value for parameter, value in zip(op.parameters[1:], args[1:])}
    return make(like(array, op.call(make(array.values), **rest)._array))


@rules.register("zero")
def zero(op: Any, args: tuple[Any, ...]) -> Any:
    array = args[0]._array
    if array.__class__ is Coordinates:
        return make(Coordinates(array.indices[:, :0].copy(), array.values[:0].copy(), array.shape, True))
    return make(emptied(array, array.dtype))


@rules.register("fill")
def fill(op: Any, args: tuple[Any, ...]) -> Any:
    array = args[0]._array
    if array.__class__ is Coordinates:
        raise unsupported(op, args)
    return make(like(array, op.call(make(array.values), args[1])._array))


@rules.register("copy")
def copy(op: Any, args: tuple[Any, ...]) -> Any:
    target, source = args[:2]
    a, b = target._array, source._array
    if a.__class__ is Compressed:
        kinds = [getattr(each, "layout", "sparse_coo" if each.__class__ is Coordinates else "strided") for each in (a, b)]
        if kinds[0] != kinds[1]:
            names = ["".join(part.title() for part in each.removesuffix("_coo").split("_")) for each in kinds]
            raise OperationError(
                "torch.copy_: copy of sparse compressed tensors having different layouts is not supported. "
                f"self layout is {names[0]} and src layout is {names[1]}"
            )
        if a.plain.shape != b.plain.shape:
            raise OperationError("torch.copy_: only sparse compressed tensors with the same number of specified elements are supported.")
    if target._array.__class__ is not source._array.__class__:
        raise OperationError(
            f"copy_() between dense and sparse Tensors is not implemented! Found self type = {target.type()} and src type = {source.type()}"
        )
    made = source._array.copy()
    result = wrapped(made)
    if made.dtype is not target._array.dtype:
        result = table["cast"].call(result, BY_NUMPY[target._array.dtype])
    return recorded("CopyBackwards", result._array, (target, source), lambda needs, g: (None, g))


# -- matrices ----------------------------------------------------------------------------------------------------


@rules.register("matmul")
def matmul(op: Any, args: tuple[Any, ...]) -> Any:
    a, b = args
    left, right = a._array.ndim, b._array.ndim
    if left == 2 and right == 2:
        return mm(a, b)
    if left == 2 and right == 1:
        if a._array.shape[1] != b._array.shape[0]:
            raise OperationError(f"mv: the matrix has {a._array.shape[1]} columns and the vector {b._array.shape[0]} elements")
        return renamed(mm(a, to_dense(b).unsqueeze(1)).squeeze(1), "MvBackward0")
    if left == 1 and right == 2:
        return mm(to_dense(a).unsqueeze(0), b).squeeze(0)
    if left == 3 and right == 3:
        return bmm(a, b)
    if left > 2 and right == 2 and not is_sparse_tensor(a):
        shape = a._array.shape
        return mm(a.reshape(-1, shape[-1]), b).reshape(*shape[:-1], b._array.shape[1])
    raise unsupported(op, args)


def bmm(a: Any, b: Any) -> Any:
    """A batch of products: a sparse matrix with its batch on the diagonal."""
    if not is_sparse_tensor(a) or a._array.__class__ is not Coordinates or a._array.sparse_dim != 3:
        raise OperationError("bmm_sparse: Tensor 'self' must be a sparse COO tensor of 3 sparse dimensions")
    if is_sparse_tensor(b):
        raise OperationError("bmm_sparse: Tensor 'mat2' must be dense")
    (count, rows, inner), (other_count, other_inner, columns) = a._array.shape, b._array.shape
    if count != other_count or inner != other_inner:
        raise OperationError(f"bmm_sparse: the shapes {list(a._array.shape)} and {list(b._array.shape)} can't be multiplied")
    source = a._array
    batch = source.indices[0]
    wide = Coordinates(
        np.stack([batch * rows + source.indices[1], batch * inner + source.indices[2]]), source.values, (count * rows, count * inner),
        source.coalesced,
    )  # fmt: skip
    found = mm(make(wide), make(np.ascontiguousarray(b._array).reshape(count * inner, columns)))._array
    return recorded("BmmBackward0", found.reshape(count, rows, columns), (a, b), _bmm_gradient, a, b)


def _bmm_gradient(needs: Any, g: Any, a: Any, b: Any) -> tuple[Any, ...]:
    product, turn = table["matmul"].call, table["transpose"].call
    return product(g, turn(b, 1, 2)) if needs[0] else None, product(turn(a, 1, 2), g) if needs[1] else None


@rules.register("addmm", "addmv")
def addmm(op: Any, args: tuple[Any, ...]) -> Any:
    input, first, second, beta, alpha = args
    product = table["matmul"].call(first, second)
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        return product
    start = input if beta == 1 else input * beta
    if is_sparse_tensor(product) and not is_sparse_tensor(start):
        return start + product
    if not is_sparse_tensor(start) and tuple(start._array.shape) != tuple(product._array.shape):
        start = start.expand(product._array.shape)
    total = product + start if is_sparse_tensor(start) and not is_sparse_tensor(product) else start + product
    return renamed(total, op.node_name)


@rules.register("linear")
def linear(op: Any, args: tuple[Any, ...]) -> Any:
    input, weight, bias = args
    result = table["matmul"].call(input, table["t"].call(weight))
    return result if bias is None else result + bias
