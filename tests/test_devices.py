"""Devices: a further kind of device is registered, and everything runs on its arrays without NumPy ever being called on them.

The arrays of the device "toy" hold a NumPy array, and raise an error when NumPy is called on them: only the functions of their own array module
may be.  So these tests find every place that computes with an array whose device it has not asked for.
"""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from op_samples import convert, flatten, same_layout
from samples import makers, samples_of
from toy_device import ToyArray, ToyDevice

import rushlight as torch
from rushlight.core.base import Spec, make, spec_of
from rushlight.core.declare import table
from rushlight.core.devices import CPU, META, device, device_of, register_device_type, sole_accelerator, unregister_device_type
from rushlight.core.dtypes import BY_NUMPY
from rushlight.core.errors import DeviceError, DimensionError
from rushlight.core.state import fake_mode, state
from rushlight.passes.functionalize import fake_of
from rushlight.testing import assert_close


@pytest.fixture(autouse=True)
def toy_device() -> Iterator[None]:
    register_device_type(ToyDevice())
    yield
    unregister_device_type("toy")


def same(function: Callable[..., Any], *shapes: Any) -> None:
    """A function gives on the toy device what it gives on the CPU, and so do its gradients."""
    torch.manual_seed(0)
    here = [torch.randn(shape).requires_grad_() for shape in shapes]
    there = [each.detach().to("toy").requires_grad_() for each in here]
    expected, found = function(*here), function(*there)
    assert found.device == device("toy:0")
    assert type(found._array) is ToyArray
    assert_close(found.detach().cpu(), expected.detach())
    assert found.stride() == expected.stride()
    if expected.requires_grad:
        expected.sum().backward()
        found.sum().backward()
        for one, other in zip(here, there):
            assert (one.grad is None) == (other.grad is None)
            if one.grad is not None:
                assert other.grad.device == device("toy:0")
                assert_close(other.grad.cpu(), one.grad)


def test_a_device_that_is_not_registered() -> None:
    with pytest.raises(DeviceError, match="device 'xpu' is not available: rushlight has the devices cpu, meta and toy here"):
        torch.zeros(2, device="xpu")
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda, .* device type at start of device string: fridge"):
        torch.device("fridge")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_cuda_that_is_not_there() -> None:
    for call in (lambda: torch.zeros(2, device="cuda"), torch.zeros(2).cuda, lambda: torch.Generator("cuda")):
        with pytest.raises(DeviceError, match="device 'cuda' is not available: "):
            call()


def test_creation() -> None:
    for made in (
        torch.zeros(2, 3, device="toy"), torch.ones((2, 3), device="toy:0"), torch.full((2, 3), 7.0, device="toy"),
        torch.empty(2, 3, device="toy"), torch.arange(6, device="toy").reshape(2, 3), torch.tensor([[1, 2, 3], [4, 5, 6]], device="toy"),
        torch.rand(2, 3, device="toy"), torch.eye(2, 3, device="toy"),
        torch.as_tensor(np.ones((2, 3)), device="toy"), torch.empty_strided((2, 3), (1, 2), device="toy"),
    ):  # fmt: skip
        assert made.shape == (2, 3)
        assert made.device == torch.device("toy", 0)
        assert type(made._array) is ToyArray
        assert not made.is_cpu and not made.is_meta
        assert made.get_device() == 0
        for like in (torch.zeros_like(made), torch.rand_like(made, dtype=torch.float32), made.new_zeros(2), made.new_tensor([1, 2])):
            assert like.device == made.device
    assert torch.zeros_like(torch.zeros(2, device="toy"), device="cpu").device == CPU
    assert torch.zeros(2, device="toy:1").device == torch.device("toy:1")
    with torch.device("toy"):
        assert torch.zeros(2).device.type == torch.tensor([1.0]).device.type == "toy"
    assert torch.tensor(torch.ones(2, device="toy")).device.type == "toy"
    assert torch.zeros(2).device == CPU


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: a + b,
        lambda a, b: 2 * a - b / 3,
        lambda a, b: (a * b).exp().tanh(),
        lambda a, b: a.sigmoid() * b.abs().sqrt(),
        lambda a, b: torch.where(a > b, a, b),
        lambda a, b: torch.maximum(a, b).clamp(min=0.1),
        lambda a, b: a.pow(2) + b.neg().relu(),
        lambda a, b: a + torch.tensor(2.0),  # a 0-dim tensor on the CPU goes with any device
        lambda a, b: a.double() * b,
        lambda a, b: (a.half() + b.half()).float(),
    ],
)
def test_pointwise(function: Callable[..., Any]) -> None:
    same(function, (3, 4), (4,))


