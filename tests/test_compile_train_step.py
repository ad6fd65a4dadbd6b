"""Whole training steps compiled: forward, ``backward``, the optimizer's step and ``zero_grad`` as one graph, with eager's results."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from support.training import training_step
from train_steps import BACKENDS, STEPS, Run, batches, graphs, network

import rushlight as torch
from rushlight import compiler, nn, optim
from rushlight.nn import functional as F

OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "SGD": lambda params: optim.SGD(params, 0.05),
    "SGD with momentum": lambda params: optim.SGD(params, 0.05, 0.9, dampening=0.1, weight_decay=0.01),
    "SGD with nesterov": lambda params: optim.SGD(params, 0.05, 0.9, weight_decay=0.01, nesterov=True),
    "SGD, maximize": lambda params: optim.SGD(params, 0.001, maximize=True),
    "Adam": lambda params: optim.Adam(params, 0.01, weight_decay=0.1),
    "Adam, amsgrad": lambda params: optim.Adam(params, 0.01, amsgrad=True),
    "AdamW": lambda params: optim.AdamW(params, 0.01, weight_decay=0.1),
    "RMSprop": lambda params: optim.RMSprop(params, 0.01, momentum=0.5, centered=True),
    "Adagrad": lambda params: optim.Adagrad(params, 0.05, lr_decay=0.1),
    "Adadelta": lambda params: optim.Adadelta(params, 0.5),
    "Adamax": lambda params: optim.Adamax(params, 0.01),
    "NAdam": lambda params: optim.NAdam(params, 0.01),
    "Rprop": lambda params: optim.Rprop(params, 0.01),
}


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    compiler.reset()
    compiler.counters["aot_fallback"].clear()
    yield
    assert not compiler.counters["aot_fallback"], compiler.counters["aot_fallback"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_is_one_graph(backend: str, name: str) -> None:
    def run(compiled: bool, first: bool) -> Run:
        model = network()
        optimizer = OPTIMIZERS[name](model.parameters())

        def step(x: Any, y: Any) -> Any:
            if first:
                optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            if not first:
                optimizer.zero_grad()
            return loss

        function = torch.compile(step, backend=backend, fullgraph=True) if compiled else step
        losses = [function(x, y).item() for x, y in batches()]
        if compiled:  # a state that is begun is another graph than one that goes on
            assert graphs(function) <= (2 if optimizer.state else 1)
        return Run(losses, model, optimizer)

    for first in (True, False):
        run(True, first).agrees(run(False, first))


Program = Callable[[Any, Any], Callable[[Any, Any], Any]]


def both(make: Program, backend: str, optimizer: Any = None, count: int = 8, fullgraph: bool = True, limit: int = 2) -> Run:
    """Run a program eagerly and compiled; gives the compiled run."""
    runs = []
    for compiled in (False, True):
        model = network()
        chosen = (optimizer or (lambda params: optim.SGD(params, 0.05, 0.9)))(model.parameters())
        step = make(model, chosen)
        function = torch.compile(step, backend=backend, fullgraph=fullgraph) if compiled else step
        losses = []
        for x, y in batches(count):
            loss = function(x, y)
            losses.append(loss if isinstance(loss, float) else loss.item())
        runs.append(Run(losses, model, chosen))
        if compiled and fullgraph:
            assert graphs(function) <= limit, function._compiled.failures
    runs[1].agrees(runs[0])
    return runs[1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_that_stay_and_add_up(backend: str) -> None:
    def program(model: Any, optimizer: Any) -> Any:
        def step(x: Any, y: Any) -> Any:
            for part, wanted in zip(x.chunk(2), y.chunk(2)):
                loss = F.mse_loss(model(part), wanted) / 2
                loss.backward()
            optimizer.step()
            return loss

        return step

    run = both(program, backend, limit=3)  # with and without gradients, with and without a state
    assert all(param.grad is not None for param in run.model.parameters())


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", ["norm", "value"])
def test_clipping(backend: str, kind: str) -> None:
    def program(model: Any, optimizer: Any) -> Any:
        def step(x: Any, y: Any) -> Any:
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            if kind == "norm":
                nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            else:
                nn.utils.clip_grad_value_(model.parameters(), 0.01)
            optimizer.step()
            return loss.detach()

        return step

    both(program, backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_filled_with_zeros(backend: str) -> None:
    def program(model: Any, optimizer: Any) -> Any:
        def step(x: Any, y: Any) -> Any:
            optimizer.zero_grad(set_to_none=False)
            loss = F.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        return step

    both(program, backend, limit=3)


@pytest.mark.parametrize("backend", BACKENDS)
def test_autograd_grad_and_a_hand_written_update(backend: str) -> None:
    def program(model: Any, optimizer: Any) -> Any:
        def step(x: Any, y: Any) -> Any:
            params = list(model.parameters())
            loss = F.mse_loss(model(x), y)
            found = torch.autograd.grad(loss, params)
            with torch.no_grad():
                for param, gradient in zip(params, found):
                    param -= 0.05 * gradient
            return loss

        return step

    run = both(program, backend, limit=1)
    assert all(param.grad is None for param in run.model.parameters())


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_of_gradients(backend: str) -> None:
    def program(model: Any, optimizer: Any) -> Any:
        def step(x: Any, y: Any) -> Any:
            optimizer.zero_grad(set_to_none=True)
            first = model[0].weight
            loss = F.mse_loss(model[4](model[2](torch.tanh(model[0](x)))), y)
            (slope,) = torch.autograd.grad(loss, first, create_graph=True)
            total = loss + (slope.norm() - 1) ** 2
            total.backward()
            optimizer.step()
            return total

        return step

    both(program, backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_two_models_that_play_against_each_other(backend: str) -> None:
    def run(compiled: bool) -> Run:
        torch.manual_seed(0)
        maker, judge = (
            nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8)),
            nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)),
        )
        both_models = nn.ModuleList([maker, judge])
        first, second = optim.Adam(maker.parameters(), 0.01), optim.Adam(judge.parameters(), 0.01)

        def step(real: Any, noise: Any) -> Any:
            made = maker(noise)
            second.zero_grad()
            judged = F.softplus(-judge(real)).mean() + F.softplus(judge(made.detach())).mean()
            judged.backward()
            second.step()
            first.zero_grad()
            fooled = F.softplus(-judge(made)).mean()
            fooled.backward()
            first.step()
            return judged.detach() + fooled.detach()

        function = torch.compile(step, backend=backend, fullgraph=True) if compiled else step
        torch.manual_seed(3)
        losses = [function(torch.randn(16, 8), torch.randn(16, 4)).item() for _ in range(6)]
        return Run(losses, both_models, first, second)

    run(True).agrees(run(False))


class Scaled(torch.autograd.Function):
    """x * exp(x), with its derivative written out from a value of its own."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        power = x.exp()
        ctx.save_for_backward(x, power)
        return x * power

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, power = ctx.saved_tensors
        return g * power * (1 + x)


