"""Generated matrix products, and the launcher's fast path, against eager mode."""

from __future__ import annotations

import functools
import importlib.util
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.compiled import assert_compiled_matches_eager, assert_threads_change_nothing, results_and_gradients, thread_count

import rushlight as torch
from rushlight import nn

if importlib.util.find_spec("llvmlite") is None:
    pytest.skip("native code needs llvmlite: pip install llvmlite", allow_module_level=True)

from rushlight.backends import native
from rushlight.codegen.llvm.gemm import choose, matmul
from rushlight.schedule.tensor_ir import Input, Reference

assert_matches_eager = functools.partial(assert_compiled_matches_eager, tolerance=2e-4, scaled=True)


def matrix(rows: int, columns: int, dtype: Any, transposed: bool, spread: bool) -> Any:
    """A matrix with a memory layout: contiguous, transposed, part of a wider one."""
    made = torch.randn(columns, rows, dtype=dtype).t() if transposed else torch.randn(rows, columns, dtype=dtype)
    if not spread:
        return made
    wider = torch.randn(2 * made.shape[0], made.shape[1] + 3, dtype=dtype)
    return wider.t()[3:, ::2].t()[:rows, :columns] if transposed else wider[::2, 3:][:rows, :columns]


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_shapes_and_layouts(data: Any) -> None:
    pick = lambda *values: data.draw(st.sampled_from(values))
    torch.manual_seed(data.draw(st.integers(0, 99)))
    dtype = pick(torch.float32, torch.float64)
    rows, depth, width = pick(1, 8, 9, 33, 150), pick(1, 8, 17, 64, 100), pick(1, 16, 31, 64, 90)
    a = matrix(rows, depth, dtype, pick(False, True), pick(False, True))
    b = matrix(depth, width, dtype, pick(False, True), pick(False, True))
    assert_matches_eager(lambda a, b: a @ b + 1, a, b, tolerance=5e-4 if dtype == torch.float32 else 1e-11)


@pytest.mark.parametrize(("rows", "depth", "width", "threads"), [(101, 70, 133, 2), (7, 400, 33, 2), (130, 800, 70, 16)])
def test_products_in_blocks(rows: int, depth: int, width: int, threads: int, monkeypatch: Any) -> None:
    """Large products are multiplied in blocks of two dimensions, in several parts of their depth; here are small ones."""
    used: list[Any] = []

    def blocks_win(*sizes: Any) -> bool:
        used.append(sizes)
        return True

    monkeypatch.setattr(matmul, "blocks_win", blocks_win)
    monkeypatch.setattr(matmul, "is_unpacked", lambda *args: False)
    torch.manual_seed(0)
    with thread_count(threads):
        for dtype, tolerance in ((torch.float32, 1e-3), (torch.float64, 1e-11)):
            for transposed in (False, True):
                for spread in (False, True):
                    a, b = matrix(rows, depth, dtype, transposed, spread), matrix(depth, width, dtype, not transposed, spread)
                    assert_matches_eager(lambda a, b: a @ b + 1, a, b, tolerance=tolerance)
    assert used


