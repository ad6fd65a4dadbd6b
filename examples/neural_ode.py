"""Learn the law of motion behind a spiral, with a neural ODE whose gradient comes from the adjoint equation.

A network gives the speed at each place, and a Runge-Kutta solver follows it.  To differentiate through the solver without
remembering its steps, a custom Function solves backwards in time: the state, the gradient of the state, and the gradient
of the parameters run together from the end to the start.

    python examples/neural_ode.py --steps 200
"""

import argparse
import json
import pathlib
import sys

import torch
from torch import nn


def runge_kutta(slope, state, start, end, steps):
    """Follow `slope(time, state)` from one time to another; a state is a tuple of tensors."""
    size = (end - start) / steps

    def moved(state, change, by):
        return tuple(value + by * each for value, each in zip(state, change))

    for step in range(steps):
        time = start + step * size
        first = slope(time, state)
        second = slope(time + size / 2, moved(state, first, size / 2))
        third = slope(time + size / 2, moved(state, second, size / 2))
        fourth = slope(time + size, moved(state, third, size))
        mean = [(a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(first, second, third, fourth)]
        state = moved(state, mean, size)
    return state


class Solve(torch.autograd.Function):
    """The states at the given times of the motion that starts at `state`; the gradient is the adjoint equation's."""

    @staticmethod
    def forward(ctx, network, times, substeps, state, *parameters):
        states = [state]
        for start, end in zip(times, times[1:]):
            (state,) = runge_kutta(lambda _, state: (network(state[0]),), (state,), start, end, substeps)
            states.append(state)
        ctx.network, ctx.times, ctx.substeps = network, times, substeps
        states = torch.stack(states)
        ctx.save_for_backward(states, *parameters)
        return states

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradients):
        states, *parameters = ctx.saved_tensors

        def slope(_, joined):
            """How the state, its gradient and the parameters' gradients change with time."""
            state, adjoint = joined[:2]
            with torch.enable_grad():
                state = state.detach().requires_grad_()
                speed = ctx.network(state)
            products = torch.autograd.grad(speed, [state, *parameters], -adjoint)
            return speed.detach(), *products

        adjoint = gradients[-1]
        sums = [torch.zeros_like(parameter) for parameter in parameters]
        for index in range(len(ctx.times) - 1, 0, -1):
            # From a state that was kept, rather than from one that was solved backwards: errors do not add up.
            joined = (states[index], adjoint, *sums)
            _, adjoint, *sums = runge_kutta(slope, joined, ctx.times[index], ctx.times[index - 1], ctx.substeps)
            adjoint = adjoint + gradients[index - 1]
        return None, None, None, adjoint, *sums


class Law(nn.Module):
    """The speed at a place: a network of the cubes of its coordinates, which the true law uses too."""

    def __init__(self, hidden=40):
        super().__init__()
        self.network = nn.Sequential(nn.Linear(2, hidden), nn.Tanh(), nn.Linear(hidden, 2))
        for layer in self.network:
            if isinstance(layer, nn.Linear):
                nn.init.normal_(layer.weight, std=0.1)
                nn.init.zeros_(layer.bias)

    def forward(self, place):
        return self.network(place**3)


def true_speed(place):
    """The law behind the spiral."""
    return place**3 @ torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])


def main():
    parser = argparse.ArgumentParser(description="A neural ODE with an adjoint Function.")
    parser.add_argument("--steps", type=int, default=200, help="optimisation steps (default %(default)s)")
    parser.add_argument("--batch-size", type=int, default=20, help="pieces of the spiral (default %(default)s)")
    parser.add_argument("--length", type=int, default=10, help="points in a piece (default %(default)s)")
    parser.add_argument("--learning-rate", type=float, default=2e-2, help="of NAdam (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the random stream (default %(default)s)")
    parser.add_argument("--losses", type=pathlib.Path, metavar="FILE", help="write the losses there, as JSON")
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    times = [0.05 * index for index in range(200)]
    start = torch.tensor([[2.0, 0.0]])
    spiral = [start]
    for _ in times[1:]:
        spiral += runge_kutta(lambda _, state: (true_speed(state[0]),), (spiral[-1],), 0.0, 0.05, 4)
    spiral = torch.cat(spiral)
    observed = spiral + 0.01 * torch.randn_like(spiral)

    law = Law()
    parameters = tuple(law.parameters())
    optimizer = torch.optim.NAdam(law.parameters(), lr=options.learning_rate)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.1 ** (1 / max(1, options.steps)))
    losses = []
    for step in range(1, options.steps + 1):
        starts = torch.randint(len(observed) - options.length, (options.batch_size,))
        pieces = observed[starts + torch.arange(options.length).unsqueeze(1)]
        predicted = Solve.apply(law, times[: options.length], 2, pieces[0], *parameters)
        loss = (predicted - pieces).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        if step % 25 == 0 or step == 1:
            print(f"step {step:4d}   loss {loss.item():.5f}")
        elif sys.stdout.isatty():
            print(f"step {step:4d} of {options.steps}", end="\r", flush=True)

    with torch.no_grad():
        whole = Solve.apply(law, times, 2, start, *parameters)[:, 0]
    distance = (whole - spiral).norm(dim=1)
    print(f"the whole spiral from its start alone: mean distance {distance.mean().item():.3f}", end=", ")
    print(f"at the end {distance[-1].item():.3f}, of a radius of 2")
    if options.losses:
        options.losses.write_text(json.dumps(losses))


if __name__ == "__main__":
    main()
