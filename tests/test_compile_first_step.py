"""The first step of a compiled training step on large tensors: gradients and updates are left to the compiled graph, too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.results import tensors_in
from test_compile_first_call import ways  # noqa: F401

import rushlight as torch

pytest.importorskip("llvmlite")
nn = torch.nn
# Where gradients are next to nothing, their last digits would decide about steps: eps keeps those small.
OPTIMIZERS: dict[str, Any] = {
    "SGD": lambda params: torch.optim.SGD(params, lr=0.1),
    "SGD with momentum": lambda params: torch.optim.SGD(params, lr=0.1, momentum=0.9, weight_decay=0.01),
    "SGD, Nesterov": lambda params: torch.optim.SGD(params, lr=0.1, momentum=0.9, nesterov=True),
    "SGD upwards": lambda params: torch.optim.SGD(params, lr=0.1, maximize=True),
    "Adam": lambda params: torch.optim.Adam(params, lr=0.01, eps=1e-3, amsgrad=True),
    "AdamW": lambda params: torch.optim.AdamW(params, lr=0.01, eps=1e-3),
    "RMSprop": lambda params: torch.optim.RMSprop(params, lr=0.01, momentum=0.5, eps=1e-3),
    "Adagrad": lambda params: torch.optim.Adagrad(params, lr=0.01, eps=1e-3),
}


def model() -> Any:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(64, 96), nn.Tanh(), nn.LayerNorm(96), nn.Linear(96, 8))


def numbers() -> tuple[Any, Any]:
    torch.manual_seed(2)
    return torch.randn(2048, 64), torch.randn(2048, 8)


def plain(net: Any, optimizer: Any, x: Any, y: Any) -> Any:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    optimizer.step()
    return loss


def state_of(net: Any, optimizer: Any) -> dict[str, Any]:
    """Everything that a step changes."""
    found: dict[str, Any] = {}
    for name, each in net.named_parameters():
        found[name] = each.detach().numpy().copy()
        found[f"{name}, gradient"] = np.zeros(0) if each.grad is None else each.grad.numpy().copy()
        for entry, value in optimizer.state.get(each, {}).items():
            if isinstance(value, torch.Tensor):
                found[f"{name}, {entry}"] = value.numpy().copy()
    return found


def compare(step: Any, make: Any = OPTIMIZERS["SGD"], calls: int = 4, net: Any = model) -> None:
    """A step in eager mode and compiled, from the same beginning: all that they return and change."""
    runs = []
    for run in (step, torch.compile(step)):
        trained = net()
        optimizer, (x, y) = make(trained.parameters()), numbers()
        run_states = []
        for _ in range(calls):
            before = [each._version for each in trained.parameters()]
            result = {f"result {at}": each for at, each in enumerate(tensors_in(run(trained, optimizer, x, y)))}
            changed = [each._version > version for each, version in zip(trained.parameters(), before)]
            kinds = [(each.requires_grad, each.grad_fn and each.grad_fn.name()) for each in result.values()]
            values = {name: each.detach().numpy().copy() for name, each in result.items()}
            run_states.append(((changed, kinds), {**values, **state_of(trained, optimizer)}))
        runs.append(run_states)
    for (kinds, want), (found_kinds, found) in zip(*runs, strict=True):
        # A history in which nothing was saved can be gone through again: it is then that of the compiled function.
        live = [name == "CompiledFunctionBackward" for _, name in found_kinds[1]]
        wanted = [(grad, "CompiledFunctionBackward" if name and alive else name) for (grad, name), alive in zip(kinds[1], live)]
        assert found_kinds == (kinds[0], wanted) and found.keys() == want.keys()
        for name, each in want.items():
            scale = np.abs(each).max(initial=0)
            np.testing.assert_allclose(found[name], each, rtol=2e-4, atol=2e-5 * scale + 1e-7, err_msg=name)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_is_computed_by_its_graph(name: str, ways: list[str]) -> None:  # noqa: F811
    compare(plain, OPTIMIZERS[name])
    begins = name not in ("SGD", "SGD upwards", "Adagrad")  # with a state: a graph for one step alone is not worth compiling
    assert ways == (["ops", "graph"] if begins else ["graph"])


def test_gradients_are_tensors_of_their_own(ways: list[str]) -> None:  # noqa: F811
    """A sum hands the same gradient to all that it adds."""

    class Sum(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Parameter(torch.ones(2048, 64)), nn.Parameter(torch.ones(2048, 64))

        def forward(self, x: Any) -> Any:
            return self.a + self.b + x

    def step(net: Any, optimizer: Any, x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = net(x).sum()
        loss.backward()
        optimizer.step()
        return loss

    made = Sum()
    run = torch.compile(step)
    optimizer, (x, y) = torch.optim.SGD(made.parameters(), lr=0.1), numbers()
    for _ in range(3):
        run(made, optimizer, x, y)
        made.a.grad.mul_(2)
        assert float(made.a.grad[0, 0]) == 2 and float(made.b.grad[0, 0]) == 1
    compare(step, net=Sum)
    assert ways[0] == "graph"


def test_gradients_that_are_added_up(ways: list[str]) -> None:  # noqa: F811
    def step(net: Any, optimizer: Any, x: Any, y: Any) -> Any:
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        nn.functional.mse_loss(net(x * 2), y).backward()
        optimizer.step()
        return loss

    compare(step)
    assert set(ways) == {"graph"}


def test_gradients_of_the_beginning_are_added_to(ways: list[str]) -> None:  # noqa: F811
    def net() -> Any:
        made = model()
        for each in made.parameters():
            each.grad = torch.ones_like(each)
        return made

    def step(net: Any, optimizer: Any, x: Any, y: Any) -> Any:
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        return loss

    compare(step, net=net)
    assert set(ways) == {"graph"}


def test_a_graph_that_is_kept(ways: list[str]) -> None:  # noqa: F811
    def step(net: Any, optimizer: Any, x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward(retain_graph=True)
        loss.backward()
        optimizer.step()
        return loss

    compare(step)
    assert set(ways) == {"graph"}


def test_backward_a_second_time_is_an_error() -> None:
    net, (x, y) = model(), numbers()
    loss = torch.compile(plain)(net, torch.optim.SGD(net.parameters(), lr=0.1), x, y)
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


def test_autograd_grad(ways: list[str]) -> None:  # noqa: F811
    def step(net: Any, optimizer: Any, x: Any, y: Any) -> Any:
        out = net(x)
        found = torch.autograd.grad(out, list(net.parameters()), torch.ones_like(out) * y)
        with torch.no_grad():
            for each, gradient in zip(net.parameters(), found):
                each -= 1e-5 * gradient
        return found

    compare(step)


@pytest.mark.parametrize(
    "after",
    [
        lambda net, loss: net[3].bias * 2,  # a small tensor that was written to
        lambda net, loss: net[3].bias.detach(),
        lambda net, loss: net[0].weight[0].clone(),
        lambda net, loss: (net[0].weight.grad.sum(), net[0].weight),
        lambda net, loss: net[2].weight.detach().clone(),
        lambda net, loss: torch.tensor(float(net[2].weight.sum())),
        lambda net, loss: torch.tensor(loss.item()),
        lambda net, loss: torch.stack([each.grad.abs().max() for each in net.parameters()]),
        lambda net, loss: torch.from_numpy(net[3].bias.detach().numpy().copy()),
        lambda net, loss: [each.norm() for each in net.parameters()],
        lambda net, loss: nn.utils.parameters_to_vector(net.parameters()),
        lambda net, loss: net[3].bias.data,
    ],
)  # fmt: skip
def test_what_looks_at_parameters(after: Any) -> None:
    """What comes after the step sees what it has written."""

    def step(net: Any, optimizer: Any, x: Any, y: Any) -> Any:
        loss = plain(net, optimizer, x, y)
        with torch.no_grad():
            return after(net, loss)

    compare(step, OPTIMIZERS["Adam"])


def test_gradients_that_are_clipped() -> None:
    def step(net: Any, optimizer: Any, x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        total = nn.utils.clip_grad_norm_(net.parameters(), 0.01)
        optimizer.step()
        return loss, total

    compare(step)


def test_gradients_that_are_scaled_in_place(ways: list[str]) -> None:  # noqa: F811
    def step(net: Any, optimizer: Any, x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        with torch.no_grad():
            for each in net.parameters():
                each.grad.mul_(0.5)
        optimizer.step()
        return loss

    compare(step)


def test_a_parameter_in_two_places(ways: list[str]) -> None:  # noqa: F811
    def net() -> Any:
        made = model()
        made.append(nn.Linear(8, 8))
        made.append(made[-1])
        return made

    compare(plain, OPTIMIZERS["AdamW"], net=net)
    assert ways == ["ops", "graph"]


def test_what_gradients_go_on_to() -> None:
    """Tensors that small ops have made from parameters have a history of their own."""

    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale, self.inner = nn.Parameter(torch.ones(1)), model()

        def forward(self, x: Any) -> Any:
            return self.inner(x * self.scale.exp())

    compare(plain, net=Scaled)


def test_listeners() -> None:
    """Hooks of parameters and of gradients on the way."""
    seen: list[float] = []

    def net() -> Any:
        made = model()
        made[0].weight.register_hook(lambda gradient: gradient * 2)
        made[3].bias.register_post_accumulate_grad_hook(lambda each: seen.append(float(each.grad.sum())))
        return made

    def step(*args: Any) -> Any:
        return plain(*args).detach()

    compare(step, net=net)
    assert len(seen) == 8
    np.testing.assert_allclose(seen[:4], seen[4:], rtol=1e-4, atol=1e-5)


def test_steps_twice_in_one() -> None:
    def step(net: Any, optimizer: Any, x: Any, y: Any) -> Any:
        return plain(net, optimizer, x, y), plain(net, optimizer, x + 1, y)

    for name in ("SGD", "SGD with momentum", "Adam"):
        compare(step, OPTIMIZERS[name])


def test_a_running_mean_of_parameters() -> None:
    """Another tensor that the step writes to, small and made before."""
    kept = []

    def net() -> Any:
        made = model()
        kept.append([each.detach().clone() for each in made.parameters()])
        return made

    def step(net: Any, optimizer: Any, x: Any, y: Any) -> Any:
        loss = plain(net, optimizer, x, y)
        with torch.no_grad():
            for mean, each in zip(kept[-1], net.parameters()):
                mean.lerp_(each, 0.1)
        return loss

    compare(step, net=net)
    for first, second in zip(*kept, strict=True):
        np.testing.assert_allclose(first.numpy(), second.numpy(), rtol=1e-4, atol=1e-6)


def test_an_error_after_the_step() -> None:
    """What the step did is done, as in eager mode."""

    def step(net: Any, optimizer: Any, x: Any, y: Any) -> Any:
        plain(net, optimizer, x, y)
        raise ValueError("after it")

    found = []
    for run in (step, torch.compile(step)):
        net, (x, y) = model(), numbers()
        optimizer = OPTIMIZERS["Adam"](net.parameters())
        with pytest.raises(ValueError, match="after it"):
            run(net, optimizer, x, y)
        found.append(state_of(net, optimizer))
    for name, each in found[0].items():
        np.testing.assert_allclose(found[1][name], each, rtol=1e-4, atol=1e-6, err_msg=name)
