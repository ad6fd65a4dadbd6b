"""The random stream is PyTorch's, number for number; `tests/record/random_stream.py` recorded what PyTorch draws."""

import copy
import doctest
import json
import pickle
import struct
import threading
import warnings
import zlib
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from rushlight.core import random, rounding
from rushlight.core.devices import device
from rushlight.core.dtypes import BY_NAME
from rushlight.core.random import Generator, default_generator

with np.load(Path(__file__).parent / "data" / "random_stream.npz") as archive:
    ARCHIVE = dict(archive)
RECORD = json.loads(ARCHIVE["text"].tobytes())
# How far the last bits may be off, relative to the number or to one, whichever is greater.
TOLERANCE = {
    "float16": 2**-10,
    "bfloat16": 2**-7,
    "float32": 1e-6,
    "float64": 1e-14,
    "complex64": 1e-6,
    "complex128": 1e-14,
}
METHODS = sorted({step[0] for _, steps in RECORD["cases"] for step in steps})


def argument(name, value):
    """What a recorded argument stands for."""
    if name == "dtype":
        return BY_NAME[value].numpy
    if not isinstance(value, dict):
        return value
    if "values" in value:
        values, dtype = value["values"]
        return np.array(values).astype(BY_NAME[dtype].numpy)
    shape, dtype, start, stop = value["scattered"]
    count = int(np.prod(shape))
    numbers = start + (stop - start) * ((np.arange(count) * 37 % max(count, 1)) / max(count, 1))
    if dtype != "float64":
        numbers = numbers.astype(np.float32)
    return numbers.astype(BY_NAME[dtype].numpy).reshape(shape)


