"""vmap of every op of the table: it gives what calling the op for each example and stacking the results gives."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest
from op_samples import convert, family, flatten, same_layout
from samples import makers, samples_of

from rushlight.core.base import TensorBase, make
from rushlight.core.declare import table
from rushlight.core.dtypes import BY_NUMPY
from rushlight.core.errors import OperationError
from rushlight.func import jvp, vjp, vmap

BATCH = 3
SAMPLES_EACH = 3  # of each op: the rest differ in what has no bearing on batches
TOLERANCE = {"float16": 4e-3, "bfloat16": 4e-2, "float32": 2e-5, "complex64": 2e-5, "float64": 1e-9, "complex128": 1e-9}
# Random ops: their numbers under vmap are tested in test_func.py.
RANDOM = {op.name for op in table.values() if any(p.name == "generator" for p in op.parameters)}
RANDOM |= {
    name for name in table if "dropout" in name or "fractional" in name or "rrelu" in name or "lowrank" in name or "gumbel" in name
} | {"lobpcg", "normal", "empty_like", "new_empty", "new_empty_strided"}
# Their result is no tensor, or its shape depends on the data, or what they do: under vmap (some of) their samples are refused.
REFUSED = set(
    "allclose equal is_nonzero nonzero argwhere masked_select unique unique_consecutive bincount repeat_interleave one_hot narrow "
    "narrow_copy tensor_split index_put linalg_lstsq where embedding_bag nn_functional_embedding _pack_padded_sequence "
    "_pad_packed_sequence".split()
)
# Their results depend on the strides, and stacking the examples changes those.
OF_MEMORY = {"as_strided", "as_strided_copy", "as_strided_scatter"}


def leaves(value: Any) -> list[np.ndarray]:
    if isinstance(value, np.ndarray):
        return [value]
    return [leaf for each in value for leaf in leaves(each)] if isinstance(value, (list, tuple)) else []


def perturbed(array: np.ndarray, number: int) -> np.ndarray:
    """Another example: other values of the same kind, with no change of order, sign or symmetry."""
    if array.dtype.kind in "biu" or not number:
        return np.flip(array, 0).copy() if array.dtype.kind == "b" and array.ndim and number else array
    scaled = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64) * (1 + 0.01 * number)
    return scaled.astype(array.dtype)


def dtype_of(given: Any) -> Any:
    return BY_NUMPY[given]


class Case:
    """An op on a sample, with some of the sample's tensors batched."""

    def __init__(self, op: Any, sample: Any, batched: set[int]) -> None:
        self.op, self.sample, self.batched = op, sample, batched
        self.arrays = leaves([*sample.args, *sample.kwargs.values()])

    def call(self, tensors: list[Any]) -> Any:
        queue = iter(tensors)
        args = convert(self.sample.args, lambda _: next(queue), dtype_of)
        kwargs = {name: convert(value, lambda _: next(queue), dtype_of) for name, value in self.sample.kwargs.items()}
        return [each for each in flatten(self.op.call(*args, **kwargs)) if isinstance(each, TensorBase)]

    def example(self, number: int) -> list[Any]:
        return [make(same_layout(perturbed(a, number if i in self.batched else 0))) for i, a in enumerate(self.arrays)]

    def expected(self) -> list[list[Any]]:
        return [self.call(self.example(number)) for number in range(BATCH)]

    def found(self) -> list[Any]:
        dims = tuple(0 if i in self.batched else None for i in range(len(self.arrays)))
        inputs = [
            make(np.ascontiguousarray(np.stack([perturbed(a, n) for n in range(BATCH)]))) if i in self.batched else make(same_layout(a))
            for i, a in enumerate(self.arrays)
        ]
        return vmap(lambda *tensors: self.call(list(tensors)), in_dims=dims)(*inputs)

    def check(self) -> None:
        expected = self.expected()
        if len({tuple(tuple(r.shape) for r in results) for results in expected}) > 1:
            return  # the shape depends on the data
        try:
            found = self.found()
        except OperationError as error:
            if self.op.name in REFUSED and "vmap" in str(error):
                return
            raise
        # Ops that have a body besides a kernel may return more from the latter, for their own gradient.
        assert len(found) == len(expected[0]) or (self.op.body is not None and self.op.returns)
        for index, result in enumerate(found):
            want = [results[index] for results in expected]
            assert result.dtype is want[0].dtype
            assert tuple(result.shape) == (BATCH, *want[0].shape)
            tolerance = TOLERANCE.get(result.dtype.name, 0)
            wide = np.complex128 if result.dtype.is_complex else np.float64
            stacked = np.stack([each._array.astype(wide) for each in want])
            np.testing.assert_allclose(result._array.astype(wide), stacked, rtol=tolerance, atol=tolerance, equal_nan=True)


def accepted(op: Any) -> Any:
    """The samples of an op that have a tensor and are not there to be refused."""
    for sample in samples_of(op):
        arrays = leaves([*sample.args, *sample.kwargs.values()])
        if arrays and "out" not in sample.kwargs:
            case = Case(op, sample, set(range(len(arrays))))
            try:
                case.expected()
            except Exception:
                continue
            yield sample, len(arrays)


