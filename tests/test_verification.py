"""`onnx.verification`: verify, find_mismatch and verify_onnx_program, on right models and on exports made wrong on purpose."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight
import rushlight.onnx
from rushlight import nn
from rushlight.onnx import verification
from rushlight.onnx.comparison import difference
from rushlight.onnx.verification import GraphInfo, OnnxBackend, VerificationOptions


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x, scale=None):
        y = self.second(self.first(x).sin())
        return y if scale is None else (y * scale, None, {"sum": y.sum()})


@pytest.fixture
def wrong_sine():
    """Exports the sine as a cosine, as a mistake in an exporter would."""
    rushlight.onnx.register_custom_op_symbolic("aten::sin", lambda g, x: g.op("Cos", x), 17)
    yield
    rushlight.onnx.unregister_custom_op_symbolic("aten::sin", 17)


@pytest.mark.parametrize("backend", [OnnxBackend.ONNX_RUNTIME_CPU, OnnxBackend.REFERENCE])
def test_a_right_export_is_verified(backend: OnnxBackend) -> None:
    options = VerificationOptions(backend=backend, atol=1e-6)
    further = [(rushlight.randn(5, 4),), (rushlight.randn(1, 4),)]
    verification.verify(Net(), (rushlight.randn(2, 4),), dynamic_axes={"x": [0]}, additional_test_inputs=further, options=options)
    verification.verify(Net(), (rushlight.randn(2, 4),), {"scale": rushlight.tensor(2.0)}, opset_version=13, options=options)


def test_a_wrong_export_is_refused_with_the_values(wrong_sine) -> None:
    with pytest.raises(AssertionError, match=r"does not agree with the program: output: expected .*, got .* at \["):
        verification.verify(Net(), (rushlight.randn(2, 4),), opset_version=17)


def test_other_sizes_than_were_exported_are_found_out() -> None:
    class Fixed(nn.Module):
        def forward(self, x):
            return x + rushlight.ones(2, 4)

    with pytest.raises(RuntimeError):
        verification.verify(Fixed(), (rushlight.randn(2, 4),), dynamic_axes={"x": [0]}, additional_test_inputs=[(rushlight.randn(3, 4),)])


def test_the_node_of_a_mismatch_is_found(wrong_sine, capsys: pytest.CaptureFixture[str]) -> None:
    found = verification.find_mismatch(Net(), (rushlight.randn(2, 4),), opset_version=17, verbose=True)
    assert isinstance(found, GraphInfo) and found.has_mismatch() and found.essential_node_kinds() == {"Cos"}
    assert found.all_mismatch_leaf_graph_info() == [found] and "expected" in str(found.mismatch_error)
    printed = capsys.readouterr().out
    assert "first wrong node: Cos" in printed and "y = self.second(self.first(x).sin())" in printed and __file__ in printed


def test_no_mismatch() -> None:
    found = verification.find_mismatch(Net(), (rushlight.randn(2, 4),), opset_version=17)
    assert not found.has_mismatch() and found.mismatch_error is None and repr(found) == "no mismatch"


def test_a_mismatch_inside_an_op_of_several_nodes(wrong_sine) -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.LayerNorm(4))
    assert not verification.find_mismatch(model, (rushlight.randn(2, 4),), opset_version=13).has_mismatch()


def test_programs_are_compared_value_by_value() -> None:
    program = rushlight.onnx.export(Net(), (rushlight.randn(2, 4),))
    (whole,) = verification.verify_onnx_program(program)
    assert whole.name == "output" and whole.max_abs_diff < 1e-5 and whole.expected_dtype is rushlight.float32
    assert sum(whole.abs_diff_hist[0].tolist()) == 4 and len(whole.abs_diff_hist[1]) == len(whole.abs_diff_hist[0]) + 1
    names = [each.name for each in verification.verify_onnx_program(program, (rushlight.randn(2, 4),), compare_intermediates=True)]
    assert names[-1] == "output" and len(names) == 3
    assert whole.asdict()["actual_dtype"] == "rushlight.float32" or whole.asdict()["actual_dtype"] == "torch.float32"


@pytest.mark.parametrize(
    ("want", "got", "what"),
    [
        ([1.0, np.nan, np.inf], [1.0, np.nan, np.inf], None),
        ([1.0, 2.0], [1.0, 2.1], "values"),
        ([np.nan], [1.0], "values"),
        ([1.0], [np.inf], "values"),
        ([[1.0]], [1.0], "shapes differ"),
        ([], [], None),
    ],
)
def test_differences(want, got, what) -> None:
    found = difference("x", np.float32(want), np.float32(got))[0]
    assert (None if found is None else found.what) == what


def test_options_decide_what_counts() -> None:
    a, b = np.float32([1, 2, 3, 4]), np.float32([1, 2, 3, 5])
    assert difference("x", a, b, share=0.25)[0] is None and difference("x", a, b, share=0.2)[0] is not None
    assert difference("x", a, b.astype(np.float64), check_dtype=False, rtol=1)[0] is None
    assert difference("x", a, a.reshape(2, 2), check_shape=False)[0] is None
    assert difference("x", a, a.astype(np.int64))[0].what == "data types differ"
    with pytest.raises(ValueError, match="between 0.0 and 1.0"):
        verification.verify(Net(), (rushlight.randn(2, 4),), options=VerificationOptions(acceptable_error_percentage=2))