@pytest.mark.parametrize(
    "function",
    [
        lambda a: a.sum(), lambda a: a.sum(0), lambda a: a.mean(1, keepdim=True), lambda a: a.amax(1), lambda a: a.prod(0),
        lambda a: a.var(1), lambda a: a.max(1).values, lambda a: a.argmax(1), lambda a: a.cumsum(0), lambda a: a.softmax(1),
        lambda a: a.log_softmax(0), lambda a: a.norm(), lambda a: (a > 0).any(), lambda a: a.logsumexp(1), lambda a: a.sort(1).values,
    ],
)  # fmt: skip
def test_reductions(function: Callable[..., Any]) -> None:
    same(function, (3, 4))


@pytest.mark.parametrize(
    "function",
    [
        lambda a: a.t(), lambda a: a.reshape(2, 6), lambda a: a.view(12), lambda a: a.permute(1, 0)[1:], lambda a: a[1], lambda a: a[:, 1:3],
        lambda a: a[..., None], lambda a: a.unsqueeze(0).expand(2, 3, 4), lambda a: a.diagonal(), lambda a: a.flatten(),
        lambda a: a.transpose(0, 1).contiguous(), lambda a: a.split(2, 1)[1], lambda a: a.as_strided((2, 2), (4, 1), 1),
        lambda a: torch.cat([a, a], 0), lambda a: torch.stack([a, a], 1), lambda a: a.t().clone(), lambda a: a.detach() * a,
    ],
)  # fmt: skip
def test_views(function: Callable[..., Any]) -> None:
    same(function, (3, 4))


@pytest.mark.parametrize(
    "function",
    [
        lambda a: a[[2, 0]], lambda a: a[torch.tensor([1, 1])], lambda a: a[:, [True, False, True, False]], lambda a: a[a > 0],
        lambda a: a[torch.tensor([0, 2], device=a.device), 1:], lambda a: a.index_select(1, torch.tensor([3, 0], device=a.device)),
        lambda a: a.gather(1, torch.zeros(3, 2, dtype=torch.int64, device=a.device)), lambda a: a.masked_fill(a > 0, 1.5),
    ],
)  # fmt: skip
def test_indexing(function: Callable[..., Any]) -> None:
    same(function, (3, 4))


def test_writing() -> None:
    a = torch.zeros(3, 4, device="toy")
    a[1] = 2
    a[:, 0] = torch.arange(3, device="toy")
    a[[0, 2], 3] = 5.0
    a += 1
    a.mul_(torch.full((4,), 2.0, device="toy"))
    a[0].copy_(torch.ones(4))  # from another device
    b = torch.zeros(3, 4)
    b.copy_(a)
    assert b.tolist() == a.tolist() == [[1, 1, 1, 1], [4, 6, 6, 6], [6, 2, 2, 12]]
    out = torch.empty(0, device="toy")
    assert torch.add(a, 1, out=out) is out
    assert out.device == a.device and out.tolist() == (b + 1).tolist()
    with pytest.raises(DeviceError):
        torch.add(a, 1, out=torch.empty(3, 4))
    assert a._version == 6 and a[0]._is_view()
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        a.view(12)[1:].copy_(a.view(12)[:-1])
    with pytest.raises(RuntimeError, match="a single memory location"):
        torch.zeros(1, device="toy").expand(3).add_(1)


