"""Attention in native code against eager mode: masks, sizes, strides, gradients, long sequences, threads."""

from __future__ import annotations

import importlib.util
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.compiled import assert_compiled_matches_eager, assert_threads_change_nothing, results_and_gradients

import rushlight as torch
from rushlight import compiler
from rushlight.nn import functional as F

if importlib.util.find_spec("llvmlite") is None:
    pytest.skip("native code needs llvmlite: pip install llvmlite", allow_module_level=True)

from rushlight.codegen.llvm import target
from rushlight.codegen.llvm.gemm.choose import choose_tile


def assert_native_matches_eager(function: Any, *inputs: Any, tolerance: float) -> None:
    """Results and gradients are those of eager mode, and no graph fell back to it."""
    compiler.counters["aot_fallback"].clear()
    assert_compiled_matches_eager(function, *inputs, tolerance=tolerance, scaled=True)
    assert not compiler.counters["aot_fallback"]


@given(st.data())
@settings(max_examples=20, deadline=None)
def test_attention(data: Any) -> None:
    pick = lambda *values: data.draw(st.sampled_from(values))
    torch.manual_seed(data.draw(st.integers(0, 99)))
    dtype = pick(torch.float32, torch.float64)
    batch, length, source = pick((), (2,), (2, 3)), pick(1, 5, 33, 70), pick(1, 7, 32, 65)
    size, width, kind = pick(1, 4, 19, 32), pick(1, 5, 32, 40), pick("none", "causal", "bool", "float")
    if kind == "causal" and data.draw(st.booleans()):
        source = length

    def make(rows: int, columns: int) -> Any:
        """A matrix for each of the batch; every other one has the strides of heads split from a wider tensor."""
        if not data.draw(st.booleans()) or len(batch) < 2:
            return torch.randn(*batch, rows, columns, dtype=dtype)
        return torch.randn(batch[0], rows, batch[1], columns, dtype=dtype).transpose(1, 2)

    q, k, v = make(length, size), make(source, size), make(source, width)
    options: dict[str, Any] = {"is_causal": kind == "causal", "scale": pick(None, 0.5)}
    if kind == "bool":
        mask = torch.randint(0, 3, (length, source)) > 0
        mask[0] = False  # attends to nothing
        options["attn_mask"] = mask
    if kind == "float":
        options["attn_mask"] = torch.randn(*batch, length, source, dtype=dtype)
    assert_native_matches_eager(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **options), q, k, v, tolerance=5e-5 if dtype == torch.float32 else 1e-11
    )


def test_keys_and_values_that_are_shared_by_heads() -> None:
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 4, 6, 8), torch.randn(1, 4, 6, 8), torch.randn(2, 1, 6, 8)
    assert_native_matches_eager(F.scaled_dot_product_attention, q, k, v, tolerance=2e-5)


def test_results_lie_as_in_eager_mode() -> None:
    """Heads that are split from one tensor and concatenated again are not copied; the result has the strides of eager mode."""
    torch.manual_seed(0)

    def attend(x: Any) -> Any:
        return F.scaled_dot_product_attention(*(each.view(2, 10, 4, 8).transpose(1, 2) for each in x.split(32, 2)), is_causal=True)

    def several(x: Any) -> Any:
        heads = attend(x)
        return heads, heads.transpose(1, 2).reshape(2, 10, 32), heads.transpose(1, 2)

    def copies(x: Any) -> Any:
        heads = attend(x)
        return heads.transpose(1, 2).reshape(2, 10, 32), heads.transpose(1, 2).reshape(2, 320), heads.view(8, 10, 8).exp()

    x = torch.randn(2, 10, 96)
    assert_native_matches_eager(lambda x: attend(x).transpose(1, 2).reshape(2, 10, 32), x, tolerance=2e-5)
    assert_native_matches_eager(lambda x: attend(x).view(8, 10, 8), x, tolerance=2e-5)
    for function in (several, copies):
        compiled = torch.compile(function, backend="native")
        for needs in (False, True):
            given = x.clone().requires_grad_(needs)
            compiled(given)
            found, wanted = compiled(given), function(given)
            for one, other in zip(found, wanted, strict=True):
                assert one.stride() == other.stride()
                np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), 1e-5, 1e-5)
            if not needs:  # what shares memory, and what does not
                for each in (found, wanted):
                    each[0].fill_(7.0)
                assert [bool((each == 7).all()) for each in found] == [bool((each == 7).all()) for each in wanted]


def test_a_nan_stays_in_its_row() -> None:
    q, k, v = (torch.ones(3, 4) for _ in range(3))
    q[1, 2] = float("nan")
    compiled = torch.compile(F.scaled_dot_product_attention, backend="native")
    with torch.no_grad():
        compiled(q, k, v)
        found = compiled(q, k, v)
    assert found.isnan().any(1).tolist() == [False, True, False]


