"""Native kernels of single ops in eager mode: compiled when the same shapes have come several times, and the same results as NumPy's."""

import os

import numpy as np
import pytest

import rushlight
import rushlight.nn.functional as F
from rushlight import nn
from rushlight.core import kernel_providers
from rushlight.core.kernel_providers import BEGIN, SOON, SWITCH

pytest.importorskip("llvmlite")


@pytest.fixture(autouse=True)
def forgotten():
    kernel_providers._calls.clear()
    yield
    kernel_providers._calls.clear()


@pytest.fixture
def native(monkeypatch):
    """The names of ops that ran natively."""
    from rushlight.backends.native.eager import ops

    names, plain = [], ops.again

    def again(key, args):
        found = plain(key, args)
        if found is not None and found is not NotImplemented:
            names.append(key[0])
        return found

    monkeypatch.setattr(ops, "again", again)
    return names


def recurrent(kind, **options):
    layer = kind(32, 48, **options)
    x = rushlight.randn(12, 16, 32)

    def run():
        layer.zero_grad()
        given = x.clone().requires_grad_()
        output, state = layer(given)
        (output.square().sum() + (state[0] if isinstance(state, tuple) else state).sum()).backward()
        return output.detach(), given.grad, *[each.grad for each in layer.parameters()]

    return run


def attention(**options):
    q, k, v = (rushlight.randn(3, 24, 2, 192).transpose(1, 2) for _ in range(3))

    def run():
        given = [each.clone().requires_grad_() for each in (q, k, v)]
        output = F.scaled_dot_product_attention(*given, **options)
        output.square().sum().backward()
        return output.detach(), *[each.grad for each in given]

    return run


def layer(make, *shape):
    module, x = make(), rushlight.randn(*shape)

    def run():
        module.zero_grad()
        given = x.clone().requires_grad_()
        output = module(given)
        (output * output.detach().cos()).sum().backward()
        return output.detach(), given.grad, *[each.grad for each in module.parameters()]

    return run


class ChannelsLast(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x.to(memory_format=rushlight.channels_last))


CASES = {
    "LSTM": (lambda: recurrent(nn.LSTM), {"lstm_layer", "lstm_backward"}),
    "LSTM, both directions, projected": (lambda: recurrent(nn.LSTM, bidirectional=True, proj_size=40), {"lstm_layer", "lstm_backward"}),
    "GRU": (lambda: recurrent(nn.GRU), {"gru_layer", "gru_backward"}),
    "RNN": (lambda: recurrent(nn.RNN), {"rnn_layer"}),
    "attention": (lambda: attention(), {"attention", "attention_backward"}),
    "attention, causal": (lambda: attention(is_causal=True), {"attention", "attention_backward"}),
    "attention, masked": (lambda: attention(attn_mask=rushlight.ones(24, 24).tril() > 0), {"attention", "attention_backward"}),
    "layer norm": (lambda: layer(lambda: nn.LayerNorm(129), 20, 8, 129), {"layer_standardize", "layer_standardize_backward"}),
    "layer norm, no bias": (lambda: layer(lambda: nn.LayerNorm((8, 129), bias=False), 20, 8, 129), {"layer_standardize_backward"}),
    "linear": (lambda: layer(lambda: nn.Linear(130, 120), 200, 130), {"linear", "matmul"}),
    "convolution": (lambda: layer(lambda: nn.Conv2d(6, 9, 3, padding=1), 2, 6, 11, 10), {"convolution", "convolution_weight_gradient"}),
    "convolution, strided": (lambda: layer(lambda: nn.Conv2d(6, 9, 3, 2, 1), 3, 6, 15, 9), {"convolution", "convolution_weight_gradient"}),
    "convolution, depthwise": (
        lambda: layer(lambda: nn.Conv2d(16, 16, 5, padding=2, groups=16), 2, 16, 9, 9),
        {"convolution", "convolution_weight_gradient"},
    ),
    "convolution, grouped": (
        lambda: layer(lambda: nn.Conv1d(12, 8, 4, dilation=2, groups=4, bias=False), 2, 12, 90),
        {"convolution", "convolution_weight_gradient"},
    ),
    "convolution, transposed": (
        lambda: layer(lambda: nn.ConvTranspose2d(8, 6, 3, 2, 1, 1), 2, 8, 9, 9),
        {"convolution", "convolution_weight_gradient"},
    ),
    "convolution, channels last": (
        lambda: layer(lambda: ChannelsLast(nn.Conv2d(8, 12, 3)), 2, 8, 12, 12),
        {"convolution", "convolution_weight_gradient"},
    ),
    "batch norm": (lambda: layer(lambda: nn.BatchNorm2d(12), 5, 12, 9, 11), {"standardize", "standardize_backward"}),
    "batch norm, channels last": (
        lambda: layer(lambda: ChannelsLast(nn.BatchNorm2d(12)), 5, 12, 9, 11),
        {"standardize", "standardize_backward"},
    ),
    "GELU": (lambda: layer(lambda: nn.Sequential(nn.Linear(256, 256), nn.GELU()), 128, 256), {"linear", "matmul"}),
}