def test_matmul() -> None:
    same(lambda a, b: a @ b, (3, 4), (4, 2))
    same(lambda a, b: a @ b, (2, 3, 4), (4, 2))
    same(lambda a, b: torch.nn.functional.linear(a, b), (3, 4), (5, 4))
    same(lambda a, b: torch.einsum("ij,kj->ik", a, b), (3, 4), (5, 4))


def test_gradients_that_pass_through_views() -> None:
    """A gradient that a hook keeps shares no memory with ``.grad``, though views pass it on without a copy."""
    kind = ToyDevice()
    kind.only = device("toy", 0)
    unregister_device_type("toy")
    register_device_type(kind)
    assert sole_accelerator.kind is kind
    weights = torch.arange(12.0).reshape(4, 3)
    for kept in (None, []):
        x = torch.ones(2, 6, device="toy", requires_grad=True)
        turned = x.reshape(3, 4)
        if kept is not None:
            turned.register_hook(kept.append)
        (turned.transpose(0, 1) * weights.to("toy")).sum().backward()
        expected = weights.t().reshape(2, 6)
        assert_close(x.grad.cpu(), expected)
        assert x.grad.is_contiguous()
        for each in kept or ():
            each.zero_()
            assert_close(x.grad.cpu(), expected)
    parts = torch.ones(2, 4, 3, device="toy", requires_grad=True)
    parts.permute(1, 0, 2)[1:3].reshape(2, 6).mul(2).sum().backward()
    assert parts.grad.sum().item() == 24


def test_ops_with_parameters_of_any_name() -> None:
    """A compiled call's own variables hide no parameter: one of softmax_backward is called ``result``."""

    class WithKernel(ToyDevice):
        def kernel_for(self, op: Any) -> Any:
            if op.name != "softmax_backward":
                return super().kernel_for(op)
            return lambda grad, result, dim: result * (grad - (grad * result).sum(dim, keepdims=True))

    kind = WithKernel()
    kind.only = device("toy", 0)
    unregister_device_type("toy")
    register_device_type(kind)
    grad, result = torch.tensor([[0.5, -1.0, 2.0]]), torch.tensor([[0.2, 0.3, 0.5]])

    def gradients(where: str) -> list[torch.Tensor]:
        given = [each.to(where).requires_grad_() for each in (grad, result)]
        found = table["softmax_backward"].call(*given, -1)
        return [each.cpu() for each in torch.autograd.grad((found**2).sum(), given)]

    for here, there in zip(gradients("cpu"), gradients("toy"), strict=True):
        assert_close(there, here)


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_an_optimizer_steps_each_device_by_itself(name: str) -> None:
    asked: list[set[int]] = []

    class Steps(ToyDevice):
        def optimizer_step(self, update: Any, group: Any, numbers: Any, tensors: list[list[Any]]) -> bool:
            asked.append({each.index for row in tensors for each in row})
            return False

    unregister_device_type("toy")
    register_device_type(Steps())
    params = [torch.ones(2, device=place, requires_grad=True) for place in ("toy:0", "toy:1", "toy:0")]
    for each in params:
        each.grad = torch.ones_like(each)
    getattr(torch.optim, name)(params, lr=0.5).step()
    assert asked == [{0}, {1}]
    for each in params:
        assert_close(each.detach().cpu(), torch.full((2,), 0.5))


def test_a_module_is_trained() -> None:
    torch.manual_seed(0)
    here = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.LayerNorm(8), torch.nn.Linear(8, 2))
    there = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.LayerNorm(8), torch.nn.Linear(8, 2)).to("toy")
    there.load_state_dict(here.state_dict())
    x = torch.randn(5, 4)
    for model, data in ((here, x), (there, x.to("toy"))):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        for _ in range(3):
            optimizer.zero_grad()
            model(data).pow(2).mean().backward()
            optimizer.step()
    for one, other in zip(here.parameters(), there.parameters()):
        assert other.device.type == other.grad.device.type == "toy"
        assert_close(other.detach().cpu(), one.detach())