def test_threads_do_not_change_results() -> None:
    torch.manual_seed(0)
    inputs = [torch.randn(3, 2, 100, 16) for _ in range(3)]
    compiled = torch.compile(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), backend="native")
    results_and_gradients(compiled, inputs)
    assert_threads_change_nothing(lambda: results_and_gradients(compiled, inputs))


@pytest.mark.parametrize("triple, features, tile", [("x86_64", "+avx,+fma", (4, 3)), ("x86_64", "", (4, 2)), ("aarch64", "", (6, 4))])
def test_other_processors(triple: str, features: str, tile: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiles of processors with other registers, which this one can run too."""
    monkeypatch.setattr(target, "_chosen", [target.Processor(triple, "generic", features)])
    assert choose_tile() == tile
    torch.manual_seed(0)
    assert_native_matches_eager(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), *(torch.randn(2, 50, 20) for _ in range(3)), tolerance=2e-5
    )
    model = torch.nn.GRU(5, 30)
    assert_native_matches_eager(lambda x: model(x)[0], torch.randn(3, 9, 5), tolerance=2e-5)


def _last_keys_masked() -> dict[str, torch.Tensor]:
    places, keys = torch.arange(90)[:, None], torch.arange(110)
    no_block = torch.rand(90, 110) > 0.5
    no_block[30:70] = False
    return {
        "causal": places >= keys,
        "window": (places >= keys) & (places - keys < 7),
        "padding": (keys < 41)[None, None, None].expand(2, 3, 1, 110),
        "batches": keys < torch.tensor([5, 110])[:, None, None, None],
        "one key": (keys == 60).expand(90, 110),
        "whole blocks": no_block,
        "strided": (keys[:, None] <= places.T).t(),
        "queries": (places % 2 == 0).expand(90, 110),
        "nothing": torch.zeros(90, 110, dtype=torch.bool),
    }


@pytest.mark.parametrize("kind", list(_last_keys_masked()))
def test_keys_that_no_query_of_a_block_sees(kind: str) -> None:
    """They are passed over: results, gradients and zeros for queries that see nothing are those of eager mode."""
    torch.manual_seed(0)
    mask = _last_keys_masked()[kind]
    inputs = [torch.randn(2, 3, 90, 12), torch.randn(2, 3, 110, 12), torch.randn(2, 3, 110, 5)]
    assert_native_matches_eager(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, mask), *inputs, tolerance=2e-5)


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("kind", ["none", "causal", "bool", "row", "float"])
@pytest.mark.parametrize(("length", "source"), [(37, 37), (20, 51), (51, 20)])
def test_many_weights_are_not_kept(kind: str, length: int, source: int, native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a long sequence are computed again, some rows at a time, by native code or without it: results and gradients of eager mode, and of a first compiled call, are the same."""
    from rushlight.core import kernel_providers
    from rushlight.ops.nn import attention

    torch.manual_seed(0)
    query, key, value = torch.randn(2, 3, length, 8), torch.randn(2, 3, source, 8), torch.randn(2, 3, source, 5)
    masks = {"bool": torch.rand(2, 3, length, source) > 0.3, "row": torch.rand(source) > 0.3, "float": torch.randn(length, source)}

    def run(query: Any, key: Any, value: Any) -> Any:
        return F.scaled_dot_product_attention(query, key, value, masks.get(kind), is_causal=kind == "causal")

    want = results_and_gradients(run, [query, key, value])
    monkeypatch.setattr(attention, "MANY_WEIGHTS", 0)
    monkeypatch.setattr(attention, "BLOCK_OF_WEIGHTS", 6 * source * 4)
    sizes: list[int] = []
    plain = attention._attention_of
    monkeypatch.setattr(attention, "_attention_of", lambda xp, *args: sizes.append(args[0].shape[-2]) or plain(xp, *args))  # type: ignore[func-returns-value]
    if not native:
        monkeypatch.setattr(kernel_providers, "_found", {kernel_providers._PROVIDER: None})
    for one, other in zip(want, results_and_gradients(run, [query, key, value])):
        np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-5)
    assert (not sizes) if native else max(sizes) == 4 and len(sizes) >= 2 * (length // 4)
    compiled = torch.compile(run, backend="native")
    for _ in range(2):
        for one, other in zip(want, results_and_gradients(compiled, [query, key, value])):
            np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-5)


def test_long_sequences_of_eager_mode_keep_no_matrix_of_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory grows with the length, and not with its square."""
    from rushlight.ops.nn import attention

    monkeypatch.setattr(attention, "MANY_WEIGHTS", 1 << 18)
    query, key, value = (torch.randn(1, 1, 600, 8, requires_grad=True) for _ in range(3))
    result = F.scaled_dot_product_attention(query, key, value)  # compiles
    result.sum().backward()
    tracemalloc.start()
    F.scaled_dot_product_attention(query, key, value).sum().backward()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 600 * 600 * 4 / 2
