"""Gradients of loaded ONNX models: by differences on all of the ONNX project's cases, and compiled as in eager mode."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import onnx_cases
import onnx_derivatives
import pytest

import rushlight as torch

PAGE = Path(__file__).parent.parent / "docs" / "onnx-import.md"
COMPILED = (
    "attention averagepool batchnorm conv_with convtranspose basic_deform_conv einsum gelu gemm gridsample_bilinear gru layer_normalization lstm matmul maxpool "
    "constant_pad prelu reduce_log_sum_exp resize_upsample_scales_linear roialign rotary_embedding scatternd softmax top_k"
).split()


def test_gradients_by_differences() -> None:
    """The table of the documentation, which ``tools/onnx_conformance.py --gradients`` writes."""
    counts, others = onnx_derivatives.counted(onnx_cases.cases())
    assert others == {}
    assert "\n".join(onnx_derivatives.rows(counts)) in PAGE.read_text()


def test_gradients_where_queries_see_no_key() -> None:
    """Also by a mask that is differentiated."""
    torch.manual_seed(0)
    query, key, value = (torch.randn(1, 2, 3, 4, requires_grad=True) for _ in range(3))
    mask = torch.tensor([[0.0, -1.0, 0.5], [float("-inf")] * 3, [0.1, float("-inf"), 0.3]]).requires_grad_()
    torch.nn.functional.scaled_dot_product_attention(query, key, value, mask).square().sum().backward()
    assert mask.grad is not None and query.grad is not None
    assert mask.grad[1].tolist() == [0, 0, 0] and query.grad[0, :, 1].abs().max() == 0
    assert all(each.grad is not None and each.grad.isfinite().all() for each in (query, key, value, mask))


def first_with_gradient(beginning: str) -> tuple[Any, list[Any]]:
    """The first case of this name that has a gradient."""
    for name, case in onnx_cases.cases().items():
        if name.startswith(f"node/{beginning}") and "_expanded" not in name:
            varied = onnx_derivatives.Case(case)
            points = list(itertools.islice(varied.places(), 2))[1]
            if varied.leaves and varied.loss(points, gradient=True)[0].requires_grad:
                return varied, points
    raise AssertionError(beginning)


@pytest.mark.parametrize("beginning", COMPILED)
@pytest.mark.filterwarnings("ignore")
def test_compiled_gradients(beginning: str) -> None:
    """Native code gives the gradients of eager mode, at its second call as at its first."""
    varied, points = first_with_gradient(beginning)
    wanted = varied.gradients(points)
    compiled = torch.compile(varied.module)
    for _ in range(2):
        for one, other in zip(varied.gradients(points, compiled), wanted, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-8)
