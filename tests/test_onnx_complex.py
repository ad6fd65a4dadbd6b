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
        rushlight.onnx.export(lambda x: rushlight.fft.rfft(x).prod().real, (rushlight.randn(8),), None)


def written(a: Any, b: Any) -> Any:
    a = a.clone()
    a[:, :2] = b[:, 2:]
    a[0], a[1:, 3] = 0, 1 + 1j
    return a


_STORED = rushlight.polar(rushlight.ones(64, 4), rushlight.arange(256.0).view(64, 4))  # more elements than a Constant node holds
FUNCTIONS: dict[str, Any] = {
    **{name: lambda a, b, name=name: getattr(a, name)() for name in (
        "exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sigmoid", "reciprocal", "square", "sgn", "rsqrt", "log1p", "expm1",
        "log2", "log10", "isnan", "isfinite", "any", "nonzero", "bool", "norm", "var", "std", "tril",
    )},
    "a stored tensor": lambda a, b: a * _STORED[: a.shape[0]], "two slices of it": lambda a, b: a * _STORED[: a.shape[0]] + _STORED[-a.shape[0] :].conj(),
    "quotient": lambda a, b: a / b, "a number over it": lambda a, b: 1 / a, "power": lambda a, b: a**b, "square as a power": lambda a, b: a**2,
    "root as a power": lambda a, b: a**0.5, "power of a number": lambda a, b: 2**a, "real times i": lambda a, b: a.real * 1j,
    "equal": lambda a, b: a == b, "where": lambda a, b: rushlight.where(a.real > 0, a, b), "a number where": lambda a, b: rushlight.where(a.real > 0, a, 2),
    "filled": lambda a, b: a.masked_fill(a.imag > 0, 1 + 2j), "written": written, "rows": lambda a, b: a[rushlight.tensor([0, 2])], "chosen": lambda a, b: a[a.real > 0],
    "index_add": lambda a, b: a.index_add(0, rushlight.tensor([0, 1]), b[:2]), "scatter_add": lambda a, b: a.scatter_add(0, (b.real > 0).long(), b),
    "gather": lambda a, b: a.gather(1, (b.real[:, :2] > 0).long()), "zeros": lambda a, b: rushlight.zeros(a.shape, dtype=rushlight.cfloat) + a,
    "ones": lambda a, b: rushlight.ones_like(a) * b, "full": lambda a, b: rushlight.full((a.shape[0], 4), 1 + 1j) * b, "repeat": lambda a, b: a.repeat(2, 1),
    "reshape": lambda a, b: a.reshape(-1), "cumsum": lambda a, b: a.cumsum(1), "matmul": lambda a, b: a @ b.mH,
    "addmm": lambda a, b: rushlight.addmm(a[:, :1], a, b.mH, beta=2), "vdot": lambda a, b: rushlight.vdot(a[0], b[0]),
    "linear": lambda a, b: rushlight.nn.functional.linear(a, _STORED[:3], _STORED[:3, 0]), "einsum": lambda a, b: rushlight.einsum("ij,kj->ik", a, b),
    "conv1d": lambda a, b: rushlight.nn.functional.conv1d(a.T[None], _STORED[:2, :, None], _STORED[:2, 0]), "lerp": lambda a, b: rushlight.lerp(a, b, 0.25),
    "addcmul": lambda a, b: rushlight.addcmul(a, a, b, value=2), "two precisions": lambda a, b: a.to(rushlight.complex128) * b,
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_complex_functions_at_other_sizes(name: str) -> None:
    """Arithmetic, functions, products of matrices and writes of complex values are computed with their parts."""

    def program(x: Any, y: Any) -> Any:
        made = FUNCTIONS[name](rushlight.view_as_complex(x), rushlight.view_as_complex(y))
        return rushlight.view_as_real(made) if made.is_complex() else made

    generator = np.random.default_rng(1)
    axes = {"x": {0: "rows"}, "y": {0: "rows"}}
    example = [rushlight.from_numpy(generator.standard_normal((3, 4, 2)).astype(np.float32)) for _ in range(2)]
    exported = rushlight.onnx.export(program, tuple(example), None, dynamic_axes=axes, opset_version=18)
    names = {each.name for each in exported.model_proto.graph.input}
    for rows in (3, 7):
        x, y = (generator.standard_normal((rows, 4, 2)).astype(np.float32) for _ in range(2))
        (got,) = exported.session().run(None, {key: each for key, each in (("x", x), ("y", y)) if key in names})
        expected = program(rushlight.from_numpy(x), rushlight.from_numpy(y)).numpy()
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def test_complex_parameters_of_a_fourier_layer() -> None:
    class Layer(rushlight.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = rushlight.nn.Parameter(rushlight.randn(2, 3, 8, 4, dtype=rushlight.cfloat))

        def forward(self, x: Any) -> Any:
            found = rushlight.fft.rfft2(x)
            out = rushlight.zeros(x.shape[0], 3, x.size(-2), x.size(-1) // 2 + 1, dtype=rushlight.cfloat)
            out[:, :, :8, :4] = rushlight.einsum("bixy,ioxy->boxy", found[:, :, :8, :4], self.weight)
            return rushlight.fft.irfft2(out, s=(x.size(-2), x.size(-1)))

    layer = Layer()
    program = rushlight.onnx.export(layer, (rushlight.randn(1, 2, 16, 16),), None, dynamic_axes={"x": [0, 2, 3]}, opset_version=18)
    x = rushlight.randn(2, 2, 12, 20)
    (got,) = program.session().run(None, {"x": x.numpy()})
    np.testing.assert_allclose(got, layer(x).detach().numpy(), rtol=1e-3, atol=1e-4)


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