@pytest.mark.parametrize("backend", BACKENDS)
def test_custom_functions(backend: str) -> None:
    def program(model: Any, optimizer: Any) -> Any:
        def step(x: Any, y: Any) -> Any:
            loss = F.mse_loss(Scaled.apply(torch.tanh(model(x))), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss

        return step

    both(program, backend, lambda params: optim.AdamW(params, 0.01))


@pytest.mark.parametrize("backend", BACKENDS)
def test_schedules_change_no_graph(backend: str) -> None:
    def run(compiled: bool) -> Run:
        model = network()
        optimizer = optim.AdamW(model.parameters(), 0.01)
        schedule = optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=STEPS + 1)
        step = training_step(model, optimizer)

        function = torch.compile(step, backend=backend, fullgraph=True) if compiled else step
        losses = []
        for x, y in batches():
            losses.append(function(x, y).item())
            schedule.step()
        if compiled:
            assert graphs(function) == 2, function._compiled.failures
        return Run(losses, model, optimizer)

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the schedule sees that the optimizer has stepped
        run(True).agrees(run(False))


@pytest.mark.parametrize("backend", BACKENDS)
def test_groups_and_parameters_that_are_not_trained(backend: str) -> None:
    def groups(params: Any) -> Any:
        first, second, *others = params
        others[0].requires_grad_(False)
        return optim.SGD([{"params": [first, second], "lr": 0.01}, {"params": others, "momentum": 0.5}], lr=0.05, weight_decay=0.1)

    def program(model: Any, optimizer: Any) -> Any:
        model.unused = nn.Linear(2, 2)
        optimizer.add_param_group({"params": list(model.unused.parameters())})

        def step(x: Any, y: Any) -> Any:
            model.zero_grad()
            loss = F.mse_loss(model[4](model[2](model[0](x))), y)
            loss.backward()
            optimizer.step()
            return loss

        return step

    both(program, backend, groups, limit=3)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_state_that_is_loaded(backend: str) -> None:
    runs = []
    for compiled in (False, True):
        model = network()
        optimizer = optim.Adam(model.parameters(), 0.01)
        step = training_step(model, optimizer)

        function = torch.compile(step, backend=backend, fullgraph=True) if compiled else step
        losses, kept = [], None
        for number, (x, y) in enumerate(batches(9)):
            if number == 3:
                kept = optimizer.state_dict()["state"]
                kept = {"state": {key: {name: each.clone() for name, each in entries.items()} for key, entries in kept.items()},
                        "param_groups": optimizer.state_dict()["param_groups"]}  # fmt: skip
            if number == 6:
                optimizer.load_state_dict(kept)
            losses.append(function(x, y).item())
        runs.append(Run(losses, model, optimizer))
    runs[1].agrees(runs[0])


