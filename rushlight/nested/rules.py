"""What functions do on nested tensors: on the values where every element (or row) counts for itself, else on one part after the other.

Rules of shapes are in ``shape_rules.py``.  A composite op without a rule is run, so that the ops that it is made of are asked one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight

from ..core.declare import table
from ..core.errors import OperationError
from ..core.families import Elementwise
from ..tensor import Tensor
from ..tensor.methods import OPERATORS, UNARY
from .jagged import NestedTensor, jagged_of_parts, nesting, of_parts, of_values
from .ragged_size import RaggedSize

# On the values: every element, or every row, for itself.
nesting.set("values", *(
    "square detach cast positive true_divide rsub dropout nn_functional_dropout relu silu gelu sigmoid tanh masked_fill fill copy zero one_hot bernoulli"
).split())  # fmt: skip
nesting.set("likes", *"ones_like zeros_like empty_like full_like rand_like randn_like randint_like".split())  # new values, nested alike


def call(func: Any, args: Any, kwargs: Any) -> Any:
    """The call of a function that was given a nested tensor."""
    name = getattr(func, "__name__", "")
    given_op = _op_of(func, name)
    op = None if given_op is None else given_op.functional or given_op
    first = next(each for each in _flatten((*args, *kwargs.values())) if isinstance(each, NestedTensor))
    if name == "__get__":
        return _attribute(func, first)
    if name in _METHODS:
        return _METHODS[name](func, first, args, kwargs)
    in_place = given_op is not None and given_op.functional is not None
    if name in ("to", "detach", "double", "float", "half", "bfloat16", "long", "int", "bool", "short", "char", "byte", "cpu", "type_as"):
        return _converted(func, first, args, kwargs)
    if op is not None:
        rule = nesting.of(op)
        if rule == "likes":
            named = {key: swapped(value, NestedTensor.values) for key, value in kwargs.items()}
            return first.like(func(*swapped(tuple(args), NestedTensor.values), **named))
        if rule == "values" or isinstance(op.family, Elementwise):
            result = pointwise(func, first, args, kwargs)
            return args[0] if in_place else result
        if rule is not None:
            return rule(func, op, first, bound(op, args, kwargs))
        if op.family is None and op.body is not None:
            result = op.body(*args, **kwargs)  # the ops that it is made of are asked one by one
            return args[0].copy_(result) if in_place else result
    if name in _OF_VALUES:
        return func(first.values(), *args[1:], **kwargs)
    raise TypeError(f"no implementation found for '{name}' on types that implement __torch_function__: [NestedTensor]")


_OF_VALUES = frozenset(
    "is_floating_point is_complex element_size get_device is_inference is_signed storage_offset data_ptr untyped_storage type is_pinned "
    "retain_grad register_hook is_set_to share_memory_ is_shared is_conj is_neg is_coalesced has_names".split()
)


def _op_of(func: Any, name: str) -> Any:
    op = getattr(func, "op", None)
    if op is None and name.startswith("__"):
        word = name.strip("_")
        found = {**OPERATORS, **UNARY}.get(word[1:] if word.startswith("r") and word[1:] in OPERATORS else word)
        op = None if found is None else table[found]
    return op


def bound(op: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """The arguments of a call by the names of the op's parameters."""
    given: dict[str, Any] = {}
    for at, parameter in enumerate(op.parameters):
        if parameter.variadic:
            rest = args[at:]
            given[parameter.name] = tuple(rest[0]) if len(rest) == 1 and isinstance(rest[0], (list, tuple)) else tuple(rest)
        elif at < len(args) and not any(each.variadic for each in op.parameters[:at]):
            given[parameter.name] = args[at]
    return {**given, **kwargs}


def _flatten(values: Any) -> list[Any]:
    return [each for value in values for each in (_flatten(value) if isinstance(value, (list, tuple)) else [value])]


def swapped(value: Any, change: Callable[[Any], Any], of: type = NestedTensor) -> Any:
    """An argument with its nested tensors replaced."""
    if isinstance(value, (list, tuple)):
        return type(value)(swapped(each, change, of) for each in value)
    return change(value) if isinstance(value, of) else value


def part(number: int) -> Callable[[Any], Any]:
    """What takes one part of nested tensors."""
    return lambda nested: nested.unbind()[number]


