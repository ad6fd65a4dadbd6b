"""Schedules whose learning rates are recorded from PyTorch and compared: the same code runs on both libraries."""

from __future__ import annotations

import warnings
from typing import Any

STEPS = 26

# How each schedule is made: `L` is the module of schedules, `S` that of averages, `opt` an SGD with momentum and two groups.
SIMPLE = [
    "L.LambdaLR(opt, lambda epoch: 0.9**epoch)",
    "L.LambdaLR(opt, [lambda epoch: 1 / (1 + epoch), lambda epoch: epoch / 10])",
    "L.MultiplicativeLR(opt, lambda epoch: 0.95 if epoch % 2 else 1.01)",
    "L.StepLR(opt, 3)",
    "L.StepLR(opt, step_size=4, gamma=0.5)",
    "L.MultiStepLR(opt, [3, 7, 7, 15], gamma=0.3)",
    "L.ConstantLR(opt)",
    "L.ConstantLR(opt, factor=0.7, total_iters=9)",
    "L.LinearLR(opt)",
    "L.LinearLR(opt, start_factor=1.0, end_factor=0.2, total_iters=12)",
    "L.LinearLR(opt, 0.1, 0.9, 7)",
    "L.ExponentialLR(opt, 0.93)",
    "L.PolynomialLR(opt)",
    "L.PolynomialLR(opt, total_iters=15, power=2.5)",
    "L.CosineAnnealingLR(opt, 10)",
    "L.CosineAnnealingLR(opt, T_max=7, eta_min=0.05)",
    "L.CosineAnnealingWarmRestarts(opt, 5)",
    "L.CosineAnnealingWarmRestarts(opt, T_0=3, T_mult=2, eta_min=0.01)",
    "L.CyclicLR(opt, 0.01, 0.5, step_size_up=5)",
    "L.CyclicLR(opt, [0.01, 0.02], [0.5, 0.3], step_size_up=4, step_size_down=7, mode='triangular2')",
    "L.CyclicLR(opt, 0.1, 1.0, step_size_up=3, mode='exp_range', gamma=0.9, base_momentum=0.5, max_momentum=0.99)",
    "L.CyclicLR(opt, 0.1, 1.0, step_size_up=3, scale_fn=lambda x: 1 / (x + 1), scale_mode='iterations', cycle_momentum=False)",
    "L.OneCycleLR(opt, 0.7, total_steps=27)",
    "L.OneCycleLR(opt, [0.7, 0.3], epochs=3, steps_per_epoch=9, pct_start=0.4, anneal_strategy='linear', cycle_momentum=False)",
    "S.SWALR(opt, 0.05)",
    "S.SWALR(opt, [0.05, 0.7], anneal_epochs=6, anneal_strategy='linear')",
    "S.SWALR(opt, 0.05, anneal_epochs=0)",
    "L.OneCycleLR(opt, 0.7, total_steps=30, three_phase=True, div_factor=10, final_div_factor=100)",
]
COMPOSED = [
    "L.SequentialLR(opt, [L.ConstantLR(opt, 0.1, 3), L.ExponentialLR(opt, 0.9)], [4])",
    "L.SequentialLR(opt, [L.LinearLR(opt, 0.1, 1.0, 5), L.CosineAnnealingLR(opt, 12, 0.01)], [5])",
    "L.SequentialLR(opt, [L.LinearLR(opt, 0.1, 1.0, 5), L.CosineAnnealingWarmRestarts(opt, 6), L.StepLR(opt, 2, 0.5)], [4, 13])",
    "L.SequentialLR(opt, [L.StepLR(opt, 2, 0.5), L.PolynomialLR(opt, 6, 2.0), L.LambdaLR(opt, lambda e: 0.8**e)], [5, 12])",
    "L.SequentialLR(opt, [L.MultiStepLR(opt, [2, 3], 0.5), L.MultiplicativeLR(opt, lambda e: 0.9), L.ConstantLR(opt)], [6, 14])",
    "L.SequentialLR(opt, [L.ChainedScheduler([L.LinearLR(opt), L.ExponentialLR(opt, 0.9)]), L.ExponentialLR(opt, 0.5)], [7])",
    "L.ChainedScheduler([L.ConstantLR(opt, 0.1, 3), L.ExponentialLR(opt, 0.9)])",
    "L.ChainedScheduler([L.LinearLR(opt), L.CosineAnnealingLR(opt, 9), L.MultiStepLR(opt, [4, 8], 0.5)], optimizer=opt)",
    "L.ChainedScheduler([L.StepLR(opt, 3, 0.5), L.PolynomialLR(opt, 20)])",
]
PLATEAU = [
    "L.ReduceLROnPlateau(opt, patience=2)",
    "L.ReduceLROnPlateau(opt, 'max', factor=0.5, patience=1, cooldown=3)",
    "L.ReduceLROnPlateau(opt, factor=0.3, patience=0, threshold=0.05, threshold_mode='abs', min_lr=[0.01, 0.2])",
    "L.ReduceLROnPlateau(opt, 'max', factor=0.3, patience=1, threshold=0.3, threshold_mode='abs', eps=0.01)",
    "L.ReduceLROnPlateau(opt, factor=0.5, patience=1, threshold=0.2, min_lr=0.1)",
]
# (schedule, how it is stepped)
CASES = (
    [(text, "plain") for text in SIMPLE + COMPOSED]
    + [(text, "epochs") for text in SIMPLE if "OneCycle" not in text]
    + [(text, "resumed") for text in SIMPLE if "Cyc" not in text]
    + [(text, "tensor") for text in SIMPLE if "Cyc" not in text]
    + [(text, "plateau") for text in PLATEAU]
)


def scheduled_rates(case: tuple[str, str], torch: Any) -> list[list[float]]:
    """The rates and momenta of both groups after each step."""
    text, way = case
    rates = [torch.tensor(1.0, dtype=torch.float64), torch.tensor(0.5, dtype=torch.float64)] if way == "tensor" else [1.0, 0.5]
    groups = [{"params": [torch.zeros(2, requires_grad=True)], "lr": lr} for lr in rates]
    opt = torch.optim.SGD(groups, momentum=0.9)
    if way == "resumed":
        for group in opt.param_groups:
            group["initial_lr"] = group["lr"] * 1.5
        text = text[:-1] + ", last_epoch=3)"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scheduler = eval(text, {"L": torch.optim.lr_scheduler, "S": torch.optim.swa_utils, "opt": opt})
        found = [noted(opt, scheduler)]
        for step in range(STEPS):
            opt.step()
            if way == "plateau":
                scheduler.step(1 / (1 + step) + 0.3 * (step % 4) - (step > 15) * 0.2)
            elif way == "epochs":
                scheduler.step((step * 5) % 17)
            else:
                scheduler.step()
            found.append(noted(opt, scheduler))
    return found


def noted(opt: Any, scheduler: Any) -> list[float]:
    return [
        *(float(group["lr"]) for group in opt.param_groups),
        *(float(lr) for lr in scheduler.get_last_lr()),
        float(opt.param_groups[0]["momentum"]),
    ]
