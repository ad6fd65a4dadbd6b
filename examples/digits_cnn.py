"""Train a small convolutional network to read digits that the program draws itself.

Ten glyphs of 5 by 7 dots are enlarged, moved about, made darker or lighter, and covered with noise: MNIST in spirit, with
nothing to download.

    python examples/digits_cnn.py --steps 150
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

# One row of seven for each digit; each row is five dots, written as a number of five bits.
GLYPHS = """
14 17 19 21 25 17 14    4 12  4  4  4  4 14   14 17  1  2  4  8 31   31  2  4  2  1 17 14    2  6 10 18 31  2  2
31 16 30  1  1 17 14    6  8 16 30 17 17 14   31  1  2  4  8  8  8   14 17 17 14 17 17 14   14 17 17 15  1  2 12
"""
SIZE = 28


def glyphs():
    """The ten digits as pictures of 21 by 15 points, with soft edges."""
    rows = torch.tensor([int(word) for word in GLYPHS.split()]).view(10, 7, 1)
    dots = (rows >> torch.arange(4, -1, -1)) & 1
    return F.interpolate(dots.float().unsqueeze(1), size=(21, 15), mode="bilinear", align_corners=False).squeeze(1)


def draw_digits(count):
    """`count` noisy pictures of digits (count, 1, 28, 28), and which digits they are."""
    digits = glyphs()
    labels = torch.randint(10, (count,))
    down = torch.randint(SIZE - 21, (count,)).tolist()
    across = torch.randint(SIZE - 15, (count,)).tolist()
    pictures = torch.zeros(count, 1, SIZE, SIZE)
    for picture, label, y, x in zip(pictures, labels, down, across):
        picture[0, y : y + 21, x : x + 15] = digits[label]
    ink = 0.5 + torch.rand(count, 1, 1, 1)
    return pictures * ink + 0.25 * torch.randn_like(pictures), labels


class Net(nn.Module):
    """Two convolutions, each followed by pooling, and two linear layers."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.dropout = nn.Dropout(0.25)
        self.fc1 = nn.Linear(16 * 7 * 7, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = self.dropout(torch.flatten(x, 1))
        x = F.relu(self.fc1(x))
        return F.log_softmax(self.fc2(x), dim=1)


def forever(loader):
    """The batches of a loader, shuffled anew each time around."""
    while True:
        yield from loader


def train(model, loader, options):
    """Train for so many steps; returns the loss of each."""
    optimizer = torch.optim.Adam(model.parameters(), lr=options.learning_rate)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=50, gamma=0.5)
    losses = []
    model.train()
    for step, (pictures, labels) in enumerate(itertools.islice(forever(loader), options.steps), start=1):
        optimizer.zero_grad()
        loss = F.nll_loss(model(pictures), labels)
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        if step % 25 == 0 or step == 1:
            print(f"step {step:4d}   loss {loss.item():.4f}   learning rate {scheduler.get_last_lr()[0]:.5f}")
        elif sys.stdout.isatty():
            print(f"step {step:4d} of {options.steps}", end="\r", flush=True)
    return losses


@torch.no_grad()
def evaluate(model, loader):
    """The mean loss and the share of digits that the model reads rightly."""
    model.eval()
    total = correct = count = 0
    for pictures, labels in loader:
        output = model(pictures)
        total += F.nll_loss(output, labels, reduction="sum").item()
        correct += (output.argmax(dim=1) == labels).sum().item()
        count += len(labels)
    return total / count, correct / count


def main():
    parser = argparse.ArgumentParser(description="A convolutional network that reads drawn digits.")
    parser.add_argument("--steps", type=int, default=150, help="optimisation steps (default %(default)s)")
    parser.add_argument("--batch-size", type=int, default=64, help="digits in a batch (default %(default)s)")
    parser.add_argument("--examples", type=int, default=3000, help="digits to train on (default %(default)s)")
    parser.add_argument("--learning-rate", type=float, default=3e-3, help="of Adam (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the random stream (default %(default)s)")
    parser.add_argument("--losses", type=pathlib.Path, metavar="FILE", help="write the losses there, as JSON")
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    training = TensorDataset(*draw_digits(options.examples))
    held_out = TensorDataset(*draw_digits(options.examples // 8))
    model = Net()
    print(f"{len(training)} digits, {sum(p.numel() for p in model.parameters())} parameters")

    losses = train(model, DataLoader(training, batch_size=options.batch_size, shuffle=True), options)
    loss, accuracy = evaluate(model, DataLoader(held_out, batch_size=250))
    print(f"digits not seen before: loss {loss:.4f}, accuracy {accuracy:.1%}")
    if options.losses:
        options.losses.write_text(json.dumps(losses))


if __name__ == "__main__":
    main()
