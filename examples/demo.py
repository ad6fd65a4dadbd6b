"""The road so far, end to end: a custom Function in a small model, trained, with the loss falling.

    python examples/demo.py        (what `make demo` runs)

The model fits noisy points of a curve with a two-layer network whose activations are rounded to a few levels.  Rounding has
no useful gradient, so a custom Function passes the gradient straight through inside the range, and scales its own step.
"""

import math

import rushlight as torch


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


def main():
    torch.manual_seed(0)
    inputs = torch.linspace(-1, 1, 200).unsqueeze(1)
    targets = torch.sin(3 * math.pi * inputs) * 0.7 + 0.02 * torch.randn(200, 1)
    sizes = [(1, 64), (64, 64), (64, 1)]
    weights = [(torch.randn(*size) / math.sqrt(size[0])).requires_grad_() for size in sizes]
    biases = [torch.zeros(size[1], requires_grad=True) for size in sizes]
    parameters = weights + biases
    moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in parameters]

    def model(x):
        for weight, bias in zip(weights[:-1], biases[:-1]):
            x = Quantize.apply(torch.tanh(x @ weight + bias), 8)
        return x @ weights[-1] + biases[-1]

    print("training a network with 8-level activations through a custom Function\n")
    first = None
    for step in range(1, 401):
        loss = ((model(inputs) - targets) ** 2).mean()
        for parameter in parameters:
            parameter.grad = None
        loss.backward()
        with torch.no_grad():  # Adam, written out
            for parameter, (mean, square) in zip(parameters, moments):
                mean.mul_(0.9).add_(parameter.grad, alpha=0.1)
                square.mul_(0.999).addcmul_(parameter.grad, parameter.grad, value=0.001)
                correction = math.sqrt(1 - 0.999**step) / (1 - 0.9**step)
                parameter.addcdiv_(mean, square.sqrt().add_(1e-8), value=-0.01 * correction)
        first = loss.item() if first is None else first
        if step == 1 or step % 50 == 0:
            bar = "#" * max(1, round(50 * math.sqrt(loss.item() / first)))
            print(f"step {step:4d}   loss {loss.item():.5f}   {bar}")
    x = torch.tensor([-1.5, -0.3, 0.2, 0.9], dtype=torch.float64, requires_grad=True)
    y = Quantize.apply(x, 8)
    y.sum().backward()
    print(f"\nthe Function on its own: {x.tolist()} -> {y.tolist()}, gradient {x.grad.tolist()}")
    print(f"loss fell from {first:.4f} to {loss.item():.4f}")
    if not loss.item() < first / 5:
        raise SystemExit("the loss did not fall as it should")


if __name__ == "__main__":
    main()