def name_of(op: Any) -> str:
    """The name of an op for a message."""
    return str(op.public_name)


# -- attributes and methods ----------------------------------------------------------------------------------------------


_TRANSPOSED = (Tensor.__dict__["mT"], Tensor.__dict__["T"])


def _attribute(func: Any, first: Any) -> Any:
    if func.__self__ in _TRANSPOSED:
        return first.transpose(-2, -1)
    found = func(first.values())
    return first.like(found) if isinstance(found, Tensor) else found


def _converted(func: Any, first: Any, args: Any, kwargs: Any) -> Any:
    if not isinstance(args[0], NestedTensor):
        return func(args[0], *swapped(tuple(args[1:]), NestedTensor.values), **kwargs)
    args = (args[0], *swapped(tuple(args[1:]), NestedTensor.values))
    values = first.values()
    made = func(values, *args[1:], **kwargs)
    return first if made is values else first.like(made)


def _backward(func: Any, first: Any, args: Any, kwargs: Any) -> None:
    values = [swapped(each, NestedTensor.values) for each in args]
    func(*values, **{key: swapped(each, NestedTensor.values) for key, each in kwargs.items()})


def _gradients(func: Any, first: Any, args: Any, kwargs: Any) -> Any:
    """``autograd.grad``, where the gradients of nested tensors are nested in the same way."""
    inputs = args[1] if len(args) > 1 else kwargs["inputs"]
    found = func(
        *(swapped(each, NestedTensor.values) for each in args), **{key: swapped(each, NestedTensor.values) for key, each in kwargs.items()}
    )
    wanted = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    return tuple(
        each.like(gradient) if isinstance(each, NestedTensor) and gradient is not None else gradient
        for each, gradient in zip(wanted, found)
    )


def _same_size(func: Any, first: Any, args: Any, kwargs: Any) -> bool:
    left, right = args
    if not (isinstance(left, NestedTensor) and isinstance(right, NestedTensor)):
        return False
    if left._kind == right._kind == "jagged":
        return bool(left._array.shape == right._array.shape)
    return [each.shape for each in left.unbind()] == [each.shape for each in right.unbind()]


def _copied(func: Any, first: Any, args: Any, kwargs: Any) -> Any:
    target, source = args[:2]
    if not (isinstance(target, NestedTensor) and isinstance(source, NestedTensor)):
        raise OperationError(f"copy_(): expected both tensors to be nested, but got {type(target).__name__} and {type(source).__name__}")
    if not _same_size(func, first, (target, source), {}):
        raise OperationError(
            f"copy_ only supports Nested Tensors that have same size and same strides: expected compatible input and src shapes, but got "
            f"{target._array.shape} and {source._array.shape}"
        )
    for into, each in zip(target.unbind(), source.unbind()):
        into.copy_(each)
    return target


_METHODS: dict[str, Any] = {
    "backward": _backward, "grad": _gradients, "is_same_size": _same_size, "copy_": _copied,
    "unbind": lambda func, first, args, kwargs: first.unbind(*args[1:], **kwargs),
}  # fmt: skip


# -- elements ------------------------------------------------------------------------------------------------------------


def _shape_text(nested: Any) -> str:
    return f"({', '.join(map(str, nested._array.shape))})" if nested._kind == "jagged" else "of other parts"


def _check_alike(func: Any, first: Any, other: Any) -> None:
    alike = (
        first._array.shape[first._ragged_idx] == other._array.shape[other._ragged_idx] and first._ragged_idx == other._ragged_idx
        if first._kind == other._kind == "jagged"
        else len(first) == len(other)
    )
    if not alike:
        name = getattr(func, "__name__", func)
        raise OperationError(
            f"cannot call binary pointwise function {name} with inputs of shapes {_shape_text(first)} and {_shape_text(other)}"
        )


class _ByParts(Exception):
    """A dense operand does not line up with the values."""


