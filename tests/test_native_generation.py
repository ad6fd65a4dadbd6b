"""Token by token: products of few rows, caches that are written in place, and lengths that grow without a compilation each."""

import numpy as np
import pytest

import rushlight
import rushlight.nn.functional as F
from rushlight import nn

pytest.importorskip("llvmlite")


@pytest.mark.parametrize("transposed", [False, True], ids=["rows", "columns"])
@pytest.mark.parametrize("dtype", [rushlight.float32, rushlight.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("rows", [1, 2, 3, 4])
def test_products_of_few_rows(rows, dtype, transposed):
    rushlight.manual_seed(0)

    @rushlight.compile
    def product(x, w):
        return (x @ (w.t() if transposed else w)).relu() - 1

    for depth, width in ((33, 40), (64, 64), (129, 17), (100, 131), (256, 300)):
        x = rushlight.randn(rows, depth + 3, dtype=dtype)[:, 1 : depth + 1]
        w = rushlight.randn(*((width, depth) if transposed else (depth, width)), dtype=dtype)
        expected = (x.double().numpy() @ (w.t() if transposed else w).double().numpy()).clip(0) - 1
        assert np.abs(product(x, w).double().numpy() - expected).max() < (2e-4 if dtype is rushlight.float32 else 1e-12)


def test_a_cache_is_written_in_place_and_its_other_rows_stay():
    @rushlight.compile
    def put(cache, pos, x):
        cache.index_copy_(2, pos, x.exp())
        return cache.sum(2)

    cache = rushlight.randn(2, 3, 8, 5)
    address, wanted = cache.data_ptr(), cache.clone()
    for at in range(6):
        pos, x = rushlight.tensor([at]), rushlight.randn(2, 3, 1, 5)
        wanted.index_copy_(2, pos, x.exp())
        made = put(cache, pos, x)
        assert rushlight.allclose(cache, wanted, atol=1e-6) and rushlight.allclose(made, wanted.sum(2), atol=1e-5)
    assert cache.data_ptr() == address and cache._version == 6


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_index_copy_gives_a_copy(dim):
    base, index = rushlight.randn(6, 6, 6), rushlight.tensor([4, 0, 4])
    source = rushlight.randn(6, 6, 6).narrow(dim, 0, 3).transpose(0, 2) if dim == 1 else rushlight.randn(6, 6, 6).narrow(dim, 0, 3)
    kept = base.clone()
    made = rushlight.compile(lambda b, i, s: b.index_copy(dim, i, s) * 2)
    for _ in range(3):
        assert rushlight.equal(made(base, index, source), base.index_copy(dim, index, source) * 2)
    assert base.equal(kept)


@pytest.mark.parametrize("bad", [7, -1])
def test_an_index_out_of_range_leaves_the_state_of_eager_mode(bad):
    def put(first, second, a, b, x):
        first.index_copy_(0, a, x)
        second.index_copy_(0, b, x + first.sum())
        return second * 2

    made = rushlight.compile(put)
    good = rushlight.tensor([1])
    for _ in range(3):
        made(rushlight.zeros(4, 3), rushlight.zeros(4, 3), good, good, rushlight.ones(1, 3))
    ours, theirs = ([rushlight.zeros(4, 3), rushlight.zeros(4, 3)] for _ in range(2))
    for function, caches in ((made, ours), (put, theirs)):
        with pytest.raises(IndexError):
            function(*caches, good, rushlight.tensor([bad]), rushlight.ones(1, 3))
    for one, other in zip(ours, theirs):
        assert one.equal(other)


class Decoder(nn.Module):
    """A transformer that gives the keys and values of all tokens so far."""

    def __init__(self, layers=2, width=64, heads=2):
        super().__init__()
        self.heads = heads
        self.tokens = nn.Embedding(50, width)
        self.qkv = nn.ModuleList([nn.Linear(width, 3 * width) for _ in range(layers)])
        self.mlp = nn.ModuleList([nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU()) for _ in range(layers)])
        self.head = nn.Linear(width, 50)

    def forward(self, token, caches):
        x, kept = self.tokens(token), []
        b, t, c = x.shape
        for qkv, mlp, cache in zip(self.qkv, self.mlp, caches):
            q, k, v = (each.view(b, t, self.heads, c // self.heads).transpose(1, 2) for each in qkv(x).split(c, 2))
            if cache is not None:
                k, v = rushlight.cat([cache[0], k], 2), rushlight.cat([cache[1], v], 2)
            kept.append((k, v))
            x = x + F.scaled_dot_product_attention(q, k, v, is_causal=t > 1).transpose(1, 2).reshape(b, t, c)
            x = x + mlp(x)
        return self.head(x[:, -1]), kept


@rushlight.no_grad()
def generated(step, model, count):
    out, caches = model(rushlight.arange(5)[None], [None, None])
    found = []
    for _ in range(count):
        token = out.argmax(-1, keepdim=True)
        out, caches = step(token, caches)
        found.append(out)
    return rushlight.cat(found)


def test_a_growing_cache_compiles_nothing_for_each_length():
    from rushlight.runtime.cpu.jit import jit

    rushlight.manual_seed(0)
    model = Decoder().eval()
    step = rushlight.compile(model)
    expected = generated(model, model, 60)
    for _ in range(2):  # the first cache, which eager mode gives, has strides of its own
        assert rushlight.allclose(generated(step, model, 30), expected[:30], atol=1e-4)
    before = jit().emitted
    assert rushlight.allclose(generated(step, model, 60), expected, atol=1e-4)
    assert jit().emitted == before
