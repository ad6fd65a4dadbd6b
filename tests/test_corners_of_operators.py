"""What random calls and other people's tests found in operators: infinities, sparse masks, classes of errors, warnings."""

from __future__ import annotations

import copy
import gzip
import io
import math

import numpy as np
import pytest
from support.processes import run_python

import rushlight as torch
import rushlight.nn.functional as F

inf, nan = float("inf"), float("nan")


def _gradient(function, *values):
    x = torch.tensor(values, requires_grad=True)
    function(x).sum().backward()
    return x.grad.tolist()


def test_hardswish_has_a_slope_at_infinity():
    assert _gradient(F.hardswish, -inf, -3.0, 0.0, 3.0, inf) == [0.0, 0.0, 0.5, 1.0, 1.0]
    assert _gradient(F.hardswish, nan) == [1.0]
    compiled = torch.compile(lambda x: F.hardswish(x) * 2)
    assert _gradient(compiled, -4.0, 1.5, 4.0) == [0.0, 2.0, 2.0]


def test_trapezoid_is_the_sum_less_half_of_the_ends():
    assert torch.trapezoid(torch.tensor([1.0, -inf, 2.0])).item() == -inf
    assert torch.isnan(torch.trapezoid(torch.tensor([-inf, 1.0])))
    assert torch.trapezoid(torch.tensor([1, 2, 4])).item() == 4.5
    assert torch.trapezoid(torch.empty(0)).item() == 0.0
    assert torch.trapezoid(torch.tensor([[1.0, 3.0], [2.0, 5.0]]), dx=2, dim=0).tolist() == [3.0, 8.0]


def test_nan_is_not_above_a_margin():
    scores = torch.tensor([[0.5, nan, 0.25]])
    assert F.multi_margin_loss(scores, torch.tensor([0])).item() == pytest.approx(0.25)
    assert F.multilabel_margin_loss(scores, torch.tensor([[0, -1, 0]])).item() == pytest.approx(0.25)
    with pytest.raises(RuntimeError, match="Long but found Int"):
        F.multilabel_margin_loss(scores, torch.tensor([[0, -1, 0]], dtype=torch.int32))
    with pytest.raises(RuntimeError, match="non-empty"):
        F.multilabel_margin_loss(torch.ones(2, 0), torch.ones(2, 0, dtype=torch.int64))


def test_one_sample_may_have_a_vector_as_its_target():
    scores = torch.tensor([0.0, 1.0])
    assert F.cross_entropy(scores, torch.tensor([1])).item() == F.cross_entropy(scores, torch.tensor(1)).item()


@pytest.mark.parametrize(
    "call, kind, text",
    [
        (lambda: torch.cat([torch.ones(1), torch.ones(1)], out=torch.empty(2, dtype=torch.int64)), TypeError, "can't be cast"),
        (lambda: torch.hstack([torch.ones(1)], out=torch.empty(1, dtype=torch.int64)), TypeError, "torch.cat"),
        (
            lambda: torch.index_select(torch.ones(2, 2), 1, torch.tensor([2])),
            RuntimeError,
            "INDICES element is out of DATA bounds, id=2 axis_dim=2",
        ),
        (lambda: torch.index_select(torch.empty(0, 1), 0, torch.tensor([0])), RuntimeError, "should be positive"),
        (lambda: torch.index_select(torch.ones(2), 0, torch.tensor([2])), IndexError, "out of bounds"),
        (lambda: torch.cummax(torch.ones(3), 0, out=(torch.empty(3), torch.empty(3))), RuntimeError, "Long but found Float"),
        (lambda: torch.zeros(2, out=torch.empty(2), layout=torch.sparse_coo), RuntimeError, "layout Sparse"),
        (lambda: torch.ones(2, out=torch.empty(2), device="meta"), RuntimeError, "device type meta"),
        (lambda: torch.zeros(2, out=torch.empty(2, dtype=torch.int64), requires_grad=True), RuntimeError, "require gradients"),
        (lambda: torch.meshgrid(torch.ones(2), torch.ones(2, device="meta"), indexing="ij"), RuntimeError, "same device"),
        (lambda: torch.ones(2).new(torch.ones(2).double()), TypeError, "FloatTensor"),
        (lambda: torch.Tensor(torch.ones(2), device="meta"), RuntimeError, "not supported"),
        (lambda: torch.celu(torch.ones(1), alpha=0), RuntimeError, "ZeroDivisionError"),
        (lambda: torch.fft.fftfreq(-4), RuntimeError, "negative dimension"),
        (lambda: torch.fft.rfftn(torch.ones(3) + 0j), RuntimeError, "real-valued input"),
        (lambda: torch.fft.ihfftn(torch.ones(3) + 0j), RuntimeError, "Only supports floating-point"),
        (lambda: torch.ones(2).resize_(2, 4, 2**29, 2**29), RuntimeError, "Storage size calculation overflowed"),
        (lambda: torch.quint8.is_signed, RuntimeError, "not supported for quantized"),
    ],
)
def test_classes_of_errors(call, kind, text):
    with pytest.raises(kind, match=text) as found:
        call()
    assert kind is IndexError or not isinstance(found.value, IndexError)


