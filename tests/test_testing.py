"""Comparing and making tensors, and the test case and decorators built on that."""

from __future__ import annotations

import os
import unittest
import warnings

import numpy as np
import pytest

import rushlight
from rushlight import tensor
from rushlight.testing import assert_close, make_tensor
from rushlight.testing.case import TestCase as Case
from rushlight.testing.helpers import (
    default_dtype,
    expect_failure_when,
    noncontiguous_like,
    random_state_kept,
    skip_when,
    temporary_directory_name,
    temporary_file_name,
    without_warnings,
)  # fmt: skip
from rushlight.testing.parametrization import instantiate_parametrized_tests, parametrize, subtest

NAN, INF = float("nan"), float("inf")


def failure(*args, **options) -> str:
    with pytest.raises(AssertionError) as caught:
        assert_close(*args, **options)
    return str(caught.value)


def test_a_difference_is_counted_measured_and_located() -> None:
    message = failure(tensor([[1.0, 2.0], [3.0, 0.0]]), tensor([[1.0, 2.5], [3.0, 1.0]]))
    assert message == (
        "Tensor-likes are not close!\n\n"
        "Mismatched elements: 2 / 4 (50.0%)\n"
        "Greatest absolute difference: 1.0 at index (1, 1) (up to 1e-05 allowed)\n"
        "Greatest relative difference: 1.0 at index (1, 1) (up to 1.3e-06 allowed)"
    )


def test_integers_are_compared_exactly() -> None:
    message = failure(tensor([1, 2]), tensor([1, 3]))
    assert message.startswith("Tensor-likes are not equal!\n\nMismatched elements: 1 / 2 (50.0%)\n")
    assert "allowed" not in message
    assert_close(tensor([1, 2]), tensor([1, 3]), rtol=0, atol=1)
    assert "difference: 254 at" in failure(tensor([1], dtype=rushlight.uint8), tensor([255], dtype=rushlight.uint8))


def test_scalars_show_their_values() -> None:
    expected = "Scalars are not close!\n\nExpected 2.0 but got 1.0.\nAbsolute difference: 1.0 (up to 1e-05 allowed)"
    assert failure(tensor(1.0), tensor(2.0)).startswith(expected)
    assert "Expected 2 but got 1.\nAbsolute difference: 1\nRelative difference: 0.5" in failure(1, 2)
    assert "Relative difference: inf" in failure(1.0, 0.0)
    assert failure(True, False) == "Booleans mismatch: True is not False"


# Data type -> a relative difference that passes, and one that does not.
TOLERANCES = {
    "float16": (5e-4, 5e-3), "bfloat16": (8e-3, 5e-2), "float32": (1e-6, 1e-4), "float64": (5e-8, 5e-7),
    "complex64": (1e-6, 1e-4), "complex128": (5e-8, 5e-7), "float8_e5m2": (0.0, 0.3),
}  # fmt: skip


@pytest.mark.parametrize("name", TOLERANCES)
def test_tolerance_follows_the_data_type(name: str) -> None:
    dtype, (small, large) = getattr(rushlight, name), TOLERANCES[name]
    base = tensor([1000.0], dtype=rushlight.float64)
    assert_close((base * (1 + small)).to(dtype), base.to(dtype))
    failure((base * (1 + large)).to(dtype), base.to(dtype))


def test_attributes_are_compared() -> None:
    assert "attribute 'shape'" in failure(tensor([1.0]), tensor([[1.0]]))
    assert failure(tensor([1.0]), tensor([1])) == ("The values for attribute 'dtype' do not match: torch.float32 != torch.int64.")
    assert_close(tensor([1.0]), tensor([1]), check_dtype=False)
    transposed, plain = rushlight.zeros(2, 3).t(), rushlight.zeros(3, 2)
    assert_close(transposed, plain)
    assert "attribute 'stride()' do not match: (1, 3) != (2, 1)" in failure(transposed, plain, check_stride=True)


def test_nan_and_infinity() -> None:
    assert "difference: nan at index (0,)" in failure(tensor([NAN]), tensor([NAN]))
    assert_close(tensor([NAN, 1.0]), tensor([NAN, 1.0]), equal_nan=True)
    assert_close(NAN, NAN, equal_nan=True)
    assert_close(tensor([INF]), tensor([INF]))
    failure(tensor([INF]), tensor([-INF]))
    failure(tensor([1.0]), tensor([INF]), rtol=1.0, atol=1.0)


