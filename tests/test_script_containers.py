"""Lists and optional values as inputs and outputs of exported scripts, and scripted Modules as functions of the file."""
# ruff: noqa: UP006, UP035, UP045 - scripts are written as users write them

from __future__ import annotations

import inspect
import itertools
from typing import Any, List, Optional

import numpy as np
import pytest

import rushlight as torch
from rushlight import Tensor, jit, nn

pytest.importorskip("onnxruntime")
torch.manual_seed(3)
randn = torch.randn


def rows(x):
    out = []
    for i in range(x.size(0)):
        out.append(x[i] * i)
    return out


def chosen_rows(x):
    out = [x[0]]
    for i in range(x.size(0)):
        if bool(x[i].sum() > 0):
            out.append(x[i] * i)
    return out, x * 2, len(out), out[1:], torch.stack(out[:2]), len(out[1:])


def total(items: List[Tensor], start: Tensor):
    found = start
    for each in items:
        found = found + each
    return found, len(items)


def changed(items: List[Tensor]):
    out: List[Tensor] = []
    for i in range(len(items)):
        out.append(items[i] * i)
    items.append(items[0])
    return torch.cat(items), out, torch.stack(out)


def maybe(x) -> Optional[Tensor]:
    y: Optional[Tensor] = None
    if bool(x.sum() > 0):
        y = x * 2
    return y


def maybe_second(x, y: Optional[Tensor] = None):
    z: Optional[Tensor] = None
    if y is not None:
        if bool(y.sum() > 0):
            z = x + y
    return x * 1, z


def listed(value: Any) -> Any:
    return [list(each) if isinstance(each, list) else each for each in value]


def flatten_tuples(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(part for each in values for part in (flatten_tuples(each) if isinstance(each, tuple) else (each,)))


def assert_exported_run(program: Any, exported: Any, args: Any) -> None:
    got, want = exported.run(*listed(args)), program(*listed(args))
    want = flatten_tuples(want) if isinstance(want, tuple) else (want,)
    assert len(got) == len(want)
    for one, other in zip(got, want):
        if isinstance(other, list):
            assert isinstance(one, list) and len(one) == len(other)
            for part, expected in zip(one, other):
                np.testing.assert_allclose(part.numpy(), expected.numpy(), rtol=1e-5)
        elif other is None:
            assert one is None
        else:
            np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-5)


@pytest.mark.parametrize("opset", [11, 13, 17, 20])
def test_lists(opset: int) -> None:
    def run(program: Any, *inputs: Any, axes: Any = None, names: Any = None) -> Any:
        exported = torch.onnx.export(jit.script(program), inputs[0], opset_version=opset, dynamic_axes=axes, input_names=names)
        for args in inputs:
            assert_exported_run(program, exported, args)
        return exported.model_proto.graph

    made = run(rows, (randn(3, 2),), (randn(5, 2),), (randn(1, 2),), axes={"x": [0]}, names=["x"])
    assert made.output[0].type.sequence_type.elem_type.tensor_type.elem_type == 1
    run(chosen_rows, (randn(3, 2),), (randn(5, 2),), (-randn(2, 2).abs(),), axes={"x": [0]}, names=["x"])
    made = run(total, ([randn(2), randn(2)], randn(2)), ([randn(2)] * 5, randn(2)))
    assert made.input[0].type.HasField("sequence_type") and [each.name for each in made.input] == ["items", "start"]
    run(
        total,
        ([randn(2), randn(2)], randn(2)),
        ([randn(3)] * 5, randn(3)),
        axes={"items": {0: "n"}, "start": {0: "n"}},
        names=["items", "start"],
    )
    run(changed, ([randn(2), randn(2)],), ([randn(2)] * 5,))


def test_lists_of_other_shapes_are_inputs_of_their_own() -> None:
    def joined(items: List[Tensor]):
        return torch.cat(items, 0)

    exported = torch.onnx.export(jit.script(joined), ([randn(1, 2), randn(3, 2)],), opset_version=17)
    assert len(exported.model_proto.graph.input) == 2
    assert_exported_run(joined, exported, ([randn(1, 2), randn(3, 2)],))


@pytest.mark.parametrize("opset", [16, 17, 20])
def test_what_may_be_none(opset: int) -> None:
    exported = torch.onnx.export(jit.script(maybe), (torch.ones(2),), opset_version=opset)
    assert exported.model_proto.graph.output[0].type.HasField("optional_type")
    for sign in (1, -1):
        assert_exported_run(maybe, exported, (torch.ones(2) * sign,))
    exported = torch.onnx.export(jit.script(maybe_second), (randn(2), torch.ones(2)), opset_version=opset)
    for sign in (1, -1):
        assert_exported_run(maybe_second, exported, (randn(2), torch.ones(2) * sign))


def added(x, y: Optional[Tensor]):
    if y is not None:
        return x + y
    return x * 2


