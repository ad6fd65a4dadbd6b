"""How compiled steps on a GPU are cut down to few kernels: layouts of attention, sums on the way, measured products; on stand-ins for the GPU."""

from __future__ import annotations

import gc
import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from replayed_device import stand_in

import rushlight as torch
from rushlight import nn
from rushlight.core.errors import AcceleratorError
from rushlight.cuda import triton_driver
from rushlight.nn import functional as F
from rushlight.runtime.cuda import launch, measured_products

triton = pytest.importorskip("triton")
pytestmark = [
    pytest.mark.skipif(not triton.knobs.runtime.interpret, reason="kernels run here by Triton's interpreter (TRITON_INTERPRET=1)"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]


class Layer(nn.Module):
    """A layer of a transformer, whose heads are split in one of two ways."""

    def __init__(self, split: bool) -> None:
        super().__init__()
        self.split, self.norm, self.last = split, nn.LayerNorm(16), nn.LayerNorm(16)
        self.qkv, self.out, self.up, self.down = nn.Linear(16, 48), nn.Linear(16, 16), nn.Linear(16, 32), nn.Linear(32, 16)

    def forward(self, x: Any) -> Any:
        b, t, c = x.shape
        joint = self.qkv(self.norm(x))
        if self.split:
            q, k, v = (each.view(b, t, 2, 8).transpose(1, 2) for each in joint.split(c, 2))
        else:
            q, k, v = joint.view(b, t, 3, 2, 8).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.last(x))))


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    torch.compiler.reset()
    with stand_in(monkeypatch):
        yield
    torch.compiler.reset()
    gc.collect()


def trained(split: bool, compiled: bool, length: int = 5) -> tuple[list[float], list[Any], str]:
    """Losses and gradients of some steps, and what became of the graph."""
    torch.manual_seed(0)
    model, x = nn.Sequential(Layer(split), Layer(split)).to("cuda"), torch.randn(3, length, 16).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step() -> Any:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    function = torch.compile(step, fullgraph=True) if compiled else step
    losses = [function().item() for _ in range(5)]
    told = function._compiled.cache.all()[0].executable.describe() if compiled else ""  # type: ignore[attr-defined]
    return losses, [each.grad.cpu() for each in model.parameters()], told


@pytest.mark.parametrize("split", [True, False], ids=["split", "permuted"])
def test_attention_is_neither_copied_nor_joined(gpu: None, split: bool) -> None:
    losses, gradients, _ = trained(split, False)
    found, others, told = trained(split, True)
    assert found == pytest.approx(losses, rel=1e-5)
    torch.testing.assert_close(others, gradients, rtol=1e-4, atol=1e-5)
    steps = [line for line in map(str.strip, told.splitlines()) if line.startswith(("call: ", "group over"))]
    assert not any(word in line for line in steps for word in ("reshape_copy", ": cat", ": stack")), told
    assert sum("linear" in line for line in steps) == 8  # which add their biases


def test_layer_norms_keep_their_input_and_sum_on_the_way(gpu: None) -> None:
    losses, gradients, _ = trained(True, False, 48)
    found, others, told = trained(True, True, 48)
    assert found == pytest.approx(losses, rel=1e-5)
    torch.testing.assert_close(others, gradients, rtol=1e-4, atol=1e-5)
    steps = [line.strip() for line in told.splitlines() if line.strip().startswith("group over [3, 48, 16] reducing [2]: after")]
    assert len(steps) == 4, told
    for line in steps:  # the standardized input again, and the sums that are gradients of weight and bias
        assert "mean" in line and line.count("sum") >= 2, line