OPS = [
    op for op in table.values()
    if op.functional is None and op in makers and op.name not in RANDOM | OF_MEMORY
]  # fmt: skip


@pytest.mark.parametrize("op", OPS, ids=lambda op: f"{family(op)}-{op.name}")
def test_vmap_of_an_op(op: Any) -> None:
    for sample, count in islice(accepted(op), SAMPLES_EACH):
        choices = [set(range(count))]
        if count > 1:
            choices += [{0}, set(range(1, count))]
        for batched in choices:
            Case(op, sample, batched).check()


# -- gradients ---------------------------------------------------------------------------------------------------


class GradientCase(Case):
    """The same for gradients: of each example under vmap, and one gradient for each of several cotangents."""

    def __init__(self, op: Any, sample: Any) -> None:
        super().__init__(op, sample, set())
        constants = {position for position in sample.constants if isinstance(position, int)}
        kept = {id(a) for i, value in enumerate(sample.args) if i in constants for a in leaves(value)}
        kept |= {id(a) for name, value in sample.kwargs.items() if name in sample.constants for a in leaves(value)}
        self.arrays = [self.wide(array) for array in self.arrays]
        self.batched = {
            i for i, a in enumerate(leaves([*sample.args, *sample.kwargs.values()])) if a.dtype.kind in "fc" and id(a) not in kept
        }

    @staticmethod
    def wide(array: np.ndarray) -> np.ndarray:
        kinds = {"f": np.float64, "c": np.complex128}
        return same_layout(array).astype(kinds[array.dtype.kind], order="K") if array.dtype.kind in kinds else array

    def outputs(self, *variables: Any) -> tuple[Any, ...]:
        """The op as a function of the tensors that it is differentiated by."""
        queue = iter(variables)
        tensors = [next(queue) if i in self.batched else make(same_layout(a)) for i, a in enumerate(self.arrays)]
        return tuple(each for each in self.call(tensors) if each.dtype.is_floating_point or each.dtype.is_complex)

    def check(self) -> None:
        first = [make(same_layout(self.arrays[i])) for i in sorted(self.batched)]
        if not self.outputs(*first):
            return  # integers alone: vjp refuses a function of no results
        values, pull = vjp(self.outputs, *first)
        if not any(value.numel() for value in values):
            return
        stream = np.random.default_rng(0)
        cotangents = tuple(make(stream.normal(size=(2, *value.shape)).astype(value._array.dtype)) for value in values)
        expected = [pull(tuple(each[number] for each in cotangents)) for number in range(2)]
        compare(vmap(pull)(cotangents), expected)
        batch = [make(np.stack([perturbed(self.arrays[i], n) for n in range(2)])) for i in sorted(self.batched)]
        weights = tuple(each[0] for each in cotangents)
        found = vmap(lambda *each: vjp(self.outputs, *each)[1](weights))(*batch)
        compare(found, [vjp(self.outputs, *(each[n] for each in batch))[1](weights) for n in range(2)])


def compare(found: Any, expected: list[Any]) -> None:
    for index, each in enumerate(found):
        stacked = np.stack([results[index]._array for results in expected])
        assert each._array.shape == stacked.shape
        np.testing.assert_allclose(each._array, stacked, rtol=1e-7, atol=1e-8)


DIFFERENTIABLE = [
    op for op in OPS
    if (op.vjp or (op.vjp is None and op.kernel is None)) and op.name not in REFUSED and not (op.body and op.returns)
]  # fmt: skip


@pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: f"{family(op)}-{op.name}")
def test_vmap_of_a_gradient(op: Any) -> None:
    for sample, _ in islice(((s, c) for s, c in accepted(op) if s.gradient), 2):
        case = GradientCase(op, sample)
        if case.batched:
            case.check()


# -- forward mode ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: f"{family(op)}-{op.name}")
def test_forward_and_backward_mode_agree(op: Any) -> None:
    """``<J v, u> = <v, J' u>``."""
    if "once differentiable" in op.notes:
        pytest.skip("forward mode differentiates the gradient, and this one can't be")
    for sample, _ in islice(((s, c) for s, c in accepted(op) if s.gradient), 1):
        case = GradientCase(op, sample)
        inputs = tuple(make(same_layout(case.arrays[i])) for i in sorted(case.batched))
        if not inputs or any(each.dtype.is_complex for each in inputs) or not case.outputs(*inputs):
            continue
        stream = np.random.default_rng(1)
        tangents = tuple(make(stream.normal(size=tuple(each.shape))) for each in inputs)
        values, pushed = jvp(case.outputs, inputs, tangents)
        if any(each.dtype.is_complex for each in values):
            continue
        cotangents = tuple(make(stream.normal(size=tuple(each.shape))) for each in values)
        pulled = vjp(case.outputs, *inputs)[1](cotangents)
        forwards = sum(float((a * b).sum()) for a, b in zip(pushed, cotangents))
        backwards = sum(float((a * b).sum()) for a, b in zip(pulled, tangents))
        assert forwards == pytest.approx(backwards, rel=1e-6, abs=1e-8)
