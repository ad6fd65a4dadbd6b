"""Train a small U-Net to tell circles from squares, point by point.

Every picture has a few circles and squares of random size, place and brightness under noise.  The network says for each point
whether it is background, circle or square.

    python examples/unet.py --steps 200
"""

import argparse
import itertools
import json
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

SIZE = 32
CLASSES = ["background", "circle", "square"]


class Shapes(Dataset):
    """Pictures (1, 32, 32) with the class of each point (32, 32), drawn once."""

    def __init__(self, count, seed):
        generator = torch.Generator().manual_seed(seed)
        self.pictures = 0.3 * torch.randn(count, 1, SIZE, SIZE, generator=generator)
        self.classes = torch.zeros(count, SIZE, SIZE, dtype=torch.long)
        y, x = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
        for picture, classes in zip(self.pictures, self.classes):
            for kind in torch.randint(1, 3, (3,), generator=generator).tolist():
                down, across = torch.randint(4, SIZE - 4, (2,), generator=generator).tolist()
                radius = torch.randint(4, 8, (), generator=generator).item()
                if kind == 1:
                    inside = (y - down) ** 2 + (x - across) ** 2 <= radius**2
                else:
                    inside = ((y - down).abs() < radius) & ((x - across).abs() < radius)
                classes[inside] = kind
                picture[0, inside] += 0.5 + torch.rand((), generator=generator)

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, index):
        return self.pictures[index], self.classes[index]


def double_convolution(inputs, outputs):
    """Twice: convolution, batch norm, ReLU. The norm has a bias of its own, so the convolution needs none."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
        nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    """Down by pooling, up by transposed convolution, with what each level saw on the way down joined on the way up."""

    def __init__(self, widths=(8, 16, 32)):
        super().__init__()
        self.down = nn.ModuleList(double_convolution(a, b) for a, b in zip((1, *widths), widths))
        pairs = list(zip(widths[::-1], widths[-2::-1]))
        self.up = nn.ModuleList(nn.ConvTranspose2d(a, b, 2, stride=2) for a, b in pairs)
        self.join = nn.ModuleList(double_convolution(2 * b, b) for a, b in pairs)
        self.score = nn.Conv2d(widths[0], len(CLASSES), 1)

    def forward(self, x):
        seen = []
        for level, block in enumerate(self.down):
            x = block(F.max_pool2d(x, 2) if level else x)
            seen.append(x)
        for up, join, earlier in zip(self.up, self.join, seen[-2::-1]):
            x = join(torch.cat([up(x), earlier], dim=1))
        return self.score(x)


def dice_loss(scores, classes):
    """One less the overlap of what is said and what is there, the mean over the classes."""
    said = scores.softmax(dim=1)
    there = F.one_hot(classes, len(CLASSES)).permute(0, 3, 1, 2).to(said.dtype)
    overlap = (said * there).sum(dim=(0, 2, 3))
    return 1 - ((2 * overlap + 1) / (said.sum(dim=(0, 2, 3)) + there.sum(dim=(0, 2, 3)) + 1)).mean()


def forever(loader):
    """The batches of a loader, shuffled anew each time around."""
    while True:
        yield from loader


@torch.no_grad()
def evaluate(model, loader):
    """The intersection over the union of what is said and what is there, for each class."""
    model.eval()
    both, either = torch.zeros(len(CLASSES)), torch.zeros(len(CLASSES))
    for pictures, classes in loader:
        said = model(pictures).argmax(dim=1)
        for index in range(len(CLASSES)):
            both[index] += ((said == index) & (classes == index)).sum()
            either[index] += ((said == index) | (classes == index)).sum()
    return both / either


def main():
    parser = argparse.ArgumentParser(description="A U-Net that tells circles from squares.")
    parser.add_argument("--steps", type=int, default=200, help="optimisation steps (default %(default)s)")
    parser.add_argument("--batch-size", type=int, default=16, help="pictures in a batch (default %(default)s)")
    parser.add_argument("--examples", type=int, default=600, help="pictures to train on (default %(default)s)")
    parser.add_argument("--learning-rate", type=float, default=1e-2, help="of Adam (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the random stream (default %(default)s)")
    parser.add_argument("--losses", type=pathlib.Path, metavar="FILE", help="write the losses there, as JSON")
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    training = DataLoader(Shapes(options.examples, seed=1), options.batch_size, shuffle=True, drop_last=True)
    held_out = DataLoader(Shapes(max(1, options.examples // 8), seed=2), batch_size=25)
    model = UNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=options.learning_rate)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=options.steps)
    print(f"{options.examples} pictures, {sum(p.numel() for p in model.parameters())} parameters")

    losses = []
    for step, (pictures, classes) in enumerate(itertools.islice(forever(training), options.steps), start=1):
        scores = model(pictures)
        loss = F.cross_entropy(scores, classes) + dice_loss(scores, classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        if step % 25 == 0 or step == 1:
            print(f"step {step:4d}   loss {loss.item():.4f}")
        elif sys.stdout.isatty():
            print(f"step {step:4d} of {options.steps}", end="\r", flush=True)

    overlaps = ", ".join(f"{name} {value:.3f}" for name, value in zip(CLASSES, evaluate(model, held_out).tolist()))
    print(f"overlap in pictures not seen before: {overlaps}")
    if options.losses:
        options.losses.write_text(json.dumps(losses))


if __name__ == "__main__":
    main()
