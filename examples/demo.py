"""The whole road: a custom Function, checked, trained, compiled, exported, verified, and shown on a page.

    python examples/demo.py [folder]        (what `make demo` runs)

The model fits noisy points of a wave.  Its activation is "snake", x + sin(x)^2, which goes on waving where tanh is flat.
"""

import math
import pathlib
import subprocess
import sys
import time

import rushlight as torch
from rushlight import nn


class Snake(torch.autograd.Function):
    """x + sin(x)^2; its derivative is 1 + sin(2x), so that one tensor is all that is kept for backward."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x + torch.sin(x) ** 2

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * (1 + torch.sin(2 * x))


class Network(nn.Module):
    """Three linear layers, with snakes between them."""

    def __init__(self):
        super().__init__()
        self.hidden = nn.ModuleList([nn.Linear(1, 64), nn.Linear(64, 64)])
        self.out = nn.Linear(64, 1)

    def forward(self, x):
        for layer in self.hidden:
            x = Snake.apply(layer(x))
        return self.out(x)


def title(text):
    print(f"\n== {text}\n")


def command(folder, *words):
    """Run a rushlight command in the folder as a user would, and show it."""
    print("$ rushlight " + " ".join(words))
    sys.stdout.flush()
    done = subprocess.run([sys.executable, "-m", "rushlight", *words], cwd=folder, check=False)
    if done.returncode:
        raise SystemExit(f"the command ended with status {done.returncode}")


def train(model, inputs, targets, steps=300):
    """Fit the points; the first and the last loss."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    losses = []
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if step == 1 or step % 30 == 0:
            print(f"step {step:4d}   loss {losses[-1]:.5f}   {'#' * max(1, round(40 * math.sqrt(losses[-1] / losses[0])))}")
    return losses[0], losses[-1]


def time_of(model, inputs, targets):
    """Milliseconds of forward and backward, as the best of a few."""

    def once():
        start = time.perf_counter()
        nn.functional.mse_loss(model(inputs), targets).backward()
        return time.perf_counter() - start

    for _ in range(3):
        once()
    return 1000 * min(once() for _ in range(15))


def gradients(model, inputs, targets):
    """The gradients of the parameters of a model."""
    model.zero_grad()
    nn.functional.mse_loss(model(inputs), targets).backward()
    return [each.grad.clone() for each in model.parameters()]


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.py").write_bytes(pathlib.Path(__file__).read_bytes())
    torch.manual_seed(0)
    inputs = torch.linspace(-2, 2, 4000).unsqueeze(1)
    targets = torch.sin(2 * math.pi * inputs) * 0.7 + 0.05 * torch.randn(4000, 1)
    model = Network()

    title("1. Train, with a custom Function as the activation")
    first, last = train(model, inputs, targets)
    torch.save(model.state_dict(), folder / "weights.pt")

    title("2. Check the Function: gradients, memory, and the same results in every mode")
    command(folder, "check", "model.py:Snake")

    title("3. Compile the model, forward and backward")
    compiled = torch.compile(model)
    eager_time, compiled_time = time_of(model, inputs, targets), time_of(compiled, inputs, targets)
    pairs = zip(gradients(model, inputs, targets), gradients(compiled, inputs, targets))
    apart = max(((a - b).abs().max() / a.abs().max().clamp(min=1e-6)).item() for a, b in pairs)
    print(f"eager     {eager_time:8.2f} ms for forward and backward of {len(inputs)} points")
    print(f"compiled  {compiled_time:8.2f} ms")
    print(f"their gradients differ by {apart:.1e} of the largest at most")

    title("4. Export the model with an open batch size, and verify the file")
    command(folder, "export", "model.py:Network", "-o", "model.onnx", "--input", "x=float32:Nx1", "--weights", "weights.pt")
    command(folder, "verify", "model.onnx", "--against", "model.py:Network", "--weights", "weights.pt")

    title("5. Look at it")
    command(folder, "explain", "model.py:Network", "--input", "8x1", "-o", "compiled.html")
    command(folder, "view", "model.onnx", "-o", "model.html")

    if not last < first / 5:
        raise SystemExit("the loss did not fall as it should")
    if not apart < 1e-3:
        raise SystemExit("compiled and eager do not give the same numbers")
    title("Where to look")
    for name, what in (
        ("model.html", "every node of the file, with the line that made it: open it in a browser"),
        ("compiled.html", "what compile made of the model: graphs, guards, generated code"),
        ("model.onnx", "the model, for any ONNX runtime"), ("model.py", "the program: this demonstration"),
    ):  # fmt: skip
        print(f"{folder / name}\n    {what}")


if __name__ == "__main__":
    main()
