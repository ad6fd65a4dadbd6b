"""The accuracy of native elementary functions over the whole range of their arguments."""

from __future__ import annotations

import ctypes
import importlib.util
import math
from typing import Any

import numpy as np
import pytest

if importlib.util.find_spec("llvmlite") is None:
    pytest.skip("native code needs llvmlite: pip install llvmlite", allow_module_level=True)

import rushlight as torch
from rushlight.codegen.llvm import vector_math
from rushlight.codegen.llvm.ir import IRBuilder, Module, Scalar
from rushlight.runtime.cpu.jit import jit

ALLOWED = {np.float32: 2.0, np.float64: 4.0}  # units in the last place
SPECIAL = [
    0.0,
    -0.0,
    math.inf,
    -math.inf,
    math.nan,
    1.0,
    -1.0,
    0.5,
    1e-40,
    -1e-40,
    1e-310,
    88.72,
    88.73,
    89.4,
    -103.9,
    -104,
    709.7,
    709.8,
    -745,
    -745.2,
    22.0,
]
CASES = [(name, kind) for name in vector_math.UNARY for kind in (np.float32, np.float64)] + [
    (name, np.float32) for name in vector_math.SINGLE_ONLY
]


def compiled(function: Any, kind: Any, operands: int = 1) -> Any:
    """A function on arrays."""
    type = "float" if kind is np.float32 else "double"
    module = Module()
    c = IRBuilder(module)
    with c.loop(c.integer(0), Scalar("%count", "i64")) as index:
        c.store(function(c, *[c.load(f"%x{at}", index, type) for at in range(operands)]), "%out", index)
    parameters = ", ".join([*(f"ptr noalias %x{at}" for at in range(operands)), "ptr noalias %out", "i64 %count"])
    module.functions.append(c.function("all", parameters))
    held = jit().compile(str(module))
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (operands + 1), ctypes.c_int64)(held.address("all"))

    def run(*arrays: Any) -> Any:
        out = np.empty_like(arrays[0])
        call(*[each.ctypes.data for each in (*arrays, out)], out.size)
        return out

    run.held = held  # type: ignore[attr-defined]
    return run


def arguments(kind: Any, count: int = 1 << 17) -> Any:
    """Every magnitude there is, those near 1 more often, and the special ones."""
    random = np.random.default_rng(0)
    bits = random.integers(0, 2 ** (32 if kind is np.float32 else 64), count, dtype=np.uint64)
    anything = bits.astype(np.uint32).view(np.float32) if kind is np.float32 else bits.view(np.float64)
    with np.errstate(all="ignore"):
        near = (random.standard_normal(count) * 10 ** random.uniform(-6, 2.5, count)).astype(kind)
        return np.concatenate([anything, near, np.array(SPECIAL).astype(kind)])


def errors(found: Any, exact: Any, kind: Any) -> Any:
    """Units in the last place between results and exact ones; where the right result is no number, equal it must be."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(kind)
        finite = np.isfinite(rounded)
        np.testing.assert_array_equal(found[~finite], rounded[~finite])
        distance = np.abs(found.astype(np.longdouble) - exact) / np.spacing(np.abs(rounded)).astype(np.longdouble)
    return np.where(finite, distance, 0)


@pytest.mark.parametrize(("name", "kind"), CASES, ids=lambda each: getattr(each, "__name__", each))
def test_error(name: str, kind: Any) -> None:
    function = vector_math.UNARY.get(name) or vector_math.SINGLE_ONLY[name]
    x = arguments(kind)
    if name == "erf":
        x = x[::8].copy()
        exact = np.array([math.erf(each) for each in x.tolist()]).astype(np.longdouble)  # right to about half a unit of double
    else:
        with np.errstate(all="ignore"):
            exact = getattr(np, name)(x.astype(np.float64 if kind is np.float32 else np.longdouble)).astype(np.longdouble)
    found = compiled(function, kind)(x)
    distance = errors(found, exact, kind)
    worst = int(np.argmax(distance))
    assert distance[worst] <= ALLOWED[kind], f"{name}({x[worst]!r}) is {found[worst]!r}"


@pytest.mark.parametrize("name", [*vector_math.UNARY, *vector_math.SINGLE_ONLY])
def test_signed_zero(name: str) -> None:
    """The sign of zero is kept where NumPy keeps it."""
    function = vector_math.UNARY.get(name) or vector_math.SINGLE_ONLY[name]
    zeros = np.array([0.0, -0.0], np.float32)
    found = compiled(function, np.float32)(zeros)
    with np.errstate(all="ignore"):
        wanted = zeros if name == "erf" else getattr(np, name)(zeros)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))


def test_power() -> None:
    x, y = arguments(np.float32), arguments(np.float32)[::-1].copy()
    special = np.array([0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, math.inf, -math.inf, math.nan], np.float32)
    first, second = (each.ravel() for each in np.meshgrid(special, special))
    near = np.clip(np.nan_to_num(x), 0.01, 100)
    y = np.nan_to_num(y)
    x = np.concatenate([x, first, near, -near])
    y = np.concatenate([y, second, np.clip(y, -20, 20), np.round(np.clip(y, -20, 20))]).astype(np.float32)
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.float64), y.astype(np.float64)).astype(np.longdouble)
    distance = errors(compiled(vector_math.power, np.float32, 2)(x, y), exact, np.float32)
    worst = int(np.argmax(distance))
    assert distance[worst] <= ALLOWED[np.float32], f"{x[worst]!r} ** {y[worst]!r}"


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_shortcuts(kind: Any) -> None:
    """exp of what is not positive, as exact as other functions; and ``1 + tanh(x)`` by one exp, denormal numbers aside."""
    x = arguments(kind)
    with np.errstate(all="ignore"):
        below = -np.abs(x)
        distance = errors(compiled(vector_math.exp_nonpositive, kind)(below), np.exp(below.astype(np.longdouble)), kind)
        assert distance.max() <= ALLOWED[kind]
        exact = 2 / (1 + np.exp(-2 * x.astype(np.longdouble)))
        found = 2 / compiled(vector_math.one_plus_exp, kind)(x)
        distance = np.where(np.abs(exact) < np.finfo(kind).smallest_normal * 4, 0, errors(found, exact, kind))
        assert distance.max() <= ALLOWED[kind] + 0.5, x[np.argmax(distance)]
        assert (found[exact < np.finfo(kind).smallest_normal] < 5 * np.finfo(kind).smallest_normal).all()


# Ops that are made of such functions, in whatever way the whole back-end computes them.
OPS: dict[str, Any] = {
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "tanh": np.tanh, "exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos, "rsqrt": lambda x: 1 / np.sqrt(x),
    "sqrt": np.sqrt, "log1p": np.log1p, "expm1": np.expm1, "exp2": np.exp2, "log2": np.log2, "log10": np.log10, "sinh": np.sinh, "cosh": np.cosh,
    "pow": lambda x: np.power(x, np.longdouble(2.5)),
}  # fmt: skip


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", OPS)
def test_compiled_ops(name: str, kind: Any) -> None:
    x = arguments(kind, 1 << 15)
    step = torch.compile(lambda x: x.pow(2.5) if name == "pow" else getattr(torch, name)(x))
    with np.errstate(all="ignore"), torch.no_grad():
        step(torch.from_numpy(x))
        found, exact = step(torch.from_numpy(x)).numpy(), OPS[name](x.astype(np.longdouble))
    distance = errors(found, exact, kind)
    worst = int(np.argmax(distance))
    assert distance[worst] <= ALLOWED[kind], f"{name}({x[worst]!r}) is {found[worst]!r}"