def test_a_mask_says_what_is_wrong_with_the_shape_before_the_type():
    numbers = torch.arange(3)
    with pytest.raises(RuntimeError, match="shape mismatch"):
        numbers[torch.tensor([True, False, True])] = torch.tensor([])


def test_out_may_have_its_device_named():
    numbers = torch.ones(2)
    assert torch.zeros(2, device="cpu", out=numbers) is numbers and numbers.tolist() == [0.0, 0.0]
    assert torch.full((2,), 3.0, device=torch.device("cpu"), layout=torch.strided, out=numbers).tolist() == [3.0, 3.0]


def test_vectors_of_nothing_join_along_any_dimension():
    assert torch.cat([torch.randn(0), torch.randn(0)], dim=1).shape == (0,)


def test_rfftfreq_of_no_spacing_is_infinite():
    assert torch.fft.rfftfreq(4, 0)[1:].tolist() == [inf, inf]


def test_warnings_name_the_line_of_the_program():
    printed = run_python("""
        import warnings
        import rushlight as torch

        numbers, mask = torch.arange(3.0), torch.tensor([1, 0, 1], dtype=torch.uint8)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            numbers[mask]
            numbers[mask] = 0.0
        print([each.filename for each in found])
    """)  # in a process of its own: a mode of __torch_function__ that was ever on adds a frame
    assert printed == "['<string>', '<string>']\n"
    window = torch.hann_window(16)
    spectrum = torch.stft(torch.ones(100), 16, window=window, return_complex=True)
    with pytest.warns(UserWarning, match="length of signal is shorter"):
        assert torch.istft(spectrum, 16, window=window, length=150).shape == (150,)


def test_deterministic_algorithms_are_refused_where_pytorch_has_none():
    places = torch.zeros(1, 1, 1, 1, dtype=torch.int64)
    torch.use_deterministic_algorithms(True)
    try:
        with pytest.raises(RuntimeError, match="put_ does not have a deterministic"):
            torch.ones(3).put_(torch.tensor([0]), torch.ones(1))
        torch.ones(3).put_(torch.tensor([0]), torch.ones(1), accumulate=True)
        with pytest.raises(RuntimeError, match="max_unpooling2d_forward_out does not"):
            F.max_unpool2d(torch.ones(1, 1, 1, 1), places, 2)
        torch.use_deterministic_algorithms(True, warn_only=True)
        with pytest.warns(UserWarning, match="max_unpooling2d_forward_out does not"):
            F.max_unpool2d(torch.ones(1, 1, 1, 1), places, 2)
    finally:
        torch.use_deterministic_algorithms(False)


