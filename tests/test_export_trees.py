"""``torch.export.unflatten``: trees of Modules, their state, and programs in file objects."""

from __future__ import annotations

import io

import rushlight as torch
import rushlight.export
from rushlight import nn


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x):
        self.calls.add_(1)
        return x + self.calls


class Around(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Counter()

    def forward(self, x):
        return self.inner(x + self.inner.calls) * 2


class Twice(nn.Module):
    """Calls a Module inside of another, and reads its buffer, before and after the other one does."""

    def __init__(self):
        super().__init__()
        self.around = Around()

    def forward(self, x):
        x = self.around.inner(x + self.around.inner.calls)
        x = self.around(x)
        x = self.around.inner(x) + self.around.inner.calls
        return self.around(x)


def test_a_tree_of_modules_called_at_several_depths_has_its_own_state():
    expected = Twice()(torch.ones(1))
    program = torch.export.export(Twice(), (torch.ones(1),))
    module, tree = program.module(), torch.export.unflatten(program)
    assert torch.equal(module(torch.ones(1)), expected) and torch.equal(tree(torch.ones(1)), expected)
    assert program.state_dict["around.inner.calls"].item() == 4  # of the Module, and not of the tree as well
    assert tree.around.inner.calls.item() == 4


def test_a_file_object_is_ready_to_be_read_after_saving():
    file = io.BytesIO()
    torch.export.save(torch.export.export(Counter(), (torch.ones(2),)), file)
    assert file.tell() == 0 and torch.export.load(file).module()(torch.ones(2)).tolist() == [2, 2]


class Sharing(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = self.first
        self.register_buffer("whole", torch.arange(4.0))
        self.register_buffer("part", self.whole[1:3])
        self.register_buffer("turned", torch.arange(6.0).reshape(2, 3).t())

    def forward(self, x):
        return self.first(x) + self.second(x) + self.whole.sum() + self.part.sum() + self.turned.sum()


def test_tensors_that_share_memory_share_it_after_loading():
    model, x = Sharing(), torch.ones(1, 3)
    file = io.BytesIO()
    torch.export.save(torch.export.export(model, (x,)), file)
    loaded = torch.export.load(file)
    state = loaded.state_dict
    assert state["first.weight"].data_ptr() == state["second.weight"].data_ptr()
    state["whole"][1] = 7
    assert state["part"].tolist() == [7, 2] and state["turned"].tolist() == model.turned.tolist()
    model.whole[1] = 7
    assert torch.allclose(loaded.module()(x), model(x))


def test_a_program_knows_that_it_is_exported():
    class Asks(nn.Module):
        def forward(self, x):
            if torch.compiler.is_exporting() and torch.compiler.is_compiling() and not torch.compiler.is_dynamo_compiling():
                return x.sin()
            return x.cos()

    x = torch.ones(2)
    assert torch.equal(torch.export.export(Asks(), (x,)).module()(x), x.sin()) and torch.equal(Asks()(x), x.cos())
    assert torch.equal(torch.compile(Asks())(x), x.cos()) and not torch.compiler.is_exporting()


def test_the_mode_of_gradients_is_left_as_it_was():
    class Sets(nn.Module):
        def forward(self, x):
            torch.set_grad_enabled(False)
            return x.sum()

    torch.export.export(Sets(), (torch.ones(2),))
    assert torch.is_grad_enabled()


def test_a_sum_of_all_elements_has_no_dimensions_among_the_core_operators():
    class Sums(nn.Module):
        def forward(self, x):
            return x.sum(), x.sum(dtype=torch.float64)

    program = torch.export.export(Sums(), (torch.ones(2, 3),))
    targets = [str(node.target) for node in program.run_decompositions().graph.nodes if node.op == "call_function"]
    assert targets == ["aten.sum.dim_IntList"] * 2 and "sum.default" in program.run_decompositions({}).graph_module.code
    assert [each.item() for each in program.run_decompositions().module()(torch.ones(2, 3))] == [6, 6]
