"""Record how PyTorch prints: `python tests/record/printing.py`, with a Python that has PyTorch, writes
`tests/data/printing.json`.

Each case says how to rebuild the array (its values, as text, are cycled through the shape in order, or run from a start
by a step), the print options, the keywords for `format_tensor`, and the text that PyTorch printed.
"""

import itertools
import json
import math
import random
from pathlib import Path

import torch
from torch.autograd import forward_ad

TARGET = Path(__file__).parent.parent / "data" / "printing.json"
INTEGERS = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
FLOAT8 = ("float8_e4m3fn", "float8_e5m2")
COMPLEX = ("complex64", "complex128")

cases = []


class Subclass(torch.Tensor):
    """A subclass, which prints under its own name."""


def build(dtype, shape, values=None, start=0, step=1):
    """The tensor of a case; floats narrower than float64 are rounded by way of float32."""
    count = math.prod(shape)
    kind = getattr(torch, dtype)
    read = complex if kind.is_complex else float if kind.is_floating_point else int
    if values is None:
        numbers = [start + step * position for position in range(count)]
    else:
        numbers = [read(text) for text in itertools.islice(itertools.cycle(values), count)]
    if kind.is_floating_point and dtype != "float64":
        return torch.tensor(numbers, dtype=torch.float32).to(kind).reshape(shape)
    return torch.tensor(numbers, dtype=kind).reshape(shape)


def describe(dtype, shape, values, start, step):
    """The part of a case from which the test rebuilds the array."""
    description = {"dtype": dtype, "shape": list(shape)}
    return description | ({"start": start, "step": step} if values is None else {"values": values})


def record(dtype, shape, values=None, *, start=0, step=1, options=None, gradient=None, default="float32", meta=False, named=""):
    """Print one tensor and keep the case; `gradient` is "leaf" or an operation that keeps the values."""
    options = options or {}
    keywords = {"default_dtype": default} if default != "float32" else {}
    tensor = build(dtype, shape, values, start, step)
    if meta:
        tensor = tensor.to("meta")
        keywords |= {"device": "meta", "meta_size": list(shape)}
    if named:
        tensor = tensor.as_subclass(Subclass)
        keywords["class_name"] = named
    if gradient is not None:
        tensor.requires_grad_()
        keywords["requires_grad"] = True
        if gradient != "leaf":
            tensor = getattr(tensor, gradient)()
            keywords["grad_fn_name"] = type(tensor.grad_fn).__name__
    torch.set_default_dtype(getattr(torch, default))
    torch.set_printoptions(**options)
    keep(describe(dtype, shape, values, start, step), options, keywords, repr(tensor))
    torch.set_printoptions(profile="default")
    torch.set_default_dtype(torch.float32)


def keep(description, options, keywords, text):
    cases.append(description | {"options": options, "keywords": keywords, "text": text})


def samples(count, low_exponent=0, high_exponent=0, seed=0):
    """Random numbers of a few digits, between powers of ten."""
    chooser = random.Random(seed)
    exponents = [chooser.randint(low_exponent, high_exponent) for _ in range(count)]
    return [f"{chooser.uniform(-10, 10):.4f}e{exponent}" for exponent in exponents]


def record_integers():
    for dtype in INTEGERS:
        record(dtype, (3,), ["1", "2", "100"])
        record(dtype, (), ["7"])
        record(dtype, (2, 0))
    for dtype in ("int8", "int16", "int32", "int64"):
        record(dtype, (2, 2), ["-1", "1", "-100", "5"])
    record("uint64", (2,), [str(2**64 - 1), "1"])
    record("int64", (2,), [str(-(2**63)), str(2**63 - 1)])
    for shape in ((40,), (1000,), (1001,), (3, 30), (5, 6, 7, 8), (7, 200), (6, 200), (200, 6), (1, 1, 2000)):
        record("int64", shape, options={"linewidth": 120} if shape == (1000,) else None)
    for values in (["1"], ["0"], ["1", "0"]):
        record("bool", (2, 3), values)
        record("bool", (), values)
    record("bool", (2000,), ["1"])
    record("bool", (0,))