@pytest.mark.parametrize("size", [(788, 768), (788, 3072), (3072, 768), (2304, 768), (512, 3072), (100, 60), (1, 1)])
@pytest.mark.parametrize("threads", [8, 16, 64])
def test_blocks_leave_few_threads_without_work(size: tuple[int, int], threads: int) -> None:
    """The last round of blocks is nearly full, where there are several blocks for each thread."""
    high, wide = choose.balanced_block(size, (32, 32), 256, threads, 20)
    blocks = -(-size[0] // high) * -(-size[1] // wide)
    assert high % 32 == 0 and wide % 32 == 0 and max(high, wide) <= 256
    if size[0] * size[1] >= threads * 4 * 32 * 32:
        assert size[0] * size[1] > 0.7 * -(-blocks // threads) * threads * high * wide


@pytest.mark.parametrize("transposed", [False, True])
def test_threads_that_pack_for_themselves_change_no_product(transposed: bool, monkeypatch: Any) -> None:
    """A right matrix of half a megabyte or more is packed by each of many threads; the sums are those of few threads."""
    used: list[Any] = []

    class Counted(matmul.PackedBlockProduct):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            used.append(self)

    monkeypatch.setattr(matmul, "PackedBlockProduct", Counted)
    torch.manual_seed(0)
    a, b = torch.randn(77, 700), torch.randn(300, 700).t() if transposed else torch.randn(700, 300)
    found = []
    for threads in (2, 16):
        with thread_count(threads), torch.no_grad():
            compiled = torch.compile(lambda a, b: a @ b, backend="native")
            compiled(a, b)
            found.append(compiled(a, b).numpy())
    assert used and np.array_equal(*found)
    np.testing.assert_allclose(found[0], a.numpy() @ b.numpy(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("left", "right"), [(False, False), (False, True), (True, False)])
def test_deep_products_are_split_along_their_depth(left: bool, right: bool, monkeypatch: Any) -> None:
    """As for the gradient of what a large vocabulary is multiplied by: threads have parts of the depth."""
    used: list[int] = []
    original = matmul.SplitDepth.native_calls
    monkeypatch.setattr(matmul.SplitDepth, "native_calls", lambda self, *rest: used.append(self.parts) or original(self, *rest))
    monkeypatch.setattr(choose, "PACKED_BYTES", 1 << 20)
    a, b = torch.randn(17, 9000), torch.randn(9000, 70)
    if left:
        a = a.t().contiguous().t()
    if right:
        b = b.t().contiguous().t()
    assert_matches_eager(lambda a, b: a @ b + 1, a, b)
    assert used and set(used) == {5}
    compiled = torch.compile(lambda a, b: a @ b, backend="native")
    assert_threads_change_nothing(lambda: [compiled(a, b).numpy()])


def test_a_batch_with_rows_in_another_order_is_one_product() -> None:
    x, weight = torch.randn(4, 37, 64), torch.randn(96, 64)

    def project(x: Any, weight: Any) -> Any:
        return x.transpose(0, 1) @ weight.t()

    assert_matches_eager(project, x, weight)
    with torch.no_grad():
        compiled = torch.compile(project, backend="native")
        compiled(x, weight)
    assert "BLAS" not in native.describe(compiled)


def test_blocks_are_for_large_products() -> None:
    assert choose.blocks_win(2048, 512, 2048, 4) and choose.blocks_win(512, 2048, 2048, 4)
    assert not choose.blocks_win(512, 128, 512, 4)  # its right matrix stays in the cache
    assert not choose.blocks_win(256, 768, 50257, 4)  # a copy of its right matrix takes much memory


def test_many_threads_change_no_product() -> None:
    """Blocks are smaller where threads are many: the same numbers come out."""
    torch.manual_seed(0)
    found = []
    for threads in (1, 2, 16):
        torch.manual_seed(0)
        layer = nn.Linear(192, 300)
        x = torch.randn(700, 192)
        with thread_count(threads):
            compiled = torch.compile(nn.Sequential(layer, nn.ReLU()), backend="native")
            results_and_gradients(compiled, [x], layer.parameters())
            found.append(results_and_gradients(compiled, [x], layer.parameters()))
    for other in found[1:]:
        for one, same in zip(found[0], other):
            np.testing.assert_array_equal(one, same)


def test_batches_of_rows() -> None:
    torch.manual_seed(0)
    layer = nn.Linear(40, 50)
    assert_matches_eager(lambda x: layer(x).relu(), torch.randn(4, 5, 40))
    assert_matches_eager(lambda x: layer(x.transpose(0, 1)), torch.randn(4, 5, 40))
    assert_matches_eager(lambda x, w: x @ w, torch.randn(3, 20, 40), torch.randn(3, 40, 20))
    assert_matches_eager(lambda x, w: x @ w, torch.randn(40), torch.randn(40, 64))


@pytest.mark.parametrize(("depth", "rows", "width"), [(512, 64, 96), (1001, 33, 70), (600, 200, 16)])
def test_gradients_of_weights(depth: int, rows: int, width: int) -> None:
    """Products through the rows of a large batch, which are added up in parts."""
    torch.manual_seed(0)
    for dtype, tolerance in ((torch.float32, 5e-4), (torch.float64, 1e-11)):
        assert_matches_eager(
            lambda a, b: a.t() @ b, torch.randn(depth, rows, dtype=dtype), torch.randn(depth, width, dtype=dtype), tolerance=tolerance
        )
    layer = nn.Linear(rows, width)
    assert_matches_eager(lambda x, w, b: nn.functional.linear(x, w, b), torch.randn(depth, rows), layer.weight, layer.bias)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("rows", "depth", "width"), [(8, 8, 64), (9, 33, 32), (32, 64, 64), (13, 8, 96), (64, 32, 64), (31, 20, 128)])
def test_tiny_products_as_they_lie(rows: int, depth: int, width: int, dtype: Any) -> None:
    """The right matrix is read where it is, as a part of a wider one too; the left one may be transposed."""
    torch.manual_seed(0)
    tolerance = 5e-4 if dtype == torch.float32 else 1e-11
    wide = torch.randn(depth + 2, width + 5, dtype=dtype)
    for transposed in (False, True):
        for spread in (False, True):
            a = matrix(rows, depth, dtype, transposed, spread)
            assert_matches_eager(lambda a, b: a @ b * 2, a, torch.randn(depth, width, dtype=dtype), tolerance=tolerance)
            assert_matches_eager(lambda a, b: a @ b[1:-1, 3:-2], a, wide, tolerance=tolerance)


def test_which_right_matrices_are_not_packed() -> None:
    wide = choose.panel_width("float")

    def unpacked(rows: int, depth: int, width: int, transposed: bool = False) -> bool:
        a, b = (Reference(Input(0, shape, np.dtype("f"), None), shape, (shape[1], 1)) for shape in ((rows, depth), (depth, width)))
        b = Reference(b.value, b.shape, (1, depth)) if transposed else b
        return matmul.is_unpacked("float", a, b)

    assert unpacked(32, 64, 2 * wide) and unpacked(8, 8, wide)
    assert (
        not unpacked(32, 64, 2 * wide, transposed=True)
        and not unpacked(32, 64, wide + 1)
        and not unpacked(4, 64, wide)
        and not unpacked(512, 128, 4 * wide)
    )


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((32, 1), (1, 64)),
        ((4, 5, 1), (4, 1, 6)),
        ((4, 5, 1), (1, 6)),
        ((1,), (1, 6)),
        ((5, 1), (1,)),
        ((1, 1), (1, 1)),
        ((2, 1, 5, 1), (3, 1, 7)),
    ],
)
def test_products_of_columns_and_rows(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    assert_matches_eager(lambda a, b: (a @ b).tanh() + a.sum(), torch.randn(left), torch.randn(right))
    values = torch.tensor([float("inf"), float("nan"), -1.0, 0.0])
    with torch.no_grad():
        found = torch.compile(lambda a, b: a @ b)(values[:, None], values[None])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found.numpy(), np.outer(values.numpy(), values.numpy()))


