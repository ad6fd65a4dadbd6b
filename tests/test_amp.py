"""Automatic mixed precision: types of results against PyTorch's, modes, custom Functions, and scaled losses."""

from __future__ import annotations

import json
import pathlib
import pickle
import threading
import warnings
from typing import Any

import numpy as np
import pytest
from amp_cases import KINDS, calls, scaler_story
from op_samples import flatten

import rushlight
from rushlight import bfloat16, float16, float32, float64
from rushlight.amp import GradScaler, autocast, custom_bwd, custom_fwd
from rushlight.amp.autocast_classes import FLOAT32, LOWER, UNCHANGED, WIDEST, autocast_class
from rushlight.core.base import TensorBase, make
from rushlight.core.declare import table
from rushlight.core.dtypes import BY_NUMPY
from rushlight.core.state import flags, state
from rushlight.func import grad, vmap

DATA = json.loads((pathlib.Path(__file__).resolve().parent / "data" / "amp.json").read_text())
# Where our types differ, and why.
DIFFERENT = {
    "linalg_pinv": "PyTorch's last step is a product, in a narrow type; ours is one op, in float32",
    "matrix_exp": "PyTorch takes bfloat16 here, and refuses it elsewhere",
}


@pytest.fixture(autouse=True)
def nothing_is_left_on():
    before = flags.special, list(state.interceptors)
    yield
    assert (flags.special, list(state.interceptors)) == before
    assert not rushlight.is_autocast_enabled("cpu")


def tensor(array: np.ndarray, dtype: str | None) -> Any:
    made = make(np.ascontiguousarray(array).reshape(array.shape).copy())
    return made if dtype is None else made.to(getattr(rushlight, dtype))


@pytest.mark.parametrize("name", sorted(set(DATA["types"]) & set(table)))
@pytest.mark.filterwarnings("ignore")
def test_types_against_pytorch(name: str) -> None:
    if name in DIFFERENT:
        pytest.skip(DIFFERENT[name])
    for kind in KINDS:
        wanted = DATA["types"][name].get(kind.name)
        if wanted is None or wanted[0].endswith("Error"):  # refused samples are the business of the op tests
            continue
        args, kwargs = calls(table[name], kind, tensor, BY_NUMPY.__getitem__)
        with autocast("cpu", dtype=getattr(rushlight, kind.target)):
            results = flatten(table[name].call(*args, **kwargs))
        assert [each.dtype.name for each in results if isinstance(each, TensorBase)] == wanted, kind.name


def test_every_op_with_an_autocast_class_has_one_of_four() -> None:
    classes = {name: autocast_class.of(table[name]) for name in autocast_class}
    assert len(classes) == 119 and set(classes.values()) == {FLOAT32, LOWER, UNCHANGED, WIDEST}


def test_values_are_those_of_casting_by_hand() -> None:
    x, w = rushlight.randn(3, 4), rushlight.randn(4, 2)
    with autocast("cpu"):
        found = x @ w
    assert rushlight.equal(found, x.bfloat16() @ w.bfloat16())


def test_gradients_have_the_type_of_the_parameters() -> None:
    weight = rushlight.randn(4, 3, requires_grad=True)
    x = rushlight.randn(5, 4)
    with autocast("cpu"):
        scores = x @ weight
        loss = rushlight.nn.functional.cross_entropy(scores, rushlight.tensor([0, 1, 2, 0, 1]))
    assert scores.dtype is bfloat16 and loss.dtype is float32
    loss.backward()
    assert weight.grad.dtype is float32
    assert type(scores.grad_fn.next_functions[1][0]).__name__ == "ToCopyBackward0"


def test_contexts_nest() -> None:
    x = rushlight.ones(2, 2)
    outer = autocast("cpu")
    with outer:
        assert (x @ x).dtype is bfloat16 and rushlight.is_autocast_enabled("cpu") and not rushlight.is_autocast_enabled()
        with autocast("cpu", enabled=False):
            assert (x @ x).dtype is float32 and not rushlight.is_autocast_enabled("cpu")
            with pytest.raises(RuntimeError, match="same dtype"):
                (x @ x).bfloat16() @ x
            with autocast("cpu", dtype=float16):
                assert (x @ x).dtype is float16 and rushlight.get_autocast_dtype("cpu") is float16
        with outer, outer:
            assert (x @ x).dtype is bfloat16
        assert (x @ x).dtype is bfloat16
    assert (x @ x).dtype is float32 and rushlight.get_autocast_dtype("cpu") is bfloat16
    with pytest.raises(ZeroDivisionError), autocast("cpu"):
        _ = 1 / 0
    assert (x @ x).dtype is float32


def test_what_is_left_alone() -> None:
    x = rushlight.ones(2, 2)
    with autocast("cpu"):
        assert (x.long() @ x.long()).dtype is rushlight.int64
        assert (x.double() @ x.double()).dtype is float64
        assert x.clone().addmm_(x, x).dtype is float32
        assert rushlight.mm(x, x, out=rushlight.empty(2, 2)).dtype is float32
        assert (x + x).dtype is float32 and rushlight.mv(x, x[0]).dtype is float32
        assert rushlight.cat([x.bfloat16(), x.double()]).dtype is float64
        assert rushlight.cat([x.bfloat16(), x.long()]).dtype is bfloat16