def _aligned(first: Any, dense: Any) -> Any:
    """A dense operand as one that broadcasts against the values."""
    missing = first.dim() - dense.dim()
    if missing > 1 or not dense.dim():
        ragged = first._ragged_idx - missing
        if ragged < 0 or dense.shape[ragged] == 1:
            return dense
        raise _ByParts
    if missing < 0:
        raise NotImplementedError("a tensor with more dimensions than the nested tensor can't be broadcast against it")
    ragged = first._ragged_idx - missing
    if dense.shape[ragged] != 1:
        raise _ByParts
    if missing:
        return dense
    if dense.shape[0] == 1:
        return dense.squeeze(0)
    if first._part_lengths is not None or dense.shape[0] != len(first):
        raise _ByParts
    rows = rushlight.repeat_interleave(rushlight.arange(len(first)), first._starts.diff())
    return dense.squeeze(ragged).index_select(0, rows).movedim(0, ragged - 1)


def pointwise(func: Any, first: Any, args: Any, kwargs: Any) -> Any:
    """Call a function of elements (or of rows) on the values of nested tensors, which have to be nested alike."""
    everything = _flatten((*args, *kwargs.values()))
    for each in everything:
        if isinstance(each, NestedTensor) and each is not first:
            _check_alike(func, first, each)
    if first._kind == "jagged":
        nested = [each for each in everything if isinstance(each, NestedTensor)]
        try:
            if len({each.dim() for each in nested}) == 1 and not (
                nested[1:] and any(each._part_lengths is not first._part_lengths for each in nested)
            ):

                def change(each: Any) -> Any:
                    return each.values() if isinstance(each, NestedTensor) else _aligned(first, each)

                result = func(
                    *swapped(tuple(args), change, Tensor), **{key: swapped(value, change, Tensor) for key, value in kwargs.items()}
                )
                return first.like(result)
        except _ByParts:
            pass
    found = []
    for number in range(len(first)):

        def piece(each: Any, number: int = number) -> Any:
            return each.unbind()[number] if isinstance(each, NestedTensor) else _piece(first, each, number)

        found.append(func(*swapped(tuple(args), piece, Tensor), **{key: swapped(value, piece, Tensor) for key, value in kwargs.items()}))
    if first._kind == "strided":
        return of_parts(found)
    return jagged_of_parts(found, first._ragged_idx, first._starts if first._part_lengths is None else None, first._metadata_cache)


@nesting.register("clone")
def _cloned(func: Any, op: Any, first: Any, given: dict[str, Any]) -> Any:
    if first._kind == "jagged" and given.get("memory_format") is rushlight.contiguous_format and not first.is_contiguous():
        return first.contiguous()
    return pointwise(func, first, (first,), {key: value for key, value in given.items() if key != "input"})


@nesting.register("nn_functional_embedding")
def _embedded(func: Any, op: Any, first: Any, given: dict[str, Any]) -> Any:
    rest = {key: value for key, value in given.items() if key != "input"}
    if first._kind == "strided":
        return of_parts([func(each, **rest) for each in first.unbind()])
    return first.like(func(first.values(), **rest))


def _piece(first: Any, dense: Any, number: int) -> Any:
    """What of a dense operand meets one part of a nested tensor: one with a padded length meets the beginning of it."""
    missing = first.dim() - dense.dim()
    if not missing and dense.dim():
        dense = dense[number if dense.shape[0] != 1 else 0]
        missing = 1
    if first._kind == "jagged" and dense.dim():
        at, longest = first._ragged_idx - missing, first._get_max_seqlen()
        if at >= 0 and dense.shape[at] != 1:
            if dense.shape[at] != longest:
                raise OperationError(
                    f"The expanded size of the tensor ({longest}) must match the existing size ({dense.shape[at]}) at non-singleton dimension {first._ragged_idx}"
                )
            return dense.narrow(at, 0, first.unbind()[number].shape[first._ragged_idx - 1])
    return dense


# -- reductions ----------------------------------------------------------------------------------------------------------


def _results(found: Any, change: Callable[[Any], Any]) -> Any:
    """One result, or each of several."""
    if not isinstance(found, (tuple, list)):
        return change(found)
    columns = [change(each) for each in found]
    return type(found)(*columns) if hasattr(found, "_fields") else tuple(columns)


def _joined(found: list[Any], join: Callable[[Any], Any]) -> Any:
    """The results for all parts, joined; one by one where a function has several."""
    if not isinstance(found[0], (tuple, list)):
        return join(found)
    columns = [join(list(column)) for column in zip(*found)]
    return type(found[0])(*columns) if hasattr(found[0], "_fields") else tuple(columns)


