"""Learn what textures look like without being told their names, by contrast.

Each texture is seen twice: shifted, mirrored, brighter or darker, under noise.  The network learns to put the two views of one
texture near each other and away from all others (the loss of SimCLR).  Afterwards a linear layer reads the kind of texture
off what was learned.

    python examples/contrastive.py --steps 120
"""

import argparse
import itertools
import json
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SIZE = 16
KINDS = ["level stripes", "upright stripes", "checks", "rings", "dots"]


def draw_textures(count):
    """`count` textures (count, 1, 16, 16) of random scale and phase, and their kinds."""
    kinds = torch.randint(len(KINDS), (count,))
    scale = (0.9 + 0.7 * torch.rand(count, 1, 1)).expand(count, SIZE, SIZE)
    phase = (6.3 * torch.rand(2, count, 1, 1)).expand(2, count, SIZE, SIZE)
    y = torch.arange(SIZE).view(1, SIZE, 1) * scale + phase[0]
    x = torch.arange(SIZE).view(1, 1, SIZE) * scale + phase[1]
    centre = torch.arange(SIZE) - SIZE / 2
    radius = (centre.view(SIZE, 1) ** 2 + centre**2).sqrt() * scale + phase[0]
    drawn = [y.sin(), x.sin(), y.sin() * x.sin(), radius.sin(), y.sin().clamp(min=0) * x.sin().clamp(min=0)]
    pictures = torch.stack(drawn, dim=1)[torch.arange(count), kinds]
    return pictures.unsqueeze(1), kinds


def view_of(pictures):
    """The same pictures, each seen in another way."""
    count = len(pictures)
    shift = torch.randint(SIZE, (2, count, 1))
    y = (torch.arange(SIZE) + shift[0]) % SIZE
    x = (torch.arange(SIZE) + shift[1]) % SIZE
    x = torch.where(torch.rand(count, 1) < 0.5, x.flip(1), x)
    moved = pictures[torch.arange(count).view(-1, 1, 1), 0, y.unsqueeze(2), x.unsqueeze(1)].unsqueeze(1)
    brightness = 0.6 + 0.8 * torch.rand(count, 1, 1, 1)
    return moved * brightness + 0.2 * torch.randn_like(moved)


class Encoder(nn.Module):
    """Features of a picture, and on top of them the projection that the contrast is taken of."""

    def __init__(self, features=32, projected=16):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1),
            nn.GroupNorm(2, 8),
            nn.SiLU(),
            nn.Conv2d(8, features, 3, stride=2, padding=1),
            nn.GroupNorm(4, features),
            nn.SiLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        self.project = nn.Sequential(nn.Linear(features, features), nn.SiLU(), nn.Linear(features, projected))

    def forward(self, pictures):
        return F.normalize(self.project(self.features(pictures)), dim=1)


def contrast(first, second, temperature):
    """Each view should find its partner among all the others."""
    both = torch.cat([first, second])
    likeness = (both @ both.t() / temperature).masked_fill(torch.eye(len(both), dtype=torch.bool), float("-inf"))
    partner = torch.arange(len(both)).roll(len(first))
    return F.cross_entropy(likeness, partner)


def linear_probe(encoder, training, held_out, steps=100):
    """How well a linear layer names the kinds from features that are no longer trained."""
    encoder.eval()
    with torch.no_grad():
        (known, kinds), (unknown, answers) = ((encoder.features(pictures), labels) for pictures, labels in (training, held_out))
    mean, spread = known.mean(dim=0), known.std(dim=0) + 1e-6
    probe = nn.Linear(known.shape[1], len(KINDS))
    optimizer = torch.optim.Adam(probe.parameters(), lr=0.05)
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(probe((known - mean) / spread), kinds).backward()
        optimizer.step()
    return (probe((unknown - mean) / spread).argmax(dim=1) == answers).float().mean().item()


def forever(loader):
    """The batches of a loader, shuffled anew each time around."""
    while True:
        yield from loader


def main():
    parser = argparse.ArgumentParser(description="A contrastive learner of textures.")
    parser.add_argument("--steps", type=int, default=120, help="optimisation steps (default %(default)s)")
    parser.add_argument("--batch-size", type=int, default=64, help="pictures in a batch (default %(default)s)")
    parser.add_argument("--temperature", type=float, default=0.2, help="of the contrast (default %(default)s)")
    parser.add_argument("--learning-rate", type=float, default=0.2, help="of SGD (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the random stream (default %(default)s)")
    parser.add_argument("--losses", type=pathlib.Path, metavar="FILE", help="write the losses there, as JSON")
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    pictures, _ = draw_textures(1000)
    labelled, held_out = draw_textures(40), draw_textures(300)
    loader = DataLoader(TensorDataset(pictures), options.batch_size, shuffle=True, drop_last=True)
    encoder = Encoder()
    untrained = Encoder()
    optimizer = torch.optim.SGD(encoder.parameters(), options.learning_rate, momentum=0.9, nesterov=True, weight_decay=1e-4)

    losses = []
    for step, (batch,) in enumerate(itertools.islice(forever(loader), options.steps), start=1):
        loss = contrast(encoder(view_of(batch)), encoder(view_of(batch)), options.temperature)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 20 == 0 or step == 1:
            print(f"step {step:4d}   loss {loss.item():.4f}")
        elif sys.stdout.isatty():
            print(f"step {step:4d} of {options.steps}", end="\r", flush=True)

    before, after = (linear_probe(network, labelled, held_out) for network in (untrained, encoder))
    print(f"kinds named rightly after {len(labelled[0])} labels: {after:.1%}; without the learning {before:.1%}")
    if options.losses:
        options.losses.write_text(json.dumps(losses))


if __name__ == "__main__":
    main()
