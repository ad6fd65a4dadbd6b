"""The compiled ops of torchvision, written anew: values by hand, and gradients against finite differences."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight.compat import torchvision_ops as ops
from rushlight.core.errors import NotSupported


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def test_the_library_is_provided_and_others_are_refused() -> None:
    torch.ops.load_library("/anywhere/site-packages/torchvision/_C_stable.so")
    boxes = torch.tensor([[0.0, 0.0, 10.0, 10.0], [1.0, 1.0, 11.0, 11.0], [20.0, 20.0, 30.0, 30.0]])
    assert torch.ops.torchvision.nms(boxes, torch.tensor([0.5, 0.9, 0.1]), 0.5).tolist() == [1, 2]
    assert torch.ops.torchvision._cuda_version() == -1
    for kind in (OSError, NotSupported):
        with pytest.raises(kind, match="link with its C\\+\\+ libraries"):
            torch.ops.load_library("/anywhere/site-packages/torch_scatter/_C.so")


def test_nms() -> None:
    boxes = torch.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.9], [5.0, 5.0, 6.0, 6.0], [0.0, 1.0, 2.0, 3.0]])
    scores = torch.tensor([0.8, 0.9, 0.3, 0.7])
    assert ops.nms(boxes, scores, 0.5).tolist() == [1, 3, 2] and ops.nms(boxes, scores, 0.2).tolist() == [1, 2]
    assert ops.nms(torch.zeros(0, 4), torch.zeros(0), 0.5).tolist() == []
    with pytest.raises(RuntimeError, match="4 columns"):
        ops.nms(torch.zeros(3, 5), torch.zeros(3), 0.5)


def test_roi_align_of_a_plane_is_exact() -> None:
    y, x = torch.meshgrid(torch.arange(8.0), torch.arange(8.0), indexing="ij")
    plane = (2 * y + 3 * x)[None, None]
    rois = torch.tensor([[0.0, 1.0, 2.0, 5.0, 6.0]])  # x1 y1 x2 y2
    found = ops.roi_align(plane, rois, 1.0, 2, 2, 2, False)
    assert torch.allclose(found[0, 0], torch.tensor([[2 * 3 + 3 * 2.0, 2 * 3 + 3 * 4.0], [2 * 5 + 3 * 2.0, 2 * 5 + 3 * 4.0]]))
    shifted = ops.roi_align(plane, rois, 1.0, 2, 2, -1, True)
    assert torch.allclose(shifted, found - 2.5)


def test_roi_pool_takes_the_largest_pixels() -> None:
    image = torch.arange(36.0).reshape(1, 1, 6, 6)
    found, places = ops.roi_pool(image, torch.tensor([[0.0, 0.0, 0.0, 3.0, 3.0]]), 1.0, 2, 2)
    assert found[0, 0].tolist() == [[7, 9], [19, 21]] and places[0, 0].tolist() == [[7, 9], [19, 21]] and places.dtype is torch.int32
    grad = ops._roi_pool_backward(torch.ones(1, 1, 2, 2), torch.tensor([[0.0, 0.0, 0.0, 3.0, 3.0]]), places, 1.0, 2, 2, 1, 1, 6, 6)
    assert grad.flatten().nonzero().flatten().tolist() == [7, 9, 19, 21]


def test_every_bin_has_channels_of_its_own() -> None:
    image = torch.arange(4.0).reshape(1, 4, 1, 1).expand(1, 4, 6, 6)
    rois = torch.tensor([[0.0, 0.0, 0.0, 4.0, 4.0]])
    for pool in (lambda: ops.ps_roi_pool(image, rois, 1.0, 2, 2), lambda: ops.ps_roi_align(image, rois, 1.0, 2, 2, 2)):
        found, mapping = pool()
        assert found[0, 0].tolist() == [[0, 1], [2, 3]] and mapping[0, 0].tolist() == [[0, 1], [2, 3]]


def test_deform_conv2d_without_offsets_is_a_convolution() -> None:
    x, weight, bias = torch.randn(2, 4, 7, 6), torch.randn(6, 2, 3, 3), torch.randn(6)
    offset = torch.zeros(2, 2 * 9, 4, 3)
    found = ops.deform_conv2d(x, weight, offset, torch.zeros(2, 0), bias, 2, 2, 1, 1, 1, 1, 2, 1, False)
    assert torch.allclose(found, torch.nn.functional.conv2d(x, weight, bias, 2, 1, groups=2), atol=1e-5)
    halved = ops.deform_conv2d(x, weight, offset, torch.full((2, 9, 4, 3), 0.5), torch.zeros(6), 2, 2, 1, 1, 1, 1, 2, 1, True)
    assert torch.allclose(halved * 2 + bias.reshape(1, -1, 1, 1), found, atol=1e-4)


def test_gradients() -> None:
    x = torch.randn(1, 2, 5, 5, dtype=torch.float64, requires_grad=True)
    rois = torch.tensor([[0.0, 0.3, 0.7, 3.2, 4.1]], dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda each: ops.roi_align(each, rois, 1.0, 2, 2, 2, True), (x,))
    offset = (torch.rand(1, 8, 4, 4, dtype=torch.float64) * 0.6 + 0.2).requires_grad_()
    weight = torch.randn(2, 2, 2, 2, dtype=torch.float64, requires_grad=True)
    bias, mask = torch.zeros(2, dtype=torch.float64), torch.ones(1, 4, 4, 4, dtype=torch.float64)
    sizes = (1, 1, 0, 0, 1, 1, 1, 1, True)
    assert torch.autograd.gradcheck(lambda a, b, c: ops.deform_conv2d(a, b, c, mask, bias, *sizes), (x, weight, offset))
    out = ops.deform_conv2d(x, weight, offset, mask, bias, *sizes)
    wanted = torch.autograd.grad(out.sum(), (x, weight, offset))
    given = ops._deform_conv2d_backward(torch.ones_like(out), x, weight, offset, mask, bias, *sizes)
    assert all(torch.allclose(one, other) for one, other in zip(wanted, given))
