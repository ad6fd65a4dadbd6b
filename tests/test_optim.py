"""Optimizers: their steps against PyTorch's, and what the base class promises."""

from __future__ import annotations

import copy
import json
import pathlib
import pickle
import re
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from optim_programs import CASES, shown, trained_parameters

import rushlight as torch
from rushlight.core.state import flags
from rushlight.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook


def recorded():
    """For each case: what PyTorch found, by name."""
    with np.load(pathlib.Path(__file__).parent / "data" / "optim.npz") as data:
        values, steps, notes = data["values"], data["steps"], json.loads(bytes(data["notes"]))
    found, position = [], 0
    for text, entries in notes:
        arrays = {}
        for name, (shape, kind) in entries.items():
            count = int(np.prod(shape)) * (2 if kind.startswith("complex") else 1)
            arrays[name] = values[position : position + count].view(kind).reshape(shape)
            position += count
        found.append((text, arrays))
    return steps, found


STEPS, RECORDED = recorded()
# How far a step may be from PyTorch's, relative and absolute: rounding of the type, through 8 steps.
TOLERANCE = {
    "float64": (1e-6, 1e-9), "complex128": (1e-6, 1e-9), "float32": (1e-5, 2e-6), "complex64": (1e-5, 2e-6),
    "float16": (1e-2, 1e-2), "bfloat16": (5e-2, 5e-2),
}  # fmt: skip


def test_the_record_is_of_these_runs():
    assert [text for text, _ in RECORDED] == [shown(case) for case in CASES]


@pytest.mark.parametrize("number", range(len(CASES)), ids=[shown(case) for case in CASES])
def test_steps_are_those_of_pytorch(number):
    name, options, kind = CASES[number]
    expected = RECORDED[number][1]
    rows, state = trained_parameters(CASES[number], torch)
    rtol, atol = (0.02, 0.02) if name == "Muon" else TOLERANCE[kind]
    np.testing.assert_allclose(np.stack([rows[step] for step in STEPS]), expected["rows"], rtol, atol)
    assert set(state) == set(expected) - {"rows"}
    if name == "LBFGS":
        atol = 1e-6  # what is left of a gradient near the minimum
    for key, value in state.items():
        np.testing.assert_allclose(value, expected[key], rtol, atol, err_msg=key)


# -- the two roads of a step -------------------------------------------------------------------------------------

ELEMENTWISE = [number for number, case in enumerate(CASES) if case[0] not in ("Adafactor", "LBFGS", "Muon")]
PRECISE = [number for number in ELEMENTWISE if CASES[number][2] in ("float64", "complex128")]
NAMES = sorted({CASES[number][0] for number in ELEMENTWISE})


@pytest.fixture
def through_ops():
    """Steps go through ops, as they do when something special is on."""
    flags.enter()
    yield
    flags.leave()


@pytest.mark.parametrize("number", PRECISE, ids=[shown(CASES[number]) for number in PRECISE])
def test_steps_through_ops_are_the_same(number, through_ops):
    rows, state = trained_parameters(CASES[number], torch)
    np.testing.assert_allclose(np.stack([rows[step] for step in STEPS]), RECORDED[number][1]["rows"], 1e-6, 1e-9)
    for key, value in state.items():
        np.testing.assert_allclose(value, RECORDED[number][1][key], 1e-6, 1e-9, err_msg=key)


DIFFERENTIABLE = [
    *((name, {}) for name in NAMES),
    ("SGD", dict(momentum=0.9, nesterov=True, weight_decay=0.1)),
    ("SGD", dict(momentum=0.9, dampening=0.2, maximize=True)),
    ("AdamW", dict(amsgrad=True, weight_decay=0.1)),
    ("RMSprop", dict(momentum=0.9, centered=True)),
    ("ASGD", dict(t0=1)),
]


def steps_of(name, options):
    """Three steps as a function of what the parameter starts from, and of the rate."""

    def function(start, *lr):
        param = start.clone()
        optimizer = getattr(torch.optim, name)([param], *lr, differentiable=True, **options)
        for step in range(3):
            param.grad = start * start * (step + 1) + param.clone().sin()
            optimizer.step()
        return param

    return function