def test_where_products_are_generated() -> None:
    """By measurement: between the tiny ones and those whose right matrix is beyond the cache."""
    chosen = lambda *sizes, transposed=False: choose.generated_wins(*sizes, 4, transposed)
    assert chosen(512, 128, 384) and chosen(16, 128, 128, transposed=True) and chosen(32, 64, 64, transposed=True)
    assert (
        not chosen(32, 64, 64)
        and not chosen(4, 128, 128)
        and not chosen(512, 4096, 64)
        and not chosen(512, 1024, 1024)
        and not chosen(512, 64, 1)
    )


def test_threads_do_not_change_results() -> None:
    torch.manual_seed(0)
    inputs = torch.randn(600, 100), torch.randn(100, 120)  # of which one gradient is added up in parts
    compiled = torch.compile(lambda a, b: (a @ b).tanh(), backend="native")
    results_and_gradients(compiled, inputs)
    assert_threads_change_nothing(lambda: results_and_gradients(compiled, inputs))


# -- calls in short ----------------------------------------------------------------------------------------------


def test_inputs_that_change_from_call_to_call() -> None:
    """Sizes, layouts, dtypes, unaligned memory: each call checks its arguments."""
    compiled = torch.compile(lambda x, y: x * 2 + y, backend="native", dynamic=False)
    askew = np.frombuffer(bytearray(49), np.float32, 12, 1).reshape(3, 4)
    shapes = [
        torch.randn(3, 4),
        torch.randn(3, 4),
        torch.randn(4, 3).t(),
        torch.randn(3, 8)[:, ::2],
        torch.randn(3, 4).double(),
        torch.randn(2, 4),
    ]
    with torch.no_grad():
        for _ in range(2):
            for x in [*shapes, torch.from_numpy(askew), *shapes]:
                y = torch.randn(1, 4)
                np.testing.assert_allclose(compiled(x, y).numpy(), (x * 2 + y).numpy(), 1e-6)


