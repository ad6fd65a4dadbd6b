"""Schedules of learning rates: against PyTorch's, and what they keep and warn about."""

from __future__ import annotations

import json
import pathlib
import warnings

import numpy as np
import pytest
from scheduler_programs import CASES, COMPOSED, PLATEAU, SIMPLE, scheduled_rates

import rushlight as torch
from rushlight.optim import lr_scheduler as L
from rushlight.optim import swa_utils as S

with np.load(pathlib.Path(__file__).parent / "data" / "lr_scheduler.npz") as data:
    ROWS, RECORDED = data["rows"], [tuple(case) for case in json.loads(bytes(data["cases"]))]


def test_the_record_is_of_these_schedules():
    assert RECORDED == CASES


@pytest.mark.parametrize("number", range(len(CASES)), ids=[" ".join(case) for case in CASES])
def test_rates_are_those_of_pytorch(number):
    np.testing.assert_allclose(scheduled_rates(CASES[number], torch), ROWS[number], rtol=1e-12, atol=1e-15)


def optimizer(**options):
    groups = [{"params": [torch.zeros(2, requires_grad=True)], "lr": lr} for lr in (1.0, 0.5)]
    return torch.optim.SGD(groups, **{"momentum": 0.9, **options})


def build(text, opt):
    return eval(text, {"L": L, "S": S, "opt": opt})


def go(scheduler, steps):
    found = []
    for step in steps:
        scheduler.optimizer.step()
        scheduler.step(abs(step % 7 - 3)) if isinstance(scheduler, L.ReduceLROnPlateau) else scheduler.step()
        found.append([*scheduler.get_last_lr(), *(group["momentum"] for group in scheduler.optimizer.param_groups)])
    return found


@pytest.mark.parametrize("text", SIMPLE + COMPOSED + PLATEAU)
def test_a_schedule_goes_on_from_its_state(text):
    scheduler = build(text, optimizer())
    go(scheduler, range(6))
    state, of_optimizer = scheduler.state_dict(), scheduler.optimizer.state_dict()
    assert "optimizer" not in state
    opt = optimizer()
    other = build(text, opt)
    opt.load_state_dict(of_optimizer)
    other.load_state_dict(state)
    assert go(scheduler, range(6, 16)) == go(other, range(6, 16))


def test_functions_that_are_objects_keep_their_fields():
    class Decay:
        def __init__(self, rate):
            self.rate = rate

        def __call__(self, epoch):
            return self.rate**epoch

    scheduler = L.LambdaLR(optimizer(), [Decay(0.5), lambda epoch: 1])
    state = scheduler.state_dict()
    assert state["lr_lambdas"] == [{"rate": 0.5}, None]
    other = L.LambdaLR(optimizer(), [Decay(0.1), lambda epoch: 1])
    other.load_state_dict(state)
    assert other.lr_lambdas[0].rate == 0.5
    cyclic = L.CyclicLR(optimizer(), 0.1, 1.0, scale_fn=Decay(0.5))
    assert cyclic.state_dict()["_scale_fn_custom"] == {"rate": 0.5}


def test_a_failing_load_changes_nothing():
    for text in (SIMPLE[0], COMPOSED[0]):
        scheduler = build(text, optimizer())
        before = scheduler.state_dict()
        with pytest.raises(KeyError):
            scheduler.load_state_dict({"last_epoch": 99})
        assert scheduler.state_dict() == before


def test_a_rate_that_is_a_tensor_keeps_its_identity():
    lr = torch.tensor(0.5)
    opt = torch.optim.SGD([torch.zeros(2, requires_grad=True)], lr=lr)
    scheduler = L.StepLR(opt, 1, 0.5)
    opt.step()
    scheduler.step()
    assert opt.param_groups[0]["lr"] is lr
    assert lr.item() == 0.25
    assert scheduler.get_last_lr()[0] is not lr
    assert scheduler.base_lrs[0].item() == opt.param_groups[0]["initial_lr"].item() == 0.5


def test_warnings():
    with pytest.warns(UserWarning, match=r"Detected call of `lr_scheduler.step\(\)` before `optimizer.step\(\)`"):
        L.ExponentialLR(optimizer(), 0.9).step()
    opt = optimizer()
    scheduler = L.ExponentialLR(opt, 0.9)
    opt.step = lambda: None
    with pytest.warns(UserWarning, match="has been overridden after learning rate scheduler initialization"):
        scheduler.step()
    scheduler = L.ExponentialLR(optimizer(), 0.9)
    with pytest.warns(UserWarning, match=r"please use `get_last_lr\(\)`"):
        scheduler.get_lr()
    scheduler.optimizer.step()
    with pytest.warns(UserWarning, match="The epoch parameter in `scheduler.step"):
        scheduler.step(5)
    assert scheduler.get_last_lr() == pytest.approx([0.9**5, 0.5 * 0.9**5])


def test_the_right_order_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in SIMPLE + COMPOSED + PLATEAU:
            if "[L.ChainedScheduler" in text:  # made to step again inside SequentialLR: PyTorch warns, too
                continue
            go(build(text, optimizer()), range(3))