class Product:
    """A product whose algorithms take known times; the clock is a list of one number."""

    def __init__(self, times: list[float], clock: list[float]) -> None:
        self.lt = SimpleNamespace(version=1)
        self.times, self.clock, self.used, self.measured, self.ran = times, clock, 0, False, 0
        self.found = [SimpleNamespace(algorithm=bytes([0] * 8))]
        self.split: Any = None
        self.description = ((0, 4, 0), (0, 4, 0), (4, 4, 4, 1), (0, 68, 0), 16, True, 64)

    def find_more(self) -> None:
        self.found = [SimpleNamespace(algorithm=bytes([at] * 8)) for at in range(len(self.times))]

    def use(self, number: int) -> None:
        self.used = number

    def stored(self, number: int) -> bytes:
        return bytes([number] * 8)

    def restore(self, kept: bytes) -> int:
        assert len(self.found) == 1  # the heuristics are not asked again
        return kept[0]

    def run(self, *args: Any) -> None:
        self.ran += 1
        if math.isinf(self.times[self.used]):
            raise AcceleratorError("refused")
        self.clock[0] += self.times[self.used]


def stand_in_for_cupy(clock: list[float]) -> Any:
    class Stream:
        ptr = 1

        def __init__(self, non_blocking: bool = False) -> None:
            self.began = 0.0

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *args: Any) -> None:
            pass

        def begin_capture(self) -> None:
            self.began = clock[0]

        def end_capture(self) -> Any:
            took, clock[0] = clock[0] - self.began, self.began

            def launch(stream: Any) -> None:
                clock[0] += took

            return SimpleNamespace(launch=launch)

    class Event:
        def record(self, stream: Any) -> None:
            self.at = clock[0]

        def synchronize(self) -> None:
            pass

    memory = SimpleNamespace(ptr=4096)
    runtime = SimpleNamespace(getDevice=lambda: 0, getDeviceProperties=lambda index: {"name": b"a GPU"}, memcpy=lambda *args: None)
    return SimpleNamespace(
        cuda=SimpleNamespace(
            runtime=runtime, Stream=Stream, Event=Event, Device=lambda: SimpleNamespace(synchronize=lambda: None),
            get_elapsed_time=lambda start, end: (end.at - start.at) / 1e3, get_current_stream=lambda: SimpleNamespace(is_capturing=lambda: False),
            MemoryPool=lambda: SimpleNamespace(malloc=None), using_allocator=lambda allocate: nullcontext(), alloc=lambda size: memory,
        )
    )  # fmt: skip


@contextmanager
def measured(times: list[float], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Product]:
    monkeypatch.setenv("RUSHLIGHT_CACHE_DIR", str(folder))
    clock = [0.0]
    product = Product(times, clock)
    measured_products.pending[product] = None
    measured_products.measure_pending(stand_in_for_cupy(clock))
    assert not measured_products.pending
    yield product


def test_the_fastest_algorithm_is_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with measured([50.0, math.inf, 30.0, 40.0], tmp_path, monkeypatch) as product:
        assert product.used == 2 and product.measured and product.ran > 4
    with measured([50.0, math.inf, 30.0, 40.0], tmp_path, monkeypatch) as product:
        assert product.used == 2 and product.ran == 0  # it is known from the disk


def test_a_small_gain_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with measured([50.0, 49.5], tmp_path, monkeypatch) as product:
        assert product.used == 0


def test_products_are_measured_only_where_asked_for() -> None:
    assert not measured_products.measuring
    with measured_products.measured_products():
        assert measured_products.measuring
    assert not measured_products.measuring


