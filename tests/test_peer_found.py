"""What PyTorch 2.15's own test files found: layouts of copies, corrections of masked variances, second gradients of products, filled memory."""

from __future__ import annotations

import math

import pytest

import rushlight as torch
from rushlight.autograd import gradcheck, gradgradcheck
from rushlight.compat.numbers import segment_reduce


def test_clone_takes_a_memory_format():
    x = torch.arange(120.0).reshape(2, 3, 4, 5)
    for device in ("cpu", "meta"):
        copied = x.to(device).clone(memory_format=torch.channels_last)
        assert copied.stride() == (60, 1, 15, 3)
    assert torch.equal(x.clone(memory_format=torch.channels_last), x)
    back = x.clone(memory_format=torch.channels_last).clone(memory_format=torch.contiguous_format)
    assert back.stride() == x.stride() and torch.equal(back, x)
    volume = x.reshape(2, 3, 2, 2, 5)
    assert volume.clone(memory_format=torch.channels_last_3d).stride() == (60, 1, 30, 15, 3)
    with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last format"):
        volume.clone(memory_format=torch.channels_last)
    assert torch.testing.make_tensor(2, 3, 4, 5, dtype=torch.uint8, device="cpu", memory_format=torch.channels_last).stride() == (
        60,
        1,
        15,
        3,
    )


@pytest.mark.parametrize("correction", [0, 1, 1.3, 2])
def test_masked_variances_take_any_correction(correction):
    x = torch.tensor([[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 7.0, 6.0]])
    assert torch.allclose(torch.masked.var(x, 1, correction=correction), torch.var(x, 1, correction=correction))
    kept = torch.masked.std(x, 1, correction=correction, mask=torch.tensor([[True, True, True, False]] * 2))
    assert torch.allclose(kept.to_tensor(0) if hasattr(kept, "to_tensor") else kept, torch.std(x[:, :3], 1, correction=correction))
    with pytest.raises(TypeError, match="Only one of unbiased and correction"):
        torch.masked.var(x, 1, unbiased=True, correction=correction)


@pytest.mark.parametrize("source", [[0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0], [2.0, 3.0, 4.0]])
@pytest.mark.parametrize("start", [1.0, 0.0])
@pytest.mark.parametrize("include_self", [True, False])
def test_second_gradients_of_products_with_zeros(source, start, include_self):
    input = torch.tensor([start, 5.0], dtype=torch.float64, requires_grad=True)
    src = torch.tensor(source, dtype=torch.float64, requires_grad=True)
    index = torch.tensor([0, 0, 0])
    for name in ("scatter_reduce", "index_reduce"):

        def product(a, b, name=name):
            return getattr(a, name)(0, index, b, "prod", include_self=include_self)

        assert gradcheck(product, (input, src)) and gradgradcheck(product, (input, src))


def test_memory_that_no_program_has_written_to_is_filled_on_demand():
    torch.use_deterministic_algorithms(True)
    try:
        assert torch.utils.deterministic.fill_uninitialized_memory is True
        assert all(math.isnan(each) for each in torch.empty(3).tolist() + torch.empty_like(torch.ones(2, dtype=torch.bfloat16)).tolist())
        assert torch.empty(2, dtype=torch.int8).tolist() == [127, 127]
        assert torch.empty_strided((2,), (2,), dtype=torch.bool).tolist() == [True, True]
        assert torch.ones(1).new_empty(2).isnan().all()
        torch.utils.deterministic.fill_uninitialized_memory = False
        assert torch.utils.deterministic.fill_uninitialized_memory is False
    finally:
        torch.utils.deterministic.fill_uninitialized_memory = True
        torch.use_deterministic_algorithms(False)


def test_errors_of_shapes_and_masks():
    with pytest.raises(ValueError, match="Attempting to broadcast a dimension with negative length"):
        torch.broadcast_shapes((-12,))
    with pytest.raises(TypeError, match="expected 'shape' to be int or sequence of ints, but got"):
        torch.unravel_index(torch.tensor(1), torch.tensor([[2]]))
    with pytest.raises(RuntimeError, match="masked_select: expected BoolTensor for mask"):
        torch.masked_select(torch.ones(2), torch.ones(2, dtype=torch.uint8))


