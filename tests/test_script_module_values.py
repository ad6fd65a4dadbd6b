"""Modules as values of scripts: put in the place of others, given to functions, returned; written to files and frozen."""

from __future__ import annotations

import io

import pytest

import rushlight as torch
from rushlight import Tensor, jit, nn


@jit.interface
class Step(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass

    def again(self, x: Tensor) -> Tensor:
        pass


class Adds(nn.Module):
    def __init__(self, amount: float):
        super().__init__()
        self.register_buffer("amount", torch.tensor(amount))

    @jit.export
    def again(self, x: Tensor) -> Tensor:
        self.amount += 1
        return x + self.amount

    def forward(self, x: Tensor) -> Tensor:
        return x + self.amount


class Multiplies(Adds):
    def forward(self, x: Tensor) -> Tensor:
        return x * self.amount


class Swaps(nn.Module):
    first: Step
    second: Step

    def __init__(self):
        super().__init__()
        self.first = Adds(2.0)
        self.second = Multiplies(5.0)
        self.count = 0

    def forward(self, x: Tensor) -> Tensor:
        self.count += 1
        if self.count == 2:
            self.first = self.second
        return self.first.forward(x)


Swaps.__annotations__.update(first=Step, second=Step)


def read_again(module, **options):
    stream = io.BytesIO()
    jit.save(module, stream, **options)
    stream.seek(0)
    return jit.load(stream)


@pytest.mark.parametrize("form", ["scripted", "read", "torch"])
def test_a_program_puts_a_module_in_the_place_of_another(form):
    module = jit.script(Swaps())
    if form != "scripted":
        module = read_again(module, **({"format": "torchscript"} if form == "torch" else {}))
    x = torch.tensor(3.0)
    assert [module(x).item() for _ in range(3)] == [5.0, 15.0, 15.0]
    assert module.first.amount is module.second.amount


def test_a_module_that_is_put_in_the_place_of_another_must_fit():
    class Other(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x

    class Wrong(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = Adds(1.0), Other()

        def forward(self, x: Tensor) -> Tensor:
            self.first = self.second
            return self.first(x)

    with pytest.raises(RuntimeError, match="Expected __torch__.*Adds but got __torch__.*Other for the attribute 'first'"):
        jit.script(Wrong())


def runs(step: Step, x: Tensor) -> Tensor:
    return step.forward(x) + step.again(x)


runs.__annotations__["step"] = Step


@pytest.mark.parametrize("form", ["scripted", "read", "torch"])
def test_a_module_is_given_to_a_function_that_takes_an_interface(form):
    class Gives(nn.Module):
        def __init__(self):
            super().__init__()
            self.step = Adds(2.0)

        def forward(self, x):
            return runs(self.step, x)

    module = jit.script(Gives())
    if form != "scripted":
        module = read_again(module, **({"format": "torchscript"} if form == "torch" else {}))
    assert module(torch.zeros(())).item() == 5.0
    assert module.step.amount.item() == 3.0


def test_modules_are_returned():
    class Returns(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(1, 1), Adds(1.0), Adds(2.0)])

        def forward(self, flag: bool):
            return self.layers[0], self.layers[1:]

    module = jit.script(Returns())
    linear, (first, second) = module(True)
    assert linear is module.layers[0] and second(torch.zeros(())).item() == 2.0
    assert first is module.layers[1]


def test_freezing_a_program_that_swaps_modules():
    with pytest.raises(RuntimeError, match="Freezing does not support SetAttr on an interface type. SetAttr is done on 'first'"):
        jit.freeze(jit.script(Swaps()).eval())

    class Alternates(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = Adds(1.0), Adds(2.0)
            self.chosen = self.first
            self.count = 0

        def forward(self, x: Tensor) -> Tensor:
            self.count += 1
            if self.count % 2 == 1:
                self.chosen = self.second
            else:
                self.chosen = self.first
            return self.chosen(x)

    frozen = jit.freeze(jit.script(Alternates()).eval())
    assert [frozen(torch.zeros(())).item() for _ in range(3)] == [2.0, 1.0, 2.0]


def test_freezing_preserves_methods_of_modules_below():
    class Holds(nn.Module):
        def __init__(self):
            super().__init__()
            self.step, self.scale = Adds(2.0), 3.0

        def forward(self, x):
            return self.step(x) * self.scale

    module = jit.script(Holds()).eval()
    frozen = jit.freeze(module, preserved_attrs=["step.again"])
    x = torch.zeros(())
    assert frozen.step.again(x).item() == 3.0  # which writes to what forward reads
    assert frozen(x).item() == 9.0
    assert frozen._c.step._has_method("again") and not frozen._c.step._has_method("forward")
    assert jit.freeze(module, preserved_attrs=["step", "step.again"]).step is module.step