def test_two_schedules_share_the_watch_on_steps():
    opt = optimizer()
    first, second = L.StepLR(opt, 1, 0.5), L.StepLR(opt, 2, 0.5)
    opt.step()
    first.step()
    second.step()
    assert opt.param_groups[0]["lr"] == 0.5


BAD = [
    ("L.StepLR(3, 3)", TypeError, "int is not an Optimizer"),
    ("L.StepLR(opt, 3, last_epoch=2)", KeyError, "param 'initial_lr' is not specified in param_groups"),
    ("L.LRScheduler(opt)", NotImplementedError, "get_lr"),
    ("L.LambdaLR(opt, [lambda e: 1])", ValueError, "Expected 2 lr_lambdas, but got 1"),
    ("L.ConstantLR(opt, 2.0)", ValueError, "Constant multiplicative factor expected to be between 0 and 1"),
    ("L.LinearLR(opt, 0.0)", ValueError, "Starting multiplicative factor expected to be greater than 0"),
    ("L.LinearLR(opt, 0.5, 3.0)", ValueError, "Ending multiplicative factor expected to be between 0 and 1"),
    ("L.ReduceLROnPlateau(opt, factor=1.0)", ValueError, "Factor should be < 1.0"),
    ("L.ReduceLROnPlateau(opt, mode='x')", ValueError, "mode x is unknown"),
    ("L.ReduceLROnPlateau(opt, threshold_mode='x')", ValueError, "threshold mode x is unknown"),
    ("L.ReduceLROnPlateau(opt, min_lr=[1, 2, 3])", ValueError, "expected 2 min_lrs, got 3"),
    ("L.CyclicLR(opt, 0.1, 1.0, mode='x')", ValueError, "mode is invalid and scale_fn is None"),
    ("L.CyclicLR(opt, [0.1], 1.0)", ValueError, "base_lr must have the same length"),
    ("L.CosineAnnealingWarmRestarts(opt, 0)", ValueError, "Expected positive integer T_0, but got 0"),
    ("L.CosineAnnealingWarmRestarts(opt, 3, T_mult=1.5)", ValueError, "Expected integer T_mult >= 1, but got 1.5"),
    ("L.CosineAnnealingWarmRestarts(opt, 3).step(-1)", ValueError, "Expected non-negative epoch, but got -1"),
    ("L.OneCycleLR(opt, 1.0)", ValueError, "You must define either total_steps OR"),
    ("L.OneCycleLR(opt, 1.0, total_steps=0)", ValueError, "Expected positive integer total_steps, but got 0"),
    ("L.OneCycleLR(opt, 1.0, 10, pct_start=2.0)", ValueError, "Expected float between 0 and 1 pct_start, but got 2.0"),
    ("L.OneCycleLR(opt, 1.0, 10, anneal_strategy='x')", ValueError, "anneal_strategy must be one of 'cos' or 'linear'"),
    (
        "[L.OneCycleLR(opt, 1.0, 3).step() for _ in range(1)] and go(L.OneCycleLR(opt, 1.0, 3), range(5))",
        ValueError,
        "Tried to step",
    ),
    ("L.SequentialLR(opt, [], [])", ValueError, "expects at least one scheduler"),
    ("L.SequentialLR(opt, [L.ConstantLR(opt)], [1])", ValueError, "one more than the number of milestone points"),
    ("L.SequentialLR(opt, [L.ConstantLR(opt), 3], [1])", TypeError, "should have `optimizer` as its attribute"),
    ("L.SequentialLR(opt, [L.ReduceLROnPlateau(opt)], [])", ValueError, "does not support `ReduceLROnPlateau`"),
    ("L.ChainedScheduler([])", ValueError, "expects at least one scheduler to be chained"),
    ("L.ChainedScheduler([L.ConstantLR(opt), L.ConstantLR(make())])", ValueError, "belong to the same optimizer"),
    ("S.SWALR(opt, 0.1, anneal_strategy='x')", ValueError, "anneal_strategy must be one of"),
    ("S.SWALR(opt, 0.1, anneal_epochs=-1)", ValueError, "anneal_epochs must be equal or greater than 0, got -1"),
    ("S.SWALR(opt, [0.1])", ValueError, "swa_lr must have the same length"),
]


@pytest.mark.parametrize(("text", "error", "message"), BAD, ids=[text for text, _, _ in BAD])
@pytest.mark.filterwarnings("ignore:Detected call")
def test_bad_arguments(text, error, message):
    with pytest.raises(error, match=message):
        eval(text, {"L": L, "S": S, "opt": optimizer(), "make": optimizer, "go": go})


def test_cycled_momentum():
    opt = torch.optim.Adam([torch.zeros(2, requires_grad=True)], lr=0.1)
    scheduler = L.OneCycleLR(opt, 1.0, 10)
    assert opt.param_groups[0]["betas"] == (0.95, 0.999)
    opt.step()
    scheduler.step()
    assert opt.param_groups[0]["betas"][0] < 0.95
    with pytest.raises(ValueError, match="must support momentum or beta1"):
        L.CyclicLR(torch.optim.Adadelta([torch.zeros(2, requires_grad=True)]), 0.1, 1.0)


