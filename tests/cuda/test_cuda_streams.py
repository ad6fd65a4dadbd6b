"""Streams on CUDA, work of several threads, and calls that mix what is on the host with what is on the device."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import rushlight as torch
from rushlight.compat import c_names, cuda_internal
from rushlight.compat.numbers import segment_reduce
from rushlight.cuda.streams import set_stream_by_id
from rushlight.nn.attention import SDPBackend, sdpa_kernel
from rushlight.testing import assert_close
from rushlight.utils.dlpack import from_dlpack, to_dlpack

F = torch.nn.functional


def test_streams_come_from_a_pool_and_outlive_their_objects() -> None:
    handles = {torch.cuda.Stream().cuda_stream for _ in range(100)}
    assert len(handles) == 32 and 0 not in handles
    before = torch.cuda.current_stream()
    stream = torch.cuda.Stream()
    handle = stream.stream_id
    c_names._cuda_setStream(stream_id=handle, device_index=0, device_type=1)
    del stream
    try:
        assert torch.cuda.current_stream().cuda_stream == handle == c_names._cuda_getCurrentRawStream(0)
        with torch.Stream() as other:
            assert torch.cuda.current_stream() == other and isinstance(other, torch.cuda.Stream)
        assert torch.cuda.current_stream().cuda_stream == handle
        assert (torch.ones(3, device="cuda") + 1).tolist() == [2, 2, 2]
    finally:
        set_stream_by_id(before.cuda_stream, 0, 1)
    assert torch.cuda.current_stream() == before


def test_sleeping_keeps_a_stream_busy() -> None:
    stream, start, end = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True), torch.Event(enable_timing=True)
    with torch.cuda.stream(stream):
        start.record()
        cuda_internal._sleep(20_000_000)
        end.record()
        assert not stream.query()
    stream.synchronize()
    assert 5 < start.elapsed_time(end) < 200


def test_a_backward_pass_waits_for_the_stream_of_the_forward_pass() -> None:
    w, stream = torch.ones(1 << 20, device="cuda", requires_grad=True), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        cuda_internal._sleep(100_000_000)
        loss = (w * (w + 1)).exp().sum()
    loss.backward()  # in the default stream, which nothing made wait
    assert w.grad is not None
    expected = torch.full((4,), 3 * torch.tensor(2.0).exp().item())
    assert_close(w.grad[:4].cpu(), expected)


def test_convolutions_of_threads_stay_in_their_streams() -> None:
    weight, results = torch.ones(1, 1, 2, 2, device="cuda"), [torch.ones(1, 1, 512, 512, device="cuda") for _ in range(4)]
    barrier = threading.Barrier(4)
    torch.cuda.synchronize()

    def work(number: int) -> None:
        stream = torch.cuda.Stream()
        barrier.wait()
        with torch.cuda.stream(stream):
            for _ in range(200):
                results[number] = F.conv2d(results[number], weight)
                results[number].div_(4.0)
        torch.cuda.synchronize()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [each.sum().item() for each in results] == [312 * 312] * 4


def test_results_of_factories_are_written_to_the_device_of_out() -> None:
    for make in (
        lambda out: torch.linspace(0, 1, 5, out=out), lambda out: torch.eye(5, out=out), lambda out: torch.zeros(5, out=out),
        lambda out: torch.rand(5, out=out), lambda out: torch.arange(5, out=out), lambda out: torch.full((5,), 2.0, out=out),
    ):  # fmt: skip
        out = torch.empty(0, device="cuda")
        assert make(out) is out and out.is_cuda and out.shape[0] == 5


def test_capsules_share_memory() -> None:
    x = torch.arange(6.0, device="cuda").reshape(2, 3)
    y = from_dlpack(to_dlpack(x))
    y[0, 0] = 7
    assert y.is_cuda and y.data_ptr() == x.data_ptr() and x[0, 0].item() == 7


def test_numbers_on_the_host_get_their_gradients_there() -> None:
    scale = torch.tensor(2.0, requires_grad=True)
    (torch.arange(4.0, device="cuda") * scale).sum().backward()
    assert scale.grad is not None and scale.grad.device.type == "cpu" and scale.grad.item() == 6


def test_quotients_of_integers_follow_the_default_dtype() -> None:
    a, b = torch.tensor([1, 2], device="cuda"), torch.tensor([2, 4], device="cuda")
    assert (a / b).dtype is torch.float32 and (a / b).dtype is torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert (a / b).dtype is torch.float64 and (a / 2).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert (a / b).dtype is torch.float32


def test_the_random_stream_of_a_device_is_forked() -> None:
    torch.manual_seed(3)
    with torch.random.fork_rng():
        torch.rand(5, device="cuda")
    forked = torch.rand(5, device="cuda")
    torch.manual_seed(3)
    assert forked.tolist() == torch.rand(5, device="cuda").tolist()


def test_large_rows_have_their_indices() -> None:
    x = torch.randn(16, 1 << 17)
    assert x.cuda().argmax(-1).tolist() == x.argmax(-1).tolist() and x.cuda().argmin(-1, keepdim=True).shape == (16, 1)


@pytest.mark.parametrize("backend", [SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION])
def test_attention_by_the_names_of_its_implementations(backend: Any) -> None:
    q = torch.randn(1, 2, 8, 16, device="cuda")
    with sdpa_kernel(backend):
        made = F.scaled_dot_product_attention(q, q, q)
    assert_close(made.cpu(), F.scaled_dot_product_attention(*[q.cpu()] * 3))


def test_ops_that_make_tensors_of_their_own_make_them_on_the_device() -> None:
    x, mask = torch.randn(3, 4, device="cuda"), torch.tensor([True, False, True, True], device="cuda")
    assert_close(torch.masked.var(x, 1).cpu(), torch.masked.var(x.cpu(), 1))
    assert_close(torch.masked.std(x, 1, mask=mask.expand(3, 4)).cpu(), torch.masked.std(x.cpu(), 1, mask=mask.cpu().expand(3, 4)))
    lengths = torch.tensor([1, 2], device="cuda")
    assert_close(segment_reduce(x, "max", lengths=lengths).cpu(), segment_reduce(x.cpu(), "max", lengths=lengths.cpu()))
    assert torch.repeat_interleave(lengths, output_size=3).tolist() == [0, 1, 1]
    assert torch.multinomial(torch.ones(0, 3, device="cuda"), 2, True).shape == (0, 2)
    assert torch.normal(torch.zeros((), device="cuda"), torch.ones(())).shape == ()
    probabilities = torch.randn(5, 2, 4, device="cuda").log_softmax(-1)
    targets, sizes = torch.tensor([[1, 2], [1, 3]]), (torch.tensor([5, 5]), torch.tensor([2, 2]))
    assert_close(F.ctc_loss(probabilities, targets, *sizes).cpu(), F.ctc_loss(probabilities.cpu(), targets, *sizes))
    assert torch.tensor([-1e10, 1e10, 1.5], device="cuda").int().tolist() == [-(2**31), 2**31 - 1, 1]
