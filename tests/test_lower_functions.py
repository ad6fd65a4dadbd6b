"""Functions under ``torch`` for the insides of layers, ``rearrange``, scaled products, and names that say why they are not there."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight.ao.quantization import PerAxis, PerGroup, PerTensor, get_block_size, prepare_jit
from rushlight.core.errors import NotSupported


def test_statistics_of_several_processes_make_the_batch_norm_of_all() -> None:
    torch.manual_seed(0)
    x = torch.randn(6, 3, 4, dtype=torch.float64)
    grad = torch.randn(6, 3, 4, dtype=torch.float64)
    weight, bias = torch.randn(3, dtype=torch.float64), torch.randn(3, dtype=torch.float64)
    parts = [x[:2], x[2:]]
    stats = [torch.batch_norm_stats(each, 1e-5) for each in parts]
    means, inverses = (torch.stack([each[at] for each in stats]) for at in (0, 1))
    counts = torch.tensor([8.0, 16.0], dtype=torch.float64)
    running_mean, running_var = torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    mean, inverse = torch.batch_norm_gather_stats_with_counts(x, means, inverses, running_mean, running_var, 0.1, 1e-5, counts)
    other_mean, other_var = torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    leaf = x.clone().requires_grad_()
    wanted = torch.nn.functional.batch_norm(leaf, other_mean, other_var, weight, bias, True, 0.1, 1e-5)
    wanted.backward(grad)
    made = torch.cat([torch.batch_norm_elemt(each, weight, bias, mean, inverse, 1e-5) for each in parts])
    torch.testing.assert_close(made, wanted.detach())
    torch.testing.assert_close(running_mean, other_mean)
    torch.testing.assert_close(running_var, other_var)
    grads = [grad[:2], grad[2:]]
    sums = [torch.batch_norm_backward_reduce(g, p, mean, inverse, weight, True, True, True) for g, p in zip(grads, parts)]
    dy, dy_xmu = (sum(each[at] for each in sums) for at in (0, 1))
    found = [torch.batch_norm_backward_elemt(g, p, mean, inverse, weight, dy, dy_xmu, counts) for g, p in zip(grads, parts)]
    torch.testing.assert_close(torch.cat(found), leaf.grad)


def test_rearrange_splits_orders_and_joins() -> None:
    x = torch.arange(24).reshape(2, 12)
    made = torch.func.rearrange(x, "b (h w) -> b w h", h=3)
    assert torch.equal(made, x.reshape(2, 3, 4).transpose(1, 2))
    assert torch.equal(torch.func.rearrange(x.reshape(2, 3, 4), "... c -> c ..."), x.reshape(2, 3, 4).permute(2, 0, 1))
    assert torch.func.rearrange(x, "a b -> (b a) 1").shape == (24, 1)
    with pytest.raises(ValueError, match="one side"):
        torch.func.rearrange(x, "a b -> a c")
    with pytest.raises(ValueError, match="dimensions"):
        torch.func.rearrange(x, "a b c -> a b c")


def test_scaled_products_take_scales_of_tensors_rows_and_blocks() -> None:
    torch.manual_seed(0)
    functional = torch.nn.functional
    a, b = torch.randn(4, 64).to(torch.float8_e4m3fn), torch.randn(6, 64).to(torch.float8_e4m3fn).t()
    rows, columns = torch.rand(4, 1), torch.rand(1, 6)
    kind = functional.ScalingType
    made = functional.scaled_mm(a, b, rows, kind.RowWise, columns, kind.RowWise, output_dtype=torch.float32)
    torch.testing.assert_close(made, (a.float() * rows) @ (b.float() * columns))
    left, right = torch.rand(4, 2), torch.rand(6, 2)
    made = functional.scaled_mm(a, b, left, kind.BlockWise1x32, right, kind.BlockWise1x32, output_dtype=torch.float32)
    wanted = (a.float() * left.repeat_interleave(32, 1)) @ (b.float() * right.repeat_interleave(32, 1).t())
    torch.testing.assert_close(made, wanted)


def test_block_sizes_of_granularities() -> None:
    assert get_block_size((4, 8), PerTensor()) == (4, 8) and get_block_size((4, 8), PerAxis(0)) == (1, 8)
    assert get_block_size((4, 8), PerGroup(2)) == (1, 2)


def test_kernels_of_other_libraries_say_what_to_call_instead() -> None:
    with pytest.raises(NotSupported, match="kernel of cuDNN"):
        torch.cudnn_convolution(torch.ones(1))
    with pytest.raises(NotSupported, match="eager mode"):
        prepare_jit()
    assert not torch.is_vulkan_available() and not torch.cudnn_is_acceptable(torch.ones(2))
