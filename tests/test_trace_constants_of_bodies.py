"""Traces of scripted loops and branches: what only their bodies use belongs to the traced function, too."""

import io

import rushlight as torch


@torch.jit.script
def powers(x, n: int):
    found = torch.zeros_like(x)
    for i in range(n):
        if i % 2 == 0:
            found = found + x * torch.tensor([1.0, 2.0])
        else:
            found = found - torch.tensor([0.5, 0.25])
    return found


class Powers(torch.nn.Module):
    def forward(self, x):
        return powers(x, x.size(0))


def test_constants_of_bodies_are_parts_of_a_trace():
    x, more = torch.ones(2, 2), torch.randn(5, 2)
    for traced in (torch.jit.trace(lambda x: powers(x, x.size(0)), (x,)), torch.jit.trace(Powers(), (x,))):
        assert torch.equal(traced(more), powers(more, 5))
        stream = io.BytesIO()
        torch.jit.save(traced, stream)
        stream.seek(0)
        assert torch.equal(torch.jit.load(stream)(more), powers(more, 5))