def draw(generator, method, arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return getattr(generator, method)(**{name: argument(name, value) for name, value in arguments.items()})


def sampled(count):
    if count <= 40:
        return np.arange(count)
    middle = np.linspace(0, count - 1, 24).astype(np.int64)
    return np.unique(np.concatenate([np.arange(8), middle, np.arange(count - 20, count)]))


def checks():
    """Each case with the bytes that were kept of its draws."""
    position = 0
    for seed, steps in RECORD["cases"]:
        expected = []
        for _, _, shape, dtype, *_ in steps:
            numpy_type = BY_NAME[dtype].numpy
            size = len(sampled(int(np.prod(shape)))) * numpy_type.itemsize
            expected.append(ARCHIVE["kept"][position : position + size].view(numpy_type))
            position += size
        yield seed, steps, expected
    assert position == ARCHIVE["kept"].size


CHECKS = list(checks())


@pytest.mark.parametrize("method", METHODS)
def test_draws(method):
    chosen = [check for check in CHECKS if check[1][0][0] == method]
    assert chosen
    for seed, steps, expected in chosen:
        generator = Generator().manual_seed(seed)
        for (name, arguments, shape, dtype, checksum, state_checksum, pending), elements in zip(steps, expected, strict=True):
            result = draw(generator, name, arguments)
            where = f"{name} {arguments} with seed {seed}"
            assert list(result.shape) == shape and result.dtype == BY_NAME[dtype].numpy, where
            assert result.flags.c_contiguous and result.flags.writeable, where
            compare(result.reshape(-1)[sampled(result.size)], elements, dtype, checksum is not None, where)
            if checksum is not None:
                assert zlib.crc32(result.tobytes()) == checksum, where
            state = generator.get_state().tobytes()
            assert zlib.crc32(state[:5016] + state[5032:]) == state_checksum, f"the state after {where}"
            waiting = struct.unpack_from("<d", state, 5024)[0]
            assert waiting == pytest.approx(pending or 0.0, rel=1e-14, abs=1e-14), where


def compare(found, expected, dtype, exact, where):
    if exact or not found.size:
        np.testing.assert_array_equal(found, expected, err_msg=where)
        return
    if found.dtype.kind == "c":
        found, expected = found.view(found.real.dtype), expected.view(found.real.dtype)
    found, expected = found.astype(np.float64), expected.astype(np.float64)
    off = np.abs(found - expected) / np.maximum(np.abs(expected), 1.0)
    assert off.max() <= TOLERANCE[dtype], f"{where}: off by {off.max()}"


@pytest.mark.parametrize("index", range(len(RECORD["states"])))
def test_states_are_interchangeable(index):
    state, following = ARCHIVE["states"][index], ARCHIVE["following"][index]
    generator = Generator().manual_seed(-77)
    if RECORD["states"][index]:
        draw(generator, *RECORD["states"][index])
    ours = generator.get_state()
    assert ours.dtype == np.uint8 and ours.shape == (5056,)
    same = ours == state
    same[5024:5032] = True  # the waiting normal number, up to its last bits
    assert same.all()
    generator = Generator()
    generator.set_state(state)
    np.testing.assert_array_equal(generator.get_state(), state)
    assert generator.initial_seed() == 2**64 - 77
    numbers = np.concatenate([generator.normal(3, np.float32), generator.uniform(700, np.float32)])[::70]
    np.testing.assert_allclose(numbers, following, rtol=1e-6)


@pytest.mark.parametrize("case", RECORD["errors"], ids=lambda case: f"{case[0]}-{case[2]}")
def test_errors(case):
    method, arguments, kind, message = case
    with pytest.raises({"RuntimeError": RuntimeError, "NotImplementedError": NotImplementedError}.get(kind, ValueError)) as caught:
        draw(Generator(), method, arguments)
    assert str(caught.value) == message


def test_rates_that_would_never_end():
    generator = Generator()
    with pytest.raises(RuntimeError, match="expected rate to be finite"):
        generator.poisson(np.array([np.inf]))
    with pytest.raises(RuntimeError, match="expected count to be finite"):
        generator.binomial(np.array([np.nan]), np.array([0.5]))
    with pytest.raises(RuntimeError, match="finite and non-negative"):
        generator.standard_gamma(np.array([-1.0]))


def test_seeds():
    generator = Generator()
    assert generator.initial_seed() == 67280421310721
    assert generator.manual_seed(-5) is generator
    assert generator.initial_seed() == 2**64 - 5
    assert generator.manual_seed(np.int64(3)).initial_seed() == 3
    first, second = generator.seed(), generator.seed()
    assert first != second == generator.initial_seed() and 0 <= second < 2**64
    for wrong in (1.5, "a", True, None):
        with pytest.raises(RuntimeError, match=f"manual_seed expected a long, but got {type(wrong).__name__}"):
            generator.manual_seed(wrong)
    for wrong in (2**64, -(2**63) - 1):
        with pytest.raises(ValueError, match="Overflow when unpacking long long"):
            generator.manual_seed(wrong)
    assert Generator().initial_seed() != default_generator.initial_seed()


def test_seeding_forgets_the_waiting_normal_number():
    generator = Generator().manual_seed(1)
    first = generator.normal(1, np.float64)
    np.testing.assert_array_equal(generator.manual_seed(1).normal(1, np.float64), first)


def test_device():
    assert Generator().device == Generator("cpu").device == Generator(device("cpu")).device == device("cpu")
    with pytest.raises(RuntimeError, match="no random stream for device type 'cuda'"):
        Generator("cuda")


def test_states_that_are_refused():
    generator = Generator()
    good = generator.get_state()
    with pytest.raises(RuntimeError, match="of size 5056 but found the input RNG state size to be 5055"):
        generator.set_state(good[:-1])
    with pytest.raises(RuntimeError, match="Invalid mt19937 state"):
        generator.set_state(np.zeros(5056, np.uint8))
    with pytest.raises(TypeError, match="must be an array of bytes"):
        generator.set_state(good.astype(np.int8))
    with pytest.raises(RuntimeError, match="does not use offset"):
        generator.get_offset()
    with pytest.raises(RuntimeError, match="does not use offset"):
        generator.set_offset(0)
    np.testing.assert_array_equal(generator.get_state(), good)


class Named(Generator):
    """Generators may be subclassed."""


@pytest.mark.parametrize("kind", [Generator, Named])
@pytest.mark.parametrize("again", [Generator.clone_state, copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))])
def test_copies_go_their_own_way(kind, again):
    original = kind().manual_seed(9)
    original.normal(3, np.float32)  # leaves a number waiting
    twin = again(original)
    assert type(twin) is kind and twin is not original
    np.testing.assert_array_equal(twin.get_state(), original.get_state())
    before = original.get_state()
    drawn = twin.normal(5, np.float64)
    np.testing.assert_array_equal(original.get_state(), before)
    np.testing.assert_array_equal(original.normal(5, np.float64), drawn)