def test_a_function_and_its_missing_gradients() -> None:
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            assert g.device == h.device
            return 2 * g + 3 * h

    x = torch.ones(3, device="toy", requires_grad=True)
    Both.apply(x)[1].sum().backward()
    assert x.grad.tolist() == [3, 3, 3]
    assert x.grad.device.type == "toy"


@pytest.mark.parametrize("name", "SGD Adam AdamW RMSprop Adagrad Adadelta Adamax NAdam RAdam ASGD Rprop LBFGS".split())
def test_optimizers(name: str) -> None:
    found = []
    for place in ("cpu", "toy"):
        parameter = torch.nn.Parameter(torch.arange(1.0, 4.0, device=place))
        optimizer = getattr(torch.optim, name)([parameter], lr=0.1)

        def closure(optimizer: Any = optimizer, parameter: Any = parameter) -> Any:
            optimizer.zero_grad()
            loss = (parameter * parameter).sum()
            loss.backward()
            return loss

        for _ in range(3):
            optimizer.step(closure)
        found.append(parameter.detach().cpu())
    assert_close(*found)


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (lambda: torch.nn.Conv2d(3, 4, 3, padding=1), (2, 3, 6, 6)), (lambda: torch.nn.ConvTranspose2d(3, 4, 3), (2, 3, 4, 4)),
        (lambda: torch.nn.BatchNorm2d(3), (2, 3, 4, 4)), (lambda: torch.nn.GroupNorm(1, 3), (2, 3, 4, 4)), (lambda: torch.nn.MaxPool2d(2), (2, 3, 4, 4)),
        (lambda: torch.nn.LSTM(3, 4), (5, 2, 3)), (lambda: torch.nn.GRU(3, 4), (5, 2, 3)), (lambda: torch.nn.GELU(), (3, 4)),
        (lambda: torch.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0), (5, 2, 4)), (lambda: torch.nn.Upsample(scale_factor=2, mode="bilinear"), (1, 2, 4, 4)),
    ],
)  # fmt: skip
def test_layers(layer: Callable[[], Any], shape: Any) -> None:
    torch.manual_seed(0)
    here = layer()
    there = copy.deepcopy(here).to("toy")
    x = torch.randn(shape)
    results = []
    for model, data in ((here, x), (there, x.to("toy"))):
        made = model(data.requires_grad_() if data.is_leaf else data)
        made = made[0] if isinstance(made, tuple) else made
        assert made.device == data.device
        made.square().sum().backward()
        results.append([made.detach().cpu(), *[each.grad.cpu() for each in model.parameters()]])
    assert_close(results[1], results[0])


def test_transforms() -> None:
    same(lambda x: torch.func.vmap(lambda each: each * each)(x), (3, 4))
    x = torch.arange(3.0)
    for place in ("cpu", "toy"):
        assert torch.func.jacrev(lambda x: x * x)(x.to(place)).tolist() == (2 * x).diag().tolist()
        assert torch.func.jacfwd(lambda x: x * x)(x.to(place)).tolist() == (2 * x).diag().tolist()


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_compiled_programs(backend: str) -> None:
    torch.compiler.reset()
    same(torch.compile(lambda x: (x * 2).softmax(0) @ x.t(), backend=backend), (3, 4))


def test_gradcheck() -> None:
    x = torch.rand(2, 3, dtype=torch.float64, device="toy", requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: (x * x).sum(0).tanh(), (x,))
    assert torch.autograd.gradgradcheck(lambda x: (x * x * x).sum(), (x,))


