"""Modules inside of traced ones: called, shown, written to files and copied; what a trace keeps beside tensors."""

from __future__ import annotations

import copy
import io

import pytest

import rushlight as torch
from rushlight import jit, nn
from rushlight.core.errors import CaptureError


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.relu = nn.Linear(2, 2), nn.ReLU()
        self.times = 3

    def forward(self, x, scale=2.0):
        return self.relu(self.linear(x)).view(x.size(0), -1) * scale


class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()
        self.name = "whole"

    def forward(self, x):
        return self.block(x=x, scale=3.0) + x.shape[1]

    def twice(self, x):
        return 2 * x


def read_again(module, **options):
    stream = io.BytesIO()
    jit.save(module, stream, **options)
    stream.seek(0)
    return jit.load(stream)


class Chooses(nn.Module):
    def __init__(self, traced):
        super().__init__()
        self.traced = traced

    def forward(self, x):
        if bool(x.sum() > 0):
            return self.traced(x)
        return self.traced.block.linear(x)


FORMS = {
    "traced": lambda traced: traced,
    "read": read_again,
    "archive": lambda traced: read_again(traced, format="torchscript"),
    "copied": copy.deepcopy,
    "in a script": lambda traced: read_again(jit.script(Chooses(traced))).traced,
}


@pytest.mark.parametrize("form", FORMS)
def test_modules_inside_are_called(form):
    torch.manual_seed(0)
    module = Whole()
    traced = FORMS[form](jit.trace(module, torch.ones(3, 2)))
    x = torch.randn(5, 2)
    assert torch.equal(traced(x), module(x))
    assert torch.equal(traced.block(x), module.block(x, 3.0))  # numbers are those of the trace
    assert torch.equal(traced.block.linear(x), module.block.linear(x))
    assert torch.equal(traced.block.relu(x), x.relu())


def test_modules_inside_compute_with_the_parameters_that_there_are():
    traced = jit.trace(Whole(), torch.ones(3, 2))
    kept = copy.deepcopy(traced)
    with torch.no_grad():
        traced.block.linear.weight.zero_()
    assert traced.block.linear(torch.ones(1, 2)).tolist() == [traced.block.linear.bias.tolist()]
    assert kept.block.linear(torch.ones(1, 2)).tolist() != traced.block.linear(torch.ones(1, 2)).tolist()
    assert traced.double().block.linear(torch.ones(1, 2, dtype=torch.float64)).dtype == torch.float64
    alone = copy.deepcopy(kept.block)
    assert torch.equal(alone(torch.ones(2, 2)), kept.block(torch.ones(2, 2)))


def test_modules_inside_show_themselves():
    traced = jit.trace(Whole(), torch.ones(3, 2))
    assert repr(traced) == (
        "Whole(\n  original_name=Whole\n  (block): Block(\n    original_name=Block\n    (linear): Linear(original_name=Linear)\n"
        "    (relu): ReLU(original_name=ReLU)\n  )\n)"
    )
    assert (
        traced.block.linear.code
        == "def forward(self,\n    input: Tensor) -> Tensor:\n  return torch.linear(input, self.weight, self.bias)\n"
    )
    assert 'prim::GetAttr[name="weight"](%self)' in str(traced.block.linear.graph)
    assert traced.forward.graph is traced.graph
    assert list(traced.state_dict()) == ["block.linear.weight", "block.linear.bias"]


def test_a_module_that_uses_what_it_is_not_given_is_not_called_alone():
    class Adds(nn.Module):
        def forward(self, x):
            return x + self.other  # set by the one around it

    class Around(nn.Module):
        def __init__(self):
            super().__init__()
            self.adds = Adds()

        def forward(self, x, y):
            self.adds.__dict__["other"] = y * 2
            return self.adds(x)

    traced = jit.trace(Around(), (torch.ones(2), torch.ones(2)))
    assert traced(torch.ones(2), torch.ones(2)).tolist() == [3.0, 3.0]
    with pytest.raises(
        CaptureError, match="'adds' can't be called alone: in the trace it uses the value 'mul' from outside|uses the value 'y'"
    ):
        traced.adds(torch.ones(2))


@pytest.mark.parametrize("form", ["traced", "read", "copied"])
def test_numbers_and_texts_are_kept(form):
    traced = FORMS[form](jit.trace(Whole(), torch.ones(3, 2)))
    assert (traced.name, traced.block.times) == ("whole", 3)


