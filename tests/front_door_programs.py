"""Programs that the tests of the command line load by their names, written as users of PyTorch write them."""

import torch
from torch import nn

print("this file is being imported")  # a message, not data


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.head = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.conv(x)).mean((2, 3))
        return self.head(y).softmax(-1)


def make_net() -> nn.Module:
    return Net()


instance = Net()


def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x + y.sum()


class NeedsSize(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()


class Raises(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise ValueError("spilt wax")


class Decides(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.sum() > 0 else x


@torch.jit.script
def chosen(x):
    if bool(x.sum() > 0):
        return x * 2
    return x - 1


class Chooses(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return chosen(x)


class Even(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.reshape(-1, 2).sum(1)


class Draws(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.randn(3)


class Looks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(50, 4)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.table(ids)


class Interrupted(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise KeyboardInterrupt


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * 3 * x * x


class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.y = y
        return x * y * y

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.y, None


number = 3