def test_casts_of_parameters_are_kept() -> None:
    weight, x = rushlight.ones(2, 2, requires_grad=True), rushlight.ones(2, 2)
    cast_of = lambda y: y.grad_fn.next_functions[1][0]
    with autocast("cpu"):
        first = x @ weight
        assert cast_of(first) is cast_of(x @ weight)
        with rushlight.no_grad():
            weight.mul_(2)
            assert (x @ weight)[0, 0] == 4
        assert (x @ weight)[0, 0] == 4 and first[0, 0] == 2  # a written parameter is cast anew
    with autocast("cpu", cache_enabled=False):
        assert cast_of(x @ weight) is not cast_of(x @ weight)


def test_decorators_and_settings() -> None:
    x = rushlight.ones(2, 2)

    @rushlight.autocast("cpu", dtype=float16)
    def product() -> Any:
        """Docs."""
        return x @ x

    assert product().dtype is float16 and product.__doc__ == "Docs."
    rushlight.set_autocast_enabled("cpu", True)
    try:
        assert (x @ x).dtype is bfloat16
        rushlight.set_autocast_dtype("cpu", float16)
        assert (x @ x).dtype is float16
    finally:
        rushlight.set_autocast_dtype("cpu", bfloat16)
        rushlight.set_autocast_enabled("cpu", False)
    assert rushlight.get_autocast_dtype("cuda") is float16 and rushlight.is_autocast_cache_enabled()
    with pytest.warns(DeprecationWarning, match="get_autocast_dtype"):
        assert rushlight.get_autocast_cpu_dtype() is bfloat16
    with pytest.warns(DeprecationWarning, match="is_autocast_enabled"):
        assert not rushlight.is_autocast_cpu_enabled()


def test_devices_and_types_that_there_are_not() -> None:
    x = rushlight.ones(2, 2)
    with pytest.warns(UserWarning, match="CUDA is not available"), autocast("cuda"):
        assert (x @ x).dtype is float32
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        autocast("cuda", enabled=False)
    with pytest.warns(UserWarning, match="only supports dtypes"), autocast("cpu", dtype=float64):
        assert (x @ x).dtype is float32
    with pytest.raises(RuntimeError, match="device"):
        autocast("nowhere")
    with pytest.raises(ValueError, match="device_type"):
        autocast(3)  # type: ignore[arg-type]
    with pytest.warns(FutureWarning), rushlight.cpu.amp.autocast():
        assert (x @ x).dtype is bfloat16
    with pytest.warns(FutureWarning), pytest.warns(UserWarning):
        rushlight.cuda.amp.autocast()


def test_the_mode_is_the_threads_own() -> None:
    x, seen = rushlight.ones(2, 2), []
    with autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append((x @ x).dtype))
        thread.start()
        thread.join()
    assert seen == [float32]


def test_transforms_and_autocast() -> None:
    x, weight = rushlight.ones(3, 2), rushlight.ones(2, 2)
    with autocast("cpu"):
        assert vmap(lambda a: a @ weight)(x).dtype is bfloat16
        assert grad(lambda w: (x @ w).float().sum())(weight).dtype is float32
    assert vmap(autocast("cpu")(lambda a: a @ weight))(x).dtype is bfloat16


def make_function(seen: list[Any], cast_inputs: Any) -> Any:
    class Product(rushlight.autograd.Function):
        @staticmethod
        @custom_fwd(device_type="cpu", cast_inputs=cast_inputs)
        def forward(ctx: Any, x: Any, w: Any) -> Any:
            seen.append((x.dtype, rushlight.is_autocast_enabled("cpu")))
            ctx.save_for_backward(x, w)
            return x @ w

        @staticmethod
        @custom_bwd(device_type="cpu")
        def backward(ctx: Any, g: Any) -> Any:
            seen.append((g.dtype, rushlight.is_autocast_enabled("cpu")))
            x, w = ctx.saved_tensors
            return g @ w.T.to(g.dtype), x.T.to(g.dtype) @ g

    return Product


@pytest.mark.parametrize(
    ("cast_inputs", "on", "seen"),
    [
        (None, True, [(float32, True), (bfloat16, True)]), (None, False, [(float32, False), (float32, False)]),
        (float32, True, [(float32, False), (float32, False)]), (float16, True, [(float16, False), (float16, False)]),
        (float16, False, [(float32, False), (float32, False)]),
    ],
)  # fmt: skip
def test_custom_functions(cast_inputs: Any, on: bool, seen: list[Any]) -> None:
    noted: list[Any] = []
    weight = rushlight.ones(2, 2, requires_grad=True)
    with autocast("cpu", enabled=on):
        result = make_function(noted, cast_inputs).apply(rushlight.ones(3, 2), weight)
    result.sum().backward()
    assert noted == seen and weight.grad.dtype is float32