def test_containers_are_walked() -> None:
    actual, expected = {"a": [tensor(1.0), {"x": tensor([1.0, 2.0])}]}, {"a": [tensor(1.0), {"x": tensor([1.0, 3.0])}]}
    assert failure(actual, expected).endswith("The failure occurred for item ['a'][1]['x']")
    assert_close([1, tensor(2.0)], (1, tensor(2.0)))
    assert failure([1], [1, 2]) == "The length of the sequences mismatch: 1 != 2"
    keys = failure({"a": 1}, {"b": 1})
    assert "Missing keys in the actual mapping: ['b']" in keys and "Additional keys" in keys
    assert_close([None], [None])
    assert failure(None, tensor(1.0)).startswith("None mismatch")


def test_what_can_not_be_compared() -> None:
    for pair in [("a", "a"), (tensor(1.0), 1.0), (object(), object()), (tensor(1.0), np.ones(()))]:
        with pytest.raises(TypeError, match="No comparison pair"):
            assert_close(*pair)
    with pytest.raises(ValueError, match="but got no atol"):
        assert_close(1.0, 1.0, rtol=0.1)
    with pytest.raises(ValueError, match="negative"):
        assert_close(1.0, 1.0, rtol=-1, atol=0)
    assert "(d)types do not match" in failure(1, 1.0)
    assert_close(1, 1.0, check_dtype=False)


def test_arrays_and_tensors_with_gradients() -> None:
    assert_close(np.ones(2), np.ones(2))
    assert "Mismatched elements: 1 / 1" in failure(np.ones(1), np.zeros(1))
    assert "Mismatched elements" in failure(tensor([1.0], requires_grad=True), tensor([2.0]))


def test_messages_of_ones_own() -> None:
    assert failure(1, 2, msg="mine") == "mine"
    assert failure(1, 2, msg=lambda report: "mine\n" + report).startswith("mine\nScalars are not equal!")


def test_a_long_difference_of_structure_comes_before_one_of_value() -> None:
    assert failure([1, [2]], [9, [2, 3]]).startswith("The length of the sequences mismatch")


class Example(Case):
    def runTest(self) -> None: ...


EQUAL = [
    (1, 1.0), (True, 1), (tensor(1.0), 1.0), (1.0, tensor([1.0])), (tensor([1.0, 2.0]), [1, 2]), ("a", "a"), ({1}, {1}),
    (rushlight.Size([1, 2]), [1, 2]), (NAN, NAN), (tensor([NAN]), tensor([NAN])), (rushlight.int8, rushlight.int8),
    (np.ones(2, np.float32), rushlight.ones(2)), (range(2), [0, 1]), (None, None), ([tensor(1.0), 2], [1.0, tensor(2)]),
    (1.0, 1.0 + 5e-6), ({"a": 1}, {"a": 1.0}),
]  # fmt: skip
UNEQUAL = [
    (tensor(1.0), tensor(2.0)), (tensor(1.0), tensor(1.0, dtype=rushlight.float64)), ("a", "b"), ({1}, {2}), (None, 1),
    (int, float), (object(), object()), ("a", ["a"]), (1.0, 1.0 + 2e-5), (tensor([1.0]), tensor(1.0)), (b"a", b"b"),
    (tensor(1), 1.5), (tensor(1.0), "a"), (rushlight.Size([1]), 1), ([1, 2, 3], [1, 2]),
]  # fmt: skip


@pytest.mark.parametrize("index", range(len(EQUAL)))
def test_a_test_case_equates(index: int) -> None:
    Example().assertEqual(*EQUAL[index])
    with pytest.raises(AssertionError):
        Example().assertNotEqual(*EQUAL[index])


@pytest.mark.parametrize("index", range(len(UNEQUAL)))
def test_a_test_case_tells_apart(index: int) -> None:
    Example().assertNotEqual(*UNEQUAL[index])
    with pytest.raises(AssertionError):
        Example().assertEqual(*UNEQUAL[index])


def test_options_of_assertEqual() -> None:
    case = Example()
    case.assertEqual(tensor(1.0), tensor(1.1), atol=0.2, rtol=0)
    case.assertEqual(tensor(1.0), tensor(1, dtype=rushlight.float64), exact_dtype=False)
    case.assertEqualIgnoreType(tensor(1.0), tensor(1))
    case.assertEqualBroadcasting(tensor([2.0, 2.0]), 2)
    with pytest.raises(AssertionError, match=r"(?s)Scalars are not equal.*\nhint$"):
        case.assertEqual(1, 2, "hint")
    case.precision = 0.5
    case.assertEqual(tensor([1.0]), tensor([1.4]))
    with pytest.raises(AssertionError):
        case.assertEqual(tensor([1.0]), tensor([1.6]))


