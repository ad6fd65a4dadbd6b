"""The road so far, end to end: a custom Function in a small model, trained, and shipped as an ONNX file that gives the same numbers.

    python examples/demo.py        (what `make demo` runs)

The model fits noisy points of a curve with a network whose activations are rounded to a few levels.  Rounding has no useful
gradient, so a custom Function passes the gradient straight through inside the range.
"""

import math
import os
import tempfile

import rushlight as torch
from rushlight import nn


class Quantize(torch.autograd.Function):
    """Round to `levels` steps in [-1, 1]; straight-through gradient inside the range, zero outside."""

    @staticmethod
    def forward(ctx, x, levels):
        ctx.save_for_backward(x)
        return (x.clamp(-1, 1) * levels).round() / levels

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * (x.abs() <= 1), None


class Network(nn.Module):
    """Three linear layers with activations of 17 levels."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(1, 64), nn.Linear(64, 64)])
        self.out = nn.Linear(64, 1)

    def forward(self, x):
        for layer in self.layers:
            x = Quantize.apply(torch.tanh(layer(x)), 8)
        return self.out(x)


def train(model, inputs, targets):
    """Fit the points; the first and the last loss."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    first = None
    for step in range(1, 401):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        first = loss.item() if first is None else first
        if step == 1 or step % 50 == 0:
            bar = "#" * max(1, round(50 * math.sqrt(loss.item() / first)))
            print(f"step {step:4d}   loss {loss.item():.5f}   {bar}")
    return first, loss.item()


def ship(model, folder):
    """Export the model with an open batch size, run the file in ONNX Runtime on another batch, and compare."""
    path = os.path.join(folder, "network.onnx")
    program = torch.onnx.export(model.eval(), torch.zeros(1, 1), path, input_names=["x"], output_names=["y"], dynamic_axes={"x": {0: "points"}})
    print(f"\nexported to {path} ({os.path.getsize(path)} bytes, opset 20), the Function's body inlined:\n")
    print(program.graph)
    x = torch.linspace(-1, 1, 37).unsqueeze(1)
    (y,) = program.run(x)
    return (y - model(x)).abs().max().item()


def main():
    torch.manual_seed(0)
    inputs = torch.linspace(-1, 1, 200).unsqueeze(1)
    targets = torch.sin(3 * math.pi * inputs) * 0.7 + 0.02 * torch.randn(200, 1)
    model = Network()
    print("training a network with rounded activations through a custom Function\n")
    first, last = train(model, inputs, targets)
    print(f"loss fell from {first:.4f} to {last:.4f}")
    with tempfile.TemporaryDirectory() as folder:
        difference = ship(model, folder)
    print(f"\nlargest difference between ONNX Runtime and rushlight: {difference:.2e}")
    if not last < first / 5:
        raise SystemExit("the loss did not fall as it should")
    if not difference < 1e-4:
        raise SystemExit("the exported model does not give the same numbers")


if __name__ == "__main__":
    main()