@nesting.register("min")
def _smallest(func: Any, op: Any, first: Any, given: dict[str, Any]) -> Any:
    other = _second(given)
    return _reduced(func, op, first, given) if other is None else rushlight.minimum(first, other)


@nesting.register("max")
def _largest(func: Any, op: Any, first: Any, given: dict[str, Any]) -> Any:
    other = _second(given)
    return _reduced(func, op, first, given) if other is None else rushlight.maximum(first, other)


def _second(given: dict[str, Any]) -> Any:
    """The second tensor of ``max(x, y)``, if it was given one."""
    return next((each for each in (given.get("dim"), given.get("other")) if isinstance(each, Tensor)), None)


@nesting.register(*"sum mean amax amin prod std var norm vector_norm logsumexp argmax argmin all any".split())
def _reduced(func: Any, op: Any, first: Any, given: dict[str, Any]) -> Any:
    name = name_of(op)
    own = op.parameters[0].name
    given.pop(own, None)
    dim = given.pop("dim", None)
    if dim is None or dim == () or dim == []:
        if given.get("keepdim"):
            dim = tuple(range(first.dim()))
        else:
            return func(first.compact_values(), **given)
    single = not isinstance(dim, (list, tuple))
    dims = sorted({counted(first, each) for each in ([dim] if single else dim)})
    keepdim = bool(given.get("keepdim", False))

    def run(tensor: Any, dims: list[int]) -> Any:
        return func(tensor, dim=dims[0] if single else tuple(dims), **given)

    if first._kind == "strided":
        if 0 in dims:
            raise OperationError(f"{name}(): dimension 0 of a nested tensor counts its parts, and can't be computed with")
        return _joined([run(each, [dim - 1 for dim in dims]) for each in first.unbind()], of_parts)
    ragged = first._ragged_idx
    if 0 in dims and ragged not in dims:
        raise OperationError(
            f"{name}(): reducing along the batch dimension but not the ragged dimension is not supported for nested tensors"
        )
    inner = [each - 1 for each in dims if each]
    if 0 in dims:
        made = func(first.compact_values(), dim=tuple(inner), **given)
        return _results(made, lambda each: each.unsqueeze(0) if keepdim else each)
    if ragged in dims:
        return _joined([run(each, inner) for each in first.unbind()], rushlight.stack)
    left = ragged if keepdim else ragged - sum(each < ragged for each in dims)
    return _results(
        run(first.values(), inner), lambda each: of_values(each, first._starts, first._part_lengths, left, first._metadata_cache)
    )


def counted(first: Any, dim: int) -> int:
    """A dimension counted from the first one."""
    count = first.dim()
    if not -count <= dim < count:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but got {dim})")
    return dim % count


@nesting.register(*"softmax log_softmax nn_functional_softmax nn_functional_log_softmax cumsum cumprod logcumsumexp".split())
def _along(func: Any, op: Any, first: Any, given: dict[str, Any]) -> Any:
    """A function along one dimension that keeps all sizes."""
    given.pop(op.parameters[0].name)
    dim = counted(first, given.pop("dim"))
    name = name_of(op)
    if dim == 0:
        if first._kind == "strided":
            raise OperationError(f"Cannot apply {name} across nested dimension 0")
        raise OperationError(f"{name}(): not supported when reducing across the batch dimension for NestedTensor")
    if first._kind == "jagged" and dim != first._ragged_idx:
        return first.like(func(first.values(), dim=dim - 1, **given))
    return same_parts(first, [func(each, dim=dim - 1, **given) for each in first.unbind()])


def same_parts(first: Any, parts: list[Any]) -> Any:
    """Parts of the same lengths as those of a nested tensor, nested as it is."""
    if first._kind == "strided":
        return of_parts(parts)
    return jagged_of_parts(parts, first._ragged_idx, first._starts if first._part_lengths is None else None, first._metadata_cache)