def test_resize_as_keeps_the_order_of_the_template():
    image = torch.randn(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    assert torch.ones(120).resize_as_(image, memory_format=torch.preserve_format).stride() == image.stride()
    assert torch.ones(120).resize_as_(image.transpose(0, 1), memory_format=torch.preserve_format).is_contiguous()


def test_masked_reductions_of_sparse_tensors():
    matrix = torch.tensor([[1.0, 0.0], [3.0, 2.0]])
    mask = torch.tensor([[True, False], [True, True]])
    for sparse in (matrix.to_sparse(), matrix.to_sparse_csr()):
        for name in ("sum", "prod", "amax", "amin"):
            reduce = getattr(torch.masked, name)
            found = reduce(sparse, 1, keepdim=True, mask=mask)
            assert found.layout == sparse.layout
            assert found.to_dense().tolist() == reduce(matrix, 1, keepdim=True, mask=mask).tolist()
    assert torch.masked.sum(matrix, 1, mask=mask.to_sparse()).tolist() == [1.0, 5.0]
    with pytest.raises(ValueError, match="masked prod expects explicit mask for sparse_coo"):
        torch.masked.prod(matrix.to_sparse(), 1)
    with pytest.raises(ValueError, match="masked mean expects strided or sparse_csr tensor"):
        torch.masked.mean(matrix.to_sparse(), 1)
    with pytest.raises(ValueError, match="masked softmax expects strided tensor"):
        torch.masked.softmax(matrix.to_sparse(), 1)


def test_masked_reductions_check_dimensions_and_keep_types():
    with pytest.raises(IndexError):
        torch.masked.sum(torch.ones(3, 4), 7)
    with pytest.raises(RuntimeError, match="multiple times"):
        torch.masked.sum(torch.ones(3, 4), (0, -2))
    assert torch.masked.logsumexp(torch.ones(3, dtype=torch.int64), 0).dtype == torch.int64
    assert torch.masked.cumsum(torch.ones(3, dtype=torch.int32), 0).dtype == torch.int32


def test_factors_of_unsigned_numbers_wrap():
    one = torch.ones(1, 1, dtype=torch.uint8)
    assert torch.add(one, one, alpha=-2).tolist() == [[255]]
    assert torch.sub(one, 1, alpha=-2).tolist() == [[3]]
    assert torch.addmm(one, one, one, alpha=-2, beta=-1).tolist() == [[253]]
    with pytest.raises(RuntimeError, match="without overflow"):
        torch.add(one, one, alpha=300)


def test_an_out_of_another_type_where_types_are_promoted():
    wide = torch.empty(2, dtype=torch.float64)
    assert torch.diff(torch.tensor([1, 2, 4], dtype=torch.int32), out=wide).tolist() == [1.0, 2.0]
    assert torch.clamp(torch.ones(2), torch.zeros(2), out=wide).tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="Found dtype Double but expected Float"):
        torch.clamp(torch.ones(2), 0, out=wide)


_matrix, _vector = torch.eye(2), torch.ones(2, 1)