@pytest.mark.parametrize("biased", [False, True], ids=["plain", "bias"])
@pytest.mark.parametrize("right", [False, True], ids=["rows", "columns"])
@pytest.mark.parametrize("left", [False, True], ids=["rows", "columns"])
@pytest.mark.parametrize("sizes", [(40, 72, 50), (72, 40, 64)], ids=str)
def test_products_of_three(sizes: tuple[int, int, int], left: bool, right: bool, biased: bool) -> None:
    """Operands that lie by rows or by columns, with sums of whole steps or not: kernels by Triton's interpreter, on the CPU's memory."""
    import rushlight.runtime.cuda.kernels.split_product as split_product

    tensors: dict[int, Any] = {}

    def known(tensor: Any) -> int:
        tensors[tensor.data_ptr()] = tensor
        return int(tensor.data_ptr())

    class Interpreted(measured_products.SplitProduct):
        def launch(self, name: str, grid: tuple[int, ...], values: dict[str, Any], options: dict[str, Any]) -> None:
            given = {key: tensors[each.address] if isinstance(each, measured_products.Address) else each for key, each in values.items()}
            getattr(split_product, name)[grid](**given, **{key: each for key, each in options.items() if key.isupper()})

    torch.manual_seed(0)
    m, n, k = sizes
    a, b, bias, made = torch.randn(m, k), torch.randn(k, n), torch.randn(n), torch.zeros(m, n)
    expected = a.double() @ b.double() + (bias if biased else 0)
    turned, other = ((x.T.contiguous() if flip else x) for x, flip in ((a, left), (b, right)))
    described = (
        (int(right), k if right else n, 0), (int(left), m if left else k, 0), (n, m, k, 1), (0, 68, 0), 16, biased, 0,
    )  # fmt: skip
    cupy = SimpleNamespace(cuda=SimpleNamespace(alloc=lambda size: SimpleNamespace(ptr=known(torch.zeros(size // 4)))))
    product = Interpreted(cupy, described)
    product.run(known(other), known(turned), known(made), known(bias) if biased else 0)
    torch.testing.assert_close(made.double(), expected, rtol=1e-5, atol=2e-5)
    assert bool(product.transposes) == (left and not right)


def test_which_products_are_of_three() -> None:
    takes = measured_products.SplitProduct.takes
    plain = ((0, 512, 0), (0, 512, 0), (512, 512, 512, 1), (0, 68, 0), 16, False, 0)
    assert takes(plain)
    for at, other in (
        (2, (512, 512, 512, 8)),
        (2, (512, 16, 512, 1)),
        (2, (32, 32, 32, 1)),
        (3, (0, 77, 0)),
        (3, (14, 68, 0)),
    ):  # batches, small, TF32, half
        assert not takes((*plain[:at], other, *plain[at + 1 :]))


def test_kernels_are_launched_without_a_c_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain kernels go to the driver; Triton's own launcher is made for those that are launched often, or that have other arguments."""
    launched: list[Any] = []
    module = SimpleNamespace(CudaLauncher=lambda source, about: lambda *args: launched.append("Triton"))
    plain = {"x": "*fp32", "count": "i32", "y": "*fp32", "BLOCK": "constexpr"}

    def of(cupy: Any, kernel: Any, grid: Any, values: Any) -> Any:
        return lambda *addresses: launched.append((kernel.name, grid, values["count"], addresses))

    monkeypatch.setattr(triton_driver, "Launch", SimpleNamespace(of=of))
    monkeypatch.setattr(triton_driver, "device_types", {"cuda": SimpleNamespace(cupy=None)})
    monkeypatch.setattr(triton_driver, "importlib", SimpleNamespace(import_module=lambda name: module))
    monkeypatch.setattr(triton_driver, "_FEW", 2)
    at = [SimpleNamespace(data_ptr=lambda address=address: address) for address in (16, 32)]
    launcher = triton_driver.Launcher(SimpleNamespace(signature=plain), SimpleNamespace(name="kernel"))
    for _ in range(3):
        launcher(3, 1, 1, 0, 7, None, None, None, SimpleNamespace(calls=[]), at[0], 5, at[1], 64)
    assert launched == [("kernel", (3, 1, 1), 5, (16, 32))] * 2 + ["Triton"]
    launcher(0, 1, 1, 0, 7, None, None, None, None, at[0], 5, at[1], 64)  # nothing to do
    other = triton_driver.Launcher(SimpleNamespace(signature={"x": "tensordesc<fp32[64]>"}), SimpleNamespace(name="other"))
    other(1, 1, 1, 0, 7, None, None, None, None, at[0])
    assert launched[3:] == ["Triton"]


@pytest.mark.parametrize(
    ("stride", "padding", "dilation", "biased"), [((1, 1), (1, 1), (1, 1), True), ((2, 1), (0, 2), (1, 2), False)], ids=str
)
def test_convolutions_as_products(stride: tuple[int, int], padding: tuple[int, int], dilation: tuple[int, int], biased: bool) -> None:
    """The kernel by Triton's interpreter, on the CPU's memory."""
    import rushlight.runtime.cuda.kernels.implicit_convolution as kernels
    from rushlight.runtime.cuda.measured_convolutions import ImplicitConvolution

    torch.manual_seed(0)
    x, w, bias = torch.randn(2, 3, 9, 8), torch.randn(5, 3, 3, 2), torch.randn(5)
    expected = torch.nn.functional.conv2d(x, w, bias if biased else None, stride, padding, dilation)
    made = torch.zeros(expected.shape)
    planned = ImplicitConvolution(None, x.shape, w.shape, expected.shape, x.numpy().dtype, (stride, padding, dilation))
    sizes = {name: value for name, value in planned.sizes.items() if name.isupper()} | {"PRECISION": "ieee", "BIASED": biased}
    kernels.implicit_convolution[planned.grid](x, w, bias, made, **planned.numbers, **sizes)
    torch.testing.assert_close(made, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("as_product", "taken"), [(30.0, True), (49.5, False)])
def test_the_faster_convolution_is_measured_once(as_product: float, taken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rushlight.runtime.cuda import measured_convolutions
    from rushlight.runtime.cuda.measured_convolutions import ImplicitConvolution

    monkeypatch.setenv("RUSHLIGHT_CACHE_DIR", str(tmp_path))
    clock, ran, dtype = [0.0], [0], torch.ones(1).numpy().dtype
    cupy = stand_in_for_cupy(clock)
    cupy.ndarray = lambda shape, dtype: SimpleNamespace(shape=shape, dtype=dtype, size=math.prod(shape), data=SimpleNamespace(ptr=4096))
    monkeypatch.setattr(cupy.cuda.Stream, "synchronize", lambda self: None, raising=False)

    def by_product(self: Any, *arrays: Any) -> None:
        ran[0] += 1
        clock[0] += as_product

    def by_cudnn(*arrays: Any) -> None:
        clock[0] += 50.0

    monkeypatch.setattr(ImplicitConvolution, "run", by_product)
    monkeypatch.setattr(ImplicitConvolution, "request", lambda self, arrays, biased: None)
    image, filters, result = (cupy.ndarray(shape, dtype) for shape in ((2, 3, 8, 8), (4, 3, 3, 3), (2, 4, 8, 8)))
    for known in (False, True):
        monkeypatch.setattr(measured_convolutions, "_chosen", {})
        given = (cupy, "key", image, filters, None, result.shape, ((1, 1), (1, 1), (1, 1)), by_cudnn)
        assert measured_convolutions.chosen(*given) is None
        ran[0] = 0
        measured_convolutions.measure_convolutions(cupy)
        assert (measured_convolutions.chosen(*given) is not None) == taken
        assert (ran[0] == 0) == known  # the second time it is known from the disk


def test_threads_that_need_a_kernel_at_once_load_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second module in the place of the first would unload it, with the handle that a thread has got."""
    loaded: list[object] = []

    def load(*args: Any) -> Any:
        time.sleep(0.05)
        loaded.append(SimpleNamespace(ptr=len(loaded)))
        return loaded[-1]

    monkeypatch.setattr(launch, "load_function", load)
    kernel = object.__new__(launch.CudaKernel)
    runtime = SimpleNamespace(getDevice=lambda: 0, getDeviceCount=lambda: 1)
    kernel.cupy, kernel.source, kernel.name, kernel.options = SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)), "", "", ()
    kernel._functions, kernel._only = {}, None
    handles: list[int] = []
    threads = [threading.Thread(target=lambda: handles.append(kernel._function(0))) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert handles == [0] * 4 and len(loaded) == 1
