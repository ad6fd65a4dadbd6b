"""Record PyTorch's CPU random stream: `python tests/record/random_stream.py`, with a Python that has PyTorch, writes
`tests/data/random_stream.npz`.

A case is a seed and a list of draws, each the name and arguments of a method of `rushlight.core.random.Generator`. Of
each draw it keeps some elements, a checksum of all of them, and the generator's state afterwards as a checksum beside
the normal number that waits in it. Run it on a processor that is not Intel's: on those PyTorch may leave `bernoulli`
and `exponential` to MKL, which has a stream of its own.
"""

import io
import json
import struct
import warnings
import zlib
from pathlib import Path

import numpy as np
import torch

TARGET = Path(__file__).parent.parent / "data" / "random_stream.npz"
FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
SIZES = (0, 1, 2, 7, 8, 15, 16, 17, 31, 32, 100, 1000, 100003)
NAN, INFINITY = float("nan"), float("inf")

kept = io.BytesIO()
cases, errors, states = [], [], []


def scattered(shape, dtype, start, stop):
    """An array argument that the test can make again: numbers spread over [start, stop) in a scattered order."""
    return {"scattered": [list(shape), dtype, start, stop]}


def given(values, dtype):
    """An array argument that is written out."""
    return {"values": [values, dtype]}


def tensor(argument):
    """The tensor that an argument stands for, if it stands for one."""
    if not isinstance(argument, dict):
        return argument
    if "values" in argument:
        values, dtype = argument["values"]
        return torch.tensor(values, dtype=getattr(torch, dtype))
    shape, dtype, start, stop = argument["scattered"]
    count = int(np.prod(shape))
    numbers = start + (stop - start) * ((np.arange(count) * 37 % max(count, 1)) / max(count, 1))
    if dtype != "float64":
        numbers = numbers.astype(np.float32)
    return torch.from_numpy(numbers).to(getattr(torch, dtype)).reshape(shape)


def empty(shape, dtype):
    return torch.empty(shape, dtype=getattr(torch, dtype))


def normal(generator, shape, dtype, mean=0.0, std=1.0, contiguous=True):
    if isinstance(mean, torch.Tensor) or isinstance(std, torch.Tensor):
        if isinstance(mean, torch.Tensor) and isinstance(std, torch.Tensor):
            mean = mean.expand(shape)
        return torch.normal(mean, std, generator=generator)
    if not contiguous:
        strided = empty((*shape, 2), dtype)[..., 0].normal_(mean, std, generator=generator)
        return empty(shape, dtype).copy_(strided)
    if (mean, std) == (0.0, 1.0):
        return torch.randn(shape, dtype=getattr(torch, dtype), generator=generator)
    return empty(shape, dtype).normal_(mean, std, generator=generator)


def uniform(generator, shape, dtype, low=0.0, high=1.0):
    if (low, high) == (0.0, 1.0):
        return torch.rand(shape, dtype=getattr(torch, dtype), generator=generator)
    return empty(shape, dtype).uniform_(low, high, generator=generator)


def dropout_mask(generator, shape, p):
    before = torch.get_rng_state()
    torch.set_rng_state(generator.get_state())
    mask = torch.dropout(torch.ones(shape), p, True) != 0
    generator.set_state(torch.get_rng_state())
    torch.set_rng_state(before)
    return mask


CALLS = {
    "uniform": uniform,
    "normal": normal,
    "dropout_mask": dropout_mask,
    "log_normal": lambda g, shape, dtype, **k: empty(shape, dtype).log_normal_(**k, generator=g),
    "exponential": lambda g, shape, dtype, rate=1.0: empty(shape, dtype).exponential_(rate, generator=g),
    "cauchy": lambda g, shape, dtype, **k: empty(shape, dtype).cauchy_(**k, generator=g),
    "geometric": lambda g, shape, dtype, p: empty(shape, dtype).geometric_(p, generator=g),
    "bernoulli": lambda g, shape, dtype, p: empty(shape, dtype).bernoulli_(p, generator=g),
    "integers": lambda g, shape, dtype, low, high: empty(shape, dtype).random_(low, high, generator=g),
    "integers_full": lambda g, shape, dtype: empty(shape, dtype).random_(generator=g),
    "permutation": lambda g, n, dtype: torch.randperm(n, dtype=getattr(torch, dtype), generator=g),
    "multinomial": lambda g, probabilities, **k: torch.multinomial(probabilities, **k, generator=g),
    "poisson": lambda g, rates: torch.poisson(rates, generator=g),
    "binomial": lambda g, count, prob: torch.binomial(count, prob, generator=g),
    "standard_gamma": lambda g, concentration: torch._standard_gamma(concentration, generator=g),
    "dirichlet": lambda g, concentration: torch._sample_dirichlet(concentration, generator=g),
}
# Draws that are compared up to rounding: they go through logarithms, sines, powers.
CLOSE = {"normal", "log_normal", "exponential", "cauchy", "standard_gamma", "dirichlet"}