@pytest.mark.parametrize(
    "call, kind, text",
    [
        (lambda: torch.linalg.lu_solve(_matrix, torch.tensor([0, 2], dtype=torch.int32), _vector), RuntimeError, "greater or equal to 1"),
        (lambda: torch.linalg.lu_solve(_matrix, torch.tensor([1, 3], dtype=torch.int32), _vector), RuntimeError, "smaller or equal"),
        (lambda: torch.linalg.lu_solve(_matrix.expand(2, 2, 2), torch.tensor([[1, 2]]).int(), _vector), RuntimeError, "to be the same"),
        (lambda: torch.ormqr(torch.ones(3, 2), torch.ones(1), torch.ones(1, 3), left=False), RuntimeError, "tau.shape"),
        (lambda: torch.cholesky_solve(_vector.bfloat16(), _matrix), RuntimeError, "same dtype"),
        (lambda: torch.fft.fftshift(torch.tensor(1.0)), RuntimeError, "shifts"),
        (lambda: torch.ones(1).index_add_(0, torch.tensor([1]), torch.ones(1)), IndexError, "out of bounds"),
        (lambda: F.nll_loss(torch.tensor(1.0), torch.tensor([0])), ValueError, "1 or more dimensions"),
        (lambda: torch.linspace(1e39, 0, 3, dtype=torch.int64), RuntimeError, "without overflow"),
        (lambda: torch.prelu(torch.ones(1), torch.ones(1, dtype=torch.bool)), RuntimeError, "Type promoting"),
        (lambda: F.adaptive_avg_pool2d(torch.ones(2, 2), (2, 2)), ValueError, "at least 3"),
        (lambda: F.adaptive_max_pool3d(torch.ones(2, 2, 2), (2, None, 2)), ValueError, "at least 4"),
        (lambda: F.max_unpool1d(torch.ones(1, 0, 3), torch.ones(1, 0, 3, dtype=torch.int64), 2), RuntimeError, "non-zero size"),
        (lambda: F.fractional_max_pool2d(torch.ones(1, 0, 4, 4), 2, output_size=(1, 1)), RuntimeError, "Expected input"),
        (lambda: torch.gru_cell(torch.ones(1, 4), torch.ones(1, 3), torch.ones(1, 4), torch.ones(1, 3)), RuntimeError, "weight_ih first dim"),
        (lambda: torch.rnn_tanh_cell(torch.ones(2, 4), torch.ones(1, 3), torch.ones(3, 4), torch.ones(3, 3)), RuntimeError, "batch size 2"),
        (lambda: torch.lstm(torch.ones(1, 1, 1), [torch.ones(1, 1, 1)] * 2, [torch.ones(4, 1)] * 2, True, 1, 0.0, False, False, False), RuntimeError, "number of RNN"),
        (lambda: torch.gru(torch.ones(1, 1, 1), torch.ones(2, 1, 1), [torch.ones(3, 1)] * 2, False, 1, 0.0, False, False, False), RuntimeError, "hidden states"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_refused(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_fractional_pooling_to_nothing():
    assert F.fractional_max_pool2d(torch.ones(1, 4, 4), 2, output_size=(0, 1)).shape == (1, 0, 1)
    assert F.fractional_max_pool3d(torch.ones(1, 4, 4, 4), 2, output_size=(1, 0, 1)).shape == (1, 1, 0, 1)


def test_a_spectrum_may_be_shifted_twice():
    spectrum = torch.arange(3)
    assert torch.fft.fftshift(spectrum, dim=(0, 0)).tolist() == torch.fft.fftshift(torch.fft.fftshift(spectrum)).tolist()
    assert torch.fft.rfftfreq(-1).shape == (1,)


def test_the_gradient_of_ctc_is_that_by_normalized_log_probabilities():
    torch.manual_seed(0)
    logs = torch.randn(4, 1, 3).log_softmax(-1).requires_grad_()
    F.ctc_loss(logs, torch.tensor([[1, 2]]), (3,), (2,), reduction="sum").backward()
    assert torch.allclose(logs.grad.sum(-1), torch.zeros(4, 1), atol=1e-6)  # probabilities less posteriors
    assert logs.grad[3].tolist() == [[0.0, 0.0, 0.0]] and (logs.grad[:3] != 0).all()
    impossible = torch.randn(2, 1, 3).log_softmax(-1).requires_grad_()
    F.ctc_loss(impossible, torch.tensor([[1, 1]]), (2,), (2,), zero_infinity=True).backward()
    assert impossible.grad.tolist() == [[[0.0] * 3]] * 2


def test_rows_that_are_ignored_may_be_nan():
    logits = torch.tensor([[1.0, nan], [1.0, 2.0]])
    for options in ({}, {"label_smoothing": 0.1}, {"weight": torch.tensor([1.0, 2.0])}):
        alone = F.cross_entropy(logits[1:], torch.tensor([1]), **options)
        assert torch.allclose(F.cross_entropy(logits, torch.tensor([-100, 1]), **options), alone)
    assert F.nll_loss(logits, torch.tensor([0, 1]), ignore_index=0, reduction="none").tolist() == [0.0, -2.0]
    compiled = torch.compile(lambda x, y: F.cross_entropy(x, y))
    assert torch.isfinite(compiled(logits, torch.tensor([-100, 1])))


def test_indices_and_offsets_of_bags_may_have_two_types():
    assert F.embedding_bag(torch.zeros(1, dtype=torch.int8), torch.ones(1, 1), torch.tensor([0])).tolist() == [[1.0]]
    with pytest.raises(RuntimeError, match="Long, Int"):
        F.embedding_bag(torch.zeros(1, dtype=torch.int8), torch.ones(1, 1), torch.tensor([0], dtype=torch.int8))


def test_targets_of_other_types():
    logits = torch.zeros(2)
    assert F.binary_cross_entropy_with_logits(logits, torch.ones(2, dtype=torch.bfloat16)).dtype == torch.bfloat16
    assert F.soft_margin_loss(torch.ones(2), torch.ones(2, dtype=torch.uint8)).item() == pytest.approx(0.3132617)
    assert F.multi_margin_loss(torch.ones(1, 2), torch.tensor(1)).item() == 0.5


@pytest.mark.parametrize(
    "call, kind, text",
    [
        (lambda: torch.lu_unpack(torch.ones(1, 1), torch.tensor([0], dtype=torch.int32)), RuntimeError, "between 1 and"),
        (lambda: F.embedding(torch.zeros(1, dtype=torch.int16), torch.ones(1, 1)), RuntimeError, "Long, Int"),
        (lambda: F.batch_norm(torch.ones(1, 0), None, None, training=True), ValueError, "more than 1 value"),
        (lambda: F.multi_margin_loss(torch.ones(2, 2), torch.tensor(1)), RuntimeError, "target size"),
        (lambda: F.bilinear(torch.ones(2, 3), torch.ones(2, 4), torch.ones(2, 3, 4), torch.ones(2).double()), RuntimeError, "same dtype"),
        (lambda: torch.gru(torch.ones(1, 3, 2), torch.ones(1, 2, 2), [torch.ones(6, 2)] * 2, False, 1, 0.0, False, False, False), RuntimeError, "batch of 3"),
    ],
)  # fmt: skip
def test_types_and_sizes_are_looked_at(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


class _Wrapper(torch.Tensor):
    __slots__ = ("inner",)

    @staticmethod
    def __new__(cls, inner):
        made = torch.Tensor._make_subclass(cls, inner.to("meta"), False)
        made.inner = inner
        return made


def test_slots_of_a_subclass_are_copied_and_saved():
    wrapper = _Wrapper(torch.arange(2.0))
    wrapper.word = "a"
    file = io.BytesIO()
    torch.save(wrapper, file)
    file.seek(0)
    for other in (copy.deepcopy(wrapper), torch.load(file, weights_only=False)):
        assert type(other) is _Wrapper and other.inner.tolist() == [0.0, 1.0] and other.inner is not wrapper.inner and other.word == "a"


def test_compressed_files_are_read_and_files_are_flushed(tmp_path):
    with open(tmp_path / "plain", "wb") as file:
        torch.save(torch.arange(3), file, _use_new_zipfile_serialization=False)
        written = (tmp_path / "plain").read_bytes()
    with gzip.open(tmp_path / "packed", "wb") as file:
        file.write(written)
    with gzip.open(tmp_path / "packed", "rb") as file:
        assert torch.load(file).tolist() == [0, 1, 2]


def test_storages_of_nothing_may_have_several_types():
    empty = torch.tensor([], dtype=torch.float32)
    other = torch.TypedStorage(wrap_storage=empty.untyped_storage(), dtype=torch.int64)
    file = io.BytesIO()
    torch.save([empty, other], file)
    file.seek(0)
    assert [each.dtype for each in torch.load(file, weights_only=False)] == [torch.float32, torch.int64]


def test_sparse_tensors_are_rounded_multiplied_and_copied():
    matrix = torch.tensor([[1.26, 0.0], [0.0, 2.0]])
    for sparse in (matrix.to_sparse(), matrix.to_sparse_csr()):
        assert sparse.round(decimals=1).to_dense().tolist() == matrix.round(decimals=1).tolist()
    three = torch.tensor(3.0).to_sparse()
    assert (matrix.to_sparse() * three).to_dense().tolist() == (matrix * 3).tolist() == (three * matrix.to_sparse()).to_dense().tolist()
    rows = matrix.to_sparse_csr()
    with pytest.raises(RuntimeError, match="different layouts is not supported. self layout is SparseCsr and src layout is SparseCsc"):
        rows.copy_(matrix.to_sparse_csc())
    with pytest.raises(RuntimeError, match="same number of specified elements"):
        rows.copy_(torch.ones(2, 2).to_sparse_csr())
    with pytest.raises(RuntimeError, match="self is SparseCsr but you requested Strided"):
        torch.empty_like(rows, layout=torch.strided)
    with pytest.raises(RuntimeError, match="Only batched sparse CSR"):
        rows.resize_(3)
    assert torch.empty_like(rows)._nnz() == 2 and torch.randn_like(rows)._nnz() == 2
    assert torch.ones(2, 2, dtype=torch.complex32).to_sparse_csr()._nnz() == 4
    assert torch.sparse.spdiags(torch.ones(0, 3), torch.tensor([], dtype=torch.int64), (3, 3))._nnz() == 0


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda out: torch.cholesky_inverse(torch.eye(2), out=out), "cholesky_inverse: Expected result to be safely castable from Float"),
        (lambda out: torch.linalg.eigvals(torch.eye(2), out=out), "but got eigenvalues with dtype Int"),
        (
            lambda out: torch.linalg.eig(torch.eye(2), out=(torch.empty(2, dtype=torch.complex64), out)),
            "but got eigenvectors with dtype Int",
        ),
        (lambda out: torch.linalg.cond(torch.eye(2), out=out), "linalg.cond: Expected result"),
        (lambda out: torch.linalg.qr(torch.eye(2), out=(out, torch.empty(2, 2))), "Expected out tensor to have dtype float, but got int"),
        (lambda out: torch.abs(torch.ones(2), out=out), "Found dtype Int but expected Float"),
    ],
)
def test_what_matrices_say_to_an_out_of_integers(call, text):
    with pytest.raises(RuntimeError, match=text):
        call(torch.empty(2, 2, dtype=torch.int32))


def test_compiled_functions_write_to_out():
    numbers = torch.empty(2)
    assert F.softplus(torch.zeros(2), out=numbers) is numbers and numbers[0].item() == pytest.approx(0.6931472)
    assert F.softshrink(torch.ones(2), 0.25, out=numbers).tolist() == [0.75, 0.75]
    with pytest.raises(RuntimeError, match="single memory location"):
        shared = torch.rand(1).expand(6)
        F.softplus(shared, out=shared)


def test_an_unknown_reduction_is_refused_first():
    with pytest.raises(ValueError, match="foo is not a valid value for reduction"):
        F.binary_cross_entropy(torch.rand(3), torch.tensor([2.0, 0.0, 1.0]), reduction="foo")


def test_istft_takes_a_window_of_truth_values():
    spectrum = torch.stft(torch.arange(16.0), 4, window=torch.ones(4), return_complex=True)
    whole = torch.istft(spectrum, 4, window=torch.ones(4, dtype=torch.bool))
    assert torch.allclose(whole, torch.arange(16.0), atol=1e-4)
    with pytest.raises(RuntimeError, match="eps must be non-negative"):
        F.cosine_similarity(torch.ones(1, 2), torch.ones(1, 2), eps=-1.0)


def test_a_number_over_a_tensor_is_the_reciprocal_times_the_number():
    x = torch.tensor([3.0, 7.0], requires_grad=True)
    y = 2.5 / x
    assert y[0].item() == 0.8333333730697632  # rounded twice; the quotient itself rounds to 0.8333333134651184
    assert torch.equal(torch.compile(lambda x: 2.5 / x)(x), y)
    assert torch.equal(torch.jit.script(_two_and_a_half_over)(x), y)
    assert type(y.grad_fn).__name__ == "MulBackward0"
    y.sum().backward()
    assert torch.allclose(x.grad, -2.5 / x.detach() ** 2)
    assert (5 / torch.tensor([2, 4])).tolist() == [2.5, 1.25]
    with pytest.raises(TypeError, match="unsupported operand type"):
        [1, 2] / x


def _two_and_a_half_over(x):
    return 2.5 / x


def test_topk_of_a_number_gives_the_number():
    values, indices = torch.topk(torch.tensor(2.0), 0)
    assert (values.shape, values.item(), indices.item()) == ((), 2.0, 0)


def test_sizes_and_pivots_of_inverses_are_checked_as_pytorch_checks_them():
    ones, zeros = torch.ones(1, 1, 3), torch.zeros(1, 1, 3, dtype=torch.int64)
    assert F.max_unpool1d(ones, zeros, 2, stride=0).tolist() == [[[1.0, 0.0]]]
    assert F.max_unpool1d(ones, zeros, 0, stride=0).shape == (1, 1, 0)
    with pytest.raises(ValueError, match=r"non-negative spatial dimensions, but got output_size\[0\]=-6"):
        F.max_unpool1d(ones, zeros, -2)
    with pytest.raises(RuntimeError, match="pivots passed to lu_unpack"):
        torch.lu_unpack(torch.ones(2, 3), torch.tensor([2], dtype=torch.int32))
    empty = torch.linalg.lstsq(torch.zeros(2, 0), torch.ones(2, 1), driver="gels")
    assert empty.residuals.tolist() == [0.0]


def test_hinge_embedding_loss_of_integers_stays_with_them():
    loss = F.hinge_embedding_loss(torch.tensor([[0, 3]]), torch.tensor([[-1, 1]]), margin=1.7, reduction="none")
    assert (loss.dtype, loss.tolist()) == (torch.int64, [[1, 3]])


def test_rrelu_takes_no_number_for_nan():
    assert _gradient(lambda x: F.rrelu(x, 0.25, 0.25, True), nan, 0.0, -1.0, 1.0) == [1.0, 0.25, 0.25, 1.0]


def test_nan_is_last_among_unique_elements_and_sorted_boundaries():
    numbers = torch.tensor([1.0, nan, 3.0, nan, 2.0, 1.0], dtype=torch.bfloat16)
    assert str(numbers.unique().tolist()) == "[1.0, 2.0, 3.0, nan, nan]"
    assert torch.searchsorted(numbers.sort().values, numbers).tolist() == [0, 6, 3, 6, 2, 0]
    assert torch.bucketize(torch.tensor([nan, 1.5]), torch.tensor([1.0, 2.0])).tolist() == [2, 1]


def test_the_norm_of_one_element_is_its_size():
    assert torch.linalg.vector_norm(torch.full((3, 1), 1e30), dim=1).tolist() == torch.full((3,), 1e30).tolist()
    assert _gradient(torch.linalg.vector_norm, 1e-30) == [1.0]


def test_lu_unpack_takes_the_pivots_of_its_matrix():
    P = torch.lu_unpack(torch.ones(3, 1), torch.tensor([1, 3, 3], dtype=torch.int32)).P
    assert P.equal(torch.eye(3))
    assert torch.zeros(0, dtype=torch.int8).median().item() == 0


def test_cosine_similarity_differentiates_norms_below_eps() -> None:
    a, b = (torch.tensor([values], requires_grad=True) for values in ([0.1, 0.2], [0.1, 0.3]))
    torch.cosine_similarity(a, b, 1, eps=1.0).sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), [[0.0686950535, 0.2373901010]], rtol=1e-6)
    np.testing.assert_allclose(b.grad.numpy(), [[0.0778640583, 0.1335921735]], rtol=1e-6)