def test_to() -> None:
    x = torch.randn(2, 3, requires_grad=True)
    y = x.to("toy", torch.float64)
    assert y.device == torch.device("toy:0") and y.dtype is torch.float64
    assert y.to("toy:0") is y and y.to(device="toy") is y
    assert y.to("toy:1").device.index == 1
    assert y.t().to("cpu").stride() == (1, 3)
    (y.cpu() * 2).sum().backward()
    assert x.grad.device == CPU and x.grad.tolist() == [[2, 2, 2]] * 2
    assert y.grad_fn.name() == "ToCopyBackward0"
    assert y.to("meta").is_meta
    assert y.type() == "torch.toy.DoubleTensor"
    with pytest.raises(TypeError, match="can't convert toy:0 device type tensor to numpy. Use Tensor.cpu()"):
        y.detach().numpy()
    with pytest.raises(BufferError, match="Cannot pack tensors on toy"):
        np.from_dlpack(y.detach())


def test_devices_that_are_mixed() -> None:
    a, b = torch.ones(3, device="toy"), torch.ones(3)
    for operation in (lambda: a + b, lambda: b + a, lambda: torch.cat([a, b]), lambda: a @ b, lambda: a.add_(b)):
        with pytest.raises(
            DeviceError,
            match="Expected all tensors to be on the same device, but found at least two devices, (toy:0 and cpu|cpu and toy:0)!",
        ):
            operation()
    with pytest.raises(DeviceError, match="found at least two devices, toy:0 and toy:1!"):
        a + torch.ones(3, device="toy:1")
    with pytest.raises(DeviceError, match="Tensor on device meta is not on the expected device cpu!"):
        b + torch.ones(3, device="meta")
    with pytest.raises(DeviceError, match="Tensor on device cpu is not on the expected device meta!"):
        torch.ones(3, device="meta") + b


def test_printing_and_python_values() -> None:
    assert repr(torch.tensor([1.5, 2.0], device="toy")) == "tensor([1.5000, 2.0000], device='toy:0')"
    assert repr(torch.ones(2, device="toy", requires_grad=True) * 2) == "tensor([2., 2.], device='toy:0', grad_fn=<MulBackward0>)"
    x = torch.tensor([[1, 2], [3, 4]], device="toy")
    assert x.tolist() == [[1, 2], [3, 4]] and x[1, 1].item() == 4 and int(x[0, 0]) == 1 and bool((x > 0).all())
    assert [each.tolist() for each in x] == [[1, 2], [3, 4]] and 3 in x and f"{x[0, 1]}" == "2"
    assert list(range(10))[x[0, 1]] == 2


def test_storage() -> None:
    x = torch.arange(6, device="toy", dtype=torch.uint8)
    storage = x.untyped_storage()
    assert storage.device == x.device and storage.tolist() == list(range(6)) and bytes(storage) == bytes(range(6))
    assert storage.cpu().device == CPU and storage[2] == 2
    assert x[2:].storage_offset() == 2 and x[2:].data_ptr() == x.data_ptr() + 2
    assert x.storage().cpu().tolist() == list(range(6))
    y = torch.empty(0, dtype=torch.uint8, device="toy").set_(storage, 1, (2, 2), (2, 1))
    assert y.tolist() == [[1, 2], [3, 4]] and y.device == x.device


def test_files_and_copies() -> None:
    x = torch.arange(6.0, device="toy").reshape(2, 3).requires_grad_()
    file = io.BytesIO()
    torch.save({"x": x, "row": x.detach()[1], "there": torch.ones(2, device="toy:1"), "here": torch.ones(2)}, file)
    for place, expected in (
        (None, ["toy:0", "toy:0", "toy:1", "cpu"]),
        ("cpu", ["cpu"] * 4),
        ("toy:1", ["toy:1"] * 4),
        ("meta", ["meta"] * 4),
    ):
        file.seek(0)
        loaded = torch.load(file, map_location=place)
        assert [str(each.device) for each in loaded.values()] == expected
        if place != "meta":
            assert loaded["row"].tolist() == [3, 4, 5] and loaded["row"].storage_offset() == 3
    for twin in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert twin.device == x.device and twin.requires_grad and twin.tolist() == x.tolist()
        assert twin.data_ptr() != x.data_ptr()


