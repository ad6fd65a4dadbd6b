"""Tensors on CUDA as programs use them: devices, copies, views, writes, printing, files, other libraries, modules, optimizers, AMP."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight.testing import assert_close

CUDA = torch.device("cuda", 0)


def test_devices() -> None:
    assert torch.cuda.is_available() and torch.cuda.device_count() >= 1 and torch.cuda.current_device() == 0
    for made in (
        torch.ones(2, 3, device="cuda"), torch.ones(2, 3).cuda(), torch.ones(2, 3).to("cuda:0"), torch.tensor([[1.0] * 3] * 2, device=0),
        torch.ones(2, 3).to(torch.ones(1, device="cuda")), torch.ones(2, 3, device="cuda").clone(),
    ):  # fmt: skip
        assert made.is_cuda and made.device == CUDA and made.get_device() == 0 and made.cpu().tolist() == [[1.0] * 3] * 2
    with torch.device("cuda"):
        assert torch.zeros(2).is_cuda and torch.arange(3).is_cuda
    torch.set_default_device("cuda")
    try:
        assert torch.rand(2).is_cuda and torch.nn.Linear(2, 3).weight.is_cuda
    finally:
        torch.set_default_device(None)
    x = torch.ones(2, device="cuda")
    assert x.to("cuda") is x and x.cuda() is x and x.to("cuda", copy=True) is not x
    assert x.to("cuda", torch.float64).dtype is torch.float64 and x.half().is_cuda
    assert x.type() == "torch.cuda.FloatTensor" and isinstance(x, torch.cuda.FloatTensor) and not isinstance(x, torch.cuda.LongTensor)
    with pytest.raises(torch.AcceleratorError, match="invalid device ordinal"):
        torch.ones(2, device=f"cuda:{torch.cuda.device_count()}")


def test_devices_do_not_mix() -> None:
    x, y = torch.ones(3, device="cuda"), torch.ones(3)
    with pytest.raises(
        RuntimeError, match="Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
    ):
        x + y
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        x.numpy()
    assert (x + torch.tensor(2.0)).tolist() == [3, 3, 3]


def test_views_and_writes() -> None:
    x = torch.arange(24.0, device="cuda").reshape(2, 3, 4)
    host = torch.arange(24.0).reshape(2, 3, 4)
    for look in (
        lambda t: t.transpose(0, 2), lambda t: t[1], lambda t: t[:, 1:, ::2], lambda t: t.permute(2, 0, 1)[1:], lambda t: t[..., None],
        lambda t: t.expand(2, 2, 3, 4), lambda t: t.flatten(1), lambda t: t.as_strided((2, 2), (3, 5), 1), lambda t: t[[1, 0], 1],
        lambda t: t[t > 7], lambda t: t.unfold(2, 2, 1), lambda t: t.view(torch.int32), lambda t: t.diagonal(),
    ):  # fmt: skip
        assert_close(look(x).cpu(), look(host)), look(x).stride() == look(host).stride()
    for write in (
        lambda t: t.transpose(0, 1).add_(1), lambda t: t[0].zero_(), lambda t: t.__setitem__((slice(None), 1), 7.0), lambda t: t.mul_(2),
        lambda t: t.__setitem__(t > 5, -1.0), lambda t: t[:, :, 1].copy_(torch.ones(2, 3)), lambda t: t.index_fill_(0, torch.tensor([1], device=t.device), 3),
        lambda t: torch.add(t, 1, out=t), lambda t: t.clamp_(-2, 2), lambda t: t.fill_(4), lambda t: t.div_(3).exp_(), lambda t: t.masked_fill_(t > 1, 0),
    ):  # fmt: skip
        write(x)
        write(host)
        assert_close(x.cpu(), host)
        assert x._version == host._version
    assert x[0]._base is x._base and x.data_ptr() == x.view(24).data_ptr()


def test_strided_operands() -> None:
    a, b = torch.randn(4, 5, 6), torch.randn(6, 5)
    for run in (
        lambda a, b: a + b.t(), lambda a, b: a.permute(2, 0, 1) * a.permute(2, 0, 1), lambda a, b: a[:, ::2] - b.t()[::2],
        lambda a, b: torch.where(a > 0, a, b.t()), lambda a, b: a.transpose(0, 2).exp(), lambda a, b: a.expand(3, 4, 5, 6).mul(2.5).sum(0),
    ):  # fmt: skip
        expected, found = run(a, b), run(a.cuda(), b.cuda())
        assert_close(found.cpu(), expected)
        assert found.stride() == expected.stride()


def test_printing_and_python() -> None:
    x = torch.tensor([1.5, 2.0], device="cuda")
    assert (
        repr(x) == "tensor([1.5000, 2.0000], device='cuda:0')" and x[1].item() == 2.0 and x.tolist() == [1.5, 2.0] and float(x.sum()) == 3.5
    )


def test_files() -> None:
    x = torch.arange(6.0, device="cuda").reshape(2, 3)
    file = io.BytesIO()
    torch.save({"x": x, "row": x[1], "host": torch.ones(2)}, file)
    for place, expected in (
        (None, ["cuda:0", "cuda:0", "cpu"]),
        ("cpu", ["cpu"] * 3),
        ("cuda:0", ["cuda:0"] * 3),
        (lambda storage, tag: storage, ["cpu"] * 3),
    ):
        file.seek(0)
        loaded = torch.load(file, map_location=place)
        assert [str(each.device) for each in loaded.values()] == expected and loaded["row"].tolist() == [3, 4, 5]
    for twin in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert twin.device == CUDA and twin.tolist() == x.tolist() and twin.data_ptr() != x.data_ptr()


def test_other_libraries() -> None:
    cupy = pytest.importorskip("cupy")
    x = torch.arange(6.0, device="cuda").reshape(2, 3)
    shared = cupy.asarray(x)
    shared += 1
    assert x.tolist() == [[1, 2, 3], [4, 5, 6]] and shared.data.ptr == x.data_ptr()
    back = torch.from_dlpack(shared.T)
    assert back.data_ptr() == x.data_ptr() and back.stride() == (1, 3) and cupy.from_dlpack(x.t()).strides == (4, 12)
    assert torch.as_tensor(shared, device="cuda").data_ptr() == x.data_ptr()
    with pytest.raises(AttributeError, match="non-CUDA tensor"):
        torch.ones(1).__cuda_array_interface__


def test_pinned_memory() -> None:
    x = torch.arange(1000.0).pin_memory()
    assert x.is_pinned() and not torch.ones(2).is_pinned() and x.pin_memory() is x
    assert torch.empty(5, pin_memory=True).is_pinned()
    y = x.to("cuda", non_blocking=True)
    torch.cuda.synchronize()
    assert y.sum().item() == 499500
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.arange(6.0), torch.arange(6)), batch_size=2, pin_memory=True)
    assert all(each.is_pinned() for batch in loader for each in batch)


def test_streams_and_events() -> None:
    stream, begin, end = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    x = torch.ones(1000, 1000, device="cuda")
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() == stream
        begin.record()
        y = x @ x
        end.record()
    torch.cuda.current_stream().wait_stream(stream)
    assert y[0, 0].item() == 1000
    end.synchronize()
    assert begin.elapsed_time(end) > 0 and stream.query() and torch.cuda.current_stream() == torch.cuda.default_stream()


def test_memory() -> None:
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    x = torch.empty(1 << 20, device="cuda")
    assert torch.cuda.memory_allocated() - before == 4 << 20
    del x
    assert torch.cuda.memory_allocated() == before and torch.cuda.max_memory_allocated() - before >= 4 << 20
    assert torch.cuda.memory_reserved() >= 4 << 20 and torch.cuda.mem_get_info()[1] > 1 << 30
    assert "Allocated memory" in torch.cuda.memory_summary() and torch.cuda.memory_stats()["allocated_bytes.all.current"] == before
    with pytest.raises(torch.OutOfMemoryError, match=r"CUDA out of memory. Tried to allocate .* GiB"):
        torch.empty(1 << 42, device="cuda")
    assert torch.ones(2, device="cuda").sum().item() == 2


def test_an_index_out_of_range_is_told_and_the_context_lives() -> None:
    table, index = torch.randn(4, 8, device="cuda"), torch.tensor([1, 9], device="cuda")
    with pytest.raises(IndexError, match="embedding: index out of range"):
        torch.nn.functional.embedding(index, table).cpu()
    with pytest.raises(IndexError, match="out of bounds"):
        torch.nn.functional.nll_loss(table, torch.tensor([0, 1, 2, 11], device="cuda")).item()
    assert torch.nn.functional.embedding(index.clamp(max=3), table).cpu().shape == (2, 8)


def test_properties() -> None:
    found = torch.cuda.get_device_properties(0)
    assert found.name == torch.cuda.get_device_name() and found.multi_processor_count > 0 and found.total_memory > 1 << 30
    assert torch.cuda.get_device_capability() == (found.major, found.minor) and torch.cuda.is_bf16_supported()


def test_random_states() -> None:
    torch.manual_seed(3)
    first = torch.rand(5, device="cuda")
    state = torch.cuda.get_rng_state()
    second = torch.randn(5, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(torch.randn(5, device="cuda"), second) and state.numel() == 16
    torch.cuda.manual_seed_all(3)
    assert torch.equal(torch.rand(5, device="cuda"), first) and torch.cuda.initial_seed() == 3
    generator = torch.Generator("cuda").manual_seed(3)
    assert generator.device == CUDA and torch.equal(torch.rand(5, device="cuda", generator=generator), first)
    with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator but found 'cpu'"):
        torch.rand(5, device="cuda", generator=torch.Generator())


def test_graphs() -> None:
    x, graph = torch.ones(4, 4, device="cuda"), torch.cuda.CUDAGraph()
    torch.mm(x, x)
    with torch.cuda.graph(graph):
        y = (torch.mm(x, x) + torch.rand(4, 4, device="cuda")).relu()
    seen = []
    for value in (1.0, 2.0):
        x.fill_(value)
        graph.replay()
        seen.append(y.clone())
        assert bool(((y >= 4 * value * value) & (y < 4 * value * value + 1)).all())
    assert not torch.equal(seen[0] - 4, seen[1] - 16)
    model = torch.nn.Linear(4, 2).cuda()
    reference = copy.deepcopy(model)
    graphed = torch.cuda.make_graphed_callables(model, (torch.ones(3, 4, device="cuda", requires_grad=True),))
    data = torch.randn(3, 4, device="cuda")
    for each in (graphed, reference):
        each(data).square().sum().backward()
    assert_close(model.weight.grad, reference.weight.grad)


MODELS: dict[str, Any] = {
    "mlp": (lambda: torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 4)), (6, 8)),
    "cnn": (
        lambda: torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Conv2d(8, 4, 3, stride=2),
            torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
        ),
        (4, 3, 12, 12),
    ),
    "lstm": (lambda: torch.nn.LSTM(5, 7, 2, batch_first=True), (3, 6, 5)),
    "gru": (lambda: torch.nn.GRU(5, 7, bidirectional=True), (6, 3, 5)),
    "transformer": (lambda: torch.nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True, activation="gelu"), (3, 5, 16)),
}  # fmt: skip


@pytest.mark.parametrize("optimizer", ["SGD", "AdamW"])
@pytest.mark.parametrize("name", MODELS)
def test_training(name: str, optimizer: str) -> None:
    make, shape = MODELS[name]
    torch.manual_seed(0)
    here = make()
    x = torch.randn(shape)
    # The mean square of layer norm's result is a constant: its gradients are rounding errors, which Adam would make steps of the full rate of.
    found = here(x)
    target = torch.randn_like(found[0] if isinstance(found, tuple) else found)
    there = copy.deepcopy(here).cuda()
    losses: list[list[float]] = [[], []]
    for at, (model, data, wanted) in enumerate(((here, x, target), (there, x.cuda(), target.cuda()))):
        steps = getattr(torch.optim, optimizer)(model.parameters(), lr=0.05)
        for _ in range(4):
            steps.zero_grad()
            made = model(data)
            loss = ((made[0] if isinstance(made, tuple) else made) - wanted).square().mean()
            loss.backward()
            steps.step()
            losses[at].append(loss.item())
    assert_close(torch.tensor(losses[1]), torch.tensor(losses[0]), rtol=1e-3, atol=1e-5)
    assert all(each.is_cuda and each.grad.is_cuda for each in there.parameters())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast(dtype: Any) -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)).cuda()
    optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("cuda")
    x = torch.randn(5, 8, device="cuda")
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype):
            made = model(x)
            assert made.dtype is dtype
            loss = made.float().square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    assert losses[-1] < losses[0] and np.isfinite(losses).all()


def test_a_scaler_leaves_out_steps_that_overflow() -> None:
    weight = torch.ones(2, device="cuda", requires_grad=True)
    scaler, optimizer = torch.amp.GradScaler("cuda", init_scale=4.0), torch.optim.SGD([weight], lr=0.5)
    for factor, expected, scale in ((2.0, [0.0, 0.0], 4.0), (float("inf"), [0.0, 0.0], 2.0)):
        optimizer.zero_grad()
        scaler.scale((weight * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        assert scaler.is_enabled() and weight.tolist() == expected and scaler.get_scale() == scale


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_narrow_types_stay_narrow(dtype: Any) -> None:
    x, mask = torch.randn(3, 4, device="cuda").to(dtype), torch.tensor([True, False, True, False], device="cuda")
    for made in (
        x.masked_fill(mask, float("-inf")),
        torch.where(mask, x, 0.0),
        x.masked_fill(mask, 0).softmax(-1),
        x.clamp(min=0),
        x.tril(),
    ):
        assert made.dtype is dtype
    learned = torch.zeros(3, 3, device="cuda", requires_grad=True)
    made = torch.nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=learned, dropout_p=0.1)
    made.float().sum().backward()
    assert made.dtype is dtype and learned.grad.dtype is torch.float32


def test_memory_that_another_stream_uses_waits_for_it() -> None:
    side, x = torch.cuda.Stream(), torch.ones(1000, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y = x * 2
    x.record_stream(side)
    del x
    torch.ones(1000, device="cuda").record_stream(side)
    torch.cuda.synchronize()
    assert y.sum().item() == 2000


def in_a_child(queue: Any) -> None:
    torch.cuda.manual_seed_all(3)
    try:
        torch.ones(2, device="cuda")
    except RuntimeError as error:
        queue.put((str(error), torch.cuda.is_initialized(), torch.cuda._is_in_bad_fork()))


def test_a_forked_process_is_told_about_spawn() -> None:
    torch.ones(2, device="cuda")
    context = torch.multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=in_a_child, args=(queue,))
    process.start()
    message, initialized, bad = queue.get(timeout=60)
    process.join()
    assert "you must use the 'spawn' start method" in message and not initialized and bad


def test_questions_of_libraries() -> None:
    assert torch.cuda.get_allocator_backend() == "native" and torch.cuda.get_sync_debug_mode() == 0 and torch.cuda.ipc_collect() is None
    assert torch.cuda.current_blas_handle() and torch.cuda.device_memory_used() > 0 and torch.cuda.cudart().cudaMemGetInfo(0)[1] > 0
    assert torch.tensor([1, 1, 2], device="cuda").int().histc(2, 1, 2).tolist() == [2, 1]
    storage = torch.ones(2).untyped_storage().cuda()
    assert storage.is_cuda and storage.cpu().tolist() == torch.ones(2).untyped_storage().tolist()
    assert torch.ones(2).untyped_storage().pin_memory().is_pinned()


def test_an_op_of_no_tensors_is_on_the_cpu() -> None:
    assert torch.ones(1).cuda().is_cuda
    assert torch.block_diag().device.type == "cpu"