def test_the_graph_of_a_short_call() -> None:
    """Leaves, nodes before it, several outputs, outputs that need no gradient, gradients of gradients."""
    weight = torch.randn(3, requires_grad=True)
    function = lambda x, w: ((x * w).sin(), x.detach() + 1, (x + w).exp())
    compiled = torch.compile(function, backend="native")
    for number in range(4):
        x = torch.randn(3, requires_grad=True)
        for only in (0, 2, None):
            found = []
            for each in (function, compiled):
                weight.grad = x.grad = None
                results = each(x * 2, weight)
                assert [result.requires_grad for result in results] == [True, False, True]
                (results[only].sum() if only is not None else results[0].sum() + results[2].prod()).backward()
                found.append((x.grad.numpy(), weight.grad.numpy()))
            for a, b in zip(*found):
                np.testing.assert_allclose(a, b, 1e-5, 1e-6, err_msg=str(number))
    (once,) = torch.autograd.grad(compiled(x, weight)[0].sum(), x, create_graph=True)
    (twice,) = torch.autograd.grad(once.sum(), x)
    np.testing.assert_allclose(twice.numpy(), (-(x * weight).sin() * weight * weight).detach().numpy(), 1e-5, 1e-6)


def test_what_a_short_call_keeps() -> None:
    """Changed in place before backward: an error; backward twice: an error; no tensor is kept alive by a cycle."""
    compiled = torch.compile(lambda x, w: (x * w).tanh(), backend="native")
    weight = torch.randn(3, requires_grad=True)
    for _ in range(3):
        x = torch.randn(3)
        result = compiled(x, weight)
    x += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()
    result = compiled(x, weight).sum()
    result.backward()
    with pytest.raises(RuntimeError, match="second time"):
        result.backward()


def test_views_and_inputs_as_outputs() -> None:
    function = lambda x: (x, x.t(), (x * 2).t(), x[1])
    compiled = torch.compile(function, backend="native")
    for _ in range(3):
        x = torch.randn(3, 2, requires_grad=True)
        for one, other in zip(compiled(x), function(x), strict=True):
            np.testing.assert_array_equal(one.detach().numpy(), other.detach().numpy())
        sum(each.sum() for each in compiled(x)).backward()
        wanted = torch.tensor([[4.0, 4.0], [5.0, 5.0], [4.0, 4.0]])
        np.testing.assert_array_equal(x.grad.numpy(), wanted.numpy())
