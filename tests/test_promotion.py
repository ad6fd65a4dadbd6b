"""Result types of all pairs of dtypes, as tensors, 0-dim tensors and numbers, against PyTorch's."""

import json
import pathlib

import numpy as np
import pytest

import rushlight as torch
from rushlight.core.base import make
from rushlight.core.dtypes import ALL, BY_NAME, BY_NUMPY, result_dtype

DATA = json.loads((pathlib.Path(__file__).parent / "data" / "promotion.json").read_text())
NUMBERS = {"bool": True, "int": 2, "float": 1.5, "complex": 1j}


def value(text):
    kind, name = text.split(":")
    if kind == "number":
        return NUMBERS[name]
    return np.zeros((2,) if kind == "tensor" else (), BY_NAME[name].numpy)


def test_result_types():
    wrong = []
    for pair, expected in DATA["result_type"].items():
        a, b = map(value, pair.split())
        try:
            found = BY_NUMPY[result_dtype((a, b))].name
        except Exception as error:
            found = "!" + next(k.__name__ for k in type(error).__mro__ if not k.__module__.startswith("rushlight"))
        if found != expected:
            wrong.append((pair, expected, found))
    assert not wrong, f"{len(wrong)} of {len(DATA['result_type'])}: {wrong[:20]}"


def test_can_cast():
    wrong = []
    for pair, expected in DATA["can_cast"].items():
        a, b = pair.split()
        if torch.can_cast(BY_NAME[a], BY_NAME[b]) != expected:
            wrong.append((pair, expected))
    assert not wrong, wrong


@pytest.mark.parametrize("name", DATA["limits"])
def test_limits(name):
    kind = BY_NAME[name]
    *numbers, text = DATA["limits"][name]
    if kind.is_floating_point:
        info = torch.finfo(kind)
        assert [info.bits, info.eps, info.max, info.min, info.tiny, info.resolution] == pytest.approx(numbers)
    else:
        info = torch.iinfo(kind)
        assert [info.bits, info.max, info.min] == numbers
    assert repr(info) == text


@pytest.mark.parametrize("dtype", [d.name for d in ALL if not d.name.startswith(("uint16", "uint32", "uint64", "float8"))])
def test_arithmetic_follows_the_result_type(dtype):
    a = make(np.ones(3, BY_NAME[dtype].numpy))
    for number, of_number in ((True, "bool"), (2, "int"), (1.5, "float")):
        expected = DATA["result_type"][f"tensor:{dtype} number:{of_number}"]
        assert (a + number).dtype.name == (number + a).dtype.name == expected
        assert (a * number).dtype.name == expected
    half = make(np.array(0.5, np.float64))
    assert (a + half).dtype.name == DATA["result_type"][f"tensor:{dtype} scalar:float64"]


def test_short_names_of_types():
    found = {
        name: getattr(torch, name).abbr
        for name in ("float32", "bfloat16", "int64", "uint8", "bool", "complex128", "float8_e4m3fn", "qint8", "int4")
    }
    assert found == {
        "float32": "f32", "bfloat16": "bf16", "int64": "i64", "uint8": "u8", "bool": "b8", "complex128": "c128", "float8_e4m3fn": "f8e4m3fn",
        "qint8": "qint8", "int4": "int4",
    }  # fmt: skip