def replaced(x, y: Optional[Tensor] = None):
    if y is None:
        y = x * 3
    return x - y


def given_back(y: Optional[Tensor], x):
    return y, x * 2


def in_a_loop(x, y: Optional[Tensor]):
    for i in range(x.size(0)):
        if y is not None:
            x = x + y * i
    return x, y


def sized(y: Optional[Tensor], x):
    if y is not None and y.size(0) > 1:
        return x[:1] + y.sum(0)
    return x * 2


def the_first(x, y: Optional[Tensor] = None, z: Optional[Tensor] = None):
    found = y if y is not None else z
    if found is None:
        return x
    return x * found


def passed_on(x, y: Optional[Tensor]):
    return added(x, y) - replaced(x, y)


def carried(x, y: Optional[Tensor]):
    last: Optional[Tensor] = None
    for i in range(x.size(0)):
        if last is not None:
            x = x + last * 0.5
        if bool(x.sum() > 1):
            last = x * i
        if y is not None:
            last = y
        elif i > 2:
            last = None
    if last is None:
        return x
    return x - last


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x, mask: Optional[Tensor] = None):
        x = self.linear(x)
        if mask is not None:
            x = x.masked_fill(mask, 0.0)
        return x


OPTIONAL = [added, replaced, given_back, in_a_loop, sized, the_first, passed_on, carried]


@pytest.mark.parametrize("program", OPTIONAL, ids=[each.__name__ for each in OPTIONAL])
@pytest.mark.parametrize("opset", [16, 18, 20])
def test_an_input_may_be_none(program: Any, opset: int) -> None:
    names = list(inspect.signature(program).parameters)
    exported = torch.onnx.export(
        jit.script(program),
        tuple(randn(4) for _ in names),
        opset_version=opset,
        input_names=names,
        dynamic_axes={each: {0: "n"} for each in names},
    )
    assert [each.type.HasField("optional_type") for each in exported.model_proto.graph.input] == [name != "x" for name in names]
    for size in (1, 4, 6):
        for there in itertools.product((True, False), repeat=len(names) - 1):
            choice = iter(there)
            assert_exported_run(program, exported, tuple(randn(size) if name == "x" or next(choice) else None for name in names))


def test_a_module_whose_mask_may_be_none() -> None:
    net, x, mask = Masked().eval(), randn(3, 2), torch.tensor([[True, False], [False, False], [True, True]])
    exported = torch.onnx.export(jit.script(net), (x, mask), opset_version=15)
    for given in (mask, ~mask, None):
        np.testing.assert_allclose(exported.run(x, given)[0].numpy(), net(x, given).detach().numpy(), rtol=1e-5)
    plain = torch.onnx.export(jit.script(net), (x, mask), opset_version=14)  # which has no such types
    assert all(each.type.HasField("tensor_type") for each in plain.model_proto.graph.input)
    fixed = torch.onnx.export(jit.script(net), (x, None), opset_version=17)
    assert len(fixed.model_proto.graph.input) == 1


