"""Train a network for two-bit weights and activations, with a Function that learns how coarse its steps are.

First the network is trained as usual.  Rounding it to a few levels afterwards ruins it; training it a little longer while it
is rounded (quantization-aware training) mends it.  Rounding has no gradient, so a custom Function has one of its own: the
input's goes straight through, and the size of the steps is learned as well, as in "learned step size quantization".

    python examples/quantization.py --steps 300 --bits 2
"""

import argparse
import itertools
import json
import math
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class FakeQuantize(torch.autograd.Function):
    """Round to whole multiples of `scale`, from `low` to `high` of them."""

    @staticmethod
    def forward(ctx, x, scale, low, high):
        ctx.save_for_backward(x, scale)
        ctx.low, ctx.high = low, high
        return (x / scale).round().clamp(low, high) * scale

    @staticmethod
    def backward(ctx, gradient):
        x, scale = ctx.saved_tensors
        ratio = x / scale
        inside = (ratio >= ctx.low) & (ratio <= ctx.high)
        # Inside, a larger scale moves the result by the rounding error; outside, by the whole of the last level.
        slope = torch.where(inside, ratio.round() - ratio, ratio.clamp(ctx.low, ctx.high))
        steadiness = 1 / math.sqrt(x.numel() * ctx.high)
        return gradient * inside, (gradient * slope).sum() * steadiness, None, None


class Quantizer(nn.Module):
    """Rounds what passes through it, once it has been switched on by `fit`."""

    def __init__(self, bits, signed):
        super().__init__()
        self.low, self.high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        self.scale = nn.Parameter(torch.ones(()))
        self.register_buffer("active", torch.tensor(False))

    def fit(self, x):
        """Choose a first scale by the values that are usual."""
        with torch.no_grad():
            self.scale.copy_(2 * x.abs().mean() / math.sqrt(self.high))
            self.active.fill_(True)

    def forward(self, x):
        return FakeQuantize.apply(x, self.scale, self.low, self.high) if self.active else x


class QuantizedLinear(nn.Linear):
    """A linear layer whose weight and input can be rounded."""

    def __init__(self, inputs, outputs, bits):
        super().__init__(inputs, outputs)
        self.weight_quantizer = Quantizer(bits, signed=True)
        self.input_quantizer = Quantizer(bits, signed=False)

    def fit(self, x):
        self.weight_quantizer.fit(self.weight)
        self.input_quantizer.fit(x)

    def forward(self, x):
        return F.linear(self.input_quantizer(x), self.weight_quantizer(self.weight), self.bias)


class Net(nn.Module):
    """Three layers, of which the last two are rounded; the first sees coordinates, and stays as it is."""

    def __init__(self, bits, hidden=24):
        super().__init__()
        self.enter = nn.Linear(2, hidden)
        self.middle = QuantizedLinear(hidden, hidden, bits)
        self.leave = QuantizedLinear(hidden, 3, bits)

    def forward(self, x):
        return self.leave(F.relu(self.middle(F.relu(self.enter(x)))))

    @torch.no_grad()
    def quantize(self, x):
        """Switch rounding on, with scales that suit a batch of examples."""
        x = F.relu(self.enter(x))
        self.middle.fit(x)
        self.leave.fit(F.relu(self.middle(x)))


def draw_spirals(count):
    """Points on three arms of a spiral, and the arm of each."""
    arms = torch.randint(3, (count,))
    along = torch.rand(count).sqrt()
    angle = 7 * along + arms * (2 * math.pi / 3) + 0.2 * torch.randn(count)
    return 2 * torch.stack([along * angle.cos(), along * angle.sin()], dim=1), arms


def forever(loader):
    """The batches of a loader, shuffled anew each time around."""
    while True:
        yield from loader


def train(model, loader, steps, groups):
    """Train for so many steps; returns the loss of each."""
    optimizer = torch.optim.Adam(groups)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps)
    losses = []
    model.train()
    for step, (points, arms) in enumerate(itertools.islice(forever(loader), steps), start=1):
        loss = F.cross_entropy(model(points), arms)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        if step % 100 == 0 or step == 1:
            print(f"   step {step:4d}   loss {loss.item():.4f}")
        elif sys.stdout.isatty():
            print(f"   step {step:4d} of {steps}", end="\r", flush=True)
    return losses


@torch.no_grad()
def accuracy(model, points, arms):
    model.eval()
    return (model(points).argmax(dim=1) == arms).float().mean().item()


def main():
    parser = argparse.ArgumentParser(description="Quantization-aware training with a learned scale.")
    parser.add_argument("--steps", type=int, default=300, help="steps before, and as many after (default %(default)s)")
    parser.add_argument("--bits", type=int, default=2, help="of weights and activations (default %(default)s)")
    parser.add_argument("--batch-size", type=int, default=64, help="points in a batch (default %(default)s)")
    parser.add_argument("--learning-rate", type=float, default=1e-2, help="of Adam (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the random stream (default %(default)s)")
    parser.add_argument("--losses", type=pathlib.Path, metavar="FILE", help="write the losses there, as JSON")
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    training = TensorDataset(*draw_spirals(2000))
    held_out = draw_spirals(1000)
    loader = DataLoader(training, options.batch_size, shuffle=True)
    model = Net(options.bits)
    scales = [parameter for name, parameter in model.named_parameters() if name.endswith("scale")]
    others = [parameter for name, parameter in model.named_parameters() if not name.endswith("scale")]

    print("training as usual")
    losses = train(model, loader, options.steps, [{"params": others, "lr": options.learning_rate}])
    print(f"   points not seen before: {accuracy(model, *held_out):.1%}")
    model.quantize(training.tensors[0])
    print(f"rounded to {options.bits} bits: {accuracy(model, *held_out):.1%}")
    print("training while rounded")
    groups = [{"params": others, "lr": options.learning_rate / 2}, {"params": scales, "lr": options.learning_rate}]
    losses += train(model, loader, options.steps, groups)
    print(f"   points not seen before: {accuracy(model, *held_out):.1%}")
    print("   scales:", ", ".join(f"{scale.item():.3f}" for scale in scales))
    if options.losses:
        options.losses.write_text(json.dumps(losses))


if __name__ == "__main__":
    main()
