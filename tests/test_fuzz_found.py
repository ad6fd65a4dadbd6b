"""What random calls and programs have found, each as PyTorch 2.13 has it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch
import rushlight.nn.functional as F

INF, NAN = math.inf, math.nan


def gradients(function: Callable[..., Any], *values: Any) -> list[Any]:
    leaves = [torch.tensor(each).requires_grad_() for each in values]
    found: Any = torch.autograd.grad(function(*leaves).sum(), leaves)
    return [each.tolist() for each in found]


def test_a_rest_of_zero_has_the_sign_of_the_dividend() -> None:
    for function in (torch.remainder, torch.compile(torch.remainder)):
        for _ in range(2):
            rest = function(torch.tensor([-3.0, 3.0, -0.0, 3.0]), torch.tensor([3.0, 3.0, 3.0, -3.0]))
            assert torch.signbit(rest).tolist() == [True, False, True, False]


def test_integers_without_elements_are_divided_by_zero() -> None:
    none = torch.zeros(0, dtype=torch.long)
    assert (none % 0).shape == (none // 0).shape == none.fmod(0).shape == (0,)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        torch.tensor([1]) % 0


def test_gradients_at_edges() -> None:
    assert gradients(lambda x: torch.div(x, x, rounding_mode="trunc").sigmoid(), [0.0, 1.0]) == [[0.0, 0.0]]
    assert gradients(lambda x: F.huber_loss(x, torch.zeros(2)), [INF, 1.0]) == [[0.5, 0.5]]
    assert gradients(lambda x: F.smooth_l1_loss(x, torch.zeros(2)), [INF, 1.0]) == [[0.5, 0.5]]
    assert gradients(torch.prelu, [-1.0, 1.0], [INF]) == [[INF, 1.0], [-1.0]]
    assert gradients(torch.logit, [-0.0, 0.0]) == [[INF, INF]]
    found = gradients(F.binary_cross_entropy, [0.0, 1.0], [1.0, 1.0])[1]
    assert found == [INF, -INF]
    assert math.isnan(gradients(lambda x: F.huber_loss(x, torch.zeros(1)), [NAN])[0][0])


def test_values_at_infinity() -> None:
    x, y = torch.tensor([complex(INF, 1), 1j]), torch.tensor([1j, 1j])
    assert torch.dist(x, y) == INF and torch.linalg.vector_norm(x, dim=0) == INF and torch.linalg.vector_norm(x.reshape(1, 2), dim=1) == INF
    assert F.gaussian_nll_loss(torch.ones(1), torch.ones(1), torch.tensor([INF]), True) == INF


def test_types_of_losses() -> None:
    x, y = torch.randn(3, dtype=torch.float64), torch.rand(3)
    assert F.binary_cross_entropy_with_logits(x, y).dtype is torch.float32
    assert F.huber_loss(y.half(), y).dtype is torch.float16
    with pytest.raises(RuntimeError, match="can't be cast"):
        F.binary_cross_entropy_with_logits(y, torch.ones(3, dtype=torch.long))


def test_linear_algebra_lies_as_lapack_leaves_it() -> None:
    a = torch.randn(3, 3, dtype=torch.float64)
    a = a @ a.T + 3 * torch.eye(3, dtype=torch.float64)
    for made in (
        torch.linalg.cholesky(a),
        torch.linalg.inv(a),
        *torch.linalg.qr(a),
        torch.linalg.eigh(a)[1],
        torch.linalg.lu_factor(a)[0],
        torch.linalg.svd(a)[0],
    ):
        assert made.stride() == (1, 3)
    with pytest.raises(NotImplementedError):
        torch.linalg.cholesky(a.half())


def test_windows() -> None:
    assert F.conv2d(torch.randn(1, 3, 7, 5), torch.randn(2, 3, 2, 4), padding="same").is_contiguous()
    assert F.conv_transpose1d(torch.randn(3, 4, 2), torch.randn(4, 2, 1), padding=1, groups=2).shape == (3, 4, 0)


def test_defaults_of_activations() -> None:
    x = torch.tensor([-1.0, 2.0])
    assert (
        torch.equal(torch.celu(x), torch.celu(x, 1.0))
        and torch.equal(F.elu(x), F.elu(x, 1.0))
        and not torch.equal(torch.celu(x), torch.celu(x, 2.0))
    )


def test_a_write_to_memory_that_is_not_dense() -> None:
    y = torch.arange(18.0).reshape(3, 3, 2).permute(1, 2, 0)
    wanted = y.clone()
    wanted[0] *= 2
    assert y.index_add_(0, torch.tensor([0]), y[:1].detach()).equal(wanted)
    with pytest.raises(RuntimeError, match="single memory location"):
        dense = torch.randn(3, 2)
        dense.index_add_(0, torch.tensor([0]), dense[:1])


def test_gradients_of_products_with_zeros() -> None:
    index = torch.tensor([0, 0, 1, 2, 2])
    found = gradients(lambda a, s: a.scatter_reduce(0, index, s, "prod"), [0.0, 2.0, 0.0], [3.0, 4.0, 0.0, 0.0, 5.0])
    assert found == [[12.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0, 0.0]]
    found = gradients(lambda a, s: a.scatter_reduce(0, index, s, "prod"), [0.0, 2.0, 1.0], [3.0, 4.0, 7.0, 0.0, 5.0])
    assert found == [[12.0, 7.0, 0.0], [0.0, 0.0, 2.0, 5.0, 0.0]]
    assert gradients(torch.special.xlog1py, [0.0, 0.0, 1.0], [-1.0, 2.0, 0.0])[0] == pytest.approx([0.0, math.log(3), 0.0])


def test_gradients_of_powers_at_edges() -> None:
    base, exponent = gradients(torch.pow, [0.0, 0.0, -2.0, 0.0, 2.0], [0.0, -1.0, 2.0, 2.0, 3.0])
    assert base == [0.0, -INF, -4.0, 0.0, 12.0]
    assert exponent[:2] == [0.0, -INF] and math.isnan(exponent[2]) and exponent[3] == 0 and exponent[4] == pytest.approx(8 * math.log(2))
    (found,) = gradients(lambda e: torch.pow(0.0, e), [2.0, 0.0, -1.0])  # a number as the base
    assert found == [0.0, 0.0, -INF]
    (found,) = gradients(lambda e: torch.pow(-2.0, e), [2.0])
    assert math.isnan(found[0])
    (found,) = gradients(lambda e: torch.pow(3.0, e), [2.0])
    assert found[0] == pytest.approx(9 * math.log(3))
    assert torch.pow(torch.tensor([-1, -1, 1, 2, 0]), torch.tensor([-3, -2, -5, -1, -1])).tolist() == [-1, 1, 1, 0, 0]


def test_gradients_of_nothing_are_refused() -> None:
    with pytest.raises(RuntimeError, match="cannot be empty"):
        torch.autograd.grad(torch.ones(1).requires_grad_() * 2, [])


def test_one_divisor_of_zero_among_integers() -> None:
    for mode in ("trunc", "floor"):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            torch.div(torch.tensor([4, 6]), torch.tensor([2, 0]), rounding_mode=mode)


def test_lanczos_takes_align_corners_false_and_refuses_true() -> None:
    x = torch.arange(35.0).reshape(1, 1, 5, 7)
    options = {"size": (3, 4), "mode": "lanczos", "antialias": True}
    assert torch.equal(F.interpolate(x, **options, align_corners=False), F.interpolate(x, **options))
    with pytest.raises(ValueError, match="does not support align_corners=True"):
        F.interpolate(x, **options, align_corners=True)


def test_truncated_normal_numbers_of_a_meta_tensor() -> None:
    found = torch.nn.init.trunc_normal_(torch.empty(3, device="meta"))
    assert found.is_meta and found.shape == (3,)


def test_results_in_given_tensors_have_names() -> None:
    x, values, indices = torch.rand(3, 3), torch.empty(0), torch.empty(0, dtype=torch.long)
    for function in (torch.max, torch.sort, torch.kthvalue, torch.cummin):
        found = function(x, 1, out=(values.resize_(0), indices.resize_(0)))
        assert isinstance(found, tuple) and found.values is values and found.indices is indices
    parts = torch.linalg.qr(x, out=(torch.empty(0), torch.empty(0)))
    torch.testing.assert_close(parts.Q @ parts.R, x)


def test_limits_of_types_are_compared_by_type() -> None:
    assert torch.finfo(torch.float16) == torch.finfo(torch.float16) != torch.finfo(torch.float32)
    assert torch.iinfo(torch.int8) == torch.iinfo(torch.int8) != torch.iinfo(torch.uint8)


def test_what_dlpack_does_not_take() -> None:
    with pytest.raises(BufferError, match="layout other than torch.strided"):
        torch.eye(2).to_sparse().__dlpack__()
    with pytest.raises(BufferError, match="QUInt/QInt types are not supported"):
        torch.quantize_per_tensor(torch.ones(2), 0.1, 10, torch.qint8).__dlpack__()
    with pytest.raises(TypeError, match="stream must be"):
        torch.ones(2).__dlpack__(stream=object())


@pytest.mark.parametrize(("name", "gates"), [("rnn_tanh", 1), ("rnn_relu", 1), ("gru", 3), ("lstm", 4)])
def test_recurrent_networks_refuse_empty_sequences_and_several_dtypes(name: str, gates: int) -> None:
    def run(length: int, hidden: Any, weight: Any) -> Any:
        hx = torch.ones(1, 2, 3, dtype=hidden)
        weights = [torch.ones(3 * gates, 3), torch.ones(3 * gates, 3, dtype=weight)]
        return getattr(torch, name)(torch.ones(length, 2, 3), (hx, hx) if gates == 4 else hx, weights, False, 1, 0.0, False, False, False)

    assert run(1, torch.float32, torch.float32)[0].shape == (1, 2, 3)
    with pytest.raises(RuntimeError, match="Expected sequence length to be larger than 0 in RNN"):
        run(0, torch.float32, torch.float32)
    for hidden, weight in ((torch.float32, torch.int64), (torch.float32, torch.float64), (torch.float64, torch.float32)):
        with pytest.raises(RuntimeError, match="dtype"):
            run(1, hidden, weight)


def test_the_margin_of_whole_numbers_is_a_float() -> None:
    ones = torch.ones(2, dtype=torch.int64)
    assert F.margin_ranking_loss(ones, ones, ones, 1, reduction="none").tolist() == [1.0, 1.0]
    assert F.margin_ranking_loss(ones, ones, ones).dtype == torch.float32


def test_wrong_offsets_spacings_and_sizes_are_refused() -> None:
    for dtype in (torch.float32, torch.complex64):
        with pytest.raises(RuntimeError, match="scalar types: Long, Int"):
            F.embedding_bag(torch.tensor([0]), torch.ones(1, 1), torch.zeros(1, dtype=dtype))
    with pytest.raises(RuntimeError, match="each element of spacing to have one dimension"):
        torch.gradient(torch.ones(3, 3), spacing=(torch.tensor(1.0), torch.arange(3.0)))
    assert torch.fft.rfftfreq(-3).shape == (0,)
    with pytest.raises(RuntimeError, match="negative dimension -1"):
        torch.fft.rfftfreq(-5)