# -- the one accelerator there is --------------------------------------------------------------------------------


class OnlyToy(ToyDevice):
    """A toy device of which there is but one, with a kernel of its own for ``exp``."""

    calls: list[str] = []
    fails: Exception | None = None

    def kernel_for(self, op: Any) -> Any:
        return self.exp if op.name == "exp" else None

    def exp(self, input: Any) -> Any:
        self.calls.append("exp")
        if self.fails is not None:  # once, as what a kernel has found is told once
            failure, self.fails = self.fails, None
            raise failure
        return self.arrays.exp(input)


def test_the_shorter_way_of_one_accelerator() -> None:
    kind = OnlyToy()
    kind.only = device("toy", 0)
    kind.calls.clear()
    unregister_device_type("toy")
    register_device_type(kind)
    x = torch.tensor([0.0, 1.0], device="toy", requires_grad=True)
    y = x.exp()
    assert kind.calls == ["exp"] and y.grad_fn.name() == "ExpBackward0"
    y.sum().backward()
    assert_close(x.grad.cpu(), y.detach().cpu())
    kind.fails = DimensionError("found by a kernel")
    with pytest.raises(DimensionError, match="found by a kernel"):
        x.exp()
    kind.fails = TypeError("not a call of this kernel's")  # left to the general path, which asks the kernel again
    assert_close(x.exp().cpu(), y.cpu())
    unregister_device_type("toy")
    assert sole_accelerator.kind is None
    register_device_type(ToyDevice())


# -- every op ----------------------------------------------------------------------------------------------------

# Ops whose kernels compute with NumPy alone: a further device has to have its own.  An op is taken off this list when its kernel asks for the array
# module; none is added.
NUMPY_ONLY = set(
    """
_dirichlet_grad _sample_dirichlet _standard_gamma _standard_gamma_grad binomial igamma igammac linalg_eig linalg_eigvals linalg_inv_ex
linalg_ldl_factor_ex linalg_ldl_solve multinomial poisson
""".split()
)
OPS = [op for op in table.values() if op.kernel is not None and op.functional is None and op in makers]


def called(op: Any, sample: Any, place: str) -> list[Any]:
    def tensor(array: np.ndarray) -> Any:
        return make(same_layout(array)).to(place)

    args = convert(sample.args, tensor, BY_NUMPY.__getitem__)
    options = {name: convert(value, tensor, BY_NUMPY.__getitem__) for name, value in sample.kwargs.items()}
    if op.factory and "device" not in options:
        options["device"] = place
    return flatten(op.call(*args, **options))


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
@pytest.mark.filterwarnings("ignore")
def test_kernels_ask_for_the_array_module(op: Any) -> None:
    failed: list[BaseException] = []
    for sample in samples_of(op):
        torch.manual_seed(0)
        try:
            expected = called(op, sample, "cpu")
        except Exception:
            continue  # a sample that is refused
        torch.manual_seed(0)
        try:
            found = called(op, sample, "toy")
        except (Exception, AssertionError) as error:
            failed.append(error)
            continue
        for one, other in zip(expected, found, strict=True):
            if isinstance(one, torch.Tensor):
                assert other.device == device("toy:0") or "device" in sample.kwargs or not one.numel()
                if sample.compare and one.device == CPU:
                    assert_close(other.cpu(), one, equal_nan=True)
    if op.name in NUMPY_ONLY:
        assert failed, f"{op.name} has a kernel for any array module now: take it off the list"
    elif failed:
        raise failed[0]


# -- fake tensors ------------------------------------------------------------------------------------------------