def test_what_may_be_none_is_given_to_other_functions() -> None:
    class Caller(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Masked()
            self.several = nn.ModuleList([Masked(), Masked()])

        def doubled(self, x, y: Optional[Tensor]):
            if y is None:
                return x * 4
            return x + y * 2

        def forward(self, x):
            y: Optional[Tensor] = None
            mask: Optional[Tensor] = None
            if bool(x.sum() > 0):
                y = x * 2
                mask = x > 1
            x = self.doubled(x, y) + added(x, y)
            for each in self.several:
                x = each(x, mask)
            return self.inner(x, mask=mask)

    net = Caller().eval()
    exported = torch.onnx.export(jit.script(net), (torch.ones(3, 2),), opset_version=17)
    for sign in (1, -1):
        x = randn(3, 2).abs() * sign
        np.testing.assert_allclose(exported.run(x)[0].numpy(), net(x).detach().numpy(), rtol=1e-4)


def test_opsets_that_have_no_containers() -> None:
    with pytest.raises(torch.onnx.errors.OnnxExporterError, match="None for some inputs.*opset_version=16"):
        torch.onnx.export(jit.script(maybe), (torch.ones(2),), opset_version=13)
    with pytest.raises(torch.onnx.errors.OnnxExporterError, match="length depends on the inputs.*opset_version=11"):
        torch.onnx.export(jit.script(rows), (torch.ones(2, 2),), opset_version=9, dynamic_axes={"x": [0]}, input_names=["x"])


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.norm = nn.LayerNorm(3)

    def forward(self, x):
        y = self.norm(self.linear(x))
        if bool(y[0, 0] > 0.1):
            return y.relu()
        return y.tanh()


class Repeated(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x, times: int):
        for _ in range(times):
            x = self.linear(x)
        return x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.repeated, self.last = Layer(), Layer(), Repeated(), nn.Linear(3, 3)

    def forward(self, x):
        if bool(x.sum() > 1):
            x = self.first(x)
        x = self.second(x) + self.first(x)
        for _ in range(x.size(0)):
            x = self.last(x)
        return self.repeated(x, x.size(0))


@pytest.mark.parametrize(
    "chosen, names",
    [
        (True, {"Layer", "Repeated", "Linear", "LayerNorm"}),
        ({Layer}, {"Layer"}),
        ({nn.Linear}, {"Linear"}),
        ({Layer, Repeated}, {"Layer", "Repeated"}),
        ({nn.LayerNorm}, {"LayerNorm"}),
        (False, set()),
    ],
)
def test_modules_as_functions(chosen: Any, names: set[str]) -> None:
    net = Net().eval()
    exported = torch.onnx.export(
        jit.script(net), (randn(2, 3),), opset_version=17, export_modules_as_functions=chosen, input_names=["x"], dynamic_axes={"x": [0]}
    )
    assert {each.name.partition(".")[0] for each in exported.model_proto.functions} == names
    for size in range(1, 6):
        for sign in (1, -1):
            x = randn(size, 3).abs() * sign
            np.testing.assert_allclose(exported.run(x)[0].numpy(), net(x).detach().numpy(), rtol=1e-3, atol=1e-4)


def changed_and_shortened(x, y, n):
    items = [x, y]
    at = 0
    while at < int(n):
        at += 1
        for _ in range(2):
            items[1] = items[0] - items[1] * 0.5
        if len(items) > 2:
            items = items[:2]
    return items[0], items[1]


def changed_under_another_name(x, y, n):
    items = [x, y]
    other = items
    for i in range(int(n)):
        items[1] = items[0] * i
        if len(items) > 2:
            items = items[:2]
    return items[1], other[1]


def grown_by_another_list(x, y, n):
    items = [x]
    for i in range(int(n)):
        items = items + [y * i, x]
    return items, torch.stack(items).sum(0), len(items)


def replaced_after_growing(x, y, n):
    items = [x]
    for i in range(int(n)):
        items.append(y * i)
    for i in range(int(n)):
        if len(items) > 3:
            items = items[1:]
        items = [items[-1] * 2] + items + [items[0] * i]
    return items, torch.cat(items), len(items)


def halved(x, y, n):
    items = [x, y, x * 2, y * 2, x * 3, y * 3]
    for _ in range(int(n)):
        items = items[1:]
        for _ in range(int(n) - 2):
            items = items + [x]
    return torch.stack(items), len(items)


def the_last_three(x, y, n):
    items = [x]
    sums: List[float] = []
    for i in range(int(n)):
        found = items[-1] + y * i
        sums.append(float(found.sum()))
        items.append(found)
        if len(items) > 3:
            items = items[1:]
    sums.append(0.5)
    return torch.stack(items), torch.tensor(sums), max(sums)


def found_early(x, y, n):
    for i in range(int(n)):
        if bool(x[0] + i > y[0] + 1):
            return x * i, i, (y, 2)
        for j in range(i):
            if bool(x.sum() * j > 3):
                return y * j, j, (x, i)
    return x, -1, (x, 3)


def found_deep(x, y, n):
    for at in range(int(n)):
        y = y + x * at
        for i in range(2):
            for j in range(3):
                if i + j > 2 and bool(y.sum() > 1):
                    return y, j, x
    return x, -1, y


def changed_and_left(x, y, n):
    items = [x, y]
    other = items
    for i in range(int(n)):
        items[1] = items[0] * i
        items = items[:2]
    return items[1], other[1]


@pytest.mark.parametrize(
    "program",
    [
        changed_and_shortened,
        changed_under_another_name,
        grown_by_another_list,
        replaced_after_growing,
        halved,
        the_last_three,
        found_early,
        found_deep,
    ],
)
def test_a_loop_changes_a_list_that_it_carries(program: Any) -> None:
    exported = torch.onnx.export(jit.script(program), (randn(2), randn(2), torch.tensor(2)), opset_version=17)
    for count in (0, 1, 2, 3, 5, 9):
        assert_exported_run(program, exported, (randn(2), randn(2), torch.tensor(count)))


def test_a_list_that_a_loop_has_changed_and_replaced_is_not_used_under_another_name() -> None:
    with pytest.raises(jit.CaptureError, match="another name"):
        torch.onnx.export(jit.script(changed_and_left), (randn(2), randn(2), torch.tensor(2)), opset_version=17)


def test_sizes_that_are_made_are_lists() -> None:
    @jit.script
    def sizes(n: int, x: Tensor):
        s = torch.Size([n, 2])
        return x.new_zeros(s), torch.Size(x.shape), s

    zeros, shape, made = sizes(3, torch.ones(2))
    assert zeros.shape == (3, 2) and shape == [2] and made == [3, 2]