def test_warnings_are_checked() -> None:
    case = Example()
    case.assertNotWarn(lambda: None)
    with pytest.raises(AssertionError, match="dim light"):
        case.assertNotWarn(lambda: warnings.warn("dim light", stacklevel=1))
    with case.assertWarnsOnceRegex(UserWarning, "dim"):
        warnings.warn("dim light", stacklevel=1)
    with pytest.raises(AssertionError, match="no warning"), case.assertWarnsOnceRegex(UserWarning, "dim"):
        pass
    with pytest.raises(AssertionError, match="does not match"), case.assertWarnsOnceRegex(UserWarning, "bright"):
        warnings.warn("dim light", stacklevel=1)


def test_more_assertions() -> None:
    case, one = Example(), tensor([1.0, 2.0])
    case.assertObjectIn(one, [tensor([1.0, 2.0]), one])
    with pytest.raises(AssertionError):
        case.assertObjectIn(one, [tensor([1.0, 2.0])])
    case.assertExpectedInline("a\nb", "a\nb")
    with pytest.raises(AssertionError):
        case.assertExpectedInline("a\nb", "a\nc")
    case.assertExpectedRaisesInline(ValueError, int, "invalid literal for int() with base 10: 'x'", "x")


def outcome_counts(case: type[unittest.TestCase]) -> dict[str, int]:
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    return {name: len(getattr(result, name)) for name in ("failures", "errors", "skipped", "expectedFailures")}


def test_every_test_starts_from_the_same_seed() -> None:
    drawn = []

    class Draws(Case):
        def test_one(self) -> None:
            drawn.append(rushlight.rand(3).tolist())

        test_two = test_one

    assert outcome_counts(Draws)["failures"] == 0
    assert len(drawn) == 2 and drawn[0] == drawn[1]


def test_parametrised_tests() -> None:
    seen = []

    @instantiate_parametrized_tests
    class Parametrised(Case):
        @parametrize("a", [1, 2])
        @parametrize("b", [rushlight.float32, "x", None, 1.5])
        def test_both(self, a, b) -> None:
            seen.append((a, b))

        @parametrize("a,b", [subtest((1, 2), name="one"), subtest((3, 4), decorators=[unittest.expectedFailure])])
        def test_named(self, a, b) -> None:
            self.assertEqual(a, 1)

        @parametrize("f", [len, int], name_fn=lambda f: f.__name__)
        @unittest.skip("always")
        def test_function(self, f) -> None: ...

    names = [name for name in vars(Parametrised) if name.startswith("test")]
    assert names == [
        *("test_both_a_1_float32", "test_both_a_1_b_x", "test_both_a_1_b2", "test_both_a_1_b_1_5"),
        *("test_both_a_2_float32", "test_both_a_2_b_x", "test_both_a_2_b2", "test_both_a_2_b_1_5"),
        *("test_named_one", "test_named_a_3_b_4", "test_function_len", "test_function_int"),
    ]
    assert outcome_counts(Parametrised) == {"failures": 0, "errors": 0, "skipped": 2, "expectedFailures": 1}
    assert len(set(seen)) == 8


def test_decorators_that_skip() -> None:
    class Skipping(Case):
        @skip_when(True, "now")
        def test_now(self) -> None:
            self.fail()

        @skip_when(lambda: True, "when it runs")
        def test_later(self) -> None:
            self.fail()

        @skip_when(lambda: False, "never")
        def test_never(self) -> None: ...

        @expect_failure_when(True)
        def test_fails(self) -> None:
            self.fail()

    @skip_when(lambda: True, "all")
    class All(Case):
        def test(self) -> None:
            self.fail()

    assert outcome_counts(Skipping) == {"failures": 0, "errors": 0, "skipped": 2, "expectedFailures": 1}
    assert outcome_counts(All)["skipped"] == 1


def test_contexts_put_things_back() -> None:
    rushlight.manual_seed(0)
    with random_state_kept():
        inside = rushlight.rand(2)
    assert_close(rushlight.rand(2), inside)
    with default_dtype(rushlight.float64):
        assert rushlight.ones(1).dtype == rushlight.float64
    assert rushlight.ones(1).dtype == rushlight.float32
    with temporary_file_name() as file, temporary_directory_name() as folder:
        assert os.path.isfile(file) and os.path.isdir(folder)
    assert not os.path.exists(file) and not os.path.exists(folder)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        without_warnings(lambda: warnings.warn("hidden", stacklevel=1))()
    assert not caught


