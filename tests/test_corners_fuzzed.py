"""Corners that random calls found (``tools/fuzz_against_torch.py``): each test is a cause that was mended."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy
import pytest

import rushlight as torch
import rushlight.nn.functional as F

INF, NAN = float("inf"), float("nan")


# -- types of arguments ------------------------------------------------------------------------------------------

WRONG_TYPES = {
    "topk(): argument 'k' (position 2) must be int, not float": lambda x: x.topk(2.0),
    "topk(): argument 'k' (position 2) must be int, not bool": lambda x: x.topk(True),
    "sum(): argument 'dim' (position 2) must be int, not float": lambda x: x.sum(1.0),
    "one_hot(): argument 'num_classes' (position 2) must be int, not float": lambda x: F.one_hot(torch.tensor([1]), 2.0),
    "conv2d(): argument 'groups' (position 7) must be int, not float": lambda x: F.conv2d(x[None, None], x[None, None], groups=2.0),
    "gelu(): argument 'approximate' (position 2) must be str, not int": lambda x: F.gelu(x, approximate=1),
    "expand(): argument 'size' (position 2) must be tuple of ints, but found element of type float at pos 0": lambda x: x.expand(3.0, 4),
    "roll(): argument 'shifts' (position 2) must be tuple of ints, not float": lambda x: torch.roll(x, 1.0),
    "tril(): argument 'diagonal' (position 2) must be int, not float": lambda x: torch.tril(x, 1.0),
    "repeat(): argument 'repeats' (position 2) must be tuple of ints, but found element of type float at pos 0": lambda x: x.repeat(1.0, 1),
}


@pytest.mark.parametrize("message", WRONG_TYPES)
def test_an_argument_of_a_wrong_type_is_a_type_error_that_names_it(message: str) -> None:
    with pytest.raises(TypeError) as caught:
        WRONG_TYPES[message](torch.rand(3, 4))
    assert message in str(caught.value)


# -- results in tensors that are given ---------------------------------------------------------------------------

EXACT = {
    "Expected out tensor to have dtype float, but got double instead": lambda x, out: torch.mm(x, x, out=out),
    "Found dtype Double but expected Float": lambda x, out: torch.neg(x, out=out),
    "index_select(): self and result must have the same scalar type": lambda x, out: torch.index_select(x, 0, torch.tensor([0]), out=out),
    "result dtype Double does not match input dtype Float": lambda x, out: torch.dot(x[0], x[0], out=out),
    "Expected out tensor to have dtype long int, but got double instead": lambda x, out: torch.argmax(x, out=out),
    "all only supports bool tensor for result, got: Double": lambda x, out: torch.all(x, out=out),
}


@pytest.mark.parametrize("message", EXACT)
def test_out_of_another_type(message: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        EXACT[message](torch.rand(3, 3), torch.empty(0, dtype=torch.float64))
    assert message in str(caught.value)


def test_out_of_a_wider_type_where_types_are_promoted() -> None:
    out = torch.empty(0, dtype=torch.float64)
    assert torch.add(torch.ones(2), 1, out=out) is out
    assert out.tolist() == [2.0, 2.0]


# -- memory ------------------------------------------------------------------------------------------------------

COPIES = {
    "pixel_shuffle": lambda x: F.pixel_shuffle(x, 1),
    "pixel_unshuffle": lambda x: F.pixel_unshuffle(x, 1),
    "channel_shuffle": lambda x: F.channel_shuffle(x, 4),
    "repeat_interleave": lambda x: x.repeat_interleave(1, 0),
    "chain_matmul": lambda x: torch.chain_matmul(x[0, :, :, 0]),
}


@pytest.mark.parametrize("name", COPIES)
def test_a_result_that_is_no_view_has_memory_of_its_own(name: str) -> None:
    x = torch.zeros(1, 4, 1, 1)
    COPIES[name](x).fill_(1)
    assert x.eq(0).all()


# -- matrices that hold infinities -------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 4), (3, 3)])
def test_decompositions_of_infinite_matrices_end(shape: tuple[int, ...]) -> None:
    x = torch.ones(shape)
    x[..., 0, 0] = -INF
    assert torch.linalg.svdvals(x).isnan().all()
    assert torch.linalg.pinv(x).eq(0).all()
    assert torch.linalg.matrix_rank(x).eq(0).all()
    solution = torch.linalg.lstsq(x, torch.ones(*shape[:-1], 1)).solution
    assert solution.isnan().any()
    if shape[-1] == shape[-2]:
        assert torch.linalg.eigvalsh(x).isnan().all()


def test_only_the_matrices_that_hold_infinities_are_without_singular_values() -> None:
    x = torch.eye(3).repeat(2, 1, 1)
    x[1, 0, 0] = INF
    assert torch.linalg.svdvals(x)[0].eq(1).all()
    assert torch.linalg.svdvals(x)[1].isnan().all()


def test_decompositions_name_the_matrix_that_holds_nan() -> None:
    x = torch.eye(3).repeat(2, 1, 1)
    x[1, 0, 0] = NAN
    with pytest.raises(torch.linalg.LinAlgError, match=r"linalg.svd: \(Batch element 1\): .* contained non-finite values"):
        torch.linalg.svd(x)
    with pytest.raises(torch.linalg.LinAlgError, match=r"linalg.eigh: \(Batch element 1\)"):
        torch.linalg.eigh(x)


# -- odds and ends -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("drop", [F.dropout, F.alpha_dropout])
def test_dropout_of_a_tensor_without_dimensions(drop: object) -> None:
    assert drop(torch.tensor(1.0), 0.5, True).shape == ()  # type: ignore[operator]


def test_attention_of_width_zero() -> None:
    x = torch.rand(1, 2, 0)
    assert F.scaled_dot_product_attention(x, x, x).shape == (1, 2, 0)


def test_a_missing_gradient_is_an_error_of_backward() -> None:
    result = torch.geqrf(torch.rand(2, 2, requires_grad=True))
    assert result.a.requires_grad
    with pytest.raises(NotImplementedError, match="derivative for aten::geqrf is not implemented"):
        result.a.sum().backward()


def test_polynomials_of_a_degree_that_overflows() -> None:
    found = torch.special.chebyshev_polynomial_t(torch.tensor([1.9, 2.0]), torch.tensor([1e30, 2.0]))
    assert found[0].isnan()
    assert found[1] == 7


def test_view_copy_of_what_has_no_view() -> None:
    x = torch.arange(6).view(2, 3).t()
    assert torch.view_copy(x, (6,)).tolist() == [0, 3, 1, 4, 2, 5]


# -- functions of networks ---------------------------------------------------------------------------------------


def _weight(dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.rand(4, dtype=dtype, requires_grad=True)


REFUSED = {
    "Found dtype Double but expected Float": lambda x: F.binary_cross_entropy(x, x.double()),
    "Found dtype Long but expected Float": lambda x: F.binary_cross_entropy(x, x.long()),
    "all elements of target should be between 0 and 1": lambda x: F.binary_cross_entropy(x, x + 2),
    "mixed dtype (CPU): all inputs must share same datatype.": lambda x: F.layer_norm(x.double(), (4,), x[0]),
    "mixed dtype (CPU): expect parameter to have scalar type of Float": lambda x: F.group_norm(x, 2, x[0].double()),
    "'nll_loss_forward' is not differentiable with respect to argument 'weight'": lambda x: F.cross_entropy(
        x, torch.tensor([1, 2]), _weight()
    ),
    "'binary_cross_entropy' is not differentiable with respect to argument 'weight'": lambda x: F.binary_cross_entropy(x, x, _weight()),
    "'native_batch_norm' is not differentiable with respect to argument 'running_mean'": lambda x: F.batch_norm(
        x, _weight(), torch.ones(4), training=True
    ),
    "kl_div: Integral inputs not supported.": lambda x: F.kl_div(x.long(), x.long()),
    "margin_ranking_loss : All input tensors should have same dimension": lambda x: F.margin_ranking_loss(x, x, x[0]),
    "to have the same number of dimensions, but got: anchor 2D, positive 1D": lambda x: F.triplet_margin_loss(x, x[0], x),
    "index 7 is out of bounds for dimension 0 with size 4": lambda x: torch.take_along_dim(x[0], torch.tensor([7])),
    "Expected attn_mask dtype to be bool or float": lambda x: F.scaled_dot_product_attention(x, x, x, torch.ones(2, 2).long()),
    "Expected num groups to be greater than 0, got 0": lambda x: F.group_norm(x, 0),
    "offsets[-1] can not be greater than input's length 2": lambda x: F.embedding_bag(torch.tensor([0, 1]), x, torch.tensor([0, 3])),
    "Number of pivots per batch should be same": lambda x: torch.linalg.lu_solve(
        torch.eye(3), torch.ones(2, dtype=torch.int32), torch.ones(3, 1)
    ),
    "the leading minor of order 1 is not positive-definite": lambda x: torch.linalg.cholesky(torch.eye(2) * NAN),
    "argument #2 'target' is out of range": lambda x: F.multilabel_margin_loss(x, torch.full((2, 4), 4)),
}


@pytest.mark.parametrize("message", REFUSED)
def test_calls_that_are_refused(message: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        REFUSED[message](torch.rand(2, 4))
    assert message in str(caught.value)


def test_statistics_of_one_kind_alone_and_a_zero_epsilon_are_refused() -> None:
    x = torch.rand(2, 4, 3)
    with pytest.raises(ValueError, match="must either both be None or neither be None"):
        F.instance_norm(x, torch.ones(4), None)
    with pytest.raises(ValueError, match="eps must be positive during training"):
        F.batch_norm(x, None, None, training=True, eps=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_norms_of_narrow_inputs_with_wide_parameters_are_narrow(dtype: torch.dtype) -> None:
    x, weight = torch.rand(2, 4, 3).to(dtype), torch.rand(4)
    for result in (
        F.batch_norm(x, None, None, weight, weight, True), F.group_norm(x, 2, weight, weight), F.instance_norm(x, None, None, weight, weight),
        F.layer_norm(x.transpose(1, 2), (4,), weight, weight),
    ):  # fmt: skip
        assert result.dtype == dtype


def test_losses_of_bool_and_float() -> None:
    assert F.mse_loss(torch.tensor([True]), torch.tensor([0.5])) == 0.25
    assert F.cosine_similarity(torch.tensor([[True]]), torch.tensor([[0.5]])) == 1


def test_renorm_leaves_slices_without_a_norm_as_they_are() -> None:
    assert torch.renorm(torch.tensor([[1.0, NAN], [3.0, 4.0]]), 2, 0, 1.0)[0, 0] == 1


# -- other forms of a program ------------------------------------------------------------------------------------


def test_nested_results_are_compiled() -> None:
    def count(points: torch.Tensor, first: torch.Tensor, second: torch.Tensor) -> object:
        return torch.histogramdd(points, [first, second])

    points = torch.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
    edges = torch.tensor([0.0, 1.0, 2.0]), torch.tensor([0.0, 2.0])
    function = torch.compile(count)
    for _ in range(2):
        found = function(points, *edges)
        assert found.hist.tolist() == [[1.0], [2.0]]
        assert found.bin_edges[1].tolist() == [0.0, 2.0]


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_atleast_of_one_tensor_in_a_script_is_a_tensor(rank: int) -> None:
    unit = torch.jit.CompilationUnit(f"def f(x: torch.Tensor):\n    return torch.atleast_{rank}d(x)\n")
    for _ in range(2):
        assert unit.f(torch.tensor(1.0)).shape == (1,) * rank


def test_gradients_of_empty_results() -> None:
    x = torch.rand(1, 1, 3, requires_grad=True)
    F.adaptive_avg_pool1d(x, 0).sum().backward()
    assert x.grad is not None
    assert x.grad.eq(0).all()
    weight = torch.rand(2, 0, requires_grad=True)
    F.embedding_bag(torch.tensor([0]), weight, torch.tensor([0])).sum().backward()
    assert weight.grad is not None
    assert weight.grad.shape == (2, 0)


def test_fill_takes_one_value() -> None:
    with pytest.raises(RuntimeError, match="fill_ only supports 0-dimension value tensor but got tensor with 1 dimensions"):
        torch.ones(2).fill_(torch.ones(1))


def test_powers_of_narrow_integers_are_long() -> None:
    assert torch.vander(torch.tensor([2, 3], dtype=torch.uint8), 3).dtype == torch.int64


def test_graphs_answer_what_programs_ask_of_those_of_torchscript() -> None:
    def function(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.relu(a + b)

    x = torch.rand(2, 2)
    graph = torch.jit.trace(function, (x, x)).graph
    assert len(list(graph.inputs())) == 2
    assert [node.kind() for node in graph.nodes()] == ["prim::Constant", "aten::add", "aten::relu"]  # the constant is alpha
    assert [value.node().kind() for value in graph.outputs()] == ["aten::relu"]
    first = graph.findNode("aten::add")
    assert first is not None
    assert first.inputsSize() == 3
    assert str(first.output().type()) == "Tensor"
    assert first.output().type().str() == "Float(2, 2, strides=[2, 1], requires_grad=0, device=cpu)"
    assert list(graph.nodes)[0].kind() == "prim::Param"


def test_histogramdd_of_points_in_several_dimensions() -> None:
    points = torch.arange(24.0).reshape(2, 3, 4) % 5
    whole = torch.histogramdd(points.reshape(6, 4), [2, 2, 2, 2])
    assert torch.histogramdd(points, [2, 2, 2, 2]).hist.equal(whole.hist)


def test_elements_that_are_not_used_do_not_stop_an_export() -> None:
    class Printing(torch.nn.Module):
        def __init__(self, used: bool) -> None:
            super().__init__()
            self.used = used

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            elements = x.tolist()
            text = f"{elements} {x}"
            return x * (elements[0] if self.used else 2.0) + len(text) * 0

    file = io.BytesIO()
    torch.onnx.export(Printing(False), (torch.ones(2),), file, dynamo=False)
    assert file.getvalue()
    with pytest.raises(torch.onnx.OnnxExporterError, match="tolist"):
        torch.onnx.export(Printing(True), (torch.ones(2),), io.BytesIO(), dynamo=False)


# -- what the mutation check found untested ----------------------------------------------------------------------


def test_poisson_loss_of_rates_and_of_small_counts() -> None:
    rates, counts = torch.tensor([0.5, 2.0, 3.0]), torch.tensor([1.0, 2.0, 4.0])
    plain = rates - counts * (rates + 1e-8).log()
    assert torch.allclose(F.poisson_nll_loss(rates, counts, log_input=False, reduction="none"), plain)
    stirling = [0.0, *(k * math.log(k) - k + 0.5 * math.log(2 * k * math.pi) for k in (2, 4))]  # of counts above 1 alone
    found = F.poisson_nll_loss(rates, counts, log_input=False, full=True, reduction="none")
    assert torch.allclose(found, plain + torch.tensor(stirling))


def test_gaussian_loss_holds_small_variances_and_passes_their_gradient() -> None:
    variance = torch.tensor([0.0, 4.0], requires_grad=True)
    loss = F.gaussian_nll_loss(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 0.0]), variance, eps=0.5, reduction="none")
    assert torch.allclose(loss.detach(), torch.tensor([0.5 * (math.log(0.5) + 1 / 0.5), 0.5 * (math.log(4.0) + 1.0)]))
    (gradient,) = torch.autograd.grad(loss.sum(), variance)
    assert torch.allclose(gradient, torch.tensor([0.5 * (1 / 0.5 - 1 / 0.25), 0.5 * (1 / 4 - 4 / 16)]))


def test_gradient_of_xlogy_where_factors_are_zero() -> None:
    x = torch.tensor([0.0, 0.0, 2.0], requires_grad=True)
    torch.xlogy(x, torch.tensor([0.0, 3.0, 3.0])).sum().backward()
    assert torch.allclose(x.grad, torch.tensor([0.0, math.log(3.0), math.log(3.0)]))  # type: ignore[arg-type]


# -- half precision: where PyTorch rounds once ---------------------------------------------------------------------


def halves(*shape: int, start: float = 1.0) -> torch.Tensor:
    count = math.prod(shape)
    return (torch.sin(torch.arange(count, dtype=torch.float32) * 1.7 + start) * 3).reshape(shape).to(torch.bfloat16)


def test_attention_in_half_precision_is_rounded_once_forwards_and_backwards() -> None:
    query, key, value = (halves(1, 3, 4, start=start).requires_grad_() for start in (1.0, 2.0, 3.0))
    F.scaled_dot_product_attention(query, key, value).sum().backward()
    assert query.grad.tolist() == [  # type: ignore[union-attr]
        [
            [0.00482177734375, 0.005035400390625, -0.00604248046875, -0.0034637451171875],
            [0.01300048828125, 0.01361083984375, -0.016357421875, -0.0093994140625],
            [0.05224609375, 0.052001953125, -0.06494140625, -0.03515625],
        ]
    ]


def test_gradients_of_products_with_a_batch_sum_over_it_before_they_are_rounded() -> None:
    matrix, left, right = halves(2, 3).requires_grad_(), halves(5).requires_grad_(), halves(5).requires_grad_()
    (matrix @ halves(7, 3, 4, start=2.0)).backward(halves(7, 2, 4, start=0.5))
    (left @ halves(6, 5, 3)).backward(halves(6, 3, start=0.3))
    (halves(6, 3, 5) @ right).backward(halves(6, 3, start=0.3))
    assert matrix.grad.tolist() == [[-67.5, -61.5, -39.5], [-55.5, -67.5, -62.0]]  # type: ignore[union-attr]
    assert left.grad.tolist() == [-3.328125, 19.375, 18.0, -5.75, -22.375]  # type: ignore[union-attr]
    assert right.grad.tolist() == [-9.5625, -14.8125, 13.4375, 11.375, -16.375]  # type: ignore[union-attr]


def test_the_factor_of_renorm_is_computed_in_single_precision() -> None:
    assert torch.renorm(halves(4, 5), 2, 0, 1.0)[:2].tolist() == [
        [0.5, 0.25390625, -0.56640625, -0.1083984375, 0.59375],
        [-0.05078125, -0.6640625, 0.2216796875, 0.60546875, -0.376953125],
    ]


# -- numbers of NumPy, and tensors without dimensions, for numbers -------------------------------------------------


def test_addr_computes_in_the_common_type_of_its_three_tensors() -> None:
    found = torch.addr(torch.tensor([[2]]), torch.tensor([-1]), torch.tensor([4.0], dtype=torch.float16), beta=0.5)
    assert found.dtype == torch.float16 and found.tolist() == [[-3.0]]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: torch.pdist(x, numpy.float64(0.5)),
        lambda x: torch.cdist(x, x + 1, numpy.float64(3)),
        lambda x: torch.norm(x, numpy.float64(3)),
        lambda x: torch.dist(x, x + 1, numpy.float64(3)),
        lambda x: torch.lerp(x, x + 1, numpy.float64(0.25)),
        lambda x: torch.linalg.vector_norm(x, numpy.int64(3)),
        lambda x: torch.quantile(x, numpy.float32(0.5)),
        lambda x: torch.nn.LayerNorm(numpy.int64(2))(x),
    ],
)
def test_a_number_of_numpy_does_not_change_the_type_of_a_result(call: Any) -> None:
    assert call(torch.arange(6.0).reshape(3, 2)).dtype == torch.float32


def test_sizes_and_counts_may_be_tensors_and_numbers_of_numpy() -> None:
    two, image = torch.tensor(2), torch.arange(16.0).reshape(1, 1, 4, 4)
    assert F.avg_pool2d(image, two).shape == F.max_pool2d(image, two, stride=(two, numpy.int64(2))).shape == (1, 1, 2, 2)
    assert F.adaptive_avg_pool1d(image[0], two).shape == F.adaptive_max_pool1d(image[0], two).shape == (1, 4, 2)
    assert [len(each) for each in torch.tensor_split(torch.ones(5), numpy.int64(2))] == [3, 2]
    assert [len(each) for each in torch.hsplit(torch.ones(4), numpy.int64(2))] == [2, 2]
    assert torch.repeat_interleave(torch.ones(2), numpy.int64(2)).shape == (4,)
    assert torch.addmv(torch.tensor([1]), torch.tensor([[2]]), torch.tensor([3]), alpha=torch.tensor(3)).tolist() == [19]
    assert torch.histogram(torch.arange(3.0)).bin_edges.shape == (101,)


def test_old_switches_of_losses_are_read_as_truth_values() -> None:
    x, zero = torch.tensor([1.0, 3.0]), torch.zeros(2)
    assert F.mse_loss(x, zero, torch.tensor([0.5])).item() == 5.0  # type: ignore[arg-type]
    assert F.mse_loss(x, zero, reduce=0).tolist() == [1.0, 9.0]  # type: ignore[arg-type]
    assert F.mse_loss(x, zero, size_average=0).item() == 10.0  # type: ignore[arg-type]


# -- memory of results --------------------------------------------------------------------------------------------


def test_matrices_of_lapack_lie_column_by_column_and_vectors_do_not() -> None:
    matrices = torch.eye(3).expand(2, 3, 3) * 2 + torch.arange(3.0)
    factor = torch.linalg.cholesky(matrices @ matrices.mT + torch.eye(3))
    assert torch.linalg.svd(matrices).S.stride() == torch.linalg.eigvalsh(factor).stride() == torch.geqrf(matrices).tau.stride() == (3, 1)
    assert torch.cholesky_inverse(factor[0]).stride() == torch.cholesky_solve(matrices[0], factor[0]).stride() == (1, 3)
    assert torch.allclose(torch.cholesky_inverse(factor[0]) @ factor[0] @ factor[0].mT, torch.eye(3), atol=1e-4)


def test_places_that_are_not_zero_lie_dimension_by_dimension() -> None:
    x = torch.tensor([[1, 0, 2], [0, 3, 4]])
    assert x.nonzero().stride() == torch.argwhere(x).stride() == (1, 4)
    assert [each.stride() for each in x.nonzero(as_tuple=True)] == [(1,), (1,)]


def test_a_rotation_is_a_transposed_copy_and_copies_of_views_share_nothing() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    assert torch.rot90(x).stride() == torch.rot90(x, 3).stride() == (1, 3) and torch.rot90(x).tolist() == [[2, 5], [1, 4], [0, 3]]
    assert torch.as_strided_copy(x, (2, 2), (1, 2)).stride() == (2, 1)
    one = torch.ones(1)
    torch.view_copy(one, ()).fill_(2)
    assert one.item() == 1


# -- forward mode, complex numbers ---------------------------------------------------------------------------------


def test_the_tangent_of_an_embedding_is_not_scaled_by_frequencies() -> None:
    with torch.autograd.forward_ad.dual_level():
        table = torch.autograd.forward_ad.make_dual(torch.zeros(3, 1), torch.tensor([[1.0], [2.0], [3.0]]))
        found = F.embedding(torch.tensor([1, 1, 2]), table, scale_grad_by_freq=True)
        assert torch.autograd.forward_ad.unpack_dual(found).tangent.tolist() == [[2.0], [2.0], [3.0]]  # type: ignore[union-attr]


def test_masked_normalize_of_complex_numbers() -> None:
    found = torch.masked.normalize(torch.tensor([3 + 4j, 0j, 5j]), 2.0, 0, mask=torch.tensor([True, True, False]))
    assert found.tolist() == [pytest.approx(0.6 + 0.8j), 0j, 0j]


# -- losses and bags in half precision ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype, huber, smooth",
    [
        (
            torch.bfloat16,
            [0.0206298828125, 1.7734375, 0.1494140625, 1.671875, 0.62109375],
            [0.006256103515625, 1.2421875, 0.04541015625, 1.1328125, 0.2333984375],
        ),
        (
            torch.float16,
            [0.021026611328125, 1.765625, 0.144287109375, 1.6689453125, 0.6240234375],
            [0.00637054443359375, 1.248046875, 0.043701171875, 1.1328125, 0.2333984375],
        ),
    ],
)
def test_losses_of_half_precision_are_pytorchs_to_the_last_digit(dtype: Any, huber: list[float], smooth: list[float]) -> None:
    values, targets = ((torch.sin(torch.arange(5, dtype=torch.float32) * 1.7 + start) * 3).to(dtype) for start in (1.0, 2.0))
    assert F.huber_loss(values, targets, reduction="none", delta=0.7).tolist() == huber
    assert F.smooth_l1_loss(values, targets, reduction="none", beta=3.3).tolist() == smooth


def test_means_of_bags_in_half_precision_are_rounded_once() -> None:
    found = F.embedding_bag(torch.tensor([0, 1, 2, 3, 3, 1]), halves(4, 2), torch.tensor([0, 3]), mode="mean")
    assert found.tolist() == [[0.890625, 0.1689453125], [-2.921875, 0.474609375]]


# -- what PyTorch refuses ------------------------------------------------------------------------------------------

SENSELESS = {
    "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got 3D.": (
        RuntimeError,
        lambda: torch.linalg.norm(torch.ones(2, 2, 2), "fro"),
    ),
    "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = 2": (
        RuntimeError,
        lambda: F.prelu(torch.ones(2, 3), torch.ones(3, 1)),
    ),
    "Expected floating point type for target with class probabilities, got ComplexFloat": (
        RuntimeError,
        lambda: F.cross_entropy(torch.ones(2, 3), torch.ones(2, 3, dtype=torch.complex64)),
    ),
    "Unknown Complex ScalarType for Long": (RuntimeError, lambda: torch.int64.to_complex()),
    "integer": (TypeError, lambda: torch.ones((torch.tensor(3.0), 4))),  # type: ignore[arg-type]
    "triu(): argument 'diagonal' (position 2) must be int, not NoneType": (TypeError, lambda: torch.triu(torch.ones(2, 2), None)),  # type: ignore[arg-type]
    "one_hot(): argument 'num_classes' (position 2) must be int, not NoneType": (
        TypeError,
        lambda: F.one_hot(torch.tensor([1]), None),  # type: ignore[arg-type]
    ),
    "eigvalsh(): argument 'UPLO' (position 2) must be str, not NoneType": (
        TypeError,
        lambda: torch.linalg.eigvalsh(torch.ones(1, 1), UPLO=None),  # type: ignore[arg-type]
    ),
    "mm(): argument 'mat2' (position 2) must be Tensor, not NoneType": (TypeError, lambda: torch.mm(torch.ones(2, 2), None)),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("message", SENSELESS)
def test_what_has_no_meaning_is_refused_by_pytorchs_class_of_error(message: str) -> None:
    kind, call = SENSELESS[message]
    with pytest.raises(kind) as caught:
        call()
    assert message in str(caught.value)


def test_a_tensor_without_dimensions_counts_less_in_block_diag() -> None:
    assert torch.block_diag(torch.tensor(-1.3), torch.ones(1, 1, dtype=torch.float16)).dtype == torch.float16
    assert torch.block_diag(torch.tensor([1, 2]), torch.tensor(1.5)).dtype == torch.float32