# -- scaled losses -----------------------------------------------------------------------------------------------


def test_the_scaler_against_pytorch() -> None:
    assert json.loads(json.dumps(scaler_story(rushlight))) == DATA["scaler"]


def prepared(**options: Any) -> tuple[Any, Any, Any]:
    weight = rushlight.ones(2, requires_grad=True)
    return GradScaler("cpu", **options), weight, rushlight.optim.SGD([weight], lr=0.1)


def test_the_order_of_calls_is_checked() -> None:
    scaler, weight, optimizer = prepared()
    for call in (lambda: scaler.step(optimizer), lambda: scaler.unscale_(optimizer), scaler.update):
        with pytest.raises(AssertionError, match="_scale is None"):
            call()
    scaler.scale(weight.sum())
    with pytest.raises(AssertionError, match="No inf checks were recorded for this optimizer"):
        scaler.step(optimizer)
    with pytest.raises(AssertionError, match="prior to update"):
        scaler.update()
    scaler, weight, optimizer = prepared(init_scale=4.0)
    scaler.scale(weight.sum()).backward()
    scaler.unscale_(optimizer)
    assert weight.grad.tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="already been called on this optimizer"):
        scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="Closure"):
        scaler.step(optimizer, closure=lambda: 1)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="already been called since"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="after step"):
        scaler.unscale_(optimizer)
    scaler.update(2.0)
    assert scaler.get_scale() == 2.0
    scaler.update(rushlight.tensor(3.0))
    assert scaler.get_scale() == 3.0
    with pytest.raises(AssertionError, match="1-element"):
        scaler.update(rushlight.ones(2))


def test_settings_of_the_scaler() -> None:
    scaler, _, _ = prepared()
    scaler.set_growth_factor(3.0)
    scaler.set_backoff_factor(0.25)
    scaler.set_growth_interval(7)
    assert (scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval()) == (3.0, 0.25, 7)
    other = GradScaler("cpu", init_scale=1.0)
    other.scale(rushlight.ones(1))
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict() == pickle.loads(pickle.dumps(other)).state_dict()
    with pytest.raises(RuntimeError, match="empty"):
        scaler.load_state_dict({})
    with pytest.raises(AssertionError, match="growth factor"):
        GradScaler("cpu", growth_factor=1.0)
    with pytest.raises(AssertionError, match="backoff factor"):
        GradScaler("cpu", backoff_factor=1.0)
    with pytest.raises(ValueError, match="Tensor or an iterable"):
        scaler.scale(3)
    assert [each.tolist() for each in scaler.scale([rushlight.ones(1), rushlight.zeros(1)])] == [[65536.0], [0.0]]
    half = rushlight.ones(2, dtype=float16, requires_grad=True)
    scaler.scale(half.sum()).backward()
    with pytest.raises(ValueError, match="FP16"):
        scaler.unscale_(rushlight.optim.SGD([half], lr=0.1))


def test_a_scaler_that_is_off() -> None:
    with pytest.warns(UserWarning, match="CUDA is not available"):
        assert not GradScaler().is_enabled()
    scaler, weight, optimizer = prepared(enabled=False)
    assert scaler.get_scale() == 1.0 and scaler.state_dict() == {} and scaler.scale(weight) is weight
    weight.sum().backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert weight.tolist() == pytest.approx([0.9, 0.9])


@pytest.mark.parametrize("cached", [False, True])
def test_a_trace_under_autocast_has_its_casts(cached):
    model = rushlight.nn.Linear(3, 2)
    x = rushlight.randn(4, 3)
    with rushlight.autocast("cpu"):
        if cached:
            model(x)  # keeps a cast of the weight, which is no constant of the trace
        traced = rushlight.jit.trace(model, x)
        expected = model(x)
    result = traced(x)
    assert result.dtype == expected.dtype == rushlight.bfloat16 and rushlight.equal(result, expected)
    with rushlight.no_grad():
        traced.weight.zero_()
        traced.bias.zero_()
    assert not traced(x).any()


@rushlight.jit.script
def chosen(x, weight):
    if bool(x.sum() > 0):
        y = x @ weight
    else:
        y = x @ weight + 1
    for _ in range(2):
        y = y @ weight
    return y


@pytest.mark.parametrize("inside", [False, True])
def test_branches_and_loops_of_a_trace_have_the_casts_around_them(inside):
    def program(x, weight):
        if inside:
            with rushlight.autocast("cpu"):
                return weight.t() @ chosen(x, weight)
        return weight.t() @ chosen(x, weight)

    x, weight = rushlight.randn(2, 2).abs(), rushlight.randn(2, 2)
    with rushlight.autocast("cpu"):
        traced = rushlight.jit.trace(program, (x, weight))
        expected = program(x, weight), program(-x, weight)
    assert expected[0].dtype == rushlight.bfloat16
    assert rushlight.equal(traced(x, weight), expected[0]) and rushlight.equal(traced(-x, weight), expected[1])