def test_a_spec_names_its_device() -> None:
    toy_spec = spec_of(torch.ones(2, 3, device="toy").t()._array)
    assert (toy_spec.shape, toy_spec.element_strides, toy_spec.device) == ((3, 2), (1, 3), device("toy:0"))
    assert spec_of(np.ones(2)).device == CPU
    assert device_of(Spec((2,), np.dtype(np.float32))) == META  # where none is named
    assert toy_spec.on(CPU).device == CPU and toy_spec.sized((4,)).device == device("toy:0")


@pytest.mark.parametrize("place", ["cpu", "meta", "toy:0"])
def test_a_fake_tensor_is_on_the_device_of_the_tensor_it_replaces(place: str) -> None:
    x = fake_of(torch.ones(2, 3, device=place))
    x._requires_grad = True
    assert x.device == device(place) and x.is_meta == (place == "meta")
    with fake_mode():
        y = ((x * 2).sum(0) + torch.zeros(3, device=x.device) + x.new_ones(3) + torch.rand_like(x)[0]).softmax(0)
        y.sum().backward()
    for each in (y, x.grad):
        assert each._array.__class__ is Spec
        assert each.device == device(place)
    assert torch.zeros(1, device=place)._array.__class__ is not Spec or place == "meta"
    assert not state.fake


def test_devices_of_fake_tensors_do_not_mix() -> None:
    with pytest.raises(DeviceError, match="Tensor on device meta is not on the expected device cpu!"):
        make(Spec((2,), np.dtype(np.float32), device=CPU)) + torch.ones(2, device="meta")


def test_a_compiled_program_guards_the_device() -> None:
    places = []

    def backend(module: Any, inputs: list[Any]) -> Any:
        places.append([each.device for each in inputs])
        return module.forward

    compiled = torch.compile(lambda x: (x * 2).sum() + torch.ones((), device=x.device), backend=backend)
    for _ in range(2):
        assert compiled(torch.ones(3)).item() == 7
        assert compiled(torch.ones(3, device="meta")).is_meta
        assert compiled(torch.ones(3, device="toy")).device == device("toy:0")
        assert compiled(torch.ones(3, device="toy:1")).device == device("toy:1")
    assert places == [[CPU], [META], [device("toy:0")], [device("toy:1")]]


def test_a_program_that_asks_for_meta_keeps_it() -> None:
    def program(x: Any) -> Any:
        return x * 2, torch.zeros(2, device="meta"), torch.zeros(2, device=x.device)

    compiled = torch.compile(program, backend="aot_eager")
    x = torch.ones(3, requires_grad=True)
    for _ in range(2):
        doubled, meta, here = compiled(x)
        assert (doubled.device, meta.device, here.device) == (CPU, META, CPU)
        doubled.sum().backward()


def test_factories_write_to_the_device_of_out() -> None:
    for make_into in (
        lambda out: torch.linspace(0, 1, 5, out=out), lambda out: torch.eye(5, out=out), lambda out: torch.zeros(5, out=out),
        lambda out: torch.arange(5, out=out), lambda out: torch.full((5,), 2.0, out=out),
    ):  # fmt: skip
        for place in ("toy", "meta"):
            out = torch.empty(0, device=place)
            assert make_into(out) is out and out.device.type == place and out.shape[0] == 5


def test_a_number_on_the_host_gets_its_gradient_there() -> None:
    scale = torch.tensor(2.0, requires_grad=True)
    (torch.arange(4.0, device="toy") * scale).sum().backward()
    assert scale.grad is not None and scale.grad.device == CPU and scale.grad.item() == 6


def test_ops_make_their_own_tensors_on_the_device() -> None:
    x, lengths = torch.arange(12.0).reshape(3, 4).square(), torch.tensor([1, 2])
    assert_close(torch.masked.var(x.to("toy"), 1).cpu(), torch.masked.var(x, 1))
    assert torch.repeat_interleave(lengths.to("toy"), output_size=3).tolist() == [0, 1, 1]
    large = torch.randn(8, 1 << 17)
    assert large.to("toy").argmax(-1).tolist() == large.argmax(-1).tolist()