@nesting.register("layer_norm", "rms_norm")
def _normed(func: Any, op: Any, first: Any, given: dict[str, Any]) -> Any:
    given.pop("input")
    shape = given.pop("normalized_shape")
    shape = list(shape) if isinstance(shape, (list, tuple)) else [shape]
    name = name_of(op)
    if first._kind == "jagged":
        begin = first.dim() - len(shape)
        if first.dim() <= 2:
            raise OperationError(f"{name}(): not supported for NestedTensor objects with 2 or fewer dimensions")
        if begin <= 0:
            raise OperationError(f"{name}(): not supported when normalizing over the batch dimension for NestedTensor")
        if begin > first._ragged_idx:
            return first.like(func(first.values(), shape, **given))
        if first._part_lengths is not None:
            raise OperationError(f"{name}(): not supported where lengths is not None if operating on the ragged dimension for NestedTensor")
    elif len(shape) >= first.dim() or any(isinstance(first._array.shape[-at - 1], RaggedSize) for at in range(len(shape))):
        raise OperationError("normalized_shape extends into irregular dimensions for the nested tensor")
    return same_parts(first, [func(each, each.shape[each.dim() - len(shape) :], **given) for each in first.unbind()])


# -- products ------------------------------------------------------------------------------------------------------------


@nesting.register("linear")
def _linear(func: Any, op: Any, first: Any, given: dict[str, Any]) -> Any:
    if not isinstance(given["input"], NestedTensor):
        raise OperationError("linear(): the weight can't be a nested tensor")
    rest = {key: value for key, value in given.items() if key != "input"}
    if first._kind == "jagged" and first._ragged_idx < first.dim() - 1:
        return first.like(func(first.values(), **rest))
    if first._kind == "strided" and (first.dim() != 3 or given["weight"].dim() != 2):
        raise OperationError(
            f"Linear requires nested_tensor.dim == 3 and dense_matrix.dim == 2. Nested tensor dim: {first.dim()}. Dense tensor dim: {given['weight'].dim()}"
        )
    return same_parts(first, [func(each, **rest) for each in first.unbind()])


@nesting.register("matmul", "bmm")
def _product(func: Any, op: Any, first: Any, given: dict[str, Any]) -> Any:
    left, right = given.values()
    rows, columns = isinstance(left, NestedTensor), isinstance(right, NestedTensor)
    name = name_of(op)
    if first._kind == "strided" and not (rows and columns) and not (name == "bmm" or (rows and right.dim() in (2, 3))):
        kinds = "a nested self and non-nested other" if rows else "a non-nested self and nested other"
        raise OperationError(f"Expected both to be nested, but got {kinds}")
    if name == "bmm" and (left.dim() != 3 or right.dim() != 3):
        raise OperationError(f"batch{1 if left.dim() != 3 else 2} must be a 3D tensor")
    if rows and not columns and right.dim() == 2 and first._kind == "jagged" and first._ragged_idx < first.dim() - 1:
        return first.like(rushlight.matmul(left.values(), right))
    pieces = []
    for number in range(len(first)):
        pair = [
            each.unbind()[number]
            if isinstance(each, NestedTensor)
            else each[number if each.shape[0] > 1 else 0]
            if each.dim() == first.dim()
            else each
            for each in (left, right)
        ]
        pieces.append(rushlight.matmul(*pair))
    if first._kind == "strided":
        return of_parts(pieces)
    last = first.dim() - 1
    if rows and left._ragged_idx < last and not (columns and right._ragged_idx != left._ragged_idx and right._ragged_idx <= last - 2):
        if columns and right._ragged_idx == left._ragged_idx == last - 1:
            raise OperationError(f"{name}(): not supported between inputs of shapes {_shape_text(left)} and {_shape_text(right)}")
        return jagged_of_parts(pieces, left._ragged_idx, left._starts if left._part_lengths is None else None)
    if columns and right._ragged_idx != last - 1:
        return jagged_of_parts(pieces, right._ragged_idx, right._starts if right._part_lengths is None else None)
    return rushlight.stack(pieces)  # the ragged dimension is summed over


@nesting.register("scaled_dot_product_attention")
def _attention(func: Any, op: Any, first: Any, given: dict[str, Any]) -> Any:
    query = given["query"]
    if not isinstance(query, NestedTensor):
        query = first
    made = []
    for number in range(len(first)):

        def piece(each: Any, number: int = number) -> Any:
            return each.unbind()[number] if isinstance(each, NestedTensor) else each[number] if each.dim() == first.dim() else each

        made.append(func(**{key: swapped(value, piece, Tensor) for key, value in given.items()}))
    return same_parts(query, made)