def test_the_power_of_minus_a_half_is_a_reciprocal_of_a_root() -> None:
    x = torch.tensor([-0.0, 0.0, -math.inf, math.inf, 4.0])
    np.testing.assert_array_equal((x**-0.5).numpy(), [-math.inf, math.inf, math.nan, 0.0, 0.5])


def test_lu_of_a_singular_matrix_gives_its_factors() -> None:
    factors, _ = torch.lu(torch.ones(2, 2))
    assert factors.tolist() == [[1, 1], [1, 0]]


def test_attention_refuses_masks_of_other_types_and_heads_that_do_not_divide() -> None:
    q, k = torch.ones(1, 3, 2, 4), torch.ones(1, 2, 2, 4)
    for mask in (torch.ones(2, 2).half(), torch.ones(2, 2).double()):
        with pytest.raises(RuntimeError, match="attn_mask dtype"):
            torch.nn.functional.scaled_dot_product_attention(q, q, q, mask)
    with pytest.raises(RuntimeError, match="Number of heads"):
        torch.nn.functional.scaled_dot_product_attention(q, k, k, enable_gqa=True)


def test_a_norm_in_the_other_half_precision_is_refused() -> None:
    with pytest.raises(RuntimeError, match="without narrowing"):
        torch.linalg.vector_norm(torch.ones(2, dtype=torch.bfloat16), dtype=torch.float16)