@pytest.mark.parametrize(("name", "options"), DIFFERENTIABLE, ids=str)
def test_differentiable_steps(name, options):
    start = torch.tensor([1.0, 2.0, -0.7], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(steps_of(name, options), (start,))
    lr = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
    if name in ("ASGD", "Rprop"):  # the rate is kept in the state
        with pytest.raises(NotImplementedError, match="with respect to lr"):
            steps_of(name, options)(start, lr)
    else:
        assert torch.autograd.gradcheck(steps_of(name, options), (start, lr))


def test_a_differentiable_step_on_a_leaf_is_refused():
    param = parameter()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        torch.optim.SGD([param], differentiable=True).step()


def parameter(values=(1.0, 2.0), grad=(0.1, -0.2)):
    param = torch.tensor(values, requires_grad=True)
    param.grad = torch.tensor(grad)
    return param


# -- layouts and sizes -------------------------------------------------------------------------------------------


def noise(shape, kind="float32"):
    values = np.random.default_rng(sum(shape)).standard_normal(shape)
    return torch.tensor(values + 1j * values[::-1] if kind.startswith("complex") else values).to(getattr(torch, kind))


def laid_out(shape, layout, kind="float32"):
    tensor = noise(shape, kind)
    if layout == "transposed":
        return tensor.T.contiguous().T
    return torch.stack([tensor, tensor], -1)[..., 0] if layout == "strided" else tensor


@pytest.mark.parametrize("kind", ["float32", "complex64", "bfloat16"])
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "strided"])
@pytest.mark.parametrize("shape", [(300, 400), (1, 90000), (7, 5)])
@pytest.mark.parametrize(("name", "options"), [("Adam", {"amsgrad": True}), ("SGD", {"momentum": 0.9, "maximize": True})])
def test_layouts_and_blocks(name, options, shape, layout, kind):
    def stepped(param, grad):
        param = param.requires_grad_()
        optimizer = getattr(torch.optim, name)([param], lr=0.1, **options)
        for _ in range(2):
            param.grad = grad
            optimizer.step()
        return param.detach()

    grad = noise(shape[::-1], kind).T
    found = stepped(laid_out(shape, layout, kind), grad)
    wide = torch.complex128 if kind.startswith("complex") else torch.float64
    expected = stepped(noise(shape, kind).to(wide), grad.to(wide))
    tolerance = 0.03 if kind == "bfloat16" else 1e-5
    assert found.dtype == getattr(torch, kind)
    torch.testing.assert_close(found.to(wide), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_a_step_copies_no_large_parameter(name):
    param = torch.zeros(1 << 21, requires_grad=True)
    param.grad = torch.ones(1 << 21)
    optimizer = getattr(torch.optim, name)([param])
    optimizer.step()
    tracemalloc.start()
    optimizer.step()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < param.nbytes / 2


def test_empty_and_single_elements():
    params = [torch.zeros(0, requires_grad=True), torch.tensor(2.0, requires_grad=True)]
    optimizer = torch.optim.Adam(params, lr=0.5)
    for param in params:
        param.grad = torch.ones_like(param)
    optimizer.step()
    assert params[0].shape == (0,)
    assert params[1].item() == pytest.approx(1.5)


def test_a_step_counts_as_a_write():
    param = parameter()
    loss = (param * param).sum()
    torch.optim.SGD([param], lr=0.1).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_integers_are_refused():
    param = torch.tensor([1, 2])
    param.grad = torch.tensor([1, 1])
    with pytest.raises(RuntimeError, match="floating-point or complex type"):
        torch.optim.SGD([param], lr=0.1).step()


# -- options and their errors ------------------------------------------------------------------------------------

BAD_OPTIONS = [
    ("SGD", dict(lr=-1), "Invalid learning rate: -1"),
    ("SGD", dict(momentum=-1), "Invalid momentum value: -1"),
    ("SGD", dict(weight_decay=-1), "Invalid weight_decay value: -1"),
    ("SGD", dict(nesterov=True), "Nesterov momentum requires a momentum and zero dampening"),
    ("SGD", dict(lr=[0.1, 0.2]), "Tensor lr must be 1-element"),
    ("Adam", dict(eps=-1.0), "Invalid epsilon value: -1.0"),
    ("Adam", dict(betas=(-1, 0.5)), "Invalid beta parameter at index 0: -1"),
    ("AdamW", dict(betas=(0.5, 1.0)), "Invalid beta parameter at index 1: 1.0"),
    ("NAdam", dict(momentum_decay=-1), "Invalid momentum_decay value: -1"),
    ("RAdam", dict(lr=float("nan")), "Invalid learning rate: nan"),
    ("Adamax", dict(weight_decay=-1), "Invalid weight_decay value: -1"),
    ("Adagrad", dict(lr_decay=-1), "Invalid lr_decay value: -1"),
    ("Adagrad", dict(initial_accumulator_value=-1), "Invalid initial_accumulator_value value: -1"),
    ("Adadelta", dict(rho=2), "Invalid rho value: 2"),
    ("RMSprop", dict(alpha=-1), "Invalid alpha value: -1"),
    ("Rprop", dict(etas=(2, 3)), "Invalid eta values: 2, 3"),
    ("ASGD", dict(weight_decay=-1), "Invalid weight_decay value: -1"),
    ("Adafactor", dict(d=0.5), "Clipping threshold d should be >= 1 but is: 0.5"),
    ("Adafactor", dict(eps=(None, -1)), "epsilon2 should be >= 0 but is: -1"),
    ("Muon", dict(), "Muon only supports 2D parameters"),
    ("Muon", dict(adjust_lr_fn="x"), "Adjust learning rate function x is not supported"),
    ("LBFGS", dict(lr=-1), "Invalid learning rate: -1"),
]


@pytest.mark.parametrize(("name", "options", "message"), BAD_OPTIONS, ids=str)
def test_bad_options(name, options, message):
    if isinstance(options.get("lr"), list):
        options = {"lr": torch.tensor(options["lr"])}
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        getattr(torch.optim, name)([parameter()], **options)


def test_options_that_do_not_go_together():
    with pytest.raises(RuntimeError, match="cannot be `True` together"):
        torch.optim.Adam([parameter()], foreach=True, fused=True)
    with pytest.raises(RuntimeError, match="`fused` does not support `differentiable`"):
        torch.optim.SGD([parameter()], fused=True, differentiable=True)
    with pytest.raises(ValueError, match="capturable=False and foreach=True"):
        torch.optim.Adam([parameter()], lr=torch.tensor(0.1), foreach=True)
    with pytest.raises(ValueError, match="either both floats or both Tensors"):
        torch.optim.Adam([parameter()], betas=(0.9, torch.tensor(0.9)))
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients, please consider Adam instead"):
        stepped = parameter()
        stepped.grad = torch.ones_like(stepped)
        torch.optim.SparseAdam([stepped]).step()
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        torch.optim.SGD([parameter()], foo=1)


def bad_groups():
    param = parameter()
    yield [], ValueError, "optimizer got an empty parameter list"
    yield param, TypeError, "should be an iterable of Tensors or dicts, but got torch.FloatTensor"
    yield ["a"], TypeError, "optimizer can only optimize Tensors, but one of the params is str"
    yield [param * 2], ValueError, "can't optimize a non-leaf Tensor"
    yield [{"params": [param]}, {"params": [param]}], ValueError, "appear in more than one parameter group"
    yield [{"params": {param}}], TypeError, "ordered collections"
    yield [{"lr": 3}], KeyError, "params"
    yield [("a", param), parameter()], ValueError, "Some param names are missing"
    yield [{"params": [("a", param)]}, {"params": [parameter()]}], ValueError, "cannot add param group without names"


@pytest.mark.parametrize(("params", "error", "message"), list(bad_groups()), ids=range(9))
def test_bad_parameters(params, error, message):
    with pytest.raises(error, match=message):
        torch.optim.SGD(params, lr=0.1)


def test_groups():
    first, second, third = parameter(), parameter(), parameter()
    optimizer = torch.optim.SGD([{"params": first}, {"params": [second], "lr": 1.0}], lr=0.5)
    optimizer.add_param_group({"params": (each for each in [third]), "lr": 2.0})
    optimizer.step()
    assert [each.tolist() for each in (first, second, third)] == [
        pytest.approx([0.95, 2.1]), pytest.approx([0.9, 2.2]), pytest.approx([0.8, 2.4]),
    ]  # fmt: skip
    with pytest.raises(TypeError, match="param_group must be a dict"):
        optimizer.add_param_group(3)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        torch.optim.SGD([first, first], lr=0.5)
    named = torch.optim.SGD([("w", first)], lr=0.5)
    assert named.state_dict()["param_groups"][0]["param_names"] == ["w"]


def test_required_options():
    required = torch.optim.optimizer.required
    with pytest.raises(ValueError, match="didn't specify a value of required optimization parameter lr"):
        torch.optim.Optimizer([parameter()], {"lr": required})
    assert torch.optim.Optimizer([{"params": parameter(), "lr": 3}], {"lr": required}).param_groups[0]["lr"] == 3
    with pytest.raises(NotImplementedError):
        torch.optim.Optimizer([parameter()], {}).step()


def test_printing():
    optimizer = torch.optim.SGD([{"params": parameter()}, {"params": parameter(), "lr": 2}], lr=0.1)
    options = "    dampening: 0\n    differentiable: False\n    foreach: None\n    fused: None\n    lr: {}\n    maximize: False\n"
    options += "    momentum: 0\n    nesterov: False\n    weight_decay: 0\n"
    groups = [f"Parameter Group {number}\n{options.format(lr)}" for number, lr in enumerate((0.1, 2))]
    assert repr(optimizer) == "SGD (\n" + "\n".join(groups) + ")"


# -- gradients and closures --------------------------------------------------------------------------------------


def test_zero_grad():
    param = parameter()
    grad, optimizer = param.grad, torch.optim.SGD([param])
    optimizer.zero_grad(set_to_none=False)
    assert param.grad is grad
    assert grad.tolist() == [0, 0]
    optimizer.zero_grad()
    assert param.grad is None
    param.grad = torch.ones(2, requires_grad=True) * 2
    optimizer.zero_grad(set_to_none=False)
    assert param.grad.grad_fn is None


@pytest.mark.parametrize("name", [*NAMES, "Adafactor"])
def test_a_closure_is_recorded(name):
    param = parameter()
    optimizer = getattr(torch.optim, name)([param])

    def closure():
        optimizer.zero_grad()
        loss = (param * param).sum()
        loss.backward()
        return loss

    with torch.no_grad():
        assert optimizer.step(closure).item() == 5
        assert not torch.is_grad_enabled()
    assert param.grad.tolist() == [2, 4]
    assert param.requires_grad
    assert param.is_leaf


def test_a_parameter_without_gradient_stays():
    params = [parameter(), torch.ones(2, requires_grad=True)]
    optimizer = torch.optim.Adam(params, lr=0.1)
    optimizer.step()
    assert params[1].tolist() == [1, 1]
    assert list(optimizer.state) == [params[0]]


def test_lbfgs_finds_a_minimum():
    param = torch.tensor([-1.2, 1.0], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([param], max_iter=100, tolerance_change=0, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = (1 - param[0]) ** 2 + 100 * (param[1] - param[0] ** 2) ** 2
        loss.backward()
        return loss

    optimizer.step(closure)
    assert param.tolist() == pytest.approx([1, 1], abs=1e-6)
    with pytest.raises(ValueError, match="doesn't support per-parameter options"):
        torch.optim.LBFGS([{"params": param}, {"params": parameter()}])
    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        torch.optim.LBFGS([param], line_search_fn="x").step(closure)


# -- state on disk -----------------------------------------------------------------------------------------------


def train(optimizer, params, steps):
    for step in steps:
        for number, param in enumerate(params):
            param.grad = (param * 0.5 + step % 3 - number).detach()
        optimizer.step()


@pytest.mark.parametrize("name", [*NAMES, "Adafactor", "Muon"])
def test_training_goes_on_from_a_state_dict(name):
    shape = (2, 3)
    params = [torch.ones(shape, requires_grad=True), torch.zeros(shape, requires_grad=True)]
    options = {"SGD": {"momentum": 0.9}, "Adam": {"amsgrad": True}}.get(name, {})
    make_one = getattr(torch.optim, name)
    optimizer = make_one(params, lr=0.05, **options)
    train(optimizer, params, range(4))
    copies = [param.detach().clone().requires_grad_() for param in params]
    other = make_one(copies, lr=0.9)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    train(optimizer, params, range(4, 8))
    train(other, copies, range(4, 8))
    for param, copied in zip(params, copies):
        assert torch.equal(param, copied)
    assert other.param_groups[0]["lr"] == 0.05


def test_a_loaded_state_takes_the_type_of_its_parameter():
    param = parameter()
    optimizer = torch.optim.Adam([param])
    optimizer.step()
    saved = optimizer.state_dict()
    wide = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    other = torch.optim.Adam([wide])
    other.load_state_dict(saved)
    assert {key: value.dtype for key, value in other.state[wide].items()} == {
        "step": torch.float32, "exp_avg": torch.float64, "exp_avg_sq": torch.float64,
    }  # fmt: skip
    saved["state"][0]["step"] = 5  # files of long ago
    other.load_state_dict(saved)
    assert other.state[wide]["step"].item() == 5


def test_a_failing_load_changes_nothing():
    params = [parameter(), parameter()]
    optimizer = torch.optim.SGD(params, lr=0.1, momentum=0.9)
    optimizer.step()
    state, groups = optimizer.state, optimizer.param_groups
    three = torch.optim.SGD([parameter() for _ in range(3)], lr=7.0, momentum=0.5)
    three.step()
    for bad, error in (
        (three.state_dict(), ValueError),
        ({"state": {}, "param_groups": []}, ValueError),
        ({"param_groups": optimizer.state_dict()["param_groups"]}, KeyError),
        ({**optimizer.state_dict(), "state": {0: {"momentum_buffer": [1, Stubborn()]}, 1: 3}}, ArithmeticError),
    ):
        with pytest.raises(error):
            optimizer.load_state_dict(bad)
        assert optimizer.state is state
        assert optimizer.param_groups is groups
        assert groups[0]["lr"] == 0.1


class Stubborn:
    def __iter__(self):
        raise ArithmeticError("cannot be read")


def test_a_state_of_another_shape_is_named_in_the_error():
    param = parameter()
    optimizer = torch.optim.SGD([param], lr=0.1, momentum=0.9)
    optimizer.step()
    optimizer.state[param]["momentum_buffer"] = torch.ones(7)
    with pytest.raises(RuntimeError, match=r"parameter's shape \(2,\).*momentum_buffer of \(7,\)"):
        optimizer.step()


def test_copies_and_pickles():
    param = parameter()
    optimizer = torch.optim.Adam([param], lr=0.1)
    optimizer.register_step_pre_hook(lambda *_: None)
    optimizer.step()
    for other in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        copied = other.param_groups[0]["params"][0]
        copied.grad = param.grad.clone()
        other.step()
        assert other.state[copied]["step"].item() == 2
    assert optimizer.state[param]["step"].item() == 1


def test_the_step_is_counted_in_the_default_type():
    torch.set_default_dtype(torch.float64)
    try:
        param = parameter()
        optimizer = torch.optim.Adam([param])
        optimizer.step()
    finally:
        torch.set_default_dtype(torch.float32)
    assert optimizer.state[param]["step"].dtype == torch.float64


def test_swapped_in_parameters_and_state():
    param, other = parameter(), parameter()
    optimizer = torch.optim.Adam([param], lr=0.1)
    optimizer.step()
    before, saved = param.tolist(), copy.deepcopy(optimizer.state_dict())
    with torch.optim.swap_in_optimizer_params_and_state(optimizer, {"x": other}, saved):
        optimizer.step()
    assert param.tolist() == before
    assert other.tolist() != [1, 2]
    assert saved["state"][0]["step"].item() == 2
    assert optimizer.state[param]["step"].item() == 1
    swapped = torch.optim.swap_in_optimizer_params_and_state(optimizer, {}, saved)
    with pytest.raises(RuntimeError, match="match optimizer.param_groups ordering"), swapped:
        pass


# -- hooks -------------------------------------------------------------------------------------------------------


def test_step_hooks():
    optimizer, log = torch.optim.SGD([parameter()], lr=0.1), []

    def note(text):
        return lambda self, args, kwargs: log.append((text, args[0] is self is optimizer, args[1:], kwargs))

    handles = [
        optimizer.register_step_pre_hook(note("before")),
        optimizer.register_step_post_hook(note("after")),
        register_optimizer_step_pre_hook(note("all before")),
        register_optimizer_step_post_hook(note("all after")),
    ]

    def closure():
        return 3.0

    assert optimizer.step(closure=closure) == 3.0
    texts = ["all before", "before", "after", "all after"]
    assert log == [(text, True, (), {"closure": closure}) for text in texts]
    for handle in handles:
        handle.remove()
    optimizer.step()
    assert len(log) == 4
    with optimizer.register_step_pre_hook(lambda self, args, kwargs: ((self, lambda: 17.0), {})):
        assert optimizer.step() == 17.0
    optimizer.register_step_pre_hook(lambda *_: 3)
    with pytest.raises(RuntimeError, match="must return None or a tuple of"):
        optimizer.step()


def test_state_dict_hooks():
    optimizer, log = torch.optim.SGD([parameter()], lr=0.1), []
    optimizer.register_state_dict_pre_hook(lambda self: log.append("second"))
    optimizer.register_state_dict_pre_hook(lambda self: log.append("first"), prepend=True)
    optimizer.register_state_dict_post_hook(lambda self, state: {**state, "more": 1})
    saved = optimizer.state_dict()
    assert log == ["first", "second"]
    assert saved["more"] == 1
    optimizer.register_load_state_dict_pre_hook(lambda self, state: {**state, "param_groups": [{**state["param_groups"][0], "lr": 9}]})
    optimizer.register_load_state_dict_post_hook(lambda self: log.append(self.param_groups[0]["lr"]))
    optimizer.load_state_dict(saved)
    assert log[-1] == 9
    assert saved["param_groups"][0]["lr"] == 0.1


def test_a_subclass_of_the_base_class():
    class Halve(torch.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"factor": 0.5})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for param in group["params"]:
                    param.mul_(group["factor"])

    param, log = parameter(), []
    optimizer = Halve([param])
    optimizer.register_step_post_hook(lambda *_: log.append(param.tolist()))
    optimizer.step()
    assert log == [[0.5, 1.0]]


def test_the_modules_dictionary_has_all_optimizers() -> None:
    """Libraries look for optimizers in ``torch.optim.__dict__``; the files are loaded for it."""
    code = (
        "import rushlight, sys; found = vars(rushlight.optim); assert issubclass(found['Rprop'], found['Optimizer']); rushlight.optim.Adam"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", ["SGD", "Adam", "Adagrad", "RMSprop", "NAdam", "RAdam", "Adamax", "Adadelta"])
def test_a_step_is_differentiated_by_its_weight_decay(name: str) -> None:
    def step(decay: torch.Tensor) -> torch.Tensor:
        param = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True).clone()
        param.grad = torch.tensor([0.3, -0.2], dtype=torch.float64)
        getattr(torch.optim, name)([param], lr=0.1, weight_decay=decay, differentiable=True).step()
        return param

    assert torch.autograd.gradcheck(step, (torch.tensor(0.3, dtype=torch.float64, requires_grad=True),))


def test_warm_restarts_take_the_remainder_of_a_count_that_was_set() -> None:
    schedule = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0), T_0=4)
    for count in (7, 8, 9):
        schedule.T_cur = count
        schedule.step()
        assert schedule.T_cur == (count + 1) % 4


def test_sparse_adam_takes_a_rate_of_any_shape_and_refuses_complex_parameters():
    def stepped(lr):
        table = torch.nn.Parameter(torch.ones(4, 3))
        optimizer = torch.optim.SparseAdam([table], lr=lr)
        torch.nn.functional.embedding(torch.tensor([1, 2]), table, sparse=True).sum().backward()
        optimizer.step()
        return table.detach()

    assert torch.equal(stepped(torch.tensor([[0.1]])), stepped(torch.tensor(0.1)))
    with pytest.raises(ValueError, match=r"Complex params at indices \[\[0, 0\]\]"):
        torch.optim.SparseAdam([torch.nn.Parameter(torch.ones(2, dtype=torch.complex64))])
