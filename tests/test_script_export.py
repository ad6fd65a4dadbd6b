"""Scripted models as users write them, exported with their loops and branches, in ONNX Runtime on inputs that take other ways."""
# ruff: noqa: UP006, UP035, UP045 - scripts are written as users write them

from __future__ import annotations

import io
import warnings
from typing import Any, Dict, List, Optional, Tuple

import numpy as np
import pytest
from support.onnx_files import onnx_session, run_onnx

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, jit, nn

CASES: dict[str, Any] = {}
torch.manual_seed(0)


def case(name: str, model: Any, *inputs: Any, dyn: Any = None) -> None:
    CASES[name] = (model, inputs, dyn)


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 5)
        self.out = nn.Linear(5, 3)

    def forward(self, x: Tensor, h: Tensor) -> Tuple[Tensor, Tensor]:
        outs = []
        for t in range(x.size(0)):
            h = self.cell(x[t], h)
            outs.append(self.out(h))
        return torch.stack(outs), h


case(
    "gru loop",
    Cell().eval(),
    (torch.randn(3, 2, 4), torch.zeros(2, 5)),
    (torch.randn(6, 2, 4), torch.zeros(2, 5)),
    dyn=[{0: "t"}, None],
)


class Decode(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(7, 4)
        self.lin = nn.Linear(4, 7)

    def forward(self, tokens: Tensor, n: Tensor) -> Tensor:
        out = tokens
        for _ in range(int(n)):
            h = self.emb(out).sum(1)
            nxt = self.lin(h).argmax(-1, keepdim=True)
            out = torch.cat([out, nxt], dim=1)
        return out


case(
    "greedy decode",
    Decode().eval(),
    (torch.tensor([[1, 2]]), torch.tensor(3)),
    (torch.tensor([[1, 2]]), torch.tensor(0)),
    (torch.tensor([[1, 4]]), torch.tensor(6)),
)


class Stop(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def forward(self, x):
        i = 0
        while i < 10:
            x = torch.tanh(self.lin(x))
            i += 1
            if bool(x.abs().max() < 0.4):
                break
        return x, i


case("stop early", Stop().eval(), (torch.randn(2, 3),), (torch.randn(2, 3) * 5,), (torch.randn(2, 3) * 0.01,))


def nms(boxes, scores, thr: float = 0.5):
    keep: List[Tensor] = []
    order = scores.argsort(descending=True)
    while order.numel() > 0:
        i = order[0]
        keep.append(i)
        rest = order[1:]
        if rest.numel() == 0:
            break
        d = (boxes[rest] - boxes[i]).abs().sum(1)
        order = rest[d > thr]
    return torch.stack(keep)


case("nms", nms, (torch.rand(6, 4), torch.rand(6)), (torch.rand(6, 4) * 0.1, torch.rand(6)))


def masks(x, lengths):
    m = torch.arange(x.size(1)).unsqueeze(0) < lengths.unsqueeze(1)
    if bool(m.all()):
        return x
    return x.masked_fill(~m, 0.0)


case(
    "masks",
    masks,
    (torch.randn(2, 4), torch.tensor([2, 4])),
    (torch.randn(2, 4), torch.tensor([4, 4])),
    dyn=[{1: "n"}, None],
)


def pad_to(x, n):
    size = int(n)
    if x.size(0) < size:
        x = torch.cat([x, torch.zeros(size - x.size(0), x.size(1))], 0)
    return x[:size]


case(
    "pad",
    pad_to,
    (torch.randn(2, 4), torch.tensor(5)),
    (torch.randn(6, 4), torch.tensor(5)),
    (torch.randn(6, 4), torch.tensor(8)),
    dyn=[{0: "n"}, None],
)


def windows(x):
    out = torch.zeros(x.size(1))
    step = 2
    for i in range(0, x.size(0), step):
        out = out + x[i : i + step].sum(0)
    return out


case("windows", windows, (torch.randn(4, 3),), (torch.randn(7, 3),), dyn=[{0: "n"}])


class Res(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv2d(3, 3, 3, padding=1) for _ in range(2)])
        self.bn = nn.BatchNorm2d(3)
        self.depth = 2

    def forward(self, x):
        for c in self.convs:
            y = self.bn(c(x))
            if y.mean() > 0:
                x = x + F.relu(y)
            else:
                x = x - y
        return F.adaptive_avg_pool2d(x, 1).flatten(1)


case("residual", Res().eval(), (torch.randn(1, 3, 5, 5),), (torch.randn(2, 3, 5, 5),), dyn=[{0: "b"}])


def power_iteration(a, v):
    for _ in range(20):
        w = a @ v
        n = w.norm()
        if bool(n < 1e-6):
            return v
        v = w / n
    return v


case("power", power_iteration, (torch.eye(3) * 2 + 0.1, torch.randn(3)), (torch.zeros(3, 3), torch.randn(3)))


def newton(x):
    y = x.clone()
    k = 0
    while bool((y * y - x).abs().max() > 1e-4) and k < 50:
        y = 0.5 * (y + x / y)
        k = k + 1
    return y


case("newton", newton, (torch.rand(3) + 1,), (torch.rand(3) * 100 + 1,))


def select(x, idx):
    i = int(idx)
    if i < 0:
        i = i + x.size(0)
    return x[i]


case("select", select, (torch.randn(4, 2), torch.tensor(1)), (torch.randn(4, 2), torch.tensor(-1)))


def assigns(x, n):
    out = torch.zeros(4, 3)
    for i in range(int(n)):
        out[i] = x[i] * 2
    return out


case("assigns", assigns, (torch.randn(4, 3), torch.tensor(2)), (torch.randn(4, 3), torch.tensor(4)))


def topk_loop(x):
    best = x[0]
    where = 0
    for i in range(1, x.size(0)):
        if x[i] > best:
            best = x[i]
            where = i
    return best, where


case("argmax loop", topk_loop, (torch.randn(5),), (torch.randn(9),), dyn=[{0: "n"}])


def opt(x, flag):
    y: Optional[Tensor] = None
    if bool(flag > 0):
        y = x * 2
    if y is not None:
        return y
    return x


case("optional", opt, (torch.randn(2), torch.tensor(1)), (torch.randn(2), torch.tensor(0)))


def matrix_power(a, n):
    r = torch.eye(a.size(0))
    k = int(n)
    while k > 0:
        if k % 2 == 1:
            r = r @ a
        a = a @ a
        k = k // 2
    return r


case(
    "matrix power",
    matrix_power,
    (torch.randn(3, 3) * 0.5, torch.tensor(5)),
    (torch.randn(3, 3) * 0.5, torch.tensor(0)),
    (torch.randn(3, 3) * 0.5, torch.tensor(6)),
)


def bubble(x):
    n = x.size(0)
    y = x.clone()
    for _ in range(n):
        for j in range(n - 1):
            a = y[j].clone()
            b = y[j + 1].clone()
            if bool(a > b):
                y[j] = b
                y[j + 1] = a
    return y


case("bubble sort", bubble, (torch.randn(4),), (torch.randn(6),), dyn=[{0: "n"}])


def f1(x, k):
    best: Optional[Tensor] = None
    if bool(k > 0):
        best = x * 2
    elif bool(k < -1):
        best = x * 3
    y = x + 1
    if best is None:
        return y
    return best + y


def f2(x, k):
    best: Optional[Tensor] = None
    for i in range(3):
        if bool(x[0, i] > k):
            best = x[:, i]
    if best is not None:
        return best * 2
    return x[:, 0]


def filtered(x):
    out: List[Tensor] = [x[0]]
    for i in range(x.size(0)):
        if bool(x[i].sum() > 0):
            out.append(x[i])
    return torch.stack(out)


def grown_in_branch(x):
    out = [x[0]]
    if bool(x.sum() > 0):
        out.append(x[1])
        out.append(x[0] * 2)
    return torch.cat(out), len(out)


def two_at_once(x):
    out: List[Tensor] = []
    for i in range(x.size(0)):
        out.append(x[i])
        out.append(x[i] * 2)
    y = torch.zeros(3)
    for t in out:
        y = y + t
    return torch.stack(out), y, out[-1]


def filtered_while(x):
    out: List[Tensor] = []
    i = 0
    while i < x.size(0):
        if bool(x[i, 0] > 0):
            out.append(x[i])
            i += 1
        else:
            i += 2
    out.append(x[0])
    return torch.stack(out), len(out)


SIZES: Any = [(torch.randn(n, 3),) for n in (4, 7, 2)]
for program in (filtered, grown_in_branch, two_at_once, filtered_while):
    case(
        f"lists: {program.__name__}",
        program,
        *SIZES,
        *((each[0].abs() * sign,) for each in SIZES[:1] for sign in (1, -1)),
        dyn=[{0: "n"}],
    )
LIMITS: Any = [(torch.randn(2, 3), torch.tensor(k)) for k in (1.0, -5.0, -0.5, 5.0)]
case("optional in branches", f1, *LIMITS)
case("optional in a loop", f2, *LIMITS)


def arrays(values: Any) -> list[Any]:
    flat = list(values) if isinstance(values, (tuple, list)) else [values]
    return [each.detach().numpy() if isinstance(each, Tensor) else np.asarray(each) for each in flat]


@pytest.mark.parametrize("name", sorted(CASES))
def test_model(name: str) -> None:
    model, inputs, dynamic = CASES[name]
    scripted = jit.script(model)
    names = [f"input_{at}" for at in range(len(inputs[0]))]
    axes = {each: axis for each, axis in zip(names, dynamic) if axis} if dynamic else None
    with warnings.catch_warnings():
        warnings.simplefilter("error", jit.TracerWarning)
        program = torch.onnx.export(scripted, inputs[0], input_names=names, opset_version=17, dynamic_axes=axes)
    session = onnx_session(program)
    taken = {each.name for each in session.get_inputs()}
    assert {node.op_type for node in program.model_proto.graph.node} & {"If", "Loop"}
    for args in inputs:
        want = arrays(model(*[each.clone() for each in args]))
        ours = arrays(scripted(*[each.clone() for each in args]))
        got = session.run(None, {key: each.numpy() for key, each in zip(names, args) if key in taken})
        assert len(got) == len(want) == len(ours)
        for one, two, other in zip(got, ours, want):
            assert one.shape == other.shape == two.shape
            np.testing.assert_allclose(two, other, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)


def test_refusals() -> None:
    @jit.script
    def meets(x):
        rows = []
        for i in range(x.size(0)):
            rows.append(x[i])
        return torch.meshgrid(rows)[0]

    with pytest.raises(jit.CaptureError, match=r"length depends on the inputs.*meshgrid\(\) can't"):
        torch.onnx.export(meets, (torch.ones(2, 3),), input_names=["x"], dynamic_axes={"x": [0]})

    @jit.script
    def other_types(x):
        y = x
        if bool(x.sum() > 0):
            y = x.double()
        return y

    with pytest.raises(jit.CaptureError, match="float64.*float32"):
        torch.onnx.export(other_types, (torch.ones(2),))

    @jit.script
    def writes_under_another_name(x, y):
        a = x + 1
        b = y * 2
        if bool(a.sum() < 0):
            b = a
        a += 1
        return a, b

    with pytest.raises(jit.CaptureError, match=r"clone\(\)"):
        torch.onnx.export(writes_under_another_name, (torch.ones(2), torch.ones(2)))


def test_a_branch_that_fails_is_left_out_with_a_warning() -> None:
    @jit.script
    def checked(x):
        if bool(x.sum() < 0):
            raise ValueError("negative")
        return x * 2

    with pytest.warns(jit.TracerWarning, match="negative"):
        program = torch.onnx.export(checked, (torch.ones(2),))
    assert [node.op_type for node in program.model_proto.graph.node if node.op_type != "Constant"] == ["Mul"]


def test_arithmetic_on_sizes_in_loops_makes_no_endless_formulas() -> None:
    def nested(x):
        m = 3
        for i in range(3):
            for _ in range(2):
                for _ in range(2):
                    m -= (m * m) % 6
                    m = m % 9
            x = x + (m - i) % 7
        return x, m

    def straight(x):
        n = x.size(0)
        for _ in range(12):
            n = n * n + n % 7
            n = n % 1001
        return x[: n % 3 + 1] * n

    for program, run in ((nested, jit.script(nested)), (straight, jit.script(straight)), (straight, straight)):
        exported = torch.onnx.export(run, (torch.ones(4, 2),), input_names=["x"], dynamic_axes={"x": [0]}, opset_version=17)
        session = onnx_session(exported)
        for rows in (3, 4, 9):
            x = torch.ones(rows, 2)
            for got, want in zip(session.run(None, {"x": x.numpy()}), arrays(program(x))):
                np.testing.assert_array_equal(got, want)


class AddsToZeros(nn.Module):
    def forward(self, x):
        y = torch.zeros(())
        y += x
        return y


class WritesToViews(nn.Module):
    def forward(self, x):
        y = torch.zeros(3)
        y[1] += x
        y[0] = x * 2
        return y


class ScattersIntoZeros(nn.Module):
    def forward(self, x):
        y = torch.zeros(2, 2)
        y.scatter_add_(1, torch.tensor([[0, 1], [1, 1]]), x.expand(2, 2))
        return y + 1


@pytest.mark.parametrize("kind", [AddsToZeros, WritesToViews, ScattersIntoZeros])
@pytest.mark.parametrize("scripted", [True, False])
def test_constants_that_are_written_keep_the_value_they_had(kind, scripted):
    model = jit.script(kind()) if scripted else kind()
    buffer = io.BytesIO()
    torch.onnx.export(model, (torch.tensor(42.0),), buffer, opset_version=17)
    (found,) = run_onnx(buffer.getvalue(), np.array(5, np.float32))
    np.testing.assert_array_equal(found, kind()(torch.tensor(5.0)).numpy())


class CountsFromItsBuffers(nn.Module):
    """A loop that begins with tensors of the Module, and reads them inside, too."""

    def __init__(self):
        super().__init__()
        self.register_buffer("zero", torch.tensor(0))
        self.register_buffer("two", torch.tensor(2.0))

    def forward(self, x, n):
        count, doubled = self.zero, self.two
        for _ in range(int(n)):
            x = x + self.two + self.zero
            count = count + 1
            doubled = doubled * 2
        return x, count, doubled


def test_loops_that_begin_with_tensors_which_they_also_read():
    model, x, n = jit.script(CountsFromItsBuffers()), torch.ones(2), torch.tensor(3)
    expected = [7.0, 7.0], 3, 16.0
    found = torch.onnx.export(model, (x, n)).run(x, n)
    assert [each.tolist() for each in found] == list(expected)
    assert [each.tolist() for each in torch.compile(model)(x, n)] == list(expected)


def test_dicts_of_scripts_are_refused_as_in_pytorch() -> None:
    class Named(nn.Module):
        def forward(self, x: Tensor) -> Dict[str, Tensor]:
            return {"out": x}

    torch.onnx.export_to_pretty_string(Named(), (torch.ones(1),))
    with pytest.raises(RuntimeError, match="DictConstruct.+is not supported"):
        torch.onnx.export_to_pretty_string(jit.script(Named()), (torch.ones(1),))
