"""``distributions`` against recorded PyTorch results: numbers, samples of the same seeds, gradients, texts and errors."""

from __future__ import annotations

import copy
import json
import pathlib
import pickle
import warnings
from typing import Any

import distribution_programs as programs
import numpy as np
import pytest

import rushlight
from rushlight.distributions import kl

with np.load(pathlib.Path(__file__).resolve().parent / "data" / "distributions.npz") as archive:
    NUMBERS, TEXT = archive["numbers"], json.loads(archive["text"].tobytes())
PLACES: dict[str, dict[str, Any]] = {}
_position = 0


def _placed(entry: Any) -> Any:
    """An entry with its numbers in place of their shape."""
    global _position
    if not isinstance(entry, dict):
        return entry
    if "list" in entry:
        return [_placed(each) for each in entry["list"]]
    count = int(np.prod(entry["shape"]))
    _position += count
    return NUMBERS[_position - count : _position].reshape(entry["shape"]), entry["dtype"]


EXPECTED = {name: {key: _placed(value) for key, value in values.items()} for name, values in TEXT.items()}
TOLERANCE = {"float32": 2e-5, "float64": 1e-10}
# PyTorch differentiates gamma and Dirichlet samples by fits of three or four digits (tests/test_implicit_gradients.py), and has
# trigamma to ten digits or less.
ROUGH = {"rsample_gradients": 2e-3, "entropy_gradients": 1e-6}
# PyTorch can't differentiate Wishart samples.
OURS = {("Wishart", "rsample_gradients"), ("Wishart_precision", "rsample_gradients"), ("Wishart_factor", "rsample_gradients")}


def compare(found: Any, expected: Any, tolerance: float, where: str) -> None:
    if expected is None or isinstance(expected, str):
        assert found == expected, where
        return
    if isinstance(expected, list):
        assert len(found) == len(expected), where
        for index, (one, other) in enumerate(zip(found, expected, strict=True)):
            compare(one, other, tolerance, f"{where}[{index}]")
        return
    numbers, dtype = expected
    assert isinstance(found, rushlight.Tensor), f"{where}: {found}"
    assert (str(found.dtype).removeprefix("rushlight.").removeprefix("torch."), tuple(found.shape)) == (dtype, numbers.shape), where
    tolerance = max(tolerance, TOLERANCE.get(dtype, 0))
    np.testing.assert_allclose(found.detach().numpy().astype(np.float64), numbers, rtol=tolerance, atol=tolerance, err_msg=where)


def check(found: dict[str, Any], name: str, dtype: str) -> None:
    expected = EXPECTED[name]
    assert list(found) == list(expected), name
    for key, value in expected.items():
        if (name.split("/")[1] if "/" in name else name, key) in OURS:
            continue
        compare(found[key], value, max(TOLERANCE[dtype], ROUGH.get(key, 0)), f"{name}: {key}")


@pytest.mark.parametrize("dtype", programs.DTYPES)
@pytest.mark.parametrize("name", programs.FAMILIES)
@pytest.mark.filterwarnings("ignore")
def test_families(name: str, dtype: str) -> None:
    if dtype in programs.dtypes_of(name):
        check(programs.family(rushlight, name, dtype), f"family/{name}/{dtype}", dtype)


@pytest.mark.parametrize("dtype", programs.DTYPES)
@pytest.mark.parametrize("name", programs.TRANSFORMS)
def test_transforms(name: str, dtype: str) -> None:
    check(programs.transform(rushlight, name, dtype), f"transform/{name}/{dtype}", dtype)


@pytest.mark.parametrize("name", [name.partition("/")[2] for name in EXPECTED if name.startswith("constraint/")])
def test_constraints(name: str) -> None:
    check(programs.constraint(rushlight, name), f"constraint/{name}", "float32")