def record_floats():
    sets = (
        ["1", "2"], ["1.5", "2.25"], ["1e-3", "1"], ["-0.0", "0"], ["-0.0", "1.5"], ["nan", "1"], ["nan", "1.5"],
        ["nan", "inf", "-inf"], ["inf", "-2.5", "1000"], ["0.5", "1000"], ["1000", "1"], ["1001", "1"],
        ["0.0999", "99.9"], ["0.1", "100"], ["1e-4"], ["1e-5"], ["60000"], ["6e-8", "1"], ["-0.5"], ["0"],
    )  # fmt: skip
    for dtype in FLOATS:
        for values in sets:
            record(dtype, (len(values),), values)
            record(dtype, (), values)
    wide_sets = (["1e8"], ["1e9"], ["99999999"], ["123456", "654321"], ["1e-38", "1e38"], ["12345678.5"], ["1e-40"])
    for dtype in ("float32", "float64", "bfloat16"):
        for values in wide_sets:
            record(dtype, (2,), values)
            record(dtype, (), values)
    record("float64", (3,), ["1e308", "1e-308", "5e-324"])
    for dtype in FLOAT8:
        for values in (["1", "2"], ["0.5", "-1.75"], ["nan", "1"], ["448", "0.015625"], ["-0.0", "0.001953125"]):
            record(dtype, (3,), values)
            record(dtype, (), values)
        record(dtype, (0, 3))
    record("float8_e5m2", (4,), ["inf", "-inf", "57344", "1"])
    for dtype in FLOATS:
        record(dtype, (3, 11), samples(33))
        record(dtype, (2, 3, 4), samples(24, -3, 2, seed=1))
        record(dtype, (40, 50), samples(71, seed=2))
    shapes = ((), (1,), (100,), (2, 100), (2, 2, 2, 2, 2), (1, 1, 1), (2000,), (11, 11, 11), (0,), (0, 3), (3, 0, 2))
    for shape in shapes:
        record("float32", shape, ["0"])
        record("float32", shape, ["1"])
        record("float32", shape, ["-0.25", "3.125"])


def record_complex():
    sets = (
        ["1+2j", "3-4j"], ["1.5+2j", "3-4j"], ["1+2.5j", "-3-4j"], ["nan+1j", "1+nanj"], ["inf-infj"], ["0-0.0j"],
        ["-0.0-0.0j", "1+1j"], ["1e9+1j", "1"], ["1+1e-5j", "2.5"], ["nan-infj", "1.5+2j"], ["1e5+1.5j", "2+3j"],
        ["100+1j", "1+100j"], ["0.0999+99.9j", "99.9+0.0999j"], ["6+infj", "-1+91.36j"], ["0"],
    )  # fmt: skip
    for dtype in COMPLEX:
        for values in sets:
            record(dtype, (2,), values)
            record(dtype, (), values)
        record(dtype, (30,), sets[0])
        record(dtype, (4, 5), sets[1])
        record(dtype, (60, 30), sets[2], gradient="clone")
        record(dtype, (0, 2))
    for value in ("0", "1", "1.5+100j", "-1.5-100.5j", "1.5-infj"):
        record("complex64", (30,), [value])


def record_options():
    for dtype in ("float32", "complex64", "int64"):
        for sci_mode in (True, False):
            for values in (["1", "2"], ["1.5", "-2"], ["nan", "0"], ["1e10", "1e-5"], ["1e10", "1"]):
                if dtype != "int64" or values == ["1", "2"]:
                    record(dtype, (2,), values, options={"sci_mode": sci_mode})
        for precision in (0, 1, 2, 8):
            record(dtype, (4, 5), None, start=1, step=3, options={"precision": precision})
            if dtype != "int64":
                record(dtype, (3, 4), samples(12, seed=3), options={"precision": precision})
        for edgeitems in (0, 1, 2, 8):
            for shape in ((), (4,), (20,), (3, 7), (3, 4, 5)):
                record(dtype, shape, start=1, options={"edgeitems": edgeitems, "threshold": 10, "linewidth": 60})
        for linewidth in (0, 10, 20, 30, 43, 100, 200):
            record(dtype, (2, 25), start=-7, options={"linewidth": linewidth})
        for profile in ("short", "full", "default", "SHORT"):
            record(dtype, (20, 60), ["1", "0", "5"], options={"profile": profile, "linewidth": 250})
            record(dtype, (1, 3), samples(3) if dtype != "int64" else ["3"], options={"profile": profile})
    record("float32", (0,), options={"edgeitems": 0})
    record("float32", (1,), ["1"], options={"edgeitems": 0, "threshold": -1})
    record("float64", (20,), ["1"], options={"edgeitems": 0, "threshold": 5}, gradient="clone")