def test_differences_of_order_zero_are_the_input() -> None:
    x = torch.ones(2, 3)
    assert torch.diff(x, 0, 0, x, x).shape == (2, 3) and torch.diff(x, 0, 0) is not x


def test_the_integral_of_nothing_has_the_type_of_the_elements() -> None:
    empty = torch.zeros(2, 0, dtype=torch.int32)
    for result in (torch.trapezoid(empty), torch.trapezoid(empty, torch.zeros(0)), torch.trapezoid(empty, dx=0.5)):
        assert result.tolist() == [0, 0] and result.dtype == torch.int32


def test_entropy_of_logits_has_the_type_of_the_targets_with_weights_too() -> None:
    logits, targets = torch.zeros(2, 2), torch.ones(2, 2)
    for kind in (torch.float16, torch.float64):
        for reduction in ("none", "mean"):
            loss = F.binary_cross_entropy_with_logits(logits, targets.to(kind), weight=torch.ones(1), reduction=reduction)
            assert loss.dtype == kind


def test_lstm_cell_refuses_a_cell_of_another_batch_size() -> None:
    x, h = torch.ones(2, 4), torch.ones(2, 3)
    with pytest.raises(RuntimeError, match="hidden1 batch size 1"):
        torch.lstm_cell(x, (h, torch.ones(1, 3)), torch.ones(12, 4), torch.ones(12, 3))


