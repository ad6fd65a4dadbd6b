"""Native code against eager mode: a sample of every op in every dtype that it accepts."""

from __future__ import annotations

import importlib.util
import warnings

import numpy as np
import pytest
from native_samples import BFLOAT16, OPS, same
from samples import samples_of

import rushlight as torch
from rushlight.core.declare import Op, table

if importlib.util.find_spec("llvmlite") is None:
    pytest.skip("native code needs llvmlite: pip install llvmlite", allow_module_level=True)

from test_native_ops import NATIVE, compiled

KINDS = (np.float64, np.float16, BFLOAT16, np.int64, np.int32, np.uint8, np.bool_, np.complex64)
NOT_IN_HALVES = ("nan_to_num",)  # ops that depend on the limits of their dtype


@pytest.mark.parametrize("op", [op for op in OPS if samples_of(op)], ids=lambda op: op.name)
def test_types(op: Op) -> None:
    """What is compiled gives what eager mode gives."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        for kind in KINDS:
            outcome = compiled(op, samples_of(op)[0], kind)
            if outcome is not None:
                for found, wanted in zip(*outcome[:2], strict=True):
                    same(found, wanted, about=f"{np.dtype(kind)}: {samples_of(op)[0]}")


@pytest.mark.parametrize("kind", [np.float16, BFLOAT16], ids=str)
def test_halves_are_native(kind: np.dtype) -> None:
    """Half precision is computed in single precision and rounded once for each op, as eager mode does: the same bits, without a call."""
    with torch.no_grad():
        for name in NATIVE:
            found, wanted, program = compiled(table[name], samples_of(table[name])[0], kind)
            called = [part for part in program.parts if hasattr(part, "target")]
            assert not called or name in NOT_IN_HALVES, program.describe()
            for one, other in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(one.astype(np.float64), other.astype(np.float64), name)


def test_rounding_to_bfloat16() -> None:
    """Every float32 rounds as ml_dtypes rounds it: ties to even, NaN to NaN, large to infinity."""
    bits = np.concatenate(
        [np.arange(0, 1 << 32, 65537 * 3, dtype=np.uint64), np.arange(0x3F800000, 0x3F800000 + (1 << 18), dtype=np.uint64)]
    )
    x = torch.from_numpy(bits.astype(np.uint32).view(np.float32))
    compiled_cast = torch.compile(lambda x: (x * 1).bfloat16(), backend="native")
    with torch.no_grad(), np.errstate(all="ignore"):
        compiled_cast(x)
        found, wanted = compiled_cast(x)._array, x._array.astype(BFLOAT16)
    np.testing.assert_array_equal(found.astype(np.float32), wanted.astype(np.float32))


def test_numbers_beside_halves() -> None:
    """A number is rounded to the type before it is compared."""
    x = torch.tensor([0.1, 0.2, 70000.0]).half()
    for function in (
        lambda x: x == 0.1,
        lambda x: torch.clamp(x, -0.3, 0.15),
        lambda x: torch.nan_to_num(x),
        lambda x: torch.where(x > 0.15, x, 0.1),
    ):
        run = torch.compile(function, backend="native")
        with torch.no_grad():
            run(x)
            np.testing.assert_array_equal(run(x).numpy(), function(x).numpy())


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2], ids=lambda dtype: dtype.name)
def test_views_of_eight_bit_floats(dtype: torch.dtype) -> None:
    """NumPy's array interface has no name for some of them; what views a compiled graph takes and gives is made without it."""
    x = torch.arange(12.0).reshape(3, 4).to(dtype)
    for function in (lambda x: x.t().float() + 1, lambda x: x[1:, ::2].float(), lambda x: (x.float() * 2).to(dtype).t()):
        run = torch.compile(function, backend="native")
        with torch.no_grad():
            run(x)
            assert torch.equal(run(x).float(), function(x).float())