@pytest.mark.parametrize("dtype", programs.DTYPES)
def test_divergences(dtype: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, expected = programs.divergences(rushlight, dtype), EXPECTED[f"kl/{dtype}"]
    assert found.keys() == expected.keys()
    for pair, value in expected.items():
        if isinstance(value, str):
            assert found[pair] == value
        else:
            compare(found[pair][:1], value[:1], TOLERANCE[dtype], pair)
            compare(found[pair][1:], value[1:], max(TOLERANCE[dtype], 1e-6), f"gradient of {pair}")


@pytest.mark.parametrize("name", programs.BAD)
def test_errors(name: str) -> None:
    assert programs.outcome(lambda: programs.BAD[name](rushlight, rushlight.distributions)) == EXPECTED["errors"][name]


# -- what no record is needed for -----------------------------------------------------------------------------------

D = rushlight.distributions


def made(name: str, dtype: str = "float64") -> tuple[Any, dict[str, Any]]:
    given, make = programs.FAMILIES[name]
    leaves = {key: rushlight.tensor(value, dtype=getattr(rushlight, dtype), requires_grad=True) for key, value in given.items()}
    return make(D, leaves), leaves


CONTINUOUS = [
    name for name in programs.FAMILIES if programs.FAMILIES[name][0] and not name.startswith(("Categorical", "OneHot", "Multinomial", "MultivariateNormal"))
    and name not in ("Bernoulli_edges", "GeneralizedPareto", "Wishart", "Wishart_precision", "Wishart_factor", "Geometric")
]  # fmt: skip


@pytest.mark.parametrize("name", CONTINUOUS)
@pytest.mark.filterwarnings("ignore")
def test_gradients_of_densities(name: str) -> None:
    """By the parameters, against differences; parameters that are bound to each other (a simplex, symmetry) are left out."""
    given, make = programs.FAMILIES[name]
    distribution, leaves = made(name)
    rushlight.manual_seed(3)
    value = distribution.sample((2,))
    D.Distribution.set_default_validate_args(False)
    try:
        rushlight.autograd.gradcheck(
            lambda *values: make(D, dict(zip(leaves, values, strict=True))).log_prob(value), tuple(leaves.values()), eps=1e-7, atol=1e-4
        )
    finally:
        D.Distribution.set_default_validate_args(True)


def test_gradients_of_wishart_samples() -> None:
    scale = rushlight.tensor(programs.LOWER, dtype=rushlight.float64, requires_grad=True)

    def draw(factor: Any) -> Any:
        rushlight.manual_seed(0)
        return D.Wishart(5.0, scale_tril=factor.tril(), validate_args=False).rsample()

    assert rushlight.autograd.gradcheck(draw, (scale,))


PICKLED = [name for name in programs.FAMILIES if not name.endswith(("_logits", "_edges"))]


@pytest.mark.parametrize("name", PICKLED)
@pytest.mark.filterwarnings("ignore")
def test_pickling(name: str) -> None:
    distribution = made(name)[0].expand((2,) + tuple(made(name)[0].batch_shape))
    again = pickle.loads(pickle.dumps(distribution))
    rushlight.manual_seed(0)
    value = distribution.sample()
    assert rushlight.equal(again.log_prob(value), distribution.log_prob(value))
    assert repr(again) == repr(distribution)


def test_transforms_can_be_pickled_and_copied() -> None:
    transform = D.ComposeTransform([D.AffineTransform(1.0, 2.0), D.ExpTransform()])
    x = rushlight.tensor([0.5])
    assert rushlight.equal(transform.inv(transform(x)), x)
    again = pickle.loads(pickle.dumps(transform))
    assert again == transform and rushlight.equal(again.inv(again(x)), x)
    assert copy.deepcopy(transform.inv).inv == transform


def test_nearest_divergence_and_ambiguity() -> None:
    class Mine(D.Normal):
        pass

    class Other(D.Normal):
        pass

    before = dict(kl._KL_REGISTRY)
    try:
        D.register_kl(Mine, D.Normal)(lambda p, q: "left")
        assert D.kl_divergence(Mine(0, 1), D.Normal(0, 1)) == "left"
        assert D.kl_divergence(Other(0, 1), D.Normal(0, 1)).item() == 0
        D.register_kl(D.Normal, Other)(lambda p, q: "right")
        with pytest.warns(RuntimeWarning, match=r"Ambiguous kl_divergence\(Mine, Other\). Please register_kl\(Mine, Other\)"):
            assert D.kl_divergence(Mine(0, 1), Other(0, 1)) == "left"
        D.register_kl(Mine, Other)(lambda p, q: "both")
        assert D.kl_divergence(Mine(0, 1), Other(0, 1)) == "both"
    finally:
        kl._KL_REGISTRY.clear()
        kl._KL_REGISTRY.update(before)
        kl._KL_MEMOIZE.clear()


def test_default_dtype() -> None:
    rushlight.set_default_dtype(rushlight.float64)
    try:
        for distribution in (
            D.Normal(0, 1),
            D.Gamma(1, 1),
            D.Beta(1, 2),
            D.Bernoulli(0.5),
            D.Gumbel(0, 1),
            D.LKJCholesky(3),
            D.StudentT(3),
        ):
            assert distribution.sample().dtype is rushlight.float64
            assert distribution.log_prob(distribution.sample()).dtype is rushlight.float64
    finally:
        rushlight.set_default_dtype(rushlight.float32)


def test_validation_can_be_turned_off() -> None:
    assert D.Normal(0, -1.0, validate_args=False).scale.item() == -1
    assert D.Normal(0, 1.0, validate_args=False).log_prob(rushlight.tensor(float("nan"))).isnan()


def test_a_distribution_of_ones_own() -> None:
    class Own(D.Distribution):
        arg_constraints = {"loc": D.constraints.real}

        def __init__(self, loc: Any) -> None:
            self.loc = loc
            super().__init__(loc.shape)

        def log_prob(self, value: Any) -> Any:
            self._validate_sample(value)
            return value - self.loc

    with pytest.warns(UserWarning, match="does not define `support` to enable sample validation"):
        Own(rushlight.zeros(2)).log_prob(rushlight.zeros(2))

    class Undeclared(D.Distribution):
        pass

    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        Undeclared()
    with pytest.warns(FutureWarning, match="`sample_n"):
        assert D.Normal(0, 1).sample_n(3).shape == (3,)


def test_under_vmap() -> None:
    rates, values = rushlight.tensor([1.0, 2.0, 3.0]), rushlight.tensor([0.5, 1.5, 2.5])
    for family in (
        D.Exponential,
        D.Poisson,
        lambda rate, **more: D.Normal(rate, 2.0, **more),
        lambda rate, **more: D.Gamma(rate, 2.0, **more),
    ):
        mapped = rushlight.vmap(lambda rate, value, family=family: family(rate, validate_args=False).log_prob(value))(rates, values)
        expected = family(rates, validate_args=False).log_prob(values)
        assert rushlight.allclose(mapped, expected)
    samples = rushlight.vmap(lambda rate: D.Normal(rate, 1.0, validate_args=False).sample((2,)), randomness="different")(rates)
    assert samples.shape == (3, 2)


def test_traced() -> None:
    def density(loc: Any, scale: Any, value: Any) -> Any:
        return D.Normal(loc, scale, validate_args=False).log_prob(value)

    arguments = rushlight.zeros(3), rushlight.ones(3), rushlight.tensor([0.5, 1.0, 2.0])
    traced = rushlight.jit.trace(density, arguments)
    others = rushlight.ones(3), rushlight.ones(3) * 2, rushlight.tensor([0.1, 0.2, 0.3])
    assert rushlight.allclose(traced(*others), density(*others))
    drawn = rushlight.jit.trace(lambda loc: D.Normal(loc, 1.0, validate_args=False).rsample(), (rushlight.zeros(3),), check_trace=False)
    rushlight.manual_seed(0)
    first = drawn(rushlight.ones(3))
    rushlight.manual_seed(0)
    assert rushlight.allclose(first, D.Normal(rushlight.ones(3), 1.0).rsample())


COMPILED = {
    "normal": lambda x: D.Normal(x, 2.0, validate_args=False).log_prob(x + 1).sum(),
    "gamma": lambda x: D.Gamma(x.exp(), 2.0, validate_args=False).log_prob(x.abs() + 1).sum(),
    "categorical": lambda x: D.Categorical(logits=x, validate_args=False).entropy().sum(),
    "log_normal": lambda x: D.LogNormal(x, 1.0, validate_args=False).log_prob(x.exp()).sum(),
    "kl": lambda x: D.kl_divergence(D.Normal(x, 1.0, validate_args=False), D.Normal(0.0, 2.0, validate_args=False)).sum(),
    "independent": lambda x: D.Independent(D.Laplace(x, 1.0, validate_args=False), 1, validate_args=False).log_prob(x * 2).sum(),
    "validated": lambda x: D.Normal(x, 2.0).log_prob(x + 1).sum(),
}


@pytest.mark.parametrize("name", COMPILED)
def test_compiled(name: str) -> None:
    function = COMPILED[name]
    x, y = (rushlight.tensor([[0.5, -1.0, 2.0], [0.1, 0.2, 0.3]], requires_grad=True) for _ in range(2))
    compiled, expected = rushlight.compile(function)(x), function(y)
    compiled.backward()
    expected.backward()
    assert rushlight.allclose(compiled, expected)
    assert rushlight.allclose(x.grad, y.grad)


def test_compiled_samples_are_the_same() -> None:
    def draw(loc: Any) -> Any:
        return D.Normal(loc, 2.0, validate_args=False).rsample((2,))

    loc = rushlight.tensor([0.5, -1.0, 2.0])
    rushlight.manual_seed(0)
    expected = draw(loc)
    rushlight.manual_seed(0)
    assert rushlight.allclose(rushlight.compile(draw)(loc), expected)


def test_samples_at_the_edges_are_inside() -> None:
    """Tiny concentrations give neither 0 nor 1 nor nan, and a gradient; tiny probabilities no success."""
    rushlight.manual_seed(0)
    concentration = rushlight.full((200, 2), 1e-3, requires_grad=True)
    sample = D.Dirichlet(concentration).rsample()
    assert ((sample > 0) & (sample < 1)).all()
    sample[:, 0].sum().backward()
    assert concentration.grad.isfinite().all()
    assert rushlight._dirichlet_grad(rushlight.ones(1), rushlight.full((1,), 0.3), rushlight.full((1,), 1.1)).isfinite().all()
    assert D.Binomial(5, rushlight.tensor([1e-320], dtype=rushlight.float64)).sample().item() == 0
    with pytest.raises(ValueError, match="binomial only supports floating-point dtypes for prob, got: Int"):
        rushlight.binomial(rushlight.ones(2), rushlight.ones(2, dtype=rushlight.int32))
