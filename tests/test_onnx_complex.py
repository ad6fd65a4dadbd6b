"""Complex numbers, spectra and random numbers in ONNX, where complex numbers are pairs of real ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from samples import makers, samples_of

pytest.importorskip("onnxruntime")

from onnx_samples import Case, Place, check_case
from support.results import tensors_in

import rushlight
import rushlight.onnx
from rushlight.core.declare import table
from rushlight.onnx.errors import OnnxExporterError


class Pairs(Case):
    """A sample whose complex tensors go in and out as pairs of real numbers."""

    def take(self, value: Any) -> Any:
        if value.dtype.kind != "c":
            return super().take(value)
        place = super().take(np.stack([value.real, value.imag], -1))
        self.complex_places = {*getattr(self, "complex_places", ()), place.index}
        return place

    def __call__(self, *tensors: Any) -> Any:
        def fill(value: Any) -> Any:
            if isinstance(value, Place):
                tensor = tensors[value.index]
                return rushlight.view_as_complex(tensor) if value.index in getattr(self, "complex_places", ()) else tensor
            return type(value)(fill(each) for each in value) if isinstance(value, (list, tuple)) else value

        args, kwargs = self.arguments
        result = self.op.call(*[fill(each) for each in args], **{name: fill(each) for name, each in kwargs.items()})
        return tuple([rushlight.view_as_real(each) if each.is_complex() else each for each in tensors_in(result)])


TRANSFORMS = sorted(name for name, op in table.items() if name.startswith("fft_") and op in makers)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("opset", [17, 20])
@pytest.mark.parametrize(
    "name",
    [*TRANSFORMS, "stft", "istft", "complex", "polar", "real", "imag", "angle", "abs", "conj", "mul", "add", "sub", "neg", "cat", "sum"],
)
def test_complex_samples(name: str, opset: int, dynamic: bool) -> None:
    """What goes in or comes out complex is computed with pairs."""
    op = table[name]
    checked = 0
    for sample in samples_of(op):
        case = Pairs(op, sample)
        try:
            expected = tensors_in(case(*case.tensors))
        except Exception:
            continue  # a call that is refused
        outcome = check_case(case, expected, opset, dynamic)
        complex_signal = name in ("stft", "istft") and outcome.startswith("refused: ONNX has no complex arithmetic")
        assert outcome == "ok" or complex_signal, f"{sample}: {outcome}"
        checked += outcome == "ok"
    assert checked


def test_spectrogram_at_other_lengths() -> None:
    window = rushlight.hann_window(16)

    def spectrogram(x: Any) -> Any:
        return rushlight.stft(x, 16, 4, window=window, return_complex=True).abs() ** 2

    program = rushlight.onnx.export(spectrogram, (rushlight.randn(2, 64),), None, dynamic_axes={"x": [0, 1]})
    assert "STFT" in [node.op_type for node in program.model_proto.graph.node]
    x = rushlight.randn(3, 101)
    (got,) = program.session().run(None, {"x": x.numpy()})
    np.testing.assert_allclose(got, spectrogram(x).numpy(), rtol=1e-3, atol=1e-4)


def test_complex_results_are_refused() -> None:
    with pytest.raises(OnnxExporterError, match="view_as_real"):
        rushlight.onnx.export(lambda x: rushlight.fft.rfft(x), (rushlight.randn(8),), None)
    with pytest.raises(OnnxExporterError, match="complex"):
        rushlight.onnx.export(lambda x: rushlight.fft.rfft(x).exp().real, (rushlight.randn(8),), None)


DRAWS: dict[str, Any] = {
    "uniform": (lambda x: rushlight.rand(x.size(0), 1000), 0.5, 1 / 12**0.5),
    "normal": (lambda x: rushlight.randn(x.size(0), 1000), 0.0, 1.0),
    "normal like": (lambda x: rushlight.randn_like(x), 0.0, 1.0),
    "normal around": (lambda x: rushlight.normal(x * 0 + 3, 2.0), 3.0, 2.0),
    "uniform in place": (lambda x: (x * 0).uniform_(2, 4), 3.0, 2 / 12**0.5),
    "bernoulli": (lambda x: rushlight.bernoulli(x * 0 + 0.25), 0.25, 0.1875**0.5),
    "bernoulli of a number": (lambda x: (x * 0).bernoulli_(0.25), 0.25, 0.1875**0.5),
    "exponential": (lambda x: (x * 0).exponential_(2.0), 0.5, 0.5),
    "integers": (lambda x: rushlight.randint(3, 7, (x.size(0), 1000)).float(), 4.5, (15 / 12) ** 0.5),
    "geometric": (lambda x: (x * 0).geometric_(0.5), 2.0, 2**0.5),
    "one category": (lambda x: rushlight.multinomial(x * 0 + 1, 1).float().expand(-1, 9), 499.5, 1000 / 12**0.5),
    "all categories": (lambda x: rushlight.multinomial(x * 0 + 1, 1000).float(), 499.5, 1000 / 12**0.5),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws(name: str) -> None:
    """The file draws numbers of the right distribution, for a batch of another size than the example's."""
    draw, mean, deviation = DRAWS[name]
    program = rushlight.onnx.export(draw, (rushlight.ones(2, 1000),), None, dynamic_axes={"x": [0]})
    session = program.session()
    # A result that reads the input only for its shape does not name it.
    feeds = {each.name: np.ones((50, 1000), np.float32) for each in session.get_inputs()}
    (got,) = session.run(None, feeds)
    assert got.shape[0] == 50
    count = got.shape[0] if name == "one category" else got.size
    assert abs(got.mean() - mean) < 6 * deviation / count**0.5
    assert abs(got.std() - deviation) < max(0.3 if count == 50 else 0.05, 3 / count**0.5) * deviation + 1e-3


def test_permutations() -> None:
    program = rushlight.onnx.export(lambda x: rushlight.randperm(x.size(0)), (rushlight.ones(4),), None, dynamic_axes={"x": [0]})
    (got,) = program.session().run(None, {"x": np.ones(9, np.float32)})
    assert sorted(got.tolist()) == list(range(9))