def test_shapes_are_numbers_or_sequences():
    for shape, expected in ((3, (3,)), ((), ()), ([2, 3], (2, 3)), (np.int64(2), (2,)), (iter((1, 2)), (1, 2))):
        assert Generator().uniform(shape, np.float32).shape == expected


def test_large_integers_in_floating_types_warn():
    with pytest.warns(UserWarning, match=r"to - 1 is out of bounds \[-\(2\^11\), 2\^11\]"):
        Generator().integers(3, np.float16, 0, 5000)


def test_long_permutations():
    # Too long to record: from 214,748,364 elements on PyTorch builds the permutation from the inside out.
    words = Generator().manual_seed(3).double_words(50)
    order = random._permute_inside_out(words).tolist()
    assert sorted(order) == list(range(50))
    assert order.index(49) == int(words[49]) % 50
    expected = []
    for position, word in enumerate(words.tolist()):
        expected.append(position)
        place = word % (position + 1)
        expected[position], expected[place] = expected[place], position
    assert order == expected


def test_fused_multiply_add_rounds_once():
    generator = Generator().manual_seed(0)
    for dtype in (np.float32, np.float64):
        values = generator.normal(300, dtype)
        for factor, addend in ((0.1, 0.3), (1e-9, 1.0), (1e9, -7.3), (3.3, -1e-12)):
            factor, addend = float(dtype(factor)), float(dtype(addend))
            found = rounding.fused_multiply_add(values, factor, addend)
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, [nearest(float(value), factor, addend, dtype) for value in values])


def nearest(value, factor, addend, dtype):
    """The number of the dtype nearest to value * factor + addend, found with whole numbers."""
    scale = 2**300
    fraction = [int(number * 2.0**150) if number else 0 for number in (value, factor)]
    exact = fraction[0] * fraction[1] + int(addend * 2.0**150) * 2**150
    guess = dtype(exact / scale)
    around = (np.nextafter(guess, dtype(-np.inf)), guess, np.nextafter(guess, dtype(np.inf)))
    return min(
        around,
        key=lambda number: (
            abs(int(float(number) * 2.0**150) * 2**150 - exact),
            number.view(f"u{number.itemsize}") & 1,
        ),
    )


def test_fused_multiply_add_without_finite_numbers():
    values = np.array([1.0, -1.0])
    np.testing.assert_array_equal(rounding.fused_multiply_add(values, np.inf, 1.0), [np.inf, -np.inf])
    np.testing.assert_array_equal(rounding.fused_multiply_add(values, 2.0, np.nan), [np.nan, np.nan])
    np.testing.assert_array_equal(rounding.fused_multiply_add(values, 1e300, 1e300), [2e300, 0.0])


def test_threads_share_a_generator():
    generator, results = Generator().manual_seed(4), []
    threads = [threading.Thread(target=lambda: results.append(generator.normal(7, np.float64))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = Generator().manual_seed(4).normals(56)
    np.testing.assert_array_equal(np.sort(np.concatenate(results)), np.sort(alone))


def test_drawing_gives_back_what_was_read_ahead():
    generator, other = Generator().manual_seed(2), Generator().manual_seed(2)
    for rate in (0.5, 3.0, 100.0):
        generator.poisson(np.full(70, rate))
        for _ in range(70):
            other.poisson(np.array([rate]))
    np.testing.assert_array_equal(generator.get_state(), other.get_state())


def test_narrow_numbers_are_rounded_from_float32():
    wide = Generator().manual_seed(6).normal(64, np.float32, 0.3, 1.7)
    for dtype in (np.float16, ml_dtypes.bfloat16):
        narrow = Generator().manual_seed(6).normal(64, dtype, 0.3, 1.7)
        np.testing.assert_array_equal(narrow, wide.astype(dtype))


def test_documentation_runs():
    for module in (random, rounding):
        result = doctest.testmod(module)
        assert result.attempted and not result.failed
