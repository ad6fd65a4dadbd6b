"""The compiled ops of torchvision, written anew: values by hand, and gradients against finite differences."""

from __future__ import annotations

import pytest

import rushlight as torch
import rushlight.onnx
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


def test_offsets_between_pixels_reach_zeros_around_the_image() -> None:
    image = torch.arange(1.0, 10.0).reshape(1, 1, 3, 3)
    weight, bias, mask = torch.ones(1, 1, 1, 1), torch.zeros(1), torch.ones(1, 1, 3, 3)
    offset = torch.zeros(1, 2, 3, 3)
    offset[0, 0], offset[0, 1] = -0.5, 0.25
    found = ops.deform_conv2d(image, weight, offset, mask, bias, 1, 1, 0, 0, 1, 1, 1, 1, True)
    # of torchvision 0.28
    assert found[0, 0].tolist() == [[0.625, 1.125, 1.125], [2.75, 3.75, 3.375], [5.75, 6.75, 5.625]]


def test_regions_without_size_have_no_samples() -> None:
    image = torch.ones(1, 4, 4, 4)
    rois = torch.tensor([[0.0, 2.0, 2.0, 1.0, 1.0]])
    assert ops.roi_align(image, rois, 1.0, 2, 2, -1, True).sum() == 0
    assert ops.roi_align(image, torch.tensor([[0.0, -1.0, -1.0, 0.0, 0.0]]), 1.0, 1, 1, 1, False).sum() == 4
    found, _ = ops.ps_roi_align(image, rois[:, [0, 1, 2, 1, 2]], 1.0, 2, 2, -1)
    assert found.isnan().all()


def _exported(function, *args, opset=20, dynamic=None):
    names = [f"x{at}" for at in range(len(args))]
    return torch.onnx.export(function, args, None, input_names=names, dynamic_axes=dynamic, opset_version=opset, dynamo=False)


def test_exported_boxes_that_remain() -> None:
    boxes = torch.rand(20, 4) * 10
    boxes[:, 2:] += boxes[:, :2]
    program = _exported(lambda boxes, scores: scores[torch.ops.torchvision.nms(boxes, scores, 0.3)], boxes, torch.rand(20))
    assert program.model_proto.graph.output[0].type.tensor_type.shape.dim[0].dim_value == 0  # how many is not known
    for _ in range(3):
        boxes = torch.rand(20, 4) * 10
        boxes[:, 2:] += boxes[:, :2]
        scores = torch.rand(20)
        assert torch.equal(program.run(boxes, scores)[0], scores[ops.nms(boxes, scores, 0.3)])


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("ratio", [-1, 2])
def test_exported_regions(aligned: bool, ratio: int) -> None:
    image = torch.randn(2, 3, 9, 10)
    rois = torch.cat([torch.randint(0, 2, (5, 1)).float(), torch.rand(5, 4) * 8], 1)
    rois[:, 3:] += rois[:, 1:3]
    program = _exported(lambda x, r: torch.ops.torchvision.roi_align(x, r, 0.5, 3, 2, ratio, aligned), image, rois, dynamic={"x1": [0]})
    for each in (rois, torch.cat([rois, rois.flip(0)])):
        assert torch.allclose(program.run(image, each)[0], ops.roi_align(image, each, 0.5, 3, 2, ratio, aligned), atol=1e-5)
    if aligned:
        with pytest.raises(torch.onnx.errors.UnsupportedOperatorError, match="since opset 16"):
            _exported(lambda x, r: torch.ops.torchvision.roi_align(x, r, 0.5, 3, 2, ratio, True), image, rois, opset=11)
    pooled = _exported(lambda x, r: torch.ops.torchvision.roi_pool(x, r, 0.5, 3, 2)[0], image, rois)
    assert torch.equal(pooled.run(image, rois)[0], ops.roi_pool(image, rois, 0.5, 3, 2)[0])


def test_exported_deformable_convolution() -> None:
    args = torch.randn(2, 4, 7, 6), torch.randn(4, 2, 3, 2), torch.randn(2, 24, 4, 7), torch.randn(2, 12, 4, 7), torch.randn(4)
    sizes = (2, 1, 1, 1, 1, 1, 2, 2, True)
    program = _exported(lambda *given: torch.ops.torchvision.deform_conv2d(*given, *sizes), *args)
    assert torch.allclose(program.run(*args)[0], ops.deform_conv2d(*args, *sizes), atol=1e-4)
    with pytest.raises(torch.onnx.errors.UnsupportedOperatorError):
        _exported(lambda *given: torch.ops.torchvision.deform_conv2d(*given, *sizes), *args, opset=18)


def test_sizes_are_stacked_and_factors_are_tensors_in_an_export() -> None:
    def resize(image):
        """Written as for PyTorch's tracer, where sizes are tensors."""
        longest = torch.max(torch.stack([image.shape[at] for at in (-2, -1)])).to(torch.float32)
        return torch.nn.functional.interpolate(image[None], scale_factor=12.0 / longest, mode="bilinear", recompute_scale_factor=True)[0]

    program = _exported(lambda image: resize(image), torch.randn(3, 8, 6), dynamic={"x0": [1, 2]})
    for height, width in [(8, 6), (6, 12), (24, 7)]:
        image = torch.randn(3, height, width)
        factor = 12.0 / max(height, width)
        expected = torch.nn.functional.interpolate(image[None], scale_factor=factor, mode="bilinear", recompute_scale_factor=True)[0]
        assert torch.allclose(program.run(image)[0], expected, atol=1e-5)


def test_the_first_rows_of_as_many_as_data_has() -> None:
    program = _exported(lambda x: x[x > 0][:5], torch.ones(9))
    for x in (torch.ones(9), torch.tensor([1.0, -1.0, 2.0] * 3)[:9], -torch.ones(9)):
        assert torch.equal(program.run(x)[0], x[x > 0][:5])
    assert program.model_proto.graph.output[0].type.tensor_type.shape.dim[0].dim_value == 0


def test_overlap_of_rotated_boxes() -> None:
    boxes = torch.tensor([[5.0, 5.0, 4.0, 2.0, 30.0], [1.0, 1.0, 2.0, 2.0, 0.0]])
    others = torch.tensor(
        [
            [5.0, 5.0, 4.0, 2.0, 0.0],
            [6.0, 5.0, 3.0, 3.0, 45.0],
            [5.0, 5.0, 4.0, 2.0, 30.0],
            [1.0, 2.0, 2.0, 2.0, 90.0],
            [20.0, 20.0, 1.0, 1.0, 0.0],
        ]
    )
    expected = torch.tensor([[0.6233, 0.4475, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.3333, 0.0]])  # of torchvision 0.28
    assert torch.allclose(ops.box_iou_rotated(boxes, others), expected, atol=1e-4)
