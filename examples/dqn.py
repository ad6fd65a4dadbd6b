"""Learn to balance a pole on a cart with deep Q-learning.

The cart and the pole are simulated here, in plain Python.  The network learns the worth of each push from a memory of past
moves; a second network, which follows slowly, gives the targets, and the first one chooses the move that they judge.

    python examples/dqn.py --steps 3000
"""

import argparse
import collections
import json
import math
import pathlib
import random
import sys

import torch
import torch.nn.functional as F
from torch import nn

Move = collections.namedtuple("Move", "state action reward following ended")


class CartPole:
    """A pole on a cart that is pushed left (0) or right (1). It ends when the pole leans too far or the cart leaves."""

    gravity, cart_mass, pole_mass, half_length, force, time_step = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
    longest = 200

    def __init__(self, stream):
        self.stream = stream

    def reset(self):
        """Begin anew, nearly upright; returns position, speed, angle and turning speed."""
        self.state = [self.stream.uniform(-0.05, 0.05) for _ in range(4)]
        self.moves = 0
        return tuple(self.state)

    def step(self, action):
        """Push once; returns the state, the reward, whether the pole fell, and whether this round is over."""
        position, speed, angle, turning = self.state
        push = self.force if action else -self.force
        mass = self.cart_mass + self.pole_mass
        sine, cosine = math.sin(angle), math.cos(angle)
        shove = (push + self.pole_mass * self.half_length * turning**2 * sine) / mass
        inertia = self.half_length * (4 / 3 - self.pole_mass * cosine**2 / mass)
        turn = (self.gravity * sine - cosine * shove) / inertia
        move = shove - self.pole_mass * self.half_length * turn * cosine / mass
        change = (speed, move, turning, turn)
        self.state = [value + self.time_step * slope for value, slope in zip(self.state, change)]
        self.moves += 1
        fell = abs(self.state[0]) > 2.4 or abs(self.state[2]) > math.radians(12)
        return tuple(self.state), 1.0, fell, fell or self.moves >= self.longest


def q_network(hidden=64):
    """The worth of the two actions in a state."""
    return nn.Sequential(nn.Linear(4, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 2))


@torch.no_grad()
def best_action(network, state):
    return network(torch.tensor([state])).argmax(dim=1).item()


def loss_of(moves, network, target, discount):
    """How far the network is from what the moves, and the slow network, say the actions are worth."""
    states = torch.tensor([move.state for move in moves])
    actions = torch.tensor([move.action for move in moves])
    rewards = torch.tensor([move.reward for move in moves])
    following = torch.tensor([move.following for move in moves])
    alive = torch.tensor([0.0 if move.ended else 1.0 for move in moves])
    worth = network(states).gather(1, actions.unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        chosen = network(following).argmax(dim=1, keepdim=True)
        expected = rewards + discount * alive * target(following).gather(1, chosen).squeeze(1)
    return F.smooth_l1_loss(worth, expected)


def play(environment, network):
    """One round of the network's best moves; returns how long the pole stood."""
    state, over = environment.reset(), False
    while not over:
        state, _, _, over = environment.step(best_action(network, state))
    return environment.moves


def main():
    parser = argparse.ArgumentParser(description="Deep Q-learning on a cart and a pole.")
    parser.add_argument("--steps", type=int, default=3000, help="moves, one training step each (default %(default)s)")
    parser.add_argument("--batch-size", type=int, default=64, help="remembered moves in a batch (default %(default)s)")
    parser.add_argument("--warm-up", type=int, default=200, help="random moves before training (default %(default)s)")
    parser.add_argument("--discount", type=float, default=0.98, help="worth of the next move (default %(default)s)")
    parser.add_argument("--learning-rate", type=float, default=1e-3, help="of Adam (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the random streams (default %(default)s)")
    parser.add_argument("--losses", type=pathlib.Path, metavar="FILE", help="write the losses there, as JSON")
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    stream = random.Random(options.seed)
    environment = CartPole(stream)
    network, target = q_network(), q_network()
    target.load_state_dict(network.state_dict())
    optimizer = torch.optim.Adam(network.parameters(), lr=options.learning_rate)

    memory = collections.deque(maxlen=5000)
    rounds = collections.deque(maxlen=10)
    losses = []
    state = environment.reset()
    for step in range(1 - options.warm_up, options.steps + 1):
        chance = 1.0 if step < 1 else max(0.05, 1 - step / 800)
        action = stream.randrange(2) if stream.random() < chance else best_action(network, state)
        following, reward, fell, over = environment.step(action)
        memory.append(Move(state, action, reward, following, fell))
        state = following
        if over:
            rounds.append(environment.moves)
            state = environment.reset()
        if step < 1:
            continue

        loss = loss_of(stream.sample(memory, min(options.batch_size, len(memory))), network, target, options.discount)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(network.parameters(), 10.0)
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(target.parameters(), network.parameters()):
                slow.lerp_(fast, 0.01)
        losses.append(loss.item())
        if step % 500 == 0 or step == 1:
            mean = sum(rounds) / max(1, len(rounds))
            print(f"step {step:5d}   loss {loss.item():7.4f}   random {chance:4.0%}   last rounds {mean:5.1f} moves")
        elif step % 20 == 0 and sys.stdout.isatty():
            print(f"step {step:5d} of {options.steps}", end="\r", flush=True)

    lengths = [play(environment, network) for _ in range(5)]
    print(f"five rounds without random moves: {lengths}, of {environment.longest} at most")
    if options.losses:
        options.losses.write_text(json.dumps(losses))


if __name__ == "__main__":
    main()
