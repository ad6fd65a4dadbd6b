"""Tensors print to the letter as PyTorch prints them; `tests/record/printing.py` recorded what it prints."""

import doctest
import json
import math
from pathlib import Path

import numpy as np
import pytest

import rushlight
from rushlight.core.dtypes import ALL, BY_NAME
from rushlight.tensor import printing
from rushlight.tensor.printing import format_tensor, get_printoptions, printoptions, set_printoptions

RECORD = json.loads((Path(__file__).parent / "data" / "printing.json").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def default_options():
    set_printoptions(profile="default")
    yield
    set_printoptions(profile="default")


def build(case):
    """The array of a case: values cycled through the shape, or running from a start by a step."""
    dtype, count = BY_NAME[case["dtype"]], math.prod(case["shape"])
    if "values" in case:
        read = complex if dtype.is_complex else float if dtype.is_floating_point else int
        numbers = [read(case["values"][position % len(case["values"])]) for position in range(count)]
    else:
        numbers = [case["start"] + case["step"] * position for position in range(count)]
    if dtype.is_floating_point and dtype.name != "float64":
        return np.array(numbers, np.float32).astype(dtype.numpy).reshape(case["shape"])
    return np.array(numbers, dtype.numpy).reshape(case["shape"])


def name(case):
    return f"{case['dtype']}-{'x'.join(map(str, case['shape']))}"


@pytest.mark.parametrize("case", RECORD["cases"], ids=name)
@pytest.mark.filterwarnings("error")
def test_prints_as_recorded(case):
    keywords = dict(case["keywords"])
    if "default_dtype" in keywords:
        keywords["default_dtype"] = BY_NAME[keywords["default_dtype"]].numpy
    set_printoptions(**case["options"])
    assert format_tensor(build(case), **keywords) == case["text"]


def test_record_is_varied():
    cases = RECORD["cases"]
    assert len(cases) >= 150
    assert {case["dtype"] for case in cases} == {dtype.name for dtype in ALL}
    assert {option for case in cases for option in case["options"]} == {*get_printoptions(), "profile"}


def test_options_are_set_as_recorded():
    for step in RECORD["settings"]:
        assert set_printoptions(**step["call"]) is None
        assert list(get_printoptions().items()) == list(step["options"].items())


def test_changing_the_dictionary_changes_no_option():
    get_printoptions()["precision"] = 1
    assert get_printoptions()["precision"] == 4


def test_options_hold_within_the_block_only():
    set_printoptions(sci_mode=True, linewidth=50)
    before = get_printoptions()
    with pytest.raises(KeyError), printoptions(precision=1, profile="short"):
        assert get_printoptions() == {**before, "precision": 1, "edgeitems": 2, "linewidth": 80, "sci_mode": None}
        raise KeyError
    assert get_printoptions() == before


def test_wrong_options_are_refused():
    before = get_printoptions()
    with pytest.raises(TypeError, match="digits"), printoptions(digits=3):
        pass
    with pytest.raises(ValueError, match=r"edgeitems .* can't be negative, got -1"):
        set_printoptions(precision=9, edgeitems=-1)
    assert get_printoptions() == before


def test_device_is_shown_unless_it_is_the_processor():
    array = np.ones(2, np.float32)
    assert format_tensor(array, device="cuda:0") == "tensor([1., 1.], device='cuda:0')"
    assert format_tensor(array, device="meta") == "tensor(..., device='meta', size=(2,))"


def test_memory_layout_does_not_matter():
    array = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    assert format_tensor(array.T) == format_tensor(array.T.copy())
    assert format_tensor(array[::-1, ::2]) == format_tensor(array[::-1, ::2].copy())


def test_a_type_that_no_tensor_has_is_refused():
    with pytest.raises(TypeError, match="NumPy's type <U1"):
        format_tensor(np.array(["a"]))


def test_examples_in_the_docstrings():
    result = doctest.testmod(printing)
    assert result.attempted >= 4 and result.failed == 0


def test_view_whose_history_a_write_left_undefined_is_shown():
    base = rushlight.ones(1, requires_grad=True).clone()
    with rushlight.no_grad():
        view = base[:]
        view *= 2
    assert repr(view) == "tensor([2.], grad_fn=<Invalid>)"