@pytest.mark.parametrize("backend", BACKENDS)
def test_narrow_types(backend: str) -> None:
    def run(compiled: bool) -> tuple[Any, Any]:
        torch.manual_seed(0)
        weight = torch.randn(16, 8).bfloat16().requires_grad_()
        optimizer = optim.Adam([weight], 0.01)

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            loss = (weight @ x).float().pow(2).mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        function = torch.compile(step, backend=backend, fullgraph=True) if compiled else step
        losses = [function(torch.ones(8).bfloat16()).item() for _ in range(5)]
        return losses, weight.detach().float().numpy()

    mine, its = run(True), run(False)
    np.testing.assert_allclose(mine[0], its[0], 1e-2)
    np.testing.assert_allclose(mine[1], its[1], 1e-2, 1e-2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_history_is_used_up(backend: str) -> None:
    weight = torch.ones(3, requires_grad=True)

    def step(x: Any) -> Any:
        loss = (weight * x).exp().sum()
        loss.backward()
        return loss

    function = torch.compile(step, backend=backend, fullgraph=True)
    for _ in range(3):
        loss = function(torch.ones(3))
        assert loss.requires_grad and not loss.is_leaf and loss.grad_fn.name() == step(torch.ones(3)).grad_fn.name()
        with pytest.raises(RuntimeError, match="second time"):
            loss.backward()


@pytest.mark.parametrize("backend", BACKENDS)
def test_history_that_is_kept(backend: str) -> None:
    found = []
    for compiled in (False, True):
        weight = torch.ones(3, requires_grad=True)

        def step(x: Any, weight: Any = weight) -> Any:
            loss = (weight * x).exp().sum()
            loss.backward(retain_graph=True)
            return loss

        function = torch.compile(step, backend=backend, fullgraph=True) if compiled else step
        for _ in range(3):
            function(torch.ones(3)).backward()
        found.append(weight.grad.numpy())
    np.testing.assert_allclose(found[1], found[0], 1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_of_inputs(backend: str) -> None:
    def attack(model: Any, x: Any) -> Any:
        F.mse_loss(model[0](x), torch.zeros(32, 16)).backward(inputs=[x])
        moved = x.detach() + 0.1 * x.grad.sign()
        x.grad = None
        return moved

    model = network()
    function = torch.compile(attack, backend=backend, fullgraph=True)
    for x, _ in batches(3):
        x.requires_grad_()
        np.testing.assert_allclose(function(model, x).numpy(), attack(model, x).numpy(), 1e-5)
        assert x.grad is None and all(param.grad is None for param in model.parameters())
    assert graphs(function) == 1


def test_old_gradients_are_not_written_to() -> None:
    for backend in BACKENDS:
        model = network().eval()
        optimizer = optim.SGD(model.parameters(), 0.1)
        step = training_step(model, optimizer)

        function = torch.compile(step, backend=backend, fullgraph=True)
        kept, data = [], batches(4)
        for x, y in data:
            function(x, y)
            kept.append([(param.grad, param.grad.clone()) for param in model.parameters()])
        for gradients in kept:
            for gradient, copy in gradients:
                assert torch.equal(gradient, copy)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", ["RAdam", "ASGD", "LBFGS", "hook", "leaf hook", "post hook", "step hook", "user's", "item"])
def test_what_is_not_captured_is_right(backend: str, kind: str) -> None:
    class Plain(optim.Optimizer):
        def __init__(self, params: Any) -> None:
            super().__init__(params, {"lr": 0.05})

        @torch.no_grad()
        def step(self, closure: Any = None) -> Any:
            for group in self.param_groups:
                for param in group["params"]:
                    if param.grad is not None:
                        self.state[param]["steps"] = torch.tensor(1.0) + self.state[param].get("steps", 0.0)
                        param -= group["lr"] * param.grad

    makers = {"RAdam": lambda params: optim.RAdam(params, 0.01), "ASGD": lambda params: optim.ASGD(params, 0.01),
              "LBFGS": lambda params: optim.LBFGS(params, 0.01, max_iter=2), "user's": Plain}  # fmt: skip

    def program(model: Any, optimizer: Any) -> Any:
        calls: list[int] = []
        if kind == "leaf hook":
            model[0].weight.register_hook(lambda gradient: gradient * 0.5)
        elif kind == "post hook":
            model[0].weight.register_post_accumulate_grad_hook(lambda param: setattr(param, "grad", param.grad.mul_(0.5)))
        elif kind == "step hook":
            optimizer.register_step_post_hook(lambda *given: calls.append(1))

        def step(x: Any, y: Any) -> Any:
            optimizer.zero_grad()
            hidden = model[0](x)
            if kind == "hook":
                hidden.register_hook(lambda gradient: gradient * 2)
            loss = F.mse_loss(model[4](model[2](hidden)), y)
            if kind == "LBFGS":

                def closure() -> Any:
                    optimizer.zero_grad()
                    found = F.mse_loss(model[4](model[2](model[0](x))), y)
                    found.backward()
                    return found

                optimizer.step(closure)
                return loss
            loss.backward()
            optimizer.step()
            return loss.item() + len(calls) if kind in ("item", "step hook") else loss

        return step

    both(program, backend, makers.get(kind), count=5, fullgraph=False)


def test_several_steps_in_one_program() -> None:
    for backend in BACKENDS:

        def program(model: Any, optimizer: Any) -> Any:
            def step(x: Any, y: Any) -> Any:
                for _ in range(3):
                    optimizer.zero_grad()
                    loss = F.mse_loss(model(x), y)
                    loss.backward()
                    optimizer.step()
                return loss

            return step

        both(program, backend, lambda params: optim.Adam(params, 0.01), fullgraph=False)
        both(program, backend, lambda params: optim.SGD(params, 0.01, momentum=0.9))


@pytest.mark.parametrize("backend", BACKENDS)
def test_batches_of_other_sizes(backend: str) -> None:
    runs = []
    for compiled in (False, True):
        model = network()
        optimizer = optim.AdamW(model.parameters(), 0.01)
        step = training_step(model, optimizer)

        function = torch.compile(step, backend=backend, fullgraph=True) if compiled else step
        losses = [function(x[:size], y[:size]).item() for (x, y), size in zip(batches(8), (32, 32, 17, 32, 5, 9, 32, 3))]
        if compiled:
            assert graphs(function) <= 3
        runs.append(Run(losses, model, optimizer))
    runs[1].agrees(runs[0])