def record_parts():
    for count in range(1, 12):
        record("float64", (count,), ["0.5"])
        record("float64", (count,), ["0.5"], gradient="leaf")
        record("float32", (1, count), ["0.25"], gradient="clone")
        record("float32", (count,), ["0.25"], named="Subclass")
    for linewidth in range(33, 68, 2):
        record("float64", (2, 2), ["1"], gradient="leaf", options={"linewidth": linewidth})
        record("float64", (2, 3), ["1"], gradient="leaf", meta=True, options={"linewidth": linewidth})
    for dtype in ("float32", "float64", "int64", "int32", "bool", "complex64", "complex128", "bfloat16"):
        for shape in ((), (5,), (2, 3), (0, 3)):
            record(dtype, shape, ["1"], meta=True)
    record("float64", (2, 3, 4, 5, 6), ["1"], meta=True, gradient="abs")
    for default in FLOATS:
        for dtype in (*FLOATS, *COMPLEX, "int64"):
            record(dtype, (2,), ["1"], default=default)
            record(dtype, (0,), default=default)
    for shape in ((), (0, 3), (2, 2), (30,), (1500,)):
        for gradient in ("leaf", "sin", "relu"):
            record("float32", shape, ["0"], gradient=gradient)
        record("int32", shape, ["5"], named="Subclass")


def record_nested():
    """Sparse tensors print others at an indent, and dual numbers append one as a last part."""
    for count in (2, 13, 60):
        values = samples(count, seed=count)
        indices = torch.arange(count)[None]
        elements = build("float32", (count,), values)
        text = repr(torch.sparse_coo_tensor(indices, elements, (100,), check_invariants=True))
        beginning, values_beginning, end = "tensor(indices=", ",\n       values=", ",\n       size="
        first, second = text.removeprefix(beginning).split(end)[0].split(values_beginning)
        keep(describe("int64", (1, count), None, 0, 1), {}, {"indent": len(beginning)}, first)
        keep(describe("float32", (count,), values, 0, 1), {}, {"indent": len("       values=")}, second)
    for dtype, count in itertools.product(("float32", "float64"), (2, 3, 8, 12)):
        values = samples(count, seed=count)
        tensor = build(dtype, (count,), values)
        with forward_ad.dual_level():
            text = repr(forward_ad.make_dual(tensor, 2 * tensor))
        keep(describe(dtype, (count,), values, 0, 1), {}, {"extra": [f"tangent={2 * tensor!r}"]}, text)


def record_settings():
    """A sequence of calls of `set_printoptions`, each with the options in force after it."""
    calls = (
        {"sci_mode": True}, {"precision": 2}, {"profile": "short"}, {"profile": "full"},
        {"profile": "SHORT"}, {"profile": "short", "precision": 7}, {"profile": "unknown"},
        {"linewidth": 40}, {"edgeitems": 1}, {"threshold": 5, "sci_mode": False}, {},
        {"profile": "default"},
    )  # fmt: skip
    for keywords in calls:
        torch.set_printoptions(**keywords)
        yield {"call": keywords, "options": torch._tensor_str.get_printoptions()}


if __name__ == "__main__":
    for family in (record_integers, record_floats, record_complex, record_options, record_parts, record_nested):
        family()
    parts = {"settings": list(record_settings()), "cases": cases}
    lists = [f'"{name}": [\n' + ",\n".join(map(json.dumps, entries)) + "\n]" for name, entries in parts.items()]
    TARGET.write_text("{" + ",\n".join([f'"torch": "{torch.__version__}"', *lists]) + "}\n", encoding="utf-8")
    print(f"{len(cases)} cases, {TARGET.stat().st_size} bytes")