@pytest.mark.parametrize("name", ["cumsum_", "cumprod_"])
def test_running_sums_in_place_keep_their_type(name: str) -> None:
    x = torch.tensor([1, 2, 3], dtype=torch.int32)
    assert getattr(x, name)(0, dtype=torch.int32) is x and x.dtype == torch.int32 and x[1] in (2, 3)
    with pytest.raises(RuntimeError, match="Bad in-place call"):
        getattr(torch.ones(3), name)(0, dtype=torch.float64)
    leaf = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    getattr(leaf * 2, name)(0).sum().backward()
    assert leaf.grad.tolist() == {"cumsum_": [6, 4, 2], "cumprod_": [58, 28, 16]}[name]


def test_a_bound_of_clamp_may_be_a_tensor_without_dimensions_beside_a_number():
    """It counts as a number there: only its kind matters to the type of the result."""
    x = torch.tensor([-1.0, 2.0, 5.0])
    half = torch.tensor(0.5, dtype=torch.float64)
    assert torch.clamp(x, 0, x.max() / 2).tolist() == x.clamp(half - 0.5, 2.5).tolist() == [0.0, 2.0, 2.5]
    assert torch.clamp(x, half, 3).dtype is torch.float32 and torch.clamp(x.half(), 0, half).dtype is torch.float16
    assert torch.clamp(x.long(), half, 3).dtype is torch.float32 and torch.clamp(x.long(), 0, x.long().max()).tolist() == [0, 2, 5]

    def bounded(t):
        return torch.clamp(t, 0, t.max() / 2)

    y = x.clone().requires_grad_()
    torch.clamp(y, 0, x.max() / 2).sum().backward()
    assert y.grad.tolist() == [0.0, 1.0, 0.0]
    assert torch.compile(bounded)(x).tolist() == [0.0, 2.0, 2.5] and torch.jit.trace(bounded, x)(x + 1).tolist() == [0.0, 3.0, 3.0]
    with pytest.raises(TypeError, match="both"):
        torch.clamp(x, torch.tensor([0.0]), 3)
