"""Every op of the table, on its samples: values against recorded PyTorch results, meta rules against kernels, gradients."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from op_samples import convert, family, flatten, same_layout
from samples import makers, samples_of

from rushlight import ones_like
from rushlight.autograd import grad
from rushlight.autograd.gradcheck import gradcheck, gradgradcheck
from rushlight.core.base import Spec, TensorBase, make
from rushlight.core.declare import Op, table
from rushlight.core.dtypes import BY_NUMPY, FLOATING
from rushlight.core.state import flags, state

DATA = pathlib.Path(__file__).resolve().parent / "data" / "ops"
OPS = [op for op in table.values() if op.functional is None and op in makers]
CASES = [(op, number) for op in OPS for number in range(len(samples_of(op)))]
SAMPLES = {op.name: samples_of(op) for op in OPS}
# How far a result may be from PyTorch's: relative and absolute.
TOLERANCE = {
    "float16": (2e-3, 2e-3), "bfloat16": (1.6e-2, 1e-2), "float32": (1e-5, 2e-6), "complex64": (1e-5, 2e-6),
    "float64": (1e-9, 1e-10), "complex128": (1e-9, 1e-10), "float8_e4m3fn": (0.13, 0.1), "float8_e5m2": (0.26, 0.1),
}  # fmt: skip


def name_of(case: Any) -> str:
    op, number = case
    return f"{family(op)}-{op.name}-{number}"


def to_tensor(array: np.ndarray) -> Any:
    return make(same_layout(array))


def call(op: Any, sample: Any, tensor: Any = to_tensor) -> Any:
    args = convert(sample.args, tensor, BY_NUMPY.__getitem__)
    return op.call(*args, **{k: convert(v, tensor, BY_NUMPY.__getitem__) for k, v in sample.kwargs.items()})


_recorded: dict[str, Any] = {}


def recorded(name: str) -> Any:
    if name not in _recorded:
        path = DATA / f"{name}.npz"
        if not path.exists():
            return None
        arrays = dict(np.load(path))
        _recorded[name] = arrays, json.loads(arrays.pop("notes").tobytes())
    return _recorded[name]


def wide(array: Any) -> np.ndarray:
    array = np.asarray(array)
    return array.astype(np.float32) if array.dtype.kind == "V" else array


def note_of(case: Any) -> Any:
    """What is recorded of a sample: the dtypes of its results, or the exception."""
    op, number = case
    data = recorded(family(op))
    return None if data is None else data[1].get(f"{op.name}/{number}")


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_values_against_pytorch(case: Any) -> None:
    op, number = case
    sample = SAMPLES[op.name][number]
    if not sample.compare:
        call(op, sample)
        return
    assert note_of(case) is not None, f"sample {number} of {op.name} is not recorded: run tests/record/ops.py {family(op)}"
    arrays, notes = recorded(family(op))
    key = f"{op.name}/{number}"
    note = notes[key]
    if "error" in note:
        with pytest.raises(Exception) as raised:
            call(op, sample)
        expected = note["error"].lstrip("_")  # PyTorch's LinAlgError is a private class under a public name
        names = [kind.__name__ for kind in type(raised.value).__mro__]
        assert expected in names or {expected, *names} >= {"RuntimeError", "NotImplementedError"}, (
            expected,
            raised.value,
        )
        return
    results = flatten(call(op, sample))
    assert len(results) == len(note["dtypes"])
    for index, (result, dtype) in enumerate(zip(results, note["dtypes"])):
        if dtype is None:
            assert result == notes[f"{key}/{index}"] or repr(result) == notes[f"{key}/{index}"]
            continue
        want = arrays[f"{key}/{index}"]
        assert isinstance(result, TensorBase)
        assert BY_NUMPY[result._array.dtype].name == dtype
        assert tuple(result._array.shape) == want.shape
        relative, absolute = TOLERANCE.get(dtype, (0, 0))
        np.testing.assert_allclose(wide(result._array), wide(want), rtol=relative, atol=absolute, equal_nan=True)


def has_array(sample: Any, wanted: Callable[[np.ndarray], bool] = lambda array: True) -> bool:
    """Whether there is such an array among the arguments of a sample, apart from its constants."""
    given = {**dict(enumerate(sample.args)), **sample.kwargs}
    return any(
        isinstance(leaf, np.ndarray) and wanted(leaf)
        for key, value in given.items()
        if key not in sample.constants
        for leaf in flatten(value)
    )


META_CASES = [
    (op, n) for op, n in CASES
    if not op.data_dependent and has_array(SAMPLES[op.name][n]) and "error" not in (note_of((op, n)) or ())
]  # fmt: skip


@pytest.mark.parametrize("case", META_CASES, ids=name_of)
def test_meta_against_kernel(case: Any) -> None:
    op, number = case
    sample = SAMPLES[op.name][number]
    results = flatten(call(op, sample))

    def to_meta(array: np.ndarray) -> Any:
        return make(Spec(array.shape, array.dtype, tuple(s // array.itemsize for s in array.strides)))

    for real, meta in zip(results, flatten(call(op, sample, to_meta)), strict=True):
        if isinstance(real, TensorBase):
            assert isinstance(meta._array, Spec)
            assert tuple(meta._array.shape) == real._array.shape
            assert meta._array.dtype == real._array.dtype
            if op.view:
                assert meta.stride() == real.stride() or 1 in real._array.shape or not real._array.size


WHOLE_FACTOR = ("cholesky_inverse", "cholesky_solve")  # as PyTorch: the triangle that is not read has a gradient too
GRADIENT_CASES = [
    (op, n) for op, n in CASES
    if SAMPLES[op.name][n].gradient and (op.vjp or (op.body is not None and op.vjp is None and op.kernel is None))
    and has_array(SAMPLES[op.name][n], lambda array: BY_NUMPY[array.dtype].category >= FLOATING)
]  # fmt: skip


def as_double(array: np.ndarray) -> Any:
    """Differentiable samples are checked in double precision."""
    if BY_NUMPY[array.dtype].category < FLOATING:
        return make(same_layout(array))
    return make(same_layout(array).astype(np.complex128 if array.dtype.kind == "c" else np.float64, order="K"))


LOG_PROBABILITIES = frozenset(("ctc_loss", "ctc_alignments"))


def gradient_call(case: Any) -> tuple[Any, tuple[Any, ...]]:
    op, number = case
    sample = SAMPLES[op.name][number]
    leaves: list[Any] = []

    def collect(array: np.ndarray) -> Any:
        tensor = as_double(array)
        if BY_NUMPY[array.dtype].category >= FLOATING:
            tensor._requires_grad = True
            leaves.append(tensor)
        return tensor

    def argument(key: Any, value: Any) -> Any:
        return convert(value, as_double if key in sample.constants else collect, BY_NUMPY.__getitem__)

    args = tuple(argument(i, value) for i, value in enumerate(sample.args))
    kwargs = {k: argument(k, v) for k, v in sample.kwargs.items()}

    def function(*given: Any) -> Any:
        queue = iter(given)
        swap = lambda value: (
            next(queue) if any(value is leaf for leaf in leaves) else
            type(value)(swap(v) for v in value) if isinstance(value, (list, tuple)) else value
        )  # fmt: skip
        given = [swap(a) for a in args]
        if op.name in LOG_PROBABILITIES:  # the derivative is that by log-probabilities which stay normalized
            given[0] = given[0].log_softmax(-1)
        results = op.call(*given, **{k: swap(v) for k, v in kwargs.items()})
        return tuple(r for r in flatten(results) if isinstance(r, TensorBase) and BY_NUMPY[r._array.dtype].category >= FLOATING)

    return function, tuple(leaves)


@pytest.mark.parametrize("case", GRADIENT_CASES, ids=name_of)
def test_gradient(case: Any) -> None:
    if case[0].name in WHOLE_FACTOR:
        pytest.skip("its gradient is that of the whole factor, of which it reads one triangle: tests/test_operator_database.py")
    function, leaves = gradient_call(case)
    if not any(r.requires_grad for r in function(*leaves)):
        assert not function(*leaves), f"{case[0].name} lost the gradient"  # a composite that gives integers
        return
    assert gradcheck(function, leaves)


@pytest.mark.parametrize("case", [case for case in GRADIENT_CASES if "once differentiable" not in case[0].notes], ids=name_of)
def test_gradient_of_gradient(case: Any) -> None:
    if case[0].name in WHOLE_FACTOR:
        pytest.skip("its gradient is that of the whole factor, of which it reads one triangle")
    function, leaves = gradient_call(case)
    if not function(*leaves):
        pytest.skip("it gives integers")
    assert gradgradcheck(function, leaves)


# -- no op without a test ------------------------------------------------------------------------------------------------

# Ops of which no sample can be compared with PyTorch, and why.
UNCOMPARED = {
    **dict.fromkeys(
        ("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"), "their elements are undefined"
    ),
    "svd_lowrank": "it is random: tests/test_linalg_iterative.py",
    **dict.fromkeys(("gru_layer", "lstm_layer", "rnn_layer"), "parts of gru, lstm and rnn, which are recorded"),
}
# Ops that neither have samples nor are called by those of others, forward or backward, and where they are tested.
ELSEWHERE = {
    "tests/cuda/test_cuda_kernels.py": "flash_attention flash_attention_backward",
    "tests/test_found_by_libraries.py": "swapaxes_",
    "tests/test_lazy_views.py": "neg_view",
    "tests/test_onnx_backend.py": "non_max_suppression",
    "tests/test_weight_only.py": "_convert_weight_to_int4pack_for_cpu _int_mm _weight_int4pack_mm_for_cpu _weight_int8pack_mm",
    "tests/test_quantization.py": """
        quantized_add quantized_add_relu quantized_add_scalar quantized_add_scalar_relu quantized_batch_norm quantized_batch_norm_relu quantized_cat
        quantized_cat_relu quantized_celu quantized_clamp quantized_dropout quantized_elu quantized_group_norm quantized_hardswish quantized_instance_norm
        quantized_layer_norm quantized_leaky_relu quantized_matmul quantized_mul quantized_mul_relu quantized_mul_scalar quantized_mul_scalar_relu
        quantized_prelu quantized_relu6 quantized_sigmoid quantized_softmax quantized_threshold quantized_convolution quantized_embedding quantized_linear
        quantized_linear_dynamic _fake_quantize_learnable_per_channel_affine _fake_quantize_learnable_per_tensor_affine fake_quantize_slope
        fused_moving_avg_obs_fake_quant _empty_affine_quantized _make_per_channel_quantized_tensor _make_per_tensor_quantized_tensor dequantize
        fake_quantize_channel_mask fake_quantize_mask int_repr observed_range q_per_channel_scales q_per_channel_zero_points quantize_per_channel
        quantize_per_tensor quantize_per_tensor_dynamic quantized_gru_layer quantized_lstm_layer
    """,
    "tests/test_sparse.py": """
        sparse_coo_tensor sparse_compressed_tensor sparse_csr_tensor sparse_csc_tensor sparse_bsr_tensor sparse_bsc_tensor sparse_spdiags to_dense to_sparse
        to_sparse_coo to_sparse_csr to_sparse_csc to_sparse_bsr to_sparse_bsc coalesce values indices _indices _values crow_indices col_indices ccol_indices
        row_indices sparse_mask sparse_resize_ sparse_resize_and_clear_ sparse_mm sparse_addmm sparse_sampled_addmm hspmm smm sspaddmm spmm dsmm hsmm
        sparse_spsolve sparse_sum sparse_softmax sparse_log_softmax _convert_indices_from_coo_to_csr _convert_indices_from_csr_to_coo
    """,
    "tests/test_random_stream.py": """
        alpha_dropout_ dropout_ feature_alpha_dropout_ feature_dropout_ rrelu_ cauchy_fill geometric_fill log_normal_fill normal_fill random_fill uniform_fill
    """,
    "tests/test_views.py": "as_strided_ resize_ resize_as_ squeeze_ t_ transpose_ unsqueeze_",
    "tests/test_native_planning.py": "after",
    "tests/test_nn_module_state.py": "to_device",
}  # fmt: skip


class Called:
    """An interceptor that collects the names of the ops that are called."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def __enter__(self) -> Called:
        state.interceptors.append(self)
        flags.enter()
        return self

    def __exit__(self, *exception: Any) -> None:
        flags.leave()
        state.interceptors.remove(self)

    def __call__(self, op: Op, args: tuple[Any, ...], out: Any) -> Any:
        self.names.add(op.name)
        return NotImplemented