def test_a_plateau_and_a_group_that_came_later():
    opt = optimizer()
    scheduler = L.ReduceLROnPlateau(opt, patience=0, factor=0.5)
    opt.add_param_group({"params": torch.zeros(1, requires_grad=True), "lr": 8.0})
    scheduler.step(1.0)
    scheduler.step(torch.tensor(2.0))
    assert scheduler.get_last_lr() == [0.5, 0.25, 4.0]
    assert isinstance(scheduler, L.LRScheduler)
    strict = L.ReduceLROnPlateau(opt, patience=0, min_lr=[0.1, 0.1, 0.1])
    opt.add_param_group({"params": torch.zeros(1, requires_grad=True), "lr": 8.0})
    strict.step(1.0)
    with pytest.raises(RuntimeError, match="differs from when `ReduceLROnPlateau` was initialized"):
        strict.step(2.0)


# -- averages ----------------------------------------------------------------------------------------------------


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        self.register_buffer("scale", torch.tensor([4.0]))
        self.register_buffer("count", torch.tensor(3))

    def forward(self, x):
        return x * self.weight


AVERAGES = [
    ({}, [3.5, 4.5], 64.0, 15),
    (dict(use_buffers=True), [3.5, 4.5], 30.0, 9),
    (dict(multi_avg_fn=S.get_swa_multi_avg_fn()), [3.5, 4.5], 64.0, 15),
    (dict(multi_avg_fn=S.get_ema_multi_avg_fn(0.9), use_buffers=True), [2.561, 3.561], 16.408, 6),
    (dict(avg_fn=S.get_ema_avg_fn(0.9), use_buffers=True), [2.561, 3.561], 16.408, 6),
    (dict(avg_fn=lambda average, value, count: average * 0.5 + value * 0.5), [4.125, 5.125], 64.0, 15),
]


@pytest.mark.parametrize(("options", "weight", "scale", "count"), AVERAGES, ids=range(len(AVERAGES)))
def test_averaged_models(options, weight, scale, count):
    model = Model()
    averaged = S.AveragedModel(model, **options)
    for _ in range(4):
        with torch.no_grad():
            model.weight += 1
            model.scale *= 2
            model.count += 3
        averaged.update_parameters(model)
    assert averaged.n_averaged.item() == 4
    assert averaged.module.weight.tolist() == pytest.approx(weight)
    assert averaged.module.scale.item() == pytest.approx(scale)
    assert averaged.module.count.item() == count
    assert list(averaged.state_dict()) == ["n_averaged", "module.weight", "module.scale", "module.count"]
    assert averaged(torch.ones(2)).tolist() == pytest.approx(weight)


def test_averages_that_are_refused():
    with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn"):
        S.AveragedModel(Model(), avg_fn=len, multi_avg_fn=len)
    with pytest.raises(ValueError, match="Invalid decay value 2.0"):
        S.get_ema_avg_fn(2.0)


def test_update_bn():
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2, momentum=0.3)).eval()
    batches = [torch.arange(12.0).reshape(4, 3) * scale for scale in (1, -2, 3)]
    S.update_bn([(batch, None) for batch in batches], model)
    outputs = [model[0](batch).detach() for batch in batches]
    norm = model[1]
    torch.testing.assert_close(norm.running_mean, torch.stack([each.mean(0) for each in outputs]).mean(0))
    torch.testing.assert_close(norm.running_var, torch.stack([each.var(0) for each in outputs]).mean(0))
    assert norm.momentum == 0.3
    assert not model.training


def test_a_multiplicative_schedule_takes_functions_alone():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
    for wrong in (3, [3]):
        with pytest.raises(TypeError, match="lr_lambda should be a function, but got int"):
            torch.optim.lr_scheduler.MultiplicativeLR(optimizer, lr_lambda=wrong)


def test_schedules_do_not_follow_tensors_that_they_were_made_with():
    lr, high, momentum = torch.tensor(0.1), torch.tensor(0.2), torch.tensor(0.9)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=lr)
    cyclic = torch.optim.lr_scheduler.CyclicLR(optimizer, base_lr=lr, max_lr=high, base_momentum=torch.tensor(0.8), max_momentum=momentum)
    for each in (lr, high, momentum):
        each.mul_(0.5)
    for _ in range(2):
        optimizer.step()
        cyclic.step()
    (group,) = optimizer.param_groups
    assert float(cyclic.base_lrs[0]) == pytest.approx(0.1) and float(cyclic.max_lrs[0]) == pytest.approx(0.2)
    assert float(group["max_momentum"]) == pytest.approx(0.9)  # the momentum itself has moved
    assert float(group["momentum"]) < 0.9

    swa_lr = torch.tensor(0.05)
    torch.optim.swa_utils.SWALR(optimizer, swa_lr=swa_lr)
    swa_lr.mul_(0.5)
    assert float(group["swa_lr"]) == pytest.approx(0.05)
