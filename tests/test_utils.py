"""Safetensors files, benchmarks, operation counts, and what is not here."""

from __future__ import annotations

import json
import os
import random

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.utils import benchmark, hooks, safetensors
from rushlight.utils.flop_counter import FlopCounterMode, register_flop_formula

# -- safetensors -------------------------------------------------------------------------------------------------


def packed(header, data: bytes) -> bytes:
    """A file made by hand."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(begin: int, end: int, shape, dtype: str = "F32") -> dict:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


WEIGHT = b"\0\0\x80?\0\0\0@"  # 1.0 and 2.0
BYTES = packed(
    b'{"__metadata__":{"format":"pt"},"weight":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},'
    b'"flag":{"dtype":"BOOL","shape":[],"data_offsets":[8,9]}} ',
    WEIGHT + b"\1",
)


def test_recorded_bytes(tmp_path):
    found = safetensors.load(BYTES)
    assert found["weight"].tolist() == [1.0, 2.0] and found["weight"].dtype is torch.float32
    assert found["flag"].tolist() is True and found["flag"].shape == ()
    (tmp_path / "x.safetensors").write_bytes(BYTES)
    with safetensors.safe_open(tmp_path / "x.safetensors", framework="pt", device="cpu") as file:
        assert file.metadata() == {"format": "pt"} and file.keys() == ["flag", "weight"] == list(file)
        assert file.offset_keys() == ["weight", "flag"]
        part = file.get_slice("weight")
        assert part.get_shape() == [2] and part.get_dtype() == "F32" and part[1:].tolist() == [2.0]
        with pytest.raises(safetensors.SafetensorError, match="does not contain tensor other"):
            file.get_tensor("other")


def test_written_bytes(tmp_path):
    """Wide types first, names in order, the header padded to a multiple of 8."""
    data = safetensors.save({"b": torch.ones(1, dtype=torch.uint8), "a": torch.tensor([1.0, 2.0])}, {"k": "v"})
    header = (
        b'{"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},'
        b'"b":{"dtype":"U8","shape":[1],"data_offsets":[8,9]}}'
    )
    header += b" " * (-len(header) % 8)
    assert data == packed(header, WEIGHT + b"\1")
    safetensors.save_file({"x": torch.ones(2)}, tmp_path / "x")
    before = (tmp_path / "x").read_bytes()
    for wrong in ({"x": 1}, {"x": torch.empty(1, device="meta")}, {1: torch.ones(1)}, [1]):
        with pytest.raises((TypeError, ValueError)):
            safetensors.save_file(wrong, tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == before and os.listdir(tmp_path) == ["x"]


def test_all_types_and_views(tmp_path):
    kinds = "bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 bfloat16 float32 float64 complex64 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu".split()
    values = {kind: torch.tensor([0, 1, 2]).to(getattr(torch, kind)) for kind in kinds}
    values["turned"] = torch.arange(6.0).reshape(2, 3).t()
    values["empty"] = torch.empty(2, 0)
    safetensors.save_file(values, tmp_path / "x")
    found = safetensors.load_file(tmp_path / "x")
    assert found.keys() == values.keys()
    for name, value in values.items():
        assert found[name].dtype is value.dtype and found[name].shape == value.shape
        assert found[name]._array.tobytes() == value.contiguous()._array.tobytes()
    found["turned"].fill_(5)  # the memory can be written to, and the file stays as it is
    assert safetensors.load_file(tmp_path / "x")["turned"].tolist() == values["turned"].tolist()


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "too short"), (b"\1\0\0", "too short"), (b"\xff" * 8, "says that its header"), (packed(b"{", b""), "no JSON"),
        (packed([], b""), "no JSON object"), (packed({"a": 1}, b""), "makes no sense"), (packed({"a": entry(0, 4, [1], "Q4")}, b"0" * 4), "no sense"),
        (packed({"a": entry(0, 8, [1])}, b"0" * 8), "can't be at"), (packed({"a": entry(0, 4, [1])}, b""), "can't be at"),
        (packed({"a": entry(4, 0, [-1])}, b"0" * 4), "natural numbers"), (packed({"a": entry(0, 4, [1.0])}, b"0" * 4), "natural numbers"),
        (packed({"a": entry(4, 8, [1])}, b"0" * 8), "does not begin where"), (packed({"a": entry(0, 4, [1])}, b"0" * 8), "follow the header"),
        (packed({"a": entry(0, 4, [1]), "b": entry(0, 4, [1])}, b"0" * 4), "does not begin where"),
        (packed(b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}', b""), "twice"),
        (packed({"a": entry(0, 4, [2**62, 2**62])}, b"0" * 4), "can't be at"), (packed({"__metadata__": {"a": 1}}, b""), "not strings"),
        (packed(b"[" * 100_000, b""), "no JSON"),
        (packed({"a": entry(0, 0, [2**63, 0])}, b""), "no tensor can have"), (packed({"a": entry(0, 0, [2**40, 2**40, 0])}, b""), "no tensor can have"),
        (packed({"a": entry(0, 4, [1] * 65)}, b"0" * 4), "no tensor can have"), (packed({"a": entry(0, 4, [], ["F32"])}, b"0" * 4), "no sense"),
        (packed({"a": entry(0, 4, "1")}, b"0" * 4), "natural numbers"), (packed({"a": entry(True, 4, [1])}, b"0" * 4), "natural numbers"),
    ],
)  # fmt: skip
def test_files_that_lie(content, message, tmp_path):
    with pytest.raises(safetensors.SafetensorError, match=message):
        safetensors.load(content)
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(safetensors.SafetensorError, match=message if content else "empty") as caught:
        safetensors.load_file(tmp_path / "x")
    assert caught.value.code == "RL114" and str(tmp_path / "x") in str(caught.value)


def test_flipped_bits_do_no_harm():
    numbers = random.Random(0)
    refused = 0
    for _ in range(500):
        damaged = bytearray(BYTES)
        for _ in range(numbers.choice((1, 4))):
            damaged[numbers.randrange(len(damaged))] = numbers.randrange(256)
        try:
            safetensors.load(bytes(damaged[: numbers.choice((None, numbers.randrange(len(damaged))))]))
        except RuntimeError:
            refused += 1
    assert refused > 450


def test_models(tmp_path):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(2, 2), nn.Linear(2, 2)
            self.second.weight = self.first.weight

        def forward(self, x):
            return self.second(self.first(x))

    source, target = Tied(), Tied()
    safetensors.save_model(source, tmp_path / "x")
    assert len(safetensors.load_file(tmp_path / "x")) == 3  # the weight that both share is there once
    assert safetensors.load_model(target, tmp_path / "x") == ([], [])
    assert torch.equal(source(torch.ones(1, 2)), target(torch.ones(1, 2)))


# -- benchmarks --------------------------------------------------------------------------------------------------


def ticking(step):
    """A clock that goes on by ``step`` each time it is read."""
    now = [0.0]

    def read():
        now[0] += step
        return now[0]

    return read


def test_timer():
    measured = benchmark.Timer("y = torch.ones(x)", setup="x = 2", label="L", sub_label="S", description="D", timer=ticking(1e-3)).timeit(
        10
    )
    assert measured.raw_times == pytest.approx([1e-3]) and measured.times == pytest.approx([1e-4]) and measured.number_per_run == 10
    assert str(measured).split("\n", 1)[1] == "L: S\nD\nsetup: x = 2\n  100.00 us\n  1 measurement, 10 runs , 1 thread"
    calls = []
    measured = benchmark.Timer("sum(range(100))").blocked_autorange(lambda number, taken: calls.append(number), min_run_time=0.5)
    assert len(measured.raw_times) == len(calls) >= 2 and sum(measured.raw_times) >= 0.5  # long beside a pause of a busy machine
    assert benchmark.Timer("sum(range(10))").adaptive_autorange(min_run_time=0.001, max_run_time=0.1).median > 0
    with pytest.raises(SyntaxError):
        benchmark.Timer("x y")
    with pytest.raises(NameError):
        benchmark.Timer("undefined_name").timeit(1)
    with pytest.raises(NotImplementedError, match="Python code"):
        benchmark.Timer("1", language="c++")


def test_measurements():
    task = benchmark.TaskSpec("s", "a=1", label="lab", description="desc", num_threads=4)
    measured = benchmark.Measurement(10, [1e-6, 2e-6, 1.1e-6], task)
    assert (measured.median, measured.title, measured.as_row_name) == (pytest.approx(1.1e-7), "lab", "s")
    assert str(measured).split("\n", 1)[1] == (
        "lab\ndesc\nsetup: a=1\n  Median: 110.00 ns\n  3 measurements, 10 runs per measurement, 4 threads\n"
        "  WARNING: Interquartile range is 45.5% of the median measurement.\n"
        "           This suggests significant environmental influence."
    )
    merged = benchmark.Measurement.merge([measured, measured])
    assert len(merged) == 1 and len(merged[0].times) == 6 and merged[0].iqr == pytest.approx(75e-9)
    assert benchmark.Measurement(1, [1.0, 2.0, 3.0, 4.0, 100.0], task).mean == 22.0
    assert benchmark.select_unit(1e-5) == ("us", 1e-6) and benchmark.select_unit(5)[0] == "s"
    assert benchmark.trim_sigfig(123.456, 2) == 120.0 and benchmark.unit_to_english("ns") == "nanosecond"


# -- operation counts: the numbers are PyTorch's -------------------------------------------------------------------


def counted(function, **options):
    with FlopCounterMode(display=False, **options) as counter:
        function()
    return {str(operator): count for operator, count in counter.get_flop_counts()["Global"].items()}


def ones(*shape, grad=False):
    return torch.ones(*shape, requires_grad=grad)


F = nn.functional


@pytest.mark.parametrize(
    "function, wanted",
    [
        (lambda: ones(2, 3) @ ones(3, 4), {"aten.mm": 48}), (lambda: torch.bmm(ones(5, 2, 3), ones(5, 3, 4)), {"aten.bmm": 240}),
        (lambda: torch.addmm(ones(4), ones(2, 3), ones(3, 4)), {"aten.addmm": 48}),
        (lambda: torch.baddbmm(ones(4), ones(5, 2, 3), ones(5, 3, 4)), {"aten.baddbmm": 240}),
        (lambda: ones(3) @ ones(3), {}), (lambda: ones(2, 3) @ ones(3), {}), (lambda: ones(6, 5, 2, 3) @ ones(3, 4), {"aten.mm": 1440}),
        (lambda: F.conv2d(ones(2, 3, 8, 8), ones(4, 3, 3, 3), padding=1), {"aten.convolution": 27648}),
        (lambda: F.conv2d(ones(2, 4, 8, 8), ones(4, 2, 3, 3), groups=2), {"aten.convolution": 10368}),
        (lambda: F.conv_transpose2d(ones(2, 3, 8, 8), ones(3, 4, 3, 3)), {"aten.convolution": 27648}),
        (lambda: F.conv1d(ones(2, 3, 8), ones(4, 3, 3)), {"aten.convolution": 864}),
        (lambda: F.conv2d(ones(2, 3, 8, 8, grad=True), ones(4, 3, 3, 3, grad=True)).sum().backward(),
         {"aten.convolution": 15552, "aten.convolution_backward": 31104}),
        (lambda: F.linear(ones(2, 5, 3), ones(4, 3), ones(4)), {"aten.addmm": 240}), (lambda: F.linear(ones(2, 5, 3), ones(4, 3)), {"aten.mm": 240}),
        (lambda: F.scaled_dot_product_attention(*[torch.empty(2, 4, 5, 8, device="meta")] * 3), {"aten.bmm": 6400}),
        (lambda: F.scaled_dot_product_attention(*[ones(2, 4, 5, 8, grad=True)] * 3).sum().backward(), {"aten.bmm": 19200}),
        (lambda: F.relu(ones(3)), {}),
    ],
)  # fmt: skip
def test_flops_of_operations(function, wanted):
    assert counted(function) == wanted


def test_flops_of_modules():
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    with FlopCounterMode(display=False) as counter:
        model(ones(3, 4)).sum().backward()
    assert counter.get_total_flops() == 672
    assert {module: {str(key): count for key, count in found.items()} for module, found in counter.get_flop_counts().items()} == {
        "Global": {"aten.addmm": 288, "aten.mm": 384}, "Sequential": {"aten.addmm": 288, "aten.mm": 384},
        "Sequential.0": {"aten.addmm": 192, "aten.mm": 192}, "Sequential.2": {"aten.addmm": 96, "aten.mm": 192},
    }  # fmt: skip
    assert [line.split() for line in counter.get_table().splitlines()[2:5]] == [
        ["Sequential", "672.000", "100.00%"], ["-", "aten.addmm", "288.000", "42.86%"], ["-", "aten.mm", "384.000", "57.14%"],
    ]  # fmt: skip
    with counter:
        model(ones(3, 4))
    assert counter.get_total_flops() == 288  # every block begins anew
    assert counted(lambda: nn.LSTM(3, 4)(ones(5, 2, 3))) == {"aten.addmm": 2 * 10 * 3 * 16, "aten.mm": 2 * 10 * 4 * 16}


def test_flops_are_shown_and_can_be_taught(capsys):
    with FlopCounterMode(custom_mapping={torch.ops.aten.relu: lambda shape, out_shape: shape[0] * out_shape[1]}):
        F.relu(ones(200, 300) @ ones(300, 400))
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["Global", "48.080M", "100.00%"] in shown and ["-", "aten.relu", "0.080M", "0.17%"] in shown


def test_flop_formulas_of_custom_operators():
    @torch.library.custom_op("flop_counter_test::scale", mutates_args=())
    def scale(x: torch.Tensor, by: int = 2) -> torch.Tensor:
        return x @ x.T * by

    target = torch.ops.flop_counter_test.scale
    with pytest.raises(ValueError, match="expected each target to be OpOverloadPacket"):
        register_flop_formula(target.default)(lambda x: x)

    @register_flop_formula(target)
    def count(shape, by=1, *, out_shape):
        return shape[0] * by + out_shape[0]

    with pytest.raises(RuntimeError, match="duplicate registrations for flop_counter_test.scale"):
        register_flop_formula(target)(count)
    with FlopCounterMode(display=False) as counter:
        scale(ones(3, 4))
        scale(ones(3, 4), by=5)
    assert counter.flop_counts["Global"] == {target: 3 + 3 + 15 + 3}
    assert counter.get_flop_counts()["Global"][target] == 24

    def elements(*args, out_val):
        return out_val.numel()

    elements._get_raw = True
    with FlopCounterMode(display=False, custom_mapping={torch.ops.aten.add: elements}) as counter:
        a = ones(2, 3)
        a + a
        a.add_(1)
    assert counter.flop_counts["Global"] == {torch.ops.aten.add: 12}


# -- small things ------------------------------------------------------------------------------------------------


def test_what_is_not_here_says_so():
    with pytest.raises(NotImplementedError, match="network"):
        torch.hub.load("pytorch/vision", "resnet18")
    with pytest.raises(AttributeError, match="has no attribute 'absent_part'"):
        torch.utils.absent_part


def test_marked_hooks_are_left_out_in_silence(recwarn, tmp_path):
    leaf = ones(2, grad=True)
    leaf.register_hook(hooks.unserializable_hook(lambda gradient: gradient))
    torch.save(leaf, tmp_path / "x")
    assert not recwarn.list