def test_a_random_tensor_of_one_value():
    with pytest.warns(FutureWarning, match="low==high"):
        assert torch.testing.make_tensor(3, dtype=torch.bfloat16, device="cpu", low=2, high=2).tolist() == [2, 2, 2]
    with pytest.raises(ValueError, match="`noncontiguous` and `memory_format` are mutually exclusive"):
        torch.testing.make_tensor(2, 3, 4, 5, dtype=torch.uint8, device="cpu", noncontiguous=True, memory_format=torch.channels_last)


def test_results_written_to_out_have_their_names():
    x = torch.tensor([[2.0, 1.0], [0.0, 4.0]])
    values, indices = torch.empty(0), torch.empty(0, dtype=torch.int64)
    found = torch.max(x, 1, out=(values, indices))
    assert found.values is values and found.indices is indices and values.tolist() == [2, 4]
    assert torch.sort(x, out=(torch.empty(0), torch.empty(0, dtype=torch.int64))).indices.tolist() == [[1, 0], [0, 1]]
    assert torch.linalg.inv_ex(x, out=(torch.empty(0), torch.empty(0, dtype=torch.int32))).inverse.tolist() == [[0.5, -0.125], [0, 0.25]]
    assert torch.aminmax(x, out=(torch.empty(0), torch.empty(0))).max.item() == 4


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool])
def test_triangles_of_diagonals_far_away(dtype):
    x = torch.ones(2, 3, dtype=dtype)
    for far in (2**63 - 1, 2**31, -(2**31), -(2**63)):
        assert torch.equal(torch.triu(x, far), x if far < 0 else torch.zeros_like(x))
        assert torch.equal(torch.tril(x, far), x if far > 0 else torch.zeros_like(x))


def test_the_inherited_dispatch_runs_the_operator():
    class Plain(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            calls.append(func)
            return super().__torch_dispatch__(func, types, args, kwargs or {})

    calls = []
    x = torch.Tensor._make_subclass(Plain, torch.ones(2), True)
    assert (x * 2).sum().requires_grad and calls[0] is torch.ops.aten.mul.Tensor


@pytest.mark.parametrize(
    ("reduce", "expected"),
    [("sum", [3, 0, 12]), ("mean", [1.5, math.nan, 4]), ("prod", [2, 1, 60]), ("max", [2, -math.inf, 5]), ("min", [1, math.inf, 3])],
)
def test_segments_along_any_dimension(reduce, expected):
    x = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0])
    expected = torch.tensor(expected, dtype=torch.float32)
    rows = torch.stack([x, x])
    lengths = torch.tensor([2, 0, 3])
    assert torch.allclose(segment_reduce(x, reduce, lengths=lengths), expected, equal_nan=True)
    assert torch.allclose(segment_reduce(x, reduce, offsets=torch.tensor([0, 2, 2, 5])), expected, equal_nan=True)
    assert torch.allclose(
        segment_reduce(rows, reduce, lengths=torch.stack([lengths] * 2), axis=1), torch.stack([expected] * 2), equal_nan=True
    )
    assert torch.allclose(segment_reduce(rows.t(), reduce, lengths=lengths), torch.stack([expected] * 2, 1), equal_nan=True)
    leaf = x.double().requires_grad_()
    assert gradcheck(lambda data: segment_reduce(data, reduce, lengths=torch.tensor([2, 3])), leaf)


def test_lengths_of_segments_are_checked():
    x = torch.ones(5)
    with pytest.raises(RuntimeError, match="Expected all rows of lengths along axis to sum to"):
        segment_reduce(x, "sum", lengths=torch.tensor([2, 1]))
    assert segment_reduce(x, "sum", lengths=torch.tensor([2, 1]), unsafe=True).tolist() == [2, 1]
    with pytest.raises(RuntimeError, match="Either lengths or offsets must be defined"):
        segment_reduce(x, "sum")


def test_batches_of_empty_matrices_become_sparse():
    assert torch.zeros(3, 0, 6).to_sparse_csr().crow_indices().shape == (3, 1)
    assert torch.zeros(2, 4, 6, 3, 0).to_sparse_bsc((2, 3), dense_dim=2).values().shape == (2, 0, 2, 3, 3, 0)
    with pytest.raises(RuntimeError, match="to_sparse_csr: Expected product of batch dimensions to be non-zero"):
        torch.zeros(0, 4, 6).to_sparse_csr()