@pytest.mark.parametrize("name", CASES)
def test_repeated_calls_run_natively_and_give_the_same(name, native):
    rushlight.manual_seed(0)
    make, expected = CASES[name]
    run = make()
    want = run()
    assert not native
    for _ in range(SWITCH):
        got = run()
    assert expected <= set(native)
    for each, other in zip(got, want):
        assert each.shape == other.shape and each.stride() == other.stride()
        scale = float(other.abs().max())
        assert rushlight.allclose(each, other, rtol=2e-5, atol=2e-5 * scale), name


def test_a_few_calls_compile_nothing():
    from rushlight.backends.native.eager import ops

    before = len(ops._programs), len(ops._coming)
    run = layer(lambda: nn.LayerNorm(131), 200, 131)
    for _ in range(BEGIN // 2):  # the gradients of weight and bias are two sums of one shape
        run()
    assert (len(ops._programs), len(ops._coming)) == before


def test_deterministic_algorithms_do_not_switch(native):
    rushlight.use_deterministic_algorithms(True)
    try:
        x, run = rushlight.randn(150, 128), nn.Sequential(nn.Linear(128, 256), nn.LayerNorm(256), nn.GELU())
        want = run(x)
        assert all(run(x).equal(want) for _ in range(SWITCH + 2)) and not native
    finally:
        rushlight.use_deterministic_algorithms(False)


def test_results_share_no_memory(native):
    x = rushlight.randn(150, 128)
    for _ in range(SWITCH + 2):
        a = F.layer_norm(x, (128,))
    b = F.layer_norm(x, (128,))
    kept = b.clone()
    a.zero_()
    assert b.equal(kept) and not np.shares_memory(a.numpy(), x.numpy())


def test_double_precision_and_second_derivatives_stay_with_the_kernels(native):
    x = rushlight.randn(150, 128, dtype=rushlight.float64, requires_grad=True)
    for _ in range(SWITCH + 2):
        F.layer_norm(x, (128,)).sum().backward()
    assert not native


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("matmul", [(70, 30), (30, 40)]),
        ("linear", [(5, 14, 30), (40, 30), (40,)]),
        ("layer_standardize_backward", [(6, 8), (6, 8), (8,), (6, 8), (6, 1)]),
    ],
)
def test_a_program_is_launched_by_a_trampoline(name, shapes):
    """With the arrays, and the results of their shapes, of the call in Python; that one stands in while the arena is in use."""
    from rushlight.backends.native.eager import ops

    random = np.random.default_rng(0)
    arrays = [random.random(shape, np.float32) for shape in shapes]
    options = ((1,), 1e-5) if name.startswith("layer") else ()
    program = ops.program_for(name, (*arrays, *options))
    want, found = program(arrays), program.launch(arrays)
    assert program.enter is not program.declined
    program.call_arena.arena.flag.value = 1
    others = program.launch(arrays)
    program.call_arena.arena.flag.value = 0
    for one, *rest in zip(want, found, others, program.launch(arrays), strict=True):
        assert all(type(each) is np.ndarray and each.shape == one.shape and np.array_equal(each, one) for each in rest)
        assert not any(np.shares_memory(one, each) for each in rest)


def test_an_evicted_program_is_compiled_again_only_when_it_pays(monkeypatch, native):
    from rushlight.backends.native.eager import ops

    x, weight = rushlight.randn(150, 128), rushlight.ones(128)
    for _ in range(SWITCH + 2):
        F.layer_norm(x, (128,), weight)
    assert native
    native.clear()
    ops._programs.clear()
    F.layer_norm(x, (128,), weight)
    assert not native and min(kernel_providers._calls.values()) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_while_a_kernel_is_compiled():
    x, weight = rushlight.randn(151, 128), rushlight.ones(128)
    for _ in range(BEGIN + 1):
        want = F.layer_norm(x, (128,), weight)
    child = os.fork()
    if not child:
        code = 1
        try:
            for _ in range(SWITCH):
                got = F.layer_norm(x, (128,), weight)
            code = 0 if rushlight.allclose(got, want, atol=1e-5) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("size", [8, 64])
def test_batch_norm_keeps_channels_last_at_every_size(size):
    layer, x = nn.BatchNorm2d(16), rushlight.randn(4, 16, size, size).to(memory_format=rushlight.channels_last).requires_grad_()
    for _ in range(2):
        y = layer(x)
        (gradient,) = rushlight.autograd.grad(y.square().sum(), x)
        assert y.is_contiguous(memory_format=rushlight.channels_last) and gradient.is_contiguous(memory_format=rushlight.channels_last)
    plain = nn.BatchNorm2d(16)(x.contiguous())
    rushlight.testing.assert_close(y, plain)


def test_digits_stay_where_equal_calls_are_compared(native):
    layer, x = nn.Conv2d(6, 9, 3), rushlight.randn(2, 6, 17, 16)
    with kernel_providers.same_digits():
        results = [layer(x) for _ in range(SOON[1] + 2)]
    assert not native and all(rushlight.equal(each, results[0]) for each in results)
    for _ in range(SOON[1] + 1):
        layer(x)
    assert native == ["convolution"]
