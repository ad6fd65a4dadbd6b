"""Train a variational autoencoder whose code is bits, through a straight-through Function.

A bit is drawn with the probability that the encoder says.  Drawing has no gradient, so a custom Function draws on the way
forward and, on the way back, passes the gradient on to the probability as if nothing had been rounded.

    python examples/binary_vae.py --steps 800
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

SIZE = 8


class DrawBits(torch.autograd.Function):
    """One where the noise is below the probability, else zero; the gradient goes straight through."""

    @staticmethod
    def forward(ctx, probability, noise):
        return (noise < probability).to(probability.dtype)

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


def draw_bars(count):
    """`count` pictures of black and white: each row, or each column, is wholly one or the other."""
    lines = torch.randint(2, (count, SIZE, 1)).float().expand(count, SIZE, SIZE)
    upright = torch.rand(count, 1, 1) < 0.5
    return torch.where(upright, lines.transpose(1, 2), lines)


class BinaryVAE(nn.Module):
    """An encoder to the probabilities of bits, and a decoder from bits to the scores of points."""

    def __init__(self, bits, hidden=96):
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(SIZE * SIZE, hidden), nn.Tanh(), nn.Linear(hidden, bits), nn.Sigmoid())
        self.decoder = nn.Sequential(nn.Linear(bits, hidden), nn.Tanh(), nn.Linear(hidden, SIZE * SIZE), nn.Unflatten(1, (SIZE, SIZE)))

    def forward(self, pictures):
        probability = self.encoder(pictures)
        bits = DrawBits.apply(probability, torch.rand_like(probability))
        return self.decoder(bits), probability


def negative_bound(scores, pictures, probability):
    """What training makes small: the cost of the points given the bits, and of the bits against coin tosses."""
    points = F.binary_cross_entropy_with_logits(scores, pictures, reduction="none").sum(dim=(1, 2))
    kept = probability.clamp(1e-6, 1 - 1e-6)
    entropy = -(kept * kept.log() + (1 - kept) * (1 - kept).log()).sum(dim=1)
    return points.mean(), (kept.shape[1] * math.log(2) - entropy).mean()


def forever(loader):
    """The batches of a loader, shuffled anew each time around."""
    while True:
        yield from loader


def show(*pictures):
    """Print pictures side by side."""
    for rows in zip(*(picture.tolist() for picture in pictures)):
        print("   " + "     ".join("".join("#" if point > 0.5 else "." for point in row) for row in rows))


def main():
    parser = argparse.ArgumentParser(description="A variational autoencoder with a binary code.")
    parser.add_argument("--steps", type=int, default=800, help="optimisation steps (default %(default)s)")
    parser.add_argument("--batch-size", type=int, default=64, help="pictures in a batch (default %(default)s)")
    parser.add_argument("--bits", type=int, default=16, help="bits of the code (default %(default)s)")
    parser.add_argument("--learning-rate", type=float, default=5e-3, help="of Adam (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the random stream (default %(default)s)")
    parser.add_argument("--losses", type=pathlib.Path, metavar="FILE", help="write the losses there, as JSON")
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    loader = DataLoader(TensorDataset(draw_bars(2000)), batch_size=options.batch_size, shuffle=True)
    model = BinaryVAE(options.bits)
    optimizer = torch.optim.Adam(model.parameters(), lr=options.learning_rate)

    losses = []
    for step, (pictures,) in enumerate(itertools.islice(forever(loader), options.steps), start=1):
        scores, probability = model(pictures)
        points, code = negative_bound(scores, pictures, probability)
        loss = points + code
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 100 == 0 or step == 1:
            print(f"step {step:4d}   loss {loss.item():7.3f}   points {points.item():7.3f}   code {code.item():6.3f}")
        elif sys.stdout.isatty():
            print(f"step {step:4d} of {options.steps}", end="\r", flush=True)

    model.eval()
    with torch.no_grad():
        pictures = draw_bars(200)
        scores, _ = model(pictures)
        right = ((scores > 0).float() == pictures).float().mean().item()
        made = model.decoder(torch.randint(2, (4, options.bits)).float()).sigmoid()
    print(f"pictures not seen before: {right:.1%} of the points come back rightly")
    print("four pictures drawn from random bits:")
    show(*made)
    if options.losses:
        options.losses.write_text(json.dumps(losses))


if __name__ == "__main__":
    main()