@pytest.mark.filterwarnings("ignore")
def test_every_op_is_tested() -> None:
    """An op has samples, or is called by those of others or their gradients, or is listed with where it is tested."""
    with Called() as called:
        for op, number in CASES:
            if "error" not in (note_of((op, number)) or ()):
                call(op, SAMPLES[op.name][number])
        for op, number in GRADIENT_CASES:
            function, leaves = gradient_call((op, number))
            results = [each for each in function(*leaves) if each.requires_grad]
            seeds = [ones_like(each).requires_grad_() for each in results]
            if results:
                grad(results, leaves, seeds, allow_unused=True, retain_graph=True)
            if results and "once differentiable" not in op.notes:
                gradients = [each for each in grad(results, leaves, seeds, create_graph=True, allow_unused=True) if each is not None]
                gradients = [each for each in gradients if each.requires_grad]
                grad(gradients, (*leaves, *seeds), list(map(ones_like, gradients)), allow_unused=True)
    listed = {name: file for file, names in ELSEWHERE.items() for name in names.split()}
    untested = {op.name for op in table.values() if op.functional is None and op not in makers and op.name not in called.names}
    assert sorted(untested - set(listed)) == [], "these need samples (tests/samples), or an entry in ELSEWHERE"
    assert sorted(set(listed) - untested) == [], "these are no longer needed in ELSEWHERE"
    assert all((DATA.parents[2] / file).is_file() for file in ELSEWHERE)


def test_every_op_with_samples_is_compared() -> None:
    uncompared = {op.name for op in OPS if not any(note_of((op, number)) for number in range(len(SAMPLES[op.name])))}
    assert sorted(uncompared - set(UNCOMPARED)) == [], "these need recorded results (tests/record/ops.py), or an entry in UNCOMPARED"
    assert sorted(set(UNCOMPARED) - uncompared) == [], "these are no longer needed in UNCOMPARED"


def test_every_op_has_a_kernel_or_a_body_and_a_docstring() -> None:
    for op in table.values():
        assert op.kernel is not None or op.body is not None, op.name
        assert op.doc, f"{op.name} has no docstring"
