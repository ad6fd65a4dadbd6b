"""Users' Triton kernels on rushlight's tensors, by Triton's interpreter: launches, captures, guards, custom Functions and ops around kernels."""

import os
import subprocess
import sys

import pytest

import rushlight as torch

triton = pytest.importorskip("triton")
pytestmark = pytest.mark.skipif(not triton.knobs.runtime.interpret, reason="kernels run here by Triton's interpreter (TRITON_INTERPRET=1)")

import triton.language as tl  # noqa: E402

from rushlight.core.state import state  # noqa: E402
from rushlight.library.triton_writes import written_parameters  # noqa: E402
from rushlight.onnx.errors import UnsupportedOperatorError  # noqa: E402

BACKENDS = ("eager", "aot_eager", "native")


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask) + tl.load(y + i, mask), mask)


@triton.jit
def subtract(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask) - tl.load(y + i, mask), mask)


@triton.autotune([triton.Config({"BLOCK": 8}), triton.Config({"BLOCK": 16}, num_warps=2)], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def scale(x, out, n, factor, EVEN: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(out + i, tl.load(x + i) * factor)
    else:
        tl.store(out + i, tl.load(x + i, i < n) * factor, i < n)


@triton.jit
def increment(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(x + i, 1.0, i < n)


@triton.jit
def double_rows(x, out, x_row, x_column, out_row, N: tl.constexpr):
    row, j = tl.program_id(0), tl.arange(0, N)
    tl.store(out + row * out_row + j, tl.load(x + row * x_row + j * x_column) * 2)


@triton.jit
def write_through(pointer, values, mask):
    tl.store(pointer, values, mask)
    return values


@triton.jit
def last_pointer(one, other):
    return other


@triton.jit
def by_helpers(x, y, out, indices, n: tl.const, BLOCK: tl.constexpr):
    i = tl.load(indices + tl.arange(0, BLOCK))
    target = out
    target += i
    picked = last_pointer(x, y)
    values = write_through(target, tl.load(x + i), None)
    tl.atomic_max(picked + i, values)


def cdiv(n, block):
    return triton.cdiv(n, block)


def added(x, y, block=16):
    out = torch.empty_like(x)
    add[lambda meta: (cdiv(x.numel(), meta["BLOCK"]),)](x, y, out, x.numel(), BLOCK=block)
    return out


class Add(torch.autograd.Function):
    """x + y with kernels in both directions; the gradient of y is twice what it should be where ``twice``."""

    @staticmethod
    def forward(ctx, x, y, twice=False):
        ctx.save_for_backward(x)
        ctx.twice = twice
        return added(x, y)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        grad = grad.contiguous()
        return grad, added(grad, grad if ctx.twice else torch.zeros_like(x), 4), None


def with_autotune(x, factor):
    out = torch.empty_like(x)
    scale[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel(), factor)
    return out + 1


def with_strides(x):
    turned = x.t().contiguous().t() * 2
    part = turned[:, ::2]
    out, other = torch.empty(x.shape[0], 8), torch.empty(x.shape[0], 4)
    double_rows[(x.shape[0],)](turned, out, *turned.stride(), out.stride(0), N=8)
    double_rows[(x.shape[0],)](part, other, *part.stride(), other.stride(0), N=4)
    return out, other


def in_place(x):
    y = x.sin()
    increment[(cdiv(x.numel(), 8),)](x, x.numel(), BLOCK=8)
    increment[(cdiv(x.numel(), 8),)](y[2:], x.numel() - 2, BLOCK=8)
    return x * y


def test_a_launch_in_eager_mode():
    x, y = torch.randn(100), torch.randn(100)
    torch.testing.assert_close(added(x, y), x + y)
    for kind in (torch.float64, torch.float16, torch.int32):
        torch.testing.assert_close(added(x.to(kind), y.to(kind)), x.to(kind) + y.to(kind))
    assert "grad_fn" not in repr(added(x.requires_grad_(), y))


def test_autotune_and_heuristics_in_eager_mode():
    for n in (16, 19):
        x = torch.randn(n)
        torch.testing.assert_close(with_autotune(x, 3.0), x * 3 + 1)


def test_a_launch_on_meta_tensors_does_nothing():
    x = torch.randn(8, device="meta")
    assert with_autotune(x, 2.0).shape == (8,)
    assert in_place(x).is_meta


def test_written_parameters():
    assert written_parameters(add) == {"out"}
    assert written_parameters(scale) == {"out"}
    assert written_parameters(increment) == {"x"}
    assert "x" not in written_parameters(double_rows)
    assert written_parameters(by_helpers) == {"out", "y"}
    unknown = {}
    exec("def kernel(x, out): pass", unknown)
    assert written_parameters(unknown["kernel"]) is None


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("program", "inputs"),
    [
        (added, lambda n: (torch.randn(n), torch.randn(n))),
        (with_autotune, lambda n: (torch.randn(n), 3.0)),
        (with_strides, lambda n: (torch.randn(n, 8),)),
        (in_place, lambda n: (torch.randn(n),)),
    ],
    ids=lambda each: each.__name__,
)
def test_a_compiled_launch(program, inputs, backend, dynamic):
    compiled = torch.compile(program, fullgraph=True, backend=backend, dynamic=dynamic)
    for n in (8, 8, 9, 31):
        given = inputs(n)
        again = [each.clone() if isinstance(each, torch.Tensor) else each for each in given]
        torch.testing.assert_close(compiled(*again), program(*given))
        torch.testing.assert_close(again, list(given))


def test_one_node_has_kernel_grid_and_what_is_written():
    seen = []

    def backend(module, inputs):
        seen.append(module)
        return module

    x, y = torch.randn(20), torch.randn(20)
    torch.testing.assert_close(torch.compile(added, backend=backend, fullgraph=True, dynamic=False)(x, y), x + y)
    nodes = [node for node in seen[0].graph.nodes if "triton" in str(node.target)]
    assert len(nodes) == 1
    assert nodes[0].target.op.name == "triton::add"
    assert repr(nodes[0].args[2]) == "Launch(grid=(2,), writes=[out], n=20, BLOCK=16)"


def test_guards_on_constexprs_and_kernels():
    graphs = []

    def backend(module, inputs):
        graphs.append(module)
        return module

    def program(x, y, block, kernel):
        out = torch.empty_like(x)
        kernel[(triton.cdiv(20, block),)](x, y, out, 20, BLOCK=block)
        return out

    compiled = torch.compile(program, backend=backend, fullgraph=True, dynamic=False)
    x, y = torch.randn(20), torch.randn(20)
    for block in (4, 8, 4, 8):
        torch.testing.assert_close(compiled(x, y, block, add), x + y)
    assert len(graphs) == 2
    torch.testing.assert_close(compiled(x, y, 4, subtract), x - y)
    assert len(graphs) == 3


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_function_with_kernels_in_forward_and_backward(backend, dynamic):
    compiled = torch.compile(lambda x, y: Add.apply(x.sin(), y).cos(), fullgraph=True, backend=backend, dynamic=dynamic)
    for n in (10, 10, 13, 33):
        x, y = (torch.randn(n, requires_grad=True) for _ in range(2))
        expected = (x.sin() + y).cos()
        wanted = torch.autograd.grad(expected.sum(), (x, y))
        found = compiled(x, y)
        torch.testing.assert_close(found, expected)
        torch.testing.assert_close(torch.autograd.grad(found.sum(), (x, y)), wanted)


def test_a_compiled_training_step():
    weight = torch.randn(16, requires_grad=True)
    optimizer = torch.optim.SGD([weight], 0.1)

    def step(x):
        loss = Add.apply(weight, x).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    x, start = torch.randn(16), weight.detach().clone()
    losses = [step(x).item() for _ in range(3)]
    with torch.no_grad():
        weight.copy_(start)
    compiled = torch.compile(step)
    assert [compiled(x).item() for _ in range(3)] == pytest.approx(losses, rel=1e-5)


def test_trace_and_vmap():
    x, y = torch.randn(12), torch.randn(12)
    traced = torch.jit.trace(added, (x, y))
    torch.testing.assert_close(traced(y, y), 2 * y)
    rows = torch.randn(3, 12)
    torch.testing.assert_close(torch.vmap(added, in_dims=(0, None))(rows, y), rows + y)
    assert state.capture is None


def test_an_argument_that_is_given_twice_or_by_keyword():
    def program(x):
        add[(2,)](x, x, out=x, n=x.numel(), BLOCK=8)
        return x

    x = torch.randn(16)
    torch.testing.assert_close(torch.compile(program, fullgraph=True)(x.clone()), 2 * x)


def test_triton_op_and_custom_op():
    @torch.library.triton_op("kernels::add", mutates_args=())
    def op(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        torch.library.wrap_triton(add)[(cdiv(x.numel(), 8),)](x, y, out, x.numel(), BLOCK=8)
        return out

    op.register_autograd(lambda ctx, grad: (grad, grad))

    @torch.library.custom_op("kernels::increment_", mutates_args={"x"})
    def increment_(x: torch.Tensor) -> None:
        increment[(cdiv(x.numel(), 8),)](x, x.numel(), BLOCK=8)

    def program(x, y):
        z = op(x, y).sin()
        w = z.detach().clone()
        increment_(w)
        return z * w

    x, y = (torch.randn(20, requires_grad=True) for _ in range(2))
    expected = program(x, y)
    torch.testing.assert_close(expected, (x + y).sin() * ((x + y).sin().detach() + 1))
    wanted = torch.autograd.grad(expected.sum(), (x, y))
    for backend in BACKENDS:
        compiled = torch.compile(program, fullgraph=True, backend=backend)
        for _ in range(2):
            found = compiled(x, y)
            torch.testing.assert_close(found, expected)
            torch.testing.assert_close(torch.autograd.grad(found.sum(), (x, y)), wanted)
    assert torch.library.opcheck(op, (torch.randn(4), torch.randn(4)))


def test_check_of_a_function_with_kernels():
    x, y = (torch.randn(5, dtype=torch.float64, requires_grad=True) for _ in range(2))
    report = torch.check(Add, x, y)
    assert report.ok, str(report)
    assert "eager = compiled" in str(report)
    wrong = torch.check(Add, x, y, True)
    assert [row.name for row in wrong.failed] == ["gradients"]


def test_an_export_says_that_there_is_a_kernel():
    with pytest.raises(UnsupportedOperatorError, match=r"triton::add is a Triton kernel"):
        torch.onnx.export(lambda x: added(x, x), (torch.randn(4),))


@pytest.mark.parametrize("order", ["import triton, rushlight", "import rushlight, triton"])
def test_either_package_may_be_imported_first(order):
    """A launch on meta tensors does nothing in both orders, so that kernels are known to be rushlight's to launch."""
    text = f"{order}\nassert triton.KernelInterface.__getitem__.__module__ == 'rushlight.library.triton_kernels'"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=dict(os.environ), check=False)
    assert not done.returncode, done.stderr


def test_importing_rushlight_does_not_import_triton():
    text = "import rushlight, sys; assert 'triton' not in sys.modules and 'rushlight.library' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=dict(os.environ), check=False)
    assert not done.returncode, done.stderr
