"""Kernels of our own on CUDA against the CPU: layouts and sizes that choose between them, and what another library reads of theirs."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rushlight as torch
from rushlight.testing import assert_close

F = torch.nn.functional


def both(function: Any, *tensors: Any, rtol: float = 2e-4, atol: float = 2e-5) -> None:
    """A function's results and gradients on CUDA are those of the CPU; tensors keep their layouts.

    Called again and again, since launches of a call are kept and repeated.
    """
    outcomes = []
    for place in ("cpu", "cuda", "cuda", "cuda", "cuda"):
        leaves = [each.detach().to(place).requires_grad_(each.is_floating_point()) for each in tensors]
        made = function(*leaves)
        results = list(made) if isinstance(made, (tuple, list)) else [made]
        torch.manual_seed(1)
        wanted = [each for each in results if each.requires_grad]
        grads = torch.autograd.grad(wanted, [each for each in leaves if each.requires_grad], [torch.cos(each.detach()) for each in wanted])
        outcomes.append([each.detach().cpu() for each in (*results, *grads)])
    for outcome in outcomes[1:]:
        for one, other in zip(outcomes[0], outcome, strict=True):
            assert_close(other, one, rtol=rtol, atol=atol, check_stride=False)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(("channels", "filters", "kernel", "stride", "padding", "dilation", "groups"), [
    (4, 6, 3, 1, 1, 1, 1), (4, 8, 1, 1, 0, 1, 1), (6, 6, 3, 2, 1, 1, 6), (8, 4, 3, 1, 2, 2, 2), (3, 16, 5, 3, 0, 1, 1),
])  # fmt: skip
def test_convolution(last: bool, channels: int, filters: int, kernel: int, stride: int, padding: int, dilation: int, groups: int) -> None:
    image, weight = torch.randn(3, channels, 13, 11), torch.randn(filters, channels // groups, kernel, kernel) / kernel / channels**0.5
    if last:
        image = image.contiguous(memory_format=torch.channels_last)
    both(lambda x, w, b: F.conv2d(x, w, b, stride, padding, dilation, groups), image, weight, torch.randn(filters))
    back = torch.randn(channels, filters // groups, kernel, kernel) / kernel / channels**0.5  # results of about 1
    both(lambda x, w: F.conv_transpose2d(x, w, None, stride, padding, 0, groups, dilation), image, back)


def test_convolution_in_one_and_three_dimensions_and_benchmark() -> None:
    both(lambda x, w: F.conv1d(x, w, padding=1), torch.randn(2, 4, 17), torch.randn(6, 4, 3))
    both(lambda x, w: F.conv3d(x, w, padding=1), torch.randn(2, 3, 5, 6, 7), torch.randn(4, 3, 3, 3, 3))
    with torch.backends.cudnn.flags(benchmark=True, allow_tf32=False):
        both(lambda x, w: F.conv2d(x, w, padding=1), torch.randn(2, 4, 9, 9), torch.randn(5, 4, 3, 3))
    with torch.backends.cudnn.flags(deterministic=True, allow_tf32=False):
        both(lambda x, w: F.conv2d(x, w, padding=1), torch.randn(2, 4, 9, 9), torch.randn(5, 4, 3, 3))


@pytest.mark.parametrize("n", [1, 3, 32, 100, 1000, 1024, 4097, 8192, 16384, 20000])
def test_rows(n: int) -> None:
    rows = torch.randn(5, n)
    both(lambda x: F.softmax(x, -1), rows)
    both(lambda x: F.log_softmax(x, -1), rows)
    both(lambda x: F.softmax(x[1:], -1), rows)  # addresses that are not aligned
    if n > 1:
        both(lambda x, w, b: F.layer_norm(x, (n,), w, b), rows, torch.randn(n), torch.randn(n), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    "function", [lambda x: F.softmax(x, -1) ** 2, lambda x: F.log_softmax(x, -1) ** 2, lambda x: F.max_pool1d(x, 2) ** 3]
)
def test_second_derivatives(function: Any) -> None:
    def second(x: torch.Tensor) -> torch.Tensor:
        (first,) = torch.autograd.grad(function(x).sum(), x, create_graph=True)
        return torch.autograd.grad((first**2).sum(), x)[0]

    x = torch.randn(3, 8, dtype=torch.float64)  # the terms cancel, in float32 down to few digits
    assert_close(second(x.cuda().requires_grad_()).cpu(), second(x.requires_grad_()))


def test_a_row_of_nan_or_infinity() -> None:
    rows = torch.tensor([[1.0, float("nan"), 2.0], [float("-inf")] * 3, [1.0, float("inf"), 0.0], [float("-inf"), 0.0, 1.0]])
    assert_close(F.softmax(rows.cuda(), -1).cpu(), F.softmax(rows, -1), equal_nan=True)


@pytest.mark.parametrize("width", [7, 48, 600])  # the last is too large for one kernel
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers(kind: str, width: int) -> None:
    torch.manual_seed(0)
    model = getattr(torch.nn, kind)(5, width, num_layers=2, bidirectional=True)
    data, lengths, outcomes = torch.randn(6, 4, 5), [6, 4, 3, 1], []
    for place in ("cpu", "cuda"):
        own, x = copy.deepcopy(model).to(place), data.detach().clone().to(place).requires_grad_()
        packed, _ = own(torch.nn.utils.rnn.pack_padded_sequence(x, lengths))
        assert packed.batch_sizes.device.type == "cpu" and packed.data.device.type == place
        padded, found = torch.nn.utils.rnn.pad_packed_sequence(packed)
        assert found.device.type == "cpu" and found.tolist() == lengths and torch.equal(padded[0], packed.data[:4])
        whole, last = own(x)
        (packed.data.square().sum() + whole.sin().sum()).backward()
        ended = last if kind == "LSTM" else (last,)
        outcomes.append([each.detach().cpu() for each in (packed.data, whole, *ended, x.grad, *[each.grad for each in own.parameters()])])
    for one, other in zip(*outcomes, strict=True):
        assert_close(other, one, rtol=1e-3, atol=1e-4, check_stride=False)


def test_batch_norm() -> None:
    for shape in ((4, 3, 5, 5), (6, 3), (2, 3, 40, 41)):
        models = [torch.nn.modules.batchnorm._BatchNorm(3).to(place) for place in ("cpu", "cuda")]
        for each in models:
            each._check_input_dim = lambda input: None
        data = torch.randn(shape)
        made = [each(data.to(place)).cpu() for each, place in zip(models, ("cpu", "cuda"))]
        assert_close(made[1], made[0], rtol=1e-4, atol=1e-5)
        for name in ("running_mean", "running_var", "num_batches_tracked"):
            assert_close(getattr(models[1], name).cpu(), getattr(models[0], name), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.float32])
def test_casts_and_copies(dtype: Any) -> None:
    data = torch.randn(3, 4, 5) * 100
    for view in (data, data.transpose(0, 2), data[:, 1:], data.permute(1, 2, 0)[::2]):
        assert torch.equal(view.cuda().to(dtype).cpu(), view.to(dtype)) and torch.equal(
            view.to(dtype).cuda().float().cpu(), view.to(dtype).float()
        )
        there = data.cuda().to(dtype)
        turned = there.transpose(0, 2)
        assert torch.equal(turned.contiguous().cpu(), turned.cpu().contiguous()) and torch.equal(
            turned.reshape(-1).cpu(), turned.cpu().reshape(-1)
        )
        assert torch.equal(torch.cat([there, turned.transpose(0, 2)], 1).cpu(), torch.cat([there.cpu(), there.cpu()], 1))
        assert torch.equal(there.clone().cpu(), there.cpu()) and torch.equal(turned.clone().cpu(), turned.cpu())


def test_sums() -> None:
    for shape, dims in (
        ((40, 50), (0,)),
        ((700, 33), (0,)),
        ((3, 4, 5, 6), (0, 2, 3)),
        ((3, 4, 5, 6), (2, 3)),
        ((2, 3, 4), (1,)),
        ((90000,), (0,)),
    ):
        both(lambda x, dims=dims: x.sum(dims), torch.randn(shape), atol=1e-3)
        both(lambda x, dims=dims: x.sum(dims, keepdim=True), torch.randn(shape), atol=1e-3)
    both(lambda x: x.sum((0, 2, 3)), torch.randn(3, 4, 5, 6).contiguous(memory_format=torch.channels_last), atol=1e-4)
    both(lambda x, b: x + b, torch.randn(5, 6, 7), torch.randn(6, 1))
    both(lambda x, b: x * b, torch.randn(5, 6, 7), torch.randn(7))
    both(lambda x, b: x.relu() - b, torch.randn(5, 6, 7), torch.randn(1, 6, 7))


def test_gradients_of_two_leaves_share_no_memory() -> None:
    a, b, c = (torch.ones(4, 3, device="cuda", requires_grad=True) for _ in range(3))
    (a + b.reshape(4, 3) + c.reshape(3, 4).reshape(4, 3)).sum().backward()
    a.grad.add_(1)
    assert b.grad.tolist() == c.grad.tolist() == [[1.0] * 3] * 4


def test_products_in_two_streams() -> None:
    left, right = torch.randn(512, 4096, device="cuda"), torch.randn(4096, 64, device="cuda")
    expected = left @ right
    streams = [torch.cuda.Stream() for _ in range(3)]
    torch.cuda.synchronize()
    made = []
    for each in streams * 4:
        with torch.cuda.stream(each):
            made.append(left @ right)
    torch.cuda.synchronize()
    assert all(torch.equal(each, expected) for each in made)


def test_numbers_as_operands() -> None:
    data = torch.randn(10, device="cuda")
    for number in (2, 2.5, float("inf"), float("nan"), 1e300, -1e39, True):
        assert_close((data * number).cpu(), data.cpu() * number, equal_nan=True)
        assert_close((data.half() + number).cpu(), data.half().cpu() + number, equal_nan=True)
    assert_close((data.long() + 3).cpu(), data.long().cpu() + 3)


def test_pytorch_reads_our_checkpoints(tmp_path: Path) -> None:
    """Run where PyTorch with CUDA is installed beside: it reads what was saved from a GPU, onto the GPU and onto the CPU."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(5, 3, device="cuda")).sum().backward()
    optimizer.step()
    torch.save(
        {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "half": torch.ones(2, 3, device="cuda").bfloat16().t()},
        tmp_path / "own.pt",
    )
    program = """
import sys
try:
    import torch
    assert torch.cuda.is_available() and hasattr(torch, "_C") and hasattr(torch._C, "_cuda_init")
except (ImportError, AssertionError):
    print("no PyTorch"); sys.exit()
for place in (None, "cpu"):
    found = torch.load(sys.argv[1], map_location=place)
    assert found["model"]["0.weight"].device.type == (place or "cuda") and found["half"].shape == (3, 2), found
    other = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)).to(place or "cuda")
    other.load_state_dict(found["model"])
    optimizer = torch.optim.Adam(other.parameters())
    optimizer.load_state_dict(found["optimizer"])
    other(torch.ones(2, 3, device=place or "cuda")).sum().backward()
    optimizer.step()
print("read", found["model"]["0.weight"].flatten().tolist())
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "own.pt")],
        capture_output=True,
        text=True,
        env=dict(os.environ, PYTHONPATH=""),
        check=False,
    )
    if "no PyTorch" in done.stdout:
        pytest.skip("PyTorch with CUDA is not installed")
    assert done.stdout.startswith("read"), done.stderr[-2000:]
    assert_close(torch.tensor(eval(done.stdout[5:])), model[0].weight.detach().cpu().flatten())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("causal", [False, True])
def test_heads_that_share_keys(causal: bool, dtype: torch.dtype) -> None:
    q, k, v = (torch.randn(2, heads, 50, 32).to(dtype) for heads in (6, 2, 2))
    tolerance = dict(rtol=2e-4, atol=2e-4) if dtype == torch.float32 else dict(rtol=3e-2, atol=3e-2)
    both(lambda *each: F.scaled_dot_product_attention(*each, is_causal=causal, enable_gqa=True), q, k, v, **tolerance)
    mask = torch.rand(2, 1, 50, 50) > 0.2
    both(lambda *each: F.scaled_dot_product_attention(*each, attn_mask=mask.to(each[0].device), enable_gqa=True), q, k, v, **tolerance)


@pytest.mark.parametrize(("length", "source"), [(64, 64), (33, 48), (7, 10), (5, 7)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_dropout_inside_attention_takes_what_dropout_of_the_weights_takes(dtype: torch.dtype, length: int, source: int) -> None:
    shapes = (2, 4, length, 16), (2, 2, source, 16), (2, 2, source, 16)
    given = [torch.randn(*shape, device="cuda").to(dtype) for shape in shapes]
    found = []
    for by_flash in (True, False):
        q, k, v = leaves = [each.clone().requires_grad_() for each in given]
        torch.manual_seed(7)
        torch.rand(3, device="cuda")
        if by_flash:
            made = F.scaled_dot_product_attention(q, k, v, dropout_p=0.4, enable_gqa=True)
        else:
            weights = (q @ k.repeat_interleave(2, 1).transpose(-2, -1) / 4).float().softmax(-1).to(dtype)
            made = F.dropout(weights, 0.4) @ v.repeat_interleave(2, 1)
        made.backward(torch.ones_like(made))
        found.append([made.detach().float(), *(each.grad.float() for each in leaves), torch.rand(3, device="cuda")])
    for one, other in zip(*found, strict=True):
        assert_close(one, other, rtol=1e-3 if dtype == torch.float32 else 5e-2, atol=1e-3 if dtype == torch.float32 else 5e-2)


def test_parts_put_together() -> None:
    parts = [torch.randn(3, n, 5) for n in (1, 4, 2)]
    both(lambda *each: torch.cat(each, 1), *parts)
    both(lambda *each: torch.cat([one.transpose(0, 2) for one in each], 1), *parts)
    both(lambda x: torch.cat([x] * 3 + [x[:, :1]], 1), parts[1])
    both(lambda *each: torch.cat(each * 5, 1), *parts)
    whole = torch.randn(2, 5, 12)
    both(lambda x: [part.reshape(2, 5, 2, 2).transpose(1, 2) * 2 for part in x.split(4, -1)], whole)
    both(lambda x: torch.cat([x.to(torch.complex64), x.to(torch.complex64)], -1).abs(), torch.rand(3, 2) + 1)


def test_writes_in_place_again_and_again() -> None:
    for place in ("cpu", "cuda"):
        x, y, whole = torch.ones(7, device=place), torch.arange(7.0, device=place), torch.arange(7, device=place)
        for _ in range(4):
            x.add_(y).mul_(2.5).sub_(x).add_(1.0)
            x.add_(y, alpha=2)
            x.clamp_(max=9.0)
            whole.add_(1).mul_(whole)
            x.add_(whole % 3)
        assert x._version == 28 and whole._version == 8
        assert bool(y.add_(1e40).isinf().all())
        if place == "cpu":
            kept = x, whole
    assert_close(x.cpu(), kept[0])
    assert_close(whole.cpu(), kept[1])


@pytest.mark.parametrize("form", [lambda function: function, torch.compile], ids=["eager", "compiled"])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16], ids=str)
def test_negative_numbers_wrap_around_in_small_integers(dtype: Any, form: Any) -> None:
    x = torch.tensor([-1.5, -200.25, 3.75, 100.0, 0.0])
    for source in (torch.float32, torch.float64, torch.bfloat16):
        found = form(lambda x: x.to(dtype))(x.to(source).cuda())
        assert found.tolist() == x.to(source).to(torch.int64).to(dtype).tolist()


@pytest.mark.parametrize("size", [4, 300])
def test_a_nan_of_either_sign_is_sorted_last(size: int) -> None:
    x = torch.arange(float(size)).flip(0)
    x[size // 2] = torch.copysign(torch.tensor(float("nan")), torch.tensor(-1.0))
    there = x.cuda()
    for found, wanted in zip((*there.sort(), *there.topk(2), there.median()), (*x.sort(), *x.topk(2), x.median())):
        assert_close(found.cpu(), wanted, equal_nan=True)