def test_noncontiguous_like() -> None:
    made = noncontiguous_like(tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True))
    assert made.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert not made.is_contiguous() and made.requires_grad and made.is_leaf


@pytest.mark.parametrize("name", ["bool", "uint8", "int8", "int64", "float16", "bfloat16", "float32", "float64"])
def test_made_tensors_stay_in_range(name: str) -> None:
    dtype = getattr(rushlight, name)
    made = make_tensor(20, 5, dtype=dtype, device="cpu")
    lowest = -9 if dtype.is_signed else 0
    assert made.dtype == dtype and made.shape == (20, 5)
    assert lowest <= made.to(rushlight.float64).min().item() < made.to(rushlight.float64).max().item() <= 9
    assert make_tensor((), dtype=dtype, device="cpu").shape == ()


def test_made_tensors_take_options() -> None:
    real, whole = rushlight.float32, rushlight.int64
    made = make_tensor((2, 3), dtype=real, device="cpu", noncontiguous=True, requires_grad=True)
    assert made.stride() == (6, 2) and made.requires_grad and made.is_leaf
    assert set(make_tensor(200, dtype=whole, device="cpu", low=0, high=2, exclude_zero=True).tolist()) == {1}
    assert set(make_tensor(200, dtype=whole, device="cpu", low=0.5, high=2.5).tolist()) == {1, 2}
    assert make_tensor(200, dtype=real, device="cpu", low=5).min().item() >= 5
    assert make_tensor([3], dtype=rushlight.complex64, device="cpu").dtype == rushlight.complex64
    everything = make_tensor(50, dtype=rushlight.float16, device="cpu", low=-INF, high=INF)
    assert everything.abs().max().item() > 1000 and bool(rushlight.isfinite(everything).all())


def test_impossible_tensors_are_refused() -> None:
    real = rushlight.float32
    for words, options in [
        ("must be less than", dict(dtype=real, low=3, high=2)),
        ("cannot be NaN", dict(dtype=real, low=NAN)),
        ("not supported for boolean and integral", dict(dtype=rushlight.int8, requires_grad=True)),
        (r"only supports \[0, 2\)", dict(dtype=rushlight.bool, low=5, high=10)),
    ]:
        with pytest.raises(ValueError, match=words):
            make_tensor(3, device="cpu", **options)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (rushlight.float32, [-8.923256874084473, -7.0997514724731445, -3.8548355102539062]),
        (rushlight.float64, [-8.386052478290631, -3.8386759190164748, 4.912468997914518]),
        (rushlight.bfloat16, [-8.9375, -7.09375, -3.859375]),
        (rushlight.float16, [-8.921875, -7.1015625, -3.85546875]),
        (rushlight.float8_e4m3fn, [-9.0, -7.0, -3.75]),
    ],
)
def test_a_seed_gives_the_floats_of_pytorch(dtype: rushlight.dtype, expected: list[float]) -> None:
    rushlight.manual_seed(3)
    assert make_tensor(5, dtype=dtype, device="cpu").tolist()[:3] == expected


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (rushlight.float32, [-3.3738074512063045e38, -2.6843556145132147e38]),
        (rushlight.bfloat16, [-3.362946829335837e38, -2.671748271527681e38]),
        (rushlight.float16, [-64960.0, -51680.0]),
    ],
)
def test_floats_of_the_whole_range_of_a_type(dtype: rushlight.dtype, expected: list[float]) -> None:
    rushlight.manual_seed(3)
    limits = rushlight.finfo(dtype)
    assert make_tensor(3, dtype=dtype, device="cpu", low=limits.min, high=limits.max).tolist()[:2] == expected


def test_make_tensor_is_no_view() -> None:
    assert make_tensor(4, dtype=rushlight.complex64, device="cpu")._base is None


def test_tolerances_may_be_tensors_without_dimensions() -> None:
    x, rtol, atol = rushlight.ones(3), rushlight.tensor(1e-3), rushlight.tensor(0.0)
    rushlight.testing.assert_close(x, x + 5e-4, rtol=rtol, atol=atol)
    rushlight.testing.assert_close(1.0, 1.0005, rtol=rtol, atol=atol)
    with pytest.raises(AssertionError, match="3 / 3"):
        rushlight.testing.assert_close(x, x + 5e-3, rtol=rtol, atol=atol)
