"""Creation and construction: recorded expressions, and what they can't show: memory, sharing, size limits."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from expressions import close, evaluate, recorded, written

import rushlight as torch

RECORDED = {topic: recorded(topic) for topic in ("creation", "construction")}


def test_the_recorded_expressions_are_these() -> None:
    for topic, results in RECORDED.items():
        assert list(results) == written(topic)


@pytest.mark.parametrize("expression", [(topic, each) for topic in RECORDED for each in RECORDED[topic]], ids=lambda pair: pair[1])
def test_against_pytorch(expression: tuple[str, str]) -> None:
    topic, text = expression
    found = json.loads(json.dumps(evaluate(text, torch)))
    want = RECORDED[topic][text]
    assert close(found, want), f"{text}\n  found {found}\n  want  {want}"


# -- limits ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.zeros([1] * 1_000_000),
        lambda: torch.ones([1] * 65),
        lambda: torch.empty(2**62),
        lambda: torch.empty(2**30, 2**30, 2**30),
        lambda: torch.full((2**62,), 1),
        lambda: torch.eye(2**40),
        lambda: torch.rand(2**62),
        lambda: torch.empty_strided((2, 2), (2**62, 1)),
        lambda: torch.arange(0, 1e30),
        lambda: torch.linspace(0, 1, 2**62),
        lambda: torch.ones(2).new_zeros(2**62),
        lambda: torch.Tensor(2**62),
    ],
)
def test_absurd_sizes_are_refused(call: object) -> None:
    with pytest.raises(RuntimeError):
        call()  # type: ignore[operator]


def test_a_list_that_contains_itself_is_refused() -> None:
    endless: list = []
    endless.append(endless)
    with pytest.raises(ValueError, match="too many dimensions"):
        torch.tensor(endless)


# -- defaults ----------------------------------------------------------------------------------------------------


def test_the_default_type_decides() -> None:
    torch.set_default_dtype(torch.float64)
    try:
        made = (
            torch.zeros(1), torch.tensor([1.0]), torch.arange(1.0), torch.linspace(0, 1, 2), torch.full((1,), 1.5),
            torch.eye(1),
            torch.rand(1), torch.Tensor([1]), torch.hann_window(2), torch.scalar_tensor(1),
            torch.normal(0.0, 1.0, (1,)),
        )  # fmt: skip
        assert {each.dtype for each in made} == {torch.float64}
        assert torch.tensor([1j]).dtype is torch.complex128 and torch.full((1,), 1j).dtype is torch.complex128
        assert torch.tensor([1]).dtype is torch.int64
    finally:
        torch.set_default_dtype(torch.float32)


def test_set_default_tensor_type() -> None:
    with pytest.warns(UserWarning, match="deprecated"):
        torch.set_default_tensor_type(torch.DoubleTensor)
    try:
        assert torch.get_default_dtype() is torch.float64 and torch.Tensor(2).dtype is torch.float64
    finally:
        with pytest.warns(UserWarning):
            torch.set_default_tensor_type("torch.FloatTensor")
    assert torch.get_default_dtype() is torch.float32


def test_the_default_device_decides() -> None:
    with torch.device("meta"):
        made = (
            torch.zeros(2),
            torch.tensor([1, 2]),
            torch.rand(3),
            torch.arange(4),
            torch.as_tensor([1.0]),
        )
        assert all(each.is_meta for each in made)
        assert not torch.Tensor(2).is_meta  # the legacy constructors name their device by their class
        assert not torch.zeros(2, device="cpu").is_meta
    assert not torch.zeros(2).is_meta


# -- memory ------------------------------------------------------------------------------------------------------


def test_from_numpy_shares_memory() -> None:
    array = np.arange(6.0).reshape(2, 3)
    shared = torch.from_numpy(array)
    array[0, 0] = 7
    assert shared[0, 0].item() == 7
    shared[1, 1] = -1
    assert array[1, 1] == -1
    assert torch.as_tensor(array).data_ptr() == torch.asarray(array).data_ptr() == shared.data_ptr() == array.ctypes.data
    assert torch.tensor(array).data_ptr() != array.ctypes.data
    assert torch.as_tensor(array, dtype=torch.float32).data_ptr() != array.ctypes.data


def test_read_only_memory() -> None:
    array = np.arange(3.0)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        tensor = torch.from_numpy(array)
    assert (tensor + 1).tolist() == [1, 2, 3]
    with pytest.raises(RuntimeError, match="read-only"):
        tensor.add_(1)
    with pytest.warns(UserWarning, match="not writable"):
        torch.frombuffer(b"abcd", dtype=torch.uint8)


def test_frombuffer_shares_memory() -> None:
    memory = bytearray(8)
    tensor = torch.frombuffer(memory, dtype=torch.int16)
    tensor[1] = 0x0102
    assert memory[2:4] == b"\x02\x01"


def test_arrays_of_foreign_dtype_objects() -> None:
    """An array that was unpickled, or is of C's long long, has another dtype object than NumPy's own of that name."""
    array = np.arange(3, dtype=np.longlong)
    assert torch.from_numpy(array).dtype is torch.int64
    assert (torch.from_numpy(array) + torch.arange(3)).tolist() == [0, 2, 4]
    assert torch.from_numpy(np.arange(3.0).view(np.matrix)).tolist() == [[0.0, 1.0, 2.0]]


def test_a_million_numbers() -> None:
    rows = [[float(i + j) for j in range(1000)] for i in range(1000)]
    tensor = torch.tensor(rows)
    assert tensor.shape == (1000, 1000) and tensor[999, 999].item() == 1998


def test_tensor_warns_of_tensors() -> None:
    with pytest.warns(UserWarning, match="clone"):
        torch.tensor(torch.ones(2))
    with pytest.warns(UserWarning, match="new_tensor"):
        torch.ones(2).new_tensor(torch.ones(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.as_tensor(torch.ones(2))


def test_subclasses_are_constructed() -> None:
    class Mine(torch.Tensor):
        pass

    assert type(Mine([1, 2])) is Mine and Mine(2, 3).shape == (2, 3) and type(Mine(torch.ones(2))) is Mine
    x = torch.ones(2)
    made = torch.Tensor._make_subclass(Mine, x, True)
    assert type(made) is Mine and made.requires_grad and made.is_leaf and made.data_ptr() == x.data_ptr()


def test_a_gradient_passes_the_constructor() -> None:
    x = torch.ones(2, requires_grad=True)
    (torch.Tensor(x) * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_out_is_written_to_and_resized() -> None:
    target = torch.zeros(3)
    assert torch.ones(3, out=target) is target and target.tolist() == [1, 1, 1]
    with pytest.raises(TypeError, match="out"):
        torch.ones(3, out=3)


def test_linspace_rounds_once() -> None:
    """float32 numbers are computed with one rounding, from both ends."""
    found = torch.linspace(-3, 5, 1000)
    step = np.float32(8) / np.float32(999)
    index = np.arange(1000)
    want = np.where(index < 500, -3 + float(step) * index, 5 - float(step) * (999 - index)).astype(np.float32)
    np.testing.assert_array_equal(found.numpy(), want)


@pytest.mark.parametrize(
    "function",
    [
        lambda out: torch.linspace(0, 3, 4, out=out),
        lambda out: torch.arange(0, 4, out=out),
        lambda out: torch.logspace(0, 3, 4, 2, out=out).log2_(),
    ],
)
def test_ranges_fill_strided_tensors(function) -> None:
    x = torch.zeros(2, 3)
    function(x.narrow(1, 1, 2))
    assert x.tolist() == [[0, 0, 1], [0, 2, 3]]
    resized = torch.zeros(2, 3)
    assert function(resized) is resized and resized.tolist() == [0, 1, 2, 3]