def call(generator, method, arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CALLS[method](generator, **{name: tensor(value) for name, value in arguments.items()})


def sampled(count):
    """Which elements of a large result are kept."""
    if count <= 40:
        return np.arange(count)
    middle = np.linspace(0, count - 1, 24).astype(np.int64)
    return np.unique(np.concatenate([np.arange(8), middle, np.arange(count - 20, count)]))


def state_of(generator):
    """A checksum of the state without the waiting normal number, and that number (or None)."""
    state = generator.get_state().numpy().tobytes()
    is_pending = struct.unpack_from("<i", state, 5040)[0]
    pending = struct.unpack_from("<d", state, 5024)[0] if is_pending else None
    return zlib.crc32(state[:5016] + state[5032:]), pending


def record(*draws, seed=5):
    """Keep a case: `(method, arguments)` pairs drawn one after another from one generator."""
    generator = torch.Generator().manual_seed(seed)
    steps = []
    for method, arguments in draws:
        result = call(generator, method, arguments)
        dtype = str(result.dtype).removeprefix("torch.")
        raw = result.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
        elements = np.frombuffer(raw, np.uint8).reshape(-1, result.element_size())[sampled(result.numel())]
        kept.write(elements.tobytes())
        exact = None if method in CLOSE else zlib.crc32(raw)
        steps.append([method, arguments, list(result.shape), dtype, exact, *state_of(generator)])
    cases.append([seed, steps])


def record_error(method, **arguments):
    """Keep the message of a draw that PyTorch refuses."""
    try:
        call(torch.Generator(), method, arguments)
    except Exception as error:
        message = str(error).partition("  (Could this")[0]
        errors.append([method, arguments, type(error).__name__, message])
    else:
        raise AssertionError(f"{method} took {arguments}")


# Every size class of every type.
for dtype in FLOATS:
    for size in SIZES:
        shape = [size]
        record(("uniform", {"shape": shape, "dtype": dtype}))
        record(("normal", {"shape": shape, "dtype": dtype}))
        record(("bernoulli", {"shape": shape, "dtype": dtype, "p": 0.3}))
        record(("bernoulli", {"shape": shape, "dtype": "float32", "p": scattered(shape, dtype, 0, 1)}))
        if size in (1, 7, 16, 17, 1000):
            record(("uniform", {"shape": shape, "dtype": dtype, "low": -0.3, "high": 2.7}))
            record(("uniform", {"shape": shape, "dtype": dtype, "low": 5.0, "high": 5.01}))
            record(("normal", {"shape": shape, "dtype": dtype, "mean": 0.3, "std": 1.7}))
            record(("normal", {"shape": shape, "dtype": dtype, "mean": 0.3, "std": 1.7, "contiguous": False}))
            record(("exponential", {"shape": shape, "dtype": dtype, "rate": 1.5}))
            record(("cauchy", {"shape": shape, "dtype": dtype, "median": 0.3, "sigma": 2.5}))
            record(("log_normal", {"shape": shape, "dtype": dtype, "mean": 0.3, "std": 0.7}))
            record(("geometric", {"shape": shape, "dtype": dtype, "p": 0.1}))
            record(("integers_full", {"shape": shape, "dtype": dtype}))
            record(("integers", {"shape": shape, "dtype": dtype, "low": -3, "high": 100}))
            record(("integers", {"shape": shape, "dtype": dtype, "low": -3, "high": None}))
            record(("poisson", {"rates": scattered(shape, dtype, 0, 30)}))
    mean, std = scattered([8, 1], dtype, -1, 1), scattered([8, 30], dtype, 0, 2)
    record(("normal", {"shape": [8, 30], "dtype": dtype, "mean": mean, "std": std}))
    record(("normal", {"shape": [8, 30], "dtype": dtype, "mean": 0.7, "std": std}))
    record(("normal", {"shape": [8, 1], "dtype": dtype, "mean": mean, "std": 1.7}))
    record(("permutation", {"n": 200, "dtype": dtype}))
    for shape, samples in (([7], 1), ([7], 4), ([3, 50], 1), ([3, 50], 10)):
        weights = scattered(shape, dtype, 0.1, 1)
        for replacement in (False, True):
            record(("multinomial", {"probabilities": weights, "num_samples": samples, "replacement": replacement}))
    weights = scattered([2, 300], dtype, 0, 1)
    record(("multinomial", {"probabilities": weights, "num_samples": 500, "replacement": True}))
for dtype in ("complex64", "complex128"):
    for size in (1, 7, 8, 17, 100):
        record(("uniform", {"shape": [size], "dtype": dtype}), ("normal", {"shape": [size], "dtype": dtype}))
        record(("normal", {"shape": [size], "dtype": dtype, "mean": 1.0, "std": 2.0}))
for dtype in (*INTEGERS, "bool"):
    record(("integers_full", {"shape": [100], "dtype": dtype}), ("integers_full", {"shape": [3], "dtype": dtype}))
    record(("integers", {"shape": [50], "dtype": dtype, "low": 0, "high": 2}))
    record(("integers", {"shape": [50], "dtype": dtype, "low": 0, "high": None}))
    record(("bernoulli", {"shape": [4, 25], "dtype": dtype, "p": scattered([25], "float32", 0, 1)}))
    record(("bernoulli", {"shape": [100], "dtype": dtype, "p": 0.5}))
    if dtype != "bool":
        record(("geometric", {"shape": [100], "dtype": dtype, "p": 0.01}))
        record(("permutation", {"n": 100, "dtype": dtype}))
for dtype in ("uint16", "uint32", "uint64"):
    record(("integers", {"shape": [100], "dtype": dtype, "low": 3, "high": 60000}))
for low, high in (
    (0, 1), (-5, 10), (0, 2**28 - 1), (0, 2**28), (0, 2**31 - 1), (0, 2**32), (0, 2**32 + 1), (-(2**31), 2**31),
    (0, 2**63 - 1), (-(2**63), 2**63 - 1), (-(2**63), None), (-(2**63), 0),
):  # fmt: skip
    for size in (3, 1000):
        record(("integers", {"shape": [size], "dtype": "int64", "low": low, "high": high}))
for dtype, low, high in (
    ("float16", 0, 5000), ("float16", -4999, 4999), ("float16", -65504, 65504), ("bfloat16", -1023, 1023),
    ("bfloat16", 0, 2**26 - 1), ("float32", -(2**31 - 5), 2**31 - 7), ("float32", 0, 2**40 - 1),
    ("float64", -(2**55) + 3, 2**55 - 1), ("int32", 0, 2**28), ("int32", -(2**31), 2**31 - 1),
    ("float32", 0, 2**63 - 1), ("float64", 0, 2**63 - 1), ("bfloat16", -(2**63), 2**63 - 1),
    ("float32", -(2**63), None), ("bfloat16", -(2**63), None), ("int8", 127, None), ("int64", 2**63 - 1, None),
):  # fmt: skip
    record(("integers", {"shape": [200], "dtype": dtype, "low": low, "high": high}))
for n in (0, 1, 2, 3, 1000, 100003):
    record(("permutation", {"n": n, "dtype": "int64"}))
for p in (0.0, 0.2, 0.5, 1.0):
    for shape in ([0], [10], [4, 25]):
        record(("dropout_mask", {"shape": shape, "p": p}), ("uniform", {"shape": [2], "dtype": "float32"}))
for p in (0.0, 1.0):
    record(("bernoulli", {"shape": [10], "dtype": "float32", "p": p}))
for dtype in ("float32", "float64"):
    for count in (10, 60, 3000):
        arguments = {"count": scattered([500], "float32", 0, count), "prob": scattered([500], "float32", 1, 0)}
        record(("binomial", arguments), ("uniform", {"shape": [2], "dtype": dtype}))
    record(("poisson", {"rates": scattered([300], dtype, 0, 4000)}))
    record(("poisson", {"rates": given([0.0, 3.0, 0.0, 12.0, 0.0], dtype)}))
    record(("standard_gamma", {"concentration": scattered([400], dtype, 0, 5)}), ("normal", {"shape": [3], "dtype": dtype}))
    record(("dirichlet", {"concentration": scattered([30, 5], dtype, 0.1, 3)}))
    record(("multinomial", {"probabilities": given([1.0, 0.0, 0.0], dtype), "num_samples": 2}))
    record(("multinomial", {"probabilities": scattered([400], dtype, 0.1, 1), "num_samples": 400}))
# Shapes of every kind, and draws of different sizes in a row: what waits in the generator, and where it turns.
record(("uniform", {"shape": [], "dtype": "float32"}), ("normal", {"shape": [2, 3, 4], "dtype": "float32"}))
record(
    ("normal", {"shape": [1], "dtype": "float32", "mean": 5.0, "std": 2.0}),
    ("uniform", {"shape": [3], "dtype": "float32"}),
    ("normal", {"shape": [20], "dtype": "float32"}),
    ("normal", {"shape": [0], "dtype": "float32"}),
    ("normal", {"shape": [1], "dtype": "float64"}),
    ("normal", {"shape": [3], "dtype": "bfloat16"}),
    ("log_normal", {"shape": [2], "dtype": "float32", "mean": 0.0, "std": 1.0}),
    ("standard_gamma", {"concentration": given([2.5], "float32")}),
    ("normal", {"shape": [2], "dtype": "float32"}),
)
record(*[("uniform", {"shape": [size], "dtype": "float32"}) for size in (623, 1, 624, 1, 1)])
record(*[("poisson", {"rates": given([4.0], "float32")})] * 3, *[("integers_full", {"shape": [2], "dtype": "int64"})] * 2)
for seed in (0, 1, -1, -5, 2**31, 2**32, 2**32 - 1, 2**40 + 7, 2**63, 2**64 - 1, -(2**63), 67280421310721):
    record(("uniform", {"shape": [3], "dtype": "float32"}), seed=seed)

# Whole states, and what PyTorch draws from them.
for draw in (None, ("uniform", {"shape": [100], "dtype": "float32"}), ("normal", {"shape": [3], "dtype": "float32"}),
             ("uniform", {"shape": [624], "dtype": "float32"})):  # fmt: skip
    generator = torch.Generator().manual_seed(-77)
    if draw:
        call(generator, *draw)
    state = generator.get_state().numpy().copy()
    following = torch.cat([torch.randn(3, generator=generator), torch.rand(700, generator=generator)]).numpy()[::70]
    states.append([draw, state, following])

error_shape = {"shape": [3]}
record_error("uniform", **error_shape, dtype="float32", low=1.0, high=0.0)
record_error("uniform", **error_shape, dtype="float16", low=0.0, high=70000.0)
record_error("uniform", **error_shape, dtype="float32", low=NAN, high=1.0)
record_error("uniform", **error_shape, dtype="float32", low=-3e38, high=3e38)
record_error("uniform", **error_shape, dtype="int32")
record_error("uniform", **error_shape, dtype="float8_e5m2")
record_error("normal", **error_shape, dtype="float32", std=-1.0)
record_error("normal", **error_shape, dtype="float32", std=NAN)
record_error("normal", shape=[2], dtype="float32", std=given([1.0, -1.0], "float32"))
record_error("normal", **error_shape, dtype="int64")
for rate in (0.0, -1.0, NAN):
    record_error("exponential", **error_shape, dtype="float32", rate=rate)
record_error("exponential", **error_shape, dtype="int32")
record_error("exponential", **error_shape, dtype="float8_e5m2")
record_error("cauchy", **error_shape, dtype="float32", median=0.0, sigma=-1.0)
record_error("cauchy", **error_shape, dtype="int32")
record_error("cauchy", **error_shape, dtype="complex64")
record_error("log_normal", **error_shape, dtype="float32", mean=0.0, std=0.0)
record_error("log_normal", **error_shape, dtype="int32")
for p in (0.0, 1.0, -0.5, NAN):
    record_error("geometric", **error_shape, dtype="float32", p=p)
record_error("geometric", **error_shape, dtype="bool", p=0.5)
for p in (1.5, -0.1, NAN):
    record_error("bernoulli", **error_shape, dtype="float32", p=p)
    record_error("bernoulli", shape=[2], dtype="float32", p=given([0.5, p], "float32"))
record_error("bernoulli", **error_shape, dtype="complex64", p=0.5)
record_error("bernoulli", shape=[2], dtype="float32", p=given([1, 0], "int64"))
record_error("bernoulli", shape=[2], dtype="complex64", p=given([1, 0], "float32"))
record_error("dropout_mask", **error_shape, p=1.5)
record_error("integers", **error_shape, dtype="int64", low=5, high=5)
record_error("integers", **error_shape, dtype="int64", low=5, high=3)
record_error("integers", **error_shape, dtype="uint8", low=-3, high=5)
record_error("integers", **error_shape, dtype="int8", low=0, high=200)
record_error("integers", **error_shape, dtype="int16", low=0, high=2**16)
record_error("integers", **error_shape, dtype="bool", low=0, high=3)
record_error("integers", **error_shape, dtype="float16", low=0, high=2**17)
record_error("integers", **error_shape, dtype="complex64", low=0, high=2)
record_error("integers", **error_shape, dtype="float8_e5m2", low=0, high=2)
record_error("integers", **error_shape, dtype="float16", low=3000, high=None)
record_error("integers", **error_shape, dtype="int8", low=-(2**63), high=None)
record_error("integers", **error_shape, dtype="int8", low=128, high=None)
record_error("integers", **error_shape, dtype="uint64", low=0, high=None)
record_error("integers_full", **error_shape, dtype="uint16")
record_error("integers_full", **error_shape, dtype="complex64")
for n, dtype in (
    (-1, "int64"),
    (300, "uint8"),
    (2**15 + 1, "int16"),
    (3000, "float16"),
    (2**24 + 2, "float32"),
    (3, "bool"),
):
    record_error("permutation", n=n, dtype=dtype)
for replacement in (False, True):
    for values in ([1.0, -1.0, 0.5], [1.0, NAN, 0.5], [1.0, INFINITY, 0.5], [0.0, 0.0, 0.0]):
        weights = given(values, "float32")
        record_error("multinomial", probabilities=weights, num_samples=2, replacement=replacement)
    record_error("multinomial", probabilities=given([1.0, 2.0], "float32"), num_samples=0, replacement=replacement)
    record_error("multinomial", probabilities=given(1.0, "float32"), num_samples=1, replacement=replacement)
    record_error("multinomial", probabilities=given([1, 2], "int64"), num_samples=1, replacement=replacement)
record_error("multinomial", probabilities=given([1.0, 2.0, 3.0], "float32"), num_samples=4)
record_error("multinomial", probabilities=given([[1.0, 2.0], [0.0, 0.0]], "float32"), num_samples=1)
for rate in (-1.0, NAN):
    record_error("poisson", rates=given([1.0, rate], "float32"))
record_error("poisson", rates=given([3], "int64"))
record_error("binomial", count=given([3], "int64"), prob=given([0.5], "float32"))
record_error("binomial", count=given([3.0], "float32"), prob=given([0.5], "float64"))
record_error("binomial", count=given([3.0], "float16"), prob=given([0.5], "float16"))
record_error("standard_gamma", concentration=given([3], "int64"))
record_error("dirichlet", concentration=given([3.0], "float16"))

text = json.dumps({"cases": cases, "errors": errors, "states": [draw for draw, _, _ in states]})
np.savez_compressed(
    TARGET,
    text=np.frombuffer(text.encode(), np.uint8),
    kept=np.frombuffer(kept.getvalue(), np.uint8),
    states=np.stack([state for _, state, _ in states]),
    following=np.stack([following for _, _, following in states]),
)
print(f"{len(cases)} cases, {len(errors)} errors, {TARGET.stat().st_size} bytes")