def test_arguments_that_do_not_fit_a_trace():
    traced = jit.trace(lambda a, b: a - b, (torch.ones(2), torch.ones(2)))
    with pytest.raises(RuntimeError, match=r"is missing value for argument 'b'"):
        traced(torch.ones(2))
    with pytest.raises(RuntimeError, match=r"expected at most 2 argument\(s\) but received 3 argument\(s\)"):
        traced(*[torch.ones(2)] * 3)
    with pytest.raises(RuntimeError, match="keyword argument 'c'"):
        traced(torch.ones(2), b=torch.ones(2), c=1)
    with pytest.raises(RuntimeError, match=r"forward\(\) is missing value for argument 'x'"):
        jit.trace(Whole(), torch.ones(3, 2))(y=torch.ones(3, 2))


def test_methods_are_traced_by_trace_module():
    module = Whole()
    with pytest.raises(AttributeError, match="trace doesn't support compiling individual module's functions"):
        jit.trace(module.twice, torch.ones(1))
    made = jit.trace_module(module, {"forward": torch.ones(3, 2), "twice": torch.ones(1)})
    assert made._c._has_method("twice") and not made._c._has_method("half")
    assert jit.trace_module(module, {"twice": torch.ones(1)})._c._method_names() == ["twice"]


def test_modules_that_take_packed_sequences():
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.RNN(2, 3)

        def forward(self, x, lengths):
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths)
            return nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0])[0]

    module, x, lengths = Recurrent(), torch.randn(4, 2, 2), torch.tensor([4, 3])
    assert torch.equal(jit.trace(module, (x, lengths), check_trace=False)(x, lengths), module(x, lengths))


@pytest.mark.parametrize("form", ["traced", "read", "archive"])
def test_parts_of_a_tensor_are_as_many_as_they_were(form):
    class Parts(nn.Module):
        def forward(self, x):
            return x.split(1)[-1] + sum(row.sum() for row in x)

    traced = FORMS[form](jit.trace(Parts(), torch.ones(2, 3)))
    assert traced(torch.ones(2, 4)).tolist() == [[9.0] * 4]
    with pytest.raises(RuntimeError, match="too many values to unpack"):  # the last of three would be another one
        traced(torch.ones(3, 3))


class Codec(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2, bias=False)
        self.layer.factor = 7
        torch.nn.init.ones_(self.layer.weight)
        self.scale = torch.nn.Parameter(torch.full((2,), 3.0))
        self.steps = 4

    def forward(self, x):
        return self.layer(x) * self.scale

    @torch.jit.export
    def encode(self, x, n: int = 2, name: str = "a") -> tuple[torch.Tensor, int, str]:
        for _ in range(n):
            if float(x.sum()) > 10:
                x = x - self.scale
            else:
                x = self.layer(x) + self.scale * self.steps
        return x, self.steps + n, name + "!"

    @torch.jit.export
    def size(self) -> int:
        return self.steps + self.layer.factor


def saved(model, **how):
    file = io.BytesIO()
    torch.jit.save(model, file, **how)
    file.seek(0)
    return torch.jit.load(file)


def test_exported_methods_are_scripts_beside_the_trace():
    """Their control flow and their types stay, in files and copies, too; a trace of several methods has them as well."""
    traced = torch.jit.trace(Codec(), torch.ones(1, 2))
    several = torch.jit.trace_module(Codec(), {"forward": torch.ones(1, 2)})
    frozen = torch.jit.freeze(torch.jit.trace(Codec().eval(), torch.ones(1, 2)), preserved_attrs=["encode", "size"])
    for form in (traced, several, saved(traced), saved(traced, format="torchscript"), copy.deepcopy(traced), frozen):
        assert form(torch.ones(1, 2)).tolist() == [[6.0, 6.0]] and form.size() == 11
        for given, wanted in (((), ([11.0, 11.0], 6, "a!")), ((3, "q"), ([8.0, 8.0], 7, "q!")), ((0,), ([1.0, 1.0], 4, "a!"))):
            values, count, name = form.encode(torch.ones(2), *given)
            assert (values.tolist(), count, name) == wanted
    with torch.no_grad():
        traced.scale.fill_(1.0)
    assert traced.encode(torch.ones(2), 1)[0].tolist() == [6.0, 6.0]
